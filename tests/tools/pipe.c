/* SPDX-License-Identifier: ISC */
/*
 * pipe: runs a command and relays its stdin and stdout, badly on purpose.
 *
 *   pipe [--delay MS] [--jitter MS] [--rate BYTES/S] [--split N] [--seed N]
 *        [--cut-after N] [--cut-after-down N] [--control SOCKET] -- CMD ARG...
 *
 * Up is towards the command. Delay, jitter and rate hold for each direction.
 * Split writes at most N bytes at a time (1: byte by byte), with a seed from
 * one to N. Cut ends both directions and the command after exactly N bytes.
 *
 * The control socket takes lines, each answered with a line after it holds:
 *
 *   cut			the end, for both sides
 *   stall [up|down]	nothing passes (that way), and nobody is told
 *   resume		it does again
 *   shut up|down	the reader of that way sees the end; the other way goes on
 *   delay MS, jitter MS, rate N, split N
 *   bytes		"UP DOWN": written so far
 */
#include <sys/types.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "control.h"
#include "way.h"

static struct way_terms	 terms;
static struct way	 up, down;
static pid_t		 child = -1;
static const char	*control;
static bool		 cutting;	/* once it is answered */

static void
fatal(const char *what)
{
	fprintf(stderr, "pipe: %s: %s\n", what, strerror(errno));
	exit(125);
}

static void __attribute__((noreturn))
cut_all(void)
{
	if (child > 0)
		kill(child, SIGKILL);
	if (control != NULL)
		unlink(control);
	_exit(255);
}

static int
which(const char *arg)
{
	return strcmp(arg, "up") == 0 ? WAY_UP : strcmp(arg, "down") == 0 ?
	    WAY_DOWN : WAY_UP | WAY_DOWN;
}

static bool
obey(const char *line, char *answer, size_t max)
{
	char	 word[16] = "", arg[16] = "";

	(void)sscanf(line, "%15s %15s", word, arg);
	if (strcmp(word, "stall") == 0)
		terms.stalled |= which(arg);
	else if (strcmp(word, "resume") == 0)
		terms.stalled = 0;
	else if (strcmp(word, "shut") == 0)
		way_shut(which(arg) == WAY_UP ? &up : &down);
	else if (strcmp(word, "delay") == 0)
		terms.delay = atof(arg);
	else if (strcmp(word, "jitter") == 0)
		terms.jitter = atof(arg);
	else if (strcmp(word, "rate") == 0)
		terms.rate = atof(arg);
	else if (strcmp(word, "split") == 0)
		terms.split = strtoul(arg, NULL, 10);
	else if (strcmp(word, "bytes") == 0)
		snprintf(answer, max, "%llu %llu\n", up.total, down.total);
	else if (strcmp(word, "cut") == 0)
		cutting = true;
	else
		return false;
	return true;
}

static void
spawn(char **argv, uint64_t seed)
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
	fcntl(a[1], F_SETFL, O_NONBLOCK);
	way_init(&up, 0, a[1], WAY_UP, seed, &terms);
	way_init(&down, b[0], 1, WAY_DOWN, seed, &terms);
}

int
main(int argc, char **argv)
{
	struct pollfd	 p = { -1, POLLIN, 0 };
	uint64_t	 seed = 0;
	unsigned long long cut_up = 0, cut_down = 0;
	enum way_end	 end;
	int		 i, status;

	for (i = 1; i + 1 < argc && strcmp(argv[i], "--") != 0; i += 2) {
		if (strcmp(argv[i], "--delay") == 0)
			terms.delay = atof(argv[i + 1]);
		else if (strcmp(argv[i], "--jitter") == 0)
			terms.jitter = atof(argv[i + 1]);
		else if (strcmp(argv[i], "--rate") == 0)
			terms.rate = atof(argv[i + 1]);
		else if (strcmp(argv[i], "--split") == 0)
			terms.split = strtoul(argv[i + 1], NULL, 10);
		else if (strcmp(argv[i], "--seed") == 0)
			seed = strtoull(argv[i + 1], NULL, 10);
		else if (strcmp(argv[i], "--cut-after") == 0)
			cut_up = strtoull(argv[i + 1], NULL, 10);
		else if (strcmp(argv[i], "--cut-after-down") == 0)
			cut_down = strtoull(argv[i + 1], NULL, 10);
		else if (strcmp(argv[i], "--control") == 0)
			control = argv[i + 1];
		else
			break;
	}
	if (i + 1 >= argc || strcmp(argv[i], "--") != 0) {
		fprintf(stderr, "usage: pipe [--delay MS] ... -- CMD\n");
		return 2;
	}
	terms.ragged = seed != 0;
	signal(SIGPIPE, SIG_IGN);
	if (control != NULL && (p.fd = control_open(control)) == -1)
		fatal("control socket");
	spawn(argv + i + 1, seed);
	up.cut = cut_up;
	down.cut = cut_down;

	while ((end = way_turn(&up, &down, &p, 1)) == WAY_ON)
		if (p.fd != -1 && (p.revents & POLLIN)) {
			control_serve(p.fd, obey);
			if (cutting)
				cut_all();
		}
	if (end != WAY_OVER)
		cut_all();
	if (control != NULL)
		unlink(control);
	if (waitpid(child, &status, 0) == -1)
		return 125;
	return WIFEXITED(status) ? WEXITSTATUS(status) :
	    128 + WTERMSIG(status);
}
