/* SPDX-License-Identifier: ISC */
/*
 * Cgroups as systemd names them, what a logout does in each, and where dlmux
 * had better be; logind's configuration.
 */
#include <sys/stat.h>
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../server/base/output.h"
#include "../../server/base/scope.h"
#include "unit.h"

#define USER "/user.slice/user-1000.slice/"
#define MANAGER USER "user@1000.service/"

static const struct {
	const char *cgroup, *unit;
	enum scope_where where;
	bool own;
} parsed[] = {
	{ "0::" USER "session-3.scope\n", "session-3.scope", SCOPE_SESSION,
	    false },
	{ "0::" USER "session-c12.scope\n", "session-c12.scope",
	    SCOPE_SESSION, false },
	{ "0::" MANAGER "app.slice/vte-spawn-1.scope\n", "vte-spawn-1.scope",
	    SCOPE_MANAGER, false },
	{ "0::" MANAGER "app.slice/code.service\n", "code.service",
	    SCOPE_MANAGER, false },
	{ "0::" MANAGER "app.slice/dlmux-agent-7.scope\n",
	    "dlmux-agent-7.scope", SCOPE_MANAGER, true },
	{ "0::" MANAGER "init.scope\n", "init.scope", SCOPE_MANAGER, false },
	{ "0::/system.slice/cron.service\n", "cron.service", SCOPE_SERVICE,
	    false },
	{ "0::/system.slice/cron.service/below\n", "cron.service",
	    SCOPE_SERVICE, false },
	{ "0::/system.slice/dlmux-agent-7.scope\n", "dlmux-agent-7.scope",
	    SCOPE_NOWHERE, true },
	{ "0::/machine.slice/libpod-abc.scope/container\n", "libpod-abc.scope",
	    SCOPE_NOWHERE, false },
	{ "0::/\n", "", SCOPE_NOWHERE, false },
	{ "", "", SCOPE_NOWHERE, false },
	{ "rubbish", "", SCOPE_NOWHERE, false },
	/* Both hierarchies: the named one is systemd's, unless unused. */
	{ "12:cpu:/\n1:name=systemd:" USER "session-3.scope\n0::" USER
	    "session-3.scope\n", "session-3.scope", SCOPE_SESSION, false },
	{ "1:name=systemd:/\n0::" USER "session-3.scope\n",
	    "session-3.scope", SCOPE_SESSION, false },
	{ "1:name=systemd:" USER "session-4.scope\n", "session-4.scope",
	    SCOPE_SESSION, false },
};

START_TEST(a_cgroup_is_read_as_systemd_means_it)
{
	struct scope s;

	scope_parse(&s, parsed[_i].cgroup);
	ck_assert_str_eq(s.unit, parsed[_i].unit);
	ck_assert_int_eq(s.where, parsed[_i].where);
	ck_assert(s.own == parsed[_i].own);
}
END_TEST

#define SES SCOPE_SESSION
#define MAN SCOPE_MANAGER
#define SRV SCOPE_SERVICE

/* uid 0 or not, linger, bus, kills; what follows. */
static const struct {
	enum scope_where where;
	const char *unit;
	int root, own, linger, bus;
	enum scope_know kills;
	enum scope_fate fate;
	enum scope_wish wish;
} decided[] = {
	/* Debian: a session that is left alone is the better place. */
	{ SES, "session-1.scope", 0, 0, 0, 1, KNOW_NO, FATE_LIVES, WISH_STAY },
	{ SES, "session-1.scope", 0, 0, 1, 1, KNOW_NO, FATE_LIVES, WISH_STAY },
	{ SES, "session-1.scope", 0, 0, 1, 1, KNOW_YES, FATE_LOGOUT,
	    WISH_MANAGER },
	/* Not for ever, but for as long as another session lasts. */
	{ SES, "session-1.scope", 0, 0, 0, 1, KNOW_YES, FATE_LOGOUT,
	    WISH_MANAGER },
	{ SES, "session-1.scope", 0, 0, 1, 0, KNOW_YES, FATE_LOGOUT,
	    WISH_STAY },
	{ SES, "session-1.scope", 0, 0, 1, 1, KNOW_NOT, FATE_UNKNOWN,
	    WISH_MANAGER },
	{ SES, "session-1.scope", 0, 0, 0, 1, KNOW_NOT, FATE_UNKNOWN,
	    WISH_STAY },
	{ SES, "session-1.scope", 1, 0, 0, 0, KNOW_YES, FATE_LOGOUT,
	    WISH_SYSTEM },
	{ MAN, "code.service", 0, 0, 1, 1, KNOW_NO, FATE_UNIT, WISH_MANAGER },
	{ MAN, "code.service", 0, 0, 1, 0, KNOW_NO, FATE_UNIT, WISH_HAND },
	{ MAN, "code.service", 0, 0, 0, 1, KNOW_NO, FATE_LAST, WISH_MANAGER },
	{ MAN, "vte.scope", 0, 0, 1, 1, KNOW_NO, FATE_LIVES, WISH_MANAGER },
	{ MAN, "dlmux-agent-7.scope", 0, 1, 1, 1, KNOW_YES, FATE_LIVES,
	    WISH_STAY },
	{ MAN, "dlmux-agent-7.scope", 0, 1, 0, 1, KNOW_YES, FATE_LAST,
	    WISH_STAY },
	{ SRV, "cron.service", 0, 0, 1, 1, KNOW_NO, FATE_UNIT, WISH_MANAGER },
	{ SRV, "cron.service", 0, 0, 0, 1, KNOW_NO, FATE_UNIT, WISH_STAY },
	{ SRV, "cron.service", 1, 0, 0, 0, KNOW_NO, FATE_UNIT, WISH_SYSTEM },
	{ SCOPE_NOWHERE, "", 0, 0, 0, 1, KNOW_YES, FATE_LIVES, WISH_STAY },
};

START_TEST(it_goes_only_where_it_lives_longer)
{
	struct scope s;

	memset(&s, 0, sizeof s);
	s.systemd = true;
	s.where = decided[_i].where;
	snprintf(s.unit, sizeof s.unit, "%s", decided[_i].unit);
	s.uid = decided[_i].root ? 0 : 1000;
	s.own = decided[_i].own;
	s.linger = decided[_i].linger;
	s.bus = decided[_i].bus;
	s.kills = decided[_i].kills;
	ck_assert_int_eq(scope_fate(&s), decided[_i].fate);
	ck_assert_int_eq(scope_wish(&s), decided[_i].wish);
	s.systemd = false;
	ck_assert_int_eq(scope_fate(&s), FATE_LIVES);
	ck_assert_int_eq(scope_wish(&s), WISH_STAY);
}
END_TEST

START_TEST(what_a_program_prints_is_bounded_in_size_and_time)
{
	static const char *const hi[] = { "sh", "-c",
	    "echo out; echo err >&2; exit 3", NULL };
	static const char *const slow[] = { "sh", "-c", "echo x; sleep 60",
	    NULL };
	static const char *const much[] = { "sh", "-c",
	    "while :; do echo yyyyyyyyyyyyyyyyyyyyyyyy; done", NULL };
	static const char *const mute[] = { "sh", "-c",
	    "echo x; exec sleep 600 >&- 2>&-", NULL };
	static const char *const none[] = { "no-such-program", NULL };
	char out[64];

	ck_assert_int_eq(output_of(hi, 20000, 0, out, sizeof out), 3);
	ck_assert_str_eq(out, "out\n");
	ck_assert_int_eq(output_of(hi, 20000, 1, out, sizeof out), 3);
	ck_assert_str_eq(out, "out\nerr\n");
	ck_assert_int_eq(output_of(slow, 50, 0, out, sizeof out), -1);
	ck_assert_str_eq(out, "");
	ck_assert_int_eq(output_of(much, 20000, 0, out, sizeof out), -1);
	ck_assert_str_eq(out, "");
	ck_assert_int_eq(output_of(mute, 50, 1, out, sizeof out), -1);
	ck_assert_str_eq(out, "");
	ck_assert_int_eq(output_of(none, 20000, 0, out, sizeof out), 127);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("scope");
	TCase *t = tcase_create("scope");

	tcase_set_timeout(t, 60);
	tcase_add_loop_test(t, a_cgroup_is_read_as_systemd_means_it, 0,
	    (int)(sizeof parsed / sizeof parsed[0]));
	tcase_add_loop_test(t, it_goes_only_where_it_lives_longer, 0,
	    (int)(sizeof decided / sizeof decided[0]));
	tcase_add_test(t, what_a_program_prints_is_bounded_in_size_and_time);
	suite_add_tcase(s, t);
	return suite_run(s);
}
