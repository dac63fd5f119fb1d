/* SPDX-License-Identifier: ISC */
/*
 * What people would use instead, as far as it is installed: found by name,
 * with a server and a configuration of our own.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

static const char *const	 names[NPEERS] = { "tmux", "screen", "dtach",
	"mosh", "ssh", "sshd" };

static char *
version_of(struct bench *b, const char *name, char *path)
{
	struct output o;
	char *s;

	if (strcmp(name, "sshd") == 0)
		return xstr("as ssh");
	child_run(b, words(path, strcmp(name, "tmux") == 0 ||
	    strcmp(name, "ssh") == 0 ? "-V" : "--version", NULL), NULL, &o,
	    5000);
	s = *o.out != '\0' ? o.out : o.err;
	s = xfmt("%.*s", (int)strcspn(s, "\r\n"), s);
	output_clear(&o);
	return s;
}

void
peers_find(struct bench *b)
{
	int i;
	char *conf = place_path(b, "t/conf"), *rc = place_path(b, "s/rc");

	for (i = 0; i < NPEERS; i++) {
		b->peers[i].name = names[i];
		if ((b->peers[i].path = program_find(names[i])) == NULL)
			bench_skip(b, "beside %s: not installed", names[i]);
		else
			b->peers[i].version = version_of(b, names[i],
			    b->peers[i].path);
	}
	/* The whole screen for the shell, as dlmux gives it. */
	file_write(conf, 0600, "set -g status off\nset -g history-limit "
	    "10000\nset -sg escape-time 0\nset -g default-shell /bin/sh\n"
	    "set -g default-terminal screen-256color\n"
	    "set -g assume-paste-time 0\n"
	    "set -g exit-empty off\n");
	file_write(rc, 0600, "startup_message off\nhardstatus off\n"
	    "defscrollback 10000\nvbell off\n");
	free(conf);
	free(rc);
}

bool
peer_has(const struct bench *b, const char *name)
{
	int i;

	for (i = 0; i < NPEERS; i++)
		if (strcmp(b->peers[i].name, name) == 0)
			return b->peers[i].path != NULL;
	return false;
}

char **
tmux(struct bench *b, ...)
{
	va_list ap;
	char **v;
	int n = 5;
	const char *conf = place_path(b, "t/conf");

	v = words("tmux", "-L", "bench", "-f", conf, NULL);
	va_start(ap, b);
	while (n < 39 && (v[n] = va_arg(ap, char *)) != NULL)
		n++;
	v[n] = NULL;
	va_end(ap);
	return v;
}

/* Now and then its server "exited unexpectedly" when it has just begun. */
bool
tmux_new(struct bench *b, char *const *argv)
{
	struct output o;
	bool ok = false;
	int i;

	for (i = 0; i < 5 && !ok; i++) {
		if (i > 0)
			sleep_ms(100);
		child_run(b, argv, NULL, &o, 10000);
		ok = o.status == 0;
		output_clear(&o);
	}
	return ok || run_ok(b, argv);
}

/* Until it is gone: a new one on the same socket would meet its end. */
void
tmux_end(struct bench *b)
{
	double end = now_ms() + 10000;
	pid_t p;

	if (!peer_has(b, "tmux"))
		return;
	child_run(b, tmux(b, "kill-server", NULL), NULL, NULL, 5000);
	while (place_pids(b, "tmux -L bench", &p, 1) > 0 && now_ms() < end)
		sleep_ms(10);
}
