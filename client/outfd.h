/* SPDX-License-Identifier: ISC */
/*
 * A descriptor that the client was given to write to (stdout, stderr, the
 * terminal), written without blocking the loop and without O_NONBLOCK on it:
 * that flag belongs to the open file, which others share, and would outlive
 * the client.
 */
#ifndef DLMUX_OUTFD_H
#define DLMUX_OUTFD_H

#include <event2/event.h>
#include <stdbool.h>
#include <stddef.h>

struct outfd;

struct outfd_cb {
	/* n more bytes were written. */
	void	(*wrote)(struct outfd *, size_t n, void *);
	/* Writing failed with this errno; nothing more is written. */
	void	(*failed)(struct outfd *, int error, void *);
};

/* The descriptor stays the caller's. max: bytes queued at most; outfd_put()
 * beyond that is our own bug (credit bounds it). */
struct outfd *outfd_new(struct event_base *, int fd, size_t max,
	    const struct outfd_cb *, void *);
void	 outfd_free(struct outfd *);
void	 outfd_put(struct outfd *, const void *, size_t);
size_t	 outfd_queued(const struct outfd *);
/* Tries to write now instead of at the next turn of the loop. */
void	 outfd_flush(struct outfd *);

#endif
