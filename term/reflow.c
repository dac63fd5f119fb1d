/* SPDX-License-Identifier: ISC */
/*
 * Resizing a grid. When the width changes, the main page and its history are
 * laid out anew, line by line (a line being rows joined by soft wraps), each
 * old row freed as soon as its cells have moved; when the height changes,
 * rows go to history or come back from it. The alternate page is cut or
 * padded: who draws there draws again.
 */
#include <stdlib.h>
#include <string.h>

#include "../server/base/mem.h"
#include "grid-private.h"

/* The new layout while it grows. */
struct layout {
	struct grid	*g;
	int		 cols;
	struct row	*ring;		/* the newest cap rows */
	size_t		 cap;		/* most rows worth keeping */
	size_t		 alloc;		/* rows the ring has room for */
	size_t		 total;		/* rows begun before the open one */
	size_t		 first;		/* the oldest that is kept */
	struct cell	*cells;		/* of the open row */
	int		 x;		/* cells in it */
	uint8_t		 prompt;
};

static bool
plain(const struct cell *c)
{
	return c->ch == 0 && c->pen == 0 && c->width == 1;
}

static int
row_used(const struct row *row)
{
	int used = row->used;

	while (used > 0 && plain(&row->cells[used - 1]))
		used--;
	return used;
}

static void
layout_row(struct layout *l, bool wrapped)
{
	struct row *row, *ring;
	size_t i, alloc;

	if (l->total - l->first == l->cap) {
		row = &l->ring[l->first++ % l->alloc];
		free(row->cells);
	} else if (l->total - l->first == l->alloc) {
		alloc = l->alloc * 2;
		if (alloc > l->cap)
			alloc = l->cap;
		ring = xcalloc(alloc, sizeof *ring);
		for (i = l->first; i < l->total; i++)
			ring[i % alloc] = l->ring[i % l->alloc];
		free(l->ring);
		l->ring = ring;
		l->alloc = alloc;
	}
	row = &l->ring[l->total++ % l->alloc];
	memset(row, 0, sizeof *row);
	row->cols = l->cols;
	row->used = l->x;
	row->wrapped = wrapped;
	row->prompt = l->prompt;
	if (!wrapped) {
		struct row look = { .cells = l->cells, .used = l->x };

		row->used = row_used(&look);
	}
	if (row->used > 0) {
		row->cells = xreallocarray(NULL, row->used,
		    sizeof *row->cells);
		memcpy(row->cells, l->cells, row->used * sizeof *row->cells);
	}
	grid_touch(l->g, row);
	l->x = 0;
	l->prompt = 0;
}

static void
layout_cell(struct layout *l, const struct cell *c)
{
	if (l->x == l->cols && c->width == 2 && plain(&l->cells[l->x - 1]))
		/* A blank of the text, not the free column before a wide one:
		 * it must come back. */
		l->cells[l->x - 1].ch = ' ';
	if (l->x + c->width > l->cols) {
		/* A wide one does not fit: the line ends one short. */
		while (l->x < l->cols)
			l->cells[l->x++] = (struct cell){ .width = 1 };
	}
	if (l->x == l->cols)
		layout_row(l, true);
	l->cells[l->x++] = *c;
}

/* The old rows in order: history, then the page. */
static struct row *
old_row(struct grid *g, size_t i)
{
	if (i < g->hist_len)
		return &g->hist[(g->hist_head + i) % g->hist_cap];
	return grid_page_row(g, PAGE_MAIN, i - g->hist_len);
}

/* The cell that the cursor stands on has just been laid out. */
static void
cursor_on(const struct layout *l, struct grid_cursor *c, bool wrap)
{
	c->row = l->total;
	c->col = l->x - 1;
	c->wrap = wrap && c->col == l->cols - 1;
	if (wrap && !c->wrap)
		c->col++;
}

/* It stands beyond the last cell of its line. */
static void
cursor_past(const struct layout *l, struct grid_cursor *c, int beyond)
{
	c->row = l->total;
	c->col = l->x + beyond;
	c->wrap = false;
	if (c->col >= l->cols) {
		c->wrap = beyond == 0;
		c->col = l->cols - 1;
	}
}

/* Lays out an old row. next: the row that goes on with its line, or NULL.
 * Cursor i, if on[i], stands on this row at from[i]; cur[i] becomes its new
 * place, the row counted from the beginning of the layout. */
static void
layout_old(struct layout *l, const struct row *row, const struct row *next,
    const struct grid_cursor *from, struct grid_cursor *cur, const bool *on,
    int n)
{
	static const struct cell blank = { .width = 1 };
	int x, i, end;

	if (row->prompt != 0)
		l->prompt = row->prompt;
	end = next != NULL ? row->cols : row_used(row);
	if (next != NULL && next->used > 0 && next->cells[0].width == 2 &&
	    (row->used < row->cols || plain(&row->cells[row->cols - 1])))
		end--;		/* left free for the wide one */
	for (x = 0; x < end; x++) {
		layout_cell(l, x < row->used ? &row->cells[x] : &blank);
		for (i = 0; i < n; i++)
			if (on[i] && from[i].col == x)
				cursor_on(l, &cur[i], from[i].wrap);
	}
	for (i = 0; i < n; i++)
		if (on[i] && from[i].col >= end)
			cursor_past(l, &cur[i], from[i].col - end);
	if (next == NULL)
		layout_row(l, false);
}

static void
set_page(struct grid *g, struct layout *l, size_t top, int cols)
{
	struct page *p = &g->page[PAGE_MAIN];
	struct row *from, *to;
	int y;

	free(p->rows);
	p->rows = xcalloc(g->rows, sizeof *p->rows);
	p->base = 0;
	for (y = 0; y < g->rows; y++) {
		to = &p->rows[y];
		grid_row_alloc(to, cols);
		grid_touch(g, to);
		if (top + y >= l->total)
			continue;
		from = &l->ring[(top + y) % l->alloc];
		if (from->used > 0)
			memcpy(to->cells, from->cells,
			    from->used * sizeof *to->cells);
		to->used = from->used;
		to->wrapped = from->wrapped;
		to->prompt = from->prompt;
		free(from->cells);
		from->cells = NULL;
	}
	for (top += y; top < l->total; top++)
		free(l->ring[top % l->alloc].cells);
}

static void
reflow(struct grid *g, int cols, struct grid_cursor *cur, int n)
{
	struct layout l = { .g = g, .cols = cols };
	size_t i, rows, hist = g->hist_len, newtop = 0, top, bottom;
	struct row *row, *next;
	struct grid_cursor from[2];
	bool on[2];
	int k, last = -1;

	for (k = 0; k < n; k++)
		from[k] = cur[k];
	for (k = 0; k < g->rows; k++) {
		row = grid_page_row(g, PAGE_MAIN, k);
		if (row_used(row) > 0 || row->wrapped)
			last = k;
	}
	for (k = 0; k < n; k++)
		if (from[k].row > last)
			last = from[k].row;
	l.cap = g->hist_max + 2 * g->rows;
	l.alloc = 64 < l.cap ? 64 : l.cap;
	l.ring = xcalloc(l.alloc, sizeof *l.ring);
	l.cells = xreallocarray(NULL, cols, sizeof *l.cells);
	rows = hist + last + 1;
	for (i = 0; i < rows; i++) {
		row = old_row(g, i);
		next = row->wrapped && i + 1 < rows ? old_row(g, i + 1) : NULL;
		for (k = 0; k < n; k++)
			on[k] = i >= hist && from[k].row == (int)(i - hist);
		if (i == hist)
			newtop = l.total + (l.x == cols);
		layout_old(&l, row, next, from, cur, on, n);
		free(row->cells);
		row->cells = NULL;
	}
	for (i = last + 1; i < (size_t)g->rows; i++)
		free(grid_page_row(g, PAGE_MAIN, i)->cells);

	/* As many rows stay free under the text as were, if it has shrunk;
	 * if it has grown it takes those first. */
	bottom = last + 1;
	top = l.total > bottom ? l.total - bottom : 0;
	if (top > newtop) {
		top = newtop;
		if (l.total > top + g->rows)
			top = l.total - g->rows;
	}
	if (top > (size_t)cur[0].row)
		top = cur[0].row;
	if (top < l.first)
		top = l.first;
	g->hist_len = 0;
	g->hist_bytes = 0;
	g->hist_head = 0;
	set_page(g, &l, top, cols);
	g->lines = g->lines + (top - l.first) > hist ?
	    g->lines + (top - l.first) - hist : 0;
	for (i = l.first; i < top; i++) {
		row = &l.ring[i % l.alloc];
		grid_history_push(g, row);
		free(row->cells);
	}
	for (k = 0; k < n; k++) {
		cur[k].row -= (int)top;
		if (cur[k].row < 0)
			cur[k].row = 0;
		if (cur[k].row >= g->rows)
			cur[k].row = g->rows - 1;
	}
	free(l.ring);
	free(l.cells);
}

/* Lines from the top of the page to history, or back from it. */
static void
set_height(struct grid *g, int rows, struct grid_cursor *cur, int n)
{
	struct page *p = &g->page[PAGE_MAIN];
	struct row *new, *row;
	int y, k, push = 0, pull = 0, last = -1, old = g->rows;

	for (y = 0; y < old; y++)
		if (row_used(grid_page_row(g, PAGE_MAIN, y)) > 0)
			last = y;
	if (cur[0].row > last)
		last = cur[0].row;
	if (rows < old) {
		push = last + 1 - rows;
		if (push > cur[0].row)
			push = cur[0].row;
		if (push < 0)
			push = 0;
	} else {
		pull = rows - old;
		if (pull > (int)g->hist_len)
			pull = g->hist_len;
	}
	new = xcalloc(rows, sizeof *new);
	for (y = 0; y < rows; y++) {
		row = NULL;
		if (y < pull) {
			/* The newest line comes last. */
			struct row *from = &g->hist[(g->hist_head +
			    g->hist_len - pull + y) % g->hist_cap];

			grid_row_alloc(&new[y], g->cols);
			if (from->used > 0)
				memcpy(new[y].cells, from->cells,
				    from->used * sizeof *new[y].cells);
			new[y].used = from->used;
			new[y].wrapped = from->wrapped;
			new[y].prompt = from->prompt;
			g->hist_bytes -= sizeof *from + 16 +
			    from->used * sizeof *from->cells;
			free(from->cells);
		} else if (y - pull + push < old) {
			row = grid_page_row(g, PAGE_MAIN, y - pull + push);
			new[y] = *row;
			row->cells = NULL;
		} else
			grid_row_alloc(&new[y], g->cols);
		grid_touch(g, &new[y]);
	}
	g->hist_len -= pull;
	for (y = 0; y < push; y++) {
		row = grid_page_row(g, PAGE_MAIN, y);
		grid_history_push(g, row);
	}
	for (y = 0; y < old; y++)
		free(grid_page_row(g, PAGE_MAIN, y)->cells);
	free(p->rows);
	p->rows = new;
	p->base = 0;
	if (push > 0 || pull > 0) {
		g->lines = g->lines + push > (size_t)pull ?
		    g->lines + push - pull : 0;
		g->epoch++;
		g->epoch_lines = g->lines;
	}
	for (k = 0; k < n; k++) {
		cur[k].row += pull - push;
		if (cur[k].row < 0)
			cur[k].row = 0;
		if (cur[k].row >= rows)
			cur[k].row = rows - 1;
	}
}

static void
cut_alternate(struct grid *g, int rows, int cols)
{
	struct page *p = &g->page[PAGE_ALT];
	struct row *new, *from;
	int y, used;

	if (p->rows == NULL)
		return;
	new = xcalloc(rows, sizeof *new);
	for (y = 0; y < rows; y++) {
		grid_row_alloc(&new[y], cols);
		grid_touch(g, &new[y]);
		if (y >= g->rows)
			continue;
		from = grid_page_row(g, PAGE_ALT, y);
		used = from->used;
		if (used > cols) {
			grid_split(from, cols);
			used = cols;
		}
		memcpy(new[y].cells, from->cells, used * sizeof *from->cells);
		new[y].used = used;
		new[y].prompt = from->prompt;
		new[y].wrapped = from->wrapped && cols == g->cols;
	}
	for (y = 0; y < g->rows; y++)
		free(p->rows[y].cells);
	free(p->rows);
	p->rows = new;
	p->base = 0;
}

void
grid_resize(struct grid *g, int rows, int cols, struct grid_cursor *cur, int n)
{
	cut_alternate(g, rows, cols);
	if (cols != g->cols) {
		reflow(g, cols, cur, n);
		g->cols = cols;
		g->epoch++;
		g->epoch_lines = g->lines;
	}
	if (rows != g->rows) {
		set_height(g, rows, cur, n);
		g->rows = rows;
	}
}
