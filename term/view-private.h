/* SPDX-License-Identifier: ISC */
/*
 * A view, as its own files see it: view.c (what a frame consists of),
 * view-draw.c (a row's difference), view-scroll.c (lines that go into the
 * terminal's own history), view-pass.c (the many of a flood).
 */
#ifndef DLMUX_VIEW_PRIVATE_H
#define DLMUX_VIEW_PRIVATE_H

#include "outer.h"
#include "picture.h"
#include "view.h"

enum { VIEW_MAIN, VIEW_ALT, VIEW_PAGES };

struct view {
	const struct caps *caps;
	int		 rows, cols;
	struct outer	 outer;
	struct buf	 out;		/* the frame being made */
	struct picture	 picture;
	struct prow	*page[VIEW_PAGES]; /* what the terminal's screens show;
					 * NULL: never seen */
	struct pcell	*cells[VIEW_PAGES]; /* theirs, in one piece */
	int		 cur;
	struct pcell	*scratch;	/* one row */
	struct pcell	*blank, *unknown; /* rows to copy */

	/* The screen as of the last frame. */
	const struct screen *screen;	/* only compared */
	uint64_t	 serial;
	int		 src_rows, src_cols;
	int		 off_y, off_x;	/* of the screen, at our corner */

	uint64_t	 lines;		/* of history given to the terminal */
	uint32_t	 epoch;
	bool		 epoch_known;
	int		 history;	/* lines above a fresh screen; -1: a
					 * screenful */
	bool		 fresh;		/* the main screen is still what the
					 * user had before */

	bool		 padding;	/* the screen's edge is drawn */
	bool		 dirty;		/* a frame is due whatever the screen */
	char		*title;		/* NULL: not known */
	char		*notice;
	char		**overlay;
	size_t		 overlay_lines;
	bool		 bell;
	struct buf	 clipboard;	/* sequences to pass on */
	struct buf	 notes;
};

/* Rows and columns are the screen's: no clipping, no padding. */
static inline bool
view_exact(const struct view *v)
{
	return v->src_rows == v->rows && v->src_cols == v->cols;
}

static inline struct prow *
view_row(struct view *v, int y)
{
	return &v->page[v->cur][y];
}

/* Draws what differs. after: the text of the row above runs over into this
 * one, and the terminal is to know. */
void	 view_draw(struct view *, int y, const struct pcell *, bool after);
/* Makes ready for view_draw(y + 1, next, after): the cursor past the end of
 * row y. False if that cannot be had. */
bool	 view_draw_join(struct view *, int y, const struct pcell *next);
/* The terminal writes with this pen from now on. */
void	 view_use_pen(struct view *, uint16_t);
void	 view_row_unknown(struct view *, struct prow *);
void	 view_row_blank(struct view *, struct prow *);
bool	 view_row_is_blank(const struct view *, const struct prow *);
/* Erases from the start of row y to the end of the screen. */
void	 view_draw_erase_below(struct view *, int y);

/* Brings the lines that went into history since the last frame into the
 * terminal's; main screen only. */
void	 view_scroll(struct view *, const struct screen *);
/* Scrolls the terminal and writes a history row into the last one, past the
 * picture (joined: the terminal is to run over into it by itself). False,
 * and nothing done, if that does not do for this one. */
bool	 view_pass(struct view *, const struct screen *, const struct row *,
	    bool joined);
/* Makes room on a terminal that shows what the user had before. */
void	 view_scroll_fresh(struct view *, const struct screen *);
/* Moves what can be moved instead of drawing it anew. */
void	 view_scroll_region(struct view *, const struct screen *);

#endif
