/* SPDX-License-Identifier: ISC */
/* A tool's control socket; contract in control.h. */
#include <sys/socket.h>
#include <sys/un.h>

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "control.h"

int
control_open(const char *path)
{
	struct sockaddr_un	 sun = { .sun_family = AF_UNIX };
	int			 fd;

	if (strlen(path) >= sizeof sun.sun_path) {
		errno = ENAMETOOLONG;
		return -1;
	}
	strcpy(sun.sun_path, path);
	unlink(path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd == -1 || bind(fd, (struct sockaddr *)&sun, sizeof sun) == -1 ||
	    listen(fd, 4) == -1)
		return -1;
	return fd;
}

/* The tests ask so seldom that it may block. */
void
control_serve(int lfd, bool (*obey)(const char *, char *, size_t))
{
	char	 line[128], answer[128] = "ok\n";
	ssize_t	 n;
	int	 fd;

	if ((fd = accept4(lfd, NULL, NULL, SOCK_CLOEXEC)) == -1)
		return;
	n = read(fd, line, sizeof line - 1);
	line[n > 0 ? n : 0] = '\0';
	if (!obey(line, answer, sizeof answer))
		strcpy(answer, "what?\n");
	(void)!write(fd, answer, strlen(answer));
	close(fd);
}
