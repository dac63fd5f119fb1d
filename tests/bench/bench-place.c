/* SPDX-License-Identifier: ISC */
/*
 * A home of the benchmark's own, with everything in it: whatever runs for it
 * carries that directory in its environment, and is ended by that mark and no
 * other. The user's real dlmux is never spoken to.
 */
#include <sys/stat.h>

#include <dirent.h>
#include <errno.h>
#include <ftw.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"

char *
place_make(void)
{
	/* Short: sockets below it have short names only. */
	char *dir = xstr("/tmp/dlb.XXXXXX");

	if (mkdtemp(dir) == NULL)
		bench_die("/tmp: %s", strerror(errno));
	return dir;
}

static int
remove_one(const char *path, const struct stat *st, int what, struct FTW *f)
{
	(void)st;
	(void)what;
	(void)f;
	(void)remove(path);
	return 0;
}

static bool
holds(const char *data, size_t n, const char *what)
{
	return memmem(data, n, what, strlen(what)) != NULL;
}

static size_t
proc_read(pid_t pid, const char *name, char *buf, size_t room)
{
	char path[64];
	FILE *f;
	size_t n;

	snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
	if ((f = fopen(path, "re")) == NULL)
		return 0;
	n = fread(buf, 1, room - 1, f);
	buf[n] = '\0';
	fclose(f);
	return n;
}

static int
pids_of(const char *dir, const char *command, pid_t *pids, int room)
{
	static char buf[65536];
	char *mark = xfmt("DLMUX_BENCH=%s", dir), *below = xfmt("%s/", dir);
	struct dirent *d;
	DIR *proc = opendir("/proc");
	int n = 0;
	pid_t pid, parent = getppid();
	size_t len;
	bool ours;

	while (proc != NULL && n < room && (d = readdir(proc)) != NULL) {
		if ((pid = (pid_t)atol(d->d_name)) <= 0 || pid == getpid() ||
		    pid == parent)
			continue;
		len = proc_read(pid, "environ", buf, sizeof buf);
		ours = holds(buf, len, mark);
		len = proc_read(pid, "cmdline", buf, sizeof buf);
		for (; len > 0; len--)
			if (buf[len - 1] == '\0')
				buf[len - 1] = ' ';
		/* sshd writes its title over its environment. */
		if (!ours && strstr(buf, below) == NULL)
			continue;
		if (command == NULL || strstr(buf, command) != NULL)
			pids[n++] = pid;
	}
	if (proc != NULL)
		closedir(proc);
	free(mark);
	free(below);
	return n;
}

void
place_remove(const char *dir)
{
	pid_t pids[4096];
	int i, n, tries;

	for (tries = 0; tries < 50; tries++) {
		if ((n = pids_of(dir, NULL, pids, 4096)) == 0)
			break;
		for (i = 0; i < n; i++)
			kill(pids[i], SIGKILL);
		sleep_ms(20);
	}
	nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

char *
place_path(const struct bench *b, const char *name)
{
	return xfmt("%s/%s", b->dir, name);
}

static void
make_dir(const struct bench *b, const char *name)
{
	char *p = place_path(b, name);

	if (mkdir(p, 0700) == -1 && errno != EEXIST)
		bench_die("%s: %s", p, strerror(errno));
	free(p);
}

/* Our server, and not one that the user has: its socket lies below us. */
static void
check_ours(struct bench *b)
{
	struct output o;
	char *at, *want = xfmt("%s/", b->home);

	child_run(b, dl(b, "server", "start", NULL), NULL, NULL, 20000);
	child_run(b, dl(b, "server", "status", "--json", NULL), NULL, &o,
	    20000);
	at = strstr(o.out, "\"socket\": \"");
	if (o.status != 0 || at == NULL)
		bench_die("dlmux server status: %s%s", o.out, o.err);
	at += strlen("\"socket\": \"");
	if (strncmp(at, want, strlen(want)) != 0)
		bench_die("this would measure a server that is not ours "
		    "(%.*s); refused", (int)strcspn(at, "\""), at);
	output_clear(&o);
	free(want);
}

/* Asked of a program: a static one has no name service. */
static char *
user_name(void)
{
	char name[256] = "";
	FILE *f = popen("id -un", "re");

	if (f == NULL || fgets(name, sizeof name, f) == NULL)
		bench_die("id -un says nothing");
	pclose(f);
	name[strcspn(name, "\n")] = '\0';
	return xstr(name);
}

void
place_enter(struct bench *b)
{
	static const char *const dirs[] = { "h", "f", "bin", "t", "s", "w",
	    "ssh", "h/.config", "h/.config/dlmux" };
	char *link, *self;
	size_t i, n = 0;
	char *user;

	for (i = 0; i < sizeof dirs / sizeof dirs[0]; i++)
		make_dir(b, dirs[i]);
	b->home = place_path(b, "h");
	b->far_home = place_path(b, "f");
	/* What is measured does not change while a build goes on. */
	link = place_path(b, "bin/dlmux");
	self = xfmt("cp '%s' '%s'", b->dlmux, link);
	if (system(self) != 0)
		bench_die("%s failed", self);
	free(self);
	free(b->dlmux);
	b->dlmux = link;
	user = user_name();
	b->env = xalloc(32 * sizeof *b->env);
	b->env[n++] = xfmt("HOME=%s", b->home);
	b->env[n++] = xfmt("PATH=%s/bin:%s:/usr/sbin:/sbin", b->dir,
	    getenv("PATH") != NULL ? getenv("PATH") : "/usr/bin:/bin");
	b->env[n++] = xfmt("DLMUX_BENCH=%s", b->dir);
	b->env[n++] = xfmt("USER=%s", user);
	b->env[n++] = xfmt("LOGNAME=%s", user);
	b->env[n++] = xstr("SHELL=/bin/sh");
	b->env[n++] = xstr("TERM=xterm-256color");
	b->env[n++] = xstr("LANG=C.UTF-8");
	b->env[n++] = xstr("PS1=BENCH-READY> ");
	b->env[n++] = xfmt("TMUX_TMPDIR=%s/t", b->dir);
	b->env[n++] = xfmt("SCREENDIR=%s/s", b->dir);
	check_ours(b);
}

int
place_pids(const struct bench *b, const char *command, pid_t *pids, int room)
{
	return pids_of(b->dir, command, pids, room);
}

/* Agents whose home and instance these are; how many fit. */
int
place_agents(struct bench *b, const char *home, const char *instance,
    pid_t *found, int room)
{
	static char buf[65536];
	char *var = xfmt("HOME=%s", home), *inst = xfmt("DLMUX_INSTANCE=%s",
	    instance != NULL ? instance : "");
	pid_t p[64];
	size_t len;
	int i, k = 0, n = place_pids(b, "agent --daemon", p, 64);

	for (i = 0; i < n && k < room; i++) {
		len = proc_read(p[i], "environ", buf, sizeof buf);
		if (holds(buf, len, var) &&
		    holds(buf, len, inst) == (instance != NULL))
			found[k++] = p[i];
	}
	free(var);
	free(inst);
	return k;
}

pid_t
place_agent(struct bench *b, const char *instance)
{
	pid_t p;

	return place_agents(b, b->home, instance, &p, 1) == 1 ? p : -1;
}

pid_t
place_server(struct bench *b, const char *instance)
{
	struct output o;
	pid_t pid = -1;
	char *at;

	child_run(b, dl(b, "-L", instance != NULL ? instance : "default",
	    "server", "status", "--json", NULL), NULL, &o, 10000);
	if ((at = strstr(o.out, "\"pid\": ")) != NULL)
		pid = (pid_t)atol(at + 7);
	output_clear(&o);
	return pid;
}

static long
field(const char *text, const char *name)
{
	const char *p = strstr(text, name);

	return p != NULL ? atol(p + strlen(name)) : 0;
}

long
process_private(pid_t pid)
{
	char buf[4096];

	if (proc_read(pid, "smaps_rollup", buf, sizeof buf) == 0)
		return -1;
	return field(buf, "Private_Clean:") + field(buf, "Private_Dirty:") +
	    field(buf, "Swap:");
}

int
process_cpu(pid_t pid, double *ns, long *wakeups)
{
	char buf[8192];

	if (proc_read(pid, "schedstat", buf, sizeof buf) == 0)
		return -1;
	*ns = atof(buf);
	if (proc_read(pid, "status", buf, sizeof buf) == 0)
		return -1;
	*wakeups = field(buf, "\nvoluntary_ctxt_switches:");
	return 0;
}

/* --- commands --- */

static char **
collect(const char *first, const char *second, va_list ap)
{
	/* Kept to the end: reports quote them. */
	char **v = xalloc(40 * sizeof *v), *s;
	int n = 0;

	if (first != NULL)
		v[n++] = (char *)(size_t)first;
	if (second != NULL)
		v[n++] = (char *)(size_t)second;
	while (n < 39 && (s = va_arg(ap, char *)) != NULL)
		v[n++] = s;
	v[n] = NULL;
	return v;
}

char **
dl(struct bench *b, ...)
{
	va_list ap;
	char **v;

	va_start(ap, b);
	v = collect(b->dlmux, NULL, ap);
	va_end(ap);
	return v;
}

char **
words(const char *first, ...)
{
	va_list ap;
	char **v;

	va_start(ap, first);
	v = collect(first, NULL, ap);
	va_end(ap);
	return v;
}

bool
run_ok(struct bench *b, char *const *argv)
{
	struct output o;
	char *line;
	bool ok;

	child_run(b, argv, NULL, &o, 60000);
	if (!(ok = o.status == 0)) {
		line = argv_join(argv);
		bench_fail(b, "%s: status %d: %.300s", line, o.status, o.err);
		free(line);
	}
	output_clear(&o);
	return ok;
}

bool
dl_ok(struct bench *b, ...)
{
	va_list ap;
	char **v;

	va_start(ap, b);
	v = collect(b->dlmux, NULL, ap);
	va_end(ap);
	return run_ok(b, v);
}
