/* SPDX-License-Identifier: ISC */
/*
 * Mouse reports; see mouse.h. They come in four forms:
 *
 *	CSI M b x y		bytes, each 32 more; ?1005: UTF-8 characters
 *	CSI < b ; x ; y M|m	?1006, and in pixels ?1016; m is a release
 *	CSI b ; x ; y M		?1015, b 32 more
 *
 * with columns and rows (or pixels) from 1.
 */
#include <stdlib.h>
#include <string.h>

#include "../server/base/mem.h"
#include "mouse.h"
#include "paste.h"
#include "screen.h"
#include "utf8.h"

/* CSI < and three numbers of five digits. */
#define HELD_MAX	32

#define TRACKING	(MODE_MOUSE_X10 | MODE_MOUSE_BTN | MODE_MOUSE_DRAG | \
			    MODE_MOUSE_ANY)

/* Of a button number. */
#define BUTTON_NONE	3	/* in the low bits: all are up */
#define BUTTON_MOTION	32
#define BUTTON_WHEEL	64	/* wheels and further buttons from here on */

/* The largest coordinates that the old forms can say. */
#define BYTE_MAX	(255 - 32)
#define UTF8_MAX	(2047 - 32)

enum state { STATE_PLAIN, STATE_ESC, STATE_CSI, STATE_BYTES, STATE_PASTE };

struct mouse {
	enum state	 state;
	bool		 through;	/* what is held went out already */
	uint8_t		 held[HELD_MAX];
	size_t		 nheld;
	uint32_t	 number[3];	/* of STATE_BYTES, ... */
	int		 nnumbers;
	int		 more;		/* ... UTF-8 bytes to come of the last */
	size_t		 paste;		/* how much of its end was seen */
	bool		 pressed;	/* inside the shell, not released */
};

struct report {
	uint32_t	button;
	int		x, y;		/* from 0 */
	bool		release;
};

struct mouse *
mouse_new(void)
{
	return xcalloc(1, sizeof(struct mouse));
}

void
mouse_free(struct mouse *m)
{
	free(m);
}

bool
mouse_pending(const struct mouse *m)
{
	return m->nheld > 0 && !m->through;
}

static void
let_go(struct mouse *m, struct buf *out)
{
	if (!m->through)
		buf_put(out, m->held, m->nheld);
	m->nheld = 0;
	m->state = STATE_PLAIN;
}

void
mouse_flush(struct mouse *m, struct buf *out)
{
	if (m->nheld > 0)
		let_go(m, out);
}

/* Is a place on the terminal another one in the shell, or none? */
static bool
differs(const struct mouse_view *v)
{
	return (v->modes & TRACKING) != 0 && v->rows > 0 && v->cols > 0 &&
	    (v->row > 0 || v->col > 0 || v->rows < v->out_rows ||
	    v->cols < v->out_cols);
}

/* --- one report ----------------------------------------------------------- */

/* n: the shell's size; off: what of it is left of (above) the terminal. False:
 * the place is beside the shell; then it is the shell's nearest. */
static bool
translate(int *at, int off, int n)
{
	*at += off;
	if (*at < n)
		return true;
	*at = n - 1;
	return false;
}

/* From the terminal's place to the shell's. False: to be dropped. */
static bool
report_move(struct mouse *m, const struct mouse_view *v, struct report *r,
    bool pixels)
{
	int w = 1, h = 1;
	bool inside, motion = (r->button & BUTTON_MOTION) != 0;
	bool none = (r->button & 3) == BUTTON_NONE;

	if (pixels) {
		w = v->out_cols > 0 ? v->out_x / v->out_cols : 0;
		h = v->out_rows > 0 ? v->out_y / v->out_rows : 0;
		/* How large its cells are the terminal does not say. */
		if (w <= 0 || h <= 0)
			return v->row == 0 && v->col == 0;
	}
	inside = translate(&r->x, v->col * w, v->cols * w);
	inside = translate(&r->y, v->row * h, v->rows * h) && inside;
	if (r->button >= BUTTON_WHEEL)
		return inside;
	if (r->release || (none && !motion)) {
		inside = inside || m->pressed;
		m->pressed = false;
		return inside;
	}
	if (motion)
		return inside || (m->pressed && !none);
	m->pressed = inside;
	return inside;
}

/* CSI M and three numbers, as they came. */
static void
bytes_done(struct mouse *m, const struct mouse_view *v, struct buf *out)
{
	bool utf8 = (v->modes & MODE_MOUSE_UTF8) != 0;
	int max = utf8 ? UTF8_MAX : BYTE_MAX, i;
	struct report r = { m->number[0] - 32, (int)m->number[1] - 33,
	    (int)m->number[2] - 33, false };
	char text[UTF8_BYTES];
	uint32_t n[3];

	m->nheld = 0;
	m->state = STATE_PLAIN;
	if (r.x < 0 || r.y < 0)		/* too far for the terminal already */
		return;
	if (!report_move(m, v, &r, false) || r.x >= max || r.y >= max)
		return;
	n[0] = m->number[0];
	n[1] = (uint32_t)r.x + 33;
	n[2] = (uint32_t)r.y + 33;
	buf_puts(out, "\033[M");
	for (i = 0; i < 3; i++)
		if (utf8)
			buf_put(out, text, utf8_put(text, n[i]));
		else
			buf_u8(out, (uint8_t)n[i]);
}

/* Three numbers between from and the final byte, and nothing else. */
static bool
three(const struct mouse *m, size_t from, uint32_t n[3])
{
	size_t i;
	int k = 0, digits = 0;

	n[0] = n[1] = n[2] = 0;
	for (i = from; i + 1 < m->nheld; i++) {
		if (m->held[i] == ';' && digits > 0 && k < 2) {
			k++;
			digits = 0;
		} else if (m->held[i] >= '0' && m->held[i] <= '9' &&
		    ++digits <= 6)
			n[k] = n[k] * 10 + (uint32_t)(m->held[i] - '0');
		else
			return false;
	}
	return k == 2 && digits > 0;
}

/* A whole CSI is held. */
static void
csi_done(struct mouse *m, const struct mouse_view *v, struct buf *out)
{
	uint8_t final = m->held[m->nheld - 1];
	bool sgr = m->held[2] == '<';
	bool pixels = sgr && (v->modes & MODE_MOUSE_PIXEL) != 0;
	struct report r;
	uint32_t n[3];

	if (paste_begins(m->held, m->nheld)) {
		let_go(m, out);
		m->state = STATE_PASTE;
		m->paste = 0;
		return;
	}
	if (m->through || (final != 'M' && !(sgr && final == 'm')) ||
	    !three(m, sgr ? 3 : 2, n) ||
	    (!pixels && (n[1] == 0 || n[2] == 0)) ||
	    (!sgr && (!(v->modes & MODE_MOUSE_URXVT) || n[0] < 32))) {
		let_go(m, out);
		return;
	}
	m->nheld = 0;
	m->state = STATE_PLAIN;
	r.button = sgr ? n[0] : n[0] - 32;
	r.x = (int)n[1] - 1;
	r.y = (int)n[2] - 1;
	r.release = final == 'm';
	if (report_move(m, v, &r, pixels))
		buf_printf(out, "\033[%s%u;%d;%d%c", sgr ? "<" : "", n[0],
		    r.x + 1, r.y + 1, final);
}

/* --- bytes ---------------------------------------------------------------- */

static void
hold(struct mouse *m, uint8_t c, struct buf *out)
{
	m->held[m->nheld++] = c;
	if (m->through)
		buf_u8(out, c);
}

static void
one_plain(struct mouse *m, const struct mouse_view *v, uint8_t c,
    struct buf *out)
{
	if (c != 27) {
		buf_u8(out, c);
		return;
	}
	m->through = !differs(v);
	m->state = STATE_ESC;
	hold(m, c, out);
}

static void
one_csi(struct mouse *m, const struct mouse_view *v, uint8_t c,
    struct buf *out)
{
	if (c < 0x20) {		/* broken off */
		let_go(m, out);
		one_plain(m, v, c, out);
		return;
	}
	hold(m, c, out);
	if (m->nheld == 3 && c == 'M') {
		m->state = STATE_BYTES;
		m->nnumbers = m->more = 0;
	} else if (c >= 0x40 && c <= 0x7e)
		csi_done(m, v, out);
	else if (m->nheld == HELD_MAX)
		let_go(m, out);		/* no report is so long */
}

static void
one_number(struct mouse *m, const struct mouse_view *v, uint8_t c,
    struct buf *out)
{
	hold(m, c, out);
	if (m->more > 0) {
		m->number[m->nnumbers] = m->number[m->nnumbers] << 6 |
		    (c & 63);
		m->more--;
	} else if ((v->modes & MODE_MOUSE_UTF8) != 0 && c >= 0xc0) {
		m->number[m->nnumbers] = c & 31;
		m->more = 1;
	} else
		m->number[m->nnumbers] = c;
	if (m->more > 0 || ++m->nnumbers < 3)
		return;
	if (m->through)
		let_go(m, out);
	else
		bytes_done(m, v, out);
}

void
mouse_feed(struct mouse *m, const struct mouse_view *v, const void *data,
    size_t len, struct buf *out)
{
	const uint8_t *p = data, *esc;
	size_t n;

	while (len > 0) {
		n = 1;
		switch (m->state) {
		case STATE_PLAIN:
			esc = memchr(p, 27, len);
			if ((n = esc == NULL ? len : (size_t)(esc - p)) > 0)
				buf_put(out, p, n);
			else {
				n = 1;
				one_plain(m, v, *p, out);
			}
			break;
		case STATE_ESC:
			if (*p == '[') {
				hold(m, *p, out);
				m->state = STATE_CSI;
			} else {
				let_go(m, out);
				one_plain(m, v, *p, out);
			}
			break;
		case STATE_CSI:
			one_csi(m, v, *p, out);
			break;
		case STATE_BYTES:
			one_number(m, v, *p, out);
			break;
		case STATE_PASTE:
			buf_u8(out, *p);
			if (paste_mark(PASTE_END, &m->paste, (char)*p))
				m->state = STATE_PLAIN;
			break;
		}
		p += n;
		len -= n;
	}
}
