/* SPDX-License-Identifier: ISC */
/* Asking docker or podman for the names; bounded in time and size. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../base/buf.h"
#include "../base/fd.h"
#include "../base/limits.h"
#include "../base/log.h"
#include "../base/mem.h"
#include "child.h"
#include "names.h"

struct names {
	struct child	*child;
	struct event	*ev;
	int		 fd;
	struct buf	 out;
	void		(*done)(const char *, void *);
	void		*arg;
	char		*program;
	char		**env;
};

void
names_cancel(struct names *n)
{
	if (n == NULL)
		return;
	child_forget(n->child, 0, TRANSPORT_GRACE_MS);
	event_free(n->ev);
	fd_close(&n->fd);
	buf_free(&n->out);
	free(n->program);
	strv_free(n->env);
	free(n);
}

static void
finish(struct names *n, const char *list)
{
	void (*done)(const char *, void *) = n->done;
	void *arg = n->arg;
	char *copy = list != NULL ? xstrdup(list) : NULL;

	names_cancel(n);
	done(copy, arg);
	free(copy);
}

/* Lines to "a, b". */
static void
whole(struct names *n)
{
	char clean[1024];
	size_t i;
	struct buf b;

	buf_init(&b, TRANSPORT_LIST_MAX * 3);
	for (i = 0; i < n->out.len; i++)
		if (n->out.data[i] != '\n')
			buf_u8(&b, n->out.data[i]);
		else if (i + 1 < n->out.len)
			buf_puts(&b, ", ");
	buf_u8(&b, 0);
	log_clean(clean, sizeof clean, (const char *)b.data);
	buf_free(&b);
	finish(n, clean);
}

static void
on_event(evutil_socket_t fd, short what, void *arg)
{
	struct names *n = arg;
	char data[4096];
	ssize_t r;

	if (what & EV_TIMEOUT) {
		finish(n, NULL);
		return;
	}
	r = read(fd, data, sizeof data);
	if (r == -1 && (errno == EAGAIN || errno == EINTR))
		return;
	if (r > 0)
		buf_put(&n->out, data, (size_t)r);
	if (r <= 0 || !buf_ok(&n->out))
		whole(n);
}

static void
on_ended(int status, void *arg)
{
	struct names *n = arg;

	n->child = NULL;
	if (status != 0)
		finish(n, NULL);
}

static void
start(evutil_socket_t fd, short what, void *arg)
{
	static const struct timeval tv = { TRANSPORT_LIST_MS / 1000,
	    TRANSPORT_LIST_MS % 1000 * 1000 };
	struct names *n = arg;
	char *argv[] = { n->program, (char *)"ps", (char *)"--format",
	    (char *)"{{.Names}}", NULL };
	struct child_spec cs = { .argv = argv, .env = n->env,
	    .fd = { -1, -1, -1, -1 } };
	struct event_base *base = event_get_base(n->ev);
	char *cause;
	int p[2];

	(void)fd;
	(void)what;
	if (fd_pipe(p) == -1) {
		finish(n, NULL);
		return;
	}
	cs.fd[1] = p[1];
	n->child = child_start(base, &cs, on_ended, n, &cause);
	fd_close(&p[1]);
	n->fd = p[0];
	if (n->child == NULL) {
		free(cause);
		finish(n, NULL);
		return;
	}
	fd_nonblock(n->fd);
	event_free(n->ev);
	n->ev = event_new(base, n->fd, EV_READ | EV_PERSIST, on_event, n);
	event_add(n->ev, &tv);
}

struct names *
names_start(struct event_base *base, const char *program, char *const *env,
    void (*done)(const char *, void *), void *arg)
{
	struct names *n = xcalloc(1, sizeof *n);

	n->fd = -1;
	n->done = done;
	n->arg = arg;
	n->program = xstrdup(program);
	n->env = strv_copy(env);
	buf_init(&n->out, TRANSPORT_LIST_MAX);
	n->ev = event_new(base, -1, 0, start, n);
	event_active(n->ev, EV_TIMEOUT, 1);
	return n;
}
