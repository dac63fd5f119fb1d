/* SPDX-License-Identifier: ISC */
/*
 * When an attached terminal gets which picture: at once after a key, at most
 * every PICTURE_GAP_MS in a flood, not in the middle of a synchronized update,
 * never more than PICTURE_FLIGHT unacknowledged. Whoever cannot keep up skips
 * pictures and slows nobody. Here too: the notice over a picture that may be
 * out of date, and the help.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attach.h"
#include "base/clock.h"
#include "base/hook.h"
#include "base/log.h"
#include "base/mem.h"
#include "blame.h"

#define PICTURE_HEADER 16	/* number, lines, modes */

static void
paint_due(int fd, short what, void *arg)
{
	struct attachment *a = arg;

	(void)fd;
	(void)what;
	server_later(a->server);
}

void
paint_init(struct attachment *a)
{
	a->frame_ev = evtimer_new(a->server->base, paint_due, a);
}

void
paint_clear(struct attachment *a)
{
	if (a->frame_ev != NULL)
		event_free(a->frame_ev);
	free(a->flash);
	view_free(a->view);
	caps_free(a->caps);
}

static void
paint_after(struct attachment *a, uint64_t ms)
{
	struct timeval tv = { (time_t)(ms / 1000),
	    (suseconds_t)(ms % 1000) * 1000 };

	if (!evtimer_pending(a->frame_ev, NULL))
		evtimer_add(a->frame_ev, &tv);
}

static void
put_u32(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)(v >> 24);
	p[1] = (uint8_t)(v >> 16);
	p[2] = (uint8_t)(v >> 8);
	p[3] = (uint8_t)v;
}

static void
paint_send(struct attachment *a, struct buf *b, const struct view_frame *f)
{
	put_u32(b->data, ++a->sent);
	put_u32(b->data + 4, (uint32_t)(f->lines >> 32));
	put_u32(b->data + 8, (uint32_t)f->lines);
	put_u32(b->data + 12, f->modes);
	a->modes = f->modes;
	a->painted = true;
	HOOK("server-frame");
	sclient_send_buf(a->client, CONN_KEYS, F_PICTURE, a->channel, b);
}

/* Where on its terminal the client has to look for the shell: its mouse is
 * told by the terminal's own rows and columns. */
static void
paint_place(struct attachment *a, const struct screen *screen)
{
	struct msg_placed m;
	struct buf b;
	int row, col;

	view_offset(a->view, &row, &col);
	m.row = (uint16_t)row;
	m.col = (uint16_t)col;
	m.rows = (uint16_t)screen_rows(screen);
	m.cols = (uint16_t)screen_cols(screen);
	if (memcmp(&m, &a->placed, sizeof m) == 0)
		return;
	/* Usually it has all of the terminal, which needs no words. */
	if (a->placed.rows == 0 && row == 0 && col == 0 &&
	    m.rows == a->rows && m.cols == a->cols)
		return;
	a->placed = m;
	buf_init(&b, 64);
	msg_placed_put(&b, &m);
	sclient_send_buf(a->client, CONN_KEYS, F_PLACED, a->channel, &b);
	buf_free(&b);
}

static void
paint_render(struct attachment *a, bool leave)
{
	struct screen *screen = a->sh != NULL && a->sh->mirror != NULL ?
	    a->sh->mirror->screen : NULL;
	struct view_frame f = { 0, a->modes };
	struct buf b;

	if (a->view == NULL)
		return;
	buf_init(&b, PICTURE_MAX);
	if (buf_reserve(&b, PICTURE_HEADER) == NULL)
		return;
	b.len = PICTURE_HEADER;
	if (screen != NULL) {
		blame_on(a->sh->uid, screen_offset(screen),
		    screen_offset(screen));
		view_render(a->view, screen, &b, &f);
		blame_off();
		paint_place(a, screen);
		a->serial = screen_serial(screen);
	}
	if (leave) {
		view_leave(a->view, &b);
		f.modes = 0;
	}
	a->dirty = a->echo = false;
	a->frame_ms = clock_ms();
	if (!buf_ok(&b)) {
		/* The next one starts from nothing, as this was not seen. */
		log_warn("client %u: a picture of more than %u bytes",
		    a->client->number, PICTURE_MAX);
		view_unknown(a->view, a->modes, screen != NULL ?
		    screen_lines(screen) : UINT64_MAX);
	} else if (b.len > PICTURE_HEADER || !a->painted)
		paint_send(a, &b, &f);
	buf_free(&b);
}

/* Within a synchronized update? Held then, but not for ever. */
static bool
paint_held(struct attachment *a, uint64_t now)
{
	const struct screen *screen = a->sh->mirror->screen;

	if (!(screen_modes(screen)->flags & MODE_SYNC)) {
		a->sync_ms = 0;
		return false;
	}
	if (a->sync_ms == 0)
		a->sync_ms = now;
	if (now - a->sync_ms >= SYNC_HOLD_MS) {
		a->sync_ms = now;
		return false;
	}
	paint_after(a, SYNC_HOLD_MS - (now - a->sync_ms));
	return true;
}

void
paint_settle(struct attachment *a)
{
	uint64_t now = clock_ms();

	if (a->sh == NULL || a->sh->mirror == NULL || a->view == NULL ||
	    a->aside)
		return;
	if (!a->dirty && screen_serial(a->sh->mirror->screen) == a->serial)
		return;
	/* SHOWN, or room on the socket, brings us back. */
	if (a->sent - a->shown >= PICTURE_FLIGHT)
		return;
	if (a->painted && !a->echo && now - a->frame_ms < PICTURE_GAP_MS) {
		paint_after(a, PICTURE_GAP_MS - (now - a->frame_ms));
		return;
	}
	if (a->painted && paint_held(a, now))
		return;
	paint_render(a, false);
}

void
paint_leave(struct attachment *a)
{
	/* A shell that had ended before it was shown still has last words. */
	if (!a->painted && a->sh == NULL) {
		if (!a->inherited)
			return;
		/* Another server's picture is there and has to be undone. */
		view_unknown(a->view, a->modes, 0);
	}
	view_overlay(a->view, NULL);
	view_notice(a->view, NULL);
	view_padding(a->view, false);
	paint_render(a, true);
}

void
paint_aside(struct attachment *a)
{
	if (a->aside)
		return;
	paint_leave(a);
	a->notice[0] = '\0';
	a->aside = true;
}

/* --- notices ------------------------------------------------------------- */

/* The error without ssh's own name and address before it, which the notice has
 * already. */
static const char *
notice_error(const struct workspace *w)
{
	const char *why = w->link != NULL ? link_why(w->link) : NULL, *p;

	if (why == NULL)
		why = workspace_text(w);
	if (strncmp(why, "ssh: ", 5) == 0 && (p = strrchr(why, ':')) != NULL &&
	    p[1] == ' ' && p[2] != '\0')
		return p + 2;
	return why;
}

/* What happens, since when, what to press, and the last error; where there is
 * no room for all, the last two take turns. */
static void
notice_down(const struct attachment *a, uint64_t ms, const char *typed,
    char *out, size_t max)
{
	const struct workspace *w = a->ws;
	const char *key = server_prefix(a->server), *why = notice_error(w);
	bool again = workspace_retrying(w) ||
	    workspace_state(w) == LINK_CONNECTING;
	char *what, *keys, *text, next[32] = "";

	if (link_next_ms(w->link) >= 1000)
		snprintf(next, sizeof next, " in %llu s",
		    (unsigned long long)link_next_ms(w->link) / 1000);
	what = again ? xasprintf("no answer for %llu s, reconnecting%s%s",
	    (unsigned long long)(ms / 1000), next, typed) :
	    xasprintf("%s for %llu s%s", link_held(w->link) ?
	    "waits for you" : "not connected",
	    (unsigned long long)(ms / 1000), typed);
	keys = xasprintf("%s r %s, d detaches", key, again ? "at once" :
	    "connects");
	if (strlen(w->name) + strlen(what) + strlen(keys) + strlen(why) + 6 <
	    (size_t)a->cols)
		text = xasprintf("%s: %s; %s; %s", w->name, what, keys, why);
	else
		text = xasprintf("%s: %s; %s", w->name, what,
		    ms / NOTICE_TURN_MS % 2 == 0 ? keys : why);
	snprintf(out, max, "%s", text);
	free(what);
	free(keys);
	free(text);
}

static void
notice_text(struct attachment *a, char *out, size_t max)
{
	struct workspace *w = a->ws;
	uint64_t now = clock_ms(), ms;
	char typed[64] = "";

	*out = '\0';
	if (a->flash != NULL && now < a->flash_ms) {
		snprintf(out, max, "%s", a->flash);
		return;
	}
	if (a->sh == NULL || w == NULL || a->sh->over || w->link == NULL)
		return;
	if (a->typed > 0)
		snprintf(typed, sizeof typed, ", %u byte%s typed wait%s",
		    a->typed, a->typed > 1 ? "s" : "", a->typed > 1 ? "" :
		    "s");
	if (w->up) {
		bool busy = w->nworking > 0 || (w->typed_ms != 0 &&
		    now - w->typed_ms < TYPED_BUSY_MS);

		ms = link_silent_ms(w->link);
		if (ms > (busy ? PING_BUSY_MS : PING_IDLE_MS) + 2000)
			snprintf(out, max, "%s: no answer for %llu s%s; %s d "
			    "detaches", w->name,
			    (unsigned long long)(ms / 1000), typed,
			    server_prefix(a->server));
		return;
	}
	ms = w->down_ms != 0 ? now - w->down_ms : 0;
	if (ms >= NOTICE_AFTER_MS)
		notice_down(a, ms, typed, out, max);
}

void
paint_notice(struct attachment *a)
{
	char text[sizeof a->notice], clean[sizeof a->notice];

	if (a->view == NULL || a->aside)
		return;
	notice_text(a, text, sizeof text);
	log_clean(clean, sizeof clean, text);
	if (a->flash != NULL && clock_ms() >= a->flash_ms) {
		free(a->flash);
		a->flash = NULL;
	}
	if (strcmp(clean, a->notice) == 0)
		return;
	memcpy(a->notice, clean, sizeof a->notice);
	view_notice(a->view, *clean != '\0' ? clean : NULL);
	a->dirty = true;
	server_later(a->server);
}

void
paint_flash(struct attachment *a, const char *fmt, ...)
{
	va_list ap;
	char text[256];

	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	free(a->flash);
	a->flash = xstrdup(text);
	a->flash_ms = clock_ms() + NOTICE_FLASH_MS;
	paint_notice(a);
}

void
paint_help(struct attachment *a, bool on)
{
	const char *key = server_prefix(a->server);
	const char *lines[11];
	char name[256], self[80], after[80];

	if (a->view == NULL)
		return;
	if (on) {
		snprintf(name, sizeof name, "dlmux  %s:%s",
		    a->ws != NULL ? a->ws->name : "", a->sh != NULL ?
		    a->sh->name : "");
		snprintf(after, sizeof after, "after %s:", key);
		snprintf(self, sizeof self, "  %-5s  type %s itself", key, key);
		lines[0] = name;
		lines[1] = "";
		lines[2] = after;
		lines[3] = "  d      detach";
		lines[4] = "  c      new shell";
		lines[5] = "  n p    next, previous shell";
		lines[6] = "  r      connect at once";
		lines[7] = "  ?      this help";
		lines[8] = self;
		lines[9] = "any key puts this away";
		lines[10] = NULL;
	}
	view_overlay(a->view, on ? lines : NULL);
	a->dirty = true;
	server_later(a->server);
}
