/* SPDX-License-Identifier: ISC */
/*
 * Programs' questions, until the agent has been told the answer: each once, in
 * the order they were asked. One about a colour may have to wait for the user's
 * terminal, for a bounded time, and those behind it wait with it.
 */
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "inside.h"

struct question {
	TAILQ_ENTRY(question)	 entry;
	uint64_t		 offset;
	uint64_t		 ms;	/* clock_ms() when it was asked */
	bool			 sent;
	bool			 waits;	/* for a colour: ask */
	struct screen_ask	 ask;
	struct buf		 bytes;
};

struct questions {
	struct mirror		*mirror;
	TAILQ_HEAD(, question)	 list;	/* those sent stand before the rest */
	unsigned int		 n, nsent;
	struct event		*due_ev;
};

static void
question_due(int fd, short what, void *arg)
{
	struct questions *q = arg;

	(void)fd;
	(void)what;
	questions_pump(q);
}

struct questions *
questions_new(struct mirror *m)
{
	struct questions *q = xcalloc(1, sizeof *q);

	q->mirror = m;
	TAILQ_INIT(&q->list);
	q->due_ev = evtimer_new(m->shell->ws->server->base, question_due, q);
	return q;
}

static void
question_drop(struct questions *q, struct question *a)
{
	TAILQ_REMOVE(&q->list, a, entry);
	q->n--;
	q->nsent -= a->sent;
	buf_free(&a->bytes);
	free(a);
}

void
questions_free(struct questions *q)
{
	if (q == NULL)
		return;
	while (!TAILQ_EMPTY(&q->list))
		question_drop(q, TAILQ_FIRST(&q->list));
	event_free(q->due_ev);
	free(q);
}

bool
questions_open(const struct questions *q)
{
	return q->n > q->nsent;
}

static void
question_send(struct questions *q, struct question *a)
{
	struct sshell *sh = q->mirror->shell;
	struct buf b;

	buf_init(&b, 65536);
	buf_u64(&b, a->offset);
	buf_put(&b, a->bytes.data, a->bytes.len);
	if (buf_ok(&b))
		link_send_buf(sh->ws->link, CONN_KEYS, F_ANSWER, sh->id, &b);
	buf_free(&b);
	a->sent = true;
	q->nsent++;
}

/* False: not yet. */
static bool
question_settle(struct questions *q, struct question *a, uint64_t now)
{
	const struct theme *theme;
	bool late = now - a->ms >= COLOUR_WAIT_MS ||
	    q->n - q->nsent > ANSWERS_WAIT_MAX;
	struct timeval tv;
	uint64_t ms;

	if (!a->waits)
		return true;
	theme = colours_find(q->mirror->shell,
	    a->ask.which == SCREEN_ASK_SCHEME ? THEME_BACKGROUND :
	    a->ask.which, late);
	if (theme == NULL) {
		ms = COLOUR_WAIT_MS - (now - a->ms);
		tv.tv_sec = (time_t)(ms / 1000);
		tv.tv_usec = (suseconds_t)(ms % 1000) * 1000;
		evtimer_add(q->due_ev, &tv);
		return false;
	}
	screen_ask_answer(&a->ask, theme, &a->bytes);
	a->waits = false;
	return true;
}

void
questions_pump(struct questions *q)
{
	struct mirror *m = q->mirror;
	uint64_t now = clock_ms();
	struct question *a, *next;

	if (!questions_open(q) || !m->watching || m->shell->id == 0)
		return;
	TAILQ_FOREACH_SAFE(a, &q->list, entry, next) {
		if (a->sent)
			continue;
		if (!question_settle(q, a, now))
			break;
		question_send(q, a);
	}
	while (q->nsent > ANSWERS_AGAIN_MAX)
		question_drop(q, TAILQ_FIRST(&q->list));
	if (questions_open(q))
		return;
	event_del(q->due_ev);
	sshell_later(m->shell);	/* a checkpoint may have waited for it */
}

static struct question *
question_add(struct questions *q, uint64_t offset)
{
	struct question *a = xcalloc(1, sizeof *a);

	a->offset = offset;
	a->ms = clock_ms();
	buf_init(&a->bytes, 65536);
	TAILQ_INSERT_TAIL(&q->list, a, entry);
	q->n++;
	return a;
}

/* Those before it have their own events. */
static void
question_added(struct questions *q)
{
	unsigned int open = q->n - q->nsent;

	if (open == 1 || open > ANSWERS_WAIT_MAX)
		questions_pump(q);
}

void
questions_answer(struct questions *q, uint64_t offset, const void *data, size_t len)
{
	buf_put(&question_add(q, offset)->bytes, data, len);
	question_added(q);
}

void
questions_colour(struct questions *q, uint64_t offset,
    const struct screen_ask *ask)
{
	struct question *a = question_add(q, offset);

	a->waits = true;
	a->ask = *ask;
	question_added(q);
}

void
questions_again(struct questions *q)
{
	uint64_t now = clock_ms();
	struct question *a, *next;

	TAILQ_FOREACH_SAFE(a, &q->list, entry, next) {
		if (now - a->ms > ANSWERS_AGAIN_MS)
			question_drop(q, a);
		else if (a->sent) {
			a->sent = false;
			q->nsent--;
		}
	}
	questions_pump(q);
}
