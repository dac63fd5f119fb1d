/* SPDX-License-Identifier: ISC */
/*
 * One row: from what the terminal shows in it to what it should show. Works
 * from left to right, so that a wide character cut in half by a write is
 * always followed by the write that mends it.
 */
#include <string.h>

#include "view-private.h"

/* Blanks typed rather than skipped or erased: as long as the sequence. */
#define FEW		3
/* Blanks inside a row that are worth an erase and a move. */
#define MANY		10

void
view_row_unknown(struct view *v, struct prow *r)
{
	memcpy(r->cells, v->unknown, (size_t)v->cols * sizeof *r->cells);
	r->current = r->wrapped = false;
}

void
view_row_blank(struct view *v, struct prow *r)
{
	memcpy(r->cells, v->blank, (size_t)v->cols * sizeof *r->cells);
	r->current = r->wrapped = false;
}

bool
view_row_is_blank(const struct view *v, const struct prow *r)
{
	return memcmp(r->cells, v->blank, (size_t)v->cols *
	    sizeof *r->cells) == 0;
}

/* A cell that erasing gives: blank, no lines, and a background only where
 * the terminal erases with it. */
static bool
erasable(const struct view *v, const struct pcell *c)
{
	const struct pen *p;

	if (c->ch != ' ' || c->width != 1)
		return false;
	if (c->pen == 0)
		return true;
	p = picture_pen(&v->picture, c->pen);
	return p->flags == 0 && p->underline == UNDERLINE_NONE &&
	    p->link == 0 && (p->bg == COLOUR_DEFAULT ||
	    caps_flag(v->caps, CAPS_BCE));
}

void
view_use_pen(struct view *v, uint16_t number)
{
	const struct pen *p = picture_pen(&v->picture, number);
	const char *id = NULL, *uri = picture_link(&v->picture, p->link, &id);

	outer_link(&v->outer, p->link, uri, id);
	outer_pen(&v->outer, p);
}

/* What was under the pen when an erase happens; links are no part of it. */
static void
use_erase_pen(struct view *v, uint16_t number)
{
	outer_erase_pen(&v->outer, picture_pen(&v->picture, number));
}

/* Would the cell come out right with the pen as it is? A blank between two
 * coloured words costs no change of colour. */
static bool
pen_will_do(const struct view *v, const struct pcell *c)
{
	const struct pen *p = picture_pen(&v->picture, c->pen);

	if (c->ch == ' ')
		return outer_blank_is(&v->outer, p, p->link);
	return outer_pen_is(&v->outer, p, p->link);
}

static void
put_cell(struct view *v, const struct pcell *c)
{
	char text[GRID_TEXT_MAX];
	size_t n;

	if (!pen_will_do(v, c))
		view_use_pen(v, c->pen);
	n = picture_cell_text(&v->picture, c, text);
	outer_text(&v->outer, text, n, c->width, c->doubt);
}

/* The length of the run of like blanks from x on, to the last that is not
 * there yet. */
static int
blank_run(const struct view *v, const struct pcell *old,
    const struct pcell *new, int x, int end)
{
	int n, last = 0;

	if (!erasable(v, &new[x]))
		return 0;
	for (n = 0; x + n < end; n++) {
		if (new[x + n].ch != ' ' || new[x + n].pen != new[x].pen)
			break;
		if (!pcell_same(&old[x + n], &new[x + n]))
			last = n + 1;
	}
	return last;
}

/* Text that any pen and any terminal writes as it is. */
static bool
is_simple(const struct pcell *c)
{
	return c->ch >= 0x20 && c->ch < 0x7f && c->width == 1;
}

/* The end of the text from x on that one write gives: in the pen that is on,
 * with blanks that come right under it, and over what stands there already
 * where a move would be longer. Just what go_to() and put_cell() would send. */
static int
run_end(const struct view *v, const struct pcell *old,
    const struct pcell *new, int x, int end)
{
	const struct outer *o = &v->outer;
	uint16_t pen = new[x].pen, blank = pen;
	int i, same = 0;

	for (i = x + 1; i < end && is_simple(&new[i]); i++) {
		/* Most of all: a letter that is not there yet. */
		if (new[i].pen == pen && new[i].ch != ' ' &&
		    !pcell_same(&old[i], &new[i])) {
			same = 0;
			continue;
		}
		if (new[i].pen != pen && new[i].pen != blank) {
			if (new[i].ch != ' ' || !pen_will_do(v, &new[i]))
				break;
			blank = new[i].pen;
		} else if (new[i].pen != pen && new[i].ch != ' ')
			break;
		if (pcell_same(&old[i], &new[i])) {
			if (o->x < 0 || ++same > FEW)
				break;
			continue;
		}
		if (new[i].ch == ' ' && new[i - 1].ch != ' ' &&
		    blank_run(v, old, new, i, end) >= MANY) {
			same = 0;
			break;
		}
		same = 0;
	}
	/* What is there already is typed only to come further. */
	while (i > x + 1 && pcell_same(&old[i - 1], &new[i - 1]))
		i--;
	return i;
}

/* Writes from x on what one write gives; how many columns. */
static int
put_run(struct view *v, const struct pcell *old, const struct pcell *new,
    int x, int end)
{
	uint8_t *out;
	int i, n;

	if (!is_simple(&new[x]) || new[x].ch == ' ') {
		put_cell(v, &new[x]);
		return new[x].width == 2 ? 2 : 1;
	}
	if (!pen_will_do(v, &new[x]))
		view_use_pen(v, new[x].pen);
	n = run_end(v, old, new, x, end) - x;
	if ((out = buf_reserve(v->outer.out, (size_t)n)) != NULL) {
		for (i = 0; i < n; i++)
			out[i] = (uint8_t)new[x + i].ch;
		v->outer.out->len += (size_t)n;
	}
	outer_text(&v->outer, NULL, 0, n, false);
	return n;
}

/* To column x of row y, by typing again what stands between if that is no
 * longer than a move. */
static void
go_to(struct view *v, int y, int x, const struct pcell *new)
{
	struct outer *o = &v->outer;
	int i;

	if (o->y == y && o->x >= 0 && o->x < x && x - o->x <= FEW) {
		for (i = o->x; i < x; i++)
			if (new[i].ch >= 0x7f || new[i].width != 1 ||
			    !pen_will_do(v, &new[i]))
				break;
		if (i == x) {
			for (i = o->x; i < x; i++)
				put_cell(v, &new[i]);
			return;
		}
	}
	outer_move(o, y, x);
}

/* Where the blanks at the end begin that one erase gives, or cols. */
static int
tail_of(const struct view *v, const struct pcell *old,
    const struct pcell *new)
{
	int cols = v->cols, tail = cols, first = -1, last = -1, x;

	if (!outer_can_clear_eol(&v->outer) || !erasable(v, &new[cols - 1]))
		return cols;
	while (tail > 0 && new[tail - 1].ch == ' ' &&
	    new[tail - 1].pen == new[cols - 1].pen)
		tail--;
	for (x = tail; x < cols; x++) {
		if (pcell_same(&old[x], &new[x]))
			continue;
		if (first < 0)
			first = x;
		last = x;
	}
	if (first < 0 || last - first < FEW)
		return cols;
	return tail;
}

static void
forget_cells(struct view *v, int y, int x, int n)
{
	struct prow *r = view_row(v, y);

	for (; n > 0 && x < v->cols; n--, x++) {
		r->cells[x].ch = PCELL_UNKNOWN;
		r->cells[x].width = 1;
	}
	r->current = false;
}

/* How many columns more than ours a terminal may give a cell's text. */
static int
doubt_of(const struct view *v, const struct pcell *c, int width)
{
	unsigned char s[GRID_TEXT_MAX];
	size_t i, n;
	int max = 0;

	n = picture_cell_text(&v->picture, c, (char *)s);
	for (i = 0; i < n; i++)
		/* U+0300 to U+036F take none on any terminal. */
		if ((s[i] & 0xc0) != 0x80 && s[i] != 0xcc && s[i] != 0xcd)
			max += 2;
	return max > width ? max - width : 1;
}

/* Drawn in the last row at x, its n columns, a doubtful character could make
 * the terminal scroll: the rows above are to be kept out of that. A region of
 * one row is none. */
static bool
needs_fence(const struct view *v, const struct pcell *c, int x, int n)
{
	return c->doubt && x + n + doubt_of(v, c, n) > v->cols &&
	    v->rows > 2 && caps_has(v->caps, CAP_CSR);
}

/* A character of doubtful width, n columns for us. If the terminal gives it
 * more, it has written over what follows; and at the end of a row it has
 * begun the next one, or at the very end scrolled, which must not be. True if
 * the beginning of its own row is to be drawn once more. */
static bool
put_doubtful(struct view *v, int y, int x, const struct pcell *c, int n)
{
	struct outer *o = &v->outer;
	int over = doubt_of(v, c, n), wraps = x + n + over - v->cols;
	bool bottom = wraps > 0 && y == v->rows - 1, fenced;

	fenced = bottom && needs_fence(v, c, x, n);
	if (fenced) {
		caps_emit(v->caps, CAP_CSR, 0, v->rows - 2, o->out);
		o->y = o->x = -1;
		outer_move(o, y, x);
	}
	put_cell(v, c);
	if (fenced) {
		caps_emit(v->caps, CAP_CSR, 0, v->rows - 1, o->out);
		o->y = o->x = -1;
	}
	forget_cells(v, y, x + n, over);
	if (wraps > 0)
		forget_cells(v, bottom ? y : y + 1, 0, over + n);
	return bottom;
}

/* once: what was written over is not looked after again. */
static bool
draw(struct view *v, int y, const struct pcell *new, bool after, bool once)
{
	struct prow *r = view_row(v, y);
	struct pcell *old = r->cells;
	int x, w, n, end;
	bool first = after, again = false;

	if (!after && memcmp(old, new, (size_t)v->cols * sizeof *new) == 0)
		return false;
	end = tail_of(v, old, new);
	if (after && end == 0)
		end = 1;
	if (after) {
		/* The terminal wraps by itself with the first character. */
		v->outer.y = y;
		v->outer.x = 0;
	}
	for (x = 0; x < end; x += w) {
		w = new[x].width == 2 ? 2 : 1;
		if (!first && pcell_same(&old[x], &new[x]) &&
		    (w == 1 || pcell_same(&old[x + 1], &new[x + 1])))
			continue;
		if (!first)
			go_to(v, y, x, new);
		n = first || !caps_has(v->caps, CAP_ECH) ? 0 :
		    blank_run(v, old, new, x, end);
		first = false;
		if (n >= MANY) {
			use_erase_pen(v, new[x].pen);
			caps_emit(v->caps, CAP_ECH, n, 0, v->outer.out);
			w = n;
		} else if (new[x].doubt && !once) {
			if (put_doubtful(v, y, x, &new[x], w))
				again = true;
		} else
			w = put_run(v, old, new, x, end);
		memcpy(&old[x], &new[x], (size_t)w * sizeof *old);
		if (x + w == v->cols)
			r->wrapped = false;
	}
	if (end < v->cols) {
		go_to(v, y, end, new);
		use_erase_pen(v, new[end].pen);
		outer_clear_eol(&v->outer);
		memcpy(&old[end], &new[end],
		    (size_t)(v->cols - end) * sizeof *old);
		r->wrapped = false;
	}
	return again;
}

void
view_draw(struct view *v, int y, const struct pcell *new, bool after)
{
	if (draw(v, y, new, after, false))
		draw(v, y, new, false, true);
}

bool
view_draw_join(struct view *v, int y, const struct pcell *next)
{
	struct prow *r = view_row(v, y);
	struct outer *o = &v->outer;
	int x = v->cols - 1;

	if (!caps_flag(v->caps, CAPS_AM) || !caps_flag(v->caps, CAPS_XENL))
		return false;
	/* A fence is a move: it would take the place of the wrap. */
	if (needs_fence(v, next, 0, next->width == 2 ? 2 : 1))
		return false;
	if (o->y == y && o->x == v->cols)
		return true;
	if (x > 0 && r->cells[x].width == 0)
		x--;
	if (r->cells[x].doubt || r->cells[x].ch == PCELL_UNKNOWN)
		return false;
	outer_move(o, y, x);
	put_cell(v, &r->cells[x]);
	return o->y == y && o->x == v->cols;
}

void
view_draw_erase_below(struct view *v, int y)
{
	int i;

	outer_move(&v->outer, y, 0);
	use_erase_pen(v, 0);
	caps_emit(v->caps, CAP_ED, 0, 0, v->outer.out);
	for (i = y; i < v->rows; i++)
		view_row_blank(v, view_row(v, i));
}
