/* SPDX-License-Identifier: ISC */
/*
 * What a user's terminal sends, cut in two at a place the first byte tells:
 * with no prefix key all must pass unchanged; with one, the cut must make no
 * difference.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../../server/base/buf.h"
#include "../../term/keys.h"

int	LLVMFuzzerTestOneInput(const uint8_t *, size_t);

static void
feed(struct prefix *p, const uint8_t *s, size_t len, struct buf *out)
{
	size_t used;
	int ch;

	while (len > 0) {
		ch = prefix_feed(p, "dc?q", s, len, &used, out);
		if (used > len)
			abort();
		s += used;
		len -= used;
		if (ch != 0)
			buf_printf(out, "<%c>", ch);
	}
}

static void
run(const char *key, const uint8_t *s, size_t len, size_t cut,
    struct buf *out)
{
	struct prefix *p;
	char *cause;

	buf_init(out, 1 << 22);
	if ((p = prefix_new(key, &cause)) == NULL)
		abort();
	feed(p, s, cut, out);
	feed(p, s + cut, len - cut, out);
	prefix_flush(p, out);
	if (prefix_pending(p) || !buf_ok(out))
		abort();
	prefix_free(p);
}

static void
must_equal(const struct buf *b, const void *data, size_t len)
{
	if (b->len != len || (len > 0 && memcmp(b->data, data, len) != 0))
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *s, size_t len)
{
	struct buf a, b;
	size_t cut;

	if (len < 2 || len > 1 << 16)
		return 0;
	cut = s[0] % len;
	s++;
	len--;
	run("none", s, len, cut < len ? cut : len, &a);
	must_equal(&a, s, len);
	buf_free(&a);
	run("C-\\", s, len, 0, &a);
	run("C-\\", s, len, cut < len ? cut : len, &b);
	must_equal(&a, b.data, b.len);
	buf_free(&a);
	buf_free(&b);
	return 0;
}
