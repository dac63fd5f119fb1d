/* SPDX-License-Identifier: ISC */
/*
 * Operations: what a client names by a 128-bit id and must not be lost by a
 * lost link. This file's side of it: the table, being bound to a peer's
 * channel or to none, resuming, being orphaned, being forgotten. What an EXEC
 * or an INPUT does with its frames is a struct op_class.
 */
#ifndef DLMUX_OP_H
#define DLMUX_OP_H

#include "core.h"

struct exec;

enum op_state {
	OP_WAITING,	/* for the snapshot, the fork or the shell */
	OP_RUNNING,
	OP_OVER,	/* EXIT or REFUSED is kept for the client */
};

struct op {
	LIST_ENTRY(op)	 hash;
	TAILQ_ENTRY(op)	 all;
	TAILQ_ENTRY(op)	 ready;		/* in the peer's queue */
	LIST_ENTRY(op)	 bound;		/* in the peer's channels */
	struct agent	*agent;
	struct peer	*peer;		/* NULL: nobody holds it */
	uint32_t	 channel;
	bool		 is_ready;
	bool		 doomed;	/* forgotten as soon as it is over */
	enum op_state	 state;
	uint64_t	 orphan_ms;	/* clock_ms() since when; 0 */
	uint64_t	 over_ms;
	struct msg_open	 open;
	const struct op_class *kind;
	uint16_t	 refusal;	/* OVER by REFUSED */
	char		*refusal_text;

	/* by kind */
	struct exec	*exec;
	struct input	*input;
	uint32_t	 shell_id;	/* NEW, INPUT */
	uint64_t	 shell_uid;
	char		*shell_name;
	pid_t		 pid;
};

struct op_class {
	/* What it makes stays when the op is cancelled before it is made. */
	bool	 outlives;
	/* Begin; may end in op_refuse() at once. */
	void	(*start)(struct op *);
	/* The snapshot is there (state is still WAITING). */
	void	(*env_ready)(struct op *);
	/* The same id again, from a client that has so much. False: refused. */
	bool	(*resume)(struct op *, const struct msg_open *);
	/* Fills what is kind's own in a STARTED. */
	void	(*started)(struct op *, struct msg_started *);
	/* After STARTED was (re)sent: what the peer has to hear again. */
	void	(*rebound)(struct op *);
	/* Frames. An answer of NULL is fine; else the op's fault in words. */
	const char *(*data)(struct op *, uint64_t offset, const uint8_t *,
		    size_t);
	const char *(*end)(struct op *, uint64_t offset);
	/* Nobody reads this output stream (1, 2) any more. */
	void	(*shut)(struct op *, uint8_t stream);
	const char *(*credit)(struct op *, uint8_t stream, uint64_t taken,
		    uint64_t max);
	void	(*signal)(struct op *, int sig);
	void	(*winch)(struct op *, uint16_t rows, uint16_t cols);
	/* Sends at most about n bytes; false if there is nothing (more). */
	bool	(*pump)(struct op *, size_t n);
	/* The client is gone. Afterwards the op is doomed. */
	void	(*cancel)(struct op *);
	void	(*free)(struct op *);
};

extern const struct op_class exec_kind, input_kind, new_kind;

void	 op_init(struct agent *);
void	 op_clear(struct agent *);
/* F_OPEN. False: the peer broke the protocol. */
bool	 op_open(struct agent *, struct peer *, uint32_t channel,
	    const uint8_t *, size_t);
/* Any other frame of an operation, of a channel the peer has an op on. */
bool	 op_message(struct op *, uint8_t type, const uint8_t *, size_t);
/* The peer is gone, the op is not. */
void	 op_unbind(struct op *);

/* For the kinds. */
void	 op_started(struct op *);	/* state RUNNING, sends STARTED */
void	 op_refuse(struct op *, enum refusal, const char *, ...)
	    __attribute__((format(printf, 3, 4)));
void	 op_over(struct op *);		/* state OVER; frees a doomed one */
/* Refuses with the status that a shell gives for what went wrong. */
void	 op_refuse_spawn(struct op *, enum spawn_stage, int error);
/* argv and environment are not needed any more. */
void	 op_started_forget(struct op *);
/* The environment of its process: malloc'd. snapshot: of the login shell. */
char	**op_env(const struct op *, bool snapshot, bool tty);
void	 op_send(struct op *, enum conn_class, uint8_t type, struct buf *);
void	 op_credit(struct op *, uint64_t taken, uint64_t max);
void	 op_ready(struct op *);		/* has something to pump */
void	 op_free(struct op *);

/* The snapshot for that mode is settled. */
void	 op_env_ready(struct agent *, enum env_probe);
/* Once in a while: orphans and results nobody fetched. */
void	 op_tick(struct agent *, uint64_t now);
/* The op by its id, or NULL. */
struct op *op_find(struct agent *, const uint8_t id[MSG_ID]);

#endif
