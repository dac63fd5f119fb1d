/* SPDX-License-Identifier: ISC */
/*
 * One connected client: greeting, the table of what it may say in which
 * state, and requests that are answered at once. A client that breaks a rule
 * is told which, dropped and logged; nobody else notices.
 */
#include <sys/utsname.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "inside.h"

#define HELLO_MAX	65536
#define TEXT_MAX	4096

#define MAY_CLIENT	0x01
#define MAY_ASKPASS	0x02
#define MAY_CHANNEL	0x10	/* not on channel 0 */

static void	 sclient_greet(struct sclient *);
static void	 on_hello(struct sclient *, uint8_t, uint32_t, const uint8_t *,
		    size_t);
static void	 on_ping(struct sclient *, uint8_t, uint32_t, const uint8_t *,
		    size_t);
static void	 on_nothing(struct sclient *, uint8_t, uint32_t,
		    const uint8_t *, size_t);
static void	 on_bye(struct sclient *, uint8_t, uint32_t, const uint8_t *,
		    size_t);
static void	 on_fail(struct sclient *, uint8_t, uint32_t, const uint8_t *,
		    size_t);
static void	 on_reply(struct sclient *, uint8_t, uint32_t, const uint8_t *,
		    size_t);
static void	 on_ask(struct sclient *, uint8_t, uint32_t, const uint8_t *,
		    size_t);
static void	 on_list(struct sclient *, uint8_t, uint32_t, const uint8_t *,
		    size_t);
static void	 on_letgo(struct sclient *, uint8_t, uint32_t, const uint8_t *,
		    size_t);
static void	 on_evict(struct sclient *, uint8_t, uint32_t, const uint8_t *,
		    size_t);
static void	 on_forget(struct sclient *, uint8_t, uint32_t, const uint8_t *,
		    size_t);
static void	 on_stop(struct sclient *, uint8_t, uint32_t, const uint8_t *,
		    size_t);

static const struct handler {
	uint8_t	 type;
	uint8_t	 may;
	void	(*call)(struct sclient *, uint8_t, uint32_t, const uint8_t *,
		    size_t);
} handlers[] = {
	{ F_PING,	MAY_CLIENT | MAY_ASKPASS,	on_ping },
	{ F_PONG,	MAY_CLIENT | MAY_ASKPASS,	on_nothing },
	{ F_RECEIVED,	MAY_CLIENT | MAY_ASKPASS,	on_nothing },
	{ F_BYE,	MAY_CLIENT | MAY_ASKPASS,	on_bye },
	{ F_FAIL,	MAY_CLIENT | MAY_ASKPASS,	on_fail },
	{ F_USE,	MAY_CLIENT | MAY_CHANNEL,	chan_frame },
	{ F_OPEN,	MAY_CLIENT | MAY_CHANNEL,	chan_frame },
	{ F_DATA,	MAY_CLIENT | MAY_CHANNEL,	chan_frame },
	{ F_END,	MAY_CLIENT | MAY_CHANNEL,	chan_frame },
	{ F_CREDIT,	MAY_CLIENT | MAY_CHANNEL,	chan_frame },
	{ F_SIGNAL,	MAY_CLIENT | MAY_CHANNEL,	chan_frame },
	{ F_WINCH,	MAY_CLIENT | MAY_CHANNEL,	chan_frame },
	{ F_CLOSE,	MAY_CLIENT | MAY_CHANNEL,	chan_frame },
	{ F_MANNER,	MAY_CLIENT,			attach_frame },
	{ F_ATTACH,	MAY_CLIENT,			attach_frame },
	{ F_SHOWN,	MAY_CLIENT,			attach_frame },
	{ F_RESIZE,	MAY_CLIENT,			attach_frame },
	{ F_OVERLAY,	MAY_CLIENT,			attach_frame },
	{ F_COLOURS,	MAY_CLIENT,			attach_frame },
	{ F_DETACH,	MAY_CLIENT,			attach_frame },
	{ F_TYPED,	MAY_CLIENT,			attach_frame },
	{ F_REPLY,	MAY_CLIENT,			on_reply },
	{ F_ASK,	MAY_ASKPASS,			on_ask },
	{ F_WAIT,	MAY_CLIENT,			request_frame },
	{ F_CAPTURE,	MAY_CLIENT,			request_frame },
	{ F_KEYS,	MAY_CLIENT,			request_frame },
	{ F_RELEASE,	MAY_CLIENT,			request_frame },
	{ F_ENDSHELL,	MAY_CLIENT,			request_frame },
	{ F_SIZING,	MAY_CLIENT,			request_frame },
	{ F_LIST,	MAY_CLIENT,			on_list },
	{ F_STATUS,	MAY_CLIENT,			on_list },
	{ F_LETGO,	MAY_CLIENT,			on_letgo },
	{ F_EVICT,	MAY_CLIENT,			on_evict },
	{ F_TRACE,	MAY_CLIENT,			request_frame },
	{ F_FORGET,	MAY_CLIENT,			on_forget },
	{ F_STOP,	MAY_CLIENT,			on_stop },
};

/* --- sending ------------------------------------------------------------ */

void
sclient_send(struct sclient *c, enum conn_class class, uint8_t type,
    uint32_t channel, const void *data, size_t len)
{
	if (c->conn != NULL)
		conn_send(c->conn, class, type, channel, data, len);
}

void
sclient_send_buf(struct sclient *c, enum conn_class class, uint8_t type,
    uint32_t channel, struct buf *b)
{
	if (c->conn != NULL)
		conn_send_buf(c->conn, class, type, channel, b);
}

void
sclient_done(struct sclient *c, uint32_t channel, enum refusal code,
    uint32_t status, const char *fmt, ...)
{
	struct msg_done m;
	struct buf b;
	va_list ap;
	char *s = NULL;

	va_start(ap, fmt);
	if (vasprintf(&s, fmt, ap) == -1)
		s = NULL;
	va_end(ap);
	m.code = (uint16_t)code;
	m.status = status;
	m.text = s;
	buf_init(&b, TEXT_MAX * 4);
	msg_done_put(&b, &m);
	if (buf_ok(&b))
		sclient_send_buf(c, CONN_CONTROL, F_DONE, channel, &b);
	else {
		/* A text too long for its frame: the code still counts. */
		buf_reset(&b);
		m.text = NULL;
		msg_done_put(&b, &m);
		sclient_send_buf(c, CONN_CONTROL, F_DONE, channel, &b);
	}
	buf_free(&b);
	free(s);
}

void
sclient_news(struct sclient *c, uint32_t channel, char **text)
{
	struct buf b;

	if (*text == NULL || c->conn == NULL)
		return;
	buf_init(&b, TEXT_MAX * 4);
	buf_str(&b, *text);
	sclient_send_buf(c, CONN_CONTROL, F_NEWS, channel, &b);
	buf_free(&b);
	free(*text);
	*text = NULL;
}

/* --- its end ------------------------------------------------------------ */

/* What the client held is let go of; the struct lives on until the end of the
 * pass, for callers further up. */
static void
sclient_let_go(struct sclient *c)
{
	struct server *s = c->server;
	struct chan *ch;
	struct sshell *sh;
	struct workspace *w;

	if (c->over_ws != NULL) {
		sh = sshell_by_uid(c->over_ws, c->over_uid);
		if (sh != NULL)
			sshell_seen(sh);
		c->over_ws = NULL;
	}
	if (c->asked) {
		TAILQ_FOREACH(w, &s->workspaces, entry)
			if (w->link != NULL)
				link_ask_gone(w->link, c);
		c->asked = false;
	}
	attach_free(c->att);
	c->att = NULL;
	request_client_gone(c);
	while ((ch = TAILQ_FIRST(&c->chans)) != NULL)
		chan_free(ch);
	if (c->hello_ev != NULL)
		event_free(c->hello_ev);
	c->hello_ev = NULL;
	s->reap = true;
	server_later(s);
}

static void
sclient_close(struct sclient *c, bool at_once)
{
	struct conn *conn = c->conn;

	if (conn == NULL)
		return;
	c->conn = NULL;
	if (at_once)
		conn_free(conn);
	else
		conn_finish(conn, CLIENT_LAST_MS);
	sclient_let_go(c);
}

void
sclient_finish(struct sclient *c)
{
	sclient_close(c, false);
}

void
sclient_fail(struct sclient *c, enum refusal code, const char *fmt, ...)
{
	struct buf b;
	va_list ap;
	char text[512], clean[512];

	if (c->conn == NULL)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	log_warn("client %u (pid %ld) dropped: %s", c->number, (long)c->pid,
	    log_clean(clean, sizeof clean, text));
	buf_init(&b, 1024);
	buf_u16(&b, (uint16_t)code);
	buf_str(&b, text);
	sclient_send_buf(c, CONN_CONTROL, F_FAIL, 0, &b);
	buf_free(&b);
	sclient_close(c, false);
}

void
sclient_reap(struct server *s)
{
	struct sclient *c, *next;

	TAILQ_FOREACH_SAFE(c, &s->clients, entry, next) {
		if (c->conn != NULL)
			continue;
		TAILQ_REMOVE(&s->clients, c, entry);
		s->nclients--;
		msg_manner_free(&c->manner);
		free(c->inside);
		free(c);
	}
	server_accept_again(s);
}

static void
sclient_closed(struct conn *conn, const char *why, void *arg)
{
	struct sclient *c = arg;
	char clean[256];

	if (c->conn != conn) {
		conn_free(conn);
		return;
	}
	log_clean(clean, sizeof clean, why != NULL ? why : "");
	if (conn_left(conn))
		log_debug("client %u (pid %ld) is gone: %s", c->number,
		    (long)c->pid, clean);
	else
		log_warn("client %u (pid %ld) dropped: %s", c->number,
		    (long)c->pid, clean);
	sclient_close(c, true);
}

/* --- messages ----------------------------------------------------------- */

static void
sclient_message(struct conn *conn, uint8_t type, uint32_t channel,
    const uint8_t *data, size_t len, void *arg)
{
	struct sclient *c = arg;
	const struct frame_kind *k;
	const struct handler *h = NULL;
	const char *name;
	size_t i;

	if (c->conn != conn)
		return;
	if (!c->greeted)
		sclient_greet(c);
	k = frame_kind(type);
	name = k != NULL ? k->name : "?";
	if (c->role == 0) {
		if (type == F_HELLO)
			on_hello(c, type, channel, data, len);
		else
			sclient_fail(c, R_ERROR, "%s before HELLO", name);
		return;
	}
	for (i = 0; i < sizeof handlers / sizeof handlers[0]; i++)
		if (handlers[i].type == type)
			h = &handlers[i];
	if (h == NULL || !(h->may & (c->role == ROLE_ASKPASS ? MAY_ASKPASS :
	    MAY_CLIENT))) {
		sclient_fail(c, R_ERROR, "%s is not for this connection", name);
		return;
	}
	if ((h->may & MAY_CHANNEL) && channel == 0) {
		sclient_fail(c, R_ERROR, "%s on channel 0", name);
		return;
	}
	h->call(c, type, channel, data, len);
}

static const struct conn_cb sclient_cb = {
	.message = sclient_message,
	.closed = sclient_closed,
};

static void
say_hello(struct sclient *c)
{
	struct server *s = c->server;
	struct msg_hello m;
	struct utsname u;
	struct buf b;
	char *machine, *none[] = { NULL };

	memset(&m, 0, sizeof m);
	memset(&u, 0, sizeof u);
	(void)uname(&u);
	machine = xasprintf("%s %s", u.sysname, u.machine);
	m.proto_min = PROTO_MIN;
	m.proto_max = PROTO_MAX;
	m.role = ROLE_SERVER;
	memcpy(m.id, s->id, MSG_ID);
	m.pid = (uint32_t)getpid();
	m.now_ms = clock_wall_ms();
	m.version = xstrdup(DLMUX_VERSION);
	m.host = u.nodename;
	m.machine = machine;
	m.features = none;
	buf_init(&b, HELLO_MAX);
	msg_hello_put(&b, &m);
	sclient_send_buf(c, CONN_CONTROL, F_HELLO, 0, &b);
	buf_free(&b);
	free(m.version);
	free(machine);
}

static void
sclient_await(struct sclient *c, uint64_t ms)
{
	struct timeval tv = { (time_t)(ms / 1000),
	    (suseconds_t)(ms % 1000 * 1000) };

	evtimer_add(c->hello_ev, &tv);
}

/* Our HELLO goes with the answer to what the client asks first, in one write
 * that wakes it once. One that waits for it gets it soon. */
static void
sclient_greet(struct sclient *c)
{
	c->greeted = true;
	say_hello(c);
	sclient_await(c, CLIENT_HELLO_MS);
}

static void
sclient_silent(int fd, short what, void *arg)
{
	struct sclient *c = arg;

	(void)fd;
	(void)what;
	if (!c->greeted)
		sclient_greet(c);
	else
		sclient_fail(c, R_ERROR, "no HELLO within %d s",
		    CLIENT_HELLO_MS / 1000);
}

void
sclient_new(struct server *s, int fd, pid_t pid)
{
	struct sclient *c = xcalloc(1, sizeof *c);

	c->server = s;
	c->pid = pid;
	c->number = ++s->client_number;
	TAILQ_INIT(&c->chans);
	c->conn = conn_new(s->base, fd, fd, PEER_CLIENT, &sclient_cb, c);
	c->hello_ev = evtimer_new(s->base, sclient_silent, c);
	TAILQ_INSERT_TAIL(&s->clients, c, entry);
	s->nclients++;
	log_debug("client %u (pid %ld) connected", c->number, (long)pid);
	sclient_await(c, CLIENT_GREET_MS);
}

static void
on_hello(struct sclient *c, uint8_t type, uint32_t channel,
    const uint8_t *data, size_t len)
{
	struct msg_hello m;
	unsigned int min, max;
	uint8_t role;

	(void)type;
	(void)channel;
	if (msg_hello_get(&m, data, len) == -1) {
		sclient_fail(c, R_ERROR, "the HELLO is damaged");
		return;
	}
	min = m.proto_min;
	max = m.proto_max;
	role = m.role;
	c->progress = strv_has(m.features, FEATURE_PROGRESS);
	msg_hello_free(&m);
	if (max < PROTO_MIN || min > PROTO_MAX) {
		sclient_fail(c, R_ERROR, "this server (%s) speaks versions "
		    "%d to %d of the protocol, the client %u to %u; "
		    "restart the server: dlmux server restart",
		    DLMUX_VERSION, PROTO_MIN, PROTO_MAX, min, max);
		return;
	}
	if (role != ROLE_CLIENT && role != ROLE_ASKPASS) {
		sclient_fail(c, R_ERROR, "a client of role %u", role);
		return;
	}
	c->role = role;
	event_free(c->hello_ev);
	c->hello_ev = NULL;
	if (role == ROLE_CLIENT)
		sclient_news(c, 0, &c->server->news);
}

static void
on_ping(struct sclient *c, uint8_t type, uint32_t channel,
    const uint8_t *data, size_t len)
{
	(void)type;
	sclient_send(c, CONN_CONTROL, F_PONG, channel, data, len);
}

static void
on_nothing(struct sclient *c, uint8_t type, uint32_t channel,
    const uint8_t *data, size_t len)
{
	(void)c;
	(void)type;
	(void)channel;
	(void)data;
	(void)len;
}

static void
on_bye(struct sclient *c, uint8_t type, uint32_t channel,
    const uint8_t *data, size_t len)
{
	(void)type;
	(void)channel;
	if (!c->server->stopping)
		sclient_send(c, CONN_CONTROL, F_BYE, 0, data, len);
	sclient_close(c, false);
}

static void
on_fail(struct sclient *c, uint8_t type, uint32_t channel,
    const uint8_t *data, size_t len)
{
	struct rd r;
	char *text, clean[256];

	(void)type;
	(void)channel;
	rd_init(&r, data, len);
	(void)rd_u16(&r);
	text = rd_str(&r, TEXT_MAX);
	log_warn("client %u (pid %ld) gave up: %s", c->number, (long)c->pid,
	    log_clean(clean, sizeof clean, text != NULL ? text : "?"));
	free(text);
	sclient_close(c, false);
}

/* --- flow --------------------------------------------------------------- */

void
sclient_hold(struct sclient *c, struct workspace *w)
{
	if (c->conn == NULL || c->held != NULL ||
	    link_queued(w->link) < LINK_QUEUE_HIGH)
		return;
	c->held = w;
	conn_pause(c->conn, true);
}

void
sclient_release(struct workspace *w)
{
	struct sclient *c;

	if (w->up && link_queued(w->link) > LINK_QUEUE_LOW)
		return;
	TAILQ_FOREACH(c, &w->server->clients, entry)
		if (c->held == w) {
			c->held = NULL;
			if (c->conn != NULL)
				conn_pause(c->conn, false);
		}
}

/* --- prompts ------------------------------------------------------------ */

static void
on_reply(struct sclient *c, uint8_t type, uint32_t channel,
    const uint8_t *data, size_t len)
{
	struct chan *ch;
	struct rd r;
	uint32_t id;
	bool ok;
	char *text;

	(void)type;
	rd_init(&r, data, len);
	id = rd_u32(&r);
	ok = rd_u8(&r) != 0;
	text = rd_str(&r, TEXT_MAX);
	if (text == NULL || !rd_end(&r)) {
		sclient_fail(c, R_ERROR, "a REPLY is damaged");
		goto out;
	}
	/* Late answers (the ssh is gone) are nobody's fault. */
	ch = chan_find(c, channel);
	if (ch != NULL && ch->ws != NULL)
		(void)workspace_reply(ch->ws, ch, id, ok, text);
out:
	if (text != NULL) {
		explicit_bzero(text, strlen(text));
		free(text);
	}
}

static void
ask_reply(bool ok, const char *text, void *arg)
{
	struct sclient *c = arg;
	struct buf b;

	c->asked = false;
	buf_init(&b, TEXT_MAX * 2);
	buf_u32(&b, 0);
	buf_u8(&b, ok);
	buf_str(&b, text);
	sclient_send_buf(c, CONN_CONTROL, F_REPLY, 0, &b);
	if (b.data != NULL)
		explicit_bzero(b.data, b.cap);
	buf_free(&b);
}

static void
on_ask(struct sclient *c, uint8_t type, uint32_t channel,
    const uint8_t *data, size_t len)
{
	struct workspace *w;
	struct rd r;
	char *token, *text;
	uint8_t kind;

	(void)type;
	(void)channel;
	rd_init(&r, data, len);
	token = rd_str(&r, 256);
	kind = rd_u8(&r);
	text = rd_str(&r, TEXT_MAX);
	if (token == NULL || text == NULL || !rd_end(&r) || c->asked) {
		sclient_fail(c, R_ERROR, "an ASK is damaged");
		goto out;
	}
	c->asked = true;
	TAILQ_FOREACH(w, &c->server->workspaces, entry)
		if (w->link != NULL &&
		    link_ask(w->link, token, kind, text, ask_reply, c))
			goto out;
	ask_reply(false, "", c);
out:
	free(token);
	free(text);
}

/* --- small requests ----------------------------------------------------- */

static void
on_list(struct sclient *c, uint8_t type, uint32_t channel,
    const uint8_t *data, size_t len)
{
	(void)data;
	if (len != 0)
		sclient_fail(c, R_ERROR, "trailing bytes");
	else if (type == F_LIST) {
		workspace_forget(c->server);
		list_all(c, channel);
	} else
		list_status(c, channel);
}

static void
on_letgo(struct sclient *c, uint8_t type, uint32_t channel,
    const uint8_t *data, size_t len)
{
	struct workspace *w;
	struct rd r;
	char *name;

	(void)type;
	rd_init(&r, data, len);
	name = rd_str(&r, WORKSPACE_NAME_MAX);
	if (name == NULL || !rd_end(&r)) {
		sclient_fail(c, R_ERROR, "a LETGO is damaged");
		free(name);
		return;
	}
	if ((w = workspace_known(c->server, name)) == NULL)
		sclient_done(c, channel, R_ERROR, 125,
		    "%s: no such workspace is known", name);
	else if (w->link == NULL || (link_state(w->link) == LINK_DOWN &&
	    !link_retrying(w->link)))
		sclient_done(c, channel, R_NONE, 0, "%s was not connected",
		    w->name);
	else {
		log_info("%s: disconnected by client %u", w->name, c->number);
		/* Somebody who typed lately does not want it back. */
		w->typed_ms = 0;
		w->let_go = true;
		link_disconnect(w->link, "disconnected");
		workspace_changed(w);
		sclient_done(c, channel, R_NONE, 0, "%s", "");
	}
	if (w != NULL)
		w->forget = true;
	server_later(c->server);
	free(name);
}

static void
on_evict(struct sclient *c, uint8_t type, uint32_t channel,
    const uint8_t *data, size_t len)
{
	struct workspace *w;
	struct sshell *sh, *next;
	struct rd r;
	char *name, *shell;
	unsigned int n = 0;
	bool found = false;

	(void)type;
	rd_init(&r, data, len);
	name = rd_str(&r, WORKSPACE_NAME_MAX);
	shell = rd_str(&r, SHELL_NAME_MAX);
	if (name == NULL || shell == NULL || !rd_end(&r)) {
		sclient_fail(c, R_ERROR, "an EVICT is damaged");
		goto out;
	}
	w = workspace_known(c->server, name);
	if (w != NULL)
		TAILQ_FOREACH_SAFE(sh, &w->shells, entry, next) {
			if (*shell != '\0' && strcmp(sh->name, shell) != 0)
				continue;
			found = true;
			n += attach_evict(sh, NULL, "detached on request");
		}
	if (!found)
		sclient_done(c, channel, R_NO_SHELL, 125, "%s:%s: no such "
		    "shell is known", name, *shell != '\0' ? shell : "*");
	else
		sclient_done(c, channel, R_NONE, 0, "%u detached", n);
out:
	free(name);
	free(shell);
}

/* Shells that are only remembered, of one workspace or (name "") of all. What
 * can be reached is not forgotten: it would be told anew at once. */
static unsigned int
forget_shells(struct workspace *w, const char *shell)
{
	struct sshell *sh, *next;
	unsigned int n = 0;

	TAILQ_FOREACH_SAFE(sh, &w->shells, entry, next) {
		if (sh->id != 0 ||
		    (*shell != '\0' && strcmp(sh->name, shell) != 0))
			continue;
		log_info("%s:%s: forgotten", w->name, sh->name);
		sshell_free(sh);
		n++;
	}
	if (w->nshells == 0 && !w->up)
		w->forget = true;
	return n;
}

static void
on_forget(struct sclient *c, uint8_t type, uint32_t channel,
    const uint8_t *data, size_t len)
{
	struct workspace *w = NULL;
	struct rd r;
	char *name, *shell;
	unsigned int n = 0;

	(void)type;
	rd_init(&r, data, len);
	name = rd_str(&r, WORKSPACE_NAME_MAX);
	shell = rd_str(&r, SHELL_NAME_MAX);
	if (name == NULL || shell == NULL || !rd_end(&r)) {
		sclient_fail(c, R_ERROR, "a FORGET is damaged");
		goto out;
	}
	if (*name == '\0') {
		TAILQ_FOREACH(w, &c->server->workspaces, entry)
			n += forget_shells(w, "");
	} else if ((w = workspace_known(c->server, name)) != NULL)
		n = forget_shells(w, shell);
	if (n > 0) {
		workspace_forget(c->server);
		state_save(c->server);
	}
	if (n == 0 && w != NULL && w->up)
		sclient_done(c, channel, R_ERROR, 125, "%s is connected: what "
		    "runs there is ended with kill, not forgotten", w->name);
	else if (n == 0 && *name != '\0')
		sclient_done(c, channel, R_NO_SHELL, 125, "%s%s%s: nothing is "
		    "remembered of it", name, *shell != '\0' ? ":" : "", shell);
	else
		sclient_done(c, channel, R_NONE, 0, "%u forgotten", n);
	server_later(c->server);
out:
	free(name);
	free(shell);
}

static void
on_stop(struct sclient *c, uint8_t type, uint32_t channel,
    const uint8_t *data, size_t len)
{
	struct workspace *w;
	struct sshell *sh;
	unsigned int n = 0;

	(void)type;
	if (len != 1) {
		sclient_fail(c, R_ERROR, "a STOP is damaged");
		return;
	}
	TAILQ_FOREACH(w, &c->server->workspaces, entry)
		TAILQ_FOREACH(sh, &w->shells, entry)
			n += sh->state == SHELL_RUNNING;
	sclient_done(c, channel, R_NONE, 0, "%u shell%s left running in %s",
	    n, n == 1 ? "" : "s", n == 1 ? "its agent" : "their agents");
	server_stop(c->server, data[0] != 0);
}
