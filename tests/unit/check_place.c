/* SPDX-License-Identifier: ISC */
/*
 * Places: where things live, and what is refused as a directory of ours.
 */
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../../server/base/fd.h"
#include "../../server/base/lock.h"
#include "../../server/base/log.h"
#include "../../server/base/mem.h"
#include "../../server/base/place.h"
#include "../../server/base/sweep.h"
#include "unit.h"

static char top[64];

static void
setup(void)
{
	strcpy(top, "/tmp/check_place.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(top));
	setenv("HOME", top, 1);
	unsetenv("XDG_STATE_HOME");
	unsetenv("XDG_CACHE_HOME");
	unsetenv("XDG_CONFIG_HOME");
	unsetenv("DLMUX_INSTANCE");
}

static void
teardown(void)
{
	char *s = xasprintf("rm -rf '%s'", top);

	ck_assert_int_eq(system(s), 0);
	free(s);
}

static char *
under(const char *name)
{
	return xasprintf("%s/%s", top, name);
}

static void
assert_dir_of_ours(const char *path)
{
	struct stat st;

	ck_assert_int_eq(lstat(path, &st), 0);
	ck_assert(S_ISDIR(st.st_mode));
	ck_assert_uint_eq(st.st_mode & 07777, 0700);
}

START_TEST(a_place_is_made_below_home)
{
	struct place *p;
	char *cause = NULL, *want;

	p = place_open(NULL, &cause);
	ck_assert_msg(p != NULL, "%s", cause);
	ck_assert_str_eq(p->instance, "default");
	ck_assert_uint_eq(strlen(p->id), 16);
	want = under(".local/state/dlmux");
	ck_assert_str_eq(p->state, want);
	assert_dir_of_ours(want);
	free(want);
	want = xasprintf("%s/%s", p->state, p->id);
	ck_assert_str_eq(p->dir, want);
	assert_dir_of_ours(want);
	free(want);
	want = xasprintf("%s/agent.sock", p->dir);
	ck_assert_str_eq(p->agent_sock, want);
	free(want);
	want = under(".config/dlmux/dlmux.conf");
	ck_assert_str_eq(p->config, want);
	free(want);
	want = under(".cache/dlmux");
	ck_assert_str_eq(p->cache, want);
	ck_assert_int_eq(access(want, F_OK), -1);
	free(want);
	ck_assert_ptr_nonnull(strstr(p->state_file, "/state.default."));
	place_free(p);
	place_free(NULL);
}
END_TEST

START_TEST(the_identity_is_stable_and_differs_between_instances)
{
	struct place *a, *b, *c;
	char *cause = NULL;

	a = place_open(NULL, &cause);
	b = place_open("default", &cause);
	setenv("DLMUX_INSTANCE", "other", 1);
	c = place_open(NULL, &cause);
	ck_assert(a != NULL && b != NULL && c != NULL);
	ck_assert_str_eq(a->dir, b->dir);
	ck_assert_str_eq(c->instance, "other");
	ck_assert_str_ne(a->dir, c->dir);
	place_free(a);
	place_free(b);
	place_free(c);
}
END_TEST

START_TEST(a_name_that_is_no_instance_is_refused)
{
	static const char *const bad[] = { "a/b", ".", "..", "a b",
	    "123456789012345678901234567890123", NULL };
	char *cause;
	int i;

	for (i = 0; bad[i] != NULL; i++) {
		cause = NULL;
		ck_assert_ptr_null(place_open(bad[i], &cause));
		ck_assert_ptr_nonnull(cause);
		free(cause);
	}
}
END_TEST

START_TEST(xdg_variables_count_only_when_absolute)
{
	struct place *p;
	char *cause = NULL, *want = under("xdg");

	setenv("XDG_STATE_HOME", want, 1);
	setenv("XDG_CACHE_HOME", "relative", 1);
	free(want);
	p = place_open(NULL, &cause);
	ck_assert_msg(p != NULL, "%s", cause);
	want = under("xdg/dlmux");
	ck_assert_str_eq(p->state, want);
	free(want);
	want = under(".cache/dlmux");
	ck_assert_str_eq(p->cache, want);
	free(want);
	place_free(p);
}
END_TEST

START_TEST(too_long_a_path_falls_back_to_a_short_checked_one)
{
	char name[121], *cause = NULL, *want;
	struct sockaddr_un sun;
	struct place *p;
	int fd;

	memset(name, 'x', sizeof name - 1);
	name[sizeof name - 1] = '\0';
	want = under(name);
	setenv("XDG_STATE_HOME", want, 1);
	p = place_open(NULL, &cause);
	ck_assert_msg(p != NULL, "%s", cause);
	ck_assert(strncmp(p->dir, "/tmp/dlmux-", 11) == 0);
	ck_assert(strlen(p->server_sock) + 5 < sizeof sun.sun_path);
	assert_dir_of_ours(p->dir);
	/* The state file needs no socket's short path. */
	ck_assert(strncmp(p->state_file, want, strlen(want)) == 0);
	fd = fd_listen_unix(p->server_sock, &cause);
	ck_assert_msg(fd != -1, "%s", cause);
	close(fd);
	unlink(p->server_sock);
	rmdir(p->dir);
	place_free(p);
	free(want);
}
END_TEST

/* Root writes everywhere, so the home is made one that cannot exist. */
START_TEST(a_home_that_cannot_be_written_falls_back)
{
	char *cause = NULL;
	struct place *p;

	setenv("XDG_STATE_HOME", "/proc/none", 1);
	p = place_open(NULL, &cause);
	ck_assert_msg(p != NULL, "%s", cause);
	ck_assert(strncmp(p->dir, "/tmp/dlmux-", 11) == 0);
	ck_assert(strncmp(p->state_file, p->dir, strlen(p->dir)) == 0);
	rmdir(p->dir);
	place_free(p);
}
END_TEST

/* The longest path that is used as it is must still take both names. */
START_TEST(every_length_of_path_gives_sockets_that_can_be_bound)
{
	char name[100], *cause = NULL, *want;
	struct place *p;
	size_t n;
	int fd;

	for (n = 1; n < sizeof name - 1; n++) {
		memset(name, 'y', n);
		name[n] = '\0';
		want = under(name);
		setenv("XDG_STATE_HOME", want, 1);
		free(want);
		p = place_open(NULL, &cause);
		ck_assert_msg(p != NULL, "%s", cause);
		fd = fd_listen_unix(p->server_sock, &cause);
		ck_assert_msg(fd != -1, "%zu: %s", n, cause);
		close(fd);
		unlink(p->server_sock);
		if (strncmp(p->dir, "/tmp/dlmux-", 11) == 0)
			rmdir(p->dir);
		place_free(p);
	}
}
END_TEST

static void
assert_refused(const char *path, const char *words)
{
	char *cause = NULL;

	ck_assert_int_eq(place_dir(path, &cause), -1);
	ck_assert_ptr_nonnull(cause);
	ck_assert_msg(strstr(cause, words) != NULL, "%s", cause);
	free(cause);
}

START_TEST(a_directory_that_is_not_ours_alone_is_refused)
{
	char *dir = under("dir"), *link = under("link"), *file = under("file");
	char *cause = NULL;
	int fd;

	ck_assert_int_eq(place_dir(dir, &cause), 0);
	ck_assert_int_eq(place_dir(dir, &cause), 0);
	ck_assert_int_eq(chmod(dir, 0755), 0);
	assert_refused(dir, "chmod 700");
	ck_assert_int_eq(chmod(dir, 0700), 0);
	ck_assert_int_eq(symlink(dir, link), 0);
	assert_refused(link, "symbolic link");
	fd = open(file, O_CREAT | O_WRONLY, 0600);
	close(fd);
	assert_refused(file, "not a directory");
	if (geteuid() == 0) {
		ck_assert_int_eq(chown(dir, 4711, 4711), 0);
		assert_refused(dir, "owned by uid 4711");
	} else
		assert_refused("/", "owned by uid 0");
	free(dir);
	free(link);
	free(file);
}
END_TEST

START_TEST(a_foreign_state_directory_is_an_error_and_no_fallback)
{
	char *cause = NULL, *s;

	s = under(".local");
	mkdir(s, 0700);
	free(s);
	s = under(".local/state");
	mkdir(s, 0700);
	free(s);
	s = under(".local/state/dlmux");
	ck_assert_int_eq(symlink("/tmp", s), 0);
	free(s);
	ck_assert_ptr_null(place_open(NULL, &cause));
	ck_assert_ptr_nonnull(cause);
	free(cause);
}
END_TEST

/* A directory of another place, last touched so many days ago. */
static char *
place_of_before(const struct place *p, const char *id, int days)
{
	static const char *const files[] = { "server.sock", "server.log",
	    "agent.lock", "agent.log", "server.sock.0f3a" };
	struct timespec then[2] = { { 0, 0 }, { 0, 0 } };
	char *dir = xasprintf("%s/%s", p->state, id), *f;
	size_t i;

	ck_assert_int_eq(mkdir(dir, 0700), 0);
	for (i = 0; i < sizeof files / sizeof files[0]; i++) {
		f = xasprintf("%s/%s", dir, files[i]);
		ck_assert_int_eq(fd_write_file(f, "x", 1), 0);
		free(f);
	}
	then[0].tv_sec = then[1].tv_sec = time(NULL) - days * 86400;
	ck_assert_int_eq(utimensat(AT_FDCWD, dir, then, 0), 0);
	return dir;
}

START_TEST(what_earlier_boots_left_goes_and_nothing_else)
{
	char *cause = NULL, *held, *kept[5], *gone, *f;
	struct place *p = place_open(NULL, &cause);
	struct timespec then[2] = { { 1000, 0 }, { 1000, 0 } };
	struct stat st;
	size_t i;
	int lock;

	gone = place_of_before(p, "0123456789abcdef", 31);
	kept[0] = place_of_before(p, "0123456789abcde0", 29);
	kept[1] = place_of_before(p, "mine", 99);
	kept[2] = place_of_before(p, "0123456789abcde1", 99);
	f = xasprintf("%s/notes.txt", kept[2]);
	ck_assert_int_eq(fd_write_file(f, "x", 1), 0);
	free(f);
	kept[3] = place_of_before(p, "0123456789abcde2", 99);
	held = xasprintf("%s/agent.lock", kept[3]);
	ck_assert_int_ge(lock = lock_take(held, &cause), 0);
	kept[4] = p->dir;
	for (i = 2; i < 5; i++)
		ck_assert_int_eq(utimensat(AT_FDCWD, kept[i], then, 0), 0);
	ck_assert_uint_eq(sweep_places(p), 1);
	ck_assert_int_eq(lstat(gone, &st), -1);
	for (i = 0; i < 5; i++)
		ck_assert_msg(lstat(kept[i], &st) == 0, "%s", kept[i]);
	ck_assert_int_eq(lstat(held, &st), 0);
	/* Whoever held it is gone, too. */
	close(lock);
	ck_assert_uint_eq(sweep_places(p), 1);
	ck_assert_int_eq(lstat(kept[3], &st), -1);
	free(held);
	free(gone);
	for (i = 0; i < 4; i++)
		free(kept[i]);
	place_free(p);
}
END_TEST

START_TEST(a_socket_is_private_and_replaces_what_a_crash_left)
{
	char *path = under("s"), *cause = NULL, buf[8];
	int fds[2], a, b, c, d, n;
	struct stat st;
	pid_t pid;

	a = fd_listen_unix(path, &cause);
	ck_assert_msg(a != -1, "%s", cause);
	close(a);
	ck_assert_int_eq(fd_connect_unix(path), -1);
	ck_assert_int_eq(errno, ECONNREFUSED);
	a = fd_listen_unix(path, &cause);
	ck_assert_msg(a != -1, "%s", cause);
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_uint_eq(st.st_mode & 07777, 0600);
	b = fd_connect_unix(path);
	ck_assert_int_ne(b, -1);
	c = accept4(a, NULL, NULL, SOCK_CLOEXEC);
	ck_assert_int_ne(c, -1);
	ck_assert(fd_peer_is_us(c, &pid));
	ck_assert_int_eq(pid, getpid());
	/* Descriptors travel, and too many are an error that leaks none. */
	fds[0] = fds[1] = a;
	ck_assert_int_eq(fd_send_fds(b, "hi", 2, fds, 2), 0);
	n = 2;
	ck_assert_int_eq(fd_recv_fds(c, buf, sizeof buf, fds, &n), 2);
	ck_assert_int_eq(n, 2);
	ck_assert_int_eq(fcntl(fds[0], F_GETFD), FD_CLOEXEC);
	close(fds[0]);
	close(fds[1]);
	d = dup(a);
	close(d);
	fds[0] = fds[1] = a;
	ck_assert_int_eq(fd_send_fds(b, "hi", 2, fds, 2), 0);
	n = 1;
	ck_assert_int_eq(fd_recv_fds(c, buf, sizeof buf, fds, &n), -1);
	ck_assert_int_eq(errno, EMSGSIZE);
	ck_assert_int_eq(dup(a), d);
	close(d);
	close(a);
	close(b);
	close(c);
	free(path);
}
END_TEST

START_TEST(files_are_read_to_their_limit_and_written_whole)
{
	char *path = under("f"), *data;
	struct stat st;

	ck_assert_int_eq(fd_write_file(path, "hello", 5), 0);
	ck_assert_int_eq(fd_write_file(path, "world!", 6), 0);
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_uint_eq(st.st_mode & 07777, 0600);
	ck_assert_int_eq(fd_read_file(path, &data, 6), 6);
	ck_assert_str_eq(data, "world!");
	free(data);
	ck_assert_int_eq(fd_read_file(path, &data, 5), -1);
	ck_assert_int_eq(errno, EFBIG);
	free(path);
}
END_TEST

START_TEST(a_log_line_shows_no_control_byte)
{
	char out[64], small[8], *path = under("log"), *data;

	ck_assert_str_eq(log_clean(out, sizeof out, "a\033[1m\tb\177"),
	    "a?[1m?b?");
	ck_assert_str_eq(log_clean(out, sizeof out, "\xc3\xa4 \xff \xc2\x9b"),
	    "\xc3\xa4 ? ??");
	/* Nothing turns the line around, or breaks it. */
	ck_assert_str_eq(log_clean(out, sizeof out, "\xe2\x80\xae" "a"
	    "\xe2\x81\xa6" "b\xe2\x80\xa8\xe2\x80\xa6"),
	    "???a???b???\xe2\x80\xa6");
	/* Never half a character at the end. */
	ck_assert_str_eq(log_clean(small, sizeof small, "123456\xc3\xa4"),
	    "123456");
	ck_assert_int_eq(log_open(path, "test"), 0);
	log_info("one\ntwo");
	log_debug("unseen");
	ck_assert_int_gt(fd_read_file(path, &data, 4096), 0);
	ck_assert_ptr_nonnull(strstr(data, "one?two\n"));
	ck_assert_ptr_null(strstr(data, "unseen"));
	free(data);
	free(path);
}
END_TEST

START_TEST(a_log_is_cut_and_goes_on)
{
	char *path = under("log"), text[1001];
	struct stat st;
	int i;

	memset(text, 'x', sizeof text - 1);
	text[sizeof text - 1] = '\0';
	ck_assert_int_eq(log_open(path, "test"), 0);
	for (i = 0; i < 1100; i++)
		log_info("%s", text);
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_int_lt((int)st.st_size, 1 << 20);
	ck_assert_int_gt((int)st.st_size, 1000);
	free(path);
}
END_TEST

START_TEST(names_of_shells_are_checked)
{
	char name[66];

	memset(name, 'a', 65);
	name[65] = '\0';
	ck_assert(!shell_name_ok(name));
	name[64] = '\0';
	ck_assert(shell_name_ok(name));
	ck_assert(shell_name_ok("A-z_0.9"));
	ck_assert(shell_name_ok("..."));
	ck_assert(!shell_name_ok(""));
	ck_assert(!shell_name_ok("."));
	ck_assert(!shell_name_ok(".."));
	ck_assert(!shell_name_ok("a/b"));
	ck_assert(!shell_name_ok("a:b"));
	ck_assert(!shell_name_ok("\xc3\xa4"));
	ck_assert(!shell_name_ok(NULL));
}
END_TEST

START_TEST(the_user_is_known_from_passwd_when_the_environment_says_nothing)
{
	unsetenv("HOME");
	unsetenv("SHELL");
	unsetenv("USER");
	unsetenv("LOGNAME");
	ck_assert_int_eq(user_home()[0], '/');
	ck_assert_int_eq(user_shell()[0], '/');
	ck_assert_int_ne(user_name()[0], '\0');
	if (geteuid() == 0) {
		ck_assert_str_eq(user_name(), "root");
		ck_assert_str_eq(user_home(), "/root");
	}
}
END_TEST

START_TEST(random_bytes_are_not_all_alike_and_hex_is_hex)
{
	unsigned char a[600] = { 0 }, b[600] = { 0 };
	char hex[7];

	random_bytes(a, sizeof a);
	random_bytes(b, sizeof b);
	ck_assert(memcmp(a, b, sizeof a) != 0);
	ck_assert(memcmp(a, a + 300, 300) != 0);
	hex_put(hex, "\x00\xaf\x19", 3);
	ck_assert_str_eq(hex, "00af19");
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("place");
	TCase *t = tcase_create("place");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, a_place_is_made_below_home);
	tcase_add_test(t,
	    the_identity_is_stable_and_differs_between_instances);
	tcase_add_test(t, a_name_that_is_no_instance_is_refused);
	tcase_add_test(t, xdg_variables_count_only_when_absolute);
	tcase_add_test(t, too_long_a_path_falls_back_to_a_short_checked_one);
	tcase_add_test(t, a_home_that_cannot_be_written_falls_back);
	tcase_add_test(t,
	    every_length_of_path_gives_sockets_that_can_be_bound);
	tcase_add_test(t, a_directory_that_is_not_ours_alone_is_refused);
	tcase_add_test(t,
	    a_foreign_state_directory_is_an_error_and_no_fallback);
	tcase_add_test(t, what_earlier_boots_left_goes_and_nothing_else);
	tcase_add_test(t, a_socket_is_private_and_replaces_what_a_crash_left);
	tcase_add_test(t, files_are_read_to_their_limit_and_written_whole);
	tcase_add_test(t, a_log_line_shows_no_control_byte);
	tcase_add_test(t, a_log_is_cut_and_goes_on);
	tcase_add_test(t, names_of_shells_are_checked);
	tcase_add_test(t,
	    the_user_is_known_from_passwd_when_the_environment_says_nothing);
	tcase_add_test(t, random_bytes_are_not_all_alike_and_hex_is_hex);
	suite_add_tcase(s, t);
	return suite_run(s);
}
