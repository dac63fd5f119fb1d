/* SPDX-License-Identifier: ISC */
/*
 * Mouse reports on a terminal that shows a part of a shell, or more than it.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../term/mouse.h"
#include "../../term/screen.h"

#define X10	MODE_MOUSE_BTN
#define UTF8	(MODE_MOUSE_BTN | MODE_MOUSE_UTF8)
#define SGR	(MODE_MOUSE_DRAG | MODE_MOUSE_SGR)
#define URXVT	(MODE_MOUSE_BTN | MODE_MOUSE_URXVT)
#define PIXEL	(MODE_MOUSE_ANY | MODE_MOUSE_PIXEL)

/* A terminal of 10 by 40, cells of 8 by 16 pixels, shows a shell of 30 by 100
 * from row 5, column 20 on; or one of 5 by 20; or its like. */
static struct mouse_view clipped = { 0, 5, 20, 30, 100, 10, 40, 320, 160 };
static struct mouse_view padded = { 0, 0, 0, 5, 20, 10, 40, 320, 160 };
static struct mouse_view equal = { 0, 0, 0, 10, 40, 10, 40, 320, 160 };
/* Cut on one side, padded on the other. */
static struct mouse_view mixed = { 0, 0, 20, 5, 60, 10, 40, 320, 160 };

static char got[512];

/* In pieces of n bytes; a flush at the end. */
static void
feed(const struct mouse_view *view, uint32_t modes, const char *in, size_t len,
    size_t n)
{
	struct mouse_view v = *view;
	struct mouse *m = mouse_new();
	struct buf out;
	size_t i, k;

	v.modes = modes;
	buf_init(&out, sizeof got - 1);
	for (i = 0; i < len; i += k) {
		k = len - i < n ? len - i : n;
		mouse_feed(m, &v, in + i, k, &out);
	}
	mouse_flush(m, &out);
	ck_assert(!mouse_pending(m));
	ck_assert(buf_ok(&out));
	if (out.len > 0)
		memcpy(got, out.data, out.len);
	got[out.len] = '\0';
	buf_free(&out);
	mouse_free(m);
}

#define ESC "\033"

static const struct {
	struct mouse_view *view;
	uint32_t	 modes;
	const char	*in, *out;
} cases[] = {
	/* a part of the shell: moved by what is left of it and above it */
	{ &clipped, SGR, ESC "[<0;1;1M", ESC "[<0;21;6M" },
	{ &clipped, SGR, ESC "[<0;40;10M" ESC "[<0;40;10m",
	    ESC "[<0;60;15M" ESC "[<0;60;15m" },
	{ &clipped, SGR, ESC "[<64;3;4M", ESC "[<64;23;9M" },
	{ &clipped, SGR, ESC "[<35;3;4M", ESC "[<35;23;9M" },
	{ &clipped, X10, ESC "[M !!", ESC "[M 5&" },
	{ &clipped, UTF8, ESC "[M !!", ESC "[M 5&" },
	{ &clipped, URXVT, ESC "[32;1;1M", ESC "[32;21;6M" },
	{ &clipped, PIXEL, ESC "[<0;1;1M", ESC "[<0;161;81M" },
	{ &clipped, PIXEL, ESC "[<0;0;0M", ESC "[<0;160;80M" },
	/* more than the shell: what is beside it is nothing */
	{ &padded, SGR, ESC "[<0;20;5M" ESC "[<0;20;5m",
	    ESC "[<0;20;5M" ESC "[<0;20;5m" },
	{ &padded, SGR, ESC "[<0;21;5M" ESC "[<0;21;5m", "" },
	{ &padded, SGR, ESC "[<0;20;6M" ESC "[<0;20;6m", "" },
	{ &padded, SGR, ESC "[<64;21;1M", "" },
	{ &padded, SGR, ESC "[<35;21;1M", "" },
	{ &padded, SGR, ESC "[<32;21;1M", "" },
	{ &padded, X10, ESC "[M 5!" ESC "[M#5!", "" },
	{ &padded, URXVT, ESC "[32;21;1M" ESC "[35;21;1M", "" },
	{ &padded, PIXEL, ESC "[<0;160;80M", ESC "[<0;160;80M" },
	{ &padded, PIXEL, ESC "[<0;161;80M", "" },
	/* ... but what began inside ends, at the edge */
	{ &padded, SGR, ESC "[<0;3;3M" ESC "[<32;30;9M" ESC "[<0;30;9m",
	    ESC "[<0;3;3M" ESC "[<32;20;5M" ESC "[<0;20;5m" },
	{ &padded, SGR, ESC "[<0;3;3M" ESC "[<0;30;9m" ESC "[<32;30;9M",
	    ESC "[<0;3;3M" ESC "[<0;20;5m" },
	{ &padded, X10, ESC "[M ##" ESC "[M#A)", ESC "[M ##" ESC "[M#4%" },
	{ &padded, PIXEL, ESC "[<0;9;9M" ESC "[<0;300;150m",
	    ESC "[<0;9;9M" ESC "[<0;160;80m" },
	{ &mixed, SGR, ESC "[<0;40;5M" ESC "[<0;40;6M",
	    ESC "[<0;60;5M" },
	/* all that is no report, or not asked for */
	{ &clipped, 0, ESC "[<0;1;1M" ESC "[M !!", ESC "[<0;1;1M" ESC "[M !!" },
	{ &clipped, SGR, "abc" ESC "x" ESC ESC "[A" ESC "OP" ESC "[15~" ESC,
	    "abc" ESC "x" ESC ESC "[A" ESC "OP" ESC "[15~" ESC },
	{ &clipped, SGR, ESC "[I" ESC "[97;5u" ESC "[1;5A" ESC "[<0;1M"
	    ESC "[<0;1;x", ESC "[I" ESC "[97;5u" ESC "[1;5A" ESC "[<0;1M"
	    ESC "[<0;1;x" },
	{ &clipped, SGR, ESC "[1;1;1M", ESC "[1;1;1M" },
	{ &clipped, SGR, ESC "[<0;0;1M", ESC "[<0;0;1M" },
	{ &clipped, SGR, ESC "[<0;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1M",
	    ESC "[<0;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1M" },
	{ &clipped, SGR, ESC "[<0;1\rx" ESC "[<0;1;1M",
	    ESC "[<0;1\rx" ESC "[<0;21;6M" },
	/* a paste is text */
	{ &clipped, SGR, ESC "[200~" ESC "[<0;1;1M" ESC "[201~"
	    ESC "[<0;1;1M", ESC "[200~" ESC "[<0;1;1M" ESC "[201~"
	    ESC "[<0;21;6M" },
	{ &equal, SGR, ESC "[<0;40;10M" ESC "[200~" ESC "[M", ESC
	    "[<0;40;10M" ESC "[200~" ESC "[M" },
};
#define NCASES (int)(sizeof cases / sizeof cases[0])

START_TEST(reports_are_told_in_the_shells_places)
{
	size_t n, len = strlen(cases[_i].in);

	for (n = 1; n <= len; n++) {
		feed(cases[_i].view, cases[_i].modes, cases[_i].in, len, n);
		ck_assert_msg(strcmp(got, cases[_i].out) == 0,
		    "in pieces of %zu: %s", n, got + (got[0] == 27));
	}
}
END_TEST

START_TEST(what_the_old_forms_cannot_say_is_dropped)
{
	struct mouse_view far = { 0, 0, 200, 24, 1000, 24, 80, 0, 0 };

	feed(&far, X10, ESC "[M 7!", 6, 6);
	ck_assert_str_eq(got, ESC "[M \xff!");
	feed(&far, X10, ESC "[M 8!", 6, 6);
	ck_assert_str_eq(got, "");
	feed(&far, UTF8, ESC "[M 8!", 6, 6);
	ck_assert_str_eq(got, ESC "[M \xc4\x80!");
	feed(&far, UTF8, ESC "[M \xc2\x80!", 7, 1);
	ck_assert_str_eq(got, ESC "[M \xc5\x88!");
}
END_TEST

START_TEST(pixels_of_unknown_size_pass_where_nothing_moves)
{
	struct mouse_view v = clipped, p = padded;

	v.out_x = v.out_y = p.out_x = p.out_y = 0;
	feed(&v, PIXEL, ESC "[<0;9;9M", 9, 9);
	ck_assert_str_eq(got, "");
	feed(&p, PIXEL, ESC "[<0;9;9M", 9, 9);
	ck_assert_str_eq(got, ESC "[<0;9;9M");
}
END_TEST

START_TEST(nothing_is_held_while_sizes_are_equal)
{
	struct mouse *m = mouse_new();
	struct mouse_view v = equal;
	struct buf out;

	v.modes = SGR;
	buf_init(&out, 100);
	mouse_feed(m, &v, ESC "[<0", 4, &out);
	ck_assert_uint_eq(out.len, 4);
	ck_assert(!mouse_pending(m));
	/* Begun there, it is not taken apart in the middle. */
	v.rows = 5;
	mouse_feed(m, &v, ";1;9M" ESC "[<0", 9, &out);
	ck_assert_uint_eq(out.len, 9);
	ck_assert(mouse_pending(m));
	mouse_flush(m, &out);
	ck_assert_uint_eq(out.len, 13);
	buf_free(&out);
	mouse_free(m);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("mouse");
	TCase *t = tcase_create("mouse");
	SRunner *sr = srunner_create(s);
	int failed;

	tcase_add_loop_test(t, reports_are_told_in_the_shells_places, 0,
	    NCASES);
	tcase_add_test(t, what_the_old_forms_cannot_say_is_dropped);
	tcase_add_test(t, pixels_of_unknown_size_pass_where_nothing_moves);
	tcase_add_test(t, nothing_is_held_while_sizes_are_equal);
	suite_add_tcase(s, t);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
