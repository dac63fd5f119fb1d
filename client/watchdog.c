/* SPDX-License-Identifier: ISC */
/*
 * The process that outlives a killed client by a moment; see rawtty.h.
 *
 * A terminal left with mouse reports, bracketed paste or the alternate screen
 * on, and echo off, is what every other attach program leaves behind after
 * SIGKILL. The watchdog is in a process group of its own, so that a signal to
 * the client's group leaves it, and ignores what a terminal sends.
 */
#include <sys/types.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../server/base/buf.h"
#include "../server/base/fd.h"
#include "../server/base/mem.h"
#include "../term/replies.h"
#include "../term/view.h"
#include "outmodes.h"
#include "rawtty.h"

/* Undoing takes a few hundred bytes; a terminal that does not take them within
 * this is gone or stopped. */
#define WATCHDOG_WRITE_MS	2000
/* An answer that does not come for so long is not waited for. */
#define WATCHDOG_ANSWER_MS	300
/* Something that kills each one is not to be raced with. */
#define WATCHDOG_STARTS		16

/* Shared with the client, which writes it: plain words, each stored whole. */
struct notes {
	volatile uint32_t	modes;
	volatile uint32_t	rows;
	volatile uint32_t	shown;	/* a frame was written */
	volatile uint32_t	asked;	/* an answer is on its way */
};

struct watchdog {
	const struct rawtty	*tty;
	int			 out;
	const struct caps	*caps;
	int			 pipe;	/* EOF: we died; -1 */
	pid_t			 pid;	/* -1: there is none */
	int			 starts;
	struct notes		*notes;
};

static void
write_bounded(int fd, const uint8_t *p, size_t n)
{
	struct pollfd pfd = { .fd = fd, .events = POLLOUT };
	ssize_t w;

	while (n > 0 && poll(&pfd, 1, WATCHDOG_WRITE_MS) > 0) {
		w = write(fd, p, n);
		if (w == -1 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (w == -1)
			return;
		p += w;
		n -= (size_t)w;
	}
}

/* What the terminal says to a client that is no more. */
static void
drain_answers(int fd)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	struct replies *r = replies_new();
	struct buf b;
	char data[512];
	ssize_t n;

	buf_init(&b, 65536);
	replies_ask(r, 0, &b);
	while (replies_open(r) && poll(&pfd, 1, WATCHDOG_ANSWER_MS) > 0 &&
	    (n = read(fd, data, sizeof data)) > 0) {
		buf_reset(&b);
		replies_feed(r, data, (size_t)n, &b);
	}
	buf_free(&b);
	replies_free(r);
}

static void __attribute__((noreturn))
watchdog_wait(int in, const struct rawtty *t, int out, const struct caps *caps,
    const struct notes *notes)
{
	struct termios now;
	struct buf b;
	char byte;

	while (read(in, &byte, 1) == -1 && errno == EINTR)
		;
	if (tcgetattr(t->fd, &now) == -1)
		_exit(0);	/* the terminal is gone too */
	if (notes->shown) {
		buf_init(&b, 65536);
		/* The client may have died in the middle of a sequence: the end
		 * of a string ends every kind of it, and nothing if there is
		 * none. */
		buf_puts(&b, "\033\\");
		if (caps != NULL)
			view_undo(caps, notes->modes, (int)notes->rows, &b);
		else
			outmodes_undo(notes->modes, &b);
		if (buf_ok(&b))
			write_bounded(out, b.data, b.len);
	}
	if (notes->asked)
		drain_answers(t->fd);
	if (rawtty_is_ours(t, &now))
		(void)tcsetattr(t->fd, TCSANOW, &t->before);
	_exit(0);
}

static void __attribute__((noreturn))
watchdog_child(const struct watchdog *w, int in)
{
	static const int ignored[] = { SIGHUP, SIGINT, SIGQUIT, SIGTERM,
	    SIGTTOU, SIGTTIN, SIGTSTP, SIGPIPE, SIGUSR1, SIGUSR2, SIGWINCH };
	struct rawtty copy = *w->tty;
	sigset_t none;
	size_t i;
	int fds[3];

	(void)setpgid(0, 0);
	for (i = 0; i < sizeof ignored / sizeof ignored[0]; i++)
		(void)signal(ignored[i], SIG_IGN);
	(void)signal(SIGCHLD, SIG_DFL);
	sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	(void)prctl(PR_SET_NAME, "dlmux-watchdog");
	/* It must hold nothing that somebody waits to see closed: the pipe and
	 * the terminal, moved to 0-2, are all it keeps. */
	fds[0] = fcntl(in, F_DUPFD, 10);
	fds[1] = fcntl(w->tty->fd, F_DUPFD, 10);
	fds[2] = fcntl(w->out, F_DUPFD, 10);
	for (i = 0; i < 3; i++)
		(void)dup2(fds[i], (int)i);
	fd_close_from(3);
	(void)chdir("/");
	copy.fd = 1;
	watchdog_wait(0, &copy, 2, w->caps, w->notes);
}

/* 0, or -1: then there is none. */
static int
watchdog_fork(struct watchdog *w)
{
	int p[2];

	w->pid = -1;
	w->pipe = -1;
	if (w->starts++ == WATCHDOG_STARTS || fd_pipe(p) == -1)
		return -1;
	if ((w->pid = fork()) == 0)
		watchdog_child(w, p[0]);
	close(p[0]);
	if (w->pid == -1) {
		close(p[1]);
		return -1;
	}
	/* Here too, so that it is done whoever runs first. */
	(void)setpgid(w->pid, w->pid);
	w->pipe = p[1];
	return 0;
}

struct watchdog *
watchdog_start(const struct rawtty *t, int out, const struct caps *caps)
{
	struct watchdog *w = xcalloc(1, sizeof *w);

	w->tty = t;
	w->out = out;
	w->caps = caps;
	w->notes = mmap(NULL, sizeof *w->notes, PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (w->notes == MAP_FAILED) {
		free(w);
		return NULL;
	}
	if (watchdog_fork(w) == -1) {
		munmap(w->notes, sizeof *w->notes);
		free(w);
		return NULL;
	}
	return w;
}

void
watchdog_check(struct watchdog *w)
{
	if (w == NULL || w->pid == -1 ||
	    waitpid(w->pid, NULL, WNOHANG) != w->pid)
		return;
	close(w->pipe);
	(void)watchdog_fork(w);
}

void
watchdog_modes(struct watchdog *w, uint32_t modes, int rows)
{
	if (w == NULL)
		return;
	w->notes->modes = modes;
	w->notes->rows = (uint32_t)rows;
	w->notes->shown = 1;
}

void
watchdog_asked(struct watchdog *w, bool asked)
{
	if (w != NULL)
		w->notes->asked = asked;
}

void
watchdog_end(struct watchdog *w)
{
	if (w == NULL)
		return;
	if (w->pid != -1) {
		/* Not by a word: it may have been stopped. */
		(void)kill(w->pid, SIGKILL);
		close(w->pipe);
		while (waitpid(w->pid, NULL, 0) == -1 && errno == EINTR)
			;
	}
	munmap(w->notes, sizeof *w->notes);
	free(w);
}
