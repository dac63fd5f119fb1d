/* SPDX-License-Identifier: ISC */
/*
 * A transport: the command that carries a link's bytes on its stdin and
 * stdout. Its stderr is kept for the words of an error.
 */
#ifndef DLMUX_TRANSPORT_H
#define DLMUX_TRANSPORT_H

#include <sys/types.h>

#include <event2/event.h>

#include "target.h"

struct transport;

struct transport_spec {
	const struct target	*target;
	char *const		*env;		/* the requesting client's */
	const char		*oneliner;
	const char		*askpass;	/* DLMUX_ASKPASS; NULL: it must
						 * not ask */
	/* Of its stderr a line's part behind this word, if it has it, is no
	 * word of an error: taken out, and told with the arg of ended() until
	 * somebody else listens. NULL: none. */
	const char		*word;
	void			(*said)(const char *text, void *);
};

/* ended: the process is gone (wait status); the transport stays until
 * transport_free(). NULL and *cause if it cannot be started. */
struct transport *transport_start(struct event_base *,
	    const struct transport_spec *, void (*ended)(struct transport *,
	    int status, void *), void *, char **cause);
/* Somebody else listens from now on. */
void	 transport_listen(struct transport *, void (*ended)(struct transport *,
	    int status, void *), void *);
/* Gives up both ends to the caller, non-blocking; once. */
void	 transport_take(struct transport *, int *rfd, int *wfd);
pid_t	 transport_pid(const struct transport *);	/* 0 when it ended */
/* What it wrote to stderr, the end of it. */
const char *transport_stderr(struct transport *, size_t *len);
/* TERM to its group after term_ms, KILL a grace later; reaped by itself. */
void	 transport_free(struct transport *, int term_ms);

/* The environment with the askpass variables set or taken away: strv_free(). */
char	**transport_env(char *const *env, const char *askpass, bool display);
/* Where SSH_ASKPASS points: this program. malloc'd. */
char	*transport_self(void);

#endif
