/* SPDX-License-Identifier: ISC */
/*
 * Colours for programs that ask: those of the terminal that the user last typed
 * at. It is asked for them when a program first wants to know, and remembered:
 * here, and with every agent, for the keeper and for the next server.
 */
#include <stdlib.h>
#include <string.h>

#include "attach.h"
#include "base/mem.h"

static unsigned int
set_of(int which)
{
	return which >= 16 && which < 256 ? ENQUIRE_REST : ENQUIRE_BASE;
}

const struct theme *
colours_find(struct sshell *sh, int which, bool late)
{
	static struct theme none;	/* stays so */
	const struct server *s = sh->ws->server;
	struct attachment *a = attach_newest(sh);
	unsigned int set = set_of(which);
	uint8_t wanted = (uint8_t)set;

	if (a == NULL)
		return s->theme != NULL ? s->theme : sh->ws->theme != NULL ?
		    sh->ws->theme : &none;
	if (a->theme.known[which] || !caps_flag(a->caps, CAPS_COLOURS) ||
	    (a->told & set))
		return &a->theme;
	if (!(a->enquired & set)) {
		a->enquired |= set;
		sclient_send(a->client, CONN_CONTROL, F_ENQUIRE, a->channel,
		    &wanted, 1);
	}
	if (!late)
		return NULL;
	/* One that does not answer keeps nobody waiting again. */
	a->told |= set;
	return theme_any(&a->theme) || s->theme == NULL ? &a->theme :
	    s->theme;
}

static void
colours_send(struct workspace *w, const struct theme *t)
{
	struct buf b;

	buf_init(&b, WIRE_THEME_MAX);
	theme_put(t, &b);
	if (w->up)
		link_send_buf(w->link, CONN_CONTROL, F_THEME, 0, &b);
	buf_free(&b);
}

void
colours_tell(struct workspace *w)
{
	if (w->server->theme != NULL)
		colours_send(w, w->server->theme);
}

void
colours_told(struct workspace *w, const uint8_t *data, size_t len)
{
	struct theme *t = xcalloc(1, sizeof *t);

	if (theme_get(t, data, len) == -1 || !theme_any(t)) {
		free(t);
		return;
	}
	free(w->theme);
	w->theme = t;
}

void
colours_current(struct attachment *a)
{
	struct server *s = a->server;
	struct workspace *w;

	if (!theme_any(&a->theme) || (s->theme != NULL &&
	    memcmp(s->theme, &a->theme, sizeof a->theme) == 0))
		return;
	if (s->theme == NULL)
		s->theme = xmalloc(sizeof *s->theme);
	*s->theme = a->theme;
	TAILQ_FOREACH(w, &s->workspaces, entry)
		colours_send(w, s->theme);
}

/* Whoever waited for it. */
static void
colours_pump(struct server *s)
{
	struct workspace *w;
	struct sshell *sh;

	TAILQ_FOREACH(w, &s->workspaces, entry)
		TAILQ_FOREACH(sh, &w->shells, entry)
			if (sh->mirror != NULL)
				questions_pump(sh->mirror->questions);
}

void
colours_frame(struct attachment *a, const uint8_t *data, size_t len)
{
	const struct attachment *o;
	struct theme t;
	uint8_t flags;

	if (len == 0)
		return;
	flags = data[0];
	if (flags & COLOURS_ASKING) {
		memset(&a->theme, 0, sizeof a->theme);
		a->enquired = ENQUIRE_BASE;
		a->told = 0;
		return;
	}
	if (!(flags & COLOURS_DONE) || theme_get(&t, data + 1, len - 1) == -1)
		return;
	a->theme = t;
	a->enquired |= ENQUIRE_BASE;
	a->told |= a->enquired;
	if (theme_any(&t)) {
		view_follow(a->view, flags & COLOURS_REPORTS ? MODE_THEME :
		    MODE_FOCUS);
		a->dirty = true;
	}
	TAILQ_FOREACH(o, &a->server->atts, entry)
		if (!o->read_only && o->order > a->order)
			break;
	if (o == NULL && !a->read_only)
		colours_current(a);
	colours_pump(a->server);
	server_later(a->server);
}
