/* SPDX-License-Identifier: ISC */
/*
 * What a terminal reports of its mouse, told in the rows and columns of a
 * shell that is not the terminal's size: a part of it shows (view_offset()),
 * or there is padding beside it. Everything else that is typed passes
 * unchanged, and so does all of it while shell and terminal are the same.
 */
#ifndef DLMUX_MOUSE_H
#define DLMUX_MOUSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../server/base/buf.h"

struct mouse_view {
	uint32_t modes;		/* MODE_* on at the terminal */
	int	 row, col;	/* of the shell, in the terminal's corner */
	int	 rows, cols;	/* the shell's; 0: not known, nothing is done */
	int	 out_rows, out_cols;	/* the terminal's, ... */
	int	 out_x, out_y;		/* ... and in pixels; 0: not known */
};

struct mouse;

struct mouse *mouse_new(void);
void	 mouse_free(struct mouse *);
/*
 * out gets what the program should. A press beside the shell is dropped; a
 * drag or a release there that began inside ends at its edge, so that no
 * program waits for ever for a button that was let go. Holds back a report
 * that is not whole until the rest comes or mouse_flush() (after 50 ms).
 */
void	 mouse_feed(struct mouse *, const struct mouse_view *, const void *,
	    size_t, struct buf *out);
bool	 mouse_pending(const struct mouse *);
void	 mouse_flush(struct mouse *, struct buf *out);

#endif
