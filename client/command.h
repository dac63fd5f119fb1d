/* SPDX-License-Identifier: ISC */
/*
 * The commands: one table with name, synopsis, options, help and function.
 * Parsing, usage, `help` and the test that the man page covers everything
 * all read it, so a command or an option exists in one place only.
 */
#ifndef DLMUX_COMMAND_H
#define DLMUX_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../server/base/place.h"

/* dlmux's own statuses; everything else is the command's or the shell's. */
#define STATUS_ENDED	1	/* wait: the shell ended first */
#define STATUS_TODO	1	/* doctor: something needs doing */
#define STATUS_USAGE	2
#define STATUS_TIMEOUT	124
#define STATUS_FAILED	125	/* dlmux failed, or the result is unknown */
#define STATUS_NO_EXEC	126
#define STATUS_NO_COMMAND 127

struct args;

struct command_option {
	const char	*name;	/* "n" is -n, "timeout" is --timeout */
	const char	*arg;	/* what it takes, "SEC"; NULL for none */
	const char	*help;	/* one line */
};

struct command {
	const char	*name;
	const char	*synopsis;	/* what follows the name */
	const char	*brief;		/* one line */
	const char	*help;		/* paragraphs for `help CMD` */
	struct command_option options[8]; /* name NULL ends */
	int		 min, max;	/* words that are no options; max -1: any */
	/* Once so many words were seen, whatever follows is a word too, dash or
	 * not (send's text); 0: options may stand anywhere. */
	int		 plain_after;
	bool		 rest;		/* `-- CMD ARG...` may follow */
	int		(*run)(struct args *); /* returns the exit status */
	bool		 no_place;	/* runs without args->place */
};

/* The table, ended by a NULL name. */
extern const struct command command_table[];
/* By name, NULL if there is none. */
const struct command *command_find(const char *);

struct args_option {
	const struct command_option *def;
	const char	*value;		/* NULL if it takes none */
};

struct args {
	const struct command *cmd;
	struct place	*place;		/* opened by main before run(), but
					 * for no_place */
	struct args_option *options;	/* in the order given */
	int		 noptions;
	char		**words;	/* NULL-ended */
	int		 nwords;
	char		**rest;		/* after `--` if cmd->rest; NULL-ended */
	int		 nrest;
	bool		 dashes;	/* there was a `--` */
};

/*
 * Sorts what stands after the command's name. 0; -1 with a sentence in *cause
 * (malloc'd) for a usage error. The strings stay argv's. *help is set when -h
 * or --help was met (then 0, and nothing is checked).
 */
int	 args_parse(struct args *, const struct command *, int argc, char **argv,
	    bool *help, char **cause);
void	 args_clear(struct args *);
bool	 args_has(const struct args *, const char *option);
/* The last value given, or NULL. */
const char *args_value(const struct args *, const char *option);

/* Says what is wrong with the usage and how it goes; returns STATUS_USAGE. */
int	 usage_error(const struct command *, const char *, ...)
	    __attribute__((format(printf, 2, 3)));
/* "usage: dlmux NAME SYNOPSIS", without newline; caller frees. */
char	*command_usage(const struct command *);

/* Whole digits within [0,max]; -1 if it is no such number. */
int	 number_parse(const char *, uint32_t max, uint32_t *out);
/* Seconds with a fraction ("1.5") to milliseconds, rounded up; 0 stays 0. */
int	 seconds_parse(const char *, uint32_t *ms);

/* The commands, each in the file of its name. */
int	 cmd_attach(struct args *);
int	 cmd_new(struct args *);
int	 cmd_detach(struct args *);
int	 cmd_doctor(struct args *);
int	 cmd_send(struct args *);
int	 cmd_wait(struct args *);
int	 cmd_capture(struct args *);
int	 cmd_release(struct args *);
int	 cmd_exec(struct args *);
/* It did not come to cmd_exec(), and what say() said last is why: who listens
 * at its --status-fd, if it has a good one, is told. */
void	 exec_not_run(const struct args *);
int	 cmd_list(struct args *);
int	 cmd_kill(struct args *);
int	 cmd_size(struct args *);
int	 cmd_connect(struct args *);
int	 cmd_disconnect(struct args *);
int	 cmd_trace(struct args *);
int	 cmd_server(struct args *);
int	 cmd_help(struct args *);
int	 cmd_version(struct args *);

#endif
