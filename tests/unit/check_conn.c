/* SPDX-License-Identifier: ISC */
/*
 * Connections over socketpairs on a real loop: splitting and joining, order
 * between classes, limits, flow, and every way to end.
 */
#include <sys/socket.h>
#include <check.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../server/base/fd.h"
#include "../../server/base/limits.h"
#include "../../server/base/mem.h"
#include "../../server/wire/conn.h"
#include "../../server/wire/msg.h"
#include "unit.h"

#define GOT_MAX 4096

/* What one end was told. */
struct end {
	struct conn *c;
	struct got {
		uint8_t	 type;
		uint32_t channel;
		size_t	 len;
		uint8_t	*data;
	} got[GOT_MAX];
	int	 n;
	int	 rooms;
	char	*why;
	int	 free_after;	/* conn_free() inside the nth message */
	int	 finish_after;
	int	 pause_after;
	bool	 drain;		/* keep no bodies */
	uint64_t bytes;
};

static struct event_base *base;
static struct end a, b;
static int sv[2];

static void
on_message(struct conn *c, uint8_t type, uint32_t channel, const uint8_t *p,
    size_t len, void *arg)
{
	struct end *e = arg;
	struct got *g;

	ck_assert_ptr_eq(c, e->c);
	e->bytes += len;
	if (!e->drain) {
		ck_assert_int_lt(e->n, GOT_MAX);
		g = &e->got[e->n];
		g->type = type;
		g->channel = channel;
		g->len = len;
		g->data = xmalloc(len + 1);
		if (len != 0)
			memcpy(g->data, p, len);
	}
	e->n++;
	if (e->n == e->free_after) {
		conn_free(c);
		e->c = NULL;
	} else if (e->n == e->finish_after) {
		conn_send(c, CONN_CONTROL, F_BYE, 0, "bye", 3);
		conn_finish(c, 1000);
		e->c = NULL;
	} else if (e->n == e->pause_after)
		conn_pause(c, true);
}

static void
on_closed(struct conn *c, const char *why, void *arg)
{
	struct end *e = arg;

	ck_assert_ptr_eq(c, e->c);
	ck_assert_ptr_null(e->why);
	e->why = xstrdup(why);
	conn_free(c);
	e->c = NULL;
}

static void
on_room(struct conn *c, void *arg)
{
	struct end *e = arg;

	ck_assert_uint_gt(conn_room(c), 0);
	e->rooms++;
}

static const struct conn_cb cb = { on_message, on_closed, on_room };

static void
end_clear(struct end *e)
{
	int i;

	conn_free(e->c);
	if (!e->drain)
		for (i = 0; i < e->n; i++)
			free(e->got[i].data);
	free(e->why);
	memset(e, 0, sizeof *e);
}

/* a is the server's end of a link and b the agent's. */
static void
setup(void)
{
	base = fd_loop(0);
	ck_assert_ptr_nonnull(base);
	ck_assert_int_eq(fd_pair(sv), 0);
	a.c = conn_new(base, sv[0], sv[0], PEER_AGENT, &cb, &a);
	b.c = conn_new(base, sv[1], sv[1], PEER_SERVER_A, &cb, &b);
}

static void
teardown(void)
{
	end_clear(&a);
	end_clear(&b);
	event_base_free(base);
}

/* Only one end is a conn; the other is the bare sv[1]. */
static void
setup_raw(void)
{
	base = fd_loop(0);
	ck_assert_ptr_nonnull(base);
	ck_assert_int_eq(fd_pair(sv), 0);
	ck_assert_int_eq(fd_nonblock(sv[1]), 0);
	a.c = conn_new(base, sv[0], sv[0], PEER_AGENT, &cb, &a);
}

static void
teardown_raw(void)
{
	end_clear(&a);
	fd_close(&sv[1]);
	event_base_free(base);
}

static void
on_deadline(int fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	*(bool *)arg = true;
}

/* Turns the loop until cond holds; fails after five seconds. */
#define AWAIT(cond) do {						\
	struct timeval limit_ = { 5, 0 };				\
	bool late_ = false;						\
	struct event *t_ = evtimer_new(base, on_deadline, &late_);	\
	event_add(t_, &limit_);						\
	while (!(cond) && !late_)					\
		event_base_loop(base, EVLOOP_ONCE);			\
	event_free(t_);							\
	ck_assert_msg(cond, "not within five seconds: " #cond);		\
} while (0)

/* Turns the loop until nothing happens at once any more. */
static void
settle(void)
{
	int i;

	for (i = 0; i < 20; i++)
		event_base_loop(base, EVLOOP_NONBLOCK);
}

static size_t
frame(uint8_t *out, uint8_t type, uint8_t flags, uint32_t channel,
    const void *data, size_t len)
{
	struct frame_head h = { (uint32_t)len, type, flags, channel };

	frame_head_put(out, &h);
	if (len != 0)
		memcpy(out + FRAME_HEADER, data, len);
	return FRAME_HEADER + len;
}

static void
raw_send(const void *p, size_t len)
{
	ck_assert_int_eq(write(sv[1], p, len), (int)len);
}

static void
raw_frame(uint8_t type, uint8_t flags, uint32_t channel, const void *data,
    size_t len)
{
	uint8_t *p = xmalloc(FRAME_HEADER + len);
	size_t n = frame(p, type, flags, channel, data, len), off = 0;
	ssize_t w;

	while (off < n) {
		w = write(sv[1], p + off, n - off);
		if (w == -1 && errno == EAGAIN) {
			event_base_loop(base, EVLOOP_NONBLOCK);
			/* Refused already: the rest finds nobody. */
			if (a.c == NULL)
				break;
			continue;
		}
		if (w == -1 && errno == EPIPE)
			break;
		ck_assert_int_gt((int)w, 0);
		off += (size_t)w;
	}
	free(p);
}

static uint8_t *
pattern(size_t len)
{
	uint8_t *p = xmalloc(len + 1);
	size_t i;

	for (i = 0; i < len; i++)
		p[i] = (uint8_t)(i * 31 + i / 256 * 7 + i / 65536);
	return p;
}

START_TEST(messages_arrive_as_they_were_sent)
{
	static const size_t sizes[] = { 0, 1, FRAME_PAYLOAD_MAX - 1,
	    FRAME_PAYLOAD_MAX, FRAME_PAYLOAD_MAX + 1, 3 * FRAME_PAYLOAD_MAX,
	    1000000 };
	uint8_t *p = pattern(1000000);
	int i, n = sizeof sizes / sizeof sizes[0];

	for (i = 0; i < n; i++)
		conn_send(a.c, CONN_BULK, F_CHECKPOINT, (uint32_t)i, p,
		    sizes[i]);
	AWAIT(b.n == n);
	for (i = 0; i < n; i++) {
		ck_assert_uint_eq(b.got[i].type, F_CHECKPOINT);
		ck_assert_uint_eq(b.got[i].channel, (uint32_t)i);
		ck_assert_uint_eq(b.got[i].len, sizes[i]);
		ck_assert(memcmp(b.got[i].data, p, sizes[i]) == 0);
	}
	ck_assert_uint_eq(conn_queued(a.c), 0);
	ck_assert(conn_sent(a.c) == conn_received(b.c));
	free(p);
}
END_TEST

START_TEST(a_stream_cut_at_every_byte_is_joined)
{
	uint8_t s[512];
	size_t i, n = 0;

	n += frame(s + n, F_DATA, 0, 1, "hello", 5);
	n += frame(s + n, F_CHECKPOINT, FRAME_MORE, 2, "abc", 3);
	n += frame(s + n, F_DATA, 0, 1, "", 0);
	n += frame(s + n, F_CHECKPOINT, FRAME_MORE, 3, "123", 3);
	n += frame(s + n, F_CHECKPOINT, 0, 2, "def", 3);
	n += frame(s + n, F_CHECKPOINT, 0, 3, "", 0);
	for (i = 0; i <= n; i++) {
		end_clear(&a);
		fd_close(&sv[1]);
		ck_assert_int_eq(fd_pair(sv), 0);
		a.c = conn_new(base, sv[0], sv[0], PEER_AGENT, &cb, &a);
		if (i != 0)
			raw_send(s, i);
		settle();
		if (i != n)
			raw_send(s + i, n - i);
		AWAIT(a.n == 4);
		ck_assert_uint_eq(a.got[0].len, 5);
		ck_assert(memcmp(a.got[0].data, "hello", 5) == 0);
		ck_assert_uint_eq(a.got[1].len, 0);
		ck_assert_uint_eq(a.got[2].len, 6);
		ck_assert_uint_eq(a.got[2].channel, 2);
		ck_assert(memcmp(a.got[2].data, "abcdef", 6) == 0);
		ck_assert_uint_eq(a.got[3].len, 3);
		ck_assert(memcmp(a.got[3].data, "123", 3) == 0);
	}
}
END_TEST

START_TEST(a_stream_byte_by_byte_is_joined)
{
	uint8_t s[256];
	size_t i, n = 0;

	n += frame(s + n, F_DATA, 0, 1, "hello", 5);
	n += frame(s + n, F_CHECKPOINT, FRAME_MORE, 2, "abc", 3);
	n += frame(s + n, F_CHECKPOINT, 0, 2, "def", 3);
	for (i = 0; i < n; i++) {
		raw_send(s + i, 1);
		settle();
	}
	AWAIT(a.n == 2);
	ck_assert(memcmp(a.got[1].data, "abcdef", 6) == 0);
}
END_TEST

START_TEST(control_and_keys_overtake_bulk_between_its_parts)
{
	uint8_t *p = pattern(8 << 20);

	conn_send(a.c, CONN_BULK, F_CHECKPOINT, 1, p, 8 << 20);
	conn_flush(a.c);	/* as much as the socket takes */
	ck_assert_uint_gt(conn_queued(a.c), 4 << 20);
	conn_send(a.c, CONN_STREAM, F_DATA, 2, "s", 1);
	conn_send(a.c, CONN_KEYS, F_ANSWER, 3, "k", 1);
	conn_send(a.c, CONN_CONTROL, F_PING, 0, p, 16);
	conn_send(a.c, CONN_KEYS, F_ANSWER, 4, "l", 1);
	AWAIT(b.n == 5);
	ck_assert_uint_eq(b.got[0].type, F_PING);
	ck_assert_uint_eq(b.got[1].channel, 3);
	ck_assert_uint_eq(b.got[2].channel, 4);
	ck_assert_uint_eq(b.got[3].type, F_DATA);
	ck_assert_uint_eq(b.got[4].type, F_CHECKPOINT);
	ck_assert_uint_eq(b.got[4].len, 8 << 20);
	ck_assert(memcmp(b.got[4].data, p, 8 << 20) == 0);
	free(p);
}
END_TEST

/* Awaits the end of a, whose reason must hold the words, and the FAIL. */
static void
assert_dropped(const char *words)
{
	uint8_t p[65536];
	struct frame_head h;
	ssize_t n;

	AWAIT(a.why != NULL);
	ck_assert_ptr_null(a.c);
	ck_assert_msg(strstr(a.why, words) != NULL, "why: %s", a.why);
	n = read(sv[1], p, sizeof p);
	ck_assert_int_ge((int)n, FRAME_HEADER);
	ck_assert(frame_head_get(p, &h));
	ck_assert_uint_eq(h.type, F_FAIL);
	ck_assert_uint_eq(h.len, n - FRAME_HEADER);
	ck_assert(memmem(p, (size_t)n, words, strlen(words)) != NULL);
	ck_assert_int_eq(read(sv[1], p, 1), 0);
}

START_TEST(what_is_no_frame_ends_the_connection)
{
	raw_send("Last login: Mon Jan  1 00:00:00", 31);
	assert_dropped("the agent sent something that is no frame");
	ck_assert_int_eq(a.n, 0);
}
END_TEST

START_TEST(a_type_the_peer_may_not_send_ends_the_connection)
{
	raw_frame(F_KILL, 0, 1, "\0\0\0\0", 4);
	assert_dropped("the agent may not send KILL");
}
END_TEST

START_TEST(an_unknown_type_ends_the_connection_by_number)
{
	raw_frame(0xee, 0, 1, "x", 1);
	assert_dropped("unknown type 0xee");
}
END_TEST

START_TEST(an_unknown_type_that_may_be_ignored_is_skipped)
{
	raw_frame(0xee, FRAME_IGNORABLE, 1, "x", 1);
	raw_frame(0xee, FRAME_IGNORABLE | FRAME_MORE, 1, "x", 1);
	raw_frame(F_DATA, 0, 1, "y", 1);
	AWAIT(a.n == 1);
	ck_assert_uint_eq(a.got[0].type, F_DATA);
}
END_TEST

START_TEST(a_message_over_its_types_limit_ends_the_connection)
{
	/* The header alone is enough: nobody waits for the rest. */
	uint8_t head[FRAME_HEADER];
	struct frame_head h = { 17, F_PING, 0, 0 };

	frame_head_put(head, &h);
	raw_send(head, sizeof head);
	assert_dropped("the agent sent a PING of more than 16 bytes");
}
END_TEST

START_TEST(a_message_over_its_limit_in_parts_ends_the_connection)
{
	raw_frame(F_PING, FRAME_MORE, 0, "0123456789", 10);
	raw_frame(F_PING, FRAME_MORE, 0, "0123456789", 10);
	assert_dropped("a PING of more than 16 bytes");
}
END_TEST

START_TEST(too_many_messages_begun_end_the_connection)
{
	uint32_t i;

	for (i = 0; i <= CONN_PARTS_COUNT; i++)
		raw_frame(F_CHECKPOINT, FRAME_MORE, i, "x", 1);
	assert_dropped("too many long messages");
}
END_TEST

START_TEST(too_many_bytes_begun_end_the_connection)
{
	uint8_t *p = pattern(FRAME_PAYLOAD_MAX);
	uint32_t i, n = CONN_PARTS_MAX / FRAME_PAYLOAD_MAX + 1;

	for (i = 0; i < n && a.why == NULL; i++)
		raw_frame(F_CHECKPOINT, FRAME_MORE, i % 3, p,
		    FRAME_PAYLOAD_MAX);
	assert_dropped("too many long messages");
	free(p);
}
END_TEST

START_TEST(an_orderly_close_is_told_after_the_last_message)
{
	raw_frame(F_DATA, 0, 1, "x", 1);
	close(sv[1]);
	sv[1] = -1;
	AWAIT(a.why != NULL);
	ck_assert_int_eq(a.n, 1);
	ck_assert_str_eq(a.why, "the connection was closed");
}
END_TEST

START_TEST(a_close_inside_a_message_is_told_as_such)
{
	raw_frame(F_CHECKPOINT, FRAME_MORE, 1, "x", 1);
	shutdown(sv[1], SHUT_WR);
	AWAIT(a.why != NULL);
	ck_assert_ptr_nonnull(strstr(a.why, "inside a message"));
}
END_TEST

START_TEST(closed_never_comes_from_inside_a_call)
{
	uint8_t x[17] = { 0 };

	close(sv[1]);
	sv[1] = -1;
	conn_send(a.c, CONN_CONTROL, F_PING, 0, x, 16);
	conn_flush(a.c);
	ck_assert_ptr_null(a.why);
	conn_send(a.c, CONN_CONTROL, F_PING, 0, x, 17);
	ck_assert_ptr_null(a.why);
	conn_drop(a.c, "because");
	conn_drop(a.c, "twice");
	conn_send(a.c, CONN_CONTROL, F_PING, 0, x, 16);
	conn_flush(a.c);
	conn_pause(a.c, true);
	ck_assert_ptr_null(a.why);
	AWAIT(a.why != NULL);
}
END_TEST

/* The peer wrote its last words and went; our own write fails first. */
START_TEST(last_words_are_read_after_a_write_failed)
{
	uint8_t x[16] = { 0 };

	raw_frame(F_FAIL, 0, 0, "\0\1\0\0\0\2no", 8);
	close(sv[1]);
	sv[1] = -1;
	conn_send(a.c, CONN_CONTROL, F_PING, 0, x, 16);
	conn_flush(a.c);
	AWAIT(a.why != NULL);
	ck_assert_int_eq(a.n, 1);
	ck_assert_uint_eq(a.got[0].type, F_FAIL);
}
END_TEST

/* A pair of pipes of which only the one we write to is gone. */
START_TEST(a_half_that_is_gone_ends_the_connection_in_a_while)
{
	int in[2], out[2];

	ck_assert_int_eq(fd_pipe(in), 0);
	ck_assert_int_eq(fd_pipe(out), 0);
	conn_free(a.c);
	a.c = conn_new(base, in[0], out[1], PEER_AGENT, &cb, &a);
	close(out[0]);
	conn_send(a.c, CONN_CONTROL, F_BYE, 0, "x", 1);
	AWAIT(a.why != NULL);
	close(in[1]);
}
END_TEST

START_TEST(drop_sends_its_reason)
{
	conn_drop(a.c, "that is against the rules");
	ck_assert_ptr_null(a.why);
	assert_dropped("that is against the rules");
}
END_TEST

START_TEST(a_callee_may_free_the_connection)
{
	uint8_t s[256];
	size_t n = 0;

	n += frame(s + n, F_DATA, 0, 1, "x", 1);
	n += frame(s + n, F_CHECKPOINT, FRAME_MORE, 1, "x", 1);
	n += frame(s + n, F_CHECKPOINT, 0, 1, "x", 1);
	n += frame(s + n, F_DATA, 0, 1, "y", 1);
	a.free_after = 2;	/* inside a joined one, with more behind */
	raw_send(s, n);
	AWAIT(a.c == NULL);
	settle();
	ck_assert_int_eq(a.n, 2);
	ck_assert_ptr_null(a.why);
	ck_assert_int_eq(read(sv[1], s, 1), 0);
}
END_TEST

START_TEST(a_callee_may_finish_the_connection)
{
	uint8_t s[256];

	a.finish_after = 1;
	raw_frame(F_DATA, 0, 1, "x", 1);
	raw_frame(F_DATA, 0, 1, "y", 1);
	AWAIT(a.c == NULL);
	settle();
	ck_assert_int_eq(a.n, 1);
	ck_assert_int_eq(read(sv[1], s, sizeof s), FRAME_HEADER + 3);
	ck_assert_uint_eq(s[4], F_BYE);
	ck_assert_int_eq(read(sv[1], s, 1), 0);
}
END_TEST

START_TEST(finish_sends_all_that_is_queued)
{
	uint8_t *p = pattern(4 << 20);

	conn_send(a.c, CONN_BULK, F_CHECKPOINT, 1, p, 4 << 20);
	conn_finish(a.c, 5000);
	a.c = NULL;
	AWAIT(b.n == 1);
	ck_assert(memcmp(b.got[0].data, p, 4 << 20) == 0);
	AWAIT(b.why != NULL);
	ck_assert_ptr_null(a.why);
	free(p);
}
END_TEST

START_TEST(finish_gives_up_on_a_peer_that_does_not_read)
{
	uint8_t *p = pattern(4 << 20), one;
	ssize_t n;

	conn_send(a.c, CONN_BULK, F_CHECKPOINT, 1, p, 4 << 20);
	conn_finish(a.c, 20);
	a.c = NULL;
	/* The timer's end closes the socket: then there is EOF behind. */
	ck_assert_int_eq(event_base_dispatch(base), 1);
	while ((n = read(sv[1], p, 4 << 20)) > 0)
		;
	ck_assert_int_eq((int)n, 0);
	ck_assert_int_eq(read(sv[1], &one, 1), 0);
	free(p);
}
END_TEST

START_TEST(a_peer_that_does_not_read_is_cut_at_the_queues_limit)
{
	uint8_t *p = pattern(FRAME_PAYLOAD_MAX);
	size_t i;

	for (i = 0; i < CONN_QUEUE_MAX / FRAME_PAYLOAD_MAX + 16; i++)
		conn_send(a.c, CONN_STREAM, F_DATA, 1, p, FRAME_PAYLOAD_MAX);
	ck_assert_ptr_null(a.why);
	AWAIT(a.why != NULL);
	ck_assert_ptr_nonnull(strstr(a.why, "does not read"));
	free(p);
}
END_TEST

/* A capture of everything is longer than the queue otherwise may be. */
START_TEST(a_text_of_the_maximum_goes_through)
{
	uint8_t *p = pattern(WIRE_TEXT_MAX);

	end_clear(&a);
	end_clear(&b);
	ck_assert_int_eq(fd_pair(sv), 0);
	a.c = conn_new(base, sv[0], sv[0], PEER_CLIENT, &cb, &a);
	b.c = conn_new(base, sv[1], sv[1], PEER_SERVER_C, &cb, &b);
	conn_send(a.c, CONN_BULK, F_TEXT, 1, p, WIRE_TEXT_MAX);
	AWAIT(b.n == 1);
	ck_assert_uint_eq(b.got[0].len, WIRE_TEXT_MAX);
	ck_assert(memcmp(b.got[0].data, p, WIRE_TEXT_MAX) == 0);
	free(p);
}
END_TEST

START_TEST(a_paused_connection_delivers_nothing_until_it_goes_on)
{
	a.pause_after = 1;
	raw_frame(F_DATA, 0, 1, "x", 1);
	raw_frame(F_DATA, 0, 2, "y", 1);
	settle();
	raw_frame(F_DATA, 0, 3, "z", 1);
	settle();
	ck_assert_int_eq(a.n, 1);
	conn_pause(a.c, false);
	ck_assert_int_eq(a.n, 1);
	AWAIT(a.n == 3);
	ck_assert_uint_eq(a.got[1].channel, 2);
	ck_assert_uint_eq(a.got[2].channel, 3);
}
END_TEST

START_TEST(fed_bytes_come_before_what_is_read)
{
	uint8_t s[256];
	size_t n = 0;

	n += frame(s + n, F_DATA, 0, 1, "x", 1);
	n += frame(s + n, F_DATA, 0, 2, "hello", 5);
	conn_feed(a.c, s, n - 3);
	raw_send(s + n - 3, 3);
	ck_assert_int_eq(a.n, 0);
	AWAIT(a.n == 2);
	ck_assert(memcmp(a.got[1].data, "hello", 5) == 0);
	conn_feed(a.c, s, FRAME_HEADER + 1);
	AWAIT(a.n == 3);
}
END_TEST

START_TEST(room_goes_with_the_queue_and_its_return_is_told_once)
{
	uint8_t *p = pattern(SLICE_MAX);
	int i = 0;

	a.drain = b.drain = true;
	ck_assert_uint_eq(conn_room(a.c), CONN_QUEUE_ROOM);
	for (i = 0; conn_room(a.c) > 0; i++) {
		ck_assert_int_lt(i, 100);
		conn_send(a.c, CONN_KEYS, F_ANSWER, 1, p, SLICE_MAX);
	}
	ck_assert_int_ge(i, 3);
	ck_assert_int_eq(a.rooms, 0);
	AWAIT(a.rooms == 1);
	AWAIT(b.n == i);
	settle();
	ck_assert_int_eq(a.rooms, 1);
	conn_send(a.c, CONN_KEYS, F_ANSWER, 1, p, 1);
	settle();
	ck_assert_int_eq(a.rooms, 1);
	/* Bulk is behind every key. */
	conn_send(a.c, CONN_BULK, F_CHECKPOINT, 1, p, SLICE_MAX);
	ck_assert_uint_eq(conn_room(a.c), CONN_QUEUE_ROOM);
	free(p);
}
END_TEST

START_TEST(flight_is_bounded_and_acknowledged)
{
	uint8_t *p = pattern(SLICE_MAX);
	uint64_t total = 0;

	a.drain = b.drain = true;
	conn_count(a.c);
	conn_count(b.c);
	conn_pause(b.c, true);
	while (conn_room(a.c) >= SLICE_MAX) {
		conn_send(a.c, CONN_STREAM, F_DATA, 1, p, SLICE_MAX);
		conn_flush(a.c);
		total += SLICE_MAX;
		ck_assert_uint_le(total, CONN_FLIGHT_MAX);
	}
	settle();
	/* Nothing is queued, all in flight. */
	ck_assert_uint_eq(conn_queued(a.c), 0);
	ck_assert_uint_ge(total, CONN_FLIGHT_MIN - 2 * SLICE_MAX);
	ck_assert_uint_le(total, CONN_FLIGHT_MIN);
	conn_pause(b.c, false);
	AWAIT(b.bytes == total);
	/* The rest below 32 KiB is told when nothing more comes. */
	AWAIT(conn_room(a.c) == CONN_QUEUE_ROOM);
	free(p);
}
END_TEST

START_TEST(idle_ends_do_not_answer_one_another)
{
	uint8_t x[16] = { 0 };
	uint64_t sent_a, sent_b;
	struct timeval tv = { 0, 10 * CONN_ACK_MS * 1000 };

	conn_count(a.c);
	conn_count(b.c);
	conn_send(a.c, CONN_CONTROL, F_PING, 0, x, 16);
	AWAIT(b.n == 1);
	AWAIT(conn_received(a.c) == FRAME_HEADER + 8);
	sent_a = conn_sent(a.c);
	sent_b = conn_sent(b.c);
	ck_assert(sent_a == FRAME_HEADER + 16);
	ck_assert(sent_b == FRAME_HEADER + 8);
	event_base_loopexit(base, &tv);
	event_base_dispatch(base);
	ck_assert(conn_sent(a.c) == sent_a);
	ck_assert(conn_sent(b.c) == sent_b);
}
END_TEST

/* RECEIVED frames once counted themselves: a flood one way filled the other
 * way's flight with acknowledgements that nobody acknowledged. */
START_TEST(a_flood_one_way_leaves_the_other_way_its_room)
{
	uint8_t *p = pattern(FRAME_PAYLOAD_MAX);
	uint64_t total = 0, goal = 256 << 20;

	a.drain = b.drain = true;
	conn_count(a.c);
	conn_count(b.c);
	conn_set_rtt(a.c, 1000);
	conn_set_rtt(b.c, 1000);
	while (total < goal) {
		while (total < goal && conn_queued(a.c) < (1 << 20)) {
			conn_send(a.c, CONN_STREAM, F_DATA, 1, p,
			    FRAME_PAYLOAD_MAX);
			total += FRAME_PAYLOAD_MAX;
		}
		event_base_loop(base, EVLOOP_ONCE);
	}
	AWAIT(b.bytes == goal);
	AWAIT(conn_queued(b.c) == 0);
	ck_assert_uint_eq(conn_room(b.c), CONN_QUEUE_ROOM);
	AWAIT(conn_room(a.c) == CONN_QUEUE_ROOM);
	free(p);
}
END_TEST

START_TEST(streams_and_bulk_wait_for_flight_and_keys_do_not)
{
	uint8_t *p = pattern(1 << 20);
	int size = 1 << 20;

	ck_assert_int_eq(setsockopt(sv[0], SOL_SOCKET, SO_SNDBUF, &size,
	    sizeof size), 0);
	conn_count(a.c);
	conn_count(b.c);
	conn_pause(b.c, true);
	conn_send(a.c, CONN_BULK, F_CHECKPOINT, 1, p, 1 << 20);
	settle();
	/* Held back, though the socket would take more. */
	ck_assert_uint_ge(conn_queued(a.c),
	    (1 << 20) - CONN_FLIGHT_MIN - 2 * FRAME_PAYLOAD_MAX);
	/* ... and who pulls by room is not kept away by it. */
	ck_assert_uint_gt(conn_room(a.c), SLICE_MAX);
	conn_send(a.c, CONN_KEYS, F_ANSWER, 2, "k", 1);
	conn_pause(b.c, false);
	AWAIT(b.n == 2);
	ck_assert_uint_eq(b.got[0].type, F_ANSWER);
	ck_assert(memcmp(b.got[1].data, p, 1 << 20) == 0);
	free(p);
}
END_TEST

START_TEST(received_for_what_was_not_sent_ends_the_connection)
{
	conn_count(a.c);
	raw_frame(F_RECEIVED, 0, 0, "\0\0\0\0\0\0\0\1", 8);
	assert_dropped("RECEIVED for bytes it cannot have");
}
END_TEST

START_TEST(a_failed_buffer_ends_the_connection)
{
	struct buf x;

	buf_init(&x, 2);
	buf_puts(&x, "abc");
	conn_send_buf(a.c, CONN_CONTROL, F_BYE, 0, &x);
	ck_assert(buf_ok(&x));
	AWAIT(a.why != NULL);
	buf_free(&x);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("conn");
	TCase *t = tcase_create("two ends"), *r = tcase_create("one end");

	tcase_set_timeout(t, 30);
	tcase_set_timeout(r, 30);
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_checked_fixture(r, setup_raw, teardown_raw);
	tcase_add_test(t, messages_arrive_as_they_were_sent);
	tcase_add_test(t, control_and_keys_overtake_bulk_between_its_parts);
	tcase_add_test(t, finish_sends_all_that_is_queued);
	tcase_add_test(t, a_text_of_the_maximum_goes_through);
	tcase_add_test(t,
	    room_goes_with_the_queue_and_its_return_is_told_once);
	tcase_add_test(t, flight_is_bounded_and_acknowledged);
	tcase_add_test(t, idle_ends_do_not_answer_one_another);
	tcase_add_test(t, a_flood_one_way_leaves_the_other_way_its_room);
	tcase_add_test(t, streams_and_bulk_wait_for_flight_and_keys_do_not);
	tcase_add_test(r, a_stream_cut_at_every_byte_is_joined);
	tcase_add_test(r, a_stream_byte_by_byte_is_joined);
	tcase_add_test(r, what_is_no_frame_ends_the_connection);
	tcase_add_test(r, a_type_the_peer_may_not_send_ends_the_connection);
	tcase_add_test(r, an_unknown_type_ends_the_connection_by_number);
	tcase_add_test(r, an_unknown_type_that_may_be_ignored_is_skipped);
	tcase_add_test(r, a_message_over_its_types_limit_ends_the_connection);
	tcase_add_test(r,
	    a_message_over_its_limit_in_parts_ends_the_connection);
	tcase_add_test(r, too_many_messages_begun_end_the_connection);
	tcase_add_test(r, too_many_bytes_begun_end_the_connection);
	tcase_add_test(r, an_orderly_close_is_told_after_the_last_message);
	tcase_add_test(r, a_close_inside_a_message_is_told_as_such);
	tcase_add_test(r, closed_never_comes_from_inside_a_call);
	tcase_add_test(r, last_words_are_read_after_a_write_failed);
	tcase_add_test(r, a_half_that_is_gone_ends_the_connection_in_a_while);
	tcase_add_test(r, drop_sends_its_reason);
	tcase_add_test(r, a_callee_may_free_the_connection);
	tcase_add_test(r, a_callee_may_finish_the_connection);
	tcase_add_test(r, finish_gives_up_on_a_peer_that_does_not_read);
	tcase_add_test(r,
	    a_peer_that_does_not_read_is_cut_at_the_queues_limit);
	tcase_add_test(r,
	    a_paused_connection_delivers_nothing_until_it_goes_on);
	tcase_add_test(r, fed_bytes_come_before_what_is_read);
	tcase_add_test(r,
	    received_for_what_was_not_sent_ends_the_connection);
	tcase_add_test(r, a_failed_buffer_ends_the_connection);
	suite_add_tcase(s, t);
	suite_add_tcase(s, r);
	return suite_run(s);
}
