/* SPDX-License-Identifier: ISC */
/*
 * What the client says to people, on stderr: "dlmux: ..." lines, and a
 * progress line on a terminal that goes away by itself.
 */
#ifndef DLMUX_SAY_H
#define DLMUX_SAY_H

#include <stddef.h>

void	 say(const char *, ...) __attribute__((format(printf, 1, 2)));
void	 say_raw(const char *);		/* a line as it is */
/* What say() said last, without "dlmux: "; NULL if nothing. */
const char *say_last(void);
/* Writes to stdout, whole, what a command was run for. 0; -1 when it could
 * not, which is said unless the reader went away. */
int	 say_out(const void *, size_t);
/* A line without newline that the next say() or say_progress(NULL) wipes;
 * nothing if stderr is no terminal. */
void	 say_progress(const char *);
/* A question stands on the terminal: no progress line beside it. */
void	 say_hush(int on);

#endif
