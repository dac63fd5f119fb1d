/* SPDX-License-Identifier: ISC */
/*
 * What a user's terminal sends is what is typed, and between it what the
 * terminal says of itself: answers to our questions, reports of a changed
 * theme or of the focus. This parts the two, at any cut and with any delay:
 * no byte of an answer becomes a key, also if it comes late or twice, and no
 * key is lost or overtaken.
 *
 * Nothing is recognised within a bracketed paste. It has no clock: its owner
 * says when time has passed.
 */
#ifndef DLMUX_REPLIES_H
#define DLMUX_REPLIES_H

#include "theme.h"

struct replies;

/* Sets of colours to ask for: an answer about the many takes a while. */
#define REPLIES_BASE	0x01	/* foreground, background, cursor, 0..15 */
#define REPLIES_REST	0x02	/* 16..255 */
#define REPLIES_REPORTS	0x04	/* does it report a change (mode 2031)? */

/* What has happened: replies_events(). */
#define REPLIES_DONE	0x01	/* an answer is complete: replies_theme() */
#define REPLIES_CHANGED	0x02	/* the colours are others now: ask again */
#define REPLIES_FOCUSED	0x04	/* ... may be */

struct replies *replies_new(void);
void	 replies_free(struct replies *);	/* NULL is fine */

/* Appends the questions. The last one is one that every terminal answers, so
 * that the end of the answers is known. */
void	 replies_ask(struct replies *, unsigned int what, struct buf *);
/* Asked, and the end of the answers is not here yet. */
bool	 replies_open(const struct replies *);
/* Nothing more is awaited. What comes all the same is recognised. */
void	 replies_give_up(struct replies *);

/* What the terminal sent; what is typed is appended to out. */
void	 replies_feed(struct replies *, const void *, size_t, struct buf *out);
/* Bytes are held that may be a key: replies_flush() when it is time. */
bool	 replies_pending(const struct replies *);
void	 replies_flush(struct replies *, struct buf *out);

/* Reports of the theme, or of the focus, are on for us alone: no keys. */
void	 replies_mine(struct replies *, bool theme, bool focus);

unsigned int replies_events(struct replies *);	/* and forgets them */
const struct theme *replies_theme(const struct replies *);
bool	 replies_reports(const struct replies *);	/* it knows mode 2031 */

#endif
