/* SPDX-License-Identifier: ISC */
/* The clients around opchan.c, in place of client/connect.c. */
#include <string.h>

#include "model.h"

struct connect clients[CLIENTS];

uint32_t
connect_channel(struct connect *c)
{
	return ++c->channel;
}

void
connect_send(struct connect *c, enum conn_class class, uint8_t type,
    uint32_t channel, struct buf *b)
{
	MUST(buf_ok(b), "the client's frame of type %#x is too long", type);
	if (c->connected)
		way_put(&c->up, class, type, channel, b->data, b->len);
	buf_reset(b);
}

void
connect_use(struct connect *c, uint32_t channel, const char *workspace,
    int flags)
{
	(void)workspace;
	(void)flags;
	if (c->connected)
		way_put(&c->up, CONN_CONTROL, F_USE, channel, NULL, 0);
}

static void
client_started(struct opchan *o, const struct msg_started *m, void *arg)
{
	(void)o;
	(void)m;
	(void)arg;
}

static void
client_output(struct opchan *o, int stream, const uint8_t *p, size_t n,
    void *arg)
{
	struct connect *c = arg;

	(void)o;
	MUST(!c->ended[stream - 1], "client %d: output behind its end",
	    c->number);
	MUST(same(p, n, c->number, stream, c->got[stream - 1]),
	    "client %d: other output of stream %d at %llu", c->number, stream,
	    (unsigned long long)c->got[stream - 1]);
	c->got[stream - 1] += n;
}

static void
client_output_end(struct opchan *o, int stream, void *arg)
{
	struct connect *c = arg;

	(void)o;
	MUST(!c->ended[stream - 1], "client %d: a stream ends twice",
	    c->number);
	c->ended[stream - 1] = true;
}

static void
client_done(struct opchan *o, const struct opchan_result *r, void *arg)
{
	struct connect *c = arg;

	(void)o;
	trace("client %d: done %d %s", c->number, (int)r->how,
	    r->text != NULL ? r->text : "");
	MUST(!c->done, "client %d: done twice", c->number);
	c->done = true;
	c->how = r->how;
	switch (r->how) {
	case OPCHAN_EXITED:
		MUST(c->what == EXEC && c->starts == 1 &&
		    r->exit->code == c->status, "client %d: status %u of %u",
		    c->number, r->exit->code, c->status);
		MUST((c->got[0] == c->plan[0] || c->shut) &&
		    c->got[1] == c->plan[1], "client %d: an exit with %llu "
		    "and %llu bytes of %llu and %llu", c->number,
		    (unsigned long long)c->got[0],
		    (unsigned long long)c->got[1],
		    (unsigned long long)c->plan[0],
		    (unsigned long long)c->plan[1]);
		break;
	case OPCHAN_TAKEN:
		MUST(c->what == INPUT && c->fed_end, "client %d: taken",
		    c->number);
		break;
	case OPCHAN_REFUSED:
		MUST(c->starts == 0 && (c->what == EXEC || restarts > 0),
		    "client %d: refused after %u starts: %s", c->number,
		    c->starts, r->text);
		break;
	case OPCHAN_UNKNOWN:
		MUST(restarts > 0 || time_ran_out, "client %d: unknown: %s",
		    c->number, r->text);
		break;
	}
}

const struct opchan_cb client_cb = {
	.started = client_started,
	.output = client_output,
	.output_end = client_output_end,
	.done = client_done,
};

void
client_connect(struct connect *c)
{
	if (c->connected || (c->done && c->closed))
		return;
	if (!server_lives) {
		trace("client %d starts a server", c->number);
		server_lives = true;
	}
	c->sc = xcalloc(1, sizeof *c->sc);
	c->sc->server = &server;
	c->sc->number = (uint32_t)c->number;
	TAILQ_INIT(&c->sc->chans);
	c->connected = true;
	opchan_up(c->op);
}

void
client_step(struct connect *c)
{
	static uint8_t chunk[65536];
	size_t n;
	int i;

	if (c->done) {
		if (!c->closed && (c->how == OPCHAN_EXITED ||
		    c->how == OPCHAN_TAKEN)) {
			/* Best effort: a CLOSE that is lost costs the agent
			 * ten minutes of memory. */
			opchan_close(c->op);
		}
		c->closed = true;
		return;
	}
	if (!c->fed_end && rnd(2) == 0) {
		n = opchan_room(c->op);
		if (n > sizeof chunk)
			n = sizeof chunk;
		if (n > 0)
			n = 1 + rnd((uint32_t)n);
		if (n > c->nin - c->fed)
			n = c->nin - c->fed;
		fill(chunk, n, c->number, 0, c->fed);
		opchan_input(c->op, chunk, n);
		c->fed += n;
		if (c->fed == c->nin) {
			c->fed_end = true;
			opchan_input_end(c->op);
		}
		return;
	}
	for (i = 0; i < 2; i++) {
		n = (size_t)(c->got[i] - c->took[i]);
		if (n == 0 || rnd(2) == 0 || (i == 0 && c->shut))
			continue;
		n = 1 + rnd((uint32_t)n);
		c->took[i] += n;
		opchan_took(c->op, 1 + i, n);
	}
	if (faults > 0 && !c->shut && c->what == EXEC && rnd(3000) == 0) {
		trace("client %d: nobody reads stdout", c->number);
		c->shut = true;
		opchan_shut(c->op, 1);
	}
}
