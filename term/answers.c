/* SPDX-License-Identifier: ISC */
/*
 * Questions that programs ask their terminal, answered here and only here:
 * each once, in order, with the offset of the byte after its last one. What
 * is not known is not answered, as real terminals do.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "screen-private.h"

#define CSI(leader, mid, final) ((leader) << 16 | (mid) << 8 | (final))

void
answers_put(struct screen *s, const char *fmt, ...)
{
	char text[512];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	if (n > 0 && n < (int)sizeof text && s->cb.answer != NULL)
		s->cb.answer(s->at, text, n, s->cb.arg);
}

/* "1.2.3" as 10203, the way terminals number themselves in DA2. */
static int
version_number(void)
{
	int part[3] = { 0, 0, 0 }, i = 0;
	const char *p;

	for (p = DLMUX_VERSION; *p != '\0' && i < 3; p++) {
		if (*p >= '0' && *p <= '9' && part[i] < 1000)
			part[i] = part[i] * 10 + (*p - '0');
		else if (*p == '.')
			i++;
		else if (*p != 'v')
			break;
	}
	return part[0] * 10000 + part[1] * 100 + part[2];
}

static void
position(struct screen *s, const char *mark)
{
	int row = s->row, col = cursor_col(s);

	if (s->inner & INNER_ORIGIN) {
		row -= s->top;
		if (s->inner & INNER_SIDES)
			col -= s->left;
	}
	/* DECXCPR names the page as well. */
	answers_put(s, "\033[%s%d;%d%sR", mark, row + 1, col + 1,
	    *mark != '\0' ? ";1" : "");
}

static void
status(struct screen *s, bool dec)
{
	switch (filter_param(&s->filter, 0, 0)) {
	case 5:
		answers_put(s, dec ? "\033[?0n" : "\033[0n");
		break;
	case 6:
		position(s, dec ? "?" : "");
		break;
	case 15:
		if (dec)
			answers_put(s, "\033[?13n");	/* no printer */
		break;
	case 25:
		if (dec)
			answers_put(s, "\033[?20n");	/* keys unlocked */
		break;
	case 26:
		if (dec)
			answers_put(s, "\033[?27;1;0;0n");
		break;
	case 996:
		if (dec)
			answers_colour(s, SCREEN_ASK_SCHEME, s->at);
		break;
	}
}

static void
window(struct screen *s)
{
	switch (filter_param(&s->filter, 0, 0)) {
	case 11:
		answers_put(s, "\033[1t");	/* not iconified */
		break;
	case 18:
		answers_put(s, "\033[8;%d;%dt", s->rows, s->cols);
		break;
	case 19:
		answers_put(s, "\033[9;%d;%dt", s->rows, s->cols);
		break;
	}
}

bool
answers_csi(struct screen *s, uint8_t final)
{
	const struct filter *f = &s->filter;
	int arg = filter_param(f, 0, 0);

	switch (CSI(f->leader, f->nmid ? f->mid[0] : 0, final)) {
	case CSI(0, 0, 'c'):
		if (arg == 0)
			answers_put(s, "\033[?62;22c");
		return true;
	case CSI('>', 0, 'c'):
		if (arg == 0)
			answers_put(s, "\033[>1;%d;0c", version_number());
		return true;
	case CSI('=', 0, 'c'):
		if (arg == 0)
			answers_put(s, "\033P!|00000000\033\\");
		return true;
	case CSI(0, 0, 'n'):
		status(s, false);
		return true;
	case CSI('?', 0, 'n'):
		status(s, true);
		return true;
	case CSI(0, '$', 'p'):
		answers_put(s, "\033[%d;%d$y", arg,
		    decmode_query(s, arg, false));
		return true;
	case CSI('?', '$', 'p'):
		answers_put(s, "\033[?%d;%d$y", arg,
		    decmode_query(s, arg, true));
		return true;
	case CSI('>', 0, 'q'):
		if (arg == 0)
			answers_put(s, "\033P>|dlmux(%s)\033\\",
			    DLMUX_VERSION);
		return true;
	case CSI('?', 0, 'u'):
		answers_put(s, "\033[?%du", s->modes.kitty_flags);
		return true;
	case CSI('?', 0, 'm'):
		if (arg == 4)
			answers_put(s, "\033[>4;%dm", s->modes.modify_other);
		return true;
	case CSI(0, 0, 'x'):
		if (arg < 2)
			answers_put(s, "\033[%d;1;1;128;128;1;0x", arg + 2);
		return true;
	case CSI(0, 0, 't'):
		window(s);
		return arg != 22 && arg != 23;
	}
	return false;
}

/* --- strings ----------------------------------------------------------- */

static void
request_status(struct screen *s, const char *what)
{
	struct buf b;

	if (strcmp(what, "m") == 0) {
		buf_init(&b, 256);
		sgr_describe(&s->pen, &b);
		buf_u8(&b, 0);
		if (buf_ok(&b))
			answers_put(s, "\033P1$r%sm\033\\",
			    (const char *)b.data);
		buf_free(&b);
	} else if (strcmp(what, "r") == 0)
		answers_put(s, "\033P1$r%d;%dr\033\\", s->top + 1, s->bottom);
	else if (strcmp(what, "s") == 0)
		answers_put(s, "\033P1$r%d;%ds\033\\",
		    s->inner & INNER_SIDES ? s->left + 1 : 1,
		    s->inner & INNER_SIDES ? s->right : s->cols);
	else if (strcmp(what, " q") == 0)
		answers_put(s, "\033P1$r%d q\033\\", s->modes.cursor_shape);
	else if (strcmp(what, "\"q") == 0)
		answers_put(s, "\033P1$r%d\"q\033\\",
		    s->pen.flags & PEN_PROTECTED ? 1 : 0);
	else if (strcmp(what, "\"p") == 0)
		answers_put(s, "\033P1$r62;1\"p\033\\");
	else
		answers_put(s, "\033P0$r\033\\");
}

void
answers_dcs(struct screen *s)
{
	struct buf *b = &s->filter.str;
	const char *p;

	buf_u8(b, 0);
	if (!buf_ok(b))
		return;
	p = (const char *)b->data;
	if (strncmp(p, "$q", 2) == 0)
		request_status(s, p + 2);
	else if (strncmp(p, "+q", 2) == 0)
		/* XTGETTCAP: nothing is told that TERM does not tell. */
		answers_put(s, "\033P0+r\033\\");
}

/* --- colours ------------------------------------------------------------- */

/* Which colour is the answer, or decides on it? */
static int
colour_of(const struct screen_ask *ask)
{
	return ask->which == SCREEN_ASK_SCHEME ? THEME_BACKGROUND : ask->which;
}

static void
colour_put(const struct screen_ask *ask, uint32_t c, struct buf *b)
{
	if (ask->which == SCREEN_ASK_SCHEME) {
		buf_printf(b, "\033[?997;%dn", theme_dark(c) ? 1 : 2);
		return;
	}
	if (ask->which < THEME_FOREGROUND)
		buf_printf(b, "\033]4;%d;", ask->which);
	else
		buf_printf(b, "\033]%d;",
		    10 + ask->which - THEME_FOREGROUND);
	buf_printf(b, "rgb:%02x%02x/%02x%02x/%02x%02x%s", c >> 16, c >> 16,
	    c >> 8 & 255, c >> 8 & 255, c & 255, c & 255,
	    ask->bell ? "\a" : "\033\\");
}

void
screen_ask_answer(const struct screen_ask *ask, const struct theme *theme,
    struct buf *b)
{
	colour_put(ask, theme_colour(theme, colour_of(ask)), b);
}

void
answers_colour(struct screen *s, int which, uint64_t at)
{
	struct screen_ask ask = { which, s->filter.bell };
	int i = colour_of(&ask);
	struct buf b;

	if (!s->palette_set[i] && s->cb.colour != NULL) {
		s->cb.colour(at, &ask, s->cb.arg);
		return;
	}
	if (s->cb.answer == NULL)
		return;
	buf_init(&b, 64);
	colour_put(&ask, s->palette_set[i] ? s->palette[i] :
	    theme_colour(NULL, i), &b);
	s->cb.answer(at, b.data, b.len, s->cb.arg);
	buf_free(&b);
}
