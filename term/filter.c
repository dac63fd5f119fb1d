/* SPDX-License-Identifier: ISC */
/*
 * The parser in front of everything: it cuts the stream into text, control
 * bytes and whole sequences, with every number, list and string capped, and
 * hands each on when its last byte is here. What is held of an unfinished one
 * is plain data (struct filter), so a checkpoint can be made at any byte.
 *
 * It follows the state machine that real terminals share: control bytes act
 * in the midst of a sequence, ESC begins anew, CAN and SUB give up. It knows
 * only the shape of sequences, not what they do.
 */
#include <string.h>

#include "charset.h"
#include "screen-private.h"

#define REPLACEMENT	0xfffd

void
filter_reset(struct filter *f)
{
	f->state = FILTER_GROUND;
	f->leader = f->nmid = f->nparams = 0;
	f->mid[0] = f->mid[1] = 0;
	f->sub = 0;
	f->bell = f->cut = false;
	f->need = 0;
	f->cp = f->low = 0;
	memset(f->param, 0, sizeof f->param);
	buf_reset(&f->str);
}

int
filter_param(const struct filter *f, int i, int def)
{
	if (i >= f->nparams || f->param[i] < 0)
		return def;
	return f->param[i];
}

int
filter_one(const struct filter *f, int i)
{
	int v = filter_param(f, i, 1);

	return v == 0 ? 1 : v;
}

/* --- UTF-8 -------------------------------------------------------------- */

static void
utf8_broken(struct screen *s)
{
	s->filter.need = 0;
	text_put(s, REPLACEMENT);
}

/* A byte from 0x80 up, in ground. As in xterm a sequence is taken by its
 * shape (up to the 6 bytes of the oldest rules), and one that is overlong, a
 * surrogate or past U+10FFFF is one U+FFFD as a whole. */
static void
utf8(struct screen *s, uint8_t c)
{
	struct filter *f = &s->filter;

	if (c < 0xc0) {
		if (f->need == 0) {
			utf8_broken(s);
			return;
		}
		f->cp = f->cp << 6 | (c & 0x3f);
		if (--f->need > 0)
			return;
		if (f->cp < f->low || f->cp > 0x10ffff ||
		    (f->cp >= 0xd800 && f->cp < 0xe000))
			f->cp = REPLACEMENT;
		text_put(s, f->cp);
		return;
	}
	if (f->need > 0)
		utf8_broken(s);
	if (c < 0xe0) {
		f->need = 1;
		f->cp = c & 0x1f;
		f->low = 0x80;
	} else if (c < 0xf0) {
		f->need = 2;
		f->cp = c & 0x0f;
		f->low = 0x800;
	} else if (c < 0xf8) {
		f->need = 3;
		f->cp = c & 0x07;
		f->low = 0x10000;
	} else if (c < 0xfe) {
		f->need = c < 0xfc ? 4 : 5;
		f->cp = c & (c < 0xfc ? 0x03 : 0x01);
		f->low = 0x110000;	/* never legal */
	} else
		utf8_broken(s);
}

/* --- sequences ---------------------------------------------------------- */

static void
begin(struct filter *f, enum filter_state state)
{
	f->state = state;
	f->leader = f->nmid = f->nparams = 0;
	f->mid[0] = f->mid[1] = 0;
	f->sub = 0;
	f->bell = f->cut = false;
	buf_reset(&f->str);
}

static void
middle(struct filter *f, uint8_t c)
{
	if (f->nmid < 2)
		f->mid[f->nmid++] = c;
	else
		f->nmid = 3;
}

static void
escape(struct screen *s, uint8_t c)
{
	struct filter *f = &s->filter;

	if (c < 0x30) {
		middle(f, c);
		return;
	}
	f->state = FILTER_GROUND;
	if (f->nmid == 0)
		switch (c) {
		case '[':
			begin(f, FILTER_CSI);
			return;
		case ']':
			begin(f, FILTER_OSC);
			return;
		case 'P':
			begin(f, FILTER_DCS);
			return;
		case 'X':
		case '^':
		case '_':
			begin(f, FILTER_STRING);
			return;
		}
	if (f->nmid < 3)
		control_esc(s, c);
}

static void
csi_number(struct filter *f, uint8_t c)
{
	int32_t *p;

	if (f->nparams == 0) {
		f->nparams = 1;
		f->param[0] = -1;
	}
	if (c == ';' || c == ':') {
		if (f->nparams == FILTER_PARAMS) {
			/* The rest is of no use, and neither half a colour. */
			f->cut = true;
			return;
		}
		if (c == ':')
			f->sub |= (uint64_t)1 << f->nparams;
		f->param[f->nparams++] = -1;
		return;
	}
	if (f->cut)
		return;
	p = &f->param[f->nparams - 1];
	*p = (*p < 0 ? 0 : *p) * 10 + (c - '0');
	if (*p > FILTER_PARAM_MAX)
		*p = FILTER_PARAM_MAX;
}

static void
csi(struct screen *s, uint8_t c)
{
	struct filter *f = &s->filter;

	if (c >= 0x40) {
		f->state = FILTER_GROUND;
		if (f->nmid < 3)
			control_csi(s, c);
	} else if (c < 0x30)
		middle(f, c);
	else if (f->nmid > 0)
		f->state = FILTER_CSI_IGNORE;
	else if (c >= 0x3c) {
		if (f->nparams > 0 || f->leader != 0)
			f->state = FILTER_CSI_IGNORE;
		else
			f->leader = c;
	} else
		csi_number(f, c);
}

/* --- strings ------------------------------------------------------------ */

static void
keep(struct filter *f, const uint8_t *p, size_t n)
{
	size_t limit;

	if (f->cut)
		return;
	limit = f->state == FILTER_DCS ? FILTER_DCS_MAX : osc_limit(f);
	if (f->str.len + n > limit) {
		f->cut = true;
		n = limit - f->str.len;
	}
	buf_put(&f->str, p, n);
}

static void
string_end(struct screen *s, bool bell)
{
	struct filter *f = &s->filter;
	uint8_t state = f->state;

	f->state = FILTER_GROUND;
	f->bell = bell;
	if (state == FILTER_OSC || state == FILTER_OSC_ESC)
		osc_end(s);
	else if (state == FILTER_DCS_ESC)
		osc_dcs_end(s);
	/* A clipboard's worth of memory is not kept for titles. */
	if (f->str.cap > 2 * FILTER_STRING_MAX)
		buf_free(&f->str);
	buf_reset(&f->str);
}

/* Swallows from a string's bytes; returns how many. */
static size_t
string_bytes(struct screen *s, const uint8_t *p, size_t n)
{
	struct filter *f = &s->filter;
	size_t i, run = 0;

	for (i = 0; i < n; i++) {
		switch (p[i]) {
		case 0x07:
			if (f->state != FILTER_OSC)
				continue;
			/* FALLTHROUGH */
		case 0x18:
		case 0x1a:
		case 0x1b:
			break;
		default:
			/* The first bytes decide how much is kept. */
			if (f->str.len + i - run < 8 && f->state ==
			    FILTER_OSC) {
				keep(f, &p[i], 1);
				run = i + 1;
			}
			continue;
		}
		break;
	}
	if (f->state != FILTER_STRING && i > run)
		keep(f, p + run, i - run);
	if (i == n)
		return n;
	s->at = s->offset + i + 1;
	switch (p[i]) {
	case 0x07:
		string_end(s, true);
		break;
	case 0x1b:
		f->state += FILTER_OSC_ESC - FILTER_OSC;
		break;
	default:
		begin(f, FILTER_GROUND);
	}
	return i + 1;
}

/* --- the machine -------------------------------------------------------- */

static bool
in_string(const struct filter *f)
{
	return f->state >= FILTER_OSC && f->state <= FILTER_STRING;
}

static void
one(struct screen *s, uint8_t c)
{
	struct filter *f = &s->filter;

	if (f->state >= FILTER_OSC_ESC) {
		if (c == '\\') {
			string_end(s, false);
			return;
		}
		/* Not ST: the string is void, the sequence is new. */
		begin(f, FILTER_ESCAPE);
	}
	if (f->need > 0 && c < 0x80)
		utf8_broken(s);
	if (c == 0x1b) {
		begin(f, FILTER_ESCAPE);
		return;
	}
	if (c == 0x18 || c == 0x1a) {
		begin(f, FILTER_GROUND);
		return;
	}
	if (c < 0x20) {
		control_c0(s, c);
		return;
	}
	/* It is a character only where there are 96. */
	if (c == 0x7f && (f->state != FILTER_GROUND ||
	    text_set(s) != CHARSET_LATIN1))
		return;
	if (c >= 0x80) {
		f->state = FILTER_GROUND;
		utf8(s, c);
		return;
	}
	switch (f->state) {
	case FILTER_GROUND:
		text_put(s, c);
		break;
	case FILTER_ESCAPE:
		escape(s, c);
		break;
	case FILTER_CSI:
		csi(s, c);
		break;
	case FILTER_CSI_IGNORE:
		if (c >= 0x40)
			f->state = FILTER_GROUND;
		break;
	}
}

void
filter_write(struct screen *s, const uint8_t *p, size_t n)
{
	struct filter *f = &s->filter;
	size_t run;

	while (n > 0) {
		run = 1;
		if (in_string(f))
			run = string_bytes(s, p, n);
		else if (f->state == FILTER_GROUND && f->need == 0 &&
		    *p >= 0x20 && *p < 0x7f && s->gsingle == 0 &&
		    s->gset[s->gl] == 'B') {
			while (run < n && p[run] >= 0x20 && p[run] < 0x7f)
				run++;
			text_ascii(s, p, run);
		} else {
			s->at = s->offset + 1;
			one(s, *p);
		}
		p += run;
		n -= run;
		s->offset += run;
	}
}
