/* SPDX-License-Identifier: ISC */
/*
 * Reading the clocks; see clock.h.
 */
#ifdef DLMUX_HOOKS
#include <stdio.h>
#include <stdlib.h>
#endif
#ifdef __linux__
#include <sys/inotify.h>
#include <sys/timerfd.h>
#endif
#include <time.h>
#include <unistd.h>

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

#ifdef __linux__
/* In a test the machine sleeps by a file; see above. */
static int
clock_watch_test(void)
{
#ifdef DLMUX_HOOKS
	const char *dir = getenv("DLMUX_HOOK_DIR");
	int fd;

	if (dir == NULL)
		return -1;
	if ((fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC)) != -1)
		(void)inotify_add_watch(fd, dir, IN_CLOSE_WRITE);
	return fd;
#else
	return -1;
#endif
}

int
clock_watch(void)
{
	/* Never due; what counts is that setting the clock cancels it, and the
	 * kernel sets it when it wakes up. */
	struct itimerspec far = { .it_value = { .tv_sec =
	    (time_t)(clock_wall_ms() / 1000) + 1000000000 } };
	int fd = clock_watch_test();

	if (fd != -1)
		return fd;
	fd = timerfd_create(CLOCK_REALTIME, TFD_NONBLOCK | TFD_CLOEXEC);
	if (fd != -1 && timerfd_settime(fd, TFD_TIMER_ABSTIME |
	    TFD_TIMER_CANCEL_ON_SET, &far, NULL) == -1) {
		close(fd);
		fd = -1;
	}
	return fd;
}

void
clock_watched(int fd)
{
	char taken[4096];

	while (read(fd, taken, sizeof taken) > 0)
		;
}
#else
int
clock_watch(void)
{
	return -1;
}

void
clock_watched(int fd)
{
	(void)fd;
}
#endif
