/* SPDX-License-Identifier: ISC */
/*
 * The terminal outside against a screen: every cell, cursor, title, modes,
 * native lines. What a terminal cannot show is brought down by pen_resolve(),
 * the one judgement taken over from what is tested.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../server/base/limits.h"
#include "../../server/base/mem.h"
#include "../../term/outer.h"
#include "../../term/theme.h"
#include "../../term/view.h"
#include "../../term/width.h"
#include "oracle.h"

struct caps *
oracle_caps(const char *term)
{
	char *cause = NULL;
	struct caps *c;
	uint32_t flags = 0, bit;

	/* A terminal without a name that is known and with all there is. */
	c = caps_load(strcmp(term, "all") == 0 ? "xterm-256color" : term,
	    &cause);
	if (c == NULL) {
		fprintf(stderr, "%s: %s\n", term, cause);
		exit(2);
	}
	for (bit = 1; bit != 0; bit <<= 1)
		if (caps_flag(c, bit))
			flags |= bit;
	if (strcmp(term, "all") == 0) {
		flags |= CAPS_RGB | CAPS_ULSTYLE | CAPS_ULCOLOUR | CAPS_LINKS |
		    CAPS_DECSCUSR | CAPS_KITTY | CAPS_OTHERKEYS | CAPS_TITLE |
		    CAPS_SYNC | CAPS_CLIPBOARD | CAPS_STRIKE | CAPS_OVERLINE |
		    CAPS_DECSET;
		caps_set(c, CAP_SMOL, "\033[53m");
		caps_set_number(c, 256, flags);
		if (caps_settle(c, NULL) != 0)
			exit(2);
	}
	return c;
}

/* --- cells ---------------------------------------------------------------- */

static bool
doubt_text(const char *s)
{
	const unsigned char *p = (const unsigned char *)s;
	uint32_t cp;
	int n = 0, more;

	while (*p != '\0') {
		more = *p >= 0xf0 ? 3 : *p >= 0xe0 ? 2 : *p >= 0xc0 ? 1 : 0;
		cp = *p < 0x80 ? *p : *p & (0x3f >> more);
		for (p++; more > 0 && *p != '\0'; more--)
			cp = cp << 6 | (*p++ & 0x3f);
		/* libvterm has no characters FFFE, FFFF. */
		if (outside_width(cp) != width_of(cp) ||
		    (cp & 0xfffe) == 0xfffe)
			return true;
		n++;
	}
	return n > 6;		/* libvterm's cells hold no more */
}

bool
compare_doubtful(const struct screen *s, const struct row *r, int x)
{
	char text[GRID_TEXT_MAX + 1];

	if (x < 0 || x >= r->used || (r->cells[x].ch < 0x80))
		return false;
	text[grid_text(screen_grid(s), &r->cells[x], text)] = '\0';
	return doubt_text(text);
}

static uint32_t
own_colour(const struct screen *s, uint32_t colour, int when_default)
{
	int i = when_default;
	uint32_t rgb;

	if (COLOUR_TYPE(colour) == 1)
		i = (int)(colour & 255);
	else if (COLOUR_TYPE(colour) != 0)
		return colour;
	return i >= 0 && screen_palette(s, i, &rgb) ?
	    0x02000000u | (rgb & 0xffffff) : colour;
}

static bool
any_palette(const struct screen *s)
{
	uint32_t rgb;
	int i;

	for (i = 0; i < 259; i++)
		if (screen_palette(s, i, &rgb))
			return true;
	return false;
}

static void
resolve(const struct screen *s, const struct caps *caps, bool palette,
    struct pen *p)
{
	if (palette) {
		p->fg = own_colour(s, p->fg, 256);
		p->bg = own_colour(s, p->bg, 257);
		p->ul = own_colour(s, p->ul, -1);
	}
	pen_resolve(caps, p);
}

void
compare_pen(const struct screen *s, const struct caps *caps, struct pen *p)
{
	resolve(s, caps, any_palette(s), p);
}

static bool
number(struct buf *why, int y, int x, const char *what, uint32_t have,
    uint32_t want)
{
	if (have == want)
		return true;
	buf_printf(why, "row %d, column %d: %s: terminal %x, screen %x", y, x,
	    what, have, want);
	return false;
}

static bool
words(struct buf *why, int y, int x, const char *what, const char *have,
    const char *want)
{
	if (strcmp(have, want) == 0)
		return true;
	buf_printf(why, "row %d, column %d: %s: terminal '%s', screen '%s'",
	    y, x, what, have, want);
	return false;
}

static bool
extra(const struct caps *caps, const struct screen *s, const struct pen *p,
    const struct outside_extra *e, bool blank, int y, int x, struct buf *why)
{
	const char *uri, *id = "";
	char link[2400] = "";

	if (p->link != 0 && caps_flag(caps, CAPS_LINKS) &&
	    (uri = grid_link(screen_grid(s), p->link, &id)) != NULL &&
	    strlen(uri) <= VIEW_LINK_BYTES && strcspn(uri, " ") ==
	    strlen(uri)) {
		if (id == NULL || strlen(id) > 60 || strcspn(id, " :;") !=
		    strlen(id))
			id = "";
		snprintf(link, sizeof link, "%s;%s", id, uri);
	}
	/* What shows on a blank, too. */
	if (!number(why, y, x, "underline style", e->underline,
	    p->underline) ||
	    !number(why, y, x, "underline colour", e->ul, p->ul) ||
	    !number(why, y, x, "overline", e->overline,
	    (p->flags & PEN_OVERLINE) != 0) ||
	    !words(why, y, x, "link", e->link, link))
		return false;
	if (blank)
		return true;
	return number(why, y, x, "faint", e->faint,
	    (p->flags & PEN_FAINT) != 0) &&
	    number(why, y, x, "conceal", e->conceal,
	    (p->flags & PEN_CONCEAL) != 0);
}

static bool
cell(struct outside *t, const struct screen *s, const struct caps *caps,
    const struct cell *c, int y, int x, bool palette, struct buf *why)
{
	static const struct pen plain;
	struct outside_cell have;
	char want[GRID_TEXT_MAX + 1] = " ";
	struct pen p = plain;
	bool blank, flip;

	outside_cell(t, y, x, &have);
	if (c != NULL) {
		want[grid_text(screen_grid(s), c, want)] = '\0';
		p = *grid_pen(screen_grid(s), c->pen);
	}
	if (!words(why, y, x, "text", have.text, want))
		return false;
	blank = strcmp(want, " ") == 0;
	resolve(s, caps, palette && c != NULL, &p);
	flip = (screen_modes(s)->flags & MODE_REVERSE) != 0 &&
	    caps_flag(caps, CAPS_DECSET);
	if (!number(why, y, x, "reverse", have.reverse ^ flip,
	    (p.flags & PEN_REVERSE) != 0) ||
	    !number(why, y, x, "background", have.bg, p.bg) ||
	    !number(why, y, x, "underline", have.underline,
	    p.underline > 3 ? have.underline : p.underline) ||
	    !number(why, y, x, "strike", have.strike,
	    (p.flags & PEN_STRIKE) != 0) ||
	    !extra(caps, s, &p, have.extra, blank, y, x, why))
		return false;
	if (blank)
		return true;
	return number(why, y, x, "foreground", have.fg, p.fg) &&
	    number(why, y, x, "bold", have.bold, (p.flags & PEN_BOLD) != 0) &&
	    number(why, y, x, "italic", have.italic,
	    (p.flags & PEN_ITALIC) != 0) &&
	    number(why, y, x, "blink", have.blink,
	    (p.flags & PEN_BLINK) != 0);
}

static bool
cursor(struct outside *t, const struct screen *s, const struct caps *caps,
    int top, int left, struct buf *why)
{
	int row, col, trow, tcol;
	bool wrap;

	screen_cursor(s, &row, &col, &wrap);
	outside_cursor(t, &trow, &tcol);
	if (!number(why, row, col, "cursor row", (uint32_t)trow,
	    (uint32_t)(row - top)))
		return false;
	/* libvterm stands on a wide character before it wraps. */
	if (wrap && tcol == outside_cols(t) - 2)
		col = tcol + left;
	if (col - left < outside_cols(t) && !number(why, row, col,
	    "cursor column", (uint32_t)tcol, (uint32_t)(col - left)))
		return false;
	if (caps_has(caps, CAP_SMCUP) && !number(why, 0, 0,
	    "alternate screen", outside_alt(t),
	    (screen_modes(s)->flags & MODE_ALT_SCREEN) != 0))
		return false;
	return true;
}

bool
compare_screen(struct outside *t, const struct screen *s,
    const struct caps *caps, int top, int left, struct buf *why)
{
	int rows = screen_rows(s), cols = screen_cols(s), y, x;
	bool palette = any_palette(s);
	const struct row *r;
	const struct cell *c;

	for (y = 0; y < outside_rows(t) && y + top < rows; y++) {
		r = screen_row(s, y + top);
		for (x = 0; x < outside_cols(t) && x + left < cols; x++) {
			c = x + left < r->used ? &r->cells[x + left] : NULL;
			/* Halves of wide characters, and those cut. */
			if (c != NULL && (c->width == 0 || (c->width == 2 &&
			    (x + 1 >= outside_cols(t) ||
			    x + left + 1 >= r->used || c[1].width != 0))))
				continue;
			/* One that is none of its own joins what is before. */
			if (compare_doubtful(s, r, x + left +
			    (c != NULL && c->width == 2 ? 2 : 1)) ||
			    compare_doubtful(s, r, x + left) ||
			    compare_doubtful(s, r, x + left - 1) ||
			    compare_doubtful(s, r, x + left - 2))
				continue;
			if (!cell(t, s, caps, c, y, x, palette, why))
				return false;
		}
	}
	if (!cursor(t, s, caps, top, left, why))
		return false;
	if (outside_complaint(t) != NULL) {
		buf_printf(why, "written to the terminal: %s",
		    outside_complaint(t));
		return false;
	}
	return true;
}

/* --- modes and title ------------------------------------------------------ */

static const struct {
	uint32_t	bit;
	int		number;
} modes[] = {
	{ MODE_APP_CURSOR, 1 }, { MODE_PASTE, 2004 }, { MODE_FOCUS, 1004 },
	{ MODE_MOUSE_X10, 9 }, { MODE_MOUSE_BTN, 1000 },
	{ MODE_MOUSE_DRAG, 1002 }, { MODE_MOUSE_ANY, 1003 },
	{ MODE_MOUSE_UTF8, 1005 }, { MODE_MOUSE_SGR, 1006 },
	{ MODE_MOUSE_URXVT, 1015 }, { MODE_MOUSE_PIXEL, 1016 },
	{ MODE_ALT_SCROLL, 1007 }, { MODE_REVERSE, 5 },
};

static bool
title(struct outside *t, const struct screen *s, struct buf *why)
{
	const char *want = screen_title(s);

	if (*want == '\0')
		return words(why, 0, 0, "title", outside_title(t), "own");
	if (strlen(want) > VIEW_TITLE_MAX)
		return strncmp(want, outside_title(t), VIEW_TITLE_MAX - 4) ==
		    0;
	return words(why, 0, 0, "title", outside_title(t), want);
}

bool
compare_modes(struct outside *t, const struct screen *s,
    const struct caps *caps, struct buf *why)
{
	const struct screen_modes *m = screen_modes(s);
	char colour[16] = "";
	uint32_t rgb;
	size_t i;
	bool on;

	if (caps_has(caps, CAP_CIVIS) && !number(why, 0, 0, "cursor shown",
	    outside_mode(t, 25), (m->flags & MODE_CURSOR_HIDDEN) == 0))
		return false;
	if (!number(why, 0, 0, "keypad", outside_keypad(t),
	    (m->flags & MODE_APP_KEYPAD) != 0))
		return false;
	for (i = 0; i < sizeof modes / sizeof modes[0]; i++) {
		on = (m->flags & modes[i].bit) != 0 && (i == 0 ||
		    caps_flag(caps, CAPS_DECSET));
		/* Who was asked for its colours tells when they change. */
		if (modes[i].bit == MODE_FOCUS && outside_asked(t) && !on)
			continue;
		if (outside_mode(t, modes[i].number) != on) {
			buf_printf(why, "mode %d: terminal %d, screen %d",
			    modes[i].number, !on, on);
			return false;
		}
	}
	if (caps_flag(caps, CAPS_DECSCUSR) && !number(why, 0, 0,
	    "cursor shape", (uint32_t)outside_shape(t), m->cursor_shape))
		return false;
	if (caps_flag(caps, CAPS_KITTY) && !number(why, 0, 0, "key flags",
	    (uint32_t)outside_kitty(t), m->kitty_flags))
		return false;
	if (caps_flag(caps, CAPS_OTHERKEYS) && !number(why, 0, 0,
	    "modifyOtherKeys", (uint32_t)outside_other(t), m->modify_other))
		return false;
	if (caps_flag(caps, CAPS_COLOURS)) {
		if (screen_palette(s, THEME_CURSOR, &rgb))
			snprintf(colour, sizeof colour, "#%06x", rgb);
		if (!words(why, 0, 0, "cursor's colour",
		    outside_cursor_colour(t), colour))
			return false;
	}
	return !caps_flag(caps, CAPS_TITLE) || title(t, s, why);
}

/* --- native scrollback ---------------------------------------------------- */

static bool
row_doubtful(const struct screen *s, const struct row *r)
{
	int x;

	for (x = 0; x < r->used; x++)
		if (compare_doubtful(s, r, x))
			return true;
	return false;
}

bool
compare_lines(struct outside *t, size_t first, const struct screen *s,
    struct buf *why)
{
	size_t have = outside_lines(t) - first, i;
	const struct row *r;
	struct buf text;
	bool same = true;

	if (have > (size_t)screen_history(s))
		have = (size_t)screen_history(s);
	buf_init(&text, 1 << 20);
	for (i = 1; i <= have && same; i++) {
		r = screen_row(s, -(int)i);
		if (row_doubtful(s, r))
			continue;
		buf_reset(&text);
		screen_row_text(s, -(int)i, false, &text, NULL);
		while (text.len > 0 && text.data[text.len - 1] == ' ')
			text.len--;
		buf_u8(&text, 0);
		same = words(why, -(int)i, 0, "history",
		    outside_line(t, outside_lines(t) - i),
		    (char *)text.data);
	}
	buf_free(&text);
	return same;
}
