/* SPDX-License-Identifier: ISC */
/*
 * The log of the long-lived roles: one line per event, time and pid in front,
 * into a file (0600, cut at LOG_MAX bytes by starting anew). Never a secret,
 * never a peer's bytes raw: log_clean() makes control characters visible.
 */
#ifndef DLMUX_LOG_H
#define DLMUX_LOG_H

#include <stddef.h>

/* path NULL: to stderr. role: "server", "agent". -1 if it cannot be opened
 * (then nothing is logged). DLMUX_DEBUG=1 in the environment turns debug on. */
int	 log_open(const char *path, const char *role);
void	 log_info(const char *, ...) __attribute__((format(printf, 1, 2)));
void	 log_warn(const char *, ...) __attribute__((format(printf, 1, 2)));
void	 log_debug(const char *, ...) __attribute__((format(printf, 1, 2)));
/* Our own bug or a hopeless system: says so and aborts. */
void	 fatal(const char *, ...)
	    __attribute__((format(printf, 1, 2), noreturn));
/* Copies at most max-1 bytes of s into out with control and invalid UTF-8
 * bytes as '?'; returns out. */
char	*log_clean(char *out, size_t max, const char *s);

#endif
