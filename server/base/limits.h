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

/* --- a client's terminal (term/caps, term/view) ------------------------ */

/* One capability: the longest in use, setaf, has some 70 bytes. */
#define CAPS_STRING_MAX		512u
#define CAPS_COUNT_MAX		256u
/* History lines in one frame: more would hold up the screen behind them, and
 * few terminals keep more. */
#define VIEW_LINES_MAX		2000
/* ... and the bytes after which no further line is begun. */
#define VIEW_LINES_BYTES	(4u << 20)
/* A frame: a million cells, each with its own colours and attributes. */
#define VIEW_FRAME_MAX		(64u << 20)
/* Different looks, clusters and links that a view tells apart; when a table
 * is full, all is forgotten and repainted. */
#define VIEW_PENS_MAX		60000u
#define VIEW_CLUSTERS_MAX	60000u
#define VIEW_LINKS_MAX		20000u
#define VIEW_LINK_BYTES		2083u	/* what browsers and terminals take */
#define VIEW_TITLE_MAX		512u
#define VIEW_CLIPBOARD_MAX	(1u << 20)
#define VIEW_OVERLAY_LINES	200u

/* --- base and wire, continued ----------------------------------------- */

/* A log is cut at this: enough for weeks of events, no burden to a home. */
#define LOG_MAX			(1u << 20)
/* One line of it; an error's words are cut behind. */
#define LOG_LINE_MAX		2048u
/* Messages being joined at once on a connection. A sender has one per class
 * under way, so this is only reached by a broken one. */
#define CONN_PARTS_COUNT	64u
/* A receiver tells its progress after so many bytes, or when it has been idle
 * for so long (milliseconds). */
#define CONN_ACK_BYTES		(32u << 10)
#define CONN_ACK_MS		5
/* Less room than this is told as none: else streams would go in crumbs. */
#define CONN_ROOM_MIN		(4u << 10)
/* Written to one peer per turn of the loop, so that a fast reader does not
 * keep the loop from the others. */
#define CONN_WRITE_MAX		(256u << 10)
/* A peer that takes no more may still have last words (FAIL) on their way. */
#define CONN_LINGER_MS		1000
/* Whole messages. A full checkpoint; a picture of a large terminal where every
 * cell changes its colour; a capture of the whole history with colours; words
 * for people, lists of features. */
#define CHECKPOINT_MAX		(16u << 20)
#define PICTURE_MAX		(4u << 20)
#define TEXT_MAX		(64u << 20)
#define SMALL_MAX		(4u << 10)
#define WORDS_MAX		(64u << 10)
/* Strings of other messages than OPEN and ATTACH, and how many in a list. */
#define MSG_STRING_MAX		(32u << 10)
#define MSG_STRINGS_MAX		4096u
/* The capabilities of a client's terminal: terminfo itself stops at 32 KiB. */
#define CAPS_MAX		(64u << 10)
/* getent may ask a directory server that is away. */
#define GETENT_MS		2000

#endif
