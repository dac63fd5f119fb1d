/* SPDX-License-Identifier: ISC */
/* Descriptors: close-on-exec and non-blocking from birth, unix sockets in
 * checked directories, whole writes where a role may block. */
#ifndef DLMUX_FD_H
#define DLMUX_FD_H

#include <sys/types.h>
#include <stdbool.h>
#include <stddef.h>

#include <event2/event.h>

int	 fd_nonblock(int);		/* -1 with errno */
int	 fd_cloexec(int);
void	 fd_close(int *);		/* closes if >= 0, stores -1 */
int	 fd_pair(int sv[2]);		/* socketpair, stream, cloexec */
/* pipe2(O_CLOEXEC); both ends are above 2 even if 0-2 are closed. */
int	 fd_pipe(int p[2]);
/* Makes sure 0-2 are open (/dev/null): with one closed, the next socket would
 * become somebody's stdout. */
void	 fd_sanitize(void);
/* Closes everything from lowest up. */
void	 fd_close_from(int lowest);
/* Blocking helpers, for start-up and children only: -1 with errno. */
ssize_t	 fd_write_all(int, const void *, size_t);
ssize_t	 fd_read_file(const char *path, char **data, size_t max); /* malloc'd, NUL-ended */
/* Writes path.tmp (0600), fsync, rename. */
int	 fd_write_file(const char *path, const void *, size_t);

/* Why a file of ours could not be used, and what to do: what stands in its
 * place, or strerror(error). malloc'd. */
char	*fd_in_the_way(const char *path, int error);
/* Binds path by way of a temporary name and rename, 0600 under umask 077,
 * listening. -1 and *cause. */
int	 fd_listen_unix(const char *path, char **cause);
/* Connects (a unix socket's connect is immediate or EAGAIN): a non-blocking fd
 * or -1, errno. EISDIR: nobody can listen there, and waiting does not help. */
int	 fd_connect_unix(const char *path);
/* The peer's uid is ours (root included). pid may be NULL. */
bool	 fd_peer_is_us(int, pid_t *pid);
/* One byte at least travels with the descriptors. send: waits until all is
 * written; 0, or -1 with errno. recv: bytes (0: EOF) or -1; more descriptors
 * than *n are an error (EMSGSIZE, all closed); those got are close-on-exec. */
int	 fd_send_fds(int sock, const void *, size_t, const int *fds, int n);
ssize_t	 fd_recv_fds(int sock, void *, size_t, int *fds, int *n); /* n: in max, out got */

/* An event base, and SIGPIPE ignored from then on (children that exec put it
 * back). NULL if the system has none. */
enum {
	/* Descriptors may be regular files or /dev/null, which epoll refuses
	 * (the client's redirected stdin). */
	FD_LOOP_FILES = 1,
	/* Timers to the microsecond; a system call more at each turn. Else they
	 * may come some milliseconds late. */
	FD_LOOP_PRECISE = 2
};
struct event_base *fd_loop(int flags);

#endif
