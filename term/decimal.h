/* SPDX-License-Identifier: ISC */
/*
 * Numbers in escape sequences: what printf() would take a hundred times as
 * long for, on the way of every colour and every cursor motion.
 */
#ifndef DLMUX_DECIMAL_H
#define DLMUX_DECIMAL_H

#include <stddef.h>
#include <stdint.h>

#define DECIMAL_MAX	10	/* digits of a uint32_t */

/* Writes v without a NUL; returns the number of digits. */
static inline size_t
decimal_put(char *out, uint32_t v)
{
	char digits[DECIMAL_MAX];
	size_t n = 0, i;

	do
		digits[n++] = (char)('0' + v % 10);
	while ((v /= 10) != 0);
	for (i = 0; i < n; i++)
		out[i] = digits[n - 1 - i];
	return n;
}

#endif
