/* SPDX-License-Identifier: ISC */
/* Checkpoints, which an agent keeps and gives to servers that come later. */
#include "shell-view.h"

#define CHECKPOINT_LIGHT 1
#define CHECKPOINT_FULL 2

START_TEST(a_checkpoint_is_kept_and_given_to_who_knows_nothing)
{
	struct tlink *l = tlink_open("server", 1);
	struct tview v, w;
	struct buf b;

	make_sh(l, &v, "main", "head -c 5000000 /dev/zero | tr '\\0' x; "
	    "echo end; cat");
	watch(&v, 1, false, 0);
	view_await_text(&v, "end\r\n");
	buf_init(&b, 1000);
	buf_u64(&b, v.end - 100);
	buf_u8(&b, CHECKPOINT_LIGHT);
	buf_u16(&b, 24);
	buf_u16(&b, 80);
	buf_puts(&b, "light");
	conn_send_buf(l->conn, CONN_BULK, F_CHECKPOINT, v.id, &b);
	conn_flush(l->conn);
	buf_free(&b);
	tlink_cut(l);
	l = tlink_open("server", 2);
	w = v;
	w.l = l;
	*w.events = '\0';
	buf_init(&w.out, 1u << 24);
	watch(&w, 2, false, 0);
	view_await_text(&w, "end\r\n");
	ck_assert_ptr_nonnull(strstr(w.events, "C1@"));
	ck_assert_uint_eq(w.out.len, 100);
	ck_assert_ptr_null(strstr(w.events, "G"));
	/* A full one replaces it, being as new; a server that stands behind
	 * the ring's start gets it too. */
	buf_init(&b, 1000);
	buf_u64(&b, v.end - 50);
	buf_u8(&b, CHECKPOINT_FULL);
	buf_u16(&b, 24);
	buf_u16(&b, 80);
	buf_puts(&b, "full");
	conn_send_buf(l->conn, CONN_CONTROL, F_CHECKPOINT, v.id, &b);
	buf_free(&b);
	*w.events = '\0';
	buf_reset(&w.out);
	watch(&w, 2, true, 10);
	view_await_text(&w, "end\r\n");
	ck_assert_ptr_nonnull(strstr(w.events, "C2@"));
	ck_assert_uint_eq(w.out.len, 50);
}
END_TEST

static void
keep(struct tlink *l, const struct tview *v, uint8_t kind, const char *text)
{
	struct buf b;

	buf_init(&b, 1000);
	buf_u64(&b, v->end);
	buf_u8(&b, kind);
	buf_u16(&b, 24);
	buf_u16(&b, 80);
	buf_puts(&b, text);
	conn_send_buf(l->conn, CONN_BULK, F_CHECKPOINT, v->id, &b);
	buf_free(&b);
}

/* What HISTORY of that offset brings. */
static void
history_is(struct tlink *l, uint32_t id, uint64_t offset, const char *want)
{
	struct got *g;
	struct buf b;
	struct rd r;

	buf_init(&b, 16);
	buf_u64(&b, offset);
	conn_send_buf(l->conn, CONN_BULK, F_HISTORY, id, &b);
	buf_free(&b);
	g = await(l, F_HISTORY, id);
	rd_init(&r, g->data, g->len);
	ck_assert_uint_eq(rd_u64(&r), offset);
	ck_assert_uint_eq(r.left, strlen(want));
	ck_assert_mem_eq(r.p, want, r.left);
	got_free(g);
}

/* What a WATCH of that kind begins with. */
static void
begins_with(struct tview *v, enum watch_have have, uint8_t kind,
    const char *want)
{
	struct got *g;
	struct rd r;

	watch(v, 1, (uint8_t)have, 0);
	g = await(v->l, F_CHECKPOINT, v->id);
	rd_init(&r, g->data, g->len);
	ck_assert_uint_eq(rd_u64(&r), v->end);
	ck_assert_uint_eq(rd_u8(&r), kind);
	(void)rd_u32(&r);
	ck_assert_uint_eq(r.left, strlen(want));
	ck_assert_mem_eq(r.p, want, r.left);
	got_free(g);
}

START_TEST(a_light_twin_comes_first_and_the_rest_when_asked_for)
{
	struct tlink *l = tlink_open("server", 1);
	struct tview v;

	make_sh(l, &v, "main", "echo hello; cat");
	watch(&v, 1, WATCH_NEWEST, 0);
	view_await_text(&v, "hello\r\n");
	keep(l, &v, CHECKPOINT_LIGHT, "light");
	keep(l, &v, CHECKPOINT_FULL, "full");
	history_is(l, v.id, v.end, "full");
	history_is(l, v.id, v.end + 1, "");
	begins_with(&v, WATCH_LIGHT, CHECKPOINT_LIGHT, "light");
	history_is(l, v.id, v.end, "full");
	begins_with(&v, WATCH_NEWEST, CHECKPOINT_FULL, "full");
	/* A full one that comes alone has no twin. */
	keep(l, &v, CHECKPOINT_FULL, "alone");
	history_is(l, v.id, v.end, "alone");
	begins_with(&v, WATCH_LIGHT, CHECKPOINT_FULL, "alone");
}
END_TEST

START_TEST(a_long_checkpoint_keeps_no_other_shell_waiting)
{
	struct tlink *l = tlink_open("server", 1);
	size_t len = 8u << 20;
	uint8_t *history = xcalloc(1, len);
	struct tview big, seen;
	struct got *g;
	struct buf b;

	make_sh(l, &big, "big", "echo behind; cat");
	make_sh(l, &seen, "seen", "echo here; cat");
	watch(&big, 1, false, 0);
	view_await_text(&big, "behind\r\n");
	buf_init(&b, len + 64);
	buf_u64(&b, 0);
	buf_u8(&b, CHECKPOINT_FULL);
	buf_u16(&b, 24);
	buf_u16(&b, 80);
	buf_put(&b, history, len);
	conn_send_buf(l->conn, CONN_CONTROL, F_CHECKPOINT, big.id, &b);
	buf_free(&b);
	/* Both asked for at once, the long one first. */
	watch(&big, 2, false, 0);
	watch(&seen, 1, false, 0);
	g = await(l, F_OUTPUT, seen.id);
	ck_assert_ptr_null(tlink_find(l, F_CHECKPOINT, big.id));
	got_free(g);
	/* ... and its own output is behind it all the same. */
	buf_reset(&big.out);
	*big.events = '\0';
	view_await_text(&big, "behind\r\n");
	ck_assert_ptr_eq(strstr(big.events, "C2@0 "), big.events);
	type_text(&big, "after\n");
	view_await_text(&big, "after");
	free(history);
}
END_TEST

static const struct agent_test tests[] = {
	T(a_checkpoint_is_kept_and_given_to_who_knows_nothing),
	T(a_light_twin_comes_first_and_the_rest_when_asked_for),
	T(a_long_checkpoint_keeps_no_other_shell_waiting),
};

int
main(int argc, char **argv)
{
	return agent_suite(argc, argv, "kept", tests, sizeof tests /
	    sizeof *tests, home_make, home_clean);
}
