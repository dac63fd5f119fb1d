/* SPDX-License-Identifier: ISC */
/*
 * The scanner: the same words come however the bytes are cut. The first byte
 * chooses the cuts; "@" stands for the marker, so that the fuzzer finds it.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../../server/base/limits.h"
#include "../../server/link/bootstrap.h"

int	 LLVMFuzzerTestOneInput(const uint8_t *, size_t);

static const char marker[] = "aab0aab0aab0aab0aab0aab0aab0aab0";

/* Writes one letter a word and the end of the noise to out. */
static size_t
scan(const char *text, size_t len, size_t step, char *out, size_t max)
{
	struct boot_scan *s = boot_scan_new(marker);
	enum boot_word w;
	size_t i, n, used, k = 0;
	const char *p;

	for (i = 0; i < len && k + 2 < max; i += used) {
		n = len - i < step ? len - i : step;
		w = boot_scan(s, text + i, n, &used);
		if (used > n || (w == BOOT_MORE && used != n))
			abort();
		if (w == BOOT_MORE)
			continue;
		out[k++] = (char)('0' + w);
		for (p = boot_scan_text(s); *p != '\0' && k + 2 < max; p++)
			out[k++] = *p;
		if (w == BOOT_AGENT || w == BOOT_NOISE)
			break;
	}
	for (p = boot_scan_noise(s); *p != '\0' && k + 1 < max; p++)
		out[k++] = *p;
	boot_scan_free(s);
	return k;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static char text[64 << 10], a[16 << 10], b[16 << 10];
	size_t i, n = 0, na, nb;
	char *line;

	if (len == 0)
		return 0;
	for (i = 1; i < len && n + BOOT_MARKER < sizeof text; i++)
		if (data[i] == '@') {
			memcpy(text + n, marker, BOOT_MARKER);
			n += BOOT_MARKER;
		} else
			text[n++] = (char)data[i];
	na = scan(text, n, n > 0 ? n : 1, a, sizeof a);
	nb = scan(text, n, data[0] % 64 + 1u, b, sizeof b);
	if (na != nb || memcmp(a, b, na) != 0)
		abort();
	line = boot_last_line(text, n);
	if (line != NULL && (*line == '\0' || strchr(line, '\n') != NULL))
		abort();
	free(line);
	return 0;
}
