/* SPDX-License-Identifier: ISC */
/* The long-lived side: one per user and machine (and instance). */
#ifndef DLMUX_SERVER_H
#define DLMUX_SERVER_H

#include "base/place.h"

/*
 * `dlmux server --run [FD]`: takes the lock, listens, serves until it is told
 * to stop; returns an exit status. FD (or 3, if that is a pipe) is the ready
 * pipe: one line is written and it is closed: "READY" once clients can
 * connect, "BUSY" if another server holds the lock, else "FAIL why".
 * Standard descriptors and the session are the caller's to have set up.
 */
int	 server_main(struct place *, int argc, char **argv);

/*
 * `dlmux server --keeper`: serves no client, but the agent that started it and
 * speaks on descriptor 0: its shells' output is parsed, checkpoints and
 * answers go back. Ends when the agent says so or goes.
 */
int	 keeper_main(struct place *);

#endif
