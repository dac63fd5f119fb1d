/* SPDX-License-Identifier: ISC */
/*
 * A byte queue that knows the absolute offset of its first byte: what an
 * operation's stream keeps until the other side has taken it. Bytes lie in
 * one piece, so a reader may look at any offset held. An empty one owns no
 * memory.
 */
#ifndef DLMUX_FIFO_H
#define DLMUX_FIFO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fifo {
	uint8_t		*data;	/* owned; NULL while empty */
	size_t		 head, len, cap, max;
	uint64_t	 base;	/* offset of data[head] */
};

void	 fifo_init(struct fifo *, size_t max);
void	 fifo_clear(struct fifo *);	/* base moves to the end */
uint64_t fifo_end(const struct fifo *);
size_t	 fifo_space(const struct fifo *);
/* False if it does not fit or there is no memory; nothing is added then. */
bool	 fifo_put(struct fifo *, const void *, size_t);
/* Drops everything below the offset (at most to the end). */
void	 fifo_drop(struct fifo *, uint64_t upto);
/* Bytes at the offset (base <= offset <= end), and how many. */
size_t	 fifo_at(const struct fifo *, uint64_t offset, const uint8_t **);

#endif
