/* SPDX-License-Identifier: ISC */
/*
 * The one-liner and its scanner. The one-liner is run for real under every
 * shell that is here, with a stand-in for the agent that honours --confirm
 * and --stdio. In a mount namespace of its own where that is allowed, so that
 * /tmp and its like are the test's.
 */
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdarg.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../server/base/buf.h"
#include "../../server/base/clock.h"
#include "../../server/base/fd.h"
#include "../../server/base/limits.h"
#include "../../server/base/mem.h"
#include "../../server/link/bootstrap.h"
#include "unit.h"

#define MARKER	"0123456789abcdef0123456789abcdef"

static bool own_mounts;		/* we may mount */
static char top[64];		/* the test's directory */
static char *home, *run_dir, *binary;

/* The stand-in: its size and every byte are checked by --confirm, by way of
 * cksum(1) of the original, whose result the environment has. */
static const char fake[] =
	"#!/bin/sh\n"
	"case $2 in\n"
	"--confirm) test \"$(wc -c <\"$0\")\" -eq \"$3\" && "
	"test \"$(cksum <\"$0\")\" = \"$FAKE_SUM\";;\n"
	"--stdio) echo \"$3 AGENT\"; echo \"I=$DLMUX_INSTANCE "
	"A=${DLMUX_ASKPASS-none} P=$PWD/${0#./}\"; exec cat;;\n"
	"*) exit 9;;\n"
	"esac\n"
	"exit\n";

struct run {
	const char	*shell[4];	/* before -c */
	int		 cut;		/* bytes to send; -1: all */
	bool		 careful, strip;
	const char	*marker;	/* NULL: MARKER */
	/* what came */
	bool		 here, need, agent, nodir, fail, ended;
	char		*text;		/* of the last word */
	char		*noise;
	char		*err;		/* its stderr */
	char		*hello;		/* behind AGENT */
	long		 sent;
};

/* NAME=DIR/TAIL */
static void
env_path(const char *name, const char *tail, const char *dir)
{
	char *s = xasprintf("%s%s", dir, tail);

	setenv(name, s, 1);
	free(s);
}

static void
run_free(struct run *r)
{
	free(r->text);
	free(r->noise);
	free(r->err);
	free(r->hello);
}

static pid_t
start(const struct run *r, char *line, int *in, int *out, int *err)
{
	const char *argv[8];
	int i, p[3][2];
	pid_t pid;

	for (i = 0; i < 3; i++)
		ck_assert_int_eq(pipe2(p[i], O_CLOEXEC), 0);
	for (i = 0; r->shell[i] != NULL; i++)
		argv[i] = r->shell[i];
	argv[i++] = "-c";
	argv[i++] = line;
	argv[i] = NULL;
	if ((pid = fork()) == 0) {
		setsid();
		dup2(p[0][0], 0);
		dup2(p[1][1], 1);
		dup2(p[2][1], 2);
		execvp(argv[0], (char *const *)argv);
		_exit(127);
	}
	ck_assert_int_gt(pid, 0);
	close(p[0][0]);
	close(p[1][1]);
	close(p[2][1]);
	*in = p[0][1];
	*out = p[1][0];
	*err = p[2][0];
	return pid;
}

static void
upload(struct run *r, const struct payload *p, int *in)
{
	size_t n = r->cut < 0 ? p->size : (size_t)r->cut;
	uint8_t *data = xmalloc(p->size);

	ck_assert_int_eq(pread(p->fd, data, p->size, 0), (ssize_t)p->size);
	if (n > 0 && fd_write_all(*in, data, n) == -1)
		ck_assert_int_eq(errno, EPIPE);
	r->sent = (long)n;
	if (r->cut >= 0)
		fd_close(in);
	free(data);
}

/* Runs it to AGENT and one line more, or to the end. */
static void
run(struct run *r)
{
	struct payload p;
	const char *marker = r->marker != NULL ? r->marker : MARKER;
	struct boot_spec spec = { .marker = marker, .instance = "inst",
	    .payload = &p, .careful = r->careful, .strip = r->strip };
	struct boot_scan *s = boot_scan_new(marker);
	uint64_t until = clock_ms() + 20000;
	struct buf err, hello;
	char *line, *cause, data[4096];
	struct pollfd pf[2];
	enum boot_word w;
	int in, status;
	size_t used, i;
	ssize_t n;
	pid_t pid;

	ck_assert_msg(payload_file(&p, binary, &cause) == 0, "no binary");
	line = boot_oneliner(&spec);
	buf_init(&err, 1 << 20);
	buf_init(&hello, 1 << 20);
	pid = start(r, line, &in, &pf[0].fd, &pf[1].fd);
	pf[0].events = pf[1].events = POLLIN;
	while (pf[0].fd >= 0 && !r->fail && memchr(hello.data ? hello.data :
	    (uint8_t *)"", '\n', hello.len) == NULL) {
		ck_assert_msg(clock_ms() < until, "stuck: %.*s", (int)err.len,
		    (char *)err.data);
		poll(pf, 2, 1000);
		if (pf[1].revents != 0) {
			n = read(pf[1].fd, data, sizeof data);
			if (n <= 0)
				fd_close(&pf[1].fd);
			else
				buf_put(&err, data, (size_t)n);
		}
		if (pf[0].revents == 0)
			continue;
		if ((n = read(pf[0].fd, data, sizeof data)) <= 0) {
			fd_close(&pf[0].fd);
			r->ended = true;
			break;
		}
		for (i = 0; i < (size_t)n; i += used) {
			if (r->agent) {
				buf_put(&hello, data + i, (size_t)n - i);
				break;
			}
			w = boot_scan(s, data + i, (size_t)n - i, &used);
			if (w == BOOT_MORE || w == BOOT_GOT)
				continue;
			if (w == BOOT_HERE) {
				ck_assert(!r->here && !r->need);
				r->here = true;
				continue;
			}
			free(r->text);
			r->text = xstrdup(boot_scan_text(s));
			r->need |= w == BOOT_NEED;
			r->agent |= w == BOOT_AGENT;
			r->nodir |= w == BOOT_NODIR;
			r->fail |= w == BOOT_FAIL;
			ck_assert_int_ne(w, BOOT_NOISE);
			if (w == BOOT_NEED)
				upload(r, &p, &in);
		}
	}
	fd_close(&in);
	fd_close(&pf[0].fd);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	/* Not to its end: what says how far an upload is has it for a second
	 * more. */
	if (pf[1].fd >= 0)
		(void)fd_nonblock(pf[1].fd);
	while (pf[1].fd >= 0 && (n = read(pf[1].fd, data, sizeof data)) > 0)
		buf_put(&err, data, (size_t)n);
	fd_close(&pf[1].fd);
	r->noise = xstrdup(boot_scan_noise(s));
	buf_u8(&err, 0);
	r->err = (char *)err.data;
	buf_u8(&hello, 0);
	r->hello = (char *)hello.data;
	boot_scan_free(s);
	payload_close(&p);
	free(line);
}

static struct run
run_sh(int cut)
{
	struct run r = { .shell = { "sh" }, .cut = cut };

	run(&r);
	return r;
}

static void
setup(void)
{
	static char sum[128];
	FILE *f;
	int i;

	snprintf(top, sizeof top, "/tmp/dlmux-boot.XXXXXX");
	if (own_mounts)
		for (i = 0; i < 3; i++)
			ck_assert_int_eq(mount("none", (const char *[]){
			    "/tmp", "/var/tmp", "/dev/shm" }[i], "tmpfs", 0,
			    "mode=1777"), 0);
	ck_assert_ptr_nonnull(mkdtemp(top));
	home = xasprintf("%s/home", top);
	run_dir = xasprintf("%s/run", top);
	binary = xasprintf("%s/fake", top);
	ck_assert_int_eq(mkdir(home, 0700), 0);
	ck_assert_int_eq(mkdir(run_dir, 0700), 0);
	f = fopen(binary, "w");
	fputs(fake, f);
	/* Some weight, so that a pipe is filled more than once. */
	for (i = 0; i < 3000; i++)
		fprintf(f, "# %064d\n", i);
	fclose(f);
	ck_assert_int_eq(chmod(binary, 0755), 0);
	setenv("HOME", home, 1);
	setenv("XDG_RUNTIME_DIR", run_dir, 1);
	unsetenv("XDG_CACHE_HOME");
	unsetenv("XDG_CONFIG_HOME");
	unsetenv("DLMUX_ASKPASS");
	unsetenv("ENV");
	unsetenv("BASH_ENV");
	unsetenv("ZDOTDIR");
	{
		char *cmd = xasprintf("cksum <%s", binary);

		f = popen(cmd, "r");
		free(cmd);
	}
	ck_assert_ptr_nonnull(fgets(sum, sizeof sum, f));
	pclose(f);
	sum[strcspn(sum, "\n")] = '\0';
	setenv("FAKE_SUM", sum, 1);
}

static void
teardown(void)
{
	char *cmd = xasprintf("umount %s/* 2>/dev/null; rm -rf %s", top, top);
	int i;

	if (system(cmd) != 0)
		fprintf(stderr, "%s: left behind\n", top);
	free(cmd);
	if (own_mounts)
		for (i = 0; i < 3; i++)
			umount2((const char *[]){ "/tmp", "/var/tmp",
			    "/dev/shm" }[i], MNT_DETACH);
	free(home);
	free(run_dir);
	free(binary);
}

/* ---- the text ---- */

START_TEST(one_liner_has_no_character_that_a_login_shell_would_change)
{
	struct payload p = { .size = 1234567, .crc = 0xdeadbeef,
	    .hash = "0123456789abcdef01234567" };
	struct boot_spec spec = { .marker = MARKER, .instance = "a.b-c",
	    .payload = &p };
	int i, quotes;
	char *line, *s;

	for (i = 0; i < 4; i++) {
		spec.careful = i & 1;
		spec.strip = i & 2;
		line = boot_oneliner(&spec);
		ck_assert_int_eq(strncmp(line, "exec sh -c '", 12), 0);
		for (quotes = 0, s = line; *s != '\0'; s++) {
			quotes += *s == '\'';
			ck_assert_msg(*s != '!' && *s != '\\' && *s >= ' ' &&
			    *s <= '~', "%c in %s", *s, line);
		}
		ck_assert_int_eq(quotes, 2);
		ck_assert_int_eq(s[-1], '\'');
		/* Old csh reads no word longer than this. */
		ck_assert_uint_lt(strlen(line), 2000);
		free(line);
	}
}
END_TEST

/* ---- run for real ---- */

static const char *const shells[][3] = {
	{ "sh" }, { "dash" }, { "bash" }, { "busybox", "sh" }, { "zsh" },
	{ "fish" }, { "tcsh" }
};
#define NSHELLS ((int)(sizeof shells / sizeof shells[0]))

static bool
have(const char *prog)
{
	char *cmd = xasprintf("command -v %s >/dev/null 2>&1", prog);
	int r = system(cmd);

	free(cmd);
	if (r != 0)
		printf("SKIP %s is not installed\n", prog);
	return r == 0;
}

START_TEST(every_login_shell_takes_it_cold_and_then_warm)
{
	struct run r = { .cut = -1 };
	char *want;

	if (!have(shells[_i][0]))
		return;
	memcpy(r.shell, shells[_i], sizeof shells[_i]);
	run(&r);
	ck_assert_msg(r.agent && r.need, "%s: %s%s", shells[_i][0], r.noise,
	    r.err);
	want = xasprintf("I=inst A=none P=%s/.cache/dlmux/dlmux-", home);
	ck_assert_msg(strncmp(r.hello, want, strlen(want)) == 0, "%s", r.hello);
	run_free(&r);

	memset(&r, 0, sizeof r);
	memcpy(r.shell, shells[_i], sizeof shells[_i]);
	r.cut = -1;
	run(&r);
	ck_assert_msg(r.agent && !r.need, "%s: %s%s", shells[_i][0], r.noise,
	    r.err);
	ck_assert_int_eq(strncmp(r.hello, want, strlen(want)), 0);
	run_free(&r);
	free(want);
	/* nothing but the program is left, and it is private */
	sh("test $(ls -A %s/.cache/dlmux | wc -l) -eq 1", home);
	sh("test $(stat -c %%a %s/.cache/dlmux) = 700", home);
	sh("test $(stat -c %%a %s/.cache/dlmux/dlmux-*) = 700", home);
}
END_TEST

START_TEST(start_up_files_that_print_and_read_change_nothing)
{
	struct run r = { .cut = -1 };
	int i;

	if (!have(shells[_i][0]))
		return;
	sh("cd %s && mkdir -p .config/fish && "
	    "echo 'echo noise of fish; printf glued' "
	    ">.config/fish/config.fish && "
	    "echo 'echo noise of tcsh; printf glued' >.tcshrc && "
	    "echo 'echo noise of zsh; read -t 0 x; printf glued' >.zshenv && "
	    "echo 'echo noise of bash; read -t 0.2 x; printf glued' >rc",
	    home);
	sh("echo 'PATH=%s:$PATH' >>%s/.zshenv", top, home);
	env_path("BASH_ENV", "/rc", home);
	for (i = 0; i < 2; i++) {
		memset(&r, 0, sizeof r);
		memcpy(r.shell, shells[_i], sizeof shells[_i]);
		r.cut = -1;
		run(&r);
		ck_assert_msg(r.agent && r.need == (i == 0), "%s: %s%s",
		    shells[_i][0], r.noise, r.err);
		if (strcmp(shells[_i][0], "bash") == 0 ||
		    strcmp(shells[_i][0], "zsh") == 0 ||
		    strcmp(shells[_i][0], "fish") == 0 ||
		    strcmp(shells[_i][0], "tcsh") == 0) {
			ck_assert_msg(strstr(r.noise, "noise of ") != NULL,
			    "%s was quiet: %s", shells[_i][0], r.noise);
			ck_assert_ptr_nonnull(strstr(r.noise, "glued"));
			/* the marker's own bytes are not noise */
			ck_assert_ptr_null(strstr(r.noise, "0123456789"));
		}
		run_free(&r);
	}
	unsetenv("BASH_ENV");
}
END_TEST

START_TEST(an_upload_cut_at_any_byte_leaves_nothing_behind)
{
	struct stat st;
	struct run r;
	long size;
	int cut, step;

	ck_assert_int_eq(stat(binary, &st), 0);
	size = (long)st.st_size;
	/* every 16th of it, and each of the last bytes */
	for (step = 0; step < 24; step++) {
		cut = step < 16 ? (int)(size * step / 16) :
		    (int)(size - 1 - (step - 16));
		r = run_sh(cut);
		ck_assert_msg(r.need && !r.agent, "cut at %d", cut);
		ck_assert_msg(r.fail, "cut at %d: no FAIL", cut);
		ck_assert_msg(strncmp(r.text, "run /", 5) == 0 ||
		    strncmp(r.text, "write /", 7) == 0, "%s", r.text);
		run_free(&r);
		sh("test -z \"$(ls -A %s/.cache/dlmux)\"", home);
	}
	r = run_sh(-1);
	ck_assert(r.agent && r.need);
	run_free(&r);
}
END_TEST

START_TEST(a_shell_killed_in_the_upload_leaves_no_program_of_that_name)
{
	struct run r;

	/* what it left: half a file under its temporary name */
	sh("mkdir -p %s/.cache/dlmux; chmod 700 %s/.cache/dlmux; "
	    "echo half >%s/.cache/dlmux/.dlmux-x", home, home, home);
	r = run_sh(-1);
	ck_assert(r.agent && r.need);
	run_free(&r);
}
END_TEST

START_TEST(other_cache_directories_are_honoured)
{
	struct run r;

	env_path("XDG_CACHE_HOME", "/my cache", top);
	r = run_sh(-1);
	ck_assert(r.agent && r.need);
	ck_assert_ptr_nonnull(strstr(r.hello, "/my cache/dlmux/dlmux-"));
	run_free(&r);
	r = run_sh(-1);
	ck_assert(r.agent && !r.need);
	run_free(&r);
	unsetenv("XDG_CACHE_HOME");
}
END_TEST

START_TEST(without_home_and_runtime_directory_tmp_is_used)
{
	struct run r;

	if (!own_mounts) {
		printf("SKIP no mount namespace: /var/tmp is not ours\n");
		return;
	}
	unsetenv("HOME");
	unsetenv("XDG_RUNTIME_DIR");
	r = run_sh(-1);
	ck_assert_msg(r.agent && r.need, "%s", r.err);
	ck_assert_ptr_nonnull(strstr(r.hello, "P=/var/tmp/dlmux-"));
	run_free(&r);
	r = run_sh(-1);
	ck_assert(r.agent && !r.need);
	run_free(&r);
}
END_TEST

/* A home that cannot be used: the next candidate is. */
static void
next_is_used(const char *what)
{
	struct run r = run_sh(-1);
	char *want = xasprintf("P=%s/dlmux/dlmux-", run_dir);

	ck_assert_msg(r.agent && r.need, "%s: %s %s", what, r.text, r.err);
	ck_assert_msg(strstr(r.hello, want) != NULL, "%s: %s", what, r.hello);
	run_free(&r);
	r = run_sh(-1);
	ck_assert_msg(r.agent && !r.need, "%s, warm: %s", what, r.err);
	ck_assert_ptr_nonnull(strstr(r.hello, want));
	run_free(&r);
	free(want);
}

static bool
mount_home(unsigned long flags, const char *data)
{
	if (!own_mounts) {
		printf("SKIP no mount namespace: cannot mount a home\n");
		return false;
	}
	ck_assert_int_eq(mount("none", home, "tmpfs", flags, data), 0);
	return true;
}

START_TEST(a_read_only_home_is_passed_over)
{
	if (mount_home(MS_RDONLY, "mode=700"))
		next_is_used("read-only");
}
END_TEST

START_TEST(a_noexec_home_is_passed_over)
{
	if (mount_home(MS_NOEXEC, "mode=700"))
		next_is_used("noexec");
}
END_TEST

START_TEST(a_full_home_is_passed_over)
{
	if (!mount_home(0, "mode=700,size=128k"))
		return;
	next_is_used("full");
	sh("test -z \"$(find %s -type f)\"", home);
}
END_TEST

START_TEST(a_home_that_became_noexec_is_passed_over)
{
	struct run r;

	if (!mount_home(0, "mode=700"))
		return;
	r = run_sh(-1);
	ck_assert(r.agent);
	run_free(&r);
	ck_assert_int_eq(mount("none", home, "tmpfs", MS_REMOUNT | MS_NOEXEC,
	    NULL), 0);
	next_is_used("noexec now");
}
END_TEST

START_TEST(a_program_that_does_not_run_is_replaced_when_careful)
{
	/* cut, bytes changed in the middle, empty */
	static const char *const spoil[] = {
		"head -c 100 \"$f\" >$n", "dd if=/dev/zero of=$n bs=1 "
		"seek=1000 count=64 conv=notrunc 2>/dev/null", ":>$n"
	};
	struct run r;

	r = run_sh(-1);
	ck_assert(r.agent);
	run_free(&r);
	sh("n=$(echo %s/.cache/dlmux/dlmux-*); f=%s/fake; %s", home, top,
	    spoil[_i]);
	memset(&r, 0, sizeof r);
	r.shell[0] = "sh";
	r.cut = -1;
	r.careful = true;
	run(&r);
	ck_assert_msg(r.agent && r.need, "%s", r.err);
	run_free(&r);
	memset(&r, 0, sizeof r);
	r.shell[0] = "sh";
	r.cut = -1;
	r.careful = true;
	run(&r);
	ck_assert_msg(r.agent && !r.need, "%s", r.err);
	run_free(&r);
}
END_TEST

START_TEST(another_users_directory_and_program_are_never_used)
{
	struct run r;

	if (geteuid() != 0) {
		printf("SKIP not root: cannot make another user's files\n");
		return;
	}
	/* learn the name, then hand the whole directory to somebody else */
	r = run_sh(-1);
	ck_assert(r.agent);
	run_free(&r);
	sh("chown -R 12345 %s/.cache/dlmux", home);
	next_is_used("foreign directory");
	/* the directory ours, the program not */
	sh("chown 0 %s/.cache/dlmux; cp %s/dlmux/dlmux-* %s/.cache/dlmux/; "
	    "chown 12345 %s/.cache/dlmux/dlmux-*; rm %s/dlmux/dlmux-*",
	    home, run_dir, home, home, run_dir);
	r = run_sh(-1);
	ck_assert_msg(r.agent && r.need, "%s", r.err);
	sh("test $(stat -c %%u %s/.cache/dlmux/dlmux-*) = 0", home);
	run_free(&r);
}
END_TEST

START_TEST(links_in_the_way_are_refused)
{
	struct run r;

	/* the directory is a link to one of ours */
	sh("mkdir -p %s/.cache %s/real; chmod 700 %s/real; "
	    "ln -s %s/real %s/.cache/dlmux", home, top, top, top, home);
	next_is_used("link to a directory");
	sh("test -z \"$(ls -A %s/real)\"", top);
	/* the program is a link */
	sh("rm %s/.cache/dlmux; mkdir %s/.cache/dlmux; "
	    "chmod 700 %s/.cache/dlmux; n=$(basename %s/dlmux/dlmux-*); "
	    "ln -s %s/fake %s/.cache/dlmux/$n; rm %s/dlmux/$n", home, home,
	    home, run_dir, top, home, run_dir);
	r = run_sh(-1);
	ck_assert_msg(r.agent && r.need, "%s", r.err);
	sh("test ! -L %s/.cache/dlmux/dlmux-*", home);
	sh("test $(wc -c <%s/fake) -gt 0", top);
	run_free(&r);
}
END_TEST

/* Somebody who may write above the directory puts another in its place, at the
 * moment of the last look at it. */
START_TEST(a_directory_exchanged_meanwhile_is_not_followed)
{
	char *old = xstrdup(getenv("PATH")), *path;
	struct run r;

	r = run_sh(-1);
	ck_assert(r.agent);
	run_free(&r);
	sh("d=%s; mkdir $d/bin $d/evil; chmod 700 $d/evil; "
	    "n=$(basename $d/home/.cache/dlmux/dlmux-*); "
	    "printf '#!/bin/sh\\necho $3 AGENT; echo evil; exec cat\\n' "
	    ">$d/evil/$n; printf '#!/bin/sh\\n"
	    "cd %%s/home/.cache && mv dlmux real && ln -s %%s/evil dlmux && "
	    "cd real && exec /bin/ls \"$@\"\\n' $d $d >$d/bin/ls; "
	    "chmod 755 $d/bin/ls $d/evil/$n", top);
	path = xasprintf("%s/bin:%s", top, old);
	setenv("PATH", path, 1);
	r = run_sh(-1);
	setenv("PATH", old, 1);
	sh("test -L %s/.cache/dlmux", home);	/* it was exchanged */
	ck_assert_msg(r.agent && strstr(r.hello, "evil") == NULL, "%s",
	    r.hello);
	run_free(&r);
	free(path);
	free(old);
}
END_TEST

START_TEST(an_open_directory_of_ours_is_closed_before_it_is_used)
{
	struct run r;

	r = run_sh(-1);
	run_free(&r);
	sh("chmod 777 %s/.cache/dlmux", home);
	r = run_sh(-1);
	ck_assert(r.agent && r.need);
	run_free(&r);
	sh("test $(stat -c %%a %s/.cache/dlmux) = 700", home);
}
END_TEST

START_TEST(no_directory_at_all_is_said)
{
	struct run r;

	if (!own_mounts) {
		printf("SKIP no mount namespace: cannot spoil /tmp\n");
		return;
	}
	sh("touch %s/.cache %s/dlmux /var/tmp/dlmux-$(id -u) "
	    "/tmp/dlmux-$(id -u) /dev/shm/dlmux-$(id -u)", home, run_dir);
	r = run_sh(-1);
	ck_assert_msg(r.nodir && r.ended && !r.need, "%s", r.err);
	ck_assert_ptr_nonnull(strstr(r.text, "/var/tmp/dlmux-"));
	run_free(&r);
}
END_TEST

START_TEST(two_at_once_both_come_up)
{
	struct run r = { .shell = { "sh" }, .cut = -1 };
	pid_t pid;
	int status;

	if ((pid = fork()) == 0) {
		r.marker = "ffffffffffffffffffffffffffffffff";
		run(&r);
		_exit(r.agent ? 0 : 1);
	}
	run(&r);
	ck_assert_msg(r.agent, "%s", r.err);
	run_free(&r);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	sh("test $(ls -A %s/.cache/dlmux | wc -l) -eq 1", home);
}
END_TEST

START_TEST(askpass_variables_do_not_reach_the_agent)
{
	struct run r = { .shell = { "sh" }, .cut = -1, .strip = true };

	setenv("DLMUX_ASKPASS", "/sock token", 1);
	run(&r);
	ck_assert_msg(r.agent, "%s", r.err);
	ck_assert_ptr_nonnull(strstr(r.hello, "A=none"));
	run_free(&r);
}
END_TEST

START_TEST(a_far_side_without_head_says_so)
{
	struct run r = { .shell = { "/bin/sh" }, .cut = 100 };
	char *old = xstrdup(getenv("PATH"));

	sh("mkdir %s/bin; for p in sh id mkdir ls chmod uname rm mv cksum wc "
	    "cat; do ln -s \"$(command -v $p)\" %s/bin/$p; done", top, top);
	env_path("PATH", "/bin", top);
	run(&r);
	setenv("PATH", old, 1);
	ck_assert(r.nodir && !r.agent);
	ck_assert_ptr_nonnull(strstr(r.err, "head"));
	run_free(&r);
	free(old);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("bootstrap");
	TCase *t = tcase_create("text"), *r = tcase_create("run");

	signal(SIGPIPE, SIG_IGN);
	own_mounts = geteuid() == 0 && unshare(CLONE_NEWNS) == 0 &&
	    mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
	tcase_add_test(t,
	    one_liner_has_no_character_that_a_login_shell_would_change);
	tcase_add_checked_fixture(r, setup, teardown);
	tcase_set_timeout(r, 60);
	tcase_add_loop_test(r, every_login_shell_takes_it_cold_and_then_warm,
	    0, NSHELLS);
	tcase_add_loop_test(r,
	    start_up_files_that_print_and_read_change_nothing, 0, NSHELLS);
	tcase_add_test(r, an_upload_cut_at_any_byte_leaves_nothing_behind);
	tcase_add_test(r,
	    a_shell_killed_in_the_upload_leaves_no_program_of_that_name);
	tcase_add_test(r, other_cache_directories_are_honoured);
	tcase_add_test(r, without_home_and_runtime_directory_tmp_is_used);
	tcase_add_test(r, a_read_only_home_is_passed_over);
	tcase_add_test(r, a_noexec_home_is_passed_over);
	tcase_add_test(r, a_full_home_is_passed_over);
	tcase_add_test(r, a_home_that_became_noexec_is_passed_over);
	tcase_add_loop_test(r,
	    a_program_that_does_not_run_is_replaced_when_careful, 0, 3);
	tcase_add_test(r, another_users_directory_and_program_are_never_used);
	tcase_add_test(r, links_in_the_way_are_refused);
	tcase_add_test(r, a_directory_exchanged_meanwhile_is_not_followed);
	tcase_add_test(r,
	    an_open_directory_of_ours_is_closed_before_it_is_used);
	tcase_add_test(r, no_directory_at_all_is_said);
	tcase_add_test(r, two_at_once_both_come_up);
	tcase_add_test(r, askpass_variables_do_not_reach_the_agent);
	tcase_add_test(r, a_far_side_without_head_says_so);
	suite_add_tcase(s, t);
	suite_add_tcase(s, r);
	return suite_run(s);
}
