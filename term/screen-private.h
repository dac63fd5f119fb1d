/* SPDX-License-Identifier: ISC */
/*
 * The insides of a screen, shared by its parts: the filter (parser), text,
 * cursor, control functions, pens, modes, strings, answers and checkpoints.
 * Everything that the state of the terminal consists of is a field here or in
 * the grid; libvterm holds nothing that outlives one control function.
 */
#ifndef DLMUX_SCREEN_PRIVATE_H
#define DLMUX_SCREEN_PRIVATE_H

#include "grid-private.h"
#include "screen.h"
#include "theme.h"
#include "vt.h"

#ifndef DLMUX_VERSION
#define DLMUX_VERSION "0.0.0"
#endif

#define PALETTE_SIZE	THEME_COLOURS

enum filter_state {
	FILTER_GROUND,
	FILTER_ESCAPE,		/* ESC and intermediates */
	FILTER_CSI,		/* parameters and intermediates */
	FILTER_CSI_IGNORE,	/* malformed: up to its final byte */
	FILTER_OSC,
	FILTER_DCS,
	FILTER_STRING,		/* SOS, PM, APC: swallowed */
	FILTER_OSC_ESC,		/* ... after an ESC that may begin ST */
	FILTER_DCS_ESC,
	FILTER_STRING_ESC,
	FILTER_STATES
};

/* The parser: what it holds of an unfinished sequence. */
struct filter {
	uint8_t		state;
	uint8_t		leader;		/* one of <=>? or 0 */
	uint8_t		mid[2];		/* intermediates */
	uint8_t		nmid;		/* 3: too many */
	uint8_t		nparams;
	int32_t		param[FILTER_PARAMS];	/* -1: missing */
	uint64_t	sub;		/* bit i: param i came after ':' */
	bool		bell;		/* the string was ended by BEL */
	bool		cut;		/* the string was longer than kept */
	struct buf	str;		/* of OSC and DCS */
	uint8_t		need;		/* UTF-8: bytes still to come */
	uint32_t	cp;		/* ... bits so far */
	uint32_t	low;		/* ... least legal value */
};

/* Modes that are nobody else's business. */
enum {
	INNER_WRAP	= 1 << 0,	/* DECAWM ?7 */
	INNER_INSERT	= 1 << 1,	/* IRM 4 */
	INNER_ORIGIN	= 1 << 2,	/* DECOM ?6 */
	INNER_NEWLINE	= 1 << 3,	/* LNM 20 */
	INNER_SIDES	= 1 << 4,	/* DECLRMM ?69 */
	INNER_BACKWRAP	= 1 << 5,	/* ?45 */
	INNER_COLUMNS	= 1 << 6,	/* ?40: DECCOLM may clear */
	INNER_NATIONAL	= 1 << 7	/* ?42: DECNRCM */
};

struct saved_cursor {
	int32_t		row, col;
	bool		wrap, origin;
	uint8_t		gl, gset[4];
	struct pen	pen;
};

struct kitty {
	uint8_t		n;		/* entries under the top */
	uint8_t		top;
	uint8_t		under[SCREEN_KITTY_MAX];
};

struct screen {
	struct grid	*grid;
	struct vt	*vt;
	struct screen_cb cb;
	bool		 muted;
	int		 rows, cols;
	uint64_t	 offset;
	uint64_t	 at;		/* offset of the byte in hand */
	uint64_t	 serial;
	bool		 dirty;		/* title, palette, modes, ... changed */
	bool		 saving;	/* what scrolls off now becomes history */

	int		 row, col;
	bool		 wrap;		/* the next character wraps first */
	int		 top, bottom;	/* margins, bottom exclusive */
	int		 left, right;	/* ... in force only with INNER_SIDES */
	uint8_t		*tabs;		/* cols bytes, 1: a stop */

	struct pen	 pen;
	int32_t		 pen_index;	/* of pen, -1: look it up */
	uint8_t		 gl;		/* G0..G3 in use for 7-bit bytes */
	uint8_t		 gsingle;	/* SS2, SS3: for one character; or 0 */
	uint8_t		 gset[4];	/* what they are: charset.h */
	uint32_t	 last;		/* for REP; 0 none */
	struct saved_cursor saved[PAGES];

	struct screen_modes modes;
	uint32_t	 inner;		/* INNER_* */
	uint64_t	 xsaved;	/* CSI ? s, by index of the modes table */
	struct kitty	 kitty[PAGES];

	char		*title, *cwd;	/* never NULL */
	char		*titles[SCREEN_TITLES_MAX];
	int		 ntitles;
	uint32_t	 palette[PALETTE_SIZE];
	uint8_t		 palette_set[PALETTE_SIZE];

	struct filter	 filter;
};

/* filter.c */
void	filter_write(struct screen *, const uint8_t *, size_t);
void	filter_reset(struct filter *);
/* Parameter i, or def if it is missing; one(): 0 means 1 as well. */
int	filter_param(const struct filter *, int i, int def);
int	filter_one(const struct filter *, int i);

/* text.c */
void	text_put(struct screen *, uint32_t cp);
uint8_t	text_set(const struct screen *);	/* of the next character */
void	text_ascii(struct screen *, const uint8_t *, size_t);
void	text_repeat(struct screen *, int count);
bool	text_index(struct screen *);	/* down, scrolling at the margin;
					 * false: it could not */
void	text_reverse_index(struct screen *);
uint16_t text_blank(struct screen *);	/* the pen of erased cells */

/* cursor.c */
void	cursor_set(struct screen *, int row, int col);	/* clamps; columns */
void	cursor_address(struct screen *, int row, int col); /* CUP: origin */
void	cursor_column(struct screen *, int col);	/* CHA */
void	cursor_line(struct screen *, int row);		/* VPA */
void	cursor_home(struct screen *);
void	cursor_up(struct screen *, int);
void	cursor_down(struct screen *, int);
void	cursor_forward(struct screen *, int);
void	cursor_back(struct screen *, int);
void	cursor_return(struct screen *);
void	cursor_backspace(struct screen *);
void	cursor_tab(struct screen *, int count);		/* < 0: back */
void	cursor_tabs_default(struct screen *, int from);
void	cursor_save(struct screen *);
void	cursor_restore(struct screen *);
void	cursor_saved_reset(struct saved_cursor *);
/* How many cells a column has in the cursor's row: 2 in one of double width.
 * screen.col counts cells, programs count columns. */
int	cursor_cells(const struct screen *);
int	cursor_col(const struct screen *);
/* The row is another one, or of another size: cells is what it was before. */
void	cursor_keep_col(struct screen *, int cells);
/* The limits that hold for a cursor in that place. */
int	cursor_left(const struct screen *);
int	cursor_right(const struct screen *);		/* exclusive */

/* control.c */
void	control_c0(struct screen *, uint8_t);
void	control_esc(struct screen *, uint8_t final);
void	control_csi(struct screen *, uint8_t final);
void	control_ops(struct screen *, struct vt_ops *);

/* decmode.c */
void	decmode_private(struct screen *, int mode, bool set);
void	decmode_ansi(struct screen *, int mode, bool set);
int	decmode_query(const struct screen *, int mode, bool dec); /* DECRPM */
void	decmode_xsave(struct screen *, int mode);
void	decmode_xrestore(struct screen *, int mode);
void	decmode_kitty(struct screen *, uint8_t leader);
void	decmode_other_keys(struct screen *, bool set);
void	decmode_reset(struct screen *, bool hard);

/* sgr.c */
void	sgr_apply(struct screen *);
void	sgr_pen(struct screen *);	/* the pen has been changed */
/* What SGR would make of a fresh pen this one: "0;1;31". */
void	sgr_describe(const struct pen *, struct buf *);

/* osc.c */
void	osc_end(struct screen *);
void	osc_dcs_end(struct screen *);
void	osc_titles(struct screen *, int op, int which);
size_t	osc_limit(const struct filter *);
void	osc_reset(struct screen *);
/* A copy without what is no printable character, at most max bytes. */
char	*osc_clean(const char *, size_t len, size_t max);

/* answers.c */
void	answers_put(struct screen *, const char *, ...)
	    __attribute__((format(printf, 2, 3)));
bool	answers_csi(struct screen *, uint8_t final);	/* was it a question? */
void	answers_dcs(struct screen *);			/* DECRQSS and others */
/* The question's last byte is the one before offset. */
void	answers_colour(struct screen *, int which, uint64_t offset);

/* screen.c */
void	screen_soft_reset(struct screen *);
void	screen_alternate(struct screen *, bool alt);
/* After its fields were moved to another place in memory or another size. */
void	screen_settle(struct screen *);

#endif
