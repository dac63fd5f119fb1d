/* SPDX-License-Identifier: ISC */
/* The stop-watch; contract in trace.h. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/clock.h"
#include "../base/mem.h"
#include "trace.h"

static const char *const names[PHASES] = {
	[PHASE_TRANSPORT] = "transport",
	[PHASE_FIRST_BYTE] = "first-byte",
	[PHASE_LOGIN] = "login",
	[PHASE_AGENT] = "agent",
	[PHASE_UPLOAD] = "upload",
	[PHASE_CONFIRM] = "confirm",
	[PHASE_HELLO] = "hello",
	[PHASE_SHELLS] = "shells",
};

const char *
trace_phase(enum phase phase)
{
	return names[phase];
}

void
trace_clear(struct trace *t)
{
	size_t i;

	if (t == NULL)
		return;
	for (i = 0; i < t->nfacts; i++)
		free(t->fact[i].value);
	free(t->why);
	memset(t, 0, sizeof *t);
}

void
trace_begin(struct trace *t)
{
	if (t == NULL)
		return;
	trace_clear(t);
	t->begun = t->running = true;
	t->goes = 1;
	t->began_ms = clock_ms();
	t->began_us = t->last_us = clock_us();
	trace_enter(t, PHASE_TRANSPORT);
}

static struct trace_step *
running(struct trace *t)
{
	return t != NULL && t->running && t->nsteps > 0 ?
	    &t->step[t->nsteps - 1] : NULL;
}

/* Up to now was the running phase's. */
static void
account(struct trace *t)
{
	struct trace_step *s = running(t);
	uint64_t now = clock_us();

	if (t->asking_us != 0) {
		if (s != NULL)
			s->asked_us += now - t->asking_us;
		t->asking_us = now;
	}
	if (s != NULL)
		s->us += now - t->last_us;
	t->last_us = now;
}

void
trace_enter(struct trace *t, enum phase phase)
{
	if (t == NULL || !t->running)
		return;
	account(t);
	if (t->nsteps == TRACE_STEPS)
		return;		/* the last takes the rest */
	memset(&t->step[t->nsteps], 0, sizeof t->step[0]);
	t->step[t->nsteps++].phase = phase;
}

void
trace_bytes(struct trace *t, uint64_t bytes)
{
	struct trace_step *s = running(t);

	if (s != NULL)
		s->bytes = bytes;
}

void
trace_asking(struct trace *t, bool on)
{
	if (t == NULL || !t->running || on == (t->asking_us != 0))
		return;
	account(t);
	t->asking_us = on ? t->last_us : 0;
	t->questions += on;
}

void
trace_again(struct trace *t)
{
	if (t == NULL || !t->running)
		return;
	t->goes++;
	trace_enter(t, PHASE_TRANSPORT);
}

void
trace_trip(struct trace *t)
{
	if (t != NULL && t->running)
		t->trips++;
}

void
trace_fact(struct trace *t, const char *name, const char *how,
    const char *fmt, ...)
{
	struct trace_fact *f;
	va_list ap;
	size_t i;

	if (t == NULL || !t->running)
		return;
	/* A second go knows better. */
	for (i = 0; i < t->nfacts && strcmp(t->fact[i].name, name) != 0; i++)
		;
	if (i == TRACE_FACTS)
		return;
	f = &t->fact[i];
	free(f->value);
	f->name = name;
	f->how = how;
	va_start(ap, fmt);
	if (vasprintf(&f->value, fmt, ap) == -1)
		f->value = xstrdup("");
	va_end(ap);
	if (i == t->nfacts)
		t->nfacts++;
}

static void
end(struct trace *t)
{
	account(t);
	t->ended_us = t->last_us;
	t->running = false;
}

void
trace_up(struct trace *t, uint32_t shells)
{
	if (t == NULL || !t->running)
		return;
	end(t);
	t->up = true;
	t->shells = shells;
}

void
trace_failed(struct trace *t, const char *why)
{
	if (t == NULL || !t->running)
		return;
	end(t);
	t->why = xstrdup(why);
}
