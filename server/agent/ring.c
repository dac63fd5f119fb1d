/* SPDX-License-Identifier: ISC */
/* Raw output with offsets; contract in ring.h. */
#include <stdlib.h>
#include <string.h>

#include "../base/limits.h"
#include "bulk.h"
#include "ring.h"

struct ring_chunk {
	struct ring_chunk *next;
	uint64_t off;		/* of data[0] */
	size_t	 len, cap;
	uint8_t	 data[];
};
#define RING_CHUNK_SIZE(cap)	(sizeof(struct ring_chunk) + (cap))

void
ring_init(struct ring *r, size_t *total, uint16_t rows, uint16_t cols)
{
	memset(r, 0, sizeof *r);
	r->total = total;
	r->rows = rows;
	r->cols = cols;
	r->next_seq = 1;
	ring_resized(r, rows, cols);
}

void
ring_clear(struct ring *r)
{
	while (ring_drop_first(r))
		;
	free(r->ent);
	r->ent = NULL;
	r->nent = r->capent = 0;
}

static void
ring_entry_remove(struct ring *r, size_t n)
{
	r->nent -= n;
	memmove(r->ent, r->ent + n, r->nent * sizeof *r->ent);
}

/* Start moves: entries before it are history, the last resize of them is the
 * size that what is left begins with. */
static void
ring_forget_entries(struct ring *r)
{
	size_t n;

	for (n = 0; n < r->nent && r->ent[n].offset < r->start; n++)
		if (r->ent[n].kind == RING_RESIZED) {
			r->rows = r->ent[n].rows;
			r->cols = r->ent[n].cols;
		}
	if (n > 0)
		ring_entry_remove(r, n);
}

bool
ring_drop_first(struct ring *r)
{
	struct ring_chunk *c = r->first;
	uint64_t end;

	if (c == NULL)
		return false;
	end = c->off + c->len;
	r->first = c->next;
	if (r->first == NULL)
		r->last = NULL;
	r->held -= c->cap;
	*r->total -= c->cap;
	bulk_free(c, RING_CHUNK_SIZE(c->cap));
	if (end > r->start) {
		r->start = end;
		ring_forget_entries(r);
	}
	return true;
}

uint64_t
ring_first_end(const struct ring *r)
{
	return r->first != NULL ? r->first->off + r->first->len : r->end;
}

void
ring_drop(struct ring *r, uint64_t upto)
{
	while (r->first != NULL && ring_first_end(r) <= upto)
		ring_drop_first(r);
}

static struct ring_chunk *
ring_grow(struct ring *r)
{
	struct ring_chunk *c;
	size_t cap = RING_CHUNK_MIN;

	if (r->last != NULL)
		cap = r->last->cap * 2;
	if (RING_CHUNK_SIZE(cap) > RING_CHUNK_MAX)
		cap = RING_CHUNK_MAX - sizeof *c;
	while ((c = bulk_alloc(RING_CHUNK_SIZE(cap))) == NULL)
		if (!ring_drop_first(r))
			return NULL;
	c->next = NULL;
	c->off = r->end;
	c->len = 0;
	c->cap = cap;
	if (r->last != NULL)
		r->last->next = c;
	else
		r->first = c;
	r->last = c;
	r->held += cap;
	*r->total += cap;
	return c;
}

void
ring_append(struct ring *r, const void *data, size_t n)
{
	const uint8_t *p = data;
	struct ring_chunk *c;
	size_t k;

	while (n > 0) {
		c = r->last;
		if ((c == NULL || c->len == c->cap) &&
		    (c = ring_grow(r)) == NULL) {
			/* Not even a kilobyte: the bytes are a gap. */
			r->end += n;
			r->start = r->end;
			ring_forget_entries(r);
			return;
		}
		k = c->cap - c->len < n ? c->cap - c->len : n;
		memcpy(c->data + c->len, p, k);
		c->len += k;
		r->end += k;
		p += k;
		n -= k;
	}
}

static struct ring_entry *
ring_entry_new(struct ring *r)
{
	struct ring_entry *p;
	size_t cap;

	if (r->nent == RING_ENTRIES_MAX) {
		if (r->ent[0].kind == RING_RESIZED) {
			r->rows = r->ent[0].rows;
			r->cols = r->ent[0].cols;
			if (r->start < r->ent[0].offset)
				r->start = r->ent[0].offset;
		}
		ring_entry_remove(r, 1);
		ring_forget_entries(r);
	}
	if (r->nent == r->capent) {
		cap = r->capent != 0 ? r->capent * 2 : 2;
		if ((p = realloc(r->ent, cap * sizeof *p)) == NULL)
			return NULL;
		r->ent = p;
		r->capent = cap;
	}
	p = &r->ent[r->nent++];
	memset(p, 0, sizeof *p);
	p->seq = r->next_seq++;
	p->offset = r->end;
	return p;
}

void
ring_resized(struct ring *r, uint16_t rows, uint16_t cols)
{
	struct ring_entry *e;

	/* A drag of a window is many sizes at one offset: the last counts, and
	 * its new number makes readers look again. */
	if (r->nent > 0 && (e = &r->ent[r->nent - 1])->offset == r->end &&
	    e->kind == RING_RESIZED)
		e->seq = r->next_seq++;
	else if ((e = ring_entry_new(r)) == NULL)
		return;
	e->kind = RING_RESIZED;
	e->rows = rows;
	e->cols = cols;
}

void
ring_mark(struct ring *r, const uint8_t op[MSG_ID])
{
	struct ring_entry *e;

	if ((e = ring_entry_new(r)) == NULL)
		return;
	e->kind = RING_MARK;
	memcpy(e->op, op, MSG_ID);
}

size_t
ring_peek(const struct ring *r, uint64_t offset, const uint8_t **p)
{
	const struct ring_chunk *c;

	*p = NULL;
	if (offset < r->start || offset >= r->end)
		return 0;
	/* Readers are near the end most of the time. */
	c = r->last;
	if (offset < c->off)
		for (c = r->first; offset >= c->off + c->len; c = c->next)
			;
	*p = c->data + (offset - c->off);
	return c->len - (size_t)(offset - c->off);
}

const struct ring_entry *
ring_entry_from(const struct ring *r, uint64_t seq)
{
	size_t lo = 0, hi = r->nent, mid;

	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (r->ent[mid].seq < seq)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < r->nent ? &r->ent[lo] : NULL;
}

uint64_t
ring_seq_at(const struct ring *r, uint64_t offset)
{
	size_t lo = 0, hi = r->nent, mid;

	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (r->ent[mid].offset < offset)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < r->nent ? r->ent[lo].seq : r->next_seq;
}

bool
ring_entry_void(const struct ring *r, const struct ring_entry *e)
{
	const struct ring_entry *n;

	if (e->kind != RING_RESIZED)
		return false;
	for (n = e + 1; n < r->ent + r->nent && n->offset == e->offset; n++)
		if (n->kind == RING_RESIZED)
			return true;
	return false;
}

void
ring_size_at_start(const struct ring *r, uint16_t *rows, uint16_t *cols)
{
	*rows = r->rows;
	*cols = r->cols;
}
