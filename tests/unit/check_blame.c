/* SPDX-License-Identifier: ISC */
/* server/blame.c: what a dead server left, and what the next one makes of it. */
#include <sys/wait.h>
#include <check.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../server/base/limits.h"
#include "../../server/base/mem.h"
#include "../../server/blame.h"
#include "unit.h"

static char dir[] = "/tmp/dlmux-blame.XXXXXX", *path;

static void
setup(void)
{
	ck_assert_ptr_nonnull(mkdtemp(dir));
	path = xasprintf("%s/blame", dir);
}

static void
teardown(void)
{
	(void)unlink(path);
	(void)rmdir(dir);
	free(path);
}

static unsigned int
count(uint64_t uid)
{
	uint64_t at;

	return blame_count(uid, &at);
}

/* Ours, as it stands in a line that a death wrote. */
static char version[128];

enum death { BY_ABORT, BY_FAULT, BY_SPINNING, BY_SOMEBODY, BY_KILL };

/* A server that dies so while it is at these bytes (uid 0: at none). */
static void
die(enum death how, uint64_t uid, uint64_t from, uint64_t to)
{
	volatile unsigned int n = 0;
	int status, ready[2];
	char none;
	pid_t pid;

	ck_assert_int_eq(pipe(ready), 0);
	if ((pid = fork()) == 0) {
		blame_load(path);
		blame_catch();
		blame_on(uid, from, to);
		if (uid == 0)
			blame_off();
		close(ready[1]);
		switch (how) {
		case BY_ABORT:
			abort();
		case BY_FAULT:
			*(volatile int *)(uintptr_t)(n + 8) = 1;
			break;
		case BY_SPINNING:
			for (;;)
				n++;
		default:
			for (;;)
				pause();
		}
		_exit(0);
	}
	close(ready[1]);
	ck_assert_int_eq(read(ready[0], &none, 1), 0);	/* it is there */
	close(ready[0]);
	if (how == BY_SOMEBODY || how == BY_KILL)
		(void)kill(pid, how == BY_KILL ? SIGKILL : SIGSEGV);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFSIGNALED(status) || WEXITSTATUS(status) != 0);
	blame_load(path);
}

START_TEST(twice_at_one_place_is_out)
{
	uint64_t at;

	die(BY_ABORT, 7, 1000, 2000);
	ck_assert_uint_eq(count(7), 1);
	die(BY_ABORT, 7, 500, 1200);
	ck_assert_uint_eq(blame_count(7, &at), BLAME_OUT);
	ck_assert_uint_eq(at, 500);
	ck_assert_uint_eq(count(8), 0);
}
END_TEST

START_TEST(elsewhere_is_another_time)
{
	die(BY_ABORT, 7, 1000, 2000);
	die(BY_ABORT, 7, 10u << 20, (10u << 20) + 16384);
	ck_assert_uint_eq(count(7), 1);
	die(BY_ABORT, 7, (10u << 20) - 16384, (10u << 20) + 1);
	ck_assert_uint_eq(count(7), BLAME_OUT);
}
END_TEST

START_TEST(a_fault_counts_and_somebodys_signal_does_not)
{
	die(BY_SOMEBODY, 7, 0, 1);
	die(BY_KILL, 7, 0, 1);
	die(BY_ABORT, 0, 0, 0);
	ck_assert_int_eq(access(path, F_OK), -1);
#if !defined(__SANITIZE_UNDEFINED__) && !defined(__SANITIZE_ADDRESS__)
	die(BY_FAULT, 7, 0, 1);
	ck_assert_uint_eq(count(7), 1);
#endif
}
END_TEST

START_TEST(who_computes_for_ever_is_stopped)
{
	setenv("DLMUX_STUCK_MS", "50", 1);
	die(BY_SPINNING, 7, 0, 1);
	unsetenv("DLMUX_STUCK_MS");
	ck_assert_uint_eq(count(7), 1);
}
END_TEST

START_TEST(forgiven_for_the_next_one_too)
{
	die(BY_ABORT, 7, 0, 1);
	die(BY_ABORT, 9, 0, 1);
	blame_forgive(7);
	blame_forgive(1234);
	ck_assert_uint_eq(count(7), 0);
	blame_load(path);
	ck_assert_uint_eq(count(7), 0);
	ck_assert_uint_eq(count(9), 1);
	blame_forgive(9);
	blame_load(path);
	ck_assert_int_eq(access(path, F_OK), -1);
}
END_TEST

static void
learn_version(void)
{
	FILE *f;

	die(BY_ABORT, 1, 0, 1);
	f = fopen(path, "r");
	ck_assert_ptr_nonnull(f);
	ck_assert_int_eq(fscanf(f, "%*s %*s %*s %*s %*s %127s", version), 1);
	fclose(f);
	(void)unlink(path);
}

static void
file(const char *fmt, ...)
{
	FILE *f = fopen(path, "w");
	va_list ap;

	ck_assert_ptr_nonnull(f);
	va_start(ap, fmt);
	vfprintf(f, fmt, ap);
	va_end(ap);
	fclose(f);
	blame_load(path);
}

START_TEST(another_version_and_damage_count_for_nothing)
{
	learn_version();
	file("dlmux-blame-1 7 0 1 6 0.0-other\n");
	ck_assert_uint_eq(count(7), 0);
	file("dlmux-blame-1 7 0 1 6 %s\n", version);
	ck_assert_uint_eq(count(7), 1);
	file("dlmux-blame-1 7 0 1 6 %s\ndlmux-blame-1 7 0\n"
	    "dlmux-blame-1 7 5 1 6 %s\nnoise\n\n\1\2\n"
	    "dlmux-blame-1 7 0 99999999999999999999 6 %s\n"
	    "dlmux-blame-1 7 0 1 6 %s x\ndlmux-blame-1 7 0 1", version,
	    version, version, version);
	ck_assert_uint_eq(count(7), 1);
	/* What it was read from it is written as. */
	blame_load(path);
	ck_assert_uint_eq(count(7), 1);
	file("%0*d", (int)BLAME_FILE_MAX + 10, 1);
	ck_assert_int_eq(access(path, F_OK), -1);
}
END_TEST

START_TEST(the_newest_of_too_many)
{
	FILE *f;
	unsigned int i;

	learn_version();
	f = fopen(path, "w");
	ck_assert_ptr_nonnull(f);
	for (i = 1; i <= BLAME_SHELLS + 3; i++)
		fprintf(f, "dlmux-blame-1 %x 0 1 6 %s\n", i, version);
	fclose(f);
	blame_load(path);
	ck_assert_uint_eq(count(3), 0);
	ck_assert_uint_eq(count(4), 1);
	ck_assert_uint_eq(count(BLAME_SHELLS + 3), 1);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("blame");
	TCase *t = tcase_create("blame");

	suite_add_tcase(s, t);
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, twice_at_one_place_is_out);
	tcase_add_test(t, elsewhere_is_another_time);
	tcase_add_test(t, a_fault_counts_and_somebodys_signal_does_not);
	add_hook_test(t, who_computes_for_ever_is_stopped);
	tcase_add_test(t, forgiven_for_the_next_one_too);
	tcase_add_test(t, another_version_and_damage_count_for_nothing);
	tcase_add_test(t, the_newest_of_too_many);
	return suite_run(s);
}
