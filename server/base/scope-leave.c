/* SPDX-License-Identifier: ISC */
/*
 * The move into a scope of one's own; see scope.h. systemd-run can only start
 * something in a new scope; what runs already is moved by the call that it
 * makes itself (StartTransientUnit, with the processes to move), by way of
 * busctl, which comes with systemd. Where nobody can be asked but the cgroups
 * are ours to write, a group is made by hand.
 *
 * All of it happens in a process beside the one that moves, and every failure
 * leaves things as they are.
 */
#include <sys/stat.h>
#include <sys/wait.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fd.h"
#include "limits.h"
#include "log.h"
#include "mem.h"
#include "output.h"
#include "scope.h"

struct mover {
	const char	*role;
	pid_t		 pid;
	struct scope	 before, now;
	pid_t		 pids[SCOPE_PIDS_MAX];	/* pid and what it started */
	size_t		 npids;
};

/* --- who moves ------------------------------------------------------------- */

static pid_t
parent_of(pid_t pid)
{
	char *name = xasprintf("/proc/%ld/stat", (long)pid), *text, *p;
	long parent = 0;

	if (fd_read_file(name, &text, 8192) != -1) {
		if ((p = strrchr(text, ')')) != NULL)
			(void)sscanf(p + 1, " %*c %ld", &parent);
		free(text);
	}
	free(name);
	return (pid_t)parent;
}

static bool
among(const struct mover *m, pid_t pid)
{
	size_t i;

	for (i = 0; i < m->npids; i++)
		if (m->pids[i] == pid)
			return true;
	return false;
}

/* An agent that the server started is none of the server's. */
static bool
goes_by_itself(pid_t pid)
{
	static const char start[] = "dlmux\0agent\0--daemon";
	char *name = xasprintf("/proc/%ld/cmdline", (long)pid), *text;
	ssize_t n = fd_read_file(name, &text, 65536);
	bool yes = false;

	if (n != -1) {
		yes = (size_t)n >= sizeof start &&
		    memcmp(text, start, sizeof start) == 0;
		free(text);
	}
	free(name);
	return yes;
}

/* The process and its descendants, us not: shells that were started before
 * the move would else stay behind. */
static void
collect(struct mover *m)
{
	struct dirent *e;
	size_t before;
	pid_t pid;
	DIR *d;

	m->pids[0] = m->pid;
	m->npids = 1;
	do {
		before = m->npids;
		if ((d = opendir("/proc")) == NULL)
			return;
		while ((e = readdir(d)) != NULL) {
			pid = (pid_t)atol(e->d_name);
			if (pid > 1 && m->npids < SCOPE_PIDS_MAX &&
			    pid != getpid() && !among(m, pid) &&
			    among(m, parent_of(pid)) && !goes_by_itself(pid))
				m->pids[m->npids++] = pid;
		}
		closedir(d);
	} while (m->npids > before);
}

/* Those of them that are still where they were. */
static size_t
stragglers(struct mover *m)
{
	struct scope s;
	size_t i, n = 0;

	collect(m);
	for (i = 0; i < m->npids; i++) {
		if (scope_read(&s, m->pids[i]) && !s.own &&
		    strcmp(s.unit, m->before.unit) == 0)
			m->pids[n++] = m->pids[i];
	}
	m->npids = n;
	return n;
}

/* --- by systemd ----------------------------------------------------------- */

struct call {
	const char	*argv[SCOPE_PIDS_MAX + 48];
	char		*made[SCOPE_PIDS_MAX + 2];
	size_t		 n, nmade;
};

static void
add(struct call *c, const char *word)
{
	c->argv[c->n++] = word;
	c->argv[c->n] = NULL;
}

static void
add_made(struct call *c, char *word)
{
	c->made[c->nmade++] = word;
	add(c, word);
}

static void
add_pids(struct call *c, const struct mover *m)
{
	size_t i;

	add_made(c, xasprintf("%zu", m->npids));
	for (i = 0; i < m->npids; i++)
		add_made(c, xasprintf("%ld", (long)m->pids[i]));
}

static void
begin_call(struct call *c, enum scope_wish to, const char *bus,
    const char *method, const char *signature)
{
	memset(c, 0, sizeof *c);
	add(c, "busctl");
	if (to == WISH_MANAGER)
		add(c, bus);
	add(c, "call");
	add(c, "org.freedesktop.systemd1");
	add(c, "/org/freedesktop/systemd1");
	add(c, "org.freedesktop.systemd1.Manager");
	add(c, method);
	add(c, signature);
}

static bool
end_call(struct call *c)
{
	char out[1024];
	int status = output_of(c->argv, SCOPE_ASK_MS, 1, out, sizeof out);
	size_t i;

	for (i = 0; i < c->nmade; i++)
		free(c->made[i]);
	out[strcspn(out, "\n")] = '\0';
	if (status != 0)
		log_info("own scope: busctl: %s", status == 127 ?
		    "not found" : out[0] != '\0' ? out : "no answer");
	return status == 0;
}

static bool
start_scope(const struct mover *m, enum scope_wish to, const char *bus,
    const char *unit)
{
	struct call c;

	begin_call(&c, to, bus, "StartTransientUnit", "ssa(sv)a(sa(sv))");
	add(&c, unit);
	add(&c, "fail");
	add(&c, "5");
	add(&c, "Description");
	add(&c, "s");
	add_made(&c, xasprintf("dlmux %s", m->role));
	add(&c, "PIDs");
	add(&c, "au");
	add_pids(&c, m);
	/* Only a delegated one takes more processes later. */
	add(&c, "Delegate");
	add(&c, "b");
	add(&c, "true");
	/* Shells end by HUP, the agent by nothing but KILL: a shutdown is not
	 * to wait for a minute and a half. */
	add(&c, "SendSIGHUP");
	add(&c, "b");
	add(&c, "true");
	add(&c, "TimeoutStopUSec");
	add(&c, "t");
	add(&c, "5000000");
	add(&c, "0");
	return end_call(&c);
}

static void
attach(const struct mover *m, enum scope_wish to, const char *bus,
    const char *unit)
{
	struct call c;

	begin_call(&c, to, bus, "AttachProcessesToUnit", "ssau");
	add(&c, unit);
	add(&c, "");
	add_pids(&c, m);
	(void)end_call(&c);
}

/* The call only queues the job. */
static bool
arrived(struct mover *m)
{
	int i;

	for (i = 0; i < SCOPE_ASK_MS / 20; i++) {
		if (scope_read(&m->now, m->pid) && m->now.own)
			return true;
		(void)poll(NULL, 0, 20);
	}
	return false;
}

static bool
by_systemd(struct mover *m, enum scope_wish to, const char *unit)
{
	char *path = scope_bus(), *bus;
	int i;
	bool ok;

	bus = xasprintf("--address=unix:path=%s", path != NULL ? path : "");
	free(path);
	collect(m);
	ok = start_scope(m, to, bus, unit) && arrived(m);
	/* What was forked meanwhile. */
	for (i = 0; ok && i < 3 && stragglers(m) > 0; i++)
		attach(m, to, bus, unit);
	free(bus);
	return ok;
}

/* --- by hand ---------------------------------------------------------------- */

static bool
write_pid(const char *dir, pid_t pid)
{
	char *file = xasprintf("%s/cgroup.procs", dir), text[32];
	int fd = open(file, O_WRONLY | O_CLOEXEC);
	bool ok = false;

	snprintf(text, sizeof text, "%ld", (long)pid);
	if (fd != -1)
		ok = write(fd, text, strlen(text)) == (ssize_t)strlen(text);
	fd_close(&fd);
	free(file);
	return ok;
}

/* A group beside the unit that we are in, where the kernel lets us. */
static bool
by_hand(struct mover *m, const char *unit)
{
	static const char *const roots[] = { "/sys/fs/cgroup/systemd",
	    "/sys/fs/cgroup/unified", "/sys/fs/cgroup" };
	char *name = xasprintf("/proc/%ld/cgroup", (long)m->pid), *text, *dir,
	    *root, *path = NULL, *end;
	const char *p;
	bool ok = false;
	size_t i, k;

	if (fd_read_file(name, &text, 16384) == -1)
		text = xstrdup("");
	free(name);
	if ((p = scope_cgroup(text)) != NULL) {
		path = xstrndup(p, strcspn(p, "\n"));
		/* Up to what is above the innermost unit. */
		if ((end = strstr(path, m->before.unit)) != NULL && end > path)
			end[-1] = '\0';
		for (i = 0; !ok && i < 3; i++) {
			root = scope_path(roots[i]);
			dir = xasprintf("%s%s/%s", root, path, unit);
			free(root);
			if (mkdir(dir, 0755) == 0) {
				collect(m);
				ok = write_pid(dir, m->pid);
				for (k = 1; ok && k < m->npids; k++)
					(void)write_pid(dir, m->pids[k]);
				if (!ok)
					(void)rmdir(dir);
			}
			free(dir);
		}
	}
	free(path);
	free(text);
	return ok;
}

/* --- the process -------------------------------------------------------------- */

int
scope_main(const char *role, const char *log, const char *pid)
{
	static struct mover m;
	enum scope_wish to;
	char *unit;

	(void)log_open(log, "scope");
	m.role = role;
	m.pid = (pid_t)atol(pid);
	if (m.pid <= 1 || !scope_read(&m.before, m.pid))
		return 1;
	scope_look(&m.before);
	/* A manager's units are out of logind's reach. */
	if (m.before.where != SCOPE_MANAGER)
		scope_ask(&m.before);
	to = scope_wish(&m.before);
	unit = xasprintf("dlmux-%s-%ld.scope", role, (long)m.pid);
	if ((to == WISH_MANAGER || to == WISH_SYSTEM) &&
	    by_systemd(&m, to, unit))
		log_info("moved from %s to %s", m.before.unit, unit);
	/* Only to get out of a unit that ends: where logind decides, a group
	 * that it does not know would not help. */
	else if (to != WISH_STAY && m.before.where != SCOPE_SESSION &&
	    by_hand(&m, unit))
		log_info("moved from %s to %s, by hand", m.before.unit, unit);
	else
		log_info("stays in %s", m.before.unit);
	free(unit);
	return 0;
}

void
scope_leave(const char *role, const char *log)
{
	struct scope s;
	char self[32];
	pid_t pid;

	if (!scope_read(&s, getpid()) || s.own || s.where == SCOPE_NOWHERE)
		return;
	snprintf(self, sizeof self, "%ld", (long)getpid());
	/* Twice, so that nobody has to wait for it. */
	if ((pid = fork()) == 0) {
		if (fork() == 0) {
			(void)setsid();
			fd_close_from(3);
			signal(SIGCHLD, SIG_DFL);
			execl("/proc/self/exe", "dlmux", "agent", "--scope",
			    role, log, self, (char *)NULL);
		}
		_exit(0);
	}
	if (pid != -1)
		while (waitpid(pid, NULL, 0) == -1 && errno == EINTR)
			;
}
