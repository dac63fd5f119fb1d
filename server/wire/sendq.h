/* SPDX-License-Identifier: ISC */
/*
 * Frames that wait to be written, by class. A frame of which some bytes are out
 * goes first, whatever its class. It knows no descriptor and writes nothing.
 */
#ifndef DLMUX_SENDQ_H
#define DLMUX_SENDQ_H

#include <sys/queue.h>
#include <sys/uio.h>

#include "conn.h"
#include "frame.h"

struct chunk;
STAILQ_HEAD(chunks, chunk);

struct sendq {
	struct chunks list[CONN_CLASSES];
	struct chunk *cur;		/* begun, not all written */
	size_t	 bytes[CONN_CLASSES];	/* cur's rest included */
	size_t	 total;
};

void	 sendq_init(struct sendq *);
void	 sendq_clear(struct sendq *);
/* -1: out of memory. */
int	 sendq_put(struct sendq *, enum conn_class, const struct frame_head *,
	    const uint8_t *data);
/* What is to be written next, of the first so many classes: how many of max. */
int	 sendq_gather(const struct sendq *, int classes, struct iovec *, int max);
/* So many bytes of what sendq_gather() gave are written. How many of them the
 * peer will tell to have got: all but RECEIVED's. */
size_t	 sendq_written(struct sendq *, size_t n);
/* Bytes that go before a key that is queued now. */
size_t	 sendq_ahead(const struct sendq *);

#endif
