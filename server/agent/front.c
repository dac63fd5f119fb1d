/* SPDX-License-Identifier: ISC */
/* The front; contract in front.h. It may block: it does one thing. */
#include <sys/socket.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../base/clock.h"
#include "../base/fd.h"
#include "../base/limits.h"
#include "../base/mem.h"
#include "../base/place.h"
#include "front.h"
#include "handoff.h"

static void __attribute__((format(printf, 2, 3)))
front_fail(const char *marker, const char *fmt, ...)
{
	char text[512], line[640], *p;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	for (p = text; *p != '\0'; p++)
		if ((unsigned char)*p < 0x20)
			*p = ' ';
	snprintf(line, sizeof line, "%s FAIL %s\n", marker, text);
	(void)fd_write_all(1, line, strlen(line));
}

/* In the child: nothing of ours may stay open in a process that outlives the
 * session, or the session would never end. */
static void
front_exec_agent(int ready)
{
	char fd[16];
	int null;

	if (setsid() == -1)
		_exit(1);
	null = open("/dev/null", O_RDWR);
	if (null == -1 || dup2(ready, 10) == -1 || dup2(null, 0) == -1 ||
	    dup2(null, 1) == -1 || dup2(null, 2) == -1 ||
	    dup2(10, 3) == -1)
		_exit(1);
	fd_close_from(4);
	signal(SIGPIPE, SIG_DFL);
	snprintf(fd, sizeof fd, "%d", 3);
	execl("/proc/self/exe", "dlmux", "agent", "--daemon", fd,
	    (char *)NULL);
	_exit(1);
}

/* Starts an agent and awaits its word. -1 and *cause. */
static int
front_start_agent(char **cause)
{
	uint64_t until = clock_ms() + AGENT_START_MS;
	char text[512] = "";
	size_t len = 0;
	struct pollfd pfd;
	uint64_t now;
	int p[2];
	ssize_t n;
	pid_t pid;

	if (fd_pipe(p) == -1 || (pid = fork()) == -1) {
		*cause = xasprintf("cannot start the agent: %s",
		    strerror(errno));
		return -1;
	}
	if (pid == 0)
		front_exec_agent(p[1]);
	close(p[1]);
	pfd.fd = p[0];
	pfd.events = POLLIN;
	while (len < sizeof text - 1 && memchr(text, '\n', len) == NULL &&
	    (now = clock_ms()) < until) {
		if (poll(&pfd, 1, (int)(until - now)) <= 0)
			continue;
		n = read(p[0], text + len, sizeof text - 1 - len);
		if (n == -1 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		len += (size_t)n;
	}
	close(p[0]);
	text[len] = '\0';
	text[strcspn(text, "\n")] = '\0';
	if (strcmp(text, "ok") == 0)
		return 0;
	*cause = xstrdup(*text != '\0' ? text :
	    "the agent does not start");
	return -1;
}

static int
front_connect(const struct place *place, char **cause)
{
	uint64_t until = clock_ms() + AGENT_START_MS;
	struct pollfd none = { .fd = -1 };
	int fd;

	for (;;) {
		fd = fd_connect_unix(place->agent_sock);
		if (fd != -1 && !fd_peer_is_us(fd, NULL)) {
			close(fd);
			*cause = xasprintf("%s belongs to another user",
			    place->agent_sock);
			return -1;
		}
		if (fd != -1)
			return fd;
		if (errno == EAGAIN)
			poll(&none, 1, 10);	/* its queue is full */
		else if (errno != ENOENT && errno != ECONNREFUSED) {
			*cause = fd_in_the_way(place->agent_sock, errno);
			return -1;
		} else if (front_start_agent(cause) == -1)
			return -1;
		if (clock_ms() >= until) {
			*cause = xstrdup("the agent does not answer");
			return -1;
		}
	}
}

/* Everything goes through us. EOF on either side ends both. */
static int
front_copy(int sock)
{
	static char out[64 << 10], in[64 << 10];
	size_t nin = 0, nout = 0;	/* to the socket, to descriptor 1 */
	struct pollfd p[4];
	ssize_t n;

	(void)fd_nonblock(sock);
	for (;;) {
		memset(p, 0, sizeof p);
		p[0].fd = nin < sizeof in ? 0 : -1;
		p[1].fd = nout < sizeof out ? sock : -1;
		p[2].fd = nin > 0 ? sock : -1;
		p[3].fd = nout > 0 ? 1 : -1;
		p[0].events = p[1].events = POLLIN;
		p[2].events = p[3].events = POLLOUT;
		if (poll(p, 4, -1) == -1 && errno != EINTR)
			return 1;
		if (p[0].revents != 0) {
			n = read(0, in + nin, sizeof in - nin);
			if (n == 0 || (n == -1 && errno != EINTR &&
			    errno != EAGAIN))
				return 0;
			nin += n > 0 ? (size_t)n : 0;
		}
		if (p[1].revents != 0) {
			n = read(sock, out + nout, sizeof out - nout);
			if (n == 0 || (n == -1 && errno != EINTR &&
			    errno != EAGAIN)) {
				(void)fd_write_all(1, out, nout);
				return 0;
			}
			nout += n > 0 ? (size_t)n : 0;
		}
		if (p[2].revents != 0) {
			n = write(sock, in, nin);
			if (n > 0) {
				nin -= (size_t)n;
				memmove(in, in + n, nin);
			} else if (errno != EINTR && errno != EAGAIN)
				return 0;
		}
		if (p[3].revents != 0) {
			n = write(1, out, nout);
			if (n > 0) {
				nout -= (size_t)n;
				memmove(out, out + n, nout);
			} else if (errno != EINTR && errno != EAGAIN)
				return 0;
		}
	}
}

/* Until the agent closes it, in any way. */
static void
front_wait(int leash)
{
	struct pollfd p = { .fd = leash, .events = POLLIN };
	char c[64];
	ssize_t n;
	int null;

	if ((null = open("/dev/null", O_RDWR | O_CLOEXEC)) != -1) {
		(void)dup2(null, 0);
		(void)dup2(null, 1);
	}
	for (;;) {
		n = read(leash, c, sizeof c);
		if (n == 0 || (n == -1 && errno != EINTR && errno != EAGAIN))
			return;
		if (n == -1)
			(void)poll(&p, 1, -1);
	}
}

int
front_main(const char *marker)
{
	static const int std[2] = { 0, 1 };
	struct place *place;
	struct buf b;
	char *cause = NULL;
	bool copy = getenv("DLMUX_FRONT_COPY") != NULL;	/* for tests */
	int fd = -1, r = 1;

	signal(SIGPIPE, SIG_IGN);
	fd_sanitize();
	if ((place = place_open(NULL, &cause)) == NULL ||
	    (fd = front_connect(place, &cause)) == -1) {
		front_fail(marker, "%s", cause);
		goto out;
	}
	buf_init(&b, HANDOFF_HEAD_MAX + HANDOFF_ENV_MAX);
	handoff_put(&b, marker, true, environ);
	if (!copy && fd_send_fds(fd, b.data, b.len, std, 2) == 0) {
		buf_free(&b);
		front_wait(fd);
		r = 0;
		goto out;
	}
	/* Descriptors cannot be passed here (a sandbox): a fresh connection,
	 * because part of the hand-off may have gone. */
	fd_close(&fd);
	buf_reset(&b);
	handoff_put(&b, marker, false, environ);
	if ((fd = front_connect(place, &cause)) == -1)
		front_fail(marker, "%s", cause);
	else if (fd_write_all(fd, b.data, b.len) == -1)
		front_fail(marker, "the agent hangs up: %s", strerror(errno));
	else
		r = front_copy(fd);
	buf_free(&b);
out:
	free(cause);
	fd_close(&fd);
	place_free(place);
	return r;
}
