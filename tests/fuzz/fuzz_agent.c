/* SPDX-License-Identifier: ISC */
/*
 * An agent against servers that send what the input says: well-made frames
 * in any order, damaged ones, lost links, time. Its processes are played by
 * the input too (this file stands in for spawn.c): they start, fail, write,
 * close and end at any point; no program is ever run.
 */
#include <sys/queue.h>
#include <sys/socket.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../server/agent/core.h"
#include "../../server/agent/envprobe.h"
#include "../../server/agent/handoff.h"
#include "../../server/agent/op.h"
#include "../../server/agent/peer.h"
#include "../../server/agent/shell.h"
#include "../../server/base/clock.h"
#include "../../server/base/fd.h"
#include "../../server/base/limits.h"
#include "../../server/base/mem.h"

int	LLVMFuzzerTestOneInput(const uint8_t *, size_t);

/* ---- the stage's processes ---- */

struct proc {
	TAILQ_ENTRY(proc) entry;
	pid_t	 pid;
	bool	 started;
	int	 fds[3];
	const struct proc_cb *cb;
	void	*arg;
};

struct procs {
	TAILQ_HEAD(, proc) all;
	pid_t	 next;
};

static struct agent *a;

struct procs *
procs_new(struct event_base *base)
{
	struct procs *ps = xcalloc(1, sizeof *ps);

	(void)base;
	TAILQ_INIT(&ps->all);
	/* Beyond every number that the kernel gives. */
	ps->next = 0x50000000;
	return ps;
}

static void
proc_end(struct procs *ps, struct proc *p)
{
	int i;

	TAILQ_REMOVE(&ps->all, p, entry);
	for (i = 0; i < 3; i++)
		fd_close(&p->fds[i]);
	free(p);
}

void
procs_free(struct procs *ps)
{
	while (!TAILQ_EMPTY(&ps->all))
		proc_end(ps, TAILQ_FIRST(&ps->all));
	free(ps);
}

struct proc *
proc_spawn(struct procs *ps, const struct spawn *s, const struct proc_cb *cb,
    void *arg)
{
	struct proc *p;
	int i;

	if (s->file == NULL || s->argv[0] == NULL) {
		errno = EINVAL;
		return NULL;
	}
	p = xcalloc(1, sizeof *p);
	p->pid = ps->next++;
	for (i = 0; i < 3; i++)
		p->fds[i] = fcntl(s->fds[i], F_DUPFD_CLOEXEC, 3);
	(void)fd_nonblock(p->fds[0]);
	(void)fd_nonblock(p->fds[1]);
	(void)fd_nonblock(p->fds[2]);
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
	(void)p;
	(void)sig;
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

char **
agent_env(const struct agent *ag)
{
	return strv_copy(ag->env);
}

/* ---- the input ---- */

static const uint8_t *in;
static size_t left;

static uint8_t
next(void)
{
	if (left == 0)
		return 0;
	left--;
	return *in++;
}

static int sock[2];
static uint32_t epoch;

static void
turns(void)
{
	int i;

	for (i = 0; i < 4; i++)
		event_base_loop(a->base, EVLOOP_NONBLOCK);
}

static void
drain(void)
{
	static char sink[65536];
	int i, k;

	for (i = 0; i < 2; i++)
		for (k = 0; sock[i] != -1 && k < 8; k++)
			if (recv(sock[i], sink, sizeof sink,
			    MSG_DONTWAIT) <= 0)
				break;
}

static void
frame(int i, uint8_t type, uint32_t channel, const void *data, size_t len)
{
	struct frame_head h = { .len = (uint32_t)len, .type = type,
	    .channel = channel };
	uint8_t head[FRAME_HEADER];

	if (sock[i] == -1)
		return;
	frame_head_put(head, &h);
	(void)!send(sock[i], head, sizeof head, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (len > 0)
		(void)!send(sock[i], data, len, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void
frame_buf(int i, uint8_t type, uint32_t channel, struct buf *b)
{
	frame(i, type, channel, b->data, b->len);
	buf_free(b);
}

static void
join(int i)
{
	struct msg_hello m;
	struct buf b;
	int sv[2];

	fd_close(&sock[i]);
	turns();
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv) == -1)
		return;
	sock[i] = sv[0];
	peer_new(a, sv[1], sv[1], -1, NULL, NULL, 0);
	memset(&m, 0, sizeof m);
	m.proto_min = m.proto_max = 1;
	m.role = ROLE_SERVER;
	m.id[0] = (uint8_t)i;
	m.epoch = ++epoch;
	m.version = m.host = m.machine = (char *)(uintptr_t)"";
	buf_init(&b, 4096);
	msg_hello_put(&b, &m);
	frame_buf(i, F_HELLO, 0, &b);
}

static char *
word(uint8_t n)
{
	static const char *const words[] = { "", "main", "x", "1", "a/b" };

	return (char *)(uintptr_t)words[n % 5];
}

static void
step_open(int i, uint8_t c)
{
	char *argv[] = { word(1), NULL };
	struct msg_open m;
	struct buf b;

	memset(&m, 0, sizeof m);
	m.op[0] = next() % 8;
	m.kind = next() % 4;
	m.flags = next() & OPEN_RESUME;
	m.have[0] = next();
	m.have[1] = next() % 2;
	m.max[0] = m.have[0] + next() * 100u;
	m.max[1] = m.have[1] + next();
	m.how = next();
	m.probe = next() % 4;
	m.rows = next();
	m.cols = next();
	m.uid = next() % 2;
	m.shell = word(next());
	m.cwd = word(0);
	m.argv = next() % 4 != 0 ? argv : NULL;
	buf_init(&b, 65536);
	msg_open_put(&b, &m);
	frame_buf(i, F_OPEN, c, &b);
}

static void
step_op(int i, uint8_t c)
{
	static const uint8_t types[] = { F_DATA, F_DATA, F_END, F_CREDIT,
	    F_SIGNAL, F_WINCH, F_CLOSE, F_CANCEL };
	uint8_t type = types[next() % 8];
	static const uint8_t zeros[70000];
	struct buf b;

	buf_init(&b, 1u << 20);
	switch (type) {
	case F_DATA:
		buf_u8(&b, next() % 8 == 0);
		buf_u64(&b, next() * (next() % 16 == 0 ? 1000u : 1u));
		buf_put(&b, zeros, next() * (next() % 4 == 0 ? 250u : 1u));
		break;
	case F_END:
		buf_u8(&b, next() % 4);
		buf_u64(&b, next());
		break;
	case F_CREDIT:
		buf_u8(&b, next() % 4);
		buf_u64(&b, next());
		buf_u64(&b, next() * 300u);
		break;
	case F_SIGNAL:
		buf_str(&b, next() % 2 ? "INT" : "NONE");
		break;
	case F_WINCH:
		buf_u16(&b, next());
		buf_u16(&b, next());
		break;
	default:
		break;
	}
	frame_buf(i, type, c, &b);
}

static void
step_shell(int i, uint8_t c)
{
	static const uint8_t types[] = { F_WATCH, F_TAKEN, F_CHECKPOINT,
	    F_ANSWER, F_SIZE, F_KILL, F_DISMISS, F_WATCH };
	uint8_t type = types[next() % 8];
	uint64_t at = next() * (next() % 2 ? 256u : 1u);
	struct buf b;

	buf_init(&b, 1u << 20);
	switch (type) {
	case F_WATCH:
		buf_u8(&b, next() % 4);
		buf_u8(&b, next() % 2);
		buf_u64(&b, at);
		buf_u64(&b, at + next() * 1000u);
		break;
	case F_TAKEN:
		buf_u64(&b, at);
		buf_u64(&b, at + next() * 1000u);
		break;
	case F_CHECKPOINT:
		buf_u64(&b, at);
		buf_u8(&b, next() % 4);
		buf_u16(&b, 24);
		buf_u16(&b, 80);
		buf_put(&b, in, left < 100 ? left : 100);
		break;
	case F_ANSWER:
		buf_u64(&b, at);
		buf_put(&b, in, left < 100 ? left : 100);
		break;
	case F_SIZE:
		buf_u16(&b, next());
		buf_u16(&b, next());
		break;
	case F_KILL:
		buf_str(&b, next() % 2 ? "" : "INT");
		break;
	default:
		break;
	}
	frame_buf(i, type, c % 8, &b);
}

static void
step_proc(void)
{
	static const uint8_t bytes[60000];
	struct proc *p, *got = NULL;
	const struct proc_cb *cb;
	uint8_t which = next(), what = next();
	size_t n = 0, len = next() * (size_t)(next() % 8 == 0 ? 200 : 1);
	void *arg;

	TAILQ_FOREACH(p, &a->procs->all, entry)
		if (got == NULL || n++ < which % 8)
			got = p;
	if ((p = got) == NULL)
		return;
	cb = p->cb;
	arg = p->arg;
	switch (what % 6) {
	case 0:
		if (p->started)
			break;
		p->started = true;
		if (cb != NULL)
			cb->started(SPAWN_OK, 0, arg);
		break;
	case 1:
		if (p->started)
			break;
		p->cb = NULL;
		if (cb != NULL)
			cb->started(SPAWN_EXEC, ENOENT, arg);
		proc_end(a->procs, p);
		break;
	case 2:
		if (!p->started)
			break;
		if (what & 64) {	/* nobody holds its streams */
			fd_close(&p->fds[1]);
			fd_close(&p->fds[2]);
		}
		if (cb != NULL)
			cb->exited(what, arg);
		proc_end(a->procs, p);
		break;
	case 3:
		(void)!write(p->fds[1 + (which & 8) / 8], bytes, len);
		break;
	case 4:
		fd_close(&p->fds[what / 6 % 3]);
		break;
	case 5: {
		static char sink[65536];

		(void)!read(p->fds[0], sink, sizeof sink);
		break;
	}
	}
}

static void
agent_begin(void)
{
	char *env[] = { (char *)(uintptr_t)"HOME=/",
	    (char *)(uintptr_t)"SHELL=/bin/sh", NULL };

	a = xcalloc(1, sizeof *a);
	a->lock = a->listener = -1;
	a->base = fd_loop(0);
	TAILQ_INIT(&a->peers);
	TAILQ_INIT(&a->shells);
	LIST_INIT(&a->handoffs);
	op_init(a);
	a->env = strv_copy(env);
	a->procs = procs_new(a->base);
	a->probe = envprobe_new(a);
}

static void
agent_end(void)
{
	handoff_clear(a);
	peer_clear(a);
	op_clear(a);
	shell_clear(a);
	envprobe_free(a->probe);
	procs_free(a->procs);
	event_base_free(a->base);
	strv_free(a->env);
	if (a->memory != 0 || a->nops != 0 || a->nshells != 0 ||
	    a->npeers != 0 || a->nlinked != 0 || a->nended != 0)
		abort();
	free(a);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	uint8_t what, c;
	size_t n;
	int i;

	in = data;
	left = len;
	epoch = 0;
	sock[0] = sock[1] = -1;
	agent_begin();
	join(0);
	while (left > 0) {
		what = next();
		c = next();
		i = c >> 7;
		switch (what % 10) {
		case 0:
			n = next();
			if (n > left)
				n = left;
			frame(i, c, next(), in, n < left ? n : left);
			break;
		case 1:
		case 2:
			step_open(i, c % 8);
			break;
		case 3:
		case 4:
			step_op(i, c % 8);
			break;
		case 5:
		case 6:
			step_shell(i, c % 8);
			break;
		case 7:
			step_proc();
			break;
		case 8:
			join(i);
			break;
		case 9:
			turns();
			drain();
			if (c % 4 == 0)
				op_tick(a, clock_ms() + c * 1000u);
			if (c % 8 == 1)
				envprobe_refresh(a);
			break;
		}
		if (what & 128)
			turns();
	}
	turns();
	drain();
	turns();
	fd_close(&sock[0]);
	fd_close(&sock[1]);
	turns();
	agent_end();
	return 0;
}
