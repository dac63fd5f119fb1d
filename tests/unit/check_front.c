/* SPDX-License-Identifier: ISC */
/* Fronts: what starts an agent, or finds it, and hands it a connection. */
#include "agent-link.h"

struct front {
	pid_t	 pid;
	int	 in, out;
};

static void
front_run(struct front *f, const char *marker)
{
	int in[2], out[2];

	ck_assert_int_eq(fd_pipe(in), 0);
	ck_assert_int_eq(fd_pipe(out), 0);
	if ((f->pid = fork()) == 0) {
		dup2(in[0], 0);
		dup2(out[1], 1);
		execl("/proc/self/exe", "check_front", "agent", "--stdio",
		    marker, (char *)NULL);
		_exit(9);
	}
	close(in[0]);
	close(out[1]);
	f->in = in[1];
	f->out = out[0];
}

static struct tlink *
front_link(struct front *f, const char *marker)
{
	char line[128];
	size_t n = 0;

	/* Byte by byte: what follows the line belongs to the frames. */
	while (n < sizeof line - 1 && read(f->out, line + n, 1) == 1)
		if (line[n++] == '\n')
			break;
	line[n] = '\0';
	ck_assert_int_eq(strncmp(line, marker, strlen(marker)), 0);
	ck_assert_str_eq(line + strlen(marker), " AGENT\n");
	return tlink_over(f->out, f->in);
}

static void
front_await_gone(struct front *f)
{
	uint64_t until = clock_ms() + WAIT_MS;
	int status;

	while (waitpid(f->pid, &status, WNOHANG) == 0) {
		ck_assert_msg(clock_ms() < until, "the front stays");
		turn(20);
	}
	ck_assert(WIFEXITED(status));
	ck_assert_int_eq(WEXITSTATUS(status), 0);
}

static void
front_works(void)
{
	struct front f;
	struct tlink *l;
	struct top op;
	uint8_t agent[MSG_ID];

	front_run(&f, "0123456789abcdef");
	l = front_link(&f, "0123456789abcdef");
	tlink_hello(l, "server", 1);
	memcpy(agent, l->agent, MSG_ID);
	exec_sh(&op, l, 1, "echo through the front; exit 6");
	ck_assert_uint_eq(op.exit.code, 6);
	ck_assert_uint_eq(op.out[0].len, 18);
	top_clear(&op);
	/* EOF on its input ends it, and the agent stays. */
	tlink_cut(l);
	front_await_gone(&f);
	front_run(&f, "m");
	l = front_link(&f, "m");
	tlink_hello(l, "server", 2);
	ck_assert_mem_eq(l->agent, agent, MSG_ID);
	/* BYE is answered, then the front goes. */
	conn_send(l->conn, CONN_CONTROL, F_BYE, 0, "\0\0\0\0", 4);
	got_free(await(l, F_BYE, -1));
	tlink_cut(l);
	front_await_gone(&f);
}

START_TEST(a_front_starts_the_agent_and_hands_its_descriptors_over)
{
	front_works();
}
END_TEST

START_TEST(a_front_that_cannot_pass_descriptors_copies)
{
	setenv("DLMUX_FRONT_COPY", "1", 1);
	front_works();
}
END_TEST

START_TEST(a_killed_front_ends_its_link_only)
{
	struct tlink *other = tlink_open("other", 1), *l;
	struct front f;

	front_run(&f, "m");
	l = front_link(&f, "m");
	tlink_hello(l, "server", 1);
	kill(f.pid, SIGKILL);
	ck_assert(await_closed(l));
	ck_assert_int_eq(waitpid(f.pid, NULL, 0), f.pid);
	ck_assert(!other->closed);
}
END_TEST

START_TEST(two_fronts_at_once_start_one_agent)
{
	struct front f[4];
	struct tlink *l[4];
	char server[4][16];
	int i;

	for (i = 0; i < 4; i++)
		front_run(&f[i], "m");
	for (i = 0; i < 4; i++) {
		snprintf(server[i], sizeof server[i], "s%d", i);
		l[i] = front_link(&f[i], "m");
		tlink_hello(l[i], server[i], 1);
		ck_assert_mem_eq(l[i]->agent, l[0]->agent, MSG_ID);
	}
}
END_TEST

START_TEST(the_agent_holds_no_descriptor_of_whoever_started_it)
{
	struct front f;
	struct tlink *l;
	char path[64], to[256];
	struct dirent *d;
	DIR *dir;
	ssize_t n;
	int err[2], saved;

	ck_assert_int_eq(fd_pipe(err), 0);
	saved = dup(2);
	dup2(err[1], 2);
	close(err[1]);
	front_run(&f, "m");
	dup2(saved, 2);
	close(saved);
	l = front_link(&f, "m");
	tlink_hello(l, "server", 1);
	tlink_cut(l);
	front_await_gone(&f);
	/* Had the agent our stderr, this would not end. */
	ck_assert_int_eq(read(err[0], to, sizeof to), 0);
	snprintf(path, sizeof path, "/proc/%d/fd", (int)agent_pid);
	ck_assert_ptr_nonnull(dir = opendir(path));
	while ((d = readdir(dir)) != NULL)
		if (*d->d_name >= '0' && *d->d_name <= '2') {
			n = readlinkat(dirfd(dir), d->d_name, to,
			    sizeof to - 1);
			to[n > 0 ? n : 0] = '\0';
			if (d->d_name[1] == '\0')
				ck_assert_str_eq(to, "/dev/null");
		}
	closedir(dir);
}
END_TEST

START_TEST(a_socket_that_a_cleaner_took_is_put_back)
{
	struct tlink *l = tlink_open("server", 1), *m;
	uint8_t agent[MSG_ID];
	struct front f;

	memcpy(agent, l->agent, MSG_ID);
	ck_assert_int_eq(unlink(home_place->agent_sock), 0);
	front_run(&f, "m");
	m = front_link(&f, "m");
	tlink_hello(m, "other", 1);
	ck_assert_mem_eq(m->agent, agent, MSG_ID);
}
END_TEST

static const struct agent_test tests[] = {
	T(a_front_starts_the_agent_and_hands_its_descriptors_over),
	T(a_front_that_cannot_pass_descriptors_copies),
	T(a_killed_front_ends_its_link_only),
	T(two_fronts_at_once_start_one_agent),
	T(the_agent_holds_no_descriptor_of_whoever_started_it),
	T(a_socket_that_a_cleaner_took_is_put_back),
};

int
main(int argc, char **argv)
{
	return agent_suite(argc, argv, "front", tests, sizeof tests /
	    sizeof *tests, home_make, home_clean);
}
