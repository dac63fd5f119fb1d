/* SPDX-License-Identifier: ISC */
/*
 * Allocation for small fixed requests, where running out is the end: these
 * never return NULL. What a peer sizes must use malloc and handle failure.
 */
#ifndef DLMUX_MEM_H
#define DLMUX_MEM_H

#include <stddef.h>

void	*xmalloc(size_t);
void	*xcalloc(size_t n, size_t size);
void	*xrealloc(void *, size_t);
void	*xreallocarray(void *, size_t n, size_t size);
char	*xstrdup(const char *);
char	*xstrndup(const char *, size_t);
char	*xasprintf(const char *, ...) __attribute__((format(printf, 1, 2)));

#endif
