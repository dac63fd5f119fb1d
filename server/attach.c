/* SPDX-License-Identifier: ISC */
/*
 * Attaching: from when to when a client's terminal shows a shell, what is said
 * to it and what becomes of it when the shell, the link or somebody else has
 * news. Which shell that is, attach-seek.c finds.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attach.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"

/* After a server's death its clients come back within this time. */
#define AGAIN_SIZE_MS	1000

/* Keys and attaches in the order they came, of all clients. */
static uint64_t	 attach_count = 1;

/* --- what a shell shows to whom ------------------------------------------ */

static void
attach_unshow(struct attachment *a)
{
	struct sshell *sh = a->sh;

	if (sh == NULL)
		return;
	a->sh = NULL;
	TAILQ_REMOVE(&sh->atts, a, sh_entry);
	sh->natts--;
	if (sh->mirror != NULL)
		mirror_looked_at(sh->mirror);
	size_changed(sh, false);
}

static void
attach_settled(struct attachment *a)
{
	if (a->pending)
		msg_attach_free(&a->want);
	a->pending = false;
	a->want_uid = 0;
	a->asked = false;
	a->tries = 0;
	if (a->relay != NULL) {
		a->relay->att = NULL;
		relay_cancel(a->relay);
		a->relay = NULL;
	}
}

void
attach_free(struct attachment *a)
{
	if (a == NULL)
		return;
	attach_settled(a);
	attach_unshow(a);
	TAILQ_REMOVE(&a->server->atts, a, entry);
	if (a->client->att == a)
		a->client->att = NULL;
	paint_clear(a);
	server_later(a->server);
	free(a);
}

/* The attachment is over: last picture, LEFT, and it is freed. */
static void
attach_leave(struct attachment *a, enum left_why why, uint8_t how,
    uint32_t code, const char *text)
{
	struct msg_left m;
	struct buf b;

	paint_leave(a);
	memset(&m, 0, sizeof m);
	m.why = (uint8_t)why;
	m.how = how;
	m.code = code;
	m.text = xstrdup(text);
	buf_init(&b, 65536);
	msg_left_put(&b, &m);
	/* Of the pictures' class: it must not overtake the last one. */
	sclient_send_buf(a->client, CONN_KEYS, F_LEFT, a->channel, &b);
	buf_free(&b);
	free(m.text);
	attach_free(a);
}

static void
attach_tell(struct attachment *a)
{
	struct msg_attached m;
	struct buf b;

	memset(&m, 0, sizeof m);
	m.uid = a->sh->uid;
	if (a->ws->agent_known)
		memcpy(m.agent, a->ws->agent, MSG_ID);
	m.workspace = a->ws->name;
	m.shell = a->sh->name;
	buf_init(&b, 65536);
	msg_attached_put(&b, &m);
	sclient_send_buf(a->client, CONN_KEYS, F_ATTACHED, a->channel, &b);
	buf_free(&b);
}

static void
attach_end_shown(struct attachment *a)
{
	struct sshell *sh = a->sh;
	struct sclient *c = a->client;
	char *how = sshell_how(sh);

	if (!a->read_only) {
		c->over_ws = sh->ws;
		c->over_uid = sh->uid;
	}
	attach_leave(a, LEFT_ENDED, sh->how, sh->code, how);
	free(how);
}

void
attach_show(struct attachment *a, struct sshell *sh)
{
	struct screen *screen = sh->mirror->screen;
	char *why = NULL;

	/* One that comes back has shown it before. */
	if (!(a->want.flags & ATTACH_AGAIN) &&
	    (why = nested_refusal(a, sh)) != NULL) {
		attach_refuse(a, LEFT_REFUSED, "%s", why);
		free(why);
		return;
	}
	if (a->sh != sh) {
		attach_unshow(a);
		a->sh = sh;
		TAILQ_INSERT_TAIL(&sh->atts, a, sh_entry);
		sh->natts++;
	}
	if (!a->painted)
		view_unknown(a->view, a->want.modes, a->want.lines);
	else
		view_unknown(a->view, a->modes, screen_lines(screen));
	if (a->want.flags & ATTACH_OTHERS)
		attach_evict(sh, a->client, "detached by another client");
	/* That a client came back to a new server says nothing about which
	 * one is used; the others of the shell may be on their way. */
	a->again_ms = a->want.flags & ATTACH_AGAIN ? clock_ms() : 0;
	if (a->again_ms == 0)
		a->order = ++attach_count;
	attach_settled(a);
	mirror_looked_at(sh->mirror);
	if (a->own_given)
		size_set(sh, &a->own);
	a->own_given = false;
	size_changed(sh, a->again_ms == 0);
	attach_tell(a);
	a->dirty = a->echo = true;
	a->sync_ms = 0;
	paint_notice(a);
	server_tick_on(a->server);
	server_later(a->server);
	if (sh->over)
		attach_end_shown(a);
}

void
attach_refuse(struct attachment *a, enum left_why why, const char *fmt, ...)
{
	va_list ap;
	char text[1024];

	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	attach_settled(a);
	if (a->sh != NULL) {
		attach_tell(a);
		paint_flash(a, "%s", text);
		return;
	}
	attach_leave(a, why, END_NONE, 0, text);
}

/* --- frames --------------------------------------------------------------- */

static void
refuse_new(struct sclient *c, uint32_t channel, const char *text)
{
	struct msg_left m;
	struct buf b;

	memset(&m, 0, sizeof m);
	m.why = LEFT_REFUSED;
	m.text = xstrdup(text);
	buf_init(&b, 65536);
	msg_left_put(&b, &m);
	sclient_send_buf(c, CONN_KEYS, F_LEFT, channel, &b);
	buf_free(&b);
	free(m.text);
}

static int
clamp(int v, int min, int max)
{
	return v < min ? min : v > max ? max : v;
}

static bool
attach_terminal(struct attachment *a, const struct msg_attach *m)
{
	struct caps *caps;

	a->rows = clamp(m->rows != 0 ? m->rows : 24, SCREEN_ROWS_MIN,
	    SCREEN_ROWS_MAX);
	a->cols = clamp(m->cols != 0 ? m->cols : 80, SCREEN_COLS_MIN,
	    SCREEN_COLS_MAX);
	if (a->view != NULL) {
		/* The terminal is the same as before. */
		view_resize(a->view, a->rows, a->cols);
		return true;
	}
	if ((caps = caps_get(m->caps, m->caps_len)) == NULL)
		return false;
	a->caps = caps;
	a->view = view_new(caps, a->rows, a->cols);
	return true;
}

/* What a MANNER before the ATTACH said. */
static void
attach_manner(struct attachment *a, const struct msg_manner *m)
{
	a->above = m->history != HISTORY_SCREEN ? m->history : 0;
	if (m->history != HISTORY_SCREEN)
		view_history(a->view, m->history);
	/* Who may only look has no say. */
	a->own_given = !a->client->read_only &&
	    size_parse(m->size, &a->own) == 0;
	if (!a->own_given)
		memset(&a->own, 0, sizeof a->own);
}

static void
on_manner(struct sclient *c, const uint8_t *data, size_t len)
{
	msg_manner_free(&c->manner);
	if (msg_manner_get(&c->manner, data, len) == -1) {
		sclient_fail(c, R_ERROR, "a MANNER is damaged");
		return;
	}
	free(c->inside);
	c->inside = *c->manner.inside != '\0' ?
	    xstrdup(c->manner.inside) : NULL;
}

static void
on_attach(struct sclient *c, uint32_t channel, const uint8_t *data, size_t len)
{
	struct attachment *a = c->att;
	struct workspace *w;
	struct msg_attach m;
	struct msg_manner manner;
	char *cause = NULL;

	if (msg_attach_get(&m, data, len) == -1) {
		sclient_fail(c, R_ERROR, "an ATTACH is damaged");
		return;
	}
	if (m.flags & ATTACH_READ_ONLY)
		c->read_only = true;
	manner = c->manner;
	memset(&c->manner, 0, sizeof c->manner);
	if ((w = workspace_for(c, channel, m.workspace,
	    &cause)) == NULL) {
		refuse_new(c, channel, cause != NULL ? cause : "unknown");
		goto out;
	}
	if (!shell_name_ok(m.shell) && !(m.flags & (ATTACH_FRESH |
	    ATTACH_NEXT | ATTACH_PREV | ATTACH_AGAIN))) {
		refuse_new(c, channel, "not a name for a shell");
		goto out;
	}
	if (a == NULL) {
		a = xcalloc(1, sizeof *a);
		a->server = c->server;
		a->client = c;
		a->since_ms = clock_ms();
		paint_init(a);
		TAILQ_INSERT_TAIL(&c->server->atts, a, entry);
		c->att = a;
	}
	a->channel = channel;
	if (!attach_terminal(a, &m)) {
		attach_free(a);
		refuse_new(c, channel, "the terminal's description is damaged");
		goto out;
	}
	if (manner.size != NULL)
		attach_manner(a, &manner);
	if (!a->painted) {
		a->inherited = (m.flags & ATTACH_AGAIN) != 0;
		a->modes = m.modes;
	}
	attach_settled(a);
	if (a->sh != NULL && a->ws != w)
		attach_unshow(a);
	a->ws = w;
	a->read_only = c->read_only;
	a->passive = (m.flags & ATTACH_PASSIVE) != 0;
	a->want = m;
	a->pending = true;
	a->pending_ms = clock_ms();
	server_tick_on(a->server);
	msg_manner_free(&manner);
	attach_try(a);
	return;		/* m is the attachment's */
out:
	msg_manner_free(&manner);
	free(cause);
	msg_attach_free(&m);
}

static void
on_resize(struct attachment *a, const uint8_t *data, size_t len)
{
	struct rd r;
	int rows, cols;

	rd_init(&r, data, len);
	rows = rd_u16(&r);
	cols = rd_u16(&r);
	if (!rd_end(&r)) {
		sclient_fail(a->client, R_ERROR, "a RESIZE is damaged");
		return;
	}
	a->rows = clamp(rows, SCREEN_ROWS_MIN, SCREEN_ROWS_MAX);
	a->cols = clamp(cols, SCREEN_COLS_MIN, SCREEN_COLS_MAX);
	view_resize(a->view, a->rows, a->cols);
	a->dirty = true;
	a->again_ms = 0;	/* the user is there */
	if (a->sh != NULL)
		size_changed(a->sh, !a->passive && !a->read_only);
	server_later(a->server);
}

void
attach_frame(struct sclient *c, uint8_t type, uint32_t channel,
    const uint8_t *data, size_t len)
{
	struct attachment *a = c->att;
	struct rd r;
	uint32_t number;

	if (type == F_ATTACH) {
		on_attach(c, channel, data, len);
		return;
	}
	if (type == F_MANNER) {
		on_manner(c, data, len);
		return;
	}
	/* They may cross our LEFT. */
	if (a == NULL || a->view == NULL)
		return;
	rd_init(&r, data, len);
	switch (type) {
	case F_SHOWN:
		number = rd_u32(&r);
		/* One of an earlier attachment may still come in. */
		if (!rd_end(&r) || a->sent - number > a->sent - a->shown)
			break;
		a->shown = number;
		server_later(c->server);
		break;
	case F_RESIZE:
		on_resize(a, data, len);
		break;
	case F_TYPED:
		number = rd_u32(&r);
		if (!rd_end(&r))
			break;
		if (number > a->typed && a->ws != NULL && !a->ws->up &&
		    a->ws->link != NULL)
			link_connect(a->ws->link, NULL, LINK_TYPING);
		a->typed = number;
		paint_notice(a);
		break;
	case F_OVERLAY:
		paint_help(a, rd_u8(&r) == 1);
		break;
	case F_COLOURS:
		colours_frame(a, data, len);
		break;
	case F_DETACH:
		attach_leave(a, LEFT_DETACHED, END_NONE, 0, "detached");
		break;
	}
}

/* --- what others bring about ---------------------------------------------- */

/* All (of one workspace) try again. One that comes to be shown may evict
 * others, the next in the list among them: so each round starts anew. */
static void
attach_all_try(struct server *s, struct workspace *w)
{
	static unsigned int round;
	struct attachment *a;

	round++;
again:
	TAILQ_FOREACH(a, &s->atts, entry) {
		if (a->round == round || (w != NULL && a->ws != w))
			continue;
		a->round = round;
		paint_notice(a);
		attach_try(a);
		goto again;
	}
}

void
attach_retry(struct workspace *w)
{
	attach_all_try(w->server, w);
}

void
attach_settle(struct server *s)
{
	struct attachment *a;

	TAILQ_FOREACH(a, &s->atts, entry) {
		if (a->sh != NULL && a->sh->mirror != NULL &&
		    a->sh->mirror->lost_bytes != 0) {
			struct attachment *o;
			uint64_t n = a->sh->mirror->lost_bytes;

			a->sh->mirror->lost_bytes = 0;
			TAILQ_FOREACH(o, &a->sh->atts, sh_entry)
				paint_flash(o, "%llu bytes of output were "
				    "lost", (unsigned long long)n);
		}
		paint_settle(a);
	}
}

void
attach_tick(struct server *s)
{
	struct attachment *a;

	TAILQ_FOREACH(a, &s->atts, entry)
		if (a->again_ms != 0 &&
		    clock_ms() - a->again_ms > AGAIN_SIZE_MS) {
			a->again_ms = 0;
			if (a->sh != NULL)
				size_changed(a->sh, false);
		}
	attach_all_try(s, NULL);
}

bool
attach_shown(const struct sclient *c)
{
	return c->att != NULL && c->att->painted;
}

bool
attach_ask(struct sclient *c)
{
	if (!attach_shown(c))
		return false;
	paint_aside(c->att);
	return true;
}

void
attach_asked(struct workspace *w)
{
	struct attachment *a;

	TAILQ_FOREACH(a, &w->server->atts, entry)
		if (a->ws == w && a->aside) {
			a->aside = false;
			a->dirty = true;
			server_later(w->server);
		}
}

void
attach_typed(struct sclient *c)
{
	struct attachment *a = c->att;

	if (a == NULL || a->sh == NULL)
		return;
	a->echo = true;
	a->typed_ms = clock_ms();
	a->again_ms = 0;	/* the user is there */
	if (a->order != attach_count) {
		a->order = ++attach_count;
		colours_current(a);
	}
	if (a->passive)
		return;
	/* Another server may have had the last word. Now, not at the end of
	 * the pass: the key comes behind it. */
	size_changed(a->sh, true);
	size_settle(a->sh, true);
}

struct attachment *
attach_newest(const struct sshell *sh)
{
	struct attachment *a, *best = NULL;

	TAILQ_FOREACH(a, &sh->atts, sh_entry)
		if (!a->read_only && (best == NULL || a->order > best->order))
			best = a;
	return best;
}

/* Is what a program has for its user for this client? */
static bool
attach_passes(const struct attachment *a, enum pass_what what)
{
	static const int usual[PASSES] = { [PASS_BELL] = PASS_ALL,
	    [PASS_CLIPBOARD] = PASS_LAST, [PASS_NOTIFY] = PASS_ALL };
	int pass = a->sh->ws->pass[what];

	if (pass == -1)
		pass = usual[what];
	return pass == PASS_ALL ||
	    (pass == PASS_LAST && a == attach_newest(a->sh));
}

void
attach_bell(struct sshell *sh)
{
	struct attachment *a;

	TAILQ_FOREACH(a, &sh->atts, sh_entry)
		if (attach_passes(a, PASS_BELL)) {
			view_bell(a->view);
			a->dirty = true;
		}
}

void
attach_clipboard(struct sshell *sh, const char *sel, const char *b64,
    size_t len)
{
	struct attachment *a;

	TAILQ_FOREACH(a, &sh->atts, sh_entry)
		if (attach_passes(a, PASS_CLIPBOARD)) {
			view_clipboard(a->view, sel, b64, len);
			a->dirty = true;
		}
}

void
attach_notify(struct sshell *sh, const char *title, const char *text)
{
	struct attachment *a;

	TAILQ_FOREACH(a, &sh->atts, sh_entry)
		if (attach_passes(a, PASS_NOTIFY)) {
			view_notify(a->view, title, text);
			a->dirty = true;
		}
}

void
attach_over(struct sshell *sh)
{
	struct attachment *a, *next;

	TAILQ_FOREACH_SAFE(a, &sh->atts, sh_entry, next) {
		if (a->pending)
			attach_unshow(a);	/* on its way elsewhere */
		else
			attach_end_shown(a);
	}
}

void
attach_lost(struct sshell *sh, const char *why)
{
	struct attachment *a, *next;

	TAILQ_FOREACH_SAFE(a, &sh->atts, sh_entry, next) {
		if (a->pending)
			attach_unshow(a);
		else
			attach_leave(a, LEFT_LOST, END_NONE, 0, why);
	}
}

unsigned int
attach_evict(struct sshell *sh, const struct sclient *except, const char *text)
{
	struct attachment *a, *next;
	unsigned int n = 0;

	TAILQ_FOREACH_SAFE(a, &sh->atts, sh_entry, next) {
		if (a->client == except)
			continue;
		attach_leave(a, LEFT_EVICTED, END_NONE, 0, text);
		n++;
	}
	return n;
}

void
attach_stop(struct server *s, bool restart)
{
	struct attachment *a, *next;
	struct sclient *c, *cnext;
	struct buf b;

	if (!restart)
		TAILQ_FOREACH_SAFE(a, &s->atts, entry, next)
			attach_leave(a, LEFT_STOPPED, END_NONE, 0,
			    "the server was stopped; shells go on running");
	TAILQ_FOREACH_SAFE(c, &s->clients, entry, cnext) {
		buf_init(&b, 256);
		buf_str(&b, restart ? "restart" : "stop");
		sclient_send_buf(c, CONN_KEYS, F_BYE, 0, &b);
		buf_free(&b);
		sclient_finish(c);
	}
}

unsigned int
attach_users(const struct workspace *w)
{
	const struct attachment *a;
	unsigned int n = 0;

	TAILQ_FOREACH(a, &w->server->atts, entry)
		n += a->ws == w;
	return n;
}

void
attach_workspace_gone(struct workspace *w, const char *why)
{
	struct attachment *a, *next;

	TAILQ_FOREACH_SAFE(a, &w->server->atts, entry, next)
		if (a->ws == w)
			attach_leave(a, LEFT_STOPPED, END_NONE, 0, why);
}
