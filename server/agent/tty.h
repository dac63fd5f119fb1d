/* SPDX-License-Identifier: ISC */
/* Opening a pty and the few things done to one. */
#ifndef DLMUX_TTY_H
#define DLMUX_TTY_H

#include <stdint.h>

/* Both close-on-exec, the master non-blocking. -1 and errno. */
int	 tty_open(int *master, int *slave, uint16_t rows, uint16_t cols);
void	 tty_resize(int master, uint16_t rows, uint16_t cols);

#endif
