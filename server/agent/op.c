/* SPDX-License-Identifier: ISC */
/* The table of operations; contract in op.h, meaning in doc/protocol.md. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/clock.h"
#include "../base/hook.h"
#include "../base/limits.h"
#include "../base/log.h"
#include "../base/mem.h"
#include "env.h"
#include "envprobe.h"
#include "op.h"
#include "peer.h"

void
op_init(struct agent *a)
{
	int i;

	TAILQ_INIT(&a->ops);
	for (i = 0; i < OP_BUCKETS; i++)
		LIST_INIT(&a->op_hash[i]);
}

void
op_clear(struct agent *a)
{
	while (!TAILQ_EMPTY(&a->ops))
		op_free(TAILQ_FIRST(&a->ops));
	free(a->tombs);
	a->tombs = NULL;
}

static struct op_bucket *
op_hash_of(struct agent *a, const uint8_t id[MSG_ID])
{
	/* The ids are random. */
	return &a->op_hash[id[0] % OP_BUCKETS];
}

struct op *
op_find(struct agent *a, const uint8_t id[MSG_ID])
{
	struct op *op;

	LIST_FOREACH(op, op_hash_of(a, id), hash)
		if (memcmp(op->open.op, id, MSG_ID) == 0)
			return op;
	return NULL;
}

static void
op_bury(struct agent *a, const uint8_t id[MSG_ID])
{
	if (a->tombs == NULL &&
	    (a->tombs = calloc(OP_TOMBS, sizeof *a->tombs)) == NULL)
		return;
	memcpy(a->tombs[a->ntombs++ % OP_TOMBS], id, MSG_ID);
}

static bool
op_buried(const struct agent *a, const uint8_t id[MSG_ID])
{
	size_t i, n = a->ntombs < OP_TOMBS ? a->ntombs : OP_TOMBS;

	for (i = 0; a->tombs != NULL && i < n; i++)
		if (memcmp(a->tombs[i], id, MSG_ID) == 0)
			return true;
	return false;
}

/* ---- bound and unbound ---- */

static void
op_bind(struct op *op, struct peer *p, uint32_t channel)
{
	struct op *old;

	if (op->peer != NULL)
		op_unbind(op);
	if ((old = peer_op(p, channel)) != NULL)
		op_unbind(old);
	op->peer = p;
	op->channel = channel;
	op->orphan_ms = 0;
	peer_bind(p, op);
}

void
op_unbind(struct op *op)
{
	if (op->peer == NULL)
		return;
	peer_unbind(op->peer, op);
	op->peer = NULL;
	op->orphan_ms = 0;	/* the tick sets it once a server is linked */
}

void
op_ready(struct op *op)
{
	if (op->peer != NULL)
		peer_op_ready(op->peer, op);
}

void
op_send(struct op *op, enum conn_class class, uint8_t type, struct buf *b)
{
	if (op->peer != NULL)
		peer_send(op->peer, class, type, op->channel, b);
	buf_free(b);
}

void
op_credit(struct op *op, uint64_t taken, uint64_t max)
{
	struct buf b;

	if (op->peer == NULL || op->state == OP_OVER)
		return;
	buf_init(&b, 32);
	buf_u8(&b, 0);
	buf_u64(&b, taken);
	buf_u64(&b, max);
	op_send(op, CONN_CONTROL, F_CREDIT, &b);
}

/* ---- the life of one ---- */

static struct op *
op_new(struct agent *a, struct msg_open *open, const struct op_class *kind)
{
	struct op *op = xcalloc(1, sizeof *op);

	op->agent = a;
	op->kind = kind;
	op->open = *open;
	memset(open, 0, sizeof *open);
	LIST_INSERT_HEAD(op_hash_of(a, op->open.op), op, hash);
	TAILQ_INSERT_TAIL(&a->ops, op, all);
	a->nops++;
	return op;
}

void
op_free(struct op *op)
{
	struct agent *a = op->agent;

	op_unbind(op);
	/* One that never started may be asked for again in good faith. */
	if (op->state != OP_WAITING && op->refusal == R_NONE)
		op_bury(a, op->open.op);
	if (op->kind->free != NULL)
		op->kind->free(op);
	LIST_REMOVE(op, hash);
	TAILQ_REMOVE(&a->ops, op, all);
	a->nops--;
	msg_open_free(&op->open);
	free(op->shell_name);
	free(op->refusal_text);
	free(op);
}

static void
op_send_started(struct op *op, bool resumed)
{
	struct msg_started m;
	struct buf b;

	memset(&m, 0, sizeof m);
	m.resumed = resumed;
	m.pid = (uint32_t)op->pid;
	m.shell_id = op->shell_id;
	m.uid = op->shell_uid;
	m.shell = op->shell_name;
	if (op->kind->started != NULL)
		op->kind->started(op, &m);
	buf_init(&b, 4096);
	msg_started_put(&b, &m);
	op_send(op, CONN_CONTROL, F_STARTED, &b);
#ifdef DLMUX_HOOKS
	if (op->peer != NULL)
		peer_flush(op->peer);
#endif
	HOOK("agent-started");
}

void
op_started(struct op *op)
{
	if (op->state == OP_WAITING)
		op->state = OP_RUNNING;
	op_send_started(op, false);
	if (op->doomed && op->kind->outlives)
		op_free(op);
	else if (op->kind->rebound != NULL)
		op->kind->rebound(op);
}

static void
op_send_refused(struct op *op)
{
	struct buf b;

	buf_init(&b, 8192);
	buf_u16(&b, op->refusal);
	buf_str(&b, op->refusal_text);
	op_send(op, CONN_CONTROL, F_REFUSED, &b);
}

void
op_refuse(struct op *op, enum refusal code, const char *fmt, ...)
{
	va_list ap;
	char text[1024];

	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	op->refusal = (uint16_t)code;
	free(op->refusal_text);
	op->refusal_text = xstrdup(text);
	op->state = OP_OVER;
	op->over_ms = clock_ms();
	if (op->peer != NULL) {
		op_send_refused(op);
		op_free(op);
	} else if (op->doomed)
		op_free(op);
	else if (op->kind->free != NULL)
		op->kind->free(op);	/* only the words are kept */
}

void
op_over(struct op *op)
{
	op->state = OP_OVER;
	op->over_ms = clock_ms();
	if (op->doomed)
		op_free(op);
	else
		op_ready(op);
}

void
op_refuse_spawn(struct op *op, enum spawn_stage stage, int error)
{
	const char *name = op->open.argv != NULL && op->open.argv[0] != NULL ?
	    op->open.argv[0] : "shell";

	if (stage == SPAWN_CWD)
		op_refuse(op, R_ERROR, "%s: %s", op->open.cwd,
		    strerror(error));
	else if (stage != SPAWN_EXEC)
		op_refuse(op, R_ERROR, "%s: cannot be started: %s", name,
		    strerror(error));
	else if (error != ENOENT)
		op_refuse(op, R_NO_EXEC, "%s: %s", name, strerror(error));
	else
		op_refuse(op, R_NO_COMMAND, "%s: %s", name,
		    strchr(name, '/') != NULL ? strerror(error) :
		    "command not found");
}

void
op_started_forget(struct op *op)
{
	strv_free(op->open.argv);
	strv_free(op->open.env);
	op->open.argv = op->open.env = NULL;
}

char **
op_env(const struct op *op, bool snapshot, bool tty)
{
	const struct agent *a = op->agent;
	char **env = NULL, **e;

	if (snapshot)
		env = envprobe_env(a, op->open.probe);
	if (env == NULL)
		env = agent_env(a);
	if (tty) {
		env_set(&env, "TERM", "xterm-256color");
		env_set(&env, "COLORTERM", "truecolor");
	}
	for (e = op->open.env; e != NULL && *e != NULL; e++)
		env_put(&env, *e);
	return env;
}

/* ---- frames ---- */

/* Nothing of it is known here, or ever will be. */
static void
op_refuse_open(struct peer *p, uint32_t channel, enum refusal code,
    const char *text)
{
	struct buf b;

	buf_init(&b, 1024);
	buf_u16(&b, (uint16_t)code);
	buf_str(&b, text);
	peer_send(p, CONN_CONTROL, F_REFUSED, channel, &b);
	buf_free(&b);
}

static void
op_resume(struct op *op, struct peer *p, uint32_t channel,
    const struct msg_open *m)
{
	op_bind(op, p, channel);
	if (op->state == OP_OVER && op->refusal != R_NONE) {
		op_send_refused(op);
		op_free(op);
		return;
	}
	if (op->kind->resume != NULL && !op->kind->resume(op, m))
		return;
	if (op->state == OP_WAITING)
		return;		/* STARTED comes when it has */
	op_send_started(op, true);
	if (op->kind->rebound != NULL)
		op->kind->rebound(op);
	op_ready(op);
}

bool
op_open(struct agent *a, struct peer *p, uint32_t channel,
    const uint8_t *data, size_t len)
{
	static const struct op_class *const kinds[] = {
		[OP_EXEC] = &exec_kind, [OP_NEW] = &new_kind,
		[OP_INPUT] = &input_kind
	};
	struct msg_open m;
	struct op *op;

	if (msg_open_get(&m, data, len) == -1)
		return false;
	if (m.kind < OP_EXEC || m.kind > OP_INPUT ||
	    m.probe > PROBE_INTERACTIVE) {
		msg_open_free(&m);
		return false;
	}
	op = op_find(a, m.op);
	if (memcmp(m.agent, a->id, MSG_ID) != 0)
		op_refuse_open(p, channel, R_OTHER_AGENT,
		    "the workspace was recreated");
	else if (op != NULL && op->open.kind != m.kind)
		op_refuse_open(p, channel, R_ERROR,
		    "this operation id belongs to another kind");
	else if (op != NULL && !op->doomed)
		op_resume(op, p, channel, &m);
	else if (op != NULL || (m.flags & OPEN_RESUME) || op_buried(a, m.op))
		op_refuse_open(p, channel, R_UNKNOWN_OP,
		    "the operation is no longer known: its result is unknown");
	else if (m.env != NULL && strv_len(m.env) > OPEN_ENV_MAX)
		op_refuse_open(p, channel, R_LIMIT,
		    "too many environment variables");
	else if (a->nops >= OPS_MAX)
		op_refuse_open(p, channel, R_LIMIT,
		    "too many operations at once in this workspace");
	else {
		op = op_new(a, &m, kinds[m.kind]);
		op_bind(op, p, channel);
		op->kind->start(op);
		return true;	/* m is the op's */
	}
	msg_open_free(&m);
	return true;
}

static void
op_cancel(struct op *op)
{
	op_unbind(op);
	op->doomed = true;
	if (op->state == OP_RUNNING && op->kind->cancel != NULL)
		op->kind->cancel(op);	/* frees it, now or later */
	else if (op->state != OP_WAITING || !op->kind->outlives)
		op_free(op);
}

/* The client broke a rule. The link carries many clients: only this one's
 * operation ends. */
static void
op_fault(struct op *op, const char *why)
{
	log_warn("operation ended: %s", why);
	if (op->peer != NULL)
		op_refuse_open(op->peer, op->channel, R_ERROR, why);
	op_cancel(op);
}

bool
op_message(struct op *op, uint8_t type, const uint8_t *data, size_t len)
{
	const struct op_class *k = op->kind;
	const char *why = NULL;
	const uint8_t *bytes;
	uint64_t offset, max;
	uint16_t rows, cols;
	uint8_t stream;
	struct rd r;
	size_t n;
	char *s;
	int sig;

	rd_init(&r, data, len);
	switch (type) {
	case F_DATA:
		stream = rd_u8(&r);
		offset = rd_u64(&r);
		bytes = rd_rest(&r, &n);
		if (!rd_end(&r))
			return false;
		if (stream != 0 || k->data == NULL)
			why = "bytes for a stream that takes none";
		else if (op->state != OP_OVER)
			why = k->data(op, offset, bytes, n);
		break;
	case F_END:
		stream = rd_u8(&r);
		offset = rd_u64(&r);
		if (!rd_end(&r))
			return false;
		if ((stream == 1 || stream == 2) && k->shut != NULL)
			k->shut(op, stream);
		else if (stream != 0 || k->end == NULL)
			why = "an end of a stream that takes no bytes";
		else if (op->state != OP_OVER)
			why = k->end(op, offset);
		break;
	case F_CREDIT:
		stream = rd_u8(&r);
		offset = rd_u64(&r);
		max = rd_u64(&r);
		if (!rd_end(&r))
			return false;
		if (k->credit == NULL)
			why = "credit for an operation without output";
		else
			why = k->credit(op, stream, offset, max);
		break;
	case F_SIGNAL:
		if ((s = rd_str(&r, 32)) == NULL || !rd_end(&r)) {
			free(s);
			return false;
		}
		if ((sig = signal_number(s)) > 0 && k->signal != NULL)
			k->signal(op, sig);
		free(s);
		break;
	case F_WINCH:
		rows = rd_u16(&r);
		cols = rd_u16(&r);
		if (!rd_end(&r))
			return false;
		if (k->winch != NULL)
			k->winch(op, rows, cols);
		break;
	case F_CLOSE:
	case F_CANCEL:
		if (!rd_end(&r))
			return false;
		if (type == F_CLOSE && op->state == OP_OVER)
			op_free(op);
		else
			op_cancel(op);
		break;
	default:
		return false;
	}
	if (why != NULL)
		op_fault(op, why);
	return true;
}

/* ---- time ---- */

void
op_env_ready(struct agent *a, enum env_probe mode)
{
	struct op *op, *next;

	TAILQ_FOREACH_SAFE(op, &a->ops, all, next)
		if (op->state == OP_WAITING && op->open.probe == mode &&
		    op->kind->env_ready != NULL)
			op->kind->env_ready(op);
}

void
op_tick(struct agent *a, uint64_t now)
{
	struct op *op, *next;
	uint64_t limit;

	TAILQ_FOREACH_SAFE(op, &a->ops, all, next) {
		if (op->peer != NULL)
			continue;
		if (op->state == OP_OVER) {
			limit = a->nlinked > 0 ? OP_UNCLAIMED_MS :
			    OP_UNCLAIMED_ALONE_MS;
			if (now - op->over_ms >= limit)
				op_free(op);
			continue;
		}
		if (a->nlinked == 0)
			op->orphan_ms = 0;
		else if (op->orphan_ms == 0)
			op->orphan_ms = now;
		else if (!op->doomed && now - op->orphan_ms >= OP_ORPHAN_MS) {
			log_info("operation without a client for %u s: ended",
			    OP_ORPHAN_MS / 1000);
			op_cancel(op);
		}
	}
}
