/* SPDX-License-Identifier: ISC */
/*
 * Round trips that an operation costs: how much longer it takes when the link
 * is that much longer, in units of its round trip.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

#define DELAY	50.0		/* each way */

struct trip {
	const char	*metric, *variant, *name;
	struct subject	 subject;
	void		(*before)(struct bench *);
	double		 least[2];	/* near, far */
	bool		 failed;
};

static void
let_go(struct bench *b)
{
	child_run(b, dl(b, "disconnect", far_workspace(HOST_FAR), NULL), NULL,
	    NULL, 10000);
}

static void
forget(struct bench *b)
{
	far_forget(b, HOST_FAR, true);
}

/* One sample more of a trip, kept if it is the least: what a busy machine
 * adds is no trip. */
static bool
trip_sample(struct bench *b, struct trip *t, int far)
{
	char *cause = NULL;
	double v;

	/* Getting there is not what is measured. */
	far_delay(b, 0);
	if (t->before != NULL)
		t->before(b);
	far_delay(b, far ? DELAY : 0);
	v = t->subject.sample(b, &t->subject, &cause);
	far_delay(b, 0);
	/* What is still on its way would hold up the next. */
	if (far)
		sleep_ms(3 * DELAY);
	if (v < 0) {
		bench_fail(b, "%s/%s/%s: %s", t->metric, t->variant, t->name,
		    cause != NULL ? cause : "failed");
		free(cause);
		t->failed = true;
		return false;
	}
	if (t->least[far] == 0 || v < t->least[far])
		t->least[far] = v;
	return true;
}

static void
trips_run(struct bench *b, struct trip *t, size_t n, int rounds)
{
	struct series *s;
	size_t i;
	int r;

	for (r = 0; r < rounds; r++)
		for (i = 0; i < n; i++)
			if (!t[i].failed && trip_sample(b, &t[i], 0))
				trip_sample(b, &t[i], 1);
	for (i = 0; i < n; i++) {
		if (t[i].failed)
			continue;
		s = series_get(b, t[i].metric, t[i].variant, t[i].name,
		    "trips");
		series_command(s, t[i].subject.argv);
		series_add(s, (t[i].least[1] - t[i].least[0]) / (2 * DELAY));
	}
}

static struct trip
trip_of(const char *metric, const char *variant, const char *name,
    char **argv, void (*before)(struct bench *))
{
	struct trip t;

	memset(&t, 0, sizeof t);
	t.metric = metric;
	t.variant = variant;
	t.name = name;
	t.subject.sample = child_sample;
	t.subject.argv = argv;
	t.before = before;
	return t;
}

static void
trips_warm(struct bench *b, const char *ws, int rounds)
{
	struct trip t[8];
	struct frame *f = frame_new(24, 80);
	char *paint = xfmt("%s:trip", ws), *cat = xfmt("%s:tripcat", ws);
	struct attach at = { dl(b, "attach", paint, NULL), "\034d", f };
	size_t n = 0;

	dl_ok(b, "new", paint, "--", b->self, "--role", "paint", "24", "80",
	    NULL);
	dl_ok(b, "new", cat, "--", "/bin/cat", NULL);
	dl_ok(b, "exec", ws, "--", "true", NULL);
	far_master(b, HOST_FAR);
	sleep_ms(800);
	t[n++] = trip_of("rtt_exec", "warm", "dlmux", dl(b, "exec", ws, "--",
	    "true", NULL), NULL);
	t[n++] = trip_of("rtt_exec", "warm", "master", far_ssh(b, "master",
	    HOST_FAR, "true", NULL), NULL);
	t[n++] = trip_of("rtt_exec", "warm", "fresh", far_ssh(b, "fresh",
	    HOST_FAR, "true", NULL), NULL);
	t[n++] = trip_of("rtt_send", "warm", "dlmux", dl(b, "send", cat,
	    "text", NULL), NULL);
	t[n++] = trip_of("rtt_new", "warm", "dlmux", dl(b, "new", ws, "--",
	    "/bin/cat", NULL), NULL);
	t[n++] = trip_of("rtt_ls", "warm", "dlmux", dl(b, "ls", NULL), NULL);
	t[n++] = trip_of("rtt_capture", "warm", "dlmux", dl(b, "capture",
	    paint, NULL), NULL);
	t[n] = trip_of("rtt_attach", "warm", "dlmux", at.argv, NULL);
	t[n].subject.sample = attach_shown;
	t[n++].subject.arg = &at;
	trips_run(b, t, n, rounds);
	far_master_end(b, HOST_FAR);
	child_run(b, dl(b, "kill", "-a", ws, NULL), NULL, NULL, 10000);
	frame_free(f);
	free(paint);
	free(cat);
}

void
group_trips(struct bench *b)
{
	const char *ws = far_workspace(HOST_FAR);
	char **link = dl(b, "connect", ws, NULL), **fresh;
	int rounds = b->quick ? 2 : 5;
	struct trip t[4];

	if (!far_start(b))
		return;
	far_rate(b, 0);
	far_delay(b, 0);
	trips_warm(b, ws, rounds);
	fresh = far_ssh(b, "fresh", HOST_FAR, "true", NULL);
	t[0] = trip_of("rtt_bootstrap", "warm", "dlmux", link, let_go);
	t[1] = trip_of("rtt_bootstrap", "warm", "fresh", fresh, NULL);
	t[2] = trip_of("rtt_bootstrap", "cold", "dlmux", link, forget);
	t[3] = trip_of("rtt_bootstrap", "cold", "fresh", fresh, NULL);
	/* The agent must be there for a warm one: each pair by itself. */
	trips_run(b, t, 2, rounds);
	trips_run(b, t + 2, 2, rounds);
}
