/* SPDX-License-Identifier: ISC */
/*
 * dlmux.conf: ssh_config-like. Keywords of the whole program, then `Workspace
 * NAME` blocks; "#" comments, double quotes, `Include FILE` (relative to the
 * file, bounded depth). Every keyword stands in one table, which parsing, the
 * man page's test and the error ("file:line: unknown keyword ...") read.
 */
#ifndef DLMUX_CONF_H
#define DLMUX_CONF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "size.h"

/* What programs have for their user, and to which of the clients that show the
 * shell it goes. */
enum pass_what { PASS_BELL, PASS_CLIPBOARD, PASS_NOTIFY, PASSES };
enum pass { PASS_ALL, PASS_LAST, PASS_NO };	/* LAST: the one typed at */

struct conf_workspace {
	char	*name;
	char	*command;	/* Command: sh -c text, %c is the one-liner */
	char	*alias;		/* Target: another workspace's name, e.g. ssh:web */
	char	*binary;	/* AgentBinary FILE */
	char	*binary_machine; /* AgentMachine "Linux aarch64" */
	int	 probe;		/* EnvProbe, -1 not given */
	char	**send_env;	/* SendEnv, NULL not given */
	long	 idle_min;	/* IdleClose, 0 is no, -1 not given */
	struct size size;	/* Size, SIZE_DEFAULT not given */
	int	 pass[PASSES];	/* Bell, Clipboard, Notify: enum pass, or -1 */
	char	*file;		/* where the block starts, for errors */
	int	 line;
};

struct conf {
	char	*prefix;	/* PrefixKey, "C-\\" */
	int	 probe;		/* EnvProbe no|login|interactive (default login) */
	char	**send_env;	/* SendEnv PATTERN... of the whole program */
	char	*binary_dir;	/* AgentDirectory: dlmux-linux-aarch64 etc. */
	long	 history_lines;	/* HistoryLines, 10000 */
	struct size size;	/* Size, latest */
	int	 pass[PASSES];	/* all, last, all */
	struct conf_workspace *ws;
	size_t	 nws;
};

/* A file that does not exist gives the defaults. NULL and *cause
 * ("/home/me/.config/dlmux/dlmux.conf:3: ...") for one that does not parse, is
 * somebody else's, or may be written by others (it names programs to run). */
struct conf *conf_load(const char *path, char **cause);
struct conf *conf_parse(const char *text, size_t, const char *path, char **cause);
void	 conf_free(struct conf *);
const struct conf_workspace *conf_find(const struct conf *, const char *name);

/* The keyword table: names in order, for tests; NULL-ended. */
const char *const *conf_keywords(void);

#endif
