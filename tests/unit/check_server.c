/* SPDX-License-Identifier: ISC */
/*
 * The server itself: what it passes on between client and agent, peers that
 * misbehave, its commands, its start and its end.
 */
#include "server-ends.h"

/* --- relays ------------------------------------------------------------- */

START_TEST(an_operation_passes_with_only_its_channel_changed)
{
	struct end c;
	uint32_t far;

	begin_shell(&c, "x");
	use(&c, 42, 0);
	ask_open(&c, 42, OP_EXEC, 4, "");
	want(&agent, F_OPEN);
	far = agent.channel;
	say_started(far, 0, 0, "");
	want(&c, F_STARTED);
	ck_assert_uint_eq(c.channel, 42);
	data_put(&c, 42, 0, 0, "input");
	want(&agent, F_DATA);
	ck_assert_uint_eq(agent.channel, far);
	ck_assert_uint_eq(agent.msg.len, 14);
	ck_assert_mem_eq(agent.msg.data + 9, "input", 5);
	data_put(&agent, far, 1, 0, "output");
	want(&c, F_DATA);
	ck_assert_uint_eq(c.channel, 42);
	ck_assert_mem_eq(c.msg.data + 9, "output", 6);
	put(&c, F_CLOSE, 42, NULL, 0);
	want(&agent, F_CLOSE);
	end_close(&c);
	want_no(&agent, F_CANCEL, 50);
}
END_TEST

START_TEST(a_client_that_goes_cancels_its_operations)
{
	struct end c;
	uint32_t far;

	begin_shell(&c, "x");
	use(&c, 42, 0);
	ask_open(&c, 42, OP_EXEC, 4, "");
	want(&agent, F_OPEN);
	far = agent.channel;
	data_put(&c, 42, 0, 0, "sent before");
	end_close(&c);
	want(&agent, F_DATA);
	want(&agent, F_CANCEL);
	ck_assert_uint_eq(agent.channel, far);
}
END_TEST

START_TEST(a_lost_link_is_told_and_operations_come_again)
{
	struct msg_open m;
	struct end c;

	begin_shell(&c, "x");
	use(&c, 42, 0);
	ask_open(&c, 42, OP_EXEC, 4, "");
	want(&agent, F_OPEN);
	say_bye("lost");
	do
		want(&c, F_LINK);
	while (c.channel != 42);
	/* Crosses the word: neither refused nor passed on later. */
	data_put(&c, 42, 0, 0, "dropped");
	agent_hello(1);
	do
		want(&c, F_LINK);
	while (c.channel != 42);
	ask_open(&c, 42, OP_EXEC, 4, "");
	want(&agent, F_OPEN);
	ck_assert_int_eq(msg_open_get(&m, agent.msg.data, agent.msg.len), 0);
	ck_assert_uint_eq(m.op[0], 4);
	msg_open_free(&m);
	end_close(&c);
}
END_TEST

/* --- bad peers ---------------------------------------------------------- */

static void
want_closed(struct end *e)
{
	while (next(e, WAIT_MS))
		;
	ck_assert_int_eq(read(e->fd, none_word, 0), 0);
	end_close(e);
}

START_TEST(garbage_costs_only_who_sends_it)
{
	struct end good, bad;

	begin_shell(&good, "x");
	client(&bad);
	ck_assert_int_eq(write(bad.fd, "GET / HTTP/1.0\r\n\r\n", 18), 18);
	want(&bad, F_FAIL);
	want_closed(&bad);
	/* Damaged messages, each on a connection of its own. */
	client(&bad);
	use(&bad, 1, 0);
	put(&bad, F_OPEN, 1, "damaged", 7);
	want(&bad, F_FAIL);
	want_closed(&bad);
	client(&bad);
	use(&bad, 1, 0);
	put(&bad, F_DATA, 1, "1", 1);
	want(&bad, F_FAIL);
	want_closed(&bad);
	client(&bad);
	put(&bad, F_ATTACH, 1, "damaged", 7);
	want(&bad, F_FAIL);
	want_closed(&bad);
	client(&bad);
	put(&bad, F_OUTPUT, 1, "12345678x", 9);
	want(&bad, F_FAIL);
	want_closed(&bad);
	client(&bad);
	put(&bad, F_DATA, 7, "123456789", 9);
	want(&bad, F_FAIL);
	want_closed(&bad);
	ask_capture(&good, 1, "main", 0);
	want(&good, F_TEXT);
	end_close(&good);
	/* Nothing of it reached the agent. */
	want_no(&agent, F_OPEN, 50);
}
END_TEST

/* Whatever a client of ours may say, with any bytes behind it. */
START_TEST(nonsense_in_well_formed_frames_hurts_nobody)
{
	struct end good, bad;
	const struct frame_kind *k;
	size_t nkinds, i, j, len;
	uint8_t bytes[80];
	unsigned int seed = 1;

	k = frame_kinds(&nkinds);
	begin_shell(&good, "still here");
	for (i = 0; i < 400; i++) {
		client(&bad);
		use(&bad, 1, 0);
		attach_with(&bad, 1, 0, "main", 0, 24, 80);
		for (j = 0; j < 10; j++) {
			const struct frame_kind *one =
			    &k[rand_r(&seed) % nkinds];

			if (!(one->senders & PEER_CLIENT) ||
			    one->type == F_STOP)
				continue;
			for (len = 0; len < sizeof bytes; len++)
				bytes[len] = rand_r(&seed) % 3 != 0 ? 0 :
				    (uint8_t)rand_r(&seed);
			len = (size_t)rand_r(&seed) % (sizeof bytes + 1);
			/* It may have hung up by now. */
			try_put(&bad, one->type, (uint32_t)rand_r(&seed) % 3,
			    bytes, len);
		}
		end_close(&bad);
	}
	ask_capture(&good, 1, "main", 0);
	want(&good, F_TEXT);
	want_text(&good, "still here");
	end_close(&good);
}
END_TEST

START_TEST(the_greeting_comes_first_and_fits)
{
	struct end c;

	dial(&c);
	put(&c, F_LIST, 0, NULL, 0);
	want(&c, F_FAIL);
	want_text(&c, "before HELLO");
	want_closed(&c);
	dial(&c);
	hello_put(&c, ROLE_CLIENT, 7, 9, 0, 1);
	want(&c, F_FAIL);
	want_text(&c, "7 to 9");
	want_closed(&c);
}
END_TEST

START_TEST(a_client_that_does_not_read_is_let_go_and_harms_nobody)
{
	struct end slow, good;
	uint64_t at;
	char line[1001];
	int i;

	at = begin_shell(&slow, "x");
	attach_with(&slow, 1, 0, "main", 0, 24, 80);
	client(&good);
	use(&good, 1, 0);
	attach_with(&good, 1, 0, "main", 0, 24, 80);
	memset(line, 'q', sizeof line - 1);
	line[sizeof line - 1] = '\0';
	for (i = 0; i < 500; i++)
		at = say(5, at, line);
	say(5, at, "\r\ngood end");
	want_shown(&good, 1, "good end");
	end_close(&slow);
	end_close(&good);
}
END_TEST

/* --- the rest ----------------------------------------------------------- */

START_TEST(ls_answers_at_once_while_the_link_hangs)
{
	struct msg_row row;
	struct end c;

	client(&c);
	use(&c, 1, 0);
	put(&c, F_LIST, 2, NULL, 0);
	want(&c, F_ROW);
	ck_assert_int_eq(msg_row_get(&row, c.msg.data, c.msg.len), 0);
	ck_assert_uint_eq(row.kind, 'w');
	ck_assert_str_eq(row.fields[0], "workspace=local");
	ck_assert_str_eq(row.fields[1], "state=connecting");
	msg_row_free(&row);
	ck_assert_uint_eq(want_done(&c, NULL), R_NONE);
	end_close(&c);
}
END_TEST

static void
say_string(uint8_t type, uint32_t channel, const char *s)
{
	struct buf b;

	buf_init(&b, 1000);
	buf_str(&b, s);
	put_buf(&agent, type, channel, &b);
}

START_TEST(kill_is_done_when_the_shell_is_gone)
{
	struct end c;
	struct buf b;

	begin_shell(&c, "x");
	buf_init(&b, 100);
	buf_str(&b, "local");
	buf_str(&b, "main");
	buf_u8(&b, 0);
	put_buf(&c, F_ENDSHELL, 1, &b);
	want(&agent, F_KILL);
	ck_assert_uint_eq(agent.channel, 5);
	want_no(&c, F_DONE, 50);
	say_string(F_GONE, 5, "killed");
	ck_assert_uint_eq(want_done(&c, NULL), R_NONE);
	end_close(&c);
}
END_TEST

START_TEST(kill_says_whom_it_did_not_reach)
{
	struct end c;
	struct buf b;

	begin_shell(&c, "x");
	say_bye("");
	ck_assert_int_eq(link_said(&c), LINK_DOWN);
	buf_init(&b, 100);
	buf_str(&b, "");
	buf_str(&b, "");
	buf_u8(&b, 1);
	put_buf(&c, F_ENDSHELL, 2, &b);
	ck_assert_uint_eq(want_done(&c, "local:main was not reached"),
	    R_UNREACHABLE);
	end_close(&c);
}
END_TEST

START_TEST(what_is_not_connected_can_be_forgotten)
{
	struct end c;
	struct buf b;
	int i;

	begin_shell(&c, "x");
	for (i = 0; i < 3; i++) {
		buf_init(&b, 100);
		buf_str(&b, "local");
		buf_str(&b, "main");
		put_buf(&c, F_FORGET, 2, &b);
		if (i == 0) {
			ck_assert_uint_eq(want_done(&c, "is connected"),
			    R_ERROR);
			say_bye("");
			ck_assert_int_eq(link_said(&c), LINK_DOWN);
		} else if (i == 1)
			ck_assert_uint_eq(want_done(&c, "1 forgotten"),
			    R_NONE);
		else
			ck_assert_uint_eq(want_done(&c, "nothing is "
			    "remembered"), R_NO_SHELL);
	}
	end_close(&c);
}
END_TEST

START_TEST(a_link_that_was_let_go_stays_away_until_somebody_wants_it)
{
	struct end c, d;
	struct buf b;

	begin_shell(&c, "x");
	attach_with(&c, 1, 0, "main", 0, 24, 80);
	want_shown(&c, 1, "x");
	client(&d);
	buf_init(&b, 100);
	buf_str(&b, "local");
	put_buf(&d, F_LETGO, 1, &b);
	ck_assert_uint_eq(want_done(&d, NULL), R_NONE);
	want(&agent, F_BYE);
	ck_assert_int_eq(link_said(&c), LINK_DOWN);
	want_no(&c, F_LINK, 100);
	use(&d, 2, 0);
	ck_assert_int_eq(link_said(&c), LINK_CONNECTING);
	end_close(&c);
	end_close(&d);
}
END_TEST

START_TEST(a_prompt_reaches_who_asked_and_the_answer_goes_back)
{
	struct end a, b;
	struct buf m;
	struct rd r;
	char *s;

	client(&a);
	use(&a, 1, 0);
	client(&b);
	use(&b, 7, USE_MAY_PROMPT);
	buf_init(&m, 100);
	buf_u32(&m, 31);
	buf_u8(&m, 0);
	buf_str(&m, "Password:");
	put_buf(&agent, F_PROMPT, 0, &m);
	want(&b, F_PROMPT);
	ck_assert_uint_eq(b.channel, 7);
	want_text(&b, "Password:");
	buf_init(&m, 100);
	buf_u32(&m, 31);
	buf_u8(&m, 1);
	buf_str(&m, "sesame");
	put_buf(&b, F_REPLY, 7, &m);
	want(&agent, F_REPLY);
	rd_init(&r, agent.msg.data, agent.msg.len);
	ck_assert_uint_eq(rd_u32(&r), 31);
	ck_assert_uint_eq(rd_u8(&r), 1);
	s = rd_str(&r, 100);
	ck_assert_str_eq(s, "sesame");
	free(s);
	/* The asked one goes: a refusal, not silence. */
	buf_init(&m, 100);
	buf_u32(&m, 32);
	buf_u8(&m, 0);
	buf_str(&m, "Again:");
	put_buf(&agent, F_PROMPT, 0, &m);
	want(&b, F_PROMPT);
	end_close(&b);
	want(&agent, F_REPLY);
	rd_init(&r, agent.msg.data, agent.msg.len);
	ck_assert_uint_eq(rd_u32(&r), 32);
	ck_assert_uint_eq(rd_u8(&r), 0);
	/* Nobody else can be asked: who waits is told so. */
	while (link_said(&a) != LINK_FAILED)
		;
	end_close(&a);
}
END_TEST

START_TEST(stop_says_so_and_restart_lets_clients_come_back)
{
	struct msg_left left;
	struct end c, d;
	uint8_t restart = 0;
	int status;

	begin_shell(&c, "x");
	attach_with(&c, 1, 0, "main", 0, 24, 80);
	want(&c, F_ATTACHED);
	client(&d);
	put(&d, F_STOP, 1, &restart, 1);
	ck_assert_uint_eq(want_done(&d, "1 shell left running"), R_NONE);
	left = want_left(&c);
	ck_assert_uint_eq(left.why, LEFT_STOPPED);
	msg_left_free(&left);
	want(&agent, F_BYE);
	ck_assert_int_eq(waitpid(server_pid, &status, 0), server_pid);
	ck_assert_int_eq(status, 0);
	ck_assert_int_eq(access(place->server_sock, F_OK), -1);
	end_close(&c);
	end_close(&d);

	start();
	client(&c);
	/* It is remembered from the last one. */
	put(&c, F_LIST, 2, NULL, 0);
	want(&c, F_ROW);
	want(&c, F_ROW);
	want_text(&c, "shell=main");
	want_text(&c, "state=remembered");
	client(&d);
	restart = 1;
	put(&d, F_STOP, 1, &restart, 1);
	while (next(&c, WAIT_MS))
		ck_assert_uint_ne(c.type, F_LEFT);
	ck_assert_int_eq(waitpid(server_pid, &status, 0), server_pid);
	server_pid = 0;
	end_close(&c);
	end_close(&d);
}
END_TEST

START_TEST(there_is_one_server)
{
	char word[] = "server", run[] = "--run", fd[16], line[100] = "";
	char *argv[] = { word, run, fd, NULL };
	int ready[2], status;
	pid_t pid;

	ck_assert_int_eq(fd_pipe(ready), 0);
	snprintf(fd, sizeof fd, "%d", ready[1]);
	if ((pid = fork()) == 0)
		_exit(server_main(place, 3, argv));
	close(ready[1]);
	ck_assert(fill(ready[0], line, 5, WAIT_MS));
	ck_assert_str_eq(line, "BUSY\n");
	close(ready[0]);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_ne(status, 0);
}
END_TEST

START_TEST(a_damaged_state_file_is_set_aside)
{
	char *aside = xasprintf("%s.damaged", place->state_file);
	struct end c;
	int fd;

	fd = open(place->state_file, O_WRONLY | O_CREAT, 0600);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, "DLMUXST1 and then nonsense", 26), 26);
	close(fd);
	start();
	ck_assert_int_eq(access(aside, F_OK), 0);
	client(&c);
	put(&c, F_LIST, 2, NULL, 0);
	ck_assert_uint_eq(want_done(&c, NULL), R_NONE);
	end_close(&c);
	free(aside);
}
END_TEST

START_TEST(without_descriptors_it_waits_and_serves_who_is_there)
{
	struct end c[40], good;
	size_t i, n = sizeof c / sizeof c[0];

	few_files = 30;
	start();
	client(&good);
	for (i = 0; i < n; i++)
		dial(&c[i]);	/* in the socket's queue at least */
	ck_assert(!next(&c[n - 1], 100));
	put(&good, F_LIST, 2, NULL, 0);
	ck_assert_uint_eq(want_done(&good, NULL), R_NONE);
	for (i = 0; i < n - 1; i++)
		end_close(&c[i]);
	want(&c[n - 1], F_HELLO);
	end_close(&c[n - 1]);
	end_close(&good);
}
END_TEST

START_TEST(an_askpass_is_answered)
{
	struct end c, d;
	struct buf b;

	client(&c);
	use(&c, 1, 0);
	dial(&d);
	hello_put(&d, ROLE_ASKPASS, PROTO_MIN, PROTO_MAX, 0, 1);
	buf_init(&b, 100);
	buf_str(&b, "good");
	buf_u8(&b, 0);
	buf_str(&b, "echo of it");
	put_buf(&d, F_ASK, 0, &b);
	want(&d, F_REPLY);
	want_text(&d, "echo of it");
	/* It may do nothing else. */
	put(&d, F_LIST, 0, NULL, 0);
	want(&d, F_FAIL);
	want_closed(&d);
	end_close(&c);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("server");
	TCase *t = running(s);

	tcase_add_test(t, an_operation_passes_with_only_its_channel_changed);
	tcase_add_test(t, a_client_that_goes_cancels_its_operations);
	tcase_add_test(t, a_lost_link_is_told_and_operations_come_again);
	tcase_add_test(t, garbage_costs_only_who_sends_it);
	tcase_add_test(t, nonsense_in_well_formed_frames_hurts_nobody);
	tcase_add_test(t, the_greeting_comes_first_and_fits);
	tcase_add_test(t, a_client_that_does_not_read_is_let_go_and_harms_nobody);
	tcase_add_test(t, ls_answers_at_once_while_the_link_hangs);
	tcase_add_test(t, kill_is_done_when_the_shell_is_gone);
	tcase_add_test(t, kill_says_whom_it_did_not_reach);
	tcase_add_test(t, what_is_not_connected_can_be_forgotten);
	tcase_add_test(t, a_link_that_was_let_go_stays_away_until_somebody_wants_it);
	tcase_add_test(t, a_prompt_reaches_who_asked_and_the_answer_goes_back);
	tcase_add_test(t, stop_says_so_and_restart_lets_clients_come_back);
	tcase_add_test(t, there_is_one_server);
	tcase_add_test(t, an_askpass_is_answered);
	t = tcase_create("starting");
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_set_timeout(t, 30);
	tcase_add_test(t, a_damaged_state_file_is_set_aside);
	tcase_add_test(t, without_descriptors_it_waits_and_serves_who_is_there);
	suite_add_tcase(s, t);
	return suite_run(s);
}
