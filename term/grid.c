/* SPDX-License-Identifier: ISC */
/*
 * The grid: rows in rings, cells, and the tables that cells point into.
 */
#include <stdlib.h>
#include <string.h>

#include "../server/base/mem.h"
#include "grid-private.h"
#include "utf8.h"
#include "word.h"

/* Lines that the processor is told of before they are dropped. */
#define HISTORY_AHEAD	8

static const struct pen default_pen;
static const struct cell blank_cell = { .width = 1 };

/* --- rows -------------------------------------------------------------- */

/* A cell as one word: what the compiler writes several of at a time. */
_Static_assert(sizeof(struct cell) == sizeof(uint64_t) &&
    offsetof(struct cell, ch) == 0, "a cell is a word that begins with ch");

static uint64_t
word_of(struct cell c)
{
	uint64_t word;

	memcpy(&word, &c, sizeof word);
	return word;
}

static void
fill(struct cell *c, size_t n, struct cell with)
{
	uint64_t word = word_of(with);
	size_t i;

	for (i = 0; i < n; i++)
		memcpy(&c[i], &word, sizeof word);
}

void
grid_row_alloc(struct row *row, int cols)
{
	memset(row, 0, sizeof *row);
	row->cells = xreallocarray(NULL, cols, sizeof *row->cells);
	row->cols = cols;
	fill(row->cells, cols, blank_cell);
}

void
grid_page_alloc(struct grid *g, int page)
{
	struct page *p = &g->page[page];
	int y;

	p->rows = xcalloc(g->rows, sizeof *p->rows);
	p->base = 0;
	for (y = 0; y < g->rows; y++) {
		grid_row_alloc(&p->rows[y], g->cols);
		grid_touch(g, &p->rows[y]);
	}
}

static void
page_free(struct grid *g, int page)
{
	struct page *p = &g->page[page];
	int y;

	if (p->rows == NULL)
		return;
	for (y = 0; y < g->rows; y++)
		free(p->rows[y].cells);
	free(p->rows);
	p->rows = NULL;
}

struct row *
grid_page_row(const struct grid *g, int page, int y)
{
	const struct page *p = &g->page[page];

	y += p->base;
	if (y >= g->rows)
		y -= g->rows;
	return &p->rows[y];
}

struct row *
grid_row(struct grid *g, int y)
{
	return grid_page_row(g, g->cur, y);
}

const struct row *
grid_history(const struct grid *g, size_t back)
{
	static const struct row none;

	if (back >= g->hist_len)
		return &none;
	return &g->hist[(g->hist_head + g->hist_len - 1 - back) % g->hist_cap];
}

void
grid_touch(struct grid *g, struct row *row)
{
	if (++g->serial == 0)
		g->serial = 1;
	row->serial = g->serial;
}

static void
row_blank(struct grid *g, struct row *row, uint16_t pen)
{
	struct cell with = blank_cell;

	if (pen != 0) {
		with.pen = pen;
		fill(row->cells, row->cols, with);
		row->used = row->cols;
	} else {
		fill(row->cells, row->used, with);
		row->used = 0;
	}
	row->wrapped = false;
	row->prompt = 0;
	row->size = ROW_SINGLE;
	grid_touch(g, row);
}

/* --- birth and end ----------------------------------------------------- */

struct grid *
grid_new(int rows, int cols, size_t lines, size_t bytes)
{
	struct grid *g;

	g = xcalloc(1, sizeof *g);
	g->rows = rows;
	g->cols = cols;
	g->hist_max = lines;
	g->hist_bytes_max = bytes;
	g->gen = 128;
	intern_init(&g->pens, GRID_PENS_MAX);
	intern_init(&g->clusters, GRID_CLUSTERS_MAX);
	intern_limit(&g->clusters, GRID_CLUSTERS_BYTES);
	intern_init(&g->links, GRID_LINKS_MAX);
	intern_limit(&g->links, GRID_LINKS_BYTES);
	grid_reset(g);
	return g;
}

void
grid_reset(struct grid *g)
{
	page_free(g, PAGE_MAIN);
	page_free(g, PAGE_ALT);
	grid_history_clear(g);
	intern_clear(&g->pens);
	intern_clear(&g->clusters);
	intern_clear(&g->links);
	intern_add(&g->pens, &default_pen, sizeof default_pen);
	intern_add(&g->links, "\0", 2);	/* 0 is no link */
	grid_page_alloc(g, PAGE_MAIN);
	g->cur = PAGE_MAIN;
	g->doubled = false;
}

void
grid_free(struct grid *g)
{
	if (g == NULL)
		return;
	page_free(g, PAGE_MAIN);
	page_free(g, PAGE_ALT);
	grid_history_clear(g);
	free(g->hist);
	intern_clear(&g->pens);
	intern_clear(&g->clusters);
	intern_clear(&g->links);
	free(g);
}

/* --- history ----------------------------------------------------------- */

static size_t
row_cost(const struct row *row)
{
	/* malloc's own overhead counted: many lines are short. */
	return sizeof *row + 16 + row->used * sizeof *row->cells;
}

static void
history_drop(struct grid *g)
{
	struct row *row = &g->hist[g->hist_head];
	const struct cell *soon;

	/* Of a long history each of the oldest lines is out of the cache by
	 * then, and free() waits for it: those that go next are asked for. */
	soon = g->hist[(g->hist_head + HISTORY_AHEAD) % g->hist_cap].cells;
	if (soon != NULL)
		__builtin_prefetch(soon, 1);
	g->hist_bytes -= row_cost(row);
	free(row->cells);
	g->hist_head = (g->hist_head + 1) % g->hist_cap;
	g->hist_len--;
}

void
grid_history_clear(struct grid *g)
{
	while (g->hist_len > 0)
		history_drop(g);
	g->epoch++;
	g->epoch_lines = g->lines;
}

void
grid_history_push(struct grid *g, const struct row *from)
{
	struct row *row, *ring;
	size_t i, cap;

	if (g->hist_max == 0)
		return;
	if (g->hist_len == g->hist_max)
		history_drop(g);
	if (g->hist_len == g->hist_cap) {
		cap = g->hist_cap == 0 ? 64 : g->hist_cap * 2;
		ring = xcalloc(cap, sizeof *ring);
		for (i = 0; i < g->hist_len; i++)
			ring[i] = g->hist[(g->hist_head + i) % g->hist_cap];
		free(g->hist);
		g->hist = ring;
		g->hist_head = 0;
		g->hist_cap = cap;
	}
	row = &g->hist[(g->hist_head + g->hist_len++) % g->hist_cap];
	*row = *from;
	row->size = ROW_SINGLE;
	row->cells = NULL;
	if (row->used != 0) {
		row->cells = xreallocarray(NULL, row->used,
		    sizeof *row->cells);
		memcpy(row->cells, from->cells,
		    row->used * sizeof *row->cells);
	}
	g->hist_bytes += row_cost(row);
	while (g->hist_bytes > g->hist_bytes_max && g->hist_len > 0)
		history_drop(g);
}

/* --- writing ----------------------------------------------------------- */

/* Makes sure that no wide character lies across the border before column x:
 * half of one is no character, both halves become spaces. */
void
grid_split(struct row *row, int x)
{
	struct cell *c;

	if (x <= 0 || x >= row->used)
		return;
	c = &row->cells[x];
	if (c->width != 0)
		return;
	c[-1].ch = c->ch = ' ';
	c[-1].width = c->width = 1;
}

void
grid_put(struct grid *g, int y, int x, uint32_t ch, int width, uint16_t pen)
{
	struct row *row = grid_row(g, y);
	struct cell *c = &row->cells[x];

	grid_split(row, x);
	grid_split(row, x + width);
	c->ch = ch;
	c->pen = pen;
	c->width = width;
	c->gen = g->gen;
	if (width == 2) {
		c[1] = *c;
		c[1].ch = 0;
		c[1].width = 0;
	}
	if (row->used < x + width)
		row->used = x + width;
	if (x + width == row->cols)
		row->wrapped = false;
	grid_touch(g, row);
}

void
grid_put_ascii(struct grid *g, int y, int x, const uint8_t *p, int n,
    uint16_t pen)
{
	struct row *row = grid_row(g, y);
	struct cell *c = &row->cells[x], with = blank_cell;
	uint64_t word, one;
	int i;

	grid_split(row, x);
	grid_split(row, x + n);
	with.pen = pen;
	with.gen = g->gen;
	word = word_of(with);
	for (i = 0; i < n; i++) {
		one = word_with(word, p[i]);
		memcpy(&c[i], &one, sizeof one);
	}
	if (row->used < x + n)
		row->used = x + n;
	if (x + n == row->cols)
		row->wrapped = false;
	grid_touch(g, row);
}

void
grid_combine(struct grid *g, int y, int x, uint32_t cp)
{
	struct row *row = grid_row(g, y);
	struct cell *c = &row->cells[x];
	char text[GRID_TEXT_MAX + 4];
	uint32_t index;
	size_t len;

	if (x > 0 && c->width == 0)
		c--;
	if (c->ch == 0)
		return;
	len = grid_text(g, c, text);
	len += utf8_put(text + len, cp);
	if (len >= GRID_TEXT_MAX)
		return;		/* enough marks on one letter */
	if ((index = grid_cluster_index(g, text, len)) == INTERN_NONE)
		return;
	c->ch = CELL_CLUSTER | index;
	grid_touch(g, row);
}

static void
erase_row(struct grid *g, struct row *row, int left, int right, uint16_t pen,
    bool spare)
{
	struct cell with = blank_cell;
	int x, end = right;

	if (left == 0 && right == row->cols && !spare) {
		row_blank(g, row, pen);
		return;
	}
	if (right == row->cols && !(spare && row->used == right &&
	    (grid_pen(g, row->cells[right - 1].pen)->flags & PEN_PROTECTED)))
		row->wrapped = false;
	grid_split(row, left);
	grid_split(row, right);
	with.pen = pen;
	if (pen == 0 && end > row->used)
		end = row->used;
	else if (pen != 0 && row->used < end)
		row->used = end;
	for (x = left; x < end; x++) {
		if (spare && grid_pen(g, row->cells[x].pen)->flags &
		    PEN_PROTECTED)
			continue;
		row->cells[x] = with;
	}
	if (pen == 0 && !spare && row->used > left && row->used <= right)
		row->used = left;
	grid_touch(g, row);
}

void
grid_erase(struct grid *g, int top, int left, int bottom, int right,
    uint16_t pen, bool spare)
{
	int y;

	if (left >= right)
		return;
	for (y = top; y < bottom; y++)
		erase_row(g, grid_row(g, y), left, right, pen, spare);
}

/* --- moving ------------------------------------------------------------ */

/* Turns the ring of rows [top, bottom) by n: up if positive. */
static void
rotate(struct grid *g, int top, int bottom, int n)
{
	struct page *p = &g->page[g->cur];
	struct row *tmp;
	int y, height = bottom - top;

	if (height == g->rows) {
		p->base = (p->base + n + g->rows) % g->rows;
		return;
	}
	tmp = xreallocarray(NULL, height, sizeof *tmp);
	for (y = 0; y < height; y++)
		tmp[y] = *grid_row(g, top + y);
	for (y = 0; y < height; y++)
		*grid_row(g, top + y) = tmp[(y + n + height) % height];
	free(tmp);
}

static void
scroll_rows(struct grid *g, int top, int bottom, int down, uint16_t pen,
    bool save)
{
	int y, n = abs(down), height = bottom - top;

	save = save && down > 0 && top == 0 && g->cur == PAGE_MAIN;
	if (save) {
		for (y = 0; y < n && y < height; y++)
			grid_history_push(g, grid_row(g, y));
		g->lines += y;
	}
	if (n > height)
		n = height;
	rotate(g, top, bottom, down > 0 ? n : -n);
	if (down > 0) {
		for (y = bottom - n; y < bottom; y++)
			row_blank(g, grid_row(g, y), pen);
	} else {
		for (y = top; y < top + n; y++)
			row_blank(g, grid_row(g, y), pen);
	}
	/* What stood next to each other no longer does. */
	if (top > 0)
		grid_row(g, top - 1)->wrapped = false;
	else if (!save && g->cur == PAGE_MAIN && g->hist_len > 0)
		g->hist[(g->hist_head + g->hist_len - 1) %
		    g->hist_cap].wrapped = false;
	if (bottom - n - 1 >= top && down > 0)
		grid_row(g, bottom - n - 1)->wrapped = false;
	else if (down < 0)
		grid_row(g, bottom - 1)->wrapped = false;
}

static void
scroll_cells(struct grid *g, int top, int left, int bottom, int right,
    int down, uint16_t pen)
{
	struct row *to, *from;
	int y, i, n = abs(down), height = bottom - top;

	if (n > height)
		n = height;
	for (y = top; y < bottom; y++) {
		grid_split(grid_row(g, y), left);
		grid_split(grid_row(g, y), right);
	}
	for (i = 0; i < height - n; i++) {
		y = down > 0 ? top + i : bottom - 1 - i;
		to = grid_row(g, y);
		from = grid_row(g, down > 0 ? y + n : y - n);
		memcpy(to->cells + left, from->cells + left,
		    (right - left) * sizeof *to->cells);
		if (to->used < right)
			to->used = right;
		grid_touch(g, to);
	}
	if (down > 0)
		grid_erase(g, bottom - n, left, bottom, right, pen, false);
	else
		grid_erase(g, top, left, top + n, right, pen, false);
}

static void
shift_row(struct grid *g, struct row *row, int left, int right, int across,
    uint16_t pen)
{
	struct cell with = blank_cell;
	int n = abs(across), width = right - left;

	if (n > width)
		n = width;
	grid_split(row, left);
	grid_split(row, right);
	if (across > 0) {
		grid_split(row, left + n);
		memmove(row->cells + left, row->cells + left + n,
		    (width - n) * sizeof *row->cells);
	} else {
		grid_split(row, right - n);
		memmove(row->cells + left + n, row->cells + left,
		    (width - n) * sizeof *row->cells);
	}
	if (row->used > left && row->used < right)
		row->used = right;
	/* Not by erase_row(): what lies there now are copies, and a half among
	 * them has its other half elsewhere. */
	with.pen = pen;
	fill(row->cells + (across > 0 ? right - n : left), n, with);
	if (pen != 0 && row->used < right)
		row->used = right;
	if (right == row->cols)
		row->wrapped = false;
	grid_touch(g, row);
}

void
grid_scroll(struct grid *g, int top, int left, int bottom, int right,
    int down, int across, uint16_t pen, bool save)
{
	int y;

	if (top >= bottom || left >= right)
		return;
	if (down != 0) {
		if (left == 0 && right == g->cols)
			scroll_rows(g, top, bottom, down, pen, save);
		else
			scroll_cells(g, top, left, bottom, right, down, pen);
	}
	if (across != 0)
		for (y = top; y < bottom; y++)
			shift_row(g, grid_row(g, y), left, right, across, pen);
}

/* Cell i of a row in the other size, where it has one. */
static void
resized(const struct row *row, struct cell *to, int i, bool wide)
{
	const struct cell *c = &row->cells[wide ? i : 2 * i];
	int at = wide ? 2 * i : i, width = c->width, by = wide ? 2 : 1;

	/* The second half of a wide one, or the blank behind it. */
	if (width == 0 || (!wide && i > 0 && to[i - 1].width == 2))
		return;
	if (width == 2 && at + width * by > (wide ? row->cols :
	    row->cols / 2))
		return;
	to[at] = *c;
	if (width == 2) {
		to[at + 1] = *c;
		to[at + 1].ch = 0;
		to[at + 1].width = 0;
	}
	for (i = width; wide && i < 2 * width; i++) {
		to[at + i] = *c;
		to[at + i].ch = c->ch != 0 ? ' ' : 0;
		to[at + i].width = 1;
	}
}

void
grid_row_size(struct grid *g, int y, enum row_size size)
{
	struct row *row = grid_row(g, y);
	struct cell *to;
	int i;

	if ((row->size != ROW_SINGLE) != (size != ROW_SINGLE)) {
		to = xreallocarray(NULL, row->cols, sizeof *to);
		fill(to, row->cols, blank_cell);
		for (i = 0; i < row->cols / 2; i++)
			resized(row, to, i, size != ROW_SINGLE);
		memcpy(row->cells, to, row->cols * sizeof *to);
		free(to);
		row->used = row->cols;
		while (row->used > 0 && memcmp(&row->cells[row->used - 1],
		    &blank_cell, sizeof blank_cell) == 0)
			row->used--;
		row->wrapped = false;
	}
	row->size = size;
	if (size != ROW_SINGLE)
		g->doubled = true;
	grid_touch(g, row);
}

void
grid_sizes_forget(struct grid *g)
{
	int page, y;

	for (page = 0; page < PAGES; page++)
		for (y = 0; g->page[page].rows != NULL && y < g->rows; y++)
			g->page[page].rows[y].size = ROW_SINGLE;
	g->doubled = false;
}

void
grid_wrapped(struct grid *g, int y)
{
	if (y >= 0)
		grid_row(g, y)->wrapped = true;
	else if (g->cur == PAGE_MAIN && g->hist_len > 0)
		g->hist[(g->hist_head + g->hist_len - 1) %
		    g->hist_cap].wrapped = true;
}

void
grid_show(struct grid *g, int page)
{
	if (g->page[page].rows == NULL)
		grid_page_alloc(g, page);
	g->cur = page;
}

/* --- generations ------------------------------------------------------- */

static void
age(struct row *row, uint8_t gen)
{
	int x;

	for (x = 0; x < row->used; x++)
		if ((uint8_t)(gen - row->cells[x].gen) > 64)
			row->cells[x].gen = gen - 128;
}

uint8_t
grid_mark(struct grid *g)
{
	size_t i;
	int page, y;

	g->gen++;
	if (++g->marks < 64)
		return g->gen;
	/* The counter is a byte: what is older than 64 marks is set back to
	 * 128, so that it comes round to look new at no time. */
	g->marks = 0;
	for (page = 0; page < PAGES; page++)
		for (y = 0; g->page[page].rows != NULL && y < g->rows; y++)
			age(&g->page[page].rows[y], g->gen);
	for (i = 0; i < g->hist_len; i++)
		age(&g->hist[(g->hist_head + i) % g->hist_cap], g->gen);
	return g->gen;
}

/* --- for readers ------------------------------------------------------- */

const struct pen *
grid_pen(const struct grid *g, uint16_t i)
{
	const struct pen *pen = intern_data(&g->pens, i, NULL);

	return pen == NULL ? &default_pen : pen;
}

const char *
grid_link(const struct grid *g, uint32_t i, const char **id)
{
	const char *uri;

	if (i == 0 || (uri = intern_data(&g->links, i, NULL)) == NULL)
		return NULL;
	if (id != NULL)
		*id = uri + strlen(uri) + 1;
	return uri;
}

size_t
grid_text(const struct grid *g, const struct cell *c, char *out)
{
	const void *text;
	size_t len;

	if (c->ch & CELL_CLUSTER) {
		text = intern_data(&g->clusters, c->ch & ~CELL_CLUSTER, &len);
		if (text != NULL && len < GRID_TEXT_MAX) {
			memcpy(out, text, len);
			return len;
		}
	}
	if (c->ch == 0 || c->ch & CELL_CLUSTER) {
		*out = ' ';
		return 1;
	}
	return utf8_put(out, c->ch);
}
