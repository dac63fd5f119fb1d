/* SPDX-License-Identifier: ISC */
/*
 * Cgroups as systemd names them, linger, and logind's KillUserProcesses; see
 * scope.h. What decides stands in two tables in words: scope_fate() and
 * scope_wish().
 */
#include <sys/stat.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "dropin.h"
#include "fd.h"
#include "limits.h"
#include "mem.h"
#include "output.h"
#include "place.h"
#include "scope.h"

#define CGROUP_MAX	16384u
#define CONF_MAX	65536u

char *
scope_path(const char *absolute)
{
#ifdef DLMUX_HOOKS
	const char *root = getenv("DLMUX_SYSROOT");

	if (root != NULL)
		return xasprintf("%s%s", root, absolute);
#endif
	return xstrdup(absolute);
}

static char *
read_path(const char *absolute, size_t max)
{
	char *path = scope_path(absolute), *text = NULL;

	if (fd_read_file(path, &text, max) == -1)
		text = NULL;
	free(path);
	return text;
}

const char *
scope_cgroup(const char *text)
{
	const char *line, *next, *colon, *named = NULL, *unified = NULL;

	for (line = text; line != NULL && *line != '\0'; line = next) {
		next = (next = strchr(line, '\n')) != NULL ? next + 1 : NULL;
		if ((colon = strchr(line, ':')) == NULL)
			continue;
		if (strncmp(colon, ":name=systemd:", 14) == 0)
			named = colon + 14;
		else if (strncmp(line, "0::", 3) == 0)
			unified = line + 3;
	}
	/* With both, an unused one has all in its root. */
	return named != NULL && strncmp(named, "/\n", 2) != 0 ? named :
	    unified != NULL ? unified : named;
}

static bool
part_is(const char *p, size_t n, const char *head, const char *tail)
{
	size_t h = strlen(head), t = strlen(tail);

	return n > h + t && strncmp(p, head, h) == 0 &&
	    strncmp(p + n - t, tail, t) == 0;
}

void
scope_parse(struct scope *s, const char *cgroup)
{
	const char *p = scope_cgroup(cgroup);
	bool user = false, manager = false;
	size_t n;

	s->where = SCOPE_NOWHERE;
	s->own = false;
	s->unit[0] = '\0';
	for (; p != NULL && *p == '/'; p += n) {
		p++;
		n = strcspn(p, "/\n");
		if (!part_is(p, n, "", ".scope") &&
		    !part_is(p, n, "", ".service")) {
			user |= part_is(p, n, "user-", ".slice");
			continue;
		}
		(void)snprintf(s->unit, sizeof s->unit, "%.*s", (int)n, p);
		s->own = part_is(p, n, "dlmux-", ".scope");
		if (part_is(p, n, "user@", ".service"))
			manager = true;
		if (manager)
			s->where = SCOPE_MANAGER;
		else if (user && part_is(p, n, "session-", ".scope"))
			s->where = SCOPE_SESSION;
		else if (part_is(p, n, "", ".service"))
			s->where = SCOPE_SERVICE;
		else
			s->where = SCOPE_NOWHERE;
	}
}

char *
scope_bus(void)
{
	struct stat st;
	char *name, *path;

	name = xasprintf("/run/user/%lu/bus", (unsigned long)geteuid());
	path = scope_path(name);
	free(name);
	if (stat(path, &st) == 0 && S_ISSOCK(st.st_mode) &&
	    st.st_uid == geteuid())
		return path;
	free(path);
	return NULL;
}

bool
scope_read(struct scope *s, pid_t pid)
{
	char *name, *path, *text;

	memset(s, 0, sizeof *s);
	s->kills = KNOW_NOT;
	s->uid = geteuid();
	path = scope_path("/run/systemd/system");
	s->systemd = access(path, F_OK) == 0;
	free(path);
	if (!s->systemd)
		return false;
	name = xasprintf("/proc/%ld/cgroup", (long)pid);
	text = read_path(name, CGROUP_MAX);
#ifdef DLMUX_HOOKS
	if (text == NULL)
		text = read_path("/proc/cgroup", CGROUP_MAX);
#endif
	free(name);
	if (text != NULL)
		scope_parse(s, text);
	free(text);
	return true;
}

void
scope_look(struct scope *s)
{
	char *name, *path;

	if (!s->systemd)
		return;
	name = xasprintf("/var/lib/systemd/linger/%s", user_name());
	path = scope_path(name);
	s->linger = access(path, F_OK) == 0;
	free(path);
	free(name);
	path = scope_bus();
	s->bus = path != NULL;
	free(path);
}

/* --- KillUserProcesses ---------------------------------------------------- */

struct logind {
	enum scope_know	 kills;
	bool		 exempt;	/* the user is */
};

/* The last assignment counts. */
static void
conf_text(char *text, void *arg)
{
	struct logind *l = arg;
	const char *user = user_name();
	char *line, *next = text, *value, *word;

	while ((line = strsep(&next, "\n")) != NULL) {
		line += strspn(line, " \t");
		if ((value = strchr(line, '=')) == NULL || *line == '#')
			continue;
		*value++ = '\0';
		value += strspn(value, " \t");
		line[strcspn(line, " \t")] = '\0';
		if (strcmp(line, "KillUserProcesses") == 0)
			l->kills = (*value != '\0' && strchr("yY1tT", *value) !=
			    NULL) || strncasecmp(value, "on", 2) == 0 ?
			    KNOW_YES : KNOW_NO;
		if (strcmp(line, "KillExcludeUsers") != 0)
			continue;
		l->exempt = false;
		while ((word = strsep(&value, " \t")) != NULL)
			l->exempt |= strcmp(word, user) == 0;
	}
}

static enum scope_know
ask_logind(void)
{
	static const char *const argv[] = { "busctl", "get-property",
	    "org.freedesktop.login1", "/org/freedesktop/login1",
	    "org.freedesktop.login1.Manager", "KillUserProcesses", NULL };
	char out[64];

	if (output_of(argv, SCOPE_ASK_MS, 0, out, sizeof out) != 0)
		return KNOW_NOT;
	return strncmp(out, "b true", 6) == 0 ? KNOW_YES :
	    strncmp(out, "b false", 7) == 0 ? KNOW_NO : KNOW_NOT;
}

/* An sshd without pam_systemd, say: KillMode=process. */
static bool
ask_kill_mode(const char *unit)
{
	const char *argv[] = { "systemctl", "show", "-p", "KillMode", "--",
	    unit, NULL };
	char out[64];

	return output_of(argv, SCOPE_ASK_MS, 0, out, sizeof out) == 0 &&
	    (strncmp(out, "KillMode=process\n", 17) == 0 ||
	    strncmp(out, "KillMode=none\n", 14) == 0);
}

void
scope_ask(struct scope *s)
{
	static const char *const dirs[] = { "/usr/lib/systemd/logind.conf.d",
	    "/run/systemd/logind.conf.d", "/etc/systemd/logind.conf.d" };
	/* logind's own default leaves root alone. */
	struct logind l = { KNOW_NOT, s->uid == 0 };
	char *text;

	if (!s->systemd)
		return;
	if ((text = read_path("/etc/systemd/logind.conf", CONF_MAX)) != NULL)
		conf_text(text, &l);
	free(text);
	dropin_each(dirs, sizeof dirs / sizeof dirs[0], conf_text, &l);
	/* What is written nowhere was decided when logind was built. */
	s->kills = l.exempt ? KNOW_NO : l.kills == KNOW_NOT ? ask_logind() :
	    l.kills;
	if (s->where == SCOPE_SERVICE)
		s->spares = ask_kill_mode(s->unit);
}

/* --- what follows ----------------------------------------------------------- */

enum scope_fate
scope_fate(const struct scope *s)
{
	switch (s->systemd ? s->where : SCOPE_NOWHERE) {
	case SCOPE_SESSION:
		return s->kills == KNOW_YES ? FATE_LOGOUT :
		    s->kills == KNOW_NO ? FATE_LIVES : FATE_UNKNOWN;
	case SCOPE_MANAGER:
		return !s->linger ? FATE_LAST : s->own ||
		    part_is(s->unit, strlen(s->unit), "", ".scope") ?
		    FATE_LIVES : FATE_UNIT;
	case SCOPE_SERVICE:
		return s->spares ? FATE_LIVES : FATE_UNIT;
	case SCOPE_NOWHERE:
		break;
	}
	return FATE_LIVES;
}

/*
 * The user's manager ends with the last session unless the user lingers, and
 * takes its scopes with it: so a session that logind leaves alone is the better
 * place for who does not linger.
 */
enum scope_wish
scope_wish(const struct scope *s)
{
	if (!s->systemd || s->own)
		return WISH_STAY;
	switch (s->where) {
	case SCOPE_SESSION:
		if (s->kills == KNOW_YES || (s->linger && s->kills == KNOW_NOT))
			return s->uid == 0 ? WISH_SYSTEM : s->bus ?
			    WISH_MANAGER : WISH_STAY;
		return WISH_STAY;
	case SCOPE_MANAGER:	/* whose cgroups are the user's own */
		return s->bus ? WISH_MANAGER : WISH_HAND;
	case SCOPE_SERVICE:
		if (s->spares)
			return WISH_STAY;
		return s->uid == 0 ? WISH_SYSTEM : s->bus && s->linger ?
		    WISH_MANAGER : WISH_STAY;
	case SCOPE_NOWHERE:
		break;
	}
	return WISH_STAY;
}
