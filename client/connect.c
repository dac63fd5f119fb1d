/* SPDX-License-Identifier: ISC */
/*
 * Finding the server, starting it, and finding it again; see connect.h.
 */
#include <sys/types.h>
#include <sys/wait.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "../server/base/clock.h"
#include "../server/base/fd.h"
#include "../server/base/hook.h"
#include "../server/base/limits.h"
#include "../server/base/lock.h"
#include "../server/base/mem.h"
#include "../server/base/version.h"
#include "connect.h"
#include "say.h"

extern char **environ;

struct connect {
	struct event_base	*base;
	const struct place	*place;
	int			 flags;
	const struct connect_cb	*cb;
	void			*arg;

	struct conn		*conn;		/* NULL while there is none */
	uint32_t		 channel;	/* last one given out */
	struct msg_hello	 hello;
	bool			 greeted;	/* hello is filled */
	bool			 met;		/* it was, once */
	pid_t			 server_pid;
	pid_t			 dead_pid;	/* the last one, and since when */
	uint64_t		 dead_ms;
	bool			 over;		/* failed() was called */

	uint64_t		 deadline;	/* clock_ms(): give up looking */
	uint64_t		 no_start;	/* clock_ms(): another starts it */
	int			 deaths;	/* without a word from the server */
	int			 wait_ms;	/* before the next try */
	int			 asked_back;	/* a socket that was removed */
	struct event		*timer;
	int			 ready;		/* the starting server's pipe */
	struct event		*ready_ev;
	char			 said[512];	/* what came out of it */
	size_t			 said_len;
};

static void	 connect_try(struct connect *, bool);

/*
 * What a transport could need is in small variables; giant ones (an exported
 * function, a list of a thousand paths) must not keep anybody out further on,
 * where an environment has a limit (HANDOFF_ENV_MAX). NULL if ours is small
 * enough; else free() it.
 */
#define USE_SMALL	1024
/* ... of 20 ms, at a server that is there but has no socket. */
#define LOOKS		50

static char **
small_environment(void)
{
	char **env;
	size_t i, n = 0, len = 0;

	for (i = 0; environ[i] != NULL; i++)
		len += strlen(environ[i]) + 1;
	if (len <= HANDOFF_ENV_MAX / 2 && i <= USE_ENV_STRINGS)
		return NULL;
	env = xcalloc(i + 1, sizeof *env);
	for (i = 0, len = 0; environ[i] != NULL; i++) {
		if (strlen(environ[i]) >= USE_SMALL)
			continue;
		len += strlen(environ[i]) + 1;
		if (len <= HANDOFF_ENV_MAX / 2 && n < USE_ENV_STRINGS)
			env[n++] = environ[i];
	}
	return env;
}

static void
connect_fail(struct connect *c, const char *why)
{
	if (c->over)
		return;
	c->over = true;
	event_del(c->timer);
	c->cb->failed(c, why, c->arg);
}

static void
connect_drop(struct connect *c)
{
	conn_free(c->conn);
	c->conn = NULL;
	if (c->greeted)
		msg_hello_free(&c->hello);
	c->greeted = false;
}

static void
connect_later(struct connect *c, int ms)
{
	struct timeval tv = { ms / 1000, (ms % 1000) * 1000 };

	evtimer_add(c->timer, &tv);
}

/* --- a connection ------------------------------------------------------ */

static void
connect_say_hello(struct connect *c)
{
	struct msg_hello h;
	struct utsname u;
	struct buf b;
	char *features[] = { (char *)(uintptr_t)FEATURE_PROGRESS, NULL };
	char machine[160];

	memset(&h, 0, sizeof h);
	h.proto_min = PROTO_MIN;
	h.proto_max = PROTO_MAX;
	h.role = ROLE_CLIENT;
	h.pid = (uint32_t)getpid();
	h.now_ms = clock_wall_ms();
	/* The messages' strings are not const; they are only read here. */
	h.version = (char *)(uintptr_t)DLMUX_VERSION;
	memset(&u, 0, sizeof u);
	(void)uname(&u);
	(void)snprintf(machine, sizeof machine, "%s %s", u.sysname, u.machine);
	h.host = u.nodename;
	h.machine = machine;
	h.features = features;
	buf_init(&b, 65536);
	msg_hello_put(&b, &h);
	conn_send_buf(c->conn, CONN_CONTROL, F_HELLO, 0, &b);
	buf_free(&b);
}

static void
connect_take_hello(struct connect *c, const uint8_t *p, size_t n)
{
	char *why;

	if (c->greeted)
		return;
	if (msg_hello_get(&c->hello, p, n) == -1) {
		connect_drop(c);
		connect_fail(c, "the server's greeting is damaged");
		return;
	}
	c->greeted = c->met = true;
	event_del(c->timer);
	if (c->hello.proto_max >= PROTO_MIN && c->hello.proto_min <= PROTO_MAX)
		return;
	why = xasprintf("the server (pid %u, version %s) speaks protocol "
	    "%u-%u, this dlmux (version %s) %u-%u; see `dlmux server restart'",
	    (unsigned)c->hello.pid, c->hello.version, c->hello.proto_min,
	    c->hello.proto_max, DLMUX_VERSION, PROTO_MIN, PROTO_MAX);
	connect_drop(c);
	connect_fail(c, why);
	free(why);
}

static void
connect_take_fail(struct connect *c, const uint8_t *p, size_t n)
{
	struct rd r;
	char *text, *why;
	bool other;

	rd_init(&r, p, n);
	(void)rd_u16(&r);
	text = rd_str(&r, 4096);
	/* An older one may not know what a newer client asks. */
	other = c->greeted && strcmp(c->hello.version, DLMUX_VERSION) != 0;
	why = xasprintf("the server refused: %s%s%s%s",
	    text != NULL ? text : "no reason given",
	    other ? "; it is dlmux " : "", other ? c->hello.version : "",
	    other ? ", this is " DLMUX_VERSION ": dlmux server restart" : "");
	free(text);
	connect_drop(c);
	connect_fail(c, why);
	free(why);
}

/* A restart is like a death: look again, but leave the start to who restarts
 * it. And a server that was stopped must
 * not be started again by whoever happened to be connected. */
static void
connect_take_bye(struct connect *c, const uint8_t *p, size_t n)
{
	struct rd r;
	char *text;

	rd_init(&r, p, n);
	text = rd_str(&r, 4096);
	if (text != NULL && strcmp(text, "stop") == 0) {
		conn_flush(c->conn);
		connect_drop(c);
		connect_fail(c, "the server was stopped");
	} else
		c->no_start = clock_ms() + CONNECT_RESTART_MS;
	free(text);
}

static void
connect_take_news(struct connect *c, const uint8_t *p, size_t n)
{
	struct rd r;
	char *text;

	rd_init(&r, p, n);
	text = rd_str(&r, 4096);
	if (text != NULL && c->cb->news != NULL)
		c->cb->news(c, text, c->arg);
	else if (text != NULL)
		say("%s", text);
	free(text);
}

static void
connect_message(struct conn *conn, uint8_t type, uint32_t channel,
    const uint8_t *p, size_t n, void *arg)
{
	struct connect *c = arg;

	if (c->over)
		return;
	switch (type) {
	case F_HELLO:
		connect_take_hello(c, p, n);
		break;
	case F_PING:
		conn_send(conn, CONN_CONTROL, F_PONG, 0, p, n);
		break;
	case F_PONG:
	case F_RECEIVED:
		break;
	case F_BYE:
		conn_send(conn, CONN_CONTROL, F_BYE, 0, p, n);
		connect_take_bye(c, p, n);
		break;
	case F_FAIL:
		connect_take_fail(c, p, n);
		break;
	case F_NEWS:
		connect_take_news(c, p, n);
		break;
	default:
		/* A server that answers is well; its next death is a new one. */
		c->deaths = 0;
		c->cb->message(c, type, channel, p, n, c->arg);
	}
}

static void
connect_closed(struct conn *conn, const char *why, void *arg)
{
	struct connect *c = arg;
	char *text = xstrdup(why);
	bool greeted = c->greeted;

	(void)conn;
	connect_drop(c);
	c->dead_pid = c->server_pid;
	c->dead_ms = clock_ms();
	if (c->over)
		goto out;
	if (c->flags & CONNECT_ONCE) {
		connect_fail(c, text);
		goto out;
	}
	c->deaths++;
	if (c->deaths > CONNECT_DEATHS_MAX) {
		char *s = xasprintf(greeted ? "the server died %d times (%s); "
		    "see %s" : "what answers is no server (%d times: %s); "
		    "see %s", c->deaths, text, c->place->server_log);
		connect_fail(c, s);
		free(s);
		goto out;
	}
	c->deadline = clock_ms() + CONNECT_SERVER_MS;
	c->wait_ms = 0;
	if (c->cb->down != NULL)
		c->cb->down(c, text, c->arg);
	/* At once after a first death; a server that dies of what it is asked
	 * is not started in a tight loop. */
	connect_later(c, c->deaths > 1 ? 100 : 0);
out:
	free(text);
}

static const struct conn_cb connect_conn_cb = {
	.message = connect_message,
	.closed = connect_closed,
};

static void
connect_up(struct connect *c, int fd)
{
	c->conn = conn_new(c->base, fd, fd, PEER_SERVER_C, &connect_conn_cb, c);
	c->channel = 0;
	/* A server that is stopped or hangs: the kernel accepts for it. Who
	 * was served once waits for it to go on. */
	if (!c->met)
		connect_later(c, CONNECT_SERVER_MS);
	connect_say_hello(c);
	c->cb->up(c, c->arg);
	/* Not at the next turn of the loop: this is the path of every command. */
	if (c->conn != NULL)
		conn_flush(c->conn);
}

/* --- starting a server --------------------------------------------------- */

static void
connect_started(struct connect *c)
{
	char *why;

	event_free(c->ready_ev);
	c->ready_ev = NULL;
	fd_close(&c->ready);
	event_del(c->timer);
	while (c->said_len > 0 && c->said[c->said_len - 1] == '\n')
		c->said_len--;
	c->said[c->said_len] = '\0';
	if (c->said_len > 0 && strcmp(c->said, "READY") != 0 &&
	    strcmp(c->said, "BUSY") != 0) {
		why = xasprintf("the server does not start: %s",
		    strncmp(c->said, "FAIL ", 5) == 0 ? c->said + 5 : c->said);
		connect_fail(c, why);
		free(why);
		return;
	}
	/* READY: it listens. BUSY: another client's server has the lock and
	 * will listen soon. Nothing: it died; one more may do better. */
	connect_try(c, false);
}

/* The server says one line, or dies: either way it is time to look again. */
static void
connect_ready(evutil_socket_t fd, short what, void *arg)
{
	struct connect *c = arg;
	ssize_t n;

	(void)what;
	n = read(fd, c->said + c->said_len, sizeof c->said - 1 - c->said_len);
	if (n == -1 && (errno == EINTR || errno == EAGAIN))
		return;
	if (n > 0) {
		c->said_len += (size_t)n;
		if (c->said_len < sizeof c->said - 1 &&
		    c->said[c->said_len - 1] != '\n')
			return;
	}
	connect_started(c);
}

/* In the grandchild: become the server, away from this terminal. */
static void __attribute__((noreturn))
connect_exec(int ready, char **env)
{
	static const char exe[] = "/proc/self/exe";
	char *argv[] = { (char *)(uintptr_t)"dlmux",
	    (char *)(uintptr_t)"server", (char *)(uintptr_t)"--run",
	    (char *)(uintptr_t)"3", NULL };
	sigset_t none;
	char text[128];
	int fd, sig;

	for (sig = 1; sig < NSIG; sig++)
		(void)signal(sig, SIG_DFL);
	sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	if (ready != 3) {
		(void)dup2(ready, 3);
		ready = 3;
	}
	(void)fcntl(ready, F_SETFD, 0);
	if ((fd = open("/dev/null", O_RDWR)) >= 0) {
		(void)dup2(fd, 0);
		(void)dup2(fd, 1);
		(void)dup2(fd, 2);
	}
	fd_close_from(4);
	(void)chdir("/");
	execve(exe, argv, env != NULL ? env : environ);
	(void)snprintf(text, sizeof text, "cannot run %s: %s\n", exe,
	    strerror(errno));
	(void)fd_write_all(ready, text, strlen(text));
	_exit(127);
}

static void
connect_start(struct connect *c)
{
	char *why, **env = small_environment();
	pid_t pid;
	int p[2];

	if (fd_pipe(p) == -1)
		goto bad;
	HOOK("client-start-server");
	/* Twice, so that it is nobody's child: an attach lives long, and a
	 * server that died under it would stay a zombie. */
	if ((pid = fork()) == -1) {
		close(p[0]);
		close(p[1]);
		goto bad;
	}
	if (pid == 0) {
		(void)setsid();
		if ((pid = fork()) != 0)
			_exit(pid == -1);
		connect_exec(p[1], env);
	}
	close(p[1]);
	while (waitpid(pid, NULL, 0) == -1 && errno == EINTR)
		;
	c->ready = p[0];
	c->said_len = 0;
	c->ready_ev = event_new(c->base, c->ready, EV_READ | EV_PERSIST,
	    connect_ready, c);
	event_add(c->ready_ev, NULL);
	connect_later(c, CONNECT_SERVER_MS);
	free(env);
	return;
bad:
	free(env);
	why = xasprintf("cannot start the server: %s", strerror(errno));
	connect_fail(c, why);
	free(why);
}

/* --- looking for one ------------------------------------------------------ */

static void
connect_give_up(struct connect *c, int error)
{
	char *why;

	if (c->flags & CONNECT_START)
		why = xasprintf("the server does not start (%s%s%s); see %s",
		    strerror(error), c->said_len > 0 ? ", " : "", c->said,
		    c->place->server_log);
	else
		why = xstrdup("no server is running");
	connect_fail(c, why);
	free(why);
}

/* The process that was the server a moment ago. A pid of 0 is of another
 * namespace; our own is that of a test. */
static bool
connect_is_dying(const struct connect *c)
{
	return c->server_pid != 0 && c->server_pid != getpid() &&
	    c->server_pid == c->dead_pid &&
	    clock_ms() - c->dead_ms < CONNECT_DYING_MS;
}

/* may_start: this look may be followed by a start of our own; if not, one has
 * just been tried and a little patience is due first. */
static void
connect_try(struct connect *c, bool may_start)
{
	int error, fd = fd_connect_unix(c->place->server_sock);
	char *why;

	if (fd >= 0 && !fd_peer_is_us(fd, &c->server_pid)) {
		close(fd);
		connect_fail(c, "the server's socket belongs to another user");
		return;
	}
	if (fd >= 0 && connect_is_dying(c)) {
		close(fd);
		connect_later(c, 2);
		return;
	}
	if (fd >= 0) {
		event_del(c->timer);
		connect_up(c, fd);
		return;
	}
	error = errno;
	if (error != ENOENT && error != ECONNREFUSED && error != EAGAIN) {
		why = fd_in_the_way(c->place->server_sock, error);
		connect_fail(c, why);
		free(why);
		return;
	}
	/* One whose socket was removed puts it back when asked. */
	if (!(c->flags & CONNECT_START) && c->asked_back < LOOKS &&
	    lock_wake(c->place->server_lock)) {
		c->asked_back++;
		connect_later(c, 20);
		return;
	}
	if (!(c->flags & CONNECT_START) || clock_ms() >= c->deadline) {
		connect_give_up(c, error);
		return;
	}
	/* EAGAIN: it is there, but its backlog is full. */
	if (may_start && error != EAGAIN && clock_ms() >= c->no_start) {
		connect_start(c);
		return;
	}
	c->wait_ms = c->wait_ms == 0 ? 5 : c->wait_ms < 100 ? c->wait_ms * 2 :
	    100;
	connect_later(c, c->wait_ms);
}

static void
connect_silent(struct connect *c)
{
	char *why;

	why = xasprintf("the server (pid %ld) does not answer; see %s",
	    (long)c->server_pid, c->place->server_log);
	connect_drop(c);
	connect_fail(c, why);
	free(why);
}

static void
connect_timer(evutil_socket_t fd, short what, void *arg)
{
	struct connect *c = arg;

	(void)fd;
	(void)what;
	if (c->conn != NULL)
		connect_silent(c);
	else if (c->ready_ev != NULL)	/* started, and silent for too long */
		connect_started(c);
	else
		connect_try(c, true);
}

struct connect *
connect_new(struct event_base *base, const struct place *place, int flags,
    const struct connect_cb *cb, void *arg)
{
	struct connect *c = xcalloc(1, sizeof *c);

	c->base = base;
	c->place = place;
	c->flags = flags;
	c->cb = cb;
	c->arg = arg;
	c->ready = -1;
	c->timer = evtimer_new(base, connect_timer, c);
	return c;
}

void
connect_begin(struct connect *c)
{
	c->deadline = clock_ms() + CONNECT_SERVER_MS;
	connect_try(c, true);
}

void
connect_free(struct connect *c)
{
	if (c == NULL)
		return;
	connect_drop(c);
	if (c->ready_ev != NULL)
		event_free(c->ready_ev);
	fd_close(&c->ready);
	event_free(c->timer);
	free(c);
}

struct conn *
connect_conn(const struct connect *c)
{
	return c->conn;
}

uint32_t
connect_channel(struct connect *c)
{
	return ++c->channel;
}

const struct msg_hello *
connect_hello(const struct connect *c)
{
	return c->greeted ? &c->hello : NULL;
}

void
connect_send(struct connect *c, enum conn_class class, uint8_t type,
    uint32_t channel, struct buf *b)
{
	if (c->conn != NULL)
		conn_send_buf(c->conn, class, type, channel, b);
	else
		buf_reset(b);
}

void
connect_use(struct connect *c, uint32_t channel, const char *workspace,
    int flags)
{
	struct msg_use u;
	struct buf b;
	char **env = small_environment();

	u.flags = (uint8_t)flags;
	u.workspace = (char *)(uintptr_t)workspace;
	u.env = env != NULL ? env : environ;
	buf_init(&b, OPEN_MAX_BYTES);
	msg_use_put(&b, &u);
	connect_send(c, CONN_CONTROL, F_USE, channel, &b);
	buf_free(&b);
	free(env);
}
