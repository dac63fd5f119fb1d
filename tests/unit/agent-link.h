/* SPDX-License-Identifier: ISC */
/*
 * For the agent's tests: a real agent in a home of its own, and a server's
 * end of a link that keeps what came until a test asks for it. The test
 * program is the agent's program as well: main() gives `agent ...` to
 * agent_main().
 */
#ifndef DLMUX_AGENT_LINK_H
#define DLMUX_AGENT_LINK_H

#include <sys/prctl.h>
#include <sys/queue.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../server/agent/agent.h"
#include "../../server/agent/handoff.h"
#include "../../server/base/clock.h"
#include "../../server/base/fd.h"
#include "../../server/base/limits.h"
#include "../../server/base/mem.h"
#include "../../server/base/place.h"
#include "../../server/wire/conn.h"
#include "../../server/wire/msg.h"
#include "unit.h"

#define WAIT_MS 20000	/* nothing takes so long; a lost answer does */

struct got {
	TAILQ_ENTRY(got) entry;
	uint8_t	 type;
	uint32_t channel;
	size_t	 len;
	uint8_t	*data;
};

struct tlink {
	struct conn	*conn;
	TAILQ_HEAD(, got) got;
	bool		 closed;
	char		*why;
	uint8_t		 agent[MSG_ID];
	uint32_t	 pid;
};

/* A failed test leaves what it holds; only the agent's leaks count. */
void	 __lsan_disable(void) __attribute__((weak));

static struct event_base *loop;
static struct place *home_place;
static char home_dir[64];
static pid_t agent_pid;

static MAYBE void
home_make(void)
{
	if (__lsan_disable != NULL)
		__lsan_disable();
	snprintf(home_dir, sizeof home_dir, "/tmp/dlmux-agent-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(home_dir));
	setenv("HOME", home_dir, 1);
	setenv("SHELL", "/bin/sh", 1);
	setenv("PS1", "$ ", 1);
	/* One that a failed test leaves behind goes by itself. */
	setenv("DLMUX_AGENT_IDLE_MS", "2000", 1);
	/* This program would not know what to do as one. */
	setenv("DLMUX_KEEPER", "no", 1);
	unsetenv("ENV");
	unsetenv("XDG_STATE_HOME");
	unsetenv("XDG_CACHE_HOME");
	unsetenv("DLMUX_INSTANCE");
	loop = fd_loop(0);
	ck_assert_ptr_nonnull(loop);
	home_place = place_open(NULL, NULL);
	ck_assert_ptr_nonnull(home_place);
	agent_pid = 0;
}

static MAYBE void
home_file(const char *name, const char *text)
{
	char path[256];

	snprintf(path, sizeof path, "%s/%s", home_dir, name);
	ck_assert_int_eq(fd_write_file(path, text, strlen(text)), 0);
}

static MAYBE void
home_clean(void)
{
	char cmd[160];

	if (agent_pid > 1)
		kill(agent_pid, SIGKILL);
	snprintf(cmd, sizeof cmd, "rm -rf '%s'", home_dir);
	ck_assert_int_eq(system(cmd), 0);
}

/* As the server does for `local`: an agent through /proc/self/exe. */
static MAYBE void
agent_run(void)
{
	char word[64];
	int p[2];
	ssize_t n;
	pid_t pid;

	ck_assert_int_eq(fd_pipe(p), 0);
	if ((pid = fork()) == 0) {
		setsid();
		/* A test that is aborted cleans nothing up: its agent goes
		 * with it, and with that agent its shells' terminals. */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(p[1], 10);
		execl("/proc/self/exe", "check_agent", "agent", "--daemon",
		    "10", (char *)NULL);
		_exit(9);
	}
	close(p[1]);
	n = read(p[0], word, sizeof word - 1);
	ck_assert_int_gt(n, 0);
	word[n] = '\0';
	ck_assert_str_eq(word, "ok\n");
	close(p[0]);
}

static MAYBE void
tlink_message(struct conn *c, uint8_t type, uint32_t channel,
    const uint8_t *data, size_t len, void *arg)
{
	struct tlink *l = arg;
	struct got *g;

	if (type == F_PING) {
		conn_send(c, CONN_CONTROL, F_PONG, 0, data, len);
		return;
	}
	g = xcalloc(1, sizeof *g);
	g->type = type;
	g->channel = channel;
	g->len = len;
	g->data = xmalloc(len + 1);
	memcpy(g->data, data, len);
	g->data[len] = 0;
	TAILQ_INSERT_TAIL(&l->got, g, entry);
}

static MAYBE void
tlink_closed(struct conn *c, const char *why, void *arg)
{
	struct tlink *l = arg;

	l->closed = true;
	l->why = xstrdup(why);
	conn_free(c);
	l->conn = NULL;
}

static MAYBE void
got_free(struct got *g)
{
	if (g == NULL)
		return;
	free(g->data);
	free(g);
}

static MAYBE void
turn(int ms)
{
	struct timeval tv = { ms / 1000, ms % 1000 * 1000 };

	event_base_loopexit(loop, &tv);
	event_base_loop(loop, EVLOOP_ONCE);
}

static MAYBE struct got *
tlink_find(struct tlink *l, uint8_t type, int64_t channel)
{
	struct got *g;

	TAILQ_FOREACH(g, &l->got, entry)
		if (g->type == type &&
		    (channel < 0 || g->channel == (uint32_t)channel))
			return g;
	return NULL;
}

/* The next such message, taken out; NULL when it does not come in time. */
static MAYBE struct got *
await_ms(struct tlink *l, uint8_t type, int64_t channel, int ms)
{
	uint64_t until = clock_ms() + (uint64_t)ms;
	struct got *g;

	while ((g = tlink_find(l, type, channel)) == NULL) {
		if (clock_ms() >= until || l->closed)
			return NULL;
		turn(20);
	}
	TAILQ_REMOVE(&l->got, g, entry);
	return g;
}

static MAYBE struct got *
await(struct tlink *l, uint8_t type, int64_t channel)
{
	struct got *g = await_ms(l, type, channel, WAIT_MS);

	ck_assert_msg(g != NULL, "no frame of type %#x came%s%s", type,
	    l->closed ? ": " : "", l->closed ? l->why : "");
	return g;
}

static MAYBE bool
await_closed(struct tlink *l)
{
	uint64_t until = clock_ms() + WAIT_MS;

	while (!l->closed && clock_ms() < until)
		turn(20);
	return l->closed;
}

static MAYBE struct tlink *
tlink_over(int rfd, int wfd)
{
	static const struct conn_cb cb = { tlink_message, tlink_closed, NULL };
	struct tlink *l = xcalloc(1, sizeof *l);

	TAILQ_INIT(&l->got);
	l->conn = conn_new(loop, rfd, wfd, PEER_AGENT, &cb, l);
	conn_count(l->conn);
	return l;
}

static MAYBE void
tlink_hello(struct tlink *l, const char *server, uint64_t epoch)
{
	struct msg_hello m;
	struct got *g;
	struct buf b;

	memset(&m, 0, sizeof m);
	m.proto_min = PROTO_MIN;
	m.proto_max = PROTO_MAX;
	m.role = ROLE_SERVER;
	strncpy((char *)m.id, server, MSG_ID);
	m.epoch = epoch;
	m.pid = (uint32_t)getpid();
	m.version = m.host = m.machine = (char *)(uintptr_t)"test";
	buf_init(&b, 4096);
	msg_hello_put(&b, &m);
	conn_send_buf(l->conn, CONN_CONTROL, F_HELLO, 0, &b);
	buf_free(&b);
	g = await(l, F_HELLO, -1);
	ck_assert_int_eq(msg_hello_get(&m, g->data, g->len), 0);
	ck_assert_int_eq(m.role, ROLE_AGENT);
	memcpy(l->agent, m.id, MSG_ID);
	l->pid = m.pid;
	agent_pid = (pid_t)m.pid;
	msg_hello_free(&m);
	got_free(g);
	got_free(await(l, F_READY, -1));
}

static MAYBE struct tlink *
tlink_raw(void)
{
	struct buf b;
	int fd;

	fd = fd_connect_unix(home_place->agent_sock);
	if (fd == -1) {
		agent_run();
		fd = fd_connect_unix(home_place->agent_sock);
	}
	ck_assert_int_ne(fd, -1);
	buf_init(&b, HANDOFF_HEAD_MAX + HANDOFF_ENV_MAX);
	handoff_put(&b, "-", false, environ);
	ck_assert_int_gt(fd_write_all(fd, b.data, b.len), 0);
	buf_free(&b);
	return tlink_over(fd, fd);
}

static MAYBE struct tlink *
tlink_open(const char *server, uint64_t epoch)
{
	struct tlink *l = tlink_raw();

	tlink_hello(l, server, epoch);
	return l;
}

/* Gone without a word, as by kill -9. */
static MAYBE void
tlink_cut(struct tlink *l)
{
	struct got *g;

	conn_free(l->conn);
	while ((g = TAILQ_FIRST(&l->got)) != NULL) {
		TAILQ_REMOVE(&l->got, g, entry);
		got_free(g);
	}
	free(l->why);
	free(l);
}

static MAYBE void
send_empty(struct tlink *l, uint8_t type, uint32_t channel)
{
	conn_send(l->conn, CONN_CONTROL, type, channel, NULL, 0);
}

/* ---- operations ---- */

struct top {			/* a client's side of an operation */
	struct tlink	*l;
	uint32_t	 channel;
	struct msg_open	 open;
	bool		 started, refused, exited, ended[2];
	struct msg_started st;
	struct msg_exit	 exit;
	uint16_t	 code;		/* of REFUSED */
	char		*text;
	struct buf	 out[2];
	uint64_t	 window;	/* credit given beyond what we have */
	const uint8_t	*in;		/* what is to be sent, nin bytes */
	size_t		 nin, sent;
	bool		 in_end, end_sent;
	uint64_t	 in_max, taken;
};

static MAYBE void
top_init(struct top *t, uint8_t kind)
{
	memset(t, 0, sizeof *t);
	random_bytes(t->open.op, MSG_ID);
	t->open.kind = kind;
	t->open.probe = PROBE_NO;
	t->open.shell = t->open.cwd = (char *)(uintptr_t)"";
	t->window = OP_WINDOW;
	buf_init(&t->out[0], 1u << 30);
	buf_init(&t->out[1], 1u << 30);
}

static MAYBE void
top_open(struct top *t, struct tlink *l, uint32_t channel)
{
	struct buf b;
	int i;

	t->l = l;
	t->channel = channel;
	memcpy(t->open.agent, l->agent, MSG_ID);
	for (i = 0; i < 2; i++) {
		t->open.have[i] = t->out[i].len;
		t->open.max[i] = t->out[i].len + t->window;
		t->ended[i] = false;
	}
	t->started = t->refused = t->exited = false;
	buf_init(&b, OPEN_MAX_BYTES);
	msg_open_put(&b, &t->open);
	conn_send_buf(l->conn, CONN_CONTROL, F_OPEN, channel, &b);
	buf_free(&b);
}

static MAYBE void
top_feed(struct top *t)
{
	struct buf b;
	size_t n;

	while (t->sent < t->nin && t->sent < t->in_max) {
		n = t->nin - t->sent;
		if (n > t->in_max - t->sent)
			n = (size_t)(t->in_max - t->sent);
		if (n > SLICE_MAX)
			n = SLICE_MAX;
		buf_init(&b, SLICE_MAX + 32);
		buf_u8(&b, 0);
		buf_u64(&b, t->sent);
		buf_put(&b, t->in + t->sent, n);
		conn_send_buf(t->l->conn, CONN_KEYS, F_DATA, t->channel, &b);
		buf_free(&b);
		t->sent += n;
	}
	if (t->in_end && !t->end_sent && t->sent == t->nin) {
		t->end_sent = true;
		buf_init(&b, 32);
		buf_u8(&b, 0);
		buf_u64(&b, t->nin);
		conn_send_buf(t->l->conn, CONN_KEYS, F_END, t->channel, &b);
		buf_free(&b);
	}
}

static MAYBE void
top_credit(struct top *t, uint8_t stream)
{
	struct buf b;

	buf_init(&b, 32);
	buf_u8(&b, stream);
	buf_u64(&b, t->out[stream - 1].len);
	buf_u64(&b, t->out[stream - 1].len + t->window);
	conn_send_buf(t->l->conn, CONN_CONTROL, F_CREDIT, t->channel, &b);
	buf_free(&b);
}

static MAYBE void
top_take(struct top *t, const struct got *g)
{
	const uint8_t *p;
	uint64_t at;
	uint8_t s;
	struct rd r;
	size_t n;

	rd_init(&r, g->data, g->len);
	switch (g->type) {
	case F_STARTED:
		t->started = true;
		ck_assert_int_eq(msg_started_get(&t->st, g->data, g->len), 0);
		t->sent = (size_t)t->st.in_next;
		t->in_max = t->st.in_max;
		t->end_sent = false;
		break;
	case F_REFUSED:
		t->refused = true;
		t->code = rd_u16(&r);
		t->text = rd_str(&r, 4096);
		ck_assert(rd_end(&r));
		break;
	case F_DATA:
		s = rd_u8(&r);
		at = rd_u64(&r);
		p = rd_rest(&r, &n);
		ck_assert_int_ge(s, 1);
		ck_assert_int_le(s, 2);
		ck_assert_uint_eq(at, t->out[s - 1].len);
		ck_assert(!t->ended[s - 1]);
		buf_put(&t->out[s - 1], p, n);
		top_credit(t, s);
		break;
	case F_END:
		s = rd_u8(&r);
		at = rd_u64(&r);
		ck_assert(rd_end(&r));
		ck_assert_uint_eq(at, t->out[s - 1].len);
		t->ended[s - 1] = true;
		break;
	case F_CREDIT:
		s = rd_u8(&r);
		at = rd_u64(&r);
		t->in_max = rd_u64(&r);
		ck_assert(rd_end(&r));
		ck_assert_int_eq(s, 0);
		ck_assert_uint_ge(at, t->taken);
		t->taken = at;
		break;
	case F_EXIT:
		t->exited = true;
		ck_assert_int_eq(msg_exit_get(&t->exit, g->data, g->len), 0);
		ck_assert_uint_eq(t->exit.end[0], t->out[0].len);
		ck_assert_uint_eq(t->exit.end[1], t->out[1].len);
		break;
	default:
		ck_abort_msg("type %#x on an operation's channel", g->type);
	}
}

static MAYBE bool
type_is_op(uint8_t type)
{
	return type >= F_OPEN && type <= F_CANCEL;
}

/* Works on what came for it; true if there was anything. */
static MAYBE bool
top_poll(struct top *t)
{
	struct got *g;
	bool any = false;

	for (;;) {
		TAILQ_FOREACH(g, &t->l->got, entry)
			if (type_is_op(g->type) && g->channel == t->channel)
				break;
		if (g == NULL)
			break;
		TAILQ_REMOVE(&t->l->got, g, entry);
		top_take(t, g);
		got_free(g);
		any = true;
	}
	if (t->started && !t->exited && !t->refused)
		top_feed(t);
	return any;
}

static MAYBE void
top_await_started(struct top *t)
{
	uint64_t until = clock_ms() + WAIT_MS;

	while (top_poll(t), !t->started && !t->refused) {
		ck_assert_msg(clock_ms() < until && !t->l->closed,
		    "no STARTED: %s", t->l->closed ? t->l->why : "time");
		turn(20);
	}
}

static MAYBE void
top_await_over(struct top *t)
{
	uint64_t until = clock_ms() + WAIT_MS;

	while (top_poll(t), !t->exited && !t->refused) {
		ck_assert_msg(clock_ms() < until && !t->l->closed,
		    "no EXIT: %s", t->l->closed ? t->l->why : "time");
		turn(20);
	}
	if (t->exited) {
		send_empty(t->l, F_CLOSE, t->channel);
		conn_flush(t->l->conn);
	}
}

static MAYBE void
top_await_out(struct top *t, size_t bytes)
{
	uint64_t until = clock_ms() + WAIT_MS;

	while (top_poll(t), t->out[0].len < bytes) {
		ck_assert_msg(clock_ms() < until && !t->l->closed,
		    "no output");
		turn(20);
	}
}

static MAYBE void
top_await_taken(struct top *t, uint64_t bytes)
{
	uint64_t until = clock_ms() + WAIT_MS;

	while (top_poll(t), t->taken < bytes) {
		ck_assert_msg(clock_ms() < until && !t->l->closed &&
		    !t->refused, "input is not taken");
		turn(20);
	}
}

static MAYBE void
top_clear(struct top *t)
{
	buf_free(&t->out[0]);
	buf_free(&t->out[1]);
	free(t->text);
	if (t->st.shell != NULL)
		msg_started_free(&t->st);
	if (t->exited)
		msg_exit_free(&t->exit);
}

/* Runs argv to its end; the caller clears t. */
static MAYBE void
exec_argv(struct top *t, struct tlink *l, uint32_t channel, char **argv)
{
	top_init(t, OP_EXEC);
	t->open.argv = argv;
	t->in_end = true;
	top_open(t, l, channel);
	top_await_over(t);
}

static MAYBE void
exec_sh(struct top *t, struct tlink *l, uint32_t channel, const char *script)
{
	char *argv[] = { (char *)(uintptr_t)"sh", (char *)(uintptr_t)"-c",
	    (char *)(uintptr_t)script, NULL };

	exec_argv(t, l, channel, argv);
}

/* A row of a program's table of tests. */
struct agent_test {
	const char	 *name;
	const TTest	**test;
};
#define T(name) { #name, &name }

/* main() of a program of such tests: the agent it starts is itself. */
static inline int
agent_suite(int argc, char **argv, const char *name,
    const struct agent_test *tests, size_t n, void (*setup)(void),
    void (*teardown)(void))
{
	Suite *s;
	TCase *c;
	size_t i;

	if (argc > 1 && strcmp(argv[1], "agent") == 0)
		return agent_main(argc - 1, argv + 1);
	if (argc > 1)
		return 2;	/* one that starts us as something else */
	s = suite_create(name);
	/* A case each, so that CK_RUN_CASE=NAME runs one. */
	for (i = 0; i < n; i++) {
		c = tcase_create(tests[i].name);
		tcase_set_timeout(c, 60);
		tcase_add_checked_fixture(c, setup, teardown);
		tcase_add_test(c, *tests[i].test);
		suite_add_tcase(s, c);
	}
	return suite_run(s);
}

#endif
