/* SPDX-License-Identifier: ISC */
/*
 * The agent from the wire's side: a real one in a home of its own, commands
 * and what a lost link may and may not do to them, fencing.
 */
#include "agent-link.h"

#define S(x) ((char *)(uintptr_t)(x))

/* ---- commands ---- */

START_TEST(exit_statuses_and_signals_are_the_commands_own)
{
	static const struct {
		const char *script;
		int how;
		unsigned int code;
		const char *signal;
	} t[] = {
		{ "exit 0", END_EXIT, 0, "" },
		{ "exit 3", END_EXIT, 3, "" },
		{ "exit 125", END_EXIT, 125, "" },
		{ "exit 255", END_EXIT, 255, "" },
		{ "kill -9 $$", END_SIGNAL, 137, "KILL" },
		{ "kill -TERM $$", END_SIGNAL, 143, "TERM" },
	};
	struct tlink *l = tlink_open("server", 1);
	struct top op;
	size_t i;

	for (i = 0; i < sizeof t / sizeof *t; i++) {
		exec_sh(&op, l, (uint32_t)i, t[i].script);
		ck_assert(op.exited);
		ck_assert_int_eq(op.exit.how, t[i].how);
		ck_assert_uint_eq(op.exit.code, t[i].code);
		ck_assert_str_eq(op.exit.signal, t[i].signal);
		ck_assert_int_eq(op.exit.open, 0);
		top_clear(&op);
	}
}
END_TEST

START_TEST(what_cannot_run_is_refused_as_a_shell_would)
{
	static const struct {
		const char *name, *cwd;
		int code;
	} t[] = {
		{ "no-such-command-anywhere", "", R_NO_COMMAND },
		{ "/no/such/file", "", R_NO_COMMAND },
		{ "/etc/passwd", "", R_NO_EXEC },
		{ "/", "", R_NO_EXEC },
		{ "true", "/no/such/dir", R_ERROR },
	};
	struct tlink *l = tlink_open("server", 1);
	char *argv[2] = { NULL, NULL };
	struct top op;
	size_t i;

	for (i = 0; i < sizeof t / sizeof *t; i++) {
		argv[0] = S(t[i].name);
		top_init(&op, OP_EXEC);
		op.open.argv = argv;
		op.open.cwd = S(t[i].cwd);
		top_open(&op, l, 1);
		top_await_over(&op);
		ck_assert(op.refused);
		ck_assert_int_eq(op.code, t[i].code);
		ck_assert_ptr_nonnull(strstr(op.text, *t[i].cwd != '\0' ?
		    t[i].cwd : t[i].name));
		top_clear(&op);
	}
}
END_TEST

START_TEST(streams_are_separate_and_arguments_arrive_as_given)
{
	char *argv[] = { S("sh"), S("-c"), S("printf '%s|' \"$@\"; "
	    "echo err >&2"), S("sh"), S("a b"), S(""), S("'\"\\\n$x"), NULL };
	struct tlink *l = tlink_open("server", 1);
	struct top op;

	exec_argv(&op, l, 1, argv);
	ck_assert_uint_eq(op.out[0].len, 3 + 2 + 6 + 1);
	ck_assert_mem_eq(op.out[0].data, "a b||'\"\\\n$x|", op.out[0].len);
	ck_assert_uint_eq(op.out[1].len, 4);
	ck_assert_mem_eq(op.out[1].data, "err\n", 4);
	top_clear(&op);
}
END_TEST

static uint8_t *
noise(size_t n, unsigned int seed)
{
	uint8_t *p = xmalloc(n);
	size_t i;

	for (i = 0; i < n; i++) {
		seed = seed * 1103515245 + 12345;
		p[i] = (uint8_t)(seed >> 16);
	}
	return p;
}

START_TEST(binary_input_comes_back_whole_and_its_end_is_heard)
{
	struct tlink *l = tlink_open("server", 1);
	size_t n = 3000000;
	uint8_t *in = noise(n, 7);
	char *argv[] = { S("cat"), NULL };
	struct top op;

	top_init(&op, OP_EXEC);
	op.open.argv = argv;
	op.in = in;
	op.nin = n;
	op.in_end = true;
	top_open(&op, l, 1);
	top_await_over(&op);
	ck_assert(op.exited);
	ck_assert_uint_eq(op.out[0].len, n);
	ck_assert_mem_eq(op.out[0].data, in, n);
	top_clear(&op);
	free(in);
}
END_TEST

START_TEST(input_that_nobody_reads_counts_as_taken)
{
	struct tlink *l = tlink_open("server", 1);
	size_t n = 2000000;
	uint8_t *in = noise(n, 8);
	struct top op;
	char *argv[] = { S("sh"), S("-c"), S("exec <&-; sleep 0.2; echo done"),
	    NULL };

	top_init(&op, OP_EXEC);
	op.open.argv = argv;
	op.in = in;
	op.nin = n;
	op.in_end = true;
	top_open(&op, l, 1);
	top_await_taken(&op, n);
	top_await_over(&op);
	ck_assert_uint_eq(op.exit.code, 0);
	top_clear(&op);
	free(in);
}
END_TEST

START_TEST(a_reader_that_stalls_stops_the_writer)
{
	struct tlink *l = tlink_open("server", 1);
	char *argv[] = { S("sh"), S("-c"), S("head -c 3000000 /dev/zero; "
	    "echo end >&2"), NULL };
	struct top op;

	top_init(&op, OP_EXEC);
	op.open.argv = argv;
	op.window = 1000;
	top_open(&op, l, 1);
	top_await_started(&op);
	/* One slice within the credit, and then none. */
	op.l = l;
	got_free(await(l, F_DATA, 1));
	ck_assert_ptr_null(await_ms(l, F_DATA, 1, 300));
	ck_assert_ptr_null(tlink_find(l, F_EXIT, 1));
	top_clear(&op);
}
END_TEST

START_TEST(sixty_four_at_once_get_their_own_status_and_bytes)
{
	struct tlink *l = tlink_open("server", 1);
	struct top op[64];
	char script[64][96], *argv[64][4];
	uint64_t until = clock_ms() + WAIT_MS;
	size_t i, j, over;

	for (i = 0; i < 64; i++) {
		snprintf(script[i], sizeof script[i], "head -c 100000 "
		    "/dev/zero | tr '\\0' '\\%o'; exit %zu",
		    (unsigned int)(i + 33), i);
		argv[i][0] = S("sh");
		argv[i][1] = S("-c");
		argv[i][2] = script[i];
		argv[i][3] = NULL;
		top_init(&op[i], OP_EXEC);
		op[i].open.argv = argv[i];
		top_open(&op[i], l, (uint32_t)i + 100);
	}
	do {
		ck_assert(clock_ms() < until && !l->closed);
		turn(20);
		for (over = i = 0; i < 64; i++) {
			top_poll(&op[i]);
			over += op[i].exited;
		}
	} while (over < 64);
	for (i = 0; i < 64; i++) {
		ck_assert_uint_eq(op[i].exit.code, i);
		ck_assert_uint_eq(op[i].out[0].len, 100000);
		for (j = 0; j < 100000; j++)
			if (op[i].out[0].data[j] != i + 33)
				ck_abort_msg("a byte of another's");
		top_clear(&op[i]);
	}
}
END_TEST

START_TEST(a_signal_reaches_the_commands_whole_group)
{
	struct tlink *l = tlink_open("server", 1);
	/* The child says so when it is there: dash itself forgets an INT that
	 * comes while it forks. */
	char *argv[] = { S("sh"), S("-c"), S("sh -c 'echo up; exec sleep 100'"
	    "; echo no"), NULL };
	struct top op;
	struct buf b;

	top_init(&op, OP_EXEC);
	op.open.argv = argv;
	top_open(&op, l, 1);
	top_await_out(&op, 3);
	buf_init(&b, 64);
	buf_str(&b, "INT");
	conn_send_buf(l->conn, CONN_CONTROL, F_SIGNAL, 1, &b);
	buf_free(&b);
	top_await_over(&op);
	ck_assert_int_eq(op.exit.how, END_SIGNAL);
	ck_assert_str_eq(op.exit.signal, "INT");
	ck_assert_uint_eq(op.out[0].len, 3);
	top_clear(&op);
}
END_TEST

START_TEST(an_exit_does_not_wait_for_a_child_that_keeps_the_streams)
{
	struct tlink *l = tlink_open("server", 1);
	uint64_t begin = clock_ms();
	struct top op;

	exec_sh(&op, l, 1, "sleep 30 & echo hello; exit 4");
	ck_assert_uint_lt(clock_ms() - begin, 10000);
	ck_assert_int_eq(op.exit.open, 1);
	ck_assert_uint_eq(op.exit.code, 4);
	ck_assert_uint_eq(op.out[0].len, 6);
	top_clear(&op);
}
END_TEST

START_TEST(a_command_whose_reader_is_gone_meets_a_closed_pipe)
{
	struct tlink *l = tlink_open("server", 1);
	char *argv[] = { S("yes"), NULL };
	struct top op;
	struct buf b;
	int early;

	/* Said while it runs, and before there is a process. */
	home_file(".profile", "sleep 0.3\n");
	for (early = 0; early < 2; early++) {
		top_init(&op, OP_EXEC);
		op.open.argv = argv;
		op.open.probe = early ? PROBE_LOGIN : PROBE_NO;
		op.window = 0;
		top_open(&op, l, (uint32_t)early);
		if (!early)
			top_await_started(&op);
		buf_init(&b, 32);
		buf_u8(&b, 1);
		buf_u64(&b, 0);
		conn_send_buf(l->conn, CONN_CONTROL, F_END, (uint32_t)early,
		    &b);
		buf_free(&b);
		op.window = OP_WINDOW;
		if (!early)
			top_credit(&op, 1);
		got_free(await(l, F_EXIT, early));
		send_empty(l, F_CLOSE, (uint32_t)early);
		top_clear(&op);
	}
}
END_TEST

START_TEST(a_pty_is_a_terminal_of_the_given_size)
{
	struct tlink *l = tlink_open("server", 1);
	char *argv[] = { S("sh"), S("-c"), S("test -t 0 && test -t 2 && "
	    "stty size && echo $TERM >/dev/tty; exit 5"), NULL };
	struct top op;

	top_init(&op, OP_EXEC);
	op.open.argv = argv;
	op.open.how = EXEC_PTY;
	op.open.rows = 33;
	op.open.cols = 101;
	top_open(&op, l, 1);
	top_await_over(&op);
	ck_assert_uint_eq(op.exit.code, 5);
	buf_u8(&op.out[0], 0);
	ck_assert_str_eq((char *)op.out[0].data,
	    "33 101\r\nxterm-256color\r\n");
	op.out[0].len--;
	top_clear(&op);
}
END_TEST

/* ---- lost links ---- */

START_TEST(a_stream_goes_on_to_the_byte_after_a_lost_link)
{
	struct tlink *l = tlink_open("server", 1);
	size_t n = 4000000;
	uint8_t *in = noise(n, 9);
	char *argv[] = { S("cat"), NULL };
	struct top op;
	uint64_t epoch;

	top_init(&op, OP_EXEC);
	op.open.argv = argv;
	op.in = in;
	op.nin = n;
	op.in_end = true;
	top_open(&op, l, 1);
	for (epoch = 2; epoch < 8; epoch++) {
		top_await_out(&op, (size_t)(epoch - 1) * 500000);
		tlink_cut(l);
		l = tlink_open(epoch % 2 ? "server" : "another", epoch);
		op.open.flags = OPEN_RESUME;
		top_open(&op, l, (uint32_t)epoch);
		top_await_started(&op);
		ck_assert(op.started);
		ck_assert_int_eq(op.st.resumed, 1);
	}
	top_await_over(&op);
	ck_assert_uint_eq(op.out[0].len, n);
	ck_assert_mem_eq(op.out[0].data, in, n);
	top_clear(&op);
	free(in);
}
END_TEST

START_TEST(an_exit_is_kept_until_the_client_has_it)
{
	struct tlink *l = tlink_open("server", 1);
	char *argv[] = { S("sh"), S("-c"), S("echo late; exit 7"), NULL };
	struct top op;

	top_init(&op, OP_EXEC);
	op.open.argv = argv;
	top_open(&op, l, 1);
	got_free(await(l, F_EXIT, 1));
	tlink_cut(l);
	l = tlink_open("server", 2);
	op.open.flags = OPEN_RESUME;
	top_open(&op, l, 5);
	top_await_over(&op);
	ck_assert_uint_eq(op.exit.code, 7);
	ck_assert_uint_eq(op.out[0].len, 5);
	/* CLOSE was sent: now nobody knows it. */
	top_open(&op, l, 6);
	top_await_over(&op);
	ck_assert(op.refused);
	ck_assert_int_eq(op.code, R_UNKNOWN_OP);
	top_clear(&op);
}
END_TEST

START_TEST(opening_twice_starts_once)
{
	struct tlink *l = tlink_open("server", 1);
	char *argv[] = { S("sh"), S("-c"), S("echo x >>count; cat; "
	    "wc -l <count"), NULL };
	struct top op;

	top_init(&op, OP_EXEC);
	op.open.argv = argv;
	top_open(&op, l, 1);
	top_await_started(&op);
	/* The client never saw the STARTED: no OPEN_RESUME. */
	tlink_cut(l);
	l = tlink_open("server", 2);
	op.in_end = true;
	top_open(&op, l, 1);
	top_await_over(&op);
	ck_assert_uint_ge(op.out[0].len, 2);
	ck_assert_int_eq(op.out[0].data[0], '1');
	ck_assert_uint_eq(op.out[0].len, 2);
	top_clear(&op);
}
END_TEST

START_TEST(another_instance_and_an_unknown_id_are_refused)
{
	struct tlink *l = tlink_open("server", 1);
	char *argv[] = { S("true"), NULL };
	struct top op;

	top_init(&op, OP_EXEC);
	op.open.argv = argv;
	op.open.flags = OPEN_RESUME;
	top_open(&op, l, 1);
	top_await_over(&op);
	ck_assert_int_eq(op.code, R_UNKNOWN_OP);
	l->agent[3] ^= 1;
	op.open.flags = 0;
	top_open(&op, l, 1);
	top_await_over(&op);
	ck_assert_int_eq(op.code, R_OTHER_AGENT);
	top_clear(&op);
}
END_TEST

START_TEST(a_cancelled_command_gets_hup_and_then_kill)
{
	struct tlink *l = tlink_open("server", 1);
	char *argv[] = { S("sh"), S("-c"), S("exec 2>/dev/null; trap 'echo hup >hup' HUP; "
	    "echo $$; while :; do sleep 0.1; done"), NULL };
	uint64_t begin;
	struct top op;
	char path[128];
	pid_t pid;

	top_init(&op, OP_EXEC);
	op.open.argv = argv;
	top_open(&op, l, 1);
	top_await_out(&op, 2);
	pid = (pid_t)op.st.pid;
	ck_assert_int_eq(kill(pid, 0), 0);
	begin = clock_ms();
	send_empty(l, F_CANCEL, 1);
	while (kill(pid, 0) == 0 && clock_ms() < begin + WAIT_MS)
		turn(20);
	ck_assert_int_eq(kill(pid, 0), -1);
	ck_assert_uint_ge(clock_ms() - begin, KILL_GRACE_MS - 500);
	snprintf(path, sizeof path, "%s/hup", home_dir);
	ck_assert_int_eq(access(path, F_OK), 0);
	top_clear(&op);
}
END_TEST

START_TEST(a_clients_fault_ends_its_operation_and_nothing_else)
{
	struct tlink *l = tlink_open("server", 1);
	char *argv[] = { S("cat"), NULL };
	struct top a, b;
	struct buf d;

	top_init(&a, OP_EXEC);
	a.open.argv = argv;
	top_open(&a, l, 1);
	top_await_started(&a);
	top_init(&b, OP_EXEC);
	b.open.argv = argv;
	top_open(&b, l, 2);
	top_await_started(&b);
	buf_init(&d, 64);		/* a gap */
	buf_u8(&d, 0);
	buf_u64(&d, 10);
	buf_puts(&d, "x");
	conn_send_buf(l->conn, CONN_KEYS, F_DATA, 1, &d);
	buf_free(&d);
	top_await_over(&a);
	ck_assert(a.refused);
	b.in = (const uint8_t *)"fine";
	b.nin = 4;
	b.in_end = true;
	top_await_over(&b);
	ck_assert_uint_eq(b.out[0].len, 4);
	top_clear(&a);
	top_clear(&b);
}
END_TEST

/* ---- servers ---- */

START_TEST(a_newer_connection_of_a_server_fences_the_older)
{
	struct tlink *l = tlink_open("server", 1), *m, *o, *n;

	o = tlink_open("other", 1);
	m = tlink_open("server", 2);
	got_free(await(l, F_FAIL, -1));
	ck_assert(await_closed(l));
	/* ... and the older cannot come back. */
	n = tlink_raw();
	tlink_hello(n, "server", 1);
	got_free(await(n, F_FAIL, -1));
	ck_assert(await_closed(n));
	ck_assert(!m->closed && !o->closed);
	send_empty(m, F_REFRESH, 0);
	send_empty(m, F_BYE, 0);
	ck_assert(!o->closed);
}
END_TEST

START_TEST(garbage_and_frames_before_hello_cost_only_their_connection)
{
	struct tlink *good = tlink_open("server", 1), *l = tlink_raw();
	struct top op;
	int fd;

	send_empty(l, F_REFRESH, 0);
	ck_assert(await_closed(l));
	fd = fd_connect_unix(home_place->agent_sock);
	ck_assert_int_gt(fd_write_all(fd, "GET / HTTP/1.0\n\n", 16), 0);
	l = tlink_over(fd, fd);
	ck_assert(await_closed(l));
	exec_sh(&op, good, 1, "exit 2");
	ck_assert_uint_eq(op.exit.code, 2);
	top_clear(&op);
}
END_TEST

START_TEST(a_server_of_an_unknown_version_is_told_both)
{
	struct tlink *l = tlink_raw();
	struct msg_hello m;
	struct got *g;
	struct buf b;

	memset(&m, 0, sizeof m);
	m.proto_min = m.proto_max = 77;
	m.role = ROLE_SERVER;
	m.version = m.host = m.machine = S("");
	buf_init(&b, 4096);
	msg_hello_put(&b, &m);
	conn_send_buf(l->conn, CONN_CONTROL, F_HELLO, 0, &b);
	buf_free(&b);
	g = await(l, F_FAIL, -1);
	ck_assert_ptr_nonnull(memmem(g->data, g->len, "77", 2));
	got_free(g);
	g = await(l, F_HELLO, -1);
	msg_hello_get(&m, g->data, g->len);
	agent_pid = (pid_t)m.pid;
	msg_hello_free(&m);
	got_free(g);
}
END_TEST

/* ---- environment ---- */

START_TEST(a_command_sees_the_login_shells_environment)
{
	struct tlink *l;
	char *argv[] = { S("sh"), S("-c"), S("echo \"$FROM_PROFILE,$MINE,"
	    "$SSH_CONNECTION,$DLMUX_X,$LANG,$HOME,$TERM\"; pwd"), NULL };
	char *env[] = { S("MINE=m"), NULL }, want[256];
	struct top op;

	home_file(".profile", "echo noise; export FROM_PROFILE='a  b'\n");
	setenv("SSH_CONNECTION", "1 2 3 4", 1);
	setenv("DLMUX_X", "x", 1);
	setenv("TERM", "dumb", 1);
	unsetenv("LANG");
	unsetenv("LC_ALL");
	unsetenv("LC_CTYPE");
	l = tlink_open("server", 1);
	top_init(&op, OP_EXEC);
	op.open.argv = argv;
	op.open.env = env;
	op.open.probe = PROBE_LOGIN;
	top_open(&op, l, 1);
	top_await_over(&op);
	snprintf(want, sizeof want, "a  b,m,,,C.UTF-8,%s,\n%s\n", home_dir,
	    home_dir);
	buf_u8(&op.out[0], 0);
	ck_assert_str_eq((char *)op.out[0].data, want);
	op.out[0].len--;
	top_clear(&op);
}
END_TEST

START_TEST(a_slow_start_up_file_is_waited_for_once)
{
	struct tlink *l;
	char *argv[] = { S("sh"), S("-c"), S("echo $N"), NULL };
	uint64_t begin;
	struct top op[3];
	int i;

	home_file(".profile", "sleep 1; echo x >>runs; N=$(wc -l <runs); "
	    "export N\n");
	l = tlink_open("server", 1);
	begin = clock_ms();
	for (i = 0; i < 2; i++) {
		top_init(&op[i], OP_EXEC);
		op[i].open.argv = argv;
		op[i].open.probe = PROBE_LOGIN;
		top_open(&op[i], l, (uint32_t)i);
	}
	for (i = 0; i < 2; i++)
		top_await_over(&op[i]);
	ck_assert_uint_ge(clock_ms() - begin, 900);
	begin = clock_ms();
	top_init(&op[2], OP_EXEC);
	op[2].open.argv = argv;
	op[2].open.probe = PROBE_LOGIN;
	top_open(&op[2], l, 9);
	top_await_over(&op[2]);
	ck_assert_uint_lt(clock_ms() - begin, 700);
	for (i = 0; i < 3; i++) {
		ck_assert_int_eq(op[i].out[0].data[0], '1');
		top_clear(&op[i]);
	}
	send_empty(l, F_REFRESH, 0);
	top_init(&op[2], OP_EXEC);
	op[2].open.argv = argv;
	op[2].open.probe = PROBE_LOGIN;
	top_open(&op[2], l, 9);
	top_await_over(&op[2]);
	ck_assert_int_eq(op[2].out[0].data[0], '2');
	top_clear(&op[2]);
}
END_TEST

START_TEST(a_start_up_file_that_fails_leaves_the_agents_own)
{
	struct tlink *l;
	char *argv[] = { S("sh"), S("-c"), S("test -n \"$HOME\" && echo $A"),
	    NULL };
	struct top op;

	home_file(".profile", "exit 3\n");
	setenv("A", "own", 1);
	l = tlink_open("server", 1);
	top_init(&op, OP_EXEC);
	op.open.argv = argv;
	op.open.probe = PROBE_LOGIN;
	top_open(&op, l, 1);
	top_await_over(&op);
	ck_assert_uint_eq(op.out[0].len, 4);
	ck_assert_mem_eq(op.out[0].data, "own\n", 4);
	top_clear(&op);
}
END_TEST

/* ---- its end ---- */

START_TEST(an_agent_with_nothing_to_do_goes)
{
	struct tlink *l;
	struct top op;
	uint64_t until;
	int status;

	setenv("DLMUX_AGENT_IDLE_MS", "200", 1);
	l = tlink_open("server", 1);
	turn(600);
	ck_assert(!l->closed);
	exec_sh(&op, l, 1, "echo some; exit 3");
	top_clear(&op);
	tlink_cut(l);
	until = clock_ms() + WAIT_MS;
	/* It is our child, and nothing of it leaked. */
	while (waitpid(agent_pid, &status, WNOHANG) == 0) {
		ck_assert_msg(clock_ms() < until, "it stays");
		turn(20);
	}
	ck_assert_int_eq(status, 0);
	ck_assert_int_eq(access(home_place->agent_sock, F_OK), -1);
	agent_pid = 0;
	/* ... and the next who comes starts another. */
	l = tlink_open("server", 2);
}
END_TEST

START_TEST(term_and_hup_do_not_end_the_agent)
{
	struct tlink *l = tlink_open("server", 1);
	struct top op;

	kill(agent_pid, SIGTERM);
	kill(agent_pid, SIGHUP);
	kill(agent_pid, SIGINT);
	exec_sh(&op, l, 1, "exit 1");
	ck_assert_uint_eq(op.exit.code, 1);
	top_clear(&op);
}
END_TEST

static const struct agent_test tests[] = {
	T(exit_statuses_and_signals_are_the_commands_own),
	T(what_cannot_run_is_refused_as_a_shell_would),
	T(streams_are_separate_and_arguments_arrive_as_given),
	T(binary_input_comes_back_whole_and_its_end_is_heard),
	T(input_that_nobody_reads_counts_as_taken),
	T(a_reader_that_stalls_stops_the_writer),
	T(sixty_four_at_once_get_their_own_status_and_bytes),
	T(a_signal_reaches_the_commands_whole_group),
	T(an_exit_does_not_wait_for_a_child_that_keeps_the_streams),
	T(a_command_whose_reader_is_gone_meets_a_closed_pipe),
	T(a_pty_is_a_terminal_of_the_given_size),
	T(a_stream_goes_on_to_the_byte_after_a_lost_link),
	T(an_exit_is_kept_until_the_client_has_it),
	T(opening_twice_starts_once),
	T(another_instance_and_an_unknown_id_are_refused),
	T(a_cancelled_command_gets_hup_and_then_kill),
	T(a_clients_fault_ends_its_operation_and_nothing_else),
	T(a_newer_connection_of_a_server_fences_the_older),
	T(garbage_and_frames_before_hello_cost_only_their_connection),
	T(a_server_of_an_unknown_version_is_told_both),
	T(a_command_sees_the_login_shells_environment),
	T(a_slow_start_up_file_is_waited_for_once),
	T(a_start_up_file_that_fails_leaves_the_agents_own),
	T(an_agent_with_nothing_to_do_goes),
	T(term_and_hup_do_not_end_the_agent),
};

int
main(int argc, char **argv)
{
	return agent_suite(argc, argv, "agent", tests, sizeof tests /
	    sizeof *tests, home_make, home_clean);
}
