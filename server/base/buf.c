/* SPDX-License-Identifier: ISC */
/*
 * Bounded buffers and the primitive wire types; contract in buf.h.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "buf.h"
#include "mem.h"

#define BUF_FIRST 256	/* first allocation: most messages fit */

void
buf_init(struct buf *b, size_t max)
{
	memset(b, 0, sizeof *b);
	b->max = max;
}

void
buf_free(struct buf *b)
{
	free(b->data);
	b->data = NULL;
	b->len = b->cap = 0;
}

void
buf_reset(struct buf *b)
{
	b->len = 0;
	b->failed = false;
}

bool
buf_ok(const struct buf *b)
{
	return !b->failed;
}

void
buf_drain(struct buf *b, size_t n)
{
	if (n >= b->len) {
		b->len = 0;
		return;
	}
	memmove(b->data, b->data + n, b->len - n);
	b->len -= n;
}

uint8_t *
buf_reserve(struct buf *b, size_t n)
{
	size_t cap;
	uint8_t *p;

	if (b->failed || n > b->max - b->len) {
		b->failed = true;
		return NULL;
	}
	if (n > b->cap - b->len) {
		cap = b->cap != 0 ? b->cap :
		    b->max < BUF_FIRST ? b->max : BUF_FIRST;
		while (cap - b->len < n)
			cap = cap > b->max / 2 ? b->max : cap * 2;
		if ((p = realloc(b->data, cap)) == NULL) {
			b->failed = true;
			return NULL;
		}
		b->data = p;
		b->cap = cap;
	}
	return b->data + b->len;
}

void
buf_put(struct buf *b, const void *data, size_t n)
{
	uint8_t *p;

	if (n == 0 || (p = buf_reserve(b, n)) == NULL)
		return;
	memcpy(p, data, n);
	b->len += n;
}

void
buf_puts(struct buf *b, const char *s)
{
	buf_put(b, s, strlen(s));
}

void
buf_printf(struct buf *b, const char *fmt, ...)
{
	char small[256], *big = NULL;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(small, sizeof small, fmt, ap);
	va_end(ap);
	if (n < 0) {
		b->failed = true;
		return;
	}
	if ((size_t)n < sizeof small) {
		buf_put(b, small, (size_t)n);
		return;
	}
	va_start(ap, fmt);
	n = vasprintf(&big, fmt, ap);
	va_end(ap);
	if (n < 0) {
		b->failed = true;
		return;
	}
	buf_put(b, big, (size_t)n);
	free(big);
}

void
buf_u8(struct buf *b, uint8_t v)
{
	buf_put(b, &v, 1);
}

void
buf_u16(struct buf *b, uint16_t v)
{
	uint8_t p[2] = { (uint8_t)(v >> 8), (uint8_t)v };

	buf_put(b, p, sizeof p);
}

void
buf_u32(struct buf *b, uint32_t v)
{
	uint8_t p[4] = { (uint8_t)(v >> 24), (uint8_t)(v >> 16),
	    (uint8_t)(v >> 8), (uint8_t)v };

	buf_put(b, p, sizeof p);
}

void
buf_u64(struct buf *b, uint64_t v)
{
	buf_u32(b, (uint32_t)(v >> 32));
	buf_u32(b, (uint32_t)v);
}

void
buf_bin(struct buf *b, const void *data, size_t n)
{
	if (n > UINT32_MAX) {
		b->failed = true;
		return;
	}
	buf_u32(b, (uint32_t)n);
	buf_put(b, data, n);
}

void
buf_str(struct buf *b, const char *s)
{
	if (s == NULL)
		s = "";
	buf_bin(b, s, strlen(s));
}

void
buf_strv(struct buf *b, char *const *strv)
{
	size_t i, n = strv_len(strv);

	buf_u32(b, (uint32_t)n);
	for (i = 0; i < n; i++)
		buf_str(b, strv[i]);
}

void
rd_init(struct rd *r, const void *p, size_t n)
{
	r->p = p;
	r->left = n;
	r->failed = false;
}

const uint8_t *
rd_raw(struct rd *r, size_t n)
{
	const uint8_t *p = r->p;

	if (r->failed || n > r->left) {
		r->failed = true;
		return NULL;
	}
	r->p += n;
	r->left -= n;
	return p;
}

uint8_t
rd_u8(struct rd *r)
{
	const uint8_t *p = rd_raw(r, 1);

	return p != NULL ? p[0] : 0;
}

uint16_t
rd_u16(struct rd *r)
{
	const uint8_t *p = rd_raw(r, 2);

	return p != NULL ? (uint16_t)(p[0] << 8 | p[1]) : 0;
}

uint32_t
rd_u32(struct rd *r)
{
	const uint8_t *p = rd_raw(r, 4);

	return p != NULL ? (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 |
	    (uint32_t)p[2] << 8 | p[3] : 0;
}

uint64_t
rd_u64(struct rd *r)
{
	uint64_t hi = rd_u32(r);

	return hi << 32 | rd_u32(r);
}

const uint8_t *
rd_bin(struct rd *r, size_t max, size_t *len)
{
	static const uint8_t nothing[1];
	uint32_t n = rd_u32(r);
	const uint8_t *p;

	*len = 0;
	if (r->failed || n > max) {
		r->failed = true;
		return NULL;
	}
	if ((p = rd_raw(r, n)) == NULL)
		return NULL;
	*len = n;
	return n != 0 ? p : nothing;
}

char *
rd_str(struct rd *r, size_t max)
{
	size_t n;
	const uint8_t *p = rd_bin(r, max, &n);
	char *s;

	/* A NUL inside would make two readers see two different strings. */
	if (p == NULL || memchr(p, '\0', n) != NULL ||
	    (s = malloc(n + 1)) == NULL) {
		r->failed = true;
		return NULL;
	}
	memcpy(s, p, n);
	s[n] = '\0';
	return s;
}

char **
rd_strv(struct rd *r, size_t maxn, size_t max)
{
	uint32_t i, n = rd_u32(r);
	char **v;

	/* Each string takes four bytes at least: refuse a count that cannot
	 * be true before anything is allocated for it. */
	if (r->failed || n > maxn || n > r->left / 4) {
		r->failed = true;
		return NULL;
	}
	if ((v = calloc((size_t)n + 1, sizeof *v)) == NULL) {
		r->failed = true;
		return NULL;
	}
	for (i = 0; i < n; i++) {
		if ((v[i] = rd_str(r, max)) == NULL) {
			strv_free(v);
			return NULL;
		}
		max -= strlen(v[i]);
	}
	return v;
}

const uint8_t *
rd_rest(struct rd *r, size_t *len)
{
	*len = r->failed ? 0 : r->left;
	return rd_raw(r, *len);
}

bool
rd_end(const struct rd *r)
{
	return !r->failed && r->left == 0;
}

void
strv_free(char **v)
{
	size_t i;

	if (v == NULL)
		return;
	for (i = 0; v[i] != NULL; i++)
		free(v[i]);
	free(v);
}

size_t
strv_len(char *const *v)
{
	size_t n = 0;

	while (v != NULL && v[n] != NULL)
		n++;
	return n;
}

bool
strv_has(char *const *v, const char *what)
{
	for (; v != NULL && *v != NULL; v++)
		if (strcmp(*v, what) == 0)
			return true;
	return false;
}

char **
strv_copy(char *const *v)
{
	size_t i, n = strv_len(v);
	char **copy = xcalloc(n + 1, sizeof *copy);

	for (i = 0; i < n; i++)
		copy[i] = xstrdup(v[i]);
	return copy;
}
