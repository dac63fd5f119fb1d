/* SPDX-License-Identifier: ISC */
/*
 * Cases with real processes; contract in whole.h. Everything is awaited with
 * a deadline and nothing is slept for.
 */
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../../server/base/mem.h"
#include "whole.h"

#define PREFIX		"\034"
#define TYPED		"\002"		/* counted by the player */

#define LINK_GAP_MS	12000

int	whole_deadline_ms = 20000;

struct client {
	bool		 on, stalled;
	bool		 deaf;		/* stalled, for its terminal reads not */
	bool		 lost;		/* no server that runs knows it */
	int		 rows, cols;
	pid_t		 pid;
	int		 fd;		/* the pty's master, -1 */
	struct outside	*t;
	uint64_t	 order;		/* of its attach */
	unsigned long	 bytes;		/* that came */
	int		 raw;		/* where they are kept, -1 */

	bool		 counting;
	size_t		 base;
	uint64_t	 lines;
	uint32_t	 epoch;
};

struct whole {
	char		 dir[64];
	char		*binary, *self;
	unsigned	 cases;		/* run so far: a shell's name each */
	uint64_t	*last_link;	/* killed; shared with children */
	pid_t		 guardian;
	int		 life;		/* a pipe to it: closed when we are gone */

	/* of the case in hand */
	struct caps	*caps;
	const char	*term;
	char		 shell[32];	/* far:N */
	char		 socket[96];
	int		 listener, player;
	bool		 made;		/* the shell */
	bool		 killed;	/* the server, just now */
	bool		 unsure;	/* no server knows who typed last */
	struct screen	*g;
	struct client	 client[CLIENTS];
	uint64_t	 order;
	struct buf	*why;
};

static uint64_t
now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

/* --- processes ------------------------------------------------------------ */

static void
child_env(struct whole *w)
{
	const char *path = getenv("PATH");
	char *text;

	text = xasprintf("%s", path != NULL ? path : "/usr/bin:/bin");
	clearenv();
	setenv("PATH", text, 1);
	setenv("HOME", w->dir, 1);
	setenv("TERM", w->term != NULL ? w->term : "xterm-256color", 1);
	setenv("COLORTERM", "truecolor", 1);
	setenv("LANG", "C.UTF-8", 1);
	setenv("SHELL", "/bin/sh", 1);
	free(text);
}

/* Runs dlmux to its end; its output into out (may be NULL). */
static int
run(struct whole *w, struct buf *out, const char *a, const char *b,
    const char *c)
{
	char data[4096];
	int fd[2], status, null;
	ssize_t n;
	pid_t pid;

	if (pipe2(fd, O_CLOEXEC) != 0)
		return -1;
	fflush(NULL);
	if ((pid = fork()) == 0) {
		null = open("/dev/null", O_RDWR);
		dup2(null, 0);
		dup2(fd[1], 1);
		dup2(null, 2);
		child_env(w);
		execl(w->binary, "dlmux", a, b, c, (char *)NULL);
		_exit(127);
	}
	close(fd[1]);
	while ((n = read(fd[0], data, sizeof data)) > 0)
		if (out != NULL)
			buf_put(out, data, (size_t)n);
	close(fd[0]);
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

/* A number of a JSON answer, the first after a word; 0 if it is not there. */
static long
ask_number(struct whole *w, const char *a, const char *b, const char *c,
    const char *word, const char *key)
{
	struct buf out;
	const char *at;
	long n = 0;

	buf_init(&out, 1 << 20);
	run(w, &out, a, b, c);
	buf_u8(&out, 0);
	if ((at = strstr((char *)out.data, word)) != NULL &&
	    (at = strstr(at, key)) != NULL)
		n = atol(at + strlen(key) + strspn(at + strlen(key), "\": "));
	buf_free(&out);
	return n;
}

/* Every process that has our directory in its environment. */
static int
kill_all(struct whole *w)
{
	char path[300], env[65536];
	struct dirent *e;
	ssize_t len;
	int fd, n = 0;
	DIR *d = opendir("/proc");

	while (d != NULL && (e = readdir(d)) != NULL) {
		if (atoi(e->d_name) <= 0 || atoi(e->d_name) == getpid())
			continue;
		snprintf(path, sizeof path, "/proc/%s/environ", e->d_name);
		if ((fd = open(path, O_RDONLY)) < 0)
			continue;
		len = read(fd, env, sizeof env);
		close(fd);
		if (len <= 0 || memmem(env, (size_t)len, w->dir,
		    strlen(w->dir)) == NULL)
			continue;
		kill(atoi(e->d_name), SIGKILL);
		n++;
	}
	if (d != NULL)
		closedir(d);
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
	return n;
}

/* --- what comes in -------------------------------------------------------- */

static void
take(struct client *c)
{
	char data[65536];
	struct buf said;
	ssize_t n;

	n = read(c->fd, data, sizeof data);
	if (n > 0) {
		outside_write(c->t, data, (size_t)n);
		buf_init(&said, 1 << 20);
		outside_answers(c->t, &said);
		(void)!write(c->fd, said.data, said.len);
		buf_free(&said);
		if (c->raw >= 0)
			(void)!write(c->raw, data, (size_t)n);
		c->bytes += (unsigned long)n;
	} else if (n == 0 || errno == EIO) {
		close(c->fd);
		c->fd = -1;
	}
}

/* Takes what there is, waiting for it up to ms. */
static void
turn(struct whole *w, int ms)
{
	struct pollfd f[CLIENTS];
	int i;

	for (i = 0; i < CLIENTS; i++) {
		f[i].fd = !w->client[i].deaf && (w->client[i].on ||
		    w->client[i].fd >= 0) ? w->client[i].fd : -1;
		f[i].events = POLLIN;
		f[i].revents = 0;
	}
	poll(f, CLIENTS, ms);
	for (i = 0; i < CLIENTS; i++)
		if (f[i].fd >= 0 && f[i].revents != 0)
			take(&w->client[i]);
}

static bool
readable(struct whole *w, int fd, uint64_t end)
{
	struct pollfd f = { .fd = fd, .events = POLLIN };

	while (poll(&f, 1, 0) == 0) {
		if (now_ms() > end)
			return false;
		turn(w, 2);
	}
	return true;
}

static void
show_terminal(struct whole *w, int who)
{
	struct outside_cell cell;
	struct outside *t = w->client[who].t;
	int y, x;

	for (y = 0; t != NULL && y < outside_rows(t); y++) {
		buf_puts(w->why, "\n    |");
		for (x = 0; x < outside_cols(t); x += cell.width > 1 ? 2 : 1) {
			outside_cell(t, y, x, &cell);
			buf_puts(w->why, cell.text);
		}
	}
}

static bool
fail(struct whole *w, int who, const char *text)
{
	struct buf old;

	buf_init(&old, 1 << 16);
	buf_put(&old, w->why->data, w->why->len);
	buf_reset(w->why);
	buf_printf(w->why, "client %d: %s%s", who, text, old.len > 0 ? ": " :
	    "");
	buf_put(w->why, old.data, old.len);
	buf_free(&old);
	show_terminal(w, who);
	return false;
}

/* --- what they show ------------------------------------------------------- */

static bool
lines_match(struct whole *w, struct client *c)
{
	uint64_t lines = screen_lines(w->g);

	if ((screen_modes(w->g)->flags & MODE_ALT_SCREEN) != 0 || c->rows == 1)
		return true;
	if (screen_rows(w->g) != c->rows || screen_cols(w->g) != c->cols ||
	    (c->counting && c->epoch != screen_epoch(w->g)))
		c->counting = false;	/* it cannot be known from when on */
	if (!c->counting)
		return true;
	if (outside_lines(c->t) - c->base != lines - c->lines) {
		buf_printf(w->why, "native lines %zu, screen %zu",
		    outside_lines(c->t) - c->base,
		    (size_t)(lines - c->lines));
		return false;
	}
	return compare_lines(c->t, c->base, w->g, w->why);
}

static int
offset_of(int g, int t, int gsize, int tsize)
{
	return tsize >= gsize ? 0 : g - t < 0 ? 0 : g - t > gsize - tsize ?
	    gsize - tsize : g - t;
}

static bool
matches(struct whole *w, struct client *c)
{
	int row, col, trow, tcol;
	bool wrap;

	buf_reset(w->why);
	screen_cursor(w->g, &row, &col, &wrap);
	outside_cursor(c->t, &trow, &tcol);
	return compare_screen(c->t, w->g, w->caps,
	    offset_of(row, trow, screen_rows(w->g), c->rows),
	    offset_of(col, tcol, screen_cols(w->g), c->cols), w->why) &&
	    compare_modes(c->t, w->g, w->caps, w->why) && lines_match(w, c);
}

static void
stall(struct client *c, bool deaf)
{
	if (!c->on || c->stalled)
		return;
	c->stalled = true;
	c->deaf = deaf;
	if (!deaf)
		kill(c->pid, SIGSTOP);
}

static void
go_on(struct client *c)
{
	if (c->on && c->stalled && !c->deaf)
		kill(c->pid, SIGCONT);
	c->stalled = c->deaf = false;
}

/* Until every terminal that is looked at shows the screen. */
static bool
settled(struct whole *w)
{
	uint64_t end = now_ms() + whole_deadline_ms;
	struct client *c;
	int i;

	for (i = 0; i < CLIENTS; i++) {
		c = &w->client[i];
		if (!c->on || c->stalled)
			continue;
		while (!matches(w, c)) {
			if (now_ms() > end || c->fd < 0 ||
			    outside_complaint(c->t) != NULL)
				return fail(w, i, "does not come to show it");
			turn(w, 5);
		}
		buf_reset(w->why);
		if (!c->counting && screen_rows(w->g) == c->rows &&
		    screen_cols(w->g) == c->cols &&
		    (screen_modes(w->g)->flags & MODE_ALT_SCREEN) == 0) {
			c->counting = true;
			c->base = outside_lines(c->t);
			c->lines = screen_lines(w->g);
			c->epoch = screen_epoch(w->g);
		}
	}
	return true;
}

/* It may have looked right by chance before the first frame was there. */
static bool
quiet(struct whole *w, int who)
{
	struct client *c = &w->client[who];
	unsigned long bytes;

	if (c->stalled)
		return true;
	do {
		bytes = c->bytes;
		turn(w, 40);
	} while (c->bytes != bytes && c->fd >= 0);
	c->counting = false;
	return settled(w);
}

static bool
looked_at(const struct whole *w)
{
	int i;

	for (i = 0; i < CLIENTS; i++)
		if (w->client[i].on && !w->client[i].stalled)
			return true;
	return false;
}

static void
trim(struct buf *b)
{
	while (b->len > 0 && (b->data[b->len - 1] == '\n' ||
	    b->data[b->len - 1] == ' '))
		b->len--;
	buf_u8(b, 0);
}

/* Nobody looks: until `capture` prints what the screen holds. */
static bool
captured(struct whole *w)
{
	uint64_t end = now_ms() + whole_deadline_ms;
	struct buf have, want;
	bool same = false;
	int y;

	buf_init(&have, 1 << 20);
	buf_init(&want, 1 << 20);
	for (y = 0; y < screen_rows(w->g); y++) {
		screen_row_text(w->g, y, false, &want, NULL);
		buf_u8(&want, '\n');
	}
	trim(&want);
	for (;;) {
		buf_reset(&have);
		run(w, &have, "capture", w->shell, NULL);
		trim(&have);
		same = strcmp((char *)have.data, (char *)want.data) == 0;
		if (same || now_ms() > end)
			break;
	}
	if (!same) {
		buf_reset(w->why);
		buf_printf(w->why, "has '%.2000s', screen '%.2000s'",
		    (char *)have.data, (char *)want.data);
		fail(w, 0, "capture");
	}
	buf_free(&have);
	buf_free(&want);
	return same;
}

static bool
at_rest(struct whole *w)
{
	if (!w->made)
		return true;
	return looked_at(w) ? settled(w) : captured(w);
}

/* --- the shell's size ----------------------------------------------------- */

static bool
say(struct whole *w, const struct step *t)
{
	uint64_t end = now_ms() + whole_deadline_ms;
	char dot;

	dprintf(w->player, "s %zu\n", t->len);
	if (write(w->player, t->data, t->len) != (ssize_t)t->len ||
	    !readable(w, w->player, end) || read(w->player, &dot, 1) != 1)
		return fail(w, 0, "the player does not print");
	screen_write(w->g, t->data, t->len);
	return true;
}

/* It goes on, and finds the server new: as if it had just attached. */
static bool
ask_player(struct whole *w, int *rows, int *cols, int *typed)
{
	uint64_t end = now_ms() + whole_deadline_ms;
	char text[64];
	ssize_t n;

	if (write(w->player, "w\n", 2) != 2 || !readable(w, w->player, end) ||
	    (n = read(w->player, text, sizeof text - 1)) <= 0)
		return fail(w, 0, "the player is gone");
	text[n] = '\0';
	return sscanf(text, "%d %d %d", rows, cols, typed) == 3;
}

/* The latest client's; the screen follows when the shell has it. */
static bool
follow_size(struct whole *w)
{
	const struct client *c, *best = NULL;
	uint64_t end = now_ms() + whole_deadline_ms;
	uint8_t nul = 0;
	const struct step nothing = { .data = &nul, .len = 1 };
	int i, rows = 0, cols = 0, typed, tries = 0;

	for (i = 0; i < CLIENTS; i++) {
		c = &w->client[i];
		if (c->on && !c->lost && (best == NULL ||
		    c->order > best->order))
			best = c;
	}
	if (best == NULL || (best->rows == screen_rows(w->g) &&
	    best->cols == screen_cols(w->g)))
		return true;
	for (;;) {
		if (!ask_player(w, &rows, &cols, &typed))
			return false;
		if (rows == best->rows && cols == best->cols)
			break;
		if (now_ms() > end) {
			buf_printf(w->why, "%dx%d, not %dx%d", rows, cols,
			    best->rows, best->cols);
			return fail(w, 0, "the shell's size");
		}
		/* So that a new server knows whose size counts. */
		if (w->unsure && !best->stalled && tries++ % 40 == 0)
			(void)!write(best->fd, TYPED, 1);
		turn(w, 5);
	}
	screen_resize(w->g, rows, cols);
	/* Of sizes with no byte between them whoever comes later is told the
	 * last alone (server/agent/ring.c), and wraps lines another way. */
	return say(w, &nothing);
}

/* --- steps ---------------------------------------------------------------- */

static bool
found(struct whole *w, struct client *c)
{
	if (!c->on || !c->lost)
		return true;
	c->lost = false;
	c->order = ++w->order;
	w->unsure = true;
	return follow_size(w);
}

static bool
detach(struct whole *w, int who)
{
	struct client *c = &w->client[who];
	uint64_t end = now_ms() + whole_deadline_ms, soon;
	const char *left;

	if (!c->on)
		return true;
	go_on(c);
	if (!found(w, c))
		return false;
	/* Sometimes before the new server has drawn anything. */
	if (w->killed)
		for (soon = now_ms() + 5 + w->cases * 7 % 50;
		    now_ms() < soon;)
			turn(w, (int)(soon - now_ms()));
	else if (!at_rest(w))
		return false;
	if (write(c->fd, PREFIX "d", 2) != 2)
		return fail(w, who, "cannot be typed at");
	while (waitpid(c->pid, NULL, WNOHANG) == 0) {
		if (now_ms() > end)
			return fail(w, who, "does not leave");
		turn(w, 5);
	}
	while (c->fd >= 0 && now_ms() < end)
		turn(w, 5);
	c->on = false;
	if (outside_complaint(c->t) != NULL || !outside_whole(c->t)) {
		buf_printf(w->why, "%s", outside_complaint(c->t) != NULL ?
		    outside_complaint(c->t) : "half a sequence");
		return fail(w, who, "leaves");
	}
	if ((left = outside_left_on(c->t)) != NULL) {
		buf_printf(w->why, "%s", left);
		return fail(w, who, "left on after detach");
	}
	return follow_size(w);
}

static bool
accept_player(struct whole *w)
{
	if (!readable(w, w->listener, now_ms() + whole_deadline_ms))
		return fail(w, 0, "the player does not come");
	w->player = accept4(w->listener, NULL, NULL, SOCK_CLOEXEC);
	w->made = w->player >= 0;
	return w->made;
}

static bool
attach(struct whole *w, const struct step *t)
{
	struct client *c = &w->client[t->who];
	struct winsize ws = { .ws_row = t->a, .ws_col = t->b };

	if (!detach(w, t->who) || !at_rest(w))
		return false;
	c->rows = t->a;
	c->cols = t->b;
	if (c->t == NULL)
		c->t = outside_new(c->rows, c->cols);
	else if (outside_rows(c->t) != c->rows ||
	    outside_cols(c->t) != c->cols)
		outside_resize(c->t, c->rows, c->cols);
	fflush(NULL);
	if ((c->pid = forkpty(&c->fd, NULL, NULL, &ws)) == 0) {
		child_env(w);
		if (w->made)
			execl(w->binary, "dlmux", "attach", w->shell,
			    (char *)NULL);
		else
			execl(w->binary, "dlmux", "attach", w->shell, "--",
			    w->self, "-p", w->socket, (char *)NULL);
		_exit(127);
	}
	fcntl(c->fd, F_SETFD, FD_CLOEXEC);
	fcntl(c->fd, F_SETFL, O_NONBLOCK);
	c->on = true;
	c->stalled = c->lost = c->counting = false;
	c->order = ++w->order;
	w->unsure = false;
	if (!w->made && !accept_player(w))
		return false;
	return follow_size(w) && settled(w) && quiet(w, t->who);
}

/* So that a new server knows again whose size counts. */
static bool
type_at_latest(struct whole *w)
{
	uint64_t end = now_ms() + whole_deadline_ms;
	int rows, cols, before, typed;
	struct client *c;

	for (c = w->client; w->unsure && c < w->client + CLIENTS; c++) {
		if (!c->on || c->order != w->order || c->stalled)
			continue;
		if (!ask_player(w, &rows, &cols, &before))
			return false;
		(void)!write(c->fd, TYPED, 1);
		do {
			if (now_ms() > end)
				return fail(w, 0, "what is typed does not come");
			turn(w, 5);
			if (!ask_player(w, &rows, &cols, &typed))
				return false;
		} while (typed == before);
	}
	w->unsure = false;
	return true;
}

static bool
resize(struct whole *w, const struct step *t)
{
	struct client *c = &w->client[t->who];
	struct winsize ws = { .ws_row = t->a, .ws_col = t->b };

	if (!c->on || c->stalled)
		return true;
	if (!type_at_latest(w) || !at_rest(w))
		return false;
	c->rows = t->a;
	c->cols = t->b;
	c->counting = false;
	outside_resize(c->t, c->rows, c->cols);
	ioctl(c->fd, TIOCSWINSZ, &ws);
	return follow_size(w) && settled(w) && quiet(w, t->who);
}

static bool
kill_server(struct whole *w)
{
	long pid = ask_number(w, "server", "status", "--json", "",
	    "\"pid\"");
	struct client *c;

	/* Who does not come back in time has no say in the size. */
	for (c = w->client; c < w->client + CLIENTS; c++) {
		if (c->order == w->order)
			go_on(c);
		c->lost = c->on && c->stalled && !c->deaf;
	}
	if (pid > 1)	/* it may be dead from the last time */
		kill((pid_t)pid, SIGKILL);
	w->killed = w->unsure = true;
	return true;
}

static bool
kill_link(struct whole *w)
{
	long pid;

	/* A place that is lost time and again is tried seldom, and a new
	 * server knows of the tries of those before it. */
	if (now_ms() - *w->last_link < LINK_GAP_MS)
		return true;
	pid = ask_number(w, "ls", "--json", NULL, "\"workspace\": \"far\"",
	    "\"transport_pid\"");
	if (pid <= 1)
		return true;
	*w->last_link = now_ms();
	return kill((pid_t)pid, SIGKILL) == 0 || errno == ESRCH;
}

static bool
one(struct whole *w, const struct step *t)
{
	struct client *c = &w->client[t->who];

	if (!w->made && t->kind != STEP_ATTACH)
		return true;
	switch (t->kind) {
	case STEP_SAY: return say(w, t);
	case STEP_ATTACH: return attach(w, t);
	case STEP_DETACH: return detach(w, t->who);
	case STEP_RESIZE: return resize(w, t);
	case STEP_STALL:
		stall(c, t->a != 0);
		break;
	case STEP_GO:
		go_on(c);
		return found(w, c) && at_rest(w);
	case STEP_SERVER: return kill_server(w);
	case STEP_LINK: return kill_link(w);
	case STEP_HELP:
		if (c->on && !c->stalled)
			(void)!write(c->fd, PREFIX "?q", 3);
		break;
	}
	return true;
}

/* --- a case --------------------------------------------------------------- */

static void
clean(struct whole *w)
{
	char *command;
	int i;

	for (i = 0; i < 50 && kill_all(w) > 0; i++)
		usleep(20000);
	command = xasprintf("rm -rf %s", w->dir);
	(void)!system(command);
	free(command);
}

/* Cleans up when we are gone, by whatever signal. */
static bool
guard(struct whole *w)
{
	int p[2];
	char c;

	if (pipe2(p, O_CLOEXEC) != 0)
		return false;
	fflush(NULL);
	if ((w->guardian = fork()) == 0) {
		setsid();
		close(p[1]);
		while (read(p[0], &c, 1) == -1 && errno == EINTR)
			;
		clean(w);
		_exit(0);
	}
	close(p[0]);
	w->life = p[1];
	return w->guardian > 0;
}

struct whole *
whole_new(const char *binary, const char *self)
{
	struct whole *w = xcalloc(1, sizeof *w);
	char path[128];
	FILE *fp;

	strcpy(w->dir, "/tmp/dlsXXXXXX");
	if (mkdtemp(w->dir) == NULL)
		return NULL;
	w->last_link = mmap(NULL, sizeof *w->last_link, PROT_READ |
	    PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	w->binary = realpath(binary, NULL);
	w->self = realpath(self, NULL);
	snprintf(path, sizeof path, "%s/.config", w->dir);
	mkdir(path, 0700);
	strcat(path, "/dlmux");
	mkdir(path, 0700);
	strcat(path, "/dlmux.conf");
	if ((fp = fopen(path, "w")) == NULL)
		return NULL;
	fprintf(fp, "Workspace far\n  Command sh -c %%c\n");
	fclose(fp);
	setenv("COLORTERM", "truecolor", 1);
	unsetenv("VTE_VERSION");
	unsetenv("TERM_PROGRAM");
	return guard(w) ? w : NULL;
}

void
whole_free(struct whole *w)
{
	if (w == NULL)
		return;
	close(w->life);
	waitpid(w->guardian, NULL, 0);
	free(w->binary);
	free(w->self);
	free(w);
}

static bool
begin(struct whole *w, const struct soak_case *c)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	char path[256];
	int i;

	w->term = strcmp(c->term, "all") == 0 || strcmp(c->term, "linux") ==
	    0 ? "xterm-256color" : c->term;
	w->caps = oracle_caps(w->term);
	snprintf(w->shell, sizeof w->shell, "far:s%dn%u", (int)getpid(),
	    ++w->cases);
	snprintf(w->socket, sizeof w->socket, "%s/p%dn%u", w->dir,
	    (int)getpid(), w->cases);
	w->made = w->killed = w->unsure = false;
	w->player = -1;
	for (i = 0; i < CLIENTS; i++) {
		memset(&w->client[i], 0, sizeof w->client[i]);
		w->client[i].fd = w->client[i].raw = -1;
		if (getenv("DLMUX_SOAK_RAW") == NULL)
			continue;
		snprintf(path, sizeof path, "%s.%d.%d",
		    getenv("DLMUX_SOAK_RAW"), (int)getpid(), i);
		w->client[i].raw = open(path, O_WRONLY | O_CREAT | O_TRUNC |
		    O_CLOEXEC, 0600);
	}
	w->g = screen_new(c->rows, c->cols, NULL, NULL);
	w->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	strcpy(sun.sun_path, w->socket);
	return bind(w->listener, (struct sockaddr *)&sun, sizeof sun) == 0 &&
	    listen(w->listener, 1) == 0;
}

static void
end(struct whole *w)
{
	struct client *c;

	if (w->made)
		run(w, NULL, "kill", w->shell, NULL);
	for (c = w->client; c < w->client + CLIENTS; c++) {
		if (c->on) {
			kill(c->pid, SIGKILL);
			waitpid(c->pid, NULL, 0);
		}
		if (c->fd >= 0)
			close(c->fd);
		if (c->raw >= 0)
			close(c->raw);
		outside_free(c->t);
	}
	if (w->player >= 0)
		close(w->player);
	close(w->listener);
	unlink(w->socket);
	screen_free(w->g);
	caps_free(w->caps);
}

static void
put_logs(struct whole *w)
{
	char data[4096], *command;
	FILE *fp;
	size_t n;

	command = xasprintf("tail -n 12 %s/.local/state/dlmux/*/*.log", w->dir);
	buf_puts(w->why, "\n");
	if ((fp = popen(command, "r")) != NULL) {
		while ((n = fread(data, 1, sizeof data, fp)) > 0)
			buf_put(w->why, data, n);
		pclose(fp);
	}
	free(command);
}

bool
whole_run(struct whole *w, const struct soak_case *c, struct buf *why)
{
	bool ok, more;
	size_t i;
	int k;

	w->why = why;
	ok = begin(w, c);
	for (i = 0; i < c->n && ok; i++) {
		if (c->steps[i].kind != STEP_DETACH)
			w->killed = false;
		ok = one(w, &c->steps[i]);
		/* Output that nothing waits for is interrupted in the middle
		 * by what comes next. */
		more = i + 1 < c->n && c->steps[i + 1].kind != STEP_DETACH;
		if (ok && !more && !w->killed)
			ok = at_rest(w);
	}
	for (k = 0; k < CLIENTS && ok; k++)
		ok = detach(w, k);
	if (!ok) {
		struct buf text;

		buf_init(&text, 1 << 16);
		buf_printf(&text, "step %zu: %.*s", i - 1, (int)why->len,
		    (char *)why->data);
		buf_reset(why);
		buf_put(why, text.data, text.len);
		buf_free(&text);
		put_logs(w);
	}
	end(w);
	return ok;
}
