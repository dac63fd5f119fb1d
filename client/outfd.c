/* SPDX-License-Identifier: ISC */
/*
 * Writing to what we were given; see outfd.h. How, by kind:
 *
 * - a terminal or a pipe is opened a second time through /proc, so that
 *   O_NONBLOCK is on our own open file only;
 * - a socket is written with MSG_DONTWAIT;
 * - a file never says "later";
 * - what cannot be opened again (no /proc, another user's terminal) is written
 *   in pieces that a ready pipe takes without blocking.
 */
#include <sys/socket.h>
#include <sys/stat.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../server/base/buf.h"
#include "../server/base/fd.h"
#include "../server/base/log.h"
#include "../server/base/mem.h"
#include "outfd.h"

/* Written in one turn of the loop: signals and the other stream get theirs. */
#define OUTFD_TURN	(256u << 10)

enum outfd_kind { OUTFD_OWN, OUTFD_SOCKET, OUTFD_FILE, OUTFD_SHARED };

struct outfd {
	int			 given, fd;
	enum outfd_kind		 kind;
	struct event_base	*base;
	struct event		*ev;
	struct buf		 q;
	bool			 dead;
	const struct outfd_cb	*cb;
	void			*arg;
};

static int
open_again(int fd)
{
	char path[64];
	struct stat a, b;
	int own;

	(void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	own = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (own == -1)
		return -1;
	/* The same thing? A /proc of another sort could say anything. */
	if (fstat(fd, &a) == -1 || fstat(own, &b) == -1 ||
	    a.st_dev != b.st_dev || a.st_ino != b.st_ino) {
		close(own);
		return -1;
	}
	return own;
}

static ssize_t
outfd_write_some(struct outfd *o, const void *p, size_t n)
{
	struct pollfd pfd = { .fd = o->fd, .events = POLLOUT };

	switch (o->kind) {
	case OUTFD_SOCKET:
		return send(o->fd, p, n, MSG_DONTWAIT | MSG_NOSIGNAL);
	case OUTFD_SHARED:
		if (poll(&pfd, 1, 0) == 0) {
			errno = EAGAIN;
			return -1;
		}
		return write(o->fd, p, n > PIPE_BUF ? PIPE_BUF : n);
	default:
		return write(o->fd, p, n > OUTFD_TURN ? OUTFD_TURN : n);
	}
}

/* Returns bytes written now; -1 when it failed for good. */
static ssize_t
outfd_run(struct outfd *o)
{
	size_t done = 0;
	ssize_t n;

	while (done < o->q.len && done < OUTFD_TURN) {
		n = outfd_write_some(o, o->q.data + done, o->q.len - done);
		if (n == -1 && errno == EINTR)
			continue;
		if (n == -1 && (errno == EAGAIN || errno == EWOULDBLOCK))
			break;
		if (n == -1) {
			o->dead = true;
			buf_reset(&o->q);
			return -1;
		}
		done += (size_t)n;
	}
	buf_drain(&o->q, done);
	return (ssize_t)done;
}

static void
outfd_event(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	outfd_flush(arg);
}

void
outfd_flush(struct outfd *o)
{
	ssize_t n;

	if (o->dead || o->q.len == 0)
		return;
	n = outfd_run(o);
	if (n == -1) {
		event_del(o->ev);
		o->cb->failed(o, errno, o->arg);
		return;
	}
	if (o->q.len > 0)
		event_add(o->ev, NULL);
	/* Last: the callee may free us. */
	if (n > 0)
		o->cb->wrote(o, (size_t)n, o->arg);
}

struct outfd *
outfd_new(struct event_base *base, int fd, size_t max,
    const struct outfd_cb *cb, void *arg)
{
	struct outfd *o = xcalloc(1, sizeof *o);
	struct stat st;

	o->given = o->fd = fd;
	o->base = base;
	o->cb = cb;
	o->arg = arg;
	buf_init(&o->q, max);
	o->kind = OUTFD_SHARED;
	if (fstat(fd, &st) == 0) {
		if (S_ISREG(st.st_mode) || S_ISBLK(st.st_mode))
			o->kind = OUTFD_FILE;
		else if (S_ISSOCK(st.st_mode))
			o->kind = OUTFD_SOCKET;
		else if ((o->fd = open_again(fd)) >= 0)
			o->kind = OUTFD_OWN;
		else
			o->fd = fd;
	}
	o->ev = event_new(base, o->fd, EV_WRITE, outfd_event, o);
	return o;
}

void
outfd_free(struct outfd *o)
{
	if (o == NULL)
		return;
	event_free(o->ev);
	if (o->kind == OUTFD_OWN)
		close(o->fd);
	buf_free(&o->q);
	free(o);
}

void
outfd_put(struct outfd *o, const void *p, size_t n)
{
	if (o->dead || n == 0)
		return;
	buf_put(&o->q, p, n);
	if (!buf_ok(&o->q))
		fatal("%zu bytes do not fit behind %zu queued for fd %d", n,
		    o->q.len, o->given);
	event_add(o->ev, NULL);
}

size_t
outfd_queued(const struct outfd *o)
{
	return o != NULL ? o->q.len : 0;
}
