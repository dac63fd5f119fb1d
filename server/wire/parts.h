/* SPDX-License-Identifier: ISC */
/*
 * Long messages of which not all parts are here, one for each type and channel.
 */
#ifndef DLMUX_PARTS_H
#define DLMUX_PARTS_H

#include <sys/queue.h>

#include "../base/buf.h"
#include "frame.h"

struct part {
	LIST_ENTRY(part) next;
	uint8_t	 type;
	uint32_t channel;
	struct buf buf;
};

struct parts {
	LIST_HEAD(, part) list;
	size_t	 bytes, count;
};

enum parts_result {
	PARTS_NONE,	/* the frame is a whole message */
	PARTS_MORE,	/* taken; others will come */
	PARTS_WHOLE,	/* it was the last: the message is in *whole */
	PARTS_LONG,	/* more than this kind of message may have */
	PARTS_MANY,	/* too many at once, or too much together */
	PARTS_MEMORY
};

void	 parts_init(struct parts *);
void	 parts_clear(struct parts *);
/* A frame and its payload. *whole is set with PARTS_WHOLE only, and is the
 * caller's to free. */
enum parts_result parts_add(struct parts *, const struct frame_kind *,
	    const struct frame_head *, const uint8_t *, struct buf *whole);

#endif
