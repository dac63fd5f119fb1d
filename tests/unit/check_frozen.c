/* SPDX-License-Identifier: ISC */
/*
 * What is frozen for ever, as version 1 put it on the wire: recordings of real
 * processes in tests/unit/frozen, each with a word on why. Today's code must
 * understand each, and what it says itself must still begin the same way, or
 * an upgrade cuts people off from their shells. When a test here fails, the
 * code is wrong, not the recording.
 *
 * tests/e2e/test_frozen.py lets real processes meet the same recordings.
 */
#include <check.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../server/agent/handoff.h"
#include "../../server/base/mem.h"
#include "../../server/wire/frame.h"
#include "../../server/wire/msg.h"
#include "unit.h"

struct recording {
	uint8_t	data[4096];
	size_t	len;
};

static void
recording_read(struct recording *r, const char *name)
{
	char path[128], line[256], *p;
	unsigned int byte;
	FILE *fp;

	snprintf(path, sizeof path, "tests/unit/frozen/v1-%s.hex", name);
	ck_assert_msg((fp = fopen(path, "r")) != NULL, "%s", path);
	r->len = 0;
	while (fgets(line, sizeof line, fp) != NULL) {
		if (*line == '#')
			continue;
		for (p = line; isxdigit((unsigned char)*p); p += 2) {
			ck_assert_int_eq(sscanf(p, "%2x", &byte), 1);
			ck_assert_uint_lt(r->len, sizeof r->data);
			r->data[r->len++] = (uint8_t)byte;
		}
	}
	fclose(fp);
	ck_assert_uint_gt(r->len, 0);
}

static const struct {
	const char	*name;
	uint8_t		 role;
	bool		 id, epoch;	/* it has one */
} hellos[] = {
	{ "client-hello", ROLE_CLIENT, false, false },
	{ "server-hello", ROLE_SERVER, true, false },
	{ "agent-hello", ROLE_AGENT, true, false },
	{ "link-hello", ROLE_SERVER, true, true },
};
#define HELLOS	(sizeof hellos / sizeof hellos[0])

static void
hello_read(struct msg_hello *m, struct recording *r, size_t i)
{
	struct frame_head h;

	recording_read(r, hellos[i].name);
	ck_assert_uint_gt(r->len, FRAME_HEADER);
	ck_assert(frame_head_get(r->data, &h));
	ck_assert_uint_eq(h.type, F_HELLO);
	ck_assert_uint_eq(h.flags, 0);
	ck_assert_uint_eq(h.channel, 0);
	ck_assert_uint_eq(h.len, r->len - FRAME_HEADER);
	ck_assert_int_eq(msg_hello_get(m, r->data + FRAME_HEADER, h.len), 0);
}

START_TEST(a_hello_of_version_1_is_understood)
{
	static const uint8_t zero[MSG_ID];
	struct recording r;
	struct msg_hello m;
	size_t i;

	for (i = 0; i < HELLOS; i++) {
		hello_read(&m, &r, i);
		ck_assert_uint_eq(m.proto_min, 1);
		ck_assert_uint_eq(m.proto_max, 1);
		/* It can still be spoken with. */
		ck_assert_uint_le(PROTO_MIN, 1);
		ck_assert_uint_eq(m.role, hellos[i].role);
		ck_assert_int_eq(memcmp(m.id, zero, MSG_ID) != 0,
		    hellos[i].id);
		ck_assert_int_eq(m.epoch != 0, hellos[i].epoch);
		ck_assert_uint_gt(m.pid, 1);
		ck_assert_uint_gt(m.now_ms, UINT64_C(1700000000000));
		ck_assert_str_eq(m.version, "1.0-dev");
		ck_assert_str_eq(m.host, "box");
		ck_assert_str_eq(m.machine, "Linux x86_64");
		msg_hello_free(&m);
	}
}
END_TEST

START_TEST(what_is_said_today_begins_as_version_1_did)
{
	uint8_t head[FRAME_HEADER];
	struct frame_head h = { .type = F_HELLO };
	struct recording r;
	struct msg_hello m;
	struct buf b;
	size_t i;

	buf_init(&b, 65536);
	for (i = 0; i < HELLOS; i++) {
		hello_read(&m, &r, i);
		msg_hello_put(&b, &m);
		/* Longer it may be, in a version to come. */
		ck_assert_uint_ge(b.len, r.len - FRAME_HEADER);
		ck_assert_msg(memcmp(b.data, r.data + FRAME_HEADER,
		    r.len - FRAME_HEADER) == 0, "%s", hellos[i].name);
		h.len = (uint32_t)(r.len - FRAME_HEADER);
		frame_head_put(head, &h);
		ck_assert_msg(memcmp(head, r.data, FRAME_HEADER) == 0, "%s",
		    hellos[i].name);
		msg_hello_free(&m);
		buf_reset(&b);
	}
	buf_free(&b);
}
END_TEST

START_TEST(a_hello_of_a_later_version_is_refused_by_its_number)
{
	struct recording r;
	struct msg_hello m;
	uint8_t *p = r.data + FRAME_HEADER;
	size_t i, len;

	for (i = 0; i < HELLOS; i++) {
		hello_read(&m, &r, i);
		msg_hello_free(&m);
		len = r.len - FRAME_HEADER;
		/* One of version 1 that appended. */
		memset(r.data + r.len, 0xa5, 40);
		ck_assert_int_eq(msg_hello_get(&m, p, len + 40), 0);
		ck_assert_str_eq(m.version, "1.0-dev");
		msg_hello_free(&m);
		/* One of version 9 that has other things behind the head. */
		p[1] = p[3] = 9;
		memset(p + 41, 0xff, len - 41);
		ck_assert_int_eq(msg_hello_get(&m, p, len), 0);
		ck_assert_uint_eq(m.proto_min, 9);
		ck_assert_uint_eq(m.role, hellos[i].role);
		ck_assert_ptr_nonnull(m.version);
		msg_hello_free(&m);
		ck_assert_int_eq(msg_hello_get(&m, p, 41), 0);
		msg_hello_free(&m);
		ck_assert_int_eq(msg_hello_get(&m, p, 40), -1);
	}
}
END_TEST

START_TEST(the_hand_off_is_read_and_written_as_ever)
{
	static char *env[] = { (char *)"HOME=/tmp/rec",
	    (char *)"PATH=/usr/bin:/bin", (char *)"LANG=C.UTF-8",
	    (char *)"SHELL=/bin/sh", (char *)"USER=u", NULL };
	static const char *const marker[] = {
	    "0123456789abcdef0123456789abcdef", "-" };
	struct handoff_head h;
	struct recording r;
	struct buf b;
	int i;

	buf_init(&b, 4096);
	for (i = 0; i < 2; i++) {
		recording_read(&r, i == 0 ? "handoff-fds" : "handoff-direct");
		ck_assert_int_eq(handoff_parse(r.data, r.len, &h), 1);
		ck_assert_str_eq(h.marker, marker[i]);
		ck_assert_int_eq(h.fds, i == 0);
		ck_assert_uint_eq(h.head + h.env, r.len);
		handoff_put(&b, marker[i], i == 0, env);
		ck_assert_uint_eq(b.len, r.len);
		ck_assert(memcmp(b.data, r.data, r.len) == 0);
		buf_reset(&b);
	}
	buf_free(&b);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("frozen");
	TCase *c = tcase_create("frozen");

	tcase_add_test(c, a_hello_of_version_1_is_understood);
	tcase_add_test(c, what_is_said_today_begins_as_version_1_did);
	tcase_add_test(c, a_hello_of_a_later_version_is_refused_by_its_number);
	tcase_add_test(c, the_hand_off_is_read_and_written_as_ever);
	suite_add_tcase(s, c);
	return suite_run(s);
}
