/* SPDX-License-Identifier: ISC */
/*
 * Megabytes through a shell. Attached: until the last line's bytes are on the
 * client's terminal. Detached: until a question that the program asked behind
 * the last line is answered and the multiplexer has that line, so that all was
 * taken in. It must be on the screen that is then captured.
 */
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"

#define DEADLINE	120000

struct side {
	const char	*name;
	char		**attach, **capture;
	const char	*detach;
	const char	*wait;		/* the shell that is waited for */
	struct term	*term;
	char		*go, *result;
	int		 round;
};

static char *
fifo(struct bench *b, const char *who, const char *what)
{
	char *p = xfmt("%s/w/%s.%s", b->dir, who, what);

	unlink(p);
	if (mkfifo(p, 0600) == -1)
		bench_die("%s: %s", p, strerror(errno));
	return p;
}

static int
fifo_writer(const char *path)
{
	double end = now_ms() + 10000;
	int fd;

	while ((fd = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC)) == -1 &&
	    now_ms() < end)
		sleep_ms(5);
	return fd;
}

/* What the program says once it has its answer; 0 if nothing. */
static double
result_bytes(int fd, double deadline)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	char text[64];
	ssize_t n;

	if (poll(&p, 1, (int)deadline) <= 0)
		return 0;
	n = read(fd, text, sizeof text - 1);
	text[n > 0 ? n : 0] = '\0';
	return atof(text);
}

static bool
side_shows(struct bench *b, struct side *s, const char *text, char **cause)
{
	struct output o;
	bool ok;

	if (s->capture == NULL)
		return true;
	child_run(b, s->capture, NULL, &o, 20000);
	ok = o.status == 0 && strstr(o.out, text) != NULL;
	if (!ok)
		*cause = xfmt("%s is not on the screen (capture: %d %s)\n%s",
		    text, o.status, o.err, o.out);
	output_clear(&o);
	return ok;
}

/* Megabytes a second, or -1. */
static double
side_flood(struct bench *b, struct side *s, bool attached, char **cause)
{
	char mark[32];
	double began, at = 0, bytes;
	size_t seen;
	int go, result;

	snprintf(mark, sizeof mark, "END-OF-FLOOD-%d", ++s->round);
	result = open(s->result, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if ((go = fifo_writer(s->go)) == -1) {
		close(result);
		*cause = xstr("the program in the shell is not there");
		return -1;
	}
	began = now_ms();
	close(go);
	if (attached && (at = term_drain(s->term, mark, DEADLINE, &seen)) < 0) {
		*cause = xstr("the last line did not come");
		close(result);
		return -1;
	}
	/* A bare pty has nobody else to answer. */
	if (s->capture == NULL)
		term_type(s->term, "\033[1;1R", 6);
	bytes = result_bytes(result, DEADLINE);
	/* An agent's keeper may have answered: the server must have it too. */
	if (!attached && s->wait != NULL)
		child_run(b, dl(b, "wait", s->wait, "--text", mark,
		    "--timeout", "60", NULL), NULL, NULL, DEADLINE);
	if (!attached)
		at = now_ms();
	close(result);
	if (bytes == 0)
		*cause = xstr("the program's question was not answered");
	else if (side_shows(b, s, mark, cause))
		return bytes / (1 << 20) / ((at - began) / 1e3);
	return -1;
}

static bool
side_attach(struct bench *b, struct side *s, int rows, int cols)
{
	char *cause = NULL;

	s->term = term_new(rows, cols);
	if (term_spawn(b, s->term, s->attach, &cause) == -1 ||
	    term_see(s->term, "ready", 0, 10000) < 0) {
		bench_fail(b, "flood_mb_s/%s: %s", s->name, cause != NULL ?
		    cause : "no screen");
		free(cause);
		return false;
	}
	term_quiet(s->term, 200, 2000);
	return true;
}

static void
flood_one(struct bench *b, const char *kind, int rows, int cols, bool attached)
{
	struct side s[3];
	char *variant = xfmt("%s/%dx%d/%s", kind, cols, rows, attached ?
	    "attached" : "detached");
	char *r = xfmt("%d", rows), *c = xfmt("%d", cols);
	char *mib = xfmt("%d", b->flood_mib);
	struct series *sr;
	char *why = NULL;
	double v;
	int n = 0, i, k, status;

	memset(s, 0, sizeof s);
	if (attached) {
		s[n].name = "direct";
		s[n].go = fifo(b, "direct", "go");
		s[n].result = fifo(b, "direct", "result");
		s[n].attach = words(b->self, "--role", "flood", kind, r, c,
		    mib, s[n].go, s[n].result, NULL);
		n++;
	}
	s[n].name = "dlmux";
	s[n].go = fifo(b, "dlmux", "go");
	s[n].result = fifo(b, "dlmux", "result");
	s[n].capture = dl(b, "capture", "local:flood", NULL);
	s[n].detach = "\034d";
	s[n].wait = "local:flood";
	s[n].attach = dl(b, "attach", "local:flood", "--", b->self, "--role",
	    "flood", kind, r, c, mib, s[n].go, s[n].result, NULL);
	n++;
	if (peer_has(b, "tmux")) {
		s[n].name = "tmux";
		s[n].go = fifo(b, "tmux", "go");
		s[n].result = fifo(b, "tmux", "result");
		s[n].capture = tmux(b, "capture-pane", "-p", NULL);
		s[n].detach = "\002d";
		tmux_new(b, tmux(b, "new-session", "-d", "-x", c, "-y", r,
		    b->self, "--role", "flood", kind, r, c, mib, s[n].go,
		    s[n].result, NULL));
		s[n].attach = tmux(b, "attach", NULL);
		n++;
	}
	for (i = 0; i < n; i++) {
		if (!side_attach(b, &s[i], rows, cols))
			goto out;
		if (attached)
			continue;
		term_type(s[i].term, s[i].detach, strlen(s[i].detach));
		term_end(s[i].term, 5000, &status);
	}
	for (k = 0; k < 1; k++)
		for (i = 0; i < n; i++) {
			v = side_flood(b, &s[i], attached, &why);
			if (v < 0) {
				bench_fail(b, "flood_mb_s/%s/%s: %s", variant,
				    s[i].name, why);
				free(why);
				continue;
			}
			sr = series_get(b, "flood_mb_s", variant, s[i].name,
			    "MiB/s");
			series_command(sr, s[i].attach);
			series_add(sr, v);
		}
out:
	for (i = 0; i < n; i++) {
		term_free(s[i].term);
		free(s[i].go);
		free(s[i].result);
	}
	child_run(b, dl(b, "kill", "local:flood", NULL), NULL, NULL, 10000);
	tmux_end(b);
	free(variant);
	free(r);
	free(c);
	free(mib);
}

void
group_flood(struct bench *b)
{
	static const char *const kinds[] = { "plain", "sgr", "redraw",
	    "wide" };
	int i, k;

	for (k = 0; k < 2; k++)
		for (i = 0; i < 4; i++) {
			flood_one(b, kinds[i], 24, 80, k == 0);
			flood_one(b, kinds[i], 50, 200, k == 0);
		}
}
