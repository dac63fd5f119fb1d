/* SPDX-License-Identifier: ISC */
/*
 * Capabilities: loading, the blob, and the expansion of
 * parameters, damaged strings above all.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "../../server/base/buf.h"
#include "../../server/base/limits.h"
#include "../../term/caps.h"
#include "unit.h"

static void
expands(const char *string, int a, int b, const char *want)
{
	struct caps *c = caps_new("test");
	char out[CAPS_EXPAND_MAX + 1];

	caps_set(c, CAP_CUP, string);
	out[caps_expand(c, CAP_CUP, a, b, out)] = '\0';
	ck_assert_msg(strcmp(out, want) == 0, "\"%s\" with %d, %d gives "
	    "\"%s\", not \"%s\"", string, a, b, out, want);
	caps_free(c);
}

#define SETAF "\033[%?%p1%{8}%<%t3%p1%d%e%p1%{16}%<%t9%p1%{8}%-%d%e38;5;" \
	    "%p1%d%;m"

START_TEST(parameters_are_filled_in)
{
	expands("plain", 1, 2, "plain");
	expands("\033[%i%p1%d;%p2%dH", 4, 9, "\033[5;10H");
	expands("\033[%p1%dA", 3, 0, "\033[3A");
	expands(SETAF, 3, 0, "\033[33m");
	expands(SETAF, 9, 0, "\033[91m");
	expands(SETAF, 200, 0, "\033[38;5;200m");
	expands("%%%p1%c", 'x', 0, "%x");
	expands("%p1%03d", 7, 0, "007");
	expands("%p1%2d", 7, 0, " 7");
	expands("%p1%x", 255, 0, "ff");
	expands("%p1%' '%+%c", 1, 0, "!");
	expands("%p1%Pa%ga%ga%+%d", 21, 0, "42");
	expands("%?%p1%{1}%=%ta%e%p1%{2}%=%tb%ec%;", 1, 0, "a");
	expands("%?%p1%{1}%=%ta%e%p1%{2}%=%tb%ec%;", 2, 0, "b");
	expands("%?%p1%{1}%=%ta%e%p1%{2}%=%tb%ec%;", 3, 0, "c");
	expands("%?%p1%t%?%p2%tx%ey%;%ez%;!", 1, 0, "y!");
	expands("%?%p1%t%?%p2%tx%ey%;%ez%;!", 0, 1, "z!");
}
END_TEST

START_TEST(damaged_strings_are_harmless)
{
	struct caps *c = caps_new("test");
	char out[CAPS_EXPAND_MAX], text[CAPS_STRING_MAX + 1];
	static const char *const bad[] = { "%", "%p", "%p0", "%{", "%{999999999",
	    "%?", "%t", "%e", "%;", "%'", "%'x", "%d", "%p1%99999999d",
	    "%p1%.99999d", "%p1%{0}%/%d", "%p1%{0}%m%d", "%+%-%*%/%d",
	    "%p1%s", "%P", "%g", "%P1", "%:", "%:-", "%!%~%d",
	    "%p1%{2147483647}%+%d" };
	size_t i;

	for (i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		caps_set(c, CAP_CUP, bad[i]);
		ck_assert_uint_le(caps_expand(c, CAP_CUP, 2147483647,
		    -2147483647 - 1, out), CAPS_EXPAND_MAX);
	}
	/* Too long an expansion is none. */
	for (i = 0; i + 5 < sizeof text; i += 5)
		memcpy(text + i, "%p1%d", 5);
	text[i] = '\0';
	caps_set(c, CAP_CUP, text);
	ck_assert_uint_eq(caps_expand(c, CAP_CUP, 1000000, 0, out), 0);
	caps_free(c);
}
END_TEST

START_TEST(a_blob_comes_back_whole)
{
	struct caps *c, *d;
	struct buf a, b;
	char *cause = NULL;
	size_t i;

	c = caps_load("xterm-256color", &cause);
	ck_assert_ptr_nonnull(c);
	buf_init(&a, 1 << 16);
	buf_init(&b, 1 << 16);
	caps_put(c, &a);
	d = caps_get(a.data, a.len);
	ck_assert_ptr_nonnull(d);
	ck_assert_str_eq(caps_name(d), "xterm-256color");
	ck_assert_int_eq(caps_colours(d), 256);
	caps_put(d, &b);
	ck_assert_uint_eq(a.len, b.len);
	ck_assert_int_eq(memcmp(a.data, b.data, a.len), 0);
	caps_free(d);
	/* Cut anywhere: refused. */
	for (i = 0; i < a.len; i++)
		ck_assert_ptr_null(caps_get(a.data, i));
	buf_u8(&a, 0);
	ck_assert_ptr_null(caps_get(a.data, a.len));
	caps_free(c);
	buf_free(&a);
	buf_free(&b);
}
END_TEST

START_TEST(a_newer_clients_capability_is_skipped)
{
	struct caps *c;
	struct buf b;

	buf_init(&b, 4096);
	buf_u8(&b, 1);
	buf_str(&b, "future");
	buf_u32(&b, 0xffffffff);
	buf_u32(&b, 1 << 24);
	buf_u32(&b, 2);
	buf_str(&b, "zzz");
	buf_str(&b, "what");
	buf_str(&b, "cup");
	buf_str(&b, "\033[%i%p1%d;%p2%dH");
	c = caps_get(b.data, b.len);
	ck_assert_ptr_nonnull(c);
	ck_assert_int_eq(caps_colours(c), 256);
	caps_free(c);
	buf_free(&b);
}
END_TEST

START_TEST(terminals_without_a_cursor_are_refused_in_words)
{
	static const char *const bad[] = { "dumb", "no-such-terminal", "" };
	char *cause;
	size_t i;

	for (i = 0; i < 3; i++) {
		cause = NULL;
		ck_assert_ptr_null(caps_load(bad[i], &cause));
		ck_assert_ptr_nonnull(cause);
		ck_assert_ptr_nonnull(strstr(cause, "set"));
		free(cause);
	}
	cause = NULL;
	ck_assert_ptr_null(caps_load("dumb", &cause));
	ck_assert_str_eq(cause, "terminal type \"dumb\" cannot move its "
	    "cursor; set TERM to what your terminal really is");
	free(cause);
}
END_TEST

START_TEST(common_terminals_load)
{
	static const char *const good[] = { "xterm-256color", "xterm", "linux",
	    "screen", "screen-256color", "tmux-256color", "alacritty",
	    "xterm-kitty", "foot", "xterm-ghostty", "wezterm", "vt100" };
	struct caps *c;
	char *cause = NULL;
	size_t i;

	for (i = 0; i < sizeof good / sizeof good[0]; i++) {
		c = caps_load(good[i], &cause);
		ck_assert_msg(c != NULL, "%s: %s", good[i],
		    cause == NULL ? "" : cause);
		ck_assert_str_eq(caps_name(c), good[i]);
		caps_free(c);
	}
}
END_TEST

START_TEST(what_a_terminal_is_known_for)
{
	struct caps *c;
	char *cause;

	setenv("COLORTERM", "", 1);
	c = caps_load("xterm-256color", &cause);
	ck_assert(!caps_flag(c, CAPS_RGB | CAPS_SYNC | CAPS_KITTY));
	ck_assert(caps_flag(c, CAPS_LINKS));
	ck_assert(caps_flag(c, CAPS_BCE));
	caps_free(c);
	setenv("COLORTERM", "truecolor", 1);
	c = caps_load("xterm-256color", &cause);
	ck_assert(caps_flag(c, CAPS_RGB));
	caps_free(c);
	c = caps_load("linux", &cause);
	ck_assert(!caps_flag(c, CAPS_RGB | CAPS_SYNC | CAPS_LINKS |
	    CAPS_TITLE | CAPS_DECSCUSR));
	ck_assert_int_eq(caps_colours(c), 8);
	caps_free(c);
	c = caps_load("screen", &cause);
	ck_assert(!caps_flag(c, CAPS_RGB | CAPS_SYNC | CAPS_LINKS));
	caps_free(c);
	unsetenv("COLORTERM");
	c = caps_load("xterm-kitty", &cause);
	ck_assert(caps_flag(c, CAPS_RGB));
	ck_assert(caps_flag(c, CAPS_KITTY));
	ck_assert(caps_flag(c, CAPS_SYNC));
	caps_free(c);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("caps");
	TCase *tc = tcase_create("caps");

	tcase_add_test(tc, parameters_are_filled_in);
	tcase_add_test(tc, damaged_strings_are_harmless);
	tcase_add_test(tc, a_blob_comes_back_whole);
	tcase_add_test(tc, a_newer_clients_capability_is_skipped);
	tcase_add_test(tc, terminals_without_a_cursor_are_refused_in_words);
	tcase_add_test(tc, common_terminals_load);
	tcase_add_test(tc, what_a_terminal_is_known_for);
	suite_add_tcase(s, tc);
	return suite_run(s);
}
