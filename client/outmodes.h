/* SPDX-License-Identifier: ISC */
/*
 * Which modes the output of a program that is passed through as it is has
 * turned on at the terminal, so that they can be turned off when nobody else
 * will do it. Pure: bytes in, a word out, and bytes for a word.
 */
#ifndef DLMUX_OUTMODES_H
#define DLMUX_OUTMODES_H

#include <stddef.h>
#include <stdint.h>

#include "../server/base/buf.h"

/* Of a sequence; a longer one sets no mode that is known here. */
#define OUTMODES_MAX	64

struct outmodes {
	uint32_t	modes;		/* for outmodes_undo(); 0: as at first */
	int		state;
	char		text[OUTMODES_MAX];
	size_t		len;
};

/* Zeroes are a good start. */
void	 outmodes_scan(struct outmodes *, const uint8_t *, size_t);
/* Nothing for 0. The program was told to be on an xterm: no terminfo. */
void	 outmodes_undo(uint32_t modes, struct buf *);

#endif
