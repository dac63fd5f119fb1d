/* SPDX-License-Identifier: ISC */
/*
 * The model's parts (tests/unit/check_model.c says what it is), and what they
 * share: one world.
 */
#ifndef DLMUX_TESTS_MODEL_H
#define DLMUX_TESTS_MODEL_H

#include <sys/queue.h>
#include <check.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include "../../client/opchan.h"
#include "../../server/agent/core.h"
#include "../../server/agent/env.h"
#include "../../server/agent/envprobe.h"
#include "../../server/agent/op.h"
#include "../../server/agent/peer.h"
#include "../../server/base/clock.h"
#include "../../server/base/fd.h"
#include "../../server/base/limits.h"
#include "../../server/base/mem.h"
#include "../../server/inside.h"

void	 shell_clear(struct agent *);	/* agent/shell.h and inside.h do not
					 * go together */

#define CLIENTS		3
#define OUT_MAX		(700u << 10)
#define IN_MAX		(400u << 10)
#define LINKS_MAX	4	/* the newest and half-dead ones */

#define MUST(c, ...) do { \
	if (!(c)) { \
		char must_text[256]; \
		snprintf(must_text, sizeof must_text, __VA_ARGS__); \
		ck_abort_msg("seed %llu: %s", (unsigned long long)seed, \
		    must_text); \
	} \
} while (0)

/* ---- connections ---- */

struct message {
	TAILQ_ENTRY(message) entry;
	uint64_t number;	/* of all in this direction */
	uint8_t	 type;
	uint32_t channel;
	size_t	 len;
	uint8_t	 data[];
};

TAILQ_HEAD(message_list, message);

/* One direction. As in a conn: order is kept within a class, a later message
 * of an earlier class may overtake. */
struct way {
	struct message_list class[CONN_CLASSES];
	uint64_t	 number;
	unsigned int	 n;
};

/* ---- the world ---- */

enum what { EXEC, INPUT };

struct connect {		/* a client and its one operation */
	struct opchan	*op;
	enum what	 what;
	int		 number;
	bool		 connected;
	struct way	 up, down;
	uint32_t	 channel;
	size_t		 fed, nin;	/* input given, to be given */
	bool		 fed_end;
	uint64_t	 got[2], took[2];
	bool		 ended[2];
	bool		 shut;		/* of stdout, at some time */
	bool		 done, closed;
	enum opchan_how	 how;
	uint32_t	 code;
	/* what really happened */
	unsigned int	 starts;
	uint64_t	 plan[2];	/* bytes the command writes */
	bool		 reads;		/* it reads to the end first */
	uint32_t	 status;
	struct sclient	*sc;		/* the server's side */
};

struct proc {
	TAILQ_ENTRY(proc) entry;
	struct connect	*of;		/* NULL: the shell */
	pid_t		 pid;
	int		 fds[3];
	bool		 started, killed, eof;
	uint64_t	 wrote[2], read;
	const struct proc_cb *cb;
	void		*arg;
};

TAILQ_HEAD(proc_list, proc);

struct procs {
	struct proc_list all;
};

struct mlink {			/* one connection between server and agent */
	struct peer	 peer;
	bool		 used;
	bool		 server_end, agent_end;
	struct way	 up, down;	/* towards the agent, the server */
};

extern struct connect clients[CLIENTS];
extern struct agent *agent;
extern struct procs procs;
extern struct mlink links[LINKS_MAX];
extern struct mlink *current;	/* the server's; NULL: none */
extern struct server server;
extern struct workspace ws;
extern bool server_lives;
extern unsigned int restarts;	/* of the agent */
extern bool time_ran_out;
extern int faults;		/* left */
extern uint64_t epoch;
extern uint64_t shell_read_bytes;
extern uint64_t seed;
extern uint64_t rnd_state;
extern bool verbose;
extern uint64_t now_ms;

/* ---- chance.c ---- */

/* 0 to n - 1, as the seed has it. */
uint32_t	 rnd(uint32_t n);
void	 trace(const char *, ...) __attribute__((format(printf, 1, 2)));
/* The bytes of a stream from an offset on: made, and looked at. */
void	 fill(uint8_t *p, size_t n, int number, int stream, uint64_t at);
bool	 same(const uint8_t *p, size_t n, int number, int stream, uint64_t at);

/* ---- way.c ---- */

void	 way_init(struct way *w);
void	 way_put(struct way *w, enum conn_class class, uint8_t type,
	    uint32_t channel, const void *data, size_t len);
/* The next one, by chance from any class; the caller frees it. NULL: none. */
struct message *way_get(struct way *w);
void	 way_clear(struct way *w);

/* ---- procs.c ---- */

/* One process does something; the shell takes what was typed. */
void	 proc_step(void);
void	 shell_step(void);

/* ---- agent.c ---- */

/* The agent's end of a link is gone; it sends a piece; it gets a message. */
void	 peer_over(struct mlink *l);
void	 peer_pump(struct mlink *l);
void	 peer_message(struct mlink *l, const struct message *m);
/* A few turns of its loop. */
void	 agent_turns(void);
void	 agent_begin(void);
void	 agent_end(void);
/* A shell "main", which is there from the beginning. */
void	 agent_shell(void);
void	 agent_replaced(void);

/* ---- server.c ---- */

void	 server_link_down(void);
void	 server_link_connect(void);
void	 server_message(const struct message *m);
void	 server_from_client(struct connect *c, const struct message *m);
void	 server_client_gone(struct connect *c);
void	 server_kill(void);

/* ---- client.c ---- */

extern const struct opchan_cb client_cb;
void	 client_connect(struct connect *c);
void	 client_step(struct connect *c);

#endif
