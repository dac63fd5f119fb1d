/* SPDX-License-Identifier: ISC */
/* What the seed decides, what time it is, and what a stream's bytes are. */
#include <stdarg.h>

#include "model.h"

uint64_t seed;
uint64_t rnd_state;
bool verbose;
uint64_t now_ms;

uint32_t
rnd(uint32_t n)
{
	/* splitmix64 */
	uint64_t z = rnd_state += 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return (uint32_t)((z ^ (z >> 31)) % n);
}

void
trace(const char *fmt, ...)
{
	va_list ap;

	if (!verbose)
		return;
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
}


/* The byte at an offset of a stream. */
static uint8_t
byte_of(int number, int stream, uint64_t at)
{
	uint64_t z = at * 0x9e3779b97f4a7c15u + (uint64_t)(number * 3 +
	    stream) * 0xd1342543de82ef95u;

	return (uint8_t)((z ^ (z >> 29)) * 0xbf58476d1ce4e5b9u >> 56);
}

void
fill(uint8_t *p, size_t n, int number, int stream, uint64_t at)
{
	size_t i;

	for (i = 0; i < n; i++)
		p[i] = byte_of(number, stream, at + i);
}

bool
same(const uint8_t *p, size_t n, int number, int stream, uint64_t at)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (p[i] != byte_of(number, stream, at + i))
			return false;
	return true;
}

/* ---- time ---- */

uint64_t
clock_ms(void)
{
	return now_ms;
}

uint64_t
clock_us(void)
{
	return now_ms * 1000;
}

uint64_t
clock_boot_ms(void)
{
	return now_ms;
}

uint64_t
clock_wall_ms(void)
{
	return now_ms;
}
