/* SPDX-License-Identifier: ISC */
/* Is this process inside a certain shell? */
#ifndef DLMUX_CLIENT_INSIDE_H
#define DLMUX_CLIENT_INSIDE_H

#include "../server/base/place.h"

/*
 * True if the environment says so (DLMUX) and the shell's process is really
 * one of our ancestors: a variable alone may be old, or inherited by
 * something that left the shell.
 */
bool	 inside_shell(const struct place *, const char *workspace,
	    const char *shell);

#endif
