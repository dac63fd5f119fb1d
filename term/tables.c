/* SPDX-License-Identifier: ISC */
/*
 * The tables that cells point into, and what happens when one is full: what
 * nothing points at is freed; then the older half of the history fades (its
 * colours become coarse, its links and marks go); then new pens do without.
 */
#include <stdlib.h>
#include <string.h>

#include "../server/base/mem.h"
#include "grid-private.h"

static void
mark_row(const struct row *row, uint8_t *pens, uint8_t *clusters)
{
	int x;

	for (x = 0; x < row->used; x++) {
		pens[row->cells[x].pen] = 1;
		if (row->cells[x].ch & CELL_CLUSTER)
			clusters[row->cells[x].ch & ~CELL_CLUSTER] = 1;
	}
}

/* Frees what no cell, no pen and no saved pen points at any more. */
static void
collect(struct grid *g)
{
	uint8_t *pens, *clusters, *links;
	const struct pen *pen;
	struct pen erased;
	uint32_t i, n;
	size_t h;
	int page, y;

	pens = xcalloc(g->pens.n + 1, 1);
	clusters = xcalloc(g->clusters.n + 1, 1);
	links = xcalloc(g->links.n + 1, 1);
	for (page = 0; page < PAGES; page++)
		for (y = 0; g->page[page].rows != NULL && y < g->rows; y++)
			mark_row(&g->page[page].rows[y], pens, clusters);
	for (h = 0; h < g->hist_len; h++)
		mark_row(&g->hist[(g->hist_head + h) % g->hist_cap], pens,
		    clusters);
	pens[0] = 1;
	links[0] = 1;
	for (i = 0; i < GRID_ROOTS; i++) {
		if ((pen = g->roots[i]) == NULL)
			continue;
		links[pen->link] = 1;
		if ((n = intern_find(&g->pens, pen, sizeof *pen)) !=
		    INTERN_NONE)
			pens[n] = 1;
		memset(&erased, 0, sizeof erased);
		erased.bg = pen->bg;
		if ((n = intern_find(&g->pens, &erased, sizeof erased)) !=
		    INTERN_NONE)
			pens[n] = 1;
	}
	for (i = 0; i < g->pens.n; i++)
		if (pens[i] && (pen = intern_data(&g->pens, i, NULL)) != NULL)
			links[pen->link] = 1;
	intern_sweep(&g->pens, pens);
	intern_sweep(&g->clusters, clusters);
	intern_sweep(&g->links, links);
	free(pens);
	free(clusters);
	free(links);
}

/* A direct colour as the nearest one of the 6x6x6 cube of the palette. */
static uint32_t
coarse_colour(uint32_t c)
{
	uint32_t part, index = 0;
	int shift;

	if (COLOUR_TYPE(c) != 2)
		return c;
	for (shift = 16; shift >= 0; shift -= 8) {
		part = c >> shift & 255;
		index = index * 6 + (part < 48 ? 0 : part < 115 ? 1 :
		    (part - 35) / 40);
	}
	return COLOUR_INDEX(16 + index);
}

static void
coarse(struct pen *pen)
{
	pen->fg = coarse_colour(pen->fg);
	pen->bg = coarse_colour(pen->bg);
	pen->ul = COLOUR_DEFAULT;
	pen->link = 0;
}

/* The first code point of a cluster. */
static uint32_t
base_of(const struct grid *g, uint32_t ch)
{
	const uint8_t *p;
	size_t len, n, i;
	uint32_t cp;

	p = intern_data(&g->clusters, ch & ~CELL_CLUSTER, &len);
	if (p == NULL)
		return ' ';
	n = p[0] < 0x80 ? 1 : p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : 2;
	cp = n == 1 ? p[0] : p[0] & (0x7f >> n);
	for (i = 1; i < n && i < len; i++)
		cp = cp << 6 | (p[i] & 0x3f);
	return cp;
}

static void
fade_row(struct grid *g, struct row *row)
{
	struct cell *c;
	struct pen pen;
	uint32_t to = 0;
	uint16_t last = 0;	/* the pen that "to" stands for */
	int x;

	for (x = 0; x < row->used; x++) {
		c = &row->cells[x];
		if (c->ch & CELL_CLUSTER)
			c->ch = base_of(g, c->ch);
		if (c->pen == 0)
			continue;
		if (c->pen != last) {
			pen = *grid_pen(g, c->pen);
			last = c->pen;
			coarse(&pen);
			to = intern_add(&g->pens, &pen, sizeof pen);
			/* No room even for that one: it loses all. */
			if (to == INTERN_NONE)
				to = 0;
		}
		c->pen = to;
	}
	grid_touch(g, row);
}

static void
fade(struct grid *g)
{
	size_t i;

	g->pens.max = GRID_PENS_ALL;
	for (i = 0; i < g->hist_len / 2; i++)
		fade_row(g, &g->hist[(g->hist_head + i) % g->hist_cap]);
	g->pens.max = GRID_PENS_MAX;
	collect(g);
}

static bool
crowded(const struct intern *t)
{
	return t->live > t->max / 8 * 7 ||
	    t->bytes > t->max_bytes / 8 * 7;
}

static uint32_t
add(struct grid *g, struct intern *t, const void *data, size_t len)
{
	uint32_t i;

	if ((i = intern_add(t, data, len)) != INTERN_NONE)
		return i;
	/* Cleaning costs a walk over everything; when it has freed little, it
	 * is not tried again at every character. */
	if (t->sulk > 0) {
		t->sulk--;
		return INTERN_NONE;
	}
	collect(g);
	if (crowded(t))
		fade(g);
	if (crowded(t))
		t->sulk = t->max;
	return intern_add(t, data, len);
}

uint16_t
grid_pen_index(struct grid *g, const struct pen *pen)
{
	struct pen less;
	uint32_t i;

	if ((i = add(g, &g->pens, pen, sizeof *pen)) != INTERN_NONE)
		return i;
	less = *pen;
	coarse(&less);
	i = intern_find(&g->pens, &less, sizeof less);
	return i == INTERN_NONE ? 0 : i;
}

uint32_t
grid_cluster_index(struct grid *g, const char *text, size_t len)
{
	return add(g, &g->clusters, text, len);
}

uint32_t
grid_link_index(struct grid *g, const char *uri, const char *id)
{
	char key[GRID_URI_MAX + GRID_LINK_ID_MAX + 2];
	size_t u = strlen(uri), n = strlen(id);
	uint32_t i;

	if (u == 0 || u > GRID_URI_MAX || n > GRID_LINK_ID_MAX)
		return 0;
	memcpy(key, uri, u + 1);
	memcpy(key + u + 1, id, n + 1);
	i = add(g, &g->links, key, u + n + 2);
	return i == INTERN_NONE ? 0 : i;
}
