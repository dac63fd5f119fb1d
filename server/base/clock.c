/* SPDX-License-Identifier: ISC */
/*
 * Reading the clocks; see clock.h.
 */
#ifdef DLMUX_HOOKS
#include <stdio.h>
#include <stdlib.h>
#endif
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

/* How long the machine slept, as a test has it: a number of milliseconds in
 * the file clock-slept beside the hooks. */
static uint64_t
clock_slept_ms(void)
{
#ifdef DLMUX_HOOKS
	const char *dir = getenv("DLMUX_HOOK_DIR");
	unsigned long ms = 0;
	char path[512];
	FILE *f;

	if (dir == NULL)
		return 0;
	snprintf(path, sizeof path, "%s/clock-slept", dir);
	if ((f = fopen(path, "re")) == NULL)
		return 0;
	if (fscanf(f, "%lu", &ms) != 1)
		ms = 0;
	fclose(f);
	return ms;
#else
	return 0;
#endif
}

uint64_t
clock_boot_ms(void)
{
#ifdef CLOCK_BOOTTIME
	return clock_read_us(CLOCK_BOOTTIME) / 1000 + clock_slept_ms();
#else
	return clock_read_us(CLOCK_MONOTONIC) / 1000 + clock_slept_ms();
#endif
}

uint64_t
clock_wall_ms(void)
{
	return clock_read_us(CLOCK_REALTIME) / 1000;
}
