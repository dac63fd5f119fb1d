/* SPDX-License-Identifier: ISC */
/*
 * For the server's tests: the server between a scripted client and a scripted
 * agent. It runs in a child, on a socket of its own, with a link whose far
 * end is the test. What the two ends see is what is tested.
 */
#ifndef DLMUX_SERVER_ENDS_H
#define DLMUX_SERVER_ENDS_H

#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <check.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../server/base/clock.h"
#include "../../server/base/fd.h"
#include "../../server/base/mem.h"
#include "../../server/base/place.h"
#include "../../server/server.h"
#include "../../server/wire/conn.h"
#include "../../server/wire/msg.h"
#include "../../term/caps.h"
#include "fake-link.h"
#include "unit.h"

#define WAIT_MS 5000

/* --- frames, from the test's side --------------------------------------- */

struct end {
	int		 fd;
	struct buf	 msg;		/* the last message */
	uint8_t		 type;
	uint32_t	 channel;
};

static char	 dir[64];
static pid_t	 server_pid;
static struct place *place;
static struct end agent;		/* our end of the link */
static char	 none_word[] = "";

static void
end_init(struct end *e, int fd)
{
	memset(e, 0, sizeof *e);
	e->fd = fd;
	buf_init(&e->msg, 32u << 20);
}

static void
end_close(struct end *e)
{
	if (e->fd != -1)
		close(e->fd);
	e->fd = -1;
	buf_free(&e->msg);
}

static bool
try_put(struct end *e, uint8_t type, uint32_t channel, const void *data,
    size_t len)
{
	static uint8_t frame[FRAME_HEADER + FRAME_PAYLOAD_MAX];
	struct frame_head h;
	const uint8_t *p = data;

	/* In one write each: a server that refuses the head hangs up. */
	do {
		h.len = len > FRAME_PAYLOAD_MAX ? FRAME_PAYLOAD_MAX :
		    (uint32_t)len;
		h.type = type;
		h.flags = len > FRAME_PAYLOAD_MAX ? FRAME_MORE : 0;
		h.channel = channel;
		frame_head_put(frame, &h);
		if (h.len != 0)
			memcpy(frame + FRAME_HEADER, p, h.len);
		if (fd_write_all(e->fd, frame, FRAME_HEADER + h.len) == -1)
			return false;
		p += h.len;
		len -= h.len;
	} while (len > 0);
	return true;
}

static void
put(struct end *e, uint8_t type, uint32_t channel, const void *data, size_t len)
{
	ck_assert(try_put(e, type, channel, data, len));
}

static void
put_buf(struct end *e, uint8_t type, uint32_t channel, struct buf *b)
{
	ck_assert(buf_ok(b));
	put(e, type, channel, b->data, b->len);
	buf_free(b);
}

/* Fills n bytes; false at EOF or when nothing came for ms. */
static bool
fill(int fd, void *out, size_t n, int ms)
{
	struct pollfd p = { fd, POLLIN, 0 };
	uint8_t *to = out;
	ssize_t got;

	while (n > 0) {
		if (poll(&p, 1, ms) <= 0)
			return false;
		got = read(fd, to, n);
		if (got <= 0)
			return false;
		to += got;
		n -= (size_t)got;
	}
	return true;
}

/* The next message of any type; false if none came. */
static bool
next(struct end *e, int ms)
{
	uint8_t head[FRAME_HEADER];
	struct frame_head h;

	buf_reset(&e->msg);
	do {
		if (!fill(e->fd, head, sizeof head, ms))
			return false;
		ck_assert(frame_head_get(head, &h));
		if (h.len > 0) {
			ck_assert_ptr_nonnull(buf_reserve(&e->msg, h.len));
			if (!fill(e->fd, e->msg.data + e->msg.len, h.len,
			    WAIT_MS))
				return false;
			e->msg.len += h.len;
		}
		e->type = h.type;
		e->channel = h.channel;
	} while (h.flags & FRAME_MORE);
	return true;
}

/* The next of that type, others skipped. */
static void
want_in(struct end *e, uint8_t type, const char *file, int line)
{
	uint64_t end = clock_ms() + WAIT_MS;
	char seen[400] = "";
	size_t n;

	while (clock_ms() < end && next(e, WAIT_MS)) {
		if (e->type == type)
			return;
		n = strlen(seen);
		snprintf(seen + n, sizeof seen - n, " %s",
		    frame_kind(e->type)->name);
	}
	ck_abort_msg("%s:%d: no %s came (seen:%s)", file, line,
	    frame_kind(type)->name, seen);
}
#define want(e, type) want_in(e, type, __FILE__, __LINE__)

/* Nothing of that type within ms. */
static void
want_no(struct end *e, uint8_t type, int ms)
{
	uint64_t end = clock_ms() + (uint64_t)ms;

	while (clock_ms() < end)
		if (next(e, (int)(end - clock_ms())))
			ck_assert_msg(e->type != type, "a %s came",
			    frame_kind(type)->name);
}

/* --- the client's words ------------------------------------------------- */

static void
hello_put(struct end *e, uint8_t role, uint16_t min, uint16_t max,
    uint8_t id, uint32_t pid)
{
	struct msg_hello m;
	struct buf b;
	char *none[] = { NULL }, version[] = "test";

	memset(&m, 0, sizeof m);
	m.proto_min = min;
	m.proto_max = max;
	m.role = role;
	memset(m.id, id, MSG_ID);
	m.pid = pid;
	m.version = version;
	m.host = m.machine = none_word;
	m.features = none;
	buf_init(&b, 4096);
	msg_hello_put(&b, &m);
	put_buf(e, F_HELLO, 0, &b);
}

static void
dial(struct end *e)
{
	int fd = fd_connect_unix(place->server_sock);

	ck_assert_int_ge(fd, 0);
	(void)fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
	end_init(e, fd);
}

static void
client(struct end *e)
{
	dial(e);
	want(e, F_HELLO);
	hello_put(e, ROLE_CLIENT, PROTO_MIN, PROTO_MAX, 0, 1);
}

static void
use(struct end *e, uint32_t channel, uint8_t flags)
{
	char *none[] = { NULL }, local[] = "local";
	struct msg_use m = { flags, local, none };
	struct buf b;

	buf_init(&b, 4096);
	msg_use_put(&b, &m);
	put_buf(e, F_USE, channel, &b);
	want(e, F_LINK);
	ck_assert_uint_eq(e->channel, channel);
}

static int
link_said(struct end *e)
{
	struct msg_link m;
	int state;

	want(e, F_LINK);
	ck_assert_int_eq(msg_link_get(&m, e->msg.data, e->msg.len), 0);
	state = m.state;
	msg_link_free(&m);
	return state;
}

static MAYBE void
attach_with(struct end *e, uint32_t channel, uint8_t flags, const char *shell,
    uint64_t uid, uint16_t rows, uint16_t cols)
{
	struct msg_attach m;
	struct caps *caps;
	struct buf b, blob;
	char *none[] = { NULL }, local[] = "local", *cause = NULL;

	caps = caps_load("xterm-256color", &cause);
	ck_assert_msg(caps != NULL, "%s", cause);
	buf_init(&blob, 65536);
	caps_put(caps, &blob);
	memset(&m, 0, sizeof m);
	m.flags = flags;
	memset(m.op, 0x33, MSG_ID);
	m.uid = uid;
	m.lines = UINT64_MAX;
	m.rows = rows;
	m.cols = cols;
	m.workspace = local;
	m.shell = xstrdup(shell);
	m.caps = blob.data;
	m.caps_len = blob.len;
	m.env = m.argv = none;
	buf_init(&b, 1 << 20);
	msg_attach_put(&b, &m);
	put_buf(e, F_ATTACH, channel, &b);
	free(m.shell);
	buf_free(&blob);
	caps_free(caps);
}

/* --- the agent's words -------------------------------------------------- */

static void
agent_hello(uint8_t id)
{
	hello_put(&agent, ROLE_AGENT, PROTO_MIN, PROTO_MAX, id, 2);
}

static void
say_shell(uint32_t id, uint64_t uid, const char *name, bool ended,
    uint32_t code, uint64_t end)
{
	struct msg_shell m;
	struct buf b;

	memset(&m, 0, sizeof m);
	m.uid = uid;
	m.ended = ended;
	m.how = ended ? END_EXIT : END_NONE;
	m.code = code;
	m.pid = 77;
	m.created_ms = 1000 + id;
	m.end = end;
	m.rows = 24;
	m.cols = 80;
	m.signal = m.command = none_word;
	m.name = xstrdup(name);
	buf_init(&b, 4096);
	msg_shell_put(&b, &m);
	put_buf(&agent, F_SHELL, id, &b);
	free(m.name);
}

static void
say_resized(uint32_t id, uint64_t at, uint16_t rows, uint16_t cols)
{
	struct buf b;

	buf_init(&b, 100);
	buf_u64(&b, at);
	buf_u16(&b, rows);
	buf_u16(&b, cols);
	put_buf(&agent, F_RESIZED, id, &b);
}

static void
say_bytes(uint32_t id, uint64_t at, const void *p, size_t n)
{
	struct buf b;

	buf_init(&b, 65536);
	buf_u64(&b, at);
	buf_put(&b, p, n);
	put_buf(&agent, F_OUTPUT, id, &b);
}

static uint64_t
say(uint32_t id, uint64_t at, const char *s)
{
	say_bytes(id, at, s, strlen(s));
	return at + strlen(s);
}

static MAYBE void
say_bye(const char *why)
{
	struct buf b;

	buf_init(&b, 100);
	buf_str(&b, why);
	put_buf(&agent, F_BYE, 0, &b);
}

struct watch { unsigned int level, have; uint64_t from, max; };

static struct watch
want_watch(uint32_t id)
{
	struct watch w;
	struct rd r;

	want(&agent, F_WATCH);
	ck_assert_uint_eq(agent.channel, id);
	rd_init(&r, agent.msg.data, agent.msg.len);
	w.level = rd_u8(&r);
	w.have = rd_u8(&r);
	w.from = rd_u64(&r);
	w.max = rd_u64(&r);
	ck_assert(rd_end(&r));
	return w;
}

/* A linked workspace with one shell, "main", that has printed text. */
static uint64_t
begin_shell(struct end *c, const char *text)
{
	uint64_t at;

	client(c);
	use(c, 1, 0);
	agent_hello(1);
	ck_assert_int_eq(link_said(c), LINK_UP);
	say_shell(5, 500, "main", false, 0, 0);
	put(&agent, F_READY, 0, NULL, 0);
	ck_assert_uint_eq(want_watch(5).have, 0);
	say_resized(5, 0, 24, 80);
	at = say(5, 0, text);
	return at;
}

static MAYBE void
want_text(struct end *e, const char *text)
{
	ck_assert_msg(memmem(e->msg.data, e->msg.len, text, strlen(text)) !=
	    NULL, "no \"%s\" in %zu bytes", text, e->msg.len);
}

static bool
has_text(const struct end *e, const char *text)
{
	return memmem(e->msg.data, e->msg.len, text, strlen(text)) != NULL;
}

/* Pictures, acknowledged, until one has the text. */
static MAYBE void
want_shown(struct end *e, uint32_t channel, const char *text)
{
	do {
		want(e, F_PICTURE);
		put(e, F_SHOWN, channel, e->msg.data, 4);
	} while (!has_text(e, text));
}

static MAYBE struct msg_left
want_left(struct end *e)
{
	struct msg_left m;

	want(e, F_LEFT);
	ck_assert_int_eq(msg_left_get(&m, e->msg.data, e->msg.len), 0);
	return m;
}

static unsigned int
want_done(struct end *e, const char *text)
{
	struct msg_done m;
	unsigned int code;

	want(e, F_DONE);
	ck_assert_int_eq(msg_done_get(&m, e->msg.data, e->msg.len), 0);
	if (text != NULL)
		ck_assert_msg(strstr(m.text, text) != NULL, "%s", m.text);
	code = m.code;
	msg_done_free(&m);
	return code;
}

static MAYBE void
ask_capture(struct end *e, uint32_t channel, const char *shell, uint32_t lines)
{
	char local[] = "local";
	struct msg_capture m = { 0, lines, local, NULL };
	struct buf b;

	m.shell = xstrdup(shell);
	buf_init(&b, 1000);
	msg_capture_put(&b, &m);
	put_buf(e, F_CAPTURE, channel, &b);
	free(m.shell);
}

static MAYBE void
ask_wait(struct end *e, uint32_t channel, uint8_t kind, uint8_t armed,
    uint8_t op, const char *regex, uint32_t idle, uint32_t timeout)
{
	char local[] = "local", shell[] = "main";
	struct msg_wait m;
	struct buf b;

	memset(&m, 0, sizeof m);
	m.kind = kind;
	m.armed = armed;
	memset(m.op, op, MSG_ID);
	m.idle_ms = idle;
	m.timeout_ms = timeout;
	m.workspace = local;
	m.shell = shell;
	m.regex = xstrdup(regex);
	buf_init(&b, 8192);
	msg_wait_put(&b, &m);
	put_buf(e, F_WAIT, channel, &b);
	free(m.regex);
}

static MAYBE struct msg_waited
want_waited(struct end *e)
{
	struct msg_waited m;

	want(e, F_WAITED);
	ck_assert_int_eq(msg_waited_get(&m, e->msg.data, e->msg.len), 0);
	return m;
}

static MAYBE void
ask_open(struct end *e, uint32_t channel, uint8_t kind, uint8_t op,
    const char *shell)
{
	struct msg_open m;
	struct buf b;
	char *none[] = { NULL }, arg[] = "true", *argv[] = { arg, NULL };

	memset(&m, 0, sizeof m);
	memset(m.op, op, MSG_ID);
	memset(m.agent, 1, MSG_ID);
	m.kind = kind;
	m.shell = xstrdup(shell);
	m.cwd = none_word;
	m.env = none;
	m.argv = kind == OP_EXEC ? argv : none;
	buf_init(&b, 8192);
	msg_open_put(&b, &m);
	put_buf(e, F_OPEN, channel, &b);
	free(m.shell);
}

static MAYBE void
say_started(uint32_t channel, uint32_t shell, uint64_t uid, const char *name)
{
	struct msg_started m;
	struct buf b;

	memset(&m, 0, sizeof m);
	m.in_max = 1000;
	m.shell_id = shell;
	m.uid = uid;
	m.shell = xstrdup(name);
	buf_init(&b, 1000);
	msg_started_put(&b, &m);
	put_buf(&agent, F_STARTED, channel, &b);
	free(m.shell);
}

static MAYBE void
data_put(struct end *e, uint32_t channel, uint8_t stream, uint64_t at,
    const char *s)
{
	struct buf b;

	buf_init(&b, 8192);
	buf_u8(&b, stream);
	buf_u64(&b, at);
	buf_puts(&b, s);
	put_buf(e, F_DATA, channel, &b);
}

/* --- the server's process ----------------------------------------------- */

static rlim_t	 few_files;	/* descriptors it may have; 0: as we */

static void
start(void)
{
	struct rlimit limit = { few_files, few_files };
	char word[] = "server", run[] = "--run", fd[16], line[100] = "";
	char *argv[] = { word, run, fd, NULL };
	int ready[2];

	ck_assert_int_eq(fd_pipe(ready), 0);
	snprintf(fd, sizeof fd, "%d", ready[1]);
	server_pid = fork();
	ck_assert_int_ne(server_pid, -1);
	if (server_pid == 0) {
		close(ready[0]);
		close(agent.fd);
		if (few_files != 0)
			(void)setrlimit(RLIMIT_NOFILE, &limit);
		_exit(server_main(place, 3, argv));
	}
	close(ready[1]);
	ck_assert(fill(ready[0], line, 6, WAIT_MS));
	ck_assert_str_eq(line, "READY\n");
	close(ready[0]);
}

static void
stop(void)
{
	int status;

	kill(server_pid, SIGTERM);
	ck_assert_int_eq(waitpid(server_pid, &status, 0), server_pid);
	ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0,
	    "the server ended with %#x", status);
	server_pid = 0;
}

static void
setup(void)
{
	char *cause = NULL;
	int sv[2];

	snprintf(dir, sizeof dir, "/tmp/dlmux-server.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	setenv("HOME", dir, 1);
	unsetenv("XDG_STATE_HOME");
	unsetenv("XDG_CONFIG_HOME");
	unsetenv("XDG_CACHE_HOME");
	signal(SIGPIPE, SIG_IGN);
	place = place_open(NULL, &cause);
	ck_assert_msg(place != NULL, "%s", cause);
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0,
	    sv), 0);
	end_init(&agent, sv[0]);
	far_fd = sv[1];
}

static void
setup_running(void)
{
	setup();
	start();
}

static void
teardown(void)
{
	char cmd[100];

	if (server_pid > 0)
		stop();
	place_free(place);
	snprintf(cmd, sizeof cmd, "rm -rf '%s'", dir);
	ck_assert_int_eq(system(cmd), 0);
}

/* The suite's tests of a running server, each with one of its own. */
static TCase *
running(Suite *s)
{
	TCase *t = tcase_create("running");

	tcase_add_checked_fixture(t, setup_running, teardown);
	tcase_set_timeout(t, 30);
	suite_add_tcase(s, t);
	return t;
}

#endif
