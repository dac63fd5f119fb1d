/* SPDX-License-Identifier: ISC */
/*
 * Modes: DEC private and ANSI ones, their queries, xterm's save and restore,
 * and the keyboard protocols. One table names every mode that is a bit.
 */
#include "screen-private.h"

struct mode {
	uint16_t	number;		/* DEC private */
	bool		inner;		/* bit of screen.inner, else of flags */
	bool		inverse;	/* set means the bit is clear */
	uint32_t	bit;
};

/* The index is in checkpoints (struct screen.xsaved): append only. */
static const struct mode table[] = {
	{ 1,	false,	false,	MODE_APP_CURSOR },
	{ 5,	false,	false,	MODE_REVERSE },
	{ 6,	true,	false,	INNER_ORIGIN },
	{ 7,	true,	false,	INNER_WRAP },
	{ 9,	false,	false,	MODE_MOUSE_X10 },
	{ 12,	false,	false,	MODE_CURSOR_BLINK },
	{ 25,	false,	true,	MODE_CURSOR_HIDDEN },
	{ 40,	true,	false,	INNER_COLUMNS },
	{ 45,	true,	false,	INNER_BACKWRAP },
	{ 47,	false,	false,	MODE_ALT_SCREEN },
	{ 66,	false,	false,	MODE_APP_KEYPAD },
	{ 69,	true,	false,	INNER_SIDES },
	{ 1000,	false,	false,	MODE_MOUSE_BTN },
	{ 1002,	false,	false,	MODE_MOUSE_DRAG },
	{ 1003,	false,	false,	MODE_MOUSE_ANY },
	{ 1004,	false,	false,	MODE_FOCUS },
	{ 1005,	false,	false,	MODE_MOUSE_UTF8 },
	{ 1006,	false,	false,	MODE_MOUSE_SGR },
	{ 1007,	false,	false,	MODE_ALT_SCROLL },
	{ 1015,	false,	false,	MODE_MOUSE_URXVT },
	{ 1016,	false,	false,	MODE_MOUSE_PIXEL },
	{ 1047,	false,	false,	MODE_ALT_SCREEN },
	{ 1049,	false,	false,	MODE_ALT_SCREEN },
	{ 2004,	false,	false,	MODE_PASTE },
	{ 2026,	false,	false,	MODE_SYNC },
	{ 2031,	false,	false,	MODE_THEME },
	{ 42,	true,	false,	INNER_NATIONAL }
};

#define MODE_MOUSE (MODE_MOUSE_X10 | MODE_MOUSE_BTN | MODE_MOUSE_DRAG | \
    MODE_MOUSE_ANY)
#define MODE_MOUSE_CODING (MODE_MOUSE_UTF8 | MODE_MOUSE_SGR | \
    MODE_MOUSE_URXVT | MODE_MOUSE_PIXEL)

static const struct mode *
find(int number)
{
	size_t i;

	for (i = 0; i < sizeof table / sizeof *table; i++)
		if (table[i].number == number)
			return &table[i];
	return NULL;
}

static bool
is_set(const struct screen *s, const struct mode *m)
{
	uint32_t word = m->inner ? s->inner : s->modes.flags;

	return ((word & m->bit) != 0) != m->inverse;
}

static void
erase_all(struct screen *s)
{
	int cells = cursor_cells(s);

	grid_erase(s->grid, 0, 0, s->rows, s->cols, text_blank(s), false);
	cursor_keep_col(s, cells);
}

static void
columns(struct screen *s)
{
	/* DECCOLM itself is refused: the size is the user's. What comes with
	 * it is not, if the program has asked for it by ?40. */
	if (!(s->inner & INNER_COLUMNS))
		return;
	s->top = s->left = 0;
	s->bottom = s->rows;
	s->right = s->cols;
	erase_all(s);
	cursor_set(s, 0, 0);
}

void
decmode_private(struct screen *s, int number, bool set)
{
	const struct mode *m;
	uint32_t *word;

	switch (number) {
	case 3:
		columns(s);
		return;
	case 47:
		screen_alternate(s, set);
		return;
	case 1047:
		if (!set && s->grid->cur == PAGE_ALT)
			erase_all(s);
		screen_alternate(s, set);
		return;
	case 1048:
		if (set)
			cursor_save(s);
		else
			cursor_restore(s);
		return;
	case 1049:
		if (set) {
			cursor_save(s);
			screen_alternate(s, true);
			erase_all(s);
		} else {
			screen_alternate(s, false);
			cursor_restore(s);
		}
		return;
	}
	if ((m = find(number)) == NULL)
		return;
	if (m->bit & MODE_MOUSE && !m->inner)
		s->modes.flags &= ~MODE_MOUSE;
	else if (m->bit & MODE_MOUSE_CODING && !m->inner && set)
		s->modes.flags &= ~MODE_MOUSE_CODING;
	word = m->inner ? &s->inner : &s->modes.flags;
	if (set != m->inverse)
		*word |= m->bit;
	else
		*word &= ~m->bit;
	switch (number) {
	case 6:
		cursor_home(s);
		break;
	case 69:
		s->left = 0;
		s->right = s->cols;
		break;
	}
}

void
decmode_ansi(struct screen *s, int number, bool set)
{
	uint32_t bit;

	if (number == 4)
		bit = INNER_INSERT;
	else if (number == 20)
		bit = INNER_NEWLINE;
	else
		return;
	if (set)
		s->inner |= bit;
	else
		s->inner &= ~bit;
}

int
decmode_query(const struct screen *s, int number, bool dec)
{
	const struct mode *m;

	if (!dec) {
		if (number == 4)
			return s->inner & INNER_INSERT ? 1 : 2;
		if (number == 20)
			return s->inner & INNER_NEWLINE ? 1 : 2;
		return 0;
	}
	if ((m = find(number)) == NULL)
		return 0;
	return is_set(s, m) ? 1 : 2;
}

void
decmode_xsave(struct screen *s, int number)
{
	const struct mode *m = find(number);
	uint64_t bit;

	if (m == NULL) {
		if (number == 1048)
			cursor_save(s);
		return;
	}
	bit = (uint64_t)1 << (m - table);
	if (is_set(s, m))
		s->xsaved |= bit;
	else
		s->xsaved &= ~bit;
}

void
decmode_xrestore(struct screen *s, int number)
{
	const struct mode *m = find(number);

	if (m == NULL) {
		if (number == 1048)
			cursor_restore(s);
		return;
	}
	decmode_private(s, number, s->xsaved >> (m - table) & 1);
}

/* --- keyboards --------------------------------------------------------- */

void
decmode_kitty(struct screen *s, uint8_t leader)
{
	struct kitty *k = &s->kitty[s->grid->cur];
	int arg = filter_param(&s->filter, 0, 0), i;

	switch (leader) {
	case '>':
		/* A full stack loses its oldest entry. */
		if (k->n == SCREEN_KITTY_MAX) {
			for (i = 1; i < SCREEN_KITTY_MAX; i++)
				k->under[i - 1] = k->under[i];
			k->n--;
		}
		k->under[k->n++] = k->top;
		k->top = arg & 31;
		break;
	case '<':
		for (i = filter_one(&s->filter, 0); i > 0; i--) {
			if (k->n == 0) {
				k->top = 0;
				break;
			}
			k->top = k->under[--k->n];
		}
		break;
	case '=':
		switch (filter_param(&s->filter, 1, 1)) {
		case 1:
			k->top = arg & 31;
			break;
		case 2:
			k->top |= arg & 31;
			break;
		case 3:
			k->top &= ~arg;
			break;
		}
		break;
	}
	s->modes.kitty_flags = k->top;
}

void
decmode_other_keys(struct screen *s, bool set)
{
	if (!set || s->filter.nparams == 0) {
		/* CSI > 4 n, or no argument at all: the default again. */
		if (set || filter_param(&s->filter, 0, 0) == 4)
			s->modes.modify_other = 0;
		return;
	}
	if (filter_param(&s->filter, 0, 0) == 4) {
		int level = filter_param(&s->filter, 1, 0);

		s->modes.modify_other = level > 2 ? 2 : level;
	}
}

void
decmode_reset(struct screen *s, bool hard)
{
	int page;

	if (!hard) {
		s->inner &= ~(INNER_INSERT | INNER_ORIGIN | INNER_SIDES |
		    INNER_BACKWRAP);
		s->inner |= INNER_WRAP;
		s->modes.flags &= ~(MODE_APP_CURSOR | MODE_APP_KEYPAD |
		    MODE_CURSOR_HIDDEN);
		return;
	}
	s->inner = INNER_WRAP;
	s->modes.flags = 0;
	s->modes.cursor_shape = 0;
	s->modes.kitty_flags = 0;
	s->modes.modify_other = 0;
	s->xsaved = 0;
	for (page = 0; page < PAGES; page++)
		s->kitty[page] = (struct kitty){ 0 };
}
