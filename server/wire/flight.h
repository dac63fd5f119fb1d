/* SPDX-License-Identifier: ISC */
/*
 * What is on its way to the far end of a link, and what of it is told to have
 * arrived: bytes inside an ssh stand in front of a key as well as those that
 * are still queued here. Pure counting; it sends and reads nothing.
 */
#ifndef DLMUX_FLIGHT_H
#define DLMUX_FLIGHT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct flight {
	bool	 on;		/* it counts against what may be sent */
	uint64_t sent;		/* bytes written but for RECEIVED */
	uint64_t acked;		/* of them, what the peer has */
	uint64_t got;		/* bytes got but for RECEIVED */
	uint64_t told;		/* of them, what the peer knows of */
	uint64_t rtt_us;
	uint64_t rate;		/* bytes a second */
	uint64_t since, from;	/* where the sample began: us, acked */
};

void	 flight_on(struct flight *);
void	 flight_set_rtt(struct flight *, uint64_t us);
/* The most that is to be in flight: twice what the link moves in one round
 * trip. */
uint64_t flight_cap(const struct flight *);
uint64_t flight_room(const struct flight *);
/* The peer has all up to acked. -1: it cannot. */
int	 flight_acked(struct flight *, uint64_t acked);
/* In how many milliseconds the peer is to be told what was got: 0 now, -1 not
 * at all. */
int	 flight_tell_ms(const struct flight *);

#endif
