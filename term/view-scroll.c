/* SPDX-License-Identifier: ISC */
/*
 * Lines that left the top of the main screen, into the history of the
 * client's own terminal: each once, whole, and right.
 *
 * The lines that came since the last frame and the screen below them make one
 * text, whose first rows the terminal shows already (or showed, before they
 * changed). So those rows are brought up to date, and the rest is written
 * below, one row after the other, while the terminal scrolls as it would have
 * under the program itself: what leaves at its top is right by then.
 */
#include <stdio.h>
#include <string.h>

#include "../server/base/limits.h"
#include "view-private.h"

#define FETCH_AHEAD	3	/* rows */
#define FETCH_CELLS	8	/* in one line of the cache */

/* All rows move up by one. overrun: NULL, or the cell that is about to be
 * written past the end of the last row and makes the terminal do it. */
static void
scroll_one(struct view *v, const struct pcell *overrun)
{
	struct outer *o = &v->outer;
	struct prow *page = v->page[v->cur], first = page[0];
	bool tinted = false;
	struct pen p;

	if (overrun == NULL) {
		/* The new row takes the background colour. */
		outer_erase_pen(o, picture_pen(&v->picture, 0));
		outer_scroll(o);
	} else {	/* ... or all of that cell's pen */
		p = *picture_pen(&v->picture, overrun->pen);
		pen_blank(&p);
		tinted = !pen_is_plain(&p);
	}
	memmove(page, page + 1, (size_t)(v->rows - 1) * sizeof *page);
	page[v->rows - 1] = first;
	if (tinted)
		view_row_unknown(v, &page[v->rows - 1]);
	else
		view_row_blank(v, &page[v->rows - 1]);
}

/* Where the text is being written: the window's row that comes next. */
struct place {
	int	w;		/* 0..rows: rows means scroll first */
	bool	wrapped;	/* what was written last runs over */
	bool	passed;		/* ... and went by the picture's rows */
};

static void
line_put(struct view *v, struct place *at, const struct pcell *cells,
    const struct row *src, bool wrapped)
{
	struct prow *r;
	bool after = false, joined = false;
	int y;

	y = at->w < v->rows ? at->w : v->rows - 1;
	if (at->wrapped && at->w > 0) {
		/* On the way through old rows the mark may be there already. */
		joined = at->w < v->rows && view_row(v, y - 1)->wrapped;
		if (!joined)
			after = view_draw_join(v, at->w < v->rows ? y - 1 : y,
			    cells);
	}
	if (at->w >= v->rows) {
		if (after)
			view_row(v, y)->wrapped = true;
		scroll_one(v, after ? cells : NULL);
	} else {
		if (after)
			view_row(v, y - 1)->wrapped = true;
		at->w++;
	}
	view_draw(v, y, cells, after);
	r = view_row(v, y);
	r->current = src != NULL;
	r->serial = src != NULL ? src->serial : 0;
	at->wrapped = wrapped;
	at->passed = false;
}

/* A line that will have left at the top when the frame is through: by the
 * shortest way. False if it needs the longer one. */
static bool
line_pass(struct view *v, struct place *at, const struct screen *s,
    const struct row *src)
{
	int y;

	if (at->w < v->rows || !view_pass(v, s, src, at->wrapped))
		return false;
	/* Whatever stood in the rows has moved. */
	for (y = 0; y < v->rows && !at->passed; y++)
		view_row_unknown(v, view_row(v, y));
	at->passed = true;
	at->wrapped = src->wrapped;
	return true;
}

static void
marker_put(struct view *v, struct place *at, uint64_t n)
{
	struct pen pen;
	char text[80];
	int x;

	memset(&pen, 0, sizeof pen);
	pen.flags = PEN_REVERSE;
	snprintf(text, sizeof text, "[%llu lines left out]",
	    (unsigned long long)n);
	x = picture_text(&v->picture, text, &pen, v->cols, v->scratch);
	for (; x < v->cols; x++)
		v->scratch[x] = picture_blank();
	at->wrapped = false;
	line_put(v, at, v->scratch, NULL, false);
}

/* The screen's row y (negative: history), as one row of the terminal. */
static void
source_put(struct view *v, struct place *at, const struct screen *s,
    int y, int last)
{
	const struct row *src = screen_row(s, y);

	/* Already there and right, down to the mark: nothing to do. */
	if (at->w < v->rows && src != NULL && !at->wrapped) {
		struct prow *r = view_row(v, at->w);

		if (r->current && r->serial == src->serial) {
			at->w++;
			at->wrapped = src->wrapped && y != last;
			return;
		}
	}
	if (y < 0 && src != NULL && line_pass(v, at, s, src))
		return;
	picture_row(&v->picture, s, src, 0, v->cols, v->scratch);
	line_put(v, at, v->scratch, src,
	    src != NULL && src->wrapped && y != last);
}

/* Of a long history hardly a row is in the processor's cache. */
static void
fetch(const struct row *row)
{
	const char *p;
	int i;

	if (row == NULL)
		return;
	p = (const char *)row->cells;
	for (i = 0; i < row->used; i += FETCH_CELLS)
		__builtin_prefetch(p + (size_t)i * sizeof *row->cells);
}

/* The text from row y of the screen on, to its end. */
static void
text_put(struct view *v, struct place *at, const struct screen *s, int y)
{
	int last = v->rows - 1;

	for (; y <= last; y++) {
		if (y < 0 && v->out.len > VIEW_LINES_BYTES) {
			marker_put(v, at, (uint64_t)-y);
			y = 0;
		}
		if (y < -FETCH_AHEAD)
			fetch(screen_row(s, y + FETCH_AHEAD));
		source_put(v, at, s, y, last);
	}
}

static void
scroll_exact(struct view *v, const struct screen *s, uint64_t count, int keep)
{
	struct place at = { 0, false, false };
	uint64_t skip = count - (uint64_t)keep;
	int y;

	if (skip == 0) {
		text_put(v, &at, s, -keep);
		return;
	}
	/* The oldest are gone, or too many. What the terminal still shows of
	 * them stays as it is. */
	if (skip <= (uint64_t)v->rows) {
		at.w = (int)skip;
		text_put(v, &at, s, -keep);
		return;
	}
	for (y = v->rows; y > 0 &&
	    view_row_is_blank(v, view_row(v, y - 1)); y--)
		;
	at.w = y;
	marker_put(v, &at, skip - (uint64_t)y);
	text_put(v, &at, s, -keep);
}

/* Sizes differ: whole lines, in as many rows as they take, over the picture
 * from its top, and away with them. The picture is drawn again below. */
static void
scroll_inexact(struct view *v, const struct screen *s, uint64_t count,
    int keep)
{
	struct place at = { 0, false, false };
	const struct row *src;
	int y, from, n;

	if (count > (uint64_t)keep)
		marker_put(v, &at, count - (uint64_t)keep);
	for (y = -keep; y < 0; y++) {
		if (v->out.len > VIEW_LINES_BYTES) {
			marker_put(v, &at, (uint64_t)-y);
			break;
		}
		if ((src = screen_row(s, y)) == NULL)
			continue;
		from = 0;
		do {
			n = v->cols;
			/* A wide character goes whole into the next row. */
			if (from + n < src->used && n > 1 &&
			    src->cells[from + n].width == 0) {
				n--;
				v->scratch[n] = picture_blank();
			}
			picture_row(&v->picture, s, src, from, n, v->scratch);
			from += n;
			line_put(v, &at, v->scratch, NULL, from < src->used);
		} while (from < src->used);
	}
	/* A line is in the history when its row has left at the top. */
	for (y = 0; y < at.w; y++)
		scroll_one(v, NULL);
}

void
view_scroll(struct view *v, const struct screen *s)
{
	uint64_t lines = screen_lines(s), count;
	int keep = screen_history(s);

	/* A rewritten history has nothing to do with what was given; what was
	 * added to it since has. */
	if (v->epoch != screen_epoch(s))
		v->lines = screen_epoch_lines(s);
	v->epoch = screen_epoch(s);
	count = lines > v->lines ? lines - v->lines : 0;
	v->lines = lines;
	if (count == 0)
		return;
	if (count > VIEW_LINES_MAX && keep > VIEW_LINES_FLOOD)
		keep = VIEW_LINES_FLOOD;
	if ((uint64_t)keep > count)
		keep = (int)count;
	if (view_exact(v))
		scroll_exact(v, s, count, keep);
	else
		scroll_inexact(v, s, count, keep);
}

/* Nearly what a row costs: colours in full are the most of it. */
static size_t
row_bytes(const struct row *r)
{
	size_t n = 2;
	uint16_t pen = 0;
	int x;

	for (x = 0; r != NULL && x < r->used; x++) {
		n += r->cells[x].ch < 0x80 ? 1 : 4;
		if (r->cells[x].pen != pen)
			n += 40;
		pen = r->cells[x].pen;
	}
	return n;
}

/* Of so many lines of history the newest that fit into a frame: a terminal
 * that is given all of a long history should miss its beginning, not its
 * end. */
static int
lines_that_fit(const struct screen *s, int lines)
{
	size_t bytes = 0;
	int y;

	for (y = -1; y >= -lines; y--) {
		bytes += row_bytes(screen_row(s, y));
		if (bytes > VIEW_LINES_BYTES)
			return -y - 1;
	}
	return lines;
}

void
view_scroll_fresh(struct view *v, const struct screen *s)
{
	int i, x, want, keep = screen_history(s);
	struct outer *o = &v->outer;

	outer_reset_pen(o);
	/* To the start of an empty row: a row of blanks stays on the cursor's
	 * row if that starts there, and runs over into the next if not. */
	i = v->rows;
	if (caps_flag(v->caps, CAPS_AM) && caps_flag(v->caps, CAPS_XENL)) {
		for (x = 0; x < v->cols; x++)
			buf_puts(o->out, " ");
		i--;
	}
	buf_puts(o->out, "\r");
	/* From wherever that is, so many line feeds take what stands above it
	 * into the terminal's history, and no blank rows with it. */
	for (; i > 0; i--)
		buf_puts(o->out, "\n");
	o->y = v->rows - 1;
	o->x = 0;
	view_draw_erase_below(v, 0);
	v->fresh = false;
	v->lines = screen_lines(s);
	v->epoch = screen_epoch(s);
	want = v->history < 0 ? v->rows : v->history;
	if (keep > want)
		keep = want;
	if (keep == 0)
		return;
	want = keep;
	keep = lines_that_fit(s, keep);
	if (view_exact(v)) {
		struct place at = { 0, false, false };

		if (keep < want)
			marker_put(v, &at, (uint64_t)(want - keep));
		text_put(v, &at, s, -keep);
	} else
		scroll_inexact(v, s, (uint64_t)want, keep);
}

/* --- moving what can be moved ------------------------------------------- */

/* Rows that were moved as one: what the screen has in first..first+n-1, the
 * terminal has by rows further down (negative: up). */
struct block {
	int	first, n, by;
};

/* Fewer rows than this are drawn as quickly. */
#define BLOCK_MIN	3
/* The search looks at every pair of rows. */
#define BLOCK_ROWS_MAX	256

static bool
is_row(struct view *v, const struct screen *s, int y, int at)
{
	const struct prow *r;

	if (at < 0 || at >= v->rows)
		return false;
	r = view_row(v, at);
	return r->current && r->serial == screen_row(s, y)->serial;
}

static struct block
find_block(struct view *v, const struct screen *s)
{
	struct block best = { 0, 0, 0 };
	int y, at, n;

	for (y = 0; y < v->rows; y++) {
		if (screen_row(s, y)->used == 0 || is_row(v, s, y, y))
			continue;
		for (at = 0; at < v->rows; at++) {
			if (at == y || !is_row(v, s, y, at))
				continue;
			for (n = 1; y + n < v->rows &&
			    is_row(v, s, y + n, at + n); n++)
				;
			if (n > best.n) {
				best.first = y;
				best.n = n;
				best.by = at - y;
			}
			break;
		}
		/* Within a block there is no better one. */
		if (best.n > 0 && y < best.first + best.n)
			y = best.first + best.n - 1;
	}
	return best;
}

/* Rows top..bottom-1 up by n (negative: down), in the picture. */
static void
rotate(struct view *v, int top, int bottom, int n)
{
	struct prow *page = v->page[v->cur], keep;
	int i, y, edge;

	for (i = n < 0 ? -n : n; i > 0; i--) {
		y = n > 0 ? top : bottom - 1;
		keep = page[y];
		if (n > 0)
			memmove(&page[top], &page[top + 1],
			    (size_t)(bottom - top - 1) * sizeof *page);
		else
			memmove(&page[top + 1], &page[top],
			    (size_t)(bottom - top - 1) * sizeof *page);
		y = n > 0 ? bottom - 1 : top;
		page[y] = keep;
		view_row_blank(v, &page[y]);
	}
	if (top > 0)
		page[top - 1].wrapped = false;
	edge = n > 0 ? bottom - n - 1 : bottom - 1;
	page[edge].wrapped = false;
}

void
view_scroll_region(struct view *v, const struct screen *s)
{
	struct outer *o = &v->outer;
	struct block b;
	int top, bottom, n, i;
	bool whole;

	if (!view_exact(v) || v->rows > BLOCK_ROWS_MAX ||
	    !caps_has(v->caps, CAP_CSR))
		return;
	b = find_block(v, s);
	if (b.n < BLOCK_MIN)
		return;
	top = b.by > 0 ? b.first : b.first + b.by;
	bottom = b.by > 0 ? b.first + b.n + b.by : b.first + b.n;
	n = b.by > 0 ? b.by : -b.by;
	/* On the main screen, what leaves at the top would be history. */
	if (b.by > 0 && top == 0 && v->cur == VIEW_MAIN)
		return;
	whole = top == 0 && bottom == v->rows;
	if (b.by < 0 && !caps_has(v->caps, CAP_RI))
		return;
	outer_erase_pen(o, picture_pen(&v->picture, 0));
	if (!whole) {
		caps_emit(v->caps, CAP_CSR, top, bottom - 1, o->out);
		o->y = o->x = -1;	/* at home, or where it was */
	}
	outer_move(o, b.by > 0 ? bottom - 1 : top, 0);
	for (i = 0; i < n; i++)
		caps_emit(v->caps, b.by < 0 ? CAP_RI :
		    caps_has(v->caps, CAP_IND) ? CAP_IND : CAP_CUD1, 0, 0,
		    o->out);
	if (!whole) {
		caps_emit(v->caps, CAP_CSR, 0, v->rows - 1, o->out);
		o->y = o->x = -1;
	}
	rotate(v, top, bottom, b.by > 0 ? n : -n);
}
