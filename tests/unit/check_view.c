/* SPDX-License-Identifier: ISC */
/* Views, frame by frame, as an independent terminal shows them. */
#include "view-world.h"

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
	tcase_add_test(tc, attaching_puts_as_much_history_as_asked_for_above);
	tcase_add_test(tc, a_history_too_long_for_a_frame_misses_its_beginning);
	tcase_add_test(tc, a_new_server_goes_on_where_the_terminal_stands);
	tcase_add_test(tc, the_alternate_screen_leaves_no_trace);
	tcase_add_test(tc,
	    attaching_to_an_alternate_screen_spares_the_main_one);
	tcase_add_test(tc, a_notice_comes_and_goes);
	tcase_add_test(tc, an_overlay_comes_and_goes);
	tcase_add_test(tc, leaving_undoes_every_mode);
	tcase_add_test(tc, leaving_takes_the_edge_of_a_smaller_screen_away);
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
	suite_add_tcase(s, tc);
	return suite_run(s);
}
