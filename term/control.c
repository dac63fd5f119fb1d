/* SPDX-License-Identifier: ISC */
/*
 * What control bytes, ESC and CSI sequences do. Whatever changes cells
 * (erasing, inserting, deleting, scrolling) is carried out by libvterm; the
 * rest is here or in the part of its noun.
 */
#include <string.h>

#include "charset.h"
#include "screen-private.h"

#define CSI(leader, mid, final) ((leader) << 16 | (mid) << 8 | (final))

/* --- libvterm's side --------------------------------------------------- */

static void
scroll_op(struct vt_rect r, int down, int across, void *arg)
{
	struct screen *s = arg;

	grid_scroll(s->grid, r.top, r.left, r.bottom, r.right, down, across,
	    text_blank(s), s->saving);
}

static void
erase_op(struct vt_rect r, bool selective, void *arg)
{
	struct screen *s = arg;

	grid_erase(s->grid, r.top, r.left, r.bottom, r.right, text_blank(s),
	    selective);
}

static void
put_op(int row, int col, unsigned int ch, void *arg)
{
	struct screen *s = arg;

	grid_put(s->grid, row, col, ch, 1, 0);
}

void
control_ops(struct screen *s, struct vt_ops *ops)
{
	ops->scroll = scroll_op;
	ops->erase = erase_op;
	ops->put = put_op;
	ops->arg = s;
}

static void
where(const struct screen *s, struct vt_place *at)
{
	at->row = s->row;
	at->col = s->col;
	at->sides = s->inner & INNER_SIDES;
	at->margins.top = s->top;
	at->margins.bottom = s->bottom;
	at->margins.left = at->sides ? s->left : 0;
	at->margins.right = at->sides ? s->right : s->cols;
}

static void
execute(struct screen *s, const char *leader, const char *mid, char final)
{
	int arg, cells = cursor_cells(s);
	uint8_t size = grid_row(s->grid, s->row)->size;
	struct vt_place at;

	where(s, &at);
	/* libvterm wants the cursor within the top and bottom margins even
	 * for what happens within one line. */
	if (final == '@' || final == 'P')  {
		at.margins.top = 0;
		at.margins.bottom = s->rows;
	}
	arg = filter_param(&s->filter, 0, -1);
	if (cells == 2 && strchr("@PX", final) != NULL)
		arg = arg < 1 ? 2 : arg * 2;
	vt_csi(s->vt, &at, leader, mid, &arg, 1, final);
	/* What empties a single line leaves its size. */
	if (strchr("@PXK", final) != NULL)
		grid_row(s->grid, s->row)->size = size;
	else if (s->grid->doubled)
		cursor_keep_col(s, cells);
}

/* --- C0 and ESC -------------------------------------------------------- */

void
control_c0(struct screen *s, uint8_t c)
{
	switch (c) {
	case 0x07:
		if (!s->muted && s->cb.bell != NULL)
			s->cb.bell(s->cb.arg);
		break;
	case 0x08:
		cursor_backspace(s);
		break;
	case 0x09:
		cursor_tab(s, 1);
		break;
	case 0x0a:
	case 0x0b:
	case 0x0c:
		text_index(s);
		if (s->inner & INNER_NEWLINE)
			cursor_return(s);
		break;
	case 0x0d:
		cursor_return(s);
		break;
	case 0x0e:
		s->gl = 1;
		break;
	case 0x0f:
		s->gl = 0;
		break;
	}
}

static void
align(struct screen *s)
{
	struct vt_place at;
	int y;

	s->top = 0;
	s->bottom = s->rows;
	s->left = 0;
	s->right = s->cols;
	s->inner &= ~INNER_ORIGIN;
	for (y = 0; y < s->rows; y++)
		grid_row(s->grid, y)->size = ROW_SINGLE;
	cursor_set(s, 0, 0);
	where(s, &at);
	vt_esc(s->vt, &at, "#8");
}

/* DECBI and DECFI: a column back or forward, moving the page at the edge. */
static void
column_index(struct screen *s, int by)
{
	int left = s->inner & INNER_SIDES ? s->left : 0;
	int right = s->inner & INNER_SIDES ? s->right : s->cols;
	int edge = by < 0 ? left : right - 1;

	if (s->col != edge) {
		cursor_set(s, s->row, cursor_col(s) + by);
		return;
	}
	if (s->row >= s->top && s->row < s->bottom)
		grid_scroll(s->grid, s->top, left, s->bottom, right, 0, by,
		    text_blank(s), false);
}

static void
escape_plain(struct screen *s, uint8_t final)
{
	switch (final) {
	case '6':
		column_index(s, -1);
		break;
	case '7':
		cursor_save(s);
		break;
	case '8':
		cursor_restore(s);
		break;
	case '9':
		column_index(s, 1);
		break;
	case '=':
		s->modes.flags |= MODE_APP_KEYPAD;
		break;
	case '>':
		s->modes.flags &= ~MODE_APP_KEYPAD;
		break;
	case 'D':
		text_index(s);
		break;
	case 'E':
		text_index(s);
		cursor_return(s);
		break;
	case 'H':
		s->tabs[cursor_col(s)] = 1;
		break;
	case 'M':
		text_reverse_index(s);
		break;
	case 'N':
		s->gsingle = 2;
		break;
	case 'O':
		s->gsingle = 3;
		break;
	case 'Z':
		s->filter.leader = 0;
		answers_csi(s, 'c');
		break;
	case 'c':
		screen_reset(s);
		break;
	case 'n':
		s->gl = 2;
		break;
	case 'o':
		s->gl = 3;
		break;
	}
}

/* DECDWL, DECDHL, DECSWL. */
static void
row_size(struct screen *s, enum row_size size)
{
	int cells = cursor_cells(s);

	grid_row_size(s->grid, s->row, size);
	cursor_keep_col(s, cells);
}

/* G0 to G3. A set of 96 characters cannot be G0. */
static void
designate(struct screen *s, const struct filter *f, uint8_t final)
{
	uint8_t set = charset_find(f->mid[0], f->mid[1], final,
	    s->inner & INNER_NATIONAL);

	if (set == 0)
		return;
	/* ( ) * + for 94 characters, - . / for 96. */
	s->gset[f->mid[0] >= '-' ? f->mid[0] - '-' + 1 :
	    (f->mid[0] - '(') & 3] = set;
}

void
control_esc(struct screen *s, uint8_t final)
{
	const struct filter *f = &s->filter;

	if (f->nmid == 0)
		escape_plain(s, final);
	else if (f->mid[0] >= '(' && f->mid[0] <= '/' && f->mid[0] != ',')
		designate(s, f, final);
	else if (f->nmid == 1 && f->mid[0] == '#')
		switch (final) {
		case '3':
			row_size(s, ROW_TOP);
			break;
		case '4':
			row_size(s, ROW_BOTTOM);
			break;
		case '5':
			row_size(s, ROW_SINGLE);
			break;
		case '6':
			row_size(s, ROW_WIDE);
			break;
		case '8':
			align(s);
			break;
		}
}

/* --- CSI --------------------------------------------------------------- */

static void
margins(struct screen *s, int *low, int *high, int size)
{
	int a = filter_one(&s->filter, 0) - 1;
	int b = filter_param(&s->filter, 1, size);

	if (b == 0 || b > size)
		b = size;
	if (b - a < 2)
		return;
	*low = a;
	*high = b;
	cursor_home(s);
}

/* IL and DL: where they act they also take the cursor to the left margin, as
 * xterm and the VT510 do. */
static void
lines(struct screen *s, char final)
{
	struct vt_place at;

	s->wrap = false;
	where(s, &at);
	if (s->row < s->top || s->row >= s->bottom ||
	    s->col < at.margins.left || s->col >= at.margins.right)
		return;
	execute(s, "", "", final);
	s->col = at.margins.left;
}

/* SL and SR. */
static void
scroll_across(struct screen *s, int n)
{
	struct vt_place at;

	where(s, &at);
	if (s->row < s->top || s->row >= s->bottom)
		return;
	grid_scroll(s->grid, s->top, at.margins.left, s->bottom,
	    at.margins.right, 0, n, text_blank(s), false);
}

static void
erase_display(struct screen *s, const char *leader)
{
	int what = filter_param(&s->filter, 0, 0);

	if (what == 3) {
		if (*leader == '\0')
			grid_history_clear(s->grid);
		return;
	}
	/* Past a full line nothing is left of it to erase. */
	if (what == 0 && s->wrap) {
		if (s->row + 1 < s->rows)
			grid_erase(s->grid, s->row + 1, 0, s->rows, s->cols,
			    text_blank(s), *leader != '\0');
		return;
	}
	execute(s, leader, "", 'J');
}

static void
erase_line(struct screen *s, const char *leader)
{
	if (filter_param(&s->filter, 0, 0) == 0 && s->wrap)
		return;
	execute(s, leader, "", 'K');
}

static void
each_mode(struct screen *s, void (*fn)(struct screen *, int, bool), bool set)
{
	int i;

	for (i = 0; i < s->filter.nparams; i++)
		if (s->filter.param[i] >= 0)
			fn(s, s->filter.param[i], set);
}

static void
xsave(struct screen *s, bool save)
{
	int i;

	for (i = 0; i < s->filter.nparams; i++)
		if (save)
			decmode_xsave(s, s->filter.param[i]);
		else
			decmode_xrestore(s, s->filter.param[i]);
}

static void
protect(struct screen *s)
{
	int what = filter_param(&s->filter, 0, 0);

	if (what == 1)
		s->pen.flags |= PEN_PROTECTED;
	else if (what == 0 || what == 2)
		s->pen.flags &= ~PEN_PROTECTED;
	sgr_pen(s);
}

static void
tab_clear(struct screen *s)
{
	int x;

	switch (filter_param(&s->filter, 0, 0)) {
	case 0:
		s->tabs[cursor_col(s)] = 0;
		break;
	case 3:
		for (x = 0; x < s->cols; x++)
			s->tabs[x] = 0;
		break;
	}
}

static void
cursor_shape(struct screen *s)
{
	int shape = filter_param(&s->filter, 0, 0);

	if (shape <= 6)
		s->modes.cursor_shape = shape;
}

void
control_csi(struct screen *s, uint8_t final)
{
	const struct filter *f = &s->filter;
	int n = filter_one(f, 0);

	if (f->nmid > 1 || answers_csi(s, final))
		return;
	switch (CSI(f->leader, f->nmid ? f->mid[0] : 0, final)) {
	case CSI(0, 0, 'A'):
		cursor_up(s, n);
		break;
	case CSI(0, 0, 'B'):
		cursor_down(s, n);
		break;
	case CSI(0, 0, 'C'):
		cursor_forward(s, n);
		break;
	case CSI(0, 0, 'D'):
		cursor_back(s, n);
		break;
	case CSI(0, 0, 'E'):
		cursor_down(s, n);
		cursor_return(s);
		break;
	case CSI(0, 0, 'F'):
		cursor_up(s, n);
		cursor_return(s);
		break;
	case CSI(0, 0, 'G'):
	case CSI(0, 0, '`'):
		cursor_column(s, n - 1);
		break;
	case CSI(0, 0, 'H'):
	case CSI(0, 0, 'f'):
		cursor_address(s, n - 1, filter_one(f, 1) - 1);
		break;
	case CSI(0, 0, 'I'):
		cursor_tab(s, n);
		break;
	case CSI(0, 0, 'Z'):
		cursor_tab(s, -n);
		break;
	case CSI(0, 0, 'a'):
		cursor_set(s, s->row, cursor_col(s) + n);
		break;
	case CSI(0, 0, 'd'):
		cursor_line(s, n - 1);
		break;
	case CSI(0, 0, 'e'):
		cursor_set(s, s->row + n, cursor_col(s));
		break;

	case CSI(0, 0, 'J'):
		erase_display(s, "");
		break;
	case CSI('?', 0, 'J'):
		erase_display(s, "?");
		break;
	case CSI(0, 0, 'K'):
		erase_line(s, "");
		break;
	case CSI('?', 0, 'K'):
		erase_line(s, "?");
		break;
	case CSI(0, 0, 'X'):
		execute(s, "", "", final);
		break;
	case CSI(0, 0, '@'):
	case CSI(0, 0, 'P'):
		s->wrap = false;
		execute(s, "", "", final);
		break;
	case CSI(0, 0, 'L'):
	case CSI(0, 0, 'M'):
		lines(s, final);
		break;
	case CSI(0, 0, 'S'):
		s->saving = true;
		execute(s, "", "", final);
		s->saving = false;
		break;
	case CSI(0, 0, 'T'):
		/* With five arguments it is mouse tracking of old. */
		if (f->nparams <= 1)
			execute(s, "", "", final);
		break;
	case CSI(0, '\'', '}'):
		execute(s, "", "'", final);
		break;
	case CSI(0, '\'', '~'):
		execute(s, "", "'", final);
		break;
	case CSI(0, ' ', '@'):
		scroll_across(s, n);
		break;
	case CSI(0, ' ', 'A'):
		scroll_across(s, -n);
		break;
	case CSI(0, 0, 'b'):
		text_repeat(s, n);
		break;

	case CSI(0, 0, 'g'):
		tab_clear(s);
		break;
	case CSI('?', 0, 'W'):
		if (filter_param(f, 0, 0) == 5)
			cursor_tabs_default(s, 0);
		break;
	case CSI(0, 0, 'r'):
		margins(s, &s->top, &s->bottom, s->rows);
		break;
	case CSI(0, 0, 's'):
		if (s->inner & INNER_SIDES)
			margins(s, &s->left, &s->right, s->cols);
		else
			cursor_save(s);
		break;
	case CSI(0, 0, 'u'):
		/* It restores a place, not the pending wrap. */
		cursor_restore(s);
		s->wrap = false;
		break;

	case CSI(0, 0, 'h'):
	case CSI(0, 0, 'l'):
		each_mode(s, decmode_ansi, final == 'h');
		break;
	case CSI('?', 0, 'h'):
	case CSI('?', 0, 'l'):
		each_mode(s, decmode_private, final == 'h');
		break;
	case CSI('?', 0, 's'):
	case CSI('?', 0, 'r'):
		xsave(s, final == 's');
		break;
	case CSI('>', 0, 'u'):
	case CSI('<', 0, 'u'):
	case CSI('=', 0, 'u'):
		decmode_kitty(s, f->leader);
		break;
	case CSI('>', 0, 'm'):
	case CSI('>', 0, 'n'):
		decmode_other_keys(s, final == 'm');
		break;

	case CSI(0, 0, 'm'):
		sgr_apply(s);
		break;
	case CSI(0, ' ', 'q'):
		cursor_shape(s);
		break;
	case CSI(0, '"', 'q'):
		protect(s);
		break;
	case CSI(0, '!', 'p'):
		screen_soft_reset(s);
		break;
	case CSI(0, 0, 't'):
		n = filter_param(f, 0, 0);
		if (n == 22 || n == 23)
			osc_titles(s, n, filter_param(f, 1, 0));
		break;
	}
}
