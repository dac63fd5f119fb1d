/* SPDX-License-Identifier: ISC */
/*
 * libvterm's state layer, as an executor of single control functions: the
 * filter hands over one whole, capped sequence at a time, and what it does to
 * the cells comes back as calls. All that libvterm holds between two calls is
 * a cursor and margins, and those are told again whenever they may have
 * changed, so there is nothing in it that a checkpoint would have to save and
 * nothing that differs between its versions.
 *
 * Text never goes through it: 0.1.4 puts the whole write on the stack, both
 * versions know old widths and hide the pending wrap.
 */
#ifndef DLMUX_VT_H
#define DLMUX_VT_H

#include <stdbool.h>

struct vt;

/* right and bottom exclusive. */
struct vt_rect {
	int	top, left, bottom, right;
};

/* Where a control function starts from. */
struct vt_place {
	int		row, col;	/* the cursor */
	bool		sides;		/* left and right margins are in use */
	struct vt_rect	margins;
};

struct vt_ops {
	/* Move up by down rows and left by across columns, blank the rest. */
	void	(*scroll)(struct vt_rect, int down, int across, void *);
	void	(*erase)(struct vt_rect, bool selective, void *);
	void	(*put)(int row, int col, unsigned int ch, void *);
	void	*arg;
};

struct vt *vt_new(int rows, int cols, const struct vt_ops *);
void	 vt_free(struct vt *);
/* CSI, with at most two arguments (-1: missing). mid: the leader '?' or an
 * intermediate, as they are written; "" if none. Both are placed right. */
void	 vt_csi(struct vt *, const struct vt_place *, const char *leader,
	    const char *mid, const int *arg, int nargs, char final);
/* ESC and the rest of its sequence. */
void	 vt_esc(struct vt *, const struct vt_place *, const char *rest);

#endif
