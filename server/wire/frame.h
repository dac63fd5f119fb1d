/* SPDX-License-Identifier: ISC */
/*
 * The frame: a 16-byte header and a bounded payload, big-endian. One framing
 * serves client-server and server-agent; doc/protocol.md gives every message
 * field by field and is changed in the same commit as this file.
 *
 *	u32 length of the payload	u8 type		u8 flags	u16 zero
 *	u32 channel			u32 CRC-32C of the twelve bytes before
 *
 * The check over the header catches stray output (a start-up file's
 * background job, a docker warning) at once instead of as a 3 GB "length".
 */
#ifndef DLMUX_FRAME_H
#define DLMUX_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FRAME_HEADER	16
#define FRAME_PAYLOAD_MAX 65536	/* of one frame; longer messages are split */

#define FRAME_IGNORABLE	0x01	/* an older peer may skip this unknown type */
#define FRAME_MORE	0x02	/* the message goes on in the next frame of the
				 * same type and channel */

/* Numbers come in bands with gaps and are never reused. */
enum frame_type {
	/* every connection */
	F_HELLO		= 0x01,
	F_PING		= 0x02,
	F_PONG		= 0x03,
	F_RECEIVED	= 0x04,
	F_BYE		= 0x05,
	F_FAIL		= 0x06,
	F_READY		= 0x07,
	F_REFRESH	= 0x08,
	/* operations: client <-> agent, the server only relays */
	F_OPEN		= 0x10,
	F_STARTED	= 0x11,
	F_REFUSED	= 0x12,
	F_DATA		= 0x13,
	F_END		= 0x14,
	F_CREDIT	= 0x15,
	F_SIGNAL	= 0x16,
	F_WINCH		= 0x17,
	F_EXIT		= 0x18,
	F_CLOSE		= 0x19,
	F_CANCEL	= 0x1a,
	/* shells: server <-> agent, channel is the shell's id */
	F_SHELL		= 0x30,
	F_GONE		= 0x31,
	F_OUTPUT	= 0x32,
	F_RESIZED	= 0x33,
	F_MARK		= 0x34,
	F_CHECKPOINT	= 0x35,
	F_GAP		= 0x36,
	F_HISTORY	= 0x37,
	F_WATCH		= 0x38,
	F_TAKEN		= 0x39,
	F_ANSWER	= 0x3a,
	F_SIZE		= 0x3b,
	F_KILL		= 0x3c,
	F_DISMISS	= 0x3d,
	F_JOBS		= 0x3e,
	F_THEME		= 0x3f,
	/* client <-> server */
	F_USE		= 0x50,
	F_LINK		= 0x51,
	F_ATTACH	= 0x52,
	F_ATTACHED	= 0x53,
	F_PICTURE	= 0x54,
	F_SHOWN		= 0x55,
	F_RESIZE	= 0x56,
	F_DETACH	= 0x57,
	F_LEFT		= 0x58,
	F_OVERLAY	= 0x59,
	F_PROMPT	= 0x5a,
	F_REPLY		= 0x5b,
	F_ASK		= 0x5c,
	F_COLOURS	= 0x5d,
	F_ENQUIRE	= 0x5e,
	F_PROGRESS	= 0x5f,
	F_WAIT		= 0x60,
	F_WAITED	= 0x61,
	F_CAPTURE	= 0x62,
	F_TEXT		= 0x63,
	F_KEYS		= 0x64,
	F_LIST		= 0x65,
	F_ROW		= 0x66,
	F_ENDSHELL	= 0x67,
	F_LETGO		= 0x68,
	F_EVICT		= 0x69,
	F_STATUS	= 0x6a,
	F_STOP		= 0x6b,
	F_DONE		= 0x6c,
	F_RELEASE	= 0x6d,
	F_TRACE		= 0x6e,
	F_NEWS		= 0x70,
	F_TYPED		= 0x71,
	F_MANNER	= 0x72,
	F_PLACED	= 0x73,
	F_SIZING	= 0x74,
	F_FORGET	= 0x75
};

/* Who may send a type: bits for frame_kind.senders. */
enum frame_peer {
	PEER_CLIENT	= 1 << 0,	/* client, to the server */
	PEER_SERVER_C	= 1 << 1,	/* server, to a client */
	PEER_SERVER_A	= 1 << 2,	/* server (or keeper), to an agent */
	PEER_AGENT	= 1 << 3	/* agent, to a server */
};

struct frame_kind {
	uint8_t		 type;
	const char	*name;		/* "OPEN" */
	uint8_t		 senders;	/* PEER_* */
	uint32_t	 max;		/* bytes of a whole message */
};

/* NULL for a number that is no type. */
const struct frame_kind *frame_kind(uint8_t type);
const struct frame_kind *frame_kinds(size_t *n);	/* the table */

/* Is it sent as one that an older peer may skip? */
bool	 frame_ignorable(uint8_t type);

struct frame_head {
	uint32_t	len;
	uint8_t		type;
	uint8_t		flags;
	uint32_t	channel;
};

void	 frame_head_put(uint8_t out[FRAME_HEADER], const struct frame_head *);
/* False if the check, the zero field or the length is wrong. */
bool	 frame_head_get(const uint8_t in[FRAME_HEADER], struct frame_head *);

uint32_t crc32c(uint32_t crc, const void *, size_t);	/* start with 0 */

#endif
