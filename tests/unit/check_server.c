/* SPDX-License-Identifier: ISC */
/*
 * The server between a scripted client and a scripted agent: it runs in a
 * child, on a socket of its own, with a link (below) whose far end is this
 * test. What the two ends see is what is tested.
 */
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../server/base/clock.h"
#include "../../server/base/fd.h"
#include "../../server/base/mem.h"
#include "../../server/base/place.h"
#include "../../server/link/link.h"
#include "../../server/server.h"
#include "../../server/state.h"
#include "../../server/wire/conn.h"
#include "../../server/wire/msg.h"
#include "../../term/caps.h"
#include "unit.h"

#define WAIT_MS 5000

/* --- the link ------------------------------------------------------------- */

/*
 * In the server's process. The test says HELLO: up. BYE "why": lost, and
 * tried again; BYE "": lost for good. FAIL: could not be reached. PROMPT: an
 * ssh asks.
 */
struct link {
	struct link_setup	 setup;
	struct conn		*conn;
	enum link_state		 state;
	bool			 retry, let_go;
	char			*text;
	struct msg_hello	 hello;
	uint64_t		 since;
};

static int	 far_fd = -1;	/* the server's end of it */

static void
link_is(struct link *l, enum link_state state, const char *text)
{
	l->state = state;
	l->since = clock_ms();
	free(l->text);
	l->text = xstrdup(text);
	l->setup.cb->state(l, state, text, state == LINK_UP ? &l->hello : NULL,
	    l->setup.arg);
}

static void
link_message(struct conn *c, uint8_t type, uint32_t channel,
    const uint8_t *data, size_t len, void *arg)
{
	struct link *l = arg;
	struct rd r;
	uint32_t id;
	uint8_t echo;
	char *s;

	(void)c;
	rd_init(&r, data, len);
	switch (type) {
	case F_HELLO:
		msg_hello_free(&l->hello);
		ck_assert_int_eq(msg_hello_get(&l->hello, data, len), 0);
		link_is(l, LINK_UP, "connected");
		break;
	case F_BYE:
		s = rd_str(&r, 1000);
		l->retry = *s != '\0';
		link_is(l, LINK_DOWN, s);
		free(s);
		break;
	case F_FAIL:
		(void)rd_u16(&r);
		s = rd_str(&r, 1000);
		link_is(l, LINK_FAILED, s);
		free(s);
		break;
	case F_PROMPT:
		id = rd_u32(&r);
		echo = rd_u8(&r);
		s = rd_str(&r, 1000);
		l->setup.cb->prompt(l, id, echo, s, l->setup.arg);
		free(s);
		break;
	default:
		if (l->state == LINK_UP)
			l->setup.cb->message(l, type, channel, data, len,
			    l->setup.arg);
	}
}

static void
link_over(struct conn *c, const char *why, void *arg)
{
	struct link *l = arg;

	(void)why;
	l->conn = NULL;
	conn_free(c);
}

static const struct conn_cb link_conn_cb = {
	.message = link_message, .closed = link_over
};

struct link *
link_new(const struct link_setup *setup, const struct target *t)
{
	struct link *l = xcalloc(1, sizeof *l);

	(void)t;
	l->setup = *setup;
	l->text = xstrdup("not connected");
	return l;
}

void
link_free(struct link *l)
{
	if (l == NULL)
		return;
	conn_free(l->conn);
	msg_hello_free(&l->hello);
	free(l->text);
	free(l);
}

void
link_connect(struct link *l, char *const *env, enum link_who who)
{
	(void)env;
	(void)who;
	if (l->conn == NULL)
		l->conn = conn_new(l->setup.base, dup(far_fd), dup(far_fd),
		    PEER_AGENT | PEER_SERVER_C, &link_conn_cb, l);
	l->let_go = false;
	if (l->state == LINK_DOWN || l->state == LINK_FAILED)
		link_is(l, LINK_CONNECTING, "connecting");
}

void
link_disconnect(struct link *l, const char *why)
{
	struct buf b;

	if (l->state == LINK_UP) {
		buf_init(&b, 100);
		buf_str(&b, "");
		conn_send_buf(l->conn, CONN_CONTROL, F_BYE, 0, &b);
		buf_free(&b);
	}
	l->retry = false;
	l->let_go = true;
	link_is(l, LINK_DOWN, why);
}

/* The keeper's way in; no keeper runs here. */
void
link_adopt(struct link *l, int fd)
{
	(void)l;
	close(fd);
}

void
link_want(struct link *l, bool on)
{
	if (on && l->state == LINK_DOWN && l->let_go)
		link_is(l, LINK_CONNECTING, "wanted");
}

void
link_reply(struct link *l, uint32_t id, bool ok, const char *s)
{
	struct buf b;

	buf_init(&b, 4096);
	buf_u32(&b, id);
	buf_u8(&b, ok);
	buf_str(&b, s);
	conn_send_buf(l->conn, CONN_CONTROL, F_REPLY, 0, &b);
	buf_free(&b);
}

/* Nobody will answer: the try is over. */
void
link_give_up(struct link *l)
{
	link_is(l, LINK_FAILED, "not answered");
}

bool
link_ask(struct link *l, const char *token, int kind, const char *text,
    void (*reply)(bool, const char *, void *), void *arg)
{
	(void)l;
	(void)kind;
	if (strcmp(token, "good") != 0)
		return false;
	reply(true, text, arg);
	return true;
}

void
link_send(struct link *l, enum conn_class class, uint8_t type,
    uint32_t channel, const void *data, size_t len)
{
	if (l->state == LINK_UP && l->conn != NULL)
		conn_send(l->conn, class, type, channel, data, len);
}

void
link_send_buf(struct link *l, enum conn_class class, uint8_t type,
    uint32_t channel, struct buf *b)
{
	link_send(l, class, type, channel, b->data, b->len);
	buf_reset(b);
}

void link_retarget(struct link *l, const struct target *t) { (void)l; (void)t; }
void link_busy(struct link *l, bool on) { (void)l; (void)on; }
void link_ask_gone(struct link *l, void *arg) { (void)l; (void)arg; }
void link_set_tries(struct link *l, const char *s) { (void)l; (void)s; }
enum link_state link_state(const struct link *l) { return l->state; }
const char *link_text(const struct link *l) { return l->text; }
uint64_t link_since_ms(const struct link *l) { return l->since; }
uint64_t link_silent_ms(const struct link *l) { (void)l; return 0; }
uint64_t link_next_ms(const struct link *l) { (void)l; return 0; }
const char *link_why(const struct link *l) { (void)l; return NULL; }
bool link_held(const struct link *l) { (void)l; return false; }
uint64_t link_rtt_us(const struct link *l) { (void)l; return 1234; }
const struct msg_hello *link_agent(const struct link *l) { return &l->hello; }
size_t link_queued(const struct link *l)
{
	return l->conn != NULL ? conn_queued(l->conn) : 0;
}
pid_t link_pid(const struct link *l) { (void)l; return 0; }
bool link_retrying(const struct link *l) { return l->retry; }
char *link_tries(const struct link *l) { (void)l; return xstrdup(""); }

/* --- frames, from the test's side ----------------------------------------- */

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

/* --- the client's words ----------------------------------------------------- */

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

static void
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

/* --- the agent's words ------------------------------------------------------- */

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

static void
say_bye(const char *why)
{
	struct buf b;

	buf_init(&b, 100);
	buf_str(&b, why);
	put_buf(&agent, F_BYE, 0, &b);
}

static void
say_fail(const char *why)
{
	struct buf b;

	buf_init(&b, 100);
	buf_u16(&b, R_ERROR);
	buf_str(&b, why);
	put_buf(&agent, F_FAIL, 0, &b);
}

static void
say_string(uint8_t type, uint32_t channel, const char *s)
{
	struct buf b;

	buf_init(&b, 1000);
	buf_str(&b, s);
	put_buf(&agent, type, channel, &b);
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

static void
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
static void
want_shown(struct end *e, uint32_t channel, const char *text)
{
	do {
		want(e, F_PICTURE);
		put(e, F_SHOWN, channel, e->msg.data, 4);
	} while (!has_text(e, text));
}

static struct msg_left
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

static void
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

static void
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

static struct msg_waited
want_waited(struct end *e)
{
	struct msg_waited m;

	want(e, F_WAITED);
	ck_assert_int_eq(msg_waited_get(&m, e->msg.data, e->msg.len), 0);
	return m;
}

static void
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

static void
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

static void
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

/* --- the server's process ---------------------------------------------------- */

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

/* --- attaching ------------------------------------------------------------------ */

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

/* --- pictures ------------------------------------------------------------------ */

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

/* --- mirrors -------------------------------------------------------------------- */

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

/* --- waits and captures -------------------------------------------------------- */

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

/* --- relays ----------------------------------------------------------------------- */

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

/* --- bad peers ---------------------------------------------------------------------- */

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

/* --- the rest ------------------------------------------------------------------------- */

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
	TCase *t = tcase_create("running"), *u = tcase_create("starting");

	tcase_add_checked_fixture(t, setup_running, teardown);
	tcase_set_timeout(t, 30);
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
	tcase_add_test(t, bytes_told_twice_are_taken_once);
	tcase_add_test(t, a_hole_in_the_stream_is_asked_for_anew);
	tcase_add_test(t, lost_bytes_are_told_to_who_looks);
	tcase_add_test(t, what_is_parsed_is_acknowledged);
	tcase_add_test(t, checkpoints_are_handed_back_and_start_another_server);
	tcase_add_test(t, a_damaged_checkpoint_costs_nobody_the_shell);
	tcase_add_test(t, questions_are_answered_with_their_offset);
	tcase_add_test(t, an_armed_wait_looks_only_behind_its_mark);
	tcase_add_test(t, a_wait_that_comes_behind_its_mark_still_finds_it);
	tcase_add_test(t, a_line_that_flew_by_is_seen);
	tcase_add_test(t, a_wrapped_line_is_one_line);
	tcase_add_test(t, waits_for_quiet_time_out_and_end);
	tcase_add_test(t, an_expression_that_would_stop_the_server_is_refused);
	tcase_add_test(t, a_capture_waits_for_the_link_and_the_mirror);
	tcase_add_test(t, a_capture_goes_back_as_far_as_asked);
	tcase_add_test(t, keys_are_encoded_by_the_modes_of_the_program);
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
	suite_add_tcase(s, t);
	tcase_add_checked_fixture(u, setup, teardown);
	tcase_set_timeout(u, 30);
	tcase_add_test(u, a_damaged_state_file_is_set_aside);
	tcase_add_test(u, without_descriptors_it_waits_and_serves_who_is_there);
	suite_add_tcase(s, u);
	return suite_run(s);
}
