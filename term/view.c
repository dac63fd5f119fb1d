/* SPDX-License-Identifier: ISC */
/*
 * A client's view: the frame. In order: the right one of the terminal's two
 * screens, lines for its history, the picture with what lies over it, the
 * cursor, modes and title, and what is only passed along.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "../server/base/limits.h"
#include "../server/base/mem.h"
#include "theme.h"
#include "view-private.h"

/* Shorter frames are drawn at once by any terminal. */
#define SYNC_FROM 64

/* The current page; few terminals ever need the second. */
static void
page_need(struct view *v)
{
	struct prow *page;
	int y;

	if (v->page[v->cur] != NULL)
		return;
	page = v->page[v->cur] = xcalloc((size_t)v->rows, sizeof *page);
	v->cells[v->cur] = xreallocarray(NULL, (size_t)v->rows *
	    (size_t)v->cols, sizeof *v->cells[v->cur]);
	for (y = 0; y < v->rows; y++) {
		page[y].cells = v->cells[v->cur] + y * v->cols;
		view_row_unknown(v, &page[y]);
	}
}

static void
pages_free(struct view *v)
{
	int i;

	for (i = 0; i < VIEW_PAGES; i++) {
		free(v->page[i]);
		free(v->cells[i]);
		v->page[i] = NULL;
		v->cells[i] = NULL;
	}
	free(v->scratch);
	free(v->blank);
	free(v->unknown);
}

static void
pages_unknown(struct view *v)
{
	int i, y;

	for (i = 0; i < VIEW_PAGES; i++)
		for (y = 0; v->page[i] != NULL && y < v->rows; y++)
			view_row_unknown(v, &v->page[i][y]);
	v->dirty = true;
}

static struct pcell *
row_of(struct pcell with, int cols)
{
	struct pcell *cells = xreallocarray(NULL, (size_t)cols, sizeof *cells);
	int x;

	for (x = 0; x < cols; x++)
		cells[x] = with;
	return cells;
}

/* What is shown then is not known, and no page there yet. */
static void
set_size(struct view *v, int rows, int cols)
{
	static const struct pcell unknown = { PCELL_UNKNOWN, 0, 1, 0 };

	pages_free(v);
	v->rows = rows < 1 ? 1 : rows > SCREEN_ROWS_MAX ?
	    SCREEN_ROWS_MAX : rows;
	v->cols = cols < 1 ? 1 : cols > SCREEN_COLS_MAX ?
	    SCREEN_COLS_MAX : cols;
	v->scratch = row_of(picture_blank(), v->cols);
	v->blank = row_of(picture_blank(), v->cols);
	v->unknown = row_of(unknown, v->cols);
	v->outer.rows = v->rows;
	v->outer.cols = v->cols;
}

struct view *
view_new(const struct caps *caps, int rows, int cols)
{
	struct view *v = xcalloc(1, sizeof *v);

	v->caps = caps;
	v->history = -1;
	v->padding = true;
	picture_init(&v->picture, caps);
	outer_init(&v->outer, caps, rows, cols);
	buf_init(&v->out, VIEW_FRAME_MAX);
	buf_init(&v->clipboard, VIEW_CLIPBOARD_MAX);
	buf_init(&v->notes, VIEW_NOTES_MAX);
	v->outer.out = &v->out;
	set_size(v, rows, cols);
	view_unknown(v, 0, UINT64_MAX);
	return v;
}

static void
overlay_free(struct view *v)
{
	strv_free(v->overlay);
	v->overlay = NULL;
	v->overlay_lines = 0;
}

void
view_free(struct view *v)
{
	if (v == NULL)
		return;
	pages_free(v);
	picture_clear(&v->picture);
	buf_free(&v->out);
	buf_free(&v->clipboard);
	buf_free(&v->notes);
	free(v->title);
	free(v->notice);
	overlay_free(v);
	free(v);
}

void
view_resize(struct view *v, int rows, int cols)
{
	if (rows == v->rows && cols == v->cols)
		return;
	/* What a terminal does to its contents on a resize, each does in its
	 * own way. */
	set_size(v, rows, cols);
	page_need(v);
	v->dirty = true;
	v->outer.y = v->outer.x = -1;
}

void
view_unknown(struct view *v, uint32_t modes, uint64_t lines)
{
	outer_forget(&v->outer, modes);
	v->cur = (modes & MODE_ALT_SCREEN) != 0 ? VIEW_ALT : VIEW_MAIN;
	page_need(v);
	v->fresh = lines == UINT64_MAX;
	v->lines = lines;
	v->epoch_known = false;
	v->screen = NULL;
	free(v->title);
	v->title = (modes & VIEW_TITLED) != 0 ? NULL : xstrdup("");
	pages_unknown(v);
}

void
view_history(struct view *v, uint32_t lines)
{
	v->history = lines < INT_MAX ? (int)lines : INT_MAX;
}

void
view_offset(const struct view *v, int *row, int *col)
{
	*row = v->off_y;
	*col = v->off_x;
}

/* --- what lies over the screen ------------------------------------------ */

static void
rows_stale(struct view *v)
{
	int i, y;

	for (i = 0; i < VIEW_PAGES; i++)
		for (y = 0; v->page[i] != NULL && y < v->rows; y++)
			v->page[i][y].current = false;
	v->dirty = true;
}

void
view_notice(struct view *v, const char *text)
{
	if (text == NULL ? v->notice == NULL :
	    v->notice != NULL && strcmp(text, v->notice) == 0)
		return;
	free(v->notice);
	v->notice = text != NULL ? xstrdup(text) : NULL;
	view_row(v, v->rows - 1)->current = false;
	v->dirty = true;
}

void
view_overlay(struct view *v, const char *const *lines)
{
	size_t n = 0;

	if (lines == NULL && v->overlay == NULL)
		return;
	overlay_free(v);
	if (lines != NULL) {
		while (n < VIEW_OVERLAY_LINES && lines[n] != NULL)
			n++;
		v->overlay = xcalloc(n + 1, sizeof *v->overlay);
		v->overlay_lines = n;
		while (n-- > 0)
			v->overlay[n] = xstrdup(lines[n]);
	}
	rows_stale(v);
}

void
view_padding(struct view *v, bool on)
{
	if (on == v->padding)
		return;
	v->padding = on;
	if (!view_exact(v))
		rows_stale(v);
}

void
view_bell(struct view *v)
{
	v->bell = v->dirty = true;
}

void
view_clipboard(struct view *v, const char *sel, const char *b64, size_t len)
{
	size_t i;

	if (!caps_flag(v->caps, CAPS_CLIPBOARD) ||
	    len > VIEW_CLIPBOARD_MAX - 64)
		return;
	/* Only what an OSC 52 may hold, and never the question mark: its
	 * answer would be typed into the program. */
	if (strspn(sel, "cpqs01234567") != strlen(sel) || strlen(sel) > 12)
		return;
	for (i = 0; i < len; i++)
		if (!((b64[i] >= 'A' && b64[i] <= 'Z') ||
		    (b64[i] >= 'a' && b64[i] <= 'z') ||
		    (b64[i] >= '0' && b64[i] <= '9') ||
		    b64[i] == '+' || b64[i] == '/' || b64[i] == '='))
			return;
	/* The newest wins: a selection holds one thing. */
	buf_reset(&v->clipboard);
	buf_printf(&v->clipboard, "\033]52;%s;", sel);
	buf_put(&v->clipboard, b64, len);
	buf_puts(&v->clipboard, "\a");
	v->dirty = true;
}

/* Whole characters, no controls (C1 ones are C2 80..9F), and no ';' where it
 * would end a field. */
static void
put_clean(struct buf *b, const char *text, bool field)
{
	const unsigned char *p = (const unsigned char *)text;

	for (; *p != '\0'; p++)
		if (*p == 0xc2 && p[1] < 0xa0 && p[1] != '\0')
			p++;
		else if (*p >= 0x20 && *p != 0x7f && !(field && *p == ';'))
			buf_u8(b, *p);
}

void
view_notify(struct view *v, const char *title, const char *text)
{
	size_t before = v->notes.len;

	if (!caps_flag(v->caps, CAPS_NOTIFY))
		return;
	if (*title == '\0')
		buf_puts(&v->notes, "\033]9;");
	else {
		buf_puts(&v->notes, "\033]777;notify;");
		put_clean(&v->notes, title, true);
		buf_puts(&v->notes, ";");
	}
	put_clean(&v->notes, text, false);
	buf_puts(&v->notes, "\a");
	/* Too many for one frame: the first ones are read. */
	if (!buf_ok(&v->notes)) {
		v->notes.len = before;
		v->notes.failed = false;
		return;
	}
	v->dirty = true;
}

void
view_follow(struct view *v, uint32_t mode)
{
	if (v->outer.follow == mode)
		return;
	v->outer.follow = mode;
	v->dirty = true;
}

/* The block of help: its corner and size, cut to the terminal. */
static void
overlay_place(const struct view *v, int *top, int *left, int *rows, int *cols)
{
	size_t i;
	int n;

	*cols = 0;
	for (i = 0; i < v->overlay_lines; i++) {
		n = (int)strlen(v->overlay[i]);
		if (n > *cols)
			*cols = n;
	}
	*cols += 2;
	*rows = (int)v->overlay_lines;
	if (*rows > v->rows)
		*rows = v->rows;
	if (*cols > v->cols)
		*cols = v->cols;
	*top = (v->rows - *rows) / 2;
	*left = (v->cols - *cols) / 2;
}

/* A half of a wide character must not be left at a block's edges. */
static void
mend(struct pcell *cells, int x, int cols)
{
	if (x > 0 && x < cols && cells[x].width == 0) {
		cells[x - 1].ch = cells[x].ch = ' ';
		cells[x - 1].width = cells[x].width = 1;
		cells[x - 1].doubt = cells[x].doubt = 0;
	}
}

static void
stamp(struct view *v, struct pcell *cells, int left, int cols,
    const char *text, int indent)
{
	static const struct pen reverse = { .flags = PEN_REVERSE };
	int x;

	mend(cells, left, v->cols);
	mend(cells, left + cols, v->cols);
	for (x = left; x < left + cols; x++)
		picture_text(&v->picture, " ", &reverse, 1, &cells[x]);
	if (cols > indent)
		picture_text(&v->picture, text, &reverse, cols - indent,
		    &cells[left + indent]);
}

static bool
covered(const struct view *v, int y)
{
	int top, left, rows, cols;

	if (v->notice != NULL && y == v->rows - 1)
		return true;
	if (v->overlay == NULL)
		return false;
	overlay_place(v, &top, &left, &rows, &cols);
	return y >= top && y < top + rows;
}

static void
cover(struct view *v, int y, struct pcell *cells)
{
	int top, left, rows, cols;

	if (v->overlay != NULL) {
		overlay_place(v, &top, &left, &rows, &cols);
		if (y >= top && y < top + rows)
			stamp(v, cells, left, cols, v->overlay[y - top], 1);
	}
	if (v->notice != NULL && y == v->rows - 1)
		stamp(v, cells, 0, v->cols, v->notice, 0);
}

/* --- the picture -------------------------------------------------------- */

/* Beyond a screen that is smaller than the terminal: a line along its edge,
 * and nothing. */
static void
pad(struct view *v, int y, struct pcell *cells)
{
	static const struct pen faint = { .flags = PEN_FAINT };
	int x, edge = v->src_cols - v->off_x;

	if (!v->padding || y > v->src_rows - v->off_y)
		return;
	if (y < v->src_rows - v->off_y) {
		if (edge < v->cols)
			picture_text(&v->picture, "\342\224\202", &faint, 1,
			    &cells[edge]);
		return;
	}
	for (x = 0; x < edge && x < v->cols; x++)
		picture_text(&v->picture, "\342\224\200", &faint, 1,
		    &cells[x]);
	if (edge < v->cols)
		picture_text(&v->picture, "\342\224\230", &faint, 1,
		    &cells[edge]);
}

static const struct row *
source_row(const struct view *v, const struct screen *s, int y)
{
	y += v->off_y;
	return y < v->src_rows ? screen_row(s, y) : NULL;
}

/* What follows the picture's last line to the bottom, by one erase. */
static void
erase_blank_end(struct view *v, const struct screen *s)
{
	const struct row *src;
	int y, n = 0;

	if (!view_exact(v) || !caps_has(v->caps, CAP_ED) ||
	    !outer_can_clear_eol(&v->outer))
		return;
	for (y = v->rows; y > 0; y--) {
		src = source_row(v, s, y - 1);
		if (src == NULL || src->used > 0 || covered(v, y - 1))
			break;
		if (!view_row_is_blank(v, view_row(v, y - 1)))
			n++;
	}
	/* Some terminals take an erase of everything for a reason to move it
	 * all into their history: never from the first row. */
	if (y == 0)
		y = 1;
	if (n > 1 && y < v->rows)
		view_draw_erase_below(v, y);
}

static void
paint_row(struct view *v, const struct screen *s, int y, bool *wrapped)
{
	const struct row *src = source_row(v, s, y);
	struct prow *r = view_row(v, y);
	bool over = covered(v, y), after, next;

	after = *wrapped && !over && !view_row(v, y - 1)->wrapped;
	next = view_exact(v) && src != NULL && src->wrapped && !over &&
	    y + 1 < v->rows;
	*wrapped = next;
	if (!after && !over && r->current && src != NULL &&
	    r->serial == src->serial)
		return;
	picture_row(&v->picture, s, src, v->off_x, v->cols, v->scratch);
	pad(v, y, v->scratch);
	cover(v, y, v->scratch);
	if (after)
		after = view_draw_join(v, y - 1, v->scratch);
	view_draw(v, y, v->scratch, after);
	if (after)
		view_row(v, y - 1)->wrapped = true;
	r->current = src != NULL && !over;
	r->serial = src != NULL ? src->serial : 0;
}

static void
paint(struct view *v, const struct screen *s)
{
	bool wrapped = false;
	int y;

	erase_blank_end(v, s);
	view_scroll_region(v, s);
	for (y = 0; y < v->rows; y++)
		paint_row(v, s, y, &wrapped);
}

/* --- a frame ------------------------------------------------------------ */

static int
offset_for(int offset, int at, int room, int size, int step)
{
	if (room >= size)
		return 0;
	if (at < offset)
		offset = at - step;
	else if (at >= offset + room)
		offset = at - room + 1 + step;
	if (offset > size - room)
		offset = size - room;
	return offset < 0 ? 0 : offset;
}

/* The part of the screen that shows: it moves only when the cursor leaves
 * it, sideways by a good piece, so that typing does not repaint each time. */
static void
place(struct view *v, const struct screen *s)
{
	int row, col, y, x;
	bool wrap;

	screen_cursor(s, &row, &col, &wrap);
	y = offset_for(v->off_y, row, v->rows, screen_rows(s), 0);
	x = offset_for(v->off_x, col, v->cols, screen_cols(s), v->cols / 3);
	if (y == v->off_y && x == v->off_x && s == v->screen &&
	    screen_rows(s) == v->src_rows && screen_cols(s) == v->src_cols)
		return;
	v->off_y = y;
	v->off_x = x;
	v->src_rows = screen_rows(s);
	v->src_cols = screen_cols(s);
	rows_stale(v);
}

static void
switch_page(struct view *v, const struct screen *s)
{
	bool alt = (screen_modes(s)->flags & MODE_ALT_SCREEN) != 0;
	struct outer *o = &v->outer;
	uint32_t had = o->modes & VIEW_TITLED;

	if (alt == ((o->modes & MODE_ALT_SCREEN) != 0))
		return;
	outer_alt(o, alt);
	if (alt != ((o->modes & MODE_ALT_SCREEN) != 0))
		return;		/* it has none: drawn on the one there is */
	v->cur = alt ? VIEW_ALT : VIEW_MAIN;
	page_need(v);
	if (alt)
		view_draw_erase_below(v, 0);
	if ((o->modes & VIEW_TITLED) != had) {
		free(v->title);
		v->title = xstrdup("");
	}
}

static void
set_cursor(struct view *v, const struct screen *s)
{
	struct outer *o = &v->outer;
	int row, col;
	bool wrap;

	screen_cursor(s, &row, &col, &wrap);
	row -= v->off_y;
	col -= v->off_x;
	if (row < 0 || row >= v->rows || col < 0)
		return;
	if (col >= v->cols)
		col = v->cols - 1;
	/* Past the last column on both sides: so a wrap stays possible. */
	if (wrap && o->y == row && o->x == v->cols && col == v->cols - 1 &&
	    view_exact(v))
		return;
	outer_move(o, row, col);
}

static void
set_cursor_colour(struct view *v, const struct screen *s)
{
	uint32_t rgb;

	outer_cursor_colour(&v->outer, screen_palette(s, THEME_CURSOR, &rgb) ?
	    COLOUR_RGB(rgb >> 16 & 255, rgb >> 8 & 255, rgb & 255) :
	    COLOUR_DEFAULT);
}

static void
set_title(struct view *v, const char *title)
{
	if (v->title != NULL && strcmp(v->title, title) == 0)
		return;
	outer_title(&v->outer, title);
	free(v->title);
	v->title = xstrdup(title);
}

/* False: the frame did not fit somebody's buffer. */
static bool
emit(struct view *v, struct buf *b)
{
	bool sync = v->out.len > SYNC_FROM && caps_flag(v->caps, CAPS_SYNC);

	if (!buf_ok(&v->out))
		return false;
	if (sync)
		buf_puts(b, "\033[?2026h");
	buf_put(b, v->out.data, v->out.len);
	if (sync)
		buf_puts(b, "\033[?2026l");
	if (v->bell)
		buf_puts(b, "\a");
	buf_put(b, v->clipboard.data, v->clipboard.len);
	buf_put(b, v->notes.data, v->notes.len);
	v->bell = false;
	buf_reset(&v->clipboard);
	buf_reset(&v->notes);
	return buf_ok(b);
}

static void
make_frame(struct view *v, const struct screen *s)
{
	buf_reset(&v->out);
	place(v, s);
	v->screen = s;
	if (picture_begin(&v->picture, s)) {
		pages_unknown(v);
		v->outer.link = UINT32_MAX;
	}
	v->dirty = false;
	if (!v->epoch_known) {
		v->epoch = screen_epoch(s);
		v->epoch_known = true;
	}
	switch_page(v, s);
	if (v->cur == VIEW_MAIN &&
	    (screen_modes(s)->flags & MODE_ALT_SCREEN) == 0) {
		if (v->fresh)
			view_scroll_fresh(v, s);
		else
			view_scroll(v, s);
	}
	paint(v, s);
	set_title(v, screen_title(s));
	set_cursor(v, s);
	outer_modes(&v->outer, screen_modes(s));
	set_cursor_colour(v, s);
	v->serial = screen_serial(s);
}

void
view_render(struct view *v, const struct screen *s, struct buf *b,
    struct view_frame *frame)
{
	uint32_t modes = v->outer.modes;

	if (v->dirty || s != v->screen || screen_serial(s) != v->serial) {
		make_frame(v, s);
		/* Lost: its history lines stay lost, the rest is repainted
		 * when there is room again. */
		if (!emit(v, b))
			view_unknown(v, modes, v->lines);
	}
	if (frame != NULL) {
		frame->lines = v->fresh ? UINT64_MAX : v->lines;
		frame->modes = v->outer.modes;
	}
}

/* The last row of the main screen with something in it, -1 if none. */
static int
last_row(const struct view *v)
{
	const struct prow *page = v->page[VIEW_MAIN];
	int y = v->rows - 1, end = v->src_rows - v->off_y;

	if (v->notice != NULL && v->cur == VIEW_MAIN)
		y--;
	if (v->screen != NULL && y >= end)
		y = end - 1;	/* not the padding */
	while (page != NULL && y >= 0 && view_row_is_blank(v, &page[y]))
		y--;
	return y;
}

void
view_leave(struct view *v, struct buf *b)
{
	int last = last_row(v), y;

	view_undo_modes(v->caps, v->outer.modes, v->rows, b);
	/* Below the picture, not below the terminal: the next prompt follows
	 * the last line as it would have without us. */
	y = last < 0 ? 0 : last;
	caps_emit(v->caps, CAP_CUP, y, 0, b);
	if (last >= 0)
		buf_puts(b, "\r\n");
	if (last < v->rows - 1)
		caps_emit(v->caps, CAP_ED, 0, 0, b);
	view_unknown(v, 0, v->fresh ? UINT64_MAX : v->lines);
}
