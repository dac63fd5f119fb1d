/* SPDX-License-Identifier: ISC */
/* What old programs use: character sets, and rows of double width. */
#include "screen-told.h"

/* What xterm 379 makes of them, but for the British set at level 4, which it
 * takes for Latin-1. */
START_TEST(character_sets_are_xterms)
{
	static const struct {
		const char *in, *want;
	} sets[] = {
		{ "\033(0ax\033(1a", "\342\226\222\342\224\202a" },
		{ "\033(A#a\033(B#", "\302\243a#" },
		{ "\033(<!(W$", "\302\241\302\244\305\222\342\270\256" },
		{ "\033(%5]a", "\305\270\303\241" },
		{ "\033(>aDV", "\316\261\316\224\342\210\232" },
		/* National ones only when they are asked for. */
		{ "\033(0\033(K[", "[" },
		{ "\033[?42h\033(K[\033[?42l[", "\303\204\303\204" },
		{ "\033[?42h\033(4[\033(C\\\033(f~\033(9[\033(Y`\033(6@",
		    "\304\263\303\226\302\250\303\242\303\271\303\204" },
		{ "\033[?42h\033(%6[\033(Z]\033(7@\033(=_\033(B[",
		    "\303\203\302\277\303\211\303\250[" },
		/* Unknown ones change nothing. */
		{ "\033(0\033(xa\033(%xa\033(&5a\033(\"4a",
		    "\342\226\222\342\226\222\342\226\222\342\226\222" },
		{ "\033)0\033-F\016a\017a", "\342\226\222a" },
		/* Of 96 characters: in G1 to G3, space and DEL included. */
		{ "\033-A\016a\017a\033.A\033Naa\033/A\033o\177",
		    "\303\241a\303\241a\303\277" },
		{ "\033,A\177a", "a" },
		{ "\033[?42h\033-A\016a#", "a\302\243" },
		/* Text in UTF-8 stays what it is. */
		{ "\033[?42h\033(K\303\251\344\270\200", "\303\251\344\270\200" },
		{ "\033(>\0337d\033(B\0338d\033[!pd", "\316\264d" }
	};
	struct screen *t;
	struct buf b;
	size_t i;

	for (i = 0; i < sizeof sets / sizeof sets[0]; i++) {
		open_screen(2, 20);
		put(sets[i].in);
		buf_init(&b, 65536);
		screen_row_text(s, 0, false, &b, NULL);
		buf_u8(&b, 0);
		ck_assert_msg(strcmp((char *)b.data, sets[i].want) == 0,
		    "%zu: %s, not %s", i, (char *)b.data, sets[i].want);
		buf_reset(&b);
		screen_checkpoint(s, CHECKPOINT_LIGHT, &b);
		t = screen_new(5, 5, NULL, NULL);
		ck_assert_int_eq(screen_restore(t, b.data, b.len), 0);
		ck_assert(screen_equal(s, t, true, NULL));
		/* An older reader is spared what it knows nothing of. */
		ck_assert_int_eq(b.data[5], i < 2 || i == 9 ? 1 : b.data[5]);
		screen_free(t);
		buf_free(&b);
		screen_free(s);
	}
	open_screen(2, 20);
	put("\033[?42h\033[!p\033[?42$p\033[?42l\033[?42$p");
	ck_assert_ptr_nonnull(strstr(told, ":\033[?42;1$y|"));
	ck_assert_ptr_nonnull(strstr(told, ":\033[?42;2$y|"));
}
END_TEST

static void
row_is(int y, const char *want)
{
	struct buf b;

	buf_init(&b, 65536);
	screen_row_text(s, y, false, &b, NULL);
	buf_u8(&b, 0);
	ck_assert_str_eq((char *)b.data, want);
	buf_free(&b);
}

/* Each character takes two cells: a program counts half as many columns. */
START_TEST(rows_of_double_width)
{
	struct screen *t;
	struct buf b;
	int col;

	open_screen(5, 11);
	put("abcdefgh\033#6\033[6n");
	row_is(0, "a b c d e");
	ck_assert_ptr_nonnull(strstr(told, "\033[1;5R"));
	put("\033[1;4HX\344\270\200");
	/* A wide one takes four, and goes to the next row, which is single. */
	row_is(0, "a b c X e");
	row_is(1, "\344\270\200");
	put("\033[1;2H\033[2P");
	row_is(0, "a X e");
	put("\033[@\033[6n");
	row_is(0, "a   X e");
	ck_assert_ptr_nonnull(strstr(told, "\033[1;2R"));
	put("\033[5G\033[X\033[99G\033[6n");
	ck_assert_ptr_nonnull(strstr(told, "\033[1;5R"));
	put("e\314\201\bo\r\344\270\200z");
	row_is(0, "\344\270\200  z o e\314\201");
	screen_cursor(s, NULL, &col, NULL);
	ck_assert_int_eq(col, 6);
	/* Down and up again in columns; what is erased in it keeps its size. */
	put("\033[B\033[6n\033[A\033[2K\033[1Gab");
	ck_assert_ptr_nonnull(strstr(told, "\033[2;4R"));
	row_is(0, "a b");
	buf_init(&b, 65536);
	screen_checkpoint(s, CHECKPOINT_LIGHT, &b);
	ck_assert_int_eq(b.data[5], 2);
	t = screen_new(2, 2, NULL, NULL);
	ck_assert_int_eq(screen_restore(t, b.data, b.len), 0);
	ck_assert(screen_equal(s, t, true, NULL));
	screen_write(t, "c", 1);
	put("c");
	ck_assert(screen_equal(s, t, true, NULL));
	row_is(0, "a b c");
	buf_free(&b);
	screen_free(t);
	/* It moves with the text, and is gone with it. */
	put("\033[1;1H\033M\033[1;9Hx\033[2;9Hy");
	row_is(0, "        x");
	row_is(1, "a b c   y");
	put("\033[2;1H\033#5");
	row_is(1, "abc y");
	put("\033#3\033[2Jabcdef\033#4\033cabcdef");
	row_is(0, "abcdef");
	put("\033#6");
	row_is(0, "a b c d e");
	screen_resize(s, 5, 12);
	put("\033[1;12Hz");
	row_is(0, "a b c d e  z");
	/* One text over rows of both sizes. */
	put("\033c\033[2H\033#6\033[Habcdefghijklmnopqrst");
	row_is(0, "abcdefghijkl");
	row_is(1, "m n o p q r");
	row_is(2, "st");
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("charset");
	TCase *tc = tcase_create("charset");

	tcase_add_checked_fixture(tc, NULL, teardown);
	tcase_add_test(tc, character_sets_are_xterms);
	tcase_add_test(tc, rows_of_double_width);
	suite_add_tcase(suite, tc);
	return suite_run(suite);
}
