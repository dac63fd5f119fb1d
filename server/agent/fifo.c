/* SPDX-License-Identifier: ISC */
/* A byte queue with absolute offsets; contract in fifo.h. */
#include <stdlib.h>
#include <string.h>

#include "bulk.h"
#include "fifo.h"

#define FIFO_FIRST 512

void
fifo_init(struct fifo *f, size_t max)
{
	memset(f, 0, sizeof *f);
	f->max = max;
}

void
fifo_clear(struct fifo *f)
{
	f->base += f->len;
	bulk_free(f->data, f->cap);
	f->data = NULL;
	f->head = f->len = f->cap = 0;
}

uint64_t
fifo_end(const struct fifo *f)
{
	return f->base + f->len;
}

size_t
fifo_space(const struct fifo *f)
{
	return f->max - f->len;
}

bool
fifo_put(struct fifo *f, const void *data, size_t n)
{
	size_t cap;
	uint8_t *p;

	if (n > fifo_space(f))
		return false;
	if (n == 0)
		return true;
	if (n > f->cap - f->head - f->len && f->head > 0 &&
	    (f->head >= f->cap / 2 || n <= f->cap - f->len)) {
		memmove(f->data, f->data + f->head, f->len);
		f->head = 0;
	}
	if (n > f->cap - f->head - f->len) {
		cap = f->cap != 0 ? f->cap : FIFO_FIRST;
		while (cap - f->head - f->len < n)
			cap *= 2;
		p = bulk_resize(f->data, f->cap, cap, f->head + f->len);
		if (p == NULL)
			return false;
		f->data = p;
		f->cap = cap;
	}
	memcpy(f->data + f->head + f->len, data, n);
	f->len += n;
	return true;
}

void
fifo_drop(struct fifo *f, uint64_t upto)
{
	size_t n;

	if (upto <= f->base)
		return;
	n = upto - f->base < f->len ? (size_t)(upto - f->base) : f->len;
	if (n == f->len) {
		fifo_clear(f);
		return;
	}
	f->base += n;
	f->head += n;
	f->len -= n;
}

size_t
fifo_at(const struct fifo *f, uint64_t offset, const uint8_t **p)
{
	size_t skip;

	if (offset < f->base || offset >= fifo_end(f)) {
		*p = NULL;
		return 0;
	}
	skip = (size_t)(offset - f->base);
	*p = f->data + f->head + skip;
	return f->len - skip;
}
