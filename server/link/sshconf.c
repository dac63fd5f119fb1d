/* SPDX-License-Identifier: ISC */
/*
 * Host lines of ssh_config. Match blocks, and whether an Include stands in a
 * block that does not apply, are not looked at: this only decides whether a
 * bare name may be taken for a host; ssh itself has the last word.
 */
#include <sys/types.h>

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "../base/buf.h"
#include "../base/fd.h"
#include "../base/limits.h"
#include "../base/mem.h"
#include "../base/place.h"
#include "sshconf.h"

struct look {
	const char	*host;		/* NULL: only collect */
	const char	*home;
	const char	*dir;		/* of relative Includes */
	bool		 found;
	int		 files;		/* read so far */
	char		**names;	/* collected, NULL-ended; or NULL */
	size_t		 nnames;
};

static void	 look_file(struct look *, const char *, int);

const char *
env_value(char *const *env, const char *name)
{
	size_t n = strlen(name);

	for (; env != NULL && *env != NULL; env++)
		if (strncmp(*env, name, n) == 0 && (*env)[n] == '=')
			return (*env)[n + 1] != '\0' ? *env + n + 1 : NULL;
	return NULL;
}

/* One star is remembered at a time, so a hostile pattern costs no more than
 * its length times the name's. */
bool
sshconf_match(const char *p, const char *s)
{
	const char *star = NULL, *mark = NULL;

	while (*s != '\0') {
		if (*p == '*') {
			star = p++;
			mark = s;
		} else if (*p == '?' || *p == *s) {
			p++;
			s++;
		} else if (star != NULL) {
			p = star + 1;
			s = ++mark;
		} else
			return false;
	}
	while (*p == '*')
		p++;
	return *p == '\0';
}

/* The next word, quotes stripped, in place; NULL at the end. */
static char *
word(char **line)
{
	char *s = *line, *e;

	s += strspn(s, " \t\r=");
	if (*s == '\0' || *s == '#')
		return NULL;
	if (*s == '"') {
		s++;
		e = s + strcspn(s, "\"");
	} else
		e = s + strcspn(s, " \t\r");
	*line = *e == '\0' ? e : e + 1;
	*e = '\0';
	return s;
}

static void
collect(struct look *l, const char *name)
{
	size_t i;

	if (l->nnames >= SSHCONF_NAMES_MAX || strpbrk(name, "*?!") != NULL ||
	    *name == '\0')
		return;
	for (i = 0; i < l->nnames; i++)
		if (strcmp(l->names[i], name) == 0)
			return;
	l->names = xreallocarray(l->names, l->nnames + 2, sizeof *l->names);
	l->names[l->nnames++] = xstrdup(name);
	l->names[l->nnames] = NULL;
}

static void
look_host(struct look *l, char *line)
{
	bool hit = false, barred = false;
	char *w;

	while ((w = word(&line)) != NULL) {
		collect(l, w);
		if (l->host == NULL)
			continue;
		if (*w == '!')
			barred |= sshconf_match(w + 1, l->host);
		else if (w[strspn(w, "*?")] != '\0')
			hit |= sshconf_match(w, l->host);
	}
	l->found |= hit && !barred;
}

/* Include may have stars in its last part. */
static void
look_glob(struct look *l, const char *path, int depth)
{
	const char *slash = strrchr(path, '/');
	struct dirent *e;
	char *dir, *file;
	DIR *d;

	if (slash == NULL || strpbrk(slash, "*?") == NULL) {
		look_file(l, path, depth);
		return;
	}
	dir = xstrndup(path, (size_t)(slash - path) + 1);
	if ((d = opendir(dir)) != NULL) {
		while (l->files < SSHCONF_FILES_MAX &&
		    (e = readdir(d)) != NULL) {
			if (e->d_name[0] == '.' ||
			    !sshconf_match(slash + 1, e->d_name))
				continue;
			file = xasprintf("%s%s", dir, e->d_name);
			look_file(l, file, depth);
			free(file);
		}
		closedir(d);
	}
	free(dir);
}

static void
look_include(struct look *l, char *line, int depth)
{
	char *w, *path;

	while ((w = word(&line)) != NULL) {
		if (w[0] == '~' && w[1] == '/')
			path = xasprintf("%s/%s", l->home, w + 2);
		else if (w[0] == '/')
			path = xstrdup(w);
		else
			path = xasprintf("%s/%s", l->dir, w);
		look_glob(l, path, depth + 1);
		free(path);
	}
}

static void
look_text(struct look *l, const char *text, size_t len, int depth)
{
	const char *end;
	char *line, *rest, *key;
	size_t n;

	while (len > 0) {
		end = memchr(text, '\n', len);
		n = end != NULL ? (size_t)(end - text) : len;
		rest = line = xstrndup(text, n);
		rest += strspn(rest, " \t");
		key = rest;
		rest += strcspn(rest, " \t=");
		if (*rest != '\0')
			*rest++ = '\0';
		if (strcasecmp(key, "Host") == 0)
			look_host(l, rest);
		else if (strcasecmp(key, "Include") == 0)
			look_include(l, rest, depth);
		free(line);
		n += end != NULL;
		text += n;
		len -= n;
	}
}

static void
look_file(struct look *l, const char *path, int depth)
{
	char *text;
	ssize_t n;

	if (depth > SSHCONF_DEPTH_MAX || ++l->files > SSHCONF_FILES_MAX)
		return;
	if ((n = fd_read_file(path, &text, CONF_FILE_MAX)) < 0)
		return;
	look_text(l, text, (size_t)n, depth);
	free(text);
}

static bool
look_done(struct look *l, char ***names)
{
	if (names != NULL)
		*names = l->names != NULL ? l->names :
		    xcalloc(1, sizeof *l->names);
	else
		strv_free(l->names);
	return l->found;
}

bool
sshconf_host(const char *file, char *const *env, const char *host,
    char ***names)
{
	struct look l = { .host = host };
	char *dir, *user;

	l.home = env_value(env, "HOME");
	if (l.home == NULL)
		l.home = user_home();
	l.dir = dir = xasprintf("%s/.ssh", l.home);
	user = xasprintf("%s/config", dir);
	look_file(&l, file != NULL ? file : user, 0);
	if (file == NULL) {
		l.dir = "/etc/ssh";
		look_file(&l, "/etc/ssh/ssh_config", 0);
	}
	free(user);
	free(dir);
	return look_done(&l, names);
}

bool
sshconf_text(const char *text, size_t len, const char *dir, const char *host,
    char ***names)
{
	struct look l = { .host = host, .home = dir, .dir = dir };

	look_text(&l, text, len, 0);
	return look_done(&l, names);
}
