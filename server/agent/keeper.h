/* SPDX-License-Identifier: ISC */
/*
 * The keeper: a server without clients that the agent starts beside it while
 * nobody else reads its shells' output, so that there are checkpoints and
 * programs' questions are answered. The same program, because only that
 * understands output; another process, because understanding it may kill.
 *
 * This is when there has to be one, its start and end, and which shell it is
 * not trusted with any more. What it says is a peer's frames as any server's.
 */
#ifndef DLMUX_KEEPER_H
#define DLMUX_KEEPER_H

#include "core.h"

/* NULL when there are to be none (DLMUX_KEEPER=no in the environment, for
 * tests). All functions take an agent without one. */
struct keeper *keeper_new(struct agent *);
void	 keeper_free(struct keeper *);

/* Output of this shell came. */
void	 keeper_output(struct shell *);
/* A server is linked now: what went wrong before is forgiven. */
void	 keeper_linked(struct agent *);
/* The keeper's connection is over; its watches still stand. */
void	 keeper_lost(struct peer *);
/* Must not be shown to the keeper: it died of it twice. */
bool	 keeper_shuns(const struct shell *);
/* May this watch be sent anything now? Of those whose output may have killed a
 * keeper only one at a time is under way. */
bool	 keeper_turn(const struct watch *);
void	 keeper_taken(struct watch *);	/* it took some */
/* The pty should not be read now, because the keeper alone takes what the
 * ring would drop: *ms is when to ask again. */
bool	 keeper_gates(struct shell *, uint64_t now, uint64_t *ms);

#endif
