/* SPDX-License-Identifier: ISC */
/*
 * The one file that includes vterm.h. Only calls and callbacks that are the
 * same in 0.1.4 and 0.3.x are used, so no version has to be probed. The
 * parser's holes (facts: 17 arguments, 20 digits, long text, one column) are
 * out of reach, because every byte written here was formatted here.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vterm.h>

#include "../server/base/mem.h"
#include "vt.h"

/* Arguments beyond this mean the same as this: no screen is larger. */
#define VT_ARG_MAX	9999

struct vt {
	VTerm		*term;
	VTermState	*state;
	struct vt_ops	 ops;
	bool		 live;		/* pass callbacks on */
	bool		 told;		/* the margins below are libvterm's */
	struct vt_place	 at;
};

static int
scroll_cb(VTermRect r, int downward, int rightward, void *arg)
{
	struct vt *vt = arg;
	struct vt_rect rect = { r.start_row, r.start_col, r.end_row,
	    r.end_col };

	if (vt->live)
		vt->ops.scroll(rect, downward, rightward, vt->ops.arg);
	return 1;
}

static int
erase_cb(VTermRect r, int selective, void *arg)
{
	struct vt *vt = arg;
	struct vt_rect rect = { r.start_row, r.start_col, r.end_row,
	    r.end_col };

	if (vt->live)
		vt->ops.erase(rect, selective, vt->ops.arg);
	return 1;
}

static int
put_cb(VTermGlyphInfo *info, VTermPos pos, void *arg)
{
	struct vt *vt = arg;

	if (vt->live)
		vt->ops.put(pos.row, pos.col, info->chars[0], vt->ops.arg);
	return 1;
}

/* Its answers are never wanted: the filter has answered. */
static void
output_cb(const char *s, size_t len, void *arg)
{
	(void)s;
	(void)len;
	(void)arg;
}

static const VTermStateCallbacks callbacks = {
	.putglyph = put_cb,
	.scrollrect = scroll_cb,
	.erase = erase_cb
};

struct vt *
vt_new(int rows, int cols, const struct vt_ops *ops)
{
	struct vt *vt;

	vt = xcalloc(1, sizeof *vt);
	vt->ops = *ops;
	/* NULL only out of memory, and not checked inside libvterm. */
	vt->term = vterm_new(rows, cols);
	if (vt->term == NULL)
		abort();
	vterm_output_set_callback(vt->term, output_cb, vt);
	vt->state = vterm_obtain_state(vt->term);
	vterm_state_set_callbacks(vt->state, &callbacks, vt);
	vterm_state_reset(vt->state, 1);
	vt->live = true;
	return vt;
}

void
vt_free(struct vt *vt)
{
	if (vt == NULL)
		return;
	vterm_free(vt->term);
	free(vt);
}

static void
feed(struct vt *vt, const char *bytes, size_t len)
{
	vterm_input_write(vt->term, bytes, len);
}

static void
place(struct vt *vt, const struct vt_place *at)
{
	const struct vt_rect *m = &at->margins;
	char buf[96];
	int n;

	if (!vt->told || at->sides != vt->at.sides ||
	    memcmp(m, &vt->at.margins, sizeof *m) != 0) {
		n = snprintf(buf, sizeof buf,
		    "\033[?69%c\033[%d;%dr\033[%d;%ds",
		    at->sides ? 'h' : 'l', m->top + 1, m->bottom,
		    m->left + 1, m->right);
		feed(vt, buf, n);
		vt->at = *at;
		vt->told = true;
	}
	n = snprintf(buf, sizeof buf, "\033[%d;%dH", at->row + 1,
	    at->col + 1);
	feed(vt, buf, n);
}

static int
cap(int v)
{
	return v > VT_ARG_MAX ? VT_ARG_MAX : v;
}

void
vt_csi(struct vt *vt, const struct vt_place *at, const char *leader,
    const char *mid, const int *arg, int nargs, char final)
{
	char buf[64];
	int n;

	place(vt, at);
	n = snprintf(buf, sizeof buf, "\033[%s", leader);
	if (nargs > 0 && arg[0] >= 0)
		n += snprintf(buf + n, sizeof buf - n, "%d", cap(arg[0]));
	if (nargs > 1 && arg[1] >= 0)
		n += snprintf(buf + n, sizeof buf - n, ";%d", cap(arg[1]));
	n += snprintf(buf + n, sizeof buf - n, "%s%c", mid, final);
	feed(vt, buf, n);
}

void
vt_esc(struct vt *vt, const struct vt_place *at, const char *rest)
{
	char buf[16];
	int n;

	place(vt, at);
	n = snprintf(buf, sizeof buf, "\033%s", rest);
	feed(vt, buf, n);
}
