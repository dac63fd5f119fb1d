/* SPDX-License-Identifier: ISC */
/*
 * When a link may be tried again: back-off with jitter, and a cap on failed
 * tries that survives a restart (a firewall's rate limit would lock the user
 * out of every ssh, not only out of ours). What is tried in the background
 * leaves one try to a user who acts. Times are wall-clock milliseconds, which is
 * what a state file can hold.
 */
#ifndef DLMUX_RETRY_H
#define DLMUX_RETRY_H

#include <stdbool.h>
#include <stdint.h>

#include "../base/limits.h"

enum retry_cap {
	RETRY_ANY,		/* nobody counts connections there */
	RETRY_BACKGROUND,	/* RETRY_BURST in RETRY_WINDOW_MS */
	RETRY_USER		/* RETRY_BURST_USER */
};

struct retry {
	uint64_t	failed[RETRY_BURST_USER]; /* newest first; 0: none */
	unsigned int	step;			/* of the back-off */
};

void	 retry_failed(struct retry *);
/* It was up for a while: the back-off starts again; failed tries stay. */
void	 retry_clear(struct retry *);
/* How long the cap forbids a try; 0 if it does not. */
uint64_t retry_wait(const struct retry *, enum retry_cap);
/* How long to wait before the next try by itself; moves the back-off on. A try
 * that took long has waited already: spent_ms counts. */
uint64_t retry_delay(struct retry *, enum retry_cap, uint64_t spent_ms);

char	*retry_put(const struct retry *);	/* malloc'd */
void	 retry_get(struct retry *, const char *);

#endif
