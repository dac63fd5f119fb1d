/* SPDX-License-Identifier: ISC */
/*
 * The table of commands and what reads it: the option parser, the usage line.
 * It knows nothing of what the commands do.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../server/base/mem.h"
#include "command.h"
#include "say.h"

const struct command command_table[] = {
	{ "attach", "[-r] [-d] [-s LINES] [--passive] [--size POLICY] WS[:SHELL] "
	  "[-- CMD ARG...]",
	  "show a shell on this terminal, making it if there is none",
	  "WS is a workspace (local, ssh:[USER@]HOST, docker:NAME, podman:NAME,\n"
	  "devpod:NAME, or a name of the configuration file); the shell is `main'\n"
	  "when none is named. With CMD a new shell runs that instead of the login\n"
	  "shell.\n"
	  "\n"
	  "While attached, the prefix key C-\\ and then\n"
	  "    d  detaches          c  makes a new shell\n"
	  "    n  shows the next    p  shows the previous shell\n"
	  "    r  connects at once  C-\\ sends itself\n"
	  "    ?  shows help\n"
	  "\n"
	  "Returns 0 on detach, the shell's status when it ends (128+n for a\n"
	  "signal), 125 when it was lost or could not be shown.",
	  { { "r", NULL, "view only; nothing typed reaches the shell" },
	    { "d", NULL, "detach its other clients" },
	    { "s", "LINES", "so many lines of history above the screen; - for "
	      "all" },
	    { "passive", NULL, "the shell's size is not this terminal's business" },
	    { "size", "POLICY", "whose size the shell has: see `size'" },
	    { NULL, NULL, NULL } },
	  1, 1, 0, true, cmd_attach, false },
	{ "new", "[--size POLICY] WS[:SHELL] [-- CMD ARG...]",
	  "make a shell without showing it, and print its name",
	  "Without SHELL the lowest free number is taken. Returns when the shell\n"
	  "runs, not when its prompt is there; `send' right after is safe.\n"
	  "125 if the name is taken.",
	  { { "size", "POLICY", "whose size it has, or COLSxROWS: see `size'" },
	    { NULL, NULL, NULL } },
	  1, 1, 0, true, cmd_new, false },
	{ "detach", "[WS[:SHELL]]",
	  "detach the clients of a shell",
	  "Without a name, inside a shell of dlmux: of this shell.",
	  { { NULL, NULL, NULL } },
	  0, 1, 0, false, cmd_detach, false },
	{ "send", "[-n] [-k] [--no-wait] [--wait text=RE|idle=MS|exit] "
	  "[--timeout SEC] WS[:SHELL] [TEXT...]",
	  "type text and Enter into a shell",
	  "The words of TEXT are joined by single spaces. Without TEXT, standard\n"
	  "input is typed, byte for byte and without Enter. Returns when every\n"
	  "byte is in the shell's terminal. Key names are those of tmux: C-c Up\n"
	  "Enter F5 M-x S-Left Space.\n"
	  "\n"
	  "--wait looks only at what comes after the text: text=RE for a line that\n"
	  "matches an extended regular expression, idle=MS for no output for so\n"
	  "many milliseconds, exit for the shell's end (then its status is\n"
	  "returned). 124 on time-out, 1 when the shell ended first.",
	  { { "n", NULL, "no Enter" },
	    { "k", NULL, "the words are names of keys; no Enter" },
	    { "no-wait", NULL, "fail if the workspace is not connected" },
	    { "wait", "text=RE|idle=MS|exit", "return when this has come about" },
	    { "timeout", "SEC", "give up after so long (status 124)" },
	    { NULL, NULL, NULL } },
	  1, -1, 2, false, cmd_send, false },
	{ "wait", "WS[:SHELL] (--text RE | --idle MS | --exit) [--timeout SEC]",
	  "wait for something in a shell",
	  "--text looks at each line of the screen without its trailing blanks,\n"
	  "what is already there included. 124 on time-out; 1 when the shell ended\n"
	  "first; with --exit the shell's status.",
	  { { "text", "RE", "a line matches this extended regular expression" },
	    { "idle", "MS", "no output for so many milliseconds, from now" },
	    { "exit", NULL, "the shell ended" },
	    { "timeout", "SEC", "give up after so long (status 124)" },
	    { NULL, NULL, NULL } },
	  1, 1, 0, false, cmd_wait, false },
	{ "capture", "[-e] [-s LINES] [--raw] WS[:SHELL]",
	  "print a shell's screen as text",
	  "Works for a shell that ended, until it is dismissed by `kill'.",
	  { { "e", NULL, "with colours and attributes as escape sequences" },
	    { "s", "LINES", "with so many lines of scrollback; - for all" },
	    { "raw", NULL, "of a quarantined shell: its output as it came" },
	    { NULL, NULL, NULL } },
	  1, 1, 0, false, cmd_capture, false },
	{ "release", "WS[:SHELL]",
	  "show a quarantined shell again",
	  "A shell whose output killed the server twice is quarantined: it runs on,\n"
	  "but its output is not shown. `ls' says so; `capture --raw' prints it. A\n"
	  "new version of dlmux shows it again by itself.",
	  { { NULL, NULL, NULL } },
	  1, 1, 0, false, cmd_release, false },
	{ "exec", "[-n] [-e NAME[=VALUE]]... [-C DIR] [-t] [--status-fd N] "
	  "WS -- CMD ARG...",
	  "run a command in a workspace",
	  "The words of the command arrive exactly as given; no shell stands in\n"
	  "between. Standard input, output and error are the command's own. The\n"
	  "status is the command's (128+n for a signal; 126 and 127 as shells do);\n"
	  "125 when dlmux failed or the result is unknown: --status-fd tells those\n"
	  "apart from a command that says 125, with one of {\"exit\":3},\n"
	  "{\"signal\":\"KILL\"}, {\"unknown\":\"...\"}, {\"error\":\"...\"}.\n"
	  "SIGINT, SIGTERM, SIGHUP and SIGQUIT are passed on; while the connection\n"
	  "is down SIGTERM, SIGHUP and a second Ctrl-C leave.",
	  { { "n", NULL, "no standard input" },
	    { "e", "NAME[=VALUE]", "set a variable, or pass on the one set here" },
	    { "C", "DIR", "run in this directory" },
	    { "t", NULL, "give it a terminal" },
	    { "status-fd", "N", "write how it ended to this descriptor" },
	    { NULL, NULL, NULL } },
	  1, 1, 0, true, cmd_exec, false },
	{ "ls", "[-c] [--json]",
	  "list workspaces and shells",
	  "Answers at once, also while some workspace cannot be reached.",
	  { { "c", NULL, "with the clients attached" },
	    { "json", NULL, "for programs" },
	    { NULL, NULL, NULL } },
	  0, 0, 0, false, cmd_list, false },
	{ "size", "WS[:SHELL] [POLICY]",
	  "say whose size a shell has, or set it",
	  "POLICY is one of\n"
	  "    latest     the size of the client last typed at\n"
	  "    smallest   the largest that fits all clients\n"
	  "    largest    the height and the width that some client has\n"
	  "    COLSxROWS  this, whatever the clients have\n"
	  "    default    what Size in the configuration says (latest)\n"
	  "and stays with the shell. Clients attached with -r or --passive do not\n"
	  "count. Without POLICY the present one and the size are printed.",
	  { { NULL, NULL, NULL } },
	  1, 2, 0, false, cmd_size, false },
	{ "kill", "[--forget] WS[:SHELL] | -a [WS]",
	  "end a shell and dismiss it",
	  "HUP, then KILL after a grace. Connects to workspaces that are not\n"
	  "connected, and says which shells it could not reach. Those can be\n"
	  "forgotten: nothing is connected then, and a shell that runs is listed\n"
	  "again when its workspace is connected.",
	  { { "a", NULL, "all shells, of WS or of every workspace" },
	    { "forget", NULL, "only forget shells that are not connected" },
	    { NULL, NULL, NULL } },
	  0, 1, 0, false, cmd_kill, false },
	{ "connect", "[--refresh] [--trace [--json]] WS",
	  "bring the connection to a workspace up",
	  "Asks on the terminal what ssh asks for.",
	  { { "refresh", NULL, "read the login environment there anew" },
	    { "trace", NULL, "then tell where the time went, as `trace' does" },
	    { "json", NULL, "for programs (--trace)" },
	    { NULL, NULL, NULL } },
	  1, 1, 0, false, cmd_connect, false },
	{ "disconnect", "WS",
	  "let a workspace's connection go; its shells stay",
	  NULL,
	  { { NULL, NULL, NULL } },
	  1, 1, 0, false, cmd_disconnect, false },
	{ "trace", "[--json] WS",
	  "tell where the time of a workspace's last connect went",
	  "Its phases with their times, what was sent and skipped, and which facts\n"
	  "were remembered and which asked; of one that failed, where.",
	  { { "json", NULL, "for programs" },
	    { NULL, NULL, NULL } },
	  1, 1, 0, false, cmd_trace, false },
	{ "doctor", "[--json] [WS]",
	  "say what would end shells too early, or work badly, here and in WS",
	  "Looks at logout (cgroup, linger, KillUserProcesses), cleaned and noexec\n"
	  "directories, owners and modes, disk, locale, clock, terminal, limits,\n"
	  "versions. Each line is ok or says what to do. 0 when all is well, 1 when\n"
	  "something needs doing.",
	  { { "json", NULL, "for programs" },
	    { NULL, NULL, NULL } },
	  0, 1, 0, false, cmd_doctor, true },
	{ "server", "start|stop|restart|status [--json]",
	  "start, stop, restart or look at the server",
	  "`stop' and `restart' leave all shells running, in the workspaces'\n"
	  "agents.",
	  { { "json", NULL, "for programs (status)" },
	    { NULL, NULL, NULL } },
	  1, 1, 0, false, cmd_server, false },
	{ "help", "[CMD]",
	  "say what there is, or how one command is used",
	  NULL,
	  { { NULL, NULL, NULL } },
	  0, 1, 0, false, cmd_help, true },
	{ "version", "",
	  "print the version",
	  NULL,
	  { { NULL, NULL, NULL } },
	  0, 0, 0, false, cmd_version, true },
	{ NULL, NULL, NULL, NULL, { { NULL, NULL, NULL } }, 0, 0, 0, false, NULL,
	  false }
};

const struct command *
command_find(const char *name)
{
	const struct command *c;

	for (c = command_table; c->name != NULL; c++)
		if (strcmp(c->name, name) == 0)
			return c;
	return NULL;
}

static const struct command_option *
option_find(const struct command *cmd, const char *name, size_t len)
{
	const struct command_option *o;

	for (o = cmd->options; o->name != NULL; o++)
		if (strlen(o->name) == len && memcmp(o->name, name, len) == 0)
			return o;
	return NULL;
}

static void
args_add(struct args *a, const struct command_option *def, const char *value)
{
	a->options[a->noptions].def = def;
	a->options[a->noptions].value = value;
	a->noptions++;
}

/* One "--name", "--name=value" or "--name value"; *i moves over a value. */
static int
parse_long(struct args *a, int argc, char **argv, int *i, char **cause)
{
	const struct command_option *o;
	const char *name = argv[*i] + 2, *eq = strchr(name, '=');
	size_t len = eq != NULL ? (size_t)(eq - name) : strlen(name);

	/* A letter's option has one dash: --n is nothing. */
	o = len > 1 ? option_find(a->cmd, name, len) : NULL;
	if (o == NULL) {
		*cause = xasprintf("there is no option --%.*s", (int)len, name);
		return -1;
	}
	if (o->arg == NULL) {
		if (eq != NULL) {
			*cause = xasprintf("--%s takes no value", o->name);
			return -1;
		}
		args_add(a, o, NULL);
		return 0;
	}
	if (eq == NULL && *i + 1 >= argc) {
		*cause = xasprintf("--%s needs %s", o->name, o->arg);
		return -1;
	}
	args_add(a, o, eq != NULL ? eq + 1 : argv[++*i]);
	return 0;
}

/* A cluster of letters; the first that takes a value takes the rest of the
 * word, or the next word. */
static int
parse_letters(struct args *a, int argc, char **argv, int *i, char **cause)
{
	const struct command_option *o;
	const char *p;

	for (p = argv[*i] + 1; *p != '\0'; p++) {
		if ((o = option_find(a->cmd, p, 1)) == NULL) {
			*cause = xasprintf("there is no option -%c", *p);
			return -1;
		}
		if (o->arg == NULL) {
			args_add(a, o, NULL);
			continue;
		}
		if (p[1] != '\0')
			args_add(a, o, p + 1);
		else if (*i + 1 < argc)
			args_add(a, o, argv[++*i]);
		else {
			*cause = xasprintf("-%s needs %s", o->name, o->arg);
			return -1;
		}
		return 0;
	}
	return 0;
}

int
args_parse(struct args *a, const struct command *cmd, int argc, char **argv,
    bool *help, char **cause)
{
	bool plain = false;
	char *s;
	int i, n;

	memset(a, 0, sizeof *a);
	a->cmd = cmd;
	/* Every word yields at most as many options as it has letters. */
	for (n = 0, i = 0; i < argc; i++)
		n += (int)strlen(argv[i]) + 1;
	a->options = xcalloc((size_t)n + 1, sizeof *a->options);
	a->words = xcalloc((size_t)argc + 1, sizeof *a->words);
	*help = false;

	for (i = 0; i < argc; i++) {
		s = argv[i];
		if (cmd->plain_after > 0 && a->nwords >= cmd->plain_after)
			plain = true;
		if (plain || s[0] != '-' || s[1] == '\0') {
			a->words[a->nwords++] = s;
			continue;
		}
		if (strcmp(s, "--") == 0) {
			a->dashes = true;
			if (cmd->rest) {
				a->rest = argv + i + 1;
				a->nrest = argc - i - 1;
				break;
			}
			plain = true;
			continue;
		}
		if (strcmp(s, "-h") == 0 || strcmp(s, "--help") == 0) {
			*help = true;
			return 0;
		}
		if ((s[1] == '-' ? parse_long : parse_letters)(a, argc, argv,
		    &i, cause) == -1)
			return -1;
	}
	if (a->nwords < cmd->min) {
		*cause = xstrdup("something is missing");
		return -1;
	}
	if (cmd->max >= 0 && a->nwords > cmd->max) {
		if (cmd->rest && !a->dashes)
			*cause = xasprintf("put -- before the command \"%s\"",
			    a->words[cmd->max]);
		else
			*cause = xasprintf("\"%s\" is too much",
			    a->words[cmd->max]);
		return -1;
	}
	return 0;
}

void
args_clear(struct args *a)
{
	free(a->options);
	free(a->words);
	a->options = NULL;
	a->words = NULL;
}

bool
args_has(const struct args *a, const char *option)
{
	int i;

	for (i = 0; i < a->noptions; i++)
		if (strcmp(a->options[i].def->name, option) == 0)
			return true;
	return false;
}

const char *
args_value(const struct args *a, const char *option)
{
	int i;

	for (i = a->noptions - 1; i >= 0; i--)
		if (strcmp(a->options[i].def->name, option) == 0)
			return a->options[i].value;
	return NULL;
}

char *
command_usage(const struct command *cmd)
{
	return xasprintf("usage: dlmux %s%s%s", cmd->name,
	    cmd->synopsis[0] != '\0' ? " " : "", cmd->synopsis);
}

int
usage_error(const struct command *cmd, const char *fmt, ...)
{
	char text[512], *usage = command_usage(cmd);
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	say("%s: %s", cmd->name, text);
	say_raw(usage);
	free(usage);
	return STATUS_USAGE;
}

int
number_parse(const char *s, uint32_t max, uint32_t *out)
{
	uint64_t n = 0;

	if (*s == '\0')
		return -1;
	for (; *s != '\0'; s++) {
		if (*s < '0' || *s > '9')
			return -1;
		n = n * 10 + (uint64_t)(*s - '0');
		if (n > max)
			return -1;
	}
	*out = (uint32_t)n;
	return 0;
}

int
seconds_parse(const char *s, uint32_t *ms)
{
	/* By hand: strtod would take "inf", "0x1p3" and a locale's comma. */
	uint64_t n = 0, scale = 100;
	bool digits = false, up = false;

	for (; *s >= '0' && *s <= '9'; s++) {
		digits = true;
		n = n * 10 + (uint64_t)(*s - '0');
		if (n > UINT32_MAX / 1000)
			return -1;
	}
	n *= 1000;
	if (*s == '.')
		for (s++; *s >= '0' && *s <= '9'; s++, scale /= 10) {
			digits = true;
			n += (uint64_t)(*s - '0') * scale;
			if (scale == 0 && *s != '0')
				up = true;
		}
	if (!digits || *s != '\0' || n + up > UINT32_MAX)
		return -1;
	*ms = (uint32_t)(n + up);
	return 0;
}
