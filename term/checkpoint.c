/* SPDX-License-Identifier: ISC */
/*
 * Writing a checkpoint. What goes in is every field of the screen and the
 * cells; pens, links and clusters are numbered anew in the order they are
 * met. restore.c reads it; both know the layout, and its version number is
 * checkpoint.h's.
 */
#include <stdlib.h>
#include <string.h>

#include "../server/base/mem.h"
#include "checkpoint.h"
#include "screen-private.h"

/* Local numbers of the tables' entries, 0 for none: they count from 1. */
struct numbers {
	uint32_t	*of;
	uint32_t	*order;		/* global index of each, in order */
	uint32_t	 n;
};

struct saver {
	const struct screen *s;
	const struct grid *g;
	struct buf	*b;
	struct numbers	 pens, clusters, links;
};

static void
numbers_init(struct numbers *m, uint32_t size)
{
	m->of = xcalloc(size + 1, sizeof *m->of);
	m->order = xcalloc(size + 1, sizeof *m->order);
	m->n = 0;
}

static void
numbers_free(struct numbers *m)
{
	free(m->of);
	free(m->order);
}

static void
number(struct numbers *m, uint32_t i)
{
	if (m->of[i] == 0) {
		m->order[m->n++] = i;
		m->of[i] = m->n;
	}
}

/* --- what is used ------------------------------------------------------ */

static void
meet_pen(struct saver *v, const struct pen *pen)
{
	if (pen->link != 0 && pen->link < v->g->links.n)
		number(&v->links, pen->link);
}

static void
meet_row(struct saver *v, const struct row *row)
{
	const struct cell *c;
	uint32_t last = UINT32_MAX;
	int x;

	for (x = 0; x < row->used; x++) {
		c = &row->cells[x];
		if (c->pen != last && c->pen < v->g->pens.n &&
		    v->pens.of[c->pen] == 0) {
			number(&v->pens, c->pen);
			meet_pen(v, grid_pen(v->g, c->pen));
		}
		last = c->pen;
		if (c->ch & CELL_CLUSTER)
			number(&v->clusters, c->ch & ~CELL_CLUSTER);
	}
}

static void
meet_page(struct saver *v, int page)
{
	int y;

	if (v->g->page[page].rows != NULL)
		for (y = 0; y < v->g->rows; y++)
			meet_row(v, grid_page_row(v->g, page, y));
}

/* --- cells ------------------------------------------------------------- */

static enum checkpoint_run
kind_of(const struct cell *c)
{
	if (c->width == 1 && c->ch == 0)
		return CHECKPOINT_BLANK;
	if (c->width == 1 && c->ch >= 0x20 && c->ch < 0x7f)
		return CHECKPOINT_ASCII;
	return CHECKPOINT_ANY;
}

static void
put_run(struct saver *v, const struct cell *c, int n, enum checkpoint_run kind)
{
	uint8_t *p;
	int i;

	buf_u8(v->b, kind);
	buf_u16(v->b, n);
	buf_u16(v->b, c->pen == 0 ? 0 : v->pens.of[c->pen]);
	if (kind == CHECKPOINT_ASCII) {
		if ((p = buf_reserve(v->b, (size_t)n)) == NULL)
			return;
		for (i = 0; i < n; i++)
			p[i] = (uint8_t)c[i].ch;
		v->b->len += (size_t)n;
		return;
	}
	for (; n > 0 && kind != CHECKPOINT_BLANK; n--, c++) {
		buf_u32(v->b, c->ch & CELL_CLUSTER ? CELL_CLUSTER |
		    v->clusters.of[c->ch & ~CELL_CLUSTER] : c->ch);
		buf_u8(v->b, c->width);
	}
}

static void
put_row(struct saver *v, const struct row *row)
{
	const struct cell *c = row->cells;
	enum checkpoint_run kind;
	int x, n;

	buf_u8(v->b, (uint8_t)(row->wrapped | row->size << 1));
	buf_u8(v->b, row->prompt);
	buf_u16(v->b, row->used);
	for (x = 0; x < row->used; x += n) {
		kind = kind_of(&c[x]);
		for (n = 1; x + n < row->used && c[x + n].pen == c[x].pen &&
		    kind_of(&c[x + n]) == kind; n++)
			;
		put_run(v, &c[x], n, kind);
	}
}

static void
put_page(struct saver *v, int page)
{
	int y;

	buf_u8(v->b, v->g->page[page].rows != NULL);
	if (v->g->page[page].rows != NULL)
		for (y = 0; y < v->g->rows; y++)
			put_row(v, grid_page_row(v->g, page, y));
}

/* --- the rest ---------------------------------------------------------- */

static void
put_pen(struct saver *v, const struct pen *pen)
{
	buf_u32(v->b, pen->fg);
	buf_u32(v->b, pen->bg);
	buf_u32(v->b, pen->ul);
	buf_u16(v->b, pen->flags);
	buf_u8(v->b, pen->underline);
	buf_u32(v->b, pen->link != 0 && pen->link < v->g->links.n ?
	    v->links.of[pen->link] : 0);
}

static void
put_tables(struct saver *v)
{
	const char *uri, *id;
	const void *text;
	size_t len;
	uint32_t i;

	buf_u32(v->b, v->links.n);
	for (i = 0; i < v->links.n; i++) {
		uri = grid_link(v->g, v->links.order[i], &id);
		buf_str(v->b, uri);
		buf_str(v->b, uri == NULL ? NULL : id);
	}
	buf_u32(v->b, v->pens.n);
	for (i = 0; i < v->pens.n; i++)
		put_pen(v, grid_pen(v->g, v->pens.order[i]));
	buf_u32(v->b, v->clusters.n);
	for (i = 0; i < v->clusters.n; i++) {
		text = intern_data(&v->g->clusters, v->clusters.order[i],
		    &len);
		buf_bin(v->b, text, text == NULL ? 0 : len);
	}
}

static void
put_saved(struct saver *v, const struct saved_cursor *c)
{
	buf_u16(v->b, c->row);
	buf_u16(v->b, c->col);
	buf_u8(v->b, c->wrap);
	buf_u8(v->b, c->origin);
	buf_u8(v->b, c->gl);
	buf_put(v->b, c->gset, sizeof c->gset);
	put_pen(v, &c->pen);
}

static void
put_filter(struct buf *b, const struct filter *f)
{
	int i;

	buf_u8(b, f->state);
	buf_u8(b, f->leader);
	buf_put(b, f->mid, sizeof f->mid);
	buf_u8(b, f->nmid);
	buf_u8(b, f->nparams);
	for (i = 0; i < f->nparams; i++)
		buf_u32(b, f->param[i]);
	buf_u64(b, f->sub);
	buf_u8(b, f->cut);
	buf_bin(b, f->str.data, f->str.len);
	buf_u8(b, f->need);
	buf_u32(b, f->cp);
	buf_u32(b, f->low);
}

static void
put_strings(struct buf *b, const struct screen *s)
{
	int i, n = 0;

	buf_str(b, s->title);
	buf_str(b, s->cwd);
	buf_u8(b, s->ntitles);
	for (i = 0; i < s->ntitles; i++)
		buf_str(b, s->titles[i]);
	for (i = 0; i < PALETTE_SIZE; i++)
		n += s->palette_set[i];
	buf_u16(b, n);
	for (i = 0; i < PALETTE_SIZE; i++)
		if (s->palette_set[i]) {
			buf_u16(b, i);
			buf_u32(b, s->palette[i]);
		}
}

static void
put_state(struct saver *v)
{
	const struct screen *s = v->s;
	struct buf *b = v->b;
	int page;

	buf_u16(b, s->row);
	buf_u16(b, s->col);
	buf_u8(b, s->wrap);
	buf_u16(b, s->top);
	buf_u16(b, s->bottom);
	buf_u16(b, s->left);
	buf_u16(b, s->right);
	buf_put(b, s->tabs, s->cols);
	put_pen(v, &s->pen);
	buf_u8(b, s->gl);
	buf_u8(b, s->gsingle);
	buf_put(b, s->gset, sizeof s->gset);
	buf_u32(b, s->last);
	buf_u32(b, s->modes.flags);
	buf_u8(b, s->modes.cursor_shape);
	buf_u8(b, s->modes.modify_other);
	buf_u32(b, s->inner);
	buf_u64(b, s->xsaved);
	for (page = 0; page < PAGES; page++) {
		put_saved(v, &s->saved[page]);
		buf_u8(b, s->kitty[page].n);
		buf_u8(b, s->kitty[page].top);
		buf_put(b, s->kitty[page].under, s->kitty[page].n);
	}
	put_strings(b, s);
	put_filter(b, &s->filter);
}

/* What a row can come to: each cell a run of its own. */
static size_t
row_most(const struct row *row)
{
	return 4 + (size_t)row->used * (5 + 5);
}

/* How many lines of history, newest first, fit into room bytes. */
static size_t
history_fits(struct saver *v, size_t most, size_t room)
{
	struct buf *out = v->b, one;
	size_t n, bytes = 0;

	/* Nearly always all, as can be seen without making them. */
	for (n = 0; n < most && bytes <= room; n++)
		bytes += row_most(grid_history(v->g, n));
	if (bytes <= room)
		return n;
	buf_init(&one, CHECKPOINT_MAX);
	v->b = &one;
	for (n = 0; n < most; n++) {
		buf_reset(&one);
		put_row(v, grid_history(v->g, n));
		if (one.len > room)
			break;
		room -= one.len;
	}
	v->b = out;
	buf_free(&one);
	return n;
}

static bool
old_sets(const uint8_t gset[4])
{
	int i;

	for (i = 0; i < 4; i++)
		if (gset[i] != 'B' && gset[i] != '0' && gset[i] != 'A')
			return false;
	return true;
}

static uint16_t
version_of(const struct screen *s)
{
	int page, y;

	if (!old_sets(s->gset) || (s->inner & INNER_NATIONAL))
		return 2;
	for (page = 0; page < PAGES; page++) {
		if (!old_sets(s->saved[page].gset))
			return 2;
		for (y = 0; s->grid->doubled && y < s->rows &&
		    s->grid->page[page].rows != NULL; y++)
			if (grid_page_row(s->grid, page, y)->size !=
			    ROW_SINGLE)
				return 2;
	}
	return 1;
}

void
screen_checkpoint(const struct screen *s, enum checkpoint_kind kind,
    struct buf *b)
{
	struct saver v = { .s = s, .g = s->grid, .b = b };
	size_t start = b->len, room, most, n, i;
	int page;

	numbers_init(&v.pens, v.g->pens.n);
	numbers_init(&v.clusters, v.g->clusters.n);
	numbers_init(&v.links, v.g->links.n);
	meet_pen(&v, &s->pen);
	for (page = 0; page < PAGES; page++) {
		meet_pen(&v, &s->saved[page].pen);
		meet_page(&v, page);
	}
	most = v.g->hist_len;
	if (kind == CHECKPOINT_LIGHT && most > (size_t)s->rows)
		most = (size_t)s->rows;
	for (i = 0; i < most; i++)
		meet_row(&v, grid_history(v.g, i));

	buf_u32(b, CHECKPOINT_MAGIC);
	buf_u16(b, version_of(s));
	buf_u8(b, kind);
	buf_u64(b, s->offset);
	buf_u16(b, s->rows);
	buf_u16(b, s->cols);
	put_tables(&v);
	put_state(&v);
	buf_u8(b, v.g->cur);
	buf_u64(b, v.g->lines);
	for (page = 0; page < PAGES; page++)
		put_page(&v, page);
	room = b->max < start + CHECKPOINT_MAX ? b->max :
	    start + CHECKPOINT_MAX;
	room = b->len + 4 < room ? room - b->len - 4 : 0;
	n = history_fits(&v, most, room);
	buf_u32(b, n);
	while (n-- > 0)
		put_row(&v, grid_history(v.g, n));
	numbers_free(&v.pens);
	numbers_free(&v.clusters);
	numbers_free(&v.links);
}
