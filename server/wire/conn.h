/* SPDX-License-Identifier: ISC */
/*
 * Frames over a pair of descriptors on an event loop: never blocks, splits
 * and joins long messages, sends by class (control before keys before bulk),
 * and holds a peer to the rules: a frame of a type it may not send, over a
 * limit, or with a bad header ends this connection with a reason, and
 * nothing else.
 *
 * It knows nothing of what the frames mean.
 */
#ifndef DLMUX_CONN_H
#define DLMUX_CONN_H

#include <event2/event.h>

#include "../base/buf.h"
#include "frame.h"

struct conn;

/* Classes, first served first. Order is kept within a class only: messages
 * whose order matters to one another must share one. */
enum conn_class {
	CONN_CONTROL,	/* HELLO, PING, SHELL, STARTED, CREDIT, small answers */
	CONN_KEYS,	/* keystrokes and shell streams (OUTPUT, RESIZED, MARK) */
	CONN_STREAM,	/* exec streams with their END and EXIT */
	CONN_BULK,	/* checkpoints, captures */
	CONN_CLASSES
};

struct conn_cb {
	/* A whole message (never F_RECEIVED: that is dealt with inside). The
	 * bytes are gone when it returns; the callee may conn_free() or
	 * conn_finish() the connection from inside. */
	void	(*message)(struct conn *, uint8_t type, uint32_t channel,
		    const uint8_t *, size_t, void *);
	/* Over: the peer closed (why says so), broke a rule, or an error. Called
	 * once, from the loop, never from inside a conn_ call; the callee frees
	 * the conn. */
	void	(*closed)(struct conn *, const char *why, void *);
	/* There is room again (conn_room() went from zero to more). May be NULL. */
	void	(*room)(struct conn *, void *);
};

/*
 * Takes over rfd and wfd (may be the same), made non-blocking. SIGPIPE must be
 * ignored (fd_loop() does it). peer is the
 * single PEER_* bit of what the far end may send; names the peer in errors.
 */
struct conn *conn_new(struct event_base *, int rfd, int wfd, unsigned int peer,
	    const struct conn_cb *, void *);
void	 conn_free(struct conn *);	/* accepts NULL; closes the fds at once */
/* In `closed`: the peer went, by itself. Else it broke a rule or a limit. */
bool	 conn_left(const struct conn *);
/* Sends what is queued, then closes and frees; gives up after ms. No callback
 * comes any more, and the conn is not the caller's any more. */
void	 conn_finish(struct conn *, int ms);

/* The peer broke a rule that only the caller knows: why is sent as F_FAIL if
 * that is possible at once, then `closed` comes with it from the loop. */
void	 conn_drop(struct conn *, const char *why);

/* Queues a message (copied). A queue over CONN_QUEUE_MAX ends the connection;
 * on one that is over (or about to be told so) nothing happens. A long message
 * must not share type and channel with another one in another class. */
void	 conn_send(struct conn *, enum conn_class, uint8_t type,
	    uint32_t channel, const void *, size_t);
/* The same of a struct buf, which is reset; a failed buf ends the connection. */
void	 conn_send_buf(struct conn *, enum conn_class, uint8_t type,
	    uint32_t channel, struct buf *);
/* Writes what it can now instead of at the next turn of the loop. */
void	 conn_flush(struct conn *);

/* How many bytes of stream may be queued now without keys waiting behind
 * them; senders that pull from rings ask this first. */
size_t	 conn_room(const struct conn *);
size_t	 conn_queued(const struct conn *);	/* bytes not yet written */
uint64_t conn_sent(const struct conn *);	/* bytes written, ever */
uint64_t conn_received(const struct conn *);	/* bytes of frames read, ever */
/* Bytes sent and not RECEIVED yet count against conn_room() from now on
 * (links: what is in flight inside an ssh is also in front of a key). Both
 * ends call it (any time after HELLO); RECEIVED frames are then sent and taken
 * inside, and CONN_STREAM and CONN_BULK wait for them in the queue as well. */
void	 conn_count(struct conn *);
/* The last measured round trip, microseconds, for conn_room()'s cap. */
void	 conn_set_rtt(struct conn *, uint64_t us);

/* Stop or go on reading; what was read already is held back as well. */
void	 conn_pause(struct conn *, bool);
uint64_t conn_last_read(const struct conn *);	/* clock_ms() of the last byte */
/* Bytes that a bootstrap read past its last line belong to the stream: they
 * are taken as if just read, from the loop. At most CONN_READ_MAX at once. */
void	 conn_feed(struct conn *, const void *, size_t);

#endif
