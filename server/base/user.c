/* SPDX-License-Identifier: ISC */
/*
 * Who the user is, without the C library's getpw*: in a static binary that
 * would load NSS plug-ins. The environment is asked first, then /etc/passwd,
 * then a getent child, for systems whose users come from a directory.
 *
 * Everything is looked up once; only the first call may take time.
 */
#include <sys/types.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fd.h"
#include "limits.h"
#include "mem.h"
#include "output.h"
#include "place.h"

#define USER_PASSWD_MAX	(8u << 20)	/* an /etc/passwd */
#define USER_LINE_MAX	4096		/* what getent says of one user */

struct user_entry {
	char	*name, *home, *shell;	/* NULL: not known */
};

static struct user_entry user_entry;
static bool user_looked;

/* Splits a line of passwd in place and keeps it if it is ours. */
static bool
user_parse(char *line)
{
	char *field[7], *end;
	unsigned long uid;
	int i;

	for (i = 0; i < 7; i++)
		if ((field[i] = strsep(&line, ":")) == NULL)
			return false;
	errno = 0;
	uid = strtoul(field[2], &end, 10);
	if (end == field[2] || *end != '\0' || errno != 0 || uid != getuid())
		return false;
	if (*field[0] != '\0')
		user_entry.name = xstrdup(field[0]);
	if (*field[5] == '/')
		user_entry.home = xstrdup(field[5]);
	if (*field[6] == '/')
		user_entry.shell = xstrdup(field[6]);
	return true;
}

static bool
user_passwd(void)
{
	char *data, *next, *line;
	bool found = false;

	if (fd_read_file("/etc/passwd", &data, USER_PASSWD_MAX) == -1)
		return false;
	for (next = data; !found && (line = strsep(&next, "\n")) != NULL; )
		found = user_parse(line);
	free(data);
	return found;
}

static void
user_getent(void)
{
	char uid[32], line[USER_LINE_MAX];
	const char *argv[] = { "getent", "passwd", uid, NULL };

	snprintf(uid, sizeof uid, "%lu", (unsigned long)getuid());
	if (output_of(argv, GETENT_MS, 0, line, sizeof line) == 0) {
		line[strcspn(line, "\n")] = '\0';
		(void)user_parse(line);
	}
}

static const struct user_entry *
user_look(void)
{
	if (!user_looked) {
		user_looked = true;
		if (!user_passwd())
			user_getent();
	}
	return &user_entry;
}

/* The variable's value if it is an absolute path. */
static const char *
user_env_path(const char *name)
{
	const char *s = getenv(name);

	return s != NULL && *s == '/' ? s : NULL;
}

const char *
user_home(void)
{
	static char *home;
	const char *s;

	if (home == NULL) {
		if ((s = user_env_path("HOME")) == NULL)
			s = user_look()->home;
		home = xstrdup(s != NULL ? s : "/");
	}
	return home;
}

const char *
user_shell(void)
{
	static char *shell;
	const char *s;

	if (shell == NULL) {
		if ((s = user_env_path("SHELL")) == NULL)
			s = user_look()->shell;
		shell = xstrdup(s != NULL ? s : "/bin/sh");
	}
	return shell;
}

const char *
user_name(void)
{
	static char *name;
	const char *s;

	if (name == NULL) {
		if (((s = getenv("USER")) == NULL || *s == '\0') &&
		    ((s = getenv("LOGNAME")) == NULL || *s == '\0'))
			s = user_look()->name;
		/* A uid without an entry is usual in containers. */
		name = s != NULL ? xstrdup(s) :
		    xasprintf("%lu", (unsigned long)getuid());
	}
	return name;
}
