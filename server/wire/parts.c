/* SPDX-License-Identifier: ISC */
/* Messages in parts; contract in parts.h. */
#include <stdlib.h>

#include "../base/limits.h"
#include "../base/mem.h"
#include "parts.h"

void
parts_init(struct parts *ps)
{
	LIST_INIT(&ps->list);
	ps->bytes = ps->count = 0;
}

static void
part_drop(struct parts *ps, struct part *p)
{
	LIST_REMOVE(p, next);
	ps->bytes -= p->buf.len;
	ps->count--;
	buf_free(&p->buf);
	free(p);
}

void
parts_clear(struct parts *ps)
{
	while (!LIST_EMPTY(&ps->list))
		part_drop(ps, LIST_FIRST(&ps->list));
}

static struct part *
part_find(struct parts *ps, uint8_t type, uint32_t channel)
{
	struct part *p;

	LIST_FOREACH(p, &ps->list, next)
		if (p->type == type && p->channel == channel)
			return p;
	return NULL;
}

static struct part *
part_new(struct parts *ps, const struct frame_kind *kind, uint32_t channel)
{
	struct part *p;

	if (ps->count == CONN_PARTS_COUNT)
		return NULL;
	p = xcalloc(1, sizeof *p);
	p->type = kind->type;
	p->channel = channel;
	buf_init(&p->buf, kind->max);
	LIST_INSERT_HEAD(&ps->list, p, next);
	ps->count++;
	return p;
}

enum parts_result
parts_add(struct parts *ps, const struct frame_kind *kind,
    const struct frame_head *h, const uint8_t *data, struct buf *whole)
{
	size_t limit = CONN_PARTS_MAX;
	struct part *p = NULL;

	if (ps->count != 0)
		p = part_find(ps, h->type, h->channel);
	if (p == NULL && !(h->flags & FRAME_MORE))
		return PARTS_NONE;
	if (p == NULL && (p = part_new(ps, kind, h->channel)) == NULL)
		return PARTS_MANY;
	if (kind->max > limit)
		limit = kind->max;
	if (h->len > kind->max - p->buf.len)
		return PARTS_LONG;
	if (h->len > limit - (ps->bytes < limit ? ps->bytes : limit))
		return PARTS_MANY;
	buf_put(&p->buf, data, h->len);
	if (!buf_ok(&p->buf))
		return PARTS_MEMORY;
	ps->bytes += h->len;
	if (h->flags & FRAME_MORE)
		return PARTS_MORE;
	*whole = p->buf;
	ps->bytes -= whole->len;
	buf_init(&p->buf, 0);
	part_drop(ps, p);
	return PARTS_WHOLE;
}
