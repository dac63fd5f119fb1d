/* SPDX-License-Identifier: ISC */
/*
 * One direction of a bad line of bytes: late, at a limited rate, in pieces,
 * stalled, or cut. For whoever relays a command's stdin and stdout.
 */
#ifndef TESTS_WAY_H
#define TESTS_WAY_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WAY_UP		1		/* bits of stalled */
#define WAY_DOWN	2

/* What holds for both; may lie in memory that others write to. */
struct way_terms {
	volatile double	 delay, jitter;	/* ms, each way; bytes stay in order */
	volatile double	 rate;		/* bytes a second, each way; 0: any */
	volatile int	 stalled;
	size_t		 split;		/* bytes of one write at most; 0: any */
	bool		 ragged;	/* ... from one on, by the seed */
};

struct way {
	const struct way_terms *terms;
	int		 in, out;	/* -1: closed */
	int		 bit;		/* WAY_UP or WAY_DOWN */
	uint64_t	 random;
	struct piece	*head, **tail;
	size_t		 queued;
	double		 last, next;	/* due; not before: the rate */
	bool		 eof;
	unsigned long long total, cut;	/* written; cut there, 0: never */
};

void	 way_init(struct way *, int in, int out, int bit, uint64_t seed,
	    const struct way_terms *);
/* Nothing more goes out: its reader sees the end. */
void	 way_shut(struct way *);

enum way_end {
	WAY_ON,
	WAY_OVER,	/* down ended, and all of it is out */
	WAY_GONE,	/* down's reader is gone */
	WAY_CUT		/* as many bytes as should */
};

/* A turn of the loop: waits until something can be read or written, or one of
 * the others is ready, and does it. */
enum way_end way_turn(struct way *up, struct way *down, struct pollfd *others,
	    nfds_t);

#endif
