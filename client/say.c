/* SPDX-License-Identifier: ISC */
/*
 * Words for the user. Control characters in what a far side said are made
 * visible here, so that an error text cannot drive the terminal.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../server/base/fd.h"
#include "../server/base/log.h"
#include "../server/base/mem.h"
#include "say.h"

static int progress_len;	/* columns of the progress line that stands */
static int hushed;
static char last[2048];

static void
wipe(void)
{
	char line[160];
	int n = progress_len;

	if (n == 0)
		return;
	progress_len = 0;
	if (n > (int)sizeof line - 4)
		n = (int)sizeof line - 4;
	line[0] = '\r';
	memset(line + 1, ' ', (size_t)n);
	line[n + 1] = '\r';
	(void)fd_write_all(STDERR_FILENO, line, (size_t)n + 2);
}

void
say_raw(const char *text)
{
	char *line = xasprintf("%s\n", text);

	wipe();
	/* One write: lines of several processes do not mix. */
	(void)fd_write_all(STDERR_FILENO, line, strlen(line));
	free(line);
}

const char *
say_last(void)
{
	return last[0] != '\0' ? last : NULL;
}

void
say(const char *fmt, ...)
{
	char text[2048], clean[2048], line[2100], *p, *nl;
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	(void)snprintf(last, sizeof last, "%s", text);
	/* An error of several lines (ssh's own words) keeps its lines. */
	for (p = text; p != NULL; p = nl) {
		if ((nl = strchr(p, '\n')) != NULL)
			*nl++ = '\0';
		if (*p == '\0' && p != text)
			continue;
		log_clean(clean, sizeof clean, p);
		(void)snprintf(line, sizeof line, "%s%s",
		    p == text ? "dlmux: " : "    ", clean);
		say_raw(line);
	}
}

int
say_out(const void *p, size_t n)
{
	if (fd_write_all(STDOUT_FILENO, p, n) != -1)
		return 0;
	if (errno != EPIPE)
		say("standard output: %s", strerror(errno));
	return -1;
}

void
say_progress(const char *text)
{
	char clean[128], line[140];

	if (!isatty(STDERR_FILENO))
		return;
	wipe();
	if (text == NULL || hushed)
		return;
	log_clean(clean, 79, text);	/* within one row of 80 columns */
	(void)snprintf(line, sizeof line, "%s", clean);
	progress_len = (int)strlen(line);
	(void)fd_write_all(STDERR_FILENO, line, strlen(line));
}

void
say_hush(int on)
{
	hushed = on;
}
