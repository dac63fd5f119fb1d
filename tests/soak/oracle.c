/* SPDX-License-Identifier: ISC */
/*
 * Running a case; contract in oracle.h. Nothing here waits or has a clock:
 * the server's part (which size, which frame) is played in its simplest form.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../server/base/limits.h"
#include "../../server/base/mem.h"
#include "../../term/view.h"
#include "oracle.h"

struct client {
	bool		 on, stalled;
	bool		 fresh;		/* the main screen was not shown yet */
	int		 rows, cols;
	struct outside	*t;
	struct view	*v;
	struct view_frame frame;

	/* Native lines are counted from here on. */
	bool		 counting;
	size_t		 base;		/* T's */
	uint64_t	 lines, last;	/* the screen's */
	uint32_t	 epoch;
};

struct world {
	struct caps	*caps;
	struct screen	*g, *m;
	bool		 m_light;	/* m has lost history */
	struct client	 client[CLIENTS];
	struct buf	 out;
	struct buf	 kept;		/* a checkpoint, "" for none */
	int		 kept_kind;
	struct soak_case log;		/* SAY and RESIZE since then */
	struct buf	*why;
};

static bool
fail(struct world *w, int who, const char *text)
{
	struct buf old;

	buf_init(&old, 1 << 16);
	buf_put(&old, w->why->data, w->why->len);
	buf_reset(w->why);
	buf_printf(w->why, "client %d: %s%s", who, text,
	    old.len > 0 ? ": " : "");
	buf_put(w->why, old.data, old.len);
	buf_free(&old);
	return false;
}

/* --- a frame -------------------------------------------------------------- */

static void
frame(struct world *w, struct client *c)
{
	buf_reset(&w->out);
	view_render(c->v, w->m, &w->out, &c->frame);
	outside_write(c->t, w->out.data, w->out.len);
}

/* Above the first picture of the main screen: the last screenful of history. */
static bool
check_above(struct world *w, int who, struct client *c)
{
	size_t keep = (size_t)screen_history(w->m);

	c->fresh = false;
	if (screen_rows(w->m) != c->rows || screen_cols(w->m) != c->cols)
		return true;
	if (keep > (size_t)c->rows)
		keep = (size_t)c->rows;
	if (outside_lines(c->t) >= keep && compare_lines(c->t,
	    outside_lines(c->t) - keep, w->m, w->why))
		return true;
	return fail(w, who, "history above the first picture");
}

static bool
check_lines(struct world *w, int who, struct client *c, size_t before)
{
	uint64_t lines = screen_lines(w->g);

	if ((screen_modes(w->g)->flags & MODE_ALT_SCREEN) != 0)
		return true;
	/* Of a single row libvterm pushes nothing out. */
	if (c->rows == 1) {
		c->fresh = false;
		return true;
	}
	if (c->fresh && !check_above(w, who, c))
		return false;
	if (screen_rows(w->g) != c->rows || screen_cols(w->g) != c->cols ||
	    (c->counting && lines - c->last > VIEW_LINES_MAX))
		c->counting = false;
	else if (!c->counting) {
		c->counting = true;
		c->base = outside_lines(c->t);
		c->lines = lines;
		c->epoch = screen_epoch(w->g);
	} else {
		/* Cleared: those before are not there to be compared, and
		 * some may have been cleared before they were seen. */
		if (c->epoch != screen_epoch(w->g)) {
			c->base = before;
			c->lines = screen_epoch_lines(w->g);
			c->epoch = screen_epoch(w->g);
		}
		if (outside_lines(c->t) - c->base != lines - c->lines) {
			buf_printf(w->why, "%zu, screen %zu",
			    outside_lines(c->t) - c->base,
			    (size_t)(lines - c->lines));
			return fail(w, who, "native lines");
		}
		if (!compare_lines(c->t, c->base, w->g, w->why))
			return fail(w, who, "native lines");
	}
	c->last = lines;
	return true;
}

static bool
show(struct world *w, int who)
{
	struct client *c = &w->client[who];
	size_t before;
	int top, left;

	if (!c->on || c->stalled)
		return true;
	before = outside_lines(c->t);
	frame(w, c);
	if (!outside_whole(c->t))
		return fail(w, who, "a frame ends within a sequence");
	view_offset(c->v, &top, &left);
	if (!compare_screen(c->t, w->g, w->caps, top, left, w->why) ||
	    !compare_modes(c->t, w->g, w->caps, w->why))
		return fail(w, who, "picture");
	if (!check_lines(w, who, c, before))
		return false;
	frame(w, c);
	if (w->out.len != 0)
		return fail(w, who, "a second frame that changes nothing");
	return true;
}

static bool
show_all(struct world *w)
{
	int i;

	for (i = 0; i < CLIENTS; i++)
		if (!show(w, i))
			return false;
	return true;
}

/* --- what happens --------------------------------------------------------- */

static void	 whole_again(struct world *);

static void
resize_shell(struct world *w, int rows, int cols)
{
	if (rows == screen_rows(w->g) && cols == screen_cols(w->g))
		return;
	whole_again(w);
	case_add(&w->log, STEP_RESIZE, 0, rows, cols);
	screen_resize(w->g, rows, cols);
	screen_resize(w->m, rows, cols);
}

/* What a resize brings back of the history a light checkpoint has not. */
static void
whole_again(struct world *w)
{
	struct buf b;

	if (!w->m_light)
		return;
	buf_init(&b, CHECKPOINT_MAX);
	screen_checkpoint(w->g, CHECKPOINT_FULL, &b);
	screen_restore(w->m, b.data, b.len);
	buf_free(&b);
	w->m_light = false;
	buf_reset(&w->kept);
	screen_checkpoint(w->m, CHECKPOINT_FULL, &w->kept);
	w->kept_kind = CHECKPOINT_FULL;
	case_drop(&w->log, 0, w->log.n);
}

static bool
detach(struct world *w, int who)
{
	struct client *c = &w->client[who];
	const char *left;

	if (!c->on)
		return true;
	buf_reset(&w->out);
	view_render(c->v, w->m, &w->out, &c->frame);
	view_leave(c->v, &w->out);
	outside_write(c->t, w->out.data, w->out.len);
	view_free(c->v);
	c->v = NULL;
	c->on = false;
	if (!outside_whole(c->t))
		return fail(w, who, "the end is within a sequence");
	if ((left = outside_left_on(c->t)) != NULL) {
		buf_printf(w->why, "%s", left);
		return fail(w, who, "left on after detach");
	}
	return true;
}

static bool
attach(struct world *w, const struct step *t)
{
	struct client *c = &w->client[t->who];

	if (!detach(w, t->who))
		return false;
	c->rows = t->a;
	c->cols = t->b;
	if (c->t == NULL) {
		c->t = outside_new(c->rows, c->cols);
		outside_write(c->t, "$ own command\r\nown output\r\n$ ", 29);
	} else if (outside_rows(c->t) != c->rows ||
	    outside_cols(c->t) != c->cols)
		outside_resize(c->t, c->rows, c->cols);
	resize_shell(w, c->rows, c->cols);
	c->v = view_new(w->caps, c->rows, c->cols);
	memset(&c->frame, 0, sizeof c->frame);
	c->frame.lines = UINT64_MAX;
	c->on = c->fresh = true;
	c->stalled = c->counting = false;
	return true;
}

static void
resize(struct world *w, const struct step *t)
{
	struct client *c = &w->client[t->who];

	if (!c->on)
		return;
	c->rows = t->a;
	c->cols = t->b;
	outside_resize(c->t, c->rows, c->cols);
	view_resize(c->v, c->rows, c->cols);
	resize_shell(w, c->rows, c->cols);
	c->counting = false;
}

static void
keep(struct world *w, int kind)
{
	if (w->m_light)
		return;
	buf_reset(&w->kept);
	screen_checkpoint(w->m, kind, &w->kept);
	w->kept_kind = kind;
	case_drop(&w->log, 0, w->log.n);
}

static bool
server(struct world *w)
{
	struct screen *m = screen_new(w->log.rows, w->log.cols, NULL, NULL);
	struct client *c;
	size_t i;

	if (w->kept_kind == CHECKPOINT_LIGHT)
		for (i = 0; i < w->log.n; i++)
			if (w->log.steps[i].kind == STEP_RESIZE) {
				screen_free(m);
				return true;
			}
	if (w->kept.len > 0 && screen_restore(m, w->kept.data,
	    w->kept.len) != 0) {
		screen_free(m);
		return fail(w, 0, "a checkpoint is refused");
	}
	if (w->kept.len > 0 && w->kept_kind == CHECKPOINT_LIGHT)
		w->m_light = true;
	for (i = 0; i < w->log.n; i++) {
		const struct step *t = &w->log.steps[i];

		if (t->kind == STEP_SAY)
			screen_write(m, t->data, t->len);
		else
			screen_resize(m, t->a, t->b);
	}
	screen_free(w->m);
	w->m = m;
	for (c = w->client; c < w->client + CLIENTS; c++) {
		if (!c->on)
			continue;
		view_free(c->v);
		c->v = view_new(w->caps, c->rows, c->cols);
		view_unknown(c->v, c->frame.modes, c->frame.lines);
		c->fresh &= c->frame.lines == UINT64_MAX;
		/* Lines that were cleared may be told as left out. */
		if (w->m_light || c->stalled ||
		    c->epoch != screen_epoch(w->g))
			c->counting = false;
	}
	if (!screen_equal(w->g, w->m, !w->m_light, w->why))
		return fail(w, 0, "the restored screen");
	return true;
}

static void
notice(struct world *w, bool help)
{
	static const char *const lines[] = { "help", "of two lines", NULL };
	struct client *c;

	for (c = w->client; c < w->client + CLIENTS; c++) {
		if (!c->on || c->stalled)
			continue;
		if (help)
			view_overlay(c->v, lines);
		else
			view_notice(c->v, "no answer for 3 s, reconnecting");
		frame(w, c);
		view_overlay(c->v, NULL);
		view_notice(c->v, NULL);
	}
}

static void
say(struct world *w, const struct step *t)
{
	case_say(&w->log, t->data, t->len);
	screen_write(w->g, t->data, t->len);
	screen_write(w->m, t->data, t->len);
}

static bool
one(struct world *w, const struct step *t)
{
	switch (t->kind) {
	case STEP_SAY: say(w, t); break;
	case STEP_ATTACH: return attach(w, t);
	case STEP_DETACH: return detach(w, t->who);
	case STEP_RESIZE: resize(w, t); break;
	case STEP_STALL: w->client[t->who].stalled = true; break;
	case STEP_GO: w->client[t->who].stalled = false; break;
	case STEP_KEEP: keep(w, t->a); break;
	case STEP_SERVER: return server(w);
	case STEP_LINK: notice(w, false); break;
	case STEP_HELP: notice(w, true); break;
	}
	return true;
}

bool
oracle_run(const struct soak_case *c, struct buf *why)
{
	struct world w;
	struct buf text;
	bool ok = true;
	size_t i;
	int k;

	memset(&w, 0, sizeof w);
	w.caps = oracle_caps(c->term);
	w.g = screen_new(c->rows, c->cols, NULL, NULL);
	w.m = screen_new(c->rows, c->cols, NULL, NULL);
	w.log.rows = c->rows;
	w.log.cols = c->cols;
	w.why = why;
	buf_init(&w.out, 64 << 20);
	buf_init(&w.kept, CHECKPOINT_MAX);
	for (i = 0; i < c->n && ok; i++)
		ok = one(&w, &c->steps[i]) && show_all(&w);
	for (k = 0; k < CLIENTS && ok; k++)
		ok = detach(&w, k);
	if (!ok) {
		buf_init(&text, 1 << 16);
		buf_printf(&text, "step %zu: %.*s", i - 1, (int)why->len,
		    (char *)why->data);
		buf_reset(why);
		buf_put(why, text.data, text.len);
		buf_free(&text);
		if (getenv("V") != NULL) {
			fprintf(stderr, "last frame: ");
			for (i = 0; i < w.out.len; i++)
				fprintf(stderr, w.out.data[i] < 32 ?
				    "\\x%02x" : "%c", w.out.data[i]);
			fprintf(stderr, "\n");
		}
	}
	case_drop(&w.log, 0, w.log.n);
	free(w.log.steps);
	for (k = 0; k < CLIENTS; k++) {
		view_free(w.client[k].v);
		outside_free(w.client[k].t);
	}
	buf_free(&w.out);
	buf_free(&w.kept);
	screen_free(w.g);
	screen_free(w.m);
	caps_free(w.caps);
	return ok;
}

/* --- G against itself ----------------------------------------------------- */

/* The column at a row's end that a wide character did not fit in. */
static bool
left_out(const struct screen *s, int y, int x)
{
	const struct row *r = screen_row(s, y), *next;

	if (!r->wrapped || x != r->cols - 1 || y + 1 >= screen_rows(s))
		return false;
	next = screen_row(s, y + 1);
	return next->used > 0 && next->cells[0].width == 2;
}

/* Main screen and history as lines of text: what was wrapped is one. Blank
 * ones at the end are no text. *at: the byte under the cursor. */
static void
text_of(const struct screen *s, struct buf *b, size_t *at)
{
	static const struct cell blank = { .width = 1 };
	const struct cell *c;
	const struct row *r;
	char text[GRID_TEXT_MAX];
	int y, x, row, col, end;
	bool wrap;

	screen_cursor(s, &row, &col, &wrap);
	*at = 0;
	for (y = -screen_history(s); y < screen_rows(s); y++) {
		r = screen_row(s, y);
		/* Of a row that goes on all is text, but the column that a
		 * wide character did not fit in. */
		end = r->wrapped ? r->cols : r->used;
		for (x = 0; x < end || (y == row && x <= col); x++) {
			if (y == row && x == col)
				*at = b->len + (wrap ? 1 : 0);
			c = x < r->used ? &r->cells[x] : &blank;
			if (x >= end)
				break;
			if (c->width != 0 && (c->ch != 0 ||
			    !left_out(s, y, x)))
				buf_put(b, text, grid_text(screen_grid(s), c,
				    text));
		}
		if (r->wrapped)
			continue;
		while (b->len > 0 && b->data[b->len - 1] == ' ')
			b->len--;
		buf_u8(b, '\n');
	}
	/* The last may be the beginning of one that went on below. */
	while (b->len > 0 && (b->data[b->len - 1] == '\n' ||
	    b->data[b->len - 1] == ' '))
		b->len--;
}

static bool
reflow(struct screen *s, int rows, int cols, uint64_t *seed, struct buf *why)
{
	struct buf before, after;
	size_t at, was;
	bool ok = true;
	int i, c = 0;

	if ((screen_modes(s)->flags & MODE_ALT_SCREEN) != 0)
		return true;
	buf_init(&before, 16 << 20);
	buf_init(&after, 16 << 20);
	text_of(s, &before, &was);
	for (i = 0; i < 3 && ok; i++) {
		c = 4 + (int)rnd(seed, 60);
		screen_resize(s, rows + (int)rnd(seed, 5), c);
		screen_resize(s, rows, cols);
		buf_reset(&after);
		text_of(s, &after, &at);
		/* Lines below the cursor may go when there is no room. */
		if (after.len > before.len || memcmp(after.data, before.data,
		    after.len) != 0)
			ok = false;
	}
	if (!ok) {
		buf_printf(why, "%d columns to %d and back changes text: "
		    "before '%.*s' after '%.*s'", cols, c, (int)(before.len <
		    300 ? before.len : 300), before.len > 0 ?
		    (char *)before.data + (before.len < 300 ? 0 : before.len -
		    300) : "", (int)(after.len < 300 ? after.len : 300),
		    after.len > 0 ? (char *)after.data + (after.len < 300 ? 0 :
		    after.len - 300) : "");
	}
	buf_free(&before);
	buf_free(&after);
	return ok;
}

bool
oracle_self(const uint8_t *p, size_t n, int rows, int cols, uint64_t seed,
    struct buf *why)
{
	struct screen *whole, *upto, *back;
	uint64_t s = seed;
	struct buf b, text;
	size_t at = 0, to, rest;
	bool ok = true;
	int i, kind;

	whole = screen_new(rows, cols, NULL, NULL);
	screen_write(whole, p, n);
	upto = screen_new(rows, cols, NULL, NULL);
	for (i = 0; i < 4 && ok; i++) {
		to = at + rnd(&s, (uint32_t)(n - at + 1));
		screen_write(upto, p + at, to - at);
		at = to;
		kind = 1 + (int)rnd(&s, 2);
		buf_init(&b, CHECKPOINT_MAX);
		screen_checkpoint(upto, kind, &b);
		back = screen_new(24, 80, NULL, NULL);
		if (screen_restore(back, b.data, b.len) != 0) {
			buf_printf(why, "a checkpoint at %zu is refused", at);
			ok = false;
		}
		/* ... in two writes. */
		rest = n - at > 0 ? rnd(&s, (uint32_t)(n - at)) : 0;
		screen_write(back, p + at, rest);
		screen_write(back, p + at + rest, n - at - rest);
		buf_init(&text, 1 << 16);
		if (ok && !screen_equal(whole, back,
		    kind == CHECKPOINT_FULL, &text)) {
			buf_printf(why, "checkpoint at %zu of %zu: %.*s", at, n,
			    (int)text.len, (char *)text.data);
			ok = false;
		}
		buf_free(&text);
		buf_free(&b);
		screen_free(back);
	}
	if (ok)
		ok = reflow(whole, rows, cols, &s, why);
	screen_free(upto);
	screen_free(whole);
	return ok;
}
