/* SPDX-License-Identifier: ISC */
/* A connected server; contract in peer.h. */
#include <sys/utsname.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../base/clock.h"
#include "../base/fd.h"
#include "../base/limits.h"
#include "../base/log.h"
#include "../base/mem.h"
#include "envprobe.h"
#include "keeper.h"
#include "op.h"
#include "peer.h"
#include "shell.h"
#include "watch.h"

static void peer_pump(struct peer *);

/* ---- channels ---- */

static struct op_bucket *
peer_bucket(struct peer *p, uint32_t channel)
{
	return &p->ops[channel % PEER_BUCKETS];
}

struct op *
peer_op(struct peer *p, uint32_t channel)
{
	struct op *op;

	LIST_FOREACH(op, peer_bucket(p, channel), bound)
		if (op->channel == channel)
			return op;
	return NULL;
}

void
peer_bind(struct peer *p, struct op *op)
{
	LIST_INSERT_HEAD(peer_bucket(p, op->channel), op, bound);
}

void
peer_unbind(struct peer *p, struct op *op)
{
	if (op->is_ready)
		TAILQ_REMOVE(&p->streams, op, ready);
	op->is_ready = false;
	LIST_REMOVE(op, bound);
}

/* ---- what is sent next ---- */

static struct watch_list *
peer_watch_queue(struct peer *p, const struct watch *w)
{
	return w->level >= 2 ? &p->seen : &p->mirrors;
}

void
peer_watch_unready(struct peer *p, struct watch *w)
{
	if (w->is_ready)
		TAILQ_REMOVE(peer_watch_queue(p, w), w, ready);
	w->is_ready = false;
}

void
peer_watch_ready(struct peer *p, struct watch *w)
{
	if (p->leaving)
		return;
	if (!w->is_ready) {
		w->is_ready = true;
		TAILQ_INSERT_TAIL(peer_watch_queue(p, w), w, ready);
	}
	peer_pump(p);
}

void
peer_op_ready(struct peer *p, struct op *op)
{
	if (p->leaving || op->kind->pump == NULL)
		return;
	if (!op->is_ready) {
		op->is_ready = true;
		TAILQ_INSERT_TAIL(&p->streams, op, ready);
	}
	peer_pump(p);
}

static void
peer_pump_watch(struct watch_list *q, size_t room)
{
	struct watch *w = TAILQ_FIRST(q);

	if (w == NULL)
		return;
	TAILQ_REMOVE(q, w, ready);
	w->is_ready = false;
	if (watch_pump(w, room)) {
		w->is_ready = true;
		TAILQ_INSERT_TAIL(q, w, ready);
	}
}

static void
peer_pump_op(struct peer *p, size_t room)
{
	struct op *op = TAILQ_FIRST(&p->streams);

	if (op == NULL)
		return;
	TAILQ_REMOVE(&p->streams, op, ready);
	op->is_ready = false;
	if (op->kind->pump(op, room)) {
		op->is_ready = true;
		TAILQ_INSERT_TAIL(&p->streams, op, ready);
	}
}

static void
peer_pump(struct peer *p)
{
	struct watch_list *shells;
	size_t room;
	bool turn = false;

	/* Shells and streams alternate, so that neither a flood nor a copy
	 * keeps the other away; what is looked at goes before what is only
	 * mirrored. */
	while (!p->leaving && (room = conn_room(p->conn)) > 0) {
		shells = !TAILQ_EMPTY(&p->seen) ? &p->seen : &p->mirrors;
		if (TAILQ_EMPTY(shells) && TAILQ_EMPTY(&p->streams))
			break;
		turn = !turn;
		if (turn)
			peer_pump_watch(shells, room);
		else
			peer_pump_op(p, room);
	}
}

static void
peer_room(struct conn *c, void *arg)
{
	(void)c;
	peer_pump(arg);
}

void
peer_send(struct peer *p, enum conn_class class, uint8_t type,
    uint32_t channel, const struct buf *b)
{
	if (p->leaving)
		return;
	if (!buf_ok(b)) {
		log_warn("a message of type %u did not fit", type);
		return;
	}
	if (class == CONN_BULK)
		p->bulk = true;
	conn_send(p->conn, class, type, channel, b->data, b->len);
}

bool
peer_bulk_busy(struct peer *p)
{
	if (p->bulk && conn_queued(p->conn) == 0)
		p->bulk = false;
	return p->bulk;
}

bool
peer_bulk_room(struct peer *p)
{
	static const struct timeval soon = { 0, 20000 };

	if (conn_queued(p->conn) < BULK_QUEUE_MAX)
		return true;
	if (!event_pending(p->bulk_timer, EV_TIMEOUT, NULL))
		event_add(p->bulk_timer, &soon);
	return false;
}

static void
peer_bulk_again(evutil_socket_t fd, short what, void *arg)
{
	struct peer *p = arg;
	struct watch *w;

	(void)fd;
	(void)what;
	TAILQ_FOREACH(w, &p->watches, of_peer)
		peer_watch_ready(p, w);
}

void
peer_tell_all(struct agent *a, uint8_t type, uint32_t channel,
    const struct buf *b)
{
	struct peer *p;

	/* In the class of the shells' streams, so that GONE overtakes none. */
	TAILQ_FOREACH(p, &a->peers, entry)
		peer_send(p, CONN_KEYS, type, channel, b);
}

void
peer_flush(struct peer *p)
{
	if (!p->leaving)
		conn_flush(p->conn);
}

uint64_t
peer_heard_ms(const struct peer *p)
{
	return conn_last_read(p->conn);
}

/* ---- coming and going ---- */

/* It holds nothing any more; its shells and operations stay. */
static void
peer_detach(struct peer *p)
{
	struct op *op;
	int i;

	for (i = 0; i < PEER_BUCKETS; i++)
		while ((op = LIST_FIRST(&p->ops[i])) != NULL)
			op_unbind(op);
	while (!TAILQ_EMPTY(&p->watches))
		watch_free(TAILQ_FIRST(&p->watches));
	if (p->linked && !p->keeper)
		p->agent->nlinked--;
	p->linked = false;
}

static void
peer_free(struct peer *p)
{
	if (p->keeper)
		keeper_lost(p);
	peer_detach(p);
	TAILQ_REMOVE(&p->agent->peers, p, entry);
	p->agent->npeers--;
	conn_free(p->conn);
	if (p->leash_event != NULL)
		event_free(p->leash_event);
	event_free(p->timer);
	event_free(p->bulk_timer);
	fd_close(&p->leash);	/* now the front may go */
	free(p);
}

static void
peer_timeout(evutil_socket_t fd, short what, void *arg)
{
	struct peer *p = arg;

	(void)fd;
	(void)what;
	if (!p->leaving)
		log_info("server said nothing: dropped");
	peer_free(p);
}

static void
peer_set_timer(struct peer *p, unsigned int ms)
{
	struct timeval tv = { (time_t)(ms / 1000),
	    (suseconds_t)(ms % 1000 * 1000) };

	event_add(p->timer, &tv);
}

/* The last words, and time to read them: closing at once could cut them off
 * inside an ssh or a docker exec. */
static void
peer_leave(struct peer *p, uint8_t type, const struct buf *b)
{
	if (p->leaving)
		return;
	peer_send(p, CONN_CONTROL, type, 0, b);
	conn_flush(p->conn);
	p->leaving = true;
	peer_detach(p);
	peer_set_timer(p, FAREWELL_MS);
}

static void
peer_fail(struct peer *p, enum refusal code, const char *why)
{
	struct buf b;

	if (p->leaving)
		return;
	log_warn("server dropped: %s", why);
	buf_init(&b, 1024);
	buf_u16(&b, (uint16_t)code);
	buf_str(&b, why);
	peer_leave(p, F_FAIL, &b);
	buf_free(&b);
}

static void
peer_closed(struct conn *c, const char *why, void *arg)
{
	struct peer *p = arg;
	char text[256];

	(void)c;
	log_info("link over: %s", log_clean(text, sizeof text, why));
	peer_free(p);
}

static void
peer_leash(evutil_socket_t fd, short what, void *arg)
{
	struct peer *p = arg;
	char c[64];

	(void)what;
	/* Nothing is said on it but its end. */
	if (read(fd, c, sizeof c) <= 0) {
		log_info("link over: the front is gone");
		peer_free(p);
	}
}

/* ---- the connection's own frames ---- */

static void
peer_ping(struct peer *p)
{
	struct buf b;

	/* For the round trip, which says how much may be in flight. */
	p->pinged_at = conn_sent(p->conn);
	buf_init(&b, 32);
	buf_u64(&b, ++p->pinged);
	buf_u64(&b, clock_us());
	peer_send(p, CONN_CONTROL, F_PING, 0, &b);
	buf_free(&b);
}

void
peer_tick(struct agent *a)
{
	struct peer *p;

	/* An idle link is left alone. */
	TAILQ_FOREACH(p, &a->peers, entry)
		if (p->linked && conn_sent(p->conn) - p->pinged_at > SLICE_MAX)
			peer_ping(p);
}

static void
peer_hello(struct peer *p, const uint8_t *data, size_t len)
{
	struct agent *a = p->agent;
	struct msg_hello m;
	struct peer *o, *next;
	char text[160];

	if (p->linked || msg_hello_get(&m, data, len) == -1) {
		peer_fail(p, R_ERROR, "bad HELLO");
		return;
	}
	if (m.proto_max < PROTO_MIN || m.proto_min > PROTO_MAX) {
		snprintf(text, sizeof text, "protocol %u to %u is spoken "
		    "there, %u to %u here", m.proto_min, m.proto_max,
		    PROTO_MIN, PROTO_MAX);
		peer_fail(p, R_ERROR, text);
	} else if (m.role != (p->keeper ? ROLE_KEEPER : ROLE_SERVER))
		peer_fail(p, R_ERROR, "HELLO of a role that has no business "
		    "here");
	else {
		memcpy(p->id, m.id, MSG_ID);
		p->epoch = m.epoch;
		TAILQ_FOREACH_SAFE(o, &a->peers, entry, next) {
			if (o == p || !o->linked ||
			    memcmp(o->id, p->id, MSG_ID) != 0)
				continue;
			if (o->epoch >= p->epoch) {
				peer_fail(p, R_ERROR, "a newer connection of "
				    "this server is here");
				goto out;
			}
			peer_fail(o, R_ERROR, "replaced by a newer "
			    "connection");
		}
		p->linked = true;
		if (!p->keeper) {
			a->nlinked++;
			keeper_linked(a);
		}
		event_del(p->timer);
		log_info("linked: %s pid %u, version %s",
		    p->keeper ? "keeper" : "server", m.pid,
		    log_clean(text, sizeof text, m.version));
		peer_ping(p);
		peer_pump(p);
	}
out:
	msg_hello_free(&m);
}

/* The colours of the terminal that a user last typed at: for a keeper, for the
 * next server. What the bytes mean is theirs to know. */
static void
peer_send_theme(struct peer *p)
{
	if (p->agent->theme_len > 0 && !p->leaving)
		conn_send(p->conn, CONN_CONTROL, F_THEME, 0, p->agent->theme,
		    p->agent->theme_len);
}

static void
peer_theme(struct peer *from, const uint8_t *data, size_t len)
{
	struct agent *a = from->agent;
	struct peer *p;
	uint8_t *copy;

	if (len == 0 || (len == a->theme_len &&
	    memcmp(data, a->theme, len) == 0))
		return;
	if ((copy = malloc(len)) == NULL)
		return;
	memcpy(copy, data, len);
	free(a->theme);
	a->theme = copy;
	a->theme_len = len;
	TAILQ_FOREACH(p, &a->peers, entry)
		if (p != from)
			peer_send_theme(p);
}

static void
peer_send_hello(struct peer *p)
{
	static const char *const features[] = { FEATURE_HISTORY, NULL };
	struct msg_hello m;
	struct utsname u;
	struct shell *sh;
	struct buf b;
	char machine[160] = "";

	memset(&m, 0, sizeof m);
	memset(&u, 0, sizeof u);
	if (uname(&u) == 0)
		snprintf(machine, sizeof machine, "%.64s %.64s", u.sysname,
		    u.machine);
	m.proto_min = PROTO_MIN;
	m.proto_max = PROTO_MAX;
	m.role = ROLE_AGENT;
	memcpy(m.id, p->agent->id, MSG_ID);
	m.pid = (uint32_t)getpid();
	m.now_ms = clock_wall_ms();
	m.version = (char *)(uintptr_t)DLMUX_VERSION;
	m.host = u.nodename;
	m.machine = machine;
	m.features = (char **)(uintptr_t)features;
	buf_init(&b, FRAME_PAYLOAD_MAX);
	msg_hello_put(&b, &m);
	peer_send(p, CONN_CONTROL, F_HELLO, 0, &b);
	peer_send_theme(p);
	TAILQ_FOREACH(sh, &p->agent->shells, entry) {
		if (sh->state == SHELL_STARTING ||
		    (p->keeper && keeper_shuns(sh)))
			continue;
		buf_reset(&b);
		shell_put(sh, &b);
		peer_send(p, CONN_CONTROL, F_SHELL, sh->id, &b);
	}
	buf_reset(&b);
	peer_send(p, CONN_CONTROL, F_READY, 0, &b);
	buf_free(&b);
}

static void
peer_pong(struct peer *p, const uint8_t *data, size_t len)
{
	uint64_t token, sent;
	struct rd r;

	rd_init(&r, data, len);
	token = rd_u64(&r);
	sent = rd_u64(&r);
	if (!rd_end(&r))
		peer_fail(p, R_ERROR, "bad PONG");
	else if (token == p->pinged && sent <= clock_us())
		conn_set_rtt(p->conn, clock_us() - sent);
}

static void
peer_jobs(struct peer *p)
{
	struct buf b;

	buf_init(&b, 16);
	buf_u32(&b, shell_jobs(p->agent) + (uint32_t)p->agent->nops);
	peer_send(p, CONN_CONTROL, F_JOBS, 0, &b);
	buf_free(&b);
}

/* It parses what programs print: should one get hold of it, it can do no more
 * than a program that prints. */
static bool
peer_keeper_may(uint8_t type)
{
	return type < F_REFRESH || type == F_WATCH || type == F_TAKEN ||
	    type == F_CHECKPOINT || type == F_ANSWER;
}

static void
peer_message(struct conn *c, uint8_t type, uint32_t channel,
    const uint8_t *data, size_t len, void *arg)
{
	struct peer *p = arg;
	const struct frame_kind *k;
	struct op *op;
	struct buf b;
	char text[64];
	bool ok = true;

	(void)c;
	if (p->leaving)
		return;
	if (!p->linked && type != F_HELLO && type != F_BYE &&
	    type != F_FAIL) {
		peer_fail(p, R_ERROR, "a frame before HELLO");
		return;
	}
	if (p->keeper && !peer_keeper_may(type)) {
		peer_fail(p, R_ERROR, "a frame that is not the keeper's");
		return;
	}
	switch (type) {
	case F_HELLO:
		peer_hello(p, data, len);
		break;
	case F_PING:
		conn_send(p->conn, CONN_CONTROL, F_PONG, 0, data, len);
		break;
	case F_PONG:
		peer_pong(p, data, len);
		break;
	case F_BYE:
		log_info("server says goodbye");
		buf_init(&b, 16);
		buf_str(&b, "");
		peer_leave(p, F_BYE, &b);
		buf_free(&b);
		break;
	case F_FAIL:
		log_warn("server gave up on this link");
		buf_init(&b, 16);
		buf_str(&b, "");
		peer_leave(p, F_BYE, &b);
		buf_free(&b);
		break;
	case F_JOBS:
		peer_jobs(p);
		break;
	case F_THEME:
		peer_theme(p, data, len);
		break;
	case F_REFRESH:
		envprobe_refresh(p->agent);
		break;
	case F_OPEN:
		ok = op_open(p->agent, p, channel, data, len);
		break;
	case F_DATA:
	case F_END:
	case F_CREDIT:
	case F_SIGNAL:
	case F_WINCH:
	case F_CLOSE:
	case F_CANCEL:
		/* One that ended while the frame was on its way is no
		 * fault. */
		if ((op = peer_op(p, channel)) != NULL)
			ok = op_message(op, type, data, len);
		break;
	default:
		ok = shell_message(p->agent, p, type, channel, data, len);
		break;
	}
	if (!ok) {
		k = frame_kind(type);
		snprintf(text, sizeof text, "bad %s",
		    k != NULL ? k->name : "frame");
		peer_fail(p, R_ERROR, text);
	}
}

static struct peer *
peer_make(struct agent *a, int rfd, int wfd, int leash, const char *marker,
    bool keeper)
{
	static const struct conn_cb cb = { peer_message, peer_closed,
	    peer_room };
	struct peer *p = xcalloc(1, sizeof *p);
	char *line;
	int i;

	p->agent = a;
	p->leash = leash;
	p->keeper = keeper;
	for (i = 0; i < PEER_BUCKETS; i++)
		LIST_INIT(&p->ops[i]);
	TAILQ_INIT(&p->watches);
	TAILQ_INIT(&p->seen);
	TAILQ_INIT(&p->mirrors);
	TAILQ_INIT(&p->streams);
	TAILQ_INSERT_TAIL(&a->peers, p, entry);
	a->npeers++;
	if (!keeper)
		a->idle_since = 0;
	if (marker != NULL) {
		/* Small, into an empty pipe: it fits, or nobody reads. */
		line = xasprintf("%s AGENT\n", marker);
		if (write(wfd, line, strlen(line)) != (ssize_t)strlen(line))
			log_info("link over before it began");
		free(line);
	}
	p->conn = conn_new(a->base, rfd, wfd, PEER_SERVER_A, &cb, p);
	conn_count(p->conn);
	p->timer = evtimer_new(a->base, peer_timeout, p);
	p->bulk_timer = evtimer_new(a->base, peer_bulk_again, p);
	if (p->timer == NULL || p->bulk_timer == NULL)
		fatal("out of memory");
	if (leash != -1) {
		p->leash_event = event_new(a->base, leash,
		    EV_READ | EV_PERSIST, peer_leash, p);
		if (p->leash_event != NULL)
			event_add(p->leash_event, NULL);
	}
	peer_set_timer(p, HELLO_MS);
	peer_send_hello(p);
	return p;
}

void
peer_new(struct agent *a, int rfd, int wfd, int leash, const char *marker,
    const void *extra, size_t nextra)
{
	struct peer *p = peer_make(a, rfd, wfd, leash, marker, false);

	if (nextra > 0)
		conn_feed(p->conn, extra, nextra);
}

struct peer *
peer_new_keeper(struct agent *a, int fd)
{
	return peer_make(a, fd, fd, -1, NULL, true);
}

void
peer_bye(struct peer *p, const char *why)
{
	struct buf b;

	buf_init(&b, 256);
	buf_str(&b, why);
	peer_leave(p, F_BYE, &b);
	buf_free(&b);
}

void
peer_clear(struct agent *a)
{
	free(a->theme);
	a->theme = NULL;
	a->theme_len = 0;
	while (!TAILQ_EMPTY(&a->peers))
		peer_free(TAILQ_FIRST(&a->peers));
}
