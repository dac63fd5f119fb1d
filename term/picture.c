/* SPDX-License-Identifier: ISC */
/*
 * From a screen's cells to a picture's; contract in picture.h.
 */
#include <stdlib.h>
#include <string.h>

#include "../server/base/limits.h"
#include "outer.h"
#include "picture.h"
#include "utf8.h"
#include "width.h"

void
picture_init(struct picture *p, const struct caps *caps)
{
	static const struct pen plain;

	memset(p, 0, sizeof *p);
	p->caps = caps;
	intern_init(&p->pens, VIEW_PENS_MAX);
	intern_init(&p->clusters, VIEW_CLUSTERS_MAX);
	intern_init(&p->links, VIEW_LINKS_MAX);
	intern_add(&p->pens, &plain, sizeof plain);	/* number 0 */
}

void
picture_clear(struct picture *p)
{
	intern_clear(&p->pens);
	intern_clear(&p->clusters);
	intern_clear(&p->links);
}

/* A table that is full is emptied before the next frame. */
static uint32_t
number_of(struct picture *p, struct intern *table, const void *data,
    size_t len)
{
	uint32_t n = intern_add(table, data, len);

	if (n == INTERN_NONE)
		p->full = true;
	return n;
}

bool
picture_begin(struct picture *p, const struct screen *s)
{
	bool stale = false, set;
	uint32_t rgb;
	int i;

	memset(p->cache, 0, sizeof p->cache);
	p->palette_any = false;
	/* The cursor's is no cell's. */
	for (i = 0; i < PICTURE_COLOURS; i++) {
		rgb = 0;
		set = screen_palette(s, i, &rgb);
		p->palette_any |= set;
		if (set == p->palette_set[i] && rgb == p->palette[i])
			continue;
		p->palette_set[i] = set;
		p->palette[i] = rgb;
		stale = true;
	}
	if (p->full) {
		const struct caps *caps = p->caps;
		struct picture old = *p;

		picture_init(p, caps);
		memcpy(p->palette, old.palette, sizeof p->palette);
		memcpy(p->palette_set, old.palette_set,
		    sizeof p->palette_set);
		p->palette_any = old.palette_any;
		picture_clear(&old);
		stale = true;
	}
	return stale;
}

/* --- widths ------------------------------------------------------------- */

/* What terminals draw in different widths, by age and by taste; unassigned
 * ones among wide ones are narrow or wide. Not the line
 * and block characters: all agree about those in practice, and a frame of
 * them would cost a cursor address for each. */
static const struct {
	uint32_t	first, last;
} doubtful[] = {
	{ 0x00ad, 0x00ad }, { 0x0590, 0x1cff }, { 0x200b, 0x200f },
	{ 0x2028, 0x202e }, { 0x2060, 0x206f },
	{ 0x203c, 0x203c }, { 0x2049, 0x2049 },
	{ 0x20e3, 0x20e3 }, { 0x2139, 0x2139 }, { 0x2194, 0x21aa },
	{ 0x231a, 0x23ff }, { 0x24c2, 0x24c2 }, { 0x25aa, 0x25ab },
	{ 0x25b6, 0x25b6 }, { 0x25c0, 0x25c0 }, { 0x25fb, 0x25fe },
	{ 0x2600, 0x27bf }, { 0x2934, 0x2935 }, { 0x2b00, 0x2bff },
	{ 0x2e9a, 0x2e9a }, { 0x2ef4, 0x2eff }, { 0x2fd6, 0x2fff },
	{ 0x302a, 0x3040 }, { 0x3097, 0x309a }, { 0x3100, 0x3104 },
	{ 0x3130, 0x3130 }, { 0x318f, 0x318f }, { 0x31e4, 0x31ef },
	{ 0x321f, 0x321f }, { 0x3248, 0x324f }, { 0x3297, 0x3299 },
	{ 0x4dc0, 0x4dff }, { 0xa48d, 0xa48f }, { 0xa4c7, 0xa4cf }, { 0xa800, 0xabff }, { 0xd7b0, 0xd7ff },
	{ 0xe000, 0xf8ff }, { 0xfb1d, 0xfe0f }, { 0xfe50, 0xff00 },
	{ 0x10000, 0x1ffff }, { 0x30000, 0x10ffff }
};

bool
picture_doubtful(uint32_t ch)
{
	size_t low = 0, high = sizeof doubtful / sizeof doubtful[0], mid;

	/* The ideographs and syllables that most wide text is of. */
	if (ch < 0xad || (ch >= 0x4e00 && ch < 0xa48d) ||
	    (ch >= 0xac00 && ch < 0xd7b0) || (ch >= 0x3041 && ch < 0x3097))
		return false;
	if ((ch & CELL_CLUSTER) != 0)
		return true;
	while (low < high) {
		mid = (low + high) / 2;
		if (ch <= doubtful[mid].last)
			high = mid;
		else
			low = mid + 1;
	}
	return low < sizeof doubtful / sizeof doubtful[0] &&
	    ch >= doubtful[low].first;
}

/* --- pens --------------------------------------------------------------- */

static uint32_t
own_colour(const struct picture *p, uint32_t colour, int when_default)
{
	int i = when_default;

	if (COLOUR_TYPE(colour) == 1)
		i = (int)(colour & 255);
	else if (COLOUR_TYPE(colour) != 0)
		return colour;
	if (i < 0 || !p->palette_set[i])
		return colour;
	return 0x02000000u | (p->palette[i] & 0xffffff);
}

/* A link's number here, 0 if it has none or cannot be passed on: a URI with
 * control characters would end the sequence that carries it. */
static uint32_t
link_number(struct picture *p, const struct grid *g, uint32_t link)
{
	char text[VIEW_LINK_BYTES + 2 + 64];
	const char *uri, *id = NULL;
	const unsigned char *c;
	size_t nuri, nid, i;
	uint32_t n;

	if (link == 0 || (uri = grid_link(g, link, &id)) == NULL)
		return 0;
	if (id == NULL || strlen(id) > 60)
		id = "";
	nuri = strlen(uri);
	nid = strlen(id);
	if (nuri == 0 || nuri > VIEW_LINK_BYTES)
		return 0;
	for (c = (const unsigned char *)uri; *c != '\0'; c++)
		if (*c < 0x21 || *c > 0x7e)
			return 0;
	for (i = 0; i < nid; i++)
		if (id[i] < 0x21 || id[i] > 0x7e || id[i] == ';' ||
		    id[i] == ':') {
			id = "";
			nid = 0;
		}
	memcpy(text, uri, nuri + 1);
	memcpy(text + nuri + 1, id, nid + 1);
	n = number_of(p, &p->links, text, nuri + nid + 2);
	return n == INTERN_NONE ? 0 : n + 1;
}

const char *
picture_link(const struct picture *p, uint32_t link, const char **id)
{
	size_t len;
	const char *text;

	if (link == 0 ||
	    (text = intern_data(&p->links, link - 1, &len)) == NULL)
		return NULL;
	*id = text + strlen(text) + 1;
	return text;
}

static uint16_t
pen_number(struct picture *p, const struct pen *pen)
{
	uint32_t n = number_of(p, &p->pens, pen, sizeof *pen);

	return n == INTERN_NONE ? 0 : (uint16_t)n;
}

static uint16_t
pen_lookup(struct picture *p, const struct grid *g, uint16_t src, bool blank)
{
	size_t slot = src % PICTURE_CACHE;
	struct pen pen;

	if (p->cache[slot].src != (uint32_t)src + 1) {
		pen = *grid_pen(g, src);
		pen.link = link_number(p, g, pen.link);
		if (p->palette_any) {
			pen.fg = own_colour(p, pen.fg, 256);
			pen.bg = own_colour(p, pen.bg, 257);
			pen.ul = own_colour(p, pen.ul, -1);
		}
		pen_resolve(p->caps, &pen);
		p->cache[slot].text = pen_number(p, &pen);
		pen_blank(&pen);
		p->cache[slot].blank = pen_number(p, &pen);
		p->cache[slot].src = (uint32_t)src + 1;
	}
	return blank ? p->cache[slot].blank : p->cache[slot].text;
}

uint16_t
picture_number(struct picture *p, const struct screen *s, uint16_t pen,
    bool blank)
{
	return pen_lookup(p, screen_grid(s), pen, blank);
}

const struct pen *
picture_pen(const struct picture *p, uint16_t pen)
{
	static const struct pen plain;
	const struct pen *found;
	size_t len;

	found = intern_data(&p->pens, pen, &len);
	return found != NULL ? found : &plain;
}

/* --- cells -------------------------------------------------------------- */

static void
cell_put(struct picture *p, const struct grid *g, const struct cell *src,
    struct pcell *dst)
{
	char text[GRID_TEXT_MAX];
	uint32_t ch = src->ch, n;

	if ((ch & CELL_CLUSTER) != 0) {
		n = number_of(p, &p->clusters, text, grid_text(g, src, text));
		ch = n == INTERN_NONE ? '?' : CELL_CLUSTER | n;
	} else if (ch == 0)
		ch = ' ';
	else if (ch < 0x20 || (ch >= 0x7f && ch < 0xa0) || ch > 0x10ffff ||
	    (ch >= 0xd800 && ch < 0xe000))
		ch = '?';	/* never a control to the terminal */
	dst->ch = ch;
	dst->pen = pen_lookup(p, g, src->pen, ch == ' ');
	dst->width = src->width;
	dst->doubt = picture_doubtful(ch);
}

static void
cell_blank(struct picture *p, const struct grid *g, const struct cell *src,
    struct pcell *dst)
{
	*dst = picture_blank();
	dst->pen = pen_lookup(p, g, src->pen, true);
}

/* Text of one pen that every terminal has, most of all there is: takes it from
 * x on and returns where it ends. */
static int
row_run(struct picture *p, const struct grid *g, const struct cell *src,
    int x, int end, struct pcell *out)
{
	struct pcell text = { 0, 0, 1, 0 }, blank = { ' ', 0, 1, 0 };
	uint16_t pen = src[x].pen;

	text.pen = pen_lookup(p, g, pen, false);
	blank.pen = pen_lookup(p, g, pen, true);
	for (; x < end && src[x].ch < 0x7f && src[x].width == 1 &&
	    src[x].pen == pen; x++)
		if (src[x].ch > 0x20)
			pcell_put(&out[x], &text, src[x].ch);
		else
			out[x] = blank;
	return x;
}

void
picture_row(struct picture *p, const struct screen *s, const struct row *row,
    int from, int n, struct pcell *out)
{
	const struct grid *g = screen_grid(s);
	const struct cell *src;
	int x = 0, end = 0;
	bool wide;

	if (row != NULL && row->used > from) {
		end = row->used < row->cols ? row->used : row->cols;
		end = end - from < n ? end - from : n;
	}
	while (x < end) {
		src = &row->cells[from + x];
		if (src->width == 1 && src->ch < 0x7f) {
			x = row_run(p, g, row->cells + from, x, end, out);
			continue;
		}
		wide = src->width == 2 && x + 1 < end && src[1].width == 0;
		if (src->width == 0 || (src->width == 2 && !wide)) {
			/* Half a character, cut by an edge. */
			cell_blank(p, g, src, &out[x++]);
			continue;
		}
		cell_put(p, g, src, &out[x++]);
		if (wide) {
			out[x].ch = 0;
			out[x].pen = out[x - 1].pen;
			out[x].width = out[x].doubt = 0;
			x++;
		}
	}
	for (; x < n; x++)
		out[x] = picture_blank();
}

static const unsigned char *
utf8_next(const unsigned char *s, uint32_t *ch)
{
	int more = *s >= 0xf0 ? 3 : *s >= 0xe0 ? 2 : *s >= 0xc0 ? 1 : 0;

	if (*s < 0x80) {
		*ch = *s;
		return s + 1;
	}
	*ch = *s & (0x3f >> more);
	for (s++; more > 0 && (*s & 0xc0) == 0x80; more--)
		*ch = *ch << 6 | (*s++ & 0x3f);
	if (more != 0 || *ch < 0xa0 || *ch > 0x10ffff)
		*ch = '?';
	return s;
}

int
picture_text(struct picture *p, const char *text, const struct pen *pen,
    int n, struct pcell *out)
{
	const unsigned char *s = (const unsigned char *)text;
	struct pen resolved = *pen;
	uint16_t number;
	uint32_t ch;
	int x = 0, width;

	pen_resolve(p->caps, &resolved);
	number = pen_number(p, &resolved);
	while (*s != '\0' && x < n) {
		s = utf8_next(s, &ch);
		if (ch < 0x20 || ch == 0x7f)
			continue;
		width = width_of(ch);
		if (width == 0)
			continue;
		if (x + width > n)
			break;
		out[x].ch = ch;
		out[x].pen = number;
		out[x].width = (uint8_t)width;
		out[x].doubt = picture_doubtful(ch);
		if (width == 2) {
			out[x + 1].ch = 0;
			out[x + 1].pen = number;
			out[x + 1].width = out[x + 1].doubt = 0;
		}
		x += width;
	}
	return x;
}

size_t
picture_cell_text(const struct picture *p, const struct pcell *c, char *out)
{
	uint32_t ch = c->ch;
	const void *data;
	size_t len;

	if ((ch & CELL_CLUSTER) != 0) {
		data = intern_data(&p->clusters, ch & ~CELL_CLUSTER, &len);
		if (data == NULL || len > GRID_TEXT_MAX) {
			*out = '?';
			return 1;
		}
		memcpy(out, data, len);
		return len;
	}
	return utf8_put(out, ch);
}
