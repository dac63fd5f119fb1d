/* SPDX-License-Identifier: ISC */
/*
 * Views against an independent terminal: libvterm's own screen layer plays
 * the client's terminal, gets the bytes of each frame, and must then show
 * what the screen shows; the lines it pushes out at its top must be the
 * screen's history, each once. Random streams print their seed.
 */
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

static char *
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

static void
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

/* --- plain cases -------------------------------------------------------- */

START_TEST(the_first_frame_shows_the_screen)
{
	struct world w;

	world_init(&w, "xterm-256color", 10, 40, 10, 40);
	world_say(&w, "hello\r\n\033[1;31mworld\033[m\033[5;7H\033[44mx");
	step(&w);
	world_clear(&w);
}
END_TEST

START_TEST(nothing_new_costs_nothing)
{
	struct world w;

	world_init(&w, "xterm-256color", 10, 40, 10, 40);
	world_say(&w, "hello");
	step(&w);
	step(&w);
	ck_assert_uint_eq(w.bytes, 0);
	world_clear(&w);
}
END_TEST

START_TEST(an_echoed_character_costs_one_byte)
{
	struct world w;

	world_init(&w, "xterm-256color", 10, 40, 10, 40);
	world_say(&w, "$ l");
	step(&w);
	world_say(&w, "s");
	step(&w);
	ck_assert_uint_eq(w.bytes, 1);
	world_say(&w, "\b \b");
	step(&w);
	ck_assert_uint_le(w.bytes, 3);
	world_say(&w, "\r\n");
	step(&w);
	ck_assert_uint_le(w.bytes, 2);
	world_clear(&w);
}
END_TEST

START_TEST(typing_over_the_edge_really_wraps)
{
	struct world w;
	int i;

	world_init(&w, "xterm-256color", 5, 10, 5, 10);
	world_say(&w, "\033[2J\033[H");
	step(&w);
	for (i = 0; i < 9; i++) {
		world_say(&w, "a");
		step(&w);
	}
	world_say(&w, "b");
	step(&w);
	ck_assert_uint_eq(w.bytes, 1);
	/* The next character makes the terminal wrap: no move is sent. */
	world_say(&w, "c");
	step(&w);
	ck_assert_uint_eq(w.bytes, 1);
	/* All in one frame, too. */
	world_say(&w, "\r\n12345678901234");
	step(&w);
	ck_assert(memmem(w.out.data, w.out.len, "12345678901234", 14) !=
	    NULL);
	/* And when its first part was drawn before, elsewhere aimed. */
	world_say(&w, "\033[Hx\033[5;1H\033[K123456789\r");
	step(&w);
	world_say(&w, "\033[5;10H0Z");
	step(&w);
	ck_assert(memmem(w.out.data, w.out.len, "0Z", 2) != NULL);
	world_clear(&w);
}
END_TEST

START_TEST(scrolled_lines_enter_the_terminals_history)
{
	struct world w;
	char line[64];
	int i;

	world_init(&w, "xterm-256color", 6, 20, 6, 20);
	step(&w);
	w.before = w.t->nlines;
	for (i = 0; i < 40; i++) {
		snprintf(line, sizeof line, "line %d\r\n", i);
		world_say(&w, line);
		if (i % 7 == 0)
			step(&w);
	}
	step(&w);
	ck_assert_uint_eq(w.t->nlines - w.before, screen_lines(w.s));
	compare_history(&w, screen_history(w.s));
	ck_assert(w.frame.lines == screen_lines(w.s));
	world_clear(&w);
}
END_TEST

START_TEST(a_flood_in_one_frame_is_marked_where_lines_are_left_out)
{
	struct world w;
	char line[64];
	size_t i;
	int marks = 0;

	world_init(&w, "xterm-256color", 6, 20, 6, 20);
	world_say(&w, "first\r\n");
	step(&w);
	for (i = 0; i < 5500; i++) {
		snprintf(line, sizeof line, "all %zu\r\n", i);
		world_say(&w, line);
	}
	step(&w);
	compare_history(&w, 5500 - 6);
	for (i = 0; i < 9000; i++) {
		snprintf(line, sizeof line, "line %zu\r\n", i);
		world_say(&w, line);
	}
	step(&w);
	compare_history(&w, 1000);
	for (i = 0; i < w.t->nlines; i++)
		if (strstr(w.t->lines[i], "lines left out") != NULL)
			marks++;
	ck_assert_int_eq(marks, 1);
	world_clear(&w);
}
END_TEST

START_TEST(attaching_keeps_what_the_user_had)
{
	struct world w;
	int i;

	world_init(&w, "xterm-256color", 6, 20, 6, 20);
	outside_write(w.t, "mine 1\r\nmine 2\r\n$ dlmux\r\n", 26);
	for (i = 0; i < 30; i++)
		world_say(&w, "theirs\r\n");
	step(&w);
	ck_assert_uint_ge(w.t->nlines, 3);
	ck_assert_str_eq(w.t->lines[0], "mine 1");
	ck_assert_str_eq(w.t->lines[1], "mine 2");
	ck_assert_str_eq(w.t->lines[2], "$ dlmux");
	/* One screenful of history above, no more. */
	ck_assert_uint_eq(w.t->nlines, 3 + 6);
	compare_history(&w, 6);
	world_clear(&w);
	/* A row that was begun is not lost. */
	world_init(&w, "xterm-256color", 6, 20, 6, 20);
	outside_write(w.t, "mine 1\r\nx", 9);
	step(&w);
	ck_assert_uint_eq(w.t->nlines, 2);
	ck_assert_str_eq(w.t->lines[1], "x");
	world_clear(&w);
}
END_TEST

/* Asked for less, for more, for all; equal sizes and others. */
START_TEST(attaching_puts_as_much_history_as_asked_for_above)
{
	static const struct {
		uint32_t	 ask;
		int		 cols;
		size_t		 lines;
	} cases[] = {
		{ 0, 20, 0 }, { 3, 20, 3 }, { 50, 20, 50 }, { 95, 20, 95 },
		{ 5000, 20, 95 }, { UINT32_MAX - 1, 20, 95 }, { 50, 30, 50 },
		{ 0, 30, 0 }, { 50, 12, 50 }
	};
	struct world w;
	char line[64];
	size_t i;
	int k;

	for (i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		world_init(&w, "xterm-256color", 6, cases[i].cols, 6, 20);
		outside_write(w.t, "mine\r\n", 6);
		view_history(w.v, cases[i].ask);
		for (k = 0; k < 100; k++) {
			snprintf(line, sizeof line, "line %d\r\n", k);
			world_say(&w, line);
		}
		step(&w);
		ck_assert_str_eq(w.t->lines[0], "mine");
		ck_assert_uint_eq(w.t->nlines, 1 + cases[i].lines);
		compare_history(&w, (int)cases[i].lines);
		/* The next lines follow, each once. */
		world_say(&w, "more\r\nmore\r\n");
		step(&w);
		ck_assert_uint_eq(w.t->nlines, 1 + cases[i].lines + 2);
		compare_history(&w, (int)cases[i].lines + 2);
		world_clear(&w);
	}
}
END_TEST

START_TEST(a_history_too_long_for_a_frame_misses_its_beginning)
{
	struct world w;
	char line[4200];
	size_t i, n = 0;
	int k, j;

	world_init(&w, "xterm-256color", 6, 100, 6, 100);
	view_history(w.v, UINT32_MAX - 1);
	for (k = 0; k < 1500; k++) {
		for (j = 0, n = 0; j < 90; j++)
			n += (size_t)snprintf(line + n, sizeof line - n,
			    "\033[38;2;%d;%d;200;48;2;111;%d;%dm%c",
			    100 + (j + k) % 100, 100 + j, 100 + k % 100,
			    200 - j, 'a' + j % 26);
		snprintf(line + n, sizeof line - n, "\033[m%d\r\n", k);
		world_say(&w, line);
	}
	step(&w);
	ck_assert_uint_gt(w.t->nlines, 500);
	ck_assert_uint_lt(w.t->nlines, 1495);
	ck_assert_msg(strstr(w.t->lines[0], "lines left out]") != NULL, "%s",
	    w.t->lines[0]);
	for (i = 1; i < w.t->nlines; i++)
		ck_assert_ptr_null(strstr(w.t->lines[i], "left out"));
	ck_assert_uint_eq(strtoul(w.t->lines[0] + 1, NULL, 10) +
	    w.t->nlines - 1, 1495);
	compare_history(&w, (int)w.t->nlines - 1);
	world_clear(&w);
}
END_TEST

START_TEST(a_new_server_goes_on_where_the_terminal_stands)
{
	struct world w;
	struct view *v;
	char line[64];
	int i;

	world_init(&w, "xterm-256color", 6, 20, 6, 20);
	step(&w);
	w.before = w.t->nlines;
	for (i = 0; i < 60; i++) {
		snprintf(line, sizeof line, "line %d\r\n", i);
		world_say(&w, line);
		if (i == 20)
			step(&w);
	}
	v = view_new(w.caps, 6, 20);
	view_unknown(v, w.frame.modes, w.frame.lines);
	view_free(w.v);
	w.v = v;
	step(&w);
	ck_assert_uint_eq(w.t->nlines - w.before, screen_lines(w.s));
	compare_history(&w, screen_history(w.s));
	world_clear(&w);
}
END_TEST

START_TEST(the_alternate_screen_leaves_no_trace)
{
	struct world w;
	size_t lines;
	char *s;

	world_init(&w, "xterm-256color", 6, 20, 6, 20);
	world_say(&w, "before\r\n$ vi");
	step(&w);
	lines = w.t->nlines;
	world_say(&w, "\033[?1049h\033[H\033[2Jtext\r\n\r\n\r\n\r\n\r\n\n\n\n~");
	step(&w);
	ck_assert(w.t->alt);
	ck_assert((w.frame.modes & MODE_ALT_SCREEN) != 0);
	world_say(&w, "\033[?1049l");
	step(&w);
	ck_assert(!w.t->alt);
	ck_assert_uint_lt(w.bytes, 40);
	ck_assert_uint_eq(w.t->nlines, lines);
	s = outside_row(w.t, 1);
	ck_assert_str_eq(s, "$ vi");
	free(s);
	world_clear(&w);
}
END_TEST

START_TEST(attaching_to_an_alternate_screen_spares_the_main_one)
{
	struct world w;

	world_init(&w, "xterm-256color", 6, 20, 6, 20);
	outside_write(w.t, "mine\r\n", 6);
	world_say(&w, "shell\r\n\033[?1049h\033[H\033[2Jvi");
	step(&w);
	ck_assert(w.t->alt);
	ck_assert(w.frame.lines == UINT64_MAX);
	world_say(&w, "\033[?1049l");
	step(&w);
	ck_assert_str_eq(w.t->lines[0], "mine");
	ck_assert(w.frame.lines == screen_lines(w.s));
	world_clear(&w);
}
END_TEST

START_TEST(a_notice_comes_and_goes)
{
	struct world w;
	char *s;

	world_init(&w, "xterm-256color", 6, 20, 6, 20);
	world_say(&w, "a\r\nb\r\nc\r\nd\r\ne\r\nlast");
	step(&w);
	view_notice(w.v, "link lost");
	world_render(&w);
	s = outside_row(w.t, 5);
	ck_assert_str_eq(s, "link lost");
	free(s);
	/* Output below a notice: its text never goes into the history. */
	world_say(&w, "\r\nmore\r\nand more");
	world_render(&w);
	s = outside_row(w.t, 5);
	ck_assert_str_eq(s, "link lost");
	free(s);
	view_notice(w.v, NULL);
	step(&w);
	compare_history(&w, 2);
	world_clear(&w);
}
END_TEST

START_TEST(an_overlay_comes_and_goes)
{
	static const char *const help[] = { "d detach", "? help", NULL };
	struct world w;
	char *s;

	world_init(&w, "xterm-256color", 6, 20, 6, 20);
	world_say(&w, "\033[3;1H\346\227\245\346\227\245\346\227\245\346\227\245"
	    "\346\227\245\346\227\245\346\227\245\346\227\245");
	step(&w);
	view_overlay(w.v, help);
	world_render(&w);
	s = outside_row(w.t, 2);
	ck_assert_str_eq(s, "\346\227\245\346\227\245  d detach");
	free(s);
	view_overlay(w.v, NULL);
	step(&w);
	world_clear(&w);
}
END_TEST

START_TEST(leaving_undoes_every_mode)
{
	struct world w;
	char *s;

	world_init(&w, "xterm-256color", 6, 20, 6, 20);
	world_say(&w, "hello\033[?1h\033=\033[?2004h\033[?1004h\033[?1002h"
	    "\033[?1006h\033[?25l\033[4 q\033]2;title\a");
	step(&w);
	ck_assert((w.frame.modes & MODE_PASTE) != 0);
	ck_assert((w.frame.modes & VIEW_STYLED) != 0);
	ck_assert((w.frame.modes & VIEW_TITLED) != 0);
	buf_reset(&w.out);
	view_leave(w.v, &w.out);
	outside_write(w.t, w.out.data, w.out.len);
	buf_u8(&w.out, 0);
	s = (char *)w.out.data;
	ck_assert_ptr_ne(strstr(s, "2004"), NULL);
	ck_assert_ptr_ne(strstr(s, "1004"), NULL);
	ck_assert_ptr_ne(strstr(s, "1002"), NULL);
	ck_assert_ptr_ne(strstr(s, "1006"), NULL);
	ck_assert_ptr_ne(strstr(s, "\033>"), NULL);
	ck_assert_ptr_ne(strstr(s, "\033[0 q"), NULL);
	ck_assert_ptr_ne(strstr(s, "\033[23;2t"), NULL);
	ck_assert(w.t->visible);
	ck_assert(!w.t->alt);
	/* The prompt comes right below the picture. */
	ck_assert_int_eq(w.t->cursor.row, 1);
	ck_assert_int_eq(w.t->cursor.col, 0);
	world_clear(&w);
}
END_TEST

/* What the user keeps is what the program drew. */
START_TEST(leaving_takes_the_edge_of_a_smaller_screen_away)
{
	struct world w;
	struct buf b;
	char *s;

	world_init(&w, "xterm-256color", 4, 10, 8, 30);
	world_say(&w, "one\r\ntwo\r\n$");
	step(&w);
	s = outside_row(w.t, 1);
	ck_assert_str_eq(s, "two       \342\224\202");
	free(s);
	s = outside_row(w.t, 4);
	ck_assert_int_eq(strncmp(s, "\342\224\200", 3), 0);
	free(s);
	view_padding(w.v, false);
	step(&w);
	buf_init(&b, 65536);
	view_leave(w.v, &b);
	outside_write(w.t, (char *)b.data, b.len);
	buf_free(&b);
	s = outside_row(w.t, 1);
	ck_assert_str_eq(s, "two");
	free(s);
	s = outside_row(w.t, 4);
	ck_assert_str_eq(s, "");
	free(s);
	ck_assert_int_eq(w.t->cursor.row, 3);
	world_clear(&w);
}
END_TEST

START_TEST(undoing_needs_the_modes_only)
{
	struct world w;

	world_init(&w, "xterm-256color", 6, 20, 6, 20);
	world_say(&w, "main\033[?1049h\033[?25l\033[2;4rx");
	step(&w);
	ck_assert(w.t->alt);
	buf_reset(&w.out);
	view_undo(w.caps, w.frame.modes, 6, &w.out);
	outside_write(w.t, w.out.data, w.out.len);
	ck_assert(w.t->visible);
	ck_assert(!w.t->alt);
	ck_assert_int_eq(w.t->cursor.row, 5);
	ck_assert_int_eq(w.t->cursor.col, 0);
	world_clear(&w);
}
END_TEST

START_TEST(kitty_flags_are_pushed_once_and_popped)
{
	struct screen *s = screen_new(5, 20, NULL, NULL);
	struct caps *c = caps_for("xterm-kitty", 0, 0);
	struct view *v = view_new(c, 5, 20);
	struct view_frame f;
	struct buf out;

	buf_init(&out, 1 << 20);
	screen_write(s, "\033[>1u", 5);
	view_render(v, s, &out, &f);
	buf_u8(&out, 0);
	ck_assert_ptr_ne(strstr((char *)out.data, "\033[>1u"), NULL);
	ck_assert((f.modes & VIEW_KITTY) != 0);
	buf_reset(&out);
	screen_write(s, "\033[=5u", 5);
	view_render(v, s, &out, &f);
	buf_u8(&out, 0);
	ck_assert_str_eq((char *)out.data, "\033[=5;1u");
	buf_reset(&out);
	view_leave(v, &out);
	buf_u8(&out, 0);
	ck_assert_ptr_ne(strstr((char *)out.data, "\033[<u"), NULL);
	view_free(v);
	caps_free(c);
	screen_free(s);
	buf_free(&out);
}
END_TEST

/* What one frame after the stream writes. */
static void
frame_is(struct screen *s, struct view *v, const char *in, const char *want,
    uint32_t modes)
{
	struct view_frame f;
	struct buf b;

	buf_init(&b, 65536);
	screen_write(s, in, strlen(in));
	view_render(v, s, &b, &f);
	buf_u8(&b, 0);
	ck_assert_msg(strcmp((char *)b.data, want) == 0 || (want[0] == '*' &&
	    strstr((char *)b.data, want + 1) != NULL), "%s", (char *)b.data);
	ck_assert_uint_eq(f.modes & (VIEW_KITTY | VIEW_OTHER | VIEW_CURSOR),
	    modes);
	buf_free(&b);
}

/* Key protocols are each screen's own; a client that comes later gets them;
 * none whose terminal has them not. */
START_TEST(key_protocols_follow_the_screen)
{
	struct screen *s = screen_new(5, 20, NULL, NULL);
	struct caps *c = caps_for("xterm-kitty", 0, 0),
	    *x = caps_for("xterm-256color", 0, 0), *l = caps_for("linux", 0, 0);
	struct view *v = view_new(c, 5, 20), *late = view_new(c, 5, 20),
	    *xterm = view_new(x, 5, 20), *console = view_new(l, 5, 20);
	uint32_t both = VIEW_KITTY | VIEW_OTHER;

	frame_is(s, v, "x", "*x", 0);
	frame_is(s, v, "\033[>1u\033[>4;2m", "\033[>1u\033[>4;2m", both);
	/* The other screen has none: popped here, before it is entered. */
	frame_is(s, v, "\033[?1049h", "*\033[<u", VIEW_OTHER);
	frame_is(s, v, "\033[>15u", "\033[>15u", both);
	frame_is(s, late, "", "*\033[>15u\033[>4;2m", both);
	frame_is(s, v, "\033[?1049l", "*\033[>1u", both);
	frame_is(s, late, "", "*\033[>1u", both);
	frame_is(s, xterm, "", "*\033[>4;2m", VIEW_OTHER);
	frame_is(s, console, "", "*x", 0);
	frame_is(s, v, "\033[!p", "", both);
	frame_is(s, v, "\033[<u", "\033[<u", VIEW_OTHER);
	frame_is(s, v, "\033[>4n", "\033[>4m", 0);
	frame_is(s, v, "\033[>1u\033[>4;1m", "\033[>1u\033[>4;1m", both);
	frame_is(s, v, "\033c", "*\033[<u\033[>4m", 0);
	view_free(v);
	view_free(late);
	view_free(xterm);
	view_free(console);
	caps_free(c);
	caps_free(x);
	caps_free(l);
	screen_free(s);
}
END_TEST

START_TEST(the_cursors_colour_is_set_and_undone)
{
	struct screen *s = screen_new(5, 20, NULL, NULL);
	struct caps *x = caps_for("xterm-256color", 0, 0),
	    *l = caps_for("linux", 0, 0);
	struct view *v = view_new(x, 5, 20), *console = view_new(l, 5, 20);
	struct buf b;

	frame_is(s, v, "x", "*x", 0);
	frame_is(s, v, "\033]12;rgb:11/22/33\a", "\033]12;#112233\a",
	    VIEW_CURSOR);
	frame_is(s, v, "\033]112\a", "\033]112\a", 0);
	frame_is(s, v, "\033]12;#abc\a", "\033]12;#a0b0c0\a", VIEW_CURSOR);
	frame_is(s, console, "", "*x", 0);
	buf_init(&b, 65536);
	view_undo(x, VIEW_CURSOR, 5, &b);
	buf_u8(&b, 0);
	ck_assert_ptr_nonnull(strstr((char *)b.data, "\033]112\a"));
	buf_reset(&b);
	view_leave(v, &b);
	buf_u8(&b, 0);
	ck_assert_ptr_nonnull(strstr((char *)b.data, "\033]112\a"));
	buf_free(&b);
	view_free(v);
	view_free(console);
	caps_free(x);
	caps_free(l);
	screen_free(s);
}
END_TEST

START_TEST(bell_and_clipboard_pass_once)
{
	struct world w;

	world_init(&w, "xterm-256color", 6, 20, 6, 20);
	step(&w);
	view_bell(w.v);
	view_clipboard(w.v, "c", "aGk=", 4);
	world_render(&w);
	buf_u8(&w.out, 0);
	ck_assert_str_eq((char *)w.out.data, "\a\033]52;c;aGk=\a");
	/* A question, or anything that could end the sequence early. */
	view_clipboard(w.v, "c", "?", 1);
	view_clipboard(w.v, "c", "a\033", 2);
	view_clipboard(w.v, "c;", "aGk=", 4);
	world_render(&w);
	ck_assert_uint_eq(w.bytes, 0);
	world_clear(&w);
}
END_TEST

START_TEST(notes_pass_once_and_clean)
{
	struct world w;
	char big[2000];
	int i;

	world_init(&w, "xterm-256color", 6, 20, 6, 20);
	step(&w);
	view_notify(w.v, "", "d\303\251j\a\302\233a");
	view_notify(w.v, "t;i\033t", "b;c");
	world_render(&w);
	buf_u8(&w.out, 0);
	ck_assert_str_eq((char *)w.out.data, "\033]9;d\303\251ja\a"
	    "\033]777;notify;tit;b;c\a");
	/* More than a frame has room for: whole ones. */
	memset(big, 'x', sizeof big);
	big[sizeof big - 1] = '\0';
	for (i = 0; i < 20; i++)
		view_notify(w.v, "", big);
	world_render(&w);
	ck_assert_uint_gt(w.bytes, 4000);
	ck_assert_uint_lt(w.bytes, 9000);
	ck_assert_uint_eq(w.bytes % (sizeof big - 1 + 5), 0);
	world_clear(&w);
	world_init(&w, "linux", 6, 20, 6, 20);
	step(&w);
	view_notify(w.v, "", "x");
	world_render(&w);
	ck_assert_uint_eq(w.bytes, 0);
	world_clear(&w);
}
END_TEST

START_TEST(reports_are_on_for_us_and_undone)
{
	struct world w;
	struct view_frame f;
	struct buf b;

	world_init(&w, "alacritty", 6, 20, 6, 20);
	step(&w);
	buf_init(&b, 65536);
	view_follow(w.v, MODE_THEME);
	view_render(w.v, w.s, &b, &f);
	buf_u8(&b, 0);
	ck_assert_str_eq((char *)b.data, "\033[?2031h");
	ck_assert_uint_eq(f.modes, MODE_THEME | VIEW_MY_THEME);
	/* The program's as well: then they are keys. */
	screen_write(w.s, "\033[?2031h", 8);
	buf_reset(&b);
	view_render(w.v, w.s, &b, &f);
	ck_assert_uint_eq(b.len, 0);
	ck_assert_uint_eq(f.modes, MODE_THEME);
	screen_write(w.s, "\033[?2031l", 8);
	view_follow(w.v, MODE_FOCUS);
	view_render(w.v, w.s, &b, &f);
	buf_u8(&b, 0);
	ck_assert_str_eq((char *)b.data, "\033[?2031l\033[?1004h");
	ck_assert_uint_eq(f.modes, MODE_FOCUS | VIEW_MY_FOCUS);
	buf_reset(&b);
	view_undo(w.caps, f.modes, 6, &b);
	buf_u8(&b, 0);
	ck_assert_ptr_nonnull(strstr((char *)b.data, "\033[?1004l"));
	buf_free(&b);
	world_clear(&w);
}
END_TEST

START_TEST(colours_come_down_to_what_the_terminal_has)
{
	struct world w;
	static const char *const terms[] = { "linux", "screen",
	    "tmux-256color", "xterm-256color", "vt100", "alacritty" };
	size_t i;

	for (i = 0; i < sizeof terms / sizeof terms[0]; i++) {
		world_init(&w, terms[i], 6, 30, 6, 30);
		world_say(&w, "\033[38;2;255;100;0mrgb\033[48;5;200mindex"
		    "\033[0;91mbright\033[0;3mitalic\033[0;4:3mcurly"
		    "\033[0;9mstrike\033[0;7mreverse\033[0;1;2;3;4;5;7;9;"
		    "38;2;1;2;3;48;2;4;5;6m!");
		step(&w);
		world_clear(&w);
	}
}
END_TEST

START_TEST(a_scrolled_pager_costs_one_line)
{
	struct world w;
	char line[200];
	size_t lines;
	int i;

	world_init(&w, "xterm-256color", 20, 60, 20, 60);
	world_say(&w, "\033[?1049h\033[H");
	for (i = 0; i < 19; i++) {
		snprintf(line, sizeof line, "\033[3%dmcontents of line %d, "
		    "some of it\033[m\r\n", i % 8, i);
		world_say(&w, line);
	}
	world_say(&w, "\033[7mstatus");
	step(&w);
	world_say(&w, "\033[m\r\033[Kone line more\n\r\033[7mstatus");
	step(&w);
	ck_assert_uint_lt(w.bytes, 80);
	world_say(&w, "\033[m\033[H\033Mone line back");
	step(&w);
	ck_assert_uint_lt(w.bytes, 80);
	/* Between margins, on the main screen. */
	world_say(&w, "\033[?1049l\033[2;18r\033[2H");
	for (i = 0; i < 16; i++)
		world_say(&w, "something in the middle\r\n");
	step(&w);
	lines = w.t->nlines;
	world_say(&w, "\033[18H\nnew");
	step(&w);
	ck_assert_uint_lt(w.bytes, 80);
	ck_assert_uint_eq(w.t->nlines, lines);
	world_clear(&w);
}
END_TEST

START_TEST(a_frame_that_does_not_fit_is_repainted_later)
{
	struct world w;
	struct buf small;

	world_init(&w, "xterm-256color", 6, 20, 6, 20);
	step(&w);
	world_say(&w, "some text that is long\033[?2004h");
	buf_init(&small, 8);
	view_render(w.v, w.s, &small, &w.frame);
	ck_assert(!buf_ok(&small));
	ck_assert((w.frame.modes & MODE_PASTE) == 0);
	buf_free(&small);
	step(&w);
	ck_assert((w.frame.modes & MODE_PASTE) != 0);
	world_clear(&w);
}
END_TEST

/* --- random streams ----------------------------------------------------- */

static uint32_t
rnd(uint32_t *state, uint32_t n)
{
	*state ^= *state << 13;
	*state ^= *state >> 17;
	*state ^= *state << 5;
	return *state % n;
}

static void
random_text(uint32_t *r, struct buf *b)
{
	static const char *const words[] = { "word", "a", "  ", "          ",
	    "\346\227\245\346\234\254", "\303\251", "long-line-of-text-here",
	    "e\314\201", "\360\237\230\200", "\342\224\200\342\224\200",
	    "0123456789012345678901234567890123456789", "\t", "x" };
	int n = 1 + (int)rnd(r, 6);

	while (n-- > 0)
		buf_puts(b, words[rnd(r, sizeof words / sizeof words[0])]);
}

static void
random_sequence(uint32_t *r, struct buf *b, int rows, int cols)
{
	static const char *const sgr[] = { "0", "1", "3", "4", "5", "7", "9",
	    "31", "42", "38;5;200", "48;5;17", "38;2;1;2;3", "48;2;9;8;7",
	    "22", "24", "27", "39", "49", "4:3", "21", "97", "103" };
	int a, c;

	switch (rnd(r, 30)) {
	case 0: case 1: case 2: case 3: case 4: case 5: case 6:
		random_text(r, b);
		break;
	case 7: case 8: case 9: case 10: case 11:
		random_text(r, b);
		buf_puts(b, "\r\n");
		break;
	case 12: case 13: case 14:
		buf_printf(b, "\033[%sm", sgr[rnd(r, sizeof sgr /
		    sizeof sgr[0])]);
		break;
	case 15: case 16:
		buf_printf(b, "\033[%u;%uH", 1 + rnd(r, (uint32_t)rows),
		    1 + rnd(r, (uint32_t)cols));
		break;
	case 17:
		buf_printf(b, "\033[%uK", rnd(r, 3));
		break;
	case 18:
		if (rnd(r, 4) == 0)
			buf_printf(b, "\033[%uJ", rnd(r, 3));
		break;
	case 19:
		buf_printf(b, "\033[%u%c", 1 + rnd(r, 4), "LMP@XST"[rnd(r, 7)]);
		break;
	case 20:
		a = 1 + (int)rnd(r, (uint32_t)rows);
		c = 1 + (int)rnd(r, (uint32_t)rows);
		if (a < c)
			buf_printf(b, "\033[%d;%dr", a, c);
		else
			buf_puts(b, "\033[r");
		break;
	case 21:
		buf_puts(b, rnd(r, 2) == 0 ? "\033M" : "\n\n\n");
		break;
	case 22:
		if (rnd(r, 6) == 0)
			buf_puts(b, "\033[?1049h");
		else
			buf_puts(b, "\033[?1049l");
		break;
	case 23:
		buf_puts(b, rnd(r, 2) == 0 ? "\033[?25l" : "\033[?25h");
		break;
	case 24:
		buf_puts(b, "\r\n\r\n\r\n\r\n");
		break;
	case 25:
		buf_printf(b, "\033[?%u%c", rnd(r, 2) != 0 ? 2004u : 1002u,
		    "hl"[rnd(r, 2)]);
		break;
	case 26:
		if (rnd(r, 8) == 0)
			buf_puts(b, rnd(r, 2) != 0 ? "\033[?5h" : "\033[?5l");
		break;
	case 27:
		for (a = (int)rnd(r, 40); a > 0; a--) {
			random_text(r, b);
			buf_puts(b, "\r\n");
		}
		break;
	default:
		buf_puts(b, "\033[m\r\n$ ");
		break;
	}
}

static void
run_random(uint32_t seed, const char *term, int rows, int cols, int vrows,
    int vcols)
{
	struct world w;
	struct buf b;
	uint32_t r = seed * 2654435761u + 1;
	int i, n;
	bool exact = rows == vrows && cols == vcols;

	world_init(&w, term, rows, cols, vrows, vcols);
	w.seed = seed;
	step(&w);
	w.before = w.t->nlines;
	buf_init(&b, 1 << 20);
	for (i = 0; i < 40; i++) {
		buf_reset(&b);
		for (n = (int)rnd(&r, 12); n >= 0; n--)
			random_sequence(&r, &b, rows, cols);
		screen_write(w.s, b.data, b.len);
		if (getenv("DLMUX_TEST_TRACE") != NULL) {
			fprintf(stderr, "step %d: ", i);
			trace(b.data, b.len);
		}
		step(&w);
		if (vcols >= cols && (screen_modes(w.s)->flags &
		    MODE_ALT_SCREEN) == 0)
			compare_history(&w, screen_history(w.s));
	}
	buf_reset(&b);
	buf_puts(&b, "\033[?1049l");
	screen_write(w.s, b.data, b.len);
	step(&w);
	if (exact) {
		compare_number(&w, 0, 0, "lines",
		    (unsigned)(w.t->nlines - w.before),
		    (unsigned)screen_lines(w.s));
		compare_history(&w, screen_history(w.s));
	} else if (vcols >= cols)
		compare_history(&w, screen_history(w.s));
	buf_free(&b);
	world_clear(&w);
}

static uint32_t
rounds(uint32_t n)
{
	const char *s = getenv("DLMUX_TEST_ROUNDS");

	return s != NULL ? (uint32_t)atoi(s) : n;
}

START_TEST(random_streams_equal_sizes)
{
	uint32_t seed, n = rounds(300);

	for (seed = 1; seed <= n; seed++)
		run_random(seed, "xterm-256color", 4 + (int)(seed % 9),
		    10 + (int)(seed % 37), 4 + (int)(seed % 9),
		    10 + (int)(seed % 37));
}
END_TEST

START_TEST(random_streams_other_terminals)
{
	static const char *const terms[] = { "linux", "screen", "kitty",
	    "tmux-256color", "alacritty", "xterm-kitty", "foot" };
	uint32_t seed, n = rounds(100);

	for (seed = 1; seed <= n; seed++)
		run_random(seed, terms[seed % 7], 8, 30, 8, 30);
}
END_TEST

START_TEST(random_streams_smaller_terminal)
{
	uint32_t seed, n = rounds(100);

	for (seed = 1; seed <= n; seed++)
		run_random(seed, "xterm-256color", 12, 40,
		    3 + (int)(seed % 10), 5 + (int)(seed % 36));
}
END_TEST

START_TEST(random_streams_larger_terminal)
{
	uint32_t seed, n = rounds(100);

	for (seed = 1; seed <= n; seed++)
		run_random(seed, "xterm-256color", 6, 20,
		    6 + (int)(seed % 7), 20 + (int)(seed % 9));
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("view");
	TCase *tc = tcase_create("view");

	tcase_set_timeout(tc, 120);
	tcase_add_test(tc, the_first_frame_shows_the_screen);
	tcase_add_test(tc, nothing_new_costs_nothing);
	tcase_add_test(tc, an_echoed_character_costs_one_byte);
	tcase_add_test(tc, typing_over_the_edge_really_wraps);
	tcase_add_test(tc, scrolled_lines_enter_the_terminals_history);
	tcase_add_test(tc,
	    a_flood_in_one_frame_is_marked_where_lines_are_left_out);
	tcase_add_test(tc, attaching_keeps_what_the_user_had);
	tcase_add_test(tc,
	    attaching_puts_as_much_history_as_asked_for_above);
	tcase_add_test(tc,
	    a_history_too_long_for_a_frame_misses_its_beginning);
	tcase_add_test(tc, a_new_server_goes_on_where_the_terminal_stands);
	tcase_add_test(tc, the_alternate_screen_leaves_no_trace);
	tcase_add_test(tc,
	    attaching_to_an_alternate_screen_spares_the_main_one);
	tcase_add_test(tc, a_notice_comes_and_goes);
	tcase_add_test(tc, an_overlay_comes_and_goes);
	tcase_add_test(tc, leaving_undoes_every_mode);
	tcase_add_test(tc,
	    leaving_takes_the_edge_of_a_smaller_screen_away);
	tcase_add_test(tc, undoing_needs_the_modes_only);
	tcase_add_test(tc, kitty_flags_are_pushed_once_and_popped);
	tcase_add_test(tc, key_protocols_follow_the_screen);
	tcase_add_test(tc, the_cursors_colour_is_set_and_undone);
	tcase_add_test(tc, bell_and_clipboard_pass_once);
	tcase_add_test(tc, notes_pass_once_and_clean);
	tcase_add_test(tc, reports_are_on_for_us_and_undone);
	tcase_add_test(tc, colours_come_down_to_what_the_terminal_has);
	tcase_add_test(tc, a_scrolled_pager_costs_one_line);
	tcase_add_test(tc, a_frame_that_does_not_fit_is_repainted_later);
	tcase_add_test(tc, random_streams_equal_sizes);
	tcase_add_test(tc, random_streams_other_terminals);
	tcase_add_test(tc, random_streams_smaller_terminal);
	tcase_add_test(tc, random_streams_larger_terminal);
	suite_add_tcase(s, tc);
	return suite_run(s);
}
