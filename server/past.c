/* SPDX-License-Identifier: ISC */
/*
 * History behind a light checkpoint. A server that knows nothing is given the
 * screens alone, a few KB each, and shows them; the full checkpoint of the
 * same offset, which may be megabytes, is asked for when nothing better is to
 * do, one shell after the other.
 *
 * When it comes, the mirror goes back to it and once more through all that it
 * was told since, which is kept until then: the result is what a full
 * checkpoint in the first place would have given, resizes and marks included,
 * and nobody sees anything in between. Should that become too much, the mirror
 * begins anew with the full one.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "inside.h"

struct past {
	uint64_t	 at;		/* offset of both checkpoints */
	uint64_t	 lines;		/* screen_lines() there */
	struct buf	 log;		/* u8 type, u32 length, bytes, ... */
	unsigned int	 resizes;	/* in it */
	bool		 over;		/* it is too long */
	bool		 wanted;	/* somebody waits for it */
};

void
past_begin(struct mirror *m, uint64_t offset)
{
	struct past *p;

	past_free(m);
	p = xcalloc(1, sizeof *p);
	p->at = offset;
	p->lines = screen_lines(m->screen);
	buf_init(&p->log, PAST_LOG_MAX);
	m->past = p;
	m->shell->ws->npasts++;
}

static void
past_log_free(struct mirror *m)
{
	m->shell->ws->past_bytes -= m->past->log.len;
	buf_free(&m->past->log);
}

void
past_free(struct mirror *m)
{
	struct workspace *w = m->shell->ws;

	if (m->past == NULL)
		return;
	if (w->asked_past == m->shell->uid)
		w->asked_past = 0;
	past_log_free(m);
	free(m->past);
	m->past = NULL;
	w->npasts--;
	/* A full checkpoint was not to be made before. */
	sshell_later(m->shell);
}

void
past_record(struct mirror *m, uint8_t type, const uint8_t *data, size_t len)
{
	struct workspace *w = m->shell->ws;
	struct past *p = m->past;
	size_t was;

	if (p == NULL || p->over)
		return;
	was = p->log.len;
	p->resizes += type == F_RESIZED;
	buf_u8(&p->log, type);
	buf_bin(&p->log, data, len);
	w->past_bytes += p->log.len - was;
	if (!buf_ok(&p->log) || p->resizes > PAST_RESIZES ||
	    w->past_bytes > PAST_LOGS_MAX) {
		p->over = true;
		past_log_free(m);
	}
}

/* Nothing of it is to be had any more. */
static void
past_gone(struct mirror *m, const char *why)
{
	log_warn("%s:%s: its history before offset %llu is lost: %s",
	    m->shell->ws->name, m->shell->name,
	    (unsigned long long)m->past->at, why);
	past_free(m);
	m->past_lost = true;
}

static void
past_replay(struct mirror *m)
{
	struct past *p = m->past;
	const uint8_t *data;
	struct rd r;
	size_t len;
	uint8_t type;

	/* What is replayed may find fault with itself and begin anew. */
	m->past = NULL;
	rd_init(&r, p->log.data, p->log.len);
	while (r.left > 0 && m->begun) {
		type = rd_u8(&r);
		if ((data = rd_bin(&r, PAST_LOG_MAX, &len)) == NULL)
			break;
		mirror_replay(m, type, data, len);
	}
	m->past = p;
}

void
past_arrived(struct mirror *m, const uint8_t *data, size_t len)
{
	struct workspace *w = m->shell->ws;
	struct past *p = m->past;
	uint64_t at = screen_offset(m->screen), lines, epoch_lines;
	uint32_t epoch;
	struct rd r;

	log_debug("%s:%s: history, %zu bytes", w->name, m->shell->name, len);
	rd_init(&r, data, len);
	/* Of a beginning before this one. */
	if (rd_u64(&r) != (p != NULL ? p->at : 0) || p == NULL)
		return;
	if (w->asked_past == m->shell->uid)
		w->asked_past = 0;
	server_later(w->server);
	if (r.left == 0) {
		past_gone(m, "the agent has it no more");
		return;
	}
	/* A wait for text knows the cells by what they were: asked again
	 * later. */
	if (p->over || m->shell->ntexts > 0)
		return;
	lines = screen_lines(m->screen);
	epoch = screen_epoch(m->screen);
	epoch_lines = screen_epoch_lines(m->screen);
	if (mirror_rewind(m, r.p, r.left, p->at) == -1) {
		log_warn("%s:%s: a damaged history", w->name, m->shell->name);
		mirror_whole(m);
		return;
	}
	past_replay(m);
	if (!m->begun || screen_offset(m->screen) != at) {
		mirror_whole(m);
		return;
	}
	/* A view goes on as if nothing had been. */
	if (p->resizes == 0 && screen_lines(m->screen) == lines)
		screen_set_epoch(m->screen, epoch, epoch_lines);
	past_free(m);
	workspace_changed(w);
}

/* The log was not enough: worth another beginning, if what came since has not
 * pushed all of the old out anyway. */
static void
past_over(struct mirror *m)
{
	if ((size_t)screen_history(m->screen) >=
	    mirror_history(m->shell->ws->server))
		past_free(m);
	else if (m->shell->natts == 0 ||
	    clock_ms() - m->output_ms >= CHECKPOINT_QUIET_MS)
		mirror_whole(m);
}

void
past_settle(struct workspace *w)
{
	struct sshell *sh, *best = NULL;
	struct past *p;
	int rank, most = -1;
	struct buf b;

	if (w->npasts == 0 || !w->up || !w->ready)
		return;
	if (w->asked_past != 0) {
		if (clock_ms() - w->asked_ms < HISTORY_MS)
			return;
		/* An agent that answers everything else. */
		sh = sshell_by_uid(w, w->asked_past);
		w->asked_past = 0;
		if (sh != NULL && sh->mirror != NULL &&
		    sh->mirror->past != NULL)
			past_gone(sh->mirror, "the agent does not send it");
	}
	TAILQ_FOREACH(sh, &w->shells, entry) {
		if (sh->id == 0 || sh->mirror == NULL ||
		    (p = sh->mirror->past) == NULL)
			continue;
		if (!mirror_synced(sh->mirror)) {
			/* What somebody looks at comes before all. */
			if (sh->natts > 0)
				return;
			continue;
		}
		if (sh->ntexts > 0)
			continue;
		if (p->over) {
			past_over(sh->mirror);
			continue;
		}
		rank = p->wanted ? 2 : sh->natts > 0;
		if (rank > most) {
			most = rank;
			best = sh;
		}
	}
	if (best == NULL)
		return;
	log_debug("%s:%s: asks for its history", w->name, best->name);
	w->asked_past = best->uid;
	w->asked_ms = clock_ms();
	buf_init(&b, 16);
	buf_u64(&b, best->mirror->past->at);
	link_send_buf(w->link, CONN_CONTROL, F_HISTORY, best->id, &b);
	buf_free(&b);
}

void
past_link_down(struct workspace *w)
{
	w->asked_past = 0;
}

bool
past_wanted(struct mirror *m, uint32_t lines)
{
	if (m->past == NULL || lines <= (uint32_t)screen_history(m->screen))
		return false;
	/* Asked at the end of each pass: it must not bring about the next. */
	if (!m->past->wanted)
		server_later(m->shell->ws->server);
	m->past->wanted = true;
	return true;
}

bool
past_behind(const struct mirror *m, uint64_t lines)
{
	return m->past != NULL && lines < m->past->lines;
}
