/* SPDX-License-Identifier: ISC */
/*
 * What the files of the agent share: the agent itself and the structs that
 * refer to one another. Who owns what:
 *
 *	agent	owns peers, shells, ops, the snapshot
 *	peer	owns its conn and its watches; ops only point to a peer
 *	op	owns its exec or input; an input only points to its shell
 *
 * A peer that is over is freed from the loop, never inside a message.
 */
#ifndef DLMUX_CORE_H
#define DLMUX_CORE_H

#include <sys/queue.h>
#include <stdbool.h>
#include <stdint.h>

#include <event2/event.h>

#include "../base/place.h"
#include "../base/version.h"
#include "../wire/conn.h"
#include "../wire/msg.h"
#include "ring.h"
#include "spawn.h"

struct envprobe;
struct handoff;
struct input;
struct keeper;
struct op;
struct peer;
struct shell;
struct watch;

/* glibc's queue.h has none. */
#ifndef TAILQ_FOREACH_SAFE
#define TAILQ_FOREACH_SAFE(v, head, field, next) \
	for ((v) = TAILQ_FIRST(head); \
	    (v) != NULL && ((next) = TAILQ_NEXT(v, field), 1); (v) = (next))
#endif

TAILQ_HEAD(peer_list, peer);
TAILQ_HEAD(shell_list, shell);
TAILQ_HEAD(op_list, op);
TAILQ_HEAD(watch_list, watch);
TAILQ_HEAD(input_list, input);
LIST_HEAD(op_bucket, op);
LIST_HEAD(handoff_list, handoff);

#define OP_BUCKETS 256

struct agent {
	struct event_base *base;
	struct place	*place;
	struct procs	*procs;
	uint8_t		 id[MSG_ID];
	char		**env;		/* the newest hand-off's, cleaned */
	struct envprobe	*probe;

	int		 lock, listener;
	struct event	*accept, *check, *tick;
	struct dirwatch	*names;		/* of our directory; may be NULL */
	struct handoff_list handoffs;
	size_t		 nhandoffs;

	struct peer_list peers;
	size_t		 npeers;	/* all */
	size_t		 nlinked;	/* said HELLO and live, no keeper */
	struct keeper	*keeper;	/* NULL: never one */

	struct shell_list shells;	/* oldest first */
	size_t		 nshells, nended;
	uint32_t	 next_shell;
	size_t		 memory;	/* rings and checkpoints */

	struct op_list	 ops;
	struct op_bucket op_hash[OP_BUCKETS];
	size_t		 nops;
	uint8_t		*theme;		/* a user's terminal's, as told */
	size_t		 theme_len;
	uint8_t		(*tombs)[MSG_ID];	/* OP_TOMBS, a ring */
	size_t		 ntombs;

	uint64_t	 idle_since;	/* clock_ms(), 0: not idle */
};

/* What the agent gives a shell or a command without a snapshot: malloc'd. */
char	**agent_env(const struct agent *);

#endif
