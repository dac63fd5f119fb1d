/* SPDX-License-Identifier: ISC */
/*
 * Connecting to the local agent; contract in local.h. Two servers (or a server
 * and a front) may start it at once: the loser's child ends, and both find
 * the winner's socket.
 */
#include <sys/socket.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../base/buf.h"
#include "../base/clock.h"
#include "../base/fd.h"
#include "../base/limits.h"
#include "../base/log.h"
#include "../base/mem.h"
#include "child.h"
#include "local.h"

#define AGAIN_MS	20

struct local {
	struct event_base *base;
	const struct place *place;
	struct trace	*trace;
	void		(*done)(int, const char *, void *);
	void		*arg;
	uint64_t	 until;		/* clock_ms() */
	struct event	*ev;		/* the one thing waited for */
	int		 sock;
	struct buf	 out;		/* hand-off not sent yet */
	int		 ready;		/* the new agent's pipe */
	char		 said[BOOT_LINE_MAX];
	size_t		 nsaid;
	bool		 started;
};

extern char **environ;

static void	 attempt(evutil_socket_t, short, void *);
static void	 on_sock(evutil_socket_t, short, void *);
static void	 on_ready(evutil_socket_t, short, void *);

void
local_cancel(struct local *l)
{
	if (l == NULL)
		return;
	if (l->ev != NULL)
		event_free(l->ev);
	fd_close(&l->sock);
	fd_close(&l->ready);
	buf_free(&l->out);
	free(l);
}

static void
finish(struct local *l, const char *why)
{
	void (*done)(int, const char *, void *) = l->done;
	void *arg = l->arg;
	int fd = -1;

	if (why == NULL) {
		fd = l->sock;
		l->sock = -1;
	}
	local_cancel(l);
	done(fd, why, arg);
}

/* The new agent's word on its ready pipe: "ok", or why not. */
static bool
said_no(const struct local *l)
{
	return l->nsaid > 0 && strncmp(l->said, "ok\n", 3) != 0;
}

static void
fail(struct local *l, const char *what, int err)
{
	char clean[BOOT_LINE_MAX], *s;

	if (said_no(l)) {
		l->said[strcspn(l->said, "\n")] = '\0';
		log_clean(clean, sizeof clean, l->said);
		s = xasprintf("the local agent: %s", clean);
	} else
		s = xasprintf("%s: %s", what, strerror(err));
	finish(l, s);
	free(s);
}

/* Replaces what is waited for. */
static void
await(struct local *l, int fd, short what, event_callback_fn fn, uint64_t ms)
{
	struct timeval tv = { (time_t)(ms / 1000),
	    (suseconds_t)(ms % 1000 * 1000) };

	if (l->ev != NULL)
		event_free(l->ev);
	l->ev = event_new(l->base, fd, what, fn, l);
	event_add(l->ev, &tv);
}

static uint64_t
left(const struct local *l)
{
	uint64_t now = clock_ms();

	return l->until > now ? l->until - now : 1;
}

static void
on_sock(evutil_socket_t fd, short what, void *arg)
{
	struct local *l = arg;
	ssize_t n;

	(void)fd;
	if (what & EV_TIMEOUT) {
		fail(l, "the local agent does not take the connection",
		    ETIMEDOUT);
		return;
	}
	n = send(l->sock, l->out.data, l->out.len, MSG_NOSIGNAL);
	if (n == -1 && errno != EAGAIN && errno != EINTR) {
		/* It was just leaving: the next attempt starts a new one. */
		fd_close(&l->sock);
		await(l, -1, 0, attempt, AGAIN_MS);
		return;
	}
	if (n > 0)
		buf_drain(&l->out, (size_t)n);
	if (l->out.len == 0)
		finish(l, NULL);
	else
		await(l, l->sock, EV_WRITE, on_sock, left(l));
}

static void
on_ready(evutil_socket_t fd, short what, void *arg)
{
	struct local *l = arg;
	ssize_t n;

	(void)fd;
	if ((what & EV_TIMEOUT) == 0) {
		n = read(l->ready, l->said + l->nsaid,
		    sizeof l->said - 1 - l->nsaid);
		if (n == -1 && (errno == EAGAIN || errno == EINTR))
			n = 0;
		else if (n > 0) {
			l->nsaid += (size_t)n;
			l->said[l->nsaid] = '\0';
		}
		if (n > 0 && memchr(l->said, '\n', l->nsaid) == NULL &&
		    l->nsaid < sizeof l->said - 1) {
			await(l, l->ready, EV_READ, on_ready, left(l));
			return;
		}
	}
	fd_close(&l->ready);
	await(l, -1, 0, attempt, 0);
}

/* Its own session, our environment: the place must be the same. */
static int
start_agent(struct local *l)
{
	static char *const argv[] = { (char *)"dlmux", (char *)"agent",
	    (char *)"--daemon", (char *)"3", NULL };
	struct child_spec cs = { .file = "/proc/self/exe", .argv = argv,
	    .fd = { -1, -1, -1, -1 } };
	struct child *c;
	char **env, *cause;
	size_t i, n = 0;
	int p[2];

	if (fd_pipe(p) == -1) {
		fail(l, "pipe", errno);
		return -1;
	}
	env = xcalloc(strv_len(environ) + 2, sizeof *env);
	for (i = 0; environ[i] != NULL; i++)
		if (strncmp(environ[i], "DLMUX_INSTANCE=", 15) != 0)
			env[n++] = xstrdup(environ[i]);
	env[n++] = xasprintf("DLMUX_INSTANCE=%s", l->place->instance);
	cs.env = env;
	cs.fd[3] = p[1];
	c = child_start(l->base, &cs, NULL, NULL, &cause);
	strv_free(env);
	fd_close(&p[1]);
	if (c == NULL) {
		fd_close(&p[0]);
		finish(l, cause);
		free(cause);
		return -1;
	}
	child_forget(c, 0, 0);
	fd_nonblock(p[0]);
	l->ready = p[0];
	l->nsaid = 0;
	l->started = true;
	trace_fact(l->trace, "agent", "started", "%s", l->place->agent_sock);
	await(l, l->ready, EV_READ, on_ready, left(l));
	return 0;
}

static void
attempt(evutil_socket_t fd, short what, void *arg)
{
	struct local *l = arg;
	char *why;
	int err;

	(void)fd;
	(void)what;
	l->sock = fd_connect_unix(l->place->agent_sock);
	err = errno;
	if (l->sock >= 0) {
		if (!fd_peer_is_us(l->sock, NULL)) {
			finish(l, "the agent's socket belongs to another user");
			return;
		}
		fd_nonblock(l->sock);
		await(l, l->sock, EV_WRITE, on_sock, left(l));
		return;
	}
	if (err != ENOENT && err != ECONNREFUSED && err != EAGAIN) {
		why = fd_in_the_way(l->place->agent_sock, err);
		finish(l, why);
		free(why);
		return;
	}
	if (clock_ms() >= l->until || said_no(l)) {
		fail(l, "the local agent does not start", ETIMEDOUT);
		return;
	}
	/* Once started, a second one only after a while: the first may have
	 * lost against another that is about to listen. */
	if (err == EAGAIN || l->started) {
		l->started = l->until - clock_ms() > LOCAL_START_MS / 2;
		await(l, -1, 0, attempt, AGAIN_MS);
		return;
	}
	start_agent(l);
}

struct local *
local_start(struct event_base *base, const struct place *place,
    char *const *env, struct trace *trace,
    void (*done)(int, const char *, void *), void *arg)
{
	struct local *l = xcalloc(1, sizeof *l);
	size_t i, len = 0;

	l->base = base;
	l->place = place;
	l->trace = trace;
	l->done = done;
	l->arg = arg;
	l->sock = l->ready = -1;
	l->until = clock_ms() + LOCAL_START_MS;
	for (i = 0; env[i] != NULL; i++)
		len += strlen(env[i]) + 1;
	buf_init(&l->out, len + 128);
	buf_printf(&l->out, "DLMUX-HANDOFF 1\n-\ndirect\n%zu\n", len);
	for (i = 0; env[i] != NULL; i++)
		buf_put(&l->out, env[i], strlen(env[i]) + 1);
	trace_fact(trace, "agent", "found", "%s", place->agent_sock);
	await(l, -1, 0, attempt, 0);
	return l;
}
