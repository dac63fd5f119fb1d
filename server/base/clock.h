/* SPDX-License-Identifier: ISC */
/* Clocks. Monotonic milliseconds for deadlines, wall time for people. */
#ifndef DLMUX_CLOCK_H
#define DLMUX_CLOCK_H

#include <stdint.h>

uint64_t clock_ms(void);	/* CLOCK_MONOTONIC */
uint64_t clock_us(void);	/* CLOCK_MONOTONIC */
uint64_t clock_boot_ms(void);	/* CLOCK_BOOTTIME: runs on in a sleep */
uint64_t clock_wall_ms(void);	/* since 1970 */

/* A descriptor that is readable when the machine has slept or the wall clock
 * was set, until clock_watched() took it. -1 where nothing tells. */
int	 clock_watch(void);
void	 clock_watched(int);

#endif
