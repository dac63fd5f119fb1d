/* SPDX-License-Identifier: ISC */
/*
 * Allocation that dies rather than fail; see mem.h for when it is right.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mem.h"

static void *
mem_check(void *p)
{
	if (p == NULL) {
		fputs("dlmux: out of memory\n", stderr);
		abort();
	}
	return p;
}

void *
xmalloc(size_t n)
{
	return mem_check(malloc(n != 0 ? n : 1));
}

void *
xcalloc(size_t n, size_t size)
{
	return mem_check(calloc(n != 0 ? n : 1, size != 0 ? size : 1));
}

void *
xrealloc(void *p, size_t n)
{
	return mem_check(realloc(p, n != 0 ? n : 1));
}

void *
xreallocarray(void *p, size_t n, size_t size)
{
	return mem_check(reallocarray(p, n != 0 ? n : 1,
	    size != 0 ? size : 1));
}

char *
xstrdup(const char *s)
{
	return mem_check(strdup(s));
}

char *
xstrndup(const char *s, size_t n)
{
	return mem_check(strndup(s, n));
}

char *
xasprintf(const char *fmt, ...)
{
	va_list ap;
	char *s;
	int r;

	va_start(ap, fmt);
	r = vasprintf(&s, fmt, ap);
	va_end(ap);
	return r < 0 ? mem_check(NULL) : s;
}
