/* SPDX-License-Identifier: ISC */
/*
 * Every get of msg.c: the first byte picks one. What is accepted must come
 * back, byte for byte, when it is put again.
 */
#include <stdlib.h>
#include <string.h>

#include "../../server/wire/msg.h"

int	LLVMFuzzerTestOneInput(const uint8_t *, size_t);

#define TRY(x)								\
static void								\
try_##x(const uint8_t *p, size_t len)					\
{									\
	struct msg_##x m;						\
	struct buf b;							\
									\
	if (msg_##x##_get(&m, p, len) == -1)				\
		return;							\
	buf_init(&b, len);						\
	msg_##x##_put(&b, &m);						\
	if (!buf_ok(&b) || b.len != len || memcmp(b.data, p, len) != 0)	\
		abort();						\
	buf_free(&b);							\
	msg_##x##_free(&m);						\
}
TRY(open) TRY(started) TRY(exit) TRY(shell) TRY(use) TRY(link)
TRY(attach) TRY(attached) TRY(left) TRY(wait) TRY(waited) TRY(capture)
TRY(row) TRY(done) TRY(manner) TRY(placed) TRY(sizing)

/* A HELLO of a later version may have more fields than ours, or others behind
 * those that are frozen (doc/protocol.md). */
static void
try_hello(const uint8_t *p, size_t len)
{
	const size_t frozen = 2 + 2 + 1 + MSG_ID + 8 + 4 + 8;
	struct msg_hello m;
	struct buf b;

	if (msg_hello_get(&m, p, len) == -1)
		return;
	buf_init(&b, len + 64);
	msg_hello_put(&b, &m);
	if (!buf_ok(&b) || len < frozen || memcmp(b.data, p, frozen) != 0)
		abort();
	buf_free(&b);
	msg_hello_free(&m);
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t len)
{
	static void (*const tries[])(const uint8_t *, size_t) = {
		try_hello, try_open, try_started, try_exit, try_shell,
		try_use, try_link, try_attach, try_attached, try_left,
		try_wait, try_waited, try_capture, try_row, try_done,
		try_manner, try_placed, try_sizing
	};

	if (len != 0)
		tries[p[0] % (sizeof tries / sizeof tries[0])](p + 1, len - 1);
	return 0;
}
