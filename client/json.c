/* SPDX-License-Identifier: ISC */
/*
 * JSON strings, numbers and truth values; see json.h.
 */
#include <stdlib.h>
#include <string.h>

#include "../server/base/mem.h"
#include "json.h"

/* Length of the valid UTF-8 sequence at s, or 0. */
static size_t
utf8_len(const unsigned char *s)
{
	size_t n, i;
	uint32_t c, least;

	if (s[0] < 0x80)
		return 1;
	if (s[0] >= 0xc2 && s[0] <= 0xdf) {
		n = 2;
		c = s[0] & 0x1f;
		least = 0x80;
	} else if ((s[0] & 0xf0) == 0xe0) {
		n = 3;
		c = s[0] & 0x0f;
		least = 0x800;
	} else if (s[0] >= 0xf0 && s[0] <= 0xf4) {
		n = 4;
		c = s[0] & 0x07;
		least = 0x10000;
	} else
		return 0;
	for (i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (s[i] & 0x3f);
	}
	if (c < least || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
		return 0;
	return n;
}

void
json_string(struct buf *b, const char *text)
{
	const unsigned char *s = (const unsigned char *)text;
	size_t n;

	buf_u8(b, '"');
	for (; *s != '\0'; s += n) {
		n = 1;
		if (*s == '"' || *s == '\\')
			buf_printf(b, "\\%c", *s);
		else if (*s == '\n')
			buf_puts(b, "\\n");
		else if (*s < 0x20 || *s == 0x7f)
			buf_printf(b, "\\u%04x", *s);
		else if ((n = utf8_len(s)) == 0) {
			buf_puts(b, "\\ufffd");
			n = 1;
		} else
			buf_put(b, s, n);
	}
	buf_u8(b, '"');
}

static void
json_number(struct buf *b, const char *s)
{
	size_t i = s[0] == '-', n = strlen(s);

	/* 15 digits are exact in a double; a leading zero is no JSON. */
	if (n == i || n - i > 15 || (s[i] == '0' && n - i > 1)) {
		json_string(b, s);
		return;
	}
	for (; i < n; i++)
		if (s[i] < '0' || s[i] > '9') {
			json_string(b, s);
			return;
		}
	buf_puts(b, s);
}

/* Fields that are no numbers: a shell may be named "1". */
static const struct {
	const char	*name;
	bool		 truth;		/* true or false, not a string */
} fields[] = {
	{ "agent", false }, { "command", false }, { "config", false },
	{ "error", false }, { "fact", false }, { "how", false },
	{ "instance", false }, { "log", false }, { "passive", true },
	{ "phase", false }, { "read_only", true }, { "retry", true },
	{ "shell", false }, { "signal", false }, { "size", false },
	{ "socket", false }, { "state", false }, { "state_file", false },
	{ "text", false }, { "title", false }, { "uid", false },
	{ "value", false }, { "version", false }, { "why", false },
	{ "workspace", false },
};

bool
json_field(struct buf *b, const char *sep, const char *field)
{
	const size_t nfields = sizeof fields / sizeof fields[0];
	const char *eq = strchr(field, '='), *value;
	char *name;
	size_t i;

	if (eq == NULL)
		return false;
	value = eq + 1;
	name = xstrndup(field, (size_t)(eq - field));
	buf_puts(b, sep);
	json_string(b, name);
	buf_puts(b, ": ");
	for (i = 0; i < nfields && strcmp(name, fields[i].name) != 0; i++)
		;
	if (i == nfields)
		json_number(b, value);
	else if (!fields[i].truth)
		json_string(b, value);
	else
		buf_puts(b, strcmp(value, "1") == 0 ? "true" : "false");
	free(name);
	return true;
}
