/* SPDX-License-Identifier: ISC */
/* Which shell of dlmux does this process run in? */
#ifndef DLMUX_CLIENT_INSIDE_H
#define DLMUX_CLIENT_INSIDE_H

#include "../server/base/place.h"

/*
 * WORKSPACE:SHELL, malloc'd, if the environment says so (DLMUX) and the shell's
 * process is really one of our ancestors: a variable alone may be old, or
 * inherited by something that left the shell. NULL if not, or if the shell
 * belongs to another instance than ours.
 */
char	*inside_shell(const struct place *);

#endif
