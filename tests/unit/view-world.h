/* SPDX-License-Identifier: ISC */
/*
 * For the tests of views: an independent terminal. libvterm's own screen layer
 * plays the client's terminal, gets the bytes of each frame, and must then
 * show what the screen shows; the lines it pushes out at its top must be the
 * screen's history, each once.
 */
#ifndef DLMUX_VIEW_WORLD_H
#define DLMUX_VIEW_WORLD_H

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <vterm.h>

#include "../../server/base/buf.h"
#include "../../server/base/mem.h"
#include "../../term/caps.h"
#include "../../term/outer.h"
#include "../../term/screen.h"
#include "../../term/view.h"
#include "unit.h"

#define LINES_MAX 20000

/* --- the terminal outside ----------------------------------------------- */

struct outside {
	VTerm		*vt;
	VTermScreen	*vts;
	int		 rows, cols;
	VTermPos	 cursor;
	bool		 visible, alt;
	char		*lines[LINES_MAX];	/* pushed out, without end blanks */
	size_t		 nlines;
};

static size_t
cell_text(const VTermScreenCell *cell, char *out)
{
	size_t n = 0, i;
	uint32_t ch;

	if (cell->chars[0] == 0) {
		out[0] = ' ';
		return 1;
	}
	for (i = 0; i < VTERM_MAX_CHARS_PER_CELL && cell->chars[i] != 0; i++) {
		ch = cell->chars[i];
		if (ch < 0x80)
			out[n++] = (char)ch;
		else if (ch < 0x800) {
			out[n++] = (char)(0xc0 | ch >> 6);
			out[n++] = (char)(0x80 | (ch & 63));
		} else if (ch < 0x10000) {
			out[n++] = (char)(0xe0 | ch >> 12);
			out[n++] = (char)(0x80 | (ch >> 6 & 63));
			out[n++] = (char)(0x80 | (ch & 63));
		} else {
			out[n++] = (char)(0xf0 | ch >> 18);
			out[n++] = (char)(0x80 | (ch >> 12 & 63));
			out[n++] = (char)(0x80 | (ch >> 6 & 63));
			out[n++] = (char)(0x80 | (ch & 63));
		}
	}
	return n;
}

static int
on_pushline(int cols, const VTermScreenCell *cells, void *arg)
{
	struct outside *t = arg;
	char *s = xmalloc((size_t)cols * 32 + 1);
	size_t n = 0;
	int x;

	for (x = 0; x < cols; x += cells[x].width > 1 ? 2 : 1)
		n += cell_text(&cells[x], s + n);
	while (n > 0 && s[n - 1] == ' ')
		n--;
	s[n] = '\0';
	ck_assert_uint_lt(t->nlines, LINES_MAX);
	t->lines[t->nlines++] = s;
	return 1;
}

static int
on_movecursor(VTermPos pos, VTermPos old, int visible, void *arg)
{
	struct outside *t = arg;

	(void)old;
	(void)visible;
	t->cursor = pos;
	return 1;
}

static int
on_prop(VTermProp prop, VTermValue *val, void *arg)
{
	struct outside *t = arg;

	if (prop == VTERM_PROP_CURSORVISIBLE)
		t->visible = val->boolean;
	else if (prop == VTERM_PROP_ALTSCREEN)
		t->alt = val->boolean;
	return 1;
}

static const VTermScreenCallbacks callbacks = {
	.movecursor = on_movecursor,
	.settermprop = on_prop,
	.sb_pushline = on_pushline
};

static struct outside *
outside_new(int rows, int cols)
{
	struct outside *t = xcalloc(1, sizeof *t);

	t->vt = vterm_new(rows, cols);
	t->rows = rows;
	t->cols = cols;
	t->visible = true;
	vterm_set_utf8(t->vt, 1);
	t->vts = vterm_obtain_screen(t->vt);
	vterm_screen_set_callbacks(t->vts, &callbacks, t);
	vterm_screen_enable_altscreen(t->vts, 1);
	vterm_screen_reset(t->vts, 1);
	return t;
}

static void
outside_free(struct outside *t)
{
	size_t i;

	for (i = 0; i < t->nlines; i++)
		free(t->lines[i]);
	vterm_free(t->vt);
	free(t);
}

static void
outside_write(struct outside *t, const void *data, size_t len)
{
	const char *s = data;
	size_t n;

	while (len > 0) {
		n = len < 2048 ? len : 2048;
		/* Old libvterm loses a character that is cut in two. */
		while (n < len && n > 1 && ((uint8_t)s[n] >= 0x80 ||
		    (uint8_t)s[n - 1] >= 0x80))
			n--;
		vterm_input_write(t->vt, s, n);
		s += n;
		len -= n;
	}
}

static MAYBE char *
outside_row(struct outside *t, int y)
{
	VTermScreenCell cell;
	VTermPos pos = { y, 0 };
	char *s = xmalloc((size_t)t->cols * 32 + 1);
	size_t n = 0;

	for (; pos.col < t->cols; pos.col += cell.width > 1 ? 2 : 1) {
		vterm_screen_get_cell(t->vts, pos, &cell);
		n += cell_text(&cell, s + n);
	}
	while (n > 0 && s[n - 1] == ' ')
		n--;
	s[n] = '\0';
	return s;
}

/* --- a screen, its view and the terminal -------------------------------- */

struct world {
	struct caps	*caps;
	struct screen	*s;
	struct view	*v;
	struct outside	*t;
	struct buf	 out;
	struct view_frame frame;
	uint32_t	 seed;		/* 0: not random */
	size_t		 before;	/* lines pushed by attaching */
	size_t		 bytes;		/* of the last frame */
};

static struct caps *
caps_for(const char *term, uint32_t more, uint32_t less)
{
	char *cause = NULL;
	struct caps *c = caps_load(term, &cause);
	uint32_t flags = more, bit;

	if (c == NULL)
		ck_abort_msg("%s", cause);
	for (bit = 1; bit != 0; bit <<= 1)
		if (caps_flag(c, bit))
			flags |= bit;
	caps_set_number(c, caps_colours(c), flags & ~less);
	return c;
}

static void
world_init(struct world *w, const char *term, int rows, int cols, int vrows,
    int vcols)
{
	memset(w, 0, sizeof *w);
	w->caps = caps_for(term, strcmp(term, "xterm-256color") == 0 ?
	    CAPS_RGB | CAPS_ULSTYLE : 0, 0);
	w->s = screen_new(rows, cols, NULL, NULL);
	w->v = view_new(w->caps, vrows, vcols);
	w->t = outside_new(vrows, vcols);
	buf_init(&w->out, 64 << 20);
}

static void
world_clear(struct world *w)
{
	view_free(w->v);
	screen_free(w->s);
	outside_free(w->t);
	caps_free(w->caps);
	buf_free(&w->out);
}

static MAYBE void
world_say(struct world *w, const char *text)
{
	screen_write(w->s, text, strlen(text));
}

static void
world_render(struct world *w)
{
	buf_reset(&w->out);
	view_render(w->v, w->s, &w->out, &w->frame);
	ck_assert(buf_ok(&w->out));
	w->bytes = w->out.len;
	outside_write(w->t, w->out.data, w->out.len);
}

static uint32_t
colour_of(VTermScreen *vts, VTermColor c, bool bg)
{
	(void)vts;
	if (bg ? VTERM_COLOR_IS_DEFAULT_BG(&c) : VTERM_COLOR_IS_DEFAULT_FG(&c))
		return COLOUR_DEFAULT;
	if (VTERM_COLOR_IS_INDEXED(&c))
		return COLOUR_INDEX(c.indexed.idx);
	return COLOUR_RGB(c.rgb.red, c.rgb.green, c.rgb.blue);
}

static void
trace(const uint8_t *p, size_t n)
{
	size_t i;

	for (i = 0; i < n && i < 400000; i++)
		if (p[i] == 27)
			fprintf(stderr, "\\e");
		else if (p[i] < 32)
			fprintf(stderr, "\\x%02x", p[i]);
		else
			fputc(p[i], stderr);
	fprintf(stderr, "\n");
}

static void
fail_at(struct world *w, int y, int x, const char *what, const char *have,
    const char *want)
{
	fprintf(stderr, "last frame: ");
	trace(w->out.data, w->out.len);
	ck_abort_msg("seed %u: row %d, column %d: %s: terminal has '%s', "
	    "screen has '%s'", w->seed, y, x, what, have, want);
}

static void
compare_number(struct world *w, int y, int x, const char *what,
    unsigned have, unsigned want)
{
	char a[32], b[32];

	if (have == want)
		return;
	snprintf(a, sizeof a, "%x", have);
	snprintf(b, sizeof b, "%x", want);
	fail_at(w, y, x, what, a, b);
}

static void
compare_cell(struct world *w, int y, int x, const struct cell *c)
{
	const struct grid *g = screen_grid(w->s);
	struct pen p = { 0 };
	VTermScreenCell vc;
	VTermPos pos = { y, x };
	char have[256], want[GRID_TEXT_MAX + 1];
	bool blank = true, flip;

	vterm_screen_get_cell(w->t->vts, pos, &vc);
	strcpy(want, " ");
	if (c != NULL) {
		want[grid_text(g, c, want)] = '\0';
		p = *grid_pen(g, c->pen);
	}
	have[cell_text(&vc, have)] = '\0';
	if (strcmp(have, want) != 0)
		fail_at(w, y, x, "text", have, want);
	blank = strcmp(want, " ") == 0;
	pen_resolve(w->caps, &p);
	flip = (screen_modes(w->s)->flags & MODE_REVERSE) != 0 &&
	    caps_flag(w->caps, CAPS_DECSET);
	compare_number(w, y, x, "reverse", vc.attrs.reverse ^ flip,
	    (p.flags & PEN_REVERSE) != 0);
	compare_number(w, y, x, "background", colour_of(w->t->vts, vc.bg, true),
	    p.bg);
	compare_number(w, y, x, "underline", vc.attrs.underline,
	    p.underline > 3 ? vc.attrs.underline : p.underline);
	compare_number(w, y, x, "strike", vc.attrs.strike,
	    (p.flags & PEN_STRIKE) != 0);
	if (blank)
		return;
	compare_number(w, y, x, "foreground",
	    colour_of(w->t->vts, vc.fg, false), p.fg);
	compare_number(w, y, x, "bold", vc.attrs.bold,
	    (p.flags & PEN_BOLD) != 0);
	compare_number(w, y, x, "italic", vc.attrs.italic,
	    (p.flags & PEN_ITALIC) != 0);
	compare_number(w, y, x, "blink", vc.attrs.blink,
	    (p.flags & PEN_BLINK) != 0);
}

/* What the terminal shows is what the screen shows, as far as both reach. */
static void
compare(struct world *w)
{
	int y, x, row, col, top, left, rows, cols;
	const struct row *r;
	const struct cell *c;
	bool wrap;

	rows = screen_rows(w->s);
	cols = screen_cols(w->s);
	view_offset(w->v, &top, &left);
	vterm_screen_flush_damage(w->t->vts);
	for (y = 0; y < w->t->rows && y + top < rows; y++) {
		r = screen_row(w->s, y + top);
		for (x = 0; x < w->t->cols && x + left < cols; x++) {
			c = x + left < r->used ? &r->cells[x + left] : NULL;
			/* Halves of wide characters, and those cut. */
			if (c != NULL && (c->width == 0 || (c->width == 2 &&
			    (x + 1 >= w->t->cols || x + left + 1 >= r->used ||
			    c[1].width != 0))))
				continue;
			compare_cell(w, y, x, c);
		}
	}
	screen_cursor(w->s, &row, &col, &wrap);
	compare_number(w, row, col, "cursor row", (unsigned)w->t->cursor.row,
	    (unsigned)(row - top));
	/* libvterm stands on a wide character before it wraps. */
	if (wrap && w->t->cursor.col == w->t->cols - 2)
		col = w->t->cursor.col;
	if (col - left < w->t->cols)
		compare_number(w, row, col, "cursor column",
		    (unsigned)w->t->cursor.col, (unsigned)(col - left));
	compare_number(w, 0, 0, "cursor visible", w->t->visible,
	    (screen_modes(w->s)->flags & MODE_CURSOR_HIDDEN) == 0);
	if (caps_has(w->caps, CAP_SMCUP))
		compare_number(w, 0, 0, "alternate screen", w->t->alt,
		    (screen_modes(w->s)->flags & MODE_ALT_SCREEN) != 0);
}

static void
step(struct world *w)
{
	world_render(w);
	compare(w);
}

/* The n newest of the terminal's own lines are the screen's newest. */
static void
compare_history(struct world *w, int n)
{
	struct buf text;
	size_t len;
	int i;

	buf_init(&text, 1 << 20);
	ck_assert_int_ge(screen_history(w->s), n);
	ck_assert_uint_ge(w->t->nlines, (size_t)n);
	for (i = 1; i <= n; i++) {
		buf_reset(&text);
		screen_row_text(w->s, -i, false, &text, NULL);
		while (text.len > 0 && text.data[text.len - 1] == ' ')
			text.len--;
		buf_u8(&text, 0);
		len = w->t->nlines - (size_t)i;
		if (strcmp((char *)text.data, w->t->lines[len]) != 0)
			fail_at(w, -i, 0, "history", w->t->lines[len],
			    (char *)text.data);
	}
	buf_free(&text);
}

#endif
