/* SPDX-License-Identifier: ISC */
/*
 * What an attached terminal is written: the server's pictures, whole and in
 * order, each told back when it is really out; a notice of our own while no
 * server answers; and the undoing when none will paint the end.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../server/base/hook.h"
#include "../term/view.h"
#include "attached.h"

static void	 attached_wrote(struct outfd *, size_t, void *);

/* As the terminal will be when all that is queued has been written. */
uint32_t
attached_modes(const struct attached *a)
{
	return a->npictures > 0 ? a->pictures[a->npictures - 1].modes :
	    a->modes;
}

uint64_t
attached_lines(const struct attached *a)
{
	return a->npictures > 0 ? a->pictures[a->npictures - 1].lines :
	    a->lines;
}

void
attached_undo(struct attached *a)
{
	struct buf b;

	if (!a->shown || a->caps == NULL)
		return;
	buf_init(&b, 65536);
	if (a->noticed)
		view_undrawn_notice(a->caps, a->rows, a->cols, "", &b);
	a->noticed = false;
	view_undo(a->caps, attached_modes(a), a->rows, &b);
	if (buf_ok(&b))
		outfd_put(a->out, b.data, b.len);
	buf_free(&b);
	watchdog_modes(a->watchdog, 0, a->rows);
}

void
attached_unknown(struct attached *a)
{
	int i;

	attached_undo(a);
	a->modes = 0;
	a->lines = UINT64_MAX;
	for (i = 0; i < a->npictures; i++) {
		a->pictures[i].modes = 0;
		a->pictures[i].lines = UINT64_MAX;
	}
}

/* While no server answers: over the last picture. */
static void
attached_notice(struct attached *a)
{
	static const struct timeval again = { 1, 0 };
	char text[256];
	struct buf b;

	if (!a->shown || a->leaving)
		return;
	evtimer_add(a->notice_ev, &again);
	if (!a->tty.raw)
		return;		/* a question is there */
	if (a->channel == 0)
		(void)snprintf(text, sizeof text, "%s:%s: no server answers, "
		    "starting one; %s d detaches", a->workspace, a->shell,
		    a->key);
	else
		(void)snprintf(text, sizeof text, "%s: not connected; %s r "
		    "connects, d detaches; %s", a->workspace, a->key,
		    a->link_text != NULL && a->link_text[0] != '\0' ?
		    a->link_text : "reconnecting");
	buf_init(&b, 65536);
	view_undrawn_notice(a->caps, a->rows, a->cols, text, &b);
	if (buf_ok(&b) && outfd_queued(a->out) == 0) {
		outfd_put(a->out, b.data, b.len);
		a->noticed = true;
	}
	buf_free(&b);
}

void
attached_notice_due(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	attached_notice(arg);
}

bool
attached_take_tty(struct attached *a)
{
	progress_text(a->progress, NULL);
	prompter_forget(a->prompter);
	if (rawtty_raw(&a->tty) == -1) {
		a->leaving = true;
		attached_end(a, STATUS_FAILED, true, "the terminal: %s",
		    strerror(errno));
		return false;
	}
	a->shown = true;
	a->undone = false;
	attached_input_wanted(a);
	return true;
}

void
attached_picture(struct attached *a, const uint8_t *p, size_t n)
{
	struct picture *pic;
	struct rd r;
	const uint8_t *bytes;
	size_t len;
	int i;

	if (a->left)
		return;
	if (a->npictures == PICTURES) {
		a->leaving = true;
		attached_undo(a);
		attached_end(a, STATUS_FAILED, true,
		    "the server sends pictures that were not asked for");
		return;
	}
	rd_init(&r, p, n);
	pic = &a->pictures[a->npictures];
	pic->number = rd_u32(&r);
	pic->lines = rd_u64(&r);
	pic->modes = rd_u32(&r);
	bytes = rd_rest(&r, &len);
	if (r.failed)
		return;
	/* The first one, or the one after a question. */
	if (!a->tty.raw && !attached_take_tty(a))
		return;
	event_del(a->notice_ev);
	a->orphan = a->noticed = false;
	/* All that is to be written up to its end, less what belongs to those
	 * before it (a notice may stand between). */
	pic->left = outfd_queued(a->out) + len;
	for (i = 0; i < a->npictures; i++)
		pic->left -= a->pictures[i].left;
	a->npictures++;
	/* Until it is through, either set of modes may be on. */
	watchdog_modes(a->watchdog, a->modes | pic->modes, a->rows);
	HOOK("client-picture");
	outfd_put(a->out, bytes, len);
	outfd_flush(a->out);
	if (len == 0)
		attached_wrote(a->out, 0, a);	/* nothing is written at once */
}

static void
attached_pictures_done(struct attached *a, int count)
{
	struct buf b;
	int i;

	buf_init(&b, 64);
	for (i = 0; i < count; i++) {
		a->modes = a->pictures[i].modes;
		a->lines = a->pictures[i].lines;
		buf_u32(&b, a->pictures[i].number);
		connect_send(a->connect, CONN_CONTROL, F_SHOWN, a->channel,
		    &b);
	}
	buf_free(&b);
	attached_ask_modes(a);
	memmove(a->pictures, a->pictures + count,
	    (size_t)(a->npictures - count) * sizeof a->pictures[0]);
	a->npictures -= count;
	if (a->watchdog == NULL && !a->left && a->tty.raw) {
		a->watchdog = watchdog_start(&a->tty, STDOUT_FILENO, a->caps);
		watchdog_modes(a->watchdog, a->modes, a->rows);
	}
	if (a->npictures == 0)
		watchdog_modes(a->watchdog, a->modes, a->rows);
}

static void
attached_wrote(struct outfd *o, size_t n, void *arg)
{
	struct attached *a = arg;
	int count = 0;

	(void)o;
	for (; count < a->npictures && a->pictures[count].left <= n; count++)
		n -= a->pictures[count].left;
	if (count < a->npictures)
		a->pictures[count].left -= n;
	if (count > 0)
		attached_pictures_done(a, count);
	if (a->left && outfd_queued(a->out) == 0)
		attached_stop(a);
	else
		attached_question(a);
}

static void
attached_write_failed(struct outfd *o, int error, void *arg)
{
	struct attached *a = arg;

	(void)o;
	(void)error;
	a->leaving = true;
	attached_end(a, 128 + SIGHUP, false, "%s", "");
	attached_stop(a);
}

const struct outfd_cb attached_outfd_cb = {
	.wrote = attached_wrote,
	.failed = attached_write_failed,
};
