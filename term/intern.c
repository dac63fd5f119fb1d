/* SPDX-License-Identifier: ISC */
/*
 * The intern table: an open-addressed index over a growing array.
 */
#include <stdlib.h>
#include <string.h>

#include "../server/base/mem.h"
#include "intern.h"

static uint32_t
hash_of(const void *data, size_t len)
{
	const uint8_t *p = data;
	uint32_t h = 2166136261u, word;

	for (; len >= sizeof word; p += sizeof word, len -= sizeof word) {
		memcpy(&word, p, sizeof word);
		h = (h ^ word) * 0x9e3779b1u;
		h ^= h >> 15;
	}
	for (; len > 0; len--)
		h = (h ^ *p++) * 16777619u;
	return h ^ h >> 15;
}

void
intern_init(struct intern *t, uint32_t max)
{
	memset(t, 0, sizeof *t);
	t->max = max;
	t->max_bytes = SIZE_MAX;
}

void
intern_limit(struct intern *t, size_t max_bytes)
{
	t->max_bytes = max_bytes;
}

bool
intern_full(const struct intern *t)
{
	return t->live >= t->max;
}

void
intern_clear(struct intern *t)
{
	size_t max_bytes = t->max_bytes;
	uint32_t i;

	for (i = 0; i < t->n; i++)
		free(t->items[i].data);
	free(t->items);
	free(t->buckets);
	free(t->spare);
	intern_init(t, t->max);
	intern_limit(t, max_bytes);
}

uint32_t
intern_find(const struct intern *t, const void *data, size_t len)
{
	const struct intern_item *it;
	uint32_t h, b;

	if (t->nbuckets == 0)
		return INTERN_NONE;
	h = hash_of(data, len);
	for (b = h & (t->nbuckets - 1); t->buckets[b] != 0;
	    b = (b + 1) & (t->nbuckets - 1)) {
		it = &t->items[t->buckets[b] - 1];
		if (it->hash == h && it->len == len &&
		    memcmp(it->data, data, len) == 0)
			return t->buckets[b] - 1;
	}
	return INTERN_NONE;
}

static void
rehash(struct intern *t)
{
	uint32_t i, b;

	memset(t->buckets, 0, t->nbuckets * sizeof *t->buckets);
	for (i = 0; i < t->n; i++) {
		if (t->items[i].data == NULL)
			continue;
		b = t->items[i].hash & (t->nbuckets - 1);
		while (t->buckets[b] != 0)
			b = (b + 1) & (t->nbuckets - 1);
		t->buckets[b] = i + 1;
	}
}

uint32_t
intern_add(struct intern *t, const void *data, size_t len)
{
	struct intern_item *it;
	uint32_t i, b;

	if ((i = intern_find(t, data, len)) != INTERN_NONE)
		return i;
	if (intern_full(t) || len > t->max_bytes - t->bytes)
		return INTERN_NONE;
	if (t->nspare != 0)
		i = t->spare[--t->nspare];
	else {
		if (t->n == t->cap) {
			t->cap = t->cap == 0 ? 16 : t->cap * 2;
			t->items = xreallocarray(t->items, t->cap,
			    sizeof *t->items);
		}
		i = t->n++;
	}
	it = &t->items[i];
	it->data = xmalloc(len == 0 ? 1 : len);
	memcpy(it->data, data, len);
	it->len = len;
	it->hash = hash_of(data, len);
	t->live++;
	t->bytes += len;
	if (t->live * 2 > t->nbuckets) {
		t->nbuckets = t->nbuckets == 0 ? 32 : t->nbuckets * 2;
		t->buckets = xreallocarray(t->buckets, t->nbuckets,
		    sizeof *t->buckets);
		rehash(t);
	} else {
		b = it->hash & (t->nbuckets - 1);
		while (t->buckets[b] != 0)
			b = (b + 1) & (t->nbuckets - 1);
		t->buckets[b] = i + 1;
	}
	return i;
}

const void *
intern_data(const struct intern *t, uint32_t i, size_t *len)
{
	if (i >= t->n || t->items[i].data == NULL)
		return NULL;
	if (len != NULL)
		*len = t->items[i].len;
	return t->items[i].data;
}

void
intern_sweep(struct intern *t, const uint8_t *used)
{
	uint32_t i;

	if (t->n == 0)
		return;
	free(t->spare);
	t->spare = xcalloc(t->n, sizeof *t->spare);
	t->nspare = 0;
	for (i = t->n; i-- > 0; ) {
		if (t->items[i].data != NULL && !used[i]) {
			free(t->items[i].data);
			t->items[i].data = NULL;
			t->live--;
			t->bytes -= t->items[i].len;
		}
		if (t->items[i].data == NULL)
			t->spare[t->nspare++] = i;
	}
	rehash(t);
}
