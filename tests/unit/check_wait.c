/* SPDX-License-Identifier: ISC */
/* Waits for a text, for quiet and for the end of a shell. */
#include "server-ends.h"

static void
say_mark(uint32_t id, uint64_t at, uint8_t op)
{
	struct buf b;
	uint8_t name[MSG_ID];

	memset(name, op, MSG_ID);
	buf_init(&b, 100);
	buf_u64(&b, at);
	buf_put(&b, name, MSG_ID);
	put_buf(&agent, F_MARK, id, &b);
}

START_TEST(an_armed_wait_looks_only_behind_its_mark)
{
	struct msg_waited m;
	struct end c;
	uint64_t at;

	at = begin_shell(&c, "ready\r\n");
	ask_wait(&c, 1, WAIT_TEXT, 1, 9, "^ready$", 0, 0);
	/* Nothing of the shell's output may be skipped now. */
	ck_assert_uint_eq(want_watch(5).level, 2);
	at = say(5, at, "ready\r\n");
	want_no(&c, F_WAITED, 50);
	say_mark(5, at, 8);	/* somebody else's */
	at = say(5, at, "ready\r\n");
	want_no(&c, F_WAITED, 50);
	say_mark(5, at, 9);
	at = say(5, at, "not yet\r\n");
	want_no(&c, F_WAITED, 50);
	say(5, at, "ready\r\n");
	m = want_waited(&c);
	ck_assert_uint_eq(m.result, WAITED_MET);
	ck_assert_str_eq(m.text, "ready");
	msg_waited_free(&m);
	ck_assert_uint_eq(want_watch(5).level, 1);
	end_close(&c);
}
END_TEST

START_TEST(a_wait_that_comes_behind_its_mark_still_finds_it)
{
	struct msg_waited m;
	struct end c;
	uint64_t at;

	at = begin_shell(&c, "ready\r\n");
	say_mark(5, at, 9);
	at = say(5, at, "$ \r\n");
	ask_wait(&c, 1, WAIT_TEXT, 1, 9, "^ready$", 0, 0);
	want_no(&c, F_WAITED, 50);
	say(5, at, "ready");
	m = want_waited(&c);
	ck_assert_uint_eq(m.result, WAITED_MET);
	msg_waited_free(&m);
	end_close(&c);
}
END_TEST

START_TEST(a_line_that_flew_by_is_seen)
{
	struct msg_waited m;
	struct end c;
	uint64_t at;
	struct buf b;
	int i;

	at = begin_shell(&c, "");
	ask_wait(&c, 1, WAIT_TEXT, 0, 0, "^needle [0-9]+$", 0, 0);
	put(&c, F_LIST, 2, NULL, 0);	/* it was read when this is answered */
	ck_assert_uint_eq(want_done(&c, NULL), R_NONE);
	buf_init(&b, 60000);
	buf_puts(&b, "needle 77\r\n");
	for (i = 0; i < 1000; i++)
		buf_printf(&b, "hay %d\r\n", i);
	say_bytes(5, at, b.data, b.len);
	buf_free(&b);
	m = want_waited(&c);
	ck_assert_uint_eq(m.result, WAITED_MET);
	ck_assert_str_eq(m.text, "needle 77");
	msg_waited_free(&m);
	end_close(&c);
}
END_TEST

START_TEST(a_wrapped_line_is_one_line)
{
	struct msg_waited m;
	struct end c;
	char line[121];

	memset(line, 'a', 119);
	line[119] = 'b';
	line[120] = '\0';
	begin_shell(&c, line);
	ask_wait(&c, 1, WAIT_TEXT, 0, 0, "^a{119}b$", 0, 0);
	m = want_waited(&c);
	ck_assert_uint_eq(m.result, WAITED_MET);
	msg_waited_free(&m);
	end_close(&c);
}
END_TEST

START_TEST(waits_for_quiet_time_out_and_end)
{
	struct msg_waited m;
	struct end c;
	uint64_t at, began;

	at = begin_shell(&c, "x");
	began = clock_ms();
	ask_wait(&c, 1, WAIT_IDLE, 0, 0, "", 120, 0);
	m = want_waited(&c);
	ck_assert_uint_eq(m.result, WAITED_MET);
	ck_assert_uint_ge(clock_ms() - began, 110);
	msg_waited_free(&m);
	ask_wait(&c, 1, WAIT_TEXT, 0, 0, "never", 0, 60);
	m = want_waited(&c);
	ck_assert_uint_eq(m.result, WAITED_TIMEOUT);
	msg_waited_free(&m);
	ask_wait(&c, 1, WAIT_TEXT, 0, 0, "never", 0, 0);
	ask_wait(&c, 2, WAIT_EXIT, 0, 0, "", 0, 0);
	say_shell(5, 500, "main", true, 9, at);
	m = want_waited(&c);
	ck_assert_uint_eq(c.channel, 1);
	ck_assert_uint_eq(m.result, WAITED_ENDED);
	msg_waited_free(&m);
	m = want_waited(&c);
	ck_assert_uint_eq(m.result, WAITED_MET);
	ck_assert_uint_eq(m.how, END_EXIT);
	ck_assert_uint_eq(m.code, 9);
	msg_waited_free(&m);
	end_close(&c);
}
END_TEST

START_TEST(an_expression_that_would_stop_the_server_is_refused)
{
	static const char *const bad[] = { "(a", "(a*)\\1", "a{2000}",
	    "((a{30}){30}){30}" };
	struct msg_waited m;
	struct end c;
	size_t i;

	begin_shell(&c, "x");
	for (i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		ask_wait(&c, 1, WAIT_TEXT, 0, 0, bad[i], 0, 0);
		m = want_waited(&c);
		ck_assert_msg(m.result == WAITED_ERROR, "%s", bad[i]);
		msg_waited_free(&m);
	}
	end_close(&c);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("wait");
	TCase *t = running(s);

	tcase_add_test(t, an_armed_wait_looks_only_behind_its_mark);
	tcase_add_test(t, a_wait_that_comes_behind_its_mark_still_finds_it);
	tcase_add_test(t, a_line_that_flew_by_is_seen);
	tcase_add_test(t, a_wrapped_line_is_one_line);
	tcase_add_test(t, waits_for_quiet_time_out_and_end);
	tcase_add_test(t, an_expression_that_would_stop_the_server_is_refused);
	return suite_run(s);
}
