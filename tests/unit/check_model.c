/* SPDX-License-Identifier: ISC */
/*
 * A model of what must not be lost: the client's end of operations
 * (client/opchan.c), the server's relay (server/relay.c) and the agent's
 * operations (server/agent/op.c, exec.c, input.c, new.c, shell.c) as they are,
 * in one process, over connections that are queues in memory. A seed decides
 * what is delivered next, when the link is cut (each end finds out on its
 * own), when the server dies, when the agent is replaced, when processes read,
 * write and end, and how time goes. What must hold:
 *
 *	every byte of every stream arrives once and in order;
 *	a command is started once, ever; a refused one never;
 *	its status is its own, told once, behind all of its output;
 *	"unknown" is said only when an agent was lost, or time ran out;
 *	with the faults over, everything comes to its end.
 *
 * DLMUX_MODEL_SEEDS (how many), DLMUX_MODEL_FIRST (from which), DLMUX_MODEL_V
 * (what happens, of one seed). tests/faults/run.sh shows that it finds faults.
 */
#include <sys/ioctl.h>
#include <sys/queue.h>
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "../../client/opchan.h"
#include "../../server/agent/core.h"
#include "../../server/agent/env.h"
#include "../../server/agent/envprobe.h"
#include "../../server/agent/op.h"
#include "../../server/agent/peer.h"
#include "../../server/base/clock.h"
#include "../../server/base/fd.h"
#include "../../server/base/limits.h"
#include "../../server/base/mem.h"
#include "../../server/inside.h"
#include "unit.h"

void	 shell_clear(struct agent *);	/* agent/shell.h and inside.h do not
					 * go together */

#define CLIENTS		3
#define OUT_MAX		(700u << 10)
#define IN_MAX		(400u << 10)
#define STEPS_MAX	400000
#define LINKS_MAX	4	/* the newest and half-dead ones */

/* ---- what the seed decides ---- */

static uint64_t seed, rnd_state;
static bool verbose;

static uint32_t
rnd(uint32_t n)
{
	/* splitmix64 */
	uint64_t z = rnd_state += 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return (uint32_t)((z ^ (z >> 31)) % n);
}

static void say(const char *, ...) __attribute__((format(printf, 1, 2)));

static void
say(const char *fmt, ...)
{
	va_list ap;

	if (!verbose)
		return;
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
}

#define MUST(c, ...) do { \
	if (!(c)) { \
		char must_text[256]; \
		snprintf(must_text, sizeof must_text, __VA_ARGS__); \
		ck_abort_msg("seed %llu: %s", (unsigned long long)seed, \
		    must_text); \
	} \
} while (0)

/* ---- time ---- */

static uint64_t now_ms;

uint64_t
clock_ms(void)
{
	return now_ms;
}

uint64_t
clock_us(void)
{
	return now_ms * 1000;
}

uint64_t
clock_boot_ms(void)
{
	return now_ms;
}

uint64_t
clock_wall_ms(void)
{
	return now_ms;
}

/* ---- connections ---- */

struct message {
	TAILQ_ENTRY(message) entry;
	uint64_t number;	/* of all in this direction */
	uint8_t	 type;
	uint32_t channel;
	size_t	 len;
	uint8_t	 data[];
};

TAILQ_HEAD(message_list, message);

/* One direction. As in a conn: order is kept within a class, a later message
 * of an earlier class may overtake. */
struct way {
	struct message_list class[CONN_CLASSES];
	uint64_t	 number;
	unsigned int	 n;
};

static void
way_init(struct way *w)
{
	int i;

	for (i = 0; i < CONN_CLASSES; i++)
		TAILQ_INIT(&w->class[i]);
	w->n = 0;
	w->number = 0;
}

static void
way_put(struct way *w, enum conn_class class, uint8_t type, uint32_t channel,
    const void *data, size_t len)
{
	struct message *m = xmalloc(sizeof *m + len);

	m->number = ++w->number;
	m->type = type;
	m->channel = channel;
	m->len = len;
	if (len > 0)
		memcpy(m->data, data, len);
	TAILQ_INSERT_TAIL(&w->class[class], m, entry);
	w->n++;
}

static struct message *
way_get(struct way *w)
{
	struct message *m, *got = NULL;
	uint64_t low = UINT64_MAX;
	int i, class = 0;

	for (i = 0; i < CONN_CLASSES; i++) {
		m = TAILQ_FIRST(&w->class[i]);
		if (m == NULL || m->number > low)
			continue;
		low = m->number;
		if (got != NULL && rnd(2) == 0)
			continue;
		got = m;
		class = i;
	}
	if (got != NULL) {
		TAILQ_REMOVE(&w->class[class], got, entry);
		w->n--;
	}
	return got;
}

static void
way_clear(struct way *w)
{
	struct message *m;

	while ((m = way_get(w)) != NULL)
		free(m);
}

/* ---- the world ---- */

enum what { EXEC, INPUT };

struct connect {		/* a client and its one operation */
	struct opchan	*op;
	enum what	 what;
	int		 number;
	bool		 connected;
	struct way	 up, down;
	uint32_t	 channel;
	size_t		 fed, nin;	/* input given, to be given */
	bool		 fed_end;
	uint64_t	 got[2], took[2];
	bool		 ended[2];
	bool		 shut;		/* of stdout, at some time */
	bool		 done, closed;
	enum opchan_how	 how;
	uint32_t	 code;
	/* what really happened */
	unsigned int	 starts;
	uint64_t	 plan[2];	/* bytes the command writes */
	bool		 reads;		/* it reads to the end first */
	uint32_t	 status;
	struct sclient	*sc;		/* the server's side */
};

struct proc {
	TAILQ_ENTRY(proc) entry;
	struct connect	*of;		/* NULL: the shell */
	pid_t		 pid;
	int		 fds[3];
	bool		 started, killed, eof;
	uint64_t	 wrote[2], read;
	const struct proc_cb *cb;
	void		*arg;
};

TAILQ_HEAD(proc_list, proc);

struct procs {
	struct proc_list all;
};

struct mlink {			/* one connection between server and agent */
	struct peer	 peer;
	bool		 used;
	bool		 server_end, agent_end;
	struct way	 up, down;	/* towards the agent, the server */
};

static struct connect clients[CLIENTS];
static struct agent *agent;
static struct procs procs;
static struct mlink links[LINKS_MAX];
static struct mlink *current;	/* the server's; NULL: none */
static struct server server;
static struct workspace ws;
static bool server_lives;
static unsigned int restarts;	/* of the agent */
static bool time_ran_out;
static int faults;		/* left */
static uint64_t epoch, shell_read_bytes;
static pid_t next_pid;

/* The byte at an offset of a stream. */
static uint8_t
byte_of(int number, int stream, uint64_t at)
{
	uint64_t z = at * 0x9e3779b97f4a7c15u + (uint64_t)(number * 3 +
	    stream) * 0xd1342543de82ef95u;

	return (uint8_t)((z ^ (z >> 29)) * 0xbf58476d1ce4e5b9u >> 56);
}

static void
fill(uint8_t *p, size_t n, int number, int stream, uint64_t at)
{
	size_t i;

	for (i = 0; i < n; i++)
		p[i] = byte_of(number, stream, at + i);
}

static bool
same(const uint8_t *p, size_t n, int number, int stream, uint64_t at)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (p[i] != byte_of(number, stream, at + i))
			return false;
	return true;
}

/* ---- processes (in place of agent/spawn.c) ---- */

struct procs *
procs_new(struct event_base *base)
{
	(void)base;
	TAILQ_INIT(&procs.all);
	return &procs;
}

static void
proc_end(struct proc *p)
{
	int i;

	TAILQ_REMOVE(&procs.all, p, entry);
	for (i = 0; i < 3; i++)
		fd_close(&p->fds[i]);
	free(p);
}

void
procs_free(struct procs *ps)
{
	while (!TAILQ_EMPTY(&ps->all))
		proc_end(TAILQ_FIRST(&ps->all));
}

struct proc *
proc_spawn(struct procs *ps, const struct spawn *s, const struct proc_cb *cb,
    void *arg)
{
	struct proc *p = xcalloc(1, sizeof *p);
	struct termios t;
	int i;

	p->pid = ++next_pid;
	for (i = 0; i < 3; i++) {
		p->fds[i] = fcntl(s->fds[i], F_DUPFD_CLOEXEC, 3);
		(void)fd_nonblock(p->fds[i]);
	}
	if (s->tty == -1) {
		p->of = &clients[atoi(s->argv[1])];
		p->of->starts++;
		say("command %d starts", p->of->number);
		MUST(p->of->starts == 1, "command %d started %u times",
		    p->of->number, p->of->starts);
	} else if (tcgetattr(p->fds[0], &t) == 0) {
		cfmakeraw(&t);
		(void)tcsetattr(p->fds[0], TCSANOW, &t);
	}
	p->cb = cb;
	p->arg = arg;
	TAILQ_INSERT_TAIL(&ps->all, p, entry);
	return p;
}

pid_t
proc_pid(const struct proc *p)
{
	return p->pid;
}

void
proc_signal(const struct proc *p, int sig)
{
	if (sig == SIGKILL || sig == SIGHUP)
		((struct proc *)(uintptr_t)p)->killed = true;
}

void
proc_status(int status, uint8_t *how, uint32_t *code, char **sig)
{
	*how = END_EXIT;
	*code = (uint32_t)status;
	*sig = xstrdup("");
}

void
proc_forget(struct proc *p)
{
	if (p != NULL)
		p->cb = NULL;
}

static void
proc_over(struct proc *p, int status)
{
	const struct proc_cb *cb = p->cb;
	void *arg = p->arg;

	proc_end(p);
	if (cb != NULL)
		cb->exited(status, arg);
}

static void
proc_read(struct proc *p)
{
	static uint8_t chunk[65536];
	ssize_t n = read(p->fds[0], chunk, 1 + rnd(sizeof chunk));

	if (n > 0) {
		MUST(same(chunk, (size_t)n, p->of->number, 0, p->read),
		    "command %d: other input at %llu", p->of->number,
		    (unsigned long long)p->read);
		p->read += (uint64_t)n;
	} else if (n == 0) {
		p->eof = true;
		MUST(p->read == p->of->nin || p->killed || time_ran_out,
		    "command %d: input ends at %llu of %zu", p->of->number,
		    (unsigned long long)p->read, p->of->nin);
	}
}

static void
proc_write(struct proc *p, int i)
{
	static uint8_t chunk[65536];
	uint64_t left = p->of->plan[i] - p->wrote[i];
	size_t n = 1 + rnd(sizeof chunk);
	ssize_t w;

	if (n > left)
		n = (size_t)left;
	fill(chunk, n, p->of->number, 1 + i, p->wrote[i]);
	w = write(p->fds[1 + i], chunk, n);
	if (w > 0)
		p->wrote[i] += (uint64_t)w;
	else if (w == -1 && errno == EPIPE)
		p->wrote[i] = p->of->plan[i];	/* shut: as good as written */
}

static void
proc_step(void)
{
	struct proc *p;
	uint32_t n = 0, k;

	TAILQ_FOREACH(p, &procs.all, entry)
		n++;
	if (n == 0)
		return;
	k = rnd(n);
	TAILQ_FOREACH(p, &procs.all, entry)
		if (k-- == 0)
			break;
	if (!p->started) {
		/* A disk may be slow: time enough for a loss in between. */
		if (rnd(12) != 0)
			return;
		p->started = true;
		if (p->cb != NULL)
			p->cb->started(SPAWN_OK, 0, p->arg);
		return;
	}
	if (p->cb == NULL || p->killed) {
		proc_over(p, 129);
		return;
	}
	if (p->of == NULL)
		return;
	if (rnd(3) == 0 && !p->eof)
		proc_read(p);
	else if (p->wrote[0] < p->of->plan[0] || p->wrote[1] <
	    p->of->plan[1]) {
		k = rnd(2);
		if (p->wrote[k] < p->of->plan[k])
			proc_write(p, (int)k);
	} else if (p->eof || !p->of->reads) {
		say("command %d ends", p->of->number);
		proc_over(p, (int)p->of->status);
	}
}

/* What the shell was typed. */
static void
shell_step(void)
{
	static uint8_t chunk[4096];
	struct proc *p;
	ssize_t n;

	TAILQ_FOREACH(p, &procs.all, entry)
		if (p->of == NULL && p->started)
			break;
	if (p == NULL || (n = read(p->fds[0], chunk, sizeof chunk)) <= 0)
		return;
	MUST(same(chunk, (size_t)n, 0, 0, shell_read_bytes),
	    "other bytes typed at %llu", (unsigned long long)shell_read_bytes);
	shell_read_bytes += (uint64_t)n;
}

/* ---- the agent's peers (in place of agent/peer.c) ---- */

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
	return env_copy(a->env);
}

/* The agent's end is over: by EOF, or fenced. */
static void
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

static void
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

static void
peer_message(struct mlink *l, const struct message *m)
{
	struct mlink *o;
	struct op *op;
	uint64_t e;
	bool fine = true;

	say("agent: %s of link %d, channel %u, %zu bytes",
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
				say("agent: an older link is fenced off");
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

/* ---- the server around relay.c ---- */

void
server_later(struct server *s)
{
	(void)s;
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

static void
server_link_down(void)
{
	if (current == NULL)
		return;
	say("server: the link is down");
	current->server_end = false;
	way_clear(&current->down);
	current = NULL;
	ws.up = false;
	relay_link_down(&ws);
	server_tell(NULL);
}

static void
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
	say("server: a link is being made");
}

static void
server_message(const struct message *m)
{
	uint64_t e;

	say("server: %s of the agent, channel %u, %zu bytes",
	    frame_kind(m->type)->name, m->channel, m->len);
	if (m->type != F_HELLO) {
		relay_from_agent(&ws, m->type, m->channel, m->data, m->len);
		return;
	}
	memcpy(ws.agent, m->data, MSG_ID);
	ws.up = true;
	e = ++epoch;
	link_send(NULL, CONN_CONTROL, F_HELLO, 0, &e, sizeof e);
	say("server: the link is up");
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

static void
server_from_client(struct connect *c, const struct message *m)
{
	struct chan *ch = server_chan(c->sc, m->channel);

	say("server: %s of client %d, channel %u, %zu bytes",
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

static void
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

static void
server_kill(void)
{
	struct connect *c;

	if (!server_lives)
		return;
	say("server: killed");
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

/* ---- the client around opchan.c (in place of client/connect.c) ---- */

uint32_t
connect_channel(struct connect *c)
{
	return ++c->channel;
}

void
connect_send(struct connect *c, enum conn_class class, uint8_t type,
    uint32_t channel, struct buf *b)
{
	MUST(buf_ok(b), "the client's frame of type %#x is too long", type);
	if (c->connected)
		way_put(&c->up, class, type, channel, b->data, b->len);
	buf_reset(b);
}

void
connect_use(struct connect *c, uint32_t channel, const char *workspace,
    int flags)
{
	(void)workspace;
	(void)flags;
	if (c->connected)
		way_put(&c->up, CONN_CONTROL, F_USE, channel, NULL, 0);
}

static void
client_started(struct opchan *o, const struct msg_started *m, void *arg)
{
	(void)o;
	(void)m;
	(void)arg;
}

static void
client_output(struct opchan *o, int stream, const uint8_t *p, size_t n,
    void *arg)
{
	struct connect *c = arg;

	(void)o;
	MUST(!c->ended[stream - 1], "client %d: output behind its end",
	    c->number);
	MUST(same(p, n, c->number, stream, c->got[stream - 1]),
	    "client %d: other output of stream %d at %llu", c->number, stream,
	    (unsigned long long)c->got[stream - 1]);
	c->got[stream - 1] += n;
}

static void
client_output_end(struct opchan *o, int stream, void *arg)
{
	struct connect *c = arg;

	(void)o;
	MUST(!c->ended[stream - 1], "client %d: a stream ends twice",
	    c->number);
	c->ended[stream - 1] = true;
}

static void
client_done(struct opchan *o, const struct opchan_result *r, void *arg)
{
	struct connect *c = arg;

	(void)o;
	say("client %d: done %d %s", c->number, (int)r->how,
	    r->text != NULL ? r->text : "");
	MUST(!c->done, "client %d: done twice", c->number);
	c->done = true;
	c->how = r->how;
	switch (r->how) {
	case OPCHAN_EXITED:
		MUST(c->what == EXEC && c->starts == 1 &&
		    r->exit->code == c->status, "client %d: status %u of %u",
		    c->number, r->exit->code, c->status);
		MUST((c->got[0] == c->plan[0] || c->shut) &&
		    c->got[1] == c->plan[1], "client %d: an exit with %llu "
		    "and %llu bytes of %llu and %llu", c->number,
		    (unsigned long long)c->got[0],
		    (unsigned long long)c->got[1],
		    (unsigned long long)c->plan[0],
		    (unsigned long long)c->plan[1]);
		break;
	case OPCHAN_TAKEN:
		MUST(c->what == INPUT && c->fed_end, "client %d: taken",
		    c->number);
		break;
	case OPCHAN_REFUSED:
		MUST(c->starts == 0 && (c->what == EXEC || restarts > 0),
		    "client %d: refused after %u starts: %s", c->number,
		    c->starts, r->text);
		break;
	case OPCHAN_UNKNOWN:
		MUST(restarts > 0 || time_ran_out, "client %d: unknown: %s",
		    c->number, r->text);
		break;
	}
}

static const struct opchan_cb client_cb = {
	.started = client_started,
	.output = client_output,
	.output_end = client_output_end,
	.done = client_done,
};

static void
client_connect(struct connect *c)
{
	if (c->connected || (c->done && c->closed))
		return;
	if (!server_lives) {
		say("client %d starts a server", c->number);
		server_lives = true;
	}
	c->sc = xcalloc(1, sizeof *c->sc);
	c->sc->server = &server;
	c->sc->number = (uint32_t)c->number;
	TAILQ_INIT(&c->sc->chans);
	c->connected = true;
	opchan_up(c->op);
}

static void
client_step(struct connect *c)
{
	static uint8_t chunk[65536];
	size_t n;
	int i;

	if (c->done) {
		if (!c->closed && (c->how == OPCHAN_EXITED ||
		    c->how == OPCHAN_TAKEN)) {
			/* Best effort: a CLOSE that is lost costs the agent
			 * ten minutes of memory. */
			opchan_close(c->op);
		}
		c->closed = true;
		return;
	}
	if (!c->fed_end && rnd(2) == 0) {
		n = opchan_room(c->op);
		if (n > sizeof chunk)
			n = sizeof chunk;
		if (n > 0)
			n = 1 + rnd((uint32_t)n);
		if (n > c->nin - c->fed)
			n = c->nin - c->fed;
		fill(chunk, n, c->number, 0, c->fed);
		opchan_input(c->op, chunk, n);
		c->fed += n;
		if (c->fed == c->nin) {
			c->fed_end = true;
			opchan_input_end(c->op);
		}
		return;
	}
	for (i = 0; i < 2; i++) {
		n = (size_t)(c->got[i] - c->took[i]);
		if (n == 0 || rnd(2) == 0 || (i == 0 && c->shut))
			continue;
		n = 1 + rnd((uint32_t)n);
		c->took[i] += n;
		opchan_took(c->op, 1 + i, n);
	}
	if (faults > 0 && !c->shut && c->what == EXEC && rnd(3000) == 0) {
		say("client %d: nobody reads stdout", c->number);
		c->shut = true;
		opchan_shut(c->op, 1);
	}
}

/* ---- steps ---- */

static void
agent_turns(void)
{
	int i;

	for (i = 0; i < 2; i++)
		event_base_loop(agent->base, EVLOOP_NONBLOCK);
}

static void
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
	agent->env = env_copy((char **)(uintptr_t)names);
	agent->procs = procs_new(base);
	agent->probe = envprobe_new(agent);
}

static void
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
static void
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

static void
agent_replaced(void)
{
	struct event_base *base = agent->base;

	say("agent: replaced by another instance");
	agent_end();
	free(agent);
	restarts++;
	agent = NULL;
	agent_begin();
	event_base_free(agent->base);
	agent->base = base;
}

static void
fault(void)
{
	struct mlink *l = &links[rnd(LINKS_MAX)];

	if (faults == 0)
		return;
	faults--;
	switch (rnd(10)) {
	case 0: case 1: case 2: case 3:
		/* The server notices; the agent later. What is on the way to it
		 * may still arrive, or not. */
		server_link_down();
		break;
	case 4: case 5:
		if (l->agent_end) {
			say("agent: a link is gone");
			peer_over(l);
		}
		break;
	case 6: case 7: case 8:
		server_kill();
		break;
	default:
		if (seed % 16 == 1 && restarts == 0)
			agent_replaced();
		else if (seed % 16 == 2) {
			say("two minutes go by");
			now_ms += 120000;
			time_ran_out = true;
			op_tick(agent, now_ms);
		} else if (rnd(2) == 0 && current != NULL) {
			/* Everything under way is lost, at once. */
			say("the link is cut");
			way_clear(&current->up);
			way_clear(&current->down);
			peer_over(current);
			server_link_down();
		}
		break;
	}
}

static void
deliver(void)
{
	struct connect *c = &clients[rnd(CLIENTS)];
	struct mlink *l = &links[rnd(LINKS_MAX)];
	struct message *m = NULL;

	switch (rnd(4)) {
	case 0:
		if (c->connected && (m = way_get(&c->up)) != NULL)
			server_from_client(c, m);
		break;
	case 1:
		if (c->connected && (m = way_get(&c->down)) != NULL)
			(void)opchan_message(c->op, m->type, m->channel,
			    m->data, m->len);
		break;
	case 2:
		if (!l->agent_end)
			break;
		/* A link whose server end is gone: EOF behind what is left, or
		 * half-dead for long. */
		if ((m = way_get(&l->up)) != NULL)
			peer_message(l, m);
		else if (!l->server_end && rnd(4) == 0)
			peer_over(l);
		break;
	case 3:
		if (current == NULL)
			break;
		if ((m = way_get(&current->down)) != NULL)
			server_message(m);
		else if (!current->agent_end && rnd(4) == 0)
			server_link_down();
		break;
	}
	free(m);
}

static bool
all_done(void)
{
	struct connect *c;

	for (c = clients; c < clients + CLIENTS; c++)
		if (!c->done)
			return false;
	return true;
}

static void
step(void)
{
	uint32_t k = rnd(100);

	now_ms += rnd(2);
	if (k < 50)
		deliver();
	else if (k < 60)
		agent_turns();
	else if (k < 72)
		proc_step();
	else if (k < 82)
		client_step(&clients[rnd(CLIENTS)]);
	else if (k < 92)
		peer_pump(&links[rnd(LINKS_MAX)]);
	else if (k < 94)
		shell_step();
	else if (k < 96) {
		if (server_lives && current == NULL)
			server_link_connect();
	} else if (k < 98)
		client_connect(&clients[rnd(CLIENTS)]);
	else if (rnd(8) == 0)
		fault();
}

/* ---- one seed ---- */

static size_t
some(uint32_t max)
{
	switch (rnd(4)) {
	case 0:
		return 0;
	case 1:
		return rnd(100);
	case 2:
		return rnd(40000);
	default:
		return rnd(3) == 0 ? rnd(max) : rnd(max / 8);
	}
}

static void
begin(void)
{
	char number[16], *argv[] = { (char *)(uintptr_t)"c", number, NULL };
	struct opchan_setup setup;
	struct connect *c;
	int i;

	rnd_state = seed * 0x2545f4914f6cdd1du;
	now_ms = 1000000;
	restarts = 0;
	time_ran_out = false;
	shell_read_bytes = 0;
	epoch = 0;
	faults = (int)rnd(14);
	memset(clients, 0, sizeof clients);
	memset(links, 0, sizeof links);
	memset(&ws, 0, sizeof ws);
	memset(&server, 0, sizeof server);
	ws.server = &server;
	TAILQ_INIT(&ws.chans);
	for (i = 0; i < RELAY_BUCKETS; i++)
		LIST_INIT(&ws.relays[i]);
	current = NULL;
	server_lives = false;
	agent_begin();
	for (i = 0; i < CLIENTS; i++) {
		c = &clients[i];
		c->number = i;
		c->what = i == 0 && seed % 4 == 0 ? INPUT : EXEC;
		c->nin = some(IN_MAX);
		c->plan[0] = c->what == EXEC ? some(OUT_MAX) : 0;
		c->plan[1] = c->what == EXEC ? some(OUT_MAX / 4) : 0;
		c->reads = rnd(3) != 0;
		c->status = rnd(256);
		way_init(&c->up);
		way_init(&c->down);
		memset(&setup, 0, sizeof setup);
		setup.workspace = "w";
		memset(setup.open.op, i + 1, MSG_ID);
		snprintf(number, sizeof number, "%d", i);
		setup.open.kind = c->what == EXEC ? OP_EXEC : OP_INPUT;
		if (c->what == EXEC)
			setup.open.argv = argv;
		else
			setup.open.shell = (char *)(uintptr_t)"main";
		setup.input_max = CLIENT_INPUT_MAX;
		c->op = opchan_new(c, &setup, &client_cb, c);
	}
	if (seed % 4 == 0)
		agent_shell();
}

static void
end(void)
{
	struct connect *c;
	int i;

	for (c = clients; c < clients + CLIENTS; c++) {
		if (c->connected) {
			server_client_gone(c);
			c->connected = false;
		}
		opchan_free(c->op);
	}
	relay_link_down(&ws);
	agent_end();
	event_base_free(agent->base);
	free(agent);
	agent = NULL;
	for (i = 0; i < LINKS_MAX; i++)
		if (links[i].server_end || links[i].agent_end) {
			way_clear(&links[i].up);
			way_clear(&links[i].down);
		}
}

static void
run_seed(void)
{
	const struct connect *c = &clients[0];
	unsigned int i;

	begin();
	for (i = 0; i < STEPS_MAX && !all_done(); i++)
		step();
	for (i = 0; i < CLIENTS; i++)
		MUST(clients[i].done, "client %u has no end: got %llu of %llu "
		    "and %llu of %llu, fed %zu of %zu, kept %zu, %s", i,
		    (unsigned long long)clients[i].got[0],
		    (unsigned long long)clients[i].plan[0],
		    (unsigned long long)clients[i].got[1],
		    (unsigned long long)clients[i].plan[1], clients[i].fed,
		    clients[i].nin, opchan_kept(clients[i].op),
		    opchan_takes_input(clients[i].op) ? "open" : "not open");
	/* The kernel hands a pty's bytes over in its own time. */
	for (i = 0; i < 200 && c->what == INPUT && c->how == OPCHAN_TAKEN &&
	    restarts == 0 && shell_read_bytes < c->nin; i++) {
		shell_step();
		if (i > 20)
			usleep(1000);
	}
	if (c->what == INPUT && c->how == OPCHAN_TAKEN && restarts == 0)
		MUST(shell_read_bytes == c->nin, "typed: %llu of %zu bytes",
		    (unsigned long long)shell_read_bytes, c->nin);
	end();
}

START_TEST(whatever_breaks_everything_happens_once)
{
	const char *s = getenv("DLMUX_MODEL_SEEDS");
	uint64_t n = s != NULL ? strtoull(s, NULL, 10) : 1000, first;

	s = getenv("DLMUX_MODEL_FIRST");
	first = s != NULL ? strtoull(s, NULL, 10) : 1;
	verbose = getenv("DLMUX_MODEL_V") != NULL;
	signal(SIGPIPE, SIG_IGN);
	for (seed = first; seed < first + n; seed++)
		run_seed();
	printf("model: %llu seeds\n", (unsigned long long)n);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("model");
	TCase *t = tcase_create("model");

	suite_add_tcase(s, t);
	tcase_add_test(t, whatever_breaks_everything_happens_once);
	tcase_set_timeout(t, 600);
	return suite_run(s);
}
