/* SPDX-License-Identifier: ISC */
/*
 * Waiting for text on a screen, for quiet, or for a shell's end.
 *
 * Text is looked for in the lines that show and in those that scrolled away
 * since the last look. An armed wait begins at the mark that the agent puts
 * where the first byte of its operation was typed; from then on a match must
 * have at least one cell that was written after it.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/pattern.h"
#include "blame.h"
#include "inside.h"

#define MATCHES_PER_LINE 64

struct wait {
	uint8_t		 kind;
	bool		 armed, marked, bound;
	uint8_t		 op[MSG_ID];
	uint8_t		 mark;
	bool		 compiled;
	regex_t		 regex;
	uint32_t	 idle_ms;
	uint64_t	 from_ms;	/* quiet counts from here on */
	struct event	*idle_ev;
	uint64_t	 lines;		/* screen_lines() at the last look */
	uint32_t	 epoch;
	uint64_t	 serial;
	bool		 looked;
	char		*found;
};

static void
wait_answer(struct request *r, enum waited_result result,
    const struct sshell *sh, const char *text)
{
	struct msg_waited m;
	struct buf b;

	memset(&m, 0, sizeof m);
	m.result = (uint8_t)result;
	if (sh != NULL && sh->state == SHELL_ENDED) {
		m.how = sh->how;
		m.code = sh->code;
	}
	m.text = xstrdup(text);
	buf_init(&b, 60000);
	msg_waited_put(&b, &m);
	if (!buf_ok(&b)) {
		buf_reset(&b);
		m.text[0] = '\0';
		msg_waited_put(&b, &m);
	}
	sclient_send_buf(r->client, CONN_CONTROL, F_WAITED, r->channel, &b);
	buf_free(&b);
	free(m.text);
}

void
wait_lost(struct request *r, const char *why)
{
	wait_answer(r, WAITED_ERROR, NULL, why);
}

void
wait_timeout(struct request *r)
{
	wait_answer(r, WAITED_TIMEOUT, NULL, "timed out");
}

void
wait_gone(struct request *r, const struct sshell *sh, const char *why)
{
	if (sh->state == SHELL_ENDED)
		wait_answer(r, r->wait->kind == WAIT_EXIT ? WAITED_MET :
		    WAITED_ENDED, sh, why);
	else if (r->wait->kind == WAIT_EXIT)
		wait_answer(r, WAITED_ERROR, sh, why);
	else
		wait_answer(r, WAITED_ENDED, sh, why);
}

/* --- from the request to the answer -------------------------------------- */

bool
wait_start(struct request *r, const struct msg_wait *m, char **cause)
{
	struct wait *w = xcalloc(1, sizeof *w);

	r->wait = w;
	w->kind = m->kind;
	w->armed = m->armed != 0;
	memcpy(w->op, m->op, MSG_ID);
	w->idle_ms = m->idle_ms;
	switch (m->kind) {
	case WAIT_TEXT:
		w->compiled = pattern_compile(&w->regex, m->regex, cause) == 0;
		return w->compiled;
	case WAIT_IDLE:
	case WAIT_EXIT:
		return true;
	default:
		*cause = xasprintf("a wait of an unknown kind %u", m->kind);
		return false;
	}
}

void
wait_free(struct request *r)
{
	struct wait *w = r->wait;
	struct sshell *sh;

	if (w == NULL)
		return;
	if (w->bound && (sh = sshell_by_uid(r->ws, r->uid)) != NULL) {
		sh->nwaits--;
		sh->ntexts -= w->kind == WAIT_TEXT;
		if (sh->mirror != NULL)
			mirror_looked_at(sh->mirror);
	}
	if (w->compiled)
		regfree(&w->regex);
	if (w->idle_ev != NULL)
		event_free(w->idle_ev);
	free(w->found);
	free(w);
	r->wait = NULL;
}

/* --- text ----------------------------------------------------------------- */

/* A line as looked at: its text, and the cell each byte stems from. */
struct line {
	struct buf	 text;
	uint16_t	*col;
	int		*row;
	size_t		 n, cap;	/* of col and row */
};

static void
line_clear(struct line *l)
{
	buf_reset(&l->text);
	l->n = 0;
}

static void
line_add(struct line *l, const struct screen *screen, int y)
{
	uint16_t *col = NULL;
	size_t i, at = l->text.len, len;

	screen_row_text(screen, y, false, &l->text, &col);
	len = l->text.len - at;
	if (at + len > l->cap) {
		l->cap = (at + len) * 2;
		l->col = xreallocarray(l->col, l->cap, sizeof *l->col);
		l->row = xreallocarray(l->row, l->cap, sizeof *l->row);
	}
	for (i = 0; i < len; i++) {
		l->col[at + i] = col != NULL ? col[i] : 0;
		l->row[at + i] = y;
	}
	l->n = at + len;
	free(col);
}

static bool
cell_new(const struct wait *w, const struct screen *screen, int y, int x)
{
	const struct row *row = screen_row(screen, y);

	if (row == NULL || x >= row->cols)
		return false;
	return screen_since(screen, &row->cells[x], w->mark);
}

static bool
line_new(const struct wait *w, const struct screen *screen,
    const struct line *l, size_t from, size_t to)
{
	if (!w->armed)
		return true;
	for (; from < to && from < l->n; from++)
		if (cell_new(w, screen, l->row[from], l->col[from]))
			return true;
	return false;
}

static bool
line_match(struct wait *w, const struct screen *screen, struct line *l)
{
	regmatch_t m;
	const char *s;
	size_t at = 0;
	int i, flags = 0;

	buf_u8(&l->text, 0);
	if (!buf_ok(&l->text))
		return false;
	s = (const char *)l->text.data;
	for (i = 0; i < MATCHES_PER_LINE; i++) {
		if (regexec(&w->regex, s + at, 1, &m, flags) != 0)
			break;
		if (m.rm_eo > m.rm_so ? line_new(w, screen, l,
		    at + (size_t)m.rm_so, at + (size_t)m.rm_eo) :
		    line_new(w, screen, l, 0, l->n)) {
			free(w->found);
			w->found = xstrdup(s);
			break;
		}
		at += m.rm_eo > m.rm_so ? (size_t)m.rm_eo :
		    (size_t)m.rm_eo + 1;
		if (at >= l->n)
			break;
		flags = REG_NOTBOL;
	}
	l->text.len--;		/* the NUL */
	return w->found != NULL;
}

static bool
wait_look(struct wait *w, const struct screen *screen)
{
	uint64_t gone = screen_lines(screen) - w->lines;
	int y, first, rows = screen_rows(screen);
	struct line l;
	bool joined;

	if (w->looked && screen_serial(screen) == w->serial)
		return false;
	if (screen_epoch(screen) != w->epoch)
		gone = 0;	/* reflowed: counts do not compare */
	if (gone > WAIT_LINES_MAX)
		gone = WAIT_LINES_MAX;
	first = (int)gone > screen_history(screen) ?
	    -screen_history(screen) : -(int)gone;
	memset(&l, 0, sizeof l);
	buf_init(&l.text, 1 << 20);
	for (y = first; y < rows && w->found == NULL; y++) {
		line_clear(&l);
		line_add(&l, screen, y);
		if (line_match(w, screen, &l))
			break;
		/* Text that the terminal wrapped is one line to its writer. */
		if (y > first && screen_row(screen, y - 1)->wrapped)
			continue;
		for (joined = false; y + 1 < rows &&
		    screen_row(screen, y)->wrapped && l.n < (512u << 10);
		    joined = true) {
			struct line one;

			y++;
			memset(&one, 0, sizeof one);
			buf_init(&one.text, 1 << 20);
			line_add(&one, screen, y);
			(void)line_match(w, screen, &one);
			buf_free(&one.text);
			free(one.col);
			free(one.row);
			line_add(&l, screen, y);
		}
		if (joined && w->found == NULL)
			(void)line_match(w, screen, &l);
	}
	buf_free(&l.text);
	free(l.col);
	free(l.row);
	w->looked = true;
	w->serial = screen_serial(screen);
	w->epoch = screen_epoch(screen);
	w->lines = screen_lines(screen);
	return w->found != NULL;
}

/* --- trying --------------------------------------------------------------- */

static void
wait_idle_due(int fd, short what, void *arg)
{
	struct request *r = arg;

	(void)fd;
	(void)what;
	server_later(r->server);
}

static bool
wait_quiet(struct request *r, const struct sshell *sh)
{
	struct wait *w = r->wait;
	uint64_t now = clock_ms(), from = w->from_ms, left;
	struct timeval tv;

	/* While nothing can be heard, silence means nothing. */
	if (!r->ws->up || !sshell_visible(sh)) {
		w->from_ms = now;
		return false;
	}
	if (sh->mirror->output_ms > from)
		from = sh->mirror->output_ms;
	if (now - from >= w->idle_ms)
		return true;
	left = w->idle_ms - (now - from);
	if (w->idle_ev == NULL)
		w->idle_ev = evtimer_new(r->server->base, wait_idle_due, r);
	(void)event_base_update_cache_time(r->server->base);
	tv.tv_sec = (time_t)(left / 1000);
	tv.tv_usec = (suseconds_t)(left % 1000) * 1000;
	evtimer_add(w->idle_ev, &tv);
	return false;
}

static void
wait_bind(struct request *r, struct sshell *sh)
{
	struct wait *w = r->wait;

	if (!w->bound) {
		w->bound = true;
		r->uid = sh->uid;
		sh->nwaits++;
		sh->ntexts += w->kind == WAIT_TEXT;
		mirror_looked_at(sh->mirror);
	}
	w->from_ms = clock_ms();
	w->lines = screen_lines(sh->mirror->screen);
	w->epoch = screen_epoch(sh->mirror->screen);
	w->looked = false;
}

static void
wait_marked(struct wait *w, const struct mark *k)
{
	w->marked = true;
	w->mark = k->gen;
	w->lines = k->lines;
	w->epoch = k->epoch;
	w->from_ms = k->ms;
	w->looked = false;
}

static bool
wait_blamed(struct wait *w, const struct sshell *sh)
{
	const struct screen *screen = sh->mirror->screen;
	bool found;

	blame_on(sh->uid, screen_offset(screen), screen_offset(screen));
	found = wait_look(w, screen);
	blame_off();
	return found;
}

bool
wait_try(struct request *r)
{
	const struct mark *k;
	struct wait *w = r->wait;
	enum refusal code;
	struct sshell *sh;
	char *cause = NULL;
	char *words;
	bool pending;

	if (w->bound) {
		/* A lost link or a replay in between changes nothing. */
		if ((sh = sshell_by_uid(r->ws, r->uid)) == NULL ||
		    sh->mirror == NULL)
			return false;
	} else {
		sh = request_shell(r, &pending, &code, &cause);
		if (sh == NULL && pending)
			return false;
		if (sh == NULL) {
			wait_answer(r, WAITED_ERROR, NULL, cause);
			free(cause);
			return true;
		}
		wait_bind(r, sh);
	}
	if (w->kind == WAIT_TEXT && (words = quarantine_words(sh)) != NULL) {
		wait_answer(r, WAITED_ERROR, NULL, words);
		free(words);
		return true;
	}
	if (w->armed && !w->marked &&
	    (k = mirror_mark(sh->mirror, w->op)) != NULL)
		wait_marked(w, k);
	if (!w->armed || w->marked) {
		if (w->kind == WAIT_TEXT && wait_blamed(w, sh)) {
			wait_answer(r, WAITED_MET, NULL, w->found);
			return true;
		}
		if (w->kind == WAIT_IDLE && !sh->over && wait_quiet(r, sh)) {
			wait_answer(r, WAITED_MET, NULL, "");
			return true;
		}
	}
	if (sh->over) {
		char *how = sshell_how(sh);

		wait_answer(r, w->kind == WAIT_EXIT ? WAITED_MET :
		    WAITED_ENDED, sh, how);
		free(how);
		return true;
	}
	return false;
}

void
wait_mark(struct sshell *sh, const struct mark *k)
{
	struct request *r;
	struct wait *w;

	TAILQ_FOREACH(r, &sh->ws->server->requests, entry) {
		w = r->wait;
		if (r->kind != REQUEST_WAIT || r->ws != sh->ws || !w->armed ||
		    w->marked || memcmp(w->op, k->op, MSG_ID) != 0)
			continue;
		wait_bind(r, sh);
		wait_marked(w, k);
	}
}
