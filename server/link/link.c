/* SPDX-License-Identifier: ISC */
/*
 * The life of a link: HELLO, what is spoken, loss. How it comes up, and again,
 * is dial.c's, whether the peer is alive alive.c's.
 *
 * Everything that could surprise a caller comes from the loop: link_connect()
 * and link_disconnect() only note what is wanted and wake `kick`. State
 * callbacks stand last in what calls them, so that the callee may do anything.
 */
#include <sys/utsname.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../base/buf.h"
#include "../base/clock.h"
#include "../base/hook.h"
#include "../base/limits.h"
#include "../base/log.h"
#include "../base/mem.h"
#include "../base/version.h"
#include "alive.h"
#include "bootstrap.h"
#include "dial.h"
#include "link.h"
#include "payload.h"

struct link {
	struct link_setup	 up;
	char			*name;
	bool			 tell;		/* kick: call state */
	bool			 parting;	/* last words are on their way */
	enum link_state		 state;
	char			*text;
	uint64_t		 since;
	uint64_t		 hello_ms;	/* its deadline */
	struct event		*kick, *hello_ev;
	struct dial		*dial;

	struct transport	*tr;
	struct conn		*conn;
	struct msg_hello	 agent;
	bool			 agent_known;	/* HELLO came: UP */
	uint64_t		 up_at;
	struct alive		*alive;
	uint64_t		 silent_ms;	/* when it was lost */
};

static void	 lost(struct link *, const char *);

static const struct conn_cb conn_callbacks;

/* ---- state ---- */

/* Takes text. */
static void
note(struct link *l, enum link_state state, char *text)
{
	if (state != l->state)
		l->since = clock_ms();
	l->state = state;
	free(l->text);
	l->text = text;
	log_debug("link %s: state %d: %s", l->name, (int)state, text);
}

/* To be called last. */
static void
tell(struct link *l)
{
	l->tell = false;
	l->up.cb->state(l, l->state, l->text, l->state == LINK_UP ? &l->agent :
	    NULL, l->up.arg);
}

static void
wake(struct link *l)
{
	event_active(l->kick, EV_TIMEOUT, 1);
}

static struct timeval
tv_of(uint64_t ms)
{
	struct timeval tv = { (time_t)(ms / 1000),
	    (suseconds_t)(ms % 1000 * 1000) };

	return tv;
}

/* ---- coming up ---- */

static void
drop(struct link *l)
{
	alive_end(l->alive);
	conn_free(l->conn);
	l->conn = NULL;
	transport_free(l->tr, l->parting ? TRANSPORT_GRACE_MS : 0);
	l->parting = false;
	l->tr = NULL;
	event_del(l->hello_ev);
	if (l->agent_known)
		msg_hello_free(&l->agent);
	l->agent_known = false;
}

static void
on_begun(void *arg)
{
	struct link *l = arg;

	note(l, LINK_CONNECTING, xstrdup("connecting"));
	tell(l);
}

static void
on_phase(const char *text, void *arg)
{
	struct link *l = arg;

	note(l, LINK_CONNECTING, xstrdup(text));
	l->tell = true;
	wake(l);
}

static void
on_sent(uint64_t bytes, uint64_t of, void *arg)
{
	struct link *l = arg;

	if (l->up.cb->sent != NULL)
		l->up.cb->sent(l, bytes, of, l->up.arg);
}

static void
on_failed(const char *why, void *arg)
{
	struct link *l = arg;

	note(l, LINK_FAILED, xstrdup(why));
	tell(l);
}

static void
on_prompt(uint32_t id, bool echo, const char *text, void *arg)
{
	struct link *l = arg;

	l->up.cb->prompt(l, id, echo, text, l->up.arg);
}

static void
on_transport_end(struct transport *t, int status, void *arg)
{
	struct link *l = arg;
	struct timeval tv = tv_of(500);

	(void)t;
	(void)status;
	/* Its last bytes are read first; but if a child of its own holds the
	 * pipe, the end would never be seen. */
	event_add(l->hello_ev, &tv);
}

static void
on_up(int rfd, int wfd, struct transport *tr, const void *bytes, size_t len,
    void *arg)
{
	struct link *l = arg;
	struct timeval tv = tv_of(l->hello_ms);

	l->tr = tr;
	l->conn = conn_new(l->up.base, rfd, wfd, PEER_AGENT, &conn_callbacks,
	    l);
	conn_count(l->conn);
	event_add(l->hello_ev, &tv);
	if (tr != NULL) {
		transport_listen(tr, on_transport_end, l);
		if (transport_pid(tr) == 0)
			on_transport_end(tr, 0, l);
	}
	conn_feed(l->conn, bytes, len);
}

static const struct dial_cb dial_callbacks = {
	.up = on_up,
	.begun = on_begun,
	.failed = on_failed,
	.phase = on_phase,
	.sent = on_sent,
	.prompt = on_prompt,
};

static void
on_kick(evutil_socket_t fd, short what, void *arg)
{
	struct link *l = arg;

	(void)fd;
	(void)what;
	if (l->tell)
		tell(l);
}

/* The agent did not say HELLO in time, or its transport ended and the pipe
 * did not. */
static void
on_hello_late(evutil_socket_t fd, short what, void *arg)
{
	struct link *l = arg;

	(void)fd;
	(void)what;
	lost(l, l->agent_known ? "the transport ended" :
	    "the agent there does not answer");
}

/* ---- speaking ---- */

static void
send_hello(struct link *l)
{
	static uint64_t last;
	static char *const features[] = { NULL };
	struct msg_hello h = { .proto_min = PROTO_MIN, .proto_max = PROTO_MAX,
	    .role = l->up.role, .pid = (uint32_t)getpid(),
	    .now_ms = clock_wall_ms(), .version = (char *)DLMUX_VERSION };
	struct utsname u;
	struct buf b;

	/* Epochs only grow, whatever the clock does. */
	h.epoch = clock_wall_ms() * 1000;
	if (h.epoch <= last)
		h.epoch = last + 1;
	last = h.epoch;
	memcpy(h.id, l->up.server_id, MSG_ID);
	h.host = uname(&u) == 0 ? u.nodename : (char *)"";
	h.machine = (char *)payload_machine();
	h.features = (char **)features;
	buf_init(&b, WIRE_SMALL_MAX);
	msg_hello_put(&b, &h);
	conn_send_buf(l->conn, CONN_CONTROL, F_HELLO, 0, &b);
	buf_free(&b);
}

/* What is queued still goes out, and the transport has a moment for it. */
static void
part(struct link *l)
{
	conn_finish(l->conn, TRANSPORT_GRACE_MS);
	l->conn = NULL;
	l->parting = true;
}

/* An orderly word to a peer that we cannot go on with. */
static void
refuse(struct link *l, const char *why)
{
	struct buf b;

	buf_init(&b, WIRE_WORDS_MAX);
	buf_u16(&b, R_ERROR);
	buf_str(&b, why);
	conn_send_buf(l->conn, CONN_CONTROL, F_FAIL, 0, &b);
	buf_free(&b);
	part(l);
}

static void
on_hello(struct link *l, const uint8_t *data, size_t len)
{
	struct msg_hello h;
	char *why = NULL;

	if (l->agent_known || msg_hello_get(&h, data, len) == -1) {
		lost(l, "a damaged greeting");
		return;
	}
	if (h.role != ROLE_AGENT)
		why = xstrdup("what answers there is no dlmux agent");
	else if (h.proto_max < PROTO_MIN || h.proto_min > PROTO_MAX)
		why = xasprintf("the agent there (dlmux %.40s) speaks "
		    "protocol %u to %u, this dlmux " DLMUX_VERSION " %u to "
		    "%u; its shells have to end before a newer one can start",
		    h.version, h.proto_min, h.proto_max, PROTO_MIN, PROTO_MAX);
	if (why != NULL) {
		msg_hello_free(&h);
		refuse(l, why);
		drop(l);
		dial_failed(l->dial, why);
		free(why);
		return;
	}
	HOOK("link-hello");
	trace_enter(l->up.trace, PHASE_SHELLS);
	event_del(l->hello_ev);
	l->agent = h;
	l->agent_known = true;
	l->up_at = clock_ms();
	dial_up(l->dial);
	send_hello(l);
	alive_begin(l->alive, l->conn);
	if (l->tr != NULL && transport_pid(l->tr) == 0)
		on_transport_end(l->tr, 0, l);
	note(l, LINK_UP, xstrdup("connected"));
	l->silent_ms = 0;
	log_info("link %s: up, agent %s pid %u", l->name, h.version,
	    h.pid);
	tell(l);
}

static void
on_fail(struct link *l, const uint8_t *data, size_t len)
{
	struct rd r;
	char *text, clean[1024];

	rd_init(&r, data, len);
	rd_u16(&r);
	text = rd_str(&r, WIRE_WORDS_MAX);
	log_clean(clean, sizeof clean, text != NULL ? text : "it says FAIL");
	free(text);
	lost(l, clean);
}

static void
on_bye(struct link *l, const uint8_t *data, size_t len)
{
	struct rd r;
	char *text, clean[512], *why;

	rd_init(&r, data, len);
	text = rd_str(&r, WIRE_WORDS_MAX);
	log_clean(clean, sizeof clean, text != NULL ? text : "");
	free(text);
	conn_send(l->conn, CONN_CONTROL, F_BYE, 0, "\0\0\0\0", 4);
	part(l);
	why = xasprintf("the agent left%s%s", *clean != '\0' ? ": " : "",
	    clean);
	lost(l, why);
	free(why);
}

static void
on_message(struct conn *c, uint8_t type, uint32_t channel,
    const uint8_t *data, size_t len, void *arg)
{
	struct link *l = arg;

	alive_heard(l->alive);
	if (!l->agent_known && type != F_HELLO && type != F_FAIL) {
		lost(l, "the agent there spoke before its greeting");
		return;
	}
	switch (type) {
	case F_HELLO:
		on_hello(l, data, len);
		break;
	case F_PING:
		conn_send(c, CONN_CONTROL, F_PONG, 0, data, len);
		break;
	case F_PONG:
		alive_pong(l->alive, data, len);
		break;
	case F_FAIL:
		on_fail(l, data, len);
		break;
	case F_BYE:
		on_bye(l, data, len);
		break;
	case F_RECEIVED:
		break;
	default:
		l->up.cb->message(l, type, channel, data, len, l->up.arg);
		break;
	}
}

static void
on_closed(struct conn *c, const char *why, void *arg)
{
	struct link *l = arg;

	(void)c;
	/* A local agent that took the connection and was gone before it said a
	 * word was leaving, or killed: a new one is started. */
	if (!l->agent_known && l->tr == NULL && l->up.role == ROLE_SERVER &&
	    dial_twice(l->dial)) {
		log_info("link %s: met a dying agent: %s", l->name, why);
		drop(l);
		return;
	}
	lost(l, why);
}

static void
on_room(struct conn *c, void *arg)
{
	struct link *l = arg;

	(void)c;
	if (l->agent_known && l->up.cb->room != NULL)
		l->up.cb->room(l, l->up.arg);
}

static const struct conn_cb conn_callbacks = {
	.message = on_message,
	.closed = on_closed,
	.room = on_room,
};

/* ---- loss ---- */

/* The connection is gone; what ssh said about it tells more than "closed". */
static void
lost(struct link *l, const char *why)
{
	char *said = NULL, *text;
	const char *err;
	size_t len;

	if (l->tr != NULL) {
		err = transport_stderr(l->tr, &len);
		said = boot_last_line(err, len);
	}
	text = said != NULL && strcmp(said, why) != 0 ?
	    xasprintf("%s (%s)", why, said) : xstrdup(why);
	free(said);
	if (!l->agent_known) {
		drop(l);
		dial_failed(l->dial, text);
		free(text);
		return;
	}
	trace_failed(l->up.trace, text);	/* before its shells were told */
	log_info("link %s: lost: %s", l->name, text);
	l->silent_ms = alive_silent_ms(l->alive);
	drop(l);
	dial_lost(l->dial, text, clock_ms() - l->up_at >= LINK_SHORT_MS);
	note(l, LINK_DOWN, text);
	tell(l);
}

static void
on_dead(const char *why, void *arg)
{
	lost(arg, why);
}

/* ---- the contract ---- */

/* DLMUX_LINK_TIMES=ping_idle,ping_busy,dead_idle,dead_busy,connect, in
 * milliseconds: for tests, which would else wait for a minute. */
static void
set_times(struct alive_times *t, uint64_t *connect)
{
	*t = (struct alive_times){ PING_IDLE_MS, PING_BUSY_MS, DEAD_IDLE_MS,
	    DEAD_BUSY_MS };
	*connect = CONNECT_MS;
#ifdef DLMUX_HOOKS
	{
		const char *s = getenv("DLMUX_LINK_TIMES");

		if (s != NULL)
			sscanf(s, "%" SCNu64 ",%" SCNu64 ",%" SCNu64 ",%"
			    SCNu64 ",%" SCNu64, &t->ping_idle, &t->ping_busy,
			    &t->dead_idle, &t->dead_busy, connect);
	}
#endif
}

struct link *
link_new(const struct link_setup *s, const struct target *t)
{
	struct link *l = xcalloc(1, sizeof *l);
	struct alive_times times;
	uint64_t connect;

	l->up = *s;
	l->name = xstrdup(t->name);
	l->state = LINK_DOWN;
	l->text = xstrdup("not connected");
	l->since = clock_ms();
	set_times(&times, &connect);
	l->hello_ms = times.dead_busy;
	l->kick = event_new(s->base, -1, 0, on_kick, l);
	l->hello_ev = event_new(s->base, -1, 0, on_hello_late, l);
	l->dial = dial_new(s->base, s->place, t, connect, s->trace,
	    &dial_callbacks, l);
	l->alive = alive_new(s->base, l->name, &times, on_dead, l);
	return l;
}

void
link_free(struct link *l)
{
	if (l == NULL)
		return;
	drop(l);
	event_free(l->kick);
	event_free(l->hello_ev);
	alive_free(l->alive);
	dial_free(l->dial);
	free(l->name);
	free(l->text);
	free(l);
}

void
link_connect(struct link *l, char *const *env, enum link_who who)
{
	if (dial_call(l->dial, env, who))
		note(l, LINK_CONNECTING, xstrdup("connecting"));
}

void
link_adopt(struct link *l, int fd)
{
	note(l, LINK_CONNECTING, xstrdup("connecting"));
	dial_adopt(l->dial, fd);
}

void
link_retarget(struct link *l, const struct target *t)
{
	dial_target(l->dial, t);
}

void
link_want(struct link *l, bool on)
{
	dial_want(l->dial, on);
}

void
link_disconnect(struct link *l, const char *why)
{
	if (l->agent_known) {
		struct buf b;

		buf_init(&b, WIRE_SMALL_MAX);
		buf_str(&b, why);
		conn_send_buf(l->conn, CONN_CONTROL, F_BYE, 0, &b);
		buf_free(&b);
		part(l);
	}
	trace_failed(l->up.trace, why);
	/* The front and ssh end by themselves when the agent lets them go. */
	drop(l);
	dial_stop(l->dial);
	if (l->state == LINK_DOWN)
		return;
	note(l, LINK_DOWN, xstrdup(why));
	l->tell = true;
	wake(l);
}

void
link_busy(struct link *l, bool on)
{
	alive_busy(l->alive, on);
}

enum link_state
link_state(const struct link *l)
{
	return l->state;
}

const char *
link_text(const struct link *l)
{
	return l->text;
}

uint64_t
link_since_ms(const struct link *l)
{
	return l->since;
}

uint64_t
link_silent_ms(const struct link *l)
{
	return l->agent_known ? alive_silent_ms(l->alive) : l->silent_ms;
}

uint64_t
link_rtt_us(const struct link *l)
{
	return alive_rtt_us(l->alive);
}

const struct msg_hello *
link_agent(const struct link *l)
{
	return l->agent_known ? &l->agent : NULL;
}

size_t
link_queued(const struct link *l)
{
	return l->agent_known && l->conn != NULL ? conn_queued(l->conn) : 0;
}

pid_t
link_pid(const struct link *l)
{
	return l->tr != NULL ? transport_pid(l->tr) : dial_pid(l->dial);
}

bool
link_retrying(const struct link *l)
{
	return l->state != LINK_UP && dial_wanted(l->dial);
}

uint64_t
link_next_ms(const struct link *l)
{
	return dial_next_ms(l->dial);
}

const char *
link_why(const struct link *l)
{
	return dial_why(l->dial);
}

bool
link_held(const struct link *l)
{
	return l->state != LINK_UP && dial_held(l->dial);
}

void
link_send(struct link *l, enum conn_class class, uint8_t type,
    uint32_t channel, const void *data, size_t len)
{
	if (l->agent_known && l->conn != NULL)
		conn_send(l->conn, class, type, channel, data, len);
}

void
link_send_buf(struct link *l, enum conn_class class, uint8_t type,
    uint32_t channel, struct buf *b)
{
	if (l->agent_known && l->conn != NULL)
		conn_send_buf(l->conn, class, type, channel, b);
	else
		buf_reset(b);
}

void
link_reply(struct link *l, uint32_t prompt, bool ok, const char *text)
{
	prompts_reply(dial_prompts(l->dial), prompt, ok, text);
}

void
link_give_up(struct link *l)
{
	dial_give_up(l->dial);
}

bool
link_ask(struct link *l, const char *token, int kind, const char *text,
    void (*reply)(bool, const char *, void *), void *arg)
{
	return prompts_ask(dial_prompts(l->dial), token, kind, text, reply,
	    arg);
}

void
link_ask_gone(struct link *l, void *arg)
{
	prompts_gone(dial_prompts(l->dial), arg);
}

char *
link_tries(const struct link *l)
{
	return retry_put(dial_retry(l->dial));
}

void
link_set_tries(struct link *l, const char *s)
{
	retry_get(dial_retry(l->dial), s);
}
