/* SPDX-License-Identifier: ISC */
/*
 * Processes: started without waiting for the exec, reaped all of them, orphans
 * that come to the agent as their subreaper included.
 *
 * It knows neither shells nor operations.
 */
#ifndef DLMUX_SPAWN_H
#define DLMUX_SPAWN_H

#include <sys/types.h>
#include <stdbool.h>
#include <stdint.h>

#include <event2/event.h>

struct proc;
struct procs;

enum spawn_stage { SPAWN_OK, SPAWN_SETUP, SPAWN_CWD, SPAWN_EXEC };

struct spawn {
	const char	*file;	/* found by the PATH in env */
	char *const	*argv, *const *env;
	const char	*home;	/* gone to first, best effort */
	const char	*cwd;	/* "" or NULL: home; relative to home */
	int		 fds[3];
	int		 tty;	/* slave to become the controlling tty, or -1 */
};

struct proc_cb {
	/* The program runs (SPAWN_OK), or what failed with which errno; then
	 * the proc is gone and exited() does not come. */
	void	(*started)(enum spawn_stage, int error, void *);
	/* waitpid()'s status; the proc is gone. */
	void	(*exited)(int status, void *);
};

/* Reads the limits and masks that children get back; becomes a subreaper. */
struct procs *procs_new(struct event_base *);
void	 procs_free(struct procs *);

/* In its own session, signals as at birth, no descriptor but the three. The
 * callbacks come from the loop. NULL with errno if there is no process to
 * be had. The caller closes its copies of the descriptors. */
struct proc *proc_spawn(struct procs *, const struct spawn *,
	    const struct proc_cb *, void *);
pid_t	 proc_pid(const struct proc *);
/* To the process group that it leads. */
void	 proc_signal(const struct proc *, int sig);
/* waitpid()'s status as the wire tells it: enum end_how, the exit status or
 * 128+n, and the signal's name, malloc'd ("" for none). */
void	 proc_status(int status, uint8_t *how, uint32_t *code, char **signal);
/* No callback any more; it is still reaped. NULL is fine. */
void	 proc_forget(struct proc *);

#endif
