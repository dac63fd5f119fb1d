/* SPDX-License-Identifier: ISC */
/*
 * Memory for what the agent keeps of others' bytes: rings, streams,
 * checkpoints. Large pieces are left out of a fork, which would otherwise
 * copy the page tables of all of it for a child that execs at once: 30 ms for
 * 64 MiB on a small machine, in which no key passes.
 */
#ifndef DLMUX_BULK_H
#define DLMUX_BULK_H

#include <stddef.h>

/* NULL when there is none. */
void	*bulk_alloc(size_t);
/* With the size that it was asked for. NULL is fine. */
void	 bulk_free(void *, size_t);
/* Keeps the first `keep` bytes; NULL leaves the old one as it is. */
void	*bulk_resize(void *, size_t old, size_t want, size_t keep);

#endif
