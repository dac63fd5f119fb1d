/* SPDX-License-Identifier: ISC */
/*
 * TERM, LANG, SendEnv, -e; later ones win. See envlist.h.
 */
#include <stdlib.h>
#include <string.h>

#include "../server/base/mem.h"
#include "../server/base/sendenv.h"
#include "envlist.h"

extern char **environ;

struct list {
	char	**v;
	size_t	 n, room;
};

static void
list_add(struct list *l, const char *s)
{
	if (l->n + 1 >= l->room) {
		l->room = l->room != 0 ? l->room * 2 : 16;
		l->v = xreallocarray(l->v, l->room, sizeof *l->v);
	}
	l->v[l->n++] = xstrdup(s);
	l->v[l->n] = NULL;
}

char **
envlist_make(const struct msg_link *link, bool terminal, char *const *extra)
{
	struct list l = { NULL, 0, 0 };
	const char *lang;
	char *s, **sent;
	size_t i;

	if (terminal) {
		list_add(&l, "TERM=xterm-256color");
		list_add(&l, "COLORTERM=truecolor");
	}
	if ((lang = getenv("LANG")) != NULL && lang[0] != '\0') {
		s = xasprintf("LANG=%s", lang);
		list_add(&l, s);
		free(s);
	}
	sent = sendenv_pick(environ, link != NULL ? link->send_env : NULL);
	for (i = 0; sent[i] != NULL; i++)
		list_add(&l, sent[i]);
	strv_free(sent);
	for (i = 0; extra != NULL && extra[i] != NULL; i++)
		list_add(&l, extra[i]);
	if (l.v == NULL)
		l.v = xcalloc(1, sizeof *l.v);
	return l.v;
}
