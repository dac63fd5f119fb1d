/* SPDX-License-Identifier: ISC */
/*
 * Commands on a host: over the link that is there, many at once, the first
 * ever, and behind a transport that takes its time. Logins are counted in
 * sshd's log, so that a link that was not reused is not taken for one.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

static struct subject
plain(const char *name, char **argv, int limit)
{
	return (struct subject){ name, child_sample, NULL, argv, limit };
}

/* No login while dlmux and the master were measured, but for the others. */
static void
check_logins(struct bench *b, const char *metric, enum host h, int before,
    size_t fresh)
{
	int n = far_logins(b, h) - before;

	if (n != (int)fresh)
		bench_fail(b, "%s: %d logins, %zu expected: the link was not "
		    "reused", metric, n, fresh);
}

/* A subject's samples so far, warm-up included. */
static size_t
taken(struct bench *b, const char *metric, const char *variant,
    const char *name, int warm)
{
	struct series *s = series_find(b, metric, variant, name);

	return s != NULL ? s->n + (size_t)warm : 0;
}

void
group_exec(struct bench *b)
{
	struct subject subs[5];
	struct output o;
	int n = 0, before;

	if (!far_start(b) || !dl_ok(b, "connect", far_workspace(HOST_NEAR),
	    NULL))
		return;
	child_run(b, dl(b, "exec", far_workspace(HOST_NEAR), "--", "printenv",
	    "BENCH_FAR", NULL), NULL, &o, 20000);
	if (strcmp(o.out, "yes\n") != 0)
		bench_fail(b, "exec_warm_ms: what runs there was not started "
		    "by sshd (%s%s)", o.out, o.err);
	output_clear(&o);
	subs[n++] = plain("true", words("/bin/true", NULL), 0);
	subs[n++] = plain("dlmux", dl(b, "exec", far_workspace(HOST_NEAR),
	    "--", "true", NULL), 0);
	subs[n++] = plain("dlmux-local", dl(b, "exec", "local", "--", "true",
	    NULL), 0);
	if (far_master(b, HOST_NEAR))
		subs[n++] = plain("master", far_ssh(b, "master", HOST_NEAR,
		    "true", NULL), 0);
	subs[n++] = plain("fresh", far_ssh(b, "fresh", HOST_NEAR, "true",
	    NULL), bench_rounds(b, 12));
	before = far_logins(b, HOST_NEAR);
	subjects_run(b, "exec_warm_ms", "ssh", "ms", subs, n,
	    bench_rounds(b, 50), 2);
	check_logins(b, "exec_warm_ms", HOST_NEAR, before,
	    taken(b, "exec_warm_ms", "ssh", "fresh", 2));
	far_master_end(b, HOST_NEAR);
}

/* --- many at once --- */

struct many {
	int	 count;
};

static double
sample_many(struct bench *b, const struct subject *s, char **cause)
{
	const struct many *m = s->arg;

	return child_parallel(b, s->argv, m->count, 120000, cause);
}

void
group_parallel(struct bench *b)
{
	static const struct many counts[] = { { 8 }, { 64 }, { 256 } };
	struct subject subs[5];
	char variant[16];
	int n, i, before;

	if (!far_start(b) || !dl_ok(b, "connect", far_workspace(HOST_NEAR),
	    NULL) || !far_master(b, HOST_NEAR))
		return;
	for (i = 0; i < 3; i++) {
		n = 0;
		snprintf(variant, sizeof variant, "%d", counts[i].count);
		subs[n++] = (struct subject){ "direct", sample_many,
		    &counts[i], words("sleep", "1", NULL), 0 };
		subs[n++] = (struct subject){ "dlmux", sample_many, &counts[i],
		    dl(b, "exec", far_workspace(HOST_NEAR), "--", "sleep",
		    "1", NULL), 0 };
		before = far_logins(b, HOST_NEAR);
		subjects_run(b, "exec_parallel_ms", variant, "ms", subs, n,
		    3, 0);
		check_logins(b, "exec_parallel_ms", HOST_NEAR, before, 0);
		/* Beyond MaxSessions each is a connection of its own. */
		if (counts[i].count > 64)
			continue;
		subs[0] = (struct subject){ "master", sample_many, &counts[i],
		    far_ssh(b, "master", HOST_NEAR, "sleep", "1", NULL), 1 };
		subjects_run(b, "exec_parallel_ms", variant, "ms", subs, 1,
		    1, 0);
	}
	far_master_end(b, HOST_NEAR);
	if (b->quick)
		return;
	/* What eight connections under one lock are. */
	subs[0] = (struct subject){ "lock", sample_many, &counts[0],
	    far_ssh(b, "fresh", HOST_SLOW, "sleep", "1", NULL), 1 };
	subjects_run(b, "exec_parallel_ms", "8", "ms", subs, 1, 1, 0);
}

/* --- the first time --- */

static double
timed(struct bench *b, char *const *argv, char **cause)
{
	struct subject s = { "", NULL, NULL, argv, 0 };

	return child_sample(b, &s, cause);
}

/* It wants a terminal; a shell's start and end are in it. */
static double
sample_mosh(struct bench *b, const struct subject *s, char **cause)
{
	struct term *t = term_new(24, 80);
	double at = -1;
	int status = -1;

	if (term_spawn(b, t, s->argv, cause) == 0) {
		at = term_end(t, 20000, &status);
		if (at < 0 || status != 0) {
			char *screen = term_show(t);

			*cause = xfmt("status %d\n%s", status, screen);
			free(screen);
			at = -1;
		} else
			at -= term_started(t);
	}
	term_free(t);
	return at;
}

/* No server, no agent, no binary there. */
static double
sample_exec_cold(struct bench *b, const struct subject *s, char **cause)
{
	far_forget(b, HOST_NEAR, true);
	child_run(b, dl(b, "server", "stop", NULL), NULL, NULL, 10000);
	return timed(b, s->argv, cause);
}

/* A server, no agent, no binary there. */
static double
sample_boot_cold(struct bench *b, const struct subject *s, char **cause)
{
	far_forget(b, HOST_NEAR, true);
	return timed(b, s->argv, cause);
}

/* The binary is there, no agent runs. */
static double
sample_boot_start(struct bench *b, const struct subject *s, char **cause)
{
	far_forget(b, HOST_NEAR, false);
	return timed(b, s->argv, cause);
}

/* The agent runs; only the link is new. */
static double
sample_boot_warm(struct bench *b, const struct subject *s, char **cause)
{
	child_run(b, dl(b, "disconnect", far_workspace(HOST_NEAR), NULL),
	    NULL, NULL, 10000);
	return timed(b, s->argv, cause);
}

void
group_cold(struct bench *b)
{
	char **exec = dl(b, "exec", far_workspace(HOST_NEAR), "--", "true",
	    NULL);
	char **link = dl(b, "connect", far_workspace(HOST_NEAR), NULL);
	struct subject subs[4], fresh;
	char *ssh;
	int rounds = bench_rounds(b, 6), n = 0;

	if (!far_start(b))
		return;
	fresh = plain("fresh", far_ssh(b, "fresh", HOST_NEAR, "true", NULL),
	    0);
	subs[n++] = fresh;
	subs[n++] = (struct subject){ "dlmux", sample_exec_cold, NULL, exec,
	    0 };
	if (peer_has(b, "mosh")) {
		ssh = xfmt("--ssh=%s -F %s", b->ssh, b->ssh_config);
		subs[n++] = plain("mosh", words("mosh", ssh,
		    "--experimental-remote-ip=local", "--server=env "
		    "LANG=C.UTF-8 mosh-server", "127.0.0.1", "--", "true",
		    NULL), 0);
		subs[n - 1].sample = sample_mosh;
	}
	subjects_run(b, "exec_cold_ms", "ssh", "ms", subs, n, rounds, 0);
	n = 0;
	subs[n++] = fresh;
	subs[n++] = (struct subject){ "dlmux", sample_boot_cold, NULL, link,
	    0 };
	subjects_run(b, "bootstrap_cold_ms", "upload", "ms", subs, n, rounds,
	    1);
	subs[1] = (struct subject){ "dlmux", sample_boot_start, NULL, link,
	    0 };
	subjects_run(b, "bootstrap_warm_ms", "no agent", "ms", subs, n, rounds,
	    1);
	subs[1] = (struct subject){ "dlmux", sample_boot_warm, NULL, link,
	    0 };
	subjects_run(b, "bootstrap_warm_ms", "agent", "ms", subs, n, rounds,
	    1);
}

/* --- a transport that takes 1.7 s under a lock --- */

void
group_slow(struct bench *b)
{
	char **exec = dl(b, "exec", far_workspace(HOST_SLOW), "--", "true",
	    NULL);
	struct subject first[2], next[2];
	int before, n = 0;

	if (!far_start(b))
		return;
	before = far_logins(b, HOST_SLOW);
	first[0] = plain("dlmux", exec, 0);
	first[1] = plain("fresh", far_ssh(b, "fresh", HOST_SLOW, "true", NULL),
	    0);
	subjects_run(b, "exec_slow_transport_ms", "1st", "ms", first, 2, 1, 0);
	next[n++] = plain("dlmux", exec, 0);
	if (far_master(b, HOST_SLOW))
		next[n++] = plain("master", far_ssh(b, "master", HOST_SLOW,
		    "true", NULL), 0);
	subjects_run(b, "exec_slow_transport_ms", "2nd-20th", "ms", next, n,
	    19, 0);
	check_logins(b, "exec_slow_transport_ms", HOST_SLOW, before, 3);
	first[0] = first[1];
	subjects_run(b, "exec_slow_transport_ms", "2nd-20th", "ms", first, 1,
	    2, 0);
	far_master_end(b, HOST_SLOW);
}
