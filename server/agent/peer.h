/* SPDX-License-Identifier: ISC */
/*
 * One connected server: HELLO and fencing, which frame goes where, and what
 * is sent next out of all that could be: pulled when there is room, in turn,
 * looked-at shells first.
 */
#ifndef DLMUX_PEER_H
#define DLMUX_PEER_H

#include "core.h"

#define PEER_BUCKETS 64

struct peer {
	TAILQ_ENTRY(peer) entry;
	struct agent	*agent;
	struct conn	*conn;
	int		 leash;		/* the front's; -1: direct */
	struct event	*leash_event, *timer;
	struct event	*bulk_timer;	/* while watches wait for bulk to go */
	bool		 bulk;		/* some may still be queued */
	bool		 linked;	/* said HELLO */
	bool		 keeper;	/* ours, not a server */
	bool		 leaving;	/* told why; only the farewell is left */
	uint8_t		 id[MSG_ID];	/* the server's */
	uint64_t	 epoch;
	uint64_t	 pinged;	/* token of the last PING */
	uint64_t	 pinged_at;	/* conn_sent() then */
	struct op_bucket ops[PEER_BUCKETS];	/* by channel */
	struct watch_list watches;
	struct watch_list seen, mirrors;	/* ready, level 2 and 1 */
	struct op_list	 streams;		/* ready */
};

/* Takes the descriptors; leash may be -1. marker NULL: none is written.
 * extra: bytes that were read beyond the hand-off. */
void	 peer_new(struct agent *, int rfd, int wfd, int leash,
	    const char *marker, const void *extra, size_t nextra);
/* Over a descriptor whose other end only the keeper has. */
struct peer *peer_new_keeper(struct agent *, int fd);
void	 peer_bye(struct peer *, const char *why);
void	 peer_clear(struct agent *);	/* all, without a word */

/* The buf is left as it is; nothing is sent to one who leaves. */
void	 peer_send(struct peer *, enum conn_class, uint8_t type,
	    uint32_t channel, const struct buf *);
void	 peer_tell_all(struct agent *, uint8_t type, uint32_t channel,
	    const struct buf *);
void	 peer_tick(struct agent *);	/* now and then */
void	 peer_flush(struct peer *);
uint64_t peer_heard_ms(const struct peer *);

/* Is there bulk that was not written? Ordinary frames would overtake it. */
bool	 peer_bulk_busy(struct peer *);
/* May more of it be queued? If not, all watches are pumped again soon. */
bool	 peer_bulk_room(struct peer *);

struct op *peer_op(struct peer *, uint32_t channel);
void	 peer_bind(struct peer *, struct op *);
void	 peer_unbind(struct peer *, struct op *);
void	 peer_op_ready(struct peer *, struct op *);
void	 peer_watch_ready(struct peer *, struct watch *);
void	 peer_watch_unready(struct peer *, struct watch *);

#endif
