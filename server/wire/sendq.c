/* SPDX-License-Identifier: ISC */
/* Frames that wait; contract in sendq.h. */
#include <stdlib.h>
#include <string.h>

#include "../base/limits.h"
#include "sendq.h"

struct chunk {
	STAILQ_ENTRY(chunk) next;
	size_t	 len, off;		/* bytes, and how many are written */
	bool	 counted;		/* not a RECEIVED */
	uint8_t	 class;
	uint8_t	 data[];
};

void
sendq_init(struct sendq *q)
{
	int i;

	memset(q, 0, sizeof *q);
	for (i = 0; i < CONN_CLASSES; i++)
		STAILQ_INIT(&q->list[i]);
}

void
sendq_clear(struct sendq *q)
{
	struct chunk *k;
	int i;

	free(q->cur);
	q->cur = NULL;
	for (i = 0; i < CONN_CLASSES; i++) {
		while ((k = STAILQ_FIRST(&q->list[i])) != NULL) {
			STAILQ_REMOVE_HEAD(&q->list[i], next);
			free(k);
		}
		q->bytes[i] = 0;
	}
	q->total = 0;
}

int
sendq_put(struct sendq *q, enum conn_class class, const struct frame_head *h,
    const uint8_t *data)
{
	struct chunk *k;

	if ((k = malloc(sizeof *k + FRAME_HEADER + h->len)) == NULL)
		return -1;
	k->len = FRAME_HEADER + h->len;
	k->off = 0;
	k->counted = h->type != F_RECEIVED;
	k->class = (uint8_t)class;
	frame_head_put(k->data, h);
	if (h->len != 0)
		memcpy(k->data + FRAME_HEADER, data, h->len);
	STAILQ_INSERT_TAIL(&q->list[class], k, next);
	q->bytes[class] += k->len;
	q->total += k->len;
	return 0;
}

int
sendq_gather(const struct sendq *q, int classes, struct iovec *iov, int max)
{
	struct chunk *k;
	size_t bytes = 0;
	int i, n = 0;

	if (q->cur != NULL) {
		iov[n].iov_base = q->cur->data + q->cur->off;
		iov[n++].iov_len = q->cur->len - q->cur->off;
	}
	for (i = 0; i < classes; i++)
		STAILQ_FOREACH(k, &q->list[i], next) {
			if (n == max || bytes >= FRAME_PAYLOAD_MAX)
				return n;
			iov[n].iov_base = k->data;
			iov[n++].iov_len = k->len;
			bytes += k->len;
		}
	return n;
}

/* Off the front, in the order of sendq_gather(). */
size_t
sendq_written(struct sendq *q, size_t n)
{
	struct chunk *k;
	size_t part, counted = 0;
	int i = 0;

	q->total -= n;
	while (n > 0) {
		if ((k = q->cur) == NULL) {
			while (STAILQ_EMPTY(&q->list[i]))
				i++;
			k = STAILQ_FIRST(&q->list[i]);
			STAILQ_REMOVE_HEAD(&q->list[i], next);
			q->cur = k;
		}
		part = k->len - k->off < n ? k->len - k->off : n;
		k->off += part;
		n -= part;
		q->bytes[k->class] -= part;
		if (k->counted)
			counted += part;
		if (k->off == k->len) {
			free(k);
			q->cur = NULL;
		}
	}
	return counted;
}

size_t
sendq_ahead(const struct sendq *q)
{
	size_t n = q->total - q->bytes[CONN_BULK];

	/* Bulk lies behind every key, but for the frame that is begun. */
	if (q->cur != NULL && q->cur->class == CONN_BULK)
		n += q->cur->len - q->cur->off;
	return n;
}
