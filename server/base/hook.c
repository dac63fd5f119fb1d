/* SPDX-License-Identifier: ISC */
/*
 * Where a test stops a process; see hook.h. Empty in release builds.
 */
#include "hook.h"

#ifdef DLMUX_HOOKS
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void
hook_point(const char *name)
{
	const char *dir = getenv("DLMUX_HOOK_DIR");
	char from[512], to[512], pid[32];
	int fd, n;

	if (dir == NULL || *dir == '\0')
		return;
	n = snprintf(from, sizeof from, "%s/%s", dir, name);
	if (n < 0 || (size_t)n + sizeof ".hit" > sizeof to)
		return;
	if ((fd = open(from, O_WRONLY | O_TRUNC | O_CLOEXEC)) == -1)
		return;
	/* The pid goes in first: whoever sees the .hit may read it at once. */
	n = snprintf(pid, sizeof pid, "%ld\n", (long)getpid());
	if (write(fd, pid, (size_t)n) != n) {
		close(fd);
		return;
	}
	close(fd);
	snprintf(to, sizeof to, "%s/%s.hit", dir, name);
	/* Of several processes that come by at once one alone stops. */
	if (rename(from, to) == 0)
		raise(SIGSTOP);
}

void
hook_stderr(void)
{
	const char *dir = getenv("DLMUX_HOOK_DIR");
	char path[512];
	int fd;

	if (dir == NULL || *dir == '\0' || (size_t)snprintf(path, sizeof path,
	    "%s/stderr", dir) >= sizeof path)
		return;
	fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
	if (fd == -1)
		return;
	(void)dup2(fd, STDERR_FILENO);
	close(fd);
}

static int
hook_holds(const char *name, const void *data, size_t len)
{
	const char *v = getenv(name);

	return v != NULL && *v != '\0' && memmem(data, len, v,
	    strlen(v)) != NULL;
}

void
hook_parse(const void *data, size_t len)
{
	volatile unsigned int spin = 0;

	if (hook_holds("DLMUX_POISON", data, len))
		abort();
	if (hook_holds("DLMUX_POISON_SPIN", data, len))
		for (;;)
			spin++;
}
#else
/* A translation unit must not be empty. */
extern int hook_none;
int hook_none;
#endif
