/* SPDX-License-Identifier: ISC */
/* What a screen answers to the questions of programs. */
#include "screen-told.h"

START_TEST(questions_are_answered_in_order_with_their_offsets)
{
	open_screen(24, 80);
	put("ab\033[c\033[5n");
	put("\033[2;3H\033[6");
	ck_assert_str_eq(told, "5:\033[?62;22c|9:\033[0n|");
	put("n");
	ck_assert_str_eq(strrchr(told, ':'), ":\033[2;3R|");
	ck_assert_ptr_nonnull(strstr(told, "|19:"));
}
END_TEST

static void
ask(const char *question, const char *want)
{
	*told = '\0';
	put(question);
	if (*want == '\0')
		ck_assert_str_eq(told, "");
	else {
		ck_assert_ptr_nonnull(strchr(told, ':'));
		ck_assert_str_eq(strchr(told, ':') + 1, want);
	}
}

START_TEST(every_question_has_its_answer)
{
	open_screen(24, 80);
	ask("\033[0c", "\033[?62;22c|");
	ask("\033[=c", "\033P!|00000000\033\\|");
	ask("\033[?6n", "\033[?1;1;1R|");
	ask("\033[?2004$p", "\033[?2004;2$y|");
	ask("\033[?2004h\033[?2004$p", "\033[?2004;1$y|");
	ask("\033[?31337$p", "\033[?31337;0$y|");
	ask("\033[4h\033[4$p", "\033[4;1$y|");
	ask("\033[?25$p", "\033[?25;1$y|");
	ask("\033[?2026h\033[?2026$p", "\033[?2026;1$y|");
	ask("\033[18t", "\033[8;24;80t|");
	ask("\033[14t", "");
	ask("\033[21t", "");
	ask("\033]10;?\033\\", "\033]10;rgb:e5e5/e5e5/e5e5\033\\|");
	ask("\033]11;?\a", "\033]11;rgb:0000/0000/0000\a|");
	ask("\033]11;#102030\a\033]11;?\a", "\033]11;rgb:1010/2020/3030\a|");
	ask("\033]111\a\033]11;?\a", "\033]11;rgb:0000/0000/0000\a|");
	ask("\033]4;1;?\a", "\033]4;1;rgb:cdcd/0000/0000\a|");
	ask("\033]4;231;?\a", "\033]4;231;rgb:ffff/ffff/ffff\a|");
	ask("\033[?996n", "\033[?997;1n|");
	ask("\033]11;#fff\a\033[?996n\033]111\a", "\033[?997;2n|");
	ask("\033[?u", "\033[?0u|");
	ask("\033[>5u\033[?u", "\033[?5u|");
	ask("\033[1;4:3;31m\033P$qm\033\\", "\033P1$r0;1;4:3;31m\033\\|");
	ask("\033P$qr\033\\", "\033P1$r1;24r\033\\|");
	ask("\033[5 q\033P$q q\033\\", "\033P1$r5 q\033\\|");
	ask("\033P$qz\033\\", "\033P0$r\033\\|");
	ask("\033[>4;1m\033[?4m", "\033[>4;1m|");
	ask("\033]52;c;?\a", "");
	*told = '\0';
	put("\033[>q");
	ck_assert_ptr_nonnull(strstr(told, "\033P>|dlmux("));
}
END_TEST

static void
colour_later(uint64_t offset, const struct screen_ask *ask_, void *arg)
{
	(void)arg;
	tell("%d:colour %d%s|", (int)offset, ask_->which,
	    ask_->bell ? " bell" : "");
}

/* All of them in one stream, however it is cut: each its answer, in order,
 * with an offset that is its own and larger than the one before. */
START_TEST(all_questions_in_one_write_and_byte_by_byte)
{
	static const struct screen_cb later = {
		.answer = answer, .colour = colour_later
	};
	static const char all[] = "\033[c\033]11;?\a\033[>c\033[=c\033[5n"
	    "\033[6n\033[?6n\033]10;?;?;?\033\\\033[?7$p\033[4$p\033P$qm"
	    "\033\\\033]4;1;?;255;?;7;?\a\033[>q\033[18t\033[19t\033[11t"
	    "\033[?996n\033[?u\033[?4m\033[x\033P+q544e\033\\\033[?15n"
	    "\033]12;#123456\a\033]12;?\a\033Z";
	char once[4096], *p;
	unsigned long last = 0, at;
	int cut, n = 0;
	size_t i;

	for (cut = 0; cut < 2; cut++) {
		*told = '\0';
		s = screen_new(24, 80, NULL, &later);
		if (cut == 0)
			screen_write(s, all, sizeof all - 1);
		else
			for (i = 0; i < sizeof all - 1; i++)
				screen_write(s, all + i, 1);
		screen_free(s);
		if (cut == 0)
			snprintf(once, sizeof once, "%s", told);
	}
	ck_assert_str_eq(once, told);
	for (p = once; *p != '\0'; p = strchr(p, '|') + 1) {
		/* Two answers have a '|' in them. */
		if (strncmp(p, "00000000", 8) == 0 ||
		    strncmp(p, "dlmux(", 6) == 0)
			continue;
		at = strtoul(p, &p, 10);
		ck_assert_msg(at > last && *p == ':', "%lu after %lu: %s", at,
		    last, p);
		last = at;
		n++;
	}
	ck_assert_int_eq(n, 28);
	ck_assert_ptr_nonnull(strstr(once, ":colour 257 bell|"));
	ck_assert_ptr_nonnull(strstr(once, ":colour 256|"));
	ck_assert_ptr_nonnull(strstr(once, ":colour 255 bell|"));
	ck_assert_ptr_nonnull(strstr(once, ":colour -1|"));
	ck_assert_ptr_nonnull(strstr(once,
	    ":\033]12;rgb:1212/3434/5656\a|"));
	open_screen(24, 80);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("answers");
	TCase *tc = tcase_create("answers");

	tcase_add_checked_fixture(tc, NULL, teardown);
	tcase_add_test(tc, questions_are_answered_in_order_with_their_offsets);
	tcase_add_test(tc, every_question_has_its_answer);
	tcase_add_test(tc, all_questions_in_one_write_and_byte_by_byte);
	suite_add_tcase(suite, tc);
	return suite_run(suite);
}
