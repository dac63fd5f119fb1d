/* SPDX-License-Identifier: ISC */
/*
 * The progress line; see progress.h.
 */
#include <stdlib.h>
#include <string.h>

#include "../server/base/mem.h"
#include "progress.h"
#include "say.h"

struct progress {
	struct event	*timer;
	char		*text;		/* NULL: nothing going on */
	bool		 shown;
};

static void
progress_due(evutil_socket_t fd, short what, void *arg)
{
	struct progress *p = arg;

	(void)fd;
	(void)what;
	p->shown = true;
	if (p->text != NULL)
		say_progress(p->text);
}

struct progress *
progress_new(struct event_base *base)
{
	struct progress *p = xcalloc(1, sizeof *p);

	p->timer = evtimer_new(base, progress_due, p);
	return p;
}

void
progress_free(struct progress *p)
{
	if (p == NULL)
		return;
	progress_text(p, NULL);
	event_free(p->timer);
	free(p);
}

void
progress_text(struct progress *p, const char *text)
{
	static const struct timeval second = { 1, 0 };

	free(p->text);
	p->text = text != NULL ? xstrdup(text) : NULL;
	if (text == NULL) {
		event_del(p->timer);
		if (p->shown)
			say_progress(NULL);
		p->shown = false;
	} else if (p->shown)
		say_progress(text);
	else if (!evtimer_pending(p->timer, NULL))
		evtimer_add(p->timer, &second);
}

void
progress_link(struct progress *p, const struct msg_link *l)
{
	char *s;

	if (l->state == LINK_UP || l->state == LINK_FAILED) {
		progress_text(p, NULL);
		return;
	}
	if (l->text[0] != '\0' && strcmp(l->text, "connecting") != 0)
		s = xasprintf("connecting to %s: %s", l->workspace, l->text);
	else
		s = xasprintf("connecting to %s ...", l->workspace);
	progress_text(p, s);
	free(s);
}
