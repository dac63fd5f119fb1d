/* SPDX-License-Identifier: ISC */
/* The environment that a new shell or command gets on top of its base. */
#ifndef DLMUX_ENVLIST_H
#define DLMUX_ENVLIST_H

#include <stdbool.h>

/*
 * LANG, what SendEnv's patterns name (may be NULL), then extra; with terminal
 * also TERM and COLORTERM in front. On this machine (workspace "local") also
 * the instance, so that a dlmux inside finds it again. NULL-ended,
 * strv_free().
 */
char	**envlist_make(const char *workspace, char *const *patterns,
	    bool terminal, char *const *extra);

#endif
