/* SPDX-License-Identifier: ISC */
/*
 * dlmux measured beside what people would use instead: `make bench`. This file
 * reads the options, keeps a janitor outside, and runs the groups in order.
 */
#include <sys/wait.h>

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"

static const struct group {
	const char	*name, *what;
	void		(*run)(struct bench *);
} groups[] = {
	{ "start", "starting at all", group_start },
	{ "attach", "attach to the first whole frame, and detach again",
	    group_attach },
	{ "send", "a line into a shell", group_send },
	{ "ls", "the list", group_ls },
	{ "capture", "the screen as text", group_capture },
	{ "exec", "a command on a host, link up", group_exec },
	{ "parallel", "many of them at once", group_parallel },
	{ "cold", "the first connection", group_cold },
	{ "keys", "a key until its echo", group_keys },
	{ "flood", "megabytes of output", group_flood },
	{ "interrupt", "Ctrl-C in a flood", group_interrupt },
	{ "trips", "round trips counted", group_trips },
	{ "slow", "behind a transport of 1.7 s", group_slow },
	{ "linkdown", "attach while the link is dead", group_linkdown },
	{ "scrollback", "memory of history", group_scrollback },
	{ "shells", "a thousand shells", group_shells },
	{ "idle", "a hundred idle shells", group_idle },
};
#define NGROUPS (sizeof groups / sizeof groups[0])

void
bench_die(const char *fmt, ...)
{
	va_list ap;

	fflush(stdout);
	fputs("bench: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(2);
}

void
bench_say(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
}

static void
remember(char ***list, size_t *n, char *text)
{
	*list = realloc(*list, (*n + 1) * sizeof **list);
	if (*list == NULL)
		bench_die("out of memory");
	(*list)[(*n)++] = text;
}

void
bench_fail(struct bench *b, const char *fmt, ...)
{
	va_list ap;
	char *text;

	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) == -1)
		bench_die("out of memory");
	va_end(ap);
	bench_say("FAILED: %s", text);
	remember(&b->failures, &b->nfailures, text);
}

void
bench_skip(struct bench *b, const char *fmt, ...)
{
	va_list ap;
	char *text;

	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) == -1)
		bench_die("out of memory");
	va_end(ap);
	remember(&b->skips, &b->nskips, text);
}

int
bench_rounds(const struct bench *b, int n)
{
	if (!b->quick)
		return n;
	return n / 10 < 3 ? 3 : n / 10;
}

static void
usage(void)
{
	size_t i;

	fputs("usage: bench [--dlmux PATH] [--only GROUP,...] [--quick] "
	    "[--flood-mib N]\n"
	    "             [--json FILE] [--markdown FILE] [--no-table]\n"
	    "             [--assert 'METRIC<=FACTORxOTHER'] ... "
	    "[--assert-targets]\n\ngroups:\n", stderr);
	for (i = 0; i < NGROUPS; i++)
		fprintf(stderr, "  %-12s%s\n", groups[i].name, groups[i].what);
	fputs("\nassertions:\n"
	    "  METRIC[/VARIANT][/SUBJECT][.STAT]<=FACTORxOTHER[+NUMBER]\n"
	    "  METRIC[/VARIANT][/SUBJECT][.STAT]<=NUMBER\n"
	    "  and the same with >=. SUBJECT: dlmux unless said. STAT: median "
	    "unless said,\n  or min mean max p95 p99. OTHER: a subject of the "
	    "same metric and variant, or\n  METRIC/VARIANT/SUBJECT.\n",
	    stderr);
	exit(2);
}

struct options {
	const char	*dlmux, *only, *json, *markdown;
	char		**asserts;
	size_t		 nasserts;
	bool		 quick, no_table, targets;
	int		 flood_mib;
};

static void
options_read(struct options *o, int argc, char **argv)
{
	static const struct option longs[] = {
		{ "dlmux", required_argument, NULL, 'd' },
		{ "only", required_argument, NULL, 'o' },
		{ "quick", no_argument, NULL, 'q' },
		{ "flood-mib", required_argument, NULL, 'f' },
		{ "json", required_argument, NULL, 'j' },
		{ "markdown", required_argument, NULL, 'm' },
		{ "no-table", no_argument, NULL, 'n' },
		{ "assert", required_argument, NULL, 'a' },
		{ "assert-targets", no_argument, NULL, 't' },
		{ NULL, 0, NULL, 0 }
	};
	int c;

	memset(o, 0, sizeof *o);
	o->flood_mib = 64;
	o->dlmux = "./dlmux";
	while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1)
		switch (c) {
		case 'd': o->dlmux = optarg; break;
		case 'o': o->only = optarg; break;
		case 'q': o->quick = true; break;
		case 'f': o->flood_mib = atoi(optarg); break;
		case 'j': o->json = optarg; break;
		case 'm': o->markdown = optarg; break;
		case 'n': o->no_table = true; break;
		case 't': o->targets = true; break;
		case 'a':
			remember(&o->asserts, &o->nasserts, optarg);
			break;
		default: usage();
		}
	if (optind != argc || o->flood_mib < 1)
		usage();
}

static bool
chosen(const char *only, const char *name)
{
	size_t n = strlen(name);
	const char *p = only;

	if (only == NULL)
		return true;
	while (p != NULL) {
		if (strncmp(p, name, n) == 0 && (p[n] == ',' || p[n] == '\0'))
			return true;
		if ((p = strchr(p, ',')) != NULL)
			p++;
	}
	return false;
}

/* Every name in --only must be one. */
static void
only_check(const char *only)
{
	char *copy, *p, *name;
	size_t i;

	if (only == NULL)
		return;
	copy = p = xstr(only);
	while ((name = strsep(&p, ",")) != NULL) {
		for (i = 0; i < NGROUPS; i++)
			if (strcmp(groups[i].name, name) == 0)
				break;
		if (i == NGROUPS)
			bench_die("there is no group \"%s\"", name);
	}
	free(copy);
}

static int
gates(struct bench *b, const struct options *o)
{
	char *said;
	size_t i;
	int status, worst = 0;

	for (i = 0; i < o->nasserts; i++) {
		status = assert_check(b, o->asserts[i], &said);
		if (status == 2)
			bench_say("\"%s\" is no assertion", o->asserts[i]);
		else
			bench_say("assert %s: %s: %s", status == 0 ? "holds" :
			    "FAILS", o->asserts[i], said);
		worst = status > worst ? status : worst;
		free(said);
	}
	for (i = 0; o->targets && targets[i].what != NULL; i++) {
		status = assert_check(b, targets[i].assertion, &said);
		if (status != 0)
			bench_say("target missed: %s: %s",
			    targets[i].assertion, said);
		worst = status > worst ? status : worst;
		free(said);
	}
	return worst;
}

static char *
copy_self(const char *dir)
{
	char path[PATH_MAX], *to = xfmt("%s/bin/bench", dir), *cmd;
	ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);

	path[n > 0 ? n : 0] = '\0';
	cmd = xfmt("mkdir -p '%s/bin' && cp '%s' '%s'", dir, path, to);
	if (n <= 0 || system(cmd) != 0)
		bench_die("cannot copy %s to %s", path, to);
	free(cmd);
	return to;
}

static int
measure(const struct options *o, char *dir)
{
	struct bench b;
	double began;
	size_t i;
	int status;

	memset(&b, 0, sizeof b);
	b.began = now_ms();
	b.dir = dir;
	b.quick = o->quick;
	b.flood_mib = o->flood_mib;
	/* What decides about the figures; paths do not. */
	b.commandline = xfmt("bench --flood-mib %d%s%s%s", o->flood_mib,
	    o->quick ? " --quick" : "", o->only != NULL ? " --only " : "",
	    o->only != NULL ? o->only : "");
	b.dlmux = realpath(o->dlmux, NULL);
	if (b.dlmux == NULL)
		bench_die("%s: %s", o->dlmux, strerror(errno));
	b.self = copy_self(dir);
	signal(SIGPIPE, SIG_IGN);
	place_enter(&b);
	peers_find(&b);
	for (i = 0; i < NGROUPS; i++) {
		if (!chosen(o->only, groups[i].name))
			continue;
		began = now_ms();
		groups[i].run(&b);
		bench_say("%-12s%5.0f s  %s", groups[i].name, (now_ms() -
		    began) / 1e3, groups[i].what);
	}
	if (!o->no_table)
		report_table(&b);
	if (o->json != NULL)
		report_json(&b, o->json);
	if (o->markdown != NULL)
		report_markdown(&b, o->markdown);
	fflush(stdout);
	status = gates(&b, o);
	return b.nfailures > 0 && status == 0 ? 1 : status;
}

static volatile pid_t	 measuring;

static void
pass_on(int sig)
{
	kill(measuring, sig);
}

int
main(int argc, char **argv)
{
	struct options o;
	char *dir;
	pid_t pid;
	int st;

	if (argc >= 3 && strcmp(argv[1], "--role") == 0)
		return role_main(argc - 2, argv + 2);
	options_read(&o, argc, argv);
	only_check(o.only);
	dir = place_make();
	/* Whatever becomes of the measuring, somebody cleans up after it. */
	fflush(NULL);
	if ((pid = fork()) == -1)
		bench_die("fork: %s", strerror(errno));
	if (pid == 0)
		exit(measure(&o, dir));
	measuring = pid;
	signal(SIGINT, pass_on);
	signal(SIGTERM, pass_on);
	signal(SIGHUP, pass_on);
	while (waitpid(pid, &st, 0) == -1 && errno == EINTR)
		;
	if (getenv("DLMUX_KEEP") == NULL)
		place_remove(dir);
	free(dir);
	return WIFEXITED(st) ? WEXITSTATUS(st) : 128 + WTERMSIG(st);
}
