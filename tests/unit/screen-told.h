/* SPDX-License-Identifier: ISC */
/*
 * For the tests of screens: one, what its callbacks were told, and looks at it.
 */
#ifndef DLMUX_SCREEN_TOLD_H
#define DLMUX_SCREEN_TOLD_H

#include <check.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../term/screen.h"
#include "unit.h"

static struct screen *s;
static char told[4096];		/* what the callbacks were told, in order */

static void
tell(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

static void
tell(const char *fmt, ...)
{
	size_t len = strlen(told);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(told + len, sizeof told - len, fmt, ap);
	va_end(ap);
}

static void
answer(uint64_t offset, const void *data, size_t len, void *arg)
{
	(void)arg;
	tell("%d:%.*s|", (int)offset, (int)len, (const char *)data);
}

static void
bell(void *arg)
{
	(void)arg;
	tell("bell|");
}

static void
clipboard(const char *sel, const char *b64, size_t len, void *arg)
{
	(void)arg;
	tell("clip %s %zu %.20s|", sel, len, b64);
}

static void
notify(const char *title, const char *text, void *arg)
{
	(void)arg;
	tell("note %s,%s|", title, text);
}

static const struct screen_cb cb = {
	.answer = answer,
	.bell = bell,
	.clipboard = clipboard,
	.notify = notify,
};

static void
open_screen(int rows, int cols)
{
	*told = '\0';
	s = screen_new(rows, cols, NULL, &cb);
}

static void
put(const char *text)
{
	screen_write(s, text, strlen(text));
}

static void
teardown(void)
{
	screen_free(s);
	s = NULL;
}

static MAYBE const char *
line_esc(int y, bool escapes)
{
	static char text[4][4096];
	static int turn;
	struct buf b;
	char *out = text[turn++ % 4];

	buf_init(&b, 4095);
	screen_row_text(s, y, escapes, &b, NULL);
	ck_assert(buf_ok(&b));
	if (b.len > 0)
		memcpy(out, b.data, b.len);
	out[b.len] = '\0';
	buf_free(&b);
	return out;
}

static MAYBE const char *
line(int y)
{
	return line_esc(y, false);
}

static MAYBE void
at(int want_row, int want_col)
{
	int row, col;

	screen_cursor(s, &row, &col, NULL);
	ck_assert_int_eq(row, want_row);
	ck_assert_int_eq(col, want_col);
}

static MAYBE const struct pen *
pen_at(int y, int x)
{
	const struct row *row = screen_row(s, y);

	ck_assert_int_lt(x, row->used);
	return grid_pen(screen_grid(s), row->cells[x].pen);
}

#endif
