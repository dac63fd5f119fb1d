/* SPDX-License-Identifier: ISC */
/* Bytes in flight; contract in flight.h. */
#include "../base/clock.h"
#include "../base/limits.h"
#include "flight.h"

void
flight_on(struct flight *f)
{
	f->on = true;
	f->since = clock_us();
	f->from = f->acked;
}

void
flight_set_rtt(struct flight *f, uint64_t us)
{
	/* More than ten seconds says nothing about the link's pipe. */
	f->rtt_us = us < 10000000 ? us : 10000000;
}

uint64_t
flight_cap(const struct flight *f)
{
	uint64_t cap = f->rate / 1000 * f->rtt_us / 1000 * 2;

	if (cap < CONN_FLIGHT_MIN)
		return CONN_FLIGHT_MIN;
	return cap > CONN_FLIGHT_MAX ? CONN_FLIGHT_MAX : cap;
}

uint64_t
flight_room(const struct flight *f)
{
	uint64_t cap = flight_cap(f), flying = f->sent - f->acked;

	return flying >= cap ? 0 : cap - flying;
}

/* The rate is what the link moved while we waited for it; when nothing was in
 * flight before, the sample starts anew. */
int
flight_acked(struct flight *f, uint64_t acked)
{
	uint64_t now = clock_us(), dt, sample;

	if (acked > f->sent || acked < f->acked)
		return -1;
	f->acked = acked;
	dt = now - f->since;
	if (dt >= 10000 && dt >= f->rtt_us) {
		sample = (acked - f->from) * 1000000 / dt;
		f->rate = sample > f->rate - f->rate / 4 ? sample :
		    f->rate - f->rate / 4;
		f->since = now;
		f->from = acked;
	}
	return 0;
}

int
flight_tell_ms(const struct flight *f)
{
	uint64_t n = f->got - f->told;

	if (!f->on || n == 0)
		return -1;
	if (n >= CONN_ACK_BYTES)
		return 0;
	/* A little keeps nobody from sending more. */
	return n >= CONN_ACK_FEW ? CONN_ACK_MS : CONN_ACK_FEW_MS;
}
