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

/* The least: what a busy machine adds is no trip. */
static double
least_at(struct bench *b, const struct trip *t, double delay, int rounds,
    char **cause)
{
	double v, least = -1;
	int i;

	for (i = 0; i < rounds; i++) {
		/* Getting there is not what is measured. */
		far_delay(b, 0);
		if (t->before != NULL)
			t->before(b);
		far_delay(b, delay);
		v = t->subject.sample(b, &t->subject, cause);
		if (v < 0)
			return -1;
		if (least < 0 || v < least)
			least = v;
	}
	return least;
}

static void
trip(struct bench *b, const struct trip *t, int rounds)
{
	struct series *s;
	double near, far;
	char *cause = NULL;

	near = least_at(b, t, 0, rounds, &cause);
	far = near < 0 ? -1 : least_at(b, t, DELAY, rounds, &cause);
	if (far < 0) {
		bench_fail(b, "%s/%s/%s: %s", t->metric, t->variant, t->name,
		    cause != NULL ? cause : "failed");
		free(cause);
		return;
	}
	s = series_get(b, t->metric, t->variant, t->name, "trips");
	series_command(s, t->subject.argv);
	series_add(s, (far - near) / (2 * DELAY));
}

void
group_trips(struct bench *b)
{
	struct frame *f;
	const char *ws = far_workspace(HOST_FAR);
	char *paint = xfmt("%s:trip", ws), *cat = xfmt("%s:tripcat", ws);
	struct attach at;
	int rounds = bench_rounds(b, 50) < 5 ? 3 : 5;
	size_t i;

	if (!far_start(b))
		return;
	far_rate(b, 0);
	far_delay(b, 0);
	f = frame_new(24, 80);
	at = (struct attach){ dl(b, "attach", paint, NULL), "\034d", f };
	dl_ok(b, "new", paint, "--", b->self, "--role", "paint", "24", "80",
	    NULL);
	dl_ok(b, "new", cat, "--", "/bin/cat", NULL);
	dl_ok(b, "exec", ws, "--", "true", NULL);
	far_master(b, HOST_FAR);
	sleep_ms(800);
	{
		const struct trip trips[] = {
			{ "rtt_exec", "warm", "dlmux", { "", child_sample, NULL,
			    dl(b, "exec", ws, "--", "true", NULL), 0 }, NULL },
			{ "rtt_exec", "warm", "master", { "", child_sample,
			    NULL, far_ssh(b, "master", HOST_FAR, "true", NULL),
			    0 }, NULL },
			{ "rtt_exec", "warm", "fresh", { "", child_sample, NULL,
			    far_ssh(b, "fresh", HOST_FAR, "true", NULL), 0 },
			    NULL },
			{ "rtt_send", "warm", "dlmux", { "", child_sample, NULL,
			    dl(b, "send", cat, "text", NULL), 0 }, NULL },
			{ "rtt_new", "warm", "dlmux", { "", child_sample, NULL,
			    dl(b, "new", ws, "--", "/bin/cat", NULL), 0 },
			    NULL },
			{ "rtt_attach", "warm", "dlmux", { "", attach_shown,
			    &at, at.argv, 0 }, NULL },
			{ "rtt_ls", "warm", "dlmux", { "", child_sample, NULL,
			    dl(b, "ls", NULL), 0 }, NULL },
			{ "rtt_capture", "warm", "dlmux", { "", child_sample,
			    NULL, dl(b, "capture", paint, NULL), 0 }, NULL },
			{ "rtt_bootstrap", "warm", "dlmux", { "", child_sample,
			    NULL, dl(b, "connect", ws, NULL), 0 }, let_go },
			{ "rtt_bootstrap", "warm", "fresh", { "", child_sample,
			    NULL, far_ssh(b, "fresh", HOST_FAR, "true", NULL),
			    0 }, NULL },
			{ "rtt_bootstrap", "cold", "dlmux", { "", child_sample,
			    NULL, dl(b, "connect", ws, NULL), 0 }, forget },
			{ "rtt_bootstrap", "cold", "fresh", { "", child_sample,
			    NULL, far_ssh(b, "fresh", HOST_FAR, "true", NULL),
			    0 }, NULL },
		};

		for (i = 0; i < sizeof trips / sizeof trips[0]; i++)
			trip(b, &trips[i], rounds);
	}
	far_delay(b, 0);
	far_master_end(b, HOST_FAR);
	child_run(b, dl(b, "kill", "-a", ws, NULL), NULL, NULL, 10000);
	frame_free(f);
	free(paint);
	free(cat);
}
