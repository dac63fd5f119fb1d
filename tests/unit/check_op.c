/* SPDX-License-Identifier: ISC */
/*
 * The life of operations that nobody holds: an agent inside the test, so that
 * an hour passes by saying so.
 */
#include "agent-link.h"

#include "../../server/agent/core.h"
#include "../../server/agent/envprobe.h"
#include "../../server/agent/op.h"
#include "../../server/agent/peer.h"
#include "../../server/agent/shell.h"

#define S(x) ((char *)(uintptr_t)(x))

static struct agent *a;

static void
agent_in(void)
{
	home_make();
	a = xcalloc(1, sizeof *a);
	a->lock = a->listener = -1;
	a->base = loop;
	TAILQ_INIT(&a->peers);
	TAILQ_INIT(&a->shells);
	LIST_INIT(&a->handoffs);
	op_init(a);
	random_bytes(a->id, sizeof a->id);
	a->env = strv_copy(environ);
	a->procs = procs_new(loop);
	a->probe = envprobe_new(a);
}

static void
agent_out(void)
{
	peer_clear(a);
	op_clear(a);
	shell_clear(a);
	envprobe_free(a->probe);
	procs_free(a->procs);
	strv_free(a->env);
	free(a);
	agent_pid = 0;
	home_clean();
}

static struct tlink *
link_in(const char *server, uint64_t epoch)
{
	struct tlink *l;
	int sv[2];

	ck_assert_int_eq(fd_pair(sv), 0);
	peer_new(a, sv[1], sv[1], -1, NULL, NULL, 0);
	l = tlink_over(sv[0], sv[0]);
	tlink_hello(l, server, epoch);
	agent_pid = 0;		/* it is us */
	return l;
}

static void
link_lost(struct tlink *l)
{
	size_t n = a->npeers;

	tlink_cut(l);
	while (a->npeers == n)
		turn(10);
}

static void
await_ops(size_t n)
{
	uint64_t until = clock_ms() + WAIT_MS;

	while (a->nops != n) {
		ck_assert_msg(clock_ms() < until, "%zu operations", a->nops);
		turn(10);
	}
}

static void
exec_open(struct top *t, struct tlink *l, uint32_t channel, char **argv)
{
	top_init(t, OP_EXEC);
	t->open.argv = argv;
	top_open(t, l, channel);
	top_await_started(t);
}

START_TEST(a_command_that_no_client_names_is_hung_up_after_a_minute)
{
	char *argv[] = { S("sleep"), S("1000"), NULL };
	struct tlink *l = link_in("server", 1);
	struct top t;
	uint64_t now;

	exec_open(&t, l, 1, argv);
	link_lost(l);
	link_in("other", 1);
	now = clock_ms();
	op_tick(a, now);
	op_tick(a, now + OP_ORPHAN_MS - 1);
	turn(50);
	ck_assert_uint_eq(a->nops, 1);
	ck_assert_int_eq(kill((pid_t)t.st.pid, 0), 0);
	op_tick(a, now + OP_ORPHAN_MS);
	await_ops(0);
	ck_assert_int_eq(kill((pid_t)t.st.pid, 0), -1);
	top_clear(&t);
}
END_TEST

START_TEST(without_a_server_a_command_runs_on)
{
	char *argv[] = { S("sh"), S("-c"), S("sleep 0.3; echo done; exit 4"),
	    NULL };
	struct tlink *l = link_in("server", 1);
	struct top t;
	uint64_t now;

	exec_open(&t, l, 1, argv);
	link_lost(l);
	now = clock_ms();
	op_tick(a, now);
	op_tick(a, now + 3600 * 1000);
	op_tick(a, now + 7200 * 1000);
	l = link_in("server", 2);
	op_tick(a, now + 7300 * 1000);
	t.open.flags = OPEN_RESUME;
	top_open(&t, l, 1);
	/* Named in time: the minute does not run on. */
	top_await_started(&t);
	op_tick(a, now + 7400 * 1000);
	top_await_over(&t);
	ck_assert_uint_eq(t.exit.code, 4);
	ck_assert_uint_eq(t.out[0].len, 5);
	await_ops(0);
	top_clear(&t);
}
END_TEST

START_TEST(a_result_that_nobody_fetches_is_forgotten_but_never_run_again)
{
	char *argv[] = { S("sh"), S("-c"), S("echo x >>count"), NULL };
	struct tlink *l = link_in("server", 1);
	struct top t;
	uint64_t now, until;

	exec_open(&t, l, 1, argv);
	/* It may have come with STARTED. */
	until = clock_ms() + WAIT_MS;
	while (top_poll(&t), !t.exited) {
		ck_assert(clock_ms() < until);
		turn(20);
	}
	link_lost(l);
	now = clock_ms();
	op_tick(a, now + OP_UNCLAIMED_MS + 1000);
	ck_assert_uint_eq(a->nops, 1);	/* alone: a day */
	l = link_in("server", 2);
	op_tick(a, now + OP_UNCLAIMED_MS + 1000);
	ck_assert_uint_eq(a->nops, 0);
	/* A client that never heard STARTED asks again. */
	top_open(&t, l, 1);
	top_await_over(&t);
	ck_assert(t.refused);
	ck_assert_int_eq(t.code, R_UNKNOWN_OP);
	top_clear(&t);
}
END_TEST

START_TEST(a_refused_operation_may_be_asked_for_again)
{
	char *argv[] = { S("./later"), NULL };
	struct tlink *l = link_in("server", 1);
	struct top t;
	char path[128];

	top_init(&t, OP_EXEC);
	t.open.argv = argv;
	top_open(&t, l, 1);
	top_await_over(&t);
	ck_assert_int_eq(t.code, R_NO_COMMAND);
	home_file("later", "#!/bin/sh\nexit 8\n");
	snprintf(path, sizeof path, "%s/later", home_dir);
	ck_assert_int_eq(chmod(path, 0700), 0);
	top_open(&t, l, 1);
	top_await_over(&t);
	ck_assert_uint_eq(t.exit.code, 8);
	top_clear(&t);
}
END_TEST

START_TEST(a_refusal_without_a_link_is_told_when_it_is_back)
{
	char *argv[] = { S("/no/such/file"), NULL };
	struct tlink *l = link_in("server", 1);
	struct top t;

	home_file(".profile", "sleep 0.4\n");
	top_init(&t, OP_EXEC);
	t.open.argv = argv;
	t.open.probe = PROBE_LOGIN;
	top_open(&t, l, 1);
	while (a->nops == 0)
		turn(10);
	link_lost(l);
	turn(50);
	l = link_in("server", 2);
	top_open(&t, l, 1);
	top_await_over(&t);
	ck_assert_int_eq(t.code, R_NO_COMMAND);
	ck_assert_uint_eq(a->nops, 0);
	top_clear(&t);
}
END_TEST

START_TEST(cancelled_while_it_waits_it_never_starts)
{
	char *argv[] = { S("touch"), S("ran"), NULL };
	struct tlink *l = link_in("server", 1);
	struct top t, s;
	char path[128];

	home_file(".profile", "sleep 0.3\n");
	top_init(&t, OP_EXEC);
	t.open.argv = argv;
	t.open.probe = PROBE_LOGIN;
	top_open(&t, l, 1);
	top_init(&s, OP_NEW);
	s.open.argv = argv;
	s.open.shell = S("x");
	s.open.probe = PROBE_LOGIN;
	top_open(&s, l, 2);
	while (a->nops < 2)
		turn(10);
	send_empty(l, F_CANCEL, 1);
	send_empty(l, F_CANCEL, 2);
	await_ops(0);
	turn(600);
	ck_assert_uint_eq(a->nshells, 0);
	snprintf(path, sizeof path, "%s/ran", home_dir);
	ck_assert_int_eq(access(path, F_OK), -1);
	top_clear(&t);
	top_clear(&s);
}
END_TEST

START_TEST(what_a_gone_client_typed_is_still_typed)
{
	char *argv[] = { S("sh"), S("-c"), S("stty raw -echo; echo up; "
	    "sleep 0.5; head -c 30000 | wc -c >n; sleep 100"), NULL };
	struct tlink *l = link_in("server", 1);
	uint8_t in[30000];
	char path[128], *n;
	struct top t, k;
	uint64_t until = clock_ms() + WAIT_MS;

	memset(in, 'k', sizeof in);
	top_init(&t, OP_NEW);
	t.open.argv = argv;
	t.open.shell = S("x");
	top_open(&t, l, 1);
	top_await_started(&t);
	while (TAILQ_FIRST(&a->shells)->ring.end == 0)
		turn(10);
	top_init(&k, OP_INPUT);
	k.open.uid = t.st.uid;
	k.in = in;
	k.nin = sizeof in;
	top_open(&k, l, 2);
	top_await_started(&k);
	top_poll(&k);
	/* Not all of it fits into the pty yet. */
	conn_flush(l->conn);
	turn(20);
	send_empty(l, F_CANCEL, 2);
	await_ops(1);
	snprintf(path, sizeof path, "%s/n", home_dir);
	for (;;) {
		ck_assert(clock_ms() < until);
		if (fd_read_file(path, &n, 100) > 0)
			break;
		turn(20);
	}
	ck_assert_int_eq(atoi(n), 30000);
	free(n);
	top_clear(&t);
	top_clear(&k);
}
END_TEST

START_TEST(there_is_a_limit_to_operations_and_to_variables)
{
	char *argv[] = { S("cat"), NULL }, **env;
	struct tlink *l = link_in("server", 1);
	struct top t;
	uint32_t i;

	env = xcalloc(OPEN_ENV_MAX + 2, sizeof *env);
	for (i = 0; i <= OPEN_ENV_MAX; i++)
		env[i] = S("A=1");
	top_init(&t, OP_EXEC);
	t.open.argv = argv;
	t.open.env = env;
	top_open(&t, l, 1);
	top_await_over(&t);
	ck_assert_int_eq(t.code, R_LIMIT);
	top_clear(&t);
	free(env);
	for (i = 0; i <= OPS_MAX; i++) {
		top_init(&t, OP_NEW);
		t.open.argv = argv;
		t.open.how = NEW_OR_FIND;
		t.open.shell = S("x");
		top_open(&t, l, i);
		if (i < OPS_MAX) {
			top_await_started(&t);
			ck_assert(t.started);
		} else {
			top_await_over(&t);
			ck_assert_int_eq(t.code, R_LIMIT);
		}
		top_clear(&t);
	}
	ck_assert_uint_eq(a->nshells, 1);
}
END_TEST

START_TEST(a_channel_belongs_to_the_last_who_opened_it)
{
	char *argv[] = { S("cat"), NULL };
	struct tlink *l = link_in("server", 1);
	struct top t, u;

	exec_open(&t, l, 1, argv);
	exec_open(&u, l, 1, argv);
	u.in = (const uint8_t *)"hello";
	u.nin = 5;
	u.in_end = true;
	top_await_over(&u);
	ck_assert_uint_eq(u.out[0].len, 5);
	/* The first is there, and can be named again. */
	t.in_end = true;
	t.open.flags = OPEN_RESUME;
	top_open(&t, l, 7);
	top_await_over(&t);
	ck_assert(t.exited);
	top_clear(&t);
	top_clear(&u);
	await_ops(0);
}
END_TEST

static const struct agent_test tests[] = {
	T(a_command_that_no_client_names_is_hung_up_after_a_minute),
	T(without_a_server_a_command_runs_on),
	T(a_result_that_nobody_fetches_is_forgotten_but_never_run_again),
	T(a_refused_operation_may_be_asked_for_again),
	T(a_refusal_without_a_link_is_told_when_it_is_back),
	T(cancelled_while_it_waits_it_never_starts),
	T(what_a_gone_client_typed_is_still_typed),
	T(there_is_a_limit_to_operations_and_to_variables),
	T(a_channel_belongs_to_the_last_who_opened_it),
};

int
main(int argc, char **argv)
{
	return agent_suite(argc, argv, "op", tests, sizeof tests /
	    sizeof *tests, agent_in, agent_out);
}
