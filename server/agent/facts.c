/* SPDX-License-Identifier: ISC */
/* Gathering; contract in facts.h. */
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../base/clock.h"
#include "../base/dropin.h"
#include "../base/fd.h"
#include "../base/limits.h"
#include "../base/mem.h"
#include "../base/output.h"
#include "../base/place.h"
#include "../base/scope.h"
#include "../base/version.h"
#include "facts.h"

static void __attribute__((format(printf, 3, 4)))
fact(struct buf *b, const char *name, const char *fmt, ...)
{
	char text[PATH_MAX + 256], *p;
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	for (p = text; *p != '\0'; p++)
		if ((unsigned char)*p < 0x20)
			*p = ' ';
	buf_printf(b, "%s=%s\n", name, text);
}

/* A test has another clock there; DLMUX_ names do not come through. */
static uint64_t
now_ms(void)
{
#ifdef DLMUX_HOOKS
	const char *v = getenv("TEST_CLOCK_AHEAD_MS");

	if (v != NULL)
		return clock_wall_ms() + strtoull(v, NULL, 10);
#endif
	return clock_wall_ms();
}

/* --- itself ------------------------------------------------------------------- */

static void
of_itself(struct buf *b, pid_t about)
{
	struct utsname u;

	fact(b, "version", "%s", DLMUX_VERSION);
	fact(b, "pid", "%ld", (long)about);
	fact(b, "now_ms", "%" PRIu64, now_ms());
	fact(b, "uid", "%lu", (unsigned long)geteuid());
	fact(b, "user", "%s", user_name());
	if (uname(&u) == 0) {
		fact(b, "host", "%s", u.nodename);
		fact(b, "machine", "%s %s", u.sysname, u.machine);
	}
}

/* "Max open files   1024   4096   files" of somebody else's limits. */
static void
of_descriptors(struct buf *b, pid_t about)
{
	char *name = xasprintf("/proc/%ld/limits", (long)about), *text, *p;
	char soft[32] = "", hard[32] = "";
	struct rlimit r;

	if (fd_read_file(name, &text, 65536) != -1) {
		if ((p = strstr(text, "Max open files")) != NULL)
			(void)sscanf(p + 14, " %31s %31s", soft, hard);
		free(text);
	}
	free(name);
	if (soft[0] == '\0' && getrlimit(RLIMIT_NOFILE, &r) == 0) {
		snprintf(soft, sizeof soft, "%llu",
		    (unsigned long long)r.rlim_cur);
		snprintf(hard, sizeof hard, "%llu",
		    (unsigned long long)r.rlim_max);
	}
	fact(b, "nofile_soft", "%s", soft);
	fact(b, "nofile_hard", "%s", hard);
}

static void
of_scope(struct buf *b, pid_t about)
{
	static const char *const where[] = { "", "session", "manager",
	    "service" };
	static const char *const know[] = { "no", "yes", "unknown" };
	static const char *const fate[] = { "lives", "logout", "last", "unit",
	    "unknown" };
	static const char *const wish[] = { "stay", "manager", "system",
	    "hand" };
	struct scope s;

	(void)scope_read(&s, about);
	scope_look(&s);
	scope_ask(&s);
	fact(b, "systemd", "%d", s.systemd);
	if (!s.systemd)
		return;
	fact(b, "unit", "%s", s.unit);
	fact(b, "unit_kind", "%s", where[s.where]);
	fact(b, "unit_own", "%d", s.own);
	fact(b, "linger", "%d", s.linger);
	fact(b, "bus", "%d", s.bus);
	fact(b, "kill_user_processes", "%s", know[s.kills]);
	fact(b, "fate", "%s", fate[scope_fate(&s)]);
	fact(b, "wish", "%s", wish[scope_wish(&s)]);
}

/* --- directories --------------------------------------------------------------- */

struct cleaner {
	const char	*dir;
	size_t		 best;		/* length of the path that counts */
	char		 age[16];
};

/*
 * How old a cleaner lets a file grow below a directory: of the tmpfiles.d line
 * whose path is the longest above it, "10d"; "" for none. A line that takes it
 * out of the cleaning counts as well.
 */
static void
tmpfiles_text(char *text, void *arg)
{
	struct cleaner *c = arg;
	char *line, *next = text, type[16], path[256], to[16];
	size_t n;

	while ((line = strsep(&next, "\n")) != NULL) {
		to[0] = '\0';
		if (*line == '#' || sscanf(line, "%15s %255s %*s %*s %*s %15s",
		    type, path, to) < 2)
			continue;
		n = strlen(path);
		if (n > 1 && path[n - 1] == '*')	/* x /tmp/dlmux-* */
			path[--n] = '\0';
		else if (strncmp(c->dir, path, n) == 0 && c->dir[n] != '/' &&
		    c->dir[n] != '\0')
			continue;
		if (strncmp(c->dir, path, n) != 0 || n < c->best)
			continue;
		if (strchr("xX", type[0]) != NULL)
			to[0] = '\0';
		else if (strchr("dDqQvVe", type[0]) == NULL)
			continue;
		c->best = n;
		snprintf(c->age, sizeof c->age, "%s", strcmp(to, "-") == 0 ?
		    "" : to);
	}
}

static void
look_for_cleaner(struct cleaner *c)
{
	static const char *const dirs[] = { "/usr/lib/tmpfiles.d",
	    "/run/tmpfiles.d", "/etc/tmpfiles.d" };
	static const char *const crons[] = { "/etc/cron.daily/tmpreaper",
	    "/etc/cron.daily/tmpwatch" };
	char *path;
	size_t i;

	dropin_each(dirs, sizeof dirs / sizeof dirs[0], tmpfiles_text, c);
	for (i = 0; i < 2 && strncmp(c->dir, "/tmp/", 5) == 0; i++) {
		path = scope_path(crons[i]);
		if (access(path, F_OK) == 0)
			snprintf(c->age, sizeof c->age, "cron");
		free(path);
	}
}

/* dir.ROLE.*: one of the directories, or where it would be made. */
static void
of_dir(struct buf *b, const char *role, const char *path)
{
	struct cleaner cleaner = { .dir = path };
	char name[64], *above = xstrdup(path), *p;
	struct statvfs v;
	struct stat st;

#define FACT(what, ...) do { \
	snprintf(name, sizeof name, "dir.%s.%s", role, what); \
	fact(b, name, __VA_ARGS__); \
} while (0)
	FACT("path", "%s", path);
	if (lstat(path, &st) == 0) {
		FACT("uid", "%lu", (unsigned long)st.st_uid);
		FACT("mode", "%o", (unsigned int)st.st_mode & 07777);
		FACT("kind", "%s", S_ISDIR(st.st_mode) ? "dir" :
		    S_ISLNK(st.st_mode) ? "link" : "file");
	} else
		FACT("kind", "%s", errno == ENOENT ? "absent" :
		    strerror(errno));
	while (statvfs(above, &v) == -1 && (p = strrchr(above, '/')) != NULL &&
	    p != above)
		*p = '\0';
	if (statvfs(above, &v) == 0) {
		FACT("free_kb", "%" PRIu64, (uint64_t)v.f_bavail *
		    v.f_frsize / 1024);
		FACT("files", "%" PRIu64, v.f_files == 0 ? UINT64_MAX :
		    (uint64_t)v.f_favail);
		FACT("noexec", "%d", (v.f_flag & ST_NOEXEC) != 0);
		FACT("readonly", "%d", (v.f_flag & ST_RDONLY) != 0);
	}
	/* Whoever may write above may put something else in its place. */
	if ((p = strrchr(path, '/')) != NULL && p != path) {
		free(above);
		above = xstrndup(path, (size_t)(p - path));
		if (stat(above, &st) == 0)
			FACT("above_open", "%d", (st.st_mode & 022) != 0 &&
			    (st.st_mode & S_ISVTX) == 0 &&
			    ((st.st_mode & 02) != 0 || st.st_uid != geteuid()));
	}
	look_for_cleaner(&cleaner);
	FACT("cleaned", "%s", cleaner.age);
#undef FACT
	free(above);
}

static void
of_dirs(struct buf *b, pid_t about)
{
	struct place *place;
	char *cause = NULL, exe[PATH_MAX], *link, *p;
	ssize_t n;

	place = place_open(NULL, &cause);
	fact(b, "place_error", "%s", place == NULL ? cause : "");
	free(cause);
	if (place != NULL) {
		of_dir(b, "state", place->state);
		of_dir(b, "sockets", place->dir);
		of_dir(b, "cache", place->cache);
		fact(b, "instance", "%s", place->instance);
	}
	place_free(place);
	link = xasprintf("/proc/%ld/exe", (long)about);
	n = readlink(link, exe, sizeof exe - 1);
	free(link);
	if (n > 0) {
		exe[n] = '\0';
		fact(b, "exe", "%s", exe);
		if ((p = strrchr(exe, '/')) != NULL && p != exe) {
			*p = '\0';
			of_dir(b, "program", exe);
		}
	}
}

/* --- programs and terminals ------------------------------------------------------ */

static void
of_locale(struct buf *b)
{
	static const char *const vars[] = { "LC_ALL", "LC_CTYPE", "LANG" };
	static const char *const argv[] = { "locale", "charmap", NULL };
	const char *v, *lang = "";
	char out[64];
	size_t i;

	for (i = 0; i < 3 && *lang == '\0'; i++)
		if ((v = getenv(vars[i])) != NULL)
			lang = v;
	fact(b, "lang", "%s", lang);
	/* The C library's own word: a locale that is not installed is none.
	 * Where there is no such program every locale is UTF-8 (musl). */
	if (output_of(argv, FACTS_ASK_MS, 0, out, sizeof out) == 0)
		fact(b, "charmap", "%.*s", (int)strcspn(out, "\n"), out);
}

static void
of_terminfo(struct buf *b, const char *term)
{
	static const char *const dirs[] = { "/etc/terminfo", "/lib/terminfo",
	    "/usr/share/terminfo", "/usr/lib/terminfo",
	    "/usr/local/share/terminfo" };
	const char *own = getenv("TERMINFO"), *dir;
	char *home = xasprintf("%s/.terminfo", user_home()), *one, *two;
	bool found = false;
	size_t i;

	for (i = 0; i < 7 && !found && *term != '\0' &&
	    strchr(term, '/') == NULL; i++) {
		dir = i == 0 ? own : i == 1 ? home : dirs[i - 2];
		if (dir == NULL)
			continue;
		one = xasprintf("%s/%c/%s", dir, *term, term);
		two = xasprintf("%s/%02x/%s", dir, (unsigned char)*term, term);
		found = access(one, R_OK) == 0 || access(two, R_OK) == 0;
		free(one);
		free(two);
	}
	free(home);
	fact(b, "terminfo", "%d", found);
	fact(b, "term", "%s", term);
}

static void
of_ssh(struct buf *b)
{
	static const char *const argv[] = { "ssh", "-V", NULL };
	char out[256];
	int status = output_of(argv, FACTS_ASK_MS, 1, out, sizeof out);

	out[strcspn(out, "\r\n")] = '\0';
	fact(b, "ssh", "%s", status == 0 ? out : "");
	if (status != 0)
		fact(b, "ssh_error", "%s", status == 127 ? "not found in "
		    "PATH" : out[0] != '\0' ? out : "it does not run");
}

void
facts_gather(struct buf *b, pid_t about)
{
	const char *term = getenv("TERM");

	if (about == 0)
		about = getpid();
	of_itself(b, about);
	of_descriptors(b, about);
	of_scope(b, about);
	of_dirs(b, about);
	of_locale(b);
	of_terminfo(b, term != NULL ? term : "");
	of_ssh(b);
}

/* What decides where an agent's files are, as it was when it started: a
 * login's start-up files may say otherwise, and its instance is kept from what
 * it runs. */
static void
as_the_agent(void)
{
	static const char *const vars[] = { "HOME", "XDG_STATE_HOME",
	    "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR",
	    "DLMUX_INSTANCE" };
	char *name = xasprintf("/proc/%ld/environ", (long)getppid()), *text;
	const char *p;
	ssize_t n = fd_read_file(name, &text, 2u << 20);
	size_t i, k;

	free(name);
	if (n <= 0)
		return;
	for (i = 0; i < sizeof vars / sizeof vars[0]; i++) {
		k = strlen(vars[i]);
		(void)unsetenv(vars[i]);
		for (p = text; p < text + n; p += strlen(p) + 1)
			if (strncmp(p, vars[i], k) == 0 && p[k] == '=')
				(void)setenv(vars[i], p + k + 1, 1);
	}
	free(text);
}

int
facts_main(void)
{
	struct buf b;
	int r;

	as_the_agent();
	/* What shells there are told. */
	(void)setenv("TERM", "xterm-256color", 1);
	buf_init(&b, FACTS_MAX);
	facts_gather(&b, getppid());
	r = buf_ok(&b) && fd_write_all(STDOUT_FILENO, b.data, b.len) != -1 ?
	    0 : 1;
	buf_free(&b);
	return r;
}
