/* SPDX-License-Identifier: ISC */
/*
 * A slow link: runs a command and relays its standard input and output, late
 * and at a limited rate. All relays of one link obey one small shared file, so
 * that a measurement changes the link under the connections that it has:
 *
 *   --role relay FILE -- CMD ARG...
 */
#include <sys/mman.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "bench-relay.h"

struct way_terms *
relay_control_map(const char *path, bool make)
{
	struct way_terms *c;
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
relay_command(char **argv, struct way *up, struct way *down,
    const struct way_terms *terms)
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
	fcntl(a[1], F_SETFL, O_NONBLOCK);
	way_init(up, 0, a[1], WAY_UP, 0, terms);
	way_init(down, c[0], 1, WAY_DOWN, 0, terms);
}

int
relay_main(int argc, char **argv)
{
	struct way up, down;

	if (argc < 3 || strcmp(argv[1], "--") != 0)
		return 2;
	signal(SIGPIPE, SIG_IGN);
	relay_command(argv + 2, &up, &down, relay_control_map(argv[0], false));
	while (way_turn(&up, &down, NULL, 0) == WAY_ON)
		;
	return 0;
}
