/* SPDX-License-Identifier: ISC */
/*
 * The modes of the terminal outside: brought to what the program inside set,
 * and undone. The bits are those a client keeps to undo them by itself, so
 * what is set here must be undone by view_undo() from the bits alone.
 */
#include <stdio.h>
#include <string.h>

#include "../server/base/limits.h"
#include "outer.h"
#include "view.h"

/* Encodings stand before the tracking modes that use them. */
static const struct {
	uint32_t	bit;
	int		number;		/* CSI ? number h */
} private_modes[] = {
	{ MODE_APP_CURSOR, 1 },
	{ MODE_PASTE, 2004 },
	{ MODE_FOCUS, 1004 },
	{ MODE_MOUSE_UTF8, 1005 },
	{ MODE_MOUSE_SGR, 1006 },
	{ MODE_MOUSE_URXVT, 1015 },
	{ MODE_MOUSE_PIXEL, 1016 },
	{ MODE_MOUSE_X10, 9 },
	{ MODE_MOUSE_BTN, 1000 },
	{ MODE_MOUSE_DRAG, 1002 },
	{ MODE_MOUSE_ANY, 1003 },
	{ MODE_ALT_SCROLL, 1007 },
	{ MODE_REVERSE, 5 },
	{ MODE_THEME, 2031 },
};
#define NPRIVATE (sizeof private_modes / sizeof private_modes[0])

/* Switching one of a group off switches the group off in many terminals. */
#define MODES_TRACKING	(MODE_MOUSE_X10 | MODE_MOUSE_BTN |		\
			    MODE_MOUSE_DRAG | MODE_MOUSE_ANY)
#define MODES_ENCODING	(MODE_MOUSE_UTF8 | MODE_MOUSE_SGR |		\
			    MODE_MOUSE_URXVT | MODE_MOUSE_PIXEL)
#define MODES_OURS	(MODE_APP_KEYPAD | MODE_CURSOR_HIDDEN |		\
			    MODE_CURSOR_BLINK)

/* A terminal that is not known to skip private modes gets the two that VT100
 * keyboards had and no more. */
static uint32_t
modes_possible(const struct caps *c)
{
	uint32_t mask = MODES_OURS | MODE_APP_CURSOR;
	size_t i;

	if (!caps_has(c, CAP_CIVIS) || !caps_has(c, CAP_CNORM))
		mask &= ~(uint32_t)MODE_CURSOR_HIDDEN;
	if (!caps_flag(c, CAPS_DECSET))
		return mask & ~(uint32_t)MODE_CURSOR_BLINK;
	for (i = 0; i < NPRIVATE; i++)
		mask |= private_modes[i].bit;
	if (!caps_flag(c, CAPS_DECSCUSR))
		mask &= ~(uint32_t)MODE_CURSOR_BLINK;
	if (!caps_flag(c, CAPS_RGB))
		mask &= ~(uint32_t)MODE_THEME;
	return mask;
}

/* One sequence each: of several in one, older libvterm (and so the terminals
 * made with it) applies the first and forgets the rest. */
static void
emit_private(struct buf *out, uint32_t bits, bool on)
{
	size_t i;

	for (i = 0; i < NPRIVATE; i++)
		if ((bits & private_modes[i].bit) != 0)
			buf_printf(out, "\033[?%d%c", private_modes[i].number,
			    on ? 'h' : 'l');
}

/* cnorm and civis of several entries change more than the visibility (blink,
 * shape, screen's mode 34): where the plain form is part of them, use that. */
static void
emit_visible(const struct caps *c, bool visible, struct buf *out)
{
	char s[CAPS_EXPAND_MAX + 1];
	enum cap cap = visible ? CAP_CNORM : CAP_CIVIS;

	s[caps_expand(c, CAP_CIVIS, 0, 0, s)] = '\0';
	if (strstr(s, "\033[?25l") != NULL)
		buf_puts(out, visible ? "\033[?25h" : "\033[?25l");
	else
		caps_emit(c, cap, 0, 0, out);
}

static void
emit_flags(struct outer *o, uint32_t want)
{
	uint32_t off = o->modes & ~want, on = want & ~o->modes;

	emit_private(o->out, off, false);
	if ((off & MODES_TRACKING) != 0)
		on |= want & MODES_TRACKING;
	if ((off & MODES_ENCODING) != 0)
		on |= want & MODES_ENCODING;
	emit_private(o->out, on, true);
	if (((on | off) & MODE_APP_KEYPAD) != 0)
		buf_puts(o->out, (on & MODE_APP_KEYPAD) != 0 ?
		    "\033=" : "\033>");
	if (((on | off) & MODE_CURSOR_BLINK) != 0)
		buf_puts(o->out, (on & MODE_CURSOR_BLINK) != 0 ?
		    "\033[?12h" : "\033[?12l");
	if (((on | off) & MODE_CURSOR_HIDDEN) != 0)
		emit_visible(o->caps, (off & MODE_CURSOR_HIDDEN) != 0,
		    o->out);
	o->modes = (o->modes | on) & ~off;
}

static void
kitty_to(struct outer *o, uint8_t flags)
{
	if (!caps_flag(o->caps, CAPS_KITTY) || o->kitty == flags)
		return;
	if (flags == 0) {
		buf_puts(o->out, "\033[<u");
		o->modes &= ~VIEW_KITTY;
	} else if ((o->modes & VIEW_KITTY) != 0)
		buf_printf(o->out, "\033[=%d;1u", flags);
	else {
		buf_printf(o->out, "\033[>%du", flags);
		o->modes |= VIEW_KITTY;
	}
	o->kitty = flags;
}

static void
other_to(struct outer *o, uint8_t level)
{
	if (!caps_flag(o->caps, CAPS_OTHERKEYS) || o->other == level)
		return;
	if (level == 0) {
		buf_puts(o->out, "\033[>4m");
		o->modes &= ~VIEW_OTHER;
	} else {
		buf_printf(o->out, "\033[>4;%dm", level);
		o->modes |= VIEW_OTHER;
	}
	o->other = level;
}

static void
shape_to(struct outer *o, uint8_t shape)
{
	if (!caps_flag(o->caps, CAPS_DECSCUSR) || o->shape == shape)
		return;
	/* 0 is the user's own shape; terminfo's Se often is a block. */
	buf_printf(o->out, "\033[%d q", shape);
	if (shape == 0)
		o->modes &= ~VIEW_STYLED;
	else
		o->modes |= VIEW_STYLED;
	o->shape = shape;
}

void
outer_modes(struct outer *o, const struct screen_modes *m)
{
	uint32_t mask = modes_possible(o->caps), mine;

	/* The shape first: it sets a blink of its own. */
	shape_to(o, m->cursor_shape > 6 ? 0 : m->cursor_shape);
	emit_flags(o, ((m->flags | o->follow) & mask) | (o->modes & ~mask));
	mine = o->follow & mask & ~m->flags;
	o->modes &= ~(VIEW_MY_THEME | VIEW_MY_FOCUS);
	if ((mine & MODE_THEME) != 0)
		o->modes |= VIEW_MY_THEME;
	if ((mine & MODE_FOCUS) != 0)
		o->modes |= VIEW_MY_FOCUS;
	kitty_to(o, m->kitty_flags & 31);
	other_to(o, m->modify_other > 2 ? 2 : m->modify_other);
}

void
outer_cursor_colour(struct outer *o, uint32_t colour)
{
	if (!caps_flag(o->caps, CAPS_COLOURS) || o->cursor == colour)
		return;
	if (colour == COLOUR_DEFAULT) {
		buf_puts(o->out, "\033]112\a");
		o->modes &= ~VIEW_CURSOR;
	} else {
		buf_printf(o->out, "\033]12;#%06x\a", colour & 0xffffff);
		o->modes |= VIEW_CURSOR;
	}
	o->cursor = colour;
}

void
outer_alt(struct outer *o, bool on)
{
	if (!caps_has(o->caps, CAP_SMCUP) || !caps_has(o->caps, CAP_RMCUP) ||
	    on == ((o->modes & MODE_ALT_SCREEN) != 0))
		return;
	/* kitty's stack of key flags is each screen's own: leave this one as
	 * it was before the other is entered. */
	kitty_to(o, 0);
	/* The title is on one stack with what smcup and rmcup of many
	 * terminals push and pop. */
	if ((o->modes & VIEW_TITLED) != 0)
		outer_title(o, "");
	outer_link(o, 0, NULL, NULL);
	outer_reset_pen(o);
	caps_emit(o->caps, on ? CAP_SMCUP : CAP_RMCUP, 0, 0, o->out);
	o->modes ^= MODE_ALT_SCREEN;
	/* 1049 saves and restores cursor and pen, 47 does not. */
	o->y = o->x = -1;
	o->pen_known = false;
	/* libvterm counts the cursor's looks as part of what is saved. */
	if (!on && (o->modes & VIEW_STYLED) != 0)
		o->shape = 255;
	if (!on && caps_has(o->caps, CAP_CIVIS) &&
	    caps_has(o->caps, CAP_CNORM))
		emit_visible(o->caps, (o->modes & MODE_CURSOR_HIDDEN) == 0,
		    o->out);
}

void
outer_title(struct outer *o, const char *title)
{
	const unsigned char *p = (const unsigned char *)title;
	const unsigned char *end;
	size_t n = 0;

	if (!caps_flag(o->caps, CAPS_TITLE))
		return;
	if (*title == '\0') {
		if ((o->modes & VIEW_TITLED) != 0)
			buf_puts(o->out, "\033[23;2t");
		o->modes &= ~VIEW_TITLED;
		return;
	}
	if ((o->modes & VIEW_TITLED) == 0)
		buf_puts(o->out, "\033[22;2t");
	o->modes |= VIEW_TITLED;
	buf_puts(o->out, "\033]2;");
	/* Whole characters, no controls: C1 ones are C2 80..9F. */
	while (*p != '\0' && n < VIEW_TITLE_MAX) {
		for (end = p + 1; (*end & 0xc0) == 0x80; end++)
			;
		if (*p >= 0x20 && *p != 0x7f && !(*p == 0xc2 && p[1] < 0xa0)) {
			buf_put(o->out, p, (size_t)(end - p));
			n += (size_t)(end - p);
		}
		p = end;
	}
	/* BEL and not ST: more terminals end a title with it. */
	buf_puts(o->out, "\a");
}

void
view_undo_modes(const struct caps *caps, uint32_t modes, int rows,
    struct buf *out)
{
	/* The end of whatever a client that was killed had half written. */
	buf_puts(out, "\033\\");
	if (caps_flag(caps, CAPS_SYNC))
		buf_puts(out, "\033[?2026l");
	if (caps_flag(caps, CAPS_LINKS))
		buf_puts(out, "\033]8;;\033\\");
	caps_emit(caps, CAP_SGR0, 0, 0, out);
	if ((modes & VIEW_KITTY) != 0)
		buf_puts(out, "\033[<u");
	if ((modes & VIEW_OTHER) != 0)
		buf_puts(out, "\033[>4m");
	if ((modes & MODE_ALT_SCREEN) != 0)
		caps_emit(caps, CAP_RMCUP, 0, 0, out);
	emit_private(out, modes, false);
	if ((modes & MODE_APP_KEYPAD) != 0)
		buf_puts(out, "\033>");
	if ((modes & MODE_CURSOR_BLINK) != 0)
		buf_puts(out, "\033[?12l");
	if ((modes & VIEW_STYLED) != 0)
		buf_puts(out, "\033[0 q");
	if ((modes & VIEW_CURSOR) != 0)
		buf_puts(out, "\033]112\a");
	if ((modes & VIEW_TITLED) != 0)
		buf_puts(out, "\033[23;2t");
	if ((modes & MODE_CURSOR_HIDDEN) != 0)
		emit_visible(caps, true, out);
	/* Setting the region homes the cursor, so before the last move. */
	if (caps_has(caps, CAP_CSR))
		caps_emit(caps, CAP_CSR, 0, rows - 1, out);
}

void
view_undo(const struct caps *caps, uint32_t modes, int rows, struct buf *out)
{
	view_undo_modes(caps, modes, rows, out);
	caps_emit(caps, CAP_CUP, rows - 1, 0, out);
	buf_puts(out, "\r\n");
}

void
view_undrawn_notice(const struct caps *caps, int rows, int cols,
    const char *text, struct buf *out)
{
	const unsigned char *p = (const unsigned char *)text;
	int n = 0;

	buf_puts(out, "\0337");
	caps_emit(caps, CAP_CUP, rows - 1, 0, out);
	caps_emit(caps, CAP_SGR0, 0, 0, out);
	if (text != NULL) {
		caps_emit(caps, CAP_REV, 0, 0, out);
		for (; *p != '\0' && n < cols - 1; p++) {
			if (*p < 0x20 || *p == 0x7f)
				continue;
			buf_put(out, p, 1);
			/* A character's later bytes take no column. */
			while ((p[1] & 0xc0) == 0x80)
				buf_put(out, ++p, 1);
			n++;
		}
		caps_emit(caps, CAP_SGR0, 0, 0, out);
	}
	caps_emit(caps, CAP_EL, 0, 0, out);
	buf_puts(out, "\0338");
}
