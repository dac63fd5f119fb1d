/* SPDX-License-Identifier: ISC */
/*
 * ssh's questions: a token that only the transport of this attempt knows, the
 * askpass processes that wait, and the user's answers back to them. Secrets
 * pass through and are kept nowhere.
 */
#ifndef DLMUX_PROMPT_H
#define DLMUX_PROMPT_H

#include <stdbool.h>
#include <stdint.h>

struct prompts;

struct prompts_cb {
	void	(*show)(uint32_t id, bool echo, const char *text, void *);
	void	(*told)(const char *text, void *);
	void	(*none_left)(void *);	/* all questions are answered */
};

struct prompts *prompts_new(const char *sock, const struct prompts_cb *,
	    void *);
void	 prompts_free(struct prompts *);
/* A new attempt: a new token. "SOCKET TOKEN" for DLMUX_ASKPASS, valid until
 * the next call; NULL if it may not ask. */
const char *prompts_start(struct prompts *, bool may_ask);
/* The attempt is over: open questions are refused, the token is void. */
void	 prompts_end(struct prompts *);
bool	 prompts_ask(struct prompts *, const char *token, int kind,
	    const char *text, void (*reply)(bool, const char *, void *),
	    void *arg);
void	 prompts_reply(struct prompts *, uint32_t id, bool ok, const char *);
void	 prompts_gone(struct prompts *, void *arg);

#endif
