/* SPDX-License-Identifier: ISC */
/*
 * TERM, LANG, SendEnv, -e; later ones win. See envlist.h.
 */
#include <stdlib.h>
#include <string.h>

#include "../server/base/buf.h"
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

static void
list_variable(struct list *l, const char *name)
{
	const char *v = getenv(name);
	char *s;

	if (v == NULL || v[0] == '\0')
		return;
	s = xasprintf("%s=%s", name, v);
	list_add(l, s);
	free(s);
}

char **
envlist_make(const char *workspace, char *const *patterns, bool terminal,
    char *const *extra)
{
	struct list l = { NULL, 0, 0 };
	char **sent;
	size_t i;

	if (terminal) {
		list_add(&l, "TERM=xterm-256color");
		list_add(&l, "COLORTERM=truecolor");
	}
	list_variable(&l, "LANG");
	if (strcmp(workspace, "local") == 0)
		list_variable(&l, "DLMUX_INSTANCE");
	sent = sendenv_pick(environ, patterns);
	for (i = 0; sent[i] != NULL; i++)
		list_add(&l, sent[i]);
	strv_free(sent);
	for (i = 0; extra != NULL && extra[i] != NULL; i++)
		list_add(&l, extra[i]);
	if (l.v == NULL)
		l.v = xcalloc(1, sizeof *l.v);
	return l.v;
}
