/* SPDX-License-Identifier: ISC */
/*
 * A row as text, plain or with SGR.
 */
#include <stdlib.h>
#include <string.h>

#include "../server/base/mem.h"
#include "screen-private.h"

/* Would a blank with this pen look like none at all? */
static bool
shows(const struct pen *pen)
{
	return pen->bg != COLOUR_DEFAULT || pen->underline != UNDERLINE_NONE ||
	    pen->flags & (PEN_REVERSE | PEN_STRIKE | PEN_OVERLINE);
}

static int
row_end(const struct grid *g, const struct row *row, bool escapes)
{
	const struct cell *c;
	int end;

	for (end = row->used; end > 0; end--) {
		c = &row->cells[end - 1];
		if (c->ch != 0 && c->ch != ' ')
			break;
		if (c->width == 0)
			break;
		if (escapes && shows(grid_pen(g, c->pen)))
			break;
	}
	return end;
}

void
screen_row_text(const struct screen *s, int y, bool escapes, struct buf *out,
    uint16_t **col)
{
	const struct row *row = screen_row(s, y);
	const struct grid *g = s->grid;
	const struct pen *pen;
	uint16_t *map = NULL, last = 0;
	size_t start = out->len, mapped = 0, cap = 0, n;
	char text[GRID_TEXT_MAX];
	int x, end = row_end(g, row, escapes);

	for (x = 0; x < end; x++) {
		const struct cell *c = &row->cells[x];

		if (c->width == 0)
			continue;
		if (escapes && c->pen != last) {
			last = c->pen;
			pen = grid_pen(g, last);
			buf_puts(out, "\033[");
			sgr_describe(pen, out);
			buf_puts(out, "m");
		}
		n = grid_text(g, c, text);
		buf_put(out, text, n);
		if (col == NULL)
			continue;
		if (out->len - start > cap) {
			cap = (out->len - start) * 2 + 64;
			map = xreallocarray(map, cap, sizeof *map);
		}
		while (mapped < out->len - start)
			map[mapped++] = x;
	}
	if (last != 0)
		buf_puts(out, "\033[0m");
	if (col == NULL)
		return;
	if (out->len - start > cap || map == NULL)
		map = xreallocarray(map, out->len - start + 1, sizeof *map);
	while (mapped < out->len - start)
		map[mapped++] = x;
	*col = map;
}
