/* SPDX-License-Identifier: ISC */
/*
 * The names of workspaces and shells: the grammar of design.md's table, parsed
 * by a table of schemes, and what each means as a command.
 */
#ifndef DLMUX_TARGET_H
#define DLMUX_TARGET_H

#include <stdbool.h>
#include <stdint.h>

#include "../base/conf.h"

enum scheme { SCHEME_LOCAL, SCHEME_SSH, SCHEME_DEVPOD, SCHEME_DOCKER,
	SCHEME_PODMAN, SCHEME_COMMAND };

struct target {
	enum scheme scheme;
	char	*name;		/* canonical: "ssh:me@web", "local", "build" */
	char	*user;		/* or NULL */
	char	*host;		/* host, container or devpod name; NULL: local */
	/* from a Workspace block, or the defaults */
	char	*command;	/* SCHEME_COMMAND: for sh -c */
	char	*binary;	/* AgentBinary for a foreign machine, or NULL */
	char	*binary_machine; /* its "uname -sm", e.g. "Linux aarch64" */
	char	*binary_dir;	/* AgentDirectory, or NULL */
	uint8_t	 probe;		/* enum env_probe */
	char	**send_env;
	uint64_t idle_ms;	/* let an unused link go after this; 0: never */
	struct size size;	/* of its shells */
	int	 pass[PASSES];	/* enum pass; -1: no word about it */
};

/*
 * Splits "WORKSPACE[:SHELL]" as a user wrote it and resolves the workspace
 * with the config and ssh_config. *shell is malloc'd, or NULL when it was
 * left out. 0, or -1 with *cause: a sentence that names what
 * is wrong and what is known. conf may be NULL (no file). env is the client's
 * (HOME, DEVPOD_SSH_CONFIG, ...). Syntax only if resolve is false.
 */
int	 target_parse(const char *text, const struct conf *, char *const *env,
	    bool resolve, struct target *, char **shell, char **cause);
/* Only the split, without looking at any file: for a client. *workspace is as
 * the user wrote it; *shell NULL when left out. */
int	 target_split(const char *text, char **workspace, char **shell,
	    char **cause);
void	 target_copy(struct target *, const struct target *);
void	 target_clear(struct target *);
/* Whether both are reached by the same means. */
bool	 target_same_way(const struct target *, const struct target *);

/* argv of the transport with the one-liner as its last word; NULL-ended,
 * strv_free(). NULL for SCHEME_LOCAL. batch: ssh must not prompt. */
char	**target_argv(const struct target *, const char *oneliner, bool batch,
	    char *const *env);

#endif
