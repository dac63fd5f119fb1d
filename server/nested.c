/* SPDX-License-Identifier: ISC */
/*
 * Terminals in terminals. A client may run inside a shell and show another one
 * there; were the one that it shows to lead back to the one that it runs in,
 * each picture would change the next, for ever. A client says where it runs;
 * who shows what is known here.
 */
#include <stdlib.h>
#include <string.h>

#include "attach.h"
#include "base/mem.h"

/* The shell that a client runs in, if it is one of ours. */
static const struct sshell *
nested_inside(const struct sclient *c)
{
	const struct sshell *sh = NULL;
	struct workspace *w;
	char *name, *colon;

	if (c->inside == NULL)
		return NULL;
	name = xstrdup(c->inside);
	if ((colon = strrchr(name, ':')) != NULL) {
		*colon = '\0';
		if ((w = workspace_known(c->server, name)) != NULL)
			sh = sshell_by_name(w, colon + 1);
	}
	free(name);
	return sh;
}

/* Does what is shown inside `from` lead to `to`? Their ids are the agent's: the
 * same shell by two names is one. *via: through which one. */
static bool
nested_leads(struct server *s, uint64_t from, uint64_t to, unsigned int round,
    const struct sshell **via)
{
	const struct sshell *in;
	struct attachment *a;

	TAILQ_FOREACH(a, &s->atts, entry) {
		if (a->nested_round == round || a->sh == NULL)
			continue;
		in = nested_inside(a->client);
		if (in == NULL || in->uid != from)
			continue;
		a->nested_round = round;
		if (a->sh->uid == to || nested_leads(s, a->sh->uid, to, round,
		    via)) {
			*via = a->sh;
			return true;
		}
	}
	return false;
}

char *
nested_refusal(struct attachment *a, const struct sshell *sh)
{
	static unsigned int round;
	const struct sshell *in, *via = NULL;

	if ((in = nested_inside(a->client)) == NULL)
		return NULL;
	if (in->uid == sh->uid)
		return xasprintf("this is %s:%s; it would show itself in "
		    "itself", sh->ws->name, sh->name);
	if (!nested_leads(a->server, sh->uid, in->uid, ++round, &via))
		return NULL;
	if (via->uid == in->uid)
		return xasprintf("%s:%s shows %s:%s, which this is: each would "
		    "show the other for ever", sh->ws->name, sh->name,
		    in->ws->name, in->name);
	return xasprintf("%s:%s shows %s:%s, and that leads back to %s:%s, "
	    "which this is", sh->ws->name, sh->name, via->ws->name, via->name,
	    in->ws->name, in->name);
}
