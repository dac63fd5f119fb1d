/* SPDX-License-Identifier: ISC */
/*
 * Whole processes, timed: from before posix_spawn() until wait() returned, as
 * a user's shell would see them.
 */
#include <sys/mman.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"

static volatile pid_t	 doomed;

void
output_clear(struct output *o)
{
	free(o->out);
	free(o->err);
	memset(o, 0, sizeof *o);
}

static void
on_alarm(int sig)
{
	(void)sig;
	if (doomed > 0)
		kill(doomed, SIGKILL);
}

static int
status_of(int st)
{
	return WIFEXITED(st) ? WEXITSTATUS(st) : 128 + WTERMSIG(st);
}

static char *
take(int fd)
{
	off_t n = lseek(fd, 0, SEEK_END);
	char *s = xalloc((size_t)n + 1);

	if (pread(fd, s, (size_t)n, 0) != n)
		n = 0;
	s[n] = '\0';
	return s;
}

/* Output goes into memory files, so that nobody need read while it runs. */
static int
scratch(int i)
{
	static int fd[2] = { -1, -1 };

	if (fd[i] == -1 && (fd[i] = memfd_create("bench", MFD_CLOEXEC)) == -1)
		bench_die("memfd_create: %s", strerror(errno));
	if (ftruncate(fd[i], 0) == -1 || lseek(fd[i], 0, SEEK_SET) == -1)
		bench_die("memfd: %s", strerror(errno));
	return fd[i];
}

static void
attributes(posix_spawnattr_t *at)
{
	sigset_t def;

	sigemptyset(&def);
	sigaddset(&def, SIGPIPE);
	sigaddset(&def, SIGINT);
	posix_spawnattr_init(at);
	posix_spawnattr_setsigdefault(at, &def);
	posix_spawnattr_setflags(at, POSIX_SPAWN_SETSIGDEF);
}

double
child_run(struct bench *b, char *const *argv, char *const *env,
    struct output *o, double deadline)
{
	posix_spawn_file_actions_t fa;
	posix_spawnattr_t at;
	double began, ended;
	pid_t pid;
	int st, r, out = scratch(0), err = scratch(1);

	posix_spawn_file_actions_init(&fa);
	posix_spawn_file_actions_addopen(&fa, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&fa, out, 1);
	posix_spawn_file_actions_adddup2(&fa, err, 2);
	attributes(&at);
	signal(SIGALRM, on_alarm);
	alarm((unsigned)(deadline / 1000) + 1);
	began = now_ms();
	r = posix_spawnp(&pid, argv[0], &fa, &at, argv, env != NULL ? env :
	    b->env);
	if (r == 0) {
		doomed = pid;
		while (waitpid(pid, &st, 0) == -1 && errno == EINTR)
			;
		ended = now_ms();
		doomed = 0;
	} else {
		ended = now_ms();
		st = 127 << 8;
	}
	alarm(0);
	posix_spawn_file_actions_destroy(&fa);
	posix_spawnattr_destroy(&at);
	if (o != NULL) {
		o->status = status_of(st);
		o->out = take(out);
		o->err = take(err);
	}
	return ended - began;
}

double
child_sample(struct bench *b, const struct subject *s, char **cause)
{
	struct output o;
	double ms = child_run(b, s->argv, NULL, &o, 60000);

	if (o.status != 0 ||
	    (s->arg != NULL && strstr(o.out, s->arg) == NULL)) {
		*cause = xfmt("status %d, output \"%.200s\", \"%.300s\"",
		    o.status, o.out, o.err);
		ms = -1;
	}
	output_clear(&o);
	return ms;
}

double
child_parallel(struct bench *b, char *const *argv, int count, double deadline,
    char **cause)
{
	posix_spawn_file_actions_t fa;
	posix_spawnattr_t at;
	double began, ended;
	pid_t *pids = xalloc((size_t)count * sizeof *pids);
	int i, st, bad = 0, last = 0, err = scratch(1);
	char *text;

	posix_spawn_file_actions_init(&fa);
	posix_spawn_file_actions_addopen(&fa, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&fa, 1, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_adddup2(&fa, err, 2);
	attributes(&at);
	signal(SIGALRM, on_alarm);
	began = now_ms();
	for (i = 0; i < count; i++)
		if (posix_spawnp(&pids[i], argv[0], &fa, &at, argv,
		    b->env) != 0)
			pids[i] = -1;
	for (i = 0; i < count; i++) {
		st = 127 << 8;
		if (pids[i] > 0) {
			doomed = pids[i];
			alarm((unsigned)((deadline - (now_ms() - began)) /
			    1000 + 2));
			while (waitpid(pids[i], &st, 0) == -1 &&
			    errno == EINTR)
				;
			alarm(0);
			doomed = 0;
		}
		if (status_of(st) != 0) {
			bad++;
			last = status_of(st);
		}
	}
	ended = now_ms();
	if (bad > 0) {
		text = take(err);
		*cause = xfmt("%d of %d failed, the last with %d: %.300s", bad,
		    count, last, text);
		free(text);
	}
	posix_spawn_file_actions_destroy(&fa);
	posix_spawnattr_destroy(&at);
	free(pids);
	return bad > 0 ? -1 : ended - began;
}

pid_t
child_start(struct bench *b, char *const *argv, const char *log)
{
	posix_spawn_file_actions_t fa;
	posix_spawnattr_t at;
	pid_t pid = -1;

	posix_spawn_file_actions_init(&fa);
	posix_spawn_file_actions_addopen(&fa, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&fa, 1, log != NULL ? log :
	    "/dev/null", O_WRONLY | O_CREAT | O_APPEND, 0600);
	posix_spawn_file_actions_adddup2(&fa, 1, 2);
	attributes(&at);
	posix_spawnattr_setflags(&at, POSIX_SPAWN_SETSIGDEF |
	    POSIX_SPAWN_SETSID);
	if (posix_spawnp(&pid, argv[0], &fa, &at, argv, b->env) != 0)
		pid = -1;
	posix_spawn_file_actions_destroy(&fa);
	posix_spawnattr_destroy(&at);
	return pid;
}
