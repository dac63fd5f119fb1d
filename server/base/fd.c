/* SPDX-License-Identifier: ISC */
/*
 * Descriptors; see fd.h.
 */
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fd.h"
#include "log.h"
#include "mem.h"
#include "place.h"

#define FD_PASS_MAX	8	/* descriptors in one message */
#define FD_BACKLOG	128	/* 64 clients may start at once */

int
fd_nonblock(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	if (flags == -1)
		return -1;
	if (flags & O_NONBLOCK)
		return 0;
	return fcntl(fd, F_SETFL, flags | O_NONBLOCK) == -1 ? -1 : 0;
}

int
fd_cloexec(int fd)
{
	int flags = fcntl(fd, F_GETFD);

	if (flags == -1)
		return -1;
	return fcntl(fd, F_SETFD, flags | FD_CLOEXEC) == -1 ? -1 : 0;
}

void
fd_close(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

int
fd_pair(int sv[2])
{
	return socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv);
}

int
fd_pipe(int p[2])
{
	int i, fd, saved;

	if (pipe2(p, O_CLOEXEC) == -1)
		return -1;
	for (i = 0; i < 2; i++) {
		if (p[i] > 2)
			continue;
		if ((fd = fcntl(p[i], F_DUPFD_CLOEXEC, 3)) == -1) {
			saved = errno;
			close(p[0]);
			close(p[1]);
			errno = saved;
			return -1;
		}
		close(p[i]);
		p[i] = fd;
	}
	return 0;
}

void
fd_sanitize(void)
{
	int fd;

	for (fd = 0; fd <= 2 && fcntl(fd, F_GETFD) != -1; fd++)
		;
	if (fd > 2)
		return;
	do
		fd = open("/dev/null", O_RDWR);
	while (fd >= 0 && fd <= 2);
	if (fd > 2)
		close(fd);
}

void
fd_close_from(int lowest)
{
	DIR *d;
	struct dirent *e;
	long fd, max;
	char *end;

#ifdef SYS_close_range
	if (syscall(SYS_close_range, (unsigned int)lowest, ~0u, 0u) == 0)
		return;
#endif
	if ((d = opendir("/proc/self/fd")) != NULL) {
		while ((e = readdir(d)) != NULL) {
			fd = strtol(e->d_name, &end, 10);
			if (end != e->d_name && fd >= lowest && fd != dirfd(d))
				close((int)fd);
		}
		closedir(d);
		return;
	}
	max = sysconf(_SC_OPEN_MAX);
	if (max < 0 || max > 65536)
		max = 65536;
	for (fd = lowest; fd < max; fd++)
		close((int)fd);
}

ssize_t
fd_write_all(int fd, const void *data, size_t len)
{
	const char *p = data;
	struct pollfd pfd = { .fd = fd, .events = POLLOUT };
	size_t left = len;
	ssize_t n;

	while (left > 0) {
		n = write(fd, p, left);
		if (n > 0) {
			p += n;
			left -= (size_t)n;
		} else if (n == -1 && errno == EAGAIN) {
			if (poll(&pfd, 1, -1) == -1 && errno != EINTR)
				return -1;
		} else if (n == -1 && errno != EINTR)
			return -1;
	}
	return (ssize_t)len;
}

ssize_t
fd_read_file(const char *path, char **data, size_t max)
{
	char *p = NULL, *q;
	size_t len = 0, cap = 0;
	ssize_t n;
	int fd, saved;

	/* O_NONBLOCK: a FIFO in the file's place must not hold us up. */
	if ((fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)) == -1)
		return -1;
	for (;;) {
		if (len + 1 >= cap) {
			cap = cap != 0 ? cap * 2 : 4096;
			if ((q = realloc(p, cap)) == NULL)
				goto fail;
			p = q;
		}
		n = read(fd, p + len, cap - len - 1);
		if (n == -1 && errno == EINTR)
			continue;
		if (n == -1)
			goto fail;
		if (n == 0)
			break;
		len += (size_t)n;
		if (len > max) {
			errno = EFBIG;
			goto fail;
		}
	}
	close(fd);
	p[len] = '\0';
	*data = p;
	return (ssize_t)len;
fail:
	saved = errno;
	free(p);
	close(fd);
	errno = saved;
	return -1;
}

int
fd_write_file(const char *path, const void *data, size_t len)
{
	char *tmp = xasprintf("%s.tmp", path);
	int fd, saved, r = -1;

	/* O_TRUNC and not O_EXCL: one that a crash left behind is ours too. */
	fd = open(tmp, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC,
	    0600);
	if (fd == -1)
		goto out;
	if (fd_write_all(fd, data, len) == -1 || fsync(fd) == -1) {
		saved = errno;
		close(fd);
		unlink(tmp);
		errno = saved;
		goto out;
	}
	close(fd);
	r = rename(tmp, path);
out:
	saved = errno;
	free(tmp);
	errno = saved;
	return r;
}

static int
fd_address(struct sockaddr_un *sun, const char *path)
{
	size_t n = strlen(path);

	if (n >= sizeof sun->sun_path) {
		errno = ENAMETOOLONG;
		return -1;
	}
	memset(sun, 0, sizeof *sun);
	sun->sun_family = AF_UNIX;
	memcpy(sun->sun_path, path, n + 1);
	return 0;
}

char *
fd_in_the_way(const char *path, int error)
{
	struct stat st;

	if (lstat(path, &st) == 0 && (S_ISDIR(st.st_mode) ||
	    S_ISLNK(st.st_mode)))
		return xasprintf("%s: is a %s; remove it", path,
		    S_ISDIR(st.st_mode) ? "directory" : "symbolic link");
	if (lstat(path, &st) == 0 && st.st_uid != geteuid())
		return xasprintf("%s: %s (it belongs to uid %lu)", path,
		    strerror(error), (unsigned long)st.st_uid);
	return xasprintf("%s: %s", path, strerror(error));
}

int
fd_listen_unix(const char *path, char **cause)
{
	struct sockaddr_un sun;
	unsigned char rnd[2];
	char hex[5], *tmp = NULL;
	const char *what;
	mode_t mask;
	int fd, r, saved, tries;

	what = "socket";
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd == -1)
		goto fail;
	for (tries = 0; ; tries++) {
		random_bytes(rnd, sizeof rnd);
		hex_put(hex, rnd, sizeof rnd);
		free(tmp);
		tmp = xasprintf("%s.%s", path, hex);
		what = "bind";
		if (fd_address(&sun, tmp) == -1)
			goto fail;
		/* The socket must never be open to others, not even between
		 * bind and chmod. */
		mask = umask(077);
		r = bind(fd, (struct sockaddr *)&sun, sizeof sun);
		saved = errno;
		umask(mask);
		errno = saved;
		if (r == 0)
			break;
		if (errno != EADDRINUSE || tries == 16)
			goto fail;
	}
	what = "listen";
	if (chmod(tmp, 0600) == -1 || listen(fd, FD_BACKLOG) == -1)
		goto unlink;
	/* A name that is there is one that listens: no client ever meets a
	 * socket between bind and listen. */
	what = "rename";
	if (rename(tmp, path) == -1) {
		saved = errno;
		if (cause != NULL)
			*cause = fd_in_the_way(path, saved);
		cause = NULL;
		errno = saved;
		goto unlink;
	}
	free(tmp);
	return fd;
unlink:
	saved = errno;
	unlink(tmp);
	errno = saved;
fail:
	if (cause != NULL)
		*cause = xasprintf("%s: %s: %s", path, what, strerror(errno));
	saved = errno;
	if (fd != -1)
		close(fd);
	free(tmp);
	errno = saved;
	return -1;
}

int
fd_connect_unix(const char *path)
{
	struct sockaddr_un sun;
	struct stat st;
	int fd, saved;

	if (fd_address(&sun, path) == -1)
		return -1;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd == -1)
		return -1;
	while (connect(fd, (struct sockaddr *)&sun, sizeof sun) == -1) {
		if (errno == EINTR)
			continue;
		saved = errno;
		close(fd);
		if (saved == ECONNREFUSED && lstat(path, &st) == 0 &&
		    S_ISDIR(st.st_mode))
			saved = EISDIR;
		errno = saved;
		return -1;
	}
	return fd;
}

bool
fd_peer_is_us(int fd, pid_t *pid)
{
#ifdef SO_PEERCRED
	struct ucred cred;
	socklen_t len = sizeof cred;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) == -1 ||
	    len != sizeof cred)
		return false;
	if (pid != NULL)
		*pid = cred.pid;
	return cred.uid == geteuid() || cred.uid == 0;
#else
	uid_t uid;
	gid_t gid;

	if (getpeereid(fd, &uid, &gid) == -1)
		return false;
	if (pid != NULL)
		*pid = 0;
	return uid == geteuid() || uid == 0;
#endif
}

union fd_control {
	char		buf[CMSG_SPACE(FD_PASS_MAX * sizeof(int))];
	struct cmsghdr	align;
};

int
fd_send_fds(int sock, const void *data, size_t len, const int *fds, int n)
{
	struct iovec iov = { .iov_base = (void *)(uintptr_t)data,
	    .iov_len = len };
	struct pollfd pfd = { .fd = sock, .events = POLLOUT };
	struct msghdr msg;
	struct cmsghdr *c;
	union fd_control control;
	size_t bytes;
	ssize_t r;

	if (len == 0 || n < 0 || n > FD_PASS_MAX) {
		errno = EINVAL;
		return -1;
	}
	bytes = (size_t)n * sizeof(int);
	memset(&msg, 0, sizeof msg);
	memset(&control, 0, sizeof control);
	msg.msg_iov = &iov;
	msg.msg_iovlen = 1;
	if (n > 0) {
		msg.msg_control = control.buf;
		msg.msg_controllen = CMSG_SPACE(bytes);
		c = CMSG_FIRSTHDR(&msg);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(bytes);
		memcpy(CMSG_DATA(c), fds, bytes);
	}
	while ((r = sendmsg(sock, &msg, MSG_NOSIGNAL)) == -1) {
		if (errno == EAGAIN)
			(void)poll(&pfd, 1, -1);
		else if (errno != EINTR)
			return -1;
	}
	/* The descriptors went with the first byte: the rest is plain. */
	if ((size_t)r < len && fd_write_all(sock, (const char *)data + r,
	    len - (size_t)r) == -1)
		return -1;
	return 0;
}

ssize_t
fd_recv_fds(int sock, void *data, size_t len, int *fds, int *n)
{
	struct iovec iov = { .iov_base = data, .iov_len = len };
	struct msghdr msg;
	struct cmsghdr *c;
	union fd_control control;
	int i, fd, count, got = 0, max = *n;
	bool over = false;
	ssize_t r;

	*n = 0;
	memset(&msg, 0, sizeof msg);
	msg.msg_iov = &iov;
	msg.msg_iovlen = 1;
	msg.msg_control = control.buf;
	msg.msg_controllen = sizeof control.buf;
	do
		r = recvmsg(sock, &msg, MSG_CMSG_CLOEXEC);
	while (r == -1 && errno == EINTR);
	if (r == -1)
		return -1;
	for (c = CMSG_FIRSTHDR(&msg); c != NULL; c = CMSG_NXTHDR(&msg, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		count = (int)((c->cmsg_len - CMSG_LEN(0)) / sizeof(int));
		for (i = 0; i < count; i++) {
			memcpy(&fd, CMSG_DATA(c) + (size_t)i * sizeof fd,
			    sizeof fd);
			if (got < max)
				fds[got++] = fd;
			else {
				close(fd);
				over = true;
			}
		}
	}
	/* Fewer or more than agreed: a caller would take one for another. */
	if (over || (msg.msg_flags & MSG_CTRUNC)) {
		for (i = 0; i < got; i++)
			close(fds[i]);
		errno = EMSGSIZE;
		return -1;
	}
	*n = got;
	return r;
}

/* What fails is told by who asked for it; the library's own words would stand
 * in the middle of a user's terminal. */
static void
fd_loop_says(int severity, const char *text)
{
	if (severity >= EVENT_LOG_WARN)
		log_warn("libevent: %s", text);
}

struct event_base *
fd_loop(int flags)
{
	struct event_config *config;
	struct event_base *base = NULL;

	signal(SIGPIPE, SIG_IGN);
	event_set_log_callback(fd_loop_says);
	if ((config = event_config_new()) == NULL)
		return NULL;
	/* EVENT_NOEPOLL and its like in a user's environment are not for us. */
	if (event_config_set_flag(config, EVENT_BASE_FLAG_IGNORE_ENV |
	    (flags & FD_LOOP_PRECISE ? EVENT_BASE_FLAG_PRECISE_TIMER : 0)) ==
	    0 && (!(flags & FD_LOOP_FILES) ||
	    event_config_require_features(config, EV_FEATURE_FDS) == 0))
		base = event_base_new_with_config(config);
	event_config_free(config);
	return base;
}
