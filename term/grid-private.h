/* SPDX-License-Identifier: ISC */
/*
 * The grid as its owner, the screen, sees it. Two pages (main and alternate)
 * whose rows form a ring, and the history of the main page. Coordinates are
 * zero-based; right and bottom are exclusive; the caller keeps them within
 * the page.
 */
#ifndef DLMUX_GRID_PRIVATE_H
#define DLMUX_GRID_PRIVATE_H

#include "../server/base/limits.h"
#include "grid.h"
#include "intern.h"

/* DECSCA: selective erase spares the cell. No business of a view. */
#define PEN_PROTECTED	(1 << 15)

enum { PAGE_MAIN, PAGE_ALT, PAGES };

struct page {
	struct row	*rows;		/* grid.rows of them; NULL: never used */
	int		 base;		/* index of the topmost */
};

/* Roots that collecting garbage must spare beside the cells: the pen of the
 * program and the saved ones. */
#define GRID_ROOTS	3

struct grid {
	int		 rows, cols;
	struct page	 page[PAGES];
	int		 cur;		/* PAGE_MAIN or PAGE_ALT */

	struct row	*hist;		/* ring; a row's cells end at .used */
	size_t		 hist_cap, hist_head, hist_len;
	size_t		 hist_bytes;	/* what the rows in it cost */
	size_t		 hist_max, hist_bytes_max;
	uint64_t	 lines;		/* see screen_lines() */
	uint32_t	 epoch;		/* see screen_epoch() */
	uint64_t	 epoch_lines;	/* lines when it changed last */

	bool		 doubled;	/* there may be rows with a .size */
	uint32_t	 serial;	/* last one given to a row */
	uint8_t		 gen;		/* of what is written now */
	uint8_t		 marks;		/* since the last ageing */

	struct intern	 pens, clusters, links;
	const struct pen *roots[GRID_ROOTS];	/* not owned */
};

/* Where a resize has to take a cursor along. */
struct grid_cursor {
	int	row, col;
	bool	wrap;		/* past the last column */
};

struct grid *grid_new(int rows, int cols, size_t lines, size_t bytes);
void	 grid_free(struct grid *);
/* Both pages blank, no history, tables empty; the counters go on. */
void	 grid_reset(struct grid *);

struct row *grid_row(struct grid *, int y);	/* of the current page */
struct row *grid_page_row(const struct grid *, int page, int y);
/* 0 is the newest; a row without cells if there is none. */
const struct row *grid_history(const struct grid *, size_t back);
void	 grid_touch(struct grid *, struct row *);	/* a new serial */

/* The index of a pen for cells; 0 if all have been given out. */
uint16_t grid_pen_index(struct grid *, const struct pen *);
/* The index of a link for a pen; 0 if there is no room or uri is empty. */
uint32_t grid_link_index(struct grid *, const char *uri, const char *id);
uint32_t grid_cluster_index(struct grid *, const char *, size_t);

/* Writing a character that takes 1 or 2 columns, all of them on the row. */
void	 grid_put(struct grid *, int y, int x, uint32_t ch, int width,
	    uint16_t pen);
void	 grid_put_ascii(struct grid *, int y, int x, const uint8_t *, int n,
	    uint16_t pen);
/* Joins a mark to the character that covers the cell, if there is one. */
void	 grid_combine(struct grid *, int y, int x, uint32_t cp);
/* Blanks; pen should hold no more than a background. spare: protected cells
 * stay. */
void	 grid_erase(struct grid *, int top, int left, int bottom, int right,
	    uint16_t pen, bool spare);
/* Moves what is in the rectangle up by down rows and left by across columns
 * (negative: the other way), blanks what is uncovered. save: rows that leave
 * the top of the main page become history, if whole. */
void	 grid_scroll(struct grid *, int top, int left, int bottom, int right,
	    int down, int across, uint16_t pen, bool save);
/* Shows a page; the alternate one begins blank. */
void	 grid_show(struct grid *, int page);
void	 grid_history_clear(struct grid *);
/* Appends to the history as its newest line; the cells are copied. */
void	 grid_history_push(struct grid *, const struct row *);

/* Characters of another size: spread out, or drawn together again. */
void	 grid_row_size(struct grid *, int y, enum row_size);
/* None has any more; what is spread out stays so. */
void	 grid_sizes_forget(struct grid *);

/* Row y goes on in the next; -1 is the newest line of history. */
void	 grid_wrapped(struct grid *, int y);

/* reflow.c. Main page and history are rewrapped, the alternate page is cut or
 * padded. cur[n] are cursors of the main page, moved with the text; the first
 * is the one that has to stay in sight. */
void	 grid_resize(struct grid *, int rows, int cols, struct grid_cursor *cur,
	    int n);

/* A new generation; old cells are aged so that 64 back stay exact. */
uint8_t	 grid_mark(struct grid *);

/* For the parts of the grid itself. */
void	 grid_row_alloc(struct row *, int cols);
void	 grid_page_alloc(struct grid *, int page);
/* No wide character may lie across the border before column x. */
void	 grid_split(struct row *, int x);

#endif
