/* SPDX-License-Identifier: ISC */
/* Shells; contract in shell.h. */
#include <signal.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../base/clock.h"
#include "../base/fd.h"
#include "../base/hook.h"
#include "../base/limits.h"
#include "../base/log.h"
#include "../base/mem.h"
#include "bulk.h"
#include "input.h"
#include "keeper.h"
#include "peer.h"
#include "shell.h"
#include "tty.h"
#include "watch.h"

#define CHECKPOINT_LIGHT	1	/* as the wire has it */
#define CHECKPOINT_FULL		2

struct shell *
shell_by_id(struct agent *a, uint32_t id)
{
	struct shell *sh;

	TAILQ_FOREACH(sh, &a->shells, entry)
		if (sh->id == id)
			return sh;
	return NULL;
}

struct shell *
shell_by_uid(struct agent *a, uint64_t uid)
{
	struct shell *sh;

	TAILQ_FOREACH(sh, &a->shells, entry)
		if (sh->uid == uid)
			return sh;
	return NULL;
}

struct shell *
shell_by_name(struct agent *a, const char *name)
{
	struct shell *sh;

	TAILQ_FOREACH(sh, &a->shells, entry)
		if (strcmp(sh->name, name) == 0)
			return sh;
	return NULL;
}

uint32_t
shell_jobs(struct agent *a)
{
	struct shell *sh;
	uint32_t n = 0;
	pid_t group;

	TAILQ_FOREACH(sh, &a->shells, entry) {
		if (sh->state == SHELL_ENDED)
			continue;
		group = sh->master != -1 ? tcgetpgrp(sh->master) : -1;
		if (sh->command_given || (group > 1 && group != sh->pid))
			n++;
	}
	return n;
}

/* ---- memory ---- */

static void
checkpoint_clear(struct agent *a, struct checkpoint *c)
{
	a->memory -= c->len;
	bulk_free(c->data, c->len);
	memset(c, 0, sizeof *c);
}

uint64_t
shell_safe(const struct shell *sh)
{
	uint64_t low = watch_low(sh);

	if (sh->full.data == NULL)
		return 0;
	return low < sh->full.offset ? low : sh->full.offset;
}

/* Over the budget: first what is safe elsewhere, then the oldest output of
 * whoever has most, then the largest history. */
static void
shell_make_room(struct agent *a)
{
	struct shell *sh, *big, *history;
	bool safe;

	while (a->memory > RING_BUDGET) {
		safe = false;
		big = history = NULL;
		TAILQ_FOREACH(sh, &a->shells, entry) {
			if (sh->ring.held > RING_CHUNK_MAX &&
			    ring_first_end(&sh->ring) <= shell_safe(sh)) {
				safe = ring_drop_first(&sh->ring);
				break;
			}
			if (sh->ring.held > RING_CHUNK_MAX &&
			    (big == NULL || sh->ring.held > big->ring.held))
				big = sh;
			if (history == NULL ||
			    sh->full.len > history->full.len)
				history = sh;
		}
		if (safe)
			continue;
		if (big != NULL)
			ring_drop_first(&big->ring);
		else if (history != NULL && history->full.len > 0) {
			checkpoint_clear(a, &history->full);
			checkpoint_clear(a, &history->twin);
		} else
			break;
	}
}

static void
shell_output(struct shell *sh, const void *data, size_t n)
{
	ring_append(&sh->ring, data, n);
	while (sh->ring.held > RING_MAX)
		ring_drop_first(&sh->ring);
	shell_make_room(sh->agent);
	sh->output_ms = clock_wall_ms();
	keeper_output(sh);
}

const struct checkpoint *
shell_checkpoint(const struct shell *sh, bool want_light, uint8_t *kind)
{
	const struct checkpoint *full = NULL, *light = NULL;

	if (sh->full.data != NULL && sh->full.offset >= sh->ring.start)
		full = &sh->full;
	if (sh->light.data != NULL && sh->light.offset >= sh->ring.start)
		light = &sh->light;
	/* From the birth on is better than a screen without its history. */
	if (full == NULL && light != NULL && sh->ring.start == 0 &&
	    light->offset <= LIGHT_SAVES)
		light = NULL;
	if (full != NULL && (light == NULL || light->offset < full->offset ||
	    light->offset - full->offset <= LIGHT_SAVES)) {
		if (want_light && sh->twin.data != NULL &&
		    sh->ring.end - full->offset <= TWIN_REPLAY_MAX) {
			*kind = CHECKPOINT_LIGHT;
			return &sh->twin;
		}
		*kind = CHECKPOINT_FULL;
		return full;
	}
	*kind = CHECKPOINT_LIGHT;
	return light;
}

static const char *
shell_keep_checkpoint(struct shell *sh, struct rd *r)
{
	struct checkpoint c, *slot;
	const uint8_t *p;
	uint8_t kind;

	memset(&c, 0, sizeof c);
	c.offset = rd_u64(r);
	kind = rd_u8(r);
	c.rows = rd_u16(r);
	c.cols = rd_u16(r);
	p = rd_rest(r, &c.len);
	if (!rd_end(r) || (kind != CHECKPOINT_LIGHT &&
	    kind != CHECKPOINT_FULL) || c.offset > sh->ring.end ||
	    c.len == 0)
		return "a CHECKPOINT that is none";
	HOOK("agent-checkpoint");
	slot = kind == CHECKPOINT_FULL ? &sh->full : &sh->light;
	if ((slot->data != NULL && c.offset < slot->offset) ||
	    c.offset < sh->ring.start ||
	    (kind == CHECKPOINT_LIGHT && sh->full.data != NULL &&
	    c.offset <= sh->full.offset))
		return NULL;	/* there is a better one, or it is too late */
	if ((c.data = bulk_alloc(c.len)) == NULL)
		return NULL;
	memcpy(c.data, p, c.len);
	checkpoint_clear(sh->agent, slot);
	*slot = c;
	sh->agent->memory += c.len;
	log_debug("shell %u: checkpoint %s at %llu of %llu, %zu bytes", sh->id,
	    kind == CHECKPOINT_FULL ? "full" : "light",
	    (unsigned long long)c.offset, (unsigned long long)sh->ring.end,
	    c.len);
	if (kind == CHECKPOINT_FULL) {
		checkpoint_clear(sh->agent, &sh->twin);
		if (sh->light.data != NULL && sh->light.offset == c.offset) {
			sh->twin = sh->light;
			memset(&sh->light, 0, sizeof sh->light);
		} else if (sh->light.offset < c.offset)
			checkpoint_clear(sh->agent, &sh->light);
	}
	shell_make_room(sh->agent);
	return NULL;
}

/* What a light checkpoint's twin knows besides; nothing, if it has gone. */
static void
shell_history(const struct shell *sh, struct peer *p, uint64_t offset)
{
	struct buf b;

	buf_init(&b, sh->full.len + 64);
	buf_u64(&b, offset);
	if (sh->full.data != NULL && sh->full.offset == offset)
		buf_put(&b, sh->full.data, sh->full.len);
	peer_send(p, CONN_BULK, F_HISTORY, sh->id, &b);
	buf_free(&b);
}

/* ---- output ---- */

static void
shell_lag(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	shell_update(arg);
}

void
shell_update(struct shell *sh)
{
	uint64_t now, ms = 0;
	struct timeval tv;
	bool want;

	if (sh->state != SHELL_RUNNING || sh->readable == NULL)
		return;
	now = clock_ms();
	want = watch_want(sh, now, &ms);
	if (want && sh->gated_ms != 0) {
		sh->gated_ms = 0;
		event_del(sh->lag);
	} else if (!want) {
		if (sh->gated_ms == 0)
			sh->gated_ms = now;
		tv.tv_sec = (time_t)(ms / 1000);
		tv.tv_usec = (suseconds_t)(ms % 1000 * 1000);
		event_add(sh->lag, &tv);
	}
	if (want != sh->reading) {
		sh->reading = want;
		if (want)
			event_add(sh->readable, NULL);
		else
			event_del(sh->readable);
	}
}

/* False: nothing there now, or never again. */
static bool
shell_read(struct shell *sh, size_t *got)
{
	static uint8_t chunk[SLICE_MAX];
	bool first = sh->ring.end == 0;
	ssize_t n;

	do
		n = read(sh->master, chunk, sizeof chunk);
	while (n == -1 && errno == EINTR);
	if (n <= 0)
		return false;
	shell_output(sh, chunk, (size_t)n);
	*got += (size_t)n;
	/* Held keys waited for this sign of life. */
	if (first && sh->state == SHELL_RUNNING)
		event_active(sh->hold, EV_TIMEOUT, 0);
	return true;
}

void
shell_drain(struct shell *sh)
{
	size_t got = 0;

	while (got < DRAIN_MAX && shell_read(sh, &got))
		;
	if (got > 0)
		watch_kick(sh);
}

static void
shell_readable(evutil_socket_t fd, short what, void *arg)
{
	struct shell *sh = arg;
	size_t got = 0, last;

	(void)fd;
	(void)what;
	/* A pty hands out a page at a time: in a flood the next is there
	 * already, and one frame takes several. */
	while (got < SLICE_MAX && (last = got, shell_read(sh, &got)) &&
	    got - last >= PTY_FULL)
		;
	if (got > 0)
		watch_kick(sh);
	shell_update(sh);
}

/* ---- input ---- */

/* False: the pty is full. */
static bool
shell_write_answers(struct shell *sh)
{
	ssize_t w;

	do
		w = write(sh->master, sh->answers, sh->nanswers);
	while (w == -1 && errno == EINTR);
	if (w <= 0) {
		event_add(sh->writable, NULL);
		return false;
	}
	sh->nanswers -= (size_t)w;
	if (sh->nanswers > 0) {
		memmove(sh->answers, sh->answers + w, sh->nanswers);
		return true;
	}
	free(sh->answers);
	sh->answers = NULL;
	return true;
}

void
shell_write(struct shell *sh)
{
	int i;

	/* A paste must not keep the loop: the rest at its next turn. */
	for (i = 0; i < 16; i++) {
		if (sh->state != SHELL_RUNNING)
			return;
		/* Never in the middle of somebody's key. */
		if (sh->nanswers > 0 && !sh->partial) {
			if (!shell_write_answers(sh))
				return;
		} else if (!input_write(sh))
			return;
	}
	event_add(sh->writable, NULL);
}

static void
shell_writable(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	shell_write(arg);
}

static void
shell_answer(struct shell *sh, uint64_t offset, const uint8_t *p, size_t n)
{
	uint8_t *q;

	/* Also from another server, or one that reads it a second time. */
	if (sh->state != SHELL_RUNNING || offset < sh->answered)
		return;
	sh->answered = offset + 1;
	if (n == 0 || n > ANSWER_MAX || n > ANSWERS_MAX - sh->nanswers ||
	    (q = realloc(sh->answers, sh->nanswers + n)) == NULL)
		return;
	memcpy(q + sh->nanswers, p, n);
	sh->answers = q;
	sh->nanswers += n;
	shell_write(sh);
}

/* ---- life ---- */

static char *
shell_command(char *const *argv)
{
	struct buf b;
	char *s;
	size_t i;

	buf_init(&b, 4096);
	for (i = 0; argv[i] != NULL && buf_ok(&b); i++)
		buf_printf(&b, "%s%s", i > 0 ? " " : "", argv[i]);
	s = xstrndup(b.data != NULL ? (char *)b.data : "", b.len);
	buf_free(&b);
	return s;
}

void
shell_put(const struct shell *sh, struct buf *b)
{
	struct msg_shell m;

	memset(&m, 0, sizeof m);
	m.uid = sh->uid;
	m.ended = sh->state == SHELL_ENDED;
	m.how = sh->how;
	m.code = sh->code;
	m.pid = (uint32_t)sh->pid;
	m.created_ms = sh->created_ms;
	m.output_ms = sh->output_ms;
	m.start = sh->ring.start;
	m.end = sh->ring.end;
	m.rows = sh->rows;
	m.cols = sh->cols;
	m.signal = sh->signal;
	m.name = sh->name;
	m.command = sh->command;
	msg_shell_put(b, &m);
}

struct shell *
shell_new(struct agent *a, const char *name, char *const *argv,
    uint16_t rows, uint16_t cols)
{
	struct shell *sh = xcalloc(1, sizeof *sh);

	if (tty_open(&sh->master, &sh->slave, rows, cols) == -1) {
		free(sh);
		return NULL;
	}
	sh->agent = a;
	if (++a->next_shell == 0)
		a->next_shell = 1;
	sh->id = a->next_shell;
	do
		random_bytes(&sh->uid, sizeof sh->uid);
	while (sh->uid == 0 || shell_by_uid(a, sh->uid) != NULL);
	sh->name = xstrdup(name);
	sh->command = shell_command(argv);
	sh->rows = rows;
	sh->cols = cols;
	TAILQ_INIT(&sh->watches);
	TAILQ_INIT(&sh->inputs);
	ring_init(&sh->ring, &a->memory, rows, cols);
	sh->readable = event_new(a->base, sh->master, EV_READ | EV_PERSIST,
	    shell_readable, sh);
	sh->writable = event_new(a->base, sh->master, EV_WRITE,
	    shell_writable, sh);
	sh->lag = evtimer_new(a->base, shell_lag, sh);
	sh->hold = evtimer_new(a->base, shell_writable, sh);
	TAILQ_INSERT_TAIL(&a->shells, sh, entry);
	a->nshells++;
	return sh;
}

static void
shell_close(struct shell *sh)
{
	struct event **ev[] = { &sh->readable, &sh->writable, &sh->lag,
	    &sh->hold, &sh->killer };
	size_t i;

	for (i = 0; i < sizeof ev / sizeof *ev; i++) {
		if (*ev[i] != NULL)
			event_free(*ev[i]);
		*ev[i] = NULL;
	}
	fd_close(&sh->master);
	fd_close(&sh->slave);
	free(sh->answers);
	sh->answers = NULL;
	sh->nanswers = 0;
	sh->partial = false;
}

void
shell_free(struct shell *sh)
{
	struct agent *a = sh->agent;

	if (sh->state == SHELL_ENDED)
		a->nended--;
	sh->state = SHELL_ENDED;
	input_shell_ended(a, sh->uid);
	while (!TAILQ_EMPTY(&sh->watches))
		watch_free(TAILQ_FIRST(&sh->watches));
	if (sh->proc != NULL)
		proc_forget(sh->proc);
	shell_close(sh);
	ring_clear(&sh->ring);
	checkpoint_clear(a, &sh->light);
	checkpoint_clear(a, &sh->full);
	checkpoint_clear(a, &sh->twin);
	TAILQ_REMOVE(&a->shells, sh, entry);
	a->nshells--;
	free(sh->name);
	free(sh->command);
	free(sh->signal);
	free(sh);
}

void
shell_clear(struct agent *a)
{
	while (!TAILQ_EMPTY(&a->shells))
		shell_free(TAILQ_FIRST(&a->shells));
}

static void
shell_dismiss(struct shell *sh, const char *why)
{
	struct buf b;

	buf_init(&b, 256);
	buf_str(&b, why);
	peer_tell_all(sh->agent, F_GONE, sh->id, &b);
	buf_free(&b);
	shell_free(sh);
}

/* To every server that is not reading the stream: a reader hears it there, in
 * its place. */
static void
shell_tell(struct shell *sh)
{
	struct peer *p;
	struct buf b;

	buf_init(&b, 1u << 20);
	shell_put(sh, &b);
	TAILQ_FOREACH(p, &sh->agent->peers, entry)
		if (watch_find(p, sh) == NULL &&
		    !(p->keeper && keeper_shuns(sh)))
			peer_send(p, CONN_CONTROL, F_SHELL, sh->id, &b);
	buf_free(&b);
}

void
shell_started(struct shell *sh)
{
	sh->state = SHELL_RUNNING;
	sh->pid = proc_pid(sh->proc);
	sh->created_ms = sh->output_ms = clock_wall_ms();
	sh->born_ms = clock_ms();
	shell_tell(sh);
	shell_update(sh);
}

void
shell_exited(struct shell *sh, int status)
{
	struct agent *a = sh->agent;
	struct shell *old;
	struct buf b;
	size_t got = 0;

	sh->proc = NULL;
	/* With our own slave closed a pty that nobody holds reads to EIO. */
	fd_close(&sh->slave);
	while (got < RING_MAX && shell_read(sh, &got))
		;
	proc_status(status, &sh->how, &sh->code, &sh->signal);
	sh->state = SHELL_ENDED;
	a->nended++;
	shell_close(sh);
	input_shell_ended(a, sh->uid);
	if (sh->dying) {
		/* Who shows it or waits for it is told how it ended, though the
		 * rest of its output does not come any more. */
		buf_init(&b, 1u << 20);
		shell_put(sh, &b);
		peer_tell_all(a, F_SHELL, sh->id, &b);
		buf_free(&b);
		shell_dismiss(sh, "killed");
		return;
	}
	watch_kick(sh);
	shell_tell(sh);
	while (a->nended > SHELLS_ENDED_MAX) {
		TAILQ_FOREACH(old, &a->shells, entry)
			if (old->state == SHELL_ENDED)
				break;
		shell_dismiss(old, "too many ended shells");
	}
}

/* ---- what servers say ---- */

static void
shell_kill_group(struct shell *sh, int sig)
{
	pid_t group = tcgetpgrp(sh->master);

	if (sh->proc == NULL)
		return;
	if (group > 1 && group != sh->pid)
		(void)kill(-group, sig);
	proc_signal(sh->proc, sig);
}

static void
shell_killer(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	shell_kill_group(arg, SIGKILL);
}

static void
shell_kill(struct shell *sh, const char *name)
{
	static const struct timeval grace = { KILL_GRACE_MS / 1000,
	    KILL_GRACE_MS % 1000 * 1000 };
	int sig;

	if (*name != '\0') {
		if (sh->state == SHELL_RUNNING &&
		    (sig = signal_number(name)) > 0)
			shell_kill_group(sh, sig);
		return;
	}
	if (sh->state == SHELL_ENDED) {
		shell_dismiss(sh, "dismissed");
		return;
	}
	sh->dying = true;
	shell_kill_group(sh, SIGHUP);
	shell_kill_group(sh, SIGCONT);
	if (sh->killer == NULL)
		sh->killer = evtimer_new(sh->agent->base, shell_killer, sh);
	if (sh->killer != NULL)
		event_add(sh->killer, &grace);
}

static void
shell_size(struct shell *sh, uint16_t rows, uint16_t cols)
{
	if (sh->state != SHELL_RUNNING || rows == 0 || cols == 0 ||
	    (rows == sh->rows && cols == sh->cols))
		return;
	/* What is in the pty was written for the old size. */
	shell_drain(sh);
	sh->rows = rows;
	sh->cols = cols;
	ring_resized(&sh->ring, rows, cols);
	tty_resize(sh->master, rows, cols);
	watch_kick(sh);
}

bool
shell_message(struct agent *a, struct peer *p, uint8_t type, uint32_t channel,
    const uint8_t *data, size_t len)
{
	struct shell *sh = shell_by_id(a, channel);
	const char *why = NULL;
	const uint8_t *bytes;
	uint64_t from, max;
	uint16_t rows, cols;
	uint8_t level, have;
	struct rd r;
	size_t n;
	char *s;

	/* Dismissed while the frame was on its way. */
	if (sh == NULL || sh->state == SHELL_STARTING)
		return true;
	rd_init(&r, data, len);
	switch (type) {
	case F_WATCH:
		level = rd_u8(&r);
		have = rd_u8(&r);
		from = rd_u64(&r);
		max = rd_u64(&r);
		if (!rd_end(&r))
			return false;
		why = watch_set(p, sh, level, have, from, max);
		break;
	case F_HISTORY:
		from = rd_u64(&r);
		if (!rd_end(&r))
			return false;
		shell_history(sh, p, from);
		break;
	case F_TAKEN:
		from = rd_u64(&r);
		max = rd_u64(&r);
		if (!rd_end(&r))
			return false;
		why = watch_taken(p, sh, from, max);
		break;
	case F_CHECKPOINT:
		why = shell_keep_checkpoint(sh, &r);
		break;
	case F_ANSWER:
		from = rd_u64(&r);
		bytes = rd_rest(&r, &n);
		if (!rd_end(&r))
			return false;
		if (from > sh->ring.end)
			why = "ANSWER to what was never asked";
		else
			shell_answer(sh, from, bytes, n);
		break;
	case F_SIZE:
		rows = rd_u16(&r);
		cols = rd_u16(&r);
		if (!rd_end(&r))
			return false;
		shell_size(sh, rows, cols);
		break;
	case F_KILL:
		if ((s = rd_str(&r, 32)) == NULL || !rd_end(&r)) {
			free(s);
			return false;
		}
		shell_kill(sh, s);
		free(s);
		break;
	case F_DISMISS:
		if (!rd_end(&r))
			return false;
		if (sh->state == SHELL_ENDED)
			shell_dismiss(sh, "dismissed");
		break;
	default:
		return false;
	}
	if (why != NULL) {
		log_warn("server broke a rule: %s", why);
		return false;
	}
	return true;
}
