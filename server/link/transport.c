/* SPDX-License-Identifier: ISC */
/*
 * Running a transport; contract in transport.h. It knows nothing of what the
 * bytes mean.
 */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../base/buf.h"
#include "../base/fd.h"
#include "../base/limits.h"
#include "../base/log.h"
#include "../base/mem.h"
#include "child.h"
#include "transport.h"

struct transport {
	struct child	*child;		/* NULL when it ended */
	int		 rfd, wfd;	/* -1: taken */
	int		 efd;
	struct event	*err_ev;
	struct buf	 err;
	char		*word;
	void		(*said)(const char *, void *);
	void		(*ended)(struct transport *, int, void *);
	void		*arg;
};

static bool
is_var(const char *s, const char *name)
{
	size_t n = strlen(name);

	return strncmp(s, name, n) == 0 && s[n] == '=';
}

char *
transport_self(void)
{
	char path[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);

	if (n > 0) {
		path[n] = '\0';
		/* "... (deleted)" after an upgrade is no file. */
		if (access(path, X_OK) == 0)
			return xstrdup(path);
	}
	return xasprintf("/proc/%ld/exe", (long)getpid());
}

char **
transport_env(char *const *env, const char *askpass, bool display)
{
	static const char *const ours[] = { "SSH_ASKPASS",
	    "SSH_ASKPASS_REQUIRE", "SSH_ASKPASS_PROMPT", "DLMUX_ASKPASS" };
	size_t i, k, n = 0;
	char **v, *self;

	v = xcalloc(strv_len(env) + 5, sizeof *v);
	for (i = 0; env[i] != NULL; i++) {
		for (k = 0; k < 4 && !is_var(env[i], ours[k]); k++)
			;
		if (k == 4)
			v[n++] = xstrdup(env[i]);
		display &= !is_var(env[i], "DISPLAY");
	}
	if (askpass == NULL) {
		/* A background try must not open a window either. */
		v[n++] = xstrdup("SSH_ASKPASS_REQUIRE=never");
		return v;
	}
	self = transport_self();
	v[n++] = xasprintf("SSH_ASKPASS=%s", self);
	v[n++] = xstrdup("SSH_ASKPASS_REQUIRE=force");
	v[n++] = xasprintf("DLMUX_ASKPASS=%s", askpass);
	/* Before 8.4 ssh asks by SSH_ASKPASS only with a DISPLAY. */
	if (display)
		v[n++] = xstrdup("DISPLAY=dlmux:0");
	free(self);
	return v;
}

/* Whole lines with our word in them are not for people. */
static void
take_words(struct transport *t)
{
	uint8_t *p, *end;
	size_t n;
	char *text;

	if (t->word == NULL)
		return;
	n = strlen(t->word);
	while (t->err.len > n &&
	    (p = memmem(t->err.data, t->err.len, t->word, n)) != NULL &&
	    (end = memchr(p, '\n', t->err.len - (size_t)(p - t->err.data))) !=
	    NULL) {
		text = xstrndup((char *)p + n, (size_t)(end - p) - n);
		end++;
		memmove(p, end, t->err.len - (size_t)(end - t->err.data));
		t->err.len -= (size_t)(end - p);
		if (t->said != NULL)
			t->said(text, t->arg);
		free(text);
	}
}

/* Reads what is there; keeps the end. */
static void
read_stderr(struct transport *t)
{
	char data[4096];
	ssize_t n;

	while (t->efd >= 0) {
		n = read(t->efd, data, sizeof data);
		if (n == -1 && errno == EINTR)
			continue;
		if (n == -1 && errno == EAGAIN)
			return;
		if (n <= 0) {
			event_del(t->err_ev);
			fd_close(&t->efd);
			return;
		}
		if (t->err.len + (size_t)n > TRANSPORT_STDERR_KEEP)
			buf_drain(&t->err, t->err.len / 2);
		buf_put(&t->err, data, (size_t)n);
		take_words(t);
	}
}

static void
on_stderr(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	read_stderr(arg);
}

static void
on_ended(int status, void *arg)
{
	struct transport *t = arg;

	t->child = NULL;
	read_stderr(t);
	t->ended(t, status, t->arg);
}

static void
free_pipes(int p[3][2])
{
	int i;

	for (i = 0; i < 3; i++) {
		fd_close(&p[i][0]);
		fd_close(&p[i][1]);
	}
}

static int
make_pipes(int p[3][2], char **cause)
{
	int i;

	for (i = 0; i < 3; i++)
		p[i][0] = p[i][1] = -1;
	for (i = 0; i < 3; i++)
		if (fd_pipe(p[i]) == -1) {
			*cause = xasprintf("pipe: %s", strerror(errno));
			free_pipes(p);
			return -1;
		}
	fd_nonblock(p[0][1]);
	fd_nonblock(p[1][0]);
	fd_nonblock(p[2][0]);
	return 0;
}

struct transport *
transport_start(struct event_base *base, const struct transport_spec *spec,
    void (*ended)(struct transport *, int, void *), void *arg, char **cause)
{
	struct transport *t;
	struct child_spec cs;
	char **argv, **env;
	int p[3][2];

	if (make_pipes(p, cause) == -1)
		return NULL;
	t = xcalloc(1, sizeof *t);
	argv = target_argv(spec->target, spec->oneliner, spec->askpass == NULL,
	    spec->env);
	env = transport_env(spec->env, spec->askpass,
	    spec->target->scheme != SCHEME_COMMAND);
	cs = (struct child_spec){ .argv = argv, .env = env,
	    .fd = { p[0][0], p[1][1], p[2][1], -1 } };
	t->child = child_start(base, &cs, on_ended, t, cause);
	strv_free(argv);
	strv_free(env);
	if (t->child == NULL) {
		free_pipes(p);
		free(t);
		return NULL;
	}
	t->wfd = p[0][1];
	t->rfd = p[1][0];
	t->efd = p[2][0];
	fd_close(&p[0][0]);
	fd_close(&p[1][1]);
	fd_close(&p[2][1]);
	t->ended = ended;
	t->said = spec->said;
	t->word = spec->word != NULL ? xstrdup(spec->word) : NULL;
	t->arg = arg;
	buf_init(&t->err, TRANSPORT_STDERR_KEEP + 4096);
	t->err_ev = event_new(base, t->efd, EV_READ | EV_PERSIST, on_stderr,
	    t);
	event_add(t->err_ev, NULL);
	return t;
}

void
transport_listen(struct transport *t, void (*ended)(struct transport *, int,
    void *), void *arg)
{
	t->ended = ended;
	t->said = NULL;
	t->arg = arg;
}

void
transport_take(struct transport *t, int *rfd, int *wfd)
{
	*rfd = t->rfd;
	*wfd = t->wfd;
	t->rfd = t->wfd = -1;
}

pid_t
transport_pid(const struct transport *t)
{
	return t->child != NULL ? child_pid(t->child) : 0;
}

const char *
transport_stderr(struct transport *t, size_t *len)
{
	read_stderr(t);
	*len = t->err.len;
	return t->err.data != NULL ? (const char *)t->err.data : "";
}

void
transport_free(struct transport *t, int term_ms)
{
	if (t == NULL)
		return;
	if (t->child != NULL)
		child_forget(t->child, term_ms, TRANSPORT_GRACE_MS);
	event_free(t->err_ev);
	fd_close(&t->efd);
	fd_close(&t->rfd);
	fd_close(&t->wfd);
	buf_free(&t->err);
	free(t->word);
	free(t);
}
