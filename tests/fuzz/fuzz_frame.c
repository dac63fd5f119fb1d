/* SPDX-License-Identifier: ISC */
/*
 * A connection against a peer that does as the input says. The input is a
 * list of steps: raw bytes, frames with a right header (the fuzzer would
 * never guess the check), and calls that the owner makes meanwhile, from
 * inside the callback as well.
 *
 *	first byte: which peer, flow counted or not, what the callback does
 *	step: 0 length bytes		raw
 *	      1 type flags channel length bytes
 *	      2.. a call
 */
#include <sys/socket.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../server/base/fd.h"
#include "../../server/base/limits.h"
#include "../../server/wire/conn.h"

int	LLVMFuzzerTestOneInput(const uint8_t *, size_t);

static struct event_base *base;
static struct conn *conn;
static uint8_t plan;
static size_t delivered;
static int sock;

static void
on_message(struct conn *c, uint8_t type, uint32_t channel, const uint8_t *p,
    size_t len, void *arg)
{
	const struct frame_kind *kind = frame_kind(type);
	static volatile uint8_t sum;
	size_t i;

	(void)arg;
	if (c != conn || kind == NULL || len > kind->max)
		abort();
	for (i = 0; i < len; i++)
		sum = (uint8_t)(sum + p[i]);
	delivered++;
	switch (delivered == 3 ? plan >> 4 & 7 : 0) {
	case 1:
		conn_free(c);
		conn = NULL;
		break;
	case 2:
		conn_finish(c, 0);
		conn = NULL;
		break;
	case 3:
		conn_pause(c, true);
		break;
	case 4:
		conn_drop(c, "plan");
		break;
	case 5:
		conn_send(c, CONN_BULK, type, channel, p, len);
		break;
	}
}

static void
on_closed(struct conn *c, const char *why, void *arg)
{
	(void)arg;
	if (c != conn || why == NULL || *why == '\0')
		abort();
	conn_free(c);
	conn = NULL;
}

static void
on_room(struct conn *c, void *arg)
{
	(void)arg;
	if (c != conn || conn_room(c) == 0)
		abort();
}

/* What the connection sent, so that it never blocks on us for ever. */
static void
drain(void)
{
	static uint8_t space[65536];

	while (read(sock, space, sizeof space) > 0)
		;
}

static void
say(const void *p, size_t len)
{
	if (write(sock, p, len) != (ssize_t)len)
		return;
}

static void
call(uint8_t what)
{
	static const uint8_t zeros[70000];

	switch (what % 10) {
	case 2:
		conn_pause(conn, true);
		break;
	case 3:
		conn_pause(conn, false);
		break;
	case 4:
		conn_send(conn, CONN_CONTROL, F_PING, 0, zeros, 16);
		break;
	case 5:
		conn_send(conn, CONN_BULK, F_CHECKPOINT, 1, zeros,
		    sizeof zeros);
		break;
	case 6:
		conn_flush(conn);
		break;
	case 7:
		conn_set_rtt(conn, what * 1000u);
		break;
	case 8:
		drain();
		break;
	case 9:
		conn_feed(conn, "fed bytes that are no frame", what / 10);
		break;
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t len)
{
	static const struct conn_cb cb = { on_message, on_closed, on_room };
	static uint8_t f[FRAME_HEADER + 255];
	struct frame_head h;
	int sv[2], i;
	size_t n;

	if (len == 0)
		return 0;
	if (base == NULL && (base = fd_loop(0)) == NULL)
		abort();
	if (fd_pair(sv) == -1 || fd_nonblock(sv[1]) == -1)
		abort();
	sock = sv[1];
	plan = *p++;
	len--;
	delivered = 0;
	conn = conn_new(base, sv[0], sv[0], 1u << (plan & 3), &cb, NULL);
	if (plan & 8)
		conn_count(conn);
	while (len >= 2 && conn != NULL) {
		if (p[0] == 0) {
			n = p[1] < len - 2 ? p[1] : len - 2;
			say(p + 2, n);
			p += 2 + n;
			len -= 2 + n;
		} else if (p[0] == 1 && len >= 5) {
			n = p[4] < len - 5 ? p[4] : len - 5;
			h.len = (uint32_t)n;
			h.type = p[1];
			h.flags = p[2];
			h.channel = p[3];
			frame_head_put(f, &h);
			memcpy(f + FRAME_HEADER, p + 5, n);
			say(f, FRAME_HEADER + n);
			p += 5 + n;
			len -= 5 + n;
		} else {
			call(p[1]);
			p += 2;
			len -= 2;
		}
		if (p[-1] & 1)
			event_base_loop(base, EVLOOP_NONBLOCK);
	}
	close(sv[1]);
	if (conn != NULL)
		conn_pause(conn, false);
	for (i = 0; i < 8 && conn != NULL; i++)
		event_base_loop(base, EVLOOP_NONBLOCK);
	conn_free(conn);
	conn = NULL;
	/* A finished one ends by its timer, which is due. */
	event_base_loop(base, EVLOOP_NONBLOCK);
	event_base_loop(base, EVLOOP_NONBLOCK);
	return 0;
}
