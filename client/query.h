/* SPDX-License-Identifier: ISC */
/*
 * One question to the server and its answer: what most commands are.
 */
#ifndef DLMUX_QUERY_H
#define DLMUX_QUERY_H

#include "command.h"
#include "connect.h"

#define QUERY_GO_ON	(-1)	/* answer(): not yet */
#define QUERY_DEFAULT	(-2)	/* answer(): do as usual */

struct query {
	const struct args *args;
	int		 connect_flags;	/* CONNECT_START, CONNECT_ONCE */
	const char	*workspace;	/* USE this first, or NULL */
	int		 use_flags;	/* USE_MAY_PROMPT is added if possible */
	uint8_t		 type;		/* of the question; 0: only the USE */
	struct buf	 body;		/* freed by query_run */
	const char	*no_server;	/* said if none runs and none is to
					 * be started; NULL: what is wrong */
	uint32_t	 timeout_ms;	/* 0: none; then STATUS_TIMEOUT */
	const char	*about;		/* in front of an error, or NULL */
	bool		 quiet;		/* errors are not said */
	uint16_t	 refused;	/* set: the answer's code, if it was no */
	/* Each frame on its channel: QUERY_GO_ON, QUERY_DEFAULT or the exit
	 * status. By default: DONE ends (its text is said if it is an error),
	 * a link that cannot come up ends, all else is passed over. */
	int		(*answer)(uint8_t type, const uint8_t *, size_t, void *);
	void		*arg;
};

/* Returns the exit status. A server that dies is asked again, unless
 * CONNECT_ONCE is set. */
int	 query_run(struct query *);
/* Says what a DONE or REFUSED means; its exit status. */
int	 query_refused(const char *about, uint16_t code, const char *text);
/* A field of a ROW, "" if it has none of that name. */
const char *row_get(const struct msg_row *, const char *name);
/* Splits WS[:SHELL] for a command; usage errors are said. 0, or an exit
 * status. shell NULL if none was named and fallback is NULL. */
int	 query_target(const struct args *, const char *text,
	    const char *fallback, char **workspace, char **shell);
/* The first word of a command that is about a workspace, not about a shell. As
 * query_target(). */
int	 query_workspace(const struct args *, char **workspace);

#endif
