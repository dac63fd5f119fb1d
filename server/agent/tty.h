/* SPDX-License-Identifier: ISC */
/* Opening a pty and the few things done to one. */
#ifndef DLMUX_TTY_H
#define DLMUX_TTY_H

#include <stddef.h>
#include <stdint.h>

/* A line that a terminal in canonical mode keeps; what comes then is dropped
 * by the kernel without a word (its N_TTY_BUF_SIZE, less one for the end). */
#define TTY_LINE_MAX	4095

/* Both close-on-exec, the master non-blocking. -1 and errno. */
int	 tty_open(int *master, int *slave, uint16_t rows, uint16_t cols);
void	 tty_resize(int master, uint16_t rows, uint16_t cols);
/* How many of these bytes, typed now, get through; n if the program reads by
 * the byte. *line is how long the line is before them, and after. */
size_t	 tty_fits(int master, const uint8_t *, size_t n, size_t *line);

#endif
