/* SPDX-License-Identifier: ISC */
/*
 * The reader of dlmux.conf. One table of keywords drives it: what stands in
 * the table is known, everything else is an error with file and line.
 *
 * A file may name programs to run, so it is held to what ssh asks of its own:
 * ours or root's, and not writable by others. It knows nothing of what a
 * workspace's name means.
 */
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "buf.h"
#include "conf.h"
#include "limits.h"
#include "mem.h"
#include "place.h"

/* What a parse carries along: the files it came through. */
struct parse {
	struct conf	*conf;
	const char	*path;
	int		 line;
	int		 depth;
	int		*files;		/* read so far, all depths together */
	ssize_t		 block;		/* index of the open Workspace, or -1 */
	unsigned int	*seen;		/* keywords of the top, bit per index */
	char		**cause;
};

enum where { TOP = 1, BLOCK = 2 };

struct keyword {
	const char	*name;
	int		 where;		/* TOP, BLOCK: where it may stand */
	int		 min, max;	/* words; max -1: any; RAW: the line */
	int		(*take)(struct parse *, char **, int);
};
#define RAW	(-2)

static int	 take_workspace(struct parse *, char **, int);
static int	 take_include(struct parse *, char **, int);
static int	 take_command(struct parse *, char **, int);
static int	 take_target(struct parse *, char **, int);
static int	 take_binary(struct parse *, char **, int);
static int	 take_machine(struct parse *, char **, int);
static int	 take_directory(struct parse *, char **, int);
static int	 take_probe(struct parse *, char **, int);
static int	 take_send_env(struct parse *, char **, int);
static int	 take_prefix(struct parse *, char **, int);
static int	 take_history(struct parse *, char **, int);
static int	 take_idle(struct parse *, char **, int);
static int	 take_size(struct parse *, char **, int);
static int	 take_bell(struct parse *, char **, int);
static int	 take_clipboard(struct parse *, char **, int);
static int	 take_notify(struct parse *, char **, int);
static int	 parse_file(struct parse *, const char *, bool);
static int	 parse_text(struct parse *, const char *, size_t);

static const struct keyword keywords[] = {
	{ "AgentBinary",	BLOCK,		1, 1,	take_binary },
	{ "AgentDirectory",	TOP,		1, 1,	take_directory },
	{ "AgentMachine",	BLOCK,		1, 2,	take_machine },
	{ "Bell",		TOP | BLOCK,	1, 1,	take_bell },
	{ "Clipboard",		TOP | BLOCK,	1, 1,	take_clipboard },
	{ "Command",		BLOCK,		1, RAW,	take_command },
	{ "EnvProbe",		TOP | BLOCK,	1, 1,	take_probe },
	{ "HistoryLines",	TOP,		1, 1,	take_history },
	{ "IdleClose",		BLOCK,		1, 1,	take_idle },
	{ "Include",		TOP | BLOCK,	1, -1,	take_include },
	{ "Notify",		TOP | BLOCK,	1, 1,	take_notify },
	{ "PrefixKey",		TOP,		1, 1,	take_prefix },
	{ "SendEnv",		TOP | BLOCK,	1, -1,	take_send_env },
	{ "Size",		TOP | BLOCK,	1, 1,	take_size },
	{ "Target",		BLOCK,		1, 1,	take_target },
	{ "Workspace",		TOP | BLOCK,	1, 1,	take_workspace },
};
#define NKEYWORDS (sizeof keywords / sizeof keywords[0])

const char *const *
conf_keywords(void)
{
	static const char *names[NKEYWORDS + 1];
	size_t i;

	for (i = 0; i < NKEYWORDS; i++)
		names[i] = keywords[i].name;
	return names;
}

/* Sets the cause once: the innermost place is the one that helps. */
static int
complain(struct parse *p, char *text)
{
	if (*p->cause == NULL && p->line == 0)	/* the file as a whole */
		*p->cause = xasprintf("%s: %s", p->path, text);
	else if (*p->cause == NULL)
		*p->cause = xasprintf("%s:%d: %s", p->path, p->line, text);
	free(text);
	return -1;
}

static struct conf_workspace *
block(struct parse *p)
{
	return p->block < 0 ? NULL : &p->conf->ws[p->block];
}

/* "~/x" and names relative to the file that says them. */
static char *
full_path(const struct parse *p, const char *s)
{
	const char *slash;

	if (s[0] == '~' && s[1] == '/')
		return xasprintf("%s/%s", user_home(), s + 2);
	if (s[0] == '/' || (slash = strrchr(p->path, '/')) == NULL)
		return xstrdup(s);
	return xasprintf("%.*s/%s", (int)(slash - p->path), p->path, s);
}

/* Within a block a value given twice is a slip worth telling. */
static int
set_once(struct parse *p, char **where, const char *what, char *value)
{
	if (*where != NULL) {
		free(value);
		return complain(p, xasprintf("%s is given twice", what));
	}
	*where = value;
	return 0;
}

static int
take_workspace(struct parse *p, char **w, int n)
{
	struct conf *c = p->conf;
	struct conf_workspace *ws;
	const char *s;
	size_t i;

	(void)n;
	if (c->nws >= CONF_WORKSPACES_MAX)
		return complain(p, xasprintf("more than %u workspaces",
		    CONF_WORKSPACES_MAX));
	if (w[0][0] == '\0' || w[0][0] == '-' ||
	    strlen(w[0]) > CONF_NAME_MAX)
		return complain(p, xasprintf("'%.80s' is no name for a "
		    "workspace", w[0]));
	for (s = w[0]; *s != '\0'; s++)
		if ((unsigned char)*s <= ' ' || (unsigned char)*s >= 0x7f)
			return complain(p, xstrdup("a workspace's name has "
			    "printable characters without spaces"));
	for (i = 0; i < c->nws; i++)
		if (strcmp(c->ws[i].name, w[0]) == 0)
			return complain(p, xasprintf("workspace %s is already "
			    "defined at %s:%d", w[0], c->ws[i].file,
			    c->ws[i].line));
	c->ws = xreallocarray(c->ws, c->nws + 1, sizeof *c->ws);
	ws = &c->ws[c->nws];
	memset(ws, 0, sizeof *ws);
	ws->name = xstrdup(w[0]);
	ws->probe = -1;
	ws->idle_min = -1;
	for (i = 0; i < PASSES; i++)
		ws->pass[i] = -1;
	ws->file = xstrdup(p->path);
	ws->line = p->line;
	p->block = (ssize_t)c->nws++;
	return 0;
}

static int
take_include(struct parse *p, char **w, int n)
{
	struct parse in;
	char *path;
	int i, r = 0;

	if (p->depth + 1 > CONF_DEPTH_MAX)
		return complain(p, xasprintf("Include goes deeper than %d "
		    "files", CONF_DEPTH_MAX));
	for (i = 0; i < n && r == 0; i++) {
		if (++*p->files > CONF_FILES_MAX)
			return complain(p, xasprintf("more than %d included "
			    "files", CONF_FILES_MAX));
		path = full_path(p, w[i]);
		in = *p;
		in.path = path;
		in.line = 0;
		in.depth++;
		/* What is included starts outside; the block here goes on. */
		in.block = -1;
		r = parse_file(&in, path, true);
		if (r == -2)
			r = complain(p, xasprintf("Include %s: %s", path,
			    strerror(errno)));
		free(path);
	}
	return r;
}

static int
take_command(struct parse *p, char **w, int n)
{
	struct conf_workspace *ws = block(p);

	(void)n;
	if (ws->alias != NULL)
		return complain(p, xstrdup("a workspace has a Target or a "
		    "Command, not both"));
	return set_once(p, &ws->command, "Command", xstrdup(w[0]));
}

static int
take_target(struct parse *p, char **w, int n)
{
	struct conf_workspace *ws = block(p);

	(void)n;
	if (ws->command != NULL)
		return complain(p, xstrdup("a workspace has a Target or a "
		    "Command, not both"));
	if (strcmp(w[0], ws->name) == 0)
		return complain(p, xstrdup("Target names its own workspace"));
	return set_once(p, &ws->alias, "Target", xstrdup(w[0]));
}

static int
take_binary(struct parse *p, char **w, int n)
{
	(void)n;
	return set_once(p, &block(p)->binary, "AgentBinary",
	    full_path(p, w[0]));
}

static int
take_machine(struct parse *p, char **w, int n)
{
	return set_once(p, &block(p)->binary_machine, "AgentMachine", n == 2 ?
	    xasprintf("%s %s", w[0], w[1]) : xstrdup(w[0]));
}

static int
take_directory(struct parse *p, char **w, int n)
{
	(void)n;
	free(p->conf->binary_dir);
	p->conf->binary_dir = full_path(p, w[0]);
	return 0;
}

static int
take_probe(struct parse *p, char **w, int n)
{
	/* In the order of the wire's enum env_probe. */
	static const char *const words[] = { "no", "login", "interactive" };
	struct conf_workspace *ws = block(p);
	int i;

	(void)n;
	for (i = 0; i < 3; i++) {
		if (strcasecmp(w[0], words[i]) != 0)
			continue;
		if (ws != NULL)
			ws->probe = i;
		else
			p->conf->probe = i;
		return 0;
	}
	return complain(p, xasprintf("EnvProbe is no, login or interactive, "
	    "not '%.80s'", w[0]));
}

static int
take_pass(struct parse *p, const char *s, enum pass_what what,
    const char *name)
{
	static const char *const words[] = { "all", "last", "no" };
	int i;

	for (i = 0; i < 3; i++) {
		if (strcasecmp(s, words[i]) != 0)
			continue;
		if (block(p) != NULL)
			block(p)->pass[what] = i;
		else
			p->conf->pass[what] = i;
		return 0;
	}
	return complain(p, xasprintf("%s is all, last or no, not '%.80s'",
	    name, s));
}

static int
take_bell(struct parse *p, char **w, int n)
{
	(void)n;
	return take_pass(p, w[0], PASS_BELL, "Bell");
}

static int
take_clipboard(struct parse *p, char **w, int n)
{
	(void)n;
	return take_pass(p, w[0], PASS_CLIPBOARD, "Clipboard");
}

static int
take_notify(struct parse *p, char **w, int n)
{
	(void)n;
	return take_pass(p, w[0], PASS_NOTIFY, "Notify");
}

/* Adds up over several lines, as in ssh_config. */
static int
take_send_env(struct parse *p, char **w, int n)
{
	char ***v = block(p) != NULL ? &block(p)->send_env :
	    &p->conf->send_env;
	size_t have = *v == NULL ? 0 : strv_len(*v);
	const char *s;
	int i;

	for (i = 0; i < n; i++) {
		for (s = w[i]; *s != '\0'; s++)
			if (*s == '=' || (unsigned char)*s <= ' ')
				return complain(p, xasprintf("SendEnv takes "
				    "names of variables, not '%.80s'", w[i]));
		if (w[i][0] == '\0')
			return complain(p, xstrdup("SendEnv: an empty name"));
		if (have >= CONF_SEND_ENV_MAX)
			return complain(p, xasprintf("more than %u names in "
			    "SendEnv", CONF_SEND_ENV_MAX));
		*v = xreallocarray(*v, have + 2, sizeof **v);
		(*v)[have++] = xstrdup(w[i]);
		(*v)[have] = NULL;
	}
	return 0;
}

static int
take_prefix(struct parse *p, char **w, int n)
{
	(void)n;
	if (w[0][0] == '\0')
		return complain(p, xstrdup("PrefixKey: no key is named"));
	free(p->conf->prefix);
	p->conf->prefix = xstrdup(w[0]);
	return 0;
}

static int
number(struct parse *p, const char *what, const char *s, long max, long *out)
{
	char *end;
	long v;

	errno = 0;
	v = strtol(s, &end, 10);
	if (s[0] < '0' || s[0] > '9' || *end != '\0' || errno != 0 || v > max)
		return complain(p, xasprintf("%s is a number from 0 to %ld, "
		    "not '%.80s'", what, max, s));
	*out = v;
	return 0;
}

static int
take_history(struct parse *p, char **w, int n)
{
	(void)n;
	return number(p, "HistoryLines", w[0], CONF_HISTORY_MAX,
	    &p->conf->history_lines);
}

static int
take_idle(struct parse *p, char **w, int n)
{
	struct conf_workspace *ws = block(p);

	(void)n;
	if (strcasecmp(w[0], "no") == 0) {
		ws->idle_min = 0;
		return 0;
	}
	return number(p, "IdleClose (minutes, or no)", w[0], 525600,
	    &ws->idle_min);
}

static int
take_size(struct parse *p, char **w, int n)
{
	struct conf_workspace *ws = block(p);
	struct size size;

	(void)n;
	if (size_parse(w[0], &size) == -1 || size.kind == SIZE_DEFAULT)
		return complain(p, xasprintf("Size is " SIZE_WORDS ", "
		    "not '%.80s'", w[0]));
	if (ws != NULL)
		ws->size = size;
	else
		p->conf->size = size;
	return 0;
}

/*
 * The next word of a line, cut out in place: spaces separate, double quotes
 * group, \" and \\ mean themselves inside quotes (outside a backslash is just
 * one: C-\ is a key). NULL at the end or a comment; *bad for an open quote.
 */
static char *
next_word(char **line, bool *bad)
{
	char *s = *line, *in, *out;
	bool quoted = false;

	while (*s == ' ' || *s == '\t')
		s++;
	if (*s == '\0' || *s == '#') {
		*line = s;
		return NULL;
	}
	for (in = out = s; *in != '\0'; in++) {
		if (*in == '"') {
			quoted = !quoted;
			continue;
		}
		if (quoted && *in == '\\' && (in[1] == '"' || in[1] == '\\'))
			in++;
		else if (!quoted && (*in == ' ' || *in == '\t'))
			break;
		*out++ = *in;
	}
	*bad = quoted;
	*line = *in == '\0' ? in : in + 1;
	*out = '\0';
	return s;
}

static const struct keyword *
find_keyword(const char *name)
{
	size_t i;

	for (i = 0; i < NKEYWORDS; i++)
		if (strcasecmp(keywords[i].name, name) == 0)
			return &keywords[i];
	return NULL;
}

/* The keyword ends at a space or "="; one "=" may stand between. */
static char *
split_keyword(char *s, char **rest)
{
	char *end = s + strcspn(s, " \t=");
	char *r = end + strspn(end, " \t");

	if (*r == '=')
		r++;
	r += strspn(r, " \t");
	*rest = r;
	*end = '\0';
	return s;
}

static int
parse_line(struct parse *p, char *s)
{
	const struct keyword *k;
	char *w[CONF_WORDS_MAX], *rest, *word;
	bool bad = false;
	size_t len;
	int n = 0, once;

	s += strspn(s, " \t");
	len = strlen(s);
	while (len > 0 && strchr(" \t\r", s[len - 1]) != NULL)
		s[--len] = '\0';
	if (*s == '\0' || *s == '#')
		return 0;
	s = split_keyword(s, &rest);
	if ((k = find_keyword(s)) == NULL)
		return complain(p, xasprintf("unknown keyword '%.80s'", s));
	if (p->block < 0 && (k->where & TOP) == 0)
		return complain(p, xasprintf("%s stands inside a Workspace "
		    "block", k->name));
	if (p->block >= 0 && (k->where & BLOCK) == 0)
		return complain(p, xasprintf("%s stands before the first "
		    "Workspace", k->name));
	if (k->max == RAW) {
		if (*rest == '\0')
			return complain(p, xasprintf("%s needs a value",
			    k->name));
		return k->take(p, &rest, 1);
	}
	while ((word = next_word(&rest, &bad)) != NULL && !bad) {
		if (n == CONF_WORDS_MAX)
			return complain(p, xasprintf("more than %d words",
			    CONF_WORDS_MAX));
		w[n++] = word;
	}
	if (bad)
		return complain(p, xstrdup("a quote is not closed"));
	if (n < k->min)
		return complain(p, xasprintf("%s needs a value", k->name));
	if (k->max >= 0 && n > k->max)
		return complain(p, xasprintf("%s: too many words (quote a "
		    "value with spaces)", k->name));
	/* As in ssh_config the first value counts. */
	once = p->block < 0 && k->take != take_include &&
	    k->take != take_send_env && k->take != take_workspace;
	if (once) {
		if ((*p->seen >> (k - keywords)) & 1)
			return 0;
		*p->seen |= 1u << (k - keywords);
	}
	return k->take(p, w, n);
}

static int
parse_text(struct parse *p, const char *text, size_t len)
{
	const char *end;
	char *line;
	size_t n;
	int r = 0;

	/* The mark that some editors put before UTF-8. */
	if (len >= 3 && memcmp(text, "\357\273\277", 3) == 0) {
		text += 3;
		len -= 3;
	}
	while (len > 0 && r == 0) {
		end = memchr(text, '\n', len);
		n = end != NULL ? (size_t)(end - text) : len;
		p->line++;
		if (n > CONF_LINE_MAX)
			return complain(p, xasprintf("a line longer than %u "
			    "bytes", CONF_LINE_MAX));
		if (memchr(text, '\0', n) != NULL)
			return complain(p, xstrdup("a NUL byte"));
		line = xstrndup(text, n);
		r = parse_line(p, line);
		free(line);
		n += end != NULL;
		text += n;
		len -= n;
	}
	return r;
}

/* -1 with the cause; -2 with errno if the file cannot be opened. */
static int
parse_file(struct parse *p, const char *path, bool must)
{
	struct stat st;
	char *text = NULL;
	ssize_t n, have = 0;
	int fd, r = -1;

	/* O_NONBLOCK: a fifo in the place must not stop the server. */
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd == -1) {
		if (must || (errno != ENOENT && errno != ENOTDIR))
			return -2;
		return 0;
	}
	if (fstat(fd, &st) == -1 || !S_ISREG(st.st_mode)) {
		complain(p, xstrdup("not a regular file"));
		goto out;
	}
	if ((st.st_uid != 0 && st.st_uid != geteuid()) ||
	    (st.st_mode & 022) != 0) {
		complain(p, xasprintf("must be yours and not writable by "
		    "others (owner %ld, mode %03o): chmod go-w %s",
		    (long)st.st_uid, (unsigned int)st.st_mode & 0777, path));
		goto out;
	}
	if (st.st_size > (off_t)CONF_FILE_MAX) {
		complain(p, xasprintf("larger than %u bytes", CONF_FILE_MAX));
		goto out;
	}
	text = xmalloc((size_t)st.st_size + 1);
	while (have < st.st_size && (n = read(fd, text + have,
	    (size_t)(st.st_size - have))) > 0)
		have += n;
	r = parse_text(p, text, (size_t)have);
out:
	free(text);
	close(fd);
	return r;
}

static struct conf *
conf_new(void)
{
	struct conf *c = xcalloc(1, sizeof *c);

	c->prefix = xstrdup("C-\\");
	c->probe = 1;		/* login */
	c->history_lines = CONF_HISTORY_LINES;
	c->size.kind = SIZE_LATEST;
	c->pass[PASS_BELL] = c->pass[PASS_NOTIFY] = PASS_ALL;
	c->pass[PASS_CLIPBOARD] = PASS_LAST;
	return c;
}

static struct conf *
conf_read(const char *path, const char *text, size_t len, char **cause)
{
	unsigned int seen = 0;
	int files = 0, r;
	struct parse p = { .path = path, .block = -1, .files = &files,
	    .seen = &seen, .cause = cause };

	*cause = NULL;
	p.conf = conf_new();
	if (text != NULL)
		r = parse_text(&p, text, len);
	else if ((r = parse_file(&p, path, false)) == -2)
		*cause = xasprintf("%s: %s", path, strerror(errno));
	if (r == 0)
		return p.conf;
	conf_free(p.conf);
	return NULL;
}

struct conf *
conf_load(const char *path, char **cause)
{
	return conf_read(path, NULL, 0, cause);
}

struct conf *
conf_parse(const char *text, size_t len, const char *path, char **cause)
{
	return conf_read(path, text, len, cause);
}

void
conf_free(struct conf *c)
{
	struct conf_workspace *ws;
	size_t i;

	if (c == NULL)
		return;
	for (i = 0; i < c->nws; i++) {
		ws = &c->ws[i];
		free(ws->name);
		free(ws->command);
		free(ws->alias);
		free(ws->binary);
		free(ws->binary_machine);
		strv_free(ws->send_env);
		free(ws->file);
	}
	free(c->ws);
	free(c->prefix);
	free(c->binary_dir);
	strv_free(c->send_env);
	free(c);
}

const struct conf_workspace *
conf_find(const struct conf *c, const char *name)
{
	size_t i;

	for (i = 0; c != NULL && i < c->nws; i++)
		if (strcmp(c->ws[i].name, name) == 0)
			return &c->ws[i];
	return NULL;
}
