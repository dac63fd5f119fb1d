/* SPDX-License-Identifier: ISC */
/*
 * Questions of ssh (password, passphrase, host key) to the user, on the
 * controlling terminal, one at a time, without blocking the loop. An answer
 * is wiped from memory once sent.
 */
#ifndef DLMUX_PROMPTER_H
#define DLMUX_PROMPTER_H

#include "connect.h"

struct prompter;

/* Is there a terminal to ask on? For USE_MAY_PROMPT. */
bool	 prompter_possible(void);
struct prompter *prompter_new(struct event_base *, struct connect *);
void	 prompter_free(struct prompter *);	/* restores the terminal */
/* A PROMPT frame on this channel. */
void	 prompter_ask(struct prompter *, uint32_t channel, const uint8_t *,
	    size_t);
/* The connection that asked is gone: so are its questions. */
void	 prompter_forget(struct prompter *);
/* Is a question on the screen? Then Ctrl-C (SIGINT) belongs to it: refuses it
 * and returns true. */
bool	 prompter_interrupt(struct prompter *);
bool	 prompter_asking(const struct prompter *);

#endif
