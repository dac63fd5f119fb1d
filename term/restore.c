/* SPDX-License-Identifier: ISC */
/*
 * Reading a checkpoint. The bytes come from the far side, and what they say
 * is later written to the user's terminal, so nothing is believed: every
 * value must be one that a stream could have produced, or the whole of it is
 * refused.
 */
#include <stdlib.h>
#include <string.h>

#include "../server/base/mem.h"
#include "charset.h"
#include "checkpoint.h"
#include "screen-private.h"
#include "utf8.h"
#include "width.h"

struct loader {
	struct rd	 r;
	struct screen	*s;		/* being filled */
	struct grid	*g;
	bool		 bad;
	uint32_t	*links, *clusters;
	uint16_t	*pens;
	uint32_t	 nlinks, npens, nclusters;
};

static uint32_t
within(struct loader *l, uint32_t v, uint32_t low, uint32_t high)
{
	if (v < low || v > high) {
		l->bad = true;
		return low;
	}
	return v;
}

static bool
flag(struct loader *l)
{
	return within(l, rd_u8(&l->r), 0, 1);
}

/* A count of things of at least size bytes each: none can be promised that
 * is not there. */
static uint32_t
count(struct loader *l, uint32_t max, size_t size)
{
	uint32_t n = within(l, rd_u32(&l->r), 0, max);

	if (n > l->r.left / size) {
		l->bad = true;
		return 0;
	}
	return n;
}

static bool
failed(const struct loader *l)
{
	return l->bad || l->r.failed;
}

static bool
visible(uint32_t cp)
{
	return cp >= 0x20 && !(cp >= 0x7f && cp < 0xa0) && cp <= 0x10ffff &&
	    !(cp >= 0xd800 && cp < 0xe000);
}

/* --- tables ------------------------------------------------------------ */

static bool
printable(const char *p)
{
	for (; *p != '\0'; p++)
		if (*p <= 0x20 || *p >= 0x7f)
			return false;
	return true;
}

static void
load_links(struct loader *l)
{
	char *uri, *id;
	uint32_t i;

	l->nlinks = count(l, GRID_LINKS_MAX, 8);
	l->links = xcalloc(l->nlinks + 1, sizeof *l->links);
	for (i = 1; i <= l->nlinks && !failed(l); i++) {
		uri = rd_str(&l->r, GRID_URI_MAX);
		id = rd_str(&l->r, GRID_LINK_ID_MAX);
		if (uri == NULL || id == NULL || *uri == '\0' ||
		    !printable(uri) || !printable(id))
			l->bad = true;
		else
			l->links[i] = grid_link_index(l->g, uri, id);
		free(uri);
		free(id);
	}
}

static uint32_t
load_colour(struct loader *l)
{
	uint32_t c = rd_u32(&l->r), type = COLOUR_TYPE(c);

	if (type > 2 || (type == 0 && c != COLOUR_DEFAULT) ||
	    (type == 1 && (c & 0xffffff) > 255))
		l->bad = true;
	return c;
}

static void
load_pen(struct loader *l, struct pen *pen)
{
	memset(pen, 0, sizeof *pen);
	pen->fg = load_colour(l);
	pen->bg = load_colour(l);
	pen->ul = load_colour(l);
	pen->flags = rd_u16(&l->r);
	if (pen->flags & ~(0xff | PEN_PROTECTED))
		l->bad = true;
	pen->underline = within(l, rd_u8(&l->r), 0, UNDERLINE_DASHED);
	pen->link = l->links[within(l, rd_u32(&l->r), 0, l->nlinks)];
}

static void
load_pens(struct loader *l)
{
	struct pen pen;
	uint32_t i;

	l->npens = count(l, GRID_PENS_ALL, 19);
	l->pens = xcalloc(l->npens + 1, sizeof *l->pens);
	for (i = 1; i <= l->npens && !failed(l); i++) {
		load_pen(l, &pen);
		l->pens[i] = grid_pen_index(l->g, &pen);
	}
}

/* A base and marks, and nothing that a terminal would obey. */
static bool
is_cluster(const uint8_t *p, size_t len)
{
	uint32_t cp;
	size_t n, i;
	char back[UTF8_BYTES];

	while (len > 0) {
		n = p[0] < 0x80 ? 1 : p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : 2;
		if (n > len)
			return false;
		cp = n == 1 ? p[0] : p[0] & (0x7f >> n);
		for (i = 1; i < n; i++)
			cp = cp << 6 | (p[i] & 0x3f);
		if (!visible(cp) || utf8_put(back, cp) != n ||
		    memcmp(back, p, n) != 0)
			return false;
		p += n;
		len -= n;
	}
	return true;
}

static void
load_clusters(struct loader *l)
{
	const uint8_t *text;
	uint32_t i, index;
	size_t len;

	l->nclusters = count(l, GRID_CLUSTERS_MAX, 4);
	l->clusters = xcalloc(l->nclusters + 1, sizeof *l->clusters);
	for (i = 1; i <= l->nclusters && !failed(l); i++) {
		text = rd_bin(&l->r, GRID_TEXT_MAX - 1, &len);
		if (text == NULL || len < 2 || !is_cluster(text, len)) {
			l->bad = true;
			return;
		}
		index = grid_cluster_index(l->g, (const char *)text, len);
		l->clusters[i] = index == INTERN_NONE ? 0 : CELL_CLUSTER |
		    index;
	}
}

/* --- cells ------------------------------------------------------------- */

static void
load_any(struct loader *l, struct cell *c)
{
	uint32_t ch = rd_u32(&l->r);

	c->width = within(l, rd_u8(&l->r), 0, 2);
	if (ch & CELL_CLUSTER) {
		/* Number 0 is a blank, so a wrong one harms nothing. */
		c->ch = l->clusters[within(l, ch & ~CELL_CLUSTER, 0,
		    l->nclusters)];
		return;
	}
	c->ch = ch;
	if (ch != 0 && !visible(ch))
		l->bad = true;
}

static void
load_run(struct loader *l, struct row *row, int *x)
{
	uint8_t kind = within(l, rd_u8(&l->r), 0, CHECKPOINT_ANY);
	int n = within(l, rd_u16(&l->r), 1, row->used - *x);
	uint16_t pen = l->pens[within(l, rd_u16(&l->r), 0, l->npens)];
	struct cell *c;

	for (; n > 0 && !failed(l); n--) {
		c = &row->cells[(*x)++];
		c->ch = 0;
		c->pen = pen;
		c->width = 1;
		c->gen = l->g->gen - 128;	/* as old as can be */
		if (kind == CHECKPOINT_ASCII)
			c->ch = within(l, rd_u8(&l->r), 0x20, 0x7e);
		else if (kind == CHECKPOINT_ANY)
			load_any(l, c);
	}
}

/* cells has room for the screen's columns, blank from the start. */
static void
load_row(struct loader *l, struct row *row, int max)
{
	struct cell *c = row->cells;
	int x;

	x = within(l, rd_u8(&l->r), 0, ROW_BOTTOM << 1 | 1);
	row->wrapped = x & 1;
	row->size = (uint8_t)(x >> 1);
	row->prompt = rd_u8(&l->r);
	if (row->prompt != 0 && (row->prompt < 'A' || row->prompt > 'D'))
		l->bad = true;
	row->used = within(l, rd_u16(&l->r), 0, max);
	for (x = 0; x < row->used && !failed(l); )
		load_run(l, row, &x);
	if (failed(l)) {
		row->used = 0;
		return;
	}
	/* No half characters. */
	for (x = 0; x < row->used; x++)
		if ((c[x].width == 0) != (x > 0 && c[x - 1].width == 2) ||
		    (c[x].width == 0 && c[x].ch != 0) ||
		    (c[x].width == 2 && (c[x].ch == 0 ||
		    x + 1 == row->used)))
			l->bad = true;
}

static void
load_page(struct loader *l, int page)
{
	struct row *row;
	int y;

	if (!flag(l)) {
		if (page == PAGE_MAIN)
			l->bad = true;
		return;
	}
	if (l->g->page[page].rows == NULL)
		grid_page_alloc(l->g, page);
	for (y = 0; y < l->g->rows && !failed(l); y++) {
		row = grid_page_row(l->g, page, y);
		load_row(l, row, l->g->cols);
		l->g->doubled |= row->size != ROW_SINGLE;
		grid_touch(l->g, row);
	}
}

static void
load_history(struct loader *l)
{
	struct row row;
	uint32_t n = count(l, UINT32_MAX, 4);

	grid_row_alloc(&row, SCREEN_COLS_MAX);
	for (; n > 0 && !failed(l); n--) {
		/* Lines keep the width they were written in only until the
		 * next reflow: all have the screen's. */
		load_row(l, &row, l->g->cols);
		row.cols = l->g->cols;
		if (failed(l))
			break;
		grid_touch(l->g, &row);
		grid_history_push(l->g, &row);
	}
	free(row.cells);
}

/* --- the rest ---------------------------------------------------------- */

static void
load_gset(struct loader *l, uint8_t *gset)
{
	int i;

	for (i = 0; i < 4; i++) {
		gset[i] = rd_u8(&l->r);
		if (!charset_known(gset[i]))
			l->bad = true;
	}
}

static void
load_saved(struct loader *l, struct saved_cursor *c)
{
	c->row = within(l, rd_u16(&l->r), 0, l->s->rows - 1);
	c->col = within(l, rd_u16(&l->r), 0, l->s->cols - 1);
	c->wrap = flag(l);
	c->origin = flag(l);
	c->gl = within(l, rd_u8(&l->r), 0, 3);
	load_gset(l, c->gset);
	load_pen(l, &c->pen);
}

static void
load_kitty(struct loader *l, struct kitty *k)
{
	int i;

	k->n = within(l, rd_u8(&l->r), 0, SCREEN_KITTY_MAX);
	k->top = within(l, rd_u8(&l->r), 0, 31);
	for (i = 0; i < k->n; i++)
		k->under[i] = within(l, rd_u8(&l->r), 0, 31);
}

static void
load_text(struct loader *l, char **to, size_t max)
{
	char *text = rd_str(&l->r, max), *again;

	if (text == NULL) {
		l->bad = true;
		return;
	}
	again = osc_clean(text, strlen(text), max);
	if (strcmp(text, again) != 0)
		l->bad = true;
	free(text);
	free(*to);
	*to = again;
}

static void
load_strings(struct loader *l)
{
	struct screen *s = l->s;
	int i, n;

	load_text(l, &s->title, SCREEN_TITLE_MAX);
	load_text(l, &s->cwd, SCREEN_CWD_MAX);
	n = within(l, rd_u8(&l->r), 0, SCREEN_TITLES_MAX);
	for (i = 0; i < n && !failed(l); i++) {
		s->titles[s->ntitles++] = NULL;
		load_text(l, &s->titles[i], SCREEN_TITLE_MAX);
	}
	n = within(l, rd_u16(&l->r), 0, PALETTE_SIZE);
	while (n-- > 0 && !failed(l)) {
		i = within(l, rd_u16(&l->r), 0, PALETTE_SIZE - 1);
		s->palette[i] = within(l, rd_u32(&l->r), 0, 0xffffff);
		s->palette_set[i] = 1;
	}
}

static void
load_filter(struct loader *l, struct filter *f)
{
	const uint8_t *str;
	size_t len;
	int i;

	f->state = within(l, rd_u8(&l->r), 0, FILTER_STATES - 1);
	f->leader = rd_u8(&l->r);
	if (f->leader != 0)
		within(l, f->leader, 0x3c, 0x3f);
	for (i = 0; i < 2; i++) {
		f->mid[i] = rd_u8(&l->r);
		if (f->mid[i] != 0)
			within(l, f->mid[i], 0x20, 0x2f);
	}
	f->nmid = within(l, rd_u8(&l->r), 0, 3);
	f->nparams = within(l, rd_u8(&l->r), 0, FILTER_PARAMS);
	for (i = 0; i < f->nparams; i++) {
		f->param[i] = (int32_t)rd_u32(&l->r);
		if (f->param[i] < -1 || f->param[i] > FILTER_PARAM_MAX)
			l->bad = true;
	}
	f->sub = rd_u64(&l->r);
	f->cut = flag(l);
	str = rd_bin(&l->r, FILTER_CLIPBOARD_MAX, &len);
	if (str != NULL && len > 0)
		buf_put(&f->str, str, len);
	if (f->str.len > 0 && f->str.len > osc_limit(f))
		l->bad = true;
	f->need = within(l, rd_u8(&l->r), 0, 5);
	f->cp = within(l, rd_u32(&l->r), 0, 0x7ffffff);
	f->low = within(l, rd_u32(&l->r), 0, 0x110000);
	if (f->need > 0 && f->state != FILTER_GROUND)
		l->bad = true;
}

static void
load_tabs(struct loader *l)
{
	int x;

	for (x = 0; x < l->s->cols; x++)
		l->s->tabs[x] = flag(l);
}

static void
load_modes(struct loader *l)
{
	struct screen *s = l->s;

	s->modes.flags = rd_u32(&l->r);
	if (s->modes.flags & ~(MODE_THEME * 2u - 1))
		l->bad = true;
	s->modes.cursor_shape = within(l, rd_u8(&l->r), 0, 6);
	s->modes.modify_other = within(l, rd_u8(&l->r), 0, 2);
	s->inner = rd_u32(&l->r);
	if (s->inner & ~(INNER_NATIONAL * 2u - 1))
		l->bad = true;
	s->xsaved = rd_u64(&l->r);
}

static void
load_state(struct loader *l)
{
	struct screen *s = l->s;
	int page;

	s->row = within(l, rd_u16(&l->r), 0, s->rows - 1);
	s->col = within(l, rd_u16(&l->r), 0, s->cols - 1);
	s->wrap = flag(l);
	s->top = within(l, rd_u16(&l->r), 0, s->rows - 1);
	s->bottom = within(l, rd_u16(&l->r), s->top + 1, s->rows);
	s->left = within(l, rd_u16(&l->r), 0, s->cols - 2);
	s->right = within(l, rd_u16(&l->r), s->left + 2, s->cols);
	load_tabs(l);
	load_pen(l, &s->pen);
	sgr_pen(s);
	s->gl = within(l, rd_u8(&l->r), 0, 3);
	s->gsingle = rd_u8(&l->r);
	if (s->gsingle != 0)
		within(l, s->gsingle, 2, 3);
	load_gset(l, s->gset);
	s->last = rd_u32(&l->r);
	if (s->last != 0 && (!visible(s->last) || width_of(s->last) == 0))
		l->bad = true;
	load_modes(l);
	for (page = 0; page < PAGES; page++) {
		load_saved(l, &s->saved[page]);
		load_kitty(l, &s->kitty[page]);
	}
	load_strings(l);
	load_filter(l, &s->filter);
}

/* The new screen's state into the old one, which keeps its identity: its
 * callbacks, its limits, and counters that only go on. */
static void
take_over(struct screen *s, struct screen *from)
{
	struct screen old = *s;

	*s = *from;
	*from = old;
	s->cb = old.cb;
	s->muted = old.muted;
	s->serial = old.serial + 1;
	s->grid->epoch = old.grid->epoch + 1;
	s->grid->epoch_lines = s->grid->lines;
	screen_settle(s);
}

static bool
load_tables(struct loader *l)
{
	struct grid *g = l->g;

	/* No cell points at anything yet: a cleaning would take it all. */
	g->links.sulk = g->pens.sulk = g->clusters.sulk = UINT32_MAX;
	g->pens.max = GRID_PENS_ALL;
	load_links(l);
	load_pens(l);
	load_clusters(l);
	g->pens.max = GRID_PENS_MAX;
	return !failed(l);
}

static bool
load(struct loader *l)
{
	int page;

	if (!load_tables(l))
		return false;
	load_state(l);
	page = within(l, rd_u8(&l->r), 0, PAGES - 1);
	l->g->lines = rd_u64(&l->r);
	load_page(l, PAGE_MAIN);
	load_page(l, PAGE_ALT);
	if (failed(l) || l->g->page[page].rows == NULL ||
	    (page == PAGE_ALT) != ((l->s->modes.flags & MODE_ALT_SCREEN) != 0))
		return false;
	l->g->cur = page;
	l->s->modes.kitty_flags = l->s->kitty[page].top;
	load_history(l);
	l->g->links.sulk = l->g->pens.sulk = l->g->clusters.sulk = 0;
	return !l->bad && rd_end(&l->r);
}

int
screen_restore(struct screen *s, const void *data, size_t len)
{
	struct loader l = { .bad = false };
	struct screen_limits limits;
	uint64_t offset;
	int rows, cols, kind, rv = -1;

	rd_init(&l.r, data, len);
	if (rd_u32(&l.r) != CHECKPOINT_MAGIC)
		l.bad = true;
	within(&l, rd_u16(&l.r), 1, CHECKPOINT_VERSION);
	kind = rd_u8(&l.r);
	if (kind != CHECKPOINT_LIGHT && kind != CHECKPOINT_FULL)
		l.bad = true;
	offset = rd_u64(&l.r);
	rows = within(&l, rd_u16(&l.r), SCREEN_ROWS_MIN, SCREEN_ROWS_MAX);
	cols = within(&l, rd_u16(&l.r), SCREEN_COLS_MIN, SCREEN_COLS_MAX);
	if (failed(&l)) {
		screen_reset(s);
		return -1;
	}
	limits.history_lines = s->grid->hist_max;
	limits.history_bytes = s->grid->hist_bytes_max;
	l.s = screen_new(rows, cols, &limits, NULL);
	l.g = l.s->grid;
	/* A view must not take a new row for one that it has drawn. */
	l.g->serial += s->grid->serial;
	l.g->gen = s->grid->gen;
	if (load(&l)) {
		l.s->offset = offset;
		take_over(s, l.s);
		rv = 0;
	} else
		screen_reset(s);
	screen_free(l.s);
	free(l.links);
	free(l.pens);
	free(l.clusters);
	return rv;
}
