/* SPDX-License-Identifier: ISC */
/*
 * Modes in a stream of output; see outmodes.h.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "outmodes.h"

enum { GROUND, ESCAPE, CSI, STRING, STRING_ESCAPE };

/* DEC private modes; bit i of the word is the i-th of them, set when it is not
 * as it was. The alternate screen's three come first: it is left before
 * anything else is put right. */
static const struct {
	int	number;
	bool	normal;		/* on at first */
} privates[] = {
	{ 1049, false }, { 1047, false }, { 47, false }, { 1, false },
	{ 5, false }, { 6, false }, { 7, true }, { 9, false }, { 12, false },
	{ 25, true }, { 1000, false }, { 1002, false }, { 1003, false },
	{ 1004, false }, { 1005, false }, { 1006, false }, { 1007, false },
	{ 1015, false }, { 1016, false }, { 2004, false }, { 2026, false },
	{ 2031, false },
};
#define NPRIVATES	(sizeof privates / sizeof privates[0])

/* The rest of the word. */
#define KEYPAD		(1u << 24)
#define OTHER_KEYS	(1u << 25)	/* modifyOtherKeys */
#define REGION		(1u << 26)
#define KITTY_SHIFT	27		/* how often its flags were pushed */
#define KITTY_MAX	7u

static void
kitty_pushed(struct outmodes *o, int by)
{
	int n = (int)(o->modes >> KITTY_SHIFT) + by;

	if (n < 0)
		n = 0;
	if (n > (int)KITTY_MAX)
		n = KITTY_MAX;
	o->modes &= (1u << KITTY_SHIFT) - 1;
	o->modes |= (uint32_t)n << KITTY_SHIFT;
}

static void
private_modes(struct outmodes *o, const char *p, bool on)
{
	char *end;
	size_t i;
	long n;

	for (;; p = end + 1) {
		n = strtol(p, &end, 10);
		for (i = 0; end != p && i < NPRIVATES; i++)
			if (privates[i].number == n) {
				o->modes &= ~(1u << i);
				if (on != privates[i].normal)
					o->modes |= 1u << i;
			}
		if (*end != ';')
			return;
	}
}

/* text is what stood between the introducer and the final byte. */
static void
sequence(struct outmodes *o, char final)
{
	const char *p = o->text;
	int n;

	o->text[o->len] = '\0';
	if (p[0] == '?' && (final == 'h' || final == 'l'))
		private_modes(o, p + 1, final == 'h');
	else if (p[0] == '>' && final == 'u')
		kitty_pushed(o, 1);
	else if (p[0] == '<' && final == 'u') {
		n = atoi(p + 1);
		kitty_pushed(o, n > 0 && n < 100 ? -n : -1);
	} else if (p[0] == '>' && final == 'm' && p[1] == '4') {
		o->modes &= ~OTHER_KEYS;
		if (p[2] == ';' && p[3] != '\0' && p[3] != '0')
			o->modes |= OTHER_KEYS;
	} else if (final == 'r' && (p[0] == '\0' || (p[0] >= '0' &&
	    p[0] <= ';'))) {
		o->modes &= ~REGION;
		if (p[0] != '\0')
			o->modes |= REGION;
	}
}

static void
escape(struct outmodes *o, uint8_t c)
{
	o->state = GROUND;
	switch (c) {
	case '[':
		o->state = CSI;
		o->len = 0;
		break;
	case ']': case 'P': case 'X': case '^': case '_':
		o->state = STRING;
		break;
	case '=':
		o->modes |= KEYPAD;
		break;
	case '>':
		o->modes &= ~KEYPAD;
		break;
	case 'c':
		o->modes = 0;
		break;
	case 033:
		o->state = ESCAPE;
		break;
	}
}

void
outmodes_scan(struct outmodes *o, const uint8_t *p, size_t n)
{
	const uint8_t *end = p + n;

	for (; p < end; p++) {
		if (o->state == GROUND) {
			/* Most of it. */
			if ((p = memchr(p, 033, (size_t)(end - p))) == NULL)
				return;
			o->state = ESCAPE;
		} else if (*p == 030 || *p == 032)
			o->state = GROUND;
		else if (o->state == STRING) {
			if (*p == 033)
				o->state = STRING_ESCAPE;
			else if (*p == '\a')
				o->state = GROUND;
		} else if (*p == 033)
			o->state = ESCAPE;
		else if (o->state == ESCAPE || o->state == STRING_ESCAPE)
			escape(o, *p);
		else if (*p >= 0x40 && *p < 0x7f) {
			if (o->len < OUTMODES_MAX)
				sequence(o, (char)*p);
			o->state = GROUND;
		} else if (*p >= 0x20 && o->len < OUTMODES_MAX) {
			/* The last place stays for the end; full: too long. */
			if (o->len < OUTMODES_MAX - 1)
				o->text[o->len] = (char)*p;
			o->len++;
		}
	}
}

void
outmodes_undo(uint32_t modes, struct buf *b)
{
	unsigned int i;

	if (modes == 0)
		return;
	for (i = modes >> KITTY_SHIFT; i > 0; i--)
		buf_puts(b, "\033[<u");
	if (modes & OTHER_KEYS)
		buf_puts(b, "\033[>4m");
	if (modes & REGION)	/* it would take the cursor home */
		buf_puts(b, "\0337\033[r\0338");
	for (i = 0; i < NPRIVATES; i++)
		if (modes & (1u << i))
			buf_printf(b, "\033[?%d%c", privates[i].number,
			    privates[i].normal ? 'h' : 'l');
	if (modes & KEYPAD)
		buf_puts(b, "\033>");
	buf_puts(b, "\033[m\r\n");
}
