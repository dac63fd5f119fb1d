/* SPDX-License-Identifier: ISC */
/*
 * For the tests of the agent's shells: a server's view of one, which keeps
 * what it is sent and in which order, and what may be done to it.
 */
#ifndef DLMUX_SHELL_VIEW_H
#define DLMUX_SHELL_VIEW_H

#include "agent-link.h"

#define S(x) ((char *)(uintptr_t)(x))

/* A server's view of one shell. */
struct tview {
	struct tlink	*l;
	uint32_t	 id;
	uint64_t	 uid;
	struct buf	 out;		/* bytes from `from` on */
	uint64_t	 from, end;
	char		 events[4096];	/* "R24x80@0 O10 M@10 E3 ..." */
	bool		 ended, gone, ack;
	struct msg_shell sh;
	uint64_t	 mark;		/* offset of the last MARK */
	uint64_t	 window;
};

static void
note(struct tview *v, const char *fmt, ...)
{
	size_t n = strlen(v->events);
	va_list ap;

	va_start(ap, fmt);
	if (n < sizeof v->events - 1)
		vsnprintf(v->events + n, sizeof v->events - n, fmt, ap);
	va_end(ap);
}

static void
make_shell(struct tlink *l, struct tview *v, const char *name, char **argv)
{
	struct top op;

	top_init(&op, OP_NEW);
	op.open.shell = S(name);
	op.open.argv = argv;
	op.open.rows = 24;
	op.open.cols = 80;
	top_open(&op, l, 9000);
	top_await_started(&op);
	ck_assert_msg(op.started, "%s", op.text);
	/* The shell was told of before it was said to be there. */
	ck_assert_ptr_nonnull(tlink_find(l, F_SHELL, op.st.shell_id));
	memset(v, 0, sizeof *v);
	v->l = l;
	v->id = op.st.shell_id;
	v->uid = op.st.uid;
	v->ack = true;
	v->window = WATCH_WINDOW;
	buf_init(&v->out, 1u << 30);
	send_empty(l, F_CLOSE, 9000);
	got_free(await(l, F_SHELL, v->id));
	top_clear(&op);
}

static void
make_sh(struct tlink *l, struct tview *v, const char *name,
    const char *script)
{
	char *argv[] = { S("sh"), S("-c"), S(script), NULL };

	make_shell(l, v, name, argv);
}

static void
watch(struct tview *v, uint8_t level, uint8_t have, uint64_t from)
{
	struct buf b;

	buf_init(&b, 64);
	buf_u8(&b, level);
	buf_u8(&b, have);
	buf_u64(&b, from);
	buf_u64(&b, from + v->window);
	conn_send_buf(v->l->conn, CONN_CONTROL, F_WATCH, v->id, &b);
	buf_free(&b);
}

static void
taken(struct tview *v)
{
	struct buf b;

	buf_init(&b, 64);
	buf_u64(&b, v->end);
	buf_u64(&b, v->end + v->window);
	conn_send_buf(v->l->conn, CONN_CONTROL, F_TAKEN, v->id, &b);
	buf_free(&b);
}

static void
view_take(struct tview *v, const struct got *g)
{
	uint64_t at, to;
	uint16_t rows, cols;
	const uint8_t *p;
	struct rd r;
	size_t n;

	rd_init(&r, g->data, g->len);
	switch (g->type) {
	case F_OUTPUT:
		at = rd_u64(&r);
		p = rd_rest(&r, &n);
		ck_assert_uint_eq(at, v->end);
		if (v->out.len == 0)
			v->from = at;
		buf_put(&v->out, p, n);
		v->end += n;
		note(v, "O%zu ", n);
		if (v->ack)
			taken(v);
		break;
	case F_RESIZED:
		at = rd_u64(&r);
		rows = rd_u16(&r);
		cols = rd_u16(&r);
		ck_assert(rd_end(&r));
		ck_assert_uint_eq(at, v->end);
		note(v, "R%ux%u@%llu ", rows, cols, (unsigned long long)at);
		break;
	case F_MARK:
		v->mark = rd_u64(&r);
		ck_assert_uint_eq(v->mark, v->end);
		note(v, "M@%llu ", (unsigned long long)v->mark);
		break;
	case F_GAP:
		at = rd_u64(&r);
		to = rd_u64(&r);
		ck_assert(rd_end(&r));
		ck_assert_uint_gt(to, at);
		buf_reset(&v->out);
		v->end = to;
		note(v, "G%llu-%llu ", (unsigned long long)at,
		    (unsigned long long)to);
		break;
	case F_CHECKPOINT:
		at = rd_u64(&r);
		rows = rd_u8(&r);
		note(v, "C%u@%llu ", rows, (unsigned long long)at);
		buf_reset(&v->out);
		v->end = at;
		break;
	case F_SHELL:
		if (v->sh.name != NULL)
			msg_shell_free(&v->sh);
		ck_assert_int_eq(msg_shell_get(&v->sh, g->data, g->len), 0);
		if (v->sh.ended) {
			v->ended = true;
			ck_assert_uint_eq(v->sh.end, v->end);
			note(v, "E%u ", v->sh.code);
		}
		break;
	case F_GONE:
		v->gone = true;
		note(v, "X ");
		break;
	default:
		ck_abort_msg("type %#x on a shell's channel", g->type);
	}
}

static void
view_poll(struct tview *v)
{
	struct got *g;

	for (;;) {
		TAILQ_FOREACH(g, &v->l->got, entry)
			if (g->type >= F_SHELL && g->type <= F_GAP &&
			    g->channel == v->id)
				break;
		if (g == NULL)
			break;
		TAILQ_REMOVE(&v->l->got, g, entry);
		view_take(v, g);
		got_free(g);
	}
}

static void
view_await_text(struct tview *v, const char *text)
{
	uint64_t until = clock_ms() + WAIT_MS;

	while (view_poll(v), v->out.len == 0 || memmem(v->out.data,
	    v->out.len, text, strlen(text)) == NULL) {
		ck_assert_msg(clock_ms() < until && !v->l->closed,
		    "no \"%s\"; %s; %s\n%.*s", text, v->l->closed ?
		    v->l->why : "time", v->events, (int)v->out.len,
		    (char *)v->out.data);
		turn(20);
	}
}

static void
type_open(struct top *t, struct tview *v, const char *text, uint8_t how,
    uint32_t channel)
{
	top_init(t, OP_INPUT);
	t->open.uid = v->uid;
	t->open.how = how;
	t->in = (const uint8_t *)text;
	t->nin = strlen(text);
	t->in_end = true;
	top_open(t, v->l, channel);
}

static void
type_text(struct tview *v, const char *text)
{
	struct top t;

	type_open(&t, v, text, 0, 8000);
	top_await_taken(&t, t.nin);
	send_empty(v->l, F_CLOSE, 8000);
	top_clear(&t);
}

#endif
