/* SPDX-License-Identifier: ISC */
/*
 * Where a bracketed paste begins and ends in what a user types. Nothing within
 * is a key.
 */
#ifndef DLMUX_PASTE_H
#define DLMUX_PASTE_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define PASTE_BEGIN	"\033[200~"
#define PASTE_END	"\033[201~"

/* One more byte. True: it completes the mark, of which *seen bytes were there
 * before. */
static inline bool
paste_mark(const char *mark, size_t *seen, char c)
{
	*seen = c == mark[*seen] ? *seen + 1 : c == mark[0];
	if (mark[*seen] != '\0')
		return false;
	*seen = 0;
	return true;
}

/* Is it the sequence that begins one? */
static inline bool
paste_begins(const void *sequence, size_t len)
{
	return len == sizeof PASTE_BEGIN - 1 &&
	    memcmp(sequence, PASTE_BEGIN, len) == 0;
}

#endif
