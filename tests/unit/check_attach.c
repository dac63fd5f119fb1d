/* SPDX-License-Identifier: ISC */
/*
 * Attaching: by whom, to what, how large, until when; and the pictures that
 * one who is attached gets.
 */
#include "server-ends.h"

/* --- attaching ---------------------------------------------------------- */

START_TEST(attach_paints_and_detach_undoes)
{
	struct msg_attached m;
	struct msg_left left;
	struct end c;

	begin_shell(&c, "hello \033[?2004h");
	attach_with(&c, 1, 0, "main", 0, 24, 80);
	want(&c, F_ATTACHED);
	ck_assert_int_eq(msg_attached_get(&m, c.msg.data, c.msg.len), 0);
	ck_assert_uint_eq(m.uid, 500);
	ck_assert_str_eq(m.workspace, "local");
	ck_assert_str_eq(m.shell, "main");
	ck_assert_uint_eq(m.agent[0], 1);
	msg_attached_free(&m);
	want_shown(&c, 1, "hello");
	ck_assert_uint_eq(want_watch(5).level, 2);
	put(&c, F_DETACH, 1, NULL, 0);
	want(&c, F_PICTURE);
	want_text(&c, "\033[?2004l");
	left = want_left(&c);
	ck_assert_uint_eq(left.why, LEFT_DETACHED);
	msg_left_free(&left);
	ck_assert_uint_eq(want_watch(5).level, 1);
	end_close(&c);
}
END_TEST

START_TEST(attach_makes_a_shell_with_the_clients_id_and_size)
{
	struct msg_open m;
	struct end c;
	uint32_t channel;

	client(&c);
	use(&c, 1, 0);
	attach_with(&c, 1, ATTACH_CREATE, "fresh", 0, 30, 100);
	agent_hello(1);
	put(&agent, F_READY, 0, NULL, 0);
	want(&agent, F_OPEN);
	channel = agent.channel;
	ck_assert_int_eq(msg_open_get(&m, agent.msg.data, agent.msg.len), 0);
	ck_assert_uint_eq(m.kind, OP_NEW);
	ck_assert_uint_eq(m.how, NEW_OR_FIND);
	ck_assert_uint_eq(m.op[7], 0x33);
	ck_assert_uint_eq(m.agent[0], 1);
	ck_assert_uint_eq(m.rows, 30);
	ck_assert_uint_eq(m.cols, 100);
	ck_assert_str_eq(m.shell, "fresh");
	ck_assert_str_eq(m.env[0], "DLMUX=local:fresh");
	msg_open_free(&m);
	/* STARTED may overtake SHELL. */
	say_started(channel, 9, 900, "fresh");
	want(&agent, F_CLOSE);
	ck_assert_uint_eq(agent.channel, channel);
	say_shell(9, 900, "fresh", false, 0, 0);
	want_watch(9);
	say_resized(9, 0, 30, 100);
	say(9, 0, "new one");
	want(&c, F_ATTACHED);
	want_shown(&c, 1, "new one");
	end_close(&c);
}
END_TEST

START_TEST(attach_without_such_a_shell_is_refused_in_words)
{
	struct msg_left left;
	struct end c;

	begin_shell(&c, "x");
	attach_with(&c, 1, 0, "other", 0, 24, 80);
	left = want_left(&c);
	ck_assert_uint_eq(left.why, LEFT_REFUSED);
	ck_assert_str_eq(left.text, "local:other: no such shell");
	msg_left_free(&left);
	end_close(&c);
}
END_TEST

static void
say_fail(const char *why)
{
	struct buf b;

	buf_init(&b, 100);
	buf_u16(&b, R_ERROR);
	buf_str(&b, why);
	put_buf(&agent, F_FAIL, 0, &b);
}

START_TEST(attach_to_what_cannot_be_reached_says_why)
{
	struct msg_left left;
	struct end c;

	client(&c);
	use(&c, 1, 0);
	attach_with(&c, 1, ATTACH_CREATE, "main", 0, 24, 80);
	say_fail("connection refused");
	left = want_left(&c);
	ck_assert_uint_eq(left.why, LEFT_REFUSED);
	ck_assert_str_eq(left.text, "local: connection refused");
	msg_left_free(&left);
	end_close(&c);
}
END_TEST

START_TEST(a_lost_link_shows_a_notice_and_keeps_the_picture)
{
	struct end c, d;
	struct watch w;
	uint64_t at;

	at = begin_shell(&c, "before the loss");
	attach_with(&c, 1, 0, "main", 0, 24, 80);
	want_shown(&c, 1, "before the loss");
	ck_assert_uint_eq(want_watch(5).level, 2);
	say_bye("network is down");
	ck_assert_int_eq(link_said(&c), LINK_DOWN);
	want_shown(&c, 1, "no answer for");
	want_text(&c, "reconnecting");
	/* Attaching meanwhile is local: the last screen shows at once. */
	client(&d);
	use(&d, 1, USE_PASSIVE);
	attach_with(&d, 1, 0, "main", 0, 24, 80);
	want_shown(&d, 1, "before the loss");
	agent_hello(1);
	say_shell(6, 500, "main", false, 0, at + 5);
	put(&agent, F_READY, 0, NULL, 0);
	w = want_watch(6);
	ck_assert_uint_eq(w.have, 1);
	ck_assert_uint_eq(w.from, at);
	ck_assert_uint_eq(w.level, 2);
	say(6, at, "AFTER");
	want_shown(&c, 1, "AFTER");
	end_close(&c);
	end_close(&d);
}
END_TEST

START_TEST(another_agent_loses_the_shells_in_words)
{
	struct msg_left left;
	struct msg_waited waited;
	struct end c, d;

	begin_shell(&c, "x");
	attach_with(&c, 1, 0, "main", 0, 24, 80);
	want(&c, F_ATTACHED);
	client(&d);
	use(&d, 3, 0);
	ask_wait(&d, 3, WAIT_EXIT, 0, 0, "", 0, 0);
	say_bye("network is down");
	agent_hello(2);
	put(&agent, F_READY, 0, NULL, 0);
	left = want_left(&c);
	ck_assert_uint_eq(left.why, LEFT_LOST);
	ck_assert_msg(strstr(left.text, "started anew") != NULL, "%s",
	    left.text);
	msg_left_free(&left);
	waited = want_waited(&d);
	ck_assert_uint_eq(waited.result, WAITED_ERROR);
	msg_waited_free(&waited);
	/* Nothing is silently made in its place; then the name is free. */
	attach_with(&c, 1, ATTACH_CREATE, "main", 0, 24, 80);
	left = want_left(&c);
	ck_assert_uint_eq(left.why, LEFT_LOST);
	msg_left_free(&left);
	attach_with(&c, 1, ATTACH_CREATE, "main", 0, 24, 80);
	want(&agent, F_OPEN);
	end_close(&c);
	end_close(&d);
}
END_TEST

START_TEST(attach_again_finds_only_the_very_shell)
{
	struct msg_left left;
	struct end c;

	begin_shell(&c, "x");
	attach_with(&c, 1, ATTACH_AGAIN, "main", 501, 24, 80);
	left = want_left(&c);
	ck_assert_uint_eq(left.why, LEFT_LOST);
	msg_left_free(&left);
	attach_with(&c, 1, ATTACH_AGAIN, "renamed", 500, 24, 80);
	want(&c, F_ATTACHED);
	end_close(&c);
}
END_TEST

static void
want_size(uint32_t id, int rows, int cols)
{
	struct rd r;
	int y, x;

	want(&agent, F_SIZE);
	ck_assert_uint_eq(agent.channel, id);
	rd_init(&r, agent.msg.data, agent.msg.len);
	y = rd_u16(&r);
	x = rd_u16(&r);
	ck_assert_int_eq(y, rows);
	ck_assert_int_eq(x, cols);
}

START_TEST(the_size_follows_the_client_last_typed_at)
{
	struct end a, b;

	begin_shell(&a, "x");
	attach_with(&a, 1, 0, "main", 0, 40, 120);
	want(&a, F_ATTACHED);
	want_size(5, 40, 120);
	say_resized(5, 1, 40, 120);
	client(&b);
	use(&b, 1, 0);
	attach_with(&b, 1, 0, "main", 0, 20, 60);
	want(&b, F_ATTACHED);
	want_size(5, 20, 60);
	say_resized(5, 1, 20, 60);
	use(&a, 2, 0);
	ask_open(&a, 2, OP_INPUT, 7, "main");
	want(&agent, F_OPEN);
	say_started(agent.channel, 5, 500, "main");
	want(&a, F_STARTED);
	data_put(&a, 2, 0, 0, "k");
	want_size(5, 40, 120);
	say_resized(5, 1, 40, 120);
	/* It leaves: the other one's again. */
	end_close(&a);
	want_size(5, 20, 60);
	end_close(&b);
}
END_TEST

static void
ask_sizing(struct end *e, uint32_t channel, const char *policy)
{
	char local[] = "local", shell[] = "main";
	struct msg_sizing m = { 0, local, shell, NULL };
	struct buf b;

	m.size = xstrdup(policy);
	buf_init(&b, 1000);
	msg_sizing_put(&b, &m);
	put_buf(e, F_SIZING, channel, &b);
	free(m.size);
}

/* A field of the next ROW. */
static void
want_field(struct end *e, const char *field)
{
	struct msg_row m;
	size_t i;

	want(e, F_ROW);
	ck_assert_int_eq(msg_row_get(&m, e->msg.data, e->msg.len), 0);
	for (i = 0; m.fields[i] != NULL && strcmp(m.fields[i], field) != 0; i++)
		;
	ck_assert_msg(m.fields[i] != NULL, "no %s in the row", field);
	msg_row_free(&m);
}

START_TEST(the_size_is_by_the_policy_of_the_shell)
{
	struct end a, b, p;

	begin_shell(&a, "x");
	attach_with(&a, 1, 0, "main", 0, 20, 120);
	want(&a, F_ATTACHED);
	want_size(5, 20, 120);
	say_resized(5, 1, 20, 120);
	client(&b);
	use(&b, 1, 0);
	ask_sizing(&b, 7, "smallest");
	want_field(&b, "size=smallest");
	ck_assert_uint_eq(want_done(&b, NULL), R_NONE);
	attach_with(&b, 1, 0, "main", 0, 40, 60);
	want(&b, F_ATTACHED);
	want_size(5, 20, 60);
	say_resized(5, 1, 20, 60);
	ask_sizing(&b, 7, "largest");
	want_size(5, 40, 120);
	say_resized(5, 1, 40, 120);
	/* Who is passive is nobody. */
	client(&p);
	use(&p, 1, 0);
	attach_with(&p, 1, ATTACH_PASSIVE, "main", 0, 50, 200);
	want(&p, F_ATTACHED);
	want_no(&agent, F_SIZE, 50);
	ask_sizing(&p, 7, "100x30");
	want_size(5, 30, 100);
	say_resized(5, 1, 30, 100);
	/* No size at all to come back to, once nobody is left who counts. */
	end_close(&a);
	end_close(&b);
	ask_sizing(&p, 7, "default");
	ask_sizing(&p, 8, "");
	want_field(&p, "size=100x30");
	want_field(&p, "size=latest");
	want_field(&p, "size=latest");
	want_no(&agent, F_SIZE, 50);
	ask_sizing(&p, 9, "huge");
	ck_assert_uint_eq(want_done(&p, NULL), R_NONE);
	ck_assert_uint_eq(want_done(&p, "huge"), R_USAGE);
	end_close(&p);
}
END_TEST

/* One after the other: a window that is dragged, two servers. */
START_TEST(a_size_is_told_once_and_not_against_another_server)
{
	struct end a;
	struct rd r;
	struct buf b;
	int i, n;

	begin_shell(&a, "x");
	attach_with(&a, 1, 0, "main", 0, 24, 80);
	want(&a, F_ATTACHED);
	want_no(&agent, F_SIZE, 50);	/* it has that size */
	for (i = 1; i <= 200; i++) {
		buf_init(&b, 16);
		buf_u16(&b, (uint16_t)(24 + i));
		buf_u16(&b, 80);
		put_buf(&a, F_RESIZE, 1, &b);
	}
	for (n = 1, i = 0; i != 224; n++) {
		want(&agent, F_SIZE);
		rd_init(&r, agent.msg.data, agent.msg.len);
		i = rd_u16(&r);
	}
	ck_assert_int_lt(n, 20);
	say_resized(5, 1, 224, 80);
	/* Another server's word stands, until a key is typed here. */
	say_resized(5, 1, 33, 99);
	want_no(&agent, F_SIZE, 100);
	use(&a, 2, 0);
	ask_open(&a, 2, OP_INPUT, 7, "main");
	want(&agent, F_OPEN);
	say_started(agent.channel, 5, 500, "main");
	want(&a, F_STARTED);
	data_put(&a, 2, 0, 0, "k");
	want_size(5, 224, 80);
	end_close(&a);
}
END_TEST

START_TEST(shells_that_show_each_other_are_refused)
{
	static const char *const names[] = { "one", "two", "three" };
	char in[3][16], none[] = "";
	struct msg_manner m = { HISTORY_SCREEN, none, NULL };
	struct msg_left left;
	struct end c[3];
	struct buf b;
	unsigned int i;

	begin_shell(&c[0], "x");
	for (i = 0; i < 3; i++) {
		say_shell(6 + i, 600 + i, names[i], false, 0, 0);
		want_watch(6 + i);
		say_resized(6 + i, 0, 24, 80);
		say(6 + i, 0, names[i]);
	}
	/* Inside one: two. Inside two: three. Inside three: one is too much. */
	for (i = 0; i < 3; i++) {
		if (i > 0) {
			client(&c[i]);
			use(&c[i], 1, 0);
		}
		snprintf(in[i], sizeof in[i], "local:%s", names[i]);
		m.inside = in[i];
		buf_init(&b, 1000);
		msg_manner_put(&b, &m);
		put_buf(&c[i], F_MANNER, 1, &b);
		attach_with(&c[i], 1, 0, names[(i + 1) % 3], 0, 24, 80);
		if (i < 2)
			want(&c[i], F_ATTACHED);
	}
	left = want_left(&c[2]);
	ck_assert_uint_eq(left.why, LEFT_REFUSED);
	ck_assert_msg(strstr(left.text, "local:one shows local:two") != NULL,
	    "%s", left.text);
	msg_left_free(&left);
	/* Itself, by way of "next". */
	attach_with(&c[2], 1, ATTACH_NEXT, "two", 0, 24, 80);
	left = want_left(&c[2]);
	ck_assert_msg(strstr(left.text, "itself in itself") != NULL, "%s",
	    left.text);
	msg_left_free(&left);
	/* Once the circle is open it may be shown. */
	end_close(&c[0]);
	do	/* until nobody looks at two */
		want(&agent, F_WATCH);
	while (agent.channel != 7 || agent.msg.data[0] != 1);
	attach_with(&c[2], 1, 0, "one", 0, 24, 80);
	want(&c[2], F_ATTACHED);
	end_close(&c[1]);
	end_close(&c[2]);
}
END_TEST

START_TEST(a_client_is_told_where_its_terminal_shows_the_shell)
{
	struct msg_placed m;
	struct end c;
	uint64_t at;

	at = begin_shell(&c, "\033[20;70Hx");
	attach_with(&c, 1, ATTACH_PASSIVE, "main", 0, 10, 40);
	want(&c, F_PLACED);
	ck_assert_int_eq(msg_placed_get(&m, c.msg.data, c.msg.len), 0);
	ck_assert_uint_eq(m.rows, 24);
	ck_assert_uint_eq(m.cols, 80);
	ck_assert_uint_eq(m.row, 10);
	ck_assert_uint_eq(m.col, 40);
	want_shown(&c, 1, "x");
	say_resized(5, at, 8, 30);
	want(&c, F_PLACED);
	ck_assert_int_eq(msg_placed_get(&m, c.msg.data, c.msg.len), 0);
	ck_assert_uint_eq(m.rows, 8);
	ck_assert_uint_eq(m.row, 0);
	ck_assert_uint_eq(m.col, 0);
	end_close(&c);
}
END_TEST

START_TEST(view_only_is_enforced_and_counts_for_no_size)
{
	struct end a, b;
	struct rd r;

	begin_shell(&a, "x");
	client(&b);
	use(&b, 1, USE_READ_ONLY);
	attach_with(&b, 1, ATTACH_READ_ONLY, "main", 0, 20, 60);
	want(&b, F_ATTACHED);
	use(&b, 2, 0);
	ask_open(&b, 2, OP_INPUT, 7, "main");
	want(&b, F_REFUSED);
	rd_init(&r, b.msg.data, b.msg.len);
	ck_assert_uint_eq(rd_u16(&r), R_READ_ONLY);
	want_no(&agent, F_SIZE, 50);
	end_close(&a);
	end_close(&b);
}
END_TEST

START_TEST(others_are_detached_when_asked)
{
	struct msg_left left;
	struct end a, b;

	begin_shell(&a, "x");
	attach_with(&a, 1, 0, "main", 0, 24, 80);
	want(&a, F_ATTACHED);
	client(&b);
	use(&b, 1, 0);
	attach_with(&b, 1, ATTACH_OTHERS, "main", 0, 24, 80);
	want(&b, F_ATTACHED);
	left = want_left(&a);
	ck_assert_uint_eq(left.why, LEFT_EVICTED);
	msg_left_free(&left);
	end_close(&a);
	end_close(&b);
}
END_TEST

START_TEST(next_and_previous_go_round)
{
	struct msg_attached m;
	struct end c;
	static const struct { uint8_t flags; const char *from, *to; } tries[] = {
		{ ATTACH_NEXT, "main", "two" },
		{ ATTACH_NEXT, "two", "three" },
		{ ATTACH_NEXT, "three", "main" },
		{ ATTACH_PREV, "main", "three" },
		{ ATTACH_PREV, "three", "two" },
	};
	size_t i;

	begin_shell(&c, "x");
	say_shell(7, 700, "three", false, 0, 0);
	say_shell(6, 600, "two", false, 0, 0);
	say_resized(6, 0, 24, 80);
	say_resized(7, 0, 24, 80);
	attach_with(&c, 1, 0, "main", 0, 24, 80);
	want(&c, F_ATTACHED);
	for (i = 0; i < sizeof tries / sizeof tries[0]; i++) {
		attach_with(&c, 1, tries[i].flags, tries[i].from, 0, 24, 80);
		want(&c, F_ATTACHED);
		ck_assert_int_eq(msg_attached_get(&m, c.msg.data, c.msg.len),
		    0);
		ck_assert_str_eq(m.shell, tries[i].to);
		msg_attached_free(&m);
	}
	end_close(&c);
}
END_TEST

START_TEST(the_end_of_a_shell_is_shown_told_and_dismissed_later)
{
	struct msg_left left;
	struct end c, d;
	uint64_t at;

	at = begin_shell(&c, "x");
	attach_with(&c, 1, 0, "main", 0, 24, 80);
	want_shown(&c, 1, "x");
	at = say(5, at, "last words");
	say_shell(5, 500, "main", true, 3, at);
	want_shown(&c, 1, "last words");
	left = want_left(&c);
	ck_assert_uint_eq(left.why, LEFT_ENDED);
	ck_assert_uint_eq(left.how, END_EXIT);
	ck_assert_uint_eq(left.code, 3);
	msg_left_free(&left);
	/* A server that dies now must find the status again. */
	want_no(&agent, F_DISMISS, 50);
	end_close(&c);
	/* Its end was seen; a new one of the name makes it go. */
	client(&d);
	use(&d, 1, 0);
	ask_capture(&d, 2, "main", 0);
	want(&d, F_TEXT);
	want_text(&d, "last words");
	attach_with(&d, 1, ATTACH_CREATE, "main", 0, 24, 80);
	want(&agent, F_DISMISS);
	ck_assert_uint_eq(agent.channel, 5);
	want(&agent, F_OPEN);
	end_close(&d);
}
END_TEST

START_TEST(the_end_waits_for_the_output_before_it)
{
	struct end c;
	uint64_t at;

	at = begin_shell(&c, "x");
	attach_with(&c, 1, 0, "main", 0, 24, 80);
	want_shown(&c, 1, "x");
	say_shell(5, 500, "main", true, 3, at + 4);
	want_no(&c, F_LEFT, 50);
	say(5, at, "late");
	want_shown(&c, 1, "late");
	want(&c, F_LEFT);
	end_close(&c);
}
END_TEST

/* --- pictures ----------------------------------------------------------- */

START_TEST(no_more_than_two_pictures_are_on_their_way)
{
	struct end c;
	uint64_t at;
	int i, n = 0;

	at = begin_shell(&c, "x");
	attach_with(&c, 1, 0, "main", 0, 24, 80);
	want(&c, F_ATTACHED);
	for (i = 0; i < 20; i++) {
		char line[32];

		snprintf(line, sizeof line, "line %d\r\n", i);
		at = say(5, at, line);
		if (next(&c, 20) && c.type == F_PICTURE)
			n++;
	}
	while (next(&c, 50))
		n += c.type == F_PICTURE;
	ck_assert_int_eq(n, 2);
	/* Acknowledged, the newest state comes in one. */
	buf_reset(&c.msg);
	buf_u32(&c.msg, 2);
	put(&c, F_SHOWN, 1, c.msg.data, c.msg.len);
	want_shown(&c, 1, "line 19");
	end_close(&c);
}
END_TEST

START_TEST(a_synchronized_update_is_shown_whole_or_after_a_while)
{
	struct end c;
	uint64_t at, began;

	at = begin_shell(&c, "x");
	attach_with(&c, 1, 0, "main", 0, 24, 80);
	want_shown(&c, 1, "x");
	at = say(5, at, "\033[?2026hfirst half");
	want_no(&c, F_PICTURE, 60);
	at = say(5, at, " second half\033[?2026l");
	want_shown(&c, 1, "first half second half");
	began = clock_ms();
	say(5, at, "\033[?2026h forgotten");
	want_shown(&c, 1, "forgotten");
	ck_assert_uint_ge(clock_ms() - began, 100);
	end_close(&c);
}
END_TEST

START_TEST(a_flood_gives_few_pictures)
{
	struct end c;
	uint64_t at, began;
	char line[1001];
	int i, n = 0;

	at = begin_shell(&c, "x");
	attach_with(&c, 1, 0, "main", 0, 24, 80);
	want_shown(&c, 1, "x");
	memset(line, 'y', sizeof line - 1);
	line[sizeof line - 1] = '\0';
	began = clock_ms();
	for (i = 0; i < 100; i++)
		at = say(5, at, line);
	say(5, at, "done");
	do {
		want(&c, F_PICTURE);
		put(&c, F_SHOWN, 1, c.msg.data, 4);
		n++;
	} while (!has_text(&c, "done"));
	ck_assert_int_le(n, (int)((clock_ms() - began) / 5) + 2);
	end_close(&c);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("attach");
	TCase *t = running(s);

	tcase_add_test(t, attach_paints_and_detach_undoes);
	tcase_add_test(t, attach_makes_a_shell_with_the_clients_id_and_size);
	tcase_add_test(t, attach_without_such_a_shell_is_refused_in_words);
	tcase_add_test(t, attach_to_what_cannot_be_reached_says_why);
	tcase_add_test(t, a_lost_link_shows_a_notice_and_keeps_the_picture);
	tcase_add_test(t, another_agent_loses_the_shells_in_words);
	tcase_add_test(t, attach_again_finds_only_the_very_shell);
	tcase_add_test(t, the_size_follows_the_client_last_typed_at);
	tcase_add_test(t, the_size_is_by_the_policy_of_the_shell);
	tcase_add_test(t, a_size_is_told_once_and_not_against_another_server);
	tcase_add_test(t, shells_that_show_each_other_are_refused);
	tcase_add_test(t, a_client_is_told_where_its_terminal_shows_the_shell);
	tcase_add_test(t, view_only_is_enforced_and_counts_for_no_size);
	tcase_add_test(t, others_are_detached_when_asked);
	tcase_add_test(t, next_and_previous_go_round);
	tcase_add_test(t, the_end_of_a_shell_is_shown_told_and_dismissed_later);
	tcase_add_test(t, the_end_waits_for_the_output_before_it);
	tcase_add_test(t, no_more_than_two_pictures_are_on_their_way);
	tcase_add_test(t, a_synchronized_update_is_shown_whole_or_after_a_while);
	tcase_add_test(t, a_flood_gives_few_pictures);
	return suite_run(s);
}
