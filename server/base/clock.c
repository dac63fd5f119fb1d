/* SPDX-License-Identifier: ISC */
/*
 * Reading the clocks; see clock.h.
 */
#include <time.h>

#include "clock.h"

static uint64_t
clock_read_us(clockid_t id)
{
	struct timespec ts;

	if (clock_gettime(id, &ts) != 0)
		return 0;
	return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

uint64_t
clock_ms(void)
{
	return clock_read_us(CLOCK_MONOTONIC) / 1000;
}

uint64_t
clock_us(void)
{
	return clock_read_us(CLOCK_MONOTONIC);
}

uint64_t
clock_boot_ms(void)
{
#ifdef CLOCK_BOOTTIME
	return clock_read_us(CLOCK_BOOTTIME) / 1000;
#else
	return clock_read_us(CLOCK_MONOTONIC) / 1000;
#endif
}

uint64_t
clock_wall_ms(void)
{
	return clock_read_us(CLOCK_REALTIME) / 1000;
}
