/* SPDX-License-Identifier: ISC */
/*
 * USE, LINK UP, OPEN, STARTED, and again after every loss; see opchan.h.
 */
#include <stdlib.h>
#include <string.h>

#include "../server/base/hook.h"
#include "../server/base/limits.h"
#include "../server/base/mem.h"
#include "opchan.h"

/* Signals waiting for the agent; more than this is a held key. */
#define OPCHAN_SIGNALS	8

enum opchan_state {
	OP_IDLE,	/* no server, or no link */
	OP_OPENING,	/* OPEN sent on this link; the first: input may go */
	OP_RUNNING,	/* STARTED on this link */
	OP_OVER		/* done() was called */
};

struct stream {
	uint64_t	got;	/* delivered to the owner */
	uint64_t	took;	/* out of the owner's hands */
	uint64_t	max;	/* the credit last told */
	bool		ended, shut, told_shut;
	uint64_t	end;
};

struct opchan {
	struct connect		*connect;
	const struct opchan_cb	*cb;
	void			*arg;
	char			*workspace;
	int			 use_flags;
	struct msg_open		 open;		/* strings are ours */
	uint32_t		 channel;	/* 0: not used on this connection */
	enum opchan_state	 state;
	bool			 waits, patient;
	bool			 been_up;	/* what was wanted, it had */
	bool			 asked;		/* `opening' was called */
	bool			 opened;	/* ever */
	bool			 fresh;		/* ... the first time on this link */
	bool			 started;	/* ever */

	struct buf		 in;		/* [in_base, in_base + len) */
	uint64_t		 in_base, in_sent, in_max;	/* on this link */
	bool			 in_end, in_end_sent;
	struct stream		 out[2];
	bool			 exited;
	struct msg_exit		 exit;

	char			*signals[OPCHAN_SIGNALS];
	int			 nsignals;
	uint16_t		 rows, cols;
	bool			 winch;
};

struct opchan *
opchan_new(struct connect *connect, const struct opchan_setup *setup,
    const struct opchan_cb *cb, void *arg)
{
	static const uint8_t zero[MSG_ID];
	struct opchan *o = xcalloc(1, sizeof *o);
	const struct msg_open *m = &setup->open;

	o->connect = connect;
	o->cb = cb;
	o->arg = arg;
	o->workspace = xstrdup(setup->workspace);
	o->use_flags = setup->use_flags;
	o->waits = setup->waits;
	o->patient = setup->patient;
	o->open = *m;
	o->open.flags = 0;
	o->open.shell = xstrdup(m->shell != NULL ? m->shell : "");
	o->open.cwd = xstrdup(m->cwd != NULL ? m->cwd : "");
	o->open.env = strv_copy(m->env);
	o->open.argv = strv_copy(m->argv);
	if (memcmp(o->open.op, zero, MSG_ID) == 0)
		random_bytes(o->open.op, MSG_ID);
	buf_init(&o->in, setup->input_max);
	return o;
}

void
opchan_free(struct opchan *o)
{
	int i;

	if (o == NULL)
		return;
	free(o->workspace);
	free(o->open.shell);
	free(o->open.cwd);
	strv_free(o->open.env);
	strv_free(o->open.argv);
	buf_free(&o->in);
	if (o->exited)
		msg_exit_free(&o->exit);
	for (i = 0; i < o->nsignals; i++)
		free(o->signals[i]);
	free(o);
}

static void
opchan_done(struct opchan *o, enum opchan_how how, uint16_t refusal,
    const char *text)
{
	struct opchan_result r;

	if (o->state == OP_OVER)
		return;
	o->state = OP_OVER;
	r.how = how;
	r.refusal = refusal;
	r.text = text;
	r.exit = o->exited ? &o->exit : NULL;
	o->cb->done(o, &r, o->arg);
}

static void
opchan_send(struct opchan *o, enum conn_class class, uint8_t type,
    struct buf *b)
{
	connect_send(o->connect, class, type, o->channel, b);
}

/* Input is keys if it goes to a shell, a stream if to a command. */
static enum conn_class
opchan_class(const struct opchan *o)
{
	return o->open.kind == OP_INPUT ? CONN_KEYS : CONN_STREAM;
}

bool
opchan_takes_input(const struct opchan *o)
{
	return o->state == OP_RUNNING || (o->state == OP_OPENING && o->fresh);
}

/* Sends what input the agent's credit allows. */
static void
opchan_push(struct opchan *o)
{
	struct buf b;
	uint64_t end = o->in_base + o->in.len;
	size_t n;

	if (!opchan_takes_input(o))
		return;
	buf_init(&b, SLICE_MAX + 64);
	while (o->in_sent < end && o->in_sent < o->in_max) {
		n = (size_t)(end - o->in_sent);
		if (n > o->in_max - o->in_sent)
			n = (size_t)(o->in_max - o->in_sent);
		if (n > SLICE_MAX)
			n = SLICE_MAX;
		buf_u8(&b, 0);
		buf_u64(&b, o->in_sent);
		buf_put(&b, o->in.data + (o->in_sent - o->in_base), n);
		opchan_send(o, opchan_class(o), F_DATA, &b);
		o->in_sent += n;
	}
	if (o->in_end && !o->in_end_sent && o->in_sent == end) {
		buf_u8(&b, 0);
		buf_u64(&b, end);
		opchan_send(o, opchan_class(o), F_END, &b);
		o->in_end_sent = true;
	}
	buf_free(&b);
}

/* The agent has this much: it need not be kept. */
static void
opchan_taken(struct opchan *o, uint64_t taken)
{
	if (taken <= o->in_base)
		return;
	if (taken > o->in_base + o->in.len)
		taken = o->in_base + o->in.len;
	buf_drain(&o->in, (size_t)(taken - o->in_base));
	o->in_base = taken;
	if (o->in_sent < taken)
		o->in_sent = taken;
	if (o->cb->room != NULL)
		o->cb->room(o, o->arg);
}

static void
opchan_credit(struct opchan *o, int stream, bool always)
{
	struct stream *s = &o->out[stream - 1];
	uint64_t max = s->took + OP_WINDOW;
	struct buf b;

	/* In lumps: a frame for every few KiB would cost more than it tells. */
	if (!always && max - s->max < OP_WINDOW / 4)
		return;
	s->max = max;
	if (o->state != OP_RUNNING)
		return;
	buf_init(&b, 64);
	buf_u8(&b, (uint8_t)stream);
	buf_u64(&b, s->took);
	buf_u64(&b, s->max);
	opchan_send(o, CONN_CONTROL, F_CREDIT, &b);
	buf_free(&b);
}

static void
opchan_open(struct opchan *o, const struct msg_link *l)
{
	struct buf b;
	int i;

	if (o->opened && memcmp(o->open.agent, l->agent, MSG_ID) != 0) {
		opchan_done(o, OPCHAN_UNKNOWN, R_OTHER_AGENT,
		    "the workspace was started anew meanwhile");
		return;
	}
	memcpy(o->open.agent, l->agent, MSG_ID);
	o->open.probe = l->probe;
	if (!o->asked && o->cb->opening != NULL) {
		o->asked = true;
		if (!o->cb->opening(o, l, &o->open, o->arg))
			return;
	}
	for (i = 0; i < 2; i++) {
		o->out[i].max = o->out[i].took + OP_WINDOW;
		o->open.have[i] = o->out[i].got;
		o->open.max[i] = o->out[i].max;
	}
	o->open.flags = o->started ? OPEN_RESUME : 0;
	buf_init(&b, OPEN_MAX_BYTES);
	msg_open_put(&b, &o->open);
	if (!buf_ok(&b)) {
		buf_free(&b);
		opchan_done(o, OPCHAN_REFUSED, R_LIMIT,
		    "the command and its environment are too long");
		return;
	}
	HOOK("client-open");
	/* In the class of the input: what is still queued of it was meant for
	 * the last link, and must not come behind this. */
	opchan_send(o, opchan_class(o), F_OPEN, &b);
	buf_free(&b);
	/* Nobody can have taken anything of one that is opened the first time:
	 * its input goes right behind. What was sent on another link is sent
	 * again from where the agent says. */
	o->in_sent = o->in_base;
	o->in_max = o->opened ? 0 :
	    o->open.kind == OP_INPUT ? INPUT_WINDOW : OP_WINDOW;
	o->in_end_sent = false;
	o->fresh = !o->opened;
	o->opened = true;
	o->state = OP_OPENING;
	opchan_push(o);
	if (o->fresh && o->cb->room != NULL)
		o->cb->room(o, o->arg);
}

static void
opchan_link(struct opchan *o, const uint8_t *p, size_t n)
{
	struct msg_link l;

	if (msg_link_get(&l, p, n) == -1)
		return;
	o->been_up |= l.state == LINK_UP;
	if (o->cb->link != NULL)
		o->cb->link(o, &l, o->arg);
	if (o->state == OP_OVER)
		goto out;
	switch (l.state) {
	case LINK_UP:
		opchan_open(o, &l);
		break;
	case LINK_FAILED:
		o->state = OP_IDLE;
		if (o->patient || (o->waits && l.retry == 2))
			break;
		if (!o->opened)
			opchan_done(o, OPCHAN_REFUSED, R_UNREACHABLE, l.text);
		else if (!l.retry)
			opchan_done(o, OPCHAN_UNKNOWN, R_UNREACHABLE, l.text);
		break;
	default:
		o->state = OP_IDLE;
	}
out:
	msg_link_free(&l);
}

static void
opchan_flush_signals(struct opchan *o)
{
	struct buf b;
	int i;

	if (o->state != OP_RUNNING)
		return;
	buf_init(&b, 256);
	for (i = 0; i < o->nsignals; i++) {
		buf_str(&b, o->signals[i]);
		opchan_send(o, CONN_CONTROL, F_SIGNAL, &b);
		free(o->signals[i]);
	}
	o->nsignals = 0;
	if (o->winch) {
		buf_u16(&b, o->rows);
		buf_u16(&b, o->cols);
		opchan_send(o, CONN_CONTROL, F_WINCH, &b);
		o->winch = false;
	}
	buf_free(&b);
}

static void
opchan_tell_shut(struct opchan *o)
{
	struct buf b;
	int i;

	if (o->state != OP_RUNNING)
		return;
	buf_init(&b, 64);
	for (i = 0; i < 2; i++) {
		if (!o->out[i].shut || o->out[i].told_shut || o->out[i].ended)
			continue;
		o->out[i].told_shut = true;
		buf_u8(&b, (uint8_t)(i + 1));
		buf_u64(&b, o->out[i].got);
		opchan_send(o, CONN_CONTROL, F_END, &b);
	}
	buf_free(&b);
}

static void
opchan_started(struct opchan *o, const uint8_t *p, size_t n)
{
	struct msg_started s;

	if (o->state != OP_OPENING || msg_started_get(&s, p, n) == -1)
		return;
	o->state = OP_RUNNING;
	o->out[0].told_shut = o->out[1].told_shut = false;
	if (s.in_next < o->in_base || s.in_next > o->in_base + o->in.len) {
		/* It wants what it once took, or what was never sent. */
		msg_started_free(&s);
		opchan_done(o, OPCHAN_UNKNOWN, R_ERROR,
		    "the agent lost count of the input");
		return;
	}
	/* What was sent behind OPEN may still be on its way there. */
	if (s.in_next > o->in_sent)
		o->in_sent = s.in_next;
	if (s.in_max > o->in_max)
		o->in_max = s.in_max;
	if (!o->started) {
		o->started = true;
		o->cb->started(o, &s, o->arg);
	}
	msg_started_free(&s);
	if (o->state == OP_OVER)
		return;
	opchan_flush_signals(o);
	opchan_tell_shut(o);
	opchan_push(o);
	if (o->open.kind == OP_INPUT && o->in_end && o->in.len == 0) {
		/* There was nothing to type, and so there is no CREDIT. */
		opchan_done(o, OPCHAN_TAKEN, R_NONE, "");
		return;
	}
	if (o->cb->room != NULL)
		o->cb->room(o, o->arg);
}

static void
opchan_refused(struct opchan *o, const uint8_t *p, size_t n)
{
	struct rd r;
	uint16_t code;
	char *text;

	rd_init(&r, p, n);
	code = rd_u16(&r);
	text = rd_str(&r, 65536);
	if (text == NULL)
		return;
	if (code == R_UNREACHABLE && o->opened) {
		/* The link went while OPEN was on its way; LINK tells how it
		 * goes on. */
		o->state = OP_IDLE;
	} else if (code == R_UNKNOWN_OP || (o->started && code != R_LOST))
		opchan_done(o, OPCHAN_UNKNOWN, code, text);
	else
		opchan_done(o, OPCHAN_REFUSED, code, text);
	free(text);
}

static void
opchan_data(struct opchan *o, const uint8_t *p, size_t n)
{
	struct rd r;
	struct stream *s;
	uint64_t offset;
	const uint8_t *d;
	size_t len, skip;
	int stream;

	rd_init(&r, p, n);
	stream = rd_u8(&r);
	offset = rd_u64(&r);
	d = rd_rest(&r, &len);
	if (r.failed || stream < 1 || stream > 2)
		return;
	s = &o->out[stream - 1];
	if (offset > s->got) {
		opchan_done(o, OPCHAN_UNKNOWN, R_ERROR,
		    "a part of the output is missing");
		return;
	}
	if (offset + len <= s->got)
		return;
	skip = (size_t)(s->got - offset);
	s->got += len - skip;
	if (s->shut)
		opchan_took(o, stream, len - skip);
	else
		o->cb->output(o, stream, d + skip, len - skip, o->arg);
}

static void
opchan_end(struct opchan *o, const uint8_t *p, size_t n)
{
	struct rd r;
	int stream;
	uint64_t at;

	rd_init(&r, p, n);
	stream = rd_u8(&r);
	at = rd_u64(&r);
	if (!rd_end(&r) || stream < 1 || stream > 2 ||
	    o->out[stream - 1].ended || at != o->out[stream - 1].got)
		return;
	o->out[stream - 1].ended = true;
	if (o->cb->output_end != NULL)
		o->cb->output_end(o, stream, o->arg);
}

static void
opchan_exit(struct opchan *o, const uint8_t *p, size_t n)
{
	if (o->exited || msg_exit_get(&o->exit, p, n) == -1)
		return;
	o->exited = true;
	if (o->exit.end[0] > o->out[0].got || o->exit.end[1] > o->out[1].got)
		opchan_done(o, OPCHAN_UNKNOWN, R_ERROR,
		    "the end of the output is missing");
	else
		opchan_done(o, OPCHAN_EXITED, R_NONE, "");
}

static void
opchan_take_credit(struct opchan *o, const uint8_t *p, size_t n)
{
	struct rd r;
	uint64_t taken, max;
	int stream;

	rd_init(&r, p, n);
	stream = rd_u8(&r);
	taken = rd_u64(&r);
	max = rd_u64(&r);
	if (!rd_end(&r) || stream != 0)
		return;
	if (max > o->in_max)
		o->in_max = max;
	opchan_taken(o, taken);
	opchan_push(o);
	if (o->open.kind == OP_INPUT && o->in_end && o->in.len == 0)
		opchan_done(o, OPCHAN_TAKEN, R_NONE, "");
}

bool
opchan_message(struct opchan *o, uint8_t type, uint32_t channel,
    const uint8_t *p, size_t n)
{
	if (o->channel == 0 || channel != o->channel)
		return false;
	if (o->state == OP_OVER)
		return true;
	switch (type) {
	case F_LINK:
		opchan_link(o, p, n);
		break;
	case F_STARTED:
		opchan_started(o, p, n);
		break;
	case F_REFUSED:
		opchan_refused(o, p, n);
		break;
	case F_DATA:
		opchan_data(o, p, n);
		break;
	case F_END:
		opchan_end(o, p, n);
		break;
	case F_EXIT:
		opchan_exit(o, p, n);
		break;
	case F_CREDIT:
		opchan_take_credit(o, p, n);
		break;
	case F_DONE: {
		/* The USE itself was refused. */
		struct msg_done d;

		if (msg_done_get(&d, p, n) == -1)
			break;
		opchan_done(o, o->opened ? OPCHAN_UNKNOWN : OPCHAN_REFUSED,
		    d.code, d.text);
		msg_done_free(&d);
		break;
	}
	default:
		if (o->cb->other != NULL)
			o->cb->other(o, type, p, n, o->arg);
	}
	return true;
}

void
opchan_up(struct opchan *o)
{
	if (o->state == OP_OVER)
		return;
	o->channel = connect_channel(o->connect);
	o->state = OP_IDLE;
	connect_use(o->connect, o->channel, o->workspace, o->use_flags);
}

void
opchan_down(struct opchan *o)
{
	o->channel = 0;
	if (o->state != OP_OVER)
		o->state = OP_IDLE;
	o->use_flags &= ~USE_REFRESH;
	if (o->been_up)
		o->use_flags |= USE_AGAIN;
}

size_t
opchan_room(const struct opchan *o)
{
	if (o->in_end || o->in.len >= o->in.max)
		return 0;
	return o->in.max - o->in.len;
}

void
opchan_input(struct opchan *o, const void *p, size_t n)
{
	if (o->in_end)
		return;
	buf_put(&o->in, p, n);
	opchan_push(o);
}

void
opchan_input_end(struct opchan *o)
{
	if (o->in_end)
		return;
	o->in_end = true;
	opchan_push(o);
	if (o->open.kind == OP_INPUT && o->started && o->in.len == 0)
		opchan_done(o, OPCHAN_TAKEN, R_NONE, "");
}

size_t
opchan_kept(const struct opchan *o)
{
	return o->in.len;
}

void
opchan_took(struct opchan *o, int stream, size_t n)
{
	o->out[stream - 1].took += n;
	opchan_credit(o, stream, false);
}

void
opchan_shut(struct opchan *o, int stream)
{
	struct stream *s = &o->out[stream - 1];

	if (s->shut)
		return;
	s->shut = true;
	if (s->took < s->got) {
		s->took = s->got;
		opchan_credit(o, stream, true);
	}
	opchan_tell_shut(o);
}

void
opchan_signal(struct opchan *o, const char *name)
{
	if (o->nsignals < OPCHAN_SIGNALS)
		o->signals[o->nsignals++] = xstrdup(name);
	opchan_flush_signals(o);
}

void
opchan_winch(struct opchan *o, int rows, int cols)
{
	o->open.rows = o->rows = (uint16_t)rows;
	o->open.cols = o->cols = (uint16_t)cols;
	o->winch = true;
	opchan_flush_signals(o);
}

const uint8_t *
opchan_id(const struct opchan *o)
{
	return o->open.op;
}

const uint8_t *
opchan_agent(const struct opchan *o)
{
	return o->opened ? o->open.agent : NULL;
}

bool
opchan_opened(const struct opchan *o)
{
	return o->opened;
}

void
opchan_close(struct opchan *o)
{
	struct buf b;

	if (o->channel == 0 || !o->started)
		return;
	buf_init(&b, 16);
	opchan_send(o, opchan_class(o), F_CLOSE, &b);
	buf_free(&b);
}
