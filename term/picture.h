/* SPDX-License-Identifier: ISC */
/*
 * A picture: cells as a client's terminal can show them, in numbers that mean
 * the same from frame to frame (a screen's own may be given out anew). The
 * looks, clusters and links behind the numbers are kept here. It knows
 * neither escape sequences nor where the terminal's cursor is.
 */
#ifndef DLMUX_PICTURE_H
#define DLMUX_PICTURE_H

#include <string.h>

#include "caps.h"
#include "intern.h"
#include "screen.h"
#include "word.h"

struct pcell {
	uint32_t	ch;	/* code point, CELL_CLUSTER | index, PCELL_* */
	uint16_t	pen;	/* for picture_pen() */
	uint8_t		width;	/* 1, 2, or 0: second half of a wide one */
	uint8_t		doubt;	/* terminals disagree about the width */
};

#define PCELL_UNKNOWN	UINT32_MAX	/* equals no cell */

struct prow {
	struct pcell	*cells;
	uint32_t	 serial;	/* of the screen's row it shows ... */
	bool		 current;	/* ... if true */
	bool		 wrapped;	/* the terminal ran over into the next */
};

#define PICTURE_CACHE	64

/* As screen_palette() counts them: the palette, foreground, background. */
#define PICTURE_COLOURS	258

struct picture {
	const struct caps *caps;
	struct intern	 pens, clusters, links;
	bool		 full;		/* one of them */
	/* The colours that a program changed, as of the last look. */
	uint32_t	 palette[PICTURE_COLOURS];
	bool		 palette_set[PICTURE_COLOURS];
	bool		 palette_any;
	/* Pens looked up in this frame: a screen's number to ours. */
	struct {
		uint32_t src;		/* number + 1, 0 free */
		uint16_t text, blank;
	} cache[PICTURE_CACHE];
};

void	 picture_init(struct picture *, const struct caps *);
void	 picture_clear(struct picture *);
/* Before the first row of a frame. True if everything that was ever
 * translated is out of date: colours changed, or a table was full. */
bool	 picture_begin(struct picture *, const struct screen *);

/* Columns from..from+n-1 of a row of a screen; what lies beyond its end is
 * blank. row may be NULL. */
void	 picture_row(struct picture *, const struct screen *,
	    const struct row *, int from, int n, struct pcell *);
/* Text in one pen, at most n columns; returns how many it took. */
int	 picture_text(struct picture *, const char *, const struct pen *,
	    int n, struct pcell *);

/* A screen's pen in our numbers, for text or for a blank. */
uint16_t picture_number(struct picture *, const struct screen *, uint16_t,
	    bool blank);
const struct pen *picture_pen(const struct picture *, uint16_t);
/* Do terminals disagree about this character's width? */
bool	 picture_doubtful(uint32_t ch);
/* NULL, or the URI and id of a link. */
const char *picture_link(const struct picture *, uint32_t, const char **id);
/* UTF-8 of a cell, at most GRID_TEXT_MAX bytes; returns the length. */
size_t	 picture_cell_text(const struct picture *, const struct pcell *,
	    char *);

static inline struct pcell
picture_blank(void)
{
	struct pcell c = { ' ', 0, 1, 0 };

	return c;
}

/* One like `like' (whose ch is 0), with ch: in a single store. */
static inline void
pcell_put(struct pcell *to, const struct pcell *like, uint32_t ch)
{
	uint64_t word;

	memcpy(&word, like, sizeof word);
	word = word_with(word, ch);
	memcpy(to, &word, sizeof word);
}

static inline bool
pcell_same(const struct pcell *a, const struct pcell *b)
{
	return a->ch == b->ch && a->pen == b->pen && a->width == b->width;
}

#endif
