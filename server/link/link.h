/* SPDX-License-Identifier: ISC */
/*
 * A link: the one reused connection to a workspace's agent. It runs the
 * transport, gets the agent there, speaks HELLO and pings, finds a dead peer,
 * and comes back by itself; above it only frames and a state are seen.
 *
 * It knows nothing of shells, screens or clients.
 */
#ifndef DLMUX_LINK_H
#define DLMUX_LINK_H

#include <event2/event.h>

#include "../base/place.h"
#include "../wire/conn.h"
#include "../wire/msg.h"
#include "target.h"
#include "trace.h"

struct link;

struct link_cb {
	/* The state changed (or only the text); text says what is happening or
	 * went wrong, for people, without the workspace's name. On LINK_UP
	 * agent is the HELLO. The callee may free the link. Comes from the
	 * loop, never from inside link_connect() and its like. */
	void	(*state)(struct link *, enum link_state, const char *text,
		    const struct msg_hello *agent, void *);
	/* A message from the agent (never HELLO, PING, PONG, RECEIVED, BYE). */
	void	(*message)(struct link *, uint8_t type, uint32_t channel,
		    const uint8_t *, size_t, void *);
	void	(*room)(struct link *, void *);
	/* The agent is being sent; now and then. May be NULL. */
	void	(*sent)(struct link *, uint64_t bytes, uint64_t of, void *);
	/* An ssh asks something of the user who wanted this link; answer with
	 * link_reply(). Only after a LINK_ASK. */
	void	(*prompt)(struct link *, uint32_t id, bool echo,
		    const char *text, void *);
};

struct link_setup {
	struct event_base	*base;
	const struct place	*place;
	uint8_t			 server_id[MSG_ID];
	uint8_t			 role;		/* ROLE_SERVER */
	const struct link_cb	*cb;
	void			*arg;
	struct trace		*trace;		/* of the last connect, kept by
						 * the caller; or NULL */
};

/* The target is copied. Starts down. */
struct link *link_new(const struct link_setup *, const struct target *);
void	 link_free(struct link *);	/* lets go without BYE; NULL is fine */

/* Who wants it. */
enum link_who {
	LINK_RETURN,	/* one who was here before: nobody acted */
	LINK_WAITING,	/* ... who can be asked where it does not go without */
	LINK_TYPING,	/* a user types into it: not again and again */
	LINK_USER,	/* a user, just now */
	LINK_ASK	/* ... who can be shown ssh's questions */
};

/* Bring it up, or hurry what is under way: for a user a pending try begins at
 * once (but for RETRY_BURST_USER), and one in the background that got no word
 * gives way. env: the newest client's, copied (NULL: keep the last). The config
 * is read again by the caller (the target may have changed: link_retarget()). */
void	 link_connect(struct link *, char *const *env, enum link_who);
/* Speaks over this descriptor, which is the link's from now on, instead of
 * connecting by the target: once, for the keeper. */
void	 link_adopt(struct link *, int fd);
void	 link_retarget(struct link *, const struct target *);
/* Keep trying in the background with back-off while wanted; but not when the
 * authentication or the host key failed: that waits for link_connect(). */
void	 link_want(struct link *, bool);
/* BYE and down; no retry. Shells stay. why: the state's text from now on. */
void	 link_disconnect(struct link *, const char *why);
/* Somebody is waiting for an answer: shorter dead-peer deadlines. */
void	 link_busy(struct link *, bool);

enum link_state link_state(const struct link *);
const char *link_text(const struct link *);	/* last error or phase */
uint64_t link_since_ms(const struct link *);	/* clock_ms() of the last change */
/* How long the agent has been silent while a question is unanswered (0: all is
 * well), or had been when the link was lost. */
uint64_t link_silent_ms(const struct link *);
uint64_t link_rtt_us(const struct link *);	/* 0: not known */
const struct msg_hello *link_agent(const struct link *); /* NULL unless up */
/* Bytes not yet written; 0 unless up. */
size_t	 link_queued(const struct link *);
pid_t	 link_pid(const struct link *);		/* transport's, 0 if none */
bool	 link_retrying(const struct link *);
uint64_t link_next_ms(const struct link *);	/* until the next try; 0: none */
/* Why it was lost or could not be had the last time, since it was up; or
 * NULL. */
const char *link_why(const struct link *);
/* Only a user can go on: a password is asked for, say. */
bool	 link_held(const struct link *);

void	 link_send(struct link *, enum conn_class, uint8_t type,
	    uint32_t channel, const void *, size_t);	/* dropped unless up */
void	 link_send_buf(struct link *, enum conn_class, uint8_t type,
	    uint32_t channel, struct buf *);
void	 link_reply(struct link *, uint32_t prompt, bool ok, const char *);
/* Nobody will answer what is asked: the try is over. */
void	 link_give_up(struct link *);
/* An askpass process named this token: which link is meant, and hand over its
 * question; reply is called once with the answer. False: token unknown. */
bool	 link_ask(struct link *, const char *token, int kind, const char *text,
	    void (*reply)(bool ok, const char *, void *), void *arg);
/* Is the asker gone? Forget its question. */
void	 link_ask_gone(struct link *, void *arg);

/* Failed tries, to remember over a restart: put into and taken from the state
 * file as one string. */
char	*link_tries(const struct link *);	/* malloc'd */
void	 link_set_tries(struct link *, const char *);

#endif
