/* SPDX-License-Identifier: ISC */
/*
 * A server watching a shell: where it stands in the stream, how much more it
 * may be sent, and what is to be sent next. CHECKPOINT, RESIZED, MARK, GAP,
 * OUTPUT and the shell's end go out in stream order, a slice at a time.
 */
#ifndef DLMUX_WATCH_H
#define DLMUX_WATCH_H

#include "core.h"

struct watch {
	TAILQ_ENTRY(watch) of_shell, of_peer, ready;
	struct shell	*shell;
	struct peer	*peer;
	uint8_t		 level;		/* 1 mirror, 2 somebody looks */
	bool		 is_ready;
	bool		 fresh;		/* needs a beginning */
	bool		 light;		/* ... and asks for the rest of it later */
	bool		 told_end;
	bool		 lagging;	/* was waited for in vain */
	bool		 bulk;		/* goes behind everybody's keys: there is a
					 * long checkpoint in front of it */
	uint64_t	 cursor;	/* next byte to send */
	uint64_t	 seq;		/* next entry of the ring to look at */
	uint64_t	 taken, max;
	uint64_t	 window;	/* what WATCH gave, from wherever it begins */
	uint64_t	 acked_ms;	/* clock_ms() of the last TAKEN */
	uint64_t	 sent_ms;	/* ... of the oldest OUTPUT behind it */
};

/* F_WATCH and F_TAKEN. NULL, or what was wrong with it. */
const char *watch_set(struct peer *, struct shell *, uint8_t level,
	    uint8_t have, uint64_t from, uint64_t max);
const char *watch_taken(struct peer *, struct shell *, uint64_t taken,
	    uint64_t max);
void	 watch_free(struct watch *);
struct watch *watch_find(struct peer *, struct shell *);

/* Sends at most about n bytes; false if there is nothing it may send. */
bool	 watch_pump(struct watch *, size_t n);
/* The shell has more: its watchers are to be pumped. */
void	 watch_kick(struct shell *);

/* May the pty be read? False: wait; *ms is then when to ask again. */
bool	 watch_want(struct shell *, uint64_t now, uint64_t *ms);
/* Was it heard of lately? A slow link acknowledges what it carries, long
 * before the server has parsed it. */
bool	 watch_alive(const struct watch *, uint64_t gated_ms, uint64_t now);
/* The lowest offset that a live watcher still needs from the ring. */
uint64_t watch_low(const struct shell *);

#endif
