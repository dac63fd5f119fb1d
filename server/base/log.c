/* SPDX-License-Identifier: ISC */
/*
 * The log of the long-lived roles; see log.h. The file is cut in place: with
 * O_APPEND the next line then starts at its beginning, and several processes
 * that share it never write over one another.
 */
#include <sys/stat.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "hook.h"
#include "limits.h"
#include "log.h"

static int	log_fd = -1;
static bool	log_file;	/* log_fd is a file that we may cut */
static bool	log_debugs;
static char	log_role[16] = "dlmux";

int
log_open(const char *path, const char *role)
{
	const char *debug = getenv("DLMUX_DEBUG");
	struct stat st;
	int fd;

	log_debugs = debug != NULL && *debug != '\0' && strcmp(debug, "0") != 0;
	snprintf(log_role, sizeof log_role, "%s", role);
	if (log_file && log_fd != -1)
		close(log_fd);
	log_fd = -1;
	log_file = false;
	if (path == NULL) {
		log_fd = STDERR_FILENO;
		return 0;
	}
	HOOK_STDERR();
	/* O_NONBLOCK: a FIFO put in our way must not hold us up. */
	fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC |
	    O_NONBLOCK, 0600);
	if (fd == -1)
		return -1;
	if (fstat(fd, &st) == -1 || !S_ISREG(st.st_mode)) {
		close(fd);
		errno = EINVAL;
		return -1;
	}
	log_fd = fd;
	log_file = true;
	return 0;
}

/* Length of the valid UTF-8 character at s that is no control character; 0 if
 * there is none. Those that break a line or turn its direction are some: what
 * stands behind them would show as something else. */
static size_t
log_char(const unsigned char *s)
{
	uint32_t c;
	size_t i, n;

	if (s[0] < 0x80)
		return s[0] >= 0x20 && s[0] != 0x7f;
	if (s[0] >= 0xc2 && s[0] <= 0xdf)
		n = 2, c = s[0] & 0x1f;
	else if (s[0] >= 0xe0 && s[0] <= 0xef)
		n = 3, c = s[0] & 0x0f;
	else if (s[0] >= 0xf0 && s[0] <= 0xf4)
		n = 4, c = s[0] & 0x07;
	else
		return 0;
	for (i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (s[i] & 0x3f);
	}
	if (c < 0xa0 || (n == 3 && c < 0x800) || (n == 4 && c < 0x10000) ||
	    c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff) ||
	    (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069))
		return 0;
	return n;
}

char *
log_clean(char *out, size_t max, const char *s)
{
	const unsigned char *p = (const unsigned char *)s;
	size_t i = 0, n;

	if (max == 0)
		return out;
	while (*p != '\0') {
		n = log_char(p);
		if (i + (n != 0 ? n : 1) >= max)
			break;
		if (n == 0) {
			out[i++] = '?';
			p++;
			continue;
		}
		memcpy(out + i, p, n);
		i += n;
		p += n;
	}
	out[i] = '\0';
	return out;
}

static void
log_line(int fd, const char *level, const char *text)
{
	char line[LOG_LINE_MAX + 128], when[32], clean[LOG_LINE_MAX];
	struct timespec ts;
	struct stat st;
	struct tm tm;
	int n;

	clock_gettime(CLOCK_REALTIME, &ts);
	/* UTC: the zone of a container says nothing to the reader, and
	 * gmtime reads no file. */
	if (gmtime_r(&ts.tv_sec, &tm) == NULL ||
	    strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%S", &tm) == 0)
		strcpy(when, "?");
	n = snprintf(line, sizeof line, "%s.%03ldZ %s[%ld] %s%s\n", when,
	    ts.tv_nsec / 1000000, log_role, (long)getpid(), level,
	    log_clean(clean, sizeof clean, text));
	if (n < 0)
		return;
	if (fd == log_fd && log_file && fstat(fd, &st) == 0 &&
	    st.st_size + n > (off_t)LOG_MAX && ftruncate(fd, 0) == -1)
		return;
	/* A line that cannot be written is nobody's fault but the disk's. */
	if (write(fd, line, (size_t)n) == -1)
		return;
}

static void __attribute__((format(printf, 2, 0)))
log_va(const char *level, const char *fmt, va_list ap)
{
	char text[LOG_LINE_MAX];
	int saved = errno;

	vsnprintf(text, sizeof text, fmt, ap);
	log_line(log_fd, level, text);
	errno = saved;
}

void
log_info(const char *fmt, ...)
{
	va_list ap;

	if (log_fd == -1)
		return;
	va_start(ap, fmt);
	log_va("", fmt, ap);
	va_end(ap);
}

void
log_warn(const char *fmt, ...)
{
	va_list ap;

	if (log_fd == -1)
		return;
	va_start(ap, fmt);
	log_va("warning: ", fmt, ap);
	va_end(ap);
}

void
log_debug(const char *fmt, ...)
{
	va_list ap;

	if (log_fd == -1 || !log_debugs)
		return;
	va_start(ap, fmt);
	log_va("debug: ", fmt, ap);
	va_end(ap);
}

void
fatal(const char *fmt, ...)
{
	char text[LOG_LINE_MAX];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	if (log_fd != -1)
		log_line(log_fd, "fatal: ", text);
	if (log_fd != STDERR_FILENO)
		log_line(STDERR_FILENO, "fatal: ", text);
	abort();
}
