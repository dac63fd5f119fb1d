/* SPDX-License-Identifier: ISC */
/*
 * Children of the server: started without a fork of it all and without
 * blocking, each in a session of its own, and reaped by pid (nobody may wait
 * for "any" child beside this).
 */
#ifndef DLMUX_CHILD_H
#define DLMUX_CHILD_H

#include <sys/types.h>

#include <event2/event.h>

struct child;

struct child_spec {
	const char	*file;		/* NULL: argv[0], by env's PATH */
	char *const	*argv;
	char *const	*env;
	int		 fd[4];		/* become 0 to 3; -1: /dev/null, for 3:
					 * none. Stay the caller's. */
};

/*
 * Starts it; ended is called once, from the loop, when it has ended (a wait
 * status), and then the child is gone: the pointer is no more. NULL and
 * *cause ("docker: not found in PATH").
 */
struct child *child_start(struct event_base *, const struct child_spec *,
	    void (*ended)(int status, void *), void *, char **cause);
/* The file mode mask that children get from now on: the user's, not the one
 * that guards our own files. */
void	 child_mask(mode_t);
pid_t	 child_pid(const struct child *);
/* Nobody asks any more. It is reaped still, after TERM at once and KILL after
 * ms if it has not ended by then; ms 0: it may live on. */
void	 child_forget(struct child *, int term_ms, int kill_ms);

/* "exited with status 3", "was killed by signal 9"; malloc'd. */
char	*child_words(int status);

#endif
