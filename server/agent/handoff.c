/* SPDX-License-Identifier: ISC */
/* The hand-off; contract in handoff.h, bytes in doc/protocol.md. */
#include <sys/socket.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../base/fd.h"
#include "../base/limits.h"
#include "../base/log.h"
#include "../base/mem.h"
#include "env.h"
#include "handoff.h"
#include "peer.h"

#define HANDOFF_MAGIC "DLMUX-HANDOFF 1\n"

struct handoff {
	LIST_ENTRY(handoff) entry;
	struct agent	*agent;
	int		 fd;
	int		 fds[2];
	int		 nfds;
	struct event	*event;
	struct buf	 in;
};

/* The line at *p, without its end; NULL if it is not all there. */
static const char *
handoff_line(const char **p, const char *end, size_t *len)
{
	const char *line = *p, *nl;

	if ((nl = memchr(line, '\n', (size_t)(end - line))) == NULL)
		return NULL;
	*len = (size_t)(nl - line);
	*p = nl + 1;
	return line;
}

static bool
handoff_marker_ok(const char *s, size_t n)
{
	size_t i;

	if (n == 1 && *s == '-')
		return true;
	for (i = 0; i < n; i++)
		if (!((s[i] >= '0' && s[i] <= '9') ||
		    (s[i] >= 'a' && s[i] <= 'z') ||
		    (s[i] >= 'A' && s[i] <= 'Z')))
			return false;
	return n > 0 && n <= 64;
}

static int
handoff_number(const char *s, size_t n, size_t *out)
{
	size_t i, v = 0;

	if (n == 0 || n > 7)
		return -1;
	for (i = 0; i < n; i++) {
		if (s[i] < '0' || s[i] > '9')
			return -1;
		v = v * 10 + (size_t)(s[i] - '0');
	}
	if (v > HANDOFF_ENV_MAX)
		return -1;
	*out = v;
	return 0;
}

int
handoff_parse(const void *data, size_t len, struct handoff_head *h)
{
	const char *start = data, *p, *end, *line;
	size_t n = strlen(HANDOFF_MAGIC);

	if (memcmp(start, HANDOFF_MAGIC, len < n ? len : n) != 0)
		return -1;
	if (len < n)
		return 0;
	p = start + n;
	end = start + (len < HANDOFF_HEAD_MAX ? len : HANDOFF_HEAD_MAX);
	memset(h, 0, sizeof *h);
	if ((line = handoff_line(&p, end, &n)) == NULL)
		goto more;
	if (!handoff_marker_ok(line, n))
		return -1;
	memcpy(h->marker, line, n);
	if ((line = handoff_line(&p, end, &n)) == NULL)
		goto more;
	h->fds = n == 3 && memcmp(line, "fds", 3) == 0;
	if (!h->fds && !(n == 6 && memcmp(line, "direct", 6) == 0))
		return -1;
	if ((line = handoff_line(&p, end, &n)) == NULL)
		goto more;
	if (handoff_number(line, n, &h->env) == -1)
		return -1;
	h->head = (size_t)(p - start);
	return len - h->head >= h->env ? 1 : 0;
more:
	return len >= HANDOFF_HEAD_MAX ? -1 : 0;
}

void
handoff_put(struct buf *b, const char *marker, bool fds, char *const *env)
{
	size_t n = 0, k, count = 0, i;

	for (i = 0; env != NULL && env[i] != NULL; i++) {
		k = strlen(env[i]) + 1;
		if (n + k > HANDOFF_ENV_MAX)
			break;
		n += k;
		count++;
	}
	buf_puts(b, HANDOFF_MAGIC);
	buf_printf(b, "%s\n%s\n%zu\n", marker, fds ? "fds" : "direct", n);
	for (i = 0; i < count; i++)
		buf_put(b, env[i], strlen(env[i]) + 1);
}

static void
handoff_free(struct handoff *h)
{
	LIST_REMOVE(h, entry);
	h->agent->nhandoffs--;
	if (h->event != NULL)
		event_free(h->event);
	while (h->nfds > 0)
		fd_close(&h->fds[--h->nfds]);
	fd_close(&h->fd);
	buf_free(&h->in);
	free(h);
}

void
handoff_clear(struct agent *a)
{
	while (!LIST_EMPTY(&a->handoffs))
		handoff_free(LIST_FIRST(&a->handoffs));
}

static void
handoff_done(struct handoff *h, const struct handoff_head *m)
{
	struct agent *a = h->agent;
	const char *marker = strcmp(m->marker, "-") == 0 ? NULL : m->marker;
	size_t used = m->head + m->env;

	if (m->fds != (h->nfds == 2) || (m->fds && h->in.len != used)) {
		log_warn("hand-off without the descriptors it speaks of");
		handoff_free(h);
		return;
	}
	if (m->env > 0) {
		strv_free(a->env);
		a->env = env_split(h->in.data + m->head, m->env);
		env_clean(a->env);
		env_complete(&a->env);
	}
	if (m->fds)
		peer_new(a, h->fds[0], h->fds[1], h->fd, marker, NULL, 0);
	else
		peer_new(a, h->fd, h->fd, -1, marker, h->in.data + used,
		    h->in.len - used);
	h->nfds = 0;
	h->fd = -1;
	handoff_free(h);
}

static void
handoff_event(evutil_socket_t fd, short what, void *arg)
{
	struct handoff *h = arg;
	struct handoff_head m;
	int fds[2], n = 2, r;
	uint8_t *to;
	ssize_t got;

	(void)fd;
	if (what & EV_TIMEOUT) {
		log_warn("hand-off took too long");
		handoff_free(h);
		return;
	}
	if ((to = buf_reserve(&h->in, 16384)) == NULL) {
		handoff_free(h);
		return;
	}
	got = fd_recv_fds(h->fd, to, 16384, fds, &n);
	if (got == -1 && (errno == EAGAIN || errno == EINTR))
		return;
	if (got > 0 && n > 0 && h->nfds == 0) {
		memcpy(h->fds, fds, sizeof fds);
		h->nfds = n;
	} else if (got > 0 && n > 0)
		while (n > 0)
			fd_close(&fds[--n]);
	if (got <= 0) {
		handoff_free(h);
		return;
	}
	h->in.len += (size_t)got;
	if ((r = handoff_parse(h->in.data, h->in.len, &m)) == 0)
		return;
	if (r == -1) {
		log_warn("something that is no hand-off");
		handoff_free(h);
	} else
		handoff_done(h, &m);
}

void
handoff_new(struct agent *a, int fd)
{
	static const struct timeval limit = { HANDOFF_MS / 1000, 0 };
	struct handoff *h = xcalloc(1, sizeof *h);

	h->agent = a;
	h->fd = fd;
	buf_init(&h->in, HANDOFF_HEAD_MAX + HANDOFF_ENV_MAX + 65536);
	LIST_INSERT_HEAD(&a->handoffs, h, entry);
	a->nhandoffs++;
	h->event = event_new(a->base, fd, EV_READ | EV_PERSIST, handoff_event,
	    h);
	if (h->event == NULL)
		handoff_free(h);
	else
		event_add(h->event, &limit);
}
