/* SPDX-License-Identifier: ISC */
/*
 * Operations pass through here between a client's channel and a channel of
 * the link; only the channel number is rewritten. What is numbered end to end
 * is the two ends' business: the server may die at any moment.
 *
 * But a link carries many clients, so that what a client sends is checked for
 * its form first: a damaged frame costs that client, never the link.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hook.h"
#include "base/log.h"
#include "base/mem.h"
#include "inside.h"

static unsigned int
relay_bucket(uint32_t channel)
{
	return channel % RELAY_BUCKETS;
}

static struct relay *
relay_find(struct workspace *w, uint32_t channel)
{
	struct relay *r;

	LIST_FOREACH(r, &w->relays[relay_bucket(channel)], entry)
		if (r->channel == channel)
			return r;
	return NULL;
}

static struct relay *
relay_new(struct workspace *w, uint8_t kind, const uint8_t op[MSG_ID])
{
	struct relay *r = xcalloc(1, sizeof *r);

	do
		r->channel = ++w->next_channel;
	while (r->channel == 0 || relay_find(w, r->channel) != NULL);
	r->ws = w;
	r->kind = kind;
	memcpy(r->op, op, MSG_ID);
	LIST_INSERT_HEAD(&w->relays[relay_bucket(r->channel)], r, entry);
	w->nrelays++;
	w->nworking += kind != OP_INPUT;
	server_later(w->server);
	return r;
}

void
relay_free(struct relay *r)
{
	if (r == NULL)
		return;
	if (r->chan != NULL)
		r->chan->relay = NULL;
	LIST_REMOVE(r, entry);
	r->ws->nrelays--;
	r->ws->nworking -= r->kind != OP_INPUT;
	server_later(r->ws->server);
	free(r);
}

/* Bytes and their end keep their order; keystrokes go before bulk. */
static enum conn_class
relay_class(const struct relay *r, uint8_t type)
{
	switch (type) {
	case F_DATA:
	case F_END:
	case F_EXIT:
		return r->kind == OP_INPUT ? CONN_KEYS : CONN_STREAM;
	default:
		return CONN_CONTROL;
	}
}

void
relay_cancel(struct relay *r)
{
	if (r == NULL)
		return;
	/* Behind what the client sent before it went. */
	if (r->ws->up)
		link_send(r->ws->link, relay_class(r, F_END), F_CANCEL,
		    r->channel, NULL, 0);
	relay_free(r);
}

void
relay_link_down(struct workspace *w)
{
	struct relay *r;
	size_t i;

	for (i = 0; i < RELAY_BUCKETS; i++)
		while ((r = LIST_FIRST(&w->relays[i])) != NULL) {
			if (r->att != NULL)
				attach_created(r->att, 0, NULL, 0);
			relay_free(r);
		}
	w->next_channel = 0;
}

static void
relay_refuse(struct chan *ch, enum refusal code, const char *text)
{
	struct buf b;

	buf_init(&b, 4096);
	buf_u16(&b, (uint16_t)code);
	buf_str(&b, text);
	sclient_send_buf(ch->client, CONN_CONTROL, F_REFUSED, ch->number, &b);
	buf_free(&b);
}

/* A shell that is typed into by name, and is lost. */
static const struct sshell *
relay_lost(struct workspace *w, const struct msg_open *m)
{
	const struct sshell *sh;

	if (m->kind != OP_INPUT || m->uid != 0 || !w->ready)
		return NULL;
	sh = sshell_by_name(w, m->shell);
	return sh != NULL && sh->state == SHELL_LOST ? sh : NULL;
}

/* As it came. But a shell whose client has no terminal, and so names no size,
 * gets the one that the workspace's shells have. */
static void
relay_open_on(struct relay *r, struct msg_open *m, const uint8_t *data,
    size_t len)
{
	static const struct size none = { SIZE_DEFAULT, 0, 0 };
	struct buf b;

	if (m->kind == OP_NEW && m->rows == 0 && m->cols == 0)
		size_at_birth(r->ws, &none, &m->rows, &m->cols);
	if (m->kind != OP_NEW || m->rows == 0) {
		link_send(r->ws->link, CONN_CONTROL, F_OPEN, r->channel, data,
		    len);
		return;
	}
	buf_init(&b, OPEN_MAX_BYTES + 8 * OPEN_MAX_STRINGS);
	msg_open_put(&b, m);
	link_send_buf(r->ws->link, CONN_CONTROL, F_OPEN, r->channel, &b);
	buf_free(&b);
}

void
relay_open(struct chan *ch, const uint8_t *data, size_t len)
{
	struct sclient *c = ch->client;
	struct workspace *w = ch->ws;
	const struct sshell *lost;
	struct msg_open m;

	if (msg_open_get(&m, data, len) == -1 || m.kind < OP_EXEC ||
	    m.kind > OP_INPUT) {
		sclient_fail(c, R_ERROR, "an OPEN is damaged");
		return;
	}
	if (w == NULL)
		relay_refuse(ch, R_UNREACHABLE, "no such workspace");
	else if (m.kind == OP_INPUT && c->read_only)
		relay_refuse(ch, R_READ_ONLY, "attached to look only");
	else if (!w->up)
		/* It crossed the word that the link is down; the client opens
		 * again when it is up. */
		log_debug("%s: OPEN while the link is down", w->name);
	else if ((lost = relay_lost(w, &m)) != NULL)
		relay_refuse(ch, R_LOST, lost->lost_why);
	else {
		if (m.kind == OP_EXEC)
			sclient_news(c, ch->number, &w->news);
		if (ch->relay != NULL &&
		    memcmp(ch->relay->op, m.op, MSG_ID) == 0)
			relay_free(ch->relay);
		else
			relay_cancel(ch->relay);
		ch->relay = relay_new(w, m.kind, m.op);
		ch->relay->chan = ch;
		HOOK("server-open");
		if (m.kind == OP_NEW)
			sshell_make_room(w, m.shell);
		relay_open_on(ch->relay, &m, data, len);
	}
	msg_open_free(&m);
}

static bool
relay_form(uint8_t type, const uint8_t *data, size_t len)
{
	struct rd r;
	char *s;
	bool ok;

	switch (type) {
	case F_DATA:
		return len >= 9;
	case F_END:
		return len == 9;
	case F_CREDIT:
		return len == 17;
	case F_WINCH:
		return len == 4;
	case F_CLOSE:
		return len == 0;
	case F_SIGNAL:
		rd_init(&r, data, len);
		s = rd_str(&r, 32);
		ok = s != NULL && rd_end(&r);
		free(s);
		return ok;
	default:
		return false;
	}
}

void
relay_from_client(struct chan *ch, uint8_t type, const uint8_t *data,
    size_t len)
{
	struct relay *r = ch->relay;

	if (!relay_form(type, data, len)) {
		sclient_fail(ch->client, R_ERROR, "a %s is damaged",
		    frame_kind(type)->name);
		return;
	}
	/* Refused, or the link was lost, while this was on its way. */
	if (r == NULL || !r->ws->up)
		return;
	link_send(r->ws->link, relay_class(r, type), type, r->channel, data,
	    len);
	if (type == F_DATA && r->kind == OP_INPUT) {
		r->ws->typed_ms = clock_ms();
		attach_typed(ch->client);
	}
	if (type == F_DATA)
		sclient_hold(ch->client, r->ws);
	if (type == F_CLOSE)
		relay_free(r);
}

void
relay_from_agent(struct workspace *w, uint8_t type, uint32_t channel,
    const uint8_t *data, size_t len)
{
	struct relay *r;

	if ((r = relay_find(w, channel)) == NULL)
		return;
	if (r->att != NULL) {
		struct attachment *att = r->att;

		if (type != F_STARTED && type != F_REFUSED)
			return;
		/* It has done its work: the agent may forget it. */
		if (type == F_STARTED)
			link_send(w->link, CONN_CONTROL, F_CLOSE, r->channel,
			    NULL, 0);
		relay_free(r);
		attach_created(att, type, data, len);
		return;
	}
	if (r->chan == NULL)
		return;
	if (type == F_EXIT)
		HOOK("server-exit");
	sclient_send(r->chan->client, relay_class(r, type), type,
	    r->chan->number, data, len);
	if (type == F_REFUSED)
		relay_free(r);
}

struct relay *
relay_create(struct workspace *w, struct attachment *att,
    const struct msg_open *m)
{
	struct relay *r;
	struct buf b;

	r = relay_new(w, m->kind, m->op);
	r->att = att;
	buf_init(&b, OPEN_MAX_BYTES + 8 * OPEN_MAX_STRINGS);
	msg_open_put(&b, m);
	HOOK("server-open");
	link_send_buf(w->link, CONN_CONTROL, F_OPEN, r->channel, &b);
	buf_free(&b);
	return r;
}
