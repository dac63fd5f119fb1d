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

/* Until a program sets them: light grey on black, as the answer has to be
 * something and dlmux does not ask the user's terminal for it. */
#define DEFAULT_FG	0xe5e5e5u
#define DEFAULT_BG	0x000000u

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
	int row = s->row, col = s->col;

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

static uint32_t
palette_default(int i)
{
	static const uint32_t first[16] = {
		0x000000, 0xcd0000, 0x00cd00, 0xcdcd00, 0x0000ee, 0xcd00cd,
		0x00cdcd, 0xe5e5e5, 0x7f7f7f, 0xff0000, 0x00ff00, 0xffff00,
		0x5c5cff, 0xff00ff, 0x00ffff, 0xffffff
	};
	static const uint8_t level[6] = { 0, 95, 135, 175, 215, 255 };
	uint32_t grey;

	if (i < 16)
		return first[i];
	if (i < 232) {
		i -= 16;
		return (uint32_t)level[i / 36] << 16 |
		    (uint32_t)level[i / 6 % 6] << 8 | level[i % 6];
	}
	if (i < 256) {
		grey = 8 + 10 * (i - 232);
		return grey << 16 | grey << 8 | grey;
	}
	return i == 257 ? DEFAULT_BG : DEFAULT_FG;
}

void
answers_colour(struct screen *s, int which, const char *prefix)
{
	uint32_t c = s->palette_set[which] ? s->palette[which] :
	    palette_default(which);

	/* The answer ends as the question did. */
	answers_put(s, "\033]%s;rgb:%02x%02x/%02x%02x/%02x%02x%s", prefix,
	    c >> 16, c >> 16, c >> 8 & 255, c >> 8 & 255, c & 255, c & 255,
	    s->filter.bell ? "\a" : "\033\\");
}
