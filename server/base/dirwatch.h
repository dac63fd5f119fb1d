/* SPDX-License-Identifier: ISC */
/*
 * Tells soon when a name goes from a directory (a cleaner came, a user's
 * rm), or the directory itself: whoever comes next finds nobody, and would
 * start a second server or agent beside one that lives.
 *
 * Of help only: not every kernel or file system tells, and a user's watches
 * may be used up. Callers look from time to time as well.
 */
#ifndef DLMUX_DIRWATCH_H
#define DLMUX_DIRWATCH_H

#include <event2/event.h>

struct dirwatch;

/* gone() comes from the loop, NAMES_GONE_MS after a name went, once for all that
 * went meanwhile; path must outlive it. NULL if it cannot be. */
struct dirwatch *dirwatch_new(struct event_base *, const char *path,
	    void (*gone)(void *), void *arg);
/* What stands at the path may be another directory now. NULL is fine. */
void	 dirwatch_again(struct dirwatch *);
void	 dirwatch_free(struct dirwatch *);	/* NULL is fine */

#endif
