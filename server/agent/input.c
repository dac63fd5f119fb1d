/* SPDX-License-Identifier: ISC */
/*
 * INPUT: each byte reaches the pty once and in order, however often its
 * client comes back. `taken` is what the pty took. Several clients' bytes are
 * not mixed below what one of them sent at once.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../base/clock.h"
#include "../base/hook.h"
#include "../base/limits.h"
#include "../base/mem.h"
#include "fifo.h"
#include "input.h"
#include "op.h"
#include "shell.h"
#include "tty.h"
#include "watch.h"

/* One write: what a pty takes at once. */
#define INPUT_WRITE_MAX 4096u

struct input {
	TAILQ_ENTRY(input) entry;	/* in the shell's queue, if queued */
	struct op	*op;
	struct shell	*shell;		/* NULL: it ended */
	struct fifo	 q;		/* [taken, received) */
	uint64_t	 told;
	bool		 queued, ended, marked;
};

static void
input_unqueue(struct input *in)
{
	if (!in->queued)
		return;
	if (in == TAILQ_FIRST(&in->shell->inputs))
		in->shell->partial = false;
	TAILQ_REMOVE(&in->shell->inputs, in, entry);
	in->queued = false;
}

static void
input_credit(struct input *in)
{
	if (in->q.base == in->told ||
	    (in->q.len != 0 && in->q.base - in->told < INPUT_WINDOW / 4))
		return;
	in->told = in->q.base;
	op_credit(in->op, in->q.base, in->q.base + INPUT_WINDOW);
}

static bool
input_held(const struct input *in)
{
	const struct shell *sh = in->shell;

	return !in->marked && (in->op->open.how & INPUT_HOLD) &&
	    sh->ring.end == 0 && clock_ms() - sh->born_ms < HOLD_MS;
}

static void
input_hold(struct shell *sh)
{
	uint64_t ms = HOLD_MS - (clock_ms() - sh->born_ms);
	struct timeval tv;

	if (ms > HOLD_MS)
		ms = 1;
	tv.tv_sec = (time_t)(ms / 1000);
	tv.tv_usec = (suseconds_t)(ms % 1000 * 1000);
	event_add(sh->hold, &tv);
}

bool
input_write(struct shell *sh)
{
	struct input *in = TAILQ_FIRST(&sh->inputs);
	const uint8_t *p;
	ssize_t w;
	size_t n, fits, line;

	if (in == NULL)
		return false;
	if (input_held(in)) {
		input_hold(sh);
		return false;
	}
	if (!in->marked) {
		/* What is in the pty now was there before the bytes. */
		shell_drain(sh);
		if (sh->state != SHELL_RUNNING)
			return false;
		ring_mark(&sh->ring, in->op->open.op);
		in->marked = true;
		watch_kick(sh);
		HOOK("agent-mark");
	}
	n = fifo_at(&in->q, in->q.base, &p);
	if (n > INPUT_WRITE_MAX)
		n = INPUT_WRITE_MAX;
	line = sh->line;
	fits = tty_fits(sh->master, p, n, &line);
	/* Who sends a text is told; for who types, the terminal beeps. */
	if ((in->op->open.how & INPUT_HOLD) && fits == 0 && n > 0) {
		op_refuse(in->op, R_ERROR, "the terminal takes lines of at "
		    "most %d bytes now, the rest was not typed", TTY_LINE_MAX);
		return true;
	}
	do
		w = write(sh->master, p, in->op->open.how & INPUT_HOLD ?
		    fits : n);
	while (w == -1 && errno == EINTR);
	if (w <= 0) {
		event_add(sh->writable, NULL);
		return false;
	}
	if ((size_t)w != n) {
		line = sh->line;
		(void)tty_fits(sh->master, p, (size_t)w, &line);
	}
	sh->line = line;
	fifo_drop(&in->q, in->q.base + (size_t)w);
	sh->partial = in->q.len != 0;
	input_credit(in);
	if (in->q.len == 0) {
		input_unqueue(in);
		if (in->op->doomed)
			op_free(in->op);
	}
	return true;
}

static const char *
input_data(struct op *op, uint64_t offset, const uint8_t *p, size_t n)
{
	struct input *in = op->input;
	uint64_t next = fifo_end(&in->q);

	if (offset > next)
		return "a gap in the input";
	if (next - offset >= n)
		return NULL;
	p += next - offset;
	n -= (size_t)(next - offset);
	if (in->ended)
		return "input after its end";
	if (!fifo_put(&in->q, p, n))
		return n > fifo_space(&in->q) ?
		    "more input than there was credit for" : "out of memory";
	if (!in->queued) {
		in->queued = true;
		TAILQ_INSERT_TAIL(&in->shell->inputs, in, entry);
	}
	shell_write(in->shell);
	return NULL;
}

static const char *
input_end(struct op *op, uint64_t offset)
{
	struct input *in = op->input;

	if (offset != fifo_end(&in->q))
		return "the end of the input is not where it ends";
	in->ended = true;
	return NULL;
}

static void
input_start(struct op *op)
{
	struct agent *a = op->agent;
	struct shell *sh;
	struct input *in;

	if (op->open.uid != 0)
		sh = shell_by_uid(a, op->open.uid);
	else
		sh = shell_by_name(a, op->open.shell);
	if (sh == NULL || sh->state == SHELL_STARTING) {
		op_refuse(op, R_NO_SHELL, "no such shell");
		return;
	}
	if (sh->state == SHELL_ENDED) {
		op_refuse(op, R_ENDED, "the shell has ended");
		return;
	}
	in = op->input = xcalloc(1, sizeof *in);
	in->op = op;
	in->shell = sh;
	fifo_init(&in->q, INPUT_WINDOW);
	op->shell_id = sh->id;
	op->shell_uid = sh->uid;
	op->shell_name = xstrdup(sh->name);
	op->pid = sh->pid;
	op_started(op);
}

static void
input_fill_started(struct op *op, struct msg_started *m)
{
	struct input *in = op->input;

	m->in_next = fifo_end(&in->q);
	m->in_max = in->q.base + INPUT_WINDOW;
	in->told = in->q.base;
}

static void
input_rebound(struct op *op)
{
	struct input *in = op->input;

	if (in->q.base > 0)
		op_credit(op, in->q.base, in->q.base + INPUT_WINDOW);
}

/* Its client is gone; what it typed is not. */
static void
input_cancel(struct op *op)
{
	if (op->input->q.len == 0)
		op_free(op);
}

static void
input_free(struct op *op)
{
	struct input *in = op->input;

	if (in == NULL)
		return;
	input_unqueue(in);
	fifo_clear(&in->q);
	free(in);
	op->input = NULL;
}

void
input_shell_ended(struct agent *a, uint64_t uid)
{
	struct op *op, *next;
	struct input *in;

	TAILQ_FOREACH_SAFE(op, &a->ops, all, next) {
		if ((in = op->input) == NULL || op->shell_uid != uid)
			continue;
		/* A complete one was taken to its last byte. */
		if (in->ended && in->q.len == 0) {
			in->shell = NULL;
			continue;
		}
		op_refuse(op, R_ENDED, "the shell has ended");
	}
}

const struct op_class input_kind = {
	.start = input_start,
	.started = input_fill_started,
	.rebound = input_rebound,
	.data = input_data,
	.end = input_end,
	.cancel = input_cancel,
	.free = input_free,
};
