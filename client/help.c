/* SPDX-License-Identifier: ISC */
/*
 * `help` and `version`.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../server/base/buf.h"
#include "../server/base/version.h"
#include "../server/wire/msg.h"
#include "command.h"
#include "say.h"

/* A help text is a page. */
#define HELP_MAX	65536

static int
help_print(struct buf *b)
{
	int r = say_out(b->data, b->len) == -1;

	buf_free(b);
	return r ? STATUS_FAILED : 0;
}

static void
help_option(struct buf *b, const struct command_option *o)
{
	char word[80];

	(void)snprintf(word, sizeof word, "%s%s%s%s",
	    o->name[1] == '\0' ? "-" : "--", o->name,
	    o->arg != NULL ? " " : "", o->arg != NULL ? o->arg : "");
	buf_printf(b, strlen(word) > 22 ? "    %s\n%28s%s\n" :
	    "    %-22s%s  %s\n", word, "", o->help);
}

static int
help_command(const struct command *c)
{
	const struct command_option *o;
	struct buf b;
	char *usage = command_usage(c);

	buf_init(&b, HELP_MAX);
	buf_printf(&b, "%s\n\n%s: %s\n", usage, c->name, c->brief);
	free(usage);
	if (c->options[0].name != NULL)
		buf_puts(&b, "\n");
	for (o = c->options; o->name != NULL; o++)
		help_option(&b, o);
	if (c->help != NULL)
		buf_printf(&b, "\n%s\n", c->help);
	return help_print(&b);
}

static int
help_all(void)
{
	const struct command *c;
	struct buf b;

	buf_init(&b, HELP_MAX);
	buf_puts(&b, "usage: dlmux [-L NAME] COMMAND [ARGUMENTS]\n\n");
	for (c = command_table; c->name != NULL; c++)
		buf_printf(&b, "    %-12s%s\n", c->name, c->brief);
	buf_puts(&b, "\nWS is a workspace: local, ssh:[USER@]HOST, "
	    "docker:NAME, podman:NAME,\ndevpod:NAME, or a name of the "
	    "configuration file. -L names an instance that\nshares nothing "
	    "with others. `dlmux help COMMAND' says more; so does dlmux(1).\n");
	return help_print(&b);
}

int
cmd_help(struct args *args)
{
	const struct command *c;

	if (args->nwords == 0)
		return help_all();
	if ((c = command_find(args->words[0])) == NULL)
		return usage_error(args->cmd, "there is no command \"%s\"",
		    args->words[0]);
	return help_command(c);
}

int
cmd_version(struct args *args)
{
	struct buf b;

	(void)args;
	buf_init(&b, HELP_MAX);
	buf_printf(&b, "dlmux %s (protocol %d)\n", DLMUX_VERSION, PROTO_MAX);
	return help_print(&b);
}
