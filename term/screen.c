/* SPDX-License-Identifier: ISC */
/*
 * A screen's life, its size, its resets, and what its readers ask. The parts
 * that do the work are listed in screen-private.h.
 */
#include <stdlib.h>
#include <string.h>

#include "../server/base/mem.h"
#include "screen-private.h"

static int
clamp(int v, int low, int high)
{
	return v < low ? low : v > high ? high : v;
}

void
screen_settle(struct screen *s)
{
	struct vt_ops ops;

	s->grid->roots[0] = &s->pen;
	s->grid->roots[1] = &s->saved[PAGE_MAIN].pen;
	s->grid->roots[2] = &s->saved[PAGE_ALT].pen;
	control_ops(s, &ops);
	vt_free(s->vt);
	s->vt = vt_new(s->rows, s->cols, &ops);
}

/* Everything but the cells, as it is at the beginning. */
static void
state_reset(struct screen *s)
{
	int page;

	s->row = s->col = 0;
	s->wrap = false;
	s->top = s->left = 0;
	s->bottom = s->rows;
	s->right = s->cols;
	cursor_tabs_default(s, 0);
	memset(&s->pen, 0, sizeof s->pen);
	sgr_pen(s);
	s->gl = s->gsingle = 0;
	memset(s->gset, 'B', sizeof s->gset);
	s->last = 0;
	for (page = 0; page < PAGES; page++)
		cursor_saved_reset(&s->saved[page]);
	decmode_reset(s, true);
	osc_reset(s);
	filter_reset(&s->filter);
	s->dirty = true;
}

struct screen *
screen_new(int rows, int cols, const struct screen_limits *limits,
    const struct screen_cb *cb)
{
	struct screen_limits l = { 10000, 64u << 20 };
	struct screen *s;

	if (limits != NULL)
		l = *limits;
	s = xcalloc(1, sizeof *s);
	if (cb != NULL)
		s->cb = *cb;
	s->rows = clamp(rows, SCREEN_ROWS_MIN, SCREEN_ROWS_MAX);
	s->cols = clamp(cols, SCREEN_COLS_MIN, SCREEN_COLS_MAX);
	s->grid = grid_new(s->rows, s->cols, l.history_lines,
	    l.history_bytes);
	s->tabs = xcalloc(s->cols, 1);
	s->title = xstrdup("");
	s->cwd = xstrdup("");
	/* One byte more than kept, for the NUL of its readers. */
	buf_init(&s->filter.str, FILTER_CLIPBOARD_MAX + 1);
	screen_settle(s);
	state_reset(s);
	return s;
}

void
screen_free(struct screen *s)
{
	if (s == NULL)
		return;
	vt_free(s->vt);
	grid_free(s->grid);
	while (s->ntitles > 0)
		free(s->titles[--s->ntitles]);
	free(s->title);
	free(s->cwd);
	free(s->tabs);
	buf_free(&s->filter.str);
	free(s);
}

void
screen_write(struct screen *s, const void *data, size_t len)
{
	uint32_t cells = s->grid->serial;
	uint32_t epoch = s->grid->epoch;
	struct screen_modes modes = s->modes;
	int row = s->row, col = s->col;
	bool wrap = s->wrap;

	filter_write(s, data, len);
	if (s->dirty || cells != s->grid->serial || epoch != s->grid->epoch ||
	    row != s->row || col != s->col || wrap != s->wrap ||
	    modes.flags != s->modes.flags ||
	    modes.cursor_shape != s->modes.cursor_shape ||
	    modes.kitty_flags != s->modes.kitty_flags ||
	    modes.modify_other != s->modes.modify_other)
		s->serial++;
	s->dirty = false;
}

void
screen_reset(struct screen *s)
{
	grid_reset(s->grid);
	state_reset(s);
	s->serial++;
}

void
screen_soft_reset(struct screen *s)
{
	decmode_reset(s, false);
	s->top = s->left = 0;
	s->bottom = s->rows;
	s->right = s->cols;
	memset(&s->pen, 0, sizeof s->pen);
	sgr_pen(s);
	s->gl = s->gsingle = 0;
	memset(s->gset, 'B', sizeof s->gset);
	cursor_saved_reset(&s->saved[s->grid->cur]);
}

void
screen_alternate(struct screen *s, bool alt)
{
	int cells = cursor_cells(s);

	grid_show(s->grid, alt ? PAGE_ALT : PAGE_MAIN);
	cursor_keep_col(s, cells);
	if (alt)
		s->modes.flags |= MODE_ALT_SCREEN;
	else
		s->modes.flags &= ~MODE_ALT_SCREEN;
	s->modes.kitty_flags = s->kitty[s->grid->cur].top;
	s->dirty = true;
}

/* --- size -------------------------------------------------------------- */

static void
resize_tabs(struct screen *s, int cols)
{
	int old = s->cols;

	s->tabs = xrealloc(s->tabs, cols);
	s->cols = cols;
	if (cols > old)
		cursor_tabs_default(s, old);
}

static void
clamp_saved(struct screen *s, struct saved_cursor *c)
{
	int col = clamp(c->col, 0, s->cols - 1);

	c->row = clamp(c->row, 0, s->rows - 1);
	if (col != c->col || col != s->cols - 1)
		c->wrap = false;
	c->col = col;
}

void
screen_resize(struct screen *s, int rows, int cols)
{
	struct saved_cursor *main_saved = &s->saved[PAGE_MAIN];
	struct grid_cursor cur[2] = {
		{ s->row, s->col, s->wrap },
		{ main_saved->row, main_saved->col, main_saved->wrap }
	};
	bool on_main = s->grid->cur == PAGE_MAIN;

	rows = clamp(rows, SCREEN_ROWS_MIN, SCREEN_ROWS_MAX);
	cols = clamp(cols, SCREEN_COLS_MIN, SCREEN_COLS_MAX);
	if (rows == s->rows && cols == s->cols)
		return;
	/* What is spread out is text like any other now. */
	grid_sizes_forget(s->grid);
	if (on_main)
		grid_resize(s->grid, rows, cols, cur, 2);
	else
		grid_resize(s->grid, rows, cols, cur + 1, 1);
	s->rows = rows;
	resize_tabs(s, cols);
	s->top = s->left = 0;
	s->bottom = rows;
	s->right = cols;
	if (on_main) {
		s->row = cur[0].row;
		s->col = cur[0].col;
		s->wrap = cur[0].wrap;
	} else if (s->row >= rows || s->col >= cols)
		cursor_set(s, s->row, s->col);
	else if (s->col != cols - 1)
		s->wrap = false;
	main_saved->row = cur[1].row;
	main_saved->col = cur[1].col;
	main_saved->wrap = cur[1].wrap;
	clamp_saved(s, &s->saved[PAGE_ALT]);
	screen_settle(s);
	s->serial++;
}

/* --- readers ----------------------------------------------------------- */

uint64_t
screen_offset(const struct screen *s)
{
	return s->offset;
}

void
screen_set_offset(struct screen *s, uint64_t offset)
{
	s->offset = offset;
}

void
screen_mute(struct screen *s, bool muted)
{
	s->muted = muted;
}

int
screen_rows(const struct screen *s)
{
	return s->rows;
}

int
screen_cols(const struct screen *s)
{
	return s->cols;
}

const struct grid *
screen_grid(const struct screen *s)
{
	return s->grid;
}

const struct row *
screen_row(const struct screen *s, int y)
{
	if (y < 0)
		return grid_history(s->grid, -1 - y);
	return grid_row(s->grid, y);
}

int
screen_history(const struct screen *s)
{
	return s->grid->hist_len;
}

uint64_t
screen_lines(const struct screen *s)
{
	return s->grid->lines;
}

uint32_t
screen_epoch(const struct screen *s)
{
	return s->grid->epoch;
}

uint64_t
screen_epoch_lines(const struct screen *s)
{
	return s->grid->epoch_lines;
}

void
screen_set_epoch(struct screen *s, uint32_t epoch, uint64_t lines)
{
	s->grid->epoch = epoch;
	s->grid->epoch_lines = lines;
}

uint64_t
screen_serial(const struct screen *s)
{
	return s->serial;
}

void
screen_cursor(const struct screen *s, int *row, int *col, bool *wrap)
{
	if (row != NULL)
		*row = s->row;
	if (col != NULL)
		*col = s->col;
	if (wrap != NULL)
		*wrap = s->wrap;
}

const struct screen_modes *
screen_modes(const struct screen *s)
{
	return &s->modes;
}

const char *
screen_title(const struct screen *s)
{
	return s->title;
}

const char *
screen_cwd(const struct screen *s)
{
	return s->cwd;
}

bool
screen_palette(const struct screen *s, int i, uint32_t *rgb)
{
	if (i < 0 || i >= PALETTE_SIZE || !s->palette_set[i])
		return false;
	if (rgb != NULL)
		*rgb = s->palette[i];
	return true;
}

uint8_t
screen_mark(struct screen *s)
{
	return grid_mark(s->grid);
}

bool
screen_since(const struct screen *s, const struct cell *c, uint8_t mark)
{
	uint8_t now = s->grid->gen;

	if (c->ch == 0 && c->width == 1)
		return false;	/* a blank was not written */
	return (uint8_t)(now - c->gen) <= (uint8_t)(now - mark);
}
