/* SPDX-License-Identifier: ISC */
/*
 * fork and exec, with the exec's error over a close-on-exec pipe that the
 * loop watches: a program on a dead NFS server keeps nobody waiting but the
 * one who asked for it. Contract in spawn.h.
 */
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/queue.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../base/fd.h"
#include "../base/limits.h"
#include "../base/mem.h"
#include "../wire/msg.h"
#include "spawn.h"

struct proc {
	LIST_ENTRY(proc) entry;
	struct procs	*procs;
	pid_t		 pid;
	int		 report;	/* the pipe; -1: the exec is settled */
	struct event	*event;
	const struct proc_cb *cb;	/* NULL: forgotten */
	void		*arg;
};

LIST_HEAD(proc_list, proc);
#define PROC_BUCKETS 64

struct procs {
	struct event_base *base;
	struct event	*sigchld;
	struct proc_list bucket[PROC_BUCKETS];
	struct rlimit	 nofile;	/* as it was at our own start */
	mode_t		 mask;
};

struct spawn_report {
	int stage, error;
};

static void proc_settle(struct proc *);

static struct proc_list *
proc_bucket(struct procs *ps, pid_t pid)
{
	return &ps->bucket[(unsigned int)pid % PROC_BUCKETS];
}

static void
proc_free(struct proc *p)
{
	LIST_REMOVE(p, entry);
	if (p->event != NULL)
		event_free(p->event);
	fd_close(&p->report);
	free(p);
}

static void
procs_reaped(struct procs *ps, pid_t pid, int status)
{
	struct proc *p;

	LIST_FOREACH(p, proc_bucket(ps, pid), entry)
		if (p->pid == pid)
			break;
	if (p == NULL)
		return;		/* an orphan of somebody's */
	p->pid = -1;		/* the number may be another's from now on */
	/* Its end of the pipe is closed: whether the exec worked is known,
	 * and has to be told first. */
	if (p->report != -1)
		proc_settle(p);
	if (p->cb != NULL)
		p->cb->exited(status, p->arg);
	proc_free(p);
}

static void
procs_sigchld(evutil_socket_t sig, short what, void *arg)
{
	struct procs *ps = arg;
	int status;
	pid_t pid;

	(void)sig;
	(void)what;
	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		if (WIFEXITED(status) || WIFSIGNALED(status))
			procs_reaped(ps, pid, status);
}

struct procs *
procs_new(struct event_base *base)
{
	struct procs *ps = xcalloc(1, sizeof *ps);
	struct rlimit want;
	int i;

	ps->base = base;
	for (i = 0; i < PROC_BUCKETS; i++)
		LIST_INIT(&ps->bucket[i]);
	ps->mask = umask(077);
	if (getrlimit(RLIMIT_NOFILE, &ps->nofile) == 0) {
		want = ps->nofile;
		if (want.rlim_cur < AGENT_FDS)
			want.rlim_cur = want.rlim_max < AGENT_FDS ?
			    want.rlim_max : AGENT_FDS;
		(void)setrlimit(RLIMIT_NOFILE, &want);
	}
#ifdef PR_SET_CHILD_SUBREAPER
	/* In a container without an init, orphans of commands would stay
	 * zombies for ever. */
	(void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
#endif
	ps->sigchld = evsignal_new(base, SIGCHLD, procs_sigchld, ps);
	if (ps->sigchld != NULL)
		event_add(ps->sigchld, NULL);
	return ps;
}

void
procs_free(struct procs *ps)
{
	int i;

	if (ps == NULL)
		return;
	for (i = 0; i < PROC_BUCKETS; i++)
		while (!LIST_EMPTY(&ps->bucket[i]))
			proc_free(LIST_FIRST(&ps->bucket[i]));
	if (ps->sigchld != NULL)
		event_free(ps->sigchld);
	umask(ps->mask);
	free(ps);
}

/* The pipe says what went wrong, or closes by the exec. */
static void
proc_settle(struct proc *p)
{
	struct spawn_report r;
	const struct proc_cb *cb = p->cb;
	void *arg = p->arg;
	ssize_t n;

	do
		n = read(p->report, &r, sizeof r);
	while (n == -1 && errno == EINTR);
	if (n == -1 && errno == EAGAIN && p->pid != -1)
		return;
	event_free(p->event);
	p->event = NULL;
	fd_close(&p->report);
	if (n != (ssize_t)sizeof r) {
		if (cb != NULL)
			cb->started(SPAWN_OK, 0, arg);
		return;
	}
	/* It ends by itself; nobody wants to hear of it. */
	p->cb = NULL;
	if (cb != NULL)
		cb->started((enum spawn_stage)r.stage, r.error, arg);
}

static void
proc_report(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	proc_settle(arg);
}

static void
spawn_fail(int fd, enum spawn_stage stage)
{
	struct spawn_report r = { (int)stage, errno };

	while (write(fd, &r, sizeof r) == -1 && errno == EINTR)
		;
	_exit(127);
}

/* In the child, between fork and exec. */
static void
spawn_child(const struct procs *ps, const struct spawn *s, int report)
{
	struct sigaction sa;
	int fds[3], i, sig;

	memset(&sa, 0, sizeof sa);
	sa.sa_handler = SIG_DFL;
	for (sig = 1; sig < NSIG; sig++)
		(void)sigaction(sig, &sa, NULL);
	/* All above the numbers they are going to, and out of each other's
	 * way. */
	if ((i = fcntl(report, F_DUPFD_CLOEXEC, 10)) == -1)
		spawn_fail(report, SPAWN_SETUP);
	report = i;
	for (i = 0; i < 3; i++)
		if ((fds[i] = fcntl(s->fds[i], F_DUPFD_CLOEXEC, 10)) == -1)
			spawn_fail(report, SPAWN_SETUP);
	(void)setsid();
	if (s->tty != -1 && ioctl(s->tty, TIOCSCTTY, 0) == -1)
		spawn_fail(report, SPAWN_SETUP);
	for (i = 0; i < 3; i++)
		if (dup2(fds[i], i) == -1)
			spawn_fail(report, SPAWN_SETUP);
	if (dup2(report, 3) == -1)
		spawn_fail(report, SPAWN_SETUP);
	(void)fcntl(3, F_SETFD, FD_CLOEXEC);
	fd_close_from(4);
	umask(ps->mask);
	(void)setrlimit(RLIMIT_NOFILE, &ps->nofile);
	if (s->home == NULL || chdir(s->home) == -1)
		if (chdir("/") == -1)
			spawn_fail(3, SPAWN_CWD);
	if (s->cwd != NULL && *s->cwd != '\0' && chdir(s->cwd) == -1)
		spawn_fail(3, SPAWN_CWD);
	sigemptyset(&sa.sa_mask);
	(void)sigprocmask(SIG_SETMASK, &sa.sa_mask, NULL);
	environ = (char **)(uintptr_t)s->env;
	execvp(s->file, s->argv);
	spawn_fail(3, SPAWN_EXEC);
}

struct proc *
proc_spawn(struct procs *ps, const struct spawn *s, const struct proc_cb *cb,
    void *arg)
{
	struct proc *p;
	sigset_t all, old;
	int report[2], saved;
	pid_t pid;

	if (fd_pipe(report) == -1)
		return NULL;
	/* A handler that runs in the child before they are reset would write
	 * into our own loop's pipe. */
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &old);
	pid = fork();
	if (pid == 0)
		spawn_child(ps, s, report[1]);
	saved = errno;
	sigprocmask(SIG_SETMASK, &old, NULL);
	close(report[1]);
	if (pid == -1) {
		close(report[0]);
		errno = saved;
		return NULL;
	}
	(void)fd_nonblock(report[0]);
	p = xcalloc(1, sizeof *p);
	p->procs = ps;
	p->pid = pid;
	p->report = report[0];
	p->cb = cb;
	p->arg = arg;
	p->event = event_new(ps->base, p->report, EV_READ | EV_PERSIST,
	    proc_report, p);
	if (p->event != NULL)
		event_add(p->event, NULL);
	LIST_INSERT_HEAD(proc_bucket(ps, pid), p, entry);
	return p;
}

pid_t
proc_pid(const struct proc *p)
{
	return p->pid;
}

void
proc_signal(const struct proc *p, int sig)
{
	/* Before it made its session it shares ours: then it alone. */
	if (p->pid > 0 && kill(-p->pid, sig) == -1)
		(void)kill(p->pid, sig);
}

void
proc_status(int status, uint8_t *how, uint32_t *code, char **signal)
{
	const char *name;

	if (!WIFSIGNALED(status)) {
		*how = END_EXIT;
		*code = (uint32_t)WEXITSTATUS(status);
		*signal = xstrdup("");
		return;
	}
	*how = END_SIGNAL;
	*code = 128u + (uint32_t)WTERMSIG(status);
	name = signal_name(WTERMSIG(status));
	*signal = name != NULL ? xstrdup(name) :
	    xasprintf("%d", WTERMSIG(status));
}

void
proc_forget(struct proc *p)
{
	if (p != NULL)
		p->cb = NULL;
}
