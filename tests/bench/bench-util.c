/* SPDX-License-Identifier: ISC */
/*
 * Clock, memory, text and files for the benchmark.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"

double
now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec / 1e6;
}

void
sleep_ms(double ms)
{
	struct timespec ts;

	ts.tv_sec = (time_t)(ms / 1e3);
	ts.tv_nsec = (long)((ms - (double)ts.tv_sec * 1e3) * 1e6);
	while (nanosleep(&ts, &ts) == -1 && errno == EINTR)
		;
}

void *
xalloc(size_t n)
{
	void *p = calloc(1, n > 0 ? n : 1);

	if (p == NULL)
		bench_die("out of memory");
	return p;
}

char *
xstr(const char *s)
{
	size_t n = strlen(s) + 1;

	return memcpy(xalloc(n), s, n);
}

char *
xfmt(const char *fmt, ...)
{
	va_list ap;
	char *s;

	va_start(ap, fmt);
	if (vasprintf(&s, fmt, ap) == -1)
		bench_die("out of memory");
	va_end(ap);
	return s;
}

char *
file_read(const char *path)
{
	char *s = NULL;
	size_t n = 0, room = 0;
	ssize_t r;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd == -1)
		return NULL;
	do {
		if (room - n < 4096) {
			room = room * 2 + 8192;
			if ((s = realloc(s, room)) == NULL)
				bench_die("out of memory");
		}
		r = read(fd, s + n, room - n - 1);
		n += r > 0 ? (size_t)r : 0;
	} while (r > 0);
	close(fd);
	s[n] = '\0';
	return s;
}

void
file_write(const char *path, int mode, const char *fmt, ...)
{
	va_list ap;
	FILE *f;
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);

	if (fd == -1 || (f = fdopen(fd, "w")) == NULL)
		bench_die("%s: %s", path, strerror(errno));
	va_start(ap, fmt);
	vfprintf(f, fmt, ap);
	va_end(ap);
	if (fclose(f) == EOF)
		bench_die("%s: %s", path, strerror(errno));
}

int
file_count(const char *path, const char *text)
{
	char *s = file_read(path), *p = s;
	int n = 0;

	for (; p != NULL && (p = strstr(p, text)) != NULL; p++)
		n++;
	free(s);
	return n;
}

char *
argv_join(char *const *argv)
{
	char *s = xstr(""), *t;

	for (; *argv != NULL; argv++) {
		if (strpbrk(*argv, " '\"$\\;|&\t\n") != NULL)
			t = xfmt("%s%s'%s'", s, *s != '\0' ? " " : "", *argv);
		else
			t = xfmt("%s%s%s", s, *s != '\0' ? " " : "", *argv);
		free(s);
		s = t;
	}
	return s;
}

char *
program_find(const char *name)
{
	const char *path = getenv("PATH");
	char *all, *p, *dir, *full;

	all = xfmt("%s:/usr/sbin:/sbin", path != NULL ? path : "/usr/bin:/bin");
	for (p = all; (dir = strsep(&p, ":")) != NULL;) {
		full = xfmt("%s/%s", dir, name);
		if (*dir == '/' && access(full, X_OK) == 0) {
			free(all);
			return full;
		}
		free(full);
	}
	free(all);
	return NULL;
}
