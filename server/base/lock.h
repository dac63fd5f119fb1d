/* SPDX-License-Identifier: ISC */
/* The lock that makes a server or an agent the only one in its directory, and
 * the way to its holder when the holder's socket is not there any more: names
 * in a home are removed by cleaners and by hand, and what runs must be found
 * again. */
#ifndef DLMUX_LOCK_H
#define DLMUX_LOCK_H

#include <stdbool.h>

/* The lock's fd, to be kept open for life; -1 with *cause, and with *cause
 * NULL when somebody else holds it. Does not wait. */
int	 lock_take(const char *path, char **cause);
/* SIGUSR1 to the holder, who then looks after its names (and must take the
 * signal, or ignore it, before it has the lock). Is there one? */
bool	 lock_wake(const char *path);
/* Is the file at path still the one that fd is open on? */
bool	 lock_there(const char *path, int fd);

#endif
