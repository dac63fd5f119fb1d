/* SPDX-License-Identifier: ISC */
/*
 * Frame headers and the table of types.
 */
#include <check.h>
#include <string.h>

#include "../../server/wire/frame.h"
#include "unit.h"

START_TEST(crc32c_has_its_known_values)
{
	uint8_t zero[32] = { 0 };

	/* RFC 3720, B.4 */
	ck_assert_uint_eq(crc32c(0, zero, 32), 0x8a9136aa);
	ck_assert_uint_eq(crc32c(0, "123456789", 9), 0xe3069283);
	ck_assert_uint_eq(crc32c(crc32c(0, "1234", 4), "56789", 5),
	    0xe3069283);
}
END_TEST

START_TEST(a_header_comes_back_as_it_went)
{
	struct frame_head h = { 0x1234, F_DATA, FRAME_MORE, 0xfedcba98 }, g;
	uint8_t p[FRAME_HEADER];

	frame_head_put(p, &h);
	ck_assert(memcmp(p, "\0\0\x12\x34\x13\2\0\0\xfe\xdc\xba\x98", 12) == 0);
	ck_assert(frame_head_get(p, &g));
	ck_assert_uint_eq(g.len, h.len);
	ck_assert_uint_eq(g.type, h.type);
	ck_assert_uint_eq(g.flags, h.flags);
	ck_assert_uint_eq(g.channel, h.channel);
}
END_TEST

START_TEST(any_flipped_bit_of_a_header_is_noticed)
{
	struct frame_head h = { 17, F_DATA, 0, 3 }, g;
	uint8_t p[FRAME_HEADER];
	int i;

	for (i = 0; i < FRAME_HEADER * 8; i++) {
		frame_head_put(p, &h);
		p[i / 8] ^= (uint8_t)(1 << i % 8);
		ck_assert_msg(!frame_head_get(p, &g), "bit %d", i);
	}
}
END_TEST

START_TEST(a_payload_over_the_maximum_is_refused)
{
	struct frame_head h = { FRAME_PAYLOAD_MAX, F_DATA, 0, 3 }, g;
	uint8_t p[FRAME_HEADER];

	frame_head_put(p, &h);
	ck_assert(frame_head_get(p, &g));
	h.len++;
	frame_head_put(p, &h);
	ck_assert(!frame_head_get(p, &g));
}
END_TEST

START_TEST(every_type_stands_once_in_the_table)
{
	const struct frame_kind *k;
	uint8_t seen[256] = { 0 };
	size_t i, n;

	k = frame_kinds(&n);
	for (i = 0; i < n; i++) {
		ck_assert_msg(!seen[k[i].type], "%s twice", k[i].name);
		seen[k[i].type] = 1;
		ck_assert_ptr_eq(frame_kind(k[i].type), &k[i]);
		ck_assert_uint_ne(k[i].senders, 0);
	}
	/* Each enumerator of frame.h; a new one is added to both. */
	ck_assert_uint_eq(n, 72);
	ck_assert_ptr_null(frame_kind(0));
	ck_assert_ptr_null(frame_kind(0xff));
	ck_assert_str_eq(frame_kind(F_DONE)->name, "DONE");
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("frame");
	TCase *t = tcase_create("frame");

	tcase_add_test(t, crc32c_has_its_known_values);
	tcase_add_test(t, a_header_comes_back_as_it_went);
	tcase_add_test(t, any_flipped_bit_of_a_header_is_noticed);
	tcase_add_test(t, a_payload_over_the_maximum_is_refused);
	tcase_add_test(t, every_type_stands_once_in_the_table);
	suite_add_tcase(s, t);
	return suite_run(s);
}
