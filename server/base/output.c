/* SPDX-License-Identifier: ISC */
/* A program's output; contract in output.h. */
#include <sys/wait.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <unistd.h>

#include "clock.h"
#include "fd.h"
#include "output.h"

static void
child(const char *const *argv, int to, int both)
{
	sigset_t none;
	int fd;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	signal(SIGXFSZ, SIG_DFL);
	if ((fd = open("/dev/null", O_RDWR)) == -1 || dup2(fd, 0) == -1 ||
	    dup2(to, 1) == -1 || dup2(both ? to : fd, 2) == -1)
		_exit(127);
	fd_close_from(3);
	execvp(argv[0], (char *const *)(uintptr_t)argv);
	_exit(127);
}

/* To EOF: true. False when the buffer is full or the time is up. */
static bool
read_all(int fd, uint64_t end, char *out, size_t max, size_t *len)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	uint64_t now;
	ssize_t n;
	int r;

	while (*len < max && (now = clock_ms()) < end) {
		r = poll(&pfd, 1, (int)(end - now));
		if (r == -1 && errno == EINTR)
			continue;
		if (r <= 0)
			return false;
		n = read(fd, out + *len, max - *len);
		if (n == -1 && errno == EINTR)
			continue;
		if (n <= 0)
			return n == 0;
		*len += (size_t)n;
	}
	return false;
}

/* Its end, until then at the latest: one that closed its output and goes on is
 * killed. -1 if it did not end by itself. */
static int
await(pid_t pid, uint64_t end)
{
	int status, how = WNOHANG;
	pid_t r;

	while ((r = waitpid(pid, &status, how)) != pid) {
		if (r == -1 && errno != EINTR)
			return -1;
		if (clock_ms() < end)
			(void)poll(NULL, 0, 1);
		else {
			kill(pid, SIGKILL);
			how = 0;
		}
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int
output_of(const char *const *argv, int ms, int both, char *out, size_t max)
{
	uint64_t end = clock_ms() + (uint64_t)ms;
	size_t len = 0;
	bool whole;
	int p[2], status;
	pid_t pid;

	out[0] = '\0';
	if (fd_pipe(p) == -1)
		return -1;
	if ((pid = fork()) == 0)
		child(argv, p[1], both);
	close(p[1]);
	if (pid == -1) {
		close(p[0]);
		return -1;
	}
	whole = read_all(p[0], end, out, max - 1, &len);
	close(p[0]);
	status = await(pid, whole ? end : 0);
	if (!whole || status == -1)
		len = 0;
	out[len] = '\0';
	return whole ? status : -1;
}
