/* SPDX-License-Identifier: ISC */
/*
 * The agent's processes, in place of agent/spawn.c: they read, write and end as
 * chance has it.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>

#include "model.h"

struct procs procs;
uint64_t shell_read_bytes;
static pid_t next_pid;

struct procs *
procs_new(struct event_base *base)
{
	(void)base;
	TAILQ_INIT(&procs.all);
	return &procs;
}

static void
proc_end(struct proc *p)
{
	int i;

	TAILQ_REMOVE(&procs.all, p, entry);
	for (i = 0; i < 3; i++)
		fd_close(&p->fds[i]);
	free(p);
}

void
procs_free(struct procs *ps)
{
	while (!TAILQ_EMPTY(&ps->all))
		proc_end(TAILQ_FIRST(&ps->all));
}

struct proc *
proc_spawn(struct procs *ps, const struct spawn *s, const struct proc_cb *cb,
    void *arg)
{
	struct proc *p = xcalloc(1, sizeof *p);
	struct termios t;
	int i;

	p->pid = ++next_pid;
	for (i = 0; i < 3; i++) {
		p->fds[i] = fcntl(s->fds[i], F_DUPFD_CLOEXEC, 3);
		(void)fd_nonblock(p->fds[i]);
	}
	if (s->tty == -1) {
		p->of = &clients[atoi(s->argv[1])];
		p->of->starts++;
		trace("command %d starts", p->of->number);
		MUST(p->of->starts == 1, "command %d started %u times",
		    p->of->number, p->of->starts);
	} else if (tcgetattr(p->fds[0], &t) == 0) {
		cfmakeraw(&t);
		(void)tcsetattr(p->fds[0], TCSANOW, &t);
	}
	p->cb = cb;
	p->arg = arg;
	TAILQ_INSERT_TAIL(&ps->all, p, entry);
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
	if (sig == SIGKILL || sig == SIGHUP)
		((struct proc *)(uintptr_t)p)->killed = true;
}

void
proc_status(int status, uint8_t *how, uint32_t *code, char **sig)
{
	*how = END_EXIT;
	*code = (uint32_t)status;
	*sig = xstrdup("");
}

void
proc_forget(struct proc *p)
{
	if (p != NULL)
		p->cb = NULL;
}

static void
proc_over(struct proc *p, int status)
{
	const struct proc_cb *cb = p->cb;
	void *arg = p->arg;

	proc_end(p);
	if (cb != NULL)
		cb->exited(status, arg);
}

static void
proc_read(struct proc *p)
{
	static uint8_t chunk[65536];
	ssize_t n = read(p->fds[0], chunk, 1 + rnd(sizeof chunk));

	if (n > 0) {
		MUST(same(chunk, (size_t)n, p->of->number, 0, p->read),
		    "command %d: other input at %llu", p->of->number,
		    (unsigned long long)p->read);
		p->read += (uint64_t)n;
	} else if (n == 0) {
		p->eof = true;
		MUST(p->read == p->of->nin || p->killed || time_ran_out,
		    "command %d: input ends at %llu of %zu", p->of->number,
		    (unsigned long long)p->read, p->of->nin);
	}
}

static void
proc_write(struct proc *p, int i)
{
	static uint8_t chunk[65536];
	uint64_t left = p->of->plan[i] - p->wrote[i];
	size_t n = 1 + rnd(sizeof chunk);
	ssize_t w;

	if (n > left)
		n = (size_t)left;
	fill(chunk, n, p->of->number, 1 + i, p->wrote[i]);
	w = write(p->fds[1 + i], chunk, n);
	if (w > 0)
		p->wrote[i] += (uint64_t)w;
	else if (w == -1 && errno == EPIPE)
		p->wrote[i] = p->of->plan[i];	/* shut: as good as written */
}

void
proc_step(void)
{
	struct proc *p;
	uint32_t n = 0, k;

	TAILQ_FOREACH(p, &procs.all, entry)
		n++;
	if (n == 0)
		return;
	k = rnd(n);
	TAILQ_FOREACH(p, &procs.all, entry)
		if (k-- == 0)
			break;
	if (!p->started) {
		/* A disk may be slow: time enough for a loss in between. */
		if (rnd(12) != 0)
			return;
		p->started = true;
		if (p->cb != NULL)
			p->cb->started(SPAWN_OK, 0, p->arg);
		return;
	}
	if (p->cb == NULL || p->killed) {
		proc_over(p, 129);
		return;
	}
	if (p->of == NULL)
		return;
	if (rnd(3) == 0 && !p->eof)
		proc_read(p);
	else if (p->wrote[0] < p->of->plan[0] || p->wrote[1] <
	    p->of->plan[1]) {
		k = rnd(2);
		if (p->wrote[k] < p->of->plan[k])
			proc_write(p, (int)k);
	} else if (p->eof || !p->of->reads) {
		trace("command %d ends", p->of->number);
		proc_over(p, (int)p->of->status);
	}
}

/* What the shell was typed. */
void
shell_step(void)
{
	static uint8_t chunk[4096];
	struct proc *p;
	ssize_t n;

	TAILQ_FOREACH(p, &procs.all, entry)
		if (p->of == NULL && p->started)
			break;
	if (p == NULL || (n = read(p->fds[0], chunk, sizeof chunk)) <= 0)
		return;
	MUST(same(chunk, (size_t)n, 0, 0, shell_read_bytes),
	    "other bytes typed at %llu", (unsigned long long)shell_read_bytes);
	shell_read_bytes += (uint64_t)n;
}
