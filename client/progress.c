/* SPDX-License-Identifier: ISC */
/*
 * The progress line; see progress.h.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../server/base/buf.h"
#include "../server/base/clock.h"
#include "../server/base/mem.h"
#include "progress.h"
#include "say.h"

struct progress {
	struct event	*timer;
	char		*text;		/* NULL: nothing going on */
	bool		 shown;
	char		*about;		/* "connecting to ssh:web" */
	uint64_t	 since_us;	/* of the last word: for the rate */
};

#define BAR	12

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
	free(p->about);
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

	p->since_us = clock_us();
	free(p->about);
	p->about = xasprintf("connecting to %s", l->workspace);
	if (l->state == LINK_UP || l->state == LINK_FAILED) {
		progress_text(p, NULL);
		return;
	}
	if (l->text[0] != '\0' && strcmp(l->text, "connecting") != 0)
		s = xasprintf("%s: %s", p->about, l->text);
	else
		s = xasprintf("%s ...", p->about);
	progress_text(p, s);
	free(s);
}

void
progress_sent(struct progress *p, const uint8_t *data, size_t len)
{
	char bar[BAR + 1], rate[32] = "", *s;
	uint64_t sent, of, now = clock_us();
	struct rd r;

	rd_init(&r, data, len);
	sent = rd_u64(&r);
	of = rd_u64(&r);
	if (!rd_end(&r) || of == 0 || sent > of || p->about == NULL)
		return;
	if (now > p->since_us)
		(void)snprintf(rate, sizeof rate, ", %.0f kB/s",
		    (double)sent * 1e3 / (double)(now - p->since_us));
	memset(bar, '.', BAR);
	memset(bar, '#', (size_t)(sent * BAR / of));
	bar[BAR] = '\0';
	s = xasprintf("%s: sending the agent [%s] %u %%%s", p->about, bar,
	    (unsigned int)(sent * 100 / of), rate);
	progress_text(p, s);
	free(s);
}
