/* SPDX-License-Identifier: ISC */
/* Views of random streams; a failure names its seed. */
#include "view-world.h"

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
	Suite *s = suite_create("view-random");
	TCase *tc = tcase_create("view-random");

	tcase_set_timeout(tc, 120);
	tcase_add_test(tc, random_streams_equal_sizes);
	tcase_add_test(tc, random_streams_other_terminals);
	tcase_add_test(tc, random_streams_smaller_terminal);
	tcase_add_test(tc, random_streams_larger_terminal);
	suite_add_tcase(s, tc);
	return suite_run(s);
}
