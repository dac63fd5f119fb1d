/* SPDX-License-Identifier: ISC */
/*
 * What a client's terminal can do: terminfo strings and flags, loaded in the
 * client (the only place with the user's database) and sent to the server as
 * a blob, so that the server needs none.
 */
#ifndef DLMUX_CAPS_H
#define DLMUX_CAPS_H

#include "../server/base/buf.h"

struct caps;

/* Loads the entry for a TERM name. NULL with a sentence in *cause (malloc'd)
 * if it is unknown or cannot move its cursor. Only this function, in
 * term/terminfo.c, touches <term.h>. */
struct caps *caps_load(const char *term, char **cause);
void	 caps_free(struct caps *);
/* To bytes and back; caps_get() returns NULL for a damaged blob. */
void	 caps_put(const struct caps *, struct buf *);
struct caps *caps_get(const void *, size_t);
const char *caps_name(const struct caps *);

/*
 * What follows is for term/ itself: the loader fills a struct caps, the view
 * reads it. The strings reach the server from a client, so whoever expands
 * one goes through caps_expand(), which trusts nothing in it.
 */

/* Order is private to one process: the blob carries names (caps.c). */
enum cap {
	CAP_CUP, CAP_HOME, CAP_HPA, CAP_VPA,
	CAP_CUU, CAP_CUD, CAP_CUF, CAP_CUB,
	CAP_CUU1, CAP_CUD1, CAP_CUF1, CAP_CUB1,
	CAP_ED, CAP_EL, CAP_ECH,
	CAP_CSR, CAP_IND, CAP_RI, CAP_INDN, CAP_RIN,
	CAP_SMCUP, CAP_RMCUP, CAP_CIVIS, CAP_CNORM,
	CAP_SGR0, CAP_BOLD, CAP_DIM, CAP_SITM, CAP_SMUL, CAP_RMUL,
	CAP_BLINK, CAP_REV, CAP_INVIS, CAP_SMXX, CAP_SMOL,
	CAP_SETAF, CAP_SETAB, CAP_OP, CAP_SMULX, CAP_SETULC,
	CAP_TSL, CAP_FSL, CAP_SS, CAP_MS, CAP_SYNC,
	CAP_COUNT
};

/* On the wire: a bit is never given another meaning. */
enum caps_flag {
	CAPS_AM		= 1 << 0,	/* wraps at the right margin */
	CAPS_XENL	= 1 << 1,	/* ... but only with the next character */
	CAPS_BCE	= 1 << 2,	/* erases with the background colour */
	CAPS_RGB	= 1 << 3,	/* direct colours */
	CAPS_ULSTYLE	= 1 << 4,	/* SGR 4:n */
	CAPS_ULCOLOUR	= 1 << 5,	/* SGR 58 */
	CAPS_LINKS	= 1 << 6,	/* OSC 8 */
	CAPS_DECSCUSR	= 1 << 7,	/* cursor shapes */
	CAPS_KITTY	= 1 << 8,	/* kitty's key protocol */
	CAPS_OTHERKEYS	= 1 << 9,	/* xterm's modifyOtherKeys */
	CAPS_TITLE	= 1 << 10,	/* OSC 2 and the title stack */
	CAPS_SYNC	= 1 << 11,	/* mode 2026 */
	CAPS_CLIPBOARD	= 1 << 12,	/* OSC 52 */
	CAPS_STRIKE	= 1 << 13,
	CAPS_OVERLINE	= 1 << 14,
	CAPS_DECSET	= 1 << 15,	/* ignores private modes it lacks */
	CAPS_COLOURS	= 1 << 16,	/* OSC 10 to 12 and 4, set and asked */
	CAPS_NOTIFY	= 1 << 17	/* OSC 9 and 777, or skips them */
};

/* An empty one, and the loader's setters. A string that is too long or holds
 * a NUL is left out. The derived properties are settled by caps_settle(),
 * which says -1 and why if the terminal is of no use. */
struct caps *caps_new(const char *name);
void	 caps_set(struct caps *, enum cap, const char *);
void	 caps_set_number(struct caps *, int colours, uint32_t flags);
int	 caps_settle(struct caps *, char **cause);
/* What a terminal of this name is known to do beyond its terminfo entry. */
uint32_t caps_known(const char *name);
const char *caps_cap_name(enum cap);

bool	 caps_has(const struct caps *, enum cap);
bool	 caps_is(const struct caps *, enum cap, const char *);
bool	 caps_flag(const struct caps *, uint32_t);
int	 caps_colours(const struct caps *);	/* 0, 8, 16, 256 */
/* SGR parameters may be put together by hand; if off too, 22..29 and 39, 49
 * take single attributes away. */
bool	 caps_sgr(const struct caps *);
bool	 caps_sgr_off(const struct caps *);
/* The string with its parameters filled in. Returns its length (no NUL), or
 * 0 if the terminal has none or it would not fit in CAPS_EXPAND_MAX. */
#define CAPS_EXPAND_MAX 128
size_t	 caps_expand(const struct caps *, enum cap, int, int,
	    char [CAPS_EXPAND_MAX]);
void	 caps_emit(const struct caps *, enum cap, int, int, struct buf *);

#endif
