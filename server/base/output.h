/* SPDX-License-Identifier: ISC */
/*
 * What another program prints: a small question to the system (getent,
 * busctl, locale), with a deadline. Blocks, so it is for what does nothing
 * else meanwhile.
 */
#ifndef DLMUX_OUTPUT_H
#define DLMUX_OUTPUT_H

#include <sys/types.h>

/*
 * Runs argv by PATH with /dev/null as its input and reads at most max - 1
 * bytes of its output into out, NUL-ended; with its stderr, if both. The exit
 * status; -1 if it cannot be run, was killed, printed too much or took longer
 * than ms (then out is "").
 */
int	 output_of(const char *const *argv, int ms, int both, char *out,
	    size_t max);

#endif
