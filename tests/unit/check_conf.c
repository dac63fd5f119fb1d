/* SPDX-License-Identifier: ISC */
/* dlmux.conf: what it takes, what it refuses and with which words. */
#include <sys/stat.h>

#include <check.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../server/base/conf.h"
#include "../../server/base/mem.h"
#include "unit.h"

static char top[64];

static void
setup(void)
{
	snprintf(top, sizeof top, "/tmp/dlmux-conf.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(top));
	umask(022);
}

static void
teardown(void)
{
	sh("rm -rf %s", top);
}

static char *
in_top(const char *name)
{
	return xasprintf("%s/%s", top, name);
}

START_TEST(no_file_gives_the_defaults)
{
	char *path = in_top("none"), *cause = NULL;
	struct conf *c = conf_load(path, &cause);

	ck_assert_ptr_nonnull(c);
	ck_assert_str_eq(c->prefix, "C-\\");
	ck_assert_int_eq(c->probe, 1);
	ck_assert_int_eq(c->history_lines, 10000);
	ck_assert_uint_eq(c->nws, 0);
	ck_assert_ptr_null(c->send_env);
	ck_assert_ptr_null(conf_find(c, "x"));
	ck_assert_ptr_null(conf_find(NULL, "x"));
	conf_free(c);
	conf_free(NULL);
	free(path);
}
END_TEST

START_TEST(keywords_quotes_and_comments_are_understood)
{
	static const char text[] =
	    "# a comment\n"
	    "\n"
	    "prefixkey C-\\\r\n"
	    "PrefixKey C-b   # the first counts\n"
	    "  EnvProbe = interactive\n"
	    "HistoryLines=500\n"
	    "Size Smallest\n"
	    "SendEnv LANG LC_*\n"
	    "SendEnv \"FOO\"\n"
	    "AgentDirectory \"my \\\"agents\\\\\"\n"
	    "clipboard no\n"
	    "Workspace one\n"
	    "Bell last\n"
	    "\tCommand  ssh -J jump \"x # y\" %c  \n"
	    "\tAgentBinary ~/bin/dlmux\n"
	    "\tAgentMachine Linux aarch64\n"
	    "\tEnvProbe no\n"
	    "\tSendEnv A\n"
	    "\tSendEnv B\n"
	    "\tIdleClose 5\n"
	    "\tSize 120x40\n"
	    "Workspace two\n"
	    "Target ssh:web\n"
	    "AgentMachine \"Linux riscv64\"\n"
	    "IdleClose no";
	char *cause = NULL, *path = in_top("dlmux.conf"), *want;
	const struct conf_workspace *w;
	struct conf *c = conf_parse(text, sizeof text - 1, path, &cause);

	ck_assert_msg(c != NULL, "%s", cause);
	ck_assert_str_eq(c->prefix, "C-\\");
	ck_assert_int_eq(c->probe, 2);
	ck_assert_int_eq(c->history_lines, 500);
	ck_assert_uint_eq(c->size.kind, SIZE_SMALLEST);
	ck_assert_str_eq(c->send_env[0], "LANG");
	ck_assert_str_eq(c->send_env[2], "FOO");
	ck_assert_ptr_null(c->send_env[3]);
	want = xasprintf("%s/my \"agents\\", top);
	ck_assert_str_eq(c->binary_dir, want);
	free(want);
	ck_assert_uint_eq(c->nws, 2);
	w = conf_find(c, "one");
	ck_assert_str_eq(w->command, "ssh -J jump \"x # y\" %c");
	ck_assert_ptr_nonnull(strstr(w->binary, "/bin/dlmux"));
	ck_assert_int_eq(w->binary[0], '/');
	ck_assert_str_eq(w->binary_machine, "Linux aarch64");
	ck_assert_int_eq(w->probe, 0);
	ck_assert_str_eq(w->send_env[1], "B");
	ck_assert_int_eq(w->idle_min, 5);
	ck_assert_uint_eq(w->size.kind, SIZE_FIXED);
	ck_assert_uint_eq(w->size.cols, 120);
	ck_assert_uint_eq(w->size.rows, 40);
	ck_assert_int_eq(w->line, 12);
	ck_assert_int_eq(w->pass[PASS_BELL], PASS_LAST);
	ck_assert_int_eq(w->pass[PASS_CLIPBOARD], -1);
	ck_assert_int_eq(c->pass[PASS_CLIPBOARD], PASS_NO);
	ck_assert_int_eq(c->pass[PASS_BELL], PASS_ALL);
	ck_assert_str_eq(w->file, path);
	w = conf_find(c, "two");
	ck_assert_str_eq(w->alias, "ssh:web");
	ck_assert_str_eq(w->binary_machine, "Linux riscv64");
	ck_assert_int_eq(w->probe, -1);
	ck_assert_int_eq(w->idle_min, 0);
	ck_assert_ptr_null(w->send_env);
	ck_assert_uint_eq(w->size.kind, SIZE_DEFAULT);
	conf_free(c);
	free(path);
}
END_TEST

/* The error stands at line 2 unless said. */
static const struct { const char *text, *error; } bad[] = {
	{ "\nFoo bar\n", ":2: unknown keyword 'Foo'" },
	{ "\nPrefixKey\n", ":2: PrefixKey needs a value" },
	{ "\nPrefixKey \"\"\n", ":2: PrefixKey: no key" },
	{ "\nPrefixKey a b\n", ":2: PrefixKey: too many words" },
	{ "\nPrefixKey \"a\n", ":2: a quote is not closed" },
	{ "\nEnvProbe maybe\n", ":2: EnvProbe is no, login or interactive" },
	{ "\nSize tiny\n", ":2: Size is latest, smallest, largest or COLSxROWS"
	    ", not 'tiny'" },
	{ "\nSize default\n", ":2: Size is latest" },
	{ "\nSize 0x24\n", ":2: Size is latest" },
	{ "\nSize 80x\n", ":2: Size is latest" },
	{ "\nSize 80x24x\n", ":2: Size is latest" },
	{ "\nSize 80x1001\n", ":2: Size is latest" },
	{ "\nSize 99999999999x2\n", ":2: Size is latest" },
	{ "Notify me\n", ":1: Notify is all, last or no, not 'me'" },
	{ "\nHistoryLines x\n", ":2: HistoryLines is a number from 0" },
	{ "\nHistoryLines -1\n", ":2: HistoryLines is a number from 0" },
	{ "\nHistoryLines 99999999999999999999\n", ":2: HistoryLines is a" },
	{ "\nHistoryLines 1000001\n", ":2: HistoryLines is a number" },
	{ "\nCommand x\n", ":2: Command stands inside a Workspace" },
	{ "Workspace a\nHistoryLines 1\n", ":2: HistoryLines stands before" },
	{ "Workspace a\nCommand\n", ":2: Command needs a value" },
	{ "Workspace a\nWorkspace a\n", ":2: workspace a is already defined "
	    "at /x:1" },
	{ "\nWorkspace \"a b\"\n", ":2: a workspace's name has" },
	{ "\nWorkspace -x\n", ":2: '-x' is no name" },
	{ "\nWorkspace\n", ":2: Workspace needs a value" },
	{ "Workspace a\nTarget a\n", ":2: Target names its own" },
	{ "Workspace a\nTarget b\nTarget c\n", ":3: Target is given twice" },
	{ "Workspace a\nTarget b\nCommand c\n", ":3: a workspace has a Target "
	    "or a Command" },
	{ "Workspace a\nCommand c\nTarget b\n", ":3: a workspace has a Target "
	    "or a Command" },
	{ "\nSendEnv A=1\n", ":2: SendEnv takes names" },
	{ "\nInclude /nonexistent/file\n", ":2: Include /nonexistent/file: "
	    "No such file" },
	{ "\nInclude /dev/zero\n", "/dev/zero: not a regular file" },
	{ "Workspace a\nIdleClose soon\n", ":2: IdleClose" },
};

START_TEST(errors_name_file_and_line)
{
	char *cause = NULL;
	struct conf *c = conf_parse(bad[_i].text, strlen(bad[_i].text), "/x",
	    &cause);

	ck_assert_ptr_null(c);
	ck_assert_msg(strstr(cause, bad[_i].error) != NULL, "%s", cause);
	free(cause);
}
END_TEST

START_TEST(nul_bytes_and_long_lines_are_refused)
{
	char *cause, *text = xmalloc(40000);

	ck_assert_ptr_null(conf_parse("PrefixKey C\0x\n", 14, "/x", &cause));
	ck_assert_str_eq(cause, "/x:1: a NUL byte");
	free(cause);
	memset(text, 'a', 40000);
	ck_assert_ptr_null(conf_parse(text, 40000, "/x", &cause));
	ck_assert_ptr_nonnull(strstr(cause, "/x:1: a line longer"));
	free(cause);
	free(text);
}
END_TEST

START_TEST(include_goes_relative_to_its_file_and_leaves_the_block_open)
{
	char *path = in_top("dlmux.conf"), *cause = NULL;
	struct conf *c;

	sh("mkdir %s/d; cd %s; printf '\\357\\273\\277Workspace a\\n Include d/b\\n "
	    "Command x\\n' >dlmux.conf; printf 'Include c\\nWorkspace b\\n "
	    "Command y\\n' >d/b; echo 'HistoryLines 7' >d/c", top, top);
	c = conf_load(path, &cause);
	ck_assert_msg(c != NULL, "%s", cause);
	ck_assert_int_eq(c->history_lines, 7);
	ck_assert_str_eq(conf_find(c, "a")->command, "x");
	ck_assert_str_eq(conf_find(c, "b")->command, "y");
	conf_free(c);
	/* the error names the inner file */
	sh("echo nonsense >>%s/d/b", top);
	ck_assert_ptr_null(conf_load(path, &cause));
	ck_assert_msg(strstr(cause, "/d/b:4: unknown keyword 'nonsense'") !=
	    NULL, "%s", cause);
	free(cause);
	/* a circle ends */
	sh("echo 'Include ../dlmux.conf' >%s/d/b", top);
	ck_assert_ptr_null(conf_load(path, &cause));
	ck_assert_ptr_nonnull(cause);
	free(cause);
	sh("printf 'Include d/b\\n' >%s/dlmux.conf", top);
	ck_assert_ptr_null(conf_load(path, &cause));
	ck_assert_msg(strstr(cause, "deeper than") != NULL, "%s", cause);
	free(cause);
	free(path);
}
END_TEST

START_TEST(a_file_that_others_may_write_is_refused)
{
	char *path = in_top("dlmux.conf"), *cause = NULL;

	sh("echo 'HistoryLines 1' >%s; chmod 666 %s", path, path);
	ck_assert_ptr_null(conf_load(path, &cause));
	ck_assert_msg(strstr(cause, "not writable by others") != NULL, "%s",
	    cause);
	free(cause);
	sh("chmod 644 %s", path);
	conf_free(conf_load(path, &cause));
	if (geteuid() == 0) {
		sh("chown 12345 %s", path);
		ck_assert_ptr_null(conf_load(path, &cause));
		ck_assert_ptr_nonnull(strstr(cause, "owner 12345"));
		free(cause);
	} else
		printf("SKIP not root: cannot make another user's file\n");
	free(path);
}
END_TEST

START_TEST(a_fifo_or_directory_in_its_place_is_an_error)
{
	char *path = in_top("fifo"), *cause = NULL;

	sh("mkfifo %s", path);
	ck_assert_ptr_null(conf_load(path, &cause));
	ck_assert_ptr_nonnull(strstr(cause, "not a regular file"));
	free(cause);
	ck_assert_ptr_null(conf_load(top, &cause));
	ck_assert_ptr_nonnull(strstr(cause, "not a regular file"));
	free(cause);
	free(path);
}
END_TEST

START_TEST(the_man_page_covers_every_keyword)
{
	const char *const *k = conf_keywords();
	const char *dir = getenv("DLMUX_DOC");
	char *path = xasprintf("%s/dlmux.conf.5", dir != NULL ? dir : "doc");
	char line[4096], *want;
	FILE *f;
	int n = 0, found;

	if ((f = fopen(path, "r")) == NULL) {
		printf("SKIP %s is not here\n", path);
		free(path);
		return;
	}
	for (; *k != NULL; k++, n++) {
		/* in order, for the one who reads the page */
		ck_assert(n == 0 || strcmp(k[-1], k[0]) < 0);
		want = xasprintf(".It Ic %s", *k);
		found = 0;
		rewind(f);
		while (fgets(line, sizeof line, f) != NULL)
			found += strncmp(line, want, strlen(want)) == 0 &&
			    strchr(" \n", line[strlen(want)]) != NULL;
		ck_assert_msg(found > 0, "%s is not in %s", *k, path);
		free(want);
	}
	fclose(f);
	free(path);
	ck_assert_int_gt(n, 8);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("conf");
	TCase *t = tcase_create("conf");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, no_file_gives_the_defaults);
	tcase_add_test(t, keywords_quotes_and_comments_are_understood);
	tcase_add_loop_test(t, errors_name_file_and_line, 0,
	    (int)(sizeof bad / sizeof bad[0]));
	tcase_add_test(t, nul_bytes_and_long_lines_are_refused);
	tcase_add_test(t,
	    include_goes_relative_to_its_file_and_leaves_the_block_open);
	tcase_add_test(t, a_file_that_others_may_write_is_refused);
	tcase_add_test(t, a_fifo_or_directory_in_its_place_is_an_error);
	tcase_add_test(t, the_man_page_covers_every_keyword);
	suite_add_tcase(s, t);
	return suite_run(s);
}
