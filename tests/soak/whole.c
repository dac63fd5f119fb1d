/* SPDX-License-Identifier: ISC */
/*
 * Cases with real processes; contract in whole.h. Everything is awaited with
 * a deadline and nothing is slept for, but for the end of what is killed: it
 * is no child of ours, and nothing tells of it.
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
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../server/base/clock.h"
#include "../../server/base/mem.h"
#include "whole-private.h"

#define PREFIX		"\034"
#define TYPED		"\002"		/* counted by the player */

#define LINK_GAP_MS	12000

int	whole_deadline_ms = 20000;

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

int
whole_dlmux(struct whole *w, struct buf *out, const char *a, const char *b,
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
	whole_dlmux(w, &out, a, b, c);
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

/* --- the shell's size ----------------------------------------------------- */

static bool
say(struct whole *w, const struct step *t)
{
	uint64_t end = clock_ms() + whole_deadline_ms;
	char dot;

	dprintf(w->player, "s %zu\n", t->len);
	if (write(w->player, t->data, t->len) != (ssize_t)t->len ||
	    !whole_readable(w, w->player, end) || read(w->player, &dot, 1) != 1)
		return whole_fail(w, 0, "the player does not print");
	screen_write(w->g, t->data, t->len);
	return true;
}

/* It goes on, and finds the server new: as if it had just attached. */
static bool
ask_player(struct whole *w, int *rows, int *cols, int *typed)
{
	uint64_t end = clock_ms() + whole_deadline_ms;
	char text[64];
	ssize_t n;

	if (write(w->player, "w\n", 2) != 2 ||
	    !whole_readable(w, w->player, end) ||
	    (n = read(w->player, text, sizeof text - 1)) <= 0)
		return whole_fail(w, 0, "the player is gone");
	text[n] = '\0';
	return sscanf(text, "%d %d %d", rows, cols, typed) == 3;
}

/* The latest client's; the screen follows when the shell has it. */
static bool
follow_size(struct whole *w)
{
	const struct client *c, *best = NULL;
	uint64_t end = clock_ms() + whole_deadline_ms;
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
		if (clock_ms() > end) {
			buf_printf(w->why, "%dx%d, not %dx%d", rows, cols,
			    best->rows, best->cols);
			return whole_fail(w, 0, "the shell's size");
		}
		/* So that a new server knows whose size counts. */
		if (w->unsure && !best->stalled && tries++ % 40 == 0)
			(void)!write(best->fd, TYPED, 1);
		whole_turn(w, 5);
	}
	screen_resize(w->g, rows, cols);
	/* Of sizes with no byte between them whoever comes later is told the
	 * last alone (server/agent/ring.c), and wraps lines another way. */
	return say(w, &nothing);
}

/* --- steps ---------------------------------------------------------------- */

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
	uint64_t end = clock_ms() + whole_deadline_ms, soon;
	const char *left;

	if (!c->on)
		return true;
	go_on(c);
	if (!found(w, c))
		return false;
	/* Sometimes before the new server has drawn anything. */
	if (w->killed)
		for (soon = clock_ms() + 5 + w->cases * 7 % 50;
		    clock_ms() < soon;)
			whole_turn(w, (int)(soon - clock_ms()));
	else if (!whole_at_rest(w))
		return false;
	if (write(c->fd, PREFIX "d", 2) != 2)
		return whole_fail(w, who, "cannot be typed at");
	while (waitpid(c->pid, NULL, WNOHANG) == 0) {
		if (clock_ms() > end)
			return whole_fail(w, who, "does not leave");
		whole_turn(w, 5);
	}
	while (c->fd >= 0 && clock_ms() < end)
		whole_turn(w, 5);
	c->on = false;
	if (outside_complaint(c->t) != NULL || !outside_whole(c->t)) {
		buf_printf(w->why, "%s", outside_complaint(c->t) != NULL ?
		    outside_complaint(c->t) : "half a sequence");
		return whole_fail(w, who, "leaves");
	}
	if ((left = outside_left_on(c->t)) != NULL) {
		buf_printf(w->why, "%s", left);
		return whole_fail(w, who, "left on after detach");
	}
	return follow_size(w);
}

static bool
accept_player(struct whole *w)
{
	if (!whole_readable(w, w->listener, clock_ms() + whole_deadline_ms))
		return whole_fail(w, 0, "the player does not come");
	w->player = accept4(w->listener, NULL, NULL, SOCK_CLOEXEC);
	w->made = w->player >= 0;
	return w->made;
}

static bool
attach(struct whole *w, const struct step *t)
{
	struct client *c = &w->client[t->who];
	struct winsize ws = { .ws_row = t->a, .ws_col = t->b };

	if (!detach(w, t->who) || !whole_at_rest(w))
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
	return follow_size(w) && whole_settled(w) && whole_quiet(w, t->who);
}

/* So that a new server knows again whose size counts. */
static bool
type_at_latest(struct whole *w)
{
	uint64_t end = clock_ms() + whole_deadline_ms;
	int rows, cols, before, typed;
	struct client *c;

	for (c = w->client; w->unsure && c < w->client + CLIENTS; c++) {
		if (!c->on || c->order != w->order || c->stalled)
			continue;
		if (!ask_player(w, &rows, &cols, &before))
			return false;
		(void)!write(c->fd, TYPED, 1);
		do {
			if (clock_ms() > end)
				return whole_fail(w, 0,
				    "what is typed does not come");
			whole_turn(w, 5);
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
	if (!type_at_latest(w) || !whole_at_rest(w))
		return false;
	c->rows = t->a;
	c->cols = t->b;
	c->counting = false;
	outside_resize(c->t, c->rows, c->cols);
	ioctl(c->fd, TIOCSWINSZ, &ws);
	return follow_size(w) && whole_settled(w) && whole_quiet(w, t->who);
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
	if (clock_ms() - *w->last_link < LINK_GAP_MS)
		return true;
	pid = ask_number(w, "ls", "--json", NULL, "\"workspace\": \"far\"",
	    "\"transport_pid\"");
	if (pid <= 1)
		return true;
	*w->last_link = clock_ms();
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
		return found(w, c) && whole_at_rest(w);
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
		whole_dlmux(w, NULL, "kill", w->shell, NULL);
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
			ok = whole_at_rest(w);
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
