/* SPDX-License-Identifier: ISC */
/*
 * The state file: whole or set aside, never half believed.
 */
#include <sys/stat.h>
#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../server/state.h"
#include "unit.h"

static char dir[] = "/tmp/dlmux-state.XXXXXX";
static char path[64];

static char *
words(const char *s)
{
	char *p = strdup(s);

	ck_assert_ptr_nonnull(p);
	return p;
}

static void
make(struct state *st)
{
	struct state_workspace *w;
	struct state_shell *sh;

	memset(st, 0, sizeof *st);
	memset(st->id, 0xab, MSG_ID);
	st->nws = 2;
	st->ws = calloc(2, sizeof *st->ws);
	w = &st->ws[0];
	w->name = words("ssh:me@web");
	w->reach = words("web");
	w->tries = words("3 1000");
	memset(w->agent, 0xcd, MSG_ID);
	w->nshells = 1;
	w->shells = sh = calloc(1, sizeof *sh);
	sh->uid = UINT64_C(0x123456789abcdef0);
	sh->created_ms = 17;
	sh->output_ms = 18;
	sh->ended = 1;
	sh->how = END_EXIT;
	sh->code = 3;
	sh->rows = 24;
	sh->cols = 80;
	sh->size.kind = SIZE_FIXED;
	sh->size.rows = 30;
	sh->size.cols = 100;
	sh->name = words("main");
	sh->command = words("bash -l");
	sh->title = words("a title \xe2\x82\xac");
	sh->signal = words("");
	w = &st->ws[1];
	w->name = words("local");
	w->reach = words("local");
	w->tries = words("");
}

static void
setup(void)
{
	memcpy(dir + strlen(dir) - 6, "XXXXXX", 6);
	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(path, sizeof path, "%s/state", dir);
}

static void
teardown(void)
{
	char cmd[128];

	snprintf(cmd, sizeof cmd, "rm -rf '%s'", dir);
	ck_assert_int_eq(system(cmd), 0);
}

START_TEST(what_is_written_is_read)
{
	struct state a, b;
	struct stat sb;
	char *cause = NULL;

	make(&a);
	ck_assert_int_eq(state_write(&a, path), 0);
	ck_assert_int_eq(stat(path, &sb), 0);
	ck_assert_uint_eq(sb.st_mode & 07777, 0600);
	ck_assert_int_eq(state_read(&b, path, &cause), 0);
	ck_assert_ptr_null(cause);
	ck_assert_mem_eq(a.id, b.id, MSG_ID);
	ck_assert_uint_eq(b.nws, 2);
	ck_assert_str_eq(b.ws[0].name, "ssh:me@web");
	ck_assert_str_eq(b.ws[0].reach, "web");
	ck_assert_str_eq(b.ws[0].tries, "3 1000");
	ck_assert_mem_eq(a.ws[0].agent, b.ws[0].agent, MSG_ID);
	ck_assert_uint_eq(b.ws[0].nshells, 1);
	ck_assert(b.ws[0].shells[0].uid == a.ws[0].shells[0].uid);
	ck_assert_uint_eq(b.ws[0].shells[0].code, 3);
	ck_assert_str_eq(b.ws[0].shells[0].title, "a title \xe2\x82\xac");
	ck_assert(size_same(&b.ws[0].shells[0].size,
	    &a.ws[0].shells[0].size));
	ck_assert_str_eq(b.ws[1].name, "local");
	state_clear(&a);
	state_clear(&b);
}
END_TEST

/* Of before shells had a size policy: five bytes less for each. */
START_TEST(a_file_of_the_first_version_is_read)
{
	struct state a, b;
	struct buf one;
	uint8_t *at;
	uint32_t crc;

	make(&a);
	memset(&a.ws[0].shells[0].size, 0, sizeof a.ws[0].shells[0].size);
	buf_init(&one, 65536);
	state_put(&one, &a);
	ck_assert(buf_ok(&one));
	one.data[7] = '1';
	at = memmem(one.data, one.len, "\0\0\0\5local\0\0\0\5local", 18);
	ck_assert_ptr_nonnull(at);
	memmove(at - 5, at, one.len - (size_t)(at - one.data));
	one.len -= 5;
	crc = crc32c(0, one.data, one.len - 4);
	at = one.data + one.len - 4;
	at[0] = (uint8_t)(crc >> 24);
	at[1] = (uint8_t)(crc >> 16);
	at[2] = (uint8_t)(crc >> 8);
	at[3] = (uint8_t)crc;
	ck_assert_int_eq(state_get(&b, one.data, one.len), 0);
	ck_assert_str_eq(b.ws[0].shells[0].name, "main");
	ck_assert_uint_eq(b.ws[0].shells[0].size.kind, SIZE_DEFAULT);
	ck_assert_str_eq(b.ws[1].reach, "local");
	state_clear(&a);
	state_clear(&b);
	buf_free(&one);
}
END_TEST

START_TEST(a_file_that_is_not_there_is_no_error)
{
	struct state st;
	char *cause = NULL;

	ck_assert_int_eq(state_read(&st, path, &cause), 1);
	ck_assert_ptr_null(cause);
	ck_assert_uint_eq(st.nws, 0);
}
END_TEST

START_TEST(every_single_damaged_byte_is_noticed)
{
	struct state a, b;
	struct buf out;
	size_t i;

	make(&a);
	buf_init(&out, 1 << 16);
	state_put(&out, &a);
	ck_assert(buf_ok(&out));
	for (i = 0; i < out.len; i++) {
		out.data[i] ^= 0x20;
		ck_assert_msg(state_get(&b, out.data, out.len) == -1,
		    "byte %zu", i);
		out.data[i] ^= 0x20;
	}
	ck_assert_int_eq(state_get(&b, out.data, out.len), 0);
	state_clear(&b);
	buf_free(&out);
	state_clear(&a);
}
END_TEST

START_TEST(every_cut_is_noticed)
{
	struct state a, b;
	struct buf out;
	size_t i;

	make(&a);
	buf_init(&out, 1 << 16);
	state_put(&out, &a);
	for (i = 0; i < out.len; i++)
		ck_assert_msg(state_get(&b, out.data, i) == -1, "%zu", i);
	buf_free(&out);
	state_clear(&a);
}
END_TEST

START_TEST(a_damaged_file_is_set_aside_and_said)
{
	struct state st;
	char *cause = NULL, aside[80];
	int fd;

	fd = open(path, O_WRONLY | O_CREAT, 0600);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, "DLMUXST1 nonsense", 17), 17);
	close(fd);
	ck_assert_int_eq(state_read(&st, path, &cause), -1);
	ck_assert_ptr_nonnull(cause);
	ck_assert_ptr_nonnull(strstr(cause, "damaged"));
	free(cause);
	snprintf(aside, sizeof aside, "%s.damaged", path);
	ck_assert_int_eq(access(aside, F_OK), 0);
	ck_assert_int_ne(access(path, F_OK), 0);
	ck_assert_uint_eq(st.nws, 0);
}
END_TEST

START_TEST(a_write_that_fails_leaves_the_old_file)
{
	struct state a, b;
	char *cause = NULL, tmp[80];

	make(&a);
	ck_assert_int_eq(state_write(&a, path), 0);
	/* Whatever stands where the new one would be made. */
	snprintf(tmp, sizeof tmp, "%s.tmp", path);
	ck_assert_int_eq(mkdir(tmp, 0700), 0);
	a.ws[0].shells[0].code = 4;
	ck_assert_int_eq(state_write(&a, path), -1);
	ck_assert_int_eq(state_read(&b, path, &cause), 0);
	ck_assert_uint_eq(b.ws[0].shells[0].code, 3);
	state_clear(&a);
	state_clear(&b);
}
END_TEST

START_TEST(a_long_string_is_cut_not_refused)
{
	struct state a, b;
	struct buf out;

	make(&a);
	free(a.ws[0].shells[0].command);
	a.ws[0].shells[0].command = malloc(STATE_STRING_MAX * 2 + 1);
	memset(a.ws[0].shells[0].command, 'x', STATE_STRING_MAX * 2);
	a.ws[0].shells[0].command[STATE_STRING_MAX * 2] = '\0';
	buf_init(&out, 1 << 20);
	state_put(&out, &a);
	ck_assert_int_eq(state_get(&b, out.data, out.len), 0);
	ck_assert_uint_eq(strlen(b.ws[0].shells[0].command),
	    STATE_STRING_MAX);
	buf_free(&out);
	state_clear(&a);
	state_clear(&b);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("state");
	TCase *t = tcase_create("state");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, what_is_written_is_read);
	tcase_add_test(t, a_file_of_the_first_version_is_read);
	tcase_add_test(t, a_file_that_is_not_there_is_no_error);
	tcase_add_test(t, every_single_damaged_byte_is_noticed);
	tcase_add_test(t, every_cut_is_noticed);
	tcase_add_test(t, a_damaged_file_is_set_aside_and_said);
	tcase_add_test(t, a_write_that_fails_leaves_the_old_file);
	tcase_add_test(t, a_long_string_is_cut_not_refused);
	suite_add_tcase(s, t);
	return suite_run(s);
}
