/* SPDX-License-Identifier: ISC */
/*
 * The hand-off: how a connection to the agent's socket says what it is to
 * become. Frozen for ever: a newer dlmux finds an older agent by it.
 */
#ifndef DLMUX_HANDOFF_H
#define DLMUX_HANDOFF_H

#include "core.h"

struct handoff_head {
	char	 marker[65];	/* "-": none is to be written */
	bool	 fds;		/* else direct */
	size_t	 head;		/* bytes before the environment */
	size_t	 env;		/* bytes of it */
};

/* 1: whole, head + env bytes; 0: more is needed; -1: it is none. */
int	 handoff_parse(const void *, size_t, struct handoff_head *);
/* Builds the bytes of one; env may be NULL, and is cut to what fits. */
void	 handoff_put(struct buf *, const char *marker, bool fds,
	    char *const *env);

/* A connection was accepted; the fd is taken. */
void	 handoff_new(struct agent *, int fd);
void	 handoff_clear(struct agent *);

#endif
