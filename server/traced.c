/* SPDX-License-Identifier: ISC */
/*
 * The last connect of each workspace, kept for whoever asks where the time
 * went or why it failed. The link presses the stop-watch (link/trace.h); here
 * it is only remembered and told.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "inside.h"

struct traced {
	TAILQ_ENTRY(traced)	 entry;
	char			*workspace;	/* canonical */
	struct trace		 trace;
};

static struct traced *
traced_find(struct server *s, const char *workspace)
{
	struct traced *t;

	TAILQ_FOREACH(t, &s->traces, entry)
		if (strcmp(t->workspace, workspace) == 0)
			return t;
	return NULL;
}

static void
traced_free(struct server *s, struct traced *t)
{
	TAILQ_REMOVE(&s->traces, t, entry);
	trace_clear(&t->trace);
	free(t->workspace);
	free(t);
}

/* Of those whose workspace is known no more, the oldest go. */
static void
traced_trim(struct server *s)
{
	struct traced *t, *prev;
	unsigned int n = 0;

	TAILQ_FOREACH(t, &s->traces, entry)
		n++;
	for (t = TAILQ_LAST(&s->traces, traceds); t != NULL &&
	    n > TRACES_MAX; t = prev) {
		prev = TAILQ_PREV(t, traceds, entry);
		if (workspace_find(s, t->workspace) == NULL) {
			traced_free(s, t);
			n--;
		}
	}
}

struct trace *
traced_for(struct server *s, const char *workspace)
{
	struct traced *t = traced_find(s, workspace);

	if (t != NULL)
		return &t->trace;
	traced_trim(s);
	t = xcalloc(1, sizeof *t);
	t->workspace = xstrdup(workspace);
	TAILQ_INSERT_HEAD(&s->traces, t, entry);
	return &t->trace;
}

void
traced_clear(struct server *s)
{
	struct traced *t;

	while ((t = TAILQ_FIRST(&s->traces)) != NULL)
		traced_free(s, t);
}

static void
traced_tell(struct sclient *c, uint32_t channel, const char *workspace,
    const struct trace *t)
{
	struct fields f = { { NULL }, 0 };
	size_t i;

	field(&f, "workspace=%s", workspace);
	field(&f, "state=%s", t->running ? "connecting" : t->up ? "up" :
	    "failed");
	field(&f, "text=%s", t->why != NULL ? t->why : "");
	field(&f, "ago_ms=%" PRIu64, clock_ms() - t->began_ms);
	field(&f, "total_us=%" PRIu64, (t->running ? clock_us() :
	    t->ended_us) - t->began_us);
	field(&f, "questions=%u", t->questions);
	field(&f, "goes=%u", t->goes);
	field(&f, "trips=%u", t->trips);
	field(&f, "shells=%u", t->shells);
	row_send(c, channel, 'c', &f);
	for (i = 0; i < t->nsteps; i++) {
		field(&f, "phase=%s", trace_phase(t->step[i].phase));
		field(&f, "us=%" PRIu64, t->step[i].us);
		field(&f, "asked_us=%" PRIu64, t->step[i].asked_us);
		field(&f, "bytes=%" PRIu64, t->step[i].bytes);
		row_send(c, channel, 'p', &f);
	}
	for (i = 0; i < t->nfacts; i++) {
		field(&f, "fact=%s", t->fact[i].name);
		field(&f, "how=%s", t->fact[i].how);
		field(&f, "value=%s", t->fact[i].value);
		row_send(c, channel, 'f', &f);
	}
}

bool
traced_try(struct request *r)
{
	struct server *s = r->server;
	struct workspace *w = r->ws;
	struct traced *t;

	if (w == NULL)
		t = traced_find(s, r->shell);
	else if (r->patient && (workspace_state(w) == LINK_CONNECTING ||
	    (w->up && !w->ready)))
		return false;
	else
		t = traced_find(s, w->name);
	if (t == NULL || !t->trace.begun)
		sclient_done(r->client, r->channel, R_ERROR, 125, "%s: this "
		    "server has not connected it; see dlmux connect --trace",
		    r->shell);
	else {
		traced_tell(r->client, r->channel, t->workspace, &t->trace);
		sclient_done(r->client, r->channel, R_NONE, 0, "%s", "");
	}
	return true;
}
