/* SPDX-License-Identifier: ISC */
/*
 * Where the cursor goes: motions, margins, tab stops, save and restore, with
 * xterm's rules about margins (libvterm's motions do not stop at them).
 */
#include <string.h>

#include "screen-private.h"

static int
clamp(int v, int low, int high)
{
	return v < low ? low : v > high ? high : v;
}

int
cursor_cells(const struct screen *s)
{
	return s->grid->doubled && grid_row(s->grid, s->row)->size !=
	    ROW_SINGLE ? 2 : 1;
}

int
cursor_col(const struct screen *s)
{
	return s->col / cursor_cells(s);
}

void
cursor_keep_col(struct screen *s, int cells)
{
	bool wrap = s->wrap;

	if (cells == cursor_cells(s))
		return;
	cursor_set(s, s->row, s->col / cells);
	s->wrap = wrap && s->col + cursor_cells(s) >= cursor_right(s);
}

int
cursor_left(const struct screen *s)
{
	return s->inner & INNER_SIDES && s->col >= s->left ? s->left : 0;
}

int
cursor_right(const struct screen *s)
{
	int right = s->inner & INNER_SIDES && s->col < s->right ? s->right :
	    s->cols;

	return cursor_cells(s) == 2 ? right & ~1 : right;
}

void
cursor_set(struct screen *s, int row, int col)
{
	int cells;

	s->row = clamp(row, 0, s->rows - 1);
	cells = cursor_cells(s);
	s->col = clamp(col, 0, s->cols / cells - 1) * cells;
	s->wrap = false;
}

static void
sides(const struct screen *s, int *left, int *right)
{
	*left = s->inner & INNER_SIDES ? s->left : 0;
	*right = s->inner & INNER_SIDES ? s->right : s->cols;
}

void
cursor_address(struct screen *s, int row, int col)
{
	int left, right;

	if (s->inner & INNER_ORIGIN) {
		sides(s, &left, &right);
		row = clamp(row + s->top, s->top, s->bottom - 1);
		col = clamp(col + left, left, right - 1);
	}
	cursor_set(s, row, col);
}

void
cursor_column(struct screen *s, int col)
{
	int left, right;

	if (s->inner & INNER_ORIGIN) {
		sides(s, &left, &right);
		col = clamp(col + left, left, right - 1);
	}
	cursor_set(s, s->row, col);
}

void
cursor_line(struct screen *s, int row)
{
	if (s->inner & INNER_ORIGIN)
		row = clamp(row + s->top, s->top, s->bottom - 1);
	cursor_set(s, row, cursor_col(s));
}

void
cursor_home(struct screen *s)
{
	cursor_address(s, 0, 0);
}

void
cursor_up(struct screen *s, int n)
{
	int top = s->row >= s->top ? s->top : 0;

	cursor_set(s, clamp(s->row - n, top, s->rows - 1), cursor_col(s));
}

void
cursor_down(struct screen *s, int n)
{
	int last = (s->row < s->bottom ? s->bottom : s->rows) - 1;

	cursor_set(s, clamp(s->row + n, 0, last), cursor_col(s));
}

void
cursor_forward(struct screen *s, int n)
{
	int right = cursor_right(s) / cursor_cells(s);

	cursor_set(s, s->row, clamp(cursor_col(s) + n, 0, right - 1));
}

void
cursor_back(struct screen *s, int n)
{
	int left = cursor_left(s);

	cursor_set(s, s->row, clamp(cursor_col(s) - n, left, s->cols - 1));
}

void
cursor_return(struct screen *s)
{
	int left = cursor_left(s);

	if (s->inner & INNER_ORIGIN && s->inner & INNER_SIDES)
		left = s->left;
	s->col = left;
	s->wrap = false;
}

void
cursor_backspace(struct screen *s)
{
	int left = cursor_left(s);

	if (s->inner & INNER_BACKWRAP && s->inner & INNER_WRAP) {
		if (s->wrap) {
			s->wrap = false;
			return;
		}
		if (s->col == left && s->row > s->top) {
			s->row--;
			s->col = cursor_right(s) - cursor_cells(s);
			return;
		}
	}
	s->wrap = false;
	if (s->col > left)
		s->col -= cursor_cells(s);
	if (s->col < 0)
		s->col = 0;
}

void
cursor_tab(struct screen *s, int count)
{
	int col = cursor_col(s), limit;

	if (count > 0) {
		limit = cursor_right(s) / cursor_cells(s) - 1;
		while (count > 0 && col < limit)
			if (s->tabs[++col])
				count--;
		/* A tab at the end of a full line leaves it full. */
		if (col != cursor_col(s))
			cursor_set(s, s->row, col);
	} else {
		limit = s->inner & INNER_ORIGIN ? cursor_left(s) : 0;
		while (count < 0 && col > limit)
			if (s->tabs[--col])
				count++;
		cursor_set(s, s->row, col);
	}
}

void
cursor_tabs_default(struct screen *s, int from)
{
	int x;

	for (x = from; x < s->cols; x++)
		s->tabs[x] = x % 8 == 0;
}

void
cursor_saved_reset(struct saved_cursor *c)
{
	memset(c, 0, sizeof *c);
	memset(c->gset, 'B', sizeof c->gset);
}

void
cursor_save(struct screen *s)
{
	struct saved_cursor *c = &s->saved[s->grid->cur];

	c->row = s->row;
	c->col = cursor_col(s);
	c->wrap = s->wrap;
	c->origin = s->inner & INNER_ORIGIN;
	c->gl = s->gl;
	memcpy(c->gset, s->gset, sizeof c->gset);
	c->pen = s->pen;
}

void
cursor_restore(struct screen *s)
{
	const struct saved_cursor *c = &s->saved[s->grid->cur];

	cursor_set(s, c->row, c->col);
	s->wrap = c->wrap && c->col == cursor_col(s);
	s->inner &= ~INNER_ORIGIN;
	if (c->origin)
		s->inner |= INNER_ORIGIN;
	s->gl = c->gl;
	memcpy(s->gset, c->gset, sizeof s->gset);
	s->pen = c->pen;
	sgr_pen(s);
}
