/* SPDX-License-Identifier: ISC */
/*
 * Vectors of NAME=VALUE: looked up, layered, and cleaned of what belongs to
 * one connection or one terminal and not to the place.
 */
#ifndef DLMUX_ENV_H
#define DLMUX_ENV_H

#include <stddef.h>

#include "../base/buf.h"

const char *env_get(char *const *env, const char *name);	/* or NULL */
/* Adds or replaces; *env is malloc'd, NULL-ended and may be NULL. */
void	 env_set(char ***env, const char *name, const char *value);
void	 env_put(char ***env, const char *name_value);
void	 env_unset(char **env, const char *name);
/* Entries ended by NUL each; those that are none are left out. */
char	**env_split(const void *, size_t);
/* Removes SSH_CONNECTION and its like, terminals, DLMUX*; for one that came
 * over ssh also the agent and display that came with it. */
void	 env_clean(char **env);
/* HOME, SHELL, USER, LOGNAME, PATH, LANG where they are missing. */
void	 env_complete(char ***env);

#endif
