/* SPDX-License-Identifier: ISC */
/*
 * Cursor and pen of the terminal outside. Modes are in modes.c; contract in
 * outer.h.
 */
#include <stdlib.h>
#include <string.h>

#include "decimal.h"
#include "outer.h"
#include "view.h"

void
outer_init(struct outer *o, const struct caps *caps, int rows, int cols)
{
	memset(o, 0, sizeof *o);
	o->caps = caps;
	o->rows = rows;
	o->cols = cols;
	outer_forget(o, 0);
	o->shape = o->kitty = o->other = 0;
	o->cursor = COLOUR_DEFAULT;
}

void
outer_forget(struct outer *o, uint32_t modes)
{
	o->y = o->x = -1;
	o->pen_known = false;
	o->link = UINT32_MAX;
	o->modes = modes;
	o->shape = (modes & VIEW_STYLED) != 0 ? 255 : 0;
	o->cursor = (modes & VIEW_CURSOR) != 0 ? UINT32_MAX : COLOUR_DEFAULT;
	o->kitty = (modes & VIEW_KITTY) != 0 ? 255 : 0;
	o->other = (modes & VIEW_OTHER) != 0 ? 255 : 0;
}

/* --- moving ------------------------------------------------------------- */

/* Moves are short; a longer string is a damaged one. */
#define MOVE_MAX 32

struct path {
	char	s[MOVE_MAX * 2];	/* down, then sideways */
	size_t	n;
	bool	ok;
};

/* Tries one way more; keeps it in best if it is the shorter. */
static void
keep_shorter(struct path *best, const struct path *p)
{
	if (!p->ok || (best->ok && p->n >= best->n))
		return;
	memcpy(best->s, p->s, p->n);
	best->n = p->n;
	best->ok = true;
}

static void
path_cap(struct outer *o, struct path *p, enum cap cap, int a, int b)
{
	p->n = caps_expand(o->caps, cap, a, b, o->scratch);
	p->ok = p->n != 0 && p->n <= MOVE_MAX;
	if (p->ok)
		memcpy(p->s, o->scratch, p->n);
}

static void
path_repeat(struct outer *o, struct path *p, enum cap cap, int n)
{
	size_t len = caps_expand(o->caps, cap, 0, 0, o->scratch);

	p->ok = false;
	if (len == 0 || len * (size_t)n > 12)
		return;
	for (p->n = 0; n > 0; n--, p->n += len)
		memcpy(p->s + p->n, o->scratch, len);
	p->ok = true;
}

static void
vertical(struct outer *o, int y, struct path *best)
{
	struct path p;
	int n = abs(y - o->y);

	best->ok = n == 0;
	best->n = 0;
	if (n == 0)
		return;
	path_cap(o, &p, CAP_VPA, y, 0);
	keep_shorter(best, &p);
	path_cap(o, &p, y > o->y ? CAP_CUD : CAP_CUU, n, 0);
	keep_shorter(best, &p);
	/* A line feed keeps the column in a raw terminal; it cannot scroll, as
	 * the row aimed at exists. */
	path_repeat(o, &p, y > o->y ? CAP_CUD1 : CAP_CUU1, n);
	keep_shorter(best, &p);
}

static void
horizontal(struct outer *o, int x, struct path *best)
{
	struct path p, right, steps;
	bool known = o->x >= 0 && o->x < o->cols;
	int n;

	best->ok = known && x == o->x;
	best->n = 0;
	if (best->ok)
		return;
	path_cap(o, &p, CAP_HPA, x, 0);
	keep_shorter(best, &p);
	/* By carriage return. */
	p.s[0] = '\r';
	p.n = 1;
	p.ok = true;
	if (x > 0) {
		path_cap(o, &right, CAP_CUF, x, 0);
		path_repeat(o, &steps, CAP_CUF1, x);
		keep_shorter(&right, &steps);
		p.ok = right.ok && right.n < MOVE_MAX;
		if (p.ok) {
			memcpy(p.s + 1, right.s, right.n);
			p.n += right.n;
		}
	}
	keep_shorter(best, &p);
	if (!known)
		return;
	n = abs(x - o->x);
	path_cap(o, &p, x > o->x ? CAP_CUF : CAP_CUB, n, 0);
	keep_shorter(best, &p);
	path_repeat(o, &p, x > o->x ? CAP_CUF1 : CAP_CUB1, n);
	keep_shorter(best, &p);
}

/* The moves that nothing beats, so that few are searched for. */
static bool
move_cheaply(struct outer *o, int y, int x)
{
	int left = o->x - x;

	if (o->y < 0)
		return false;
	if (x == 0 && y == o->y) {
		buf_puts(o->out, "\r");
		return true;
	}
	if (x == 0 && y == o->y + 1 && caps_is(o->caps, CAP_CUD1, "\n")) {
		buf_puts(o->out, o->x == 0 ? "\n" : "\r\n");
		return true;
	}
	if (y == o->y && o->x < o->cols && left > 0 && left < 4 &&
	    left <= x + 1 && caps_is(o->caps, CAP_CUB1, "\b")) {
		buf_put(o->out, "\b\b\b", (size_t)left);
		return true;
	}
	return false;
}

void
outer_move(struct outer *o, int y, int x)
{
	struct path best, up, side;

	if (o->y == y && o->x == x)
		return;
	if (move_cheaply(o, y, x)) {
		o->y = y;
		o->x = x;
		return;
	}
	path_cap(o, &best, CAP_CUP, y, x);
	if (!best.ok)
		best.n = 0;	/* a damaged blob: its owner's picture */
	if (y == 0 && x == 0) {
		path_cap(o, &side, CAP_HOME, 0, 0);
		keep_shorter(&best, &side);
	}
	if (o->y >= 0) {
		vertical(o, y, &up);
		if (up.ok && up.n < best.n) {
			horizontal(o, x, &side);
			if (side.ok && up.n + side.n < best.n) {
				memcpy(up.s + up.n, side.s, side.n);
				up.n += side.n;
				keep_shorter(&best, &up);
			}
		}
	}
	buf_put(o->out, best.s, best.n);
	o->y = y;
	o->x = x;
}

void
outer_text(struct outer *o, const char *s, size_t n, int width, bool doubtful)
{
	buf_put(o->out, s, n);
	if (o->x < 0)
		return;
	o->x += width;
	if (o->x >= o->cols) {
		/* Here terminals differ: only where the wrap waits for the
		 * next character is the row still known. */
		o->x = o->cols;
		if (!caps_flag(o->caps, CAPS_XENL))
			o->y = o->x = -1;
	}
	if (doubtful) {
		if (o->x + 2 >= o->cols)
			o->y = -1;
		o->x = -1;
	}
}

bool
outer_can_clear_eol(const struct outer *o)
{
	return caps_has(o->caps, CAP_EL);
}

void
outer_clear_eol(struct outer *o)
{
	caps_emit(o->caps, CAP_EL, 0, 0, o->out);
}

void
outer_scroll(struct outer *o)
{
	outer_move(o, o->rows - 1, 0);
	caps_emit(o->caps, caps_has(o->caps, CAP_IND) ? CAP_IND : CAP_CUD1,
	    0, 0, o->out);
}

/* --- colours and attributes --------------------------------------------- */

static const uint8_t cube[6] = { 0, 95, 135, 175, 215, 255 };

static int
nearest_level(int v)
{
	if (v < 48)
		return 0;
	if (v < 115)
		return 1;
	return (v - 35) / 40;
}

static int
distance(int r, int g, int b, uint32_t rgb)
{
	int dr = r - (int)(rgb >> 16 & 255), dg = g - (int)(rgb >> 8 & 255),
	    db = b - (int)(rgb & 255);

	return dr * dr + dg * dg + db * db;
}

/* The nearest of the 6x6x6 cube and the 24 greys: the first sixteen are the
 * user's own and may be anything. */
static int
rgb_to_256(uint32_t rgb)
{
	int r = (int)(rgb >> 16 & 255), g = (int)(rgb >> 8 & 255),
	    b = (int)(rgb & 255), qr = nearest_level(r), qg = nearest_level(g),
	    qb = nearest_level(b), mean = (r + g + b) / 3, grey, level;
	uint32_t at_cube, at_grey;

	at_cube = (uint32_t)cube[qr] << 16 | (uint32_t)cube[qg] << 8 |
	    cube[qb];
	grey = mean > 238 ? 23 : mean < 8 ? 0 : (mean - 3) / 10;
	level = 8 + grey * 10;
	at_grey = (uint32_t)level << 16 | (uint32_t)level << 8 |
	    (uint32_t)level;
	if (distance(r, g, b, at_grey) < distance(r, g, b, at_cube))
		return 232 + grey;
	return 16 + 36 * qr + 6 * qg + qb;
}

static const uint32_t ansi_rgb[16] = {
	0x000000, 0xcd0000, 0x00cd00, 0xcdcd00, 0x0000ee, 0xcd00cd, 0x00cdcd,
	0xe5e5e5, 0x7f7f7f, 0xff0000, 0x00ff00, 0xffff00, 0x5c5cff, 0xff00ff,
	0x00ffff, 0xffffff
};

static uint32_t
index_to_rgb(int i)
{
	uint32_t level;

	if (i < 16)
		return ansi_rgb[i];
	if (i >= 232) {
		level = (uint32_t)(8 + (i - 232) * 10);
		return level << 16 | level << 8 | level;
	}
	i -= 16;
	return (uint32_t)cube[i / 36] << 16 |
	    (uint32_t)cube[i / 6 % 6] << 8 | cube[i % 6];
}

static int
rgb_to_ansi(uint32_t rgb, int colours)
{
	int i, d, best = 0, best_d = -1;

	for (i = 0; i < colours; i++) {
		d = distance((int)(rgb >> 16 & 255), (int)(rgb >> 8 & 255),
		    (int)(rgb & 255), ansi_rgb[i]);
		if (best_d < 0 || d < best_d) {
			best = i;
			best_d = d;
		}
	}
	return best;
}

static uint32_t
colour_resolve(const struct caps *c, uint32_t colour)
{
	int colours = caps_colours(c), i;

	if (COLOUR_TYPE(colour) == 0 || (colours == 0 &&
	    !caps_flag(c, CAPS_RGB)))
		return COLOUR_DEFAULT;
	if (COLOUR_TYPE(colour) == 2) {
		if (caps_flag(c, CAPS_RGB))
			return colour;
		if (colours >= 256)
			return COLOUR_INDEX(rgb_to_256(colour & 0xffffff));
		return COLOUR_INDEX(rgb_to_ansi(colour & 0xffffff, colours));
	}
	i = (int)(colour & 255);
	if (i < colours)
		return colour;
	if (i < 16)
		return COLOUR_INDEX(i & 7);
	return COLOUR_INDEX(rgb_to_ansi(index_to_rgb(i), colours));
}

void
pen_resolve(const struct caps *c, struct pen *p)
{
	bool bright = COLOUR_TYPE(p->fg) == 1 && (p->fg & 255) >= 8 &&
	    (p->fg & 255) < 16;

	p->fg = colour_resolve(c, p->fg);
	p->bg = colour_resolve(c, p->bg);
	/* Eight colours have a bright form by being bold. */
	if (bright && caps_colours(c) == 8)
		p->flags |= PEN_BOLD;
	if (!caps_has(c, CAP_BOLD))
		p->flags &= (uint16_t)~PEN_BOLD;
	if (!caps_has(c, CAP_DIM))
		p->flags &= (uint16_t)~PEN_FAINT;
	if (!caps_has(c, CAP_SITM))
		p->flags &= (uint16_t)~PEN_ITALIC;
	if (!caps_has(c, CAP_BLINK))
		p->flags &= (uint16_t)~PEN_BLINK;
	if (!caps_has(c, CAP_REV))
		p->flags &= (uint16_t)~PEN_REVERSE;
	if (!caps_has(c, CAP_INVIS))
		p->flags &= (uint16_t)~PEN_CONCEAL;
	if (!caps_flag(c, CAPS_STRIKE))
		p->flags &= (uint16_t)~PEN_STRIKE;
	if (!caps_flag(c, CAPS_OVERLINE))
		p->flags &= (uint16_t)~PEN_OVERLINE;
	if (!caps_has(c, CAP_SMUL))
		p->underline = UNDERLINE_NONE;
	else if (p->underline != UNDERLINE_NONE &&
	    !caps_flag(c, CAPS_ULSTYLE))
		p->underline = UNDERLINE_SINGLE;
	if (p->underline == UNDERLINE_NONE || !caps_flag(c, CAPS_ULCOLOUR))
		p->ul = COLOUR_DEFAULT;
	else
		p->ul = colour_resolve(c, p->ul);
	if (!caps_flag(c, CAPS_LINKS))
		p->link = 0;
	p->flags &= 0xff;
	p->pad = 0;
}

/* SGR parameters are gathered here: "1;38;5;9". */
struct sgr {
	char	s[256];
	size_t	n;
	int	count;
};

/* The Linux console keeps no more of one sequence, other terminals break. */
#define SGR_PARAMETERS 15
/* What one attribute or colour takes: "38;2;255;255;255". */
#define SGR_ONE 24

/* Where count parameters go, up to SGR_ONE bytes; NULL: no more fit. */
static char *
sgr_room(struct sgr *g, int count)
{
	if (g->n + SGR_ONE + 4 >= sizeof g->s)
		return NULL;
	if (g->count > 0 && g->count + count > SGR_PARAMETERS) {
		memcpy(g->s + g->n, "m\033[", 3);
		g->n += 3;
		g->count = 0;
	} else if (g->count > 0)
		g->s[g->n++] = ';';
	g->count += count;
	return g->s + g->n;
}

static void
sgr_add(struct sgr *g, const char *s)
{
	char *p = sgr_room(g, 1);
	size_t n = strlen(s);

	if (p == NULL)
		return;
	memcpy(p, s, n);
	g->n += n;
}

/* head and the numbers, count parameters in all. */
static void
sgr_numbers(struct sgr *g, int count, const char *head, char between,
    const uint8_t *v, int n)
{
	char *p = sgr_room(g, count), *start = p;
	size_t len = strlen(head);
	int i;

	if (p == NULL)
		return;
	memcpy(p, head, len);
	p += len;
	for (i = 0; i < n; i++) {
		if (i > 0)
			*p++ = between;
		p += decimal_put(p, v[i]);
	}
	g->n += (size_t)(p - start);
}

static void
sgr_colour(struct sgr *g, const struct outer *o, uint32_t colour, int base)
{
	const uint8_t v[3] = { (uint8_t)(colour >> 16),
	    (uint8_t)(colour >> 8), (uint8_t)colour };
	uint8_t one = v[2];

	if (COLOUR_TYPE(colour) == 2) {
		sgr_numbers(g, 5, base == 30 ? "38;2;" : "48;2;", ';', v, 3);
		return;
	}
	if (COLOUR_TYPE(colour) == 0)
		one = (uint8_t)(base + 9);
	else if (one < 8)
		one = (uint8_t)(base + one);
	else if (one < 16 && caps_colours(o->caps) >= 16)
		one = (uint8_t)(base + 60 + one - 8);
	else {
		sgr_numbers(g, 3, base == 30 ? "38;5;" : "48;5;", ';', &one,
		    1);
		return;
	}
	sgr_numbers(g, 1, "", ';', &one, 1);
}

static void
sgr_ul_colour(struct sgr *g, uint32_t colour)
{
	const uint8_t v[3] = { (uint8_t)(colour >> 16),
	    (uint8_t)(colour >> 8), (uint8_t)colour };

	if (COLOUR_TYPE(colour) == 0)
		sgr_add(g, "59");
	else if (COLOUR_TYPE(colour) == 2)
		sgr_numbers(g, 6, "58:2::", ':', v, 3);
	else
		sgr_numbers(g, 3, "58:5:", ':', v + 2, 1);
}

static const struct {
	uint16_t	 flag;
	const char	*on, *off;
	enum cap	 cap;
} attributes[] = {
	{ PEN_BOLD, "1", "22", CAP_BOLD },
	{ PEN_FAINT, "2", "22", CAP_DIM },
	{ PEN_ITALIC, "3", "23", CAP_SITM },
	{ PEN_BLINK, "5", "25", CAP_BLINK },
	{ PEN_REVERSE, "7", "27", CAP_REV },
	{ PEN_CONCEAL, "8", "28", CAP_INVIS },
	{ PEN_STRIKE, "9", "29", CAP_SMXX },
	{ PEN_OVERLINE, "53", "55", CAP_SMOL },
};
#define NATTRIBUTES (sizeof attributes / sizeof attributes[0])

static void
sgr_from_to(struct sgr *g, const struct outer *o, const struct pen *from,
    const struct pen *to)
{
	uint16_t have = from->flags;
	size_t i;

	for (i = 0; have != to->flags && i < NATTRIBUTES; i++) {
		if ((have & ~to->flags & attributes[i].flag) == 0)
			continue;
		sgr_add(g, attributes[i].off);
		have &= (uint16_t)~attributes[i].flag;
		/* 22 takes bold and faint away, whichever was meant. */
		if ((attributes[i].flag & (PEN_BOLD | PEN_FAINT)) != 0)
			have &= (uint16_t)~(PEN_BOLD | PEN_FAINT);
	}
	for (i = 0; have != to->flags && i < NATTRIBUTES; i++)
		if ((to->flags & ~have & attributes[i].flag) != 0)
			sgr_add(g, attributes[i].on);
	if (from->underline != to->underline) {
		if (to->underline == UNDERLINE_NONE)
			sgr_add(g, "24");
		else if (to->underline == UNDERLINE_SINGLE)
			sgr_add(g, "4");
		else
			sgr_numbers(g, 2, "4:", ':', &to->underline, 1);
	}
	if (from->fg != to->fg)
		sgr_colour(g, o, to->fg, 30);
	if (from->bg != to->bg)
		sgr_colour(g, o, to->bg, 40);
	if (from->ul != to->ul)
		sgr_ul_colour(g, to->ul);
}

static bool
pen_same(const struct pen *a, const struct pen *b)
{
	return a->fg == b->fg && a->bg == b->bg && a->ul == b->ul &&
	    a->flags == b->flags && a->underline == b->underline;
}

void
pen_blank(struct pen *p)
{
	uint16_t lines = p->flags & (PEN_STRIKE | PEN_OVERLINE);

	if ((p->flags & PEN_REVERSE) != 0 || lines != 0 ||
	    p->underline != UNDERLINE_NONE) {
		p->flags &= PEN_STRIKE | PEN_OVERLINE | PEN_REVERSE |
		    PEN_BOLD | PEN_FAINT | PEN_BLINK | PEN_CONCEAL;
		return;
	}
	p->fg = COLOUR_DEFAULT;
	p->flags = 0;
}

bool
pen_is_plain(const struct pen *p)
{
	static const struct pen plain;

	return pen_same(&plain, p);
}

bool
outer_blank_is(const struct outer *o, const struct pen *p, uint32_t link)
{
	struct pen blank = o->pen;

	pen_blank(&blank);
	return o->pen_known && o->link == link && pen_same(&blank, p);
}

bool
outer_pen_is(const struct outer *o, const struct pen *p, uint32_t link)
{
	return o->pen_known && o->link == link && pen_same(&o->pen, p);
}

/* For a terminal whose strings are its own: all off, then each on. */
static void
pen_by_strings(struct outer *o, const struct pen *to)
{
	size_t i;

	caps_emit(o->caps, CAP_SGR0, 0, 0, o->out);
	for (i = 0; i < NATTRIBUTES; i++)
		if ((to->flags & attributes[i].flag) != 0)
			caps_emit(o->caps, attributes[i].cap, 0, 0, o->out);
	if (to->underline != UNDERLINE_NONE)
		caps_emit(o->caps, CAP_SMUL, 0, 0, o->out);
	if (COLOUR_TYPE(to->fg) == 1)
		caps_emit(o->caps, CAP_SETAF, (int)(to->fg & 255), 0, o->out);
	if (COLOUR_TYPE(to->bg) == 1)
		caps_emit(o->caps, CAP_SETAB, (int)(to->bg & 255), 0, o->out);
}

static struct outer_step *
step_of(struct outer *o, const struct pen *to)
{
	const struct pen *from = &o->pen;
	uint32_t h = (from->fg * 5 + from->bg) * 7 + from->flags;

	h = (h * 11 + to->fg * 3 + to->bg) * 13 + to->flags;
	return &o->steps[(h ^ h >> 16) % OUTER_STEPS];
}

/* From a pen that is known, or from any. */
static void
pen_by_sgr(struct outer *o, const struct pen *to, struct sgr *best)
{
	static const struct pen plain;
	struct sgr step;

	best->n = 0;
	best->count = 0;
	if (!pen_same(&plain, to))
		sgr_add(best, "0");
	sgr_from_to(best, o, &plain, to);
	if (!o->pen_known || !caps_sgr_off(o->caps))
		return;
	step.n = 0;
	step.count = 0;
	sgr_from_to(&step, o, &o->pen, to);
	if (step.n < best->n) {
		memcpy(best->s, step.s, step.n);
		best->n = step.n;
	}
}

void
outer_pen(struct outer *o, const struct pen *to)
{
	struct outer_step *known = step_of(o, to);
	struct sgr sgr;

	if (o->pen_known && pen_same(&o->pen, to))
		return;
	if (!caps_sgr(o->caps))
		pen_by_strings(o, to);
	else if (o->pen_known && known->n > 0 &&
	    pen_same(&known->from, &o->pen) && pen_same(&known->to, to))
		buf_put(o->out, known->s, known->n);
	else {
		pen_by_sgr(o, to, &sgr);
		memmove(sgr.s + 2, sgr.s, sgr.n);
		memcpy(sgr.s, "\033[", 2);
		sgr.s[sgr.n + 2] = 'm';
		sgr.n += 3;
		buf_put(o->out, sgr.s, sgr.n);
		if (o->pen_known && sgr.n <= sizeof known->s) {
			known->from = o->pen;
			known->to = *to;
			known->n = (uint8_t)sgr.n;
			memcpy(known->s, sgr.s, sgr.n);
		}
	}
	o->pen = *to;
	o->pen_known = true;
}

void
outer_reset_pen(struct outer *o)
{
	static const struct pen plain;

	outer_pen(o, &plain);
}

bool
outer_erases(const struct outer *o, uint32_t bg)
{
	return o->pen_known && o->pen.bg == bg &&
	    (o->pen.flags & ~(PEN_BOLD | PEN_FAINT | PEN_ITALIC)) == 0 &&
	    o->pen.underline == UNDERLINE_NONE;
}

void
outer_erase_pen(struct outer *o, const struct pen *to)
{
	if (!outer_erases(o, to->bg))
		outer_pen(o, to);
}

void
outer_link(struct outer *o, uint32_t link, const char *uri, const char *id)
{
	if (o->link == link || !caps_flag(o->caps, CAPS_LINKS))
		return;
	o->link = link;
	if (link == 0 || uri == NULL)
		buf_puts(o->out, "\033]8;;\033\\");
	else if (id != NULL && *id != '\0')
		buf_printf(o->out, "\033]8;id=%s;%s\033\\", id, uri);
	else
		buf_printf(o->out, "\033]8;;%s\033\\", uri);
}
