/* SPDX-License-Identifier: ISC */
/*
 * A key typed at a terminal until its echo is there. The program in every
 * shell is the same: it writes back each byte that it reads.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

#define BLOCK	20	/* keys of one side in a row */
#define SIDES	4

struct side {
	const char	*name;
	char		**argv;
	struct term	*term;
	char		*flood;		/* pid file of the neighbour */
	int		 typed;
};

/* Bytes that no escape sequence holds, so that one seen is the echo. */
static const char	 keys[] = "%&+,._";

static bool
side_open(struct bench *b, struct side *s)
{
	char *cause = NULL;

	s->term = term_new(24, 80);
	if (term_spawn(b, s->term, s->argv, &cause) == -1 ||
	    term_see(s->term, "ready", 0, 10000) < 0) {
		bench_fail(b, "key_echo_ms/%s: %s", s->name, cause != NULL ?
		    cause : "the program in the shell did not start");
		free(cause);
		term_free(s->term);
		s->term = NULL;
		return false;
	}
	term_quiet(s->term, 100, 2000);
	return true;
}

static double
side_key(struct side *s)
{
	char key[2] = { keys[s->typed % 6], '\0' };
	size_t from;
	double began, at;

	s->typed++;
	term_quiet(s->term, 4 + s->typed * 7 % 5, 100);
	if (s->typed % 100 == 0)
		term_forget(s->term);
	from = term_bytes(s->term);
	began = now_ms();
	term_type(s->term, key, 1);
	at = term_see(s->term, key, from, 5000);
	return at < 0 ? -1 : at - began;
}

static pid_t
side_neighbour(struct side *s)
{
	char *text = s->flood != NULL ? file_read(s->flood) : NULL;
	pid_t pid = text != NULL ? (pid_t)atol(text) : 0;

	free(text);
	return pid;
}

static void
sides_run(struct bench *b, const char *variant, struct side *sides, int n,
    int total)
{
	struct series *sr;
	pid_t pid;
	double ms;
	int i, k, done;

	for (i = 0; i < n; i++)
		if (!side_open(b, &sides[i]))
			return;
	for (done = 0; done < total; done += BLOCK)
		for (i = 0; i < n; i++) {
			sr = series_get(b, "key_echo_ms", variant,
			    sides[i].name, "ms");
			series_command(sr, sides[i].argv);
			if ((pid = side_neighbour(&sides[i])) > 0) {
				kill(pid, SIGCONT);
				sleep_ms(50);
			}
			for (k = 0; k < BLOCK; k++) {
				if ((ms = side_key(&sides[i])) < 0) {
					bench_fail(b, "key_echo_ms/%s/%s: no "
					    "echo", variant, sides[i].name);
					break;
				}
				series_add(sr, ms);
			}
			if (pid > 0)
				kill(pid, SIGSTOP);
		}
	for (i = 0; i < n; i++) {
		if ((pid = side_neighbour(&sides[i])) > 0)
			kill(pid, SIGKILL);
		term_free(sides[i].term);
	}
}

static char *
neighbour(struct bench *b, const char *name)
{
	char *path = xfmt("%s/yes.%s", b->dir, name);
	char *text = NULL;
	int i;

	for (i = 0; i < 100 && (text = file_read(path)) == NULL; i++)
		sleep_ms(20);
	free(text);
	return path;
}

static void
keys_local(struct bench *b, bool flood, int total)
{
	struct side s[SIDES];
	char *pidfile;
	int n = 0;

	memset(s, 0, sizeof s);
	s[n].name = "direct";
	s[n++].argv = words(b->self, "--role", "echo", NULL);
	s[n].name = "dlmux";
	s[n].argv = dl(b, "attach", "local:echo", "--", b->self, "--role",
	    "echo", NULL);
	if (flood) {
		pidfile = xfmt("%s/yes.dlmux", b->dir);
		dl_ok(b, "new", "local:yes", "--", b->self, "--role", "yes",
		    pidfile, NULL);
		free(pidfile);
		s[n].flood = neighbour(b, "dlmux");
	}
	n++;
	if (peer_has(b, "tmux")) {
		s[n].name = "tmux";
		s[n].argv = tmux(b, "attach", NULL);
		tmux_new(b, tmux(b, "new-session", "-d", "-x", "80", "-y", "24",
		    b->self, "--role", "echo", NULL));
		if (flood) {
			pidfile = xfmt("%s/yes.tmux", b->dir);
			run_ok(b, tmux(b, "new-window", "-d", b->self,
			    "--role", "yes", pidfile, NULL));
			free(pidfile);
			s[n].flood = neighbour(b, "tmux");
		}
		n++;
	}
	sides_run(b, flood ? "local-flood" : "local-idle", s, n, total);
	dl_ok(b, "kill", "-a", "local", NULL);
	tmux_end(b);
}

static void
keys_far(struct bench *b, bool flood, int total)
{
	struct side s[SIDES];
	char *name = xfmt("%s:echo", far_workspace(HOST_NEAR));
	char *yes = xfmt("%s:yes", far_workspace(HOST_NEAR));
	char *cmd = xfmt("%s --role echo", b->self), *pidfile;
	int n = 0;

	memset(s, 0, sizeof s);
	s[n].name = "direct";
	s[n++].argv = words(b->self, "--role", "echo", NULL);
	s[n].name = "dlmux";
	s[n].argv = dl(b, "attach", name, "--", b->self, "--role", "echo",
	    NULL);
	if (flood) {
		pidfile = xfmt("%s/yes.far", b->dir);
		dl_ok(b, "new", yes, "--", b->self, "--role", "yes", pidfile,
		    NULL);
		free(pidfile);
		s[n].flood = neighbour(b, "far");
	}
	n++;
	if (!flood) {
		s[n].name = "ssh -tt";
		s[n++].argv = far_ssh(b, "tty", HOST_NEAR, cmd, NULL);
	}
	sides_run(b, flood ? "ssh-flood" : "ssh-idle", s, n, total);
	dl_ok(b, "kill", "-a", far_workspace(HOST_NEAR), NULL);
	free(name);
	free(yes);
	free(cmd);
}

void
group_keys(struct bench *b)
{
	int total = b->quick ? 2 * BLOCK : 15 * BLOCK;

	keys_local(b, false, total);
	keys_local(b, true, total);
	if (!far_start(b))
		return;
	keys_far(b, false, total);
	keys_far(b, true, total);
}
