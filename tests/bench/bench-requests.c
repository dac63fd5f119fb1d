/* SPDX-License-Identifier: ISC */
/*
 * The small commands: starting at all, send, ls, capture. That what was asked
 * for happened is looked at after each series, or in each output.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

static struct subject
baseline(void)
{
	return (struct subject){ "true", child_sample, NULL,
	    words("/bin/true", NULL), 0 };
}

void
group_start(struct bench *b)
{
	struct subject subs[5];
	int n = 0;

	subs[n++] = baseline();
	subs[n++] = (struct subject){ "dlmux", child_sample, NULL,
	    dl(b, "version", NULL), 0 };
	if (peer_has(b, "tmux"))
		subs[n++] = (struct subject){ "tmux", child_sample, NULL,
		    words("tmux", "-V", NULL), 0 };
	if (peer_has(b, "ssh"))
		subs[n++] = (struct subject){ "ssh", child_sample, NULL,
		    words("ssh", "-V", NULL), 0 };
	subjects_run(b, "start_ms", "version", "ms", subs, n,
	    bench_rounds(b, 100), 2);
}

/* Lines of what was sent that arrived, in the file that a cat writes. */
static void
check_lines(struct bench *b, const char *who, const char *path, int want)
{
	double end = now_ms() + 5000;
	int n;

	while ((n = file_count(path, "some text\n")) < want && now_ms() < end)
		sleep_ms(10);
	if (n != want)
		bench_fail(b, "send_ms/%s: %d lines sent, %d arrived", who,
		    want, n);
}

void
group_send(struct bench *b)
{
	struct subject subs[3];
	char *mine = place_path(b, "sent.dlmux"), *tm = place_path(b,
	    "sent.tmux"), *cmd;
	int n = 0, rounds = bench_rounds(b, 60), warm = 2;

	cmd = xfmt("stty -echo; exec cat >%s", mine);
	dl_ok(b, "new", "local:sent", "--", "/bin/sh", "-c", cmd, NULL);
	subs[n++] = baseline();
	subs[n++] = (struct subject){ "dlmux", child_sample, NULL,
	    dl(b, "send", "local:sent", "some text", NULL), 0 };
	if (peer_has(b, "tmux")) {
		free(cmd);
		cmd = xfmt("stty -echo; exec cat >%s", tm);
		if (tmux_new(b, tmux(b, "new-session", "-d", "-s", "sent",
		    "/bin/sh", "-c", cmd, NULL)))
			subs[n++] = (struct subject){ "tmux", child_sample,
			    NULL, tmux(b, "send-keys", "-t", "sent",
			    "some text", "Enter", NULL), 0 };
	}
	/* dlmux holds back what comes before the first output. */
	sleep_ms(800);
	subjects_run(b, "send_ms", "line", "ms", subs, n, rounds, warm);
	check_lines(b, "dlmux", mine, rounds + warm);
	if (n > 2)
		check_lines(b, "tmux", tm, rounds + warm);
	dl_ok(b, "kill", "local:sent", NULL);
	tmux_end(b);
	free(cmd);
	free(mine);
	free(tm);
}

void
group_ls(struct bench *b)
{
	struct subject subs[3];
	char name[32], tn[32];
	int n = 0, i;
	bool ok = peer_has(b, "tmux");

	/* As many as people have. */
	for (i = 0; i < 8; i++) {
		snprintf(name, sizeof name, "local:list%d", i);
		snprintf(tn, sizeof tn, "list%d", i);
		dl_ok(b, "new", name, "--", "/bin/cat", NULL);
		if (ok)
			ok = tmux_new(b, tmux(b, "new-session", "-d", "-s", tn,
			    "/bin/cat", NULL));
	}
	subs[n++] = baseline();
	subs[n++] = (struct subject){ "dlmux", child_sample, "local:list7",
	    dl(b, "ls", NULL), 0 };
	if (ok)
		subs[n++] = (struct subject){ "tmux", child_sample, "list7",
		    tmux(b, "ls", NULL), 0 };
	subjects_run(b, "ls_ms", "8 shells", "ms", subs, n,
	    bench_rounds(b, 60), 2);
	for (i = 0; i < 8; i++) {
		snprintf(name, sizeof name, "local:list%d", i);
		dl_ok(b, "kill", name, NULL);
	}
	tmux_end(b);
}

void
group_capture(struct bench *b)
{
	struct frame *f = frame_new(24, 80);
	struct subject subs[3];
	int n = 0;

	dl_ok(b, "new", "local:paint", "--", b->self, "--role", "paint", "24",
	    "80", NULL);
	subs[n++] = baseline();
	subs[n++] = (struct subject){ "dlmux", child_sample, f->row[23],
	    dl(b, "capture", "local:paint", NULL), 0 };
	if (peer_has(b, "tmux") && tmux_new(b, tmux(b, "new-session", "-d", "-s",
	    "paint", "-x", "80", "-y", "24", b->self, "--role", "paint", "24",
	    "80", NULL)))
		subs[n++] = (struct subject){ "tmux", child_sample, f->row[23],
		    tmux(b, "capture-pane", "-p", "-t", "paint", NULL), 0 };
	sleep_ms(300);
	subjects_run(b, "capture_ms", "80x24", "ms", subs, n,
	    bench_rounds(b, 60), 2);
	dl_ok(b, "kill", "local:paint", NULL);
	tmux_end(b);
	frame_free(f);
}
