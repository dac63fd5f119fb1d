/* SPDX-License-Identifier: ISC */
/*
 * The terminal outside as a view believes it to be: where its cursor stands,
 * with what pen it would write, which modes are on. Every function appends
 * the fewest bytes that bring it where it should be. It knows no screens and
 * no rows, only positions.
 */
#ifndef DLMUX_OUTER_H
#define DLMUX_OUTER_H

#include "caps.h"
#include "grid.h"
#include "screen.h"

/* A change of pen and what it takes: the same few come again and again. */
#define OUTER_STEPS	32
struct outer_step {
	struct pen	 from, to;
	uint8_t		 n;		/* 0: nothing is noted */
	char		 s[31];
};

struct outer {
	const struct caps *caps;
	struct buf	*out;
	int		 rows, cols;
	/* -1: not known. x == cols: past the last column, the next character
	 * wraps (only on terminals with xenl). */
	int		 y, x;
	struct pen	 pen;		/* its link is not used */
	bool		 pen_known;
	uint32_t	 link;		/* as the owner numbers them; 0 none */
	uint32_t	 modes;		/* MODE_* and VIEW_* that are on */
	uint32_t	 follow;	/* MODE_* that are on for us */
	uint8_t		 shape;		/* of the cursor; 255 unknown */
	uint8_t		 kitty;		/* flags; 255 unknown */
	uint8_t		 other;		/* modifyOtherKeys; 255 unknown */
	uint32_t	 cursor;	/* its colour; COLOUR_DEFAULT the user's own,
					 * UINT32_MAX unknown */
	char		 scratch[CAPS_EXPAND_MAX];
	struct outer_step steps[OUTER_STEPS];
};

void	 outer_init(struct outer *, const struct caps *, int rows, int cols);
/* Nothing is known but the modes. */
void	 outer_forget(struct outer *, uint32_t modes);

void	 outer_move(struct outer *, int y, int x);
/* Text that takes width columns at the cursor. doubtful: not every terminal
 * agrees about the width, so the position is not relied on afterwards. */
void	 outer_text(struct outer *, const char *, size_t, int width,
	    bool doubtful);
/* pen as resolved by pen_resolve(). */
void	 outer_pen(struct outer *, const struct pen *);
/* Would an erase with the present pen leave plain blanks of this background?
 * Terminals differ in how much of a pen they erase with. */
bool	 outer_erases(const struct outer *, uint32_t bg);
/* Would text be written just so already? */
bool	 outer_pen_is(const struct outer *, const struct pen *, uint32_t link);
/* Would a blank, typed now, look so? p as pen_blank() leaves it. */
bool	 outer_blank_is(const struct outer *, const struct pen *p,
	    uint32_t link);
/* As much of a pen as an erased cell shows. */
void	 outer_erase_pen(struct outer *, const struct pen *);
void	 outer_link(struct outer *, uint32_t link, const char *uri,
	    const char *id);
void	 outer_reset_pen(struct outer *);
void	 outer_clear_eol(struct outer *);
bool	 outer_can_clear_eol(const struct outer *);
/* One line feed in the last row: everything moves up. */
void	 outer_scroll(struct outer *);

/* Brings modes, cursor shape and key protocols to these; not the alternate
 * screen, which outer_alt() enters and leaves. */
void	 outer_modes(struct outer *, const struct screen_modes *);
/* COLOUR_DEFAULT is what the user has. */
void	 outer_cursor_colour(struct outer *, uint32_t);
void	 outer_alt(struct outer *, bool on);
void	 outer_title(struct outer *, const char *);

/* view_undo() without the last move: the cursor is anywhere. */
void	 view_undo_modes(const struct caps *, uint32_t modes, int rows,
	    struct buf *);

/* Takes from a pen what the terminal does not have. */
void	 pen_resolve(const struct caps *, struct pen *);

/* ... and what does not show on a blank: all but its background and lines. */
void	 pen_blank(struct pen *);
bool	 pen_is_plain(const struct pen *);

#endif
