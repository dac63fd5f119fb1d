/* SPDX-License-Identifier: ISC */
/*
 * A client's channels: what each USEs, and what passes on it to the workspace.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/sendenv.h"
#include "inside.h"

struct chan *
chan_find(struct sclient *c, uint32_t number)
{
	struct chan *ch;

	TAILQ_FOREACH(ch, &c->chans, entry)
		if (ch->number == number)
			return ch;
	return NULL;
}

/* What it was about is over. */
static void
chan_let_go(struct chan *ch)
{
	relay_cancel(ch->relay);
	if (ch->ws != NULL)
		workspace_chan_gone(ch->ws, ch);
}

void
chan_free(struct chan *ch)
{
	chan_let_go(ch);
	TAILQ_REMOVE(&ch->client->chans, ch, entry);
	ch->client->nchans--;
	strv_free(ch->sent_env);
	free(ch);
}

/* One that is used anew, or a new one; NULL: that would be too many. */
static struct chan *
chan_get(struct sclient *c, uint32_t number)
{
	struct chan *ch;

	if ((ch = chan_find(c, number)) != NULL) {
		chan_let_go(ch);
		return ch;
	}
	if (c->nchans >= CLIENT_CHANNELS_MAX)
		return NULL;
	ch = xcalloc(1, sizeof *ch);
	ch->client = c;
	ch->number = number;
	TAILQ_INSERT_HEAD(&c->chans, ch, entry);
	c->nchans++;
	return ch;
}

static void
use_failed(struct chan *ch, const char *workspace, const char *why)
{
	struct msg_link m;
	struct buf b;
	char *none[] = { NULL };

	memset(&m, 0, sizeof m);
	m.state = LINK_FAILED;
	m.workspace = xstrdup(workspace);
	m.text = xstrdup(why);
	m.send_env = none;
	buf_init(&b, 65536);
	msg_link_put(&b, &m);
	sclient_send_buf(ch->client, CONN_CONTROL, F_LINK, ch->number, &b);
	buf_free(&b);
	free(m.workspace);
	free(m.text);
}

static void
on_use(struct sclient *c, uint32_t channel, const uint8_t *data, size_t len)
{
	struct workspace *w;
	struct msg_use m;
	struct chan *ch;
	char *cause = NULL;

	if (msg_use_get(&m, data, len) == -1) {
		sclient_fail(c, R_ERROR, "a USE is damaged");
		return;
	}
	if (m.flags & USE_READ_ONLY)
		c->read_only = true;
	if ((ch = chan_get(c, channel)) == NULL) {
		sclient_fail(c, R_LIMIT, "more than %u channels",
		    CLIENT_CHANNELS_MAX);
		goto out;
	}
	ch->flags = m.flags;
	if (m.flags & USE_PASSIVE)
		w = workspace_known(c->server, m.workspace);
	else
		w = NULL;
	if (w == NULL)
		w = workspace_resolve(c->server, m.workspace, m.env, &cause);
	if (w == NULL) {
		use_failed(ch, m.workspace, cause != NULL ? cause : "unknown");
		goto out;
	}
	if (m.flags & USE_REFRESH) {
		if (w->up)
			link_send(w->link, CONN_CONTROL, F_REFRESH, 0, NULL, 0);
		else
			w->refresh = true;
	}
	if (!(m.flags & USE_PASSIVE))
		workspace_connect(w, m.env, m.flags & USE_AGAIN ?
		    m.flags & USE_MAY_PROMPT ? LINK_WAITING : LINK_RETURN :
		    m.flags & USE_MAY_PROMPT ? LINK_ASK : LINK_USER);
	/* Only now one of those who are told of changes: once is enough. */
	ch->ws = w;
	strv_free(ch->sent_env);
	ch->sent_env = sendenv_pick(m.env, w->send_env);
	TAILQ_INSERT_TAIL(&w->chans, ch, ws_entry);
	workspace_tell(w, ch);
	workspace_changed(w);
out:
	free(cause);
	msg_use_free(&m);
}

void
chan_frame(struct sclient *c, uint8_t type, uint32_t channel,
    const uint8_t *data, size_t len)
{
	struct chan *ch;

	if (type == F_USE)
		on_use(c, channel, data, len);
	else if ((ch = chan_find(c, channel)) == NULL)
		sclient_fail(c, R_ERROR, "%s without USE",
		    frame_kind(type)->name);
	else if (type == F_OPEN)
		relay_open(ch, data, len);
	else
		relay_from_client(ch, type, data, len);
}
