/* SPDX-License-Identifier: ISC */
/* Ptys; contract in tty.h. */
#include <sys/ioctl.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <termios.h>
#include <unistd.h>

#include "../base/fd.h"
#include "tty.h"

static int
tty_slave(int master)
{
	char name[64];
	int fd = -1;

#ifdef TIOCGPTPEER
	/* Works where /dev/pts is another mount than the master's. */
	fd = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
#endif
	if (fd == -1 && ptsname_r(master, name, sizeof name) == 0)
		fd = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
	return fd;
}

int
tty_open(int *master, int *slave, uint16_t rows, uint16_t cols)
{
	struct termios t;
	int m, s = -1, saved;

	m = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (m == -1)
		return -1;
	if (grantpt(m) == -1 || unlockpt(m) == -1 ||
	    (s = tty_slave(m)) == -1 || fd_nonblock(m) == -1) {
		saved = errno;
		fd_close(&s);
		close(m);
		errno = saved;
		return -1;
	}
	if (tcgetattr(s, &t) == 0) {
#ifdef IUTF8
		t.c_iflag |= IUTF8;	/* erase whole characters */
#endif
		t.c_cc[VERASE] = 0x7f;
		(void)tcsetattr(s, TCSANOW, &t);
	}
	tty_resize(m, rows, cols);
	*master = m;
	*slave = s;
	return 0;
}

void
tty_resize(int master, uint16_t rows, uint16_t cols)
{
	struct winsize ws = { .ws_row = rows, .ws_col = cols };

	(void)ioctl(master, TIOCSWINSZ, &ws);
}

static bool
is_cc(const struct termios *t, int which, uint8_t c)
{
	return t->c_cc[which] != _POSIX_VDISABLE && t->c_cc[which] == c;
}

/* A line's end, or what throws it away. */
static bool
ends_line(const struct termios *t, uint8_t c)
{
	if (c == '\n' || (c == '\r' && (t->c_iflag & ICRNL) != 0) ||
	    is_cc(t, VEOF, c) || is_cc(t, VEOL, c) || is_cc(t, VEOL2, c) ||
	    is_cc(t, VKILL, c))
		return true;
	return (t->c_lflag & ISIG) != 0 && (is_cc(t, VINTR, c) ||
	    is_cc(t, VQUIT, c) || is_cc(t, VSUSP, c));
}

size_t
tty_fits(int master, const uint8_t *p, size_t n, size_t *line)
{
	struct termios t;
	size_t i, fits = n;

	if (tcgetattr(master, &t) == -1 || (t.c_lflag & ICANON) == 0) {
		*line = 0;
		return n;
	}
	for (i = 0; i < n; i++) {
		if (ends_line(&t, p[i]))
			*line = 0;
		else if (is_cc(&t, VERASE, p[i]))
			*line -= *line > 0;
		else if (*line < TTY_LINE_MAX)
			(*line)++;
		else if (fits == n)
			fits = i;
	}
	return fits;
}
