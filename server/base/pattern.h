/* SPDX-License-Identifier: ISC */
/*
 * The extended regular expressions of users: those only that cannot stop who
 * looks for them.
 */
#ifndef DLMUX_PATTERN_H
#define DLMUX_PATTERN_H

#include <regex.h>

/* 0; -1 and why not, malloc'd. What was compiled is for regfree(). */
int	 pattern_compile(regex_t *, const char *, char **cause);

#endif
