/* SPDX-License-Identifier: ISC */
/*
 * What shells cost that nobody looks at: memory, processor, and the attach
 * beside so many. Memory is what a process shares with none.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

#define LONG	"1000000"
/* Instances of their own: memory that others gave back is no measure. */
#define MANY	"-L", "many"
#define LINED	"-L", "lines"

static pid_t
tmux_pid(struct bench *b)
{
	struct output o;
	pid_t pid;

	child_run(b, tmux(b, "display-message", "-p", "#{pid}", NULL), NULL,
	    &o, 5000);
	pid = o.status == 0 ? (pid_t)atol(o.out) : -1;
	output_clear(&o);
	return pid;
}

static void
note(struct bench *b, const char *metric, const char *variant,
    const char *subject, const char *unit, double v)
{
	series_add(series_get(b, metric, variant, subject, unit), v);
}

/* --- scrollback --- */

#define LINES		10000
#define LINE_SHELLS	4

static bool
tmux_shows(struct bench *b, const char *target, const char *text)
{
	struct output o;
	double end = now_ms() + 20000;
	bool ok = false;

	while (!ok && now_ms() < end) {
		child_run(b, tmux(b, "capture-pane", "-p", "-t", target,
		    NULL), NULL, &o, 5000);
		ok = strstr(o.out, text) != NULL;
		output_clear(&o);
		if (!ok)
			sleep_ms(50);
	}
	return ok;
}

void
group_scrollback(struct bench *b)
{
	pid_t server, agent, tm = -1;
	long s0, a0, t0 = 0;
	char name[32], target[32];
	struct output o;
	int i;

	dl_ok(b, LINED, "new", "local:first", "--", "/bin/cat", NULL);
	server = place_server(b, "lines");
	agent = place_agent(b, "lines");
	s0 = process_private(server);
	a0 = process_private(agent);
	for (i = 0; i < LINE_SHELLS; i++) {
		snprintf(name, sizeof name, "local:lines%d", i);
		dl_ok(b, LINED, "new", name, "--", b->self, "--role", "lines",
		    "10000", "79", NULL);
		dl_ok(b, LINED, "wait", name, "--text", "LINES-END", "--timeout",
		    "20", NULL);
	}
	/* All of it must be there, not only paid for. */
	child_run(b, dl(b, LINED, "capture", "-s", "-", "local:lines0", NULL), NULL,
	    &o, 20000);
	if (strstr(o.out, "00000100 ") == NULL)
		bench_fail(b, "scrollback_bytes_per_line: the history is not "
		    "all there");
	output_clear(&o);
	sleep_ms(2500);		/* checkpoints of quiet shells are made */
	note(b, "scrollback_bytes_per_line", "server", "dlmux", "bytes",
	    (double)(process_private(server) - s0) * 1024 / LINES /
	    LINE_SHELLS);
	note(b, "scrollback_bytes_per_line", "agent", "dlmux", "bytes",
	    (double)(process_private(agent) - a0) * 1024 / LINES /
	    LINE_SHELLS);
	dl_ok(b, LINED, "kill", "-a", "local", NULL);
	dl_ok(b, LINED, "server", "stop", NULL);
	if (!peer_has(b, "tmux"))
		return;
	tmux_new(b, tmux(b, "new-session", "-d", "-s", "s", "/bin/cat", NULL));
	tm = tmux_pid(b);
	t0 = process_private(tm);
	for (i = 0; i < LINE_SHELLS; i++) {
		snprintf(target, sizeof target, "s:%d", i + 1);
		run_ok(b, tmux(b, "new-window", "-d", "-t", target, b->self,
		    "--role", "lines", "10000", "79", NULL));
		if (!tmux_shows(b, target, "LINES-END"))
			bench_fail(b, "scrollback_bytes_per_line: tmux did "
			    "not show the last line");
	}
	note(b, "scrollback_bytes_per_line", "server", "tmux", "bytes",
	    (double)(process_private(tm) - t0) * 1024 / LINES / LINE_SHELLS);
	tmux_end(b);
}

/* --- a thousand shells --- */

static void
shells_make(struct bench *b, int from, int to)
{
	char name[32];
	int i;

	for (i = from; i < to; i++) {
		snprintf(name, sizeof name, "local:n%d", i);
		if (!dl_ok(b, MANY, "new", name, "--", "/bin/sleep", LONG, NULL))
			return;
	}
}

static void
shells_tmux(struct bench *b, int count)
{
	double began;
	long t0;
	pid_t pid;
	int i;

	if (!peer_has(b, "tmux"))
		return;
	tmux_new(b, tmux(b, "new-session", "-d", "-s", "s", "/bin/sleep", LONG,
	    NULL));
	pid = tmux_pid(b);
	t0 = process_private(pid);
	began = now_ms();
	for (i = 0; i < count; i++)
		if (!run_ok(b, tmux(b, "new-window", "-d", "-t", "s:",
		    "/bin/sleep", LONG, NULL)))
			return;
	note(b, "shells_1000_make_ms", "each", "tmux", "ms",
	    (now_ms() - began) / count);
	note(b, "shells_1000_kib", "server", "tmux", "KiB",
	    (double)(process_private(pid) - t0) / count);
	tmux_end(b);
}

void
group_shells(struct bench *b)
{
	int count = b->quick ? 100 : 999;
	struct frame *f = frame_new(24, 80);
	struct attach at = { dl(b, MANY, "attach", "local:paint", NULL), "\034d",
	    f };
	struct subject sub[2] = {
		{ "true", child_sample, NULL, words("/bin/true", NULL), 0 },
		{ "dlmux", attach_shown, &at, at.argv, 0 } };
	pid_t server, agent;
	long s0, a0;
	double began;

	dl_ok(b, MANY, "new", "local:paint", "--", b->self, "--role", "paint", "24",
	    "80", NULL);
	sleep_ms(300);
	subjects_run(b, "shells_1000_attach_ms", "with 1", "ms", sub, 2,
	    bench_rounds(b, 30), 2);
	server = place_server(b, "many");
	agent = place_agent(b, "many");
	s0 = process_private(server);
	a0 = process_private(agent);
	began = now_ms();
	shells_make(b, 0, count);
	note(b, "shells_1000_make_ms", "each", "dlmux", "ms",
	    (now_ms() - began) / count);
	sleep_ms(3000);
	note(b, "shells_1000_kib", "server", "dlmux", "KiB",
	    (double)(process_private(server) - s0) / count);
	note(b, "shells_1000_kib", "agent", "dlmux", "KiB",
	    (double)(process_private(agent) - a0) / count);
	subjects_run(b, "shells_1000_attach_ms", "with 1000", "ms", sub, 2,
	    bench_rounds(b, 30), 2);
	dl_ok(b, MANY, "kill", "-a", "local", NULL);
	dl_ok(b, MANY, "server", "stop", NULL);
	frame_free(f);
	shells_tmux(b, count);
}

/* --- nothing to do --- */

struct idler {
	const char	*who, *variant;
	pid_t		 pid;
	double		 ns;
	long		 wakeups;
};

void
group_idle(struct bench *b)
{
	struct idler id[3];
	double ns, seconds = b->quick ? 3 : 10;
	long w;
	int n = 0, i;

	shells_make(b, 0, 100);
	id[n++] = (struct idler){ "dlmux", "server", place_server(b, "many"), 0, 0 };
	id[n++] = (struct idler){ "dlmux", "agent", place_agent(b, "many"), 0, 0 };
	if (peer_has(b, "tmux")) {
		tmux_new(b, tmux(b, "new-session", "-d", "-s", "s",
		    "/bin/sleep", LONG, NULL));
		for (i = 1; i < 100; i++)
			run_ok(b, tmux(b, "new-window", "-d", "-t", "s:",
			    "/bin/sleep", LONG, NULL));
		id[n++] = (struct idler){ "tmux", "server", tmux_pid(b), 0,
		    0 };
	}
	sleep_ms(4000);		/* what follows a start is over */
	for (i = 0; i < n; i++)
		process_cpu(id[i].pid, &id[i].ns, &id[i].wakeups);
	sleep_ms(seconds * 1e3);
	for (i = 0; i < n; i++) {
		if (process_cpu(id[i].pid, &ns, &w) == -1)
			continue;
		note(b, "idle_cpu_ms_per_s", id[i].variant, id[i].who, "ms/s",
		    (ns - id[i].ns) / 1e6 / seconds);
		note(b, "idle_wakeups_per_s", id[i].variant, id[i].who, "1/s",
		    (double)(w - id[i].wakeups) / seconds);
	}
	dl_ok(b, MANY, "kill", "-a", "local", NULL);
	tmux_end(b);
}
