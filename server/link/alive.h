/* SPDX-License-Identifier: ISC */
/*
 * Is the peer of a link alive? It is asked when it is silent, sooner when
 * somebody waits for it, at once when this machine slept; and given up when
 * it does not answer.
 */
#ifndef DLMUX_ALIVE_H
#define DLMUX_ALIVE_H

#include <event2/event.h>

#include "../wire/conn.h"

struct alive;

/* Milliseconds: silent for so long, ask; without an answer for so long, dead.
 * busy: somebody waits. */
struct alive_times {
	uint64_t	ping_idle, ping_busy, dead_idle, dead_busy;
};

/* dead comes from the loop, in words without the link's name; alive_end() is
 * the callee's. name is for the log. */
struct alive *alive_new(struct event_base *, const char *name,
	    const struct alive_times *, void (*dead)(const char *why, void *),
	    void *);
void	 alive_free(struct alive *);
/* Over this connection, from now until the end; it is asked at once, for the
 * round trip. */
void	 alive_begin(struct alive *, struct conn *);
void	 alive_end(struct alive *);
void	 alive_busy(struct alive *, bool);
/* A message came: whatever was asked is answered. */
void	 alive_heard(struct alive *);
/* It was a PONG. */
void	 alive_pong(struct alive *, const uint8_t *, size_t);

/* How long it has been silent, while a question is unanswered; 0: all is
 * well. */
uint64_t alive_silent_ms(const struct alive *);
uint64_t alive_rtt_us(const struct alive *);	/* 0: not known */

#endif
