/* SPDX-License-Identifier: ISC */
/*
 * Starting and reaping; contract in child.h. posix_spawn does not copy the
 * server's memory (its mirrors may be large) and tells an exec's failure at
 * once.
 */
#include <sys/stat.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../base/mem.h"
#include "../wire/msg.h"
#include "child.h"
#include "sshconf.h"

struct child {
	pid_t		 pid;
	struct event	*sig;		/* SIGCHLD */
	struct event	*timer;		/* TERM, then KILL, after forget */
	int		 kill_ms;
	void		(*ended)(int, void *);
	void		*arg;
};

static void
child_free(struct child *c)
{
	event_free(c->sig);
	event_free(c->timer);
	free(c);
}

/*
 * As long as the leader is not reaped its number is nobody else's, so this is
 * the last moment at which its group (a ProxyCommand left over) can be told.
 */
static void
on_sigchld(evutil_socket_t sig, short what, void *arg)
{
	struct child *c = arg;
	siginfo_t si;
	int status;

	(void)sig;
	(void)what;
	si.si_pid = 0;
	if (waitid(P_PID, (id_t)c->pid, &si, WEXITED | WNOHANG | WNOWAIT) ==
	    -1 || si.si_pid == 0)
		return;
	kill(-c->pid, SIGTERM);
	while (waitpid(c->pid, &status, 0) == -1)
		if (errno != EINTR)
			return;
	if (c->ended != NULL)
		c->ended(status, c->arg);
	child_free(c);
}

static void
on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct child *c = arg;
	struct timeval tv = { c->kill_ms / 1000, c->kill_ms % 1000 * 1000 };

	(void)fd;
	(void)what;
	if (c->kill_ms > 0) {
		kill(-c->pid, SIGTERM);
		c->kill_ms = 0;
		event_add(c->timer, &tv);
	} else
		kill(-c->pid, SIGKILL);
}

/* By env's PATH, as a shell of that user would. malloc'd, or NULL. */
static char *
find_program(const char *name, char *const *env)
{
	const char *path, *end;
	struct stat st;
	char *file;

	if (strchr(name, '/') != NULL)
		return xstrdup(name);
	if ((path = env_value(env, "PATH")) == NULL)
		path = "/usr/local/bin:/usr/bin:/bin";
	for (;; path = end + 1) {
		end = path + strcspn(path, ":");
		file = xasprintf("%.*s/%s", (int)(end - path), path, name);
		/* An empty part would mean the current directory: ours. */
		if (end != path && *path == '/' && stat(file, &st) == 0 &&
		    S_ISREG(st.st_mode) && access(file, X_OK) == 0)
			return file;
		free(file);
		if (*end == '\0')
			return NULL;
	}
}

static mode_t	 mask;
static bool	 mask_given;

void
child_mask(mode_t given)
{
	mask = given;
	mask_given = true;
}

static int
spawn_it(pid_t *pid, const char *file, const struct child_spec *spec)
{
	posix_spawn_file_actions_t fa;
	posix_spawnattr_t at;
	const char *home;
	struct stat st;
	sigset_t all, none;
	mode_t ours = 0;
	int i, r;

	sigfillset(&all);
	sigemptyset(&none);
	posix_spawnattr_init(&at);
	posix_spawnattr_setsigdefault(&at, &all);
	posix_spawnattr_setsigmask(&at, &none);
	posix_spawnattr_setflags(&at, POSIX_SPAWN_SETSIGDEF |
	    POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSID);
	posix_spawn_file_actions_init(&fa);
	home = env_value(spec->env, "HOME");
	if (home == NULL || stat(home, &st) == -1 || !S_ISDIR(st.st_mode))
		home = "/";
	posix_spawn_file_actions_addchdir_np(&fa, home);
	for (i = 0; i < 4; i++)
		if (spec->fd[i] >= 0)
			posix_spawn_file_actions_adddup2(&fa, spec->fd[i], i);
		else if (i < 3)
			posix_spawn_file_actions_addopen(&fa, i, "/dev/null",
			    O_RDWR, 0);
	if (mask_given)
		ours = umask(mask);
	r = posix_spawn(pid, file, &fa, &at, spec->argv, spec->env);
	if (mask_given)
		(void)umask(ours);
	posix_spawn_file_actions_destroy(&fa);
	posix_spawnattr_destroy(&at);
	return r;
}

struct child *
child_start(struct event_base *base, const struct child_spec *spec,
    void (*ended)(int, void *), void *arg, char **cause)
{
	struct child *c;
	char *file;
	pid_t pid;
	int r;

	file = spec->file != NULL ? xstrdup(spec->file) :
	    find_program(spec->argv[0], spec->env);
	if (file == NULL) {
		*cause = xasprintf("%s: not found in PATH", spec->argv[0]);
		return NULL;
	}
	r = spawn_it(&pid, file, spec);
	if (r != 0)
		*cause = xasprintf("%s: %s", file, strerror(r));
	free(file);
	if (r != 0)
		return NULL;
	c = xcalloc(1, sizeof *c);
	c->pid = pid;
	c->ended = ended;
	c->arg = arg;
	c->sig = event_new(base, SIGCHLD, EV_SIGNAL | EV_PERSIST, on_sigchld,
	    c);
	c->timer = event_new(base, -1, 0, on_timer, c);
	event_add(c->sig, NULL);
	/* It may have ended before anybody listened. */
	event_active(c->sig, EV_SIGNAL, 1);
	return c;
}

pid_t
child_pid(const struct child *c)
{
	return c->pid;
}

void
child_forget(struct child *c, int term_ms, int kill_ms)
{
	struct timeval tv = { term_ms / 1000, term_ms % 1000 * 1000 };

	if (c == NULL)
		return;
	c->ended = NULL;
	c->kill_ms = kill_ms;
	if (kill_ms > 0)
		event_add(c->timer, &tv);
}

char *
child_words(int status)
{
	const char *name;

	if (WIFEXITED(status))
		return xasprintf("exited with status %d",
		    WEXITSTATUS(status));
	name = WIFSIGNALED(status) ? signal_name(WTERMSIG(status)) : NULL;
	return xasprintf("was killed by signal %s", name != NULL ? name : "?");
}
