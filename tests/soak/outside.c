/* SPDX-License-Identifier: ISC */
/*
 * The terminal outside, as far as it reads bytes; contract in outside.h. Two
 * libvterm screens get the same bytes but for pens: the first the pens that
 * libvterm knows, the second one direct colour for each combination of what it
 * does not know.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <vterm.h>

#include "../../server/base/buf.h"
#include "../../server/base/mem.h"
#include "outside-private.h"

#define RUN_MAX		2048

const struct outside_extra outside_no_extra = { .link = "" };

static void
complain(struct outside *o, const char *what, const void *p, size_t n)
{
	const uint8_t *s = p;
	struct buf b;
	size_t i;

	if (o->complaint != NULL)
		return;
	buf_init(&b, 4096);
	buf_printf(&b, "%s: ", what);
	for (i = 0; i < n && i < 80; i++)
		if (s[i] < 0x20 || s[i] >= 0x7f)
			buf_printf(&b, "\\x%02x", s[i]);
		else
			buf_put(&b, s + i, 1);
	o->complaint = xasprintf("%.*s", (int)b.len, (char *)b.data);
	buf_free(&b);
}

/* --- libvterm ------------------------------------------------------------ */

size_t
outside_utf8(uint32_t ch, char *out)
{
	size_t n = 0;

	if (ch < 0x80)
		out[n++] = (char)ch;
	else if (ch < 0x800) {
		out[n++] = (char)(0xc0 | ch >> 6);
		out[n++] = (char)(0x80 | (ch & 63));
	} else if (ch < 0x10000) {
		out[n++] = (char)(0xe0 | ch >> 12);
		out[n++] = (char)(0x80 | (ch >> 6 & 63));
		out[n++] = (char)(0x80 | (ch & 63));
	} else {
		out[n++] = (char)(0xf0 | ch >> 18);
		out[n++] = (char)(0x80 | (ch >> 12 & 63));
		out[n++] = (char)(0x80 | (ch >> 6 & 63));
		out[n++] = (char)(0x80 | (ch & 63));
	}
	return n;
}

size_t
outside_text(const VTermScreenCell *cell, char *out)
{
	size_t n = 0, i;

	if (cell->chars[0] == 0 || cell->chars[0] == (uint32_t)-1) {
		out[0] = ' ';
		return 1;
	}
	for (i = 0; i < VTERM_MAX_CHARS_PER_CELL && cell->chars[i] != 0; i++)
		n += outside_utf8(cell->chars[i], out + n);
	return n;
}

static int
on_pushline(int cols, const VTermScreenCell *cells, void *arg)
{
	struct outside *o = arg;
	char *s = xmalloc((size_t)cols * 32 + 1);
	size_t n = 0;
	int x;

	for (x = 0; x < cols; x += cells[x].width > 1 ? 2 : 1)
		n += outside_text(&cells[x], s + n);
	while (n > 0 && s[n - 1] == ' ')
		n--;
	s[n] = '\0';
	if (o->nlines == LINES_MAX) {
		free(s);
		return 1;
	}
	o->lines[o->nlines++] = s;
	return 1;
}

static int
on_prop(VTermProp prop, VTermValue *val, void *arg)
{
	struct outside *o = arg;

	if (prop == VTERM_PROP_ALTSCREEN)
		o->alt = val->boolean;
	return 1;
}

static const VTermScreenCallbacks callbacks = {
	.settermprop = on_prop,
	.sb_pushline = on_pushline
};

static void
flush(struct outside *o)
{
	char away[512];
	int i;

	for (i = 0; i < 2; i++) {
		if (o->run[i].len > 0)
			vterm_input_write(o->vt[i], (char *)o->run[i].data,
			    o->run[i].len);
		buf_reset(&o->run[i]);
		while (vterm_output_read(o->vt[i], away, sizeof away) > 0)
			;
	}
}

static void
pass(struct outside *o, const void *p, size_t n)
{
	buf_put(&o->run[0], p, n);
	buf_put(&o->run[1], p, n);
}

struct outside *
outside_new(int rows, int cols)
{
	struct outside *o = xcalloc(1, sizeof *o);
	int i;

	o->rows = rows;
	o->cols = cols;
	for (i = 0; i < 2; i++) {
		o->vt[i] = vterm_new(rows, cols);
		vterm_set_utf8(o->vt[i], 1);
		o->vts[i] = vterm_obtain_screen(o->vt[i]);
		if (i == 0)
			vterm_screen_set_callbacks(o->vts[i], &callbacks, o);
		vterm_screen_enable_altscreen(o->vts[i], 1);
		vterm_screen_reset(o->vts[i], 1);
		buf_init(&o->run[i], STRING_MAX);
	}
	buf_init(&o->str, STRING_MAX);
	buf_init(&o->answers, STRING_MAX);
	buf_init(&o->raw, STRING_MAX);
	o->title = xstrdup("own");
	o->extras = xcalloc(EXTRAS_MAX, sizeof *o->extras);
	o->pen = o->extras[0] = outside_no_extra;
	o->nextras = 1;
	o->region_bottom = rows;
	o->modes[o->nmodes++] = 25;
	return o;
}

void
outside_free(struct outside *o)
{
	size_t i;

	if (o == NULL)
		return;
	for (i = 0; i < o->nlines; i++)
		free(o->lines[i]);
	for (i = 0; i < 2; i++) {
		vterm_free(o->vt[i]);
		buf_free(&o->run[i]);
	}
	while (o->ntitles > 0)
		free(o->titles[--o->ntitles]);
	free(o->title);
	buf_free(&o->answers);
	buf_free(&o->str);
	buf_free(&o->raw);
	free(o->extras);
	for (i = 0; i < o->nlinks; i++)
		free(o->links[i]);
	free(o->complaint);
	free(o);
}

void
outside_resize(struct outside *o, int rows, int cols)
{
	VTermPos pos;
	int i;

	flush(o);
	o->rows = rows;
	o->cols = cols;
	o->region_top = 0;
	o->region_bottom = rows;
	for (i = 0; i < 2; i++) {
		vterm_set_size(o->vt[i], rows, cols);
		/* Old libvterm may leave the cursor above the first row, and
		 * dies of the next erase. */
		vterm_state_get_cursorpos(vterm_obtain_state(o->vt[i]), &pos);
		if (pos.row < 0)
			vterm_input_write(o->vt[i], "\033[H", 3);
	}
}

/* --- the strict parser ---------------------------------------------------- */

int
outside_mode_at(const struct outside *o, int number)
{
	int i;

	for (i = 0; i < o->nmodes; i++)
		if (o->modes[i] == number)
			return i;
	return -1;
}

static void
mode_set(struct outside *o, int number, bool on)
{
	int at = outside_mode_at(o, number);

	if (on && at < 0 && o->nmodes < MODES_MAX)
		o->modes[o->nmodes++] = number;
	else if (!on && at >= 0)
		o->modes[at] = o->modes[--o->nmodes];
}

/* The pen for the second screen. */
static void
extra_settle(struct outside *o)
{
	struct outside_extra *e = &o->pen;
	uint32_t i;

	if (memcmp(e, &outside_no_extra, sizeof outside_no_extra) == 0)
		i = 0;
	else
		for (i = 1; i < o->nextras; i++)
			if (memcmp(e, &o->extras[i], sizeof *e) == 0)
				break;
	if (i == o->extra_now)
		return;
	if (i == o->nextras) {
		if (o->nextras == EXTRAS_MAX)
			return;
		o->extras[o->nextras++] = *e;
	}
	o->extra_now = i;
	if (i == 0)
		buf_puts(&o->run[1], "\033[39m");
	else
		buf_printf(&o->run[1], "\033[38;2;%u;%u;%um", i >> 16 & 255,
		    i >> 8 & 255, i & 255);
}

static int
sgr_colour(struct outside *o, int i, uint32_t *out)
{
	const struct param *p = &o->param[i];
	int left = o->nparams - i - 1, n[4], k, used;

	/* 5:n, 2::r:g:b, or with semicolons. */
	if (left >= 2 && p[1].n == 5) {
		*out = 0x01000000u | (uint32_t)(p[2].n & 255);
		return 2;
	}
	if (left < 4 || p[1].n != 2)
		return left + 1;
	used = p[1].sub && left >= 5 && p[5].sub ? 5 : 4;
	for (k = 0; k < 3; k++)
		n[k] = p[used - 2 + k].n & 255;
	*out = 0x02000000u | (uint32_t)(n[0] << 16 | n[1] << 8 | n[2]);
	return used;
}

static void
sgr(struct outside *o)
{
	struct outside_extra *e = &o->pen;
	struct buf b;
	uint32_t colour;
	int i, n, k, skip;
	bool keep;

	buf_init(&b, 4096);
	if (o->nparams == 0) {
		o->param[0].n = 0;
		o->param[0].sub = false;
		o->nparams = 1;
	}
	o->styled = true;
	for (i = 0; i < o->nparams; i += 1 + skip) {
		n = o->param[i].n < 0 ? 0 : o->param[i].n;
		skip = 0;
		keep = true;
		switch (n) {
		case 0:
			e->faint = e->conceal = e->overline = false;
			e->underline = 0;
			e->ul = 0;
			o->styled = false;
			break;
		case 2: e->faint = true; keep = false; break;
		case 22: e->faint = false; break;
		case 8: e->conceal = true; keep = false; break;
		case 28: e->conceal = false; keep = false; break;
		case 53: e->overline = true; keep = false; break;
		case 55: e->overline = false; keep = false; break;
		case 59: e->ul = 0; keep = false; break;
		case 58:
			skip = sgr_colour(o, i, &e->ul);
			keep = false;
			break;
		case 38: case 48:
			skip = sgr_colour(o, i, &colour);
			break;
		case 4:
			e->underline = 1;
			if (i + 1 < o->nparams && o->param[i + 1].sub) {
				skip = 1;
				e->underline = (uint8_t)o->param[i + 1].n;
				keep = e->underline <= 3;
			}
			break;
		case 24: e->underline = 0; break;
		default:
			if (!(n == 1 || n == 3 || n == 5 || n == 7 || n == 9 ||
			    n == 23 || n == 25 || n == 27 || n == 29 ||
			    (n >= 30 && n <= 49) || (n >= 90 && n <= 107)))
				complain(o, "an SGR that nobody asked for",
				    o->raw.data, o->raw.len);
		}
		if (!keep)
			continue;
		if (n == 4 && skip == 1) {
			buf_printf(&b, "\033[4:%dm", e->underline);
			continue;
		}
		buf_printf(&b, "\033[%d", n);
		for (k = 1; k <= skip; k++)
			if (o->param[i + k].n >= 0)
				buf_printf(&b, ";%d", o->param[i + k].n);
		buf_puts(&b, "m");
	}
	buf_put(&o->run[0], b.data, b.len);
	buf_free(&b);
	extra_settle(o);
}

static void
title_stack(struct outside *o)
{
	int op = o->param[0].n, which = o->nparams > 1 ? o->param[1].n : 0;

	if ((op != 22 && op != 23) || (which != 0 && which != 2)) {
		complain(o, "a window operation", o->raw.data, o->raw.len);
		return;
	}
	if (op == 22) {
		if (o->ntitles == TITLES_MAX) {
			complain(o, "titles without end", "", 0);
			return;
		}
		o->titles[o->ntitles++] = xstrdup(o->title);
	} else if (o->ntitles > 0) {
		free(o->title);
		o->title = o->titles[--o->ntitles];
	}
}

static void
private_mode(struct outside *o, bool on)
{
	int i, n;
	char s[32];

	for (i = 0; i < o->nparams; i++) {
		n = o->param[i].n;
		mode_set(o, n, on);
		if (n == 1049 || n == 1047 || n == 47 || n == 25 || n == 5 ||
		    n == 7) {
			snprintf(s, sizeof s, "\033[?%d%c", n == 47 ? 1047 :
			    n, on ? 'h' : 'l');
			pass(o, s, strlen(s));
		} else if (n != 1 && n != 3 && n != 4 && n != 9 && n != 12 &&
		    n != 1000 && n != 1002 && n != 1003 && n != 1004 &&
		    n != 1005 && n != 1006 && n != 1007 && n != 1015 &&
		    n != 1016 && n != 2004 && n != 2026 && n != 2031 &&
		    n != 34)
			complain(o, "a mode that nobody asked for",
			    o->raw.data, o->raw.len);
	}
}

static void
kitty(struct outside *o)
{
	int page = o->alt ? 1 : 0, n = o->nparams > 0 ? o->param[0].n : 0;

	if (o->leader == '>') {
		o->kitty[page] = n;
		o->kitty_depth[page]++;
	} else if (o->leader == '=')
		o->kitty[page] = n;
	else if (o->leader == '<') {
		if (o->kitty_depth[page] == 0)
			complain(o, "a pop of key flags too many", "", 0);
		else
			o->kitty_depth[page]--;
		o->kitty[page] = 0;
	}
	if (o->kitty_depth[page] > 1)
		complain(o, "key flags pushed twice", "", 0);
}

static void
csi(struct outside *o, uint8_t final)
{
	bool plain = o->leader == 0 && o->mid == 0;

	flush(o);	/* so that alt and the cursor are as of now */
	if (plain && final == 'm')
		sgr(o);
	else if (plain && final == 't')
		title_stack(o);
	else if (o->leader == '?' && (final == 'h' || final == 'l'))
		private_mode(o, final == 'h');
	else if (plain && final == 'c' && o->nparams == 0)
		buf_puts(&o->answers, "\033[?62;22c");
	else if (o->leader == '?' && o->mid == '$' && final == 'p')
		buf_printf(&o->answers, "\033[?%d;0$y", o->param[0].n);
	else if (final == 'u' && o->leader != 0)
		kitty(o);
	else if (final == 'm' && o->leader == '>')
		o->other = o->nparams > 1 ? o->param[1].n : 0;
	else if (final == 'q' && o->mid == ' ')
		o->shape = o->nparams > 0 && o->param[0].n > 0 ?
		    o->param[0].n : 0;
	else if (plain && final == 'r') {
		o->region_top = o->nparams > 0 && o->param[0].n > 0 ?
		    o->param[0].n - 1 : 0;
		o->region_bottom = o->nparams > 1 && o->param[1].n > 0 ?
		    o->param[1].n : o->rows;
		pass(o, o->raw.data, o->raw.len);
	} else if (plain && final != '\0' && strchr("@ABCDEFGHJKLMPSTXdf`",
	    final) != NULL)
		pass(o, o->raw.data, o->raw.len);
	else if (plain && (final == 'l' || final == 'h') && o->nparams == 1 &&
	    (o->param[0].n == 4 || o->param[0].n == 34))
		pass(o, o->raw.data, o->raw.len);
	else
		complain(o, "a control sequence", o->raw.data, o->raw.len);
}

static const char *
link_of(struct outside *o, const char *s)
{
	size_t i;

	for (i = 0; i < o->nlinks; i++)
		if (strcmp(o->links[i], s) == 0)
			return o->links[i];
	if (o->nlinks == LINKS_MAX)
		return outside_no_extra.link;
	return o->links[o->nlinks++] = xstrdup(s);
}

/* 10;? and its kin, 4;N;? */
static bool
colour_question(struct outside *o, const char *s)
{
	size_t n = strspn(s, "0123456789;");
	int v = atoi(s);

	if (strcmp(s + n, "?") != 0 || n == 0 || (v != 4 && v != 10 &&
	    v != 11 && v != 12))
		return false;
	buf_printf(&o->answers, "\033]%.*srgb:%02x/22/33\a", (int)n, s,
	    v == 10 ? 0xee : 0x11);
	o->asked = true;
	return true;
}

static void
osc(struct outside *o)
{
	const char *s, *semi;

	buf_u8(&o->str, 0);
	s = (const char *)o->str.data;
	if (strncmp(s, "2;", 2) == 0 || strncmp(s, "0;", 2) == 0) {
		free(o->title);
		o->title = xstrdup(s + 2);
	} else if (strncmp(s, "8;", 2) == 0) {
		semi = strchr(s + 2, ';');
		if (semi == NULL) {
			complain(o, "a link", s, strlen(s));
			semi = "";
		}
		o->pen.link = semi[0] == '\0' || semi[1] == '\0' ? outside_no_extra.link :
		    link_of(o, strncmp(s + 2, "id=", 3) == 0 ? s + 5 : s + 2);
		extra_settle(o);
	} else if (strncmp(s, "12;#", 4) == 0 && strlen(s) == 10)
		memcpy(o->cursor_colour, s + 3, 8);
	else if (strcmp(s, "112") == 0)
		o->cursor_colour[0] = '\0';
	else if (strncmp(s, "52;", 3) == 0) {
		if (strchr(s, '?') != NULL)
			complain(o, "a question", s, strlen(s));
	} else if (strncmp(s, "9;", 2) != 0 &&
	    strncmp(s, "777;notify;", 11) != 0 && !colour_question(o, s))
		complain(o, "an OSC", s, strlen(s));
	buf_reset(&o->str);
}

static void
escape(struct outside *o, uint8_t c)
{
	o->state = GROUND;
	switch (c) {
	case '[':
		o->state = CSI;
		o->leader = o->mid = 0;
		o->nparams = 0;
		break;
	case ']':
		o->state = OSC;
		break;
	case '\\':
		break;		/* the end of nothing */
	case '=':
	case '>':
		o->keypad = c == '=';
		break;
	case '(':
	case ')':
		o->state = CHARSET;
		break;
	case 'M':
	case 'D':
	case '7':
	case '8':
		pass(o, o->raw.data, o->raw.len);
		break;
	default:
		complain(o, "an escape sequence", o->raw.data, o->raw.len);
	}
}

static void
parameter(struct outside *o, uint8_t c)
{
	struct param *p;

	if (c == ';' || c == ':') {
		if (o->nparams == 0)
			o->param[o->nparams++].n = -1;
		if (o->nparams == PARAMS_MAX) {
			complain(o, "too many parameters", o->raw.data,
			    o->raw.len);
			return;
		}
		p = &o->param[o->nparams++];
		p->n = -1;
		p->sub = c == ':';
		return;
	}
	if (o->nparams == 0) {
		o->param[0].n = -1;
		o->param[0].sub = false;
		o->nparams = 1;
	}
	p = &o->param[o->nparams - 1];
	p->n = (p->n < 0 ? 0 : p->n) * 10 + (c - '0');
	if (p->n > 65535) {
		complain(o, "a parameter", o->raw.data, o->raw.len);
		p->n = 0;
	}
}

static void
ground(struct outside *o, uint8_t c)
{
	if (o->need > 0) {
		if ((c & 0xc0) != 0x80) {
			complain(o, "UTF-8", &c, 1);
			o->need = 0;
		} else
			o->need--;
		pass(o, &c, 1);
		return;
	}
	if (c >= 0x80) {
		if (c < 0xc2 || c > 0xf4)
			complain(o, "UTF-8", &c, 1);
		else
			o->need = c >= 0xf0 ? 3 : c >= 0xe0 ? 2 : 1;
		pass(o, &c, 1);
		return;
	}
	if (c == '\a')
		o->bells++;
	else if (c < 0x20 && c != '\r' && c != '\n' && c != '\b' &&
	    c != '\t' && c != 0x0e && c != 0x0f)
		complain(o, "a control character", &c, 1);
	else if (c == 0x7f)
		complain(o, "a DEL", &c, 1);
	else if (c != '\a' && c != 0x0e && c != 0x0f) {
		/* Cut only between ASCII: old libvterm loses a mark or a
		 * character that is cut from what is before it. */
		if (o->run[0].len > RUN_MAX)
			flush(o);
		pass(o, &c, 1);
	}
}

static void
byte(struct outside *o, uint8_t c)
{
	if (o->state == GROUND && c != 0x1b) {
		ground(o, c);
		return;
	}
	if (o->state == GROUND) {
		buf_reset(&o->raw);
		buf_u8(&o->raw, c);
		if (o->need > 0)
			complain(o, "a cut character before", &c, 1);
		o->need = 0;
		o->state = ESC;
		return;
	}
	if (o->state != OSC && o->state != OSC_ESC)
		buf_u8(&o->raw, c);
	switch (o->state) {
	case ESC:
		escape(o, c);
		break;
	case CHARSET:
		o->state = GROUND;
		break;
	case CSI:
		if ((c >= '0' && c <= '9') || c == ';' || c == ':')
			parameter(o, c);
		else if (c >= '<' && c <= '?')
			o->leader = c;
		else if (c >= 0x20 && c < 0x30)
			o->mid = c;
		else if (c >= 0x40 && c < 0x7f) {
			o->state = GROUND;
			csi(o, c);
		} else {
			complain(o, "within a sequence", o->raw.data,
			    o->raw.len);
			o->state = GROUND;
		}
		break;
	case OSC:
		if (c == '\a') {
			o->state = GROUND;
			osc(o);
		} else if (c == 0x1b)
			o->state = OSC_ESC;
		else if (c < 0x20 || c == 0x7f)
			complain(o, "within an OSC", &c, 1);
		else
			buf_u8(&o->str, c);
		break;
	case OSC_ESC:
		o->state = GROUND;
		if (c != '\\')
			complain(o, "within an OSC after ESC", &c, 1);
		osc(o);
		break;
	default:
		break;
	}
}

void
outside_write(struct outside *o, const void *data, size_t len)
{
	const uint8_t *p = data;
	size_t i;

	for (i = 0; i < len; i++)
		byte(o, p[i]);
	if (o->state == GROUND && o->need == 0)
		flush(o);
}
