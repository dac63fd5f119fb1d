/* SPDX-License-Identifier: ISC */
/*
 * What a user's terminal sends, cut in two at a place the first byte tells:
 * with no prefix key all must pass unchanged; with one, the cut must make no
 * difference. The same of mouse reports, on a terminal that shows all of the
 * shell, and on one that shows a part.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../../server/base/buf.h"
#include "../../term/keys.h"
#include "../../term/mouse.h"

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

static void
mouse(const struct mouse_view *v, const uint8_t *s, size_t len, size_t cut,
    struct buf *out)
{
	struct mouse *m = mouse_new();

	buf_init(out, 1 << 22);
	mouse_feed(m, v, s, cut, out);
	mouse_feed(m, v, s + cut, len - cut, out);
	mouse_flush(m, out);
	if (mouse_pending(m) || !buf_ok(out))
		abort();
	mouse_free(m);
}

/* Encodings by the first byte. */
static void
both_mice(const uint8_t *s, size_t len, size_t cut)
{
	static const uint32_t modes[] = { 0, MODE_MOUSE_UTF8, MODE_MOUSE_SGR,
	    MODE_MOUSE_URXVT, MODE_MOUSE_PIXEL };
	struct mouse_view v = { MODE_MOUSE_ANY, 0, 0, 24, 80, 24, 80, 640,
	    384 };
	struct buf a, b;

	v.modes |= modes[s[0] % 5];
	mouse(&v, s, len, cut, &a);
	must_equal(&a, s, len);
	buf_free(&a);
	v.rows = s[0] & 0x80 ? 10 : 100;
	v.cols = s[0] & 0x40 ? 10 : 300;
	v.row = s[0] & 0x80 ? 0 : 70;
	v.col = s[0] & 0x40 ? 0 : 200;
	mouse(&v, s, len, 0, &a);
	mouse(&v, s, len, cut, &b);
	must_equal(&a, b.data, b.len);
	buf_free(&a);
	buf_free(&b);
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
	both_mice(s, len, cut < len ? cut : len);
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
