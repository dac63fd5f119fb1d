/* SPDX-License-Identifier: ISC */
/*
 * What an ATTACH is about, and what there is to wait for. A shell that is known
 * is shown at once, from its mirror, also while the link is down; one that is
 * not waits for the link, is made if that was asked, or is refused in words.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attach.h"
#include "base/clock.h"
#include "base/mem.h"

#define NAMES_TRIED	5

static bool
attach_other_agent(const struct attachment *a, const uint8_t agent[MSG_ID])
{
	static const uint8_t zero[MSG_ID];

	return a->ws->up && memcmp(agent, zero, MSG_ID) != 0 &&
	    memcmp(agent, a->ws->agent, MSG_ID) != 0;
}

/* The shell n places after (before) the one named, those that can be shown. */
static struct sshell *
attach_neighbour(struct workspace *w, const char *name, bool prev)
{
	struct sshell *sh, *first = NULL, *last = NULL, *before = NULL;
	struct sshell *here = NULL, *after = NULL;

	TAILQ_FOREACH(sh, &w->shells, entry) {
		bool named = strcmp(sh->name, name) == 0;

		if (!named && (sh->state != SHELL_RUNNING ||
		    sh->mirror == NULL))
			continue;
		if (first == NULL)
			first = sh;
		if (here != NULL && after == NULL)
			after = sh;
		if (named && here == NULL) {
			here = sh;
			before = last;
		}
		last = sh;
	}
	if (prev)
		return before != NULL ? before : last;
	return after != NULL ? after : first;
}

static struct sshell *
attach_find(struct attachment *a)
{
	const struct msg_attach *m = &a->want;
	struct sshell *sh;

	if (a->want_uid != 0)
		return sshell_by_uid(a->ws, a->want_uid);
	if (m->flags & ATTACH_AGAIN)
		return sshell_by_uid(a->ws, m->uid);
	if (m->flags & ATTACH_FRESH)
		return NULL;
	if (m->flags & (ATTACH_NEXT | ATTACH_PREV))
		return attach_neighbour(a->ws, m->shell,
		    (m->flags & ATTACH_PREV) != 0);
	sh = sshell_by_name(a->ws, m->shell);
	/* Its end was seen: this is about a new one. */
	if (sh != NULL && sh->seen_ev != NULL && (m->flags & ATTACH_CREATE))
		return NULL;
	return sh;
}

/* "1", "2", ...: the lowest that no shell here has. */
static char *
attach_fresh_name(struct workspace *w, unsigned int skip)
{
	unsigned int n;
	char *name;

	for (n = 1;; n++) {
		name = xasprintf("%u", n);
		if (sshell_by_name(w, name) == NULL && skip-- == 0)
			return name;
		free(name);
	}
}

static char **
attach_env(const struct attachment *a, const char *shell)
{
	const struct chan *ch = chan_find(a->client, a->channel);
	char *const *from = a->want.env, *const *sent = NULL;
	size_t i, n = 0;
	char **env;

	if (ch != NULL)
		sent = ch->sent_env;
	env = xcalloc((from != NULL ? strv_len(from) : 0) +
	    (sent != NULL ? strv_len(sent) : 0) + 2, sizeof *env);
	/* Later ones win: what is meant for this shell before SendEnv. */
	for (i = 0; sent != NULL && sent[i] != NULL; i++)
		env[n++] = xstrdup(sent[i]);
	for (i = 0; from != NULL && from[i] != NULL; i++)
		env[n++] = xstrdup(from[i]);
	env[n] = xasprintf("DLMUX=%s:%s", a->ws->name, shell);
	return env;
}

static void
attach_create(struct attachment *a)
{
	struct msg_attach *w = &a->want;
	char *none[] = { NULL };
	struct msg_open m;
	bool fresh = (w->flags & ATTACH_FRESH) != 0;

	if (a->asked && memcmp(a->asked_agent, a->ws->agent, MSG_ID) != 0) {
		attach_refuse(a, LEFT_LOST, "%s was started anew while the "
		    "shell was being made", a->ws->name);
		return;
	}
	memset(&m, 0, sizeof m);
	memcpy(m.op, w->op, MSG_ID);
	memcpy(m.agent, a->ws->agent, MSG_ID);
	m.kind = OP_NEW;
	m.how = fresh ? 0 : NEW_OR_FIND;
	m.probe = a->ws->probe;
	m.rows = (uint16_t)a->rows;
	m.cols = (uint16_t)a->cols;
	size_at_birth(a->ws, &a->own, &m.rows, &m.cols);
	m.shell = fresh ? attach_fresh_name(a->ws, a->tries) :
	    xstrdup(w->shell);
	m.cwd = xstrdup("");
	m.env = attach_env(a, m.shell);
	m.argv = w->argv != NULL ? w->argv : none;
	sshell_make_room(a->ws, m.shell);
	a->asked = true;
	memcpy(a->asked_agent, a->ws->agent, MSG_ID);
	a->relay = relay_create(a->ws, a, &m);
	free(m.shell);
	free(m.cwd);
	strv_free(m.env);
}

void
attach_created(struct attachment *a, uint8_t type, const uint8_t *data,
    size_t len)
{
	struct msg_started m;
	struct rd r;
	uint16_t code;
	char *text;

	a->relay = NULL;
	if (type == 0)
		return;		/* the link is lost: asked again by its id */
	if (type == F_STARTED) {
		if (msg_started_get(&m, data, len) == -1) {
			attach_refuse(a, LEFT_REFUSED, "%s: a damaged answer",
			    a->ws->name);
			return;
		}
		a->want_uid = m.uid;
		a->made_ms = clock_ms();
		msg_started_free(&m);
		workspace_changed(a->ws);
		return;
	}
	rd_init(&r, data, len);
	code = rd_u16(&r);
	text = rd_str(&r, 4096);
	if (code == R_EXISTS && (a->want.flags & ATTACH_FRESH) &&
	    ++a->tries < NAMES_TRIED) {
		random_bytes(a->want.op, MSG_ID);
		workspace_changed(a->ws);
	} else
		attach_refuse(a, code == R_OTHER_AGENT || code == R_UNKNOWN_OP ?
		    LEFT_LOST : LEFT_REFUSED, "%s: %s", a->ws->name,
		    text != NULL && *text != '\0' ? text : refusal_words(code));
	free(text);
}

/* There is no shell to show (yet). */
static void
attach_missing(struct attachment *a)
{
	struct workspace *w = a->ws;
	struct msg_attach *m = &a->want;
	const char *text;

	if (!w->up) {
		/* Who was here before waits, be it for himself. */
		if (!workspace_unreachable(w) || ((m->flags & ATTACH_AGAIN) &&
		    (workspace_retrying(w) || link_held(w->link))))
			return;
		text = workspace_text(w);
		attach_refuse(a, LEFT_REFUSED, "%s: %s", w->name,
		    *text != '\0' ? text : "not connected");
		return;
	}
	if (a->relay != NULL || !w->ready)
		return;
	if (a->want_uid != 0) {
		if (clock_ms() - a->made_ms > MADE_WAIT_MS)
			attach_refuse(a, LEFT_LOST, "%s:%s is gone at once",
			    w->name, m->shell);
	} else if (m->flags & ATTACH_AGAIN)
		attach_refuse(a, LEFT_LOST, attach_other_agent(a, m->agent) ?
		    "%s:%s is lost: %s was started anew" :
		    "%s:%s is gone: it ended or was dismissed while nobody "
		    "here was connected to %s", w->name, m->shell, w->name);
	else if (m->flags & (ATTACH_CREATE | ATTACH_FRESH))
		attach_create(a);
	else
		attach_refuse(a, LEFT_REFUSED, "%s:%s: no such shell",
		    w->name, m->shell);
}

/* Lines for the terminal's own history that are on their way: those that it
 * missed, or was promised. */
static bool
attach_lacks(const struct attachment *a, const struct sshell *sh)
{
	struct mirror *m = sh->mirror;
	uint64_t ms = clock_ms() - a->pending_ms;

	if (!sh->ws->up || m == NULL)
		return false;
	if (a->want.lines == UINT64_MAX)
		return !a->painted && past_wanted(m, a->above) &&
		    ms <= HISTORY_HOLD_MS;
	return past_behind(m, a->want.lines) && past_wanted(m, UINT32_MAX) &&
	    ms <= REPLAY_HOLD_MS;
}

void
attach_try(struct attachment *a)
{
	struct sshell *sh;

	if (!a->pending)
		return;
	if (a->asked && a->want_uid == 0) {
		/* Being made; or the link went, and it is asked for again. */
		if (a->relay == NULL && a->ws->up && a->ws->ready)
			attach_create(a);
		else if (a->relay == NULL)
			attach_missing(a);
		return;
	}
	if ((sh = attach_find(a)) == NULL) {
		attach_missing(a);
		return;
	}
	if (sh->state == SHELL_LOST) {
		char *why = xstrdup(sh->lost_why != NULL ? sh->lost_why :
		    "it is lost");

		/* Told once: then the name is free again. */
		sshell_free(sh);
		attach_refuse(a, LEFT_LOST, "%s", why);
		free(why);
		return;
	}
	if (attach_lacks(a, sh))
		return;
	if (sshell_visible(sh))
		attach_show(a, sh);
	else if (sh->mirror != NULL && sh->mirror->begun &&
	    clock_ms() - a->pending_ms > REPLAY_HOLD_MS)
		attach_show(a, sh);	/* a long replay: better than nothing */
	else if (!a->ws->up || sh->id == 0)
		attach_missing(a);
}
