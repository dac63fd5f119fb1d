/* SPDX-License-Identifier: ISC */
/*
 * The server's mirrors of the shells: what they take of the agent's stream,
 * and what is answered from them.
 */
#include "../../server/base/limits.h"
#include "server-ends.h"

START_TEST(bytes_told_twice_are_taken_once)
{
	struct end c;

	begin_shell(&c, "abcdef");
	say(5, 2, "cdefgh");
	say(5, 0, "abc");
	ask_capture(&c, 2, "main", 0);
	want(&c, F_TEXT);
	ck_assert_uint_eq(c.msg.len, 9);
	ck_assert_mem_eq(c.msg.data, "abcdefgh\n", 9);
	end_close(&c);
}
END_TEST

START_TEST(a_hole_in_the_stream_is_asked_for_anew)
{
	struct end c;
	struct watch w;

	begin_shell(&c, "abc");
	say(5, 7, "hij");
	w = want_watch(5);
	ck_assert_uint_eq(w.have, 0);
	/* What was on its way is not believed. */
	say(5, 10, "klm");
	say_resized(5, 0, 24, 80);
	say(5, 0, "abcdefghij");
	ask_capture(&c, 2, "main", 0);
	want(&c, F_TEXT);
	ck_assert_mem_eq(c.msg.data, "abcdefghij\n", 11);
	end_close(&c);
}
END_TEST

START_TEST(lost_bytes_are_told_to_who_looks)
{
	struct end c;
	struct buf b;

	begin_shell(&c, "abc");
	attach_with(&c, 1, 0, "main", 0, 24, 80);
	want_shown(&c, 1, "abc");
	buf_init(&b, 100);
	buf_u64(&b, 3);
	buf_u64(&b, 1003);
	put_buf(&agent, F_GAP, 5, &b);
	say_resized(5, 1003, 24, 80);
	say(5, 1003, "after");
	want_shown(&c, 1, "1000 bytes of output were lost");
	end_close(&c);
}
END_TEST

START_TEST(what_is_parsed_is_acknowledged)
{
	struct end c;
	struct rd r;
	uint64_t at;

	at = begin_shell(&c, "some output");
	want(&agent, F_TAKEN);
	rd_init(&r, agent.msg.data, agent.msg.len);
	ck_assert_uint_eq(rd_u64(&r), at);
	ck_assert_uint_eq(rd_u64(&r), at + WATCH_WINDOW);
	end_close(&c);
}
END_TEST

START_TEST(checkpoints_are_handed_back_and_start_another_server)
{
	struct end c;
	struct rd r;
	uint64_t at, offset;
	uint8_t *copy;
	char line[1001];
	size_t i, len;

	at = begin_shell(&c, "start\r\n");
	memset(line, 'z', sizeof line - 1);
	line[sizeof line - 1] = '\0';
	for (i = 0; i < CHECKPOINT_LIGHT_EVERY / 1000 + 1; i++)
		at = say(5, at, line);
	want(&agent, F_CHECKPOINT);
	rd_init(&r, agent.msg.data, agent.msg.len);
	offset = rd_u64(&r);
	ck_assert_uint_ge(offset, CHECKPOINT_LIGHT_EVERY);
	ck_assert_uint_le(offset, at);
	len = agent.msg.len;
	ck_assert_uint_gt(len, 13);
	copy = xmalloc(len);
	memcpy(copy, agent.msg.data, len);
	/* As if it were another shell's newest. */
	say_shell(8, 800, "again", false, 0, offset + 5);
	want_watch(8);
	put(&agent, F_CHECKPOINT, 8, copy, len);
	say(8, offset, "\r\nEND");
	ask_capture(&c, 2, "again", 0);
	want(&c, F_TEXT);
	want_text(&c, "zzzz");
	want_text(&c, "\nEND\n");
	free(copy);
	end_close(&c);
}
END_TEST

START_TEST(a_damaged_checkpoint_costs_nobody_the_shell)
{
	struct end c;
	struct buf b;

	begin_shell(&c, "x");
	say_shell(8, 800, "bad", false, 0, 104);
	want_watch(8);
	buf_init(&b, 1000);
	buf_u64(&b, 100);
	buf_u8(&b, 1);
	buf_u16(&b, 24);
	buf_u16(&b, 80);
	buf_puts(&b, "nonsense");
	put_buf(&agent, F_CHECKPOINT, 8, &b);
	say(8, 100, "text");
	ask_capture(&c, 2, "bad", 0);
	want(&c, F_TEXT);
	ck_assert_mem_eq(c.msg.data, "text\n", 5);
	end_close(&c);
}
END_TEST

START_TEST(questions_are_answered_with_their_offset)
{
	struct end c;
	struct rd r;
	size_t n;

	begin_shell(&c, "ab\033[6n");
	want(&agent, F_ANSWER);
	ck_assert_uint_eq(agent.channel, 5);
	rd_init(&r, agent.msg.data, agent.msg.len);
	ck_assert_uint_eq(rd_u64(&r), 6);
	ck_assert_mem_eq(rd_rest(&r, &n), "\033[1;3R", 6);
	end_close(&c);
}
END_TEST

START_TEST(a_capture_waits_for_the_link_and_the_mirror)
{
	struct end c;

	client(&c);
	use(&c, 1, 0);
	ask_capture(&c, 1, "main", 0);
	agent_hello(1);
	say_shell(5, 500, "main", false, 0, 4);
	put(&agent, F_READY, 0, NULL, 0);
	want_watch(5);
	want_no(&c, F_TEXT, 50);
	say_resized(5, 0, 24, 80);
	say(5, 0, "text");
	want(&c, F_TEXT);
	ck_assert_mem_eq(c.msg.data, "text\n", 5);
	ask_capture(&c, 1, "nobody", 0);
	ck_assert_uint_eq(want_done(&c, "no such shell"), R_NO_SHELL);
	end_close(&c);
}
END_TEST

START_TEST(a_capture_goes_back_as_far_as_asked)
{
	struct end c;
	struct buf b;
	int i;

	begin_shell(&c, "");
	buf_init(&b, 8192);
	for (i = 1; i <= 100; i++)
		buf_printf(&b, "%d\r\n", i);
	say_bytes(5, 0, b.data, b.len);
	buf_free(&b);
	ask_capture(&c, 1, "main", 3);
	want(&c, F_TEXT);
	ck_assert_mem_eq(c.msg.data, "75\n76\n77\n78\n", 12);
	ask_capture(&c, 1, "main", UINT32_MAX);
	want(&c, F_TEXT);
	ck_assert_mem_eq(c.msg.data, "1\n2\n3\n", 6);
	end_close(&c);
}
END_TEST

START_TEST(keys_are_encoded_by_the_modes_of_the_program)
{
	struct end c;
	struct buf b;
	char up[] = "Up", bad[] = "Nokey", *one[] = { up, NULL };
	char *two[] = { bad, NULL };

	begin_shell(&c, "\033[?1h");
	buf_init(&b, 1000);
	buf_str(&b, "local");
	buf_str(&b, "main");
	buf_strv(&b, one);
	put_buf(&c, F_KEYS, 1, &b);
	want(&c, F_TEXT);
	ck_assert_uint_eq(c.msg.len, 3);
	ck_assert_mem_eq(c.msg.data, "\033OA", 3);
	buf_init(&b, 1000);
	buf_str(&b, "local");
	buf_str(&b, "main");
	buf_strv(&b, two);
	put_buf(&c, F_KEYS, 1, &b);
	ck_assert_uint_eq(want_done(&c, "Nokey"), R_USAGE);
	end_close(&c);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("mirror");
	TCase *t = running(s);

	tcase_add_test(t, bytes_told_twice_are_taken_once);
	tcase_add_test(t, a_hole_in_the_stream_is_asked_for_anew);
	tcase_add_test(t, lost_bytes_are_told_to_who_looks);
	tcase_add_test(t, what_is_parsed_is_acknowledged);
	tcase_add_test(t, checkpoints_are_handed_back_and_start_another_server);
	tcase_add_test(t, a_damaged_checkpoint_costs_nobody_the_shell);
	tcase_add_test(t, questions_are_answered_with_their_offset);
	tcase_add_test(t, a_capture_waits_for_the_link_and_the_mirror);
	tcase_add_test(t, a_capture_goes_back_as_far_as_asked);
	tcase_add_test(t, keys_are_encoded_by_the_modes_of_the_program);
	return suite_run(s);
}
