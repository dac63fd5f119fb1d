/* SPDX-License-Identifier: ISC */
/*
 * A screen: what a good terminal would show for a byte stream. The filter
 * stands in front (caps, UTF-8, modes libvterm does not know, questions),
 * libvterm's state layer parses, the grid holds the cells, history included.
 *
 * A screen counts the bytes it was given: its offset is the stream's. It
 * survives any input in bounded time and memory. It knows nothing of sockets;
 * what it has to say goes through struct screen_cb, during screen_write().
 */
#ifndef DLMUX_SCREEN_H
#define DLMUX_SCREEN_H

#include "../server/base/buf.h"
#include "grid.h"

struct screen;

/* Modes that a client's terminal must share for input to pass untouched. */
enum screen_mode {
	MODE_APP_CURSOR	= 1 << 0,	/* DECCKM ?1 */
	MODE_APP_KEYPAD	= 1 << 1,	/* DECKPAM ESC = */
	MODE_PASTE	= 1 << 2,	/* bracketed paste ?2004 */
	MODE_FOCUS	= 1 << 3,	/* ?1004 */
	MODE_MOUSE_X10	= 1 << 4,	/* ?9 */
	MODE_MOUSE_BTN	= 1 << 5,	/* ?1000 */
	MODE_MOUSE_DRAG	= 1 << 6,	/* ?1002 */
	MODE_MOUSE_ANY	= 1 << 7,	/* ?1003 */
	MODE_MOUSE_UTF8	= 1 << 8,	/* ?1005 */
	MODE_MOUSE_SGR	= 1 << 9,	/* ?1006 */
	MODE_MOUSE_URXVT = 1 << 10,	/* ?1015 */
	MODE_MOUSE_PIXEL = 1 << 11,	/* ?1016 */
	MODE_ALT_SCROLL	= 1 << 12,	/* ?1007 */
	MODE_CURSOR_HIDDEN = 1 << 13,	/* ?25 reset */
	MODE_CURSOR_BLINK = 1 << 14,	/* ?12 */
	MODE_ALT_SCREEN	= 1 << 15,	/* ?47 ?1047 ?1049 */
	MODE_REVERSE	= 1 << 16,	/* DECSCNM ?5 */
	MODE_SYNC	= 1 << 17,	/* ?2026: an update is under way */
	MODE_THEME	= 1 << 18	/* ?2031 */
};

struct screen_modes {
	uint32_t	flags;		/* MODE_* */
	uint8_t		cursor_shape;	/* DECSCUSR: 0 default, 1..6 */
	uint8_t		kitty_flags;	/* top of the current screen's stack */
	uint8_t		modify_other;	/* xterm modifyOtherKeys level, 0..2 */
};

/* A question about a colour that is the terminal's own: no program has set it.
 * Its answer ends as it did. */
#define SCREEN_ASK_SCHEME	(-1)	/* CSI ? 996 n: dark or light? */
struct screen_ask {
	int	which;		/* as for screen_palette(), or SCHEME */
	bool	bell;		/* not ST */
};
struct theme;

struct screen_cb {
	/* The answer to a question whose last byte is the one before offset
	 * (that is: offset bytes of the stream include the question). */
	void	(*answer)(uint64_t offset, const void *, size_t, void *);
	/* ... one that screen_ask_answer() gives the words for, now or later.
	 * NULL: it is answered at once, with colours that are usual. */
	void	(*colour)(uint64_t offset, const struct screen_ask *, void *);
	void	(*bell)(void *);
	/* OSC 52 write: which selections ("c", "p", ...), base64 data. */
	void	(*clipboard)(const char *sel, const char *b64, size_t, void *);
	/* OSC 9 / 777. title may be "". */
	void	(*notify)(const char *title, const char *text, void *);
	void	*arg;
};

struct screen_limits {
	size_t	history_lines;		/* 10000 by default */
	size_t	history_bytes;		/* 64 MiB by default */
};

/* Sizes outside SCREEN_*_MIN..MAX are clamped (0x0 is a normal winsize of a
 * pipe; libvterm dies of 1 column). cb and limits may be NULL. Never NULL:
 * out of memory is fatal for small requests. */
#define SCREEN_ROWS_MIN	1
#define SCREEN_COLS_MIN	2
#define SCREEN_ROWS_MAX	1000
#define SCREEN_COLS_MAX	1000
struct screen *screen_new(int rows, int cols, const struct screen_limits *,
	    const struct screen_cb *);
void	 screen_free(struct screen *);

void	 screen_write(struct screen *, const void *, size_t);
uint64_t screen_offset(const struct screen *);
void	 screen_set_offset(struct screen *, uint64_t);
/* Main screen and history are reflowed; the alternate one is cut or padded. */
void	 screen_resize(struct screen *, int rows, int cols);
/* As a terminal switched off and on, the size kept. */
void	 screen_reset(struct screen *);
/* While muted nothing goes through the callbacks: bytes that are replayed
 * ring no second bell. (Answers are still told: the agent drops old ones.) */
void	 screen_mute(struct screen *, bool);

int	 screen_rows(const struct screen *);
int	 screen_cols(const struct screen *);
const struct grid *screen_grid(const struct screen *);
/* y 0..rows-1: what shows. y -1, -2, ...: history of the main screen, newest
 * first, down to -screen_history(). Valid until the next write or resize. */
const struct row *screen_row(const struct screen *, int y);
int	 screen_history(const struct screen *);	/* lines now kept */
/* Lines that ever went from the top of the main screen into history; never
 * decreases but for a reflow (see screen_epoch()). A view scrolls the
 * client's terminal by the difference. */
uint64_t screen_lines(const struct screen *);
/* Changes when history was rewritten (reflow, CSI 3 J, reset, restore). */
uint32_t screen_epoch(const struct screen *);
/* What screen_lines() was when it last changed: later lines are new ones. */
uint64_t screen_epoch_lines(const struct screen *);
/* What was rewritten is what it was (the same screen restored anew, and written
 * to the same place): screen_lines() compares with what it was before. */
void	 screen_set_epoch(struct screen *, uint32_t epoch, uint64_t lines);
/* Bumped by every change that a view could show. */
uint64_t screen_serial(const struct screen *);
/* Zero-based; *wrap: the cursor stands past the last column (pending wrap). */
void	 screen_cursor(const struct screen *, int *row, int *col, bool *wrap);
const struct screen_modes *screen_modes(const struct screen *);
const char *screen_title(const struct screen *);	/* "" if none */
const char *screen_cwd(const struct screen *);		/* OSC 7, "" if none */
/* A palette or dynamic colour that a program set: 0..255, or 256 foreground,
 * 257 background, 258 cursor. False if it is the terminal's own. */
bool	 screen_palette(const struct screen *, int, uint32_t *rgb);
/* Appends the answer to a question about a colour; NULL, or one that the theme
 * does not know: a usual one. */
void	 screen_ask_answer(const struct screen_ask *, const struct theme *,
	    struct buf *);

/*
 * Marks, for "what came after this point": screen_mark() starts a new
 * generation and returns it; screen_since() tells whether a cell was written
 * in it or later. At most 64 marks back are told apart exactly.
 */
uint8_t	 screen_mark(struct screen *);
bool	 screen_since(const struct screen *, const struct cell *, uint8_t mark);

/* The row as UTF-8 without trailing blanks; if col is not NULL it receives,
 * for each byte, the cell column the byte stems from (malloc'd, caller frees).
 * escapes: colours and attributes as SGR, ending in a reset if any was set. */
void	 screen_row_text(const struct screen *, int y, bool escapes,
	    struct buf *, uint16_t **col);

/*
 * Checkpoints: a byte stream that, restored into a fresh screen, gives the
 * same state, held bytes of an unfinished sequence and the offset included.
 * Light: both screens, and one screenful of history. Full: all of it. The format is
 * versioned; restore refuses a damaged one (-1, the screen reset, never a
 * crash: the bytes come from the far side) and mutes itself while at it.
 */
enum checkpoint_kind { CHECKPOINT_LIGHT = 1, CHECKPOINT_FULL = 2 };
#define CHECKPOINT_MAX	(16 << 20)	/* bytes; older history is left out
					 * when it would not fit */
void	 screen_checkpoint(const struct screen *, enum checkpoint_kind,
	    struct buf *);
int	 screen_restore(struct screen *, const void *, size_t);
/* Do two screens show and hold the same? Text of the first difference into
 * why (may be NULL). For tests and self-checks. */
bool	 screen_equal(const struct screen *, const struct screen *,
	    bool history, struct buf *why);

#endif
