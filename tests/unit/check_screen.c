/* SPDX-License-Identifier: ISC */
/*
 * Screens: what the corpus does not ask. What kills libvterm, marks, history
 * and reflow, strings, limits.
 */
#include "../../server/base/mem.h"
#include "screen-told.h"

/* --- what libvterm does not survive ------------------------------------ */

START_TEST(a_csi_with_hundreds_of_arguments_is_harmless)
{
	int i;

	open_screen(24, 80);
	put("\033[");
	for (i = 0; i < 400; i++)
		put(i & 1 ? "1;" : "1:");
	put("mx\033[");
	for (i = 0; i < 400; i++)
		put("1;");
	put("L\033[38;2;1;2;3;48:2::4:5:6;58:2::7:8:9;4:3;1;3;9my");
	ck_assert_str_eq(line(1), "x");
	ck_assert_str_eq(line(0), "y");
	ck_assert_uint_eq(pen_at(0, 0)->fg, COLOUR_RGB(1, 2, 3));
	ck_assert_uint_eq(pen_at(0, 0)->bg, COLOUR_RGB(4, 5, 6));
	ck_assert_uint_eq(pen_at(0, 0)->ul, COLOUR_RGB(7, 8, 9));
}
END_TEST

START_TEST(three_megabytes_of_text_in_one_write_are_only_text)
{
	size_t n = 3 << 20;
	char *text = xmalloc(n);

	memset(text, 'x', n);
	text[n - 1] = 'y';
	open_screen(24, 80);
	screen_write(s, text, n);
	ck_assert(screen_offset(s) == n);
	ck_assert_uint_eq(screen_lines(s), n / 80 + 1 - 24);
	ck_assert_int_eq(line(23)[(n - 1) % 80], 'y');
	free(text);
}
END_TEST

START_TEST(a_wide_character_on_the_narrowest_screen_is_shown)
{
	open_screen(1, 1);
	ck_assert_int_eq(screen_cols(s), 2);
	put("a\344\275\240b");
	ck_assert_str_eq(line(0), "b");
	ck_assert_str_eq(line(-1), "\344\275\240");
	screen_resize(s, 1000, 1000);
	put("\344\275\240");
	screen_resize(s, 0, 0);
	put("\344\275\240");
	ck_assert_int_eq(screen_rows(s), 1);
	ck_assert_int_eq(screen_cols(s), 2);
	screen_resize(s, 100000, -5);
	ck_assert_int_eq(screen_rows(s), 1000);
}
END_TEST

START_TEST(huge_numbers_are_capped)
{
	open_screen(4, 10);
	put("z\033[2147483647b");
	/* 65536 of them, as in xterm, whose numbers end there. */
	ck_assert_str_eq(line(2), "zzzzzzzzzz");
	ck_assert_str_eq(line(3), "zzzzzz");
	put("\033[99999999999999999999;99999999999999999999H!");
	at(3, 9);
	put("\033[18446744073709551616A\033[4294967297G");
	at(0, 9);
	put("\033[1;1H\033[99999999L\033[99999999M\033[99999999@"
	    "\033[99999999P\033[99999999S\033[99999999T\033[99999999X"
	    "\033[99999999I\033[99999999Z\033[99999999;99999999r");
	ck_assert_str_eq(line(3), "");
}
END_TEST

START_TEST(endless_strings_are_swallowed_whole)
{
	size_t n = 5 << 20;
	char *text = xmalloc(n);
	static const char *const open[] = {
		"\033P", "\033_", "\033^", "\033X", "\033]52;c;", "\033]0;"
	};
	size_t i;

	memset(text, 'A', n);
	open_screen(24, 80);
	for (i = 0; i < sizeof open / sizeof *open; i++) {
		put(open[i]);
		screen_write(s, text, n);
		put("\033\\");
	}
	put("ok");
	ck_assert_str_eq(line(0), "ok");
	ck_assert_str_eq(told, "");
	ck_assert_uint_le(strlen(screen_title(s)), 1024);
	free(text);
}
END_TEST

/* --- text -------------------------------------------------------------- */

START_TEST(marks_join_their_letter_even_across_writes)
{
	open_screen(2, 10);
	put("e");
	put("\314");
	put("\201");
	put("\314\202x");
	ck_assert_str_eq(line(0), "e\314\201\314\202x");
	at(0, 2);
	put("\033[1;10Ho\314\210");
	ck_assert_str_eq(line(0), "e\314\201\314\202x       o\314\210");
	put("!");
	at(1, 1);
	put("\r\314\201");
	ck_assert_str_eq(line(1), "!");
}
END_TEST

START_TEST(the_marks_on_one_letter_are_limited)
{
	int i;

	open_screen(2, 10);
	put("e");
	for (i = 0; i < 100000; i++)
		put("\314\201");
	ck_assert_uint_lt(strlen(line(0)), GRID_TEXT_MAX);
	at(0, 1);
}
END_TEST

START_TEST(half_a_wide_character_is_none)
{
	open_screen(2, 10);
	put("\344\275\240\345\245\275\033[1;2Hx");
	ck_assert_str_eq(line(0), " x\345\245\275");
	put("\033[1;3Hy");
	ck_assert_str_eq(line(0), " xy");
	put("\033[2;1H\344\275\240\345\245\275\033[2;2H\033[2X");
	ck_assert_str_eq(line(1), "");
}
END_TEST

START_TEST(invalid_utf8_is_one_replacement_each)
{
	open_screen(2, 30);
	put("\300\200|\355\240\200|\364\220\200\200|\377|\200|\342\202|");
	ck_assert_str_eq(line(0), "\357\277\275|\357\277\275|\357\277\275|"
	    "\357\277\275|\357\277\275|\357\277\275|");
}
END_TEST

START_TEST(a_wrapped_line_says_so_and_an_ended_one_does_not)
{
	open_screen(4, 10);
	put("0123456789abc\r\n\344\275\240\r\n");
	ck_assert(screen_row(s, 0)->wrapped);
	ck_assert(!screen_row(s, 1)->wrapped);
	put("\033[1;10H\033[K");
	ck_assert(!screen_row(s, 0)->wrapped);
	put("\033[3;10H\344\275\240");
	ck_assert(screen_row(s, 2)->wrapped);
	ck_assert_str_eq(line(3), "\344\275\240");
}
END_TEST

START_TEST(erased_cells_take_only_the_background)
{
	open_screen(2, 10);
	put("\033[1;4;7;31;44mx\033[K");
	ck_assert_uint_eq(pen_at(0, 5)->bg, COLOUR_INDEX(4));
	ck_assert_uint_eq(pen_at(0, 5)->fg, COLOUR_DEFAULT);
	ck_assert_uint_eq(pen_at(0, 5)->flags, 0);
	ck_assert_uint_eq(pen_at(0, 5)->underline, 0);
	ck_assert_uint_eq(screen_row(s, 0)->cells[5].ch, 0);
}
END_TEST

START_TEST(every_attribute_arrives)
{
	const struct pen *pen;

	open_screen(2, 20);
	put("\033[1;2;3;5;7;8;9;53;4:3;58:2::1:2:3;38;5;200;48:2:4:5:6mx");
	pen = pen_at(0, 0);
	ck_assert_uint_eq(pen->flags, PEN_BOLD | PEN_FAINT | PEN_ITALIC |
	    PEN_BLINK | PEN_REVERSE | PEN_CONCEAL | PEN_STRIKE |
	    PEN_OVERLINE);
	ck_assert_uint_eq(pen->underline, UNDERLINE_CURLY);
	ck_assert_uint_eq(pen->fg, COLOUR_INDEX(200));
	ck_assert_uint_eq(pen->bg, COLOUR_RGB(4, 5, 6));
	ck_assert_uint_eq(pen->ul, COLOUR_RGB(1, 2, 3));
	put("\033[22;23;24;25;27;28;29;39;49;55;59my");
	ck_assert_uint_eq(screen_row(s, 0)->cells[1].pen, 0);
	put("\033[91;102;4:5mz\033[21ma\033[4:0mb");
	ck_assert_uint_eq(pen_at(0, 2)->fg, COLOUR_INDEX(9));
	ck_assert_uint_eq(pen_at(0, 2)->bg, COLOUR_INDEX(10));
	ck_assert_uint_eq(pen_at(0, 2)->underline, UNDERLINE_DASHED);
	ck_assert_uint_eq(pen_at(0, 3)->underline, UNDERLINE_DOUBLE);
	ck_assert_uint_eq(pen_at(0, 4)->underline, UNDERLINE_NONE);
}
END_TEST

START_TEST(more_colours_than_pens_still_show)
{
	char text[64];
	int i;

	open_screen(24, 80);
	for (i = 0; i < 200000; i++) {
		snprintf(text, sizeof text, "\033[38;2;%d;%d;%dmx", i >> 16,
		    i >> 8 & 255, i & 255);
		put(text);
	}
	i--;
	ck_assert_uint_eq(pen_at(23, (200000 - 1) % 80)->fg,
	    COLOUR_RGB(i >> 16, i >> 8 & 255, i & 255));
}
END_TEST

START_TEST(more_clusters_and_links_than_fit_are_survived)
{
	char text[128];
	int i;

	open_screen(10, 40);
	for (i = 0; i < 100000; i++) {
		snprintf(text, sizeof text, "\033]8;;http://x/%d\a%c%c%c%c"
		    "\033]8;;\a", i, 'a' + i % 26, 0xcc, 0x80 + i / 26 % 64,
		    '-');
		put(text);
	}
	ck_assert_ptr_nonnull(grid_link(screen_grid(s),
	    pen_at(9, 0)->link, NULL));
}
END_TEST

/* --- history ----------------------------------------------------------- */

START_TEST(lines_that_leave_the_top_are_kept_and_counted)
{
	open_screen(3, 10);
	put("1\r\n2\r\n3\r\n4\r\n5");
	ck_assert_uint_eq(screen_lines(s), 2);
	ck_assert_int_eq(screen_history(s), 2);
	ck_assert_str_eq(line(-1), "2");
	ck_assert_str_eq(line(-2), "1");
	put("\033[S");
	ck_assert_uint_eq(screen_lines(s), 3);
	ck_assert_str_eq(line(-1), "3");
	/* Not these. */
	put("\033[1;1H\033[M\033[2J\033[J\033[L\033[T\033M");
	ck_assert_uint_eq(screen_lines(s), 3);
	/* A region from the top counts, another does not. */
	put("\033[1;2r\033[2;1H\n\033[2;3r\033[3;1H\n\n\033[r");
	ck_assert_uint_eq(screen_lines(s), 4);
	/* Nor does the alternate screen. */
	put("\033[?1049h\r\n\n\n\n\n\n\033[?1049l");
	ck_assert_uint_eq(screen_lines(s), 4);
}
END_TEST

START_TEST(history_is_limited_in_lines_and_in_bytes)
{
	struct screen_limits limits = { 100, 1 << 20 };
	int i;

	s = screen_new(5, 20, &limits, NULL);
	for (i = 0; i < 1000; i++)
		put("line\r\n");
	ck_assert_int_eq(screen_history(s), 100);
	screen_free(s);
	limits.history_lines = 100000;
	limits.history_bytes = 10000;
	s = screen_new(5, 20, &limits, NULL);
	for (i = 0; i < 1000; i++)
		put("line\r\n");
	ck_assert_int_lt(screen_history(s), 200);
	ck_assert_int_gt(screen_history(s), 50);
	ck_assert_uint_eq(screen_lines(s), 996);
	screen_free(s);
	limits.history_lines = 0;
	s = screen_new(5, 20, &limits, NULL);
	put("a\r\nb\r\nc\r\nd\r\ne\r\nf\r\n");
	ck_assert_int_eq(screen_history(s), 0);
	screen_resize(s, 3, 7);
	screen_resize(s, 9, 30);
	ck_assert_int_eq(screen_history(s), 0);
}
END_TEST

START_TEST(erasing_the_history_changes_the_epoch)
{
	uint32_t epoch;

	open_screen(2, 10);
	put("1\r\n2\r\n3\r\n");
	epoch = screen_epoch(s);
	put("\033[3J");
	ck_assert_int_eq(screen_history(s), 0);
	ck_assert(screen_epoch(s) != epoch);
	ck_assert_str_eq(line(0), "3");
}
END_TEST

/* --- resize ------------------------------------------------------------ */

START_TEST(narrowing_and_widening_again_gives_the_same_back)
{
	int cols;

	open_screen(6, 20);
	put("a long line that wraps over three rows of it\r\n"
	    "\344\275\240\345\245\275 wide\r\n$ ");
	at(4, 2);
	for (cols = 19; cols >= 2; cols--)
		screen_resize(s, 6, cols);
	screen_resize(s, 6, 20);
	at(4, 2);
	ck_assert_str_eq(line(0), "a long line that wra");
	ck_assert_str_eq(line(1), "ps over three rows o");
	ck_assert_str_eq(line(2), "f it");
	ck_assert_str_eq(line(3), "\344\275\240\345\245\275 wide");
	ck_assert_str_eq(line(4), "$");
	ck_assert_int_eq(screen_history(s), 0);
}
END_TEST

START_TEST(the_cursor_stays_on_its_character)
{
	int cols, row, col;
	const struct row *r;

	open_screen(10, 30);
	put("first\r\nabcdefghijklmnopqrstuvwxyzX0123456789abcdef\r\n"
	    "\033[2;27H");
	for (cols = 29; cols > 3; cols -= 5) {
		screen_resize(s, 10, cols);
		screen_cursor(s, &row, &col, NULL);
		r = screen_row(s, row);
		ck_assert_int_lt(col, r->used);
		ck_assert_uint_eq(r->cells[col].ch, 'X');
	}
	for (; cols < 60; cols += 7) {
		screen_resize(s, 10, cols);
		screen_cursor(s, &row, &col, NULL);
		ck_assert_uint_eq(screen_row(s, row)->cells[col].ch, 'X');
	}
}
END_TEST

START_TEST(height_pushes_to_history_and_pulls_back)
{
	uint64_t lines;

	open_screen(4, 10);
	put("1\r\n2\r\n3\r\n4");
	screen_resize(s, 2, 10);
	at(1, 1);
	ck_assert_str_eq(line(0), "3");
	ck_assert_str_eq(line(-1), "2");
	lines = screen_lines(s);
	ck_assert_uint_eq(lines, 2);
	screen_resize(s, 4, 10);
	at(3, 1);
	ck_assert_str_eq(line(0), "1");
	ck_assert_int_eq(screen_history(s), 0);
	/* Blank rows under the cursor go first. */
	put("\033[2J\033[Hprompt");
	screen_resize(s, 2, 10);
	ck_assert_str_eq(line(0), "prompt");
	ck_assert_int_eq(screen_history(s), 0);
}
END_TEST

START_TEST(the_alternate_screen_is_cut_and_the_main_one_flows)
{
	open_screen(4, 10);
	put("0123456789abc\r\n$ \033[?1049h\033[HALTERNATE\033[4;10Hz");
	screen_resize(s, 3, 5);
	ck_assert_str_eq(line(0), "ALTER");
	at(2, 4);
	put("\033[?1049l");
	ck_assert_str_eq(line(0), "56789");
	ck_assert_str_eq(line(1), "abc");
	ck_assert_str_eq(line(2), "$");
	at(2, 2);
	ck_assert_str_eq(line(-1), "01234");
	screen_resize(s, 4, 10);
	ck_assert_str_eq(line(0), "0123456789");
}
END_TEST

START_TEST(resizing_at_random_never_loses_text_under_the_limit)
{
	unsigned seed = 42, i;
	char text[64];
	struct buf b;
	int y;

	open_screen(10, 20);
	for (i = 0; i < 50; i++) {
		snprintf(text, sizeof text, "<%u%.*s>\r\n", i, i % 40,
		    "0123456789012345678901234567890123456789");
		put(text);
	}
	for (i = 0; i < 200; i++) {
		seed = seed * 1103515245 + 12345;
		screen_resize(s, 1 + (seed >> 16) % 40, 2 + (seed >> 8) % 90);
	}
	buf_init(&b, 1 << 20);
	for (y = -screen_history(s); y < screen_rows(s); y++) {
		screen_row_text(s, y, false, &b, NULL);
		if (!screen_row(s, y)->wrapped)
			buf_puts(&b, "\n");
	}
	buf_u8(&b, 0);
	for (i = 0; i < 50; i++) {
		snprintf(text, sizeof text, "<%u%.*s>\n", i, i % 40,
		    "0123456789012345678901234567890123456789");
		ck_assert_msg(strstr((char *)b.data, text) != NULL,
		    "line %u is gone", i);
	}
	buf_free(&b);
}
END_TEST

/* --- strings and modes ------------------------------------------------- */

START_TEST(titles_and_directories_are_clean_text)
{
	open_screen(24, 80);
	put("\033]0;a\001b\303\251\302\233c\377d\a");
	ck_assert_str_eq(screen_title(s), "ab\303\251cd");
	put("\033[22;0t\033]2;other\033\\");
	ck_assert_str_eq(screen_title(s), "other");
	put("\033[23;0t\033[23t");
	ck_assert_str_eq(screen_title(s), "ab\303\251cd");
	put("\033]1;icon\a\033]7;file://host/dir\a");
	ck_assert_str_eq(screen_title(s), "ab\303\251cd");
	ck_assert_str_eq(screen_cwd(s), "file://host/dir");
}
END_TEST

START_TEST(links_have_their_address_and_id)
{
	const char *id, *uri;

	open_screen(24, 80);
	put("\033]8;x=1:id=me;http://a/\303\251 b\033\\L\033[mM"
	    "\033]8;;\033\\N");
	uri = grid_link(screen_grid(s), pen_at(0, 0)->link, &id);
	ck_assert_str_eq(uri, "http://a/%C3%A9%20b");
	ck_assert_str_eq(id, "me");
	ck_assert_uint_ne(pen_at(0, 1)->link, 0);
	ck_assert_uint_eq(pen_at(0, 2)->link, 0);
}
END_TEST

START_TEST(the_user_is_told_of_bells_copies_and_notes)
{
	open_screen(24, 80);
	put("\a\033]52;c;aGVsbG8=\a\033]52;;aGk=\033\\\033]52;c;not base\a"
	    "\033]9;done\a\033]9;4;1;50\a\033]777;notify;t;b\a");
	ck_assert_str_eq(told, "bell|clip c 8 aGVsbG8=|clip c 4 aGk=|"
	    "note ,done|note t,b|");
	*told = '\0';
	screen_mute(s, true);
	put("\a\033]52;c;aGVsbG8=\a\033]9;x\a\033[5n");
	ck_assert_ptr_null(strstr(told, "bell"));
	ck_assert_ptr_null(strstr(told, "clip"));
	ck_assert_ptr_null(strstr(told, "note"));
	ck_assert_ptr_nonnull(strstr(told, "\033[0n"));
}
END_TEST

START_TEST(modes_are_seen_also_several_at_once)
{
	const struct screen_modes *m;

	open_screen(24, 80);
	m = screen_modes(s);
	put("\033[?1006;1002;2004;1004h\033[?1h\033=");
	ck_assert_uint_eq(m->flags, MODE_MOUSE_SGR | MODE_MOUSE_DRAG |
	    MODE_PASTE | MODE_FOCUS | MODE_APP_CURSOR | MODE_APP_KEYPAD);
	put("\033[?1003h");
	ck_assert(!(m->flags & MODE_MOUSE_DRAG));
	put("\033[?1000l");
	ck_assert(!(m->flags & MODE_MOUSE_ANY));
	put("\033[?25l\033[3 q\033[>1u\033[?1049h\033[>4;2m");
	ck_assert_uint_eq(m->kitty_flags, 0);
	put("\033[>15u");
	ck_assert_uint_eq(m->kitty_flags, 15);
	ck_assert_uint_eq(m->cursor_shape, 3);
	ck_assert_uint_eq(m->modify_other, 2);
	ck_assert(m->flags & MODE_ALT_SCREEN);
	ck_assert(m->flags & MODE_CURSOR_HIDDEN);
	put("\033[?1049l");
	ck_assert_uint_eq(m->kitty_flags, 1);
	put("\033[<9u\033[!p");
	ck_assert_uint_eq(m->kitty_flags, 0);
	ck_assert(!(m->flags & MODE_CURSOR_HIDDEN));
	put("\033c");
	ck_assert_uint_eq(m->flags, 0);
}
END_TEST

START_TEST(prompt_marks_stay_with_their_row)
{
	open_screen(3, 20);
	put("\033]133;A;k=1\a$ ls\r\n\033]133;C\aout\r\n\n\n");
	ck_assert_int_eq(screen_row(s, -2)->prompt, 'A');
	ck_assert_int_eq(screen_row(s, -1)->prompt, 'C');
	ck_assert_int_eq(screen_row(s, 0)->prompt, 0);
}
END_TEST

START_TEST(palette_entries_come_and_go)
{
	uint32_t rgb;

	open_screen(3, 20);
	ck_assert(!screen_palette(s, 7, &rgb));
	put("\033]4;7;rgb:ff/80/00;8;#123\a\033]12;#abcdef\a");
	ck_assert(screen_palette(s, 7, &rgb));
	ck_assert_uint_eq(rgb, 0xff8000);
	ck_assert(screen_palette(s, 8, &rgb));
	ck_assert_uint_eq(rgb, 0x102030);
	ck_assert(screen_palette(s, 258, &rgb));
	put("\033]104;7\a\033]112\a");
	ck_assert(!screen_palette(s, 7, &rgb));
	ck_assert(screen_palette(s, 8, &rgb));
	ck_assert(!screen_palette(s, 258, &rgb));
}
END_TEST

/* --- for views --------------------------------------------------------- */

START_TEST(marks_tell_what_came_after_them)
{
	uint8_t mark[70];
	char text[8];
	int i, k;

	open_screen(2, 1000);
	put("old");
	for (i = 0; i < 300; i++) {
		mark[i % 64] = screen_mark(s);
		snprintf(text, sizeof text, "%c", 'a' + i % 26);
		put(text);
		if (i < 64)
			continue;
		/* The last 64 marks: each sees exactly what came after. */
		for (k = i - 63; k <= i; k++) {
			const struct cell *c = screen_row(s, 0)->cells;

			ck_assert(!screen_since(s, &c[0], mark[k % 64]));
			ck_assert(!screen_since(s, &c[3 + k - 1],
			    mark[k % 64]));
			ck_assert(screen_since(s, &c[3 + k], mark[k % 64]));
			ck_assert(screen_since(s, &c[3 + i], mark[k % 64]));
		}
	}
}
END_TEST

START_TEST(serials_change_with_what_they_stand_for)
{
	uint32_t row0, row1;
	uint64_t whole;

	open_screen(3, 20);
	put("one\r\ntwo");
	row0 = screen_row(s, 0)->serial;
	row1 = screen_row(s, 1)->serial;
	whole = screen_serial(s);
	put("!");
	ck_assert_uint_eq(screen_row(s, 0)->serial, row0);
	ck_assert_uint_ne(screen_row(s, 1)->serial, row1);
	ck_assert(screen_serial(s) > whole);
	whole = screen_serial(s);
	put("\033[m\033P\033\\");
	ck_assert(screen_serial(s) == whole);
	put("\033[?1h");
	ck_assert(screen_serial(s) > whole);
	/* A row that scrolls keeps its own. */
	row0 = screen_row(s, 1)->serial;
	put("\r\nx\r\ny");
	ck_assert_uint_eq(screen_row(s, 0)->serial, row0);
}
END_TEST

START_TEST(row_text_maps_bytes_to_columns)
{
	uint16_t *col;
	struct buf b;

	open_screen(2, 20);
	put("a\344\275\240e\314\201 \033[31mr\033[44m ");
	buf_init(&b, 1000);
	screen_row_text(s, 0, false, &b, &col);
	ck_assert_uint_eq(b.len, 9);
	ck_assert_mem_eq(b.data, "a\344\275\240e\314\201 r", 9);
	ck_assert_uint_eq(col[0], 0);
	ck_assert_uint_eq(col[1], 1);
	ck_assert_uint_eq(col[3], 1);
	ck_assert_uint_eq(col[4], 3);
	ck_assert_uint_eq(col[6], 3);
	ck_assert_uint_eq(col[8], 5);
	free(col);
	buf_free(&b);
	ck_assert_str_eq(line_esc(0, true), "a\344\275\240e\314\201 "
	    "\033[0;31mr\033[0;31;44m \033[0m");
}
END_TEST

START_TEST(cuts_between_writes_change_nothing)
{
	static const char text[] = "\033]0;t\a\033[1;31mr\344\275\240\033[0m\r"
	    "\n\033[2;5Hx\033[?1049h\033[c\033[?1049l\033Pq\033\\e\314\201"
	    "\033[38;2;1;2;3my\033(0q\033(B\033[3b";
	struct screen *one, *two;
	struct buf why;
	size_t n = sizeof text - 1, i;

	s = one = screen_new(5, 20, NULL, NULL);
	screen_write(one, text, n);
	two = screen_new(5, 20, NULL, NULL);
	for (i = 0; i < n; i++)
		screen_write(two, text + i, 1);
	buf_init(&why, 100);
	ck_assert_msg(screen_equal(one, two, true, &why), "%.*s",
	    (int)why.len, why.data ? (char *)why.data : "");
	buf_free(&why);
	screen_free(two);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("screen");
	TCase *tc = tcase_create("screen");

	tcase_set_timeout(tc, 60);
	tcase_add_checked_fixture(tc, NULL, teardown);
	tcase_add_test(tc, a_csi_with_hundreds_of_arguments_is_harmless);
	tcase_add_test(tc,
	    three_megabytes_of_text_in_one_write_are_only_text);
	tcase_add_test(tc, a_wide_character_on_the_narrowest_screen_is_shown);
	tcase_add_test(tc, huge_numbers_are_capped);
	tcase_add_test(tc, endless_strings_are_swallowed_whole);
	tcase_add_test(tc, marks_join_their_letter_even_across_writes);
	tcase_add_test(tc, the_marks_on_one_letter_are_limited);
	tcase_add_test(tc, half_a_wide_character_is_none);
	tcase_add_test(tc, invalid_utf8_is_one_replacement_each);
	tcase_add_test(tc, a_wrapped_line_says_so_and_an_ended_one_does_not);
	tcase_add_test(tc, erased_cells_take_only_the_background);
	tcase_add_test(tc, every_attribute_arrives);
	tcase_add_test(tc, more_colours_than_pens_still_show);
	tcase_add_test(tc, more_clusters_and_links_than_fit_are_survived);
	tcase_add_test(tc, lines_that_leave_the_top_are_kept_and_counted);
	tcase_add_test(tc, history_is_limited_in_lines_and_in_bytes);
	tcase_add_test(tc, erasing_the_history_changes_the_epoch);
	tcase_add_test(tc, narrowing_and_widening_again_gives_the_same_back);
	tcase_add_test(tc, the_cursor_stays_on_its_character);
	tcase_add_test(tc, height_pushes_to_history_and_pulls_back);
	tcase_add_test(tc, the_alternate_screen_is_cut_and_the_main_one_flows);
	tcase_add_test(tc,
	    resizing_at_random_never_loses_text_under_the_limit);
	tcase_add_test(tc, titles_and_directories_are_clean_text);
	tcase_add_test(tc, links_have_their_address_and_id);
	tcase_add_test(tc, the_user_is_told_of_bells_copies_and_notes);
	tcase_add_test(tc, modes_are_seen_also_several_at_once);
	tcase_add_test(tc, prompt_marks_stay_with_their_row);
	tcase_add_test(tc, palette_entries_come_and_go);
	tcase_add_test(tc, marks_tell_what_came_after_them);
	tcase_add_test(tc, serials_change_with_what_they_stand_for);
	tcase_add_test(tc, row_text_maps_bytes_to_columns);
	tcase_add_test(tc, cuts_between_writes_change_nothing);
	suite_add_tcase(suite, tc);
	return suite_run(suite);
}
