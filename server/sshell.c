/* SPDX-License-Identifier: ISC */
/*
 * The records of a workspace's shells: what the agent tells of them, what is
 * remembered of them while it cannot, and what became of them. Their screens
 * are mirror.c's.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "blame.h"
#include "inside.h"

/* Names in one line for people. */
#define LOST_NAMED	8

struct sshell *
sshell_new(struct workspace *w, uint64_t uid, const char *name)
{
	struct sshell *sh = xcalloc(1, sizeof *sh);

	sh->ws = w;
	sh->uid = uid;
	sh->name = xstrdup(name);
	sh->command = xstrdup("");
	sh->title = xstrdup("");
	sh->signal = xstrdup("");
	sh->state = SHELL_REMEMBERED;
	TAILQ_INIT(&sh->atts);
	TAILQ_INSERT_TAIL(&w->shells, sh, entry);
	w->nshells++;
	return sh;
}

void
sshell_free(struct sshell *sh)
{
	if (sh == NULL)
		return;
	request_shell_gone(sh, "the shell is gone", false);
	attach_lost(sh, "the shell is gone");
	if (sh->seen_ev != NULL)
		event_free(sh->seen_ev);
	if (sh->size_ev != NULL)
		event_free(sh->size_ev);
	mirror_free(sh->mirror);
	TAILQ_REMOVE(&sh->ws->shells, sh, entry);
	sh->ws->nshells--;
	if (sh->due)
		LIST_REMOVE(sh, due_entry);
	free(sh->lost_why);
	free(sh->signal);
	free(sh->title);
	free(sh->command);
	free(sh->name);
	free(sh);
}

struct sshell *
sshell_by_id(struct workspace *w, uint32_t id)
{
	struct sshell *sh;

	if (id == 0)
		return NULL;
	TAILQ_FOREACH(sh, &w->shells, entry)
		if (sh->id == id)
			return sh;
	return NULL;
}

struct sshell *
sshell_by_uid(struct workspace *w, uint64_t uid)
{
	struct sshell *sh;

	TAILQ_FOREACH(sh, &w->shells, entry)
		if (sh->uid == uid)
			return sh;
	return NULL;
}

/* A live one before a lost one of the same name. */
struct sshell *
sshell_by_name(struct workspace *w, const char *name)
{
	struct sshell *sh, *best = NULL;

	TAILQ_FOREACH(sh, &w->shells, entry)
		if (strcmp(sh->name, name) == 0 &&
		    (best == NULL || sh->state < best->state))
			best = sh;
	return best;
}

bool
sshell_visible(const struct sshell *sh)
{
	const struct mirror *m = sh->mirror;

	if (m == NULL || !m->begun)
		return false;
	/* With nobody to ask, what was seen last is what there is. */
	return !sh->ws->up || sh->id == 0 || mirror_synced(m);
}

char *
sshell_how(const struct sshell *sh)
{
	switch (sh->how) {
	case END_EXIT:
		return xasprintf("it ended with status %u", sh->code);
	case END_SIGNAL:
		return xasprintf("it was ended by signal %s",
		    *sh->signal != '\0' ? sh->signal : "?");
	default:
		return xstrdup("it ended; how is not known");
	}
}

static void
replace(char **p, const char *s)
{
	if (s == NULL)
		s = "";
	if (strcmp(*p, s) == 0)
		return;
	free(*p);
	*p = xstrdup(s);
}

/* Oldest first: what "next" and "previous" mean, and ls's order. */
static void
shell_sort(struct sshell *sh)
{
	struct workspace *w = sh->ws;
	struct sshell *o;

	TAILQ_REMOVE(&w->shells, sh, entry);
	TAILQ_FOREACH(o, &w->shells, entry)
		if (o->created_ms > sh->created_ms)
			break;
	if (o != NULL)
		TAILQ_INSERT_BEFORE(o, sh, entry);
	else
		TAILQ_INSERT_TAIL(&w->shells, sh, entry);
}

static void
shell_no_more_lost(struct workspace *w, const char *name)
{
	struct sshell *sh, *next;

	TAILQ_FOREACH_SAFE(sh, &w->shells, entry, next)
		if (sh->state == SHELL_LOST && strcmp(sh->name, name) == 0)
			sshell_free(sh);
}

bool
sshell_told(struct workspace *w, uint32_t id, const uint8_t *data, size_t len)
{
	struct msg_shell m;
	struct sshell *sh;
	bool first = false, born = false;

	if (msg_shell_get(&m, data, len) == -1)
		return false;
	sh = sshell_by_uid(w, m.uid);
	if (sh == NULL) {
		/* The agent has its own limit; lost and remembered ones of
		 * ours come on top. */
		if (w->nshells >= SHELLS_MAX * 2) {
			msg_shell_free(&m);
			return true;
		}
		shell_no_more_lost(w, m.name);
		sh = sshell_new(w, m.uid, m.name);
		first = true;
		born = w->ready;
	}
	if (sh->id != id) {
		sh->id = id;
		sh->wish_rows = sh->wish_cols = 0;
		first = true;
	}
	if (sh->state != SHELL_ENDED)
		sh->state = m.ended ? SHELL_ENDED : SHELL_RUNNING;
	sh->how = m.how;
	sh->code = m.code;
	sh->pid = m.pid;
	sh->output_ms = m.output_ms;
	sh->start = m.start;
	sh->end = m.end;
	sh->rows = m.rows;
	sh->cols = m.cols;
	replace(&sh->name, m.name);
	replace(&sh->command, m.command);
	replace(&sh->signal, m.signal);
	if (sh->created_ms != m.created_ms) {
		sh->created_ms = m.created_ms;
		shell_sort(sh);
	}
	msg_shell_free(&m);
	if (sh->mirror == NULL)
		sh->mirror = mirror_new(sh);
	if (first)
		mirror_watch(sh->mirror);
	if (sh->state == SHELL_ENDED && sh->mirror->sync_to < sh->end)
		sh->mirror->sync_to = sh->end;
	if (sh->seen_ev != NULL)
		sshell_seen(sh);	/* the link may have been down */
	/* One that was just made has the size it should have. */
	if (first && !born)
		size_changed(sh, false);
	sshell_later(sh);
	state_later(w->server);
	workspace_changed(w);
	return true;
}

/* It has ended, and what it printed is on the screen. */
static void
shell_over(struct sshell *sh)
{
	if (sh->over)
		return;
	sh->over = true;
	log_info("%s:%s ended", sh->ws->name, sh->name);
	request_retry(sh->ws);
	attach_over(sh);
	state_later(sh->ws->server);
}

static void
sshell_settle(struct sshell *sh)
{
	size_settle(sh, false);
	if (sh->mirror == NULL)
		return;
	mirror_settle(sh->mirror);
	if (sh->state == SHELL_ENDED && !sh->over && sh->id != 0 &&
	    (sh->mirror->broken || mirror_synced(sh->mirror)))
		shell_over(sh);
}

void
sshell_later(struct sshell *sh)
{
	struct server *s = sh->ws->server;

	if (!sh->due)
		LIST_INSERT_HEAD(&s->due, sh, due_entry);
	sh->due = true;
	server_later(s);
}

void
sshell_settle_due(struct server *s)
{
	struct sshell *sh;

	while ((sh = LIST_FIRST(&s->due)) != NULL) {
		LIST_REMOVE(sh, due_entry);
		sh->due = false;
		sshell_settle(sh);
	}
}

void
sshell_gone(struct sshell *sh, const char *why)
{
	struct workspace *w = sh->ws;
	char *text;

	blame_forgive(sh->uid);
	/* Dismissed before all of its output was here: what is known of its
	 * end still counts. */
	if (sh->state == SHELL_ENDED)
		shell_over(sh);
	text = xasprintf("%s:%s is gone%s%s", w->name, sh->name,
	    *why != '\0' ? ": " : "", why);
	request_shell_gone(sh, text, false);
	attach_lost(sh, text);
	free(text);
	sshell_free(sh);
	state_later(w->server);
	workspace_changed(w);
}

void
sshell_all_told(struct workspace *w)
{
	struct sshell *sh, *next;

	TAILQ_FOREACH_SAFE(sh, &w->shells, entry, next)
		if (sh->id == 0 && sh->state != SHELL_LOST)
			sshell_gone(sh, "it ended or was dismissed while "
			    "nobody here was connected");
}

void
sshell_link_down(struct workspace *w)
{
	struct sshell *sh;

	TAILQ_FOREACH(sh, &w->shells, entry) {
		sh->id = 0;
		sh->wish_rows = sh->wish_cols = 0;
		if (sh->mirror != NULL)
			mirror_link_down(sh->mirror);
	}
}

void
sshell_set_lost(struct sshell *sh)
{
	sh->state = SHELL_LOST;
	free(sh->lost_why);
	sh->lost_why = xasprintf("%s:%s is lost: %s was started anew",
	    sh->ws->name, sh->name, sh->ws->name);
}

/* "a, b, c and 7 more" */
static void
shell_lost_news(struct workspace *w, const struct buf *names, size_t n)
{
	const char *list = n != 0 ? (const char *)names->data : "";

	log_warn("%s was started anew%s%s%s", w->name, n != 0 ?
	    ": lost: " : "", list, n > LOST_NAMED ? ", ..." : "");
	if (n == 0)
		return;
	free(w->news);
	if (n > LOST_NAMED)
		w->news = xasprintf("%s was started anew: its earlier shells "
		    "are lost (%s and %zu more)", w->name, list,
		    n - LOST_NAMED);
	else
		w->news = xasprintf("%s was started anew: its earlier shell%s "
		    "lost (%s)", w->name, n > 1 ? "s are" : " is", list);
}

void
sshell_all_lost(struct workspace *w)
{
	struct sshell *sh, *next;
	struct buf names;
	size_t n = 0;

	buf_init(&names, LOST_NAMED * (SHELL_NAME_MAX + 2) + 1);
	TAILQ_FOREACH_SAFE(sh, &w->shells, entry, next) {
		if (sh->state == SHELL_LOST) {
			/* Of an earlier instance still, and nobody asked. They
			 * must not add up for ever. */
			if (w->nshells > SHELLS_MAX)
				sshell_free(sh);
			continue;
		}
		sh->id = 0;
		blame_forgive(sh->uid);
		if (sh->state == SHELL_ENDED) {
			shell_over(sh);
			sshell_free(sh);
			continue;
		}
		sshell_set_lost(sh);
		if (n++ < LOST_NAMED)
			buf_printf(&names, "%s%s", n > 1 ? ", " : "",
			    sh->name);
		request_shell_gone(sh, sh->lost_why, true);
		attach_lost(sh, sh->lost_why);
		mirror_free(sh->mirror);
		sh->mirror = NULL;
	}
	buf_u8(&names, 0);
	shell_lost_news(w, &names, n);
	buf_free(&names);
	state_later(w->server);
}

void
sshell_dismiss(struct sshell *sh)
{
	if (sh->state == SHELL_LOST) {
		sshell_free(sh);
		return;
	}
	if (sh->state != SHELL_ENDED || sh->id == 0 || !sh->ws->up)
		return;
	link_send(sh->ws->link, CONN_CONTROL, F_DISMISS, sh->id, NULL, 0);
}

static void
shell_seen_long(int fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	sshell_dismiss(arg);
}

void
sshell_seen(struct sshell *sh)
{
	struct timeval tv = { SEEN_KEEP_MS / 1000,
	    (SEEN_KEEP_MS % 1000) * 1000 };

	if (sh->state != SHELL_ENDED)
		return;
	if (sh->seen_ev == NULL)
		sh->seen_ev = evtimer_new(sh->ws->server->base,
		    shell_seen_long, sh);
	evtimer_add(sh->seen_ev, &tv);
}

void
sshell_make_room(struct workspace *w, const char *name)
{
	struct sshell *sh;

	sh = sshell_by_name(w, name);
	if (sh != NULL && sh->seen_ev != NULL)
		sshell_dismiss(sh);
}
