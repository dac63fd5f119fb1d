/* SPDX-License-Identifier: ISC */
/*
 * The words of size policies; see size.h.
 */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "limits.h"
#include "size.h"

static const char *const words[] = { "default", "latest", "smallest",
    "largest" };

/* Digits up to the character end. */
static const char *
number(const char *s, char end, uint16_t *out)
{
	unsigned int n = 0;

	if (*s < '1' || *s > '9')
		return NULL;
	for (; *s >= '0' && *s <= '9'; s++)
		if ((n = n * 10 + (unsigned int)(*s - '0')) > SIZE_SIDE_MAX)
			return NULL;
	*out = (uint16_t)n;
	return *s == end ? s + 1 : NULL;
}

int
size_parse(const char *s, struct size *out)
{
	struct size size = { SIZE_FIXED, 0, 0 };
	uint8_t i;

	for (i = 0; i < sizeof words / sizeof words[0]; i++)
		if (strcasecmp(s, words[i]) == 0) {
			memset(out, 0, sizeof *out);
			out->kind = i;
			return 0;
		}
	if ((s = number(s, 'x', &size.cols)) == NULL ||
	    number(s, '\0', &size.rows) == NULL)
		return -1;
	*out = size;
	return 0;
}

bool
size_ok(const struct size *size)
{
	if (size->kind != SIZE_FIXED)
		return size->kind < SIZE_FIXED && size->rows == 0 &&
		    size->cols == 0;
	return size->rows > 0 && size->rows <= SIZE_SIDE_MAX &&
	    size->cols > 0 && size->cols <= SIZE_SIDE_MAX;
}

bool
size_same(const struct size *a, const struct size *b)
{
	return a->kind == b->kind && a->rows == b->rows && a->cols == b->cols;
}

void
size_text(const struct size *size, char out[SIZE_TEXT])
{
	if (size->kind == SIZE_FIXED)
		(void)snprintf(out, SIZE_TEXT, "%ux%u", size->cols,
		    size->rows);
	else
		(void)snprintf(out, SIZE_TEXT, "%s", words[size->kind <
		    sizeof words / sizeof words[0] ? size->kind : 0]);
}
