/* SPDX-License-Identifier: ISC */
/* The shared file by which a measurement controls a link. */
#ifndef BENCH_RELAY_H
#define BENCH_RELAY_H

#include "bench.h"

struct relay_control {
	volatile double	 delay;		/* ms, each way */
	volatile double	 rate;		/* bytes a second each way; 0: any */
	volatile int	 stalled;
};

struct relay_control	*relay_control_map(const char *, bool);

#endif
