/* SPDX-License-Identifier: ISC */
/*
 * What the benchmark runs inside of the shells that it measures: this same
 * program in another role. Each is the same under every multiplexer.
 *
 *   --role paint ROWS COLS      a full screen in colours, again on SIGWINCH
 *   --role echo                 writes back each byte that it reads
 *   --role yes PIDFILE          floods; stop and continue it by signals
 *   --role lines N COLS         so many numbered lines, then sleeps
 *   --role flood KIND ROWS COLS MIB GO RESULT
 *       each time that GO (a fifo) is opened for writing: MIB megabytes, a
 *       last line, and a question to the terminal; its answer means that all
 *       before was taken in. Then a line into RESULT (a fifo).
 *   --role relay ...            see bench-relay.c
 */
#include <sys/ioctl.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "bench.h"

#define RUN	10	/* cells of one colour */

/* --- a full screen --- */

/* Deterministic text of a cell; blanks so that there are words. */
static char
cell(int row, int col)
{
	static const char letters[] = "etaoinshrdlucmfwypvbgkjqxz";

	if (col % RUN == RUN - 1)
		return ' ';
	return letters[(row * 11 + col * 7 + row * col) % 26];
}

struct frame *
frame_new(int rows, int cols)
{
	struct frame *f = xalloc(sizeof *f);
	int r, c, at = (cols - 1) / RUN * RUN - RUN;

	f->rows = rows;
	f->cols = cols;
	f->row = xalloc((size_t)rows * sizeof *f->row);
	for (r = 0; r < rows; r++) {
		f->row[r] = xalloc((size_t)cols + 1);
		for (c = 0; c < cols; c++)
			f->row[r][c] = cell(r, c);
	}
	/* The last words of the last row: drawn last by everybody. */
	f->mark = xstr("FRAME-END");
	memset(f->row[rows - 1] + at, ' ', (size_t)(cols - at));
	memcpy(f->row[rows - 1] + at, f->mark, strlen(f->mark));
	for (r = 0; r < rows; r++)
		for (c = cols; c > 0 && f->row[r][c - 1] == ' '; c--)
			f->row[r][c - 1] = '\0';
	return f;
}

void
frame_free(struct frame *f)
{
	int r;

	for (r = 0; r < f->rows; r++)
		free(f->row[r]);
	free(f->row);
	free(f->mark);
	free(f);
}

static volatile sig_atomic_t	 resized;

static void
on_winch(int sig)
{
	(void)sig;
	resized = 1;
}

static void
raw_mode(void)
{
	struct termios t;

	if (tcgetattr(0, &t) == -1)
		return;
	cfmakeraw(&t);
	tcsetattr(0, TCSANOW, &t);
}

static void
put_all(const char *s, size_t n)
{
	ssize_t r;

	while (n > 0) {
		r = write(1, s, n);
		if (r == -1 && errno != EINTR && errno != EAGAIN)
			exit(1);
		if (r > 0) {
			s += r;
			n -= (size_t)r;
		}
	}
}

static void
paint(int rows, int cols)
{
	struct frame *f;
	struct winsize ws;
	char *s, *p;
	int r, c, len;

	/* Another size than was planned shows as another picture. */
	if (ioctl(0, TIOCGWINSZ, &ws) == 0 &&
	    (ws.ws_row != rows || ws.ws_col != cols)) {
		put_all("\033[2J\033[Hnot my size\r\n", 21);
		return;
	}
	f = frame_new(rows, cols);
	p = s = xalloc((size_t)rows * (size_t)cols * 4 + 4096);
	p += sprintf(p, "\033[H\033[2J");
	for (r = 0; r < rows; r++) {
		len = (int)strlen(f->row[r]);
		p += sprintf(p, "\033[%d;1H", r + 1);
		for (c = 0; c < len; c++) {
			if (c % RUN == 0)
				p += sprintf(p, "\033[%dm",
				    31 + (r + c / RUN) % 6);
			*p++ = f->row[r][c];
		}
	}
	p += sprintf(p, "\033[m\033[%d;%dH", rows / 2, cols / 2);
	put_all(s, (size_t)(p - s));
	free(s);
	frame_free(f);
}

static void __attribute__((noreturn))
role_paint(int rows, int cols)
{
	sigset_t none, winch;

	sigemptyset(&none);
	sigemptyset(&winch);
	sigaddset(&winch, SIGWINCH);
	sigprocmask(SIG_BLOCK, &winch, NULL);
	signal(SIGWINCH, on_winch);
	raw_mode();
	for (;;) {
		paint(rows, cols);
		while (!resized)
			sigsuspend(&none);
		resized = 0;
	}
}

/* --- keys --- */

static int
role_echo(void)
{
	char buf[256], out[1024];
	ssize_t n, i;
	size_t k;
	int col = 0;

	raw_mode();
	put_all("ready\r\n", 7);
	while ((n = read(0, buf, sizeof buf)) > 0) {
		for (i = 0, k = 0; i < n; i++) {
			out[k++] = buf[i];
			if (++col == 60) {
				out[k++] = '\r';
				out[k++] = '\n';
				col = 0;
			}
		}
		put_all(out, k);
	}
	return 0;
}

/* --- floods --- */

static size_t
put_plain(char *p, int i, int cols)
{
	static const char words[] = "the quick brown fox jumps over the lazy "
	    "dog while seventeen compilers warn about a shadowed variable ";
	int n = cols - 12 - i * 7 % 30;

	return (size_t)sprintf(p, "%09d %.*s\r\n", i, n > 90 ? 90 : n,
	    words + i % 8);
}

static size_t
put_sgr(char *p, int i)
{
	char *s = p;
	int k;

	for (k = 0; k < 4; k++)
		p += sprintf(p, "\033[0m\033[01;%dmfile-%05d.%s\033[0m  ",
		    31 + (i + k) % 7, i * 4 + k, (i + k) % 2 ? "c" : "tar");
	p += sprintf(p, "\r\n");
	return (size_t)(p - s);
}

static size_t
put_redraw(char *p, int i, int rows, int cols)
{
	char *s = p;
	int r, c;

	p += sprintf(p, "\033[H");
	for (r = 0; r < rows; r++) {
		p += sprintf(p, "\033[%d;1H\033[3%dm", r + 1, (r + i) % 7 + 1);
		for (c = 0; c < cols - 1; c++)
			*p++ = (char)('!' + (r * 3 + c + i * 5) % 90);
	}
	return (size_t)(p - s);
}

static size_t
put_wide(char *p, int i)
{
	static const char *const w[] = { "\xe6\xbc\xa2\xe5\xad\x97",
	    "\xed\x95\x9c\xea\xb8\x80", "\xe3\x81\x8b\xe3\x81\xaa",
	    "\xf0\x9f\x98\x80", "\xf0\x9f\x9a\x80", "\xe4\xb8\xad\xe6\x96\x87" };
	char *s = p;
	int k;

	p += sprintf(p, "%07d ", i);
	for (k = 0; k < 12; k++)
		p += sprintf(p, "%s ", w[(i + k) % 6]);
	p += sprintf(p, "\r\n");
	return (size_t)(p - s);
}

char *
flood_block(const char *kind, int rows, int cols, size_t *len)
{
	size_t room = (1 << 20) + (size_t)rows * (size_t)cols * 2 + 4096;
	char *s = xalloc(room);
	size_t n = 0;
	int i;

	for (i = 0; n < 1 << 20; i++)
		if (strcmp(kind, "sgr") == 0)
			n += put_sgr(s + n, i);
		else if (strcmp(kind, "redraw") == 0)
			n += put_redraw(s + n, i, rows, cols);
		else if (strcmp(kind, "wide") == 0)
			n += put_wide(s + n, i);
		else
			n += put_plain(s + n, i, cols);
	*len = n;
	return s;
}

/* Until the terminal has answered the question of where the cursor is. */
static void
await_answer(void)
{
	char c;

	while (read(0, &c, 1) == 1)
		if (c == 'R')
			return;
	exit(1);
}

static int
role_flood(char **a)
{
	int rows = atoi(a[1]), cols = atoi(a[2]), mib = atoi(a[3]), n, i, fd;
	size_t len;
	char *block, text[128];

	raw_mode();
	block = flood_block(a[0], rows, cols, &len);
	put_all("ready\r\n", 7);
	for (n = 1;; n++) {
		if ((fd = open(a[4], O_RDONLY)) == -1)
			return 1;
		close(fd);
		for (i = 0; i < mib; i++)
			put_all(block, len);
		i = sprintf(text, "\033[m\033[%d;1H\r\nEND-OF-FLOOD-%d\r\n"
		    "\033[6n", rows, n);
		put_all(text, (size_t)i);
		await_answer();
		if ((fd = open(a[5], O_WRONLY)) == -1)
			return 1;
		dprintf(fd, "%zu\n", len * (size_t)mib);
		close(fd);
	}
}

static void __attribute__((noreturn))
role_yes(const char *pidfile)
{
	char buf[4096];
	size_t i;

	for (i = 0; i + 4 <= sizeof buf; i += 4)
		memcpy(buf + i, "yes\n", 4);
	file_write(pidfile, 0600, "%d", (int)getpid());
	for (;;)
		put_all(buf, sizeof buf);
}

static void __attribute__((noreturn))
role_lines(int n, int cols)
{
	char line[4096];
	int i, k;

	for (i = 0; i < n; i++) {
		k = sprintf(line, "%08d ", i);
		for (; k < cols && k < 4000; k++)
			line[k] = (char)('a' + (i + k) % 26);
		line[k++] = '\n';
		put_all(line, (size_t)k);
	}
	put_all("LINES-END\n", 10);
	for (;;)
		pause();
}

int
role_main(int argc, char **argv)
{
	if (argc >= 3 && strcmp(argv[0], "paint") == 0)
		role_paint(atoi(argv[1]), atoi(argv[2]));
	if (argc >= 1 && strcmp(argv[0], "echo") == 0)
		return role_echo();
	if (argc >= 2 && strcmp(argv[0], "yes") == 0)
		role_yes(argv[1]);
	if (argc >= 3 && strcmp(argv[0], "lines") == 0)
		role_lines(atoi(argv[1]), atoi(argv[2]));
	if (argc >= 7 && strcmp(argv[0], "flood") == 0)
		return role_flood(argv + 1);
	if (argc >= 1 && strcmp(argv[0], "relay") == 0)
		return relay_main(argc - 1, argv + 1);
	return 2;
}
