/* SPDX-License-Identifier: ISC */
/*
 * Frames over descriptors; contract in conn.h.
 *
 * Sending: the writer gathers from the most urgent class on, so a long
 * message's parts let keys pass between them. Everything sent in one turn of
 * the loop leaves in one writev().
 *
 * Callbacks come from the loop only. What a conn_ call finds out (an error,
 * room) is noted and told by `defer`, an event that is made active by hand.
 * A callback may free the connection: whoever calls one holds `busy`, and
 * looks at `gone` before it touches anything else.
 */
#include <sys/uio.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../base/clock.h"
#include "../base/fd.h"
#include "../base/limits.h"
#include "../base/mem.h"
#include "conn.h"
#include "flight.h"
#include "msg.h"
#include "parts.h"
#include "sendq.h"

#define CONN_IOV	64	/* chunks of one writev() */

struct conn {
	struct event_base *base;
	struct event *read_ev, *write_ev, *defer, *ack_ev, *end_ev;
	int	 rfd, wfd;
	unsigned int peer;
	struct conn_cb cb;
	void	*arg;

	struct sendq out;
	uint64_t sent, received;

	struct buf in;			/* bytes that are no whole frame yet */
	bool	 in_fresh;		/* ... or were not looked at */
	struct parts parts;
	uint64_t last_read;

	struct flight flight;
	bool	 ack_few;		/* ack_ev is the later one */

	int	 busy;			/* callbacks under way */
	bool	 gone;			/* freed but for busy */
	bool	 dead;			/* `closed` is due or was called */
	bool	 left;			/* ... because the peer went */
	bool	 told;			/* `closed` was called */
	bool	 deaf;			/* writing failed: reads on for a while */
	bool	 finishing;
	bool	 paused;
	bool	 held;			/* its time was up before its bytes */
	bool	 slowed;		/* not read until they are through */
	bool	 want_pump;
	bool	 no_room;		/* room was zero since the callback */
	bool	 room_due;
	char	*why;
};

static void	conn_pump(struct conn *);
static void	conn_parse(struct conn *, const uint8_t *, size_t);

static const char *
conn_peer(const struct conn *c)
{
	switch (c->peer) {
	case PEER_CLIENT:
		return "the client";
	case PEER_AGENT:
		return "the agent";
	default:
		return "the server";
	}
}

/* --- life --------------------------------------------------------------- */

/* Frees what is left once no callback is under way. */
static void
conn_release(struct conn *c)
{
	if (c->busy != 0)
		return;
	event_free(c->read_ev);
	event_free(c->write_ev);
	event_free(c->defer);
	event_free(c->ack_ev);
	event_free(c->end_ev);
	buf_free(&c->in);
	free(c->why);
	free(c);
}

/* After a callback: true if the connection is no more. */
static bool
conn_leave(struct conn *c)
{
	c->busy--;
	if (!c->gone)
		return false;
	conn_release(c);
	return true;
}

static void
conn_stop(struct conn *c)
{
	event_del(c->read_ev);
	event_del(c->write_ev);
	event_del(c->defer);
	event_del(c->ack_ev);
	event_del(c->end_ev);
}

void
conn_free(struct conn *c)
{
	if (c == NULL || c->gone)
		return;
	c->gone = c->dead = true;
	conn_stop(c);
	sendq_clear(&c->out);
	parts_clear(&c->parts);
	if (c->wfd != c->rfd)
		fd_close(&c->wfd);
	c->wfd = -1;
	fd_close(&c->rfd);
	conn_release(c);
}

static void
conn_wake(struct conn *c)
{
	event_active(c->defer, EV_TIMEOUT, 1);
}

/* It is over: nothing is read or written any more, and the owner is told from
 * the loop. */
static void
conn_die(struct conn *c, const char *why)
{
	if (c->dead)
		return;
	c->dead = true;
	if (c->why == NULL)
		c->why = xstrdup(why);
	conn_stop(c);
	sendq_clear(&c->out);
	conn_wake(c);
}

static void
conn_left_die(struct conn *c, const char *why)
{
	if (!c->dead)
		c->left = true;
	conn_die(c, why);
}

bool
conn_left(const struct conn *c)
{
	return c->left;
}

/* Writing is impossible, but what the peer said last may be on its way. */
static void
conn_deafened(struct conn *c, int error)
{
	struct timeval tv = { CONN_LINGER_MS / 1000,
	    CONN_LINGER_MS % 1000 * 1000 };

	if (c->dead || c->deaf)
		return;
	c->deaf = true;
	sendq_clear(&c->out);
	event_del(c->write_ev);
	event_del(c->ack_ev);
	/* A peer that went away is no error of writing. */
	if (c->why == NULL && error != EPIPE && error != ECONNRESET)
		c->why = xasprintf("write: %s", strerror(error));
	if (c->finishing || c->paused)
		tv.tv_sec = tv.tv_usec = 0;
	event_add(c->end_ev, &tv);
}

void
conn_drop(struct conn *c, const char *why)
{
	struct buf b;

	if (c->dead)
		return;
	if (!c->deaf && !c->finishing) {
		buf_init(&b, WIRE_WORDS_MAX);
		buf_u16(&b, R_ERROR);
		buf_str(&b, why);
		if (buf_ok(&b))
			conn_send(c, CONN_CONTROL, F_FAIL, 0, b.data, b.len);
		buf_free(&b);
		conn_pump(c);
	}
	free(c->why);
	c->why = xstrdup(why);
	conn_die(c, why);
}

static void __attribute__((format(printf, 2, 3)))
conn_broke(struct conn *c, const char *fmt, ...)
{
	char text[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	conn_drop(c, text);
}

/* --- flow --------------------------------------------------------------- */

size_t
conn_room(const struct conn *c)
{
	size_t ahead, room;
	uint64_t flight;

	if (c->dead || c->deaf || c->finishing)
		return 0;
	ahead = sendq_ahead(&c->out);
	room = ahead >= CONN_QUEUE_ROOM ? 0 : CONN_QUEUE_ROOM - ahead;
	if (c->flight.on) {
		/* What is queued is as good as in flight. */
		flight = flight_room(&c->flight);
		flight = flight <= ahead ? 0 : flight - ahead;
		if (flight < room)
			room = (size_t)flight;
	}
	return room < CONN_ROOM_MIN ? 0 : room;
}

/* Notes when room goes, and has its return told. */
static void
conn_check_room(struct conn *c)
{
	static const struct timeval now;

	if (c->dead || c->deaf || c->finishing)
		return;
	if (conn_room(c) == 0)
		c->no_room = true;
	else if (c->no_room && !c->room_due && c->cb.room != NULL) {
		/* By timer, so that the loop looks at others in between:
		 * a peer that reads as fast as we write would never let
		 * go of it. */
		c->room_due = true;
		event_add(c->defer, &now);
	}
}

static void
conn_ack(struct conn *c)
{
	uint8_t p[8];
	uint64_t v = c->flight.got;
	int i;

	event_del(c->ack_ev);
	c->ack_few = false;
	c->flight.told = v;
	for (i = 7; i >= 0; i--, v >>= 8)
		p[i] = (uint8_t)v;
	conn_send(c, CONN_CONTROL, F_RECEIVED, 0, p, sizeof p);
}

static void
conn_ack_event(int fd, short what, void *arg)
{
	struct conn *c = arg;

	(void)fd;
	(void)what;
	if (!c->dead && flight_tell_ms(&c->flight) >= 0)
		conn_ack(c);
}

static void
conn_check_ack(struct conn *c)
{
	int ms = flight_tell_ms(&c->flight);
	struct timeval tv = { 0, ms * 1000 };
	bool few = ms == CONN_ACK_FEW_MS;

	if (c->dead || c->deaf || ms < 0)
		return;
	if (ms == 0)
		conn_ack(c);
	else if (!event_pending(c->ack_ev, EV_TIMEOUT, NULL) ||
	    (c->ack_few && !few)) {
		c->ack_few = few;
		event_add(c->ack_ev, &tv);
	}
}

static void
conn_acked(struct conn *c, uint64_t acked)
{
	if (flight_acked(&c->flight, acked) == -1) {
		conn_broke(c, "%s sent RECEIVED for bytes it cannot have",
		    conn_peer(c));
		return;
	}
	conn_check_room(c);
	if (c->out.total != 0) {
		c->want_pump = true;
		conn_wake(c);
	}
}

void
conn_count(struct conn *c)
{
	flight_on(&c->flight);
	conn_check_ack(c);
	conn_check_room(c);
}

void
conn_set_rtt(struct conn *c, uint64_t us)
{
	flight_set_rtt(&c->flight, us);
	conn_check_room(c);
}

/* --- sending ------------------------------------------------------------ */

/* Stream and bulk wait for what is in flight, keys and control never. Bulk
 * leaves half of it to those who ask conn_room(): else each byte that a long
 * checkpoint is rid of would be the checkpoint's again. */
static bool
conn_held(const struct conn *c, int class)
{
	uint64_t room;

	if (!c->flight.on || class < CONN_STREAM)
		return false;
	room = flight_room(&c->flight);
	if (class == CONN_BULK)
		return room <= flight_cap(&c->flight) / 2;
	return room == 0;
}

static int
conn_gather(const struct conn *c, struct iovec *iov)
{
	int classes = 0;

	while (classes < CONN_CLASSES && !conn_held(c, classes))
		classes++;
	return sendq_gather(&c->out, classes, iov, CONN_IOV);
}

/* Writes what the descriptor takes now, but not for ever. */
static void
conn_pump(struct conn *c)
{
	struct iovec iov[CONN_IOV];
	size_t done = 0;
	ssize_t w;
	int n = 0;

	c->want_pump = false;
	while (!c->dead && !c->deaf && (n = conn_gather(c, iov)) > 0) {
		if (done >= CONN_WRITE_MAX) {
			event_add(c->write_ev, NULL);
			break;
		}
		w = writev(c->wfd, iov, n);
		if (w == -1 && errno == EINTR)
			continue;
		if (w == -1 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
			if (event_add(c->write_ev, NULL) == -1)
				conn_die(c, "cannot wait for writing");
			break;
		}
		if (w == -1) {
			conn_deafened(c, errno);
			return;
		}
		c->sent += (size_t)w;
		c->flight.sent += sendq_written(&c->out, (size_t)w);
		done += (size_t)w;
	}
	if (c->dead || c->deaf)
		return;
	if (n == 0)
		event_del(c->write_ev);
	conn_check_room(c);
	if (c->finishing && c->out.total == 0)
		conn_wake(c);
}

void
conn_send(struct conn *c, enum conn_class class, uint8_t type,
    uint32_t channel, const void *data, size_t len)
{
	const struct frame_kind *kind = frame_kind(type);
	struct frame_head h = { .type = type, .channel = channel };
	const uint8_t *p = data;
	size_t limit = CONN_QUEUE_MAX;

	if (c->dead || c->deaf || c->finishing)
		return;
	if (kind == NULL || len > kind->max) {
		conn_die(c, "a message of our own is too long");
		return;
	}
	/* A capture may be longer than everything else together. */
	if (kind->max > limit)
		limit += kind->max;
	if (len > limit - (c->out.total < limit ? c->out.total : limit)) {
		conn_die(c, "the peer does not read what is sent");
		return;
	}
	do {
		h.len = len < FRAME_PAYLOAD_MAX ? (uint32_t)len :
		    FRAME_PAYLOAD_MAX;
		h.flags = (h.len < len ? FRAME_MORE : 0) |
		    (frame_ignorable(type) ? FRAME_IGNORABLE : 0);
		if (sendq_put(&c->out, class, &h, p) == -1) {
			conn_die(c, "out of memory");
			return;
		}
		if (h.len != 0)
			p += h.len;
		len -= h.len;
	} while (len > 0);
	conn_check_room(c);
	/* While the descriptor is full its event does the work. */
	if (!c->want_pump && !event_pending(c->write_ev, EV_WRITE, NULL)) {
		c->want_pump = true;
		conn_wake(c);
	}
}

void
conn_send_buf(struct conn *c, enum conn_class class, uint8_t type,
    uint32_t channel, struct buf *b)
{
	if (!buf_ok(b))
		conn_die(c, "a message of our own is too long");
	else
		conn_send(c, class, type, channel, b->data, b->len);
	buf_reset(b);
}

void
conn_flush(struct conn *c)
{
	conn_pump(c);
}

/* --- receiving ---------------------------------------------------------- */

static void
conn_deliver(struct conn *c, uint8_t type, uint32_t channel,
    const uint8_t *data, size_t len)
{
	struct rd r;
	uint64_t v;

	if (type == F_RECEIVED) {
		rd_init(&r, data, len);
		v = rd_u64(&r);
		if (!rd_end(&r))
			conn_broke(c, "%s sent a damaged RECEIVED",
			    conn_peer(c));
		else
			conn_acked(c, v);
		return;
	}
	if (!c->finishing)
		c->cb.message(c, type, channel, data, len, c->arg);
}

static void
conn_frame(struct conn *c, const struct frame_head *h, const uint8_t *data)
{
	const struct frame_kind *kind = frame_kind(h->type);
	struct buf whole;

	if (kind == NULL)
		return;		/* IGNORABLE: conn_head_ok() saw to it */
	switch (parts_add(&c->parts, kind, h, data, &whole)) {
	case PARTS_NONE:
		conn_deliver(c, h->type, h->channel, data, h->len);
		break;
	case PARTS_MORE:
		break;
	case PARTS_WHOLE:
		conn_deliver(c, h->type, h->channel, whole.data, whole.len);
		buf_free(&whole);
		break;
	case PARTS_LONG:
		conn_broke(c, "%s sent a %s of more than %u bytes",
		    conn_peer(c), kind->name, kind->max);
		break;
	case PARTS_MANY:
		conn_broke(c, "%s sends too many long messages at once",
		    conn_peer(c));
		break;
	case PARTS_MEMORY:
		conn_broke(c, "out of memory");
		break;
	}
}

/* Judged before the payload is here, so that nobody waits for the rest of
 * what is refused anyway. */
static bool
conn_head_ok(struct conn *c, const uint8_t *in, struct frame_head *h)
{
	const struct frame_kind *kind;

	if (!frame_head_get(in, h)) {
		conn_broke(c, "%s sent something that is no frame",
		    conn_peer(c));
		return false;
	}
	if ((kind = frame_kind(h->type)) == NULL) {
		if (h->flags & FRAME_IGNORABLE)
			return true;
		conn_broke(c, "%s sent a frame of unknown type 0x%02x",
		    conn_peer(c), h->type);
		return false;
	}
	if (!(kind->senders & c->peer)) {
		conn_broke(c, "%s may not send %s", conn_peer(c), kind->name);
		return false;
	}
	if (h->len > kind->max) {
		conn_broke(c, "%s sent a %s of more than %u bytes",
		    conn_peer(c), kind->name, kind->max);
		return false;
	}
	return true;
}

/* Takes whole frames off the front; returns how many bytes are used up. The
 * caller holds busy. */
static size_t
conn_frames(struct conn *c, const uint8_t *p, size_t len)
{
	struct frame_head h;
	uint64_t until = clock_us() + CONN_SLICE_US;
	size_t used = 0;

	while (!c->dead && !c->paused && len - used >= FRAME_HEADER) {
		/* Small frames may cost much: the others wait for this one. */
		if (used != 0 && clock_us() > until) {
			c->held = true;
			break;
		}
		if (!conn_head_ok(c, p + used, &h) ||
		    len - used - FRAME_HEADER < h.len)
			break;
		c->received += FRAME_HEADER + h.len;
		if (h.type != F_RECEIVED)
			c->flight.got += FRAME_HEADER + h.len;
		conn_frame(c, &h, p + used + FRAME_HEADER);
		used += FRAME_HEADER + h.len;
	}
	return used;
}

/* Takes len new bytes. They are looked at in place; only what is no whole
 * frame is kept. The caller holds busy. */
static void
conn_parse(struct conn *c, const uint8_t *p, size_t len)
{
	static const struct timeval soon = { 0, 0 };
	size_t used;

	c->in_fresh = c->held = false;
	if (c->in.len == 0) {
		used = conn_frames(c, p, len);
		if (!c->gone)
			buf_put(&c->in, p + used, len - used);
	} else {
		buf_put(&c->in, p, len);
		if (!buf_ok(&c->in)) {
			conn_die(c, "out of memory");
			return;
		}
		used = conn_frames(c, c->in.data, c->in.len);
		if (!c->gone)
			buf_drain(&c->in, used);
	}
	if (c->gone || c->dead)
		return;
	if (!buf_ok(&c->in))
		conn_die(c, "out of memory");
	/* An idle connection is to cost little. */
	if (c->in.len == 0 && c->in.cap > 8192)
		buf_free(&c->in);
	c->in_fresh = (c->paused || c->held) && c->in.len != 0;
	if (c->held) {
		/* By a timer: what is made active runs before the loop looks
		 * at the others. */
		c->slowed = true;
		event_del(c->read_ev);
		event_add(c->defer, &soon);
	} else if (c->slowed && !c->paused) {
		c->slowed = false;
		if (event_add(c->read_ev, NULL) == -1)
			conn_die(c, "cannot wait for reading");
	}
	conn_check_ack(c);
}

static void
conn_read_event(int fd, short what, void *arg)
{
	/* Shared: nothing is left in it when this returns, and the loop does
	 * not come here again from inside. */
	static uint8_t space[CONN_READ_MAX];
	struct conn *c = arg;
	ssize_t n;

	(void)what;
	if (c->dead)
		return;
	do
		n = read(fd, space, sizeof space);
	while (n == -1 && errno == EINTR);
	if (n == -1 && (errno == EAGAIN || errno == EWOULDBLOCK))
		return;
	c->busy++;
	if (c->in_fresh)
		conn_parse(c, space, 0);
	if (c->dead || c->gone)
		;
	else if (n > 0) {
		c->last_read = clock_ms();
		conn_parse(c, space, (size_t)n);
	} else if (n == -1)
		conn_left_die(c, strerror(errno));
	else if (c->in.len != 0 || c->parts.count != 0)
		conn_left_die(c, "the connection was closed inside a message");
	else
		conn_left_die(c, "the connection was closed");
	conn_leave(c);
}

void
conn_feed(struct conn *c, const void *data, size_t len)
{
	if (c->dead || len == 0)
		return;
	buf_put(&c->in, data, len);
	if (len > CONN_READ_MAX || !buf_ok(&c->in)) {
		conn_die(c, "too many bytes at once");
		return;
	}
	c->last_read = clock_ms();
	c->in_fresh = true;
	conn_wake(c);
}

void
conn_pause(struct conn *c, bool on)
{
	if (c->dead || c->paused == on)
		return;
	c->paused = on;
	if (on) {
		event_del(c->read_ev);
		return;
	}
	if (c->in.len != 0) {
		c->in_fresh = true;
		conn_wake(c);
	}
	if (event_add(c->read_ev, NULL) == -1)
		conn_die(c, "cannot wait for reading");
}

/* --- the loop ----------------------------------------------------------- */

static void
conn_write_event(int fd, short what, void *arg)
{
	struct conn *c = arg;

	(void)fd;
	(void)what;
	conn_pump(c);
}

/* conn_finish() had its time, or the peer of a failed write said no more. */
static void
conn_end_event(int fd, short what, void *arg)
{
	struct conn *c = arg;

	(void)fd;
	(void)what;
	if (c->finishing)
		conn_free(c);
	else
		conn_left_die(c, "the connection was closed");
}

static void
conn_defer_event(int fd, short what, void *arg)
{
	struct conn *c = arg;

	(void)fd;
	(void)what;
	c->busy++;
	if (!c->dead && c->in_fresh && !c->paused)
		conn_parse(c, NULL, 0);
	if (!c->dead && c->want_pump)
		conn_pump(c);
	if (c->room_due && !c->dead && !c->finishing) {
		c->room_due = c->no_room = false;
		/* Something may have filled it again meanwhile. */
		if (conn_room(c) == 0)
			c->no_room = true;
		else
			c->cb.room(c, c->arg);
	}
	if (c->gone)
		;
	else if (c->finishing && (c->dead || c->out.total == 0))
		conn_free(c);
	else if (c->dead && !c->told) {
		c->told = true;
		c->cb.closed(c, c->why, c->arg);
	}
	conn_leave(c);
}

struct conn *
conn_new(struct event_base *base, int rfd, int wfd, unsigned int peer,
    const struct conn_cb *cb, void *arg)
{
	struct conn *c = xcalloc(1, sizeof *c);

	c->base = base;
	c->rfd = rfd;
	c->wfd = wfd;
	c->peer = peer;
	c->cb = *cb;
	c->arg = arg;
	sendq_init(&c->out);
	parts_init(&c->parts);
	/* A frame less one byte, and a whole read behind it. */
	buf_init(&c->in, FRAME_HEADER + FRAME_PAYLOAD_MAX + 2 * CONN_READ_MAX);
	c->last_read = clock_ms();
	c->read_ev = event_new(base, rfd, EV_READ | EV_PERSIST,
	    conn_read_event, c);
	c->write_ev = event_new(base, wfd, EV_WRITE | EV_PERSIST,
	    conn_write_event, c);
	c->defer = evtimer_new(base, conn_defer_event, c);
	c->ack_ev = evtimer_new(base, conn_ack_event, c);
	c->end_ev = evtimer_new(base, conn_end_event, c);
	if (c->read_ev == NULL || c->write_ev == NULL || c->defer == NULL ||
	    c->ack_ev == NULL || c->end_ev == NULL)
		abort();
	if (fd_nonblock(rfd) == -1 || fd_nonblock(wfd) == -1)
		conn_die(c, strerror(errno));
	else if (event_add(c->read_ev, NULL) == -1)
		conn_die(c, "cannot wait for reading");
	return c;
}

void
conn_finish(struct conn *c, int ms)
{
	struct timeval tv = { ms / 1000, ms % 1000 * 1000 };

	if (c == NULL || c->gone)
		return;
	if (c->dead || c->deaf) {
		conn_free(c);
		return;
	}
	c->finishing = true;
	/* Reads on: a peer that is stuck in writing would not read, and what
	 * waits for RECEIVED would never go. */
	c->paused = false;
	event_add(c->read_ev, NULL);
	event_add(c->end_ev, &tv);
	conn_pump(c);
	if (c->out.total == 0 || c->deaf)
		conn_free(c);
}

size_t
conn_queued(const struct conn *c)
{
	return c->out.total;
}

uint64_t
conn_sent(const struct conn *c)
{
	return c->sent;
}

uint64_t
conn_received(const struct conn *c)
{
	return c->received;
}

uint64_t
conn_last_read(const struct conn *c)
{
	return c->last_read;
}
