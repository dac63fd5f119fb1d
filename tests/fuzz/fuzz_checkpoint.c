/* SPDX-License-Identifier: ISC */
/*
 * Two halves, told apart by the first byte. Even: the rest is a checkpoint
 * from the far side, to be refused or restored, then written to and resized.
 * Odd: the rest is output with a checkpoint in the middle, which has to give
 * the same screen.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "../../term/screen.h"

static void
restore(const uint8_t *p, size_t n)
{
	static const struct screen_limits limits = { 100, 65536 };
	static const char text[] = "abc\r\n\033[2J\033[5;5Hx\344\275\240\033[L";
	struct screen *s = screen_new(5, 20, &limits, NULL);

	if (screen_restore(s, p, n) == 0) {
		screen_write(s, text, sizeof text - 1);
		screen_resize(s, 7, 33);
		screen_write(s, text, sizeof text - 1);
	}
	screen_free(s);
}

static void
round_trip(const uint8_t *p, size_t n, size_t at)
{
	static const struct screen_limits limits = { 100, 65536 };
	struct screen *s = screen_new(6, 21, &limits, NULL), *t;
	struct buf b;

	screen_write(s, p, at);
	buf_init(&b, CHECKPOINT_MAX);
	screen_checkpoint(s, CHECKPOINT_FULL, &b);
	t = screen_new(24, 80, &limits, NULL);
	if (!buf_ok(&b) || screen_restore(t, b.data, b.len) != 0)
		abort();
	screen_write(s, p + at, n - at);
	screen_write(t, p + at, n - at);
	buf_reset(&b);
	if (!screen_equal(s, t, true, &b)) {
		fprintf(stderr, "%.*s\n", (int)b.len, (char *)b.data);
		abort();
	}
	buf_free(&b);
	screen_free(s);
	screen_free(t);
}

int	LLVMFuzzerTestOneInput(const uint8_t *, size_t);

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	if (n == 0)
		return 0;
	if (p[0] & 1)
		round_trip(p + 1, n - 1, (p[0] >> 1) % n);
	else
		restore(p + 1, n - 1);
	return 0;
}
