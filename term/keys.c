/* SPDX-License-Identifier: ISC */
/*
 * From a key's name to the bytes a terminal sends for it, under the modes the
 * program has set: what `dlmux send --key` puts into a shell. xterm's forms,
 * kitty's where its flags ask for them. Table-driven.
 */
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "keys.h"
#include "utf8.h"

/* As in the sequences: a parameter of 1 + these. */
enum { MOD_SHIFT = 1, MOD_ALT = 2, MOD_CTRL = 4 };

#define KITTY_DISAMBIGUATE	1
#define KITTY_ALL		8	/* every key as an escape code */

enum form {
	FORM_CHAR,	/* a character, code its number */
	FORM_CURSOR,	/* CSI letter, or SS3 under DECCKM */
	FORM_SS3,	/* SS3 letter; CSI 1;mods letter */
	FORM_TILDE,	/* CSI number ~ */
	FORM_KEYPAD,	/* itself, or SS3 letter under DECKPAM */
	FORM_BTAB
};

static const struct key {
	const char	*name;
	enum form	 form;
	int		 code;
	char		 plain;		/* FORM_KEYPAD: without DECKPAM */
} keys[] = {
	{ "Up", FORM_CURSOR, 'A', 0 }, { "Down", FORM_CURSOR, 'B', 0 },
	{ "Right", FORM_CURSOR, 'C', 0 }, { "Left", FORM_CURSOR, 'D', 0 },
	{ "Home", FORM_CURSOR, 'H', 0 }, { "End", FORM_CURSOR, 'F', 0 },
	{ "Insert", FORM_TILDE, 2, 0 }, { "IC", FORM_TILDE, 2, 0 },
	{ "Delete", FORM_TILDE, 3, 0 }, { "DC", FORM_TILDE, 3, 0 },
	{ "PageUp", FORM_TILDE, 5, 0 }, { "PgUp", FORM_TILDE, 5, 0 },
	{ "PPage", FORM_TILDE, 5, 0 },
	{ "PageDown", FORM_TILDE, 6, 0 }, { "PgDn", FORM_TILDE, 6, 0 },
	{ "NPage", FORM_TILDE, 6, 0 },
	{ "F1", FORM_SS3, 'P', 0 }, { "F2", FORM_SS3, 'Q', 0 },
	{ "F3", FORM_SS3, 'R', 0 }, { "F4", FORM_SS3, 'S', 0 },
	{ "F5", FORM_TILDE, 15, 0 }, { "F6", FORM_TILDE, 17, 0 },
	{ "F7", FORM_TILDE, 18, 0 }, { "F8", FORM_TILDE, 19, 0 },
	{ "F9", FORM_TILDE, 20, 0 }, { "F10", FORM_TILDE, 21, 0 },
	{ "F11", FORM_TILDE, 23, 0 }, { "F12", FORM_TILDE, 24, 0 },
	{ "F13", FORM_TILDE, 25, 0 }, { "F14", FORM_TILDE, 26, 0 },
	{ "F15", FORM_TILDE, 28, 0 }, { "F16", FORM_TILDE, 29, 0 },
	{ "F17", FORM_TILDE, 31, 0 }, { "F18", FORM_TILDE, 32, 0 },
	{ "F19", FORM_TILDE, 33, 0 }, { "F20", FORM_TILDE, 34, 0 },
	{ "Tab", FORM_CHAR, '\t', 0 }, { "Enter", FORM_CHAR, '\r', 0 },
	{ "Escape", FORM_CHAR, 27, 0 }, { "Esc", FORM_CHAR, 27, 0 },
	{ "Space", FORM_CHAR, ' ', 0 }, { "BSpace", FORM_CHAR, 127, 0 },
	{ "BTab", FORM_BTAB, 0, 0 },
	{ "KP/", FORM_KEYPAD, 'o', '/' }, { "KP*", FORM_KEYPAD, 'j', '*' },
	{ "KP-", FORM_KEYPAD, 'm', '-' }, { "KP+", FORM_KEYPAD, 'k', '+' },
	{ "KP.", FORM_KEYPAD, 'n', '.' },
	{ "KPEnter", FORM_KEYPAD, 'M', '\r' },
	{ "KP0", FORM_KEYPAD, 'p', '0' }, { "KP1", FORM_KEYPAD, 'q', '1' },
	{ "KP2", FORM_KEYPAD, 'r', '2' }, { "KP3", FORM_KEYPAD, 's', '3' },
	{ "KP4", FORM_KEYPAD, 't', '4' }, { "KP5", FORM_KEYPAD, 'u', '5' },
	{ "KP6", FORM_KEYPAD, 'v', '6' }, { "KP7", FORM_KEYPAD, 'w', '7' },
	{ "KP8", FORM_KEYPAD, 'x', '8' }, { "KP9", FORM_KEYPAD, 'y', '9' },
};

/* The whole string as one character; 0 if it is not one. */
static uint32_t
one_char(const char *name)
{
	const unsigned char *s = (const unsigned char *)name;
	int more = *s >= 0xf0 ? 3 : *s >= 0xe0 ? 2 : *s >= 0xc2 ? 1 : 0;
	uint32_t ch;

	if (*s < 0x80)
		return s[0] != '\0' && s[1] == '\0' ? *s : 0;
	if (more == 0)
		return 0;
	for (ch = *s++ & (0x3fu >> more); more > 0; more--, s++) {
		if ((*s & 0xc0) != 0x80)
			return 0;
		ch = ch << 6 | (*s & 0x3f);
	}
	return *s == '\0' && ch >= 0x80 && ch <= 0x10ffff ? ch : 0;
}

/* The control character of Ctrl and a key, -1 if it has none. */
static int
control(uint32_t ch)
{
	static const char digits[] = "\000\033\034\035\036\037\177"; /* 2..8 */

	if ((ch >= 'a' && ch <= 'z') || (ch >= '@' && ch <= '_'))
		return (int)ch & 0x1f;
	if (ch >= '2' && ch <= '8')
		return digits[ch - '2'];
	if (ch == ' ' || ch == '`')
		return 0;
	if (ch == '?')
		return 127;
	if (ch == '/')
		return 31;
	return -1;
}

static bool
kitty_wants(uint32_t ch, int mods, uint8_t flags)
{
	if ((flags & KITTY_ALL) != 0)
		return true;
	if ((flags & KITTY_DISAMBIGUATE) == 0)
		return false;
	if (ch == 27)
		return true;
	/* So that a shell stays usable after a crash, these three keep their
	 * bytes when alone. */
	if (ch == '\r' || ch == '\t' || ch == 127)
		return mods != 0;
	return (mods & (MOD_ALT | MOD_CTRL)) != 0 ||
	    (ch == ' ' && mods != 0);
}

static bool
other_wants(uint32_t ch, int mods, uint8_t level)
{
	bool special = ch == '\r' || ch == '\t' || ch == 127 || ch == 27;

	if (level == 0 || mods == 0)
		return false;
	if (level == 1)		/* only what has no bytes of its own */
		return (mods & MOD_CTRL) != 0 &&
		    (special || control(ch) < 0);
	return (mods & (MOD_ALT | MOD_CTRL)) != 0 || special;
}

static void
put_char(struct buf *b, uint32_t ch, int mods, const struct screen_modes *m)
{
	char text[UTF8_BYTES];
	int c;

	if (kitty_wants(ch, mods, m->kitty_flags)) {
		/* The key, not the character: letters in lower case. */
		if (ch < 0x80 && isupper((int)ch)) {
			ch = (uint32_t)tolower((int)ch);
			mods |= MOD_SHIFT;
		}
		if (mods == 0)
			buf_printf(b, "\033[%uu", ch);
		else
			buf_printf(b, "\033[%u;%du", ch, 1 + mods);
		return;
	}
	if (other_wants(ch, mods, m->modify_other)) {
		buf_printf(b, "\033[27;%d;%u~", 1 + mods, ch);
		return;
	}
	if ((mods & MOD_SHIFT) != 0 && ch < 0x80)
		ch = (uint32_t)toupper((int)ch);
	if ((mods & MOD_ALT) != 0)
		buf_u8(b, 27);
	if ((mods & MOD_CTRL) != 0) {
		if (ch == 127)
			c = 8;
		else
			c = ch < 0x80 ? control(ch) : -1;
		if (c >= 0) {
			buf_u8(b, (uint8_t)c);
			return;
		}
	}
	buf_put(b, text, utf8_put(text, ch));
}

static void
put_key(struct buf *b, const struct key *k, int mods,
    const struct screen_modes *m)
{
	bool app = (m->flags & MODE_APP_CURSOR) != 0;

	switch (k->form) {
	case FORM_CHAR:
		if (k->code == '\t' && mods == MOD_SHIFT &&
		    m->kitty_flags == 0 && m->modify_other < 2)
			buf_puts(b, "\033[Z");
		else
			put_char(b, (uint32_t)k->code, mods, m);
		break;
	case FORM_BTAB:
		if (m->kitty_flags != 0)
			put_char(b, '\t', mods | MOD_SHIFT, m);
		else if (mods != 0)
			buf_printf(b, "\033[1;%dZ", 1 + (mods | MOD_SHIFT));
		else
			buf_puts(b, "\033[Z");
		break;
	case FORM_CURSOR:
	case FORM_SS3:
		if (k->form == FORM_SS3 && k->code == 'R' &&
		    m->kitty_flags != 0) {
			/* CSI 1;m R would be a cursor report. */
			if (mods == 0)
				buf_puts(b, "\033[13~");
			else
				buf_printf(b, "\033[13;%d~", 1 + mods);
		} else if (mods != 0)
			buf_printf(b, "\033[1;%d%c", 1 + mods, k->code);
		else
			buf_printf(b, "\033%c%c",
			    app || k->form == FORM_SS3 ? 'O' : '[', k->code);
		break;
	case FORM_TILDE:
		if (mods != 0)
			buf_printf(b, "\033[%d;%d~", k->code, 1 + mods);
		else
			buf_printf(b, "\033[%d~", k->code);
		break;
	case FORM_KEYPAD:
		if ((m->flags & MODE_APP_KEYPAD) == 0)
			put_char(b, (uint32_t)(unsigned char)k->plain, mods,
			    m);
		else if (mods != 0)
			buf_printf(b, "\033O%d%c", 1 + mods, k->code);
		else
			buf_printf(b, "\033O%c", k->code);
		break;
	}
}

int
keys_encode(const char *name, const struct screen_modes *m, struct buf *b)
{
	uint32_t ch;
	size_t i;
	int mods = 0;

	for (;;) {
		if (name[0] == '^' && name[1] != '\0') {
			mods |= MOD_CTRL;
			name++;
			continue;
		}
		if (name[0] == '\0' || name[1] != '-' || name[2] == '\0')
			break;
		if (*name == 'C' || *name == 'c')
			mods |= MOD_CTRL;
		else if (*name == 'M' || *name == 'm')
			mods |= MOD_ALT;
		else if (*name == 'S' || *name == 's')
			mods |= MOD_SHIFT;
		else
			return -1;
		name += 2;
	}
	if ((ch = one_char(name)) != 0) {
		if (ch < 0x20 || ch == 127)
			return -1;
		put_char(b, ch, mods, m);
		return 0;
	}
	for (i = 0; i < sizeof keys / sizeof keys[0]; i++)
		if (strcasecmp(name, keys[i].name) == 0) {
			put_key(b, &keys[i], mods, m);
			return 0;
		}
	return -1;
}
