/* SPDX-License-Identifier: ISC */
/* The server around relay.c: one workspace, its link, and its clients. */
#include <stdlib.h>
#include <string.h>

#include "model.h"

struct mlink *current;
struct server server;
struct workspace ws;
bool server_lives;
uint64_t epoch;

void
server_later(struct server *s)
{
	(void)s;
}

struct sshell *
sshell_by_name(struct workspace *w, const char *name)
{
	(void)w;
	(void)name;
	return NULL;
}

void
size_at_birth(const struct workspace *w, const struct size *own,
    uint16_t *rows, uint16_t *cols)
{
	(void)w;
	(void)own;
	(void)rows;
	(void)cols;
}

void
sshell_make_room(struct workspace *w, const char *name)
{
	(void)w;
	(void)name;
}

void
attach_created(struct attachment *a, uint8_t type, const uint8_t *p, size_t n)
{
	(void)a;
	(void)type;
	(void)p;
	(void)n;
}

void
attach_typed(struct sclient *c)
{
	(void)c;
}

void
sclient_hold(struct sclient *c, struct workspace *w)
{
	(void)c;
	(void)w;
}

void
sclient_news(struct sclient *c, uint32_t channel, char **text)
{
	(void)c;
	(void)channel;
	(void)text;
}

void
sclient_fail(struct sclient *c, enum refusal code, const char *fmt, ...)
{
	(void)code;
	MUST(false, "client %u is dropped: %s", c->number, fmt);
}

void
sclient_send(struct sclient *c, enum conn_class class, uint8_t type,
    uint32_t channel, const void *data, size_t len)
{
	way_put(&clients[c->number].down, class, type, channel, data, len);
}

void
sclient_send_buf(struct sclient *c, enum conn_class class, uint8_t type,
    uint32_t channel, struct buf *b)
{
	sclient_send(c, class, type, channel, b->data, b->len);
	buf_reset(b);
}

void
link_send(struct link *l, enum conn_class class, uint8_t type,
    uint32_t channel, const void *data, size_t len)
{
	(void)l;
	if (current != NULL && ws.up && current->agent_end)
		way_put(&current->up, class, type, channel, data, len);
}

void
link_send_buf(struct link *l, enum conn_class class, uint8_t type,
    uint32_t channel, struct buf *b)
{
	link_send(l, class, type, channel, b->data, b->len);
	buf_reset(b);
}

static void
server_tell(struct chan *only)
{
	char *none[] = { NULL };
	struct msg_link m;
	struct chan *ch;
	struct buf b;

	memset(&m, 0, sizeof m);
	m.state = ws.up ? LINK_UP : LINK_CONNECTING;
	m.retry = 1;
	memcpy(m.agent, ws.agent, MSG_ID);
	m.workspace = m.text = (char *)(uintptr_t)"w";
	m.send_env = none;
	buf_init(&b, 4096);
	msg_link_put(&b, &m);
	TAILQ_FOREACH(ch, &ws.chans, ws_entry)
		if (only == NULL || ch == only)
			sclient_send(ch->client, CONN_CONTROL, F_LINK,
			    ch->number, b.data, b.len);
	buf_free(&b);
}

void
server_link_down(void)
{
	if (current == NULL)
		return;
	trace("server: the link is down");
	current->server_end = false;
	way_clear(&current->down);
	current = NULL;
	ws.up = false;
	relay_link_down(&ws);
	server_tell(NULL);
}

void
server_link_connect(void)
{
	struct mlink *l;
	int i;

	for (l = links; l < links + LINKS_MAX; l++)
		if (!l->server_end && !l->agent_end)
			break;
	if (l == links + LINKS_MAX)
		return;
	memset(l, 0, sizeof *l);
	l->server_end = l->agent_end = true;
	way_init(&l->up);
	way_init(&l->down);
	l->peer.agent = agent;
	for (i = 0; i < PEER_BUCKETS; i++)
		LIST_INIT(&l->peer.ops[i]);
	TAILQ_INIT(&l->peer.streams);
	TAILQ_INIT(&l->peer.watches);
	TAILQ_INSERT_TAIL(&agent->peers, &l->peer, entry);
	way_put(&l->down, CONN_CONTROL, F_HELLO, 0, agent->id, MSG_ID);
	current = l;
	trace("server: a link is being made");
}

void
server_message(const struct message *m)
{
	uint64_t e;

	trace("server: %s of the agent, channel %u, %zu bytes",
	    frame_kind(m->type)->name, m->channel, m->len);
	if (m->type != F_HELLO) {
		relay_from_agent(&ws, m->type, m->channel, m->data, m->len);
		return;
	}
	memcpy(ws.agent, m->data, MSG_ID);
	ws.up = true;
	e = ++epoch;
	link_send(NULL, CONN_CONTROL, F_HELLO, 0, &e, sizeof e);
	trace("server: the link is up");
	server_tell(NULL);
}

static struct chan *
server_chan(struct sclient *sc, uint32_t number)
{
	struct chan *ch;

	TAILQ_FOREACH(ch, &sc->chans, entry)
		if (ch->number == number)
			return ch;
	return NULL;
}

void
server_from_client(struct connect *c, const struct message *m)
{
	struct chan *ch = server_chan(c->sc, m->channel);

	trace("server: %s of client %d, channel %u, %zu bytes",
	    frame_kind(m->type)->name, c->number, m->channel, m->len);
	if (m->type == F_USE) {
		ch = xcalloc(1, sizeof *ch);
		ch->client = c->sc;
		ch->number = m->channel;
		ch->ws = &ws;
		TAILQ_INSERT_TAIL(&c->sc->chans, ch, entry);
		TAILQ_INSERT_TAIL(&ws.chans, ch, ws_entry);
		server_tell(ch);
	} else if (m->type == F_OPEN)
		relay_open(ch, m->data, m->len);
	else
		relay_from_client(ch, m->type, m->data, m->len);
}

void
server_client_gone(struct connect *c)
{
	struct chan *ch;

	while ((ch = TAILQ_FIRST(&c->sc->chans)) != NULL) {
		TAILQ_REMOVE(&c->sc->chans, ch, entry);
		TAILQ_REMOVE(&ws.chans, ch, ws_entry);
		relay_free(ch->relay);
		free(ch);
	}
	free(c->sc);
	c->sc = NULL;
	way_clear(&c->up);
	way_clear(&c->down);
}

void
server_kill(void)
{
	struct connect *c;

	if (!server_lives)
		return;
	trace("server: killed");
	server_lives = false;
	if (current != NULL) {
		current->server_end = false;
		way_clear(&current->down);
		current = NULL;
	}
	ws.up = false;
	relay_link_down(&ws);
	for (c = clients; c < clients + CLIENTS; c++)
		if (c->connected) {
			server_client_gone(c);
			c->connected = false;
			opchan_down(c->op);
		}
}
