/* SPDX-License-Identifier: ISC */
/* What a terminal says of itself, taken out of what is typed. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "../../server/base/limits.h"
#include "../../term/replies.h"
#include "unit.h"

static struct replies *r;
static struct buf out;

static void
begin(void)
{
	buf_init(&out, 1 << 20);
	r = replies_new();
}

static void
end(void)
{
	replies_free(r);
	buf_free(&out);
}

static void
send(const char *s)
{
	replies_feed(r, s, strlen(s), &out);
}

static void
typed(const char *want)
{
	buf_u8(&out, 0);
	ck_assert_str_eq((const char *)out.data, want);
	buf_reset(&out);
}

static void
asked(void)
{
	struct buf b;

	buf_init(&b, 65536);
	replies_ask(r, REPLIES_BASE, &b);
	ck_assert(buf_ok(&b) && b.len > 20);
	ck_assert_mem_eq(b.data + b.len - 3, "\033[c", 3);
	buf_free(&b);
}

static const char answer[] = "\033]10;rgb:ffff/eeee/dddd\a"
    "\033]11;rgb:10/20/30\033\\\033]4;7;#abcdef\a"
    "\033]4;200;rgba:1111/2222/3333/ffff\033\\\033[?2031;2$y"
    "\033[?64;1;2;22c";

START_TEST(answers_are_no_keys_and_are_read)
{
	const struct theme *t = replies_theme(r);

	asked();
	ck_assert(replies_open(r));
	send("a");
	send(answer);
	send("b");
	typed("ab");
	ck_assert(!replies_open(r));
	ck_assert_uint_eq(replies_events(r), REPLIES_DONE);
	ck_assert_uint_eq(replies_events(r), 0);
	ck_assert(replies_reports(r));
	ck_assert(t->known[256] && t->rgb[256] == 0xffeedd);
	ck_assert(t->known[257] && t->rgb[257] == 0x102030);
	ck_assert(t->known[7] && t->rgb[7] == 0xabcdef);
	ck_assert(t->known[200] && t->rgb[200] == 0x112233);
	ck_assert(!t->known[258] && !t->known[8]);
}
END_TEST

/* Late, twice, cut at each place with time passing there. */
START_TEST(answers_may_be_cut_anywhere_while_awaited)
{
	size_t i, n = sizeof answer - 1;

	for (i = 0; i <= n; i++) {
		asked();
		replies_feed(r, answer, i, &out);
		typed("");
		replies_feed(r, answer + i, n - i, &out);
		typed("");
		ck_assert(!replies_open(r));
		ck_assert(!replies_pending(r));
		send(answer);
		typed("");
	}
}
END_TEST

START_TEST(an_answer_that_was_given_up_is_still_known)
{
	asked();
	replies_give_up(r);
	ck_assert(!replies_open(r));
	send("x\033]11;rgb:1");
	ck_assert(!replies_pending(r));
	replies_flush(r, &out);
	send("1/22/33\a\033[?6");
	replies_flush(r, &out);
	send("2cy");
	typed("xy");
	ck_assert_uint_eq(replies_events(r), REPLIES_DONE);
	/* Its head was taken for Escape, and for Alt-]: the tail is known. */
	send("\033");
	ck_assert(replies_pending(r));
	replies_flush(r, &out);
	ck_assert(!replies_pending(r));
	typed("\033");
	send("]11;rgb:1/2/3\033\\z");
	typed("z");
	send("\033]");
	replies_flush(r, &out);
	send("4;1;rgb:1/2/3\033\\z");
	typed("\033]z");
}
END_TEST

START_TEST(keys_pass_as_they_are)
{
	static const char *const keys[] = {
		"ls -l\r", "\033[A", "\033OA", "\033[1;5C", "\033[97;5u",
		"\033[27;5;97~", "\033[<0;1;2M", "\033[M !!", "\033x",
		"\033\033[A", "\033]x", "\033]1x", "\033]11;x", "\033[[A",
		"\033[?5x", "\033[?1;1;1R", "\033]52;c;aGk=\a", "\033[200~"
	};
	size_t i;

	for (i = 0; i < sizeof keys / sizeof keys[0]; i++) {
		send(keys[i]);
		typed(keys[i]);
		if (i % 2 == 0)
			asked();
	}
	/* In a paste nothing is looked for. */
	send(answer);
	typed(answer);
	send("\033[201~");
	typed("\033[201~");
	send(answer);
	typed("");
}
END_TEST

START_TEST(an_answer_cut_short_is_dropped_and_the_key_behind_it_kept)
{
	asked();
	send("\033]11;rgb:11/22\033[A");
	typed("\033[A");
	send("\033[?62;2\033OB");
	typed("\033OB");
	send("\033]10;rgb:1/2\003");
	typed("\003");
}
END_TEST

START_TEST(reports_are_keys_unless_they_are_ours)
{
	send("\033[I\033[O\033[?997;1n");
	typed("\033[I\033[O\033[?997;1n");
	ck_assert_uint_eq(replies_events(r),
	    REPLIES_FOCUSED | REPLIES_CHANGED);
	replies_mine(r, true, true);
	send("\033[O");
	ck_assert_uint_eq(replies_events(r), 0);
	send("\033[I");
	ck_assert_uint_eq(replies_events(r), REPLIES_FOCUSED);
	send("\033[?997;2n");
	ck_assert_uint_eq(replies_events(r), REPLIES_CHANGED);
	typed("");
}
END_TEST

START_TEST(escape_is_held_no_longer_than_told)
{
	send("\033");
	ck_assert(replies_pending(r));
	typed("");
	replies_flush(r, &out);
	typed("\033");
	ck_assert(!replies_pending(r));
	/* Nothing was ever asked: what follows is not looked at. */
	send("]");
	typed("]");
}
END_TEST

START_TEST(a_theme_survives_the_wire)
{
	struct theme t, u;
	struct buf b;
	int i;

	memset(&t, 0, sizeof t);
	buf_init(&b, WIRE_THEME_MAX);
	theme_put(&t, &b);
	ck_assert_int_eq(theme_get(&u, b.data, b.len), 0);
	ck_assert(!theme_any(&u));
	for (i = 0; i < THEME_COLOURS; i++) {
		t.known[i] = true;
		t.rgb[i] = (uint32_t)i * 65793u & 0xffffff;
	}
	buf_reset(&b);
	theme_put(&t, &b);
	ck_assert(buf_ok(&b));
	ck_assert_int_eq(theme_get(&u, b.data, b.len), 0);
	ck_assert_mem_eq(&t, &u, sizeof t);
	for (i = 0; (size_t)i < b.len; i++)
		ck_assert_int_eq(theme_get(&u, b.data, (size_t)i), -1);
	buf_free(&b);
	ck_assert_uint_eq(theme_colour(NULL, 1), 0xcd0000);
	ck_assert_uint_eq(theme_colour(&t, 1), 0x010101);
	ck_assert(theme_dark(0x282828) && !theme_dark(0xfdf6e3));
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("replies");
	TCase *t = tcase_create("replies");

	tcase_add_checked_fixture(t, begin, end);
	tcase_add_test(t, answers_are_no_keys_and_are_read);
	tcase_add_test(t, answers_may_be_cut_anywhere_while_awaited);
	tcase_add_test(t, an_answer_that_was_given_up_is_still_known);
	tcase_add_test(t, keys_pass_as_they_are);
	tcase_add_test(t,
	    an_answer_cut_short_is_dropped_and_the_key_behind_it_kept);
	tcase_add_test(t, reports_are_keys_unless_they_are_ours);
	tcase_add_test(t, escape_is_held_no_longer_than_told);
	tcase_add_test(t, a_theme_survives_the_wire);
	suite_add_tcase(s, t);
	return suite_run(s);
}
