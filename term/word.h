/* SPDX-License-Identifier: ISC */
/*
 * Cells as words: a struct of eight bytes that begins with its character is
 * written by one store, and several of them at a time.
 */
#ifndef DLMUX_WORD_H
#define DLMUX_WORD_H

#include <stdint.h>

/* The word of such a struct whose character is 0, with one. */
static inline uint64_t
word_with(uint64_t word, uint32_t ch)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	return word | ch;
#else
	return word | (uint64_t)ch << 32;
#endif
}

#endif
