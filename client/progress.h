/* SPDX-License-Identifier: ISC */
/*
 * "connecting to ssh:web ..." on the user's terminal when it takes longer than
 * a second, with a bar while something is sent, and away again.
 */
#ifndef DLMUX_PROGRESS_H
#define DLMUX_PROGRESS_H

#include <event2/event.h>

#include "../server/wire/msg.h"

struct progress;

struct progress *progress_new(struct event_base *);
void	 progress_free(struct progress *);	/* wipes the line; NULL is fine */
void	 progress_link(struct progress *, const struct msg_link *);
/* F_PROGRESS: the agent is on its way there. */
void	 progress_sent(struct progress *, const uint8_t *, size_t);
/* Something else is going on, or nothing more (NULL). */
void	 progress_text(struct progress *, const char *);

#endif
