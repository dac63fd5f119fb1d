/* SPDX-License-Identifier: ISC */
/*
 * OSC and DCS strings, whole and capped: titles, working directory, links,
 * colours, the clipboard, notifications, prompt marks. What a string leaves
 * behind is clean UTF-8 without control characters: it is written to other
 * people's terminals.
 */
#include <stdlib.h>
#include <string.h>

#include "../server/base/mem.h"
#include "screen-private.h"

size_t
osc_limit(const struct filter *f)
{
	if (f->str.len >= 3 && memcmp(f->str.data, "52;", 3) == 0)
		return FILTER_CLIPBOARD_MAX;
	return FILTER_STRING_MAX;
}

char *
osc_clean(const char *text, size_t len, size_t max)
{
	const uint8_t *p = (const uint8_t *)text;
	char *out = xmalloc((len < max ? len : max) + 1);
	size_t n, i, at = 0;
	uint32_t cp;

	while (len > 0) {
		n = p[0] < 0x80 ? 1 : p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : 2;
		cp = n == 1 ? p[0] : p[0] & (0x7f >> n);
		for (i = 1; i < n && i < len && (p[i] & 0xc0) == 0x80; i++)
			cp = cp << 6 | (p[i] & 0x3f);
		if (i == n && cp >= 0x20 && !(cp >= 0x7f && cp < 0xa0) &&
		    cp <= 0x10ffff && !(cp >= 0xd800 && cp < 0xe000) &&
		    cp >= (n == 4 ? 0x10000u : n == 3 ? 0x800u : n == 2 ?
		    0x80u : 0u)) {
			if (at + n > max)
				break;
			memcpy(out + at, p, n);
			at += n;
		}
		p += i;
		len -= i;
	}
	out[at] = '\0';
	return out;
}

static void
replace(struct screen *s, char **old, char *new)
{
	if (strcmp(*old, new) != 0)
		s->dirty = true;
	free(*old);
	*old = new;
}

void
osc_titles(struct screen *s, int op, int which)
{
	if (which == 1)
		return;			/* the icon's only */
	if (op == 22) {
		if (s->ntitles == SCREEN_TITLES_MAX) {
			free(s->titles[0]);
			memmove(s->titles, s->titles + 1,
			    (SCREEN_TITLES_MAX - 1) * sizeof *s->titles);
			s->ntitles--;
		}
		s->titles[s->ntitles++] = xstrdup(s->title);
	} else if (s->ntitles > 0)
		replace(s, &s->title, s->titles[--s->ntitles]);
}

void
osc_reset(struct screen *s)
{
	while (s->ntitles > 0)
		free(s->titles[--s->ntitles]);
	replace(s, &s->title, xstrdup(""));
	replace(s, &s->cwd, xstrdup(""));
	memset(s->palette, 0, sizeof s->palette);
	memset(s->palette_set, 0, sizeof s->palette_set);
}

/* --- links ------------------------------------------------------------- */

/* Spaces and bytes beyond ASCII are written as %XX: that is what they are in
 * a URI, and nothing else can then reach a terminal. */
static bool
uri_clean(const char *uri, char *out, size_t max)
{
	static const char hex[] = "0123456789ABCDEF";
	size_t n = 0;
	uint8_t c;

	for (; (c = *uri) != '\0'; uri++) {
		if (n + 4 > max || c < 0x20 || c == 0x7f)
			return false;
		if (c > 0x20 && c < 0x7f)
			out[n++] = c;
		else {
			out[n++] = '%';
			out[n++] = hex[c >> 4];
			out[n++] = hex[c & 15];
		}
	}
	out[n] = '\0';
	return true;
}

static void
link_open(struct screen *s, char *args)
{
	char uri[GRID_URI_MAX + 1], id[GRID_LINK_ID_MAX + 1] = "";
	char *sep = strchr(args, ';'), *key, *end;

	sgr_pen(s);
	s->pen.link = 0;
	if (sep == NULL)
		return;
	*sep++ = '\0';
	for (key = args; key != NULL; key = end) {
		if ((end = strchr(key, ':')) != NULL)
			*end++ = '\0';
		if (strncmp(key, "id=", 3) == 0 &&
		    !uri_clean(key + 3, id, sizeof id))
			id[0] = '\0';
	}
	if (uri_clean(sep, uri, sizeof uri))
		s->pen.link = grid_link_index(s->grid, uri, id);
}

/* --- colours ----------------------------------------------------------- */

/* Several may be asked for in one string, and each question has an offset of
 * its own: that of the byte behind it, but the last one's is the string's. */
static uint64_t
asked_at(const struct screen *s, const char *end)
{
	const struct buf *b = &s->filter.str;
	const char *last = (const char *)b->data + b->len - 1;

	if (end == last)
		return s->at;
	return s->at - (s->filter.bell ? 1 : 2) - (uint64_t)(last - end);
}

/* spec ends at its NUL. */
static void
colour_set(struct screen *s, int which, const char *spec)
{
	uint32_t rgb;

	if (which < 0 || which >= PALETTE_SIZE)
		return;
	if (strcmp(spec, "?") == 0) {
		answers_colour(s, which, asked_at(s, spec + 1));
		return;
	}
	if (!theme_parse(spec, &rgb))
		return;
	s->palette[which] = rgb;
	s->palette_set[which] = 1;
	s->dirty = true;
}

static void
colour_unset(struct screen *s, int which)
{
	if (which < 0 || which >= PALETTE_SIZE)
		return;
	s->palette_set[which] = 0;
	s->palette[which] = 0;
	s->dirty = true;
}

/* A decimal number of at most 5 digits and what follows its ';'. */
static int
number(char **p)
{
	int v = 0, n;
	char *q = *p;

	for (n = 0; n < 5 && *q >= '0' && *q <= '9'; n++)
		v = v * 10 + (*q++ - '0');
	if (n == 0 || (*q != ';' && *q != '\0'))
		return -1;
	*p = *q == ';' ? q + 1 : q;
	return v;
}

static void
palette(struct screen *s, char *p)
{
	char *spec;
	int which;

	while (p != NULL && *p != '\0') {
		if ((which = number(&p)) < 0)
			return;
		spec = p;
		if ((p = strchr(p, ';')) != NULL)
			*p++ = '\0';
		if (which < 256)
			colour_set(s, which, spec);
	}
}

static void
dynamic(struct screen *s, int which, char *p)
{
	char *spec;

	for (; p != NULL && which <= 12; which++) {
		spec = p;
		if ((p = strchr(p, ';')) != NULL)
			*p++ = '\0';
		colour_set(s, which - 10 + THEME_FOREGROUND, spec);
	}
}

static void
palette_unset(struct screen *s, char *p)
{
	int which;

	if (*p == '\0')
		for (which = 0; which < 256; which++)
			colour_unset(s, which);
	while (*p != '\0') {
		if ((which = number(&p)) < 0)
			return;
		if (which < 256)
			colour_unset(s, which);
	}
}

/* --- to the user ------------------------------------------------------- */

static void
clipboard(struct screen *s, char *p)
{
	char *data = strchr(p, ';'), *q;
	size_t len;

	if (data == NULL || s->filter.cut)
		return;
	*data++ = '\0';
	/* "?" would read what the user has copied: refused, in silence. */
	len = strspn(data, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuv"
	    "wxyz0123456789+/");
	if (data[len + strspn(data + len, "=")] != '\0')
		return;
	for (q = p; *q != '\0'; q++)
		if (strchr("cpqs01234567", *q) == NULL)
			return;
	if (q - p > 12)
		return;
	if (!s->muted && s->cb.clipboard != NULL)
		s->cb.clipboard(q == p ? "c" : p, data, strlen(data),
		    s->cb.arg);
}

static void
notify(struct screen *s, const char *title, const char *text)
{
	char *a, *b;

	if (s->muted || s->cb.notify == NULL)
		return;
	a = osc_clean(title, strlen(title), 256);
	b = osc_clean(text, strlen(text), 1024);
	s->cb.notify(a, b, s->cb.arg);
	free(a);
	free(b);
}

static void
notify_777(struct screen *s, char *p)
{
	char *text;

	if (strncmp(p, "notify;", 7) != 0)
		return;
	p += 7;
	if ((text = strchr(p, ';')) == NULL)
		text = strchr(p, '\0');
	else
		*text++ = '\0';
	notify(s, p, text);
}

static void
prompt(struct screen *s, const char *p)
{
	struct row *row;

	if (*p < 'A' || *p > 'D' || (p[1] != '\0' && p[1] != ';'))
		return;
	row = grid_row(s->grid, s->row);
	row->prompt = *p;
	grid_touch(s->grid, row);
}

/* --- the strings ------------------------------------------------------- */

void
osc_end(struct screen *s)
{
	struct buf *b = &s->filter.str;
	char *p;
	int op;

	buf_u8(b, 0);
	if (!buf_ok(b))
		return;
	p = (char *)b->data;
	if ((op = number(&p)) < 0)
		return;
	switch (op) {
	case 0:
	case 2:
		replace(s, &s->title, osc_clean(p, strlen(p), SCREEN_TITLE_MAX));
		break;
	case 4:
		palette(s, p);
		break;
	case 7:
		replace(s, &s->cwd, osc_clean(p, strlen(p), SCREEN_CWD_MAX));
		break;
	case 8:
		link_open(s, p);
		break;
	case 9:
		/* ConEmu's progress and its kin are no messages. */
		if (!(*p >= '0' && *p <= '9' &&
		    (p[1] == ';' || p[1] == '\0' ||
		    (p[1] >= '0' && p[1] <= '9' && p[2] == ';'))))
			notify(s, "", p);
		break;
	case 10:
	case 11:
	case 12:
		dynamic(s, op, p);
		break;
	case 52:
		clipboard(s, p);
		break;
	case 104:
		palette_unset(s, p);
		break;
	case 110:
	case 111:
	case 112:
		colour_unset(s, op - 110 + THEME_FOREGROUND);
		break;
	case 133:
		prompt(s, p);
		break;
	case 777:
		notify_777(s, p);
		break;
	}
}

void
osc_dcs_end(struct screen *s)
{
	if (!s->filter.cut)
		answers_dcs(s);
}
