/* SPDX-License-Identifier: ISC */
/*
 * The cells of a screen as its readers see them: compact cells, interned pens
 * (colours, attributes, link) and grapheme clusters, rows in a ring so that a
 * scroll moves no cells. Owned by a struct screen; nothing here knows of
 * escape sequences or of a terminal.
 */
#ifndef DLMUX_GRID_H
#define DLMUX_GRID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A colour: default, palette index, or direct. */
#define COLOUR_DEFAULT	0x00000000u
#define COLOUR_INDEX(i)	(0x01000000u | (uint32_t)(i))	/* 0..255 */
#define COLOUR_RGB(r, g, b) (0x02000000u | (uint32_t)(r) << 16 | \
			    (uint32_t)(g) << 8 | (uint32_t)(b))
#define COLOUR_TYPE(c)	((c) >> 24)	/* 0 default, 1 index, 2 rgb */

enum pen_flags {
	PEN_BOLD	= 1 << 0,
	PEN_FAINT	= 1 << 1,
	PEN_ITALIC	= 1 << 2,
	PEN_BLINK	= 1 << 3,
	PEN_REVERSE	= 1 << 4,
	PEN_CONCEAL	= 1 << 5,
	PEN_STRIKE	= 1 << 6,
	PEN_OVERLINE	= 1 << 7
};

enum pen_underline {
	UNDERLINE_NONE, UNDERLINE_SINGLE, UNDERLINE_DOUBLE, UNDERLINE_CURLY,
	UNDERLINE_DOTTED, UNDERLINE_DASHED
};

struct pen {
	uint32_t	fg, bg, ul;	/* COLOUR_*; ul is the underline's */
	uint16_t	flags;		/* PEN_* */
	uint8_t		underline;	/* enum pen_underline */
	uint8_t		pad;		/* zero, so that pens compare as bytes */
	uint32_t	link;		/* 0 none, else an index for grid_link() */
};

/* ch is a code point, 0 for a blank that was never written or was erased, or
 * CELL_CLUSTER | index of a grapheme cluster (base + combining marks). */
#define CELL_CLUSTER	0x80000000u

struct cell {
	uint32_t	ch;
	uint16_t	pen;		/* index for grid_pen(); 0 is the default pen */
	uint8_t		width;		/* 1, 2, or 0: second half of a wide one */
	uint8_t		gen;		/* generation of the last write: screen_mark() */
};

enum row_size { ROW_SINGLE, ROW_WIDE, ROW_TOP, ROW_BOTTOM };

struct row {
	struct cell	*cells;		/* read only [0, used): a history row
					 * holds no more (NULL if none), ... */
	uint16_t	 used;		/* ... and from here on to cols all are
					 * plain blanks, stored or not */
	uint16_t	 cols;
	bool		 wrapped;	/* text goes on in the next row (soft wrap) */
	uint8_t		 prompt;	/* OSC 133 mark: 0 or 'A' 'B' 'C' 'D' */
	uint8_t		 size;		/* DECDWL, DECDHL: enum row_size; each
					 * character has a blank behind it */
	uint32_t	 serial;	/* changes whenever the row's content changes:
					 * a view skips rows whose serial it has drawn */
};

struct grid;

/* Never NULL; an unknown index yields the default pen. */
const struct pen *grid_pen(const struct grid *, uint16_t);
/* Writes the UTF-8 of a cell's text into out (at least GRID_TEXT_MAX bytes),
 * a blank as one space; returns the length. */
#define GRID_TEXT_MAX 64
size_t	grid_text(const struct grid *, const struct cell *, char *out);
/* URI and id of a link, NULL if unknown; valid until the next write. */
const char *grid_link(const struct grid *, uint32_t, const char **id);

#endif
