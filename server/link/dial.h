/* SPDX-License-Identifier: ISC */
/*
 * Getting a link up: when it is tried, with whose environment, who is asked
 * ssh's questions, and what came of it. One attempt is attempt.c's; what is
 * spoken once it is up is link.c's.
 */
#ifndef DLMUX_DIAL_H
#define DLMUX_DIAL_H

#include <event2/event.h>

#include "attempt.h"
#include "link.h"
#include "prompt.h"
#include "retry.h"

struct dial;

struct dial_cb {
	/* As attempt_cb's: the agent spoke. dial_up() or dial_failed(). */
	void	(*up)(int rfd, int wfd, struct transport *, const void *,
		    size_t, void *);
	/* A try begins; it came to nothing, in words. The callee may free the
	 * dial. */
	void	(*begun)(void *);
	void	(*failed)(const char *why, void *);
	/* What happens meanwhile, for people; and how much is on its way. */
	void	(*phase)(const char *, void *);
	void	(*sent)(uint64_t bytes, uint64_t of, void *);
	void	(*prompt)(uint32_t id, bool echo, const char *, void *);
};

/* limit_ms: CONNECT_MS, or what a test wants. trace: of the last connect, kept
 * by the caller, or NULL. */
struct dial *dial_new(struct event_base *, const struct place *,
	    const struct target *, uint64_t limit_ms, struct trace *,
	    const struct dial_cb *, void *);
void	 dial_free(struct dial *);
/* The target is another now (or the same). */
void	 dial_target(struct dial *, const struct target *);
/* Somebody wants it who has this environment (NULL: keep the last). True: a
 * try will begin, from the loop. */
bool	 dial_call(struct dial *, char *const *env, enum link_who);
/* Hands this descriptor up instead of trying, at once. */
void	 dial_adopt(struct dial *, int fd);
/* Try by itself, with back-off, from now on, or no more. */
void	 dial_want(struct dial *, bool);
/* No try is under way, nor will one begin by itself before the next dial_want()
 * or dial_call(). */
void	 dial_stop(struct dial *);

/* What was handed up is a link; was none; is lost (and had been one for a
 * while). The last two begin again if wanted; dial_failed() calls failed(). A
 * local agent that took a connection and said nothing was leaving: once, that
 * is no failure (false: it was not that). */
bool	 dial_twice(struct dial *);
void	 dial_up(struct dial *);
void	 dial_failed(struct dial *, const char *why);
void	 dial_lost(struct dial *, const char *why, bool lasted);

/* Whoever was asked will not answer: ssh would only ask again, or try without.
 * The try fails, from the loop; a later one is a user's. */
void	 dial_give_up(struct dial *);
bool	 dial_wanted(const struct dial *);	/* and nobody is needed */
bool	 dial_held(const struct dial *);	/* only a user can go on */
uint64_t dial_next_ms(const struct dial *);	/* 0: no try is due */
const char *dial_why(const struct dial *);	/* since it was up; or NULL */
pid_t	 dial_pid(const struct dial *);
struct prompts *dial_prompts(struct dial *);
struct retry *dial_retry(struct dial *);

#endif
