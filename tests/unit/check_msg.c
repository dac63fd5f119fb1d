/* SPDX-License-Identifier: ISC */
/*
 * Messages: what is put is got, and nothing shorter or longer is.
 */
#include <check.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "../../server/base/limits.h"
#include "../../server/wire/msg.h"
#include "unit.h"

/*
 * Puts, gets and puts again: the bytes must be equal; then each prefix and one
 * more byte must be refused. The copies are malloc'd to size, so that a
 * sanitizer sees a read past the end.
 */
#define ROUND(x, ...)	ROUND_TAIL(x, -1, __VA_ARGS__)
#define ROUND_TAIL(x, longer, ...)					\
static void								\
round_##x(void)								\
{									\
	struct msg_##x in = { __VA_ARGS__ }, out;			\
	struct buf a, b;						\
	uint8_t *copy;							\
	size_t i;							\
									\
	buf_init(&a, 1 << 20);						\
	buf_init(&b, 1 << 20);						\
	msg_##x##_put(&a, &in);						\
	ck_assert(buf_ok(&a));						\
	ck_assert_int_eq(msg_##x##_get(&out, a.data, a.len), 0);	\
	msg_##x##_put(&b, &out);					\
	msg_##x##_free(&out);						\
	msg_##x##_free(&out);						\
	ck_assert_uint_eq(a.len, b.len);				\
	ck_assert(memcmp(a.data, b.data, a.len) == 0);			\
	for (i = 0; i < a.len; i++) {					\
		copy = malloc(i != 0 ? i : 1);				\
		memcpy(copy, a.data, i);				\
		ck_assert_msg(msg_##x##_get(&out, copy, i) == -1,	\
		    #x " cut to %zu bytes is taken", i);		\
		free(copy);						\
	}								\
	buf_u8(&a, 0);							\
	ck_assert_int_eq(msg_##x##_get(&out, a.data, a.len), longer);	\
	if (longer == 0)						\
		msg_##x##_free(&out);					\
	msg_##x##_free(NULL);						\
	buf_free(&a);							\
	buf_free(&b);							\
}

/* Fields are not const: their owner frees them elsewhere. */
#define S(text) ((char []){ text })

static char *strings[] = { S("A=1"), S(""), S("B=two words"), NULL };
static uint8_t blob[] = { 0, 1, 2, 255 };

/* A later version's may be longer. */
ROUND_TAIL(hello, 0, .proto_min = 1, .proto_max = 7, .role = ROLE_AGENT,
    .id = "0123456789abcde", .epoch = UINT64_C(1) << 40, .pid = 12345,
    .now_ms = UINT64_C(1234567890123), .version = S("1.0"), .host = S("box"),
    .machine = S("Linux x86_64"), .features = strings)
ROUND(open, .op = "op", .agent = "agent", .kind = OP_EXEC,
    .flags = OPEN_RESUME, .have = { 1, 2 }, .max = { 3, UINT64_MAX },
    .how = EXEC_PTY, .probe = PROBE_LOGIN, .rows = 24, .cols = 80, .uid = 99,
    .shell = S("main"), .cwd = S("/tmp"), .env = strings, .argv = strings)
ROUND(started, .resumed = 1, .in_next = 2, .in_max = 3, .pid = 4,
    .shell_id = 5, .uid = 6, .shell = S("main"))
ROUND(exit, .how = END_SIGNAL, .open = 1, .code = 137, .end = { 10, 20 },
    .signal = S("KILL"))
ROUND(shell, .uid = 1, .ended = 1, .how = END_EXIT, .code = 3, .pid = 4,
    .created_ms = 5, .output_ms = 6, .start = 7, .end = 8, .rows = 9,
    .cols = 10, .signal = S(""), .name = S("main"), .command = S("vi x"))
ROUND(use, .flags = USE_PASSIVE, .workspace = S("ssh:web"), .env = strings)
ROUND(link, .state = LINK_UP, .retry = 1, .agent = "agent", .since_ms = 77,
    .probe = 2, .workspace = S("ssh:web"), .text = S(""), .send_env = strings)
ROUND(attach, .flags = ATTACH_CREATE, .op = "op", .agent = "agent", .uid = 1,
    .lines = UINT64_MAX, .modes = 3, .rows = 4, .cols = 5,
    .workspace = S("local"), .shell = S("main"), .caps = blob,
    .caps_len = sizeof blob, .env = strings, .argv = strings)
ROUND(manner, .history = 7, .size = S("80x24"), .inside = S("local:main"))
ROUND(placed, .row = 1, .col = 2, .rows = 3, .cols = 4)
ROUND(attached, .uid = 1, .agent = "agent", .workspace = S("w"),
    .shell = S("s"))
ROUND(left, .why = LEFT_ENDED, .how = END_EXIT, .code = 3, .text = S("gone"))
ROUND(wait, .kind = WAIT_TEXT, .armed = 1, .op = "op", .idle_ms = 1,
    .timeout_ms = 2, .workspace = S("w"), .shell = S("s"), .regex = S("[$#] $"))
ROUND(waited, .result = WAITED_MET, .how = 1, .code = 2, .text = S("line"))
ROUND(capture, .flags = CAPTURE_ESCAPES, .history = UINT32_MAX,
    .workspace = S("w"), .shell = S("s"))
ROUND(sizing, .uid = 1, .workspace = S("w"), .shell = S("s"),
    .size = S("largest"))
ROUND(row, .kind = 's', .fields = strings)
ROUND(done, .code = R_LIMIT, .status = 255, .text = S("too many"))

START_TEST(every_message_makes_the_round_and_is_refused_cut_or_longer)
{
	round_hello();
	round_open();
	round_started();
	round_exit();
	round_shell();
	round_use();
	round_link();
	round_attach();
	round_manner();
	round_attached();
	round_placed();
	round_left();
	round_wait();
	round_waited();
	round_capture();
	round_sizing();
	round_row();
	round_done();
}
END_TEST

START_TEST(fields_keep_their_places)
{
	struct msg_attach in = { .flags = 1, .uid = 2, .lines = 3, .modes = 4,
	    .rows = 5, .cols = 6, .workspace = S("w"), .shell = S("s"),
	    .caps = blob, .caps_len = sizeof blob, .env = strings }, out;
	struct buf b;

	buf_init(&b, 4096);
	msg_attach_put(&b, &in);
	ck_assert_int_eq(msg_attach_get(&out, b.data, b.len), 0);
	ck_assert_uint_eq(out.uid, 2);
	ck_assert_uint_eq(out.lines, 3);
	ck_assert_uint_eq(out.modes, 4);
	ck_assert_uint_eq(out.rows, 5);
	ck_assert_uint_eq(out.cols, 6);
	ck_assert_str_eq(out.workspace, "w");
	ck_assert_str_eq(out.shell, "s");
	ck_assert_uint_eq(out.caps_len, sizeof blob);
	ck_assert(memcmp(out.caps, blob, sizeof blob) == 0);
	ck_assert_str_eq(out.env[2], "B=two words");
	ck_assert_uint_eq(strv_len(out.argv), 0);
	msg_attach_free(&out);
	buf_free(&b);
}
END_TEST

/* Frozen for ever: an agent of today reads the HELLO of any later version. */
START_TEST(the_head_of_hello_has_its_frozen_layout)
{
	struct msg_hello m = { .proto_min = 0x0102, .proto_max = 0x0304,
	    .role = 5, .id = "IIIIIIIIIIIIIII", .epoch = 0x0607, .pid = 0x08,
	    .now_ms = 0x09 };
	struct buf b;

	m.id[15] = 'I';
	buf_init(&b, 4096);
	msg_hello_put(&b, &m);
	ck_assert(memcmp(b.data, "\1\2\3\4\5" "IIIIIIIIIIIIIIII"
	    "\0\0\0\0\0\0\6\7" "\0\0\0\10" "\0\0\0\0\0\0\0\11", 41) == 0);
	buf_free(&b);
}
END_TEST

START_TEST(a_string_over_the_limit_is_refused)
{
	struct msg_done in = { 0 }, out;
	char *text = malloc(MSG_STRING_MAX + 2);
	struct buf b;

	memset(text, 'x', MSG_STRING_MAX + 1);
	text[MSG_STRING_MAX + 1] = '\0';
	buf_init(&b, 1 << 20);
	in.text = text;
	msg_done_put(&b, &in);
	ck_assert_int_eq(msg_done_get(&out, b.data, b.len), -1);
	buf_reset(&b);
	text[MSG_STRING_MAX] = '\0';
	msg_done_put(&b, &in);
	ck_assert_int_eq(msg_done_get(&out, b.data, b.len), 0);
	msg_done_free(&out);
	buf_free(&b);
	free(text);
}
END_TEST

START_TEST(signals_have_names_both_ways)
{
	ck_assert_str_eq(signal_name(9), "KILL");
	ck_assert_str_eq(signal_name(SIGINT), "INT");
	ck_assert_ptr_null(signal_name(0));
	ck_assert_ptr_null(signal_name(4711));
	ck_assert_int_eq(signal_number("HUP"), SIGHUP);
	ck_assert_int_eq(signal_number("SIGTERM"), SIGTERM);
	ck_assert_int_eq(signal_number("NONE"), -1);
	ck_assert_int_eq(signal_number(""), -1);
}
END_TEST

START_TEST(every_refusal_has_words)
{
	uint16_t i;

	for (i = 0; i <= R_READ_ONLY + 1; i++) {
		ck_assert_ptr_nonnull(refusal_words(i));
		ck_assert_int_gt((int)strlen(refusal_words(i)), 4);
	}
	ck_assert_ptr_nonnull(refusal_words(0xffff));
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("msg");
	TCase *t = tcase_create("msg");

	tcase_add_test(t,
	    every_message_makes_the_round_and_is_refused_cut_or_longer);
	tcase_add_test(t, fields_keep_their_places);
	tcase_add_test(t, the_head_of_hello_has_its_frozen_layout);
	tcase_add_test(t, a_string_over_the_limit_is_refused);
	tcase_add_test(t, signals_have_names_both_ways);
	tcase_add_test(t, every_refusal_has_words);
	suite_add_tcase(s, t);
	return suite_run(s);
}
