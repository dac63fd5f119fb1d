/* SPDX-License-Identifier: ISC */
/*
 * A table of byte strings in which equal ones are kept once and are known by
 * a small index. Indexes are stable; a full table is cleaned by marking what
 * is still in use. Bounded at birth: what a program prints cannot grow it.
 */
#ifndef DLMUX_INTERN_H
#define DLMUX_INTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct intern_item {
	uint8_t		*data;		/* owned; NULL: the index is free */
	uint32_t	 len;
	uint32_t	 hash;
};

struct intern {
	struct intern_item *items;
	uint32_t	 n;		/* slots in use or once used */
	uint32_t	 cap;
	uint32_t	 max;
	uint32_t	 live;		/* slots in use */
	size_t		 bytes;		/* in them */
	size_t		 max_bytes;
	uint32_t	*buckets;	/* index + 1, 0 empty; open addressing */
	uint32_t	 nbuckets;	/* a power of two */
	uint32_t	*spare;		/* free indexes below n */
	uint32_t	 nspare;
	uint32_t	 sulk;		/* for the owner: failed adds to wait
					 * before cleaning is worth its price */
};

#define INTERN_NONE UINT32_MAX

/* At most max strings; intern_limit(): and bytes in them. */
void	 intern_init(struct intern *, uint32_t max);
void	 intern_limit(struct intern *, size_t max_bytes);
void	 intern_clear(struct intern *);
/* The index, or INTERN_NONE if it is not there. */
uint32_t intern_find(const struct intern *, const void *, size_t);
/* The index, added if need be; INTERN_NONE if the table is full. */
uint32_t intern_add(struct intern *, const void *, size_t);
/* NULL for an index that is not in use. */
const void *intern_data(const struct intern *, uint32_t, size_t *len);
bool	 intern_full(const struct intern *);
/* Frees every index i with !used[i]; used has n entries. */
void	 intern_sweep(struct intern *, const uint8_t *used);

#endif
