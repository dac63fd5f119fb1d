/* SPDX-License-Identifier: ISC */
/*
 * A slow link: runs a command and relays its standard input and output, late
 * and at a limited rate. All relays of one link obey one small shared file, so
 * that a measurement changes the link under the connections that it has:
 *
 *   --role relay FILE -- CMD ARG...
 */
#include <sys/mman.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench-relay.h"

/* What a link holds beside what travels: a router's buffer. */
#define BUFFER	(256u << 10)

struct piece {
	struct piece	*next;
	double		 due;
	size_t		 len, done;
	char		 data[];
};

struct way {
	int		 in, out;
	struct piece	*head, **tail;
	size_t		 queued;
	double		 next;		/* not before: the rate */
	bool		 eof;
};

static const struct relay_control	*control;

struct relay_control *
relay_control_map(const char *path, bool make)
{
	struct relay_control *c;
	int fd = open(path, O_RDWR | O_CLOEXEC | (make ? O_CREAT : 0), 0600);

	if (fd == -1 || (make && ftruncate(fd, sizeof *c) == -1))
		bench_die("%s: %s", path, strerror(errno));
	c = mmap(NULL, sizeof *c, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (c == MAP_FAILED)
		bench_die("%s: %s", path, strerror(errno));
	return c;
}

static void
way_take(struct way *w)
{
	char buf[16384];
	struct piece *p;
	ssize_t n = read(w->in, buf, sizeof buf);

	if (n == -1 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		w->eof = true;
		return;
	}
	p = xalloc(sizeof *p + (size_t)n);
	memcpy(p->data, buf, (size_t)n);
	p->len = (size_t)n;
	p->due = now_ms() + control->delay;
	*w->tail = p;
	w->tail = &p->next;
	w->queued += (size_t)n;
}

/* Milliseconds until something may be written; negative: nothing to do. */
static double
way_when(const struct way *w)
{
	double t;

	if (w->head == NULL || w->out == -1)
		return -1;
	/* Looked at again soon: nothing tells when it is over. */
	if (control->stalled)
		return 5;
	t = w->head->due > w->next ? w->head->due : w->next;
	t -= now_ms();
	return t > 0 ? t : 0;
}

static void
way_give(struct way *w)
{
	struct piece *p = w->head;
	size_t n = p->len - p->done;
	double rate = control->rate;
	ssize_t r;

	if (rate > 0 && n > 2048)
		n = 2048;
	r = write(w->out, p->data + p->done, n);
	if (r == -1) {
		if (errno != EAGAIN && errno != EINTR)
			_exit(0);
		return;
	}
	p->done += (size_t)r;
	w->queued -= (size_t)r;
	if (rate > 0)
		w->next = (w->next > now_ms() - 20 ? w->next : now_ms()) +
		    (double)r * 1e3 / rate;
	if (p->done == p->len) {
		if ((w->head = p->next) == NULL)
			w->tail = &w->head;
		free(p);
	}
}

static pid_t
relay_command(char **argv, struct way *up, struct way *down)
{
	int a[2], c[2];
	pid_t pid;

	if (pipe2(a, O_CLOEXEC) == -1 || pipe2(c, O_CLOEXEC) == -1)
		bench_die("pipe: %s", strerror(errno));
	if ((pid = fork()) == -1)
		bench_die("fork: %s", strerror(errno));
	if (pid == 0) {
		dup2(a[0], 0);
		dup2(c[1], 1);
		execvp(argv[0], argv);
		_exit(127);
	}
	close(a[0]);
	close(c[1]);
	*up = (struct way){ .in = 0, .out = a[1] };
	*down = (struct way){ .in = c[0], .out = 1 };
	up->tail = &up->head;
	down->tail = &down->head;
	fcntl(up->out, F_SETFL, O_NONBLOCK);
	return pid;
}

int
relay_main(int argc, char **argv)
{
	struct way way[2];
	struct pollfd p[4];
	struct timespec ts;
	double t, wait;
	size_t room;
	int i;

	if (argc < 3 || strcmp(argv[1], "--") != 0)
		return 2;
	control = relay_control_map(argv[0], false);
	signal(SIGPIPE, SIG_IGN);
	relay_command(argv + 2, &way[0], &way[1]);
	for (;;) {
		if (way[0].eof && way[0].head == NULL && way[0].out != -1) {
			close(way[0].out);
			way[0].out = -1;
		}
		if (way[1].eof && way[1].head == NULL)
			return 0;
		wait = -1;
		room = BUFFER + (control->rate > 0 ? (size_t)(control->rate *
		    control->delay / 1e3) : 4u << 20);
		for (i = 0; i < 2; i++) {
			p[i].fd = way[i].eof || way[i].queued >= room ? -1 :
			    way[i].in;
			p[i].events = POLLIN;
			t = way_when(&way[i]);
			p[2 + i].fd = t == 0 ? way[i].out : -1;
			p[2 + i].events = POLLOUT;
			if (t > 0 && (wait < 0 || t < wait))
				wait = t;
		}
		ts.tv_sec = (time_t)(wait / 1e3);
		ts.tv_nsec = (long)((wait - 1e3 * (double)ts.tv_sec) * 1e6);
		if (ppoll(p, 4, wait < 0 ? NULL : &ts, NULL) == -1 &&
		    errno != EINTR)
			return 1;
		for (i = 0; i < 2; i++) {
			if (p[i].fd != -1 && p[i].revents != 0)
				way_take(&way[i]);
			if (p[2 + i].fd == -1 || p[2 + i].revents == 0)
				continue;
			/* One side gone: so is the other. */
			if (p[2 + i].revents & (POLLERR | POLLNVAL))
				return 0;
			if (!control->stalled)
				way_give(&way[i]);
		}
	}
}
