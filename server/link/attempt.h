/* SPDX-License-Identifier: ISC */
/*
 * One attempt to bring a link up: from a target to two descriptors behind
 * which an agent speaks frames, or to the words of why not. No retry, no
 * state beyond it.
 */
#ifndef DLMUX_ATTEMPT_H
#define DLMUX_ATTEMPT_H

#include <event2/event.h>

#include "../base/place.h"
#include "target.h"
#include "trace.h"
#include "transport.h"

struct attempt;

struct attempt_spec {
	struct event_base	*base;
	const struct place	*place;
	const struct target	*target;	/* must outlive the attempt */
	char *const		*env;		/* copied, and all below */
	const char		*askpass;	/* NULL: must not ask */
	const char		*machine;	/* uname -sm if known, or NULL */
	uint64_t		 limit_ms;	/* without progress */
	struct trace		*trace;		/* pressed; NULL is fine */
};

struct attempt_cb {
	/* The agent speaks: the callee owns both descriptors (the same one
	 * twice for local) and the transport (NULL for local). bytes came
	 * behind the bootstrap's last line. The attempt is gone. */
	void	(*up)(int rfd, int wfd, struct transport *, const void *bytes,
		    size_t, void *);
	/* why is a sentence without the workspace's name. The attempt is
	 * gone. */
	void	(*failed)(const char *why, void *);
	/* In words, for people: "sending the agent (1.4 MB)". */
	void	(*phase)(const char *, void *);
	/* So much of the agent is on its way; now and then. */
	void	(*sent)(uint64_t bytes, uint64_t of, void *);
	/* The far machine is this one: give it as machine next time. */
	void	(*machine)(const char *, void *);
};

/* All callbacks come from the loop, never from inside. */
struct attempt *attempt_start(const struct attempt_spec *,
	    const struct attempt_cb *, void *);
void	 attempt_cancel(struct attempt *);	/* NULL is fine */
/* A user thinks: the time does not count. */
void	 attempt_pause(struct attempt *, bool);
pid_t	 attempt_pid(const struct attempt *);
/* Did anything at all come from it? */
bool	 attempt_heard(const struct attempt *);

#endif
