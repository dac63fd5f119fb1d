/* SPDX-License-Identifier: ISC */
/*
 * What the unit tests share: the end of main(), a command that must succeed,
 * and words for what not every program needs.
 */
#ifndef DLMUX_UNIT_H
#define DLMUX_UNIT_H

#include <check.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* In a header of tests: not every program uses all of it. */
#define MAYBE __attribute__((unused))

/* Runs the suite, which it frees. Returns main()'s status. */
static inline int
suite_run(Suite *s)
{
	SRunner *r = srunner_create(s);
	int failed;

	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}

/* The test fails where the shell command does. */
__attribute__((format(printf, 1, 2)))
static inline void
sh(const char *fmt, ...)
{
	va_list ap;
	char *cmd;

	va_start(ap, fmt);
	ck_assert_int_gt(vasprintf(&cmd, fmt, ap), 0);
	va_end(ap);
	ck_assert_msg(system(cmd) == 0, "%s", cmd);
	free(cmd);
}

/* A test that stops a process at a named point, or shortens a deadline. */
#ifdef DLMUX_HOOKS
#define add_hook_test(t, f)	tcase_add_test(t, f)
#else
#define add_hook_test(t, f)	((void)(t), (void)(f))
#endif

#endif
