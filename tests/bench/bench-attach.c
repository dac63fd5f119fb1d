/* SPDX-License-Identifier: ISC */
/*
 * Attaching: until the first whole frame, and until the process has ended
 * again after a detach typed at that moment. Every shell shows the same full
 * screen; a frame counts only when each row of it is right.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

/* One attach and one detach; both times. */
static int
attach_once(struct bench *b, const struct attach *a, double *shown,
    double *ended, char **cause)
{
	struct term *t = term_new(a->frame->rows, a->frame->cols);
	double mark, whole;
	int status = -1, r = -1;
	char *screen;

	if (term_spawn(b, t, a->argv, cause) == -1)
		goto out;
	mark = term_see(t, a->frame->mark, 0, 5000);
	/* At once, as somebody who only wanted to look. */
	if (mark >= 0)
		term_type(t, a->detach, strlen(a->detach));
	*ended = term_end(t, 5000, &status);
	whole = term_frame(t, a->frame, 0);
	if (mark < 0 || whole < 0) {
		screen = term_show(t);
		*cause = xfmt("no whole frame; it ended with %d and showed\n"
		    "%s", status, screen);
		free(screen);
		goto out;
	}
	if (*ended < 0 || status != 0) {
		*cause = xfmt("did not end well after detach (status %d)",
		    status);
		goto out;
	}
	/* What came in one piece with the mark may be parsed with it. */
	*shown = whole - term_started(t);
	*ended -= term_started(t);
	r = 0;
out:
	term_free(t);
	return r;
}

double
attach_shown(struct bench *b, const struct subject *s, char **cause)
{
	const struct attach *a = s->arg;
	struct term *t = term_new(a->frame->rows, a->frame->cols);
	double at = -1;
	int status = -1;
	char *screen;

	if (term_spawn(b, t, a->argv, cause) == 0) {
		at = term_frame(t, a->frame, 5000);
		if (at < 0) {
			screen = term_show(t);
			*cause = xfmt("no whole frame, but\n%s", screen);
			free(screen);
		} else
			at -= term_started(t);
		term_type(t, a->detach, strlen(a->detach));
		if (term_end(t, 5000, &status) < 0 || status != 0) {
			if (at >= 0)
				*cause = xfmt("did not end after detach "
				    "(status %d)", status);
			at = -1;
		}
	}
	term_free(t);
	return at;
}

static double
sample_detach(struct bench *b, const struct subject *s, char **cause)
{
	double shown, ended;

	if (attach_once(b, s->arg, &shown, &ended, cause) == -1)
		return -1;
	return ended;
}

static void
attach_size(struct bench *b, int rows, int cols)
{
	struct frame *f = frame_new(rows, cols);
	char *r = xfmt("%d", rows), *c = xfmt("%d", cols);
	char *name = xfmt("local:paint%d", cols), *tn = xfmt("paint%d", cols);
	char *variant = xfmt("%dx%d", cols, rows);
	char *sock = xfmt("%s/dtach%d", b->dir, cols);
	char *rc = place_path(b, "s/rc");
	struct attach mine = { dl(b, "attach", name, NULL), "\034d", f };
	struct attach tm = { tmux(b, "attach", "-t", tn, NULL), "\002d", f };
	struct attach sc = { words("screen", "-c", rc, "-r", tn, NULL),
	    "\001d", f };
	struct attach dt = { words("dtach", "-a", sock, "-r", "winch", NULL),
	    "\034", f };
	struct subject subs[5];
	int n = 0, i;

	/* Each made at its size, so that attaching is no resizing. */
	dl_ok(b, "new", name, "--", b->self, "--role", "paint", r, c, NULL);
	subs[n++] = (struct subject){ "true", child_sample, NULL,
	    words("/bin/true", NULL), 0 };
	subs[n++] = (struct subject){ "dlmux", attach_shown, &mine,
	    mine.argv, 0 };
	if (peer_has(b, "tmux") && tmux_new(b, tmux(b, "new-session", "-d", "-s",
	    tn, "-x", c, "-y", r, b->self, "--role", "paint", r, c, NULL)))
		subs[n++] = (struct subject){ "tmux", attach_shown, &tm,
		    tm.argv, 0 };
	if (peer_has(b, "screen") && run_ok(b, words("screen", "-c", rc,
	    "-dmS", tn, b->self, "--role", "paint", r, c, NULL)))
		subs[n++] = (struct subject){ "screen", attach_shown, &sc,
		    sc.argv, 0 };
	sleep_ms(300);
	subjects_run(b, "attach_cached_ms", variant, "ms", subs, n,
	    bench_rounds(b, 40), 2);

	for (i = 1; i < n; i++)
		subs[i].sample = sample_detach;
	if (peer_has(b, "dtach") && run_ok(b, words("dtach", "-n", sock,
	    b->self, "--role", "paint", r, c, NULL)))
		subs[n++] = (struct subject){ "dtach", sample_detach, &dt,
		    dt.argv, 0 };
	subjects_run(b, "attach_detach_ms", variant, "ms", subs, n,
	    bench_rounds(b, 40), 2);

	dl_ok(b, "kill", name, NULL);
	if (peer_has(b, "screen"))
		child_run(b, words("screen", "-S", tn, "-X", "quit", NULL),
		    NULL, NULL, 5000);
	frame_free(f);
	free(r);
	free(c);
	free(name);
	free(variant);
}

void
group_attach(struct bench *b)
{
	attach_size(b, 24, 80);
	attach_size(b, 50, 200);
	tmux_end(b);
}

/* A shell on a host whose link takes nothing any more: the last screen. */
void
group_linkdown(struct bench *b)
{
	struct frame *f;
	struct attach mine;
	struct subject subs[2];
	char *name;

	if (!far_start(b))
		return;
	f = frame_new(24, 80);
	name = xfmt("%s:paint", far_workspace(HOST_FAR));
	mine = (struct attach){ dl(b, "attach", name, NULL), "\034d", f };
	far_delay(b, 0);
	far_rate(b, 0);
	if (!dl_ok(b, "new", name, "--", b->self, "--role", "paint", "24",
	    "80", NULL))
		return;
	/* Once seen, so that it is here. */
	subs[0] = (struct subject){ "true", child_sample, NULL,
	    words("/bin/true", NULL), 0 };
	subs[1] = (struct subject){ "dlmux", attach_shown, &mine, mine.argv,
	    0 };
	subjects_run(b, "attach_linkup_ms", "80x24", "ms", subs, 2,
	    bench_rounds(b, 20), 1);
	far_stall(b, true);
	/* The word of the attach before is on its way no more. */
	sleep_ms(100);
	subjects_run(b, "attach_linkdown_ms", "80x24", "ms", subs, 2,
	    bench_rounds(b, 20), 0);
	far_stall(b, false);
	dl_ok(b, "kill", name, NULL);
	frame_free(f);
	free(name);
}
