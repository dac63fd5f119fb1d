/* SPDX-License-Identifier: ISC */
/*
 * A screen written down cell by cell, in the corpus' words for attributes, so
 * that it can be compared with what other emulators and real terminals show.
 */
#include <stdio.h>
#include <string.h>

#include "../../term/outer.h"
#include "oracle.h"

static void
letters(const struct pen *pen, bool empty, char *out)
{
	static const struct {
		uint16_t	flag;
		char		letter;
		bool		on_blanks;	/* it shows there, too */
	} all[] = {
		{ PEN_BOLD, 'b', false }, { PEN_FAINT, 'd', false },
		{ PEN_ITALIC, 'i', false }, { PEN_BLINK, 'k', false },
		{ PEN_REVERSE, 'r', true }, { PEN_CONCEAL, 'h', false },
		{ PEN_STRIKE, 's', true }
	};
	size_t i;

	for (i = 0; i < sizeof all / sizeof all[0]; i++)
		if (pen->flags & all[i].flag && (!empty || all[i].on_blanks))
			*out++ = all[i].letter;
	if (pen->underline != 0)
		*out++ = " uUcoa"[pen->underline];
	*out = '\0';
}

void
written_attr(const struct pen *pen, bool empty, struct written *out)
{
	memset(out, 0, sizeof *out);
	out->bg = pen->bg;
	if (!empty || pen->underline != 0 ||
	    pen->flags & (PEN_REVERSE | PEN_STRIKE))
		out->fg = pen->fg;
	letters(pen, empty, out->flags);
}

bool
written_empty(const struct cell *c)
{
	return (c->ch == 0 && c->width != 0) || c->ch == ' ';
}

static void
colour(uint32_t c, FILE *fp)
{
	if (COLOUR_TYPE(c) == 0)
		fprintf(fp, " -");
	else if (COLOUR_TYPE(c) == 1)
		fprintf(fp, " %u", c & 255);
	else
		fprintf(fp, " #%06x", c & 0xffffff);
}

static void
cell(const struct screen *s, const struct caps *caps, int y, int x, FILE *fp)
{
	const struct row *r = screen_row(s, y);
	const struct cell *c = &r->cells[x];
	struct pen pen = *grid_pen(screen_grid(s), c->pen);
	char text[GRID_TEXT_MAX + 1];
	struct written w;

	if (caps != NULL)
		compare_pen(s, caps, &pen);
	written_attr(&pen, written_empty(c), &w);
	text[grid_text(screen_grid(s), c, text)] = '\0';
	fprintf(fp, "%d %d %d", y, x, c->width);
	colour(w.fg, fp);
	colour(w.bg, fp);
	fprintf(fp, " %s %s\n", *w.flags != '\0' ? w.flags : "-", text);
}

void
written_screen(const struct screen *s, const struct caps *caps, FILE *fp)
{
	int y, x, row, col;
	bool wrap;

	screen_cursor(s, &row, &col, &wrap);
	fprintf(fp, "cursor %d %d%s\n", row, col, wrap ? " wrap" : "");
	for (y = 0; y < screen_rows(s); y++)
		for (x = 0; x < screen_row(s, y)->used; x++)
			if (screen_row(s, y)->cells[x].width > 0)
				cell(s, caps, y, x, fp);
}
