/* SPDX-License-Identifier: ISC */
/*
 * A named shell: a process on a pty, its output in a ring, the checkpoints
 * that servers handed back, and the queue of what is typed into it. It stays
 * when it has ended until somebody dismisses it.
 *
 * What goes to which server, and when, is watch.h's.
 */
#ifndef DLMUX_SHELL_H
#define DLMUX_SHELL_H

#include "core.h"

enum shell_state { SHELL_STARTING, SHELL_RUNNING, SHELL_ENDED };

struct checkpoint {
	uint64_t	 offset;
	uint16_t	 rows, cols;
	uint8_t		*data;		/* owned; NULL: none */
	size_t		 len;
};

struct shell {
	TAILQ_ENTRY(shell) entry;
	struct agent	*agent;
	enum shell_state state;
	uint32_t	 id;		/* the channel */
	uint64_t	 uid;
	char		*name, *command;
	struct proc	*proc;		/* NULL once it ended */
	pid_t		 pid;
	int		 master, slave;	/* -1 once it ended */
	struct event	*readable, *writable;
	bool		 reading;
	uint64_t	 created_ms, output_ms;	/* wall */
	uint64_t	 born_ms;	/* clock_ms() */
	uint16_t	 rows, cols;

	struct ring	 ring;
	struct checkpoint light, full;
	struct checkpoint twin;		/* light, of the same offset as full */
	struct watch_list watches;
	struct event	*lag;		/* while no watcher has credit */
	uint64_t	 gated_ms;	/* since when; 0: not */

	struct input_list inputs;	/* with bytes to write, in turn */
	uint8_t		*answers;	/* to programs' questions */
	size_t		 nanswers;
	size_t		 line;		/* tty_fits() */
	bool		 partial;	/* the first input was cut by a full pty */
	uint64_t	 answered;	/* offset of the last one, plus one */
	struct event	*hold;

	unsigned int	 keeper_deaths;	/* of its output, at one place */
	uint64_t	 keeper_died, keeper_sent;	/* taken, sent then */

	uint8_t		 how;		/* ENDED: enum end_how */
	uint32_t	 code;
	char		*signal;
	struct event	*killer;
	bool		 command_given;	/* no login shell */
	bool		 dying;		/* to be dismissed when it ends */
};

struct shell *shell_by_id(struct agent *, uint32_t id);
struct shell *shell_by_uid(struct agent *, uint64_t uid);
struct shell *shell_by_name(struct agent *, const char *name);
void	 shell_clear(struct agent *);	/* all of them */
/* How many have something in the foreground that somebody may come back to. */
uint32_t shell_jobs(struct agent *);

/* The frames of doc/protocol.md. False: the peer broke the protocol. */
bool	 shell_message(struct agent *, struct peer *, uint8_t type,
	    uint32_t channel, const uint8_t *, size_t);
/* As F_SHELL. */
void	 shell_put(const struct shell *, struct buf *);

/* For new_kind: a shell of that name, STARTING, with its pty; NULL and errno.
 * It is told of when shell_started(). */
struct shell *shell_new(struct agent *, const char *name, char *const *argv,
	    uint16_t rows, uint16_t cols);
void	 shell_started(struct shell *);
void	 shell_exited(struct shell *, int status);
void	 shell_free(struct shell *);	/* without a word to anybody */

/* Whether the pty is read now, by the watchers' credit. */
void	 shell_update(struct shell *);
/* Reads what the pty holds right now, credit or not. */
void	 shell_drain(struct shell *);
/* Something was put into a queue: write what the pty takes. */
void	 shell_write(struct shell *);
/* Output below this offset is with every watcher and in a checkpoint. */
uint64_t shell_safe(const struct shell *);
/* Newest checkpoint to start somebody from, or NULL. light: if there is a full
 * one, its twin is preferred. */
const struct checkpoint *shell_checkpoint(const struct shell *, bool light,
	    uint8_t *kind);

#endif
