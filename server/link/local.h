/* SPDX-License-Identifier: ISC */
/*
 * Reaching this machine's own agent: its unix socket, the agent started first
 * if nobody listens there, and the hand-off that makes the connection a link.
 */
#ifndef DLMUX_LOCAL_H
#define DLMUX_LOCAL_H

#include <event2/event.h>

#include "../base/place.h"
#include "trace.h"

struct local;

/*
 * done is called once, from the loop: a connected socket whose peer is us,
 * the hand-off sent (the callee owns it), or -1 and why; then it is gone.
 * env goes to the agent with the hand-off; the trace is told whether it ran.
 */
struct local *local_start(struct event_base *, const struct place *,
	    char *const *env, struct trace *,
	    void (*done)(int fd, const char *why, void *), void *);
void	 local_cancel(struct local *);		/* NULL is fine */

#endif
