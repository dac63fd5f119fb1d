/* SPDX-License-Identifier: ISC */
/*
 * What the server writes into its state file and makes of one that it finds.
 * The file itself is state.c's.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "inside.h"

static char *
word(const char *s)
{
	return xstrdup(s != NULL ? s : "");
}

static void
shell_remember(struct state_shell *to, const struct sshell *sh)
{
	memset(to, 0, sizeof *to);
	to->uid = sh->uid;
	to->created_ms = sh->created_ms;
	to->output_ms = sh->output_ms;
	to->ended = sh->state == SHELL_ENDED ? STATE_ENDED :
	    sh->state == SHELL_LOST ? STATE_LOST : STATE_ALIVE;
	to->how = sh->how;
	to->code = sh->code;
	to->rows = sh->rows;
	to->cols = sh->cols;
	to->size = sh->size;
	to->name = word(sh->name);
	to->command = word(sh->command);
	to->title = word(sh->mirror != NULL && sh->mirror->begun ?
	    screen_title(sh->mirror->screen) : sh->title);
	to->signal = word(sh->signal);
}

static void
state_collect(struct server *s, struct state *st)
{
	const struct workspace *w;
	const struct sshell *sh;
	struct state_workspace *to;

	memset(st, 0, sizeof *st);
	memcpy(st->id, s->id, MSG_ID);
	if (s->nworkspaces == 0)
		return;
	st->ws = xcalloc(s->nworkspaces, sizeof *st->ws);
	TAILQ_FOREACH(w, &s->workspaces, entry) {
		to = &st->ws[st->nws++];
		to->name = word(w->name);
		to->reach = word(w->reach);
		to->tries = w->link != NULL ? link_tries(w->link) :
		    word(w->tries);
		if (to->tries == NULL)
			to->tries = word(NULL);
		memcpy(to->agent, w->agent, MSG_ID);
		if (w->nshells == 0)
			continue;
		to->shells = xcalloc(w->nshells, sizeof *to->shells);
		TAILQ_FOREACH(sh, &w->shells, entry)
			shell_remember(&to->shells[to->nshells++], sh);
	}
}

void
state_save(struct server *s)
{
	struct state st;

	state_collect(s, &st);
	if (state_write(&st, s->place->state_file) == -1) {
		if (!s->state_failed)
			log_warn("%s: %s", s->place->state_file,
			    strerror(errno));
		s->state_failed = true;	/* said once, not twice a second */
	} else
		s->state_failed = false;
	state_clear(&st);
}

static void
state_due(int fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	state_save(arg);
}

void
state_later(struct server *s)
{
	struct timeval tv = { STATE_DELAY_MS / 1000,
	    (STATE_DELAY_MS % 1000) * 1000 };

	if (s->stopping || s->state_ev == NULL)
		return;
	if (!evtimer_pending(s->state_ev, NULL))
		evtimer_add(s->state_ev, &tv);
}

static void
workspace_recall(struct server *s, const struct state_workspace *from)
{
	static const uint8_t zero[MSG_ID];
	struct workspace *w;
	struct sshell *sh;
	char *cause = NULL;
	size_t i;

	if ((w = workspace_new(s, from->name, from->reach, &cause)) == NULL) {
		free(cause);
		return;
	}
	w->tries = word(from->tries);
	memcpy(w->agent, from->agent, MSG_ID);
	w->agent_known = memcmp(w->agent, zero, MSG_ID) != 0;
	for (i = 0; i < from->nshells; i++) {
		const struct state_shell *o = &from->shells[i];

		sh = sshell_new(w, o->uid, o->name);
		free(sh->command);
		free(sh->title);
		free(sh->signal);
		sh->command = word(o->command);
		sh->title = word(o->title);
		sh->signal = word(o->signal);
		sh->created_ms = o->created_ms;
		sh->output_ms = o->output_ms;
		sh->rows = o->rows;
		sh->cols = o->cols;
		sh->size = o->size;
		sh->how = o->how;
		sh->code = o->code;
		if (o->ended == STATE_LOST)
			sshell_set_lost(sh);
		else if (o->ended)
			sh->state = SHELL_ENDED;
	}
}

void
state_load(struct server *s)
{
	struct state st;
	char *cause = NULL;
	size_t i;

	s->state_ev = evtimer_new(s->base, state_due, s);
	if (state_read(&st, s->place->state_file, &cause) == 0) {
		memcpy(s->id, st.id, MSG_ID);
		for (i = 0; i < st.nws; i++)
			workspace_recall(s, &st.ws[i]);
		state_clear(&st);
		return;
	}
	if (cause != NULL)
		log_warn("%s", cause);
	s->news = cause;
	random_bytes(s->id, MSG_ID);
	state_later(s);
}
