/* SPDX-License-Identifier: ISC */
/*
 * Ancestry; see inside.h.
 */
#include <sys/types.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../server/base/fd.h"
#include "../server/base/mem.h"
#include "inside.h"

/* Deeper than any tree of processes that a terminal starts. */
#define ANCESTORS_MAX	64

/* Parent of pid and the DLMUX of its first environment; 0 if not to be had. */
static pid_t
parent_of(pid_t pid)
{
	char path[64], *data = NULL, *p;
	long ppid = 0;

	(void)snprintf(path, sizeof path, "/proc/%ld/stat", (long)pid);
	if (fd_read_file(path, &data, 4096) == -1)
		return 0;
	/* The name in parentheses may hold anything. */
	if ((p = strrchr(data, ')')) == NULL ||
	    sscanf(p + 1, " %*c %ld", &ppid) != 1)
		ppid = 0;
	free(data);
	return (pid_t)ppid;
}

/* Was it started with DLMUX=name, and for this instance? */
static bool
named(pid_t pid, const char *name, const char *instance)
{
	char path[64], *data = NULL, *p;
	const char *has = "default";
	ssize_t n;
	bool found = false;

	(void)snprintf(path, sizeof path, "/proc/%ld/environ", (long)pid);
	if ((n = fd_read_file(path, &data, 1u << 20)) == -1)
		return false;
	for (p = data; p < data + n; p += strlen(p) + 1) {
		if (strncmp(p, "DLMUX=", 6) == 0)
			found = strcmp(p + 6, name) == 0;
		else if (strncmp(p, "DLMUX_INSTANCE=", 15) == 0)
			has = p + 15;
	}
	found = found && strcmp(has, instance) == 0;
	free(data);
	return found;
}

char *
inside_shell(const struct place *place)
{
	const char *name = getenv("DLMUX");
	pid_t pid, sid = getsid(0);
	int i;

	if (name == NULL || *name == '\0')
		return NULL;
	/* The shell leads its session. It is an ancestor whose own environment,
	 * as it was started, has the name too. */
	for (i = 0, pid = getppid(); pid > 1 && i < ANCESTORS_MAX;
	    i++, pid = parent_of(pid))
		if ((pid == sid || getsid(pid) == pid) &&
		    named(pid, name, place->instance))
			return xstrdup(name);
	return NULL;
}
