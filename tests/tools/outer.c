/* SPDX-License-Identifier: ISC */
/*
 * outer: a terminal for tests. It runs a command in a pty, keeps the screen
 * that a user would see (libvterm's own screen layer: another grid than the
 * one under test) and obeys lines on its stdin, answering each with one line
 * of JSON:
 *
 *   outer ROWS COLS RAWLOG -- CMD ARG...
 *
 *   type HEX            bytes to the command
 *   wait MS ERE         until a row matches; {"ok":true} or false
 *   gone MS ERE         until no row matches
 *   quiet MS DEADLINE   until nothing came for MS
 *   exit MS             until the command ended
 *   dump                rows, cursor, modes, title, scrollback, exit status
 *   cells               the same with each row's attributes spelled out
 *   mute                answers no questions any more; the test may, by type
 *   resize ROWS COLS    kill SIGNO    stop / go (reading)    termios
 */
#include <sys/ioctl.h>
#include <sys/types.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <regex.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include <vterm.h>

#define SCROLLBACK	20000

static VTerm		*vt;
static VTermScreen	*screen;
static int		 rows, cols, master = -1, rawlog = -1;
static pid_t		 child;
static int		 status = -1;		/* wait status, -1 runs */
static bool		 reading = true, mute;
static long long	 last_output;

static VTermPos		 cursor;
static int		 visible = 1, alt, mouse, reverse;
static char		 title[1024];
static size_t		 title_len;
static char		*history[SCROLLBACK];
static size_t		 nhistory;
static unsigned long	 bells;

static long long
now_ms(void)
{
	struct timespec	 ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000LL + ts.tv_nsec / 1000000;
}

static size_t
put_utf8(char *p, uint32_t c)
{
	if (c < 0x80) {
		p[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		p[0] = (char)(0xc0 | c >> 6);
		p[1] = (char)(0x80 | (c & 63));
		return 2;
	}
	if (c < 0x10000) {
		p[0] = (char)(0xe0 | c >> 12);
		p[1] = (char)(0x80 | (c >> 6 & 63));
		p[2] = (char)(0x80 | (c & 63));
		return 3;
	}
	p[0] = (char)(0xf0 | c >> 18);
	p[1] = (char)(0x80 | (c >> 12 & 63));
	p[2] = (char)(0x80 | (c >> 6 & 63));
	p[3] = (char)(0x80 | (c & 63));
	return 4;
}

static size_t
cell_text(const VTermScreenCell *c, char *out)
{
	size_t	 n = 0;
	int	 i;

	if (c->chars[0] == 0)
		out[n++] = ' ';
	else if (c->chars[0] != (uint32_t)-1)
		for (i = 0; i < VTERM_MAX_CHARS_PER_CELL && c->chars[i]; i++)
			n += put_utf8(out + n, c->chars[i]);
	return n;
}

static char *
trimmed(char *s, size_t n)
{
	while (n > 0 && s[n - 1] == ' ')
		n--;
	s[n] = '\0';
	return s;
}

static char *
row_text(int r)
{
	VTermScreenCell	 c;
	VTermPos	 p = { .row = r };
	char		*s = malloc(cols * 24 + 1);
	size_t		 n = 0;

	for (p.col = 0; p.col < cols; p.col++) {
		vterm_screen_get_cell(screen, p, &c);
		n += cell_text(&c, s + n);
		if (c.width == 2)
			p.col++;
	}
	return trimmed(s, n);
}

static int
on_sb_push(int n, const VTermScreenCell *cells, void *arg)
{
	char	*s = malloc(n * 24 + 1);
	size_t	 len = 0;
	int	 i;

	(void)arg;
	for (i = 0; i < n; i++) {
		len += cell_text(&cells[i], s + len);
		if (cells[i].width == 2)
			i++;
	}
	if (nhistory == SCROLLBACK) {
		free(history[0]);
		memmove(history, history + 1, sizeof *history *
		    --nhistory);
	}
	history[nhistory++] = trimmed(s, len);
	return 1;
}

static int
on_bell(void *arg)
{
	(void)arg;
	bells++;
	return 1;
}

static int
on_prop(VTermProp prop, VTermValue *val, void *arg)
{
	(void)arg;
	switch (prop) {
	case VTERM_PROP_CURSORVISIBLE:
		visible = val->boolean;
		break;
	case VTERM_PROP_ALTSCREEN:
		alt = val->boolean;
		break;
	case VTERM_PROP_MOUSE:
		mouse = val->number;
		break;
	case VTERM_PROP_REVERSE:
		reverse = val->boolean;
		break;
	case VTERM_PROP_TITLE:
#ifdef HAVE_VTERM_03
		if (val->string.initial)
			title_len = 0;
		if (val->string.len < sizeof title - title_len) {
			memcpy(title + title_len, val->string.str,
			    val->string.len);
			title_len += val->string.len;
		}
		title[title_len] = '\0';
#else
		title_len = snprintf(title, sizeof title, "%s", val->string);
#endif
		break;
	default:
		break;
	}
	return 1;
}

static const VTermScreenCallbacks callbacks = {
	.settermprop = on_prop,
	.bell = on_bell,
	.sb_pushline = on_sb_push,
};

static void
answer_program(void)
{
	char	 buf[256];
	size_t	 n;

	while ((n = vterm_output_read(vt, buf, sizeof buf)) > 0)
		if (!mute)
			(void)!write(master, buf, n);
}

static void
reap(void)
{
	int	 st;

	if (status == -1 && waitpid(child, &st, WNOHANG) == child)
		status = st;
}

/* Waits at most so long for output or a command line; true when fd 0 has
 * something. */
static bool
turn(long long ms)
{
	struct pollfd	 p[2] = { { .fd = 0, .events = POLLIN },
			    { .fd = reading ? master : -1, .events = POLLIN } };
	static char	 buf[16384];
	ssize_t		 n;

	/* The end of a child is looked for, since no descriptor tells it. */
	poll(p, 2, (int)(ms < 0 || ms > 20 ? 20 : ms));
	reap();
	if (p[1].revents != 0 && reading) {
		n = read(master, buf, sizeof buf);
		if (n > 0) {
			last_output = now_ms();
			if (rawlog != -1)
				(void)!write(rawlog, buf, n);
			vterm_input_write(vt, buf, n);
			answer_program();
		} else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
			close(master);
			master = -1;
		}
	}
	return p[0].revents != 0;
}

static void
json_string(const char *s)
{
	putchar('"');
	for (; *s != '\0'; s++) {
		if (*s == '"' || *s == '\\')
			printf("\\%c", *s);
		else if ((unsigned char)*s < 32 || *s == 127)
			printf("\\u%04x", (unsigned char)*s);
		else
			putchar(*s);
	}
	putchar('"');
}

static bool
any_row(const regex_t *re)
{
	char	*s;
	int	 r, hit = 0;

	for (r = 0; r < rows && !hit; r++) {
		s = row_text(r);
		hit = regexec(re, s, 0, NULL, 0) == 0;
		free(s);
	}
	return hit;
}

static bool
wait_text(const char *ere, long long ms, bool want)
{
	regex_t		 re;
	long long	 end = now_ms() + ms, left;
	bool		 ok;

	if (regcomp(&re, ere, REG_EXTENDED | REG_NOSUB) != 0)
		return false;
	while ((ok = any_row(&re)) != want && (left = end - now_ms()) > 0)
		turn(left);
	regfree(&re);
	return ok == want;
}

static void
color(const VTermColor *c)
{
	if (VTERM_COLOR_IS_DEFAULT_FG(c) || VTERM_COLOR_IS_DEFAULT_BG(c))
		putchar('-');
	else if (VTERM_COLOR_IS_INDEXED(c))
		printf("%d", c->indexed.idx);
	else
		printf("#%02x%02x%02x", c->rgb.red, c->rgb.green, c->rgb.blue);
}

static void
put_cells(int r)
{
	VTermScreenCell	 c;
	VTermPos	 p = { .row = r };

	putchar('"');
	for (p.col = 0; p.col < cols; p.col++) {
		vterm_screen_get_cell(screen, p, &c);
		color(&c.fg);
		putchar('/');
		color(&c.bg);
		printf("%s%s%s%s%s%s ", c.attrs.bold ? "b" : "",
		    c.attrs.underline ? "u" : "", c.attrs.italic ? "i" : "",
		    c.attrs.blink ? "k" : "", c.attrs.reverse ? "r" : "",
		    c.attrs.strike ? "s" : "");
	}
	putchar('"');
}

static void
dump(bool cells)
{
	size_t	 i;
	char	*s;
	int	 r;

	vterm_state_get_cursorpos(vterm_obtain_state(vt), &cursor);
	printf("{\"rows\":[");
	for (r = 0; r < rows; r++) {
		s = row_text(r);
		if (r > 0)
			putchar(',');
		json_string(s);
		free(s);
	}
	printf("],");
	if (cells) {
		printf("\"cells\":[");
		for (r = 0; r < rows; r++) {
			if (r > 0)
				putchar(',');
			put_cells(r);
		}
		printf("],");
	}
	printf("\"cursor\":[%d,%d],\"visible\":%s,\"alt\":%s,\"mouse\":%d,"
	    "\"reverse\":%s,\"bells\":%lu,\"title\":", cursor.row, cursor.col,
	    visible ? "true" : "false", alt ? "true" : "false", mouse,
	    reverse ? "true" : "false", bells);
	json_string(title);
	printf(",\"history\":[");
	for (i = 0; i < nhistory; i++) {
		if (i > 0)
			putchar(',');
		json_string(history[i]);
	}
	reap();
	printf("],\"pid\":%d,\"status\":", (int)child);
	if (status == -1)
		printf("null}\n");
	else
		printf("%d}\n", WIFEXITED(status) ? WEXITSTATUS(status) :
		    128 + WTERMSIG(status));
}

static int
hex_digit(char c)
{
	return c <= '9' ? c - '0' : (c | 32) - 'a' + 10;
}

static void
type_hex(const char *hex)
{
	long long	 end = now_ms() + 5000;
	char		*b = malloc(strlen(hex) / 2 + 1);
	size_t		 n = 0, done = 0;
	ssize_t		 r;

	/* Digit by digit: sscanf() would look for the end of a paste each
	 * time. */
	for (; hex[0] != '\0' && hex[1] != '\0'; hex += 2)
		b[n++] = (char)(hex_digit(hex[0]) << 4 | hex_digit(hex[1]));
	while (done < n && master != -1 && now_ms() < end) {
		r = write(master, b + done, n - done);
		if (r > 0)
			done += r;
		else
			turn(5);
	}
	free(b);
}

static void
obey(char *line)
{
	struct termios	 t;
	struct winsize	 ws;
	long long	 ms, end;
	int		 at = 0, a, b;
	bool		 ok = true;

	if (strncmp(line, "type ", 5) == 0)
		type_hex(line + 5);
	else if (sscanf(line, "wait %lld %n", &ms, &at) == 1 && at > 0)
		ok = wait_text(line + at, ms, true);
	else if (sscanf(line, "gone %lld %n", &ms, &at) == 1 && at > 0)
		ok = wait_text(line + at, ms, false);
	else if (sscanf(line, "quiet %d %lld", &a, &ms) == 2) {
		end = now_ms() + ms;
		last_output = now_ms();
		while (now_ms() - last_output < a && now_ms() < end)
			turn(5);
		ok = now_ms() - last_output >= a;
	} else if (sscanf(line, "exit %lld", &ms) == 1) {
		end = now_ms() + ms;
		while (status == -1 && now_ms() < end)
			turn(10);
		/* ... and what it said last */
		end = now_ms() + 200;
		while (master != -1 && now_ms() < end)
			turn(10);
		ok = status != -1;
	} else if (strcmp(line, "dump") == 0 || strcmp(line, "cells") == 0) {
		dump(line[0] == 'c');
		return;
	} else if (sscanf(line, "resize %d %d", &a, &b) == 2) {
		rows = a;
		cols = b;
		vterm_set_size(vt, a, b);
		memset(&ws, 0, sizeof ws);
		ws.ws_row = (unsigned short)a;
		ws.ws_col = (unsigned short)b;
		ok = ioctl(master, TIOCSWINSZ, &ws) == 0;
	} else if (sscanf(line, "kill %d", &a) == 1)
		ok = kill(child, a) == 0;
	else if (strcmp(line, "mute") == 0)
		mute = true;
	else if (strcmp(line, "stop") == 0)
		reading = false;
	else if (strcmp(line, "go") == 0)
		reading = true;
	else if (strcmp(line, "termios") == 0) {
		if (master == -1 || tcgetattr(master, &t) == -1)
			ok = false;
		else {
			printf("{\"ok\":true,\"echo\":%s,\"icanon\":%s,"
			    "\"isig\":%s,\"opost\":%s,\"all\":\"%x.%x.%x.%x\"}\n",
			    t.c_lflag & ECHO ? "true" : "false",
			    t.c_lflag & ICANON ? "true" : "false",
			    t.c_lflag & ISIG ? "true" : "false",
			    t.c_oflag & OPOST ? "true" : "false",
			    t.c_iflag, t.c_oflag, t.c_cflag, t.c_lflag);
			return;
		}
	} else
		ok = false;
	printf("{\"ok\":%s}\n", ok ? "true" : "false");
}

static void
start(char **argv)
{
	struct winsize	 ws = { .ws_row = (unsigned short)rows,
			    .ws_col = (unsigned short)cols };

	child = forkpty(&master, NULL, NULL, &ws);
	if (child == -1) {
		perror("outer: forkpty");
		exit(125);
	}
	if (child == 0) {
		signal(SIGPIPE, SIG_DFL);
		execvp(argv[0], argv);
		fprintf(stderr, "outer: %s: %s\n", argv[0], strerror(errno));
		_exit(127);
	}
	fcntl(master, F_SETFL, O_NONBLOCK);
	fcntl(master, F_SETFD, FD_CLOEXEC);
}

int
main(int argc, char **argv)
{
	static char	 line[1 << 20];
	size_t		 have = 0;
	ssize_t		 n;
	char		*nl;

	if (argc < 6 || strcmp(argv[4], "--") != 0) {
		fprintf(stderr, "usage: outer ROWS COLS RAWLOG -- CMD\n");
		return 2;
	}
	rows = atoi(argv[1]);
	cols = atoi(argv[2]);
	rawlog = open(argv[3], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	signal(SIGPIPE, SIG_IGN);
	setvbuf(stdout, NULL, _IOFBF, 1 << 16);
	vt = vterm_new(rows, cols);
	vterm_set_utf8(vt, 1);
	screen = vterm_obtain_screen(vt);
	vterm_screen_set_callbacks(screen, &callbacks, NULL);
	vterm_screen_enable_altscreen(screen, 1);
	vterm_screen_set_damage_merge(screen, VTERM_DAMAGE_SCROLL);
	vterm_screen_reset(screen, 1);
	start(argv + 5);

	for (;;) {
		if (!turn(-1))
			continue;
		n = read(0, line + have, sizeof line - have - 1);
		if (n <= 0)
			break;
		have += n;
		line[have] = '\0';
		while ((nl = strchr(line, '\n')) != NULL) {
			*nl = '\0';
			obey(line);
			fflush(stdout);
			have -= nl + 1 - line;
			memmove(line, nl + 1, have + 1);
		}
		if (have == sizeof line - 1)
			break;
	}
	return 0;
}
