/* SPDX-License-Identifier: ISC */
/* Large memory; contract in bulk.h. */
#include <sys/mman.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../base/limits.h"
#include "bulk.h"

/* Below, the heap; a ring's full chunk is above. The address sanitizer looks
 * after the heap only. */
#ifdef __has_feature
#if __has_feature(address_sanitizer)
#define BULK_LARGE	SIZE_MAX
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
#define BULK_LARGE	SIZE_MAX
#endif
#ifndef BULK_LARGE
#define BULK_LARGE	(32u << 10)
#endif
/* Mappings of one size that a flood takes and gives back all the time. */
#define BULK_SPARE	4

static struct {
	void	*p;
	size_t	 size;
} bulk_spare[BULK_SPARE];

void *
bulk_alloc(size_t size)
{
	void *p;
	int i;

	if (size < BULK_LARGE)
		return malloc(size);
	for (i = 0; i < BULK_SPARE; i++)
		if (bulk_spare[i].p != NULL && bulk_spare[i].size == size) {
			p = bulk_spare[i].p;
			bulk_spare[i].p = NULL;
			return p;
		}
	p = mmap(NULL, size, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return NULL;
#ifdef MADV_DONTFORK
	(void)madvise(p, size, MADV_DONTFORK);
#endif
	return p;
}

void
bulk_free(void *p, size_t size)
{
	int i;

	if (p == NULL)
		return;
	if (size < BULK_LARGE) {
		free(p);
		return;
	}
	for (i = 0; size <= 2 * RING_CHUNK_MAX && i < BULK_SPARE; i++)
		if (bulk_spare[i].p == NULL) {
			bulk_spare[i].p = p;
			bulk_spare[i].size = size;
			return;
		}
	(void)munmap(p, size);
}

void *
bulk_resize(void *p, size_t old, size_t want, size_t keep)
{
	void *q;

	if (p != NULL && old < BULK_LARGE && want < BULK_LARGE)
		return realloc(p, want);
	if ((q = bulk_alloc(want)) == NULL)
		return NULL;
	if (keep > 0)
		memcpy(q, p, keep);
	bulk_free(p, old);
	return q;
}
