/* SPDX-License-Identifier: ISC */
/*
 * SGR: the pen. libvterm has no faint, no overline, no underline colour and
 * too few underlines, so the whole pen is kept here.
 */
#include "screen-private.h"

void
sgr_pen(struct screen *s)
{
	s->pen_index = -1;
}

static uint32_t
channel(int v)
{
	return v < 0 ? 0 : v > 255 ? 255 : v;
}

/*
 * A colour after 38, 48 or 58 at parameter i, in the forms 38;5;n and
 * 38;2;r;g;b, or with colons, where a colour space may stand before r.
 * Returns the index after it; *colour is untouched if it is malformed.
 */
static int
colour(const struct filter *f, int i, uint32_t *out)
{
	int end, kind, v[6] = { 0 }, n = 0;

	if (i + 1 >= f->nparams)
		return i + 1;
	if (f->sub >> (i + 1) & 1) {
		for (end = i + 1; end < f->nparams && f->sub >> end & 1; end++)
			if (n < 6)
				v[n++] = f->param[end];
		kind = v[0];
		if (kind == 5 && n >= 2 && v[1] >= 0 && v[1] < 256)
			*out = COLOUR_INDEX(v[1]);
		else if (kind == 2 && n >= 5)
			*out = COLOUR_RGB(channel(v[2]), channel(v[3]),
			    channel(v[4]));
		else if (kind == 2 && n == 4)
			*out = COLOUR_RGB(channel(v[1]), channel(v[2]),
			    channel(v[3]));
		return end;
	}
	kind = filter_param(f, i + 1, 0);
	if (kind == 5) {
		if (filter_param(f, i + 2, 0) < 256)
			*out = COLOUR_INDEX(filter_param(f, i + 2, 0));
		return i + 3;
	}
	if (kind == 2) {
		if (i + 2 < f->nparams)
			*out = COLOUR_RGB(channel(filter_param(f, i + 2, 0)),
			    channel(filter_param(f, i + 3, 0)),
			    channel(filter_param(f, i + 4, 0)));
		return i + 5;
	}
	return i + 2;
}

static void
reset(struct pen *pen)
{
	struct pen fresh = { .link = pen->link };

	fresh.flags = pen->flags & PEN_PROTECTED;
	*pen = fresh;
}

static void
attribute(struct pen *pen, int v)
{
	switch (v) {
	case 0:
		reset(pen);
		break;
	case 1:
		pen->flags |= PEN_BOLD;
		break;
	case 2:
		pen->flags |= PEN_FAINT;
		break;
	case 3:
		pen->flags |= PEN_ITALIC;
		break;
	case 4:
		pen->underline = UNDERLINE_SINGLE;
		break;
	case 5:
	case 6:
		pen->flags |= PEN_BLINK;
		break;
	case 7:
		pen->flags |= PEN_REVERSE;
		break;
	case 8:
		pen->flags |= PEN_CONCEAL;
		break;
	case 9:
		pen->flags |= PEN_STRIKE;
		break;
	case 21:
		pen->underline = UNDERLINE_DOUBLE;
		break;
	case 22:
		pen->flags &= ~(PEN_BOLD | PEN_FAINT);
		break;
	case 23:
		pen->flags &= ~PEN_ITALIC;
		break;
	case 24:
		pen->underline = UNDERLINE_NONE;
		break;
	case 25:
		pen->flags &= ~PEN_BLINK;
		break;
	case 27:
		pen->flags &= ~PEN_REVERSE;
		break;
	case 28:
		pen->flags &= ~PEN_CONCEAL;
		break;
	case 29:
		pen->flags &= ~PEN_STRIKE;
		break;
	case 39:
		pen->fg = COLOUR_DEFAULT;
		break;
	case 49:
		pen->bg = COLOUR_DEFAULT;
		break;
	case 53:
		pen->flags |= PEN_OVERLINE;
		break;
	case 55:
		pen->flags &= ~PEN_OVERLINE;
		break;
	case 59:
		pen->ul = COLOUR_DEFAULT;
		break;
	default:
		if (v >= 30 && v <= 37)
			pen->fg = COLOUR_INDEX(v - 30);
		else if (v >= 40 && v <= 47)
			pen->bg = COLOUR_INDEX(v - 40);
		else if (v >= 90 && v <= 97)
			pen->fg = COLOUR_INDEX(v - 90 + 8);
		else if (v >= 100 && v <= 107)
			pen->bg = COLOUR_INDEX(v - 100 + 8);
	}
}

void
sgr_apply(struct screen *s)
{
	const struct filter *f = &s->filter;
	struct pen *pen = &s->pen;
	int i = 0, v, style;

	sgr_pen(s);
	if (f->nparams == 0)
		reset(pen);
	while (i < f->nparams) {
		v = filter_param(f, i, 0);
		if (v == 38)
			i = colour(f, i, &pen->fg);
		else if (v == 48)
			i = colour(f, i, &pen->bg);
		else if (v == 58)
			i = colour(f, i, &pen->ul);
		else if (v == 4 && i + 1 < f->nparams &&
		    f->sub >> (i + 1) & 1) {
			style = filter_param(f, i + 1, 1);
			if (style <= UNDERLINE_DASHED)
				pen->underline = style;
			i += 2;
		} else {
			attribute(pen, v);
			i++;
		}
		/* Whatever else hangs on by colons belongs to the last. */
		while (i < f->nparams && f->sub >> i & 1)
			i++;
	}
}

static void
describe_colour(uint32_t c, int base, struct buf *out)
{
	uint32_t i = c & 0xffffff;

	switch (COLOUR_TYPE(c)) {
	case 1:
		if (base < 58 && i < 8)
			buf_printf(out, ";%u", base - 8 + i);
		else if (base < 58 && i < 16)
			buf_printf(out, ";%u", base + 52 + i - 8);
		else
			buf_printf(out, ";%d%s5%s%u", base,
			    base == 58 ? ":" : ";", base == 58 ? ":" : ";", i);
		break;
	case 2:
		if (base == 58)
			buf_printf(out, ";58:2::%u:%u:%u", i >> 16,
			    i >> 8 & 255, i & 255);
		else
			buf_printf(out, ";%d;2;%u;%u;%u", base, i >> 16,
			    i >> 8 & 255, i & 255);
		break;
	}
}

void
sgr_describe(const struct pen *pen, struct buf *out)
{
	static const struct {
		uint16_t	flag;
		const char	*code;
	} codes[] = {
		{ PEN_BOLD, ";1" }, { PEN_FAINT, ";2" }, { PEN_ITALIC, ";3" },
		{ PEN_BLINK, ";5" }, { PEN_REVERSE, ";7" },
		{ PEN_CONCEAL, ";8" }, { PEN_STRIKE, ";9" },
		{ PEN_OVERLINE, ";53" }
	};
	size_t i;

	buf_puts(out, "0");
	for (i = 0; i < sizeof codes / sizeof *codes; i++)
		if (pen->flags & codes[i].flag)
			buf_puts(out, codes[i].code);
	if (pen->underline == UNDERLINE_SINGLE)
		buf_puts(out, ";4");
	else if (pen->underline != UNDERLINE_NONE)
		buf_printf(out, ";4:%d", pen->underline);
	describe_colour(pen->fg, 38, out);
	describe_colour(pen->bg, 48, out);
	describe_colour(pen->ul, 58, out);
}
