/* SPDX-License-Identifier: ISC */
/*
 * For the server's tests: a link (../../server/link/link.h) whose far end is
 * the test. It stands in for the real one in the server's process. The test
 * says HELLO: up. BYE "why": lost, and tried again; BYE "": lost for good.
 * FAIL: could not be reached. PROMPT: an ssh asks.
 */
#ifndef DLMUX_FAKE_LINK_H
#define DLMUX_FAKE_LINK_H

#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../server/base/clock.h"
#include "../../server/base/mem.h"
#include "../../server/link/link.h"
#include "../../server/wire/conn.h"
#include "../../server/wire/msg.h"

struct link {
	struct link_setup	 setup;
	struct conn		*conn;
	enum link_state		 state;
	bool			 retry, let_go;
	char			*text;
	struct msg_hello	 hello;
	uint64_t		 since;
};

static int	 far_fd = -1;	/* the server's end of it */

static void
link_is(struct link *l, enum link_state state, const char *text)
{
	l->state = state;
	l->since = clock_ms();
	free(l->text);
	l->text = xstrdup(text);
	l->setup.cb->state(l, state, text, state == LINK_UP ? &l->hello : NULL,
	    l->setup.arg);
}

static void
link_message(struct conn *c, uint8_t type, uint32_t channel,
    const uint8_t *data, size_t len, void *arg)
{
	struct link *l = arg;
	struct rd r;
	uint32_t id;
	uint8_t echo;
	char *s;

	(void)c;
	rd_init(&r, data, len);
	switch (type) {
	case F_HELLO:
		msg_hello_free(&l->hello);
		ck_assert_int_eq(msg_hello_get(&l->hello, data, len), 0);
		link_is(l, LINK_UP, "connected");
		break;
	case F_BYE:
		s = rd_str(&r, 1000);
		l->retry = *s != '\0';
		link_is(l, LINK_DOWN, s);
		free(s);
		break;
	case F_FAIL:
		(void)rd_u16(&r);
		s = rd_str(&r, 1000);
		link_is(l, LINK_FAILED, s);
		free(s);
		break;
	case F_PROMPT:
		id = rd_u32(&r);
		echo = rd_u8(&r);
		s = rd_str(&r, 1000);
		l->setup.cb->prompt(l, id, echo, s, l->setup.arg);
		free(s);
		break;
	default:
		if (l->state == LINK_UP)
			l->setup.cb->message(l, type, channel, data, len,
			    l->setup.arg);
	}
}

static void
link_over(struct conn *c, const char *why, void *arg)
{
	struct link *l = arg;

	(void)why;
	l->conn = NULL;
	conn_free(c);
}

static const struct conn_cb link_conn_cb = {
	.message = link_message, .closed = link_over
};

struct link *
link_new(const struct link_setup *setup, const struct target *t)
{
	struct link *l = xcalloc(1, sizeof *l);

	(void)t;
	l->setup = *setup;
	l->text = xstrdup("not connected");
	return l;
}

void
link_free(struct link *l)
{
	if (l == NULL)
		return;
	conn_free(l->conn);
	msg_hello_free(&l->hello);
	free(l->text);
	free(l);
}

void
link_connect(struct link *l, char *const *env, enum link_who who)
{
	(void)env;
	(void)who;
	if (l->conn == NULL)
		l->conn = conn_new(l->setup.base, dup(far_fd), dup(far_fd),
		    PEER_AGENT | PEER_SERVER_C, &link_conn_cb, l);
	l->let_go = false;
	if (l->state == LINK_DOWN || l->state == LINK_FAILED)
		link_is(l, LINK_CONNECTING, "connecting");
}

void
link_disconnect(struct link *l, const char *why)
{
	struct buf b;

	if (l->state == LINK_UP) {
		buf_init(&b, 100);
		buf_str(&b, "");
		conn_send_buf(l->conn, CONN_CONTROL, F_BYE, 0, &b);
		buf_free(&b);
	}
	l->retry = false;
	l->let_go = true;
	link_is(l, LINK_DOWN, why);
}

/* The keeper's way in; no keeper runs here. */
void
link_adopt(struct link *l, int fd)
{
	(void)l;
	close(fd);
}

void
link_want(struct link *l, bool on)
{
	if (on && l->state == LINK_DOWN && l->let_go)
		link_is(l, LINK_CONNECTING, "wanted");
}

void
link_reply(struct link *l, uint32_t id, bool ok, const char *s)
{
	struct buf b;

	buf_init(&b, 4096);
	buf_u32(&b, id);
	buf_u8(&b, ok);
	buf_str(&b, s);
	conn_send_buf(l->conn, CONN_CONTROL, F_REPLY, 0, &b);
	buf_free(&b);
}

/* Nobody will answer: the try is over. */
void
link_give_up(struct link *l)
{
	link_is(l, LINK_FAILED, "not answered");
}

bool
link_ask(struct link *l, const char *token, int kind, const char *text,
    void (*reply)(bool, const char *, void *), void *arg)
{
	(void)l;
	(void)kind;
	if (strcmp(token, "good") != 0)
		return false;
	reply(true, text, arg);
	return true;
}

void
link_send(struct link *l, enum conn_class class, uint8_t type,
    uint32_t channel, const void *data, size_t len)
{
	if (l->state == LINK_UP && l->conn != NULL)
		conn_send(l->conn, class, type, channel, data, len);
}

void
link_send_buf(struct link *l, enum conn_class class, uint8_t type,
    uint32_t channel, struct buf *b)
{
	link_send(l, class, type, channel, b->data, b->len);
	buf_reset(b);
}

void link_retarget(struct link *l, const struct target *t) { (void)l; (void)t; }
void link_busy(struct link *l, bool on) { (void)l; (void)on; }
void link_ask_gone(struct link *l, void *arg) { (void)l; (void)arg; }
void link_set_tries(struct link *l, const char *s) { (void)l; (void)s; }
enum link_state link_state(const struct link *l) { return l->state; }
const char *link_text(const struct link *l) { return l->text; }
uint64_t link_since_ms(const struct link *l) { return l->since; }
uint64_t link_silent_ms(const struct link *l) { (void)l; return 0; }
uint64_t link_next_ms(const struct link *l) { (void)l; return 0; }
const char *link_why(const struct link *l) { (void)l; return NULL; }
bool link_held(const struct link *l) { (void)l; return false; }
uint64_t link_rtt_us(const struct link *l) { (void)l; return 1234; }
const struct msg_hello *link_agent(const struct link *l) { return &l->hello; }
size_t link_queued(const struct link *l)
{
	return l->conn != NULL ? conn_queued(l->conn) : 0;
}
pid_t link_pid(const struct link *l) { (void)l; return 0; }
bool link_retrying(const struct link *l) { return l->retry; }
char *link_tries(const struct link *l) { (void)l; return xstrdup(""); }

#endif
