/* SPDX-License-Identifier: ISC */
/*
 * Links for real, behind a Command and over the local socket: how they come
 * up, fail, are lost and come back.
 */
#include <sys/wait.h>
#include <errno.h>

#include "../../server/base/limits.h"
#include "../../server/link/child.h"
#include "../../server/link/retry.h"
#include "link-far.h"

static void
far_command(const char *tail)
{
	with_command(FAR "%s", top, top, top, tail);
}

START_TEST(local_agent_is_started_and_found_again)
{
	uint8_t first[MSG_ID];
	uint32_t pid;

	memset(&target, 0, sizeof target);
	target.scheme = SCHEME_LOCAL;
	target.name = (char *)"local";
	make();
	ck_assert_int_eq(link_state(link_), LINK_DOWN);
	link_connect(link_, environ, LINK_USER);
	ck_assert_int_eq(link_state(link_), LINK_CONNECTING);
	await(ups == 1 && readies == 1 && link_rtt_us(link_) > 0);
	ck_assert_int_eq(link_pid(link_), 0);
	ck_assert_uint_lt(link_rtt_us(link_), 1000000);
	memcpy(first, instance, MSG_ID);
	pid = agent_pid;
	/* let go and come again: the same agent */
	link_disconnect(link_, "disconnected");
	ck_assert_int_eq(link_state(link_), LINK_DOWN);
	ck_assert_ptr_null(link_agent(link_));
	await(downs == 1);
	link_connect(link_, NULL, LINK_USER);
	await(ups == 2);
	ck_assert_mem_eq(first, instance, MSG_ID);
	/* killed: wanted, so it comes back, with another id */
	link_want(link_, true);
	ck_assert_int_eq(kill((pid_t)pid, SIGKILL), 0);
	await(downs == 2 && ups == 3);
	ck_assert_mem_ne(first, instance, MSG_ID);
}
END_TEST

START_TEST(two_links_start_one_local_agent)
{
	struct link *other;
	uint32_t pid;

	memset(&target, 0, sizeof target);
	target.scheme = SCHEME_LOCAL;
	target.name = (char *)"local";
	make();
	other = link_;
	link_ = NULL;
	make();
	link_connect(link_, environ, LINK_USER);
	link_connect(other, environ, LINK_USER);
	await(ups == 2);
	pid = link_agent(link_)->pid;
	ck_assert_uint_eq(link_agent(other)->pid, pid);
	link_free(other);
}
END_TEST

START_TEST(program_sends_itself_cold_and_is_found_warm)
{
	char *file = xasprintf("%s/far/c/dlmux", top);
	uint64_t t;

	far_command("sh -c %c");
	t = clock_ms();
	link_connect(link_, environ, LINK_USER);
	await(ups == 1 && readies == 1);
	printf("cold %lu ms\n", (unsigned long)(clock_ms() - t));
	ck_assert_int_gt(link_pid(link_), 0);
	sh("test $(ls -A %s | wc -l) = 1 && cmp %s/dlmux-* /proc/%d/exe",
	    file, file, (int)getpid());
	link_disconnect(link_, "disconnected");
	await(downs == 1);
	ck_assert_int_eq(link_pid(link_), 0);
	t = clock_ms();
	link_connect(link_, NULL, LINK_USER);
	await(ups == 2);
	printf("warm %lu ms\n", (unsigned long)(clock_ms() - t));
	free(file);
}
END_TEST

START_TEST(noise_before_the_agent_is_passed_over)
{
	far_command("sh -c 'echo hello; printf glued; echo err >&2; "
	    "exec \"$@\"' x sh -c %c");
	link_connect(link_, environ, LINK_USER);
	await(ups == 1);
	/* and a loss is not explained by it */
	kill((pid_t)agent_pid, SIGKILL);
	await(downs == 1);
	ck_assert_ptr_nonnull(strstr(last_text, "closed"));
}
END_TEST

START_TEST(cut_upload_says_so_and_the_next_one_works)
{
	far_command("sh -c 'head -c 300000 | exec \"$@\"' x sh -c %c");
	link_connect(link_, environ, LINK_USER);
	await(fails == 1);
	ck_assert_msg(strstr(last_text, "could not be written") != NULL,
	    "%s", last_text);
	sh("test -z \"$(ls -A %s/far/c/dlmux)\"", top);
	far_command("sh -c %c");
	link_connect(link_, environ, LINK_USER);
	await(ups == 1);
}
END_TEST

START_TEST(damaged_program_of_the_right_name_is_replaced)
{
	far_command("sh -c %c");
	link_connect(link_, environ, LINK_USER);
	await(ups == 1);
	link_disconnect(link_, "disconnected");
	kill((pid_t)agent_pid, SIGKILL);
	sh("f=$(echo %s/far/c/dlmux/dlmux-*); rm $f; head -c 5000 "
	    "/proc/%d/exe >$f; chmod 700 $f", top, (int)getpid());
	await(downs == 1);
	link_connect(link_, environ, LINK_USER);
	await(ups == 2);
	sh("cmp %s/far/c/dlmux/dlmux-* /proc/%d/exe", top, (int)getpid());
}
END_TEST

START_TEST(failures_are_told_in_their_own_words)
{
	static const struct { const char *command, *text; } t[] = {
		{ "echo first >&2; echo 'why not' >&2; exit 3 #", "why not" },
		{ "exit 3 #", "its Command exited with status 3 before "
		    "dlmux could be started there" },
		{ "kill -9 $$ #", "its Command was killed by signal KILL "
		    "before dlmux could be started there" },
		{ "echo only noise; exit 1 #", "only noise" },
		{ "printf '\\033[31mred\\033[0m\\r\\n' >&2; exit 1 #", "red" },
		{ "no-such-program-here", "sh: 1: no-such-program-here: not "
		    "found" },
		{ "exec cat /dev/zero #", "more than 256 KiB came and no "
		    "agent spoke; does a start-up file print without end?" },
	};

	with_command("%s", t[_i].command);
	link_connect(link_, environ, LINK_USER);
	await(fails == 1);
	ck_assert_str_eq(last_text, t[_i].text);
	ck_assert_str_eq(link_text(link_), t[_i].text);
	ck_assert_int_eq(link_state(link_), LINK_FAILED);
	ck_assert(!link_retrying(link_));
}
END_TEST
#define NFAILURES 7

START_TEST(silent_far_side_is_given_up)
{
	setenv("DLMUX_LINK_TIMES", "15000,3000,45000,10000,700", 1);
	with_command("echo trying >&2; sleep 100 #");
	unsetenv("DLMUX_LINK_TIMES");
	link_connect(link_, environ, LINK_USER);
	await(fails == 1);
	ck_assert_str_eq(last_text, "no answer within 0 s; last heard: "
	    "trying");
}
END_TEST

START_TEST(foreign_machine_wants_a_binary_and_gets_it)
{
	sh("printf '#!/bin/sh\\necho Plan9 mips\\n' >%s/bin/uname; "
	    "chmod 755 %s/bin/uname", top, top);
	with_command(FAR "PATH=%s/bin:$PATH sh -c %%c", top, top, top, top);
	link_connect(link_, environ, LINK_USER);
	await(fails == 1);
	ck_assert_ptr_nonnull(strstr(last_text, "Plan9 mips"));
	ck_assert_ptr_nonnull(strstr(last_text, "AgentBinary"));
	/* by file */
	target.binary = xasprintf("/proc/%d/exe", (int)getpid());
	make();
	link_connect(link_, environ, LINK_USER);
	await(ups == 1);
	link_disconnect(link_, "disconnected");
	free(target.binary);
	/* by directory, from cold */
	sh("rm -r %s/far/c; cp /proc/%d/exe %s/bin/dlmux-plan9-mips", top,
	    (int)getpid(), top);
	target.binary = NULL;
	target.binary_dir = xasprintf("%s/bin", top);
	make();
	link_connect(link_, environ, LINK_USER);
	await(ups == 1);
	free(target.binary_dir);
}
END_TEST

START_TEST(lost_transport_comes_back_to_the_same_agent)
{
	uint8_t first[MSG_ID];
	int i;

	far_command("sh -c %c");
	link_want(link_, true);
	await(ups == 1);
	memcpy(first, instance, MSG_ID);
	for (i = 2; i < 4; i++) {
		kill(link_pid(link_), SIGKILL);
		await(downs == i - 1 && ups == i);
		ck_assert_mem_eq(first, instance, MSG_ID);
	}
}
END_TEST

START_TEST(dead_peer_is_found_and_its_transport_killed)
{
	uint64_t t;
	pid_t pid;

	setenv("DLMUX_LINK_TIMES", "300,100,1500,700,9000", 1);
	far_command("sh -c %c");
	unsetenv("DLMUX_LINK_TIMES");
	link_connect(link_, environ, LINK_USER);
	await(ups == 1 && link_rtt_us(link_) > 0);
	pid = link_pid(link_);
	ck_assert_uint_eq(link_silent_ms(link_), 0);
	kill((pid_t)agent_pid, SIGSTOP);
	t = clock_ms();
	await(link_silent_ms(link_) > 100);
	await(downs == 1);
	t = clock_ms() - t;
	ck_assert_msg(t >= 1000 && t < 4000, "%lu", (unsigned long)t);
	ck_assert_msg(strncmp(last_text, "no answer for ", 14) == 0, "%s",
	    last_text);
	/* reaped by itself */
	await(kill(pid, 0) == -1 && errno == ESRCH);
	kill((pid_t)agent_pid, SIGCONT);
	/* somebody waits: sooner */
	link_connect(link_, environ, LINK_USER);
	await(ups == 2);
	link_busy(link_, true);
	kill((pid_t)agent_pid, SIGSTOP);
	t = clock_ms();
	await(downs == 2);
	t = clock_ms() - t;
	ck_assert_msg(t >= 400 && t < 1500, "%lu", (unsigned long)t);
	kill((pid_t)agent_pid, SIGCONT);
}
END_TEST

START_TEST(peer_that_comes_back_in_time_is_kept)
{
	setenv("DLMUX_LINK_TIMES", "200,100,3000,3000,9000", 1);
	far_command("sh -c %c");
	unsetenv("DLMUX_LINK_TIMES");
	link_connect(link_, environ, LINK_USER);
	await(ups == 1);
	kill((pid_t)agent_pid, SIGSTOP);
	await(link_silent_ms(link_) > 800);
	kill((pid_t)agent_pid, SIGCONT);
	await(link_silent_ms(link_) == 0);
	ck_assert_int_eq(downs, 0);
}
END_TEST

START_TEST(transport_that_ignores_term_is_killed_with_its_group)
{
	pid_t pid;

	with_command("trap '' TERM HUP; (trap '' TERM HUP; sleep 100) & "
	    "echo up >%s/started; sleep 100; sleep 100 #", top);
	link_connect(link_, environ, LINK_USER);
	{
		char *file = xasprintf("%s/started", top);

		await(access(file, F_OK) == 0);
		free(file);
	}
	pid = link_pid(link_);
	ck_assert_int_gt(pid, 0);
	link_disconnect(link_, "disconnected");
	await(kill(-pid, 0) == -1);
}
END_TEST

START_TEST(failed_tries_are_capped_and_remembered)
{
	struct link *l;
	struct target other;
	uint64_t t = clock_ms();
	char *tries, text[64];
	int i;

	with_command("echo no >&2; exit 1 #");
	for (i = 1; i <= (int)RETRY_BURST_USER; i++) {
		link_connect(link_, environ, LINK_USER);
		await(fails == i);
		ck_assert_str_eq(last_text, "no");
	}
	link_connect(link_, environ, LINK_USER);
	await(fails == (int)RETRY_BURST_USER + 1);
	ck_assert_msg(strncmp(last_text, "not tried: 5 tries failed within "
	    "30 s; next try in ", 50) == 0, "%s", last_text);
	ck_assert_ptr_nonnull(strstr(last_text, " s; the last: no"));
	/* a new server knows it */
	tries = link_tries(link_);
	l = link_;
	link_ = NULL;
	make();
	link_set_tries(link_, tries);
	link_connect(link_, environ, LINK_USER);
	await(fails == 1);
	ck_assert_ptr_nonnull(strstr(last_text, "5 tries failed"));
	/* the same once more changes nothing, another command does */
	link_retarget(link_, &target);
	link_connect(link_, environ, LINK_USER);
	await(fails == 2);
	ck_assert_ptr_nonnull(strstr(last_text, "5 tries failed"));
	other = target;
	other.command = strcpy(text, "echo other >&2; exit 1 #");
	link_retarget(link_, &other);
	link_connect(link_, environ, LINK_USER);
	await(fails == 3);
	ck_assert_str_eq(last_text, "other");
	free(tries);
	link_free(l);
	ck_assert_uint_lt(clock_ms() - t, 10000);
}
END_TEST

START_TEST(back_off_grows_with_jitter_to_its_ceiling)
{
	struct retry r = { { 0 }, 0 };
	static const uint64_t want[2][10] = { { 0, 500, 1000, 2000, 4000,
	    8000, 16000, 30000, 30000, 30000 }, { 0, 1000, 3000, 8000, 18000,
	    30000, 30000, 30000, 30000, 30000 } };
	size_t i, k;
	uint64_t ms;

	for (k = 0; k < 2; k++) {
		retry_clear(&r);
		for (i = 0; i < 10; i++) {
			ms = retry_delay(&r, k == 0 ? RETRY_ANY :
			    RETRY_BACKGROUND, 0);
			ck_assert_msg(ms >= want[k][i] * 4 / 5 &&
			    ms <= want[k][i] * 6 / 5, "step %zu: %lu", i,
			    (unsigned long)ms);
		}
	}
	for (i = 0; i < 100; i++)
		ck_assert_uint_le(retry_delay(&r, RETRY_ANY, 0), 36000);
	/* a try that hung was a pause itself */
	ck_assert_uint_le(retry_delay(&r, RETRY_ANY, 20000), 16000);
	ck_assert_uint_eq(retry_delay(&r, RETRY_ANY, 60000), RETRY_MIN_MS);
	retry_clear(&r);
	ck_assert_uint_eq(retry_delay(&r, RETRY_BACKGROUND, 0), 0);
	/* one try more for a user who acts */
	for (i = 0; i < RETRY_BURST; i++)
		retry_failed(&r);
	ck_assert_uint_gt(retry_wait(&r, RETRY_BACKGROUND), 20000);
	ck_assert_uint_eq(retry_wait(&r, RETRY_USER), 0);
	retry_failed(&r);
	ck_assert_uint_gt(retry_wait(&r, RETRY_USER), 20000);
	ck_assert_uint_eq(retry_wait(&r, RETRY_ANY), 0);
	retry_get(&r, "12,junk");
	ck_assert_uint_eq(r.failed[0], 12);
	ck_assert_uint_eq(r.failed[1], 0);
	retry_get(&r, NULL);
	ck_assert_uint_eq(r.failed[0], 0);
}
END_TEST

/* TCP's own tries get rare in a black hole: who acts does not wait for them. */
START_TEST(try_that_hangs_gives_way_to_a_user)
{
	uint64_t t;
	pid_t pid;

	with_command("test -e %s/hole && exec sleep 100; " FAR "sh -c %%c", top,
	    top, top, top);
	link_connect(link_, environ, LINK_USER);
	await(ups == 1);
	sh(": >%s/hole", top);
	pid = link_pid(link_);
	link_want(link_, true);
	kill(-pid, SIGKILL);
	await(downs == 1 && link_pid(link_) != 0);
	/* one who comes back waits with the rest, and so does a user at first */
	link_connect(link_, environ, LINK_RETURN);
	link_connect(link_, environ, LINK_USER);
	idle(500);
	ck_assert_int_eq(link_state(link_), LINK_CONNECTING);
	ck_assert_ptr_nonnull(link_why(link_));
	idle(CONNECT_STALE_MS);
	sh("rm %s/hole", top);
	link_connect(link_, environ, LINK_RETURN);
	idle(100);
	ck_assert_int_eq(ups, 1);
	t = clock_ms();
	link_connect(link_, environ, LINK_USER);
	await(ups == 2);
	ck_assert_uint_lt(clock_ms() - t, 5000);
	ck_assert_ptr_null(link_why(link_));
}
END_TEST

START_TEST(link_may_be_freed_at_any_moment)
{
	int i;

	for (i = 0; i < 12; i++) {
		far_command("sh -c %c");
		link_connect(link_, environ, LINK_USER);
		idle(i * 5);
		link_free(link_);
		link_ = NULL;
		idle(2);
	}
}
END_TEST

int
main(int argc, char **argv)
{
	Suite *s;
	TCase *t;

	if (argc > 1 && strcmp(argv[1], "agent") == 0)
		return agent_main(argc - 1, argv + 1);
	signal(SIGPIPE, SIG_IGN);
	s = suite_create("link");
	t = tcase_create("link");
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_set_timeout(t, 60);
	tcase_add_test(t, local_agent_is_started_and_found_again);
	tcase_add_test(t, two_links_start_one_local_agent);
	tcase_add_test(t, program_sends_itself_cold_and_is_found_warm);
	tcase_add_test(t, noise_before_the_agent_is_passed_over);
	tcase_add_test(t, cut_upload_says_so_and_the_next_one_works);
	tcase_add_test(t, damaged_program_of_the_right_name_is_replaced);
	tcase_add_loop_test(t, failures_are_told_in_their_own_words, 0,
	    NFAILURES);
	tcase_add_test(t, foreign_machine_wants_a_binary_and_gets_it);
	tcase_add_test(t, lost_transport_comes_back_to_the_same_agent);
	add_hook_test(t, dead_peer_is_found_and_its_transport_killed);
	add_hook_test(t, peer_that_comes_back_in_time_is_kept);
	add_hook_test(t, silent_far_side_is_given_up);
#ifndef DLMUX_HOOKS
	printf("SKIP built without hooks: deadlines are a minute\n");
#endif
	tcase_add_test(t,
	    transport_that_ignores_term_is_killed_with_its_group);
	tcase_add_test(t, failed_tries_are_capped_and_remembered);
	tcase_add_test(t, back_off_grows_with_jitter_to_its_ceiling);
	tcase_add_test(t, try_that_hangs_gives_way_to_a_user);
	tcase_add_test(t, link_may_be_freed_at_any_moment);
	suite_add_tcase(s, t);
	return suite_run(s);
}
