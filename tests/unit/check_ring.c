/* SPDX-License-Identifier: ISC */
/*
 * Rings and byte queues against a plain model, environments, and the parsers
 * of the hand-off and of the environment snapshot.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../server/agent/env.h"
#include "../../server/agent/envprobe.h"
#include "../../server/agent/fifo.h"
#include "../../server/agent/handoff.h"
#include "../../server/agent/ring.h"
#include "../../server/base/clock.h"
#include "../../server/base/limits.h"
#include "../../server/base/mem.h"
#include "unit.h"

#define S(x) ((char *)(uintptr_t)(x))

static unsigned int seed;

static unsigned int
rnd(unsigned int n)
{
	seed = seed * 1103515245 + 12345;
	return (seed >> 8) % n;
}

static void
seed_start(void)
{
	const char *v = getenv("DLMUX_SEED");

	seed = v != NULL ? (unsigned int)strtoul(v, NULL, 10) :
	    (unsigned int)clock_us();
	printf("DLMUX_SEED=%u\n", seed);
	fflush(stdout);
}

/* The byte at an offset, computable without memory. */
static uint8_t
byte_at(uint64_t off)
{
	return (uint8_t)(off * 2654435761u >> 13);
}

static void
append(struct ring *r, size_t n)
{
	uint8_t *p = xmalloc(n + 1);
	size_t i;

	for (i = 0; i < n; i++)
		p[i] = byte_at(r->end + i);
	ring_append(r, p, n);
	free(p);
}

static void
check_bytes(const struct ring *r, uint64_t from)
{
	const uint8_t *p;
	size_t n, i;

	while (from < r->end) {
		n = ring_peek(r, from, &p);
		ck_assert_uint_gt(n, 0);
		for (i = 0; i < n; i++)
			if (p[i] != byte_at(from + i))
				ck_abort_msg("wrong byte at %llu",
				    (unsigned long long)(from + i));
		from += n;
	}
	ck_assert_uint_eq(ring_peek(r, from, &p), 0);
}

START_TEST(a_ring_begins_with_its_size_at_offset_zero)
{
	const struct ring_entry *e;
	struct ring r;
	size_t total = 0;

	ring_init(&r, &total, 24, 80);
	e = ring_entry_from(&r, 0);
	ck_assert_ptr_nonnull(e);
	ck_assert_int_eq(e->kind, RING_RESIZED);
	ck_assert_uint_eq(e->offset, 0);
	ck_assert_uint_eq(e->rows, 24);
	ck_assert_uint_eq(total, 0);
	ring_clear(&r);
}
END_TEST

START_TEST(a_ring_holds_what_was_not_dropped)
{
	struct ring r;
	size_t total = 0;
	int i;

	seed_start();
	ring_init(&r, &total, 24, 80);
	for (i = 0; i < 2000; i++) {
		append(&r, rnd(rnd(10) == 0 ? 40000 : 300));
		if (rnd(20) == 0 && r.end > 0)
			ring_drop(&r, r.end - rnd((unsigned int)r.end));
		while (r.held > 512 << 10)
			ck_assert(ring_drop_first(&r));
		ck_assert_uint_eq(total, r.held);
		if (rnd(50) == 0) {
			check_bytes(&r, r.start);
			if (r.end > r.start)
				check_bytes(&r, r.start + rnd((unsigned int)
				    (r.end - r.start)));
		}
	}
	ring_clear(&r);
	ck_assert_uint_eq(total, 0);
}
END_TEST

START_TEST(sizes_at_one_offset_become_the_last_and_get_a_new_number)
{
	const struct ring_entry *e;
	struct ring r;
	size_t total = 0;
	uint64_t seq;
	int i;

	ring_init(&r, &total, 24, 80);
	append(&r, 10);
	for (i = 0; i < 5000; i++)
		ring_resized(&r, (uint16_t)(30 + i % 7), 100);
	ck_assert_uint_eq(r.nent, 2);
	seq = r.ent[1].seq;
	ring_resized(&r, 50, 60);
	e = ring_entry_from(&r, seq + 1);
	ck_assert_ptr_nonnull(e);
	ck_assert_uint_eq(e->rows, 50);
	ck_assert_uint_eq(e->offset, 10);
	/* Marks between keep both; the earlier is void. */
	ring_mark(&r, (const uint8_t *)"0123456789abcdef");
	ring_resized(&r, 51, 61);
	ck_assert(ring_entry_void(&r, &r.ent[1]));
	ck_assert(!ring_entry_void(&r, &r.ent[3]));
	ck_assert(!ring_entry_void(&r, &r.ent[2]));
	ring_clear(&r);
}
END_TEST

START_TEST(the_size_at_the_start_is_that_of_the_last_resize_before_it)
{
	struct ring r;
	size_t total = 0;
	uint16_t rows, cols, want = 24;
	uint64_t at[400];
	int i, j;

	seed_start();
	ring_init(&r, &total, 24, 80);
	for (i = 0; i < 400; i++) {
		append(&r, 1 + rnd(5000));
		at[i] = r.end;
		ring_resized(&r, (uint16_t)(i + 100), 80);
		if (rnd(10) == 0)
			ring_drop(&r, r.end - rnd(20000) % r.end);
		for (j = 0; j <= i; j++)
			if (at[j] < r.start)
				want = (uint16_t)(j + 100);
		ring_size_at_start(&r, &rows, &cols);
		ck_assert_uint_eq(rows, want);
	}
	ring_clear(&r);
}
END_TEST

START_TEST(too_many_entries_cost_output_not_truth)
{
	struct ring r;
	size_t total = 0;
	uint16_t rows, cols;
	unsigned int i;

	ring_init(&r, &total, 24, 80);
	for (i = 0; i < RING_ENTRIES_MAX + 100; i++) {
		append(&r, 3);
		ring_resized(&r, (uint16_t)(i % 200 + 1), 80);
	}
	ck_assert_uint_eq(r.nent, RING_ENTRIES_MAX);
	/* What precedes the oldest entry cannot be drawn any more. */
	ck_assert_uint_gt(r.start, 0);
	ck_assert_uint_ge(r.ent[0].offset, r.start);
	ring_size_at_start(&r, &rows, &cols);
	ck_assert_uint_eq(rows, (r.start / 3 - 1) % 200 + 1);
	check_bytes(&r, r.start);
	ring_clear(&r);
}
END_TEST

START_TEST(entries_are_found_by_offset_and_by_number)
{
	struct ring r;
	size_t total = 0;
	uint64_t seq;

	ring_init(&r, &total, 24, 80);
	append(&r, 10);
	ring_mark(&r, (const uint8_t *)"0123456789abcdef");
	append(&r, 10);
	ring_resized(&r, 30, 80);
	seq = ring_seq_at(&r, 10);
	ck_assert_int_eq(ring_entry_from(&r, seq)->kind, RING_MARK);
	ck_assert_int_eq(ring_entry_from(&r, seq + 1)->kind, RING_RESIZED);
	ck_assert_ptr_null(ring_entry_from(&r, seq + 2));
	ck_assert_uint_eq(ring_seq_at(&r, 11), seq + 1);
	ck_assert_uint_eq(ring_seq_at(&r, 21), r.next_seq);
	ring_clear(&r);
}
END_TEST

START_TEST(a_queue_equals_a_plain_buffer)
{
	struct fifo f;
	uint64_t end = 0, base = 0, at;
	uint8_t chunk[5000];
	const uint8_t *p;
	size_t n, i;
	int round;

	seed_start();
	fifo_init(&f, 20000);
	for (round = 0; round < 5000; round++) {
		n = rnd(rnd(5) == 0 ? 5000 : 50);
		for (i = 0; i < n; i++)
			chunk[i] = byte_at(end + i);
		if (end - base + n > 20000)
			ck_assert(!fifo_put(&f, chunk, n));
		else {
			ck_assert(fifo_put(&f, chunk, n));
			end += n;
		}
		if (rnd(3) == 0) {
			at = base + rnd((unsigned int)(end - base) + 100);
			fifo_drop(&f, at);
			base = at > end ? end : at;
		}
		ck_assert_uint_eq(fifo_end(&f), end);
		ck_assert_uint_eq(f.base, base);
		ck_assert_uint_eq(fifo_space(&f), 20000 - (end - base));
		at = base + (end > base ? rnd((unsigned int)(end - base)) : 0);
		n = fifo_at(&f, at, &p);
		ck_assert_uint_eq(n, end - at);
		for (i = 0; i < n; i++)
			if (p[i] != byte_at(at + i))
				ck_abort_msg("wrong byte");
		if (end == base)
			ck_assert_ptr_null(f.data);
	}
	fifo_clear(&f);
}
END_TEST

START_TEST(an_environment_loses_what_belongs_to_one_connection)
{
	static const char all[] = "HOME=/h\0SSH_CONNECTION=1 2\0SSH_TTY=/x\0"
	    "SSH_AUTH_SOCK=/s\0DISPLAY=:0\0DLMUX_HOOK_DIR=/d\0TERM=x\0"
	    "TERMINAL=keep\0TMUX=1\0_=/bin/x\0A=1\0noequals\0=bad\0A2=2";
	char **env = env_split(all, sizeof all);

	ck_assert_uint_eq(strv_len(env), 12);
	env_clean(env);
	ck_assert_uint_eq(strv_len(env), 4);
	ck_assert_str_eq(env_get(env, "HOME"), "/h");
	ck_assert_str_eq(env_get(env, "TERMINAL"), "keep");
	ck_assert_str_eq(env_get(env, "A"), "1");
	ck_assert_ptr_null(env_get(env, "SSH_AUTH_SOCK"));
	strv_free(env);
	/* A local one keeps its agent and display. */
	env = env_split("SSH_AUTH_SOCK=/s\0DISPLAY=:0", 28);
	env_clean(env);
	ck_assert_uint_eq(strv_len(env), 2);
	env_set(&env, "DISPLAY", ":1");
	env_put(&env, "NEW=x=y");
	env_put(&env, "notone");
	ck_assert_uint_eq(strv_len(env), 3);
	ck_assert_str_eq(env_get(env, "DISPLAY"), ":1");
	ck_assert_str_eq(env_get(env, "NEW"), "x=y");
	env_unset(env, "DISPLAY");
	ck_assert_uint_eq(strv_len(env), 2);
	strv_free(env);
}
END_TEST

START_TEST(a_hand_off_is_read_in_any_pieces)
{
	char *env[] = { S("A=1"), S("B=two words"), S("C="), NULL };
	struct handoff_head h;
	struct buf b;
	size_t i;

	buf_init(&b, 4096);
	handoff_put(&b, "abcdef0123", true, env);
	for (i = 0; i < b.len; i++)
		ck_assert_int_eq(handoff_parse(b.data, i, &h), 0);
	ck_assert_int_eq(handoff_parse(b.data, b.len, &h), 1);
	ck_assert_str_eq(h.marker, "abcdef0123");
	ck_assert(h.fds);
	ck_assert_uint_eq(h.env, 4 + 12 + 3);
	ck_assert_uint_eq(h.head + h.env, b.len);
	buf_puts(&b, "more");
	ck_assert_int_eq(handoff_parse(b.data, b.len, &h), 1);
	buf_free(&b);
}
END_TEST

START_TEST(what_is_no_hand_off_is_refused_at_once)
{
	static const char *const bad[] = {
		"GET / HTTP/1.0\n",
		"DLMUX-HANDOFF 2\n",
		"DLMUX-HANDOFF 1\n\n",
		"DLMUX-HANDOFF 1\na b\n",
		"DLMUX-HANDOFF 1\n--\n",
		"DLMUX-HANDOFF 1\nm\nfd\n",
		"DLMUX-HANDOFF 1\nm\nfdss\n",
		"DLMUX-HANDOFF 1\nm\nfds\n\n",
		"DLMUX-HANDOFF 1\nm\nfds\n-1\n",
		"DLMUX-HANDOFF 1\nm\nfds\n1x\n",
		"DLMUX-HANDOFF 1\nm\nfds\n9999999\n",
		"DLMUX-HANDOFF 1\nm\nfds\n00000001\n",
		"DLMUX-HANDOFF 1\nmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmm"
		    "mmmmmmmmmmmmmmmmmmmmmmm\n",
	};
	char big[HANDOFF_HEAD_MAX + 10];
	struct handoff_head h;
	size_t i;

	for (i = 0; i < sizeof bad / sizeof *bad; i++)
		ck_assert_msg(handoff_parse(bad[i], strlen(bad[i]), &h) == -1,
		    "%s", bad[i]);
	memset(big, 'm', sizeof big);
	memcpy(big, "DLMUX-HANDOFF 1\n", 16);
	ck_assert_int_eq(handoff_parse(big, sizeof big, &h), -1);
}
END_TEST

START_TEST(a_snapshot_is_found_between_its_markers)
{
	static const char out[] = "noise\nm0m0A=1\0B=x\ny\0m0m0tail";
	char **env = envprobe_parse(out, sizeof out - 1, "m0m0");

	ck_assert_ptr_nonnull(env);
	ck_assert_uint_eq(strv_len(env), 2);
	ck_assert_str_eq(env_get(env, "B"), "x\ny");
	strv_free(env);
	ck_assert_ptr_null(envprobe_parse(out, 16, "m0m0"));
	ck_assert_ptr_null(envprobe_parse("", 0, "m0m0"));
	ck_assert_ptr_null(envprobe_parse(out, sizeof out - 1, "m1m1"));
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("ring");
	TCase *c = tcase_create("ring");

	tcase_add_test(c, a_ring_begins_with_its_size_at_offset_zero);
	tcase_add_test(c, a_ring_holds_what_was_not_dropped);
	tcase_add_test(c,
	    sizes_at_one_offset_become_the_last_and_get_a_new_number);
	tcase_add_test(c,
	    the_size_at_the_start_is_that_of_the_last_resize_before_it);
	tcase_add_test(c, too_many_entries_cost_output_not_truth);
	tcase_add_test(c, entries_are_found_by_offset_and_by_number);
	tcase_add_test(c, a_queue_equals_a_plain_buffer);
	tcase_add_test(c, an_environment_loses_what_belongs_to_one_connection);
	tcase_add_test(c, a_hand_off_is_read_in_any_pieces);
	tcase_add_test(c, what_is_no_hand_off_is_refused_at_once);
	tcase_add_test(c, a_snapshot_is_found_between_its_markers);
	suite_add_tcase(s, c);
	return suite_run(s);
}
