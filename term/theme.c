/* SPDX-License-Identifier: ISC */
/*
 * A terminal's own colours; see theme.h.
 */
#include <string.h>

#include "theme.h"

bool
theme_any(const struct theme *t)
{
	int i;

	for (i = 0; i < THEME_COLOURS; i++)
		if (t->known[i])
			return true;
	return false;
}

/* --- their text --------------------------------------------------------- */

static int
hex_digits(const char **p, uint32_t *value)
{
	int n = 0;

	for (*value = 0; n < 4; n++, (*p)++) {
		if (**p >= '0' && **p <= '9')
			*value = *value << 4 | (uint32_t)(**p - '0');
		else if ((**p | 32) >= 'a' && (**p | 32) <= 'f')
			*value = *value << 4 |
			    (uint32_t)((**p | 32) - 'a' + 10);
		else
			break;
	}
	return n;
}

static bool
parse_rgb(const char *spec, int parts, uint32_t *rgb)
{
	uint32_t v, all = 0;
	int i, n;

	for (i = 0; i < parts; i++) {
		if ((n = hex_digits(&spec, &v)) == 0 ||
		    *spec++ != (i < parts - 1 ? '/' : '\0'))
			return false;
		if (i < 3)
			all = all << 8 | v * 255 / ((1u << 4 * n) - 1);
	}
	*rgb = all;
	return true;
}

/* Here missing digits are zeros at the right end. */
static bool
parse_sharp(const char *spec, uint32_t *rgb)
{
	size_t len = strlen(spec), each = len / 3;
	uint32_t v, all = 0;
	const char *p;
	char part[5];
	int i;

	if (len % 3 != 0 || len == 0 || len > 12)
		return false;
	for (i = 0; i < 3; i++, spec += each) {
		memcpy(part, spec, each);
		part[each] = '\0';
		p = part;
		if (hex_digits(&p, &v) != (int)each)
			return false;
		all = all << 8 | (each == 1 ? v << 4 : v >> 4 * (each - 2));
	}
	*rgb = all;
	return true;
}

bool
theme_parse(const char *spec, uint32_t *rgb)
{
	if (strncmp(spec, "rgb:", 4) == 0)
		return parse_rgb(spec + 4, 3, rgb);
	if (strncmp(spec, "rgba:", 5) == 0)
		return parse_rgb(spec + 5, 4, rgb);
	return *spec == '#' && parse_sharp(spec + 1, rgb);
}

/* --- what is usual ------------------------------------------------------ */

static uint32_t
usual(int i)
{
	static const uint32_t first[16] = {
		0x000000, 0xcd0000, 0x00cd00, 0xcdcd00, 0x0000ee, 0xcd00cd,
		0x00cdcd, 0xe5e5e5, 0x7f7f7f, 0xff0000, 0x00ff00, 0xffff00,
		0x5c5cff, 0xff00ff, 0x00ffff, 0xffffff
	};
	static const uint8_t level[6] = { 0, 95, 135, 175, 215, 255 };
	uint32_t grey;

	if (i < 16)
		return first[i];
	if (i < 232) {
		i -= 16;
		return (uint32_t)level[i / 36] << 16 |
		    (uint32_t)level[i / 6 % 6] << 8 | level[i % 6];
	}
	if (i < 256) {
		grey = (uint32_t)(8 + 10 * (i - 232));
		return grey << 16 | grey << 8 | grey;
	}
	return i == THEME_BACKGROUND ? 0x000000 : 0xe5e5e5;
}

uint32_t
theme_colour(const struct theme *t, int which)
{
	return t != NULL && t->known[which] ? t->rgb[which] : usual(which);
}

bool
theme_dark(uint32_t c)
{
	/* By what the eye makes of the three. */
	return (c >> 16 & 255) * 299 + (c >> 8 & 255) * 587 +
	    (c & 255) * 114 < 128 * 1000;
}

/* --- bytes: u16 count, and count times u16 which, u8 red, green, blue ---- */

void
theme_put(const struct theme *t, struct buf *b)
{
	uint16_t n = 0;
	int i;

	for (i = 0; i < THEME_COLOURS; i++)
		n += t->known[i];
	buf_u16(b, n);
	for (i = 0; i < THEME_COLOURS; i++) {
		if (!t->known[i])
			continue;
		buf_u16(b, (uint16_t)i);
		buf_u8(b, (uint8_t)(t->rgb[i] >> 16));
		buf_u8(b, (uint8_t)(t->rgb[i] >> 8));
		buf_u8(b, (uint8_t)t->rgb[i]);
	}
}

int
theme_get(struct theme *t, const void *data, size_t len)
{
	struct theme new;
	struct rd r;
	uint32_t rgb;
	uint16_t n, which;

	memset(&new, 0, sizeof new);
	rd_init(&r, data, len);
	for (n = rd_u16(&r); n > 0; n--) {
		which = rd_u16(&r);
		rgb = (uint32_t)rd_u8(&r) << 16;
		rgb |= (uint32_t)rd_u8(&r) << 8;
		rgb |= rd_u8(&r);
		if (r.failed)
			return -1;
		if (which >= THEME_COLOURS)
			continue;	/* a newer peer's */
		new.rgb[which] = rgb;
		new.known[which] = true;
	}
	if (!rd_end(&r))
		return -1;
	*t = new;
	return 0;
}
