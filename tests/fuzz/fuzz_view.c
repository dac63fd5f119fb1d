/* SPDX-License-Identifier: ISC */
/*
 * From screen to screen: the input's parts, parted by bytes FF, are written
 * to a screen one after the other; after each, the view's frame goes to a
 * second screen that plays the terminal, which must then show the same, have
 * the same modes on. The first byte picks the terminal and whether the sizes
 * are equal; where they are not, only survival is checked. A part that begins
 * with FE and two bytes resizes both first.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../server/base/buf.h"
#include "../../term/caps.h"
#include "../../term/outer.h"
#include "../../term/screen.h"
#include "../../term/view.h"

int	LLVMFuzzerTestOneInput(const uint8_t *, size_t);

#define ROWS 6
#define COLS 24

/* Not the database: the same on every machine. */
static const struct {
	enum cap	 cap;
	const char	*value;
} strings[] = {
	{ CAP_CUP, "\033[%i%p1%d;%p2%dH" }, { CAP_HOME, "\033[H" },
	{ CAP_CUU, "\033[%p1%dA" }, { CAP_CUD, "\033[%p1%dB" },
	{ CAP_CUF, "\033[%p1%dC" }, { CAP_CUB, "\033[%p1%dD" },
	{ CAP_CUU1, "\033[A" }, { CAP_CUD1, "\n" },
	{ CAP_CUF1, "\033[C" }, { CAP_CUB1, "\b" },
	{ CAP_HPA, "\033[%i%p1%dG" }, { CAP_VPA, "\033[%i%p1%dd" },
	{ CAP_ED, "\033[J" }, { CAP_EL, "\033[K" },
	{ CAP_ECH, "\033[%p1%dX" }, { CAP_CSR, "\033[%i%p1%d;%p2%dr" },
	{ CAP_IND, "\n" }, { CAP_RI, "\033M" },
	{ CAP_INDN, "\033[%p1%dS" }, { CAP_RIN, "\033[%p1%dT" },
	{ CAP_SMCUP, "\033[?1049h" }, { CAP_RMCUP, "\033[?1049l" },
	{ CAP_CIVIS, "\033[?25l" }, { CAP_CNORM, "\033[?25h" },
	{ CAP_SGR0, "\033[m" }, { CAP_BOLD, "\033[1m" },
	{ CAP_DIM, "\033[2m" }, { CAP_SITM, "\033[3m" },
	{ CAP_SMUL, "\033[4m" }, { CAP_RMUL, "\033[24m" },
	{ CAP_BLINK, "\033[5m" }, { CAP_REV, "\033[7m" },
	{ CAP_INVIS, "\033[8m" }, { CAP_SMXX, "\033[9m" },
	{ CAP_SETAF, "\033[38;5;%p1%dm" }, { CAP_SETAB, "\033[48;5;%p1%dm" },
};

static struct caps *
make_caps(bool plain)
{
	struct caps *c = caps_new("fuzz");
	size_t i;

	for (i = 0; i < sizeof strings / sizeof strings[0]; i++)
		if (!plain || (strings[i].cap != CAP_ECH &&
		    strings[i].cap != CAP_HPA && strings[i].cap != CAP_VPA))
			caps_set(c, strings[i].cap, strings[i].value);
	caps_set_number(c, 256, plain ? CAPS_AM | CAPS_XENL | CAPS_DECSET :
	    0xffffffff & ~(uint32_t)CAPS_SYNC);
	if (caps_settle(c, NULL) != 0)
		abort();
	return c;
}

static void
differ(const char *what, int y, int x)
{
	fprintf(stderr, "row %d, column %d: %s differs\n", y, x, what);
	abort();
}

static bool
looks_the_same(const struct caps *c, struct pen a, struct pen b, bool blank)
{
	uint16_t lines = PEN_STRIKE | PEN_OVERLINE | PEN_REVERSE;

	pen_resolve(c, &a);
	pen_resolve(c, &b);
	if (a.bg != b.bg || a.underline != b.underline || a.ul != b.ul ||
	    (a.flags & lines) != (b.flags & lines) ||
	    (a.link != 0) != (b.link != 0))
		return false;
	return blank || (a.fg == b.fg && a.flags == b.flags);
}

static void
compare_row(const struct caps *c, const struct screen *s,
    const struct screen *t, int y)
{
	static const struct cell blank = { 0, 0, 1, 0 };
	const struct row *a = screen_row(s, y), *b = screen_row(t, y);
	const struct cell *ca, *cb;
	char ta[GRID_TEXT_MAX], tb[GRID_TEXT_MAX];
	size_t na, nb;
	int x;

	for (x = 0; x < screen_cols(s); x++) {
		ca = x < a->used ? &a->cells[x] : &blank;
		cb = x < b->used ? &b->cells[x] : &blank;
		if (ca->width == 0)
			continue;
		if (ca->width == 2 && (x + 1 >= a->used ||
		    ca[1].width != 0))
			continue;	/* half of one: drawn as a blank */
		na = grid_text(screen_grid(s), ca, ta);
		nb = grid_text(screen_grid(t), cb, tb);
		if (na != nb || memcmp(ta, tb, na) != 0)
			differ("text", y, x);
		if (!looks_the_same(c, *grid_pen(screen_grid(s), ca->pen),
		    *grid_pen(screen_grid(t), cb->pen),
		    na == 1 && ta[0] == ' '))
			differ("pen", y, x);
	}
}

static void
compare(const struct caps *c, const struct screen *s, const struct screen *t)
{
	uint32_t ours = ~(uint32_t)MODE_SYNC, rgb;
	int y, x, ty, tx, i;
	bool wrap, twrap;

	for (i = 0; i < 259; i++)
		if (screen_palette(s, i, &rgb))
			return;		/* other colours by intent */
	for (y = 0; y < screen_rows(s); y++)
		compare_row(c, s, t, y);
	screen_cursor(s, &y, &x, &wrap);
	screen_cursor(t, &ty, &tx, &twrap);
	if (y != ty || x != tx)
		differ("cursor", y, x);
	if (!caps_flag(c, CAPS_DECSCUSR))
		ours &= ~(uint32_t)MODE_CURSOR_BLINK;
	if (!caps_flag(c, CAPS_RGB))
		ours &= ~(uint32_t)MODE_THEME;
	if (((screen_modes(s)->flags ^ screen_modes(t)->flags) & ours) != 0)
		differ("mode", 0, 0);
	if (caps_flag(c, CAPS_KITTY) &&
	    screen_modes(s)->kitty_flags != screen_modes(t)->kitty_flags)
		differ("kitty flags", 0, 0);
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t len)
{
	struct screen *s, *t;
	struct view_frame frame;
	struct caps *c;
	struct view *v;
	struct buf out;
	const uint8_t *end;
	size_t n;
	int rows = ROWS, cols = COLS;
	bool equal;

	if (len < 2 || len > 1 << 14)
		return 0;
	c = make_caps((p[0] & 1) != 0);
	equal = (p[0] & 2) == 0;
	if (!equal) {
		rows = 1 + (p[0] >> 2 & 7) * 2;
		cols = 1 + (p[0] >> 5) * 6;
	}
	p++;
	len--;
	s = screen_new(ROWS, COLS, NULL, NULL);
	t = screen_new(rows, cols, NULL, NULL);
	v = view_new(c, rows, cols);
	buf_init(&out, 64 << 20);
	while (len > 0) {
		end = memchr(p, 0xff, len);
		n = end == NULL ? len : (size_t)(end - p);
		if (n >= 3 && p[0] == 0xfe) {
			screen_resize(s, 1 + p[1] % 12, 2 + p[2] % 40);
			if (equal) {
				view_resize(v, 1 + p[1] % 12, 2 + p[2] % 40);
				screen_resize(t, 1 + p[1] % 12,
				    2 + p[2] % 40);
			} else {
				view_resize(v, 1 + p[2] % 12, 1 + p[1] % 40);
				screen_resize(t, 1 + p[2] % 12,
				    1 + p[1] % 40);
			}
			screen_write(s, p + 3, n - 3);
		} else
			screen_write(s, p, n);
		n += end != NULL;
		p += n;
		len -= n;
		buf_reset(&out);
		view_render(v, s, &out, &frame);
		if (!buf_ok(&out))
			abort();
		screen_write(t, out.data, out.len);
		if (equal)
			compare(c, s, t);
		buf_reset(&out);
		view_render(v, s, &out, &frame);
		if (out.len != 0)
			differ("a second frame", 0, 0);
	}
	buf_reset(&out);
	view_leave(v, &out);
	screen_write(t, out.data, out.len);
	if ((screen_modes(t)->flags & ~(uint32_t)MODE_SYNC) != 0)
		differ("a mode left on", 0, 0);
	view_free(v);
	screen_free(s);
	screen_free(t);
	caps_free(c);
	buf_free(&out);
	return 0;
}
