/* SPDX-License-Identifier: ISC */
/*
 * What is typed while attached: the prefix and its commands, and all the rest
 * as an operation between here and the agent, so that no key is lost or
 * doubled by a server that dies.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../server/base/limits.h"
#include "../server/base/mem.h"
#include "attached.h"

/* So long untaken, typed keys are worth a word. */
#define TYPED_MS	1000
/* An escape that is no sequence: the prefix's recogniser lets it go. */
#define PREFIX_MS	50

static void
typing_link(struct opchan *op, const struct msg_link *l, void *arg)
{
	(void)op;
	(void)l;
	(void)arg;
}

static void
typing_started(struct opchan *op, const struct msg_started *m, void *arg)
{
	(void)op;
	(void)m;
	(void)arg;
}

static void
typing_room(struct opchan *op, void *arg)
{
	(void)op;
	attached_input_wanted(arg);
}

/* An operation of keys that is through, or whose shell is: what becomes of the
 * attachment the server says on its own channel. */
static void
typing_done(struct opchan *op, const struct opchan_result *r, void *arg)
{
	(void)arg;
	if (r->how == OPCHAN_TAKEN)
		opchan_close(op);
}

static const struct opchan_cb typing_cb = {
	.link = typing_link,
	.started = typing_started,
	.room = typing_room,
	.done = typing_done,
};

void
attached_keys_to(struct attached *a)
{
	struct opchan_setup setup;
	struct typing *t;

	if (a->read_only)
		return;
	/* What was typed into the last one still goes there. */
	if (a->typing != NULL)
		opchan_input_end(a->typing->op);
	memset(&setup, 0, sizeof setup);
	setup.workspace = a->workspace;
	setup.input_max = CLIENT_TYPED_MAX;
	setup.patient = true;
	setup.open.kind = OP_INPUT;
	setup.open.uid = a->uid;
	setup.open.shell = a->shell;
	t = xcalloc(1, sizeof *t);
	t->uid = a->uid;
	t->op = opchan_new(a->connect, &setup, &typing_cb, a);
	t->next = a->typing;
	a->typing = t;
	opchan_up(t->op);
}

static void
typed_later(struct attached *a)
{
	static const struct timeval tv = { TYPED_MS / 1000, 0 };

	if (!evtimer_pending(a->typed_ev, NULL))
		evtimer_add(a->typed_ev, &tv);
}

/* What was typed a while ago and is not taken yet, or is by now. */
void
attached_typed_due(evutil_socket_t fd, short what, void *arg)
{
	struct attached *a = arg;
	size_t kept = a->held.len;
	struct typing *t;
	struct buf b;

	(void)fd;
	(void)what;
	for (t = a->typing; t != NULL; t = t->next)
		kept += opchan_kept(t->op);
	if (kept != a->told && a->channel != 0 && a->uid != 0) {
		buf_init(&b, 16);
		buf_u32(&b, (uint32_t)kept);
		connect_send(a->connect, CONN_CONTROL, F_TYPED, a->channel,
		    &b);
		buf_free(&b);
		a->told = (uint32_t)kept;
	}
	if (kept > 0)
		typed_later(a);
}

static void
typing_put(struct attached *a, const void *p, size_t n)
{
	if (n == 0 || a->read_only)
		return;
	if (a->told > 0)
		event_active(a->typed_ev, EV_TIMEOUT, 1);
	else
		typed_later(a);
	if (a->moving || a->typing == NULL) {
		buf_put(&a->held, p, n);
		return;
	}
	/* Room was asked for before reading; a prefix that was held back may
	 * come on top, and a shell that takes nothing loses nobody's work. */
	if (n > opchan_room(a->typing->op))
		n = opchan_room(a->typing->op);
	opchan_input(a->typing->op, p, n);
}

/* What the user typed, with the mouse where the shell has it. */
static void
typing_typed(struct attached *a, const void *p, size_t n)
{
	struct mouse_view v;
	struct buf out;

	memset(&v, 0, sizeof v);
	v.modes = attached_modes(a);
	v.row = a->placed.row;
	v.col = a->placed.col;
	v.rows = a->placed.rows;
	v.cols = a->placed.cols;
	v.out_rows = a->rows;
	v.out_cols = a->cols;
	if ((v.modes & MODE_MOUSE_PIXEL) != 0)
		rawtty_pixels(STDOUT_FILENO, &v.out_x, &v.out_y);
	buf_init(&out, 2 * 65536);
	mouse_feed(a->mouse, &v, p, n, &out);
	typing_put(a, out.data, out.len);
	buf_free(&out);
}

void
attached_keys_release(struct attached *a)
{
	struct buf held = a->held;

	if (held.len == 0)
		return;
	buf_init(&a->held, held.max);
	typing_put(a, held.data, held.len);
	buf_free(&held);
}

void
attached_keys_clear(struct attached *a)
{
	struct typing *t;

	while ((t = a->typing) != NULL) {
		a->typing = t->next;
		opchan_free(t->op);
		free(t);
	}
	buf_free(&a->held);
}

void
attached_input_wanted(struct attached *a)
{
	bool want = a->tty.raw && !a->leaving && a->held.len < INPUT_WINDOW &&
	    (a->typing == NULL || a->moving ||
	    opchan_room(a->typing->op) >= 8192);

	if (want == a->in_on)
		return;
	a->in_on = want;
	if (want)
		event_add(a->in_ev, NULL);
	else
		event_del(a->in_ev);
}

static void
attached_overlay(struct attached *a, bool on)
{
	struct buf b;

	a->helping = on;
	buf_init(&b, 16);
	buf_u8(&b, on);
	connect_send(a->connect, CONN_CONTROL, F_OVERLAY, a->channel, &b);
	buf_free(&b);
}

static void
attached_command(struct attached *a, int key)
{
	switch (key) {
	case 'd':
		attached_detach(a);
		break;
	case 'c':
		if (!a->read_only)
			attached_move(a, ATTACH_FRESH);
		break;
	case 'n':
		attached_move(a, ATTACH_NEXT);
		break;
	case 'p':
		attached_move(a, ATTACH_PREV);
		break;
	case 'r':
		attached_connect(a);
		break;
	case '?':
		if (a->channel != 0 && a->uid != 0)
			attached_overlay(a, true);
		break;
	}
}

/* What is held back is let go in time, if nothing more comes. */
static void
hold(struct attached *a)
{
	static const struct timeval tv = { 0, PREFIX_MS * 1000 };

	if (prefix_pending(a->prefix) || replies_pending(a->replies) ||
	    mouse_pending(a->mouse))
		evtimer_add(a->prefix_ev, &tv);
	else
		event_del(a->prefix_ev);
}

static void
attached_typed(struct attached *a, const uint8_t *p, size_t n)
{
	struct buf out;
	size_t used;
	int key;

	buf_init(&out, 65536);
	while (n > 0 && !a->leaving) {
		key = prefix_feed(a->prefix, "dcnpr?", p, n, &used, &out);
		p += used;
		n -= used;
		if (out.len > 0 && a->helping) {
			/* Any key puts the help away, and is not more. */
			attached_overlay(a, false);
			buf_reset(&out);
		}
		typing_typed(a, out.data, out.len);
		buf_reset(&out);
		if (key == 0)
			break;
		if (a->helping)
			attached_overlay(a, false);
		else
			attached_command(a, key);
	}
	buf_free(&out);
}

void
attached_prefix_due(evutil_socket_t fd, short what, void *arg)
{
	struct attached *a = arg;
	struct buf out;

	(void)fd;
	(void)what;
	/* While an answer may be on its way, its first byte is no Escape. */
	if (replies_open(a->replies)) {
		hold(a);
		return;
	}
	buf_init(&out, 65536);
	replies_flush(a->replies, &out);
	attached_typed(a, out.data, out.len);
	buf_reset(&out);
	prefix_flush(a->prefix, &out);
	if (out.len > 0 && a->helping)
		attached_overlay(a, false);
	else
		typing_typed(a, out.data, out.len);
	buf_reset(&out);
	mouse_flush(a->mouse, &out);
	typing_put(a, out.data, out.len);
	buf_free(&out);
}

void
attached_input(evutil_socket_t fd, short what, void *arg)
{
	struct attached *a = arg;
	char data[4096];
	struct buf typed;
	ssize_t n;

	(void)what;
	n = read(fd, data, sizeof data);
	if (n == -1 && (errno == EINTR || errno == EAGAIN))
		return;
	if (n <= 0) {
		/* The terminal is gone; the shell is not. */
		a->leaving = true;
		attached_end(a, 128 + SIGHUP, false, "%s", "");
		return;
	}
	attached_size(a);
	buf_init(&typed, 65536);
	replies_feed(a->replies, data, (size_t)n, &typed);
	attached_replied(a);
	attached_typed(a, typed.data, typed.len);
	buf_free(&typed);
	hold(a);
	attached_input_wanted(a);
}
