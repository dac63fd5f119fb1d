/* SPDX-License-Identifier: ISC */
/*
 * As much of ssh_config as is needed to know whether a bare name is a host
 * there (`ssh -G` says yes to any name): Host lines and Include.
 */
#ifndef DLMUX_SSHCONF_H
#define DLMUX_SSHCONF_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Does a Host line name it? Patterns count, with their negations, but not
 * one that any name matches. file NULL: the user's (under HOME of env) and
 * the system's. names, if not NULL, receives the plain names seen, at most
 * SSHCONF_NAMES_MAX, malloc'd, NULL-ended: strv_free().
 */
bool	 sshconf_host(const char *file, char *const *env, const char *host,
	    char ***names);
/* The same for text in memory; Include lines are followed. dir: of relative
 * Includes. For tests and fuzzing. */
bool	 sshconf_text(const char *text, size_t, const char *dir,
	    const char *host, char ***names);

/* "*" and "?" as in Host lines. */
bool	 sshconf_match(const char *pattern, const char *s);

/* The value of NAME in env, NULL if unset or empty. */
const char *env_value(char *const *env, const char *name);

#endif
