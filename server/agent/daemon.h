/* SPDX-License-Identifier: ISC */
/* The long-lived agent: its socket, its lock, its loop, its end. */
#ifndef DLMUX_DAEMON_H
#define DLMUX_DAEMON_H

/* Runs it; ready is a pipe (or -1): "ok\n" when its socket listens (or another
 * agent's does), else one line that says why not. An exit status. */
int	 daemon_main(int ready);

#endif
