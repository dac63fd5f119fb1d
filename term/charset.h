/* SPDX-License-Identifier: ISC */
/*
 * Character sets that a program can designate as G0 to G3, by ISO 2022 and as
 * the VT420 has them: what the 7-bit codes mean under each. In UTF-8 they are
 * of use to old programs and to tests only, but for the line drawing of '0'.
 */
#ifndef DLMUX_CHARSET_H
#define DLMUX_CHARSET_H

#include <stdbool.h>
#include <stdint.h>

/* Sets go by one letter, which is in checkpoints. */
#define CHARSET_ASCII	'B'
#define CHARSET_LATIN1	'L'	/* the only one of 96 characters */

/* ESC, the first intermediate, perhaps a second one, and the final byte. 0 if
 * there is no such set: then the old one stays. A national one is ASCII unless
 * the program has asked for those (DECNRCM). */
uint8_t	 charset_find(uint8_t mid, uint8_t mid2, uint8_t final,
	    bool national);
bool	 charset_known(uint8_t set);
/* 0x20 to 0x7f. */
uint32_t charset_char(uint8_t set, uint32_t ch);

#endif
