/* SPDX-License-Identifier: ISC */
/*
 * A case with the real thing: `dlmux attach` in ptys, its server, an agent
 * behind a Command, all in a home of their own. A player in the shell prints
 * the stream as it is told to, so that the size each byte was printed at is
 * known. What is awaited is that the terminals show what the screen fed
 * directly shows.
 */
#ifndef DLMUX_SOAK_WHOLE_H
#define DLMUX_SOAK_WHOLE_H

#include "oracle.h"

struct whole;

/* How long it may take until a terminal shows the screen. */
extern int whole_deadline_ms;

/* binary: of dlmux; self: of the player, run as `self -p SOCKET`. */
struct whole *whole_new(const char *binary, const char *self);
/* Ends every process of it, removes its directory. */
void	 whole_free(struct whole *);
bool	 whole_run(struct whole *, const struct soak_case *, struct buf *why);
/* The player; returns an exit status. */
int	 whole_play(const char *path);

#endif
