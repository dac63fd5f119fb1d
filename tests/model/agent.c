/* SPDX-License-Identifier: ISC */
/* The agent's end: its peers, in place of agent/peer.c, and its life. */
#include <stdlib.h>
#include <string.h>

#include "model.h"

struct agent *agent;
struct mlink links[LINKS_MAX];
unsigned int restarts;

static struct mlink *
link_of(struct peer *p)
{
	return (struct mlink *)p;	/* its first member */
}

struct op *
peer_op(struct peer *p, uint32_t channel)
{
	struct op *op;

	LIST_FOREACH(op, &p->ops[channel % PEER_BUCKETS], bound)
		if (op->channel == channel)
			return op;
	return NULL;
}

void
peer_bind(struct peer *p, struct op *op)
{
	LIST_INSERT_HEAD(&p->ops[op->channel % PEER_BUCKETS], op, bound);
}

void
peer_unbind(struct peer *p, struct op *op)
{
	if (op->is_ready)
		TAILQ_REMOVE(&p->streams, op, ready);
	op->is_ready = false;
	LIST_REMOVE(op, bound);
}

void
peer_op_ready(struct peer *p, struct op *op)
{
	if (p->leaving || op->kind->pump == NULL || op->is_ready)
		return;
	op->is_ready = true;
	TAILQ_INSERT_TAIL(&p->streams, op, ready);
}

void
peer_send(struct peer *p, enum conn_class class, uint8_t type,
    uint32_t channel, const struct buf *b)
{
	MUST(buf_ok(b), "a message of type %#x did not fit", type);
	if (!p->leaving && link_of(p)->server_end)
		way_put(&link_of(p)->down, class, type, channel, b->data,
		    b->len);
}

void
peer_tell_all(struct agent *a, uint8_t type, uint32_t channel,
    const struct buf *b)
{
	(void)a;
	(void)type;
	(void)channel;
	(void)b;	/* shells: not part of this model */
}

void
peer_flush(struct peer *p)
{
	(void)p;
}

uint64_t
peer_heard_ms(const struct peer *p)
{
	(void)p;
	return now_ms;
}

void
peer_watch_ready(struct peer *p, struct watch *w)
{
	(void)p;
	(void)w;
}

void
peer_watch_unready(struct peer *p, struct watch *w)
{
	(void)p;
	(void)w;
}

bool
peer_bulk_busy(struct peer *p)
{
	(void)p;
	return false;
}

bool
peer_bulk_room(struct peer *p)
{
	(void)p;
	return true;
}

struct peer *
peer_new_keeper(struct agent *a, int fd)
{
	(void)a;
	close(fd);
	return NULL;
}

void
peer_bye(struct peer *p, const char *why)
{
	(void)p;
	(void)why;
}

char **
agent_env(const struct agent *a)
{
	return strv_copy(a->env);
}

/* The agent's end is over: by EOF, or fenced. */
void
peer_over(struct mlink *l)
{
	struct op *op;
	int i;

	if (!l->agent_end)
		return;
	for (i = 0; i < PEER_BUCKETS; i++)
		while ((op = LIST_FIRST(&l->peer.ops[i])) != NULL)
			op_unbind(op);
	if (l->peer.linked)
		agent->nlinked--;
	TAILQ_REMOVE(&agent->peers, &l->peer, entry);
	l->agent_end = false;
	way_clear(&l->up);
}

void
peer_pump(struct mlink *l)
{
	struct op *op = TAILQ_FIRST(&l->peer.streams);

	/* As conn_room(): no more than so much on its way. */
	if (!l->agent_end || op == NULL || l->down.n > 8)
		return;
	TAILQ_REMOVE(&l->peer.streams, op, ready);
	op->is_ready = false;
	if (op->kind->pump(op, 1 + rnd(SLICE_MAX)))
		peer_op_ready(&l->peer, op);
}

void
peer_message(struct mlink *l, const struct message *m)
{
	struct mlink *o;
	struct op *op;
	uint64_t e;
	bool fine = true;

	trace("agent: %s of link %d, channel %u, %zu bytes",
	    frame_kind(m->type)->name, (int)(l - links), m->channel, m->len);
	switch (m->type) {
	case F_HELLO:
		memcpy(&e, m->data, sizeof e);
		for (o = links; o < links + LINKS_MAX; o++)
			if (o != l && o->agent_end && o->peer.linked) {
				if (o->peer.epoch > e) {
					peer_over(l);
					return;
				}
				trace("agent: an older link is fenced off");
				peer_over(o);
			}
		l->peer.epoch = e;
		l->peer.linked = true;
		agent->nlinked++;
		break;
	case F_OPEN:
		MUST(l->peer.linked, "OPEN before HELLO");
		fine = op_open(agent, &l->peer, m->channel, m->data, m->len);
		break;
	default:
		if ((op = peer_op(&l->peer, m->channel)) != NULL)
			fine = op_message(op, m->type, m->data, m->len);
		break;
	}
	MUST(fine, "the agent calls a frame of type %#x bad", m->type);
}

/* ---- its life ---- */

void
agent_turns(void)
{
	int i;

	for (i = 0; i < 2; i++)
		event_base_loop(agent->base, EVLOOP_NONBLOCK);
}

void
agent_begin(void)
{
	static const char *const names[] = { "HOME=/", "SHELL=/bin/sh", NULL };
	struct event_base *base = agent != NULL ? agent->base : fd_loop(0);

	agent = xcalloc(1, sizeof *agent);
	agent->lock = agent->listener = -1;
	agent->base = base;
	TAILQ_INIT(&agent->peers);
	TAILQ_INIT(&agent->shells);
	LIST_INIT(&agent->handoffs);
	op_init(agent);
	memset(agent->id, (int)(1 + restarts), sizeof agent->id);
	agent->env = strv_copy((char **)(uintptr_t)names);
	agent->procs = procs_new(base);
	agent->probe = envprobe_new(agent);
}

void
agent_end(void)
{
	struct mlink *l;

	for (l = links; l < links + LINKS_MAX; l++)
		peer_over(l);
	op_clear(agent);
	shell_clear(agent);
	procs_free(&procs);
	envprobe_free(agent->probe);
	strv_free(agent->env);
}

/* The shell "main" is there from the beginning; not of a second agent. */
void
agent_shell(void)
{
	static struct mlink nobody;
	struct msg_open m;
	struct buf b;

	memset(&nobody, 0, sizeof nobody);
	nobody.peer.leaving = true;
	TAILQ_INIT(&nobody.peer.watches);
	TAILQ_INIT(&nobody.peer.streams);
	memset(&m, 0, sizeof m);
	memset(m.op, 0xee, MSG_ID);
	memcpy(m.agent, agent->id, MSG_ID);
	m.kind = OP_NEW;
	m.shell = (char *)(uintptr_t)"main";
	m.cwd = (char *)(uintptr_t)"";
	m.rows = 24;
	m.cols = 80;
	buf_init(&b, 4096);
	msg_open_put(&b, &m);
	(void)op_open(agent, &nobody.peer, 1, b.data, b.len);
	buf_free(&b);
	while (!TAILQ_EMPTY(&nobody.peer.streams))
		TAILQ_REMOVE(&nobody.peer.streams,
		    TAILQ_FIRST(&nobody.peer.streams), ready);
	while (!TAILQ_EMPTY(&procs.all) &&
	    !TAILQ_FIRST(&procs.all)->started)
		proc_step();
	agent_turns();
	if (nobody.peer.ops[1].lh_first != NULL)
		op_free(nobody.peer.ops[1].lh_first);
}

void
agent_replaced(void)
{
	struct event_base *base = agent->base;

	trace("agent: replaced by another instance");
	agent_end();
	free(agent);
	restarts++;
	agent = NULL;
	agent_begin();
	event_base_free(agent->base);
	agent->base = base;
}
