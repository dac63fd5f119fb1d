/* SPDX-License-Identifier: ISC */
/*
 * A character as bytes.
 */
#ifndef DLMUX_UTF8_H
#define DLMUX_UTF8_H

#include <stddef.h>
#include <stdint.h>

#define UTF8_BYTES	4

/* At most UTF8_BYTES bytes; returns how many. */
static inline size_t
utf8_put(char *out, uint32_t cp)
{
	size_t n = 0;

	if (cp < 0x80) {
		*out = (char)cp;
		return 1;
	}
	if (cp < 0x800)
		out[n++] = (char)(0xc0 | cp >> 6);
	else {
		if (cp < 0x10000)
			out[n++] = (char)(0xe0 | cp >> 12);
		else {
			out[n++] = (char)(0xf0 | cp >> 18);
			out[n++] = (char)(0x80 | (cp >> 12 & 0x3f));
		}
		out[n++] = (char)(0x80 | (cp >> 6 & 0x3f));
	}
	out[n++] = (char)(0x80 | (cp & 0x3f));
	return n;
}

#endif
