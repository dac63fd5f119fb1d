/* SPDX-License-Identifier: ISC */
/*
 * A history line of a flood, straight from the screen's row to the terminal's
 * last one. It leaves the terminal's screen before the frame ends, so nobody
 * needs to know what stands there: no picture is made of it and nothing is
 * compared. What needs more care than that (clusters, a doubtful character at
 * the edge) is left to view_draw().
 */
#include <string.h>

#include "view-private.h"

/* Blanks that are typed rather than skipped: as long as a motion. */
#define FEW		3
/* What a terminal may give a single character of doubtful width on top. */
#define DOUBT_OVER	1

static bool
is_ascii(const struct cell *c)
{
	return c->ch < 0x7f && c->width == 1;
}

static bool
is_blank(const struct cell *c)
{
	return c->ch <= 0x20;
}

/* What all the row's cells together have: bit by bit, any and each of them. */
struct sum {
	struct cell	any, each;
};

static struct sum
sum_of(const struct row *row)
{
	uint64_t word, any = 0, each = UINT64_MAX;
	struct sum sum;
	int x;

	for (x = 0; x < row->used; x++) {
		memcpy(&word, &row->cells[x], sizeof word);
		any |= word;
		each &= word;
	}
	memcpy(&sum.any, &any, sizeof any);
	memcpy(&sum.each, &each, sizeof each);
	return sum;
}

/* Can the row's text be sent as it stands? */
static bool
can_pass(const struct view *v, const struct row *row)
{
	const struct cell *c = row->cells;
	int x, w;

	for (x = 0; x < row->used; x += w) {
		w = 1;
		if (is_ascii(&c[x]))
			continue;
		if ((c[x].ch & CELL_CLUSTER) != 0 || c[x].ch < 0xa0 ||
		    c[x].width == 0)
			return false;
		w = c[x].width;
		if (w == 2 && (x + 1 >= row->used || c[x + 1].width != 0))
			return false;
		if (picture_doubtful(c[x].ch) &&
		    x + w + DOUBT_OVER > v->cols)
			return false;
	}
	return true;
}

/* The terminal runs over into the new row by itself; it may come with the
 * colours of the character that makes it do so. */
static bool
can_join(struct view *v, const struct screen *s, const struct row *row)
{
	const struct outer *o = &v->outer;
	uint16_t pen;

	if (o->y != v->rows - 1 || o->x != v->cols || row->used == 0)
		return false;
	pen = picture_number(&v->picture, s, row->cells[0].pen, true);
	return pen_is_plain(picture_pen(&v->picture, pen));
}

static void
use(struct view *v, uint16_t number)
{
	const struct pen *p = picture_pen(&v->picture, number);

	if (!outer_pen_is(&v->outer, p, p->link))
		view_use_pen(v, number);
}

static void
use_for_blank(struct view *v, uint16_t number)
{
	const struct pen *p = picture_pen(&v->picture, number);

	if (!outer_blank_is(&v->outer, p, p->link))
		view_use_pen(v, number);
}

/* n cells of one pen; blanks among them come right under it. */
static void
pass_text(struct view *v, const struct cell *c, int n)
{
	uint8_t *out = buf_reserve(&v->out, (size_t)n);
	int i;

	if (out == NULL)
		return;
	for (i = 0; i < n; i++)
		out[i] = is_blank(&c[i]) ? ' ' : (uint8_t)c[i].ch;
	v->out.len += (size_t)n;
	outer_text(&v->outer, NULL, 0, n, false);
}

static int
blanks(const struct cell *c, int n)
{
	int i;

	for (i = 0; i < n && is_blank(&c[i]); i++)
		;
	return i;
}

/* ASCII of one pen, [x, end) of the row. Blanks from `typed' on are there
 * already if they are plain ones: the row began empty. */
static void
pass_run(struct view *v, const struct screen *s, const struct cell *c, int x,
    int end, int typed)
{
	uint16_t text = picture_number(&v->picture, s, c[x].pen, false);
	uint16_t blank = picture_number(&v->picture, s, c[x].pen, true);
	int n, gap, y = v->rows - 1;

	while (x < end) {
		gap = blanks(c + x, end - x);
		if (gap > FEW && blank == 0 && x >= typed) {
			x += gap;
			continue;
		}
		if (gap > 0) {
			outer_move(&v->outer, y, x);
			use_for_blank(v, blank);
			pass_text(v, c + x, gap);
			x += gap;
			continue;
		}
		for (n = 0; x + n < end; n += gap) {
			while (x + n < end && !is_blank(&c[x + n]))
				n++;
			gap = blanks(c + x + n, end - x - n);
			if (gap > FEW && blank == 0 && x + n >= typed)
				break;
		}
		outer_move(&v->outer, y, x);
		use(v, text);
		pass_text(v, c + x, n);
		x += n;
	}
}

/* One character beyond ASCII; true if its width is in doubt. */
static bool
pass_one(struct view *v, const struct screen *s, const struct cell *c, int x)
{
	/* Never a control to the terminal. */
	struct pcell p = { c->ch < 0xa0 ? '?' : c->ch, 0, c->width, 0 };
	bool doubt = picture_doubtful(c->ch);
	char text[GRID_TEXT_MAX];
	size_t n;

	outer_move(&v->outer, v->rows - 1, x);
	use(v, picture_number(&v->picture, s, c->pen, false));
	n = picture_cell_text(&v->picture, &p, text);
	outer_text(&v->outer, text, n, c->width, doubt);
	return doubt;
}

bool
view_pass(struct view *v, const struct screen *s, const struct row *row,
    bool joined)
{
	static const struct cell blank = { .width = 1 };
	const struct cell *c = row->cells;
	struct outer *o = &v->outer;
	struct sum sum = sum_of(row);
	bool ascii = sum.any.ch < 0x80 && sum.any.width == 1;
	bool even = ascii && sum.any.pen == sum.each.pen;
	int x, n, typed;

	if (row->used > v->cols || (!ascii && !can_pass(v, row)) ||
	    (joined && !can_join(v, s, row)))
		return false;
	if (!joined) {
		outer_erase_pen(o, picture_pen(&v->picture, 0));
		outer_scroll(o);
	} else	/* by what is written next */
		o->x = 0;
	/* A row that runs over is written to its very end, and one that the
	 * terminal ran over into from its very beginning. */
	typed = row->wrapped ? v->cols : joined ? 1 : 0;
	for (x = 0; x < row->used; x += n) {
		if (!is_ascii(&c[x])) {
			n = c[x].width;
			/* It may have covered what follows. */
			if (pass_one(v, s, &c[x], x) &&
			    x + n + DOUBT_OVER > typed)
				typed = x + n + DOUBT_OVER;
			continue;
		}
		for (n = even ? row->used - x : 1; x + n < row->used &&
		    is_ascii(&c[x + n]) && c[x + n].pen == c[x].pen; n++)
			;
		pass_run(v, s, c, x, x + n, typed);
	}
	for (; x < typed; x++) {
		outer_move(o, v->rows - 1, x);
		use_for_blank(v, 0);
		pass_text(v, &blank, 1);
	}
	return true;
}
