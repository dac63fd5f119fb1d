/* SPDX-License-Identifier: ISC */
/*
 * `doctor': what would make server, agents or shells end too early or work
 * badly, here and in a workspace. The facts of a place are gathered inside it
 * (server/agent/facts.h), those of a workspace by a command over its link;
 * here stands what they mean: one row of the table a check, each of which says
 * that all is well or what to do.
 */
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "../server/agent/facts.h"
#include "../server/base/clock.h"
#include "../server/base/limits.h"
#include "../server/base/log.h"
#include "../server/base/mem.h"
#include "../server/base/output.h"
#include "../server/base/version.h"
#include "json.h"
#include "query.h"
#include "say.h"

#define SIDE_FACTS	128
#define DOCTOR_OUT_MAX	(256u << 10)
/* The move comes SCOPE_AFTER_MS after the start and asks a bus or two. */
#define LEAVING_MS	500
#define LEAVING_LOOKS	4

/* One end: this machine, or a workspace. */
struct side {
	const char	*where;		/* "here", "ssh:web" */
	const char	*who;		/* "the server", "the agent" */
	bool		 here;
	bool		 reached;
	char		 why[1024];	/* ... if not */
	char		*text;		/* the facts, cut into lines */
	const char	*fact[SIDE_FACTS];
	size_t		 nfacts;
	const char	*server;	/* its version; NULL: none runs */
	const char	*workspace;	/* that is asked about, or NULL */
	long long	 skew_ms, doubt_ms;
};

struct verdict {
	char	 text[512];
	char	 todo[512];		/* "": all is well */
};

static const char *
get(const struct side *s, const char *name)
{
	size_t n = strlen(name), i;

	for (i = 0; i < s->nfacts; i++)
		if (strncmp(s->fact[i], name, n) == 0 && s->fact[i][n] == '=')
			return s->fact[i] + n + 1;
	return "";
}

static const char *
get_dir(const struct side *s, const char *role, const char *what)
{
	char name[64];

	(void)snprintf(name, sizeof name, "dir.%s.%s", role, what);
	return get(s, name);
}

static bool
is(const struct side *s, const char *name, const char *value)
{
	return strcmp(get(s, name), value) == 0;
}

static void __attribute__((format(printf, 2, 3)))
well(struct verdict *v, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(v->text, sizeof v->text, fmt, ap);
	va_end(ap);
}

static void __attribute__((format(printf, 2, 3)))
todo(struct verdict *v, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(v->todo, sizeof v->todo, fmt, ap);
	va_end(ap);
}

/* --- the checks ---------------------------------------------------------------- */

static void
check_link(const struct side *s, struct verdict *v)
{
	if (s->reached)
		well(v, "up");
	else {
		well(v, "nothing can be asked: %s", s->why);
		todo(v, "dlmux trace %s says where it failed", s->where);
	}
}

static void
check_version(const struct side *s, struct verdict *v)
{
	if (!s->here) {
		well(v, "agent %s", get(s, "version"));
		if (!is(s, "version", DLMUX_VERSION))
			well(v, "agent %s, this is %s: they work together; a "
			    "new one starts when its shells have ended",
			    get(s, "version"), DLMUX_VERSION);
	} else if (s->server == NULL)
		well(v, "client %s; no server runs, it starts when needed",
		    DLMUX_VERSION);
	else {
		well(v, "client %s, server %s", DLMUX_VERSION, s->server);
		if (strcmp(s->server, DLMUX_VERSION) != 0)
			todo(v, "dlmux server restart (all shells stay)");
	}
}

static bool
no_systemd(const struct side *s, struct verdict *v)
{
	if (is(s, "systemd", "1"))
		return false;
	well(v, "no systemd: a logout ends nothing of ours");
	return true;
}

/* It is to move into a scope of its own, and has not. */
static bool
leaving(const struct side *s)
{
	const char *wish = get(s, "wish");

	return *wish != '\0' && strcmp(wish, "stay") != 0;
}

static void
check_cgroup(const struct side *s, struct verdict *v)
{
	const char *unit = get(s, "unit"), *fate = get(s, "fate");

	if (no_systemd(s, v))
		return;
	if (s->here && s->server == NULL)
		well(v, "a server started from here begins in %s",
		    *unit != '\0' ? unit : "no unit");
	else
		well(v, "%s is in %s%s", s->who, *unit != '\0' ? unit :
		    "no unit", is(s, "unit_own", "1") ? ", its own" : "");
	if (leaving(s) && (!s->here || s->server != NULL))
		todo(v, "it ends with that, and could not leave it: %s says "
		    "why", s->here ? "server.log" : "agent.log there");
	else if (leaving(s))
		well(v, "a server started from here leaves %s", unit);
	else if (strcmp(fate, "unit") == 0)
		todo(v, "it ends when %s does: loginctl enable-linger %s, so "
		    "that it can leave it at its next start", unit,
		    get(s, "user"));
	else if (strcmp(fate, "logout") == 0)
		todo(v, "it ends with this login and cannot leave it: there is "
		    "no /run/user/%s/bus (package dbus-user-session)",
		    get(s, "uid"));
}

static void
check_linger(const struct side *s, struct verdict *v)
{
	const char *fate = get(s, "fate");

	if (no_systemd(s, v))
		return;
	well(v, is(s, "linger", "1") ? "on" : "off, and not needed");
	if (is(s, "linger", "1") || (strcmp(fate, "last") != 0 &&
	    strcmp(fate, "logout") != 0))
		return;
	well(v, "off: %s ends with %s's last login", s->who, get(s, "user"));
	todo(v, "loginctl enable-linger %s", get(s, "user"));
}

static void
check_kill_user(const struct side *s, struct verdict *v)
{
	if (no_systemd(s, v))
		return;
	well(v, "KillUserProcesses=%s", get(s, "kill_user_processes"));
	if (is(s, "kill_user_processes", "unknown") && is(s, "fate", "unknown"))
		todo(v, "set it in /etc/systemd/logind.conf: logind could not "
		    "be asked (busctl), and its default differs");
}

/* "10d" in minutes; -1: no age at all. */
static long
minutes(const char *age)
{
	char *end;
	long n = strtol(age, &end, 10);

	if (end == age)
		return -1;
	switch (*end) {
	case 'w':
		return n * 7 * 24 * 60;
	case 'd':
		return n * 24 * 60;
	case 'h':
		return n * 60;
	case 'm':
		return end[1] == 's' ? 0 : n;
	default:
		return n / 60;
	}
}

static const char *const roles[] = { "state", "sockets", "cache", "program",
	NULL };

static void
check_tmp(const struct side *s, struct verdict *v)
{
	const char *path, *age;
	size_t i;

	well(v, "no cleaner looks after what is used");
	for (i = 0; roles[i] != NULL; i++) {
		path = get_dir(s, roles[i], "path");
		age = get_dir(s, roles[i], "cleaned");
		if (i < 2 && strncmp(path, "/run/user/", 10) == 0) {
			well(v, "%s goes with the last login", path);
			todo(v, "set XDG_STATE_HOME to a directory that stays");
			return;
		}
		if (*age == '\0')
			continue;
		/* Names are kept fresh once an hour; a program that is gone
		 * is sent again. */
		well(v, "%s is cleaned (%s); what is needed there is kept "
		    "fresh", path, age);
		if (i < 2 && minutes(age) >= 0 && minutes(age) < 120) {
			todo(v, "that is too soon: have tmpfiles.d(5) leave it "
			    "alone, with a line \"x %s\"", path);
			return;
		}
	}
}

static void
check_noexec(const struct side *s, struct verdict *v)
{
	const char *cache = get_dir(s, "cache", "path");
	const char *program = get_dir(s, "program", "path");

	well(v, "programs run in %s", program);
	if (strcmp(get_dir(s, "program", "noexec"), "1") == 0) {
		well(v, "%s is mounted noexec by now", program);
		todo(v, "mount it exec, or no new %s starts from there",
		    s->here ? "server" : "agent");
	} else if (!s->here && (strcmp(get_dir(s, "cache", "noexec"), "1") ==
	    0 || strcmp(get_dir(s, "cache", "readonly"), "1") == 0))
		well(v, "none run in %s (%s); the agent's is in %s", cache,
		    strcmp(get_dir(s, "cache", "noexec"), "1") == 0 ?
		    "noexec" : "read-only", program);
}

static void
check_dirs(const struct side *s, struct verdict *v)
{
	const char *path, *kind, *mode;
	size_t i;

	if (!is(s, "place_error", "")) {
		well(v, "%s", get(s, "place_error"));
		todo(v, "as it says: nothing works without it");
		return;
	}
	well(v, "%s and what is in it are %s's alone",
	    get_dir(s, "state", "path"), get(s, "user"));
	for (i = 0; i < 3; i++) {
		path = get_dir(s, roles[i], "path");
		kind = get_dir(s, roles[i], "kind");
		mode = get_dir(s, roles[i], "mode");
		if (strcmp(kind, "absent") == 0)
			continue;
		if (strcmp(kind, "dir") != 0) {
			well(v, "%s is no directory (%s)", path, kind);
			todo(v, "rm %s", path);
		} else if (strcmp(get_dir(s, roles[i], "uid"),
		    get(s, "uid")) != 0) {
			well(v, "%s belongs to uid %s", path,
			    get_dir(s, roles[i], "uid"));
			todo(v, "remove it, or have its owner do so");
		} else if (strcmp(mode, "700") != 0) {
			well(v, "%s has mode %s", path, mode);
			todo(v, "chmod 700 %s", path);
		} else if (strcmp(get_dir(s, roles[i], "above_open"),
		    "1") == 0) {
			well(v, "others may put something in the place of %s",
			    path);
			todo(v, "chmod go-w \"$(dirname %s)\"", path);
		}
	}
}

static void
check_disk(const struct side *s, struct verdict *v)
{
	unsigned long long kb, files, least = ~0ULL;
	const char *path;
	size_t i;

	for (i = 0; i < 3; i++) {
		path = get_dir(s, roles[i], "path");
		if (*get_dir(s, roles[i], "free_kb") == '\0')
			continue;
		kb = strtoull(get_dir(s, roles[i], "free_kb"), NULL, 10);
		files = strtoull(get_dir(s, roles[i], "files"), NULL, 10);
		if (kb < least)
			well(v, "%llu MB free at %s", kb / 1024, path);
		least = kb < least ? kb : least;
		if (kb < DISK_MIN_KB || files < DISK_MIN_FILES) {
			well(v, "%llu kB and %llu files free at %s", kb,
			    files, path);
			todo(v, "make room there: the program, logs and what is "
			    "remembered need %u MB", DISK_MIN_KB / 1024);
			return;
		}
	}
}

static void
check_locale(const struct side *s, struct verdict *v)
{
	const char *lang = get(s, "lang"), *charmap = get(s, "charmap");
	size_t n = strlen(lang);
	bool named = (n >= 5 && strcasecmp(lang + n - 5, "UTF-8") == 0) ||
	    (n >= 4 && strcasecmp(lang + n - 4, "UTF8") == 0);

	well(v, "%s", *lang != '\0' ? lang : "no LANG, and UTF-8");
	if (strcasecmp(charmap, "UTF-8") == 0 || (*charmap == '\0' &&
	    (named || *lang == '\0')))
		return;
	if (named) {
		well(v, "%s is not installed", lang);
		todo(v, "install it (locale-gen), or set LANG=C.UTF-8");
	} else {
		well(v, "%s is not UTF-8: programs spoil what is not ASCII",
		    *lang != '\0' ? lang : "the locale");
		todo(v, "set LANG=C.UTF-8");
	}
}

static void
check_terminal(const struct side *s, struct verdict *v)
{
	const char *term = get(s, "term");

	if (*term == '\0' || strcmp(term, "dumb") == 0) {
		well(v, "none here");
		return;
	}
	well(v, "TERM=%s", term);
	if (is(s, "terminfo", "1"))
		return;
	well(v, "terminfo %s does not know TERM=%s", s->here ? "here" :
	    "there", term);
	todo(v, s->here ? "install its description (ncurses-term), or set "
	    "TERM=xterm-256color" : "install ncurses-base: shells there are "
	    "told that TERM");
}

static void
check_descriptors(const struct side *s, struct verdict *v)
{
	const char *soft = get(s, "nofile_soft");

	well(v, "%s may have %s", s->who, soft);
	if (*soft >= '0' && *soft <= '9' &&
	    strtoull(soft, NULL, 10) < DESCRIPTORS_WANTED)
		todo(v, "raise `ulimit -n' to %u or more (limits.conf(5)) and "
		    "start it anew", DESCRIPTORS_WANTED);
}

static void
check_ssh(const struct side *s, struct verdict *v)
{
	const char *ssh = get(s, "ssh");

	well(v, "%s", ssh);
	if (*ssh != '\0')
		return;
	well(v, "%s", get(s, "ssh_error"));
	if (s->workspace == NULL || strncmp(s->workspace, "ssh:", 4) == 0 ||
	    strncmp(s->workspace, "devpod:", 7) == 0)
		todo(v, "without ssh (openssh-client) no ssh: workspace can be "
		    "reached");
}

static void
check_clock(const struct side *s, struct verdict *v)
{
	long long off = s->skew_ms < 0 ? -s->skew_ms : s->skew_ms;

	off = off > s->doubt_ms ? off - s->doubt_ms : 0;
	if (off < 100) {
		well(v, "as here, within %lld ms", s->doubt_ms + 1);
		return;
	}
	well(v, "%lld.%lld s %s than here", off / 1000, off % 1000 / 100,
	    s->skew_ms < 0 ? "earlier" : "later");
	if (off > CLOCK_SKEW_MS)
		todo(v, "set the clock that is wrong (timedatectl set-ntp "
		    "true)");
}

#define HERE	0x01
#define THERE	0x02
#define DOWN	0x04		/* also when it cannot be reached */

static const struct check {
	const char	*name;
	int		 at;
	void		(*look)(const struct side *, struct verdict *);
} checks[] = {
	{ "link",	THERE | DOWN,	check_link },
	{ "version",	HERE | THERE,	check_version },
	{ "cgroup",	HERE | THERE,	check_cgroup },
	{ "linger",	HERE | THERE,	check_linger },
	{ "kill-user",	HERE | THERE,	check_kill_user },
	{ "tmp",	HERE | THERE,	check_tmp },
	{ "noexec",	HERE | THERE,	check_noexec },
	{ "dirs",	HERE | THERE,	check_dirs },
	{ "disk",	HERE | THERE,	check_disk },
	{ "locale",	HERE | THERE,	check_locale },
	{ "terminal",	HERE | THERE,	check_terminal },
	{ "files",	HERE | THERE,	check_descriptors },
	{ "clock",	THERE,		check_clock },
	{ "ssh",	HERE,		check_ssh },
};

/* --- facts ------------------------------------------------------------------------ */

static void
side_facts(struct side *s, char *text)
{
	char *line, *next;

	s->text = next = text;
	while ((line = strsep(&next, "\n")) != NULL)
		if (*line != '\0' && s->nfacts < SIDE_FACTS)
			s->fact[s->nfacts++] = line;
}

static void
side_clear(struct side *s)
{
	free(s->text);
	s->text = NULL;
	s->nfacts = 0;
	s->reached = false;
}

/* By a command there: a child of the agent, so that its parent's program is
 * the very one that serves, also when its file is gone. */
static void
ask_there(struct side *s, const char *workspace)
{
	const char *argv[] = { "/proc/self/exe", "exec", "-n", workspace, "--",
	    "sh", "-c", "exec /proc/$PPID/exe agent --facts", NULL };
	char *text = xmalloc(FACTS_MAX), *line, *last = text;
	uint64_t before = clock_wall_ms(), after;
	int status;

	say_progress("asking there ...");
	status = output_of(argv, FACTS_LINK_MS, 1, text, FACTS_MAX);
	say_progress(NULL);
	after = clock_wall_ms();
	if (status == 0 && strstr(text, "now_ms=") != NULL) {
		s->reached = true;
		side_facts(s, text);
		s->skew_ms = (long long)strtoull(get(s, "now_ms"), NULL, 10) -
		    (long long)(before + after) / 2;
		s->doubt_ms = (long long)(after - before) / 2;
		return;
	}
	while ((line = strsep(&last, "\n")) != NULL)
		if (*line != '\0') {
			if (strncmp(line, "dlmux: ", 7) == 0)
				line += 7;
			(void)snprintf(s->why, sizeof s->why, "%s", line);
			break;
		}
	if (strstr(s->why, "usage: dlmux agent") != NULL)
		(void)snprintf(s->why, sizeof s->why, "an older agent runs "
		    "there, which knows no questions");
	else if (s->why[0] == '\0')
		(void)snprintf(s->why, sizeof s->why, "no answer within %d s",
		    FACTS_LINK_MS / 1000);
	free(text);
}

struct serving {
	pid_t	 pid;
	char	*version;
};

static int
serving_answer(uint8_t type, const uint8_t *p, size_t n, void *arg)
{
	struct serving *s = arg;
	struct msg_row r;
	const char *v;

	if (type != F_ROW || msg_row_get(&r, p, n) == -1)
		return QUERY_DEFAULT;
	if (r.kind == 'k' && (v = row_value(&r, "pid")) != NULL)
		s->pid = (pid_t)atol(v);
	if (r.kind == 'k' && (v = row_value(&r, "version")) != NULL &&
	    s->version == NULL)
		s->version = xstrdup(v);
	msg_row_free(&r);
	return QUERY_GO_ON;
}

/* The running server, if there is one; none is started for this. */
static void
ask_server(struct args *args, struct serving *s)
{
	struct query q;

	if (args->place == NULL)
		return;
	memset(&q, 0, sizeof q);
	q.args = args;
	q.connect_flags = CONNECT_ONCE;
	q.quiet = true;
	q.type = F_STATUS;
	q.answer = serving_answer;
	q.arg = s;
	buf_init(&q.body, 16);
	if (query_run(&q) != 0)
		s->pid = 0;
}

static void
ask_here(struct side *s, const struct serving *server)
{
	struct buf b;

	buf_init(&b, FACTS_MAX);
	facts_gather(&b, server->pid);
	buf_u8(&b, 0);
	s->reached = buf_ok(&b);
	s->server = server->pid != 0 ? server->version : NULL;
	side_facts(s, s->reached ? xstrdup((char *)b.data) : xstrdup(""));
	buf_free(&b);
}

/* --- telling ------------------------------------------------------------------------ */

static void
put_row(struct buf *b, bool json, bool first, const char *where,
    const char *name, const struct verdict *v)
{
	char text[512], act[512], place[64];

	if (json) {
		buf_puts(b, first ? "\n {\"where\": " : ",\n {\"where\": ");
		json_string(b, where);
		buf_puts(b, ", \"check\": ");
		json_string(b, name);
		buf_printf(b, ", \"ok\": %s, \"text\": ",
		    v->todo[0] == '\0' ? "true" : "false");
		json_string(b, v->text);
		buf_puts(b, ", \"todo\": ");
		json_string(b, v->todo);
		buf_puts(b, "}");
		return;
	}
	buf_printf(b, "%-12s  %-9s  %-4s  %s%s%s\n",
	    log_clean(place, sizeof place, where), name,
	    v->todo[0] == '\0' ? "ok" : "TODO",
	    log_clean(text, sizeof text, v->text),
	    v->todo[0] == '\0' ? "" : "; ",
	    log_clean(act, sizeof act, v->todo));
}

/* True if all is well. */
static bool
examine(struct buf *b, bool json, bool *first, const struct side *s)
{
	struct verdict v;
	bool all = true;
	size_t i;

	for (i = 0; i < sizeof checks / sizeof checks[0]; i++) {
		if (!(checks[i].at & (s->here ? HERE : THERE)) ||
		    (!s->reached && !(checks[i].at & DOWN)))
			continue;
		memset(&v, 0, sizeof v);
		checks[i].look(s, &v);
		put_row(b, json, *first, s->where, checks[i].name, &v);
		*first = false;
		all &= v.todo[0] == '\0';
	}
	return all;
}

static int
doctor(struct args *args, const char *workspace)
{
	struct side here = { .where = "here", .who = "the server",
	    .here = true, .workspace = workspace };
	struct side there = { .where = workspace, .who = "the agent",
	    .workspace = workspace };
	struct serving server = { 0, NULL };
	bool json = args_has(args, "json"), first = true, all;
	struct buf b;
	int status, i;

	/* There first: it may start the server. What has just started leaves
	 * its login's cgroup a second later. */
	if (workspace != NULL)
		ask_there(&there, workspace);
	for (i = 0; i < LEAVING_LOOKS && leaving(&there); i++) {
		(void)poll(NULL, 0, LEAVING_MS);
		side_clear(&there);
		ask_there(&there, workspace);
	}
	ask_server(args, &server);
	ask_here(&here, &server);
	for (i = 0; i < LEAVING_LOOKS && server.pid != 0 && leaving(&here);
	    i++) {
		(void)poll(NULL, 0, LEAVING_MS);
		side_clear(&here);
		ask_here(&here, &server);
	}
	buf_init(&b, DOCTOR_OUT_MAX);
	if (json)
		buf_puts(&b, "[");
	all = examine(&b, json, &first, &here);
	if (workspace != NULL)
		all &= examine(&b, json, &first, &there);
	if (json)
		buf_puts(&b, "\n]\n");
	status = say_out(b.data, b.len) == -1 ? STATUS_FAILED :
	    all ? 0 : STATUS_TODO;
	buf_free(&b);
	side_clear(&here);
	side_clear(&there);
	free(server.version);
	return status;
}

int
cmd_doctor(struct args *args)
{
	char *workspace = NULL, *cause = NULL;
	int status = 0;

	if (args->nwords > 0)
		status = query_workspace(args, &workspace);
	if (status == 0) {
		/* What is wrong with it is one of the things to tell. */
		args->place = place_open(NULL, &cause);
		free(cause);
		status = doctor(args, workspace);
		place_free(args->place);
		args->place = NULL;
	}
	free(workspace);
	return status;
}
