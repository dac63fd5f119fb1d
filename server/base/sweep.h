/* SPDX-License-Identifier: ISC */
/*
 * Directories of places that are no more: each boot and each start of a
 * container has another identity, and leaves its logs, locks and sockets.
 */
#ifndef DLMUX_SWEEP_H
#define DLMUX_SWEEP_H

#include "place.h"

/*
 * Removes those beside the place's own that nobody has touched for
 * PLACE_STALE_S (whoever lives there does so by the hour), whose locks nobody
 * holds, and that hold nothing but files of ours. How many.
 */
unsigned int	 sweep_places(const struct place *);

#endif
