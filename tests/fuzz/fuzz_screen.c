/* SPDX-License-Identifier: ISC */
/*
 * The filter, libvterm and the grid under any output, resizes included: the
 * first two bytes are the size, 0xff R C in the stream is a resize, cut into
 * writes of changing lengths. Afterwards every reader is called.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../../term/screen.h"

static void
ignore_answer(uint64_t offset, const void *data, size_t len, void *arg)
{
	const uint8_t *p = data;

	(void)arg;
	/* An answer is an escape sequence, whatever was asked. */
	if (len < 2 || p[0] != 0x1b || offset == 0)
		abort();
}

static void
ignore_clipboard(const char *sel, const char *b64, size_t len, void *arg)
{
	(void)arg;
	if (strlen(b64) != len || strlen(sel) > 12)
		abort();
}

static void
ignore_notify(const char *title, const char *text, void *arg)
{
	(void)arg;
	if (strpbrk(title, "\033\a\n") != NULL ||
	    strpbrk(text, "\033\a\n") != NULL)
		abort();
}

static void
check_row(const struct screen *s, const struct row *row)
{
	const struct cell *c;
	char text[GRID_TEXT_MAX];
	int x;

	if (row->used > row->cols)
		abort();
	for (x = 0; x < row->used; x++) {
		c = &row->cells[x];
		if ((c->width == 0) != (x > 0 && c[-1].width == 2))
			abort();
		if (c->width > 2 || (c->width == 2 && x + 1 == row->used))
			abort();
		if (grid_text(screen_grid(s), c, text) > sizeof text)
			abort();
		grid_pen(screen_grid(s), c->pen);
	}
}

static void
check(struct screen *s)
{
	struct buf b;
	uint16_t *map;
	bool wrap;
	int row, col, y;

	screen_cursor(s, &row, &col, &wrap);
	if (row < 0 || row >= screen_rows(s) || col < 0 ||
	    col >= screen_cols(s) || (wrap && screen_cols(s) < 2))
		abort();
	buf_init(&b, 1 << 20);
	for (y = -screen_history(s); y < screen_rows(s); y++) {
		check_row(s, screen_row(s, y));
		buf_reset(&b);
		screen_row_text(s, y, y & 1, &b, &map);
		free(map);
	}
	buf_free(&b);
}

int	LLVMFuzzerTestOneInput(const uint8_t *, size_t);

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	static const struct screen_cb cb = {
		.answer = ignore_answer,
		.clipboard = ignore_clipboard,
		.notify = ignore_notify
	};
	static const struct screen_limits limits = { 50, 65536 };
	struct screen *s;
	size_t run;

	if (n < 2)
		return 0;
	s = screen_new(p[0] % 60, p[1] % 100, &limits, &cb);
	p += 2;
	n -= 2;
	while (n > 0) {
		if (*p == 0xff && n >= 3) {
			screen_resize(s, p[1] % 60, p[2] % 100);
			screen_mark(s);
			p += 3;
			n -= 3;
			continue;
		}
		for (run = 1; run < n && run < 37 && p[run] != 0xff; run++)
			;
		screen_write(s, p, run);
		p += run;
		n -= run;
	}
	check(s);
	screen_free(s);
	return 0;
}
