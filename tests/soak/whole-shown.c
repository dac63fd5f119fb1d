/* SPDX-License-Identifier: ISC */
/* What the clients of a case show; contract in whole-private.h. */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "../../server/base/clock.h"
#include "whole-private.h"

/* --- what comes in -------------------------------------------------------- */

static void
take(struct client *c)
{
	char data[65536];
	struct buf said;
	ssize_t n;

	n = read(c->fd, data, sizeof data);
	if (n > 0) {
		outside_write(c->t, data, (size_t)n);
		buf_init(&said, 1 << 20);
		outside_answers(c->t, &said);
		(void)!write(c->fd, said.data, said.len);
		buf_free(&said);
		if (c->raw >= 0)
			(void)!write(c->raw, data, (size_t)n);
		c->bytes += (unsigned long)n;
	} else if (n == 0 || errno == EIO) {
		close(c->fd);
		c->fd = -1;
	}
}

void
whole_turn(struct whole *w, int ms)
{
	struct pollfd f[CLIENTS];
	int i;

	for (i = 0; i < CLIENTS; i++) {
		f[i].fd = !w->client[i].deaf && (w->client[i].on ||
		    w->client[i].fd >= 0) ? w->client[i].fd : -1;
		f[i].events = POLLIN;
		f[i].revents = 0;
	}
	poll(f, CLIENTS, ms);
	for (i = 0; i < CLIENTS; i++)
		if (f[i].fd >= 0 && f[i].revents != 0)
			take(&w->client[i]);
}

bool
whole_readable(struct whole *w, int fd, uint64_t end)
{
	struct pollfd f = { .fd = fd, .events = POLLIN };

	while (poll(&f, 1, 0) == 0) {
		if (clock_ms() > end)
			return false;
		whole_turn(w, 2);
	}
	return true;
}

static void
show_terminal(struct whole *w, int who)
{
	struct outside_cell cell;
	struct outside *t = w->client[who].t;
	int y, x;

	for (y = 0; t != NULL && y < outside_rows(t); y++) {
		buf_puts(w->why, "\n    |");
		for (x = 0; x < outside_cols(t); x += cell.width > 1 ? 2 : 1) {
			outside_cell(t, y, x, &cell);
			buf_puts(w->why, cell.text);
		}
	}
}

bool
whole_fail(struct whole *w, int who, const char *text)
{
	struct buf old;

	buf_init(&old, 1 << 16);
	buf_put(&old, w->why->data, w->why->len);
	buf_reset(w->why);
	buf_printf(w->why, "client %d: %s%s", who, text, old.len > 0 ? ": " :
	    "");
	buf_put(w->why, old.data, old.len);
	buf_free(&old);
	show_terminal(w, who);
	return false;
}

/* --- what they show ------------------------------------------------------- */

static bool
lines_match(struct whole *w, struct client *c)
{
	uint64_t lines = screen_lines(w->g);

	if ((screen_modes(w->g)->flags & MODE_ALT_SCREEN) != 0 || c->rows == 1)
		return true;
	if (screen_rows(w->g) != c->rows || screen_cols(w->g) != c->cols ||
	    (c->counting && c->epoch != screen_epoch(w->g)))
		c->counting = false;	/* it cannot be known from when on */
	if (!c->counting)
		return true;
	if (outside_lines(c->t) - c->base != lines - c->lines) {
		buf_printf(w->why, "native lines %zu, screen %zu",
		    outside_lines(c->t) - c->base,
		    (size_t)(lines - c->lines));
		return false;
	}
	return compare_lines(c->t, c->base, w->g, w->why);
}

static int
offset_of(int g, int t, int gsize, int tsize)
{
	return tsize >= gsize ? 0 : g - t < 0 ? 0 : g - t > gsize - tsize ?
	    gsize - tsize : g - t;
}

static bool
matches(struct whole *w, struct client *c)
{
	int row, col, trow, tcol;
	bool wrap;

	buf_reset(w->why);
	screen_cursor(w->g, &row, &col, &wrap);
	outside_cursor(c->t, &trow, &tcol);
	return compare_screen(c->t, w->g, w->caps,
	    offset_of(row, trow, screen_rows(w->g), c->rows),
	    offset_of(col, tcol, screen_cols(w->g), c->cols), w->why) &&
	    compare_modes(c->t, w->g, w->caps, w->why) && lines_match(w, c);
}

bool
whole_settled(struct whole *w)
{
	uint64_t end = clock_ms() + whole_deadline_ms;
	struct client *c;
	int i;

	for (i = 0; i < CLIENTS; i++) {
		c = &w->client[i];
		if (!c->on || c->stalled)
			continue;
		while (!matches(w, c)) {
			if (clock_ms() > end || c->fd < 0 ||
			    outside_complaint(c->t) != NULL)
				return whole_fail(w, i,
				    "does not come to show it");
			whole_turn(w, 5);
		}
		buf_reset(w->why);
		if (!c->counting && screen_rows(w->g) == c->rows &&
		    screen_cols(w->g) == c->cols &&
		    (screen_modes(w->g)->flags & MODE_ALT_SCREEN) == 0) {
			c->counting = true;
			c->base = outside_lines(c->t);
			c->lines = screen_lines(w->g);
			c->epoch = screen_epoch(w->g);
		}
	}
	return true;
}

bool
whole_quiet(struct whole *w, int who)
{
	struct client *c = &w->client[who];
	unsigned long bytes;

	if (c->stalled)
		return true;
	do {
		bytes = c->bytes;
		whole_turn(w, 40);
	} while (c->bytes != bytes && c->fd >= 0);
	c->counting = false;
	return whole_settled(w);
}

static bool
looked_at(const struct whole *w)
{
	int i;

	for (i = 0; i < CLIENTS; i++)
		if (w->client[i].on && !w->client[i].stalled)
			return true;
	return false;
}

static void
trim(struct buf *b)
{
	while (b->len > 0 && (b->data[b->len - 1] == '\n' ||
	    b->data[b->len - 1] == ' '))
		b->len--;
	buf_u8(b, 0);
}

/* Nobody looks: until `capture` prints what the screen holds. */
static bool
captured(struct whole *w)
{
	uint64_t end = clock_ms() + whole_deadline_ms;
	struct buf have, want;
	bool same = false;
	int y;

	buf_init(&have, 1 << 20);
	buf_init(&want, 1 << 20);
	for (y = 0; y < screen_rows(w->g); y++) {
		screen_row_text(w->g, y, false, &want, NULL);
		buf_u8(&want, '\n');
	}
	trim(&want);
	for (;;) {
		buf_reset(&have);
		whole_dlmux(w, &have, "capture", w->shell, NULL);
		trim(&have);
		same = strcmp((char *)have.data, (char *)want.data) == 0;
		if (same || clock_ms() > end)
			break;
	}
	if (!same) {
		buf_reset(w->why);
		buf_printf(w->why, "has '%.2000s', screen '%.2000s'",
		    (char *)have.data, (char *)want.data);
		whole_fail(w, 0, "capture");
	}
	buf_free(&have);
	buf_free(&want);
	return same;
}

bool
whole_at_rest(struct whole *w)
{
	if (!w->made)
		return true;
	return looked_at(w) ? whole_settled(w) : captured(w);
}
