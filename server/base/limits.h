/* SPDX-License-Identifier: ISC */
/*
 * Every limit on what a peer, a user or a file can grow, and every deadline
 * on a peer, each with its reason. A number that bounds something belongs
 * here and nowhere else.
 */
#ifndef DLMUX_LIMITS_H
#define DLMUX_LIMITS_H

/* --- wire ------------------------------------------------------------- */

/* Queued for one peer. More than every credit window together can hold for
 * one client, so only a peer that stopped reading reaches it. */
#define CONN_QUEUE_MAX		(32u << 20)
/* Messages being joined from parts, all channels of a connection together: a
 * full checkpoint (16 MiB) and some more. */
#define CONN_PARTS_MAX		(24u << 20)
/* Bytes in front of a key that conn_room() allows in our own queue. */
#define CONN_QUEUE_ROOM		(64u << 10)
/* In flight on a link, unacknowledged: at least this, at most that; between
 * them twice what the link moved in one round trip. ssh alone would swallow
 * 2 MiB, and a key's echo waits behind all of it. */
#define CONN_FLIGHT_MIN		(128u << 10)
#define CONN_FLIGHT_MAX		(1u << 20)
/* One read per readiness, so that no peer keeps the loop from the others. */
#define CONN_READ_MAX		(64u << 10)

/* --- operations ------------------------------------------------------- */

/* argv and env of one OPEN: the kernel's own limit for exec is 2 MiB. */
#define OPEN_MAX_BYTES		(2u << 20)
#define OPEN_MAX_STRINGS	65536u
/* Bytes an exec may be ahead of its client, each stream: the agent keeps that
 * much for a resume. */
#define OP_WINDOW		(256u << 10)
/* Keystrokes a client may be ahead of the pty: a paste flows through this. */
#define INPUT_WINDOW		(64u << 10)
/* DATA and OUTPUT slices: a key waits behind one of these at most. */
#define SLICE_MAX		(16u << 10)
/* Operations that one agent holds; 64 parallel clients of everything fit
 * sixteen times. */
#define OPS_MAX			1024u

/* --- shells ----------------------------------------------------------- */

#define SHELL_NAME_MAX		64u
#define SHELLS_MAX		1000u
/* One budget for all rings of an agent, and the share of one shell. */
#define RING_BUDGET		(64u << 20)
#define RING_MAX		(4u << 20)
/* Output in flight to a server that is looked at: Ctrl-C bites behind it. */
#define WATCH_WINDOW		(128u << 10)

/* --- liveness, milliseconds ------------------------------------------- */

#define PING_IDLE_MS		15000	/* nothing received: ask */
#define PING_BUSY_MS		3000	/* ... while somebody waits */
#define DEAD_IDLE_MS		45000	/* asked and no byte: dead */
#define DEAD_BUSY_MS		10000
#define CONNECT_MS		60000	/* a transport's whole bootstrap, without
					 * the time a user thinks at a prompt */
#define RETRY_MAX_MS		30000	/* back-off's ceiling */
#define RETRY_BURST		4	/* tries in RETRY_WINDOW_MS: `ufw limit` */
#define RETRY_WINDOW_MS		30000	/* locks a user out at 6 in 30 s */
/* An op that no client names after a server is back. */
#define OP_ORPHAN_MS		60000
/* HUP, then KILL. */
#define KILL_GRACE_MS		3000

#endif
