/* SPDX-License-Identifier: ISC */
/*
 * Frame headers, their check, and the table of types: who may send each and
 * how long a whole message of it may be.
 */
#include "../base/limits.h"
#include "frame.h"

/* Strings of OPEN and ATTACH: their bytes, four for each one's length, and the
 * fixed fields. ATTACH carries a caps blob besides. */
#define FRAME_OPEN_MAX	(OPEN_MAX_BYTES + 8 * OPEN_MAX_STRINGS + WIRE_WORDS_MAX)
#define FRAME_ATTACH_MAX (FRAME_OPEN_MAX + WIRE_CAPS_MAX)
#define FRAME_ONE	FRAME_PAYLOAD_MAX

#define C	PEER_CLIENT
#define SC	PEER_SERVER_C
#define SA	PEER_SERVER_A
#define A	PEER_AGENT
#define ALL	(C | SC | SA | A)
#define UP	(C | SA)	/* an operation's frames towards the agent */
#define DOWN	(A | SC)	/* and back */

static const struct frame_kind table[] = {
	{ F_HELLO,	"HELLO",	ALL,	WIRE_WORDS_MAX },
	{ F_PING,	"PING",		ALL,	16 },
	{ F_PONG,	"PONG",		ALL,	16 },
	{ F_RECEIVED,	"RECEIVED",	SA | A,	8 },
	{ F_BYE,	"BYE",		ALL,	WIRE_WORDS_MAX },
	{ F_FAIL,	"FAIL",		ALL,	WIRE_WORDS_MAX },
	{ F_READY,	"READY",	A,	0 },
	{ F_REFRESH,	"REFRESH",	SA,	0 },

	{ F_OPEN,	"OPEN",		UP,	FRAME_OPEN_MAX },
	{ F_STARTED,	"STARTED",	DOWN,	WIRE_SMALL_MAX },
	{ F_REFUSED,	"REFUSED",	DOWN,	WIRE_WORDS_MAX },
	{ F_DATA,	"DATA",		ALL,	FRAME_ONE },
	{ F_END,	"END",		ALL,	9 },
	{ F_CREDIT,	"CREDIT",	ALL,	17 },
	{ F_SIGNAL,	"SIGNAL",	UP,	WIRE_SMALL_MAX },
	{ F_WINCH,	"WINCH",	UP,	4 },
	{ F_EXIT,	"EXIT",		DOWN,	WIRE_SMALL_MAX },
	{ F_CLOSE,	"CLOSE",	UP,	0 },
	{ F_CANCEL,	"CANCEL",	SA,	0 },

	{ F_SHELL,	"SHELL",	A,	WIRE_WORDS_MAX },
	{ F_GONE,	"GONE",		A,	WIRE_WORDS_MAX },
	{ F_OUTPUT,	"OUTPUT",	A,	FRAME_ONE },
	{ F_RESIZED,	"RESIZED",	A,	12 },
	{ F_MARK,	"MARK",		A,	WIRE_SMALL_MAX },
	{ F_CHECKPOINT,	"CHECKPOINT",	SA | A,	WIRE_CHECKPOINT_MAX + 64 },
	{ F_GAP,	"GAP",		A,	16 },
	{ F_WATCH,	"WATCH",	SA,	18 },
	{ F_TAKEN,	"TAKEN",	SA,	16 },
	{ F_ANSWER,	"ANSWER",	SA,	FRAME_ONE },
	{ F_SIZE,	"SIZE",		SA,	4 },
	{ F_KILL,	"KILL",		SA,	WIRE_SMALL_MAX },
	{ F_DISMISS,	"DISMISS",	SA,	0 },
	{ F_JOBS,	"JOBS",		SA | A,	4 },
	{ F_THEME,	"THEME",	SA | A,	WIRE_THEME_MAX },
	{ F_HISTORY,	"HISTORY",	SA | A,	WIRE_CHECKPOINT_MAX + 64 },

	{ F_USE,	"USE",		C,	FRAME_OPEN_MAX },
	{ F_LINK,	"LINK",		SC,	2 * WIRE_WORDS_MAX },
	{ F_ATTACH,	"ATTACH",	C,	FRAME_ATTACH_MAX },
	{ F_ATTACHED,	"ATTACHED",	SC,	WIRE_WORDS_MAX },
	{ F_PICTURE,	"PICTURE",	SC,	PICTURE_MAX + 64 },
	{ F_SHOWN,	"SHOWN",	C,	4 },
	{ F_RESIZE,	"RESIZE",	C,	4 },
	{ F_DETACH,	"DETACH",	C,	0 },
	{ F_LEFT,	"LEFT",		SC,	WIRE_WORDS_MAX },
	{ F_OVERLAY,	"OVERLAY",	C,	1 },
	{ F_PROMPT,	"PROMPT",	SC,	WIRE_WORDS_MAX },
	{ F_REPLY,	"REPLY",	C | SC,	WIRE_WORDS_MAX },
	{ F_ASK,	"ASK",		C,	WIRE_WORDS_MAX },
	{ F_COLOURS,	"COLOURS",	C,	WIRE_THEME_MAX + 1 },
	{ F_ENQUIRE,	"ENQUIRE",	SC,	1 },
	{ F_PROGRESS,	"PROGRESS",	SC,	16 },
	{ F_NEWS,	"NEWS",		SC,	WIRE_WORDS_MAX },
	{ F_TYPED,	"TYPED",	C,	4 },
	{ F_MANNER,	"MANNER",	C,	WIRE_WORDS_MAX },
	{ F_PLACED,	"PLACED",	SC,	WIRE_SMALL_MAX },
	{ F_WAIT,	"WAIT",		C,	WIRE_WORDS_MAX },
	{ F_WAITED,	"WAITED",	SC,	WIRE_WORDS_MAX },
	{ F_CAPTURE,	"CAPTURE",	C,	WIRE_WORDS_MAX },
	{ F_TEXT,	"TEXT",		SC,	WIRE_TEXT_MAX },
	{ F_KEYS,	"KEYS",		C,	2 * WIRE_WORDS_MAX },
	{ F_LIST,	"LIST",		C,	0 },
	{ F_ROW,	"ROW",		SC,	2 * WIRE_WORDS_MAX },
	{ F_ENDSHELL,	"ENDSHELL",	C,	WIRE_WORDS_MAX },
	{ F_LETGO,	"LETGO",	C,	WIRE_WORDS_MAX },
	{ F_EVICT,	"EVICT",	C,	WIRE_WORDS_MAX },
	{ F_STATUS,	"STATUS",	C,	0 },
	{ F_STOP,	"STOP",		C,	1 },
	{ F_DONE,	"DONE",		SC,	WIRE_WORDS_MAX },
	{ F_RELEASE,	"RELEASE",	C,	WIRE_WORDS_MAX },
	{ F_TRACE,	"TRACE",	C,	WIRE_WORDS_MAX },
	{ F_SIZING,	"SIZING",	C,	WIRE_WORDS_MAX },
	{ F_FORGET,	"FORGET",	C,	WIRE_WORDS_MAX },
};

#define TABLE_LEN	(sizeof table / sizeof table[0])

const struct frame_kind *
frame_kinds(size_t *n)
{
	*n = TABLE_LEN;
	return table;
}

const struct frame_kind *
frame_kind(uint8_t type)
{
	static uint8_t index[256];	/* place in the table plus one */
	size_t i;

	if (index[F_HELLO] == 0)
		for (i = 0; i < TABLE_LEN; i++)
			index[table[i].type] = (uint8_t)(i + 1);
	return index[type] != 0 ? &table[index[type] - 1] : NULL;
}

bool
frame_ignorable(uint8_t type)
{
	switch (type) {
	case F_THEME:
	case F_COLOURS:
	case F_ENQUIRE:
	case F_NEWS:
	case F_TYPED:
	case F_MANNER:
	case F_PLACED:
		return true;
	default:
		return false;
	}
}

static void
put32(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)(v >> 24);
	p[1] = (uint8_t)(v >> 16);
	p[2] = (uint8_t)(v >> 8);
	p[3] = (uint8_t)v;
}

static uint32_t
get32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 |
	    (uint32_t)p[2] << 8 | p[3];
}

void
frame_head_put(uint8_t out[FRAME_HEADER], const struct frame_head *h)
{
	put32(out, h->len);
	out[4] = h->type;
	out[5] = h->flags;
	out[6] = out[7] = 0;
	put32(out + 8, h->channel);
	put32(out + 12, crc32c(0, out, 12));
}

bool
frame_head_get(const uint8_t in[FRAME_HEADER], struct frame_head *h)
{
	if (get32(in + 12) != crc32c(0, in, 12) || in[6] != 0 || in[7] != 0 ||
	    get32(in) > FRAME_PAYLOAD_MAX)
		return false;
	h->len = get32(in);
	h->type = in[4];
	h->flags = in[5];
	h->channel = get32(in + 8);
	return true;
}

uint32_t
crc32c(uint32_t crc, const void *data, size_t n)
{
	static uint32_t bytes[256];
	const uint8_t *p = data;
	uint32_t c;
	int i, bit;

	if (bytes[1] == 0)
		for (i = 0; i < 256; i++) {
			c = (uint32_t)i;
			for (bit = 0; bit < 8; bit++)
				c = c >> 1 ^ (c & 1 ? 0x82f63b78u : 0);
			bytes[i] = c;
		}
	crc = ~crc;
	while (n-- > 0)
		crc = bytes[(crc ^ *p++) & 0xff] ^ crc >> 8;
	return ~crc;
}
