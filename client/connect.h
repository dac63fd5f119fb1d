/* SPDX-License-Identifier: ISC */
/*
 * The client's connection to the server: found or started, HELLO spoken,
 * found or started again when the server dies. Many clients may do so at
 * once; they get one server.
 *
 * It knows nothing of what is asked of the server.
 */
#ifndef DLMUX_CONNECT_H
#define DLMUX_CONNECT_H

#include <event2/event.h>

#include "../server/base/place.h"
#include "../server/wire/conn.h"
#include "../server/wire/msg.h"

struct connect;

struct connect_cb {
	/* Connected, HELLO is queued: send what is to be asked. Comes again
	 * after each down(). */
	void	(*up)(struct connect *, void *);
	/* Never HELLO, PING, PONG, BYE, FAIL, NEWS. */
	void	(*message)(struct connect *, uint8_t type, uint32_t channel,
	    const uint8_t *, size_t, void *);
	/* The server is gone; the next try begins when this returns. May be
	 * NULL. */
	void	(*down)(struct connect *, const char *why, void *);
	/* There is no server to be had; nothing more comes. */
	void	(*failed)(struct connect *, const char *why, void *);
	/* NEWS, words for the user; NULL: said on standard error. */
	void	(*news)(struct connect *, const char *text, void *);
};

#define CONNECT_START	0x01	/* start a server if none runs */
#define CONNECT_ONCE	0x02	/* a server that dies is not looked for again */

/* place must outlive it. connect_begin() tries at once: up() or failed() may
 * come from inside it. */
struct connect *connect_new(struct event_base *, const struct place *,
	    int flags, const struct connect_cb *, void *);
void	 connect_begin(struct connect *);
void	 connect_free(struct connect *);	/* hangs up; NULL is fine */
/* NULL while there is none. */
struct conn *connect_conn(const struct connect *);
/* A channel number not used before on this connection. */
uint32_t connect_channel(struct connect *);
/* Of the server's HELLO; NULL before. */
const struct msg_hello *connect_hello(const struct connect *);

/* Sends; dropped while there is no connection (up() says when to ask anew). */
void	 connect_send(struct connect *, enum conn_class, uint8_t type,
	    uint32_t channel, struct buf *);
/* F_USE of a workspace with this process's environment. */
void	 connect_use(struct connect *, uint32_t channel, const char *workspace,
	    int flags);

#endif
