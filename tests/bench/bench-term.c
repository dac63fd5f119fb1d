/* SPDX-License-Identifier: ISC */
/*
 * A terminal as a user has one: a pty, and libvterm's own screen layer behind
 * it (another grid than the one under test), which says when a frame is whole.
 * What arrives is noted with its time and parsed afterwards, so that measuring
 * takes nothing from what is measured.
 */
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include <vterm.h>

#include "bench.h"

struct chunk {
	double	 at;
	size_t	 end;		/* offset behind it */
};

struct term {
	int		 rows, cols;
	int		 master, pidfd;
	char		*slave;
	pid_t		 pid;
	int		 status;	/* wait status once pid is 0 */
	double		 started;
	VTerm		*vt;
	VTermScreen	*screen;
	char		*raw;
	size_t		 len, room;
	struct chunk	*chunks;
	size_t		 nchunks, roomchunks;
	size_t		 parsed;	/* chunks */
	bool		 hung;
};

static void
term_vterm(struct term *t)
{
	if (t->vt != NULL)
		vterm_free(t->vt);
	t->vt = vterm_new(t->rows, t->cols);
	vterm_set_utf8(t->vt, 1);
	t->screen = vterm_obtain_screen(t->vt);
	vterm_screen_enable_altscreen(t->screen, 1);
	vterm_screen_reset(t->screen, 1);
}

struct term *
term_new(int rows, int cols)
{
	struct winsize ws = { .ws_row = (unsigned short)rows,
	    .ws_col = (unsigned short)cols };
	struct term *t = xalloc(sizeof *t);
	char name[64];
	int n = 0, zero = 0;

	t->rows = rows;
	t->cols = cols;
	t->pidfd = -1;
	t->master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (t->master == -1 || ioctl(t->master, TIOCSPTLCK, &zero) == -1 ||
	    ioctl(t->master, TIOCGPTN, &n) == -1)
		bench_die("no pty: %s", strerror(errno));
	snprintf(name, sizeof name, "/dev/pts/%d", n);
	t->slave = xstr(name);
	ioctl(t->master, TIOCSWINSZ, &ws);
	fcntl(t->master, F_SETFL, O_NONBLOCK);
	term_vterm(t);
	return t;
}

void
term_free(struct term *t)
{
	if (t == NULL)
		return;
	close(t->master);
	if (t->pid > 0) {
		kill(t->pid, SIGHUP);
		kill(t->pid, SIGKILL);
		waitpid(t->pid, NULL, 0);
	}
	if (t->pidfd != -1)
		close(t->pidfd);
	vterm_free(t->vt);
	free(t->slave);
	free(t->raw);
	free(t->chunks);
	free(t);
}

int
term_spawn(struct bench *b, struct term *t, char *const *argv, char **cause)
{
	posix_spawn_file_actions_t fa;
	posix_spawnattr_t at;
	sigset_t def;
	int r;

	/* Opening a terminal in a new session makes it the session's. */
	posix_spawn_file_actions_init(&fa);
	posix_spawn_file_actions_addopen(&fa, 0, t->slave, O_RDWR, 0);
	posix_spawn_file_actions_adddup2(&fa, 0, 1);
	posix_spawn_file_actions_adddup2(&fa, 0, 2);
	sigfillset(&def);
	posix_spawnattr_init(&at);
	posix_spawnattr_setsigdefault(&at, &def);
	posix_spawnattr_setflags(&at, POSIX_SPAWN_SETSID |
	    POSIX_SPAWN_SETSIGDEF);
	t->started = now_ms();
	r = posix_spawnp(&t->pid, argv[0], &fa, &at, argv, b->env);
	posix_spawn_file_actions_destroy(&fa);
	posix_spawnattr_destroy(&at);
	if (r != 0) {
		t->pid = 0;
		*cause = xfmt("%s: %s", argv[0], strerror(r));
		return -1;
	}
	t->pidfd = (int)syscall(SYS_pidfd_open, t->pid, 0);
	if (t->pidfd == -1)
		bench_die("pidfd_open: %s", strerror(errno));
	fcntl(t->pidfd, F_SETFD, FD_CLOEXEC);
	return 0;
}

double
term_started(const struct term *t)
{
	return t->started;
}

pid_t
term_pid(const struct term *t)
{
	return t->pid;
}

size_t
term_bytes(const struct term *t)
{
	return t->len;
}

const char *
term_raw(const struct term *t)
{
	return t->raw != NULL ? t->raw : "";
}

void
term_type(struct term *t, const char *s, size_t n)
{
	struct pollfd p = { .fd = t->master, .events = POLLOUT };
	ssize_t r;

	while (n > 0) {
		r = write(t->master, s, n);
		if (r > 0) {
			s += r;
			n -= (size_t)r;
		} else if (errno != EAGAIN && errno != EINTR)
			return;
		else
			poll(&p, 1, 100);
	}
}

static void
term_parse_one(struct term *t)
{
	size_t from = t->parsed > 0 ? t->chunks[t->parsed - 1].end : 0;
	char buf[256];
	size_t n;

	vterm_input_write(t->vt, t->raw + from,
	    t->chunks[t->parsed].end - from);
	t->parsed++;
	while ((n = vterm_output_read(t->vt, buf, sizeof buf)) > 0)
		if (!t->hung)
			term_type(t, buf, n);
}

void
term_forget(struct term *t)
{
	while (t->parsed < t->nchunks)
		term_parse_one(t);
	t->len = t->nchunks = t->parsed = 0;
}

/* One read within so many milliseconds; 0 nothing came, -1 it has ended. */
static int
term_turn(struct term *t, double ms)
{
	struct pollfd p[2] = { { .fd = t->hung ? -1 : t->master,
	    .events = POLLIN }, { .fd = t->pidfd, .events = POLLIN } };
	struct timespec ts = { (time_t)(ms / 1e3),
	    (long)((ms - 1e3 * (double)(time_t)(ms / 1e3)) * 1e6) };
	ssize_t r;

	if (t->room - t->len < 65536) {
		t->room = t->room * 2 + 131072;
		if ((t->raw = realloc(t->raw, t->room)) == NULL)
			bench_die("out of memory");
	}
	if (ppoll(p, t->pidfd == -1 ? 1 : 2, &ts, NULL) <= 0)
		return 0;
	if (p[0].revents != 0) {
		r = read(t->master, t->raw + t->len, t->room - t->len - 1);
		if (r > 0) {
			if (t->nchunks == t->roomchunks) {
				t->roomchunks = t->roomchunks * 2 + 64;
				t->chunks = realloc(t->chunks, t->roomchunks *
				    sizeof *t->chunks);
				if (t->chunks == NULL)
					bench_die("out of memory");
			}
			t->len += (size_t)r;
			t->raw[t->len] = '\0';
			t->chunks[t->nchunks].at = now_ms();
			t->chunks[t->nchunks++].end = t->len;
			return 1;
		}
		if (r == -1 && (errno == EAGAIN || errno == EINTR))
			return 0;
		t->hung = true;
	}
	return p[1].revents != 0 || t->hung ? -1 : 0;
}

static char *
row_text(struct term *t, int r)
{
	VTermScreenCell c;
	VTermPos p = { .row = r };
	char *s = xalloc((size_t)t->cols + 1);
	int n = 0;

	for (p.col = 0; p.col < t->cols; p.col++) {
		vterm_screen_get_cell(t->screen, p, &c);
		s[n++] = c.chars[0] == 0 ? ' ' : c.chars[0] > 32 &&
		    c.chars[0] < 127 ? (char)c.chars[0] :
		    c.chars[0] == 32 ? ' ' : '?';
	}
	while (n > 0 && s[n - 1] == ' ')
		n--;
	s[n] = '\0';
	return s;
}

static bool
term_whole(struct term *t, const struct frame *f)
{
	bool same = true;
	char *s;
	int r;

	/* From the end: it is drawn last. */
	for (r = f->rows - 1; r >= 0 && same; r--) {
		s = row_text(t, r);
		same = strcmp(s, f->row[r]) == 0;
		free(s);
	}
	return same;
}

double
term_frame(struct term *t, const struct frame *f, double deadline)
{
	double end = now_ms() + deadline;
	int r;

	do {
		while ((r = term_turn(t, 2)) == 1)
			;
		while (t->parsed < t->nchunks) {
			term_parse_one(t);
			if (term_whole(t, f))
				return t->chunks[t->parsed - 1].at;
		}
	} while (r != -1 && now_ms() < end);
	return -1;
}

bool
term_whole_at(struct term *t, const struct frame *f, double at)
{
	while (t->parsed < t->nchunks && t->chunks[t->parsed].at <= at) {
		term_parse_one(t);
		if (term_whole(t, f))
			return true;
	}
	return false;
}

/* The time of the chunk that made the bytes complete. */
static double
chunk_time(const struct term *t, size_t end)
{
	size_t i = t->nchunks;

	while (i > 0 && (i == 1 ? 0 : t->chunks[i - 2].end) >= end)
		i--;
	return i > 0 ? t->chunks[i - 1].at : now_ms();
}

double
term_see(struct term *t, const char *text, size_t from, double deadline)
{
	double end = now_ms() + deadline;
	size_t n = strlen(text), look = from;
	const char *p;
	int r = 0;

	for (;;) {
		if (t->len >= look + n) {
			p = memmem(t->raw + look, t->len - look, text, n);
			if (p != NULL)
				return chunk_time(t, (size_t)(p - t->raw) + n);
			look = t->len - n + 1;
		}
		if (r == -1 || now_ms() >= end)
			return -1;
		r = term_turn(t, end - now_ms());
	}
}

double
term_drain(struct term *t, const char *text, double deadline, size_t *bytes)
{
	double end = now_ms() + deadline;
	size_t n = strlen(text), keep;
	const char *p;
	int r = 0;

	term_forget(t);
	*bytes = 0;
	while (r != -1 && now_ms() < end) {
		keep = t->len;
		r = term_turn(t, 100);
		*bytes += t->len - keep;
		p = memmem(t->raw, t->len, text, n);
		if (p != NULL)
			return now_ms();
		keep = t->len < n ? t->len : n - 1;
		memmove(t->raw, t->raw + t->len - keep, keep);
		t->len = keep;
		/* Not parsed: the screen is not to be trusted after. */
		t->nchunks = t->parsed = 0;
	}
	return -1;
}

void
term_quiet(struct term *t, double ms, double deadline)
{
	double end = now_ms() + deadline;

	while (now_ms() < end && term_turn(t, ms) == 1)
		;
	while (t->parsed < t->nchunks)
		term_parse_one(t);
}

double
term_end(struct term *t, double deadline, int *status)
{
	double end = now_ms() + deadline, at = -1;
	struct pollfd p = { .fd = t->pidfd, .events = POLLIN };
	int st;

	while (now_ms() < end) {
		if (t->hung)
			poll(&p, 1, 100);
		else
			term_turn(t, 100);
		if (waitpid(t->pid, &st, WNOHANG) == t->pid) {
			at = now_ms();
			t->pid = 0;
			*status = WIFEXITED(st) ? WEXITSTATUS(st) :
			    128 + WTERMSIG(st);
			break;
		}
	}
	return at;
}

char *
term_show(struct term *t)
{
	char *all = xstr(""), *s, *n;
	int r;

	while (t->parsed < t->nchunks)
		term_parse_one(t);
	for (r = 0; r < t->rows; r++) {
		s = row_text(t, r);
		n = xfmt("%s| %s\n", all, s);
		free(s);
		free(all);
		all = n;
	}
	return all;
}
