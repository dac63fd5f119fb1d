/* SPDX-License-Identifier: ISC */
/* INPUT: what one client types into a shell. */
#ifndef DLMUX_INPUT_H
#define DLMUX_INPUT_H

#include "core.h"

/* Writes for the shell what stands first in its queue. False: the pty takes
 * no more now, or nothing may be written yet; true: go on. */
bool	 input_write(struct shell *);
/* The shell is gone or ended: refuse those that still want something. */
void	 input_shell_ended(struct agent *, uint64_t uid);

#endif
