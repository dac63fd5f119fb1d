/* SPDX-License-Identifier: ISC */
/* One direction of a connection: a queue in memory. */
#include <stdlib.h>
#include <string.h>

#include "model.h"

void
way_init(struct way *w)
{
	int i;

	for (i = 0; i < CONN_CLASSES; i++)
		TAILQ_INIT(&w->class[i]);
	w->n = 0;
	w->number = 0;
}

void
way_put(struct way *w, enum conn_class class, uint8_t type, uint32_t channel,
    const void *data, size_t len)
{
	struct message *m = xmalloc(sizeof *m + len);

	m->number = ++w->number;
	m->type = type;
	m->channel = channel;
	m->len = len;
	if (len > 0)
		memcpy(m->data, data, len);
	TAILQ_INSERT_TAIL(&w->class[class], m, entry);
	w->n++;
}

struct message *
way_get(struct way *w)
{
	struct message *m, *got = NULL;
	uint64_t low = UINT64_MAX;
	int i, class = 0;

	for (i = 0; i < CONN_CLASSES; i++) {
		m = TAILQ_FIRST(&w->class[i]);
		if (m == NULL || m->number > low)
			continue;
		low = m->number;
		if (got != NULL && rnd(2) == 0)
			continue;
		got = m;
		class = i;
	}
	if (got != NULL) {
		TAILQ_REMOVE(&w->class[class], got, entry);
		w->n--;
	}
	return got;
}

void
way_clear(struct way *w)
{
	struct message *m;

	while ((m = way_get(w)) != NULL)
		free(m);
}
