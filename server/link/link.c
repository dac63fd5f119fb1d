/* SPDX-License-Identifier: ISC */
/*
 * The life of a link: attempts, HELLO, loss, and coming back. One attempt is
 * attempt.c's, ssh's questions are prompt.c's, when to try again is retry.c's,
 * whether the peer is alive alive.c's.
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
#include "alive.h"
#include "attempt.h"
#include "bootstrap.h"
#include "link.h"
#include "payload.h"
#include "prompt.h"
#include "retry.h"

#ifndef DLMUX_VERSION
#define DLMUX_VERSION "1.0-dev"
#endif

struct link {
	struct link_setup	 up;
	struct target		 target;
	struct target		 used;		/* of the attempt */
	char			**env;
	bool			 may_prompt;	/* this attempt */
	bool			 prompt_next;	/* asked for while it ran */
	bool			 wanted;
	bool			 start;		/* kick: begin an attempt */
	bool			 tell;		/* kick: call state */
	bool			 held;		/* only a user can go on */
	bool			 parting;	/* last words are on their way */
	bool			 twice;		/* a dying agent was met */
	char			*last;		/* why the last try failed */
	enum link_state		 state;
	char			*text;
	uint64_t		 since;
	uint64_t		 connect_ms;	/* CONNECT_MS; tests shorten it */
	uint64_t		 hello_ms;
	struct event		*kick, *retry_ev, *hello_ev;

	struct attempt		*attempt;
	char			*machine;	/* learned uname -sm */
	struct prompts		*prompts;
	struct retry		 retry;

	struct transport	*tr;
	struct conn		*conn;
	struct msg_hello	 agent;
	bool			 agent_known;	/* HELLO came: UP */
	uint64_t		 up_at;
	struct alive		*alive;
	uint64_t		 silent_ms;	/* when it was lost */
};

static void	 lost(struct link *, const char *);
static void	 begin(struct link *);

static const struct attempt_cb attempt_callbacks;
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
	log_debug("link %s: state %d: %s", l->target.name, (int)state, text);
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

/* Where a firewall may count connections. */
static bool
capped(const struct link *l)
{
	return l->target.scheme == SCHEME_SSH ||
	    l->target.scheme == SCHEME_DEVPOD ||
	    l->target.scheme == SCHEME_COMMAND;
}

static void
schedule(struct link *l)
{
	struct timeval tv;
	uint64_t ms;

	if (!l->wanted || l->held)
		return;
	ms = retry_delay(&l->retry, capped(l));
	tv = tv_of(ms);
	log_debug("link %s: again in %" PRIu64 " ms", l->target.name, ms);
	event_add(l->retry_ev, &tv);
}

/* ---- coming up ---- */

static void
drop(struct link *l)
{
	attempt_cancel(l->attempt);
	l->attempt = NULL;
	prompts_end(l->prompts);
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

/*
 * What trying again in the background cannot cure, and what a far side may
 * answer with a ban of the user's address.
 */
static bool
needs_user(const char *why)
{
	return strstr(why, "Permission denied (") != NULL ||
	    strstr(why, "Host key verification failed") != NULL ||
	    strstr(why, "Too many authentication failures") != NULL;
}

/* An attempt came to nothing. */
static void
failed(struct link *l, const char *why)
{
	bool prompt = l->prompt_next;

	trace_failed(l->up.trace, why);
	drop(l);
	retry_failed(&l->retry);
	log_info("link %s: %s", l->target.name, why);
	free(l->last);
	l->last = xstrdup(why);
	if (prompt) {
		/* Somebody who can answer questions asked meanwhile. */
		l->prompt_next = false;
		l->may_prompt = true;
		l->start = true;
		wake(l);
		return;
	}
	l->held = needs_user(why);
	note(l, LINK_FAILED, xstrdup(why));
	schedule(l);
	tell(l);
}

static void
attempt_failed(const char *why, void *arg)
{
	struct link *l = arg;

	l->attempt = NULL;
	failed(l, why);
}

static void
attempt_phase(const char *text, void *arg)
{
	struct link *l = arg;

	note(l, LINK_CONNECTING, xstrdup(text));
	l->tell = true;
	wake(l);
}

static void
attempt_sent(uint64_t bytes, uint64_t of, void *arg)
{
	struct link *l = arg;

	if (l->up.cb->sent != NULL)
		l->up.cb->sent(l, bytes, of, l->up.arg);
}

static void
attempt_machine(const char *machine, void *arg)
{
	struct link *l = arg;

	free(l->machine);
	l->machine = xstrdup(machine);
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
attempt_up(int rfd, int wfd, struct transport *tr, const void *bytes,
    size_t len, void *arg)
{
	struct link *l = arg;
	struct timeval tv = tv_of(l->hello_ms);

	l->attempt = NULL;
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

static const struct attempt_cb attempt_callbacks = {
	.up = attempt_up,
	.failed = attempt_failed,
	.phase = attempt_phase,
	.sent = attempt_sent,
	.machine = attempt_machine,
};

static void
begin(struct link *l)
{
	struct attempt_spec spec = { .base = l->up.base,
	    .place = l->up.place, .target = &l->used,
	    .machine = l->machine, .limit_ms = l->connect_ms,
	    .trace = l->up.trace };
	uint64_t wait;
	char *why;

	l->start = false;
	event_del(l->retry_ev);
	if (l->attempt != NULL || l->conn != NULL)
		return;
	wait = retry_wait(&l->retry, capped(l));
	if (wait > 0) {
		/* A lockout of the user by the far side's firewall would be
		 * worse than waiting. The pause first: it is the news. */
		why = xasprintf("not tried: %u tries failed within %u s; next "
		    "try in %" PRIu64 " s%s%s", RETRY_BURST,
		    RETRY_WINDOW_MS / 1000, (wait + 999) / 1000,
		    l->last != NULL ? "; the last: " : "",
		    l->last != NULL ? l->last : "");
		note(l, LINK_FAILED, why);
		schedule(l);
		tell(l);
		return;
	}
	target_clear(&l->used);
	target_copy(&l->used, &l->target);
	spec.env = l->env;
	spec.askpass = prompts_start(l->prompts, l->may_prompt);
	l->prompt_next = false;
	note(l, LINK_CONNECTING, xstrdup("connecting"));
	trace_begin(l->up.trace);
	l->attempt = attempt_start(&spec, &attempt_callbacks, l);
	tell(l);
}

static void
on_kick(evutil_socket_t fd, short what, void *arg)
{
	struct link *l = arg;

	(void)fd;
	(void)what;
	if (l->start)
		begin(l);
	else if (l->tell)
		tell(l);
}

static void
on_retry(evutil_socket_t fd, short what, void *arg)
{
	struct link *l = arg;

	(void)fd;
	(void)what;
	if (!l->wanted || l->held)
		return;
	l->may_prompt = false;
	begin(l);
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
		failed(l, why);
		free(why);
		return;
	}
	HOOK("link-hello");
	trace_enter(l->up.trace, PHASE_SHELLS);
	event_del(l->hello_ev);
	l->agent = h;
	l->agent_known = true;
	l->twice = false;
	l->up_at = clock_ms();
	l->prompt_next = false;
	send_hello(l);
	alive_begin(l->alive, l->conn);
	if (l->tr != NULL && transport_pid(l->tr) == 0)
		on_transport_end(l->tr, 0, l);
	note(l, LINK_UP, xstrdup("connected"));
	l->silent_ms = 0;
	log_info("link %s: up, agent %s pid %u", l->target.name, h.version,
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
	if (!l->agent_known && !l->twice && l->tr == NULL &&
	    l->used.scheme == SCHEME_LOCAL && l->up.role == ROLE_SERVER) {
		log_info("link %s: met a dying agent: %s", l->target.name, why);
		drop(l);
		l->twice = l->start = true;
		wake(l);
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
		failed(l, text);
		free(text);
		return;
	}
	trace_failed(l->up.trace, text);	/* before its shells were told */
	if (clock_ms() - l->up_at < LINK_SHORT_MS)
		retry_failed(&l->retry);
	else
		retry_clear(&l->retry);
	log_info("link %s: lost: %s", l->target.name, text);
	l->silent_ms = alive_silent_ms(l->alive);
	drop(l);
	note(l, LINK_DOWN, text);
	schedule(l);
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
set_times(struct link *l, struct alive_times *t)
{
	*t = (struct alive_times){ PING_IDLE_MS, PING_BUSY_MS, DEAD_IDLE_MS,
	    DEAD_BUSY_MS };
	l->connect_ms = CONNECT_MS;
#ifdef DLMUX_HOOKS
	{
		const char *s = getenv("DLMUX_LINK_TIMES");

		if (s != NULL)
			sscanf(s, "%" SCNu64 ",%" SCNu64 ",%" SCNu64 ",%"
			    SCNu64 ",%" SCNu64, &t->ping_idle, &t->ping_busy,
			    &t->dead_idle, &t->dead_busy, &l->connect_ms);
	}
#endif
	l->hello_ms = t->dead_busy;
}

static char **
copy_env(char *const *env)
{
	size_t i, n = strv_len(env);
	char **v = xcalloc(n + 1, sizeof *v);

	for (i = 0; i < n; i++)
		v[i] = xstrdup(env[i]);
	return v;
}

static void
prompt_shown(uint32_t id, bool echo, const char *text, void *arg)
{
	struct link *l = arg;

	if (l->attempt != NULL)
		attempt_pause(l->attempt, true);
	l->up.cb->prompt(l, id, echo, text, l->up.arg);
}

/* ssh wants to tell, not ask ("touch your key"). */
static void
prompt_told(const char *text, void *arg)
{
	struct link *l = arg;

	if (l->attempt == NULL)
		return;
	note(l, LINK_CONNECTING, xstrdup(text));
	l->tell = true;
	wake(l);
}

static void
prompt_none_left(void *arg)
{
	struct link *l = arg;

	if (l->attempt != NULL)
		attempt_pause(l->attempt, false);
}

static const struct prompts_cb prompt_callbacks = {
	.show = prompt_shown,
	.told = prompt_told,
	.none_left = prompt_none_left,
};

struct link *
link_new(const struct link_setup *s, const struct target *t)
{
	extern char **environ;
	struct link *l = xcalloc(1, sizeof *l);
	struct alive_times times;

	l->up = *s;
	target_copy(&l->target, t);
	l->env = copy_env(environ);
	l->state = LINK_DOWN;
	l->text = xstrdup("not connected");
	l->since = clock_ms();
	set_times(l, &times);
	l->prompts = prompts_new(s->place->server_sock, &prompt_callbacks, l);
	l->kick = event_new(s->base, -1, 0, on_kick, l);
	l->retry_ev = event_new(s->base, -1, 0, on_retry, l);
	l->hello_ev = event_new(s->base, -1, 0, on_hello_late, l);
	l->alive = alive_new(s->base, l->target.name, &times, on_dead, l);
	return l;
}

void
link_free(struct link *l)
{
	if (l == NULL)
		return;
	drop(l);
	event_free(l->kick);
	event_free(l->retry_ev);
	event_free(l->hello_ev);
	alive_free(l->alive);
	prompts_free(l->prompts);
	target_clear(&l->target);
	target_clear(&l->used);
	strv_free(l->env);
	free(l->machine);
	free(l->text);
	free(l->last);
	free(l);
}

void
link_connect(struct link *l, char *const *env, bool may_prompt)
{
	if (env != NULL) {
		strv_free(l->env);
		l->env = copy_env(env);
	}
	if (l->conn != NULL)
		return;
	if (l->attempt != NULL || l->start) {
		l->prompt_next |= may_prompt && !l->may_prompt;
		return;
	}
	l->may_prompt = may_prompt;
	l->start = true;
	l->held = false;
	retry_clear(&l->retry);
	note(l, LINK_CONNECTING, xstrdup("connecting"));
	wake(l);
}

void
link_adopt(struct link *l, int fd)
{
	note(l, LINK_CONNECTING, xstrdup("connecting"));
	attempt_up(fd, fd, NULL, NULL, 0, l);
}

void
link_retarget(struct link *l, const struct target *t)
{
	struct target old = l->target;

	target_copy(&l->target, t);
	/* What failed was another thing; a user who has just mended the config
	 * does not wait for its pause. */
	if (!target_same_way(&old, t)) {
		retry_get(&l->retry, NULL);
		free(l->last);
		l->last = NULL;
	}
	target_clear(&old);
}

void
link_want(struct link *l, bool on)
{
	l->wanted = on;
	if (!on)
		event_del(l->retry_ev);
	else if (l->state != LINK_UP && l->attempt == NULL && !l->start &&
	    l->conn == NULL && !event_pending(l->retry_ev, EV_TIMEOUT, NULL))
		schedule(l);
}

void
link_disconnect(struct link *l, const char *why)
{
	l->wanted = l->start = l->prompt_next = false;
	event_del(l->retry_ev);
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
	if (l->tr != NULL)
		return transport_pid(l->tr);
	return l->attempt != NULL ? attempt_pid(l->attempt) : 0;
}

bool
link_retrying(const struct link *l)
{
	return l->wanted && !l->held && l->state != LINK_UP;
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
	prompts_reply(l->prompts, prompt, ok, text);
}

bool
link_ask(struct link *l, const char *token, int kind, const char *text,
    void (*reply)(bool, const char *, void *), void *arg)
{
	return prompts_ask(l->prompts, token, kind, text, reply, arg);
}

void
link_ask_gone(struct link *l, void *arg)
{
	prompts_gone(l->prompts, arg);
}

char *
link_tries(const struct link *l)
{
	return retry_put(&l->retry);
}

void
link_set_tries(struct link *l, const char *s)
{
	retry_get(&l->retry, s);
}
