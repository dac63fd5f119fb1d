/* SPDX-License-Identifier: ISC */
/*
 * The lock of a directory's one server or agent; contract in lock.h.
 *
 * flock() is the lock; the record lock beside it only tells the holder's pid,
 * which a number in the file could not do reliably.
 */
#include <sys/file.h>
#include <sys/stat.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "fd.h"
#include "lock.h"
#include "mem.h"

int
lock_take(const char *path, char **cause)
{
	struct flock fl = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	int fd;

	*cause = NULL;
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd == -1) {
		*cause = fd_in_the_way(path, errno);
		return -1;
	}
	while (flock(fd, LOCK_EX | LOCK_NB) == -1) {
		if (errno == EINTR)
			continue;
		if (errno != EWOULDBLOCK)
			*cause = xasprintf("%s: %s", path, strerror(errno));
		close(fd);
		return -1;
	}
	(void)fcntl(fd, F_SETLK, &fl);
	return fd;
}

bool
lock_wake(const char *path)
{
	struct flock fl = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	bool held;
	int fd;

	if ((fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW)) == -1)
		return false;
	held = fcntl(fd, F_GETLK, &fl) == 0 && fl.l_type != F_UNLCK &&
	    fl.l_pid > 1;
	if (held)
		(void)kill(fl.l_pid, SIGUSR1);
	close(fd);
	return held;
}

bool
lock_there(const char *path, int fd)
{
	struct stat there, ours;

	return lstat(path, &there) == 0 && fstat(fd, &ours) == 0 &&
	    there.st_ino == ours.st_ino && there.st_dev == ours.st_dev;
}
