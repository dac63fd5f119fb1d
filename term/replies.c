/* SPDX-License-Identifier: ISC */
/*
 * Answers taken out of what is typed; see replies.h.
 *
 * A sequence is held as long as it may be an answer. The first few bytes of
 * one are also keys (Escape, Alt-[, Alt-] and a digit), so they are let go when
 * time has passed; its owner lets none pass while an answer is awaited. What
 * follows is still recognised, without its head.
 */
#include <stdlib.h>
#include <string.h>

#include "../server/base/mem.h"
#include "paste.h"
#include "replies.h"

/* The longest answer: OSC 4;255;rgba: with four times four digits, DA1 of a
 * terminal with many abilities. */
#define HELD_MAX	96
/* Questions whose end has not come; a terminal this far behind is not asked
 * more. */
#define OPEN_MAX	8

enum match {
	MATCH_NO,
	MATCH_SOFT,		/* may become an answer, may be a key */
	MATCH_HARD,		/* nobody types this */
	MATCH_SURE,		/* an answer, though its end is not here */
	MATCH_COLOUR,		/* whole: OSC 4, 10, 11, 12 */
	MATCH_END,		/* DA1 */
	MATCH_MODE,		/* DECRPM */
	MATCH_THEME,		/* CSI ? 997 ; n n */
	MATCH_FOCUS		/* CSI I, CSI O */
};

struct replies {
	char		 held[HELD_MAX + 1];
	size_t		 nheld;
	size_t		 gone;		/* of them, let go as keys */
	bool		 asked;		/* ever */
	int		 open;
	bool		 my_theme, my_focus;
	unsigned int	 events;
	bool		 reports;
	struct theme	 theme;
	bool		 paste;
	size_t		 mark;		/* bytes of its beginning, or end */
};

struct replies *
replies_new(void)
{
	return xcalloc(1, sizeof(struct replies));
}

void
replies_free(struct replies *r)
{
	free(r);
}

void
replies_ask(struct replies *r, unsigned int what, struct buf *b)
{
	int i;

	r->asked = true;
	if (r->open < OPEN_MAX)
		r->open++;
	if (what & REPLIES_BASE) {
		buf_puts(b, "\033]10;?\a\033]11;?\a\033]12;?\a");
		for (i = 0; i < 16; i++)
			buf_printf(b, "\033]4;%d;?\a", i);
	}
	if (what & REPLIES_REST)
		for (i = 16; i < 256; i++)
			buf_printf(b, "\033]4;%d;?\a", i);
	if (what & REPLIES_REPORTS)
		buf_puts(b, "\033[?2031$p");
	buf_puts(b, "\033[c");
}

bool
replies_open(const struct replies *r)
{
	return r->open > 0;
}

void
replies_give_up(struct replies *r)
{
	r->open = 0;
}

void
replies_mine(struct replies *r, bool theme, bool focus)
{
	r->my_theme = theme;
	r->my_focus = focus;
}

unsigned int
replies_events(struct replies *r)
{
	unsigned int events = r->events;

	r->events = 0;
	return events;
}

const struct theme *
replies_theme(const struct replies *r)
{
	return &r->theme;
}

bool
replies_reports(const struct replies *r)
{
	return r->reports;
}

/* --- what is it? -------------------------------------------------------- */

static bool
digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Behind CSI ?. */
static enum match
match_csi(const char *s, const char *end)
{
	const char *numbers = s;
	size_t n;

	while (s < end && (digit(*s) || *s == ';'))
		s++;
	n = (size_t)(s - numbers);
	if (s == end)
		return n == 0 ? MATCH_SOFT : MATCH_HARD;
	if (*s == '$' && n > 0)
		return s + 1 == end ? MATCH_HARD :
		    s[1] == 'y' ? MATCH_MODE : MATCH_NO;
	if (*s == 'c')
		return MATCH_END;
	if (*s == 'n' && n > 4 && memcmp(numbers, "997;", 4) == 0)
		return MATCH_THEME;
	return MATCH_NO;
}

/* A number and its ';', which are text of a reply's so far. */
static const char *
number(const char *s, const char *end, int *value)
{
	int n;

	*value = 0;
	for (n = 0; s < end && digit(*s) && n < 3; n++)
		*value = *value * 10 + (*s++ - '0');
	if (s == end)
		return end;
	return *s == ';' && n > 0 ? s + 1 : NULL;
}

/* Behind OSC. *which and *spec are set once they are known. */
static enum match
match_osc(const char *s, const char *end, int *which, const char **spec)
{
	int v;

	if ((s = number(s, end, &v)) == NULL)
		return MATCH_NO;
	if (s == end && end[-1] != ';')
		return MATCH_SOFT;
	if (v >= 10 && v <= 12)
		*which = v - 10 + THEME_FOREGROUND;
	else if (v != 4)
		return MATCH_NO;
	else {
		if (s == end)
			return MATCH_HARD;
		if ((s = number(s, end, which)) == NULL || *which > 255)
			return MATCH_NO;
		if (s == end && end[-1] != ';')
			return MATCH_HARD;
	}
	if (s == end)
		return MATCH_HARD;
	if (*s != 'r' && *s != '#')
		return MATCH_NO;
	for (*spec = s; s < end; s++)
		if (*s == '\a' || (*s == '\033' && s + 1 < end &&
		    s[1] == '\\'))
			return MATCH_COLOUR;
		else if (*s == '\033' ? s + 1 != end : *s < 0x20 || *s > 0x7e)
			return MATCH_NO;
	return MATCH_SURE;
}

static enum match
match(const struct replies *r, int *which, const char **spec)
{
	const char *s = r->held, *end = s + r->nheld;

	if (r->nheld == 1)
		return MATCH_SOFT;
	if (s[1] != '[' && s[1] != ']')
		return MATCH_NO;
	if (r->nheld == 2)
		return MATCH_SOFT;
	if (s[1] == ']')
		return match_osc(s + 2, end, which, spec);
	if (s[2] == '?')
		return match_csi(s + 3, end);
	return s[2] == 'I' || s[2] == 'O' ? MATCH_FOCUS : MATCH_NO;
}

/* --- letting go --------------------------------------------------------- */

static void
pass(struct replies *r, char c, struct buf *out)
{
	buf_u8(out, (uint8_t)c);
	if (paste_mark(r->paste ? PASTE_END : PASTE_BEGIN, &r->mark, c))
		r->paste = !r->paste;
}

static void
pass_held(struct replies *r, struct buf *out)
{
	size_t i;

	for (i = r->gone; i < r->nheld; i++)
		pass(r, r->held[i], out);
	r->gone = r->nheld;
}

static void
colour(struct replies *r, int which, const char *spec)
{
	char text[HELD_MAX + 1];
	size_t n;
	uint32_t rgb;

	n = (size_t)(r->held + r->nheld - spec);
	n -= spec[n - 1] == '\\' ? 2 : 1;
	memcpy(text, spec, n);
	text[n] = '\0';
	if (!theme_parse(text, &rgb))
		return;
	r->theme.rgb[which] = rgb;
	r->theme.known[which] = true;
}

/* A whole one is held. False: it is for the program. */
static bool
whole(struct replies *r, enum match m, int which, const char *spec)
{
	switch (m) {
	case MATCH_COLOUR:
		colour(r, which, spec);
		return true;
	case MATCH_END:
		if (r->open > 0)
			r->open--;
		if (r->open == 0)
			r->events |= REPLIES_DONE;
		return true;
	case MATCH_MODE:
		/* 0: not known, 4: it cannot be set. */
		r->held[r->nheld] = '\0';
		if (strncmp(r->held, "\033[?2031;", 8) == 0)
			r->reports = r->held[8] >= '1' && r->held[8] <= '3';
		return true;
	case MATCH_THEME:
		r->events |= REPLIES_CHANGED;
		return r->my_theme;
	default:
		if (r->held[2] == 'I')
			r->events |= REPLIES_FOCUSED;
		return r->my_focus;
	}
}

/* Is what was held before c came an answer that ends here, cut short? It is
 * none of the user's. */
static bool
cut_short(const struct replies *r, enum match before, char c)
{
	return before == MATCH_SURE || (before == MATCH_HARD &&
	    r->held[1] == '[' && (unsigned char)c < 0x20);
}

static void
one(struct replies *r, char c, struct buf *out)
{
	enum match m, before = MATCH_NO;
	const char *spec = NULL;
	int which = 0;
	bool escape;

	if (r->paste || (r->nheld == 0 && c != '\033')) {
		pass(r, c, out);
		return;
	}
	if (r->nheld > 0)
		before = match(r, &which, &spec);
	r->held[r->nheld++] = c;
	m = r->nheld == HELD_MAX ? MATCH_NO : match(r, &which, &spec);
	if (m == MATCH_SOFT || m == MATCH_HARD || m == MATCH_SURE)
		return;
	if (m != MATCH_NO) {
		if (!whole(r, m, which, spec))
			pass_held(r, out);
		r->nheld = r->gone = 0;
		return;
	}
	/* Not what it looked like: c is looked at anew, and so is an ESC that
	 * was to begin ST. */
	r->nheld--;
	escape = before == MATCH_SURE && r->held[r->nheld - 1] == '\033';
	if (!cut_short(r, before, c))
		pass_held(r, out);
	r->nheld = r->gone = 0;
	if (escape)
		one(r, '\033', out);
	one(r, c, out);
}

void
replies_feed(struct replies *r, const void *data, size_t len, struct buf *out)
{
	const char *p = data;
	size_t i;

	for (i = 0; i < len; i++)
		one(r, p[i], out);
}

static bool
soft(const struct replies *r)
{
	const char *spec;
	int which;

	return r->nheld > 0 && match(r, &which, &spec) == MATCH_SOFT;
}

bool
replies_pending(const struct replies *r)
{
	return r->nheld > r->gone && soft(r);
}

void
replies_flush(struct replies *r, struct buf *out)
{
	if (!soft(r))
		return;
	pass_held(r, out);
	/* Its tail may still come, if anything was ever asked. */
	if (!r->asked)
		r->nheld = r->gone = 0;
}
