/* SPDX-License-Identifier: ISC */
/*
 * pipe: runs a command and relays its stdin and stdout, badly on purpose.
 *
 *   pipe [--delay MS] [--rate BYTES/S] [--split N] [--cut-after N]
 *        [--cut-after-down N] [--control SOCKET] -- CMD ARG...
 *
 * Up is towards the command. Delay and rate hold for each direction. Split
 * writes at most N bytes at a time. Cut ends both directions and the command
 * after exactly N bytes. The control socket takes lines: cut, stall, resume,
 * delay MS, rate N, bytes (answered with the two counts); each is answered
 * with a line, after it holds.
 */
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* In flight in one direction: more is left in the reader's pipe. */
#define QUEUE_MAX	(4u << 20)

struct chunk {
	struct chunk	*next;
	long long	 due;		/* milliseconds */
	size_t		 len, done;
	char		 data[];
};

struct way {
	int		 in, out;
	struct chunk	*head, **tail;
	size_t		 queued;
	unsigned long long total, cut;	/* cut 0: never */
	long long	 next;		/* rate: not before */
	bool		 eof;
};

static long		 delay_ms, rate, split;
static bool		 stalled;
static pid_t		 child = -1;
static const char	*control;

static long long
now_ms(void)
{
	struct timespec	 ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000LL + ts.tv_nsec / 1000000;
}

static void
fatal(const char *what)
{
	fprintf(stderr, "pipe: %s: %s\n", what, strerror(errno));
	exit(125);
}

static void
cut_all(void)
{
	if (child > 0)
		kill(child, SIGKILL);
	if (control != NULL)
		unlink(control);
	_exit(255);
}

static void
take(struct way *w)
{
	static char	 buf[65536];
	struct chunk	*c;
	ssize_t		 n;

	n = read(w->in, buf, sizeof buf);
	if (n == -1) {
		if (errno == EAGAIN || errno == EINTR)
			return;
		n = 0;
	}
	if (n == 0) {
		w->eof = true;
		return;
	}
	if ((c = malloc(sizeof *c + n)) == NULL)
		fatal("malloc");
	c->next = NULL;
	c->due = now_ms() + delay_ms;
	c->len = n;
	c->done = 0;
	memcpy(c->data, buf, n);
	*w->tail = c;
	w->tail = &c->next;
	w->queued += n;
}

/* Milliseconds until something may be written, 0 now, -1 nothing to do. */
static long long
when(const struct way *w)
{
	long long	 t, now = now_ms();

	if (stalled || w->head == NULL || w->out == -1)
		return -1;
	t = w->head->due > w->next ? w->head->due : w->next;
	return t > now ? t - now : 0;
}

static void
give(struct way *w)
{
	struct chunk	*c = w->head;
	size_t		 n = c->len - c->done;
	ssize_t		 r;

	if (split > 0 && n > (size_t)split)
		n = split;
	if (rate > 0 && n > (size_t)(rate / 50 + 1))
		n = rate / 50 + 1;
	if (w->cut > 0 && n > w->cut - w->total)
		n = w->cut - w->total;
	r = write(w->out, c->data + c->done, n);
	if (r == -1) {
		if (errno == EAGAIN || errno == EINTR)
			return;
		cut_all();
	}
	c->done += r;
	w->total += r;
	w->queued -= r;
	if (rate > 0)
		w->next = now_ms() + r * 1000 / rate;
	if (c->done == c->len) {
		w->head = c->next;
		if (w->head == NULL)
			w->tail = &w->head;
		free(c);
	}
	if (w->cut > 0 && w->total >= w->cut)
		cut_all();
}

static int
control_open(const char *path)
{
	struct sockaddr_un	 sun;
	int			 fd;

	memset(&sun, 0, sizeof sun);
	sun.sun_family = AF_UNIX;
	if (strlen(path) >= sizeof sun.sun_path)
		fatal("control path");
	strcpy(sun.sun_path, path);
	unlink(path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd == -1 || bind(fd, (struct sockaddr *)&sun, sizeof sun) == -1 ||
	    listen(fd, 4) == -1)
		fatal("control socket");
	return fd;
}

/* One command a connection; the tests ask so seldom that it may block. */
static void
control_serve(int lfd, struct way *up, struct way *down)
{
	char	 line[128], out[128];
	ssize_t	 n;
	int	 fd, len;

	if ((fd = accept4(lfd, NULL, NULL, SOCK_CLOEXEC)) == -1)
		return;
	n = read(fd, line, sizeof line - 1);
	line[n > 0 ? n : 0] = '\0';
	len = snprintf(out, sizeof out, "ok\n");
	if (strncmp(line, "cut", 3) == 0) {
		(void)!write(fd, out, len);
		cut_all();
	} else if (strncmp(line, "stall", 5) == 0)
		stalled = true;
	else if (strncmp(line, "resume", 6) == 0)
		stalled = false;
	else if (sscanf(line, "delay %ld", &delay_ms) == 1 ||
	    sscanf(line, "rate %ld", &rate) == 1)
		;
	else if (strncmp(line, "bytes", 5) == 0)
		len = snprintf(out, sizeof out, "%llu %llu\n", up->total,
		    down->total);
	else
		len = snprintf(out, sizeof out, "what?\n");
	(void)!write(fd, out, len);
	close(fd);
}

static void
spawn(char **argv, struct way *up, struct way *down)
{
	int	 a[2], b[2];

	if (pipe2(a, O_CLOEXEC) == -1 || pipe2(b, O_CLOEXEC) == -1)
		fatal("pipe");
	if ((child = fork()) == -1)
		fatal("fork");
	if (child == 0) {
		dup2(a[0], 0);
		dup2(b[1], 1);
		execvp(argv[0], argv);
		fprintf(stderr, "pipe: %s: %s\n", argv[0], strerror(errno));
		_exit(127);
	}
	close(a[0]);
	close(b[1]);
	up->in = 0;
	up->out = a[1];
	down->in = b[0];
	down->out = 1;
	up->tail = &up->head;
	down->tail = &down->head;
	fcntl(up->out, F_SETFL, O_NONBLOCK);
}

int
main(int argc, char **argv)
{
	struct way	 up = { 0 }, down = { 0 }, *w;
	struct pollfd	 p[5];
	long long	 t, wait_ms;
	int		 i, k, lfd = -1, status;

	for (i = 1; i + 1 < argc && strcmp(argv[i], "--") != 0; i += 2) {
		if (strcmp(argv[i], "--delay") == 0)
			delay_ms = atol(argv[i + 1]);
		else if (strcmp(argv[i], "--rate") == 0)
			rate = atol(argv[i + 1]);
		else if (strcmp(argv[i], "--split") == 0)
			split = atol(argv[i + 1]);
		else if (strcmp(argv[i], "--cut-after") == 0)
			up.cut = strtoull(argv[i + 1], NULL, 10);
		else if (strcmp(argv[i], "--cut-after-down") == 0)
			down.cut = strtoull(argv[i + 1], NULL, 10);
		else if (strcmp(argv[i], "--control") == 0)
			control = argv[i + 1];
		else
			break;
	}
	if (i + 1 >= argc || strcmp(argv[i], "--") != 0) {
		fprintf(stderr, "usage: pipe [--delay MS] ... -- CMD\n");
		return 2;
	}
	signal(SIGPIPE, SIG_IGN);
	if (control != NULL)
		lfd = control_open(control);
	spawn(argv + i + 1, &up, &down);

	for (;;) {
		if (up.eof && up.head == NULL && up.out != -1) {
			close(up.out);
			up.out = -1;
		}
		if (down.eof && down.head == NULL)
			break;
		wait_ms = -1;
		memset(p, 0, sizeof p);
		for (k = 0; k < 2; k++) {
			w = k == 0 ? &up : &down;
			p[k].fd = w->eof || stalled ||
			    w->queued > QUEUE_MAX ? -1 : w->in;
			p[k].events = POLLIN;
			t = when(w);
			p[2 + k].fd = t == 0 ? w->out : -1;
			p[2 + k].events = POLLOUT;
			if (t > 0 && (wait_ms == -1 || t < wait_ms))
				wait_ms = t;
		}
		p[4].fd = lfd;
		p[4].events = POLLIN;
		if (poll(p, 5, (int)wait_ms) == -1 && errno != EINTR)
			fatal("poll");
		for (k = 0; k < 2; k++) {
			w = k == 0 ? &up : &down;
			if (p[k].revents != 0)
				take(w);
			if (p[2 + k].revents & (POLLERR | POLLNVAL)) {
				/* That end is gone: so is the other. */
				if (k == 1)
					cut_all();
				close(w->out);
				w->out = -1;
			} else if (p[2 + k].revents & POLLOUT)
				give(w);
		}
		if (p[4].revents & POLLIN)
			control_serve(lfd, &up, &down);
	}
	if (control != NULL)
		unlink(control);
	if (waitpid(child, &status, 0) == -1)
		return 125;
	return WIFEXITED(status) ? WEXITSTATUS(status) :
	    128 + WTERMSIG(status);
}
