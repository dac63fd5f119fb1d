/* SPDX-License-Identifier: ISC */
/*
 * What the user's terminal is asked while attached: its colours, when a program
 * wants to know them, and again when they may have changed. Nobody leaves while
 * an answer may still be on its way, for it would be typed into the user's
 * shell.
 */
#include <sys/types.h>
#include <poll.h>
#include <unistd.h>

#include "../server/base/clock.h"
#include "../server/base/limits.h"
#include "../term/view.h"
#include "attached.h"

/* A terminal that has not answered by then is not waited for. */
#define ASK_MS		1000
/* ... nor, by somebody who wants to leave, longer than this. */
#define ASK_LEAVE_MS	300
/* The focus comes and goes; colours seldom change. */
#define ASK_AGAIN_MS	1000

static void
ask_tell(struct attached *a, uint8_t flags)
{
	struct buf b;

	buf_init(&b, WIRE_THEME_MAX + 1);
	if (replies_reports(a->replies))
		flags |= COLOURS_REPORTS;
	buf_u8(&b, flags);
	if (flags & COLOURS_DONE)
		theme_put(replies_theme(a->replies), &b);
	if (a->channel != 0)
		connect_send(a->connect, CONN_CONTROL, F_COLOURS, a->channel,
		    &b);
	buf_free(&b);
}

static void
ask(struct attached *a, unsigned int what)
{
	static const struct timeval tv = { ASK_MS / 1000,
	    (ASK_MS % 1000) * 1000 };
	struct buf b;

	if (!a->shown || a->leaving || a->left)
		return;
	/* Terminals that are as new as that; older ones may print it. */
	if (caps_flag(a->caps, CAPS_RGB))
		what |= REPLIES_REPORTS;
	a->asked |= what;
	a->asked_ms = clock_ms();
	a->ask_again = false;
	buf_init(&b, 65536);
	replies_ask(a->replies, what, &b);
	outfd_put(a->out, b.data, b.len);
	buf_free(&b);
	watchdog_asked(a->watchdog, true);
	evtimer_add(a->ask_ev, &tv);
}

void
attached_enquire(struct attached *a, const uint8_t *p, size_t n)
{
	unsigned int what = 0;

	if (n != 1)
		return;
	if (p[0] & ENQUIRE_BASE)
		what |= REPLIES_BASE;
	if (p[0] & ENQUIRE_REST)
		what |= REPLIES_REST;
	ask(a, what);
}

/* The colours may be others now: what was told is void until it is answered. */
static void
ask_changed(struct attached *a, bool surely)
{
	if (a->asked == 0)
		return;
	if (replies_open(a->replies)) {
		a->ask_again |= surely;
		return;
	}
	if (!surely && clock_ms() - a->asked_ms < ASK_AGAIN_MS)
		return;
	ask_tell(a, COLOURS_ASKING);
	ask(a, REPLIES_BASE);
}

static void
ask_done(struct attached *a)
{
	event_del(a->ask_ev);
	watchdog_asked(a->watchdog, false);
	ask_tell(a, COLOURS_DONE);
	if (a->ask_again)
		ask_changed(a, true);
}

void
attached_replied(struct attached *a)
{
	unsigned int events = replies_events(a->replies);

	if (events & (REPLIES_CHANGED | REPLIES_FOCUSED))
		ask_changed(a, (events & REPLIES_CHANGED) != 0);
	if (events & REPLIES_DONE)
		ask_done(a);
}

void
attached_ask_due(evutil_socket_t fd, short what, void *arg)
{
	struct attached *a = arg;

	(void)fd;
	(void)what;
	replies_give_up(a->replies);
	ask_done(a);
}

void
attached_ask_retold(struct attached *a)
{
	if (a->asked != 0 && !replies_open(a->replies))
		ask_tell(a, COLOURS_DONE);
}

void
attached_ask_modes(struct attached *a)
{
	replies_mine(a->replies, (a->modes & VIEW_MY_THEME) != 0,
	    (a->modes & VIEW_MY_FOCUS) != 0);
}

void
attached_ask_drain(struct attached *a)
{
	struct pollfd pfd = { .fd = a->tty.fd, .events = POLLIN };
	uint64_t end = clock_ms() + ASK_LEAVE_MS, now;
	char data[1024];
	struct buf out;
	ssize_t n;

	if (!a->tty.raw)
		return;
	buf_init(&out, 1 << 20);
	while (replies_open(a->replies) && (now = clock_ms()) < end &&
	    poll(&pfd, 1, (int)(end - now)) > 0) {
		if ((n = read(a->tty.fd, data, sizeof data)) <= 0)
			break;
		replies_feed(a->replies, data, (size_t)n, &out);
	}
	buf_free(&out);
}
