/* SPDX-License-Identifier: ISC */
/*
 * The hooks that other tests rely on: a process stops where it was told to,
 * once, and says who it is.
 */
#include <sys/wait.h>
#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "../../server/base/fd.h"
#include "../../server/base/hook.h"
#include "../../server/base/mem.h"
#include "unit.h"

#ifdef DLMUX_HOOKS
START_TEST(a_process_stops_at_the_hook_that_a_test_set)
{
	char dir[] = "/tmp/check_hook.XXXXXX", *set, *hit, *data;
	int status;
	pid_t pid;

	ck_assert_ptr_nonnull(mkdtemp(dir));
	set = xasprintf("%s/here", dir);
	hit = xasprintf("%s/here.hit", dir);
	ck_assert_int_eq(fd_write_file(set, "", 0), 0);
	setenv("DLMUX_HOOK_DIR", dir, 1);
	if ((pid = fork()) == 0) {
		HOOK("elsewhere");
		HOOK("here");
		HOOK("here");
		_exit(3);
	}
	ck_assert_int_eq(waitpid(pid, &status, WUNTRACED), pid);
	ck_assert(WIFSTOPPED(status));
	ck_assert_int_eq(access(set, F_OK), -1);
	ck_assert_int_gt(fd_read_file(hit, &data, 100), 0);
	ck_assert_int_eq(atol(data), pid);
	kill(pid, SIGCONT);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 3);
	unlink(hit);
	rmdir(dir);
	free(set);
	free(hit);
	free(data);
}
END_TEST
#else
START_TEST(hooks_are_nothing_in_a_release)
{
	HOOK("here");
	puts("SKIP hooks are not compiled in (HOOKS=1)");
}
END_TEST
#endif

int
main(void)
{
	Suite *s = suite_create("hook");
	TCase *t = tcase_create("hook");

#ifdef DLMUX_HOOKS
	tcase_add_test(t, a_process_stops_at_the_hook_that_a_test_set);
#else
	tcase_add_test(t, hooks_are_nothing_in_a_release);
#endif
	suite_add_tcase(s, t);
	return suite_run(s);
}
