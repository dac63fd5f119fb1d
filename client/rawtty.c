/* SPDX-License-Identifier: ISC */
/*
 * Terminal settings; see rawtty.h.
 */
#include <sys/ioctl.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "rawtty.h"

/* Looks at whose the terminal is: so many `bg' are answered by stopping again.
 * A group that nobody could bring to the front is not stopped by the kernel. */
#define BACKGROUND_LOOKS	100

/* As shells do at their start: in the background we stop, until somebody
 * brings us to the foreground. */
static void
rawtty_foreground(int fd)
{
	void (*old)(int);
	pid_t pgrp;
	int i;

	for (i = 0; i < BACKGROUND_LOOKS && (pgrp = tcgetpgrp(fd)) > 0 &&
	    pgrp != getpgrp(); i++) {
		old = signal(SIGTTOU, SIG_DFL);
		(void)kill(0, SIGTTOU);
		(void)signal(SIGTTOU, old);
	}
}

int
rawtty_open(struct rawtty *t, int fd)
{
	memset(t, 0, sizeof *t);
	rawtty_foreground(fd);
	t->fd = fd;
	return tcgetattr(fd, &t->before);
}

int
rawtty_raw(struct rawtty *t)
{
	struct termios raw = t->before;

	if (t->raw)
		return 0;
	cfmakeraw(&raw);
	raw.c_cc[VMIN] = 1;
	raw.c_cc[VTIME] = 0;
	rawtty_foreground(t->fd);
	/* DRAIN, not FLUSH: what was typed ahead is meant for the shell. */
	while (tcsetattr(t->fd, TCSADRAIN, &raw) == -1)
		if (errno != EINTR)
			return -1;
	/* A terminal may not take every bit; what it says now is what is
	 * compared before anything is put back. */
	if (tcgetattr(t->fd, &t->ours) == -1)
		t->ours = raw;
	t->raw = true;
	return 0;
}

bool
rawtty_is_ours(const struct rawtty *t, const struct termios *now)
{
	/* Not memcmp: there is padding, and libc keeps bits of its own. */
	return now->c_iflag == t->ours.c_iflag &&
	    now->c_oflag == t->ours.c_oflag &&
	    now->c_cflag == t->ours.c_cflag &&
	    now->c_lflag == t->ours.c_lflag &&
	    memcmp(now->c_cc, t->ours.c_cc, NCCS) == 0;
}

/* A shell with job control takes the terminal when a job of its stops, and
 * some leave its settings as they are; but we are no such job if we are in the
 * session's first group. */
bool
rawtty_kept(const struct rawtty *t)
{
	struct termios now;

	return getpgrp() == getsid(0) && tcgetattr(t->fd, &now) == 0 &&
	    rawtty_is_ours(t, &now);
}

int
rawtty_again(struct rawtty *t)
{
	t->raw = false;
	return rawtty_raw(t);
}

void
rawtty_restore(struct rawtty *t)
{
	if (!t->raw)
		return;
	t->raw = false;
	/* NOW: the last bytes are with the terminal already, and waiting for a
	 * terminal that was stopped (C-s) would hang the exit. */
	while (tcsetattr(t->fd, TCSANOW, &t->before) == -1)
		if (errno != EINTR)
			break;
}

void
rawtty_size(int fd, int *rows, int *cols)
{
	struct winsize ws;

	*rows = 24;
	*cols = 80;
	if (ioctl(fd, TIOCGWINSZ, &ws) == -1)
		return;
	if (ws.ws_row > 0)
		*rows = ws.ws_row;
	if (ws.ws_col > 0)
		*cols = ws.ws_col;
}

void
rawtty_pixels(int fd, int *x, int *y)
{
	struct winsize ws;

	*x = *y = 0;
	if (ioctl(fd, TIOCGWINSZ, &ws) == -1)
		return;
	*x = ws.ws_xpixel;
	*y = ws.ws_ypixel;
}
