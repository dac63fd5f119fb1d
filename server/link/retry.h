/* SPDX-License-Identifier: ISC */
/*
 * When a link may be tried again: back-off with jitter, and a cap on failed
 * tries that survives a restart (a firewall's rate limit would lock the user
 * out of every ssh, not only out of ours). Times are wall-clock milliseconds,
 * which is what a state file can hold.
 */
#ifndef DLMUX_RETRY_H
#define DLMUX_RETRY_H

#include <stdbool.h>
#include <stdint.h>

#include "../base/limits.h"

struct retry {
	uint64_t	failed[RETRY_BURST];	/* the last, newest first; 0 */
	unsigned int	step;			/* of the back-off */
};

void	 retry_failed(struct retry *);
/* It was up for a while: the back-off starts again; failed tries stay. */
void	 retry_clear(struct retry *);
/* How long the cap forbids a try; 0 if it does not (or capped is false). */
uint64_t retry_wait(const struct retry *, bool capped);
/* How long to wait before the next try by itself; moves the back-off on. */
uint64_t retry_delay(struct retry *, bool capped);

char	*retry_put(const struct retry *);	/* malloc'd */
void	 retry_get(struct retry *, const char *);

#endif
