/* SPDX-License-Identifier: ISC */
/* Back-off; contract in retry.h. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../base/buf.h"
#include "../base/clock.h"
#include "../base/mem.h"
#include "../base/place.h"
#include "retry.h"

void
retry_failed(struct retry *r)
{
	memmove(r->failed + 1, r->failed, sizeof r->failed -
	    sizeof r->failed[0]);
	r->failed[0] = clock_wall_ms();
	/* At once is for a link that was lost, not for one that never came. */
	if (r->step == 0)
		r->step = 1;
}

void
retry_clear(struct retry *r)
{
	r->step = 0;
}

uint64_t
retry_wait(const struct retry *r, bool capped)
{
	uint64_t oldest = r->failed[RETRY_BURST - 1], now = clock_wall_ms();

	/* A clock that was set back must not forbid for hours. */
	if (!capped || oldest == 0 || oldest > now ||
	    now - oldest >= RETRY_WINDOW_MS)
		return 0;
	return RETRY_WINDOW_MS - (now - oldest);
}

/* 0, 0.5, 1, 2, ... 30 s, each give or take a fifth: many links that broke
 * together do not come back together. */
uint64_t
retry_delay(struct retry *r, bool capped)
{
	uint64_t ms, wait = retry_wait(r, capped);
	uint16_t random;

	ms = r->step == 0 ? 0 : r->step > 7 ? RETRY_MAX_MS :
	    UINT64_C(250) << r->step;
	if (ms > RETRY_MAX_MS)
		ms = RETRY_MAX_MS;
	random_bytes(&random, sizeof random);
	ms = ms * 4 / 5 + ms * 2 / 5 * random / UINT16_MAX;
	r->step++;
	return ms > wait ? ms : wait;
}

char *
retry_put(const struct retry *r)
{
	struct buf b;
	size_t i;

	buf_init(&b, 32 * RETRY_BURST);
	for (i = 0; i < RETRY_BURST && r->failed[i] != 0; i++)
		buf_printf(&b, "%s%" PRIu64, i > 0 ? "," : "", r->failed[i]);
	buf_u8(&b, 0);
	return (char *)b.data;
}

void
retry_get(struct retry *r, const char *s)
{
	char *end;
	size_t i;

	memset(r->failed, 0, sizeof r->failed);
	for (i = 0; s != NULL && i < RETRY_BURST; i++) {
		r->failed[i] = strtoull(s, &end, 10);
		if (end == s)
			r->failed[i] = 0;
		s = *end == ',' ? end + 1 : NULL;
	}
}
