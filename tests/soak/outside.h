/* SPDX-License-Identifier: ISC */
/*
 * The terminal outside, for tests: what a user would see of the bytes that
 * an attached client writes. libvterm's own screen layer keeps the picture;
 * what it does not know (links, faint, overline, underline colours, modes,
 * titles, key protocols) is read off the bytes by a small strict parser that
 * complains about anything an attach has no business to write. Knows nothing
 * of dlmux.
 */
#ifndef DLMUX_SOAK_OUTSIDE_H
#define DLMUX_SOAK_OUTSIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../server/base/buf.h"

struct outside;

/* What libvterm cannot show of a cell. */
struct outside_extra {
	bool		faint, conceal, overline;
	uint8_t		underline;	/* 0..5 as in SGR 4:n */
	uint32_t	ul;		/* 0 default, 1<<24|index, 2<<24|rgb */
	const char	*link;		/* "id;uri", "" if none */
};

struct outside_cell {
	char		text[160];	/* UTF-8, " " if empty */
	int		width;
	uint32_t	fg, bg;		/* as ul */
	bool		bold, italic, blink, reverse, strike;
	uint8_t		underline;	/* as libvterm has it: 0..3 */
	const struct outside_extra *extra;
};

struct outside *outside_new(int rows, int cols);
void	 outside_free(struct outside *);
void	 outside_resize(struct outside *, int rows, int cols);
void	 outside_write(struct outside *, const void *, size_t);

int	 outside_rows(const struct outside *);
int	 outside_cols(const struct outside *);
void	 outside_cell(struct outside *, int y, int x, struct outside_cell *);
void	 outside_cursor(struct outside *, int *row, int *col);
/* Lines that left at the top, ever, and their text without end blanks. */
size_t	 outside_lines(const struct outside *);
const char *outside_line(const struct outside *, size_t);

bool	 outside_alt(const struct outside *);
bool	 outside_mode(const struct outside *, int number);	/* CSI ? n h */
bool	 outside_keypad(const struct outside *);
int	 outside_shape(const struct outside *);
int	 outside_kitty(const struct outside *);	/* of the current screen */
int	 outside_other(const struct outside *);
/* The cursor's colour, "#112233", "" at first. */
const char *outside_cursor_colour(const struct outside *);
const char *outside_title(const struct outside *);	/* "own" at first */
unsigned long outside_bells(const struct outside *);
/* Everything as a program finds it that was started by a shell: the modes
 * named here, no pen, no link. NULL, or what is left on. */
const char *outside_left_on(struct outside *);
/* It answers questions about its colours, as a dark terminal does that does not
 * report changes: what it has to say since the last call, appended. */
void	 outside_answers(struct outside *, struct buf *);
/* Was it asked? Then the focus is its owner's business too. */
bool	 outside_asked(const struct outside *);
/* No sequence or character is half written. */
bool	 outside_whole(const struct outside *);
/* NULL, or the first thing that should not have been written. */
const char *outside_complaint(const struct outside *);
/* How many columns libvterm gives a code point; 0 joins the one before. */
int	 outside_width(uint32_t cp);

#endif
