/* SPDX-License-Identifier: ISC */
/*
 * The grammar of names, as a table of schemes, and what a name is in the
 * config or in ssh_config. It runs nothing; transport.c and argv.c make the
 * command of it.
 */
#include <stdlib.h>
#include <string.h>

#include "../base/buf.h"
#include "../base/limits.h"
#include "../base/mem.h"
#include "../base/place.h"
#include "../wire/msg.h"
#include "sshconf.h"
#include "target.h"

#define USER_OK	 0x01		/* USER@ may stand before the name */
#define USER_COLON 0x02		/* and may be UID:GID */
#define BRACKETS 0x04		/* an IPv6 address in brackets */
#define LATER	 0x08		/* in the design, not in this version */

struct kind {
	const char	*word;
	enum scheme	 scheme;
	int		 flags;
	const char	*what;		/* its target, for errors */
	const char	*extra;		/* allowed in it beside [A-Za-z0-9_.-] */
	long		 idle_min;	/* default of IdleClose */
};

static const struct kind kinds[] = {
	{ "local",	SCHEME_LOCAL,	0, NULL, "", 0 },
	{ "ssh",	SCHEME_SSH,	USER_OK | BRACKETS,
	    "[USER@]HOST", "+", 0 },
	/* A link defeats devpod's own timer, which stops the container. */
	{ "devpod",	SCHEME_DEVPOD,	0, "NAME", "", 10 },
	{ "docker",	SCHEME_DOCKER,	USER_OK | USER_COLON,
	    "[USER@]NAME", "", 0 },
	{ "podman",	SCHEME_PODMAN,	USER_OK | USER_COLON,
	    "[USER@]NAME", "", 0 },
	{ "devcontainer", SCHEME_COMMAND, LATER, NULL, "", 0 },
	{ "kubectl",	SCHEME_COMMAND,	LATER, NULL, "", 0 },
};
#define NKINDS (sizeof kinds / sizeof kinds[0])

/* A name taken apart; the strings point into a copy of the text. */
struct parts {
	const struct kind *kind;	/* NULL: a bare name */
	char	*copy;			/* owns the others */
	char	*user, *host;		/* host without brackets */
	char	*shell;			/* NULL: left out */
	bool	 v6;
};

static bool
in_set(const char *s, const char *extra)
{
	for (; *s != '\0'; s++)
		if ((*s < 'A' || *s > 'Z') && (*s < 'a' || *s > 'z') &&
		    (*s < '0' || *s > '9') && strchr("_.-", *s) == NULL &&
		    strchr(extra, *s) == NULL)
			return false;
	return true;
}

/* Printable, nothing that a shell or ssh's percent words would take up, and
 * never an option. */
static bool
user_ok(const char *s, bool colon)
{
	const char *p;
	int colons = 0;

	if (*s == '\0' || *s == '-')
		return false;
	for (p = s; *p != '\0'; p++) {
		if (*p <= ' ' || *p >= 0x7f ||
		    strchr("'\"`$;&|<>(){}[]*?!/%#", *p) != NULL)
			return false;
		colons += *p == ':';
	}
	/* ssh refuses a backslash at the end (it would quote what follows). */
	return colons <= (colon ? 1 : 0) && p[-1] != '\\';
}

static const struct kind *
find_kind(const char *s, size_t len)
{
	size_t i;

	for (i = 0; i < NKINDS; i++)
		if (strlen(kinds[i].word) == len &&
		    memcmp(kinds[i].word, s, len) == 0)
			return &kinds[i];
	return NULL;
}

static int
refuse(char **cause, char *text)
{
	*cause = text;
	return -1;
}

/* HOST[:SHELL] or [V6][:SHELL]. */
static int
split_host(struct parts *p, char *s, const char *text, char **cause)
{
	char *end, *colon;

	p->host = s;
	if (*s == '[' && p->kind != NULL && (p->kind->flags & BRACKETS) != 0) {
		p->host = s + 1;
		if ((end = strchr(s, ']')) == NULL)
			return refuse(cause, xasprintf("'%s': the address's "
			    "bracket is not closed", text));
		*end++ = '\0';
		p->v6 = true;
		if (*end == ':')
			p->shell = end + 1;
		else if (*end != '\0')
			return refuse(cause, xasprintf("'%s': after the "
			    "bracket comes :SHELL or nothing", text));
		return 0;
	}
	if ((colon = strrchr(s, ':')) != NULL) {
		*colon = '\0';
		p->shell = colon + 1;
	}
	if (strchr(s, ':') == NULL)
		return 0;
	if (p->kind == NULL)
		return refuse(cause, xasprintf("'%s': '%.*s' is no scheme; "
		    "known are local, ssh, devpod, docker and podman", text,
		    (int)strcspn(text, ":"), text));
	return refuse(cause, xasprintf("'%s': too many colons%s", text,
	    (p->kind->flags & BRACKETS) != 0 ? "; an IPv6 address stands in "
	    "brackets, a port belongs to ssh_config" : ""));
}

static int
check_parts(const struct parts *p, const char *text, char **cause)
{
	const char *extra = p->kind != NULL ? p->kind->extra : "+";

	if (p->user != NULL && !user_ok(p->user, p->kind != NULL &&
	    (p->kind->flags & USER_COLON) != 0))
		return refuse(cause, xasprintf("'%s': '%s' is no user name",
		    text, p->user));
	if (p->host != NULL) {
		if (p->host[0] == '\0')
			return refuse(cause, xasprintf("'%s': a name is "
			    "missing", text));
		if (p->host[0] == '-' || !in_set(p->host, p->v6 ? ":%" :
		    extra))
			return refuse(cause, xasprintf("'%s': '%s' is no "
			    "name for a %s", text, p->host, p->kind == NULL ?
			    "workspace" : p->kind->scheme == SCHEME_SSH ?
			    "host" : "workspace"));
	}
	if (p->shell != NULL && !shell_name_ok(p->shell))
		return refuse(cause, xasprintf("'%s': '%s' is no name for a "
		    "shell (1 to %u of A-Z a-z 0-9 _ . -)", text, p->shell,
		    SHELL_NAME_MAX));
	return 0;
}

/* Control characters in a name would reach a terminal by way of the error. */
static int
check_text(const char *text, char **cause)
{
	const char *s;

	if (*text == '\0')
		return refuse(cause, xstrdup("no workspace is named"));
	if (strlen(text) > TARGET_TEXT_MAX)
		return refuse(cause, xstrdup("the workspace's name is too "
		    "long"));
	for (s = text; *s != '\0'; s++)
		if (*s <= ' ' || *s >= 0x7f)
			return refuse(cause, xstrdup("a workspace's name has "
			    "printable ASCII characters without spaces"));
	return 0;
}

static int
split(const char *text, struct parts *p, char **cause)
{
	const struct kind *k;
	char *s, *at;
	size_t n;

	memset(p, 0, sizeof *p);
	if (check_text(text, cause) == -1)
		return -1;
	p->copy = s = xstrdup(text);
	n = strcspn(s, ":");
	k = find_kind(s, n);
	if (k != NULL && (k->flags & LATER) != 0)
		return refuse(cause, xasprintf("'%s': %s is not supported "
		    "yet; a Workspace with a Command in the config can do it",
		    text, k->word));
	p->kind = k;
	if (k != NULL && k->scheme == SCHEME_LOCAL) {
		if (s[n] == ':')
			p->shell = s + n + 1;
		return check_parts(p, text, cause);
	}
	if (k != NULL) {
		if (s[n] == '\0')
			return refuse(cause, xasprintf("'%s': write %s:%s",
			    text, k->word, k->what));
		s += n + 1;
	}
	if ((at = strrchr(s, '@')) != NULL) {
		if (k != NULL && (k->flags & USER_OK) == 0)
			return refuse(cause, xasprintf("'%s': %s takes no "
			    "user", text, k->word));
		*at = '\0';
		p->user = s;
		s = at + 1;
	}
	if (split_host(p, s, text, cause) == -1)
		return -1;
	return check_parts(p, text, cause);
}

/* As the user wrote it: everything before the shell's colon. */
static char *
workspace_text(const char *text, const struct parts *p)
{
	size_t n = strlen(text);

	if (p->shell != NULL)
		n -= strlen(p->shell) + 1;
	return xstrndup(text, n);
}

int
target_split(const char *text, char **workspace, char **shell, char **cause)
{
	struct parts p;
	int r = split(text, &p, cause);

	if (r == 0) {
		*workspace = workspace_text(text, &p);
		*shell = p.shell != NULL ? xstrdup(p.shell) : NULL;
	}
	free(p.copy);
	return r;
}

/* Settings whose default is no sign that none was given. */
struct given {
	bool	probe, idle;
};

/* Settings of a block; what an earlier (nearer) one gave stays. */
static void
apply_block(struct target *t, const struct conf_workspace *ws,
    struct given *given)
{
	int i;

	if (t->binary == NULL && ws->binary != NULL) {
		t->binary = xstrdup(ws->binary);
		if (ws->binary_machine != NULL)
			t->binary_machine = xstrdup(ws->binary_machine);
	}
	if (!given->probe && ws->probe != -1) {
		t->probe = (uint8_t)ws->probe;
		given->probe = true;
	}
	if (!given->idle && ws->idle_min != -1) {
		t->idle_ms = (uint64_t)ws->idle_min * 60000;
		given->idle = true;
	}
	if (t->size.kind == SIZE_DEFAULT)
		t->size = ws->size;
	for (i = 0; i < PASSES; i++)
		if (t->pass[i] == -1)
			t->pass[i] = ws->pass[i];
}

static void
add_send_env(struct target *t, char *const *v)
{
	size_t have = t->send_env != NULL ? strv_len(t->send_env) : 0;

	for (; v != NULL && *v != NULL; v++) {
		t->send_env = xreallocarray(t->send_env, have + 2,
		    sizeof *t->send_env);
		t->send_env[have++] = xstrdup(*v);
		t->send_env[have] = NULL;
	}
}

static void
append_names(struct buf *b, const char *what, const char *const *names,
    size_t n)
{
	size_t i;

	if (n == 0)
		return;
	buf_printf(b, "%s", what);
	for (i = 0; i < n && i < SSHCONF_NAMES_MAX; i++)
		buf_printf(b, "%s %s", i > 0 ? "," : "", names[i]);
	if (i < n)
		buf_printf(b, ", ...");
}

/* "unknown workspace 'x'; in the config: a, b; hosts of ssh_config: c; ..." */
static char *
unknown(const char *name, const struct conf *conf, char **hosts)
{
	const char *defined[SSHCONF_NAMES_MAX + 1] = { NULL };
	struct buf b;
	size_t i, n = 0;

	buf_init(&b, WIRE_WORDS_MAX / 4);
	buf_printf(&b, "unknown workspace '%s'; known are", name);
	for (i = 0; conf != NULL && i < conf->nws; i++)
		if (n < SSHCONF_NAMES_MAX && (conf->ws[i].command != NULL ||
		    conf->ws[i].alias != NULL))
			defined[n++] = conf->ws[i].name;
	append_names(&b, " in dlmux.conf:", defined, n);
	if (n > 0)
		buf_puts(&b, ";");
	n = strv_len(hosts);
	append_names(&b, " in ssh_config:", (const char *const *)hosts, n);
	if (n > 0)
		buf_puts(&b, ";");
	buf_puts(&b, " local, ssh:HOST, docker:NAME, podman:NAME, "
	    "devpod:NAME");
	buf_u8(&b, 0);
	return (char *)b.data;
}

static char *
canonical(const struct kind *k, const struct parts *p)
{
	if (k->scheme == SCHEME_LOCAL)
		return xstrdup(k->word);
	return xasprintf("%s:%s%s%s%s%s", k->word,
	    p->user != NULL ? p->user : "", p->user != NULL ? "@" : "",
	    p->v6 ? "[" : "", p->host, p->v6 ? "]" : "");
}

/* The scheme, name, user and host of parts whose kind is known. */
static void
set_kind(struct target *t, const struct kind *k, const struct parts *p)
{
	t->scheme = k->scheme;
	t->name = canonical(k, p);
	if (p->user != NULL)
		t->user = xstrdup(p->user);
	if (p->host != NULL)
		t->host = xstrdup(p->host);
}

/* A bare name: Command, or a Host of ssh_config. */
static int
resolve_bare(struct target *t, const struct parts *p, const char *name,
    const struct conf_workspace *ws, const struct conf *conf,
    char *const *env, bool resolve, char **cause)
{
	char **hosts = NULL;
	bool is_host;

	if (ws != NULL && ws->command != NULL) {
		t->scheme = SCHEME_COMMAND;
		t->name = xstrdup(name);
		t->host = xstrdup(name);
		t->command = xstrdup(ws->command);
		return 0;
	}
	is_host = !resolve || sshconf_host(NULL, env, p->host, &hosts);
	if (is_host)
		set_kind(t, find_kind("ssh", 3), p);
	else
		*cause = unknown(name, conf, hosts);
	strv_free(hosts);
	return is_host ? 0 : -1;
}

/*
 * One name, with the blocks of the config that speak of it; a Target is
 * followed. depth bounds Targets that go in a circle.
 */
static int
resolve_name(struct target *t, const char *text, const struct conf *conf,
    char *const *env, bool resolve, struct given *given, int depth,
    char **shell, char **cause)
{
	const struct conf_workspace *ws;
	struct parts p;
	char *name = NULL, *again = NULL;
	int r = -1;

	if (split(text, &p, cause) == -1)
		goto out;
	name = workspace_text(text, &p);
	if (depth > 0 && p.shell != NULL) {
		*cause = xasprintf("Target '%s' names a shell", text);
		goto out;
	}
	if ((ws = conf_find(conf, name)) != NULL) {
		apply_block(t, ws, given);
		add_send_env(t, ws->send_env);
	}
	if (ws != NULL && p.kind != NULL &&
	    (ws->command != NULL || ws->alias != NULL)) {
		*cause = xasprintf("%s:%d: the name %s says already how it "
		    "is reached; a Target or Command needs a name of its own",
		    ws->file, ws->line, name);
	} else if (ws != NULL && ws->alias != NULL) {
		if (depth >= TARGET_ALIAS_DEPTH)
			*cause = xasprintf("%s:%d: Targets go in a circle",
			    ws->file, ws->line);
		else
			r = resolve_name(t, ws->alias, conf, env, resolve,
			    given, depth + 1, &again, cause);
	} else if (p.kind != NULL) {
		set_kind(t, p.kind, &p);
		if (!given->idle)
			t->idle_ms = (uint64_t)p.kind->idle_min * 60000;
		r = 0;
	} else
		r = resolve_bare(t, &p, name, ws, conf, env, resolve, cause);
	/* "Workspace ssh:web" speaks of it too when a bare name led there. */
	if (r == 0 && p.kind == NULL && t->scheme == SCHEME_SSH &&
	    (ws == NULL || ws->alias == NULL) &&
	    (ws = conf_find(conf, t->name)) != NULL) {
		apply_block(t, ws, given);
		add_send_env(t, ws->send_env);
	}
	if (r == 0)
		*shell = p.shell != NULL ? xstrdup(p.shell) : NULL;
out:
	free(again);
	free(name);
	free(p.copy);
	return r;
}

int
target_parse(const char *text, const struct conf *conf, char *const *env,
    bool resolve, struct target *out, char **shell, char **cause)
{
	struct target t;
	struct given given = { false, false };
	int i;

	memset(&t, 0, sizeof t);
	for (i = 0; i < PASSES; i++)
		t.pass[i] = -1;
	*cause = NULL;
	t.probe = conf != NULL ? (uint8_t)conf->probe : PROBE_LOGIN;
	if (resolve_name(&t, text, conf, env, resolve, &given, 0, shell,
	    cause) == -1) {
		target_clear(&t);
		return -1;
	}
	if (conf != NULL) {
		for (i = 0; i < PASSES; i++)
			if (t.pass[i] == -1)
				t.pass[i] = conf->pass[i];
		add_send_env(&t, conf->send_env);
		if (conf->binary_dir != NULL)
			t.binary_dir = xstrdup(conf->binary_dir);
		if (t.size.kind == SIZE_DEFAULT)
			t.size = conf->size;
	}
	*out = t;
	return 0;
}

static char *
dup_or_null(const char *s)
{
	return s != NULL ? xstrdup(s) : NULL;
}

void
target_copy(struct target *to, const struct target *from)
{
	*to = *from;
	to->name = dup_or_null(from->name);
	to->user = dup_or_null(from->user);
	to->host = dup_or_null(from->host);
	to->command = dup_or_null(from->command);
	to->binary = dup_or_null(from->binary);
	to->binary_machine = dup_or_null(from->binary_machine);
	to->binary_dir = dup_or_null(from->binary_dir);
	to->send_env = NULL;
	add_send_env(to, from->send_env);
}

static bool
same(const char *a, const char *b)
{
	return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

bool
target_same_way(const struct target *a, const struct target *b)
{
	return a->scheme == b->scheme && same(a->user, b->user) &&
	    same(a->host, b->host) && same(a->command, b->command) &&
	    same(a->binary, b->binary) &&
	    same(a->binary_machine, b->binary_machine) &&
	    same(a->binary_dir, b->binary_dir);
}

void
target_clear(struct target *t)
{
	free(t->name);
	free(t->user);
	free(t->host);
	free(t->command);
	free(t->binary);
	free(t->binary_machine);
	free(t->binary_dir);
	strv_free(t->send_env);
	memset(t, 0, sizeof *t);
}
