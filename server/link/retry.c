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
retry_wait(const struct retry *r, enum retry_cap cap)
{
	uint64_t oldest, now = clock_wall_ms();

	if (cap == RETRY_ANY)
		return 0;
	oldest = r->failed[(cap == RETRY_USER ? RETRY_BURST_USER :
	    RETRY_BURST) - 1];
	/* A clock that was set back must not forbid for hours. */
	if (oldest == 0 || oldest > now || now - oldest >= RETRY_WINDOW_MS)
		return 0;
	return RETRY_WINDOW_MS - (now - oldest);
}

/*
 * Each give or take a fifth: many links that broke together do not come back
 * together. Where tries are counted the first four are spread over the window:
 * used up within seconds they would leave the rest of it without any.
 */
uint64_t
retry_delay(struct retry *r, enum retry_cap cap, uint64_t spent_ms)
{
	static const uint32_t any[] = { 0, 500, 1000, 2000, 4000, 8000, 16000,
	    RETRY_MAX_MS }, counted[] = { 0, 1000, 3000, 8000, 18000,
	    RETRY_MAX_MS };
	const uint32_t *steps = cap == RETRY_ANY ? any : counted;
	size_t n = cap == RETRY_ANY ? sizeof any / sizeof any[0] :
	    sizeof counted / sizeof counted[0];
	uint64_t ms, wait = retry_wait(r, cap);
	uint16_t random;

	ms = steps[r->step < n ? r->step : n - 1];
	random_bytes(&random, sizeof random);
	ms = ms * 4 / 5 + ms * 2 / 5 * random / UINT16_MAX;
	ms = ms > spent_ms ? ms - spent_ms : 0;
	if (r->step > 0 && ms < RETRY_MIN_MS)
		ms = RETRY_MIN_MS;
	r->step++;
	return ms > wait ? ms : wait;
}

char *
retry_put(const struct retry *r)
{
	struct buf b;
	size_t i;

	buf_init(&b, 32 * RETRY_BURST_USER);
	for (i = 0; i < RETRY_BURST_USER && r->failed[i] != 0; i++)
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
	for (i = 0; s != NULL && i < RETRY_BURST_USER; i++) {
		r->failed[i] = strtoull(s, &end, 10);
		if (end == s)
			r->failed[i] = 0;
		s = *end == ',' ? end + 1 : NULL;
	}
}
