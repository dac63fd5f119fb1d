/* SPDX-License-Identifier: ISC */
/*
 * The agent's shells from the wire's side: what a watching server is sent and
 * in which order, what is typed and answered, sizes, ends.
 */
#include "shell-view.h"

static void
view_await_flag(struct tview *v, const bool *flag)
{
	uint64_t until = clock_ms() + WAIT_MS;

	while (view_poll(v), !*flag) {
		ck_assert_msg(clock_ms() < until && !v->l->closed,
		    "it does not come: %s", v->events);
		turn(20);
	}
}

static void
size(struct tview *v, uint16_t rows, uint16_t cols)
{
	struct buf b;

	buf_init(&b, 16);
	buf_u16(&b, rows);
	buf_u16(&b, cols);
	conn_send_buf(v->l->conn, CONN_CONTROL, F_SIZE, v->id, &b);
	buf_free(&b);
}

static void
kill_shell(struct tview *v, const char *name)
{
	struct buf b;

	buf_init(&b, 64);
	buf_str(&b, name);
	conn_send_buf(v->l->conn, CONN_CONTROL, F_KILL, v->id, &b);
	buf_free(&b);
}

START_TEST(a_new_shell_is_a_login_shell_on_a_terminal)
{
	struct tlink *l = tlink_open("server", 1);
	struct tview v;

	home_file(".profile", "PS1='ready> '\n");
	make_shell(l, &v, "main", NULL);
	watch(&v, 2, false, 0);
	view_await_text(&v, "ready> ");
	ck_assert_ptr_eq(strstr(v.events, "R24x80@0 "), v.events);
	type_text(&v, "stty size; echo $TERM $0; pwd\n");
	view_await_text(&v, "24 80");
	view_await_text(&v, "xterm-256color -sh");
	view_await_text(&v, home_dir);
}
END_TEST

START_TEST(a_name_is_taken_once_and_the_lowest_number_is_given)
{
	struct tlink *l = tlink_open("server", 1);
	char *argv[] = { S("cat"), NULL };
	struct tview v;
	struct top op;

	make_shell(l, &v, "main", argv);
	top_init(&op, OP_NEW);
	op.open.argv = argv;
	op.open.shell = S("main");
	top_open(&op, l, 1);
	top_await_over(&op);
	ck_assert_int_eq(op.code, R_EXISTS);
	random_bytes(op.open.op, MSG_ID);
	op.open.how = NEW_OR_FIND;
	top_open(&op, l, 2);
	top_await_started(&op);
	ck_assert_uint_eq(op.st.uid, v.uid);
	top_clear(&op);
	top_init(&op, OP_NEW);
	op.open.argv = argv;
	top_open(&op, l, 3);
	top_await_started(&op);
	ck_assert_str_eq(op.st.shell, "1");
	top_clear(&op);
	top_init(&op, OP_NEW);
	op.open.argv = argv;
	op.open.shell = S("no/such");
	top_open(&op, l, 4);
	top_await_over(&op);
	ck_assert_int_eq(op.code, R_USAGE);
	top_clear(&op);
	top_init(&op, OP_NEW);
	argv[0] = S("no-such-command");
	op.open.argv = argv;
	op.open.shell = S("x");
	top_open(&op, l, 5);
	top_await_over(&op);
	ck_assert_int_eq(op.code, R_NO_COMMAND);
	ck_assert_ptr_null(tlink_find(l, F_GONE, -1));
	top_clear(&op);
}
END_TEST

START_TEST(making_a_shell_again_with_the_same_id_finds_it)
{
	struct tlink *l = tlink_open("server", 1);
	char *argv[] = { S("cat"), NULL };
	struct top op;
	uint64_t uid;

	top_init(&op, OP_NEW);
	op.open.argv = argv;
	op.open.shell = S("main");
	top_open(&op, l, 1);
	top_await_started(&op);
	uid = op.st.uid;
	tlink_cut(l);
	l = tlink_open("server", 2);
	top_open(&op, l, 1);
	top_await_started(&op);
	ck_assert(op.started);
	ck_assert_int_eq(op.st.resumed, 1);
	ck_assert_uint_eq(op.st.uid, uid);
	top_clear(&op);
}
END_TEST

START_TEST(a_mark_lies_between_what_was_before_and_what_came_of_it)
{
	struct tlink *l = tlink_open("server", 1);
	struct tview v;
	struct top t;

	make_sh(l, &v, "main", "stty -echo; echo before; read x; "
	    "echo \"got $x\"; read x");
	watch(&v, 2, false, 0);
	view_await_text(&v, "before\r\n");
	type_open(&t, &v, "key\n", 0, 1);
	top_await_taken(&t, 4);
	view_await_text(&v, "got key");
	ck_assert_str_eq(v.events, "R24x80@0 O8 M@8 O9 ");
	ck_assert_uint_eq(t.taken, 4);
	top_clear(&t);
}
END_TEST

START_TEST(held_input_waits_for_a_sign_of_life)
{
	struct tlink *l = tlink_open("server", 1);
	uint64_t begin = clock_ms();
	struct tview v;
	struct top t;

	make_sh(l, &v, "main", "sleep 30");
	type_open(&t, &v, "x", INPUT_HOLD, 1);
	top_await_taken(&t, 1);
	ck_assert_uint_ge(clock_ms() - begin, HOLD_MS - 20);
	top_clear(&t);
	begin = clock_ms();
	make_sh(l, &v, "other", "echo hi; sleep 30");
	watch(&v, 1, false, 0);
	type_open(&t, &v, "x", INPUT_HOLD, 2);
	top_await_taken(&t, 1);
	view_poll(&v);
	/* Output first, then the mark. */
	view_await_text(&v, "hi");
	ck_assert_ptr_nonnull(strstr(v.events, "M@4"));
	top_clear(&t);
}
END_TEST

START_TEST(typed_bytes_arrive_once_and_in_order_over_lost_links)
{
	struct tlink *l = tlink_open("server", 1);
	size_t n = 300000, i;
	uint8_t *in = xmalloc(n);
	struct tview v;
	struct top t;
	uint64_t epoch;

	/* Lines, so that a canonical terminal takes them. */
	for (i = 0; i < n; i++)
		in[i] = i % 60 == 59 ? '\n' : (uint8_t)('a' + i / 60 % 26);
	make_sh(l, &v, "main", "stty -echo; echo up; cat >file; sync");
	watch(&v, 1, false, 0);
	view_await_text(&v, "up");
	type_open(&t, &v, "", 0, 1);
	t.in = in;
	t.nin = n;
	for (epoch = 2; epoch < 6; epoch++) {
		top_await_taken(&t, (epoch - 1) * 50000);
		tlink_cut(l);
		l = tlink_open("server", epoch);
		v.l = l;
		t.open.flags = OPEN_RESUME;
		top_open(&t, l, (uint32_t)epoch);
	}
	top_await_taken(&t, n);
	send_empty(l, F_CLOSE, (uint32_t)(epoch - 1));
	top_clear(&t);
	watch(&v, 1, true, v.end);
	type_text(&v, "\004");
	view_await_flag(&v, &v.ended);
	{
		char path[128], *data;
		ssize_t got;

		snprintf(path, sizeof path, "%s/file", home_dir);
		got = fd_read_file(path, &data, 1u << 24);
		ck_assert_int_eq(got, (ssize_t)n);
		ck_assert_mem_eq(data, in, n);
		free(data);
	}
	free(in);
}
END_TEST

START_TEST(a_size_takes_effect_at_an_offset_and_only_when_it_changes)
{
	struct tlink *l = tlink_open("server", 1);
	struct tview v;

	make_sh(l, &v, "main", "trap 'stty size' WINCH; echo up; "
	    "while :; do read x; done");
	watch(&v, 1, false, 0);
	view_await_text(&v, "up\r\n");
	size(&v, 24, 80);
	size(&v, 30, 100);
	type_text(&v, "\n");
	view_await_text(&v, "30 100");
	ck_assert_ptr_nonnull(strstr(v.events, "R24x80@0 O4 R30x100@4 "));
	size(&v, 0, 0);
	size(&v, 30, 100);
	size(&v, 31, 100);
	type_text(&v, "\n");
	view_await_text(&v, "31 100");
	ck_assert_ptr_null(strstr(v.events, "R0x0"));
}
END_TEST

START_TEST(an_end_is_told_after_the_last_byte)
{
	struct tlink *l = tlink_open("server", 1);
	struct tview v, w;
	struct top t;

	make_sh(l, &v, "main", "head -c 200000 /dev/zero | tr '\\0' x; "
	    "exit 9");
	/* Nobody watches it: told at once. */
	got_free(await(l, F_SHELL, v.id));
	w = v;
	buf_init(&w.out, 1u << 20);
	watch(&w, 2, false, 0);
	view_await_flag(&w, &w.ended);
	ck_assert_uint_eq(w.end, 200000);
	ck_assert_int_eq(w.sh.how, END_EXIT);
	ck_assert_uint_eq(w.sh.code, 9);
	type_open(&t, &v, "x", 0, 3);
	top_await_over(&t);
	ck_assert_int_eq(t.code, R_ENDED);
	top_clear(&t);
	send_empty(l, F_DISMISS, v.id);
	view_await_flag(&w, &w.gone);
}
END_TEST

START_TEST(a_killed_shell_is_gone_after_hup_or_after_the_grace)
{
	struct tlink *l = tlink_open("server", 1);
	struct tview v;
	uint64_t begin;

	make_sh(l, &v, "soft", "echo up; sleep 100");
	watch(&v, 1, false, 0);
	view_await_text(&v, "up");
	begin = clock_ms();
	kill_shell(&v, "");
	view_await_flag(&v, &v.gone);
	ck_assert_uint_lt(clock_ms() - begin, KILL_GRACE_MS - 500);
	make_sh(l, &v, "hard", "trap '' HUP; echo up; sleep 100");
	watch(&v, 1, false, 0);
	view_await_text(&v, "up");
	begin = clock_ms();
	kill_shell(&v, "");
	view_await_flag(&v, &v.gone);
	ck_assert_uint_ge(clock_ms() - begin, KILL_GRACE_MS - 500);
	make_sh(l, &v, "int", "echo up; sleep 100");
	watch(&v, 1, false, 0);
	view_await_text(&v, "up");
	kill_shell(&v, "TERM");
	view_await_flag(&v, &v.ended);
	ck_assert_int_eq(v.sh.how, END_SIGNAL);
	ck_assert_str_eq(v.sh.signal, "TERM");
}
END_TEST

START_TEST(a_watcher_goes_on_at_the_byte_after_a_lost_link)
{
	struct tlink *l = tlink_open("server", 1);
	struct tview v;
	char want[32];
	size_t i, at = 0;

	make_sh(l, &v, "main", "i=0; stty -onlcr; while [ $i -lt 30000 ]; do "
	    "i=$((i+1)); echo $i; done; echo end; cat");
	watch(&v, 2, false, 0);
	for (i = 2; i < 5; i++) {
		snprintf(want, sizeof want, "\n%zu\n", i * 5000);
		view_await_text(&v, want);
		tlink_cut(l);
		l = tlink_open("server", i);
		v.l = l;
		got_free(await(l, F_SHELL, v.id));
		watch(&v, 2, true, v.end);
	}
	view_await_text(&v, "\nend\n");
	for (i = 1; i <= 30000; i++) {
		snprintf(want, sizeof want, "%zu\n", i);
		ck_assert_mem_eq(v.out.data + at, want, strlen(want));
		at += strlen(want);
	}
}
END_TEST

START_TEST(a_shell_that_is_looked_at_stops_at_the_credit)
{
	struct tlink *l = tlink_open("server", 1);
	struct tview v;
	struct msg_shell sh;
	struct got *g;
	uint64_t until, limit;
	int i;

	make_sh(l, &v, "main", "while :; do echo yyyyyyyyyyyyyyyyyyyyyyyyyyy; "
	    "done");
	watch(&v, 2, false, 0);
	until = clock_ms() + WAIT_MS;
	while (view_poll(&v), v.end < 300000) {
		ck_assert(clock_ms() < until);
		turn(10);
	}
	/* No more credit, but signs of life for longer than the agent waits
	 * for a silent server. */
	v.ack = false;
	limit = v.end + v.window;
	for (i = 0; i < 150 || v.end < limit; i++) {
		ck_assert(clock_ms() < until);
		conn_send(l->conn, CONN_CONTROL, F_PING, 0,
		    "0123456789abcdef", 16);
		turn(10);
		view_poll(&v);
	}
	ck_assert_uint_eq(v.end, limit);
	/* What the agent has read is told to whoever comes; asked while the
	 * first link still holds the shell, as it would run on without it. */
	g = await(tlink_open("other", 1), F_SHELL, v.id);
	ck_assert_int_eq(msg_shell_get(&sh, g->data, g->len), 0);
	ck_assert_uint_le(sh.end, limit + 4 * SLICE_MAX);
	msg_shell_free(&sh);
	got_free(g);
}
END_TEST

START_TEST(a_watcher_that_says_nothing_is_left_behind_and_told_of_the_gap)
{
	struct tlink *l = tlink_open("server", 1), *o;
	struct tview v, w;
	uint64_t until;

	make_sh(l, &v, "main", "head -c 6000000 /dev/zero | tr '\\0' x; "
	    "echo end; cat");
	v.ack = false;
	v.window = 1000;
	watch(&v, 2, false, 0);
	o = tlink_open("other", 1);
	until = clock_ms() + WAIT_MS;
	w = v;
	w.l = o;
	w.ack = true;
	w.window = WATCH_WINDOW;
	buf_init(&w.out, 1u << 30);
	/* The second only mirrors: it does not slow anything either. */
	watch(&w, 1, false, 0);
	view_await_text(&w, "end");
	(void)until;
	/* The first has credit again, and the ring has moved on. */
	v.window = 10000000;
	view_poll(&v);
	v.ack = true;
	taken(&v);
	view_await_text(&v, "end");
	ck_assert_ptr_nonnull(strstr(v.events, "G1000-"));
	ck_assert_ptr_nonnull(strstr(strstr(v.events, "G1000-"), "R24x80@"));
}
END_TEST

START_TEST(a_question_is_answered_once)
{
	struct tlink *l = tlink_open("server", 1);
	struct tview v;
	struct buf b;
	int i;
	static const struct { int at; const char *text; } t[] = {
		{ 3, "one" }, { 3, "again" }, { 2, "older" }, { 4, "two\n" }
	};

	make_sh(l, &v, "main", "stty -echo; echo up; read x; echo \"<$x>\"; "
	    "cat");
	watch(&v, 1, false, 0);
	view_await_text(&v, "up\r\n");
	for (i = 0; i < 4; i++) {
		buf_init(&b, 64);
		buf_u64(&b, (uint64_t)t[i].at);
		buf_puts(&b, t[i].text);
		conn_send_buf(l->conn, CONN_CONTROL, F_ANSWER, v.id, &b);
		buf_free(&b);
	}
	view_await_text(&v, "<onetwo>");
}
END_TEST

START_TEST(a_server_that_breaks_a_rule_is_dropped_alone)
{
	struct tlink *l = tlink_open("server", 1), *o;
	struct tview v;

	make_sh(l, &v, "main", "echo up; cat");
	watch(&v, 1, false, 0);
	view_await_text(&v, "up");
	o = tlink_open("other", 1);
	v.l = o;
	watch(&v, 2, true, 1000000);
	ck_assert(await_closed(o));
	v.l = l;
	type_text(&v, "still here\n");
	view_await_text(&v, "still here");
}
END_TEST

START_TEST(the_oldest_ended_shells_go_when_there_are_too_many)
{
	struct tlink *l = tlink_open("server", 1);
	char *argv[] = { S("true"), NULL };
	struct got *g;
	struct tview v;
	unsigned int i;
	uint32_t first = 0;

	for (i = 0; i < SHELLS_ENDED_MAX + 2; i++) {
		make_shell(l, &v, "", argv);
		if (i == 0)
			first = v.id;
		buf_free(&v.out);
		got_free(await_ms(l, F_SHELL, v.id, 5000));
	}
	g = await(l, F_GONE, -1);
	ck_assert_uint_eq(g->channel, first);
	got_free(g);
	got_free(await(l, F_GONE, -1));
}
END_TEST

START_TEST(an_idle_shell_costs_little)
{
	struct tlink *l = tlink_open("server", 1);
	char *argv[] = { S("sleep"), S("1000"), NULL };
	struct tview v;
	char path[64], *text;
	long before, after;
	int i;

	snprintf(path, sizeof path, "/proc/%u/statm", l->pid);
	make_shell(l, &v, "", argv);
	ck_assert_int_gt(fd_read_file(path, &text, 4096), 0);
	before = strtol(strchr(text, ' '), NULL, 10);
	free(text);
	for (i = 0; i < 50; i++) {
		make_shell(l, &v, "", argv);
		watch(&v, 1, false, 0);
		turn(1);
	}
	ck_assert_int_gt(fd_read_file(path, &text, 4096), 0);
	after = strtol(strchr(text, ' '), NULL, 10);
	free(text);
	ck_assert_int_lt((after - before) * 4 / 50, 32);
}
END_TEST

static const struct agent_test tests[] = {
	T(a_new_shell_is_a_login_shell_on_a_terminal),
	T(a_name_is_taken_once_and_the_lowest_number_is_given),
	T(making_a_shell_again_with_the_same_id_finds_it),
	T(a_mark_lies_between_what_was_before_and_what_came_of_it),
	T(held_input_waits_for_a_sign_of_life),
	T(typed_bytes_arrive_once_and_in_order_over_lost_links),
	T(a_size_takes_effect_at_an_offset_and_only_when_it_changes),
	T(an_end_is_told_after_the_last_byte),
	T(a_killed_shell_is_gone_after_hup_or_after_the_grace),
	T(a_watcher_goes_on_at_the_byte_after_a_lost_link),
	T(a_shell_that_is_looked_at_stops_at_the_credit),
	T(a_watcher_that_says_nothing_is_left_behind_and_told_of_the_gap),
	T(a_question_is_answered_once),
	T(a_server_that_breaks_a_rule_is_dropped_alone),
	T(the_oldest_ended_shells_go_when_there_are_too_many),
	T(an_idle_shell_costs_little),
};

int
main(int argc, char **argv)
{
	return agent_suite(argc, argv, "shells", tests, sizeof tests /
	    sizeof *tests, home_make, home_clean);
}
