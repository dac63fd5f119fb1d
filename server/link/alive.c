/* SPDX-License-Identifier: ISC */
/* PING, PONG and silence; contract in alive.h. */
#include <sys/queue.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "../base/buf.h"
#include "../base/clock.h"
#include "../base/limits.h"
#include "../base/log.h"
#include "../base/mem.h"
#include "alive.h"

/* Timers may be early by a little. */
#define TICK_MIN_MS	10
/* ... and a word that it is dead takes a little: within its time. */
#define DEAD_EARLY_MS	50

struct alive {
	TAILQ_ENTRY(alive)	 entry;
	char			*name;
	struct alive_times	 times;
	void			(*dead)(const char *, void *);
	void			*arg;
	struct event		*tick;
	struct conn		*conn;		/* NULL: ended */
	bool			 busy;
	uint64_t		 ping_at;	/* clock_ms() of the open PING; 0 */
	uint64_t		 ping_last;	/* of the last one */
	uint64_t		 dead_at;	/* a sleep's probe: its deadline */
	uint64_t		 tick_mono, tick_boot;
	uint64_t		 due;		/* when the next tick is */
	uint64_t		 token;
	uint64_t		 rtt_us;
};

/* All of this process, and what wakes them when the machine does: their own
 * ticks may be a while away. */
static TAILQ_HEAD(, alive) all = TAILQ_HEAD_INITIALIZER(all);
static struct event *woken;

/* Since when it is silent: the last byte; but a sleep is no silence. */
static uint64_t
silent_since(const struct alive *a)
{
	return a->dead_at != 0 ? a->ping_at : conn_last_read(a->conn);
}

static uint64_t
later(uint64_t x, uint64_t y)
{
	return x > y ? x : y;
}

/* The next tick: when something has to be decided, and not before. An idle
 * link costs no wake-ups but its pings. */
static void
plan(struct alive *a)
{
	uint64_t now = clock_ms(), read = conn_last_read(a->conn), ms, dead;
	uint64_t after = a->busy ? a->times.ping_busy : a->times.ping_idle;
	struct timeval tv;

	dead = a->busy ? a->times.dead_busy : a->times.dead_idle;
	a->due = a->ping_last + a->times.ping_idle;
	ms = later(read, a->ping_last) + after;
	if (ms < a->due)
		a->due = ms;
	ms = a->dead_at != 0 ? a->dead_at : later(read + dead -
	    DEAD_EARLY_MS, a->ping_at + dead / 2);
	if (a->ping_at != 0 && ms < a->due)
		a->due = ms;
	if (a->due < now + TICK_MIN_MS)
		a->due = now + TICK_MIN_MS;
	ms = a->due - now;
	tv.tv_sec = (time_t)(ms / 1000);
	tv.tv_usec = (suseconds_t)(ms % 1000 * 1000);
	event_add(a->tick, &tv);
}

static void
ask(struct alive *a)
{
	uint64_t now = clock_ms();
	struct buf b;

	buf_init(&b, 16);
	buf_u64(&b, ++a->token);
	buf_u64(&b, clock_us());
	conn_send_buf(a->conn, CONN_CONTROL, F_PING, 0, &b);
	buf_free(&b);
	conn_flush(a->conn);
	if (a->ping_at == 0)
		a->ping_at = now;
	a->ping_last = now;
}

/*
 * The two clocks part when the machine sleeps; a tick that comes late means
 * that we ourselves stood still. In both cases silence proves nothing yet:
 * the peer is asked, and has SLEEP_PROBE_MS to answer.
 */
static bool
slept(struct alive *a, uint64_t now)
{
	uint64_t boot = clock_boot_ms();
	uint64_t mono = now - a->tick_mono, real = boot - a->tick_boot;
	bool yes = real > mono + SLEEP_JUMP_MS || now > a->due + SLEEP_JUMP_MS;

	a->tick_mono = now;
	a->tick_boot = boot;
	return yes;
}

static void
on_tick(evutil_socket_t fd, short what, void *arg)
{
	struct alive *a = arg;
	uint64_t now = clock_ms(), silent, after, dead;
	char why[64];

	(void)fd;
	(void)what;
	if (slept(a, now)) {
		log_info("link %s: we slept; asking", a->name);
		a->ping_at = now;
		ask(a);
		a->dead_at = now + SLEEP_PROBE_MS;
		plan(a);
		return;
	}
	silent = now - conn_last_read(a->conn);
	if (a->ping_at != 0 && conn_last_read(a->conn) > a->ping_at)
		a->ping_at = a->dead_at = 0;	/* half a frame is life, too */
	after = a->busy ? a->times.ping_busy : a->times.ping_idle;
	dead = a->busy ? a->times.dead_busy : a->times.dead_idle;
	if (a->ping_at != 0 && ((a->dead_at != 0 && now >= a->dead_at) ||
	    (a->dead_at == 0 && silent + DEAD_EARLY_MS >= dead &&
	    now - a->ping_at >= dead / 2))) {
		snprintf(why, sizeof why, "no answer for %" PRIu64 " s",
		    (now - silent_since(a) + 500) / 1000);
		a->dead(why, a->arg);
		return;
	}
	/* While it is silent, every so often; else for the round trip. */
	if ((silent >= after && now - a->ping_last >= after) ||
	    now - a->ping_last >= a->times.ping_idle)
		ask(a);
	plan(a);
}

static void
on_woken(evutil_socket_t fd, short what, void *arg)
{
	struct alive *a;

	(void)what;
	(void)arg;
	clock_watched(fd);
	TAILQ_FOREACH(a, &all, entry)
		if (a->conn != NULL)
			event_active(a->tick, EV_TIMEOUT, 1);
}

/* The first comes, the last goes. */
static void
watch(struct event_base *base)
{
	int fd;

	if (base != NULL && (fd = clock_watch()) != -1) {
		woken = event_new(base, fd, EV_READ | EV_PERSIST, on_woken,
		    NULL);
		event_add(woken, NULL);
	} else if (base == NULL && woken != NULL) {
		fd = event_get_fd(woken);
		event_free(woken);
		woken = NULL;
		close(fd);
	}
}

struct alive *
alive_new(struct event_base *base, const char *name,
    const struct alive_times *times, void (*dead)(const char *, void *),
    void *arg)
{
	struct alive *a = xcalloc(1, sizeof *a);

	if (TAILQ_EMPTY(&all))
		watch(base);
	TAILQ_INSERT_TAIL(&all, a, entry);
	a->name = xstrdup(name);
	a->times = *times;
	a->dead = dead;
	a->arg = arg;
	a->tick = event_new(base, -1, 0, on_tick, a);
	return a;
}

void
alive_free(struct alive *a)
{
	TAILQ_REMOVE(&all, a, entry);
	if (TAILQ_EMPTY(&all))
		watch(NULL);
	event_free(a->tick);
	free(a->name);
	free(a);
}

void
alive_begin(struct alive *a, struct conn *conn)
{
	a->conn = conn;
	a->ping_at = a->dead_at = 0;
	a->tick_mono = clock_ms();
	a->tick_boot = clock_boot_ms();
	ask(a);
	plan(a);
}

void
alive_end(struct alive *a)
{
	a->conn = NULL;
	a->ping_at = a->dead_at = a->rtt_us = 0;
	event_del(a->tick);
}

void
alive_busy(struct alive *a, bool on)
{
	uint64_t now = clock_ms();

	if (a->busy == on)
		return;
	a->busy = on;
	if (a->conn == NULL)
		return;
	if (on && now - conn_last_read(a->conn) >= a->times.ping_busy &&
	    now - a->ping_last >= a->times.ping_busy)
		ask(a);
	plan(a);
}

void
alive_heard(struct alive *a)
{
	a->ping_at = a->dead_at = 0;
}

void
alive_pong(struct alive *a, const uint8_t *data, size_t len)
{
	struct rd r;
	uint64_t token, sent, now = clock_us();

	rd_init(&r, data, len);
	token = rd_u64(&r);
	sent = rd_u64(&r);
	if (!rd_end(&r) || token != a->token || sent > now || a->conn == NULL)
		return;
	a->rtt_us = now - sent > 0 ? now - sent : 1;
	conn_set_rtt(a->conn, a->rtt_us);
}

uint64_t
alive_silent_ms(const struct alive *a)
{
	if (a->conn == NULL || a->ping_at == 0 ||
	    conn_last_read(a->conn) > a->ping_at)
		return 0;
	return clock_ms() - silent_since(a);
}

uint64_t
alive_rtt_us(const struct alive *a)
{
	return a->rtt_us;
}
