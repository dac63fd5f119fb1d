/* SPDX-License-Identifier: ISC */
/*
 * The state file. Its check sum would keep a fuzzer out, so that one is put
 * right first; what is accepted must come back, byte for byte. Of an older
 * version it is what it becomes in the newest that must.
 */
#include <stdlib.h>
#include <string.h>

#include "../../server/state.h"

int	LLVMFuzzerTestOneInput(const uint8_t *, size_t);

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t len)
{
	struct state st;
	struct buf b, again;
	uint8_t *copy;
	uint32_t crc;

	if (state_get(&st, p, len) == 0)
		state_clear(&st);
	if (len < 4 || (copy = malloc(len)) == NULL)
		return 0;
	memcpy(copy, p, len);
	crc = crc32c(0, copy, len - 4);
	copy[len - 4] = (uint8_t)(crc >> 24);
	copy[len - 3] = (uint8_t)(crc >> 16);
	copy[len - 2] = (uint8_t)(crc >> 8);
	copy[len - 1] = (uint8_t)crc;
	if (state_get(&st, copy, len) == 0) {
		buf_init(&b, 2 * len + 64);
		state_put(&b, &st);
		state_clear(&st);
		if (!buf_ok(&b) || (memcmp(b.data, copy, 8) == 0 &&
		    (b.len != len || memcmp(b.data, copy, len) != 0)) ||
		    state_get(&st, b.data, b.len) == -1)
			abort();
		buf_init(&again, b.len);
		state_put(&again, &st);
		state_clear(&st);
		if (!buf_ok(&again) || again.len != b.len ||
		    memcmp(again.data, b.data, b.len) != 0)
			abort();
		buf_free(&again);
		buf_free(&b);
	}
	free(copy);
	return 0;
}
