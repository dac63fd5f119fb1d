/* SPDX-License-Identifier: ISC */
/*
 * Do two screens hold the same? By content: the numbers of pens, links and
 * clusters, generations and serials may differ.
 */
#include <string.h>

#include "screen-private.h"

struct pair {
	const struct screen *a, *b;
	struct buf	*why;		/* may be NULL */
};

static bool
differ(struct pair *p, const char *what, long a, long b)
{
	if (p->why != NULL)
		buf_printf(p->why, "%s: %ld and %ld", what, a, b);
	return false;
}

#define SAME(field) \
	if (p->a->field != p->b->field) \
		return differ(p, #field, (long)p->a->field, (long)p->b->field)

static bool
text_same(struct pair *p, const char *what, const char *a, const char *b)
{
	if (strcmp(a, b) == 0)
		return true;
	if (p->why != NULL)
		buf_printf(p->why, "%s: \"%s\" and \"%s\"", what, a, b);
	return false;
}

static bool
pen_same(const struct pair *p, const struct pen *a, const struct pen *b)
{
	const char *ua, *ub, *ia = "", *ib = "";

	if (a->fg != b->fg || a->bg != b->bg || a->ul != b->ul ||
	    a->flags != b->flags || a->underline != b->underline)
		return false;
	ua = grid_link(p->a->grid, a->link, &ia);
	ub = grid_link(p->b->grid, b->link, &ib);
	if (ua == NULL || ub == NULL)
		return ua == ub;
	return strcmp(ua, ub) == 0 && strcmp(ia, ib) == 0;
}

static bool
cell_same(const struct pair *p, const struct cell *a, const struct cell *b)
{
	char ta[GRID_TEXT_MAX], tb[GRID_TEXT_MAX];
	size_t n;

	if (a->width != b->width || (a->ch == 0) != (b->ch == 0))
		return false;
	n = grid_text(p->a->grid, a, ta);
	if (n != grid_text(p->b->grid, b, tb) || memcmp(ta, tb, n) != 0)
		return false;
	return pen_same(p, grid_pen(p->a->grid, a->pen),
	    grid_pen(p->b->grid, b->pen));
}

static bool
row_same(struct pair *p, const char *what, int y, const struct row *a,
    const struct row *b)
{
	static const struct cell blank = { .width = 1 };
	int x;

	for (x = 0; x < a->used || x < b->used; x++)
		if (!cell_same(p, x < a->used ? &a->cells[x] : &blank,
		    x < b->used ? &b->cells[x] : &blank)) {
			if (p->why != NULL)
				buf_printf(p->why, "%s row %d column %d "
				    "differs", what, y, x);
			return false;
		}
	if (a->wrapped != b->wrapped || a->prompt != b->prompt ||
	    a->size != b->size) {
		if (p->why != NULL)
			buf_printf(p->why, "%s row %d: wrap or prompt mark",
			    what, y);
		return false;
	}
	return true;
}

static bool
page_same(struct pair *p, int page, const char *what)
{
	static const struct row none;
	const struct grid *a = p->a->grid, *b = p->b->grid;
	int y;

	for (y = 0; y < a->rows; y++)
		if (!row_same(p, what, y, a->page[page].rows == NULL ? &none :
		    grid_page_row(a, page, y), b->page[page].rows == NULL ?
		    &none : grid_page_row(b, page, y)))
			return false;
	return true;
}

static bool
saved_same(struct pair *p, int i)
{
	SAME(saved[i].row);
	SAME(saved[i].col);
	SAME(saved[i].wrap);
	SAME(saved[i].origin);
	SAME(saved[i].gl);
	if (memcmp(p->a->saved[i].gset, p->b->saved[i].gset, 4) != 0 ||
	    !pen_same(p, &p->a->saved[i].pen, &p->b->saved[i].pen))
		return differ(p, "saved character sets or pen", i, i);
	SAME(kitty[i].n);
	SAME(kitty[i].top);
	if (memcmp(p->a->kitty[i].under, p->b->kitty[i].under,
	    p->a->kitty[i].n) != 0)
		return differ(p, "kitty stack", i, i);
	return true;
}

static bool
filter_same(struct pair *p)
{
	const struct filter *a = &p->a->filter, *b = &p->b->filter;

	SAME(filter.state);
	SAME(filter.need);
	if (a->need > 0) {
		SAME(filter.cp);
		SAME(filter.low);
	}
	if (a->state == FILTER_GROUND)
		return true;
	SAME(filter.leader);
	SAME(filter.nmid);
	SAME(filter.nparams);
	SAME(filter.sub);
	SAME(filter.cut);
	SAME(filter.str.len);
	if (memcmp(a->mid, b->mid, sizeof a->mid) != 0 ||
	    memcmp(a->param, b->param, a->nparams * sizeof *a->param) != 0 ||
	    (a->str.len > 0 && memcmp(a->str.data, b->str.data, a->str.len)))
		return differ(p, "held bytes", 0, 0);
	return true;
}

static bool
state_same(struct pair *p)
{
	int i;

	SAME(rows);
	SAME(cols);
	SAME(offset);
	SAME(row);
	SAME(col);
	SAME(wrap);
	SAME(top);
	SAME(bottom);
	SAME(left);
	SAME(right);
	SAME(gl);
	SAME(gsingle);
	SAME(last);
	SAME(modes.flags);
	SAME(modes.cursor_shape);
	SAME(modes.kitty_flags);
	SAME(modes.modify_other);
	SAME(inner);
	SAME(xsaved);
	SAME(ntitles);
	SAME(grid->cur);
	SAME(grid->lines);
	if (memcmp(p->a->tabs, p->b->tabs, p->a->cols) != 0)
		return differ(p, "tab stops", 0, 0);
	if (memcmp(p->a->gset, p->b->gset, 4) != 0)
		return differ(p, "character sets", 0, 0);
	if (!pen_same(p, &p->a->pen, &p->b->pen))
		return differ(p, "pen", 0, 0);
	for (i = 0; i < PAGES; i++)
		if (!saved_same(p, i))
			return false;
	if (!text_same(p, "title", p->a->title, p->b->title) ||
	    !text_same(p, "cwd", p->a->cwd, p->b->cwd))
		return false;
	for (i = 0; i < p->a->ntitles; i++)
		if (!text_same(p, "saved title", p->a->titles[i],
		    p->b->titles[i]))
			return false;
	for (i = 0; i < PALETTE_SIZE; i++) {
		SAME(palette_set[i]);
		SAME(palette[i]);
	}
	return filter_same(p);
}

bool
screen_equal(const struct screen *a, const struct screen *b, bool history,
    struct buf *why)
{
	struct pair p = { a, b, why };
	size_t i;

	if (!state_same(&p) || !page_same(&p, PAGE_MAIN, "main") ||
	    !page_same(&p, PAGE_ALT, "alternate"))
		return false;
	if (!history)
		return true;
	if (a->grid->hist_len != b->grid->hist_len)
		return differ(&p, "history", a->grid->hist_len,
		    b->grid->hist_len);
	for (i = 0; i < a->grid->hist_len; i++)
		if (!row_same(&p, "history", i, grid_history(a->grid, i),
		    grid_history(b->grid, i)))
			return false;
	return true;
}
