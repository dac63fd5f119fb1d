/* SPDX-License-Identifier: ISC */
/*
 * What outside.c, which reads bytes, and outside-shown.c, which tells what they
 * came to, share.
 */
#ifndef DLMUX_SOAK_OUTSIDE_PRIVATE_H
#define DLMUX_SOAK_OUTSIDE_PRIVATE_H

#include <vterm.h>

#include "../../server/base/buf.h"
#include "outside.h"

#define LINES_MAX	60000
#define PARAMS_MAX	32
#define MODES_MAX	64
#define EXTRAS_MAX	20000
#define STRING_MAX	(1 << 20)
#define TITLES_MAX	16
#define LINKS_MAX	20000

enum state { GROUND, ESC, CSI, OSC, OSC_ESC, CHARSET };

struct param {
	int	 n;		/* -1 missing */
	bool	 sub;		/* after a colon */
};

struct outside {
	VTerm		*vt[2];
	VTermScreen	*vts[2];
	struct buf	 run[2];	/* bytes for them, not written yet */
	int		 rows, cols;
	bool		 alt;
	char		*lines[LINES_MAX];
	size_t		 nlines;

	enum state	 state;
	uint8_t		 leader, mid;
	struct param	 param[PARAMS_MAX];
	int		 nparams;
	struct buf	 str, raw, answers;
	bool		 asked;
	char		 cursor_colour[8];
	int		 need;		/* of UTF-8 */

	int		 modes[MODES_MAX], nmodes;
	bool		 keypad, styled;
	int		 shape, other, kitty[2], kitty_depth[2];
	char		*title, *titles[TITLES_MAX];
	int		 ntitles;
	unsigned long	 bells;
	int		 region_top, region_bottom;

	char		*links[LINKS_MAX];	/* each once */
	size_t		 nlinks;
	struct outside_extra pen, *extras;
	uint32_t	 nextras, extra_now;
	char		*complaint;
	char		 left[160];
};

/* A pen, and a cell, without any of what libvterm does not know. */
extern const struct outside_extra outside_no_extra;

/* UTF-8, not terminated; the length. */
size_t	 outside_utf8(uint32_t, char *);
size_t	 outside_text(const VTermScreenCell *, char *);
/* Where a mode is in modes, -1 if it is off. */
int	 outside_mode_at(const struct outside *, int number);

#endif
