/* SPDX-License-Identifier: ISC */
/*
 * The colours that a user's terminal has of its own, as far as it told them.
 * A client asks its terminal for them, a server answers programs with them,
 * an agent keeps them (as bytes) for whoever answers next.
 */
#ifndef DLMUX_THEME_H
#define DLMUX_THEME_H

#include "../server/base/buf.h"

#define THEME_FOREGROUND	256
#define THEME_BACKGROUND	257
#define THEME_CURSOR		258
#define THEME_COLOURS		259

struct theme {
	uint32_t	rgb[THEME_COLOURS];	/* 0..255 are the palette's */
	bool		known[THEME_COLOURS];
};

bool	 theme_any(const struct theme *);
/* rgb:R/G/B with 1 to 4 digits each, rgba: (the last one is not looked at), or
 * #RGB, #RRGGBB, ... Names are not known: each terminal's table of them is its
 * own. */
bool	 theme_parse(const char *spec, uint32_t *rgb);
/* The one that is known, else what a colour usually is: xterm's palette, light
 * grey on black. theme may be NULL. */
uint32_t theme_colour(const struct theme *, int which);
/* Light letters on a dark ground? */
bool	 theme_dark(uint32_t background);

/* At most WIRE_THEME_MAX bytes. theme_get(): -1 if they are damaged. */
void	 theme_put(const struct theme *, struct buf *);
int	 theme_get(struct theme *, const void *, size_t);

#endif
