/* SPDX-License-Identifier: ISC */
/*
 * A shell's raw output, newest part of it, at absolute offsets, with what
 * happened between the bytes: resizes and marks. It keeps bytes in chunks
 * that grow with use; dropping old ones never copies.
 *
 * It knows nothing of ptys or peers. *total is the sum over all rings, which
 * the owner holds to a budget.
 */
#ifndef DLMUX_RING_H
#define DLMUX_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../wire/msg.h"

struct ring_chunk;

enum ring_kind { RING_RESIZED = 1, RING_MARK };

struct ring_entry {
	uint64_t seq;		/* 1, 2, ... : what a reader has passed */
	uint64_t offset;	/* takes effect before the byte at offset */
	uint8_t	 kind;
	uint16_t rows, cols;	/* RESIZED */
	uint8_t	 op[MSG_ID];	/* MARK */
};

struct ring {
	struct ring_chunk *first, *last;
	uint64_t start, end;	/* offsets held: [start, end) */
	uint16_t rows, cols;	/* the size before the first entry */
	struct ring_entry *ent;
	size_t	 nent, capent;
	uint64_t next_seq;
	size_t	 held;		/* bytes of chunks */
	size_t	*total;
};

/* Starts with RESIZED at offset 0. */
void	 ring_init(struct ring *, size_t *total, uint16_t rows, uint16_t cols);
void	 ring_clear(struct ring *);
/* Out of memory costs the ring's oldest bytes, never the program. */
void	 ring_append(struct ring *, const void *, size_t);
void	 ring_resized(struct ring *, uint16_t rows, uint16_t cols);
void	 ring_mark(struct ring *, const uint8_t op[MSG_ID]);
/* Bytes in one piece at the offset, within [start,end); else 0. */
size_t	 ring_peek(const struct ring *, uint64_t offset, const uint8_t **);
/* Frees the chunks that lie below the offset as a whole. */
void	 ring_drop(struct ring *, uint64_t upto);
/* Frees the oldest chunk; false if there was none. */
bool	 ring_drop_first(struct ring *);
/* The end of the oldest chunk: what ring_drop() needs to free one. */
uint64_t ring_first_end(const struct ring *);
/* The first entry with a seq not below; NULL if there is none. */
const struct ring_entry *ring_entry_from(const struct ring *, uint64_t seq);
/* The seq of the first entry at or behind the offset (or the next to come). */
uint64_t ring_seq_at(const struct ring *, uint64_t offset);
/* A later resize at the same offset makes this one void. */
bool	 ring_entry_void(const struct ring *, const struct ring_entry *);
/* The size in force before the entries at start. */
void	 ring_size_at_start(const struct ring *, uint16_t *rows, uint16_t *cols);

#endif
