/* SPDX-License-Identifier: ISC */
/*
 * The player: runs in a shell's place and prints what a socket tells it to.
 *
 *	s LENGTH \n bytes	printed, then answered by "."
 *	w \n			answered by "ROWS COLS TYPED\n"
 *
 * What comes on its stdin (answers to the stream's questions) it throws away,
 * but counts what was typed: bytes 2.
 */
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "../../server/base/mem.h"
#include "whole.h"

static unsigned typed;

static ssize_t
take(void)
{
	char away[4096];
	ssize_t n = read(0, away, sizeof away), i;

	for (i = 0; i < n; i++)
		typed += away[i] == 2;
	return n;
}

static void
print(const char *p, size_t n)
{
	struct pollfd f[2] = { { .fd = 1, .events = POLLOUT },
	    { .fd = 0, .events = POLLIN } };
	ssize_t r;

	while (n > 0) {
		poll(f, 2, -1);
		if (f[1].revents & POLLIN)
			(void)take();
		if ((r = write(1, p, n < 512 ? n : 512)) > 0) {
			p += r;
			n -= (size_t)r;
		} else if (r < 0 && errno != EAGAIN && errno != EINTR)
			exit(1);
	}
}

static bool
line(int fd, char *out, size_t max)
{
	size_t n = 0;

	while (n + 1 < max && read(fd, out + n, 1) == 1)
		if (out[n++] == '\n') {
			out[n] = '\0';
			return true;
		}
	return false;
}

static bool
obey(int fd)
{
	char text[64], *data;
	struct winsize ws;
	size_t n, have;
	ssize_t r;

	if (!line(fd, text, sizeof text))
		return false;
	if (*text == 'w') {
		ioctl(0, TIOCGWINSZ, &ws);
		dprintf(fd, "%d %d %u\n", ws.ws_row, ws.ws_col, typed);
		return true;
	}
	n = strtoul(text + 1, NULL, 10);
	data = xmalloc(n + 1);
	for (have = 0; have < n; have += (size_t)r)
		if ((r = read(fd, data + have, n - have)) <= 0)
			return false;
	print(data, n);
	free(data);
	return write(fd, ".", 1) == 1;
}

int
whole_play(const char *path)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	struct pollfd f[2] = { { .fd = 0, .events = POLLIN },
	    { .events = POLLIN } };
	struct termios t;

	if (tcgetattr(0, &t) == 0) {
		cfmakeraw(&t);
		tcsetattr(0, TCSANOW, &t);
	}
	f[1].fd = socket(AF_UNIX, SOCK_STREAM, 0);
	strncpy(sun.sun_path, path, sizeof sun.sun_path - 1);
	if (connect(f[1].fd, (struct sockaddr *)&sun, sizeof sun) != 0)
		return 1;
	for (;;) {
		if (poll(f, 2, -1) < 0 && errno != EINTR)
			return 1;
		if (f[0].revents != 0 && take() == 0)
			return 0;
		if (f[1].revents != 0 && !obey(f[1].fd))
			return 0;
	}
}
