/* SPDX-License-Identifier: ISC */
/*
 * Buffers and the wire's primitive types: bounds above all.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "../../server/base/buf.h"
#include "unit.h"

START_TEST(what_is_put_is_got)
{
	char one[] = "one", none[] = "", three[] = "three";
	char *strv[] = { one, none, three, NULL }, **got, *s;
	const uint8_t *p;
	struct buf b;
	struct rd r;
	size_t n;

	buf_init(&b, 4096);
	buf_u8(&b, 0xfe);
	buf_u16(&b, 0xfedc);
	buf_u32(&b, 0xfedcba98);
	buf_u64(&b, UINT64_C(0xfedcba9876543210));
	buf_str(&b, "hello");
	buf_str(&b, NULL);
	buf_bin(&b, "\0\1\2", 3);
	buf_strv(&b, strv);
	buf_strv(&b, NULL);
	buf_printf(&b, "%d-%s", 42, "x");
	ck_assert(buf_ok(&b));
	rd_init(&r, b.data, b.len);
	ck_assert_uint_eq(rd_u8(&r), 0xfe);
	ck_assert_uint_eq(rd_u16(&r), 0xfedc);
	ck_assert_uint_eq(rd_u32(&r), 0xfedcba98);
	ck_assert(rd_u64(&r) == UINT64_C(0xfedcba9876543210));
	s = rd_str(&r, 5);
	ck_assert_str_eq(s, "hello");
	free(s);
	s = rd_str(&r, 0);
	ck_assert_str_eq(s, "");
	free(s);
	p = rd_bin(&r, 3, &n);
	ck_assert_uint_eq(n, 3);
	ck_assert(memcmp(p, "\0\1\2", 3) == 0);
	got = rd_strv(&r, 3, 8);
	ck_assert_uint_eq(strv_len(got), 3);
	ck_assert_str_eq(got[2], "three");
	strv_free(got);
	got = rd_strv(&r, 0, 0);
	ck_assert_uint_eq(strv_len(got), 0);
	strv_free(got);
	ck_assert(!rd_end(&r));
	p = rd_rest(&r, &n);
	ck_assert_uint_eq(n, 4);
	ck_assert(memcmp(p, "42-x", 4) == 0);
	ck_assert(rd_end(&r));
	buf_free(&b);
}
END_TEST

START_TEST(integers_are_big_endian)
{
	struct buf b;

	buf_init(&b, 64);
	buf_u16(&b, 0x0102);
	buf_u32(&b, 0x03040506);
	ck_assert_uint_eq(b.len, 6);
	ck_assert(memcmp(b.data, "\1\2\3\4\5\6", 6) == 0);
	buf_free(&b);
}
END_TEST

START_TEST(a_write_over_the_maximum_fails_for_good)
{
	struct buf b;

	buf_init(&b, 4);
	buf_put(&b, "abc", 3);
	ck_assert(buf_ok(&b));
	buf_put(&b, "de", 2);
	ck_assert(!buf_ok(&b));
	buf_put(&b, "d", 1);
	ck_assert(!buf_ok(&b));
	ck_assert_uint_eq(b.len, 3);
	ck_assert(b.cap <= 4);
	buf_reset(&b);
	buf_put(&b, "abcd", 4);
	ck_assert(buf_ok(&b));
	ck_assert_ptr_null(buf_reserve(&b, SIZE_MAX));
	buf_free(&b);
	ck_assert_ptr_null(b.data);
	buf_free(&b);
}
END_TEST

START_TEST(a_long_printf_arrives_whole)
{
	char text[1000];
	struct buf b;

	memset(text, 'x', sizeof text - 1);
	text[sizeof text - 1] = '\0';
	buf_init(&b, 2000);
	buf_printf(&b, "<%s>", text);
	ck_assert(buf_ok(&b));
	ck_assert_uint_eq(b.len, sizeof text + 1);
	ck_assert_int_eq(b.data[b.len - 1], '>');
	buf_free(&b);
}
END_TEST

START_TEST(drain_takes_from_the_front)
{
	struct buf b;

	buf_init(&b, 64);
	buf_puts(&b, "abcdef");
	buf_drain(&b, 2);
	ck_assert_uint_eq(b.len, 4);
	ck_assert(memcmp(b.data, "cdef", 4) == 0);
	buf_drain(&b, 4);
	ck_assert_uint_eq(b.len, 0);
	buf_free(&b);
}
END_TEST

START_TEST(a_read_past_the_end_yields_zero_for_good)
{
	struct rd r;

	rd_init(&r, "\1\2\3", 3);
	ck_assert_uint_eq(rd_u32(&r), 0);
	ck_assert_uint_eq(rd_u8(&r), 0);
	ck_assert_ptr_null(rd_raw(&r, 1));
	ck_assert(!rd_end(&r));
}
END_TEST

START_TEST(trailing_bytes_are_no_end)
{
	struct rd r;

	rd_init(&r, "\1\2", 2);
	rd_u8(&r);
	ck_assert(!rd_end(&r));
	rd_u8(&r);
	ck_assert(rd_end(&r));
}
END_TEST

START_TEST(strings_over_the_limit_or_with_a_nul_are_refused)
{
	struct rd r;

	rd_init(&r, "\0\0\0\3abc", 7);
	ck_assert_ptr_null(rd_str(&r, 2));
	rd_init(&r, "\0\0\0\3a\0c", 7);
	ck_assert_ptr_null(rd_str(&r, 3));
	rd_init(&r, "\0\0\0\4abc", 7);
	ck_assert_ptr_null(rd_str(&r, 100));
	rd_init(&r, "\377\377\377\377abc", 7);
	ck_assert_ptr_null(rd_str(&r, SIZE_MAX));
}
END_TEST

START_TEST(a_vector_whose_count_cannot_be_true_is_refused)
{
	struct rd r;

	rd_init(&r, "\377\377\377\377\0\0\0\0", 8);
	ck_assert_ptr_null(rd_strv(&r, SIZE_MAX, SIZE_MAX));
	ck_assert(r.failed);
	/* More strings than allowed. */
	rd_init(&r, "\0\0\0\2\0\0\0\0\0\0\0\0", 12);
	ck_assert_ptr_null(rd_strv(&r, 1, 100));
	/* Together more bytes than allowed. */
	rd_init(&r, "\0\0\0\2\0\0\0\2ab\0\0\0\2cd", 16);
	ck_assert_ptr_null(rd_strv(&r, 2, 3));
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("buf");
	TCase *t = tcase_create("buf");

	tcase_add_test(t, what_is_put_is_got);
	tcase_add_test(t, integers_are_big_endian);
	tcase_add_test(t, a_write_over_the_maximum_fails_for_good);
	tcase_add_test(t, a_long_printf_arrives_whole);
	tcase_add_test(t, drain_takes_from_the_front);
	tcase_add_test(t, a_read_past_the_end_yields_zero_for_good);
	tcase_add_test(t, trailing_bytes_are_no_end);
	tcase_add_test(t, strings_over_the_limit_or_with_a_nul_are_refused);
	tcase_add_test(t, a_vector_whose_count_cannot_be_true_is_refused);
	suite_add_tcase(s, t);
	return suite_run(s);
}
