/* SPDX-License-Identifier: ISC */
/* One direction of a bad line; contract in way.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "way.h"

/* What a line holds beside what travels: a router's buffer. More is left in
 * the reader's pipe. */
#define BUFFER		(256u << 10)
#define BUFFER_ANY	(4u << 20)
/* With a rate, at most this at once. */
#define SLICE		2048
#define OTHERS_MAX	4

struct piece {
	struct piece	*next;
	double		 due;		/* milliseconds */
	size_t		 len, done;
	char		 data[];
};

static double
now_ms(void)
{
	struct timespec	 ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec / 1e6;
}

/* splitmix64 */
static uint64_t
number(struct way *w)
{
	uint64_t	 z = (w->random += 0x9e3779b97f4a7c15u);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

void
way_init(struct way *w, int in, int out, int bit, uint64_t seed,
    const struct way_terms *terms)
{
	memset(w, 0, sizeof *w);
	w->terms = terms;
	w->in = in;
	w->out = out;
	w->bit = bit;
	w->random = seed * 2 + (uint64_t)bit;
	w->tail = &w->head;
}

void
way_shut(struct way *w)
{
	if (w->out != -1)
		close(w->out);
	w->out = -1;
}

static bool
has_room(const struct way *w)
{
	double	 rate = w->terms->rate;

	return w->queued < (rate > 0 ? BUFFER + (size_t)(rate *
	    w->terms->delay / 1e3) : BUFFER_ANY);
}

static void
take(struct way *w)
{
	static char	 buf[65536];
	struct piece	*p;
	ssize_t		 n = read(w->in, buf, sizeof buf);

	if (n == -1 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		w->eof = true;
		return;
	}
	if ((p = malloc(sizeof *p + (size_t)n)) == NULL)
		abort();
	p->next = NULL;
	p->due = now_ms() + w->terms->delay + w->terms->jitter *
	    (double)(number(w) >> 11) / 9007199254740992.0;
	if (p->due < w->last)
		p->due = w->last;
	w->last = p->due;
	p->len = (size_t)n;
	p->done = 0;
	memcpy(p->data, buf, (size_t)n);
	*w->tail = p;
	w->tail = &p->next;
	w->queued += (size_t)n;
}

/* Milliseconds until something may be written, 0 now, negative: nothing. */
static double
when(const struct way *w)
{
	double	 t;

	if (w->head == NULL || w->out == -1)
		return -1;
	/* Looked at again soon: nothing tells when it is over. */
	if (w->terms->stalled & w->bit)
		return 5;
	t = (w->head->due > w->next ? w->head->due : w->next) - now_ms();
	return t > 0 ? t : 0;
}

/* -1: whoever reads it is gone. */
static int
give(struct way *w)
{
	struct piece	*p = w->head;
	size_t		 n = p->len - p->done, most = w->terms->split;
	double		 rate = w->terms->rate, now;
	ssize_t		 r;

	if (most > 0 && w->terms->ragged)
		most = 1 + number(w) % most;
	if (most > 0 && n > most)
		n = most;
	if (rate > 0 && n > SLICE)
		n = SLICE;
	if (w->cut > 0 && n > w->cut - w->total)
		n = w->cut - w->total;
	r = write(w->out, p->data + p->done, n);
	if (r == -1)
		return errno == EAGAIN || errno == EINTR ? 0 : -1;
	p->done += (size_t)r;
	w->total += (size_t)r;
	w->queued -= (size_t)r;
	if (rate > 0) {
		now = now_ms();
		w->next = (w->next > now - 20 ? w->next : now) +
		    (double)r * 1e3 / rate;
	}
	if (p->done == p->len) {
		if ((w->head = p->next) == NULL)
			w->tail = &w->head;
		free(p);
	}
	return 0;
}

enum way_end
way_turn(struct way *up, struct way *down, struct pollfd *others, nfds_t n)
{
	struct way	*ways[2] = { up, down }, *w;
	struct pollfd	 p[4 + OTHERS_MAX];
	struct timespec	 ts;
	double		 t, wait = -1;
	int		 i;

	if (up->eof && up->head == NULL)
		way_shut(up);
	if (down->eof && (down->head == NULL || down->out == -1))
		return WAY_OVER;
	for (i = 0; i < 2; i++) {
		w = ways[i];
		p[i].fd = w->eof || !has_room(w) ||
		    (w->terms->stalled & w->bit) ? -1 : w->in;
		p[i].events = POLLIN;
		t = when(w);
		p[2 + i].fd = t == 0 ? w->out : -1;
		p[2 + i].events = POLLOUT;
		if ((w->terms->stalled & w->bit) && t < 0)
			t = 5;
		if (t > 0 && (wait < 0 || t < wait))
			wait = t;
	}
	memcpy(p + 4, others, n * sizeof *others);
	ts.tv_sec = (time_t)(wait / 1e3);
	ts.tv_nsec = (long)((wait - 1e3 * (double)ts.tv_sec) * 1e6);
	if (ppoll(p, 4 + n, wait < 0 ? NULL : &ts, NULL) == -1)
		return WAY_ON;
	memcpy(others, p + 4, n * sizeof *others);
	for (i = 0; i < 2; i++) {
		w = ways[i];
		if (p[i].fd != -1 && p[i].revents != 0)
			take(w);
		if (p[2 + i].fd == -1 || p[2 + i].revents == 0)
			continue;
		if ((p[2 + i].revents & (POLLERR | POLLNVAL)) ||
		    give(w) == -1) {
			/* The command may have closed its stdin only. */
			if (w == down)
				return WAY_GONE;
			way_shut(w);
		}
		if (w->cut > 0 && w->total >= w->cut)
			return WAY_CUT;
	}
	return WAY_ON;
}
