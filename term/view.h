/* SPDX-License-Identifier: ISC */
/*
 * What one client's terminal shows now, and the fewest bytes that bring it to
 * a screen. Pure: a screen in, bytes out; no clock, no descriptor.
 */
#ifndef DLMUX_VIEW_H
#define DLMUX_VIEW_H

#include "../server/base/buf.h"
#include "caps.h"
#include "screen.h"

struct view;

/* What the client must know to undo a frame: the modes that are on at its
 * terminal after it. Bits 0..18 as MODE_*, and: */
#define VIEW_STYLED	(1u << 24)	/* cursor shape was set */
#define VIEW_KITTY	(1u << 25)	/* kitty flags were pushed */
#define VIEW_OTHER	(1u << 26)	/* modifyOtherKeys was set */
#define VIEW_TITLED	(1u << 27)	/* title was set */
#define VIEW_MY_THEME	(1u << 28)	/* MODE_THEME is on for view_follow() */
#define VIEW_MY_FOCUS	(1u << 29)	/* MODE_FOCUS likewise */
#define VIEW_CURSOR	(1u << 30)	/* the cursor's colour was set */

struct view_frame {
	uint64_t	lines;		/* screen_lines() shown up to here */
	uint32_t	modes;		/* see above */
};

/* caps stays the caller's and must outlive the view. */
struct view *view_new(const struct caps *, int rows, int cols);
void	 view_free(struct view *);
void	 view_resize(struct view *, int rows, int cols);
/* The terminal's contents are not known (a new client, a new server): the
 * next render repaints. modes: what the client says is on (0 at first).
 * lines: history lines the terminal has already, or UINT64_MAX if none: then
 * at most one screenful of history is put above the screen. */
void	 view_unknown(struct view *, uint32_t modes, uint64_t lines);
/* How many lines of history that is instead. */
void	 view_history(struct view *, uint32_t lines);
/* A one-line message over the last row; NULL takes it away. */
void	 view_notice(struct view *, const char *);
/* A block of lines in the middle (prefix ? help); NULL takes it away. */
void	 view_overlay(struct view *, const char *const *lines);
/* Off: the edge of a screen smaller than the terminal is not drawn (any
 * more): before view_leave(). */
void	 view_padding(struct view *, bool on);
/* Passing things along to this client's terminal with the next frame. */
void	 view_bell(struct view *);
void	 view_clipboard(struct view *, const char *sel, const char *b64, size_t);
/* title may be "". Controls are left out. */
void	 view_notify(struct view *, const char *title, const char *text);

/* Lets the terminal report when its colours may have changed: MODE_THEME,
 * MODE_FOCUS or 0. Its reports are no keys unless the program has set the mode
 * as well: see VIEW_MY_*. */
void	 view_follow(struct view *, uint32_t mode);

/* Appends the bytes that turn what the terminal shows into the screen. Zero
 * bytes if nothing changed. Lines that went into history are really scrolled
 * on the terminal's main screen. A screen larger than the terminal is clipped
 * around the cursor, a smaller one padded. */
void	 view_render(struct view *, const struct screen *, struct buf *,
	    struct view_frame *);
/* The screen's cell that shows in the terminal's upper left corner. */
void	 view_offset(const struct view *, int *row, int *col);
/* The end: the picture stays, modes undone, cursor on the line below it. */
void	 view_leave(struct view *, struct buf *);
/* The same for somebody who knows no more than a frame's modes (the client
 * when the server is gone, its watchdog): rows is the terminal's height. */
void	 view_undo(const struct caps *, uint32_t modes, int rows, struct buf *);
/* A client's own notice over its last row while no server answers, and back:
 * saves and restores the cursor around it. */
void	 view_undrawn_notice(const struct caps *, int rows, int cols,
	    const char *, struct buf *);

#endif
