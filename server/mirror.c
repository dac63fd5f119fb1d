/* SPDX-License-Identifier: ISC */
/*
 * A shell's mirror: its output, parsed here into a screen. The stream's
 * offsets are the law: what lies before ours is skipped, what does not join on
 * makes us ask anew. In return the agent gets checkpoints, the answers to
 * programs' questions, and word of how far we are.
 *
 * Parsing happens as messages come: a connection is read at most
 * CONN_READ_MAX bytes a pass, so a flood costs the others one such slice.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hook.h"
#include "base/log.h"
#include "base/mem.h"
#include "blame.h"
#include "inside.h"

#define LIGHT_GAP_MS	50
#define FULL_GAP_MS	1000

static void	 mirror_resync(struct mirror *, const char *);

/* --- what the screen says ------------------------------------------------ */

static void
mirror_answer(uint64_t offset, const void *data, size_t len, void *arg)
{
	struct mirror *m = arg;

	if (!m->replaying)
		questions_answer(m->questions, offset, data, len);
}

static void
mirror_colour(uint64_t offset, const struct screen_ask *ask, void *arg)
{
	struct mirror *m = arg;

	if (!m->replaying)
		questions_colour(m->questions, offset, ask);
}

static void
mirror_bell(void *arg)
{
	struct mirror *m = arg;

	attach_bell(m->shell);
}

static void
mirror_clipboard(const char *sel, const char *b64, size_t len, void *arg)
{
	struct mirror *m = arg;

	attach_clipboard(m->shell, sel, b64, len);
}

static void
mirror_notify(const char *title, const char *text, void *arg)
{
	struct mirror *m = arg;

	attach_notify(m->shell, title, text);
}

/* --- life ---------------------------------------------------------------- */

static void
mirror_quiet(int fd, short what, void *arg)
{
	struct mirror *m = arg;

	(void)fd;
	(void)what;
	sshell_later(m->shell);
}

/* Of this shell's output a server died. Once may have had other reasons. */
static void
mirror_blamed(struct mirror *m)
{
	struct sshell *sh = m->shell;
	unsigned int n;
	uint64_t at;

	/* Of the keeper's deaths the agent knows. */
	if (sh->ws->server->keeper || (n = blame_count(sh->uid, &at)) == 0)
		return;
	log_warn("%s:%s: its output at offset %llu killed the server%s",
	    sh->ws->name, sh->name, (unsigned long long)at, n < BLAME_OUT ?
	    "" : " again: not shown any more");
	if (n >= BLAME_OUT)
		quarantine_begin(m, at);
}

size_t
mirror_history(const struct server *s)
{
	return s->conf != NULL && s->conf->history_lines > 0 ?
	    (size_t)s->conf->history_lines : CONF_HISTORY_LINES;
}

struct mirror *
mirror_new(struct sshell *sh)
{
	struct server *s = sh->ws->server;
	struct mirror *m = xcalloc(1, sizeof *m);
	struct screen_cb cb;
	struct screen_limits limits;

	memset(&cb, 0, sizeof cb);
	cb.answer = mirror_answer;
	cb.colour = mirror_colour;
	cb.bell = mirror_bell;
	cb.clipboard = mirror_clipboard;
	cb.notify = mirror_notify;
	cb.arg = m;
	limits.history_lines = mirror_history(s);
	limits.history_bytes = MIRROR_HISTORY_BYTES;
	m->shell = sh;
	m->screen = screen_new(sh->rows, sh->cols, &limits, &cb);
	m->quiet_ev = evtimer_new(s->base, mirror_quiet, m);
	m->questions = questions_new(m);
	mirror_blamed(m);
	return m;
}

void
mirror_free(struct mirror *m)
{
	if (m == NULL)
		return;
	event_free(m->quiet_ev);
	questions_free(m->questions);
	past_free(m);
	quarantine_free(m);
	screen_free(m->screen);
	free(m);
}

bool
mirror_synced(const struct mirror *m)
{
	return m->begun && screen_offset(m->screen) >= m->sync_to;
}

/* --- towards the agent --------------------------------------------------- */

static void
mirror_send_watch(struct mirror *m)
{
	struct sshell *sh = m->shell;
	uint64_t from = m->begun ? screen_offset(m->screen) : 0;
	enum watch_have begin = m->begun ? WATCH_FROM : WATCH_NEWEST;
	struct buf b;

	/* A keeper has no clients to wait for the rest. */
	if (!m->begun && !m->whole && sh->ws->agent_history &&
	    !sh->ws->server->keeper)
		begin = WATCH_LIGHT;
	buf_init(&b, 64);
	buf_u8(&b, m->level);
	buf_u8(&b, (uint8_t)begin);
	buf_u64(&b, from);
	buf_u64(&b, (m->begun ? from : sh->end) + WATCH_WINDOW);
	link_send_buf(sh->ws->link, CONN_CONTROL, F_WATCH, sh->id, &b);
	buf_free(&b);
	m->told = from;
}

static uint8_t
mirror_level(const struct mirror *m)
{
	return m->shell->natts + m->shell->nwaits > 0 ? 2 : 1;
}

void
mirror_watch(struct mirror *m)
{
	struct sshell *sh = m->shell;

	if (sh->id == 0 || m->broken)
		return;
	m->watching = true;
	m->level = mirror_level(m);
	m->sync_to = sh->end;
	if (!m->begun) {
		/* All of it was seen by somebody before. */
		m->mute_to = sh->end;
	}
	mirror_send_watch(m);
	questions_again(m->questions);
}

void
mirror_looked_at(struct mirror *m)
{
	uint8_t level = mirror_level(m);

	if (!m->watching || m->level == level)
		return;
	m->level = level;
	mirror_send_watch(m);
}

void
mirror_link_down(struct mirror *m)
{
	uint64_t now = clock_ms();

	m->watching = false;
	m->resyncs = 0;
	/* Nobody knows whether what was on its way arrived. */
	if (now - m->light_ms < CHECKPOINT_DOUBT_MS)
		m->light_at = 0;
	if (now - m->full_ms < CHECKPOINT_DOUBT_MS)
		m->full_at = 0;
}

static void
mirror_resync(struct mirror *m, const char *why)
{
	struct sshell *sh = m->shell;
	uint64_t at = screen_offset(m->screen);

	log_warn("%s:%s: at offset %llu: %s", sh->ws->name, sh->name,
	    (unsigned long long)at, why);
	if (m->resyncs++ > 0 && m->resync_at == at &&
	    m->resyncs > MIRROR_RESYNCS) {
		log_warn("%s:%s: its stream cannot be followed", sh->ws->name,
		    sh->name);
		m->broken = true;
		m->begun = true;	/* what is there is what there is */
		m->sync_to = 0;
		return;
	}
	m->resync_at = at;
	m->begun = false;
	past_free(m);
	mirror_send_watch(m);
}

void
mirror_whole(struct mirror *m)
{
	log_info("%s:%s: begins anew, with all its history", m->shell->ws->name,
	    m->shell->name);
	past_free(m);
	m->whole = true;
	m->begun = false;
	mirror_send_watch(m);
}

static void
mirror_send_checkpoint(struct mirror *m, enum checkpoint_kind kind)
{
	struct sshell *sh = m->shell;
	uint64_t at = screen_offset(m->screen);
	struct buf b;

	buf_init(&b, CHECKPOINT_MAX + 64);
	buf_u64(&b, at);
	buf_u8(&b, (uint8_t)kind);
	buf_u16(&b, (uint16_t)screen_rows(m->screen));
	buf_u16(&b, (uint16_t)screen_cols(m->screen));
	blame_on(sh->uid, at, at);
	screen_checkpoint(m->screen, kind, &b);
	blame_off();
	if (buf_ok(&b)) {
		link_send_buf(sh->ws->link, CONN_BULK, F_CHECKPOINT, sh->id,
		    &b);
		if (sh->ws->server->keeper)
			HOOK("keeper-checkpoint");
		else
			HOOK("server-checkpoint");
	}
	buf_free(&b);
}

static void
mirror_checkpoint(struct mirror *m, enum checkpoint_kind kind)
{
	uint64_t at = screen_offset(m->screen);

	/* For the next server's first picture. */
	if (kind == CHECKPOINT_FULL && m->shell->ws->agent_history)
		mirror_send_checkpoint(m, CHECKPOINT_LIGHT);
	mirror_send_checkpoint(m, kind);
	m->light_at = at;
	m->light_ms = clock_ms();
	if (kind == CHECKPOINT_FULL) {
		m->full_at = at;
		m->full_ms = m->light_ms;
	}
}

static void
mirror_keep(struct mirror *m)
{
	uint64_t at = screen_offset(m->screen), now = clock_ms();
	struct timeval tv = { CHECKPOINT_QUIET_MS / 1000,
	    (CHECKPOINT_QUIET_MS % 1000) * 1000 };
	bool keeper = m->shell->ws->server->keeper, quiet, worth;

	if (!m->watching || !m->begun || m->broken || !mirror_synced(m) ||
	    m->quarantine != NULL)
		return;
	/* Whoever begins from it would not see the question. */
	if (questions_open(m->questions))
		return;
	/* A link that is full has better things to carry; in a pause nothing
	 * else would bring us here again. */
	if (link_queued(m->shell->ws->link) > LINK_QUEUE_LOW) {
		if (!evtimer_pending(m->quiet_ev, NULL))
			evtimer_add(m->quiet_ev, &tv);
		return;
	}
	quiet = now - m->output_ms >= CHECKPOINT_QUIET_MS;
	/* A keeper's costs no link anything. */
	worth = at - m->full_at >= (keeper ? 1 : CHECKPOINT_FULL_QUIET);
	/* Ours would know less than theirs. */
	if (m->past == NULL &&
	    ((keeper && at - m->full_at >= CHECKPOINT_FULL_KEEPER) ||
	    (at - m->full_at >= CHECKPOINT_FULL_EVERY &&
	    now - m->full_ms >= FULL_GAP_MS) || (quiet && worth)))
		mirror_checkpoint(m, CHECKPOINT_FULL);
	else if (at - m->light_at >= CHECKPOINT_LIGHT_EVERY &&
	    now - m->light_ms >= LIGHT_GAP_MS)
		mirror_checkpoint(m, CHECKPOINT_LIGHT);
	if (!quiet && worth && !evtimer_pending(m->quiet_ev, NULL))
		evtimer_add(m->quiet_ev, &tv);
}

void
mirror_settle(struct mirror *m)
{
	struct sshell *sh = m->shell;
	uint64_t at;
	struct buf b;

	if (!m->watching || !m->begun)
		return;
	at = screen_offset(m->screen);
	if (at != m->told) {
		buf_init(&b, 64);
		buf_u64(&b, at);
		buf_u64(&b, at + WATCH_WINDOW);
		link_send_buf(sh->ws->link, CONN_CONTROL, F_TAKEN, sh->id, &b);
		buf_free(&b);
		m->told = at;
		mirror_keep(m);
	} else if (at != m->full_at)
		mirror_keep(m);
}

/* --- from the agent ------------------------------------------------------ */

static void
mirror_begin(struct mirror *m, uint64_t offset)
{
	m->begun = true;
	if (offset < m->mute_to && !m->muted) {
		screen_mute(m->screen, true);
		m->muted = true;
	}
}

static void
mirror_parse(struct mirror *m, const uint8_t *p, size_t len)
{
	uint64_t at = screen_offset(m->screen);
	size_t n;

	HOOK_PARSE(p, len);
	if (m->muted && at < m->mute_to) {
		n = m->mute_to - at < len ? (size_t)(m->mute_to - at) : len;
		screen_write(m->screen, p, n);
		p += n;
		len -= n;
		at += n;
	}
	if (m->muted && at >= m->mute_to) {
		screen_mute(m->screen, false);
		m->muted = false;
	}
	if (len > 0)
		screen_write(m->screen, p, len);
}

static void
mirror_write(struct mirror *m, const uint8_t *p, size_t len)
{
	if (m->quarantine != NULL)
		quarantine_write(m, p, len);
	else
		mirror_parse(m, p, len);
	m->output_ms = clock_ms();
	m->shell->output_ms = clock_wall_ms();
	if (m->resyncs > 0 && screen_offset(m->screen) > m->resync_at)
		m->resyncs = 0;
}

static void
on_output(struct mirror *m, struct rd *r)
{
	uint64_t offset = rd_u64(r), at = screen_offset(m->screen);
	const uint8_t *p;
	size_t len;

	p = rd_rest(r, &len);
	if (r->failed || !m->begun)
		return;
	if (offset > at) {
		mirror_resync(m, "output is missing");
		return;
	}
	if (len <= at - offset)
		return;
	mirror_write(m, p + (at - offset), len - (size_t)(at - offset));
}

/* Nothing is known of what came before. */
static void
mirror_anew(struct mirror *m, uint64_t offset)
{
	if (m->quarantine != NULL) {
		quarantine_jump(m, offset);
		return;
	}
	screen_reset(m->screen);
	screen_set_offset(m->screen, offset);
}

static void
on_resized(struct mirror *m, struct rd *r)
{
	uint64_t offset = rd_u64(r), at = screen_offset(m->screen);
	uint16_t rows = rd_u16(r), cols = rd_u16(r);

	if (!rd_end(r))
		return;
	if (!m->begun) {
		if (offset != 0)
			return;
		mirror_anew(m, 0);
		at = 0;
		mirror_begin(m, 0);
	}
	if (offset < at)
		return;
	if (offset > at) {
		mirror_resync(m, "a resize lies ahead");
		return;
	}
	screen_resize(m->screen, rows, cols);
	m->shell->rows = rows;
	m->shell->cols = cols;
}

static void
on_checkpoint(struct mirror *m, struct rd *r)
{
	uint64_t offset = rd_u64(r);
	uint16_t rows, cols;
	const uint8_t *p;
	uint8_t kind;
	bool light;
	size_t len;

	kind = rd_u8(r);
	rows = rd_u16(r);
	cols = rd_u16(r);
	p = rd_rest(r, &len);
	if (r->failed)
		return;
	/* Asked for twice (the level changed before the first came). */
	if (m->begun && offset < screen_offset(m->screen))
		return;
	past_free(m);
	/* Asked for the whole, it has no more to give. */
	light = kind == CHECKPOINT_LIGHT && !m->whole &&
	    m->quarantine == NULL && m->shell->ws->agent_history;
	m->past_lost = m->whole = false;
	if (m->quarantine != NULL)
		quarantine_jump(m, offset);
	else if (screen_restore(m->screen, p, len) == -1) {
		log_warn("%s:%s: a damaged checkpoint", m->shell->ws->name,
		    m->shell->name);
		screen_reset(m->screen);
	}
	screen_set_offset(m->screen, offset);
	if (screen_rows(m->screen) != rows || screen_cols(m->screen) != cols)
		screen_resize(m->screen, rows, cols);
	/* They have it; no need for another at once. Nor for a full one: begun
	 * from a light one, ours would know less than theirs. */
	m->light_at = m->full_at = offset;
	m->shell->rows = rows;
	m->shell->cols = cols;
	mirror_begin(m, offset);
	if (light)
		past_begin(m, offset);
	if (m->muted && offset >= m->mute_to) {
		screen_mute(m->screen, false);
		m->muted = false;
	}
}

static void
on_gap(struct mirror *m, struct rd *r)
{
	uint64_t from = rd_u64(r), to = rd_u64(r);

	if (!rd_end(r) || to < from || (m->begun &&
	    to <= screen_offset(m->screen)))
		return;
	log_warn("%s:%s: output from %llu to %llu is lost",
	    m->shell->ws->name, m->shell->name, (unsigned long long)from,
	    (unsigned long long)to);
	if (m->begun && from < screen_offset(m->screen))
		from = screen_offset(m->screen);
	if (m->begun)
		m->lost_bytes += to - from;
	past_free(m);
	mirror_anew(m, to);
	mirror_begin(m, to);
}

const struct mark *
mirror_mark(const struct mirror *m, const uint8_t op[MSG_ID])
{
	unsigned int i;

	for (i = 0; i < m->nmarks && i < MIRROR_MARKS; i++)
		if (memcmp(m->marks[i].op, op, MSG_ID) == 0)
			return &m->marks[i];
	return NULL;
}

static void
on_mark(struct mirror *m, struct rd *r)
{
	const struct mark *known;
	const uint8_t *op;
	struct mark *k;

	(void)rd_u64(r);
	op = rd_raw(r, MSG_ID);
	if (op == NULL || !rd_end(r) || !m->begun)
		return;
	/* Told again after a WATCH from further back: the first counts; but
	 * cells that are written anew are of a newer generation. */
	if ((known = mirror_mark(m, op)) != NULL && !m->replaying)
		return;
	k = known != NULL ? &m->marks[known - m->marks] :
	    &m->marks[m->nmarks++ % MIRROR_MARKS];
	memcpy(k->op, op, MSG_ID);
	k->gen = screen_mark(m->screen);
	k->lines = screen_lines(m->screen);
	k->epoch = screen_epoch(m->screen);
	if (known != NULL)
		return;
	k->ms = clock_ms();
	wait_mark(m->shell, k);
}

static void
mirror_follow(struct mirror *m, uint8_t type, const uint8_t *data, size_t len)
{
	struct rd r;

	if (m->begun && (type == F_OUTPUT || type == F_RESIZED ||
	    type == F_MARK))
		past_record(m, type, data, len);
	rd_init(&r, data, len);
	switch (type) {
	case F_OUTPUT:
		on_output(m, &r);
		break;
	case F_RESIZED:
		on_resized(m, &r);
		break;
	case F_CHECKPOINT:
		on_checkpoint(m, &r);
		break;
	case F_GAP:
		on_gap(m, &r);
		break;
	case F_MARK:
		on_mark(m, &r);
		break;
	}
}

int
mirror_rewind(struct mirror *m, const uint8_t *p, size_t len, uint64_t offset)
{
	int r;

	blame_on(m->shell->uid, offset, offset);
	r = screen_restore(m->screen, p, len);
	blame_off();
	screen_set_offset(m->screen, offset);
	return r;
}

void
mirror_replay(struct mirror *m, uint8_t type, const uint8_t *data, size_t len)
{
	struct sshell *sh = m->shell;
	uint64_t ms = m->output_ms, wall = sh->output_ms, mute_to = m->mute_to;
	uint64_t at = screen_offset(m->screen);

	m->replaying = m->muted = true;
	m->mute_to = UINT64_MAX;
	screen_mute(m->screen, true);
	blame_on(sh->uid, at, at + len);
	mirror_follow(m, type, data, len);
	blame_off();
	m->replaying = false;
	m->mute_to = mute_to;
	m->muted = screen_offset(m->screen) < mute_to;
	screen_mute(m->screen, m->muted);
	m->output_ms = ms;
	sh->output_ms = wall;
}

void
mirror_message(struct mirror *m, uint8_t type, const uint8_t *data, size_t len)
{
	struct rd r;
	uint64_t offset;
	bool synced = mirror_synced(m);

	if (!m->watching || m->broken)
		return;
	/* They all begin with it. */
	rd_init(&r, data, len);
	offset = rd_u64(&r);
	blame_on(m->shell->uid, offset, offset + (type == F_OUTPUT ? r.left :
	    0));
	mirror_follow(m, type, data, len);
	blame_off();
	/* Somebody may have been waiting for this screen to be true. */
	if (!synced && mirror_synced(m))
		workspace_changed(m->shell->ws);
	sshell_later(m->shell);
}
