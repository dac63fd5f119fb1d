/* SPDX-License-Identifier: ISC */
/*
 * Characters onto the grid: character sets, widths, wrapping, insert mode,
 * marks that join the character before, repeats; and the index that wrapping
 * and line feeds share.
 */
#include <string.h>

#include "charset.h"
#include "screen-private.h"
#include "width.h"

static uint16_t
pen_index(struct screen *s)
{
	if (s->pen_index < 0)
		s->pen_index = grid_pen_index(s->grid, &s->pen);
	return s->pen_index;
}

uint16_t
text_blank(struct screen *s)
{
	struct pen pen = { .bg = s->pen.bg };

	return pen.bg == COLOUR_DEFAULT ? 0 : grid_pen_index(s->grid, &pen);
}

uint8_t
text_set(const struct screen *s)
{
	uint8_t set = s->gset[s->gsingle != 0 ? s->gsingle : s->gl];

	/* Among national sets it stands for the British one. */
	return set == CHARSET_LATIN1 && (s->inner & INNER_NATIONAL) ? 'A' :
	    set;
}

static uint32_t
translate(struct screen *s, uint32_t cp)
{
	uint8_t set = text_set(s);

	s->gsingle = 0;
	return cp < 0x80 ? charset_char(set, cp) : cp;
}

static bool
index_down(struct screen *s)
{
	s->wrap = false;
	if (s->row != s->bottom - 1) {
		if (s->row == s->rows - 1)
			return false;
		s->row++;
		return true;
	}
	if (s->inner & INNER_SIDES) {
		if (s->col < s->left || s->col >= s->right)
			return false;
		grid_scroll(s->grid, s->top, s->left, s->bottom, s->right, 1,
		    0, text_blank(s), true);
	} else
		grid_scroll(s->grid, s->top, 0, s->bottom, s->cols, 1, 0,
		    text_blank(s), true);
	return true;
}

bool
text_index(struct screen *s)
{
	int cells = cursor_cells(s);
	bool moved = index_down(s);

	if (s->grid->doubled)
		cursor_keep_col(s, cells);
	return moved;
}

static void
index_up(struct screen *s)
{
	s->wrap = false;
	if (s->row != s->top) {
		if (s->row > 0)
			s->row--;
		return;
	}
	if (s->inner & INNER_SIDES) {
		if (s->col < s->left || s->col >= s->right)
			return;
		grid_scroll(s->grid, s->top, s->left, s->bottom, s->right, -1,
		    0, text_blank(s), false);
	} else
		grid_scroll(s->grid, s->top, 0, s->bottom, s->cols, -1, 0,
		    text_blank(s), false);
}

void
text_reverse_index(struct screen *s)
{
	int cells = cursor_cells(s);

	index_up(s);
	if (s->grid->doubled)
		cursor_keep_col(s, cells);
}

static void
wrap_line(struct screen *s)
{
	int left = cursor_left(s);
	bool whole = left == 0 && cursor_right(s) == s->cols &&
	    cursor_cells(s) == 1;

	if (text_index(s) && whole)
		grid_wrapped(s->grid, s->row - 1);
	s->col = left;
}

/* Makes room for width columns at the cursor; returns where the line ends. */
static int
make_room(struct screen *s, int width)
{
	int right = cursor_right(s), cells = width * cursor_cells(s);

	if (s->wrap || s->col + cells > right) {
		if (s->inner & INNER_WRAP) {
			wrap_line(s);
			right = cursor_right(s);
			cells = width * cursor_cells(s);
		} else {
			s->wrap = false;
			s->col = right > cells ? right - cells : 0;
		}
		/* Four cells of two have no room even in an empty row. */
		if (s->col + cells > right)
			return -1;
	}
	if (s->inner & INNER_INSERT)
		grid_scroll(s->grid, s->row, s->col, s->row + 1, right, 0,
		    -cells, text_blank(s), false);
	return right;
}

static void
advance(struct screen *s, int cells, int right)
{
	s->col += cells;
	if (s->col >= right) {
		s->col = right - cursor_cells(s);
		s->wrap = true;
	}
}

static void
combine(struct screen *s, uint32_t cp)
{
	int col = s->wrap ? s->col : s->col - cursor_cells(s);

	if (col >= 0)
		grid_combine(s->grid, s->row, col, cp);
}

static void
put_one(struct screen *s, uint32_t cp, int width)
{
	int right = make_room(s, width), i;

	if (right < 0)
		return;
	grid_put(s->grid, s->row, s->col, cp, width, pen_index(s));
	if (s->grid->doubled && cursor_cells(s) == 2) {
		for (i = width; i < 2 * width; i++)
			grid_put(s->grid, s->row, s->col + i, ' ', 1,
			    pen_index(s));
		width *= 2;
	}
	advance(s, width, right);
}

void
text_put(struct screen *s, uint32_t cp)
{
	int width;

	/* C1 controls in UTF-8: no program means them, no terminal but xterm
	 * obeys them. */
	if (cp >= 0x80 && cp < 0xa0)
		return;
	cp = translate(s, cp);
	width = width_of(cp);
	if (width == 0) {
		combine(s, cp);
		return;
	}
	put_one(s, cp, width);
	s->last = cp;
}

void
text_ascii(struct screen *s, const uint8_t *p, size_t n)
{
	int right, run;

	if (n > 0)
		s->last = p[n - 1];
	while (n > 0) {
		/* The next row may be one, too. */
		if (cursor_cells(s) == 2 || (s->wrap && s->grid->doubled)) {
			put_one(s, *p++, 1);
			n--;
			continue;
		}
		right = make_room(s, 1);
		run = right - s->col;
		if ((size_t)run > n)
			run = n;
		if (s->inner & INNER_INSERT)
			run = 1;
		grid_put_ascii(s->grid, s->row, s->col, p, run, pen_index(s));
		advance(s, run, right);
		p += run;
		n -= run;
		/* Without wrapping only the last byte of the rest is seen. */
		if (s->wrap && n > 1 && !(s->inner & INNER_WRAP)) {
			p += n - 1;
			n = 1;
		}
	}
}

void
text_repeat(struct screen *s, int count)
{
	int max, width, each, n;
	uint8_t run[256];
	uint32_t cp = s->last;

	if (cp == 0)
		return;
	width = width_of(cp);
	/* More than a screen of them shows like less, if the last row ends
	 * at the same place. */
	each = s->cols / width;
	max = s->rows * each;
	if (count > max + each)
		count = max + (count - max) % each;
	if (cp < 0x7f) {
		memset(run, cp, sizeof run);
		for (; count > 0; count -= n) {
			n = count < (int)sizeof run ? count : (int)sizeof run;
			text_ascii(s, run, n);
		}
		return;
	}
	while (count-- > 0)
		put_one(s, cp, width);
}
