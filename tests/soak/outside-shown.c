/* SPDX-License-Identifier: ISC */
/*
 * What the terminal outside shows, and what it was asked; contract in
 * outside.h.
 */
#include <stdio.h>
#include <string.h>

#include "outside-private.h"

int
outside_rows(const struct outside *o)
{
	return o->rows;
}

int
outside_cols(const struct outside *o)
{
	return o->cols;
}

static uint32_t
colour_of(VTermColor c, bool bg)
{
	if (bg ? VTERM_COLOR_IS_DEFAULT_BG(&c) : VTERM_COLOR_IS_DEFAULT_FG(&c))
		return 0;
	if (VTERM_COLOR_IS_INDEXED(&c))
		return 0x01000000u | c.indexed.idx;
	return 0x02000000u | (uint32_t)(c.rgb.red << 16 | c.rgb.green << 8 |
	    c.rgb.blue);
}

void
outside_cell(struct outside *o, int y, int x, struct outside_cell *out)
{
	VTermScreenCell c;
	VTermPos pos = { y, x };
	uint32_t n;

	vterm_screen_get_cell(o->vts[0], pos, &c);
	out->text[outside_text(&c, out->text)] = '\0';
	out->width = c.width;
	out->fg = colour_of(c.fg, false);
	out->bg = colour_of(c.bg, true);
	out->bold = c.attrs.bold;
	out->italic = c.attrs.italic;
	out->blink = c.attrs.blink;
	out->reverse = c.attrs.reverse;
	out->strike = c.attrs.strike;
	out->underline = c.attrs.underline;
	vterm_screen_get_cell(o->vts[1], pos, &c);
	/* An erased cell has none of it, whatever the pen was. */
	n = c.chars[0] == 0 || VTERM_COLOR_IS_DEFAULT_FG(&c.fg) ? 0 :
	    colour_of(c.fg, false) & 0xffffff;
	out->extra = &o->extras[n < o->nextras ? n : 0];
}

void
outside_cursor(struct outside *o, int *row, int *col)
{
	VTermPos pos;

	vterm_state_get_cursorpos(vterm_obtain_state(o->vt[0]), &pos);
	*row = pos.row;
	*col = pos.col;
}

size_t
outside_lines(const struct outside *o)
{
	return o->nlines;
}

const char *
outside_line(const struct outside *o, size_t i)
{
	return i < o->nlines ? o->lines[i] : "";
}

bool
outside_alt(const struct outside *o)
{
	return o->alt;
}

bool
outside_mode(const struct outside *o, int number)
{
	return outside_mode_at(o, number) >= 0;
}

bool
outside_keypad(const struct outside *o)
{
	return o->keypad;
}

int
outside_shape(const struct outside *o)
{
	return o->shape;
}

int
outside_kitty(const struct outside *o)
{
	return o->kitty[o->alt ? 1 : 0];
}

int
outside_other(const struct outside *o)
{
	return o->other;
}

const char *
outside_cursor_colour(const struct outside *o)
{
	return o->cursor_colour;
}

const char *
outside_title(const struct outside *o)
{
	return o->title;
}

unsigned long
outside_bells(const struct outside *o)
{
	return o->bells;
}

const char *
outside_left_on(struct outside *o)
{
	int i;

	if (outside_mode_at(o, 25) < 0)
		return "the hidden cursor";
	for (i = 0; i < o->nmodes; i++)
		if (o->modes[i] != 25 && o->modes[i] != 7) {
			snprintf(o->left, sizeof o->left, "mode %d",
			    o->modes[i]);
			return o->left;
		}
	if (o->alt)
		return "the alternate screen";
	if (o->keypad)
		return "the keypad's mode";
	if (o->shape != 0)
		return "the cursor's shape";
	if (o->cursor_colour[0] != '\0')
		return "the cursor's colour";
	if (o->other != 0)
		return "modifyOtherKeys";
	if (o->kitty_depth[0] != 0 || o->kitty_depth[1] != 0)
		return "key flags";
	if (strcmp(o->title, "own") != 0 || o->ntitles != 0)
		return "the title";
	if (o->styled || memcmp(&o->pen, &outside_no_extra, sizeof o->pen) !=
	    0)
		return "a pen";
	if (o->region_top != 0 || o->region_bottom != o->rows)
		return "a scroll region";
	return NULL;
}

bool
outside_whole(const struct outside *o)
{
	return o->state == GROUND && o->need == 0;
}

void
outside_answers(struct outside *o, struct buf *b)
{
	buf_put(b, o->answers.data, o->answers.len);
	buf_reset(&o->answers);
}

bool
outside_asked(const struct outside *o)
{
	return o->asked;
}

const char *
outside_complaint(const struct outside *o)
{
	return o->complaint;
}

int
outside_width(uint32_t cp)
{
	static uint8_t known[0x110000];
	static VTerm *vt;
	VTermPos pos;
	char s[8];

	if (cp < 0x20 || cp > 0x10ffff)
		return 1;
	if (cp < 0x7f)
		return 1;
	if (known[cp] == 0) {
		if (vt == NULL) {
			vt = vterm_new(2, 20);
			vterm_set_utf8(vt, 1);
			vterm_state_reset(vterm_obtain_state(vt), 1);
		}
		vterm_input_write(vt, "\033[1;1Ha", 7);
		vterm_input_write(vt, s, outside_utf8(cp, s));
		vterm_state_get_cursorpos(vterm_obtain_state(vt), &pos);
		known[cp] = (uint8_t)(pos.col);		/* 1 + its width */
	}
	return known[cp] - 1;
}
