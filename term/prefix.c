/* SPDX-License-Identifier: ISC */
/*
 * The prefix key in what a user types. Works on key events, not on bytes: a
 * key arrives as its byte, or in kitty's or xterm's long form, with lock bits,
 * alternates and releases, cut anywhere. What is not ours passes unchanged.
 */
#include <stdlib.h>
#include <string.h>

#include "../server/base/mem.h"
#include "keys.h"
#include "paste.h"

/* The longest sequence held back whole: a key event with text has some 40
 * bytes. A longer one is no key and passes as it comes. */
#define HELD_MAX 96

#define LOCKS	(64 | 128)	/* caps lock, num lock */

enum state {
	STATE_PLAIN,
	STATE_ESC,		/* held: ESC */
	STATE_CSI,		/* held: ESC [ ... */
	STATE_SS3,		/* held: ESC O */
	STATE_LONG,		/* the rest of a sequence that was too long */
	STATE_PASTE
};

struct prefix {
	bool		 none;
	uint32_t	 code;		/* the key ... */
	uint8_t		 byte;		/* ... and Ctrl with it */

	enum state	 state;
	char		 held[HELD_MAX];
	size_t		 nheld;
	bool		 armed;		/* the prefix was pressed */
	uint32_t	 swallow;	/* key whose release is ours; 0 none */
	int		 raw;		/* bytes that belong to a sequence */
	bool		 raw_drop;	/* ... and are dropped with it */
	int		 tail;		/* bytes of a dropped character */
	size_t		 paste;		/* how much of the end was seen */
};

/* What an event says. */
struct event {
	uint32_t	code, shifted, base, text;
	int		mods;		/* without the locks */
	int		kind;		/* 1 press, 2 repeat, 3 release */
};

struct prefix *
prefix_new(const char *key, char **cause)
{
	static const struct screen_modes plain;
	struct prefix *p;
	struct buf b;
	int ch = 0;

	p = xcalloc(1, sizeof *p);
	if (strcmp(key, "none") == 0) {
		p->none = true;
		return p;
	}
	buf_init(&b, 16);
	if (key[0] == '^' && key[1] != '\0' && key[2] == '\0')
		ch = (unsigned char)key[1];
	else if ((key[0] == 'C' || key[0] == 'c') && key[1] == '-') {
		if (strcmp(key + 2, "Space") == 0)
			ch = ' ';
		else if (key[2] != '\0' && key[3] == '\0')
			ch = (unsigned char)key[2];
	}
	/* Escape, Tab and Enter are made of control characters as well, and
	 * would be lost. */
	if (ch > 0x20 - 1 && ch < 0x7f &&
	    keys_encode(key, &plain, &b) == 0 && b.len == 1 &&
	    (b.data[0] < 0x20 || b.data[0] == 0x7f) && b.data[0] != 27 &&
	    b.data[0] != '\t' && b.data[0] != '\r') {
		p->byte = b.data[0];
		p->code = (uint32_t)(ch >= 'A' && ch <= 'Z' ? ch + 32 : ch);
		buf_free(&b);
		return p;
	}
	buf_free(&b);
	free(p);
	*cause = xasprintf("prefix key \"%s\" cannot be used; give C- and one "
	    "character, such as C-\\ or C-a, or none", key);
	return NULL;
}

void
prefix_free(struct prefix *p)
{
	free(p);
}

bool
prefix_pending(const struct prefix *p)
{
	return p->nheld > 0;
}

static void
pass_held(struct prefix *p, struct buf *out)
{
	buf_put(out, p->held, p->nheld);
	p->nheld = 0;
}

void
prefix_flush(struct prefix *p, struct buf *out)
{
	if (p->nheld == 0)
		return;
	/* Escape alone after the prefix: thought better of it. */
	if (p->armed && p->state == STATE_ESC) {
		p->armed = false;
		p->nheld = 0;
	} else
		pass_held(p, out);
	p->state = STATE_PLAIN;
}

/* --- events ------------------------------------------------------------- */

static const char *
number(const char *s, const char *end, uint32_t *n)
{
	for (*n = 0; s < end && *s >= '0' && *s <= '9'; s++)
		if (*n < 0x200000)
			*n = *n * 10 + (uint32_t)(*s - '0');
	return s;
}

/* Parameters of a CSI with their sub-parameters: at most 4 by 3; missing ones
 * are 0. */
static int
parameters(const char *s, const char *end, uint32_t v[4][3])
{
	uint32_t n;
	int i = 0, j = 0;

	memset(v, 0, sizeof(uint32_t) * 12);
	while (s < end) {
		s = number(s, end, &n);
		if (i < 4 && j < 3)
			v[i][j] = n;
		if (s == end)
			break;
		if (*s == ':')
			j++;
		else if (*s == ';') {
			i++;
			j = 0;
		} else
			return -1;
		s++;
	}
	return i + 1;
}

/* Is the held CSI a key that has a code? Its event, if so; kind is set for
 * every CSI that could be one. */
static bool
event_of(const struct prefix *p, struct event *e)
{
	const char *end = p->held + p->nheld - 1;	/* the final byte */
	uint32_t v[4][3];
	int n;

	memset(e, 0, sizeof *e);
	e->kind = 1;
	n = parameters(p->held + 2, end, v);
	if (n < 0)
		return false;
	if (*end == '~' && v[0][0] == 27 && n == 3) {
		e->mods = ((int)v[1][0] - 1) & ~LOCKS;
		e->code = v[2][0];
		return true;
	}
	if (v[1][0] != 0)
		e->mods = ((int)v[1][0] - 1) & ~LOCKS;
	if (v[1][1] != 0)
		e->kind = (int)v[1][1];
	if (*end != 'u')
		return false;
	e->code = v[0][0];
	e->shifted = v[0][1];
	e->base = v[0][2];
	e->text = v[2][0];
	return true;
}

static bool
is_prefix(const struct prefix *p, const struct event *e)
{
	bool shift = (e->mods & 1) != 0, letter;

	if ((e->mods & ~1) != 4)
		return false;
	letter = p->code >= 'a' && p->code <= 'z';
	if (!shift && (e->code == p->code || (p->byte == 0 &&
	    (e->code == ' ' || e->code == '@'))))
		return true;
	/* xterm may give the control character itself. */
	if (!shift && e->code < 0x20 && e->code == p->byte && e->code != 0)
		return true;
	if (shift && !letter && (e->shifted == p->code ||
	    e->code == p->code))
		return true;
	/* A layout without Latin letters: where the key would be. */
	return !shift && e->code >= 0x80 && e->base == p->code;
}

/* Shift, Ctrl, the locks and so on, which kitty reports on request. */
static bool
is_modifier_key(const struct event *e)
{
	return (e->code >= 57441 && e->code <= 57454) ||
	    (e->code >= 57358 && e->code <= 57360);
}

/* The character of an event as a command would be written, 0 for none. */
static int
command_char(const struct event *e)
{
	static const char row[] = "1!2@3#4$5%6^7&8*9(0)-_=+[{]}\\|;:'\",<.>/?`~";
	const char *s;

	if ((e->mods & ~1) != 0)
		return 0;
	if (e->text != 0 && e->text < 0x7f)
		return (int)e->text;
	if ((e->mods & 1) != 0) {
		if (e->shifted != 0 && e->shifted < 0x7f)
			return (int)e->shifted;
		if (e->code >= 'a' && e->code <= 'z')
			return (int)e->code - 32;
		/* Only the key is told: read it as an American one. */
		if (e->code > 0x20 && e->code < 0x7f &&
		    (s = strchr(row, (int)e->code)) != NULL &&
		    (s - row) % 2 == 0)
			return s[1];
	}
	if (e->code >= 0x80 && e->base > 0x20 && e->base < 0x7f)
		return (int)e->base;
	return e->code < 0x7f ? (int)e->code : 0;
}

/* A key that came after the prefix: the command, or 0 and it is dropped. */
static int
command(struct prefix *p, const char *cmds, int ch)
{
	p->armed = false;
	return ch > 0x20 && ch < 0x7f && strchr(cmds, ch) != NULL ? ch : 0;
}

/* A whole CSI is held. Returns a command, or 0 with it passed or dropped. */
static int
csi_done(struct prefix *p, const char *cmds, struct buf *out)
{
	struct event e;
	char final = p->held[p->nheld - 1];
	bool key = event_of(p, &e);
	int ch;

	p->state = STATE_PLAIN;
	if (paste_begins(p->held, p->nheld)) {
		p->armed = false;
		p->state = STATE_PASTE;
		p->paste = 0;
		pass_held(p, out);
		return 0;
	}
	if (p->nheld == 3 && (final == 'M' || final == '[')) {
		/* X10 mouse: three bytes follow; the Linux console's F1 to
		 * F5: one. */
		p->raw = final == 'M' ? 3 : 1;
		p->raw_drop = final == '[' && p->armed;
		if (p->raw_drop) {
			p->armed = false;
			p->nheld = 0;
		} else
			pass_held(p, out);
		return 0;
	}
	if (e.kind == 3) {
		if (key && p->swallow != 0 && e.code == p->swallow) {
			p->swallow = 0;
			p->nheld = 0;
		} else
			pass_held(p, out);
		return 0;
	}
	if (key && e.kind == 2 && p->swallow != 0 && e.code == p->swallow) {
		p->nheld = 0;	/* held down: not pressed twice */
		return 0;
	}
	if (key && !p->none && is_prefix(p, &e)) {
		if (p->armed) {
			p->armed = false;
			pass_held(p, out);
			return 0;
		}
		p->armed = true;
		p->swallow = e.code;
		p->nheld = 0;
		return 0;
	}
	/* Not keys: mouse, focus, reports. They disturb nothing. */
	if (!p->armed || (key && is_modifier_key(&e)) || p->held[2] == '<' ||
	    p->held[2] == '?' || p->held[2] == '>' || final == 'I' ||
	    final == 'O' || final == 'M' || final == 'm' || final == 't') {
		pass_held(p, out);
		return 0;
	}
	p->nheld = 0;
	ch = command(p, cmds, key ? command_char(&e) : 0);
	p->swallow = key ? e.code : 0;
	return ch;
}

static int
plain_byte(struct prefix *p, const char *cmds, uint8_t c, struct buf *out)
{
	if (c == 27) {
		p->held[0] = (char)c;
		p->nheld = 1;
		p->state = STATE_ESC;
		return 0;
	}
	if (p->tail > 0) {
		p->tail--;
		if (c >= 0x80 && c < 0xc0)
			return 0;
		p->tail = 0;
	}
	if (!p->none && c == p->byte) {
		if (p->armed)
			buf_u8(out, c);
		p->armed = !p->armed;
		p->swallow = 0;
		return 0;
	}
	if (!p->armed) {
		buf_u8(out, c);
		return 0;
	}
	/* A longer character is no command: all of its bytes go. */
	p->tail = c >= 0xf0 ? 3 : c >= 0xe0 ? 2 : c >= 0xc0 ? 1 : 0;
	return command(p, cmds, c);
}

static int
csi_byte(struct prefix *p, const char *cmds, uint8_t c, struct buf *out)
{
	if (c < 0x20) {
		/* Broken off: the old bytes were no key. */
		pass_held(p, out);
		p->state = STATE_PLAIN;
		return plain_byte(p, cmds, c, out);
	}
	p->held[p->nheld++] = (char)c;
	if (c >= 0x40 && c <= 0x7e)
		return csi_done(p, cmds, out);
	if (p->nheld == HELD_MAX) {
		pass_held(p, out);
		p->state = STATE_LONG;
	}
	return 0;
}

/* The second byte of ESC x or third of ESC O x: never a command. */
static void
short_done(struct prefix *p, uint8_t c, struct buf *out)
{
	p->held[p->nheld++] = (char)c;
	p->state = STATE_PLAIN;
	if (p->armed) {
		p->armed = false;
		p->nheld = 0;
		p->tail = c >= 0xf0 ? 3 : c >= 0xe0 ? 2 : c >= 0xc0 ? 1 : 0;
	} else
		pass_held(p, out);
}

static int
one_byte(struct prefix *p, const char *cmds, uint8_t c, struct buf *out)
{
	if (p->raw > 0) {
		p->raw--;
		if (!p->raw_drop)
			buf_u8(out, c);
		return 0;
	}
	switch (p->state) {
	case STATE_PLAIN:
		return plain_byte(p, cmds, c, out);
	case STATE_ESC:
		if (c == '[' || c == 'O') {
			p->held[p->nheld++] = (char)c;
			p->state = c == '[' ? STATE_CSI : STATE_SS3;
		} else if (c == 27) {
			/* Escape, then the beginning of something. */
			if (p->armed)
				p->nheld = 0;
			p->armed = false;
			pass_held(p, out);
			p->held[p->nheld++] = (char)c;
		} else
			short_done(p, c, out);
		return 0;
	case STATE_SS3:
		short_done(p, c, out);
		return 0;
	case STATE_CSI:
		return csi_byte(p, cmds, c, out);
	case STATE_LONG:
		buf_u8(out, c);
		if ((c >= 0x40 && c <= 0x7e) || c < 0x20)
			p->state = STATE_PLAIN;
		return 0;
	case STATE_PASTE:
		buf_u8(out, c);
		if (paste_mark(PASTE_END, &p->paste, (char)c))
			p->state = STATE_PLAIN;
		return 0;
	}
	return 0;
}

int
prefix_feed(struct prefix *p, const char *cmds, const void *data, size_t len,
    size_t *used, struct buf *out)
{
	const uint8_t *s = data;
	size_t i;
	int ch;

	for (i = 0; i < len; i++)
		if ((ch = one_byte(p, cmds, s[i], out)) != 0) {
			*used = i + 1;
			return ch;
		}
	*used = len;
	return 0;
}
