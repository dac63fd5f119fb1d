/* SPDX-License-Identifier: ISC */
/* The shared file by which a measurement controls a link: a way's terms. */
#ifndef BENCH_RELAY_H
#define BENCH_RELAY_H

#include "../tools/way.h"
#include "bench.h"

struct way_terms	*relay_control_map(const char *, bool);

#endif
