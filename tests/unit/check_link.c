/* SPDX-License-Identifier: ISC */
/*
 * Links for real: this test program is also the agent and the askpass (it
 * sends itself), behind a Command, a real ssh to a real `sshd -i`, and the
 * local socket.
 */
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../server/agent/agent.h"
#include "../../server/base/clock.h"
#include "../../server/base/fd.h"
#include "../../server/base/limits.h"
#include "../../server/base/log.h"
#include "../../server/base/mem.h"
#include "../../server/link/askpass.h"
#include "../../server/link/child.h"
#include "../../server/link/link.h"
#include "../../server/link/retry.h"
#include "unit.h"

extern char **environ;

static struct event_base *base;
static struct place *place;
static char top[64];
static struct link *link_;
static struct target target;
static char *command;

/* What the callbacks saw. */
static int ups, downs, fails, readies;
static char last_text[1024];
static uint8_t instance[MSG_ID];
static uint32_t agent_pid;
static pid_t agents[64];
static size_t nagents;
static int prompts;
static uint32_t prompt_id;
static bool prompt_echo;
static char prompt_text[256];
/* the little server for askpass */
static struct conn *asker;
static struct event *listen_ev;
static int listen_fd = -1;

static void
on_state(struct link *l, enum link_state state, const char *text,
    const struct msg_hello *agent, void *arg)
{
	ck_assert_ptr_eq(arg, top);
	ck_assert_int_eq(link_state(l), state);
	snprintf(last_text, sizeof last_text, "%s", text);
	ups += state == LINK_UP;
	downs += state == LINK_DOWN;
	fails += state == LINK_FAILED;
	ck_assert_int_eq(agent != NULL, state == LINK_UP);
	if (agent != NULL) {
		memcpy(instance, agent->id, MSG_ID);
		agent_pid = agent->pid;
		if (nagents < 64)
			agents[nagents++] = (pid_t)agent_pid;
	}
}

static void
on_message(struct link *l, uint8_t type, uint32_t channel,
    const uint8_t *data, size_t len, void *arg)
{
	(void)l;
	(void)channel;
	(void)data;
	(void)len;
	(void)arg;
	readies += type == F_READY;
}

static void
on_prompt(struct link *l, uint32_t id, bool echo, const char *text, void *arg)
{
	(void)l;
	(void)arg;
	prompts++;
	prompt_id = id;
	prompt_echo = echo;
	snprintf(prompt_text, sizeof prompt_text, "%s", text);
}

static const struct link_cb callbacks = {
	.state = on_state, .message = on_message, .prompt = on_prompt,
};

static void
on_tick(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)arg;
}

/* Runs the loop until the condition holds. It may be one of another process,
 * of which no event tells: it is looked at every 20 ms at least. */
#define await(cond) do { \
	uint64_t until_ = clock_ms() + 15000; \
	struct timeval tv_ = { 0, 20000 }; \
	struct event *ev_ = event_new(base, -1, EV_PERSIST, on_tick, NULL); \
	event_add(ev_, &tv_); \
	while (!(cond) && clock_ms() < until_) \
		event_base_loop(base, EVLOOP_ONCE); \
	event_free(ev_); \
	ck_assert_msg(cond, "waited for " #cond "; last: %s", last_text); \
} while (0)

static void
idle(int ms)
{
	struct timeval tv = { ms / 1000, ms % 1000 * 1000 };

	event_base_loopexit(base, &tv);
	event_base_dispatch(base);
}

static void
make(void)
{
	struct link_setup s = { .base = base, .place = place,
	    .role = ROLE_SERVER, .cb = &callbacks, .arg = top };

	/* Each a server of its own: an agent keeps one link to a server. */
	random_bytes(s.server_id, sizeof s.server_id);
	link_free(link_);
	link_ = link_new(&s, &target);
	ups = downs = fails = readies = prompts = 0;
}

static void
with_command(const char *fmt, ...)
{
	va_list ap;

	free(command);
	va_start(ap, fmt);
	ck_assert_int_gt(vasprintf(&command, fmt, ap), 0);
	va_end(ap);
	memset(&target, 0, sizeof target);
	target.scheme = SCHEME_COMMAND;
	target.name = target.host = (char *)"box";
	target.command = command;
	make();
}

/* The far side of a Command: a home of its own. */
#define FAR "env -u XDG_RUNTIME_DIR HOME=%s/far XDG_STATE_HOME=%s/far/s " \
	"XDG_CACHE_HOME=%s/far/c "

static void
far_command(const char *tail)
{
	with_command(FAR "%s", top, top, top, tail);
}

static void
setup(void)
{
	char *cause, *dir;

	snprintf(top, sizeof top, "/tmp/dlmux-link.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(top));
	sh("mkdir %s/near %s/far %s/bin", top, top, top);
	dir = xasprintf("%s/near", top);
	setenv("HOME", dir, 1);
	free(dir);
	unsetenv("XDG_STATE_HOME");
	unsetenv("XDG_CACHE_HOME");
	unsetenv("XDG_CONFIG_HOME");
	unsetenv("SSH_AUTH_SOCK");
	setenv("SHELL", "/bin/sh", 1);
	place = place_open(NULL, &cause);
	ck_assert_ptr_nonnull(place);
	log_open(place->server_log, "server");
	base = fd_loop(0);
}

/* The agents that were met end here; each is known by its HELLO. */
static void
teardown(void)
{
	char *cmd;
	size_t i;

	link_free(link_);
	link_ = NULL;
	idle(20);
	for (i = 0; i < nagents; i++) {
		kill(agents[i], SIGCONT);
		kill(agents[i], SIGKILL);
	}
	cmd = xasprintf("rm -rf %s", top);
	if (system(cmd) != 0)
		fprintf(stderr, "%s: left behind\n", top);
	free(cmd);
	place_free(place);
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

/* ---- ssh's questions ---- */

static void
ask_answered(bool ok, const char *text, void *arg)
{
	struct buf b;

	buf_init(&b, 4096);
	buf_u32(&b, 0);
	buf_u8(&b, ok);
	buf_str(&b, text);
	conn_send_buf(arg, CONN_CONTROL, F_REPLY, 0, &b);
	buf_free(&b);
}

static void
ask_message(struct conn *c, uint8_t type, uint32_t channel,
    const uint8_t *data, size_t len, void *arg)
{
	struct rd r;
	char *token, *text;
	int kind;

	(void)channel;
	(void)arg;
	if (type != F_ASK)
		return;
	rd_init(&r, data, len);
	token = rd_str(&r, 4096);
	kind = rd_u8(&r);
	text = rd_str(&r, 4096);
	ck_assert(rd_end(&r));
	ck_assert(!link_ask(link_, "0123", kind, text, ask_answered, c));
	if (!link_ask(link_, token, kind, text, ask_answered, c))
		ask_answered(false, "", c);
	free(token);
	free(text);
}

static void
ask_closed(struct conn *c, const char *why, void *arg)
{
	(void)why;
	(void)arg;
	link_ask_gone(link_, c);
	conn_free(c);
	asker = NULL;
}

static const struct conn_cb ask_callbacks = {
	.message = ask_message, .closed = ask_closed,
};

static void
on_accept(evutil_socket_t fd, short what, void *arg)
{
	int c = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	(void)what;
	(void)arg;
	ck_assert_int_ge(c, 0);
	asker = conn_new(base, c, c, PEER_CLIENT, &ask_callbacks, NULL);
}

static void
serve(void)
{
	char *cause = NULL;

	listen_fd = fd_listen_unix(place->server_sock, &cause);
	ck_assert_msg(listen_fd >= 0, "%s", cause);
	listen_ev = event_new(base, listen_fd, EV_READ | EV_PERSIST,
	    on_accept, NULL);
	event_add(listen_ev, NULL);
}

/* Like ssh: no answer, no connection. %s: where the answer is written. */
#define ASKS "a=$(\"$SSH_ASKPASS\" 'me@web'\\''s password: ') || " \
	"{ echo 'Permission denied.' >&2; exit 255; }; " \
	"test \"$SSH_ASKPASS_REQUIRE\" = force || exit 9; " \
	"echo \"$a\" >" "%s/answer; exec " FAR "sh -c %%c"

START_TEST(question_reaches_the_user_and_the_answer_ssh)
{
	serve();
	setenv("DLMUX_LINK_TIMES", "15000,3000,45000,10000,2500", 1);
	with_command(ASKS, top, top, top, top);
	unsetenv("DLMUX_LINK_TIMES");
	link_connect(link_, environ, LINK_ASK);
	await(prompts == 1);
	ck_assert_str_eq(prompt_text, "me@web's password: ");
	ck_assert(!prompt_echo);
	/* thinking is not connect time */
	idle(3000);
	ck_assert_int_eq(fails, 0);
	link_reply(link_, prompt_id + 1, true, "wrong question");
	link_reply(link_, prompt_id, true, "s3 cret");
	await(ups == 1);
	sh("test \"$(cat %s/answer)\" = 's3 cret'", top);
	/* the far agent knows nothing of it */
	sh("tr '\\0' '\\n' </proc/%u/environ | grep -c ASKPASS | "
	    "grep -qx 0", agent_pid);
}
END_TEST

START_TEST(refused_question_fails_the_try)
{
	serve();
	with_command(ASKS, top, top, top, top);
	link_connect(link_, environ, LINK_ASK);
	await(prompts == 1);
	link_reply(link_, prompt_id, false, "");
	await(fails == 1);
	ck_assert_str_eq(last_text, "Permission denied.");
}
END_TEST

START_TEST(background_never_asks)
{
	serve();
	with_command("test -z \"$SSH_ASKPASS$DLMUX_ASKPASS\" && "
	    "test \"$SSH_ASKPASS_REQUIRE\" = never && echo batch >&2; "
	    "exit 1 #");
	setenv("SSH_ASKPASS", "/usr/bin/some-window", 1);
	link_connect(link_, environ, LINK_USER);
	unsetenv("SSH_ASKPASS");
	await(fails == 1);
	ck_assert_str_eq(last_text, "batch");
	ck_assert_int_eq(prompts, 0);
}
END_TEST

START_TEST(user_who_comes_during_a_background_try_is_asked)
{
	serve();
	with_command("test -n \"$DLMUX_ASKPASS\" || { sleep 0.3; exit 1; }; "
	    ASKS, top, top, top, top);
	link_connect(link_, environ, LINK_USER);
	await(link_pid(link_) > 0);
	link_connect(link_, environ, LINK_ASK);
	await(prompts == 1);
	ck_assert_int_eq(fails, 0);
	link_reply(link_, prompt_id, true, "x");
	await(ups == 1);
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

/* ---- a real ssh ---- */

static bool
ssh_host(void)
{
	if (system("command -v ssh >/dev/null && "
	    "test -x /usr/sbin/sshd") != 0) {
		printf("SKIP no ssh or no sshd on this machine\n");
		return false;
	}
	if (geteuid() == 0)
		sh("mkdir -p /run/sshd");
	sh("cd %s && ssh-keygen -q -t ed25519 -N '' -f id && "
	    "ssh-keygen -q -t ed25519 -N '' -f hk && cp id.pub auth && "
	    "chmod 600 auth && printf 'HostKey %s/hk\\nUsePAM no\\n"
	    "StrictModes no\\nAuthorizedKeysFile %s/auth\\n"
	    "SetEnv HOME=%s/far XDG_CACHE_HOME=%s/far/c "
	    "XDG_STATE_HOME=%s/far/s\\nPidFile none\\n' >sshd_config",
	    top, top, top, top, top, top);
	sh("cd %s && printf 'Host web\\n IdentityFile %s/id\\n "
	    "UserKnownHostsFile %s/known\\n ProxyCommand /usr/sbin/sshd -i "
	    "-f %s/sshd_config\\n' >config; "
	    "echo \"web $(cut -d' ' -f1-2 hk.pub)\" >known; "
	    "printf '#!/bin/sh\\nPATH=/usr/bin:/bin exec ssh -F %s/config "
	    "\"$@\"\\n' >bin/ssh; chmod 755 bin/ssh", top, top, top, top,
	    top);
	{
		char *path = xasprintf("%s/bin:%s", top, getenv("PATH"));

		setenv("PATH", path, 1);
		free(path);
	}
	memset(&target, 0, sizeof target);
	target.scheme = SCHEME_SSH;
	target.name = (char *)"ssh:web";
	target.host = (char *)"web";
	return true;
}

START_TEST(ssh_comes_up_and_back_after_a_kill)
{
	uint8_t first[MSG_ID];
	pid_t pid;

	if (!ssh_host())
		return;
	make();
	link_connect(link_, environ, LINK_USER);
	await(ups == 1 && readies == 1);
	memcpy(first, instance, MSG_ID);
	pid = link_pid(link_);
	sh("tr '\\0' ' ' </proc/%d/cmdline | grep -q BatchMode=yes", pid);
	link_want(link_, true);
	kill(pid, SIGKILL);
	await(downs == 1 && ups == 2);
	ck_assert_mem_eq(first, instance, MSG_ID);
	/* orderly: ssh ends by itself, with 0 */
	link_want(link_, false);
	link_disconnect(link_, "disconnected");
	await(downs == 2);
}
END_TEST

START_TEST(unknown_host_key_is_asked_or_told)
{
	if (!ssh_host())
		return;
	serve();
	sh(": >%s/known", top);
	make();
	link_connect(link_, environ, LINK_USER);
	await(fails == 1);
	ck_assert_ptr_nonnull(strstr(last_text,
	    "Host key verification failed."));
	ck_assert_msg(strstr(last_text, "dlmux connect ssh:web") != NULL, "%s",
	    last_text);
	link_connect(link_, environ, LINK_ASK);
	await(prompts == 1);
	ck_assert(prompt_echo);
	ck_assert_ptr_nonnull(strstr(prompt_text, "authenticity"));
	link_reply(link_, prompt_id, true, "yes");
	await(ups == 1);
}
END_TEST

START_TEST(failed_authentication_is_told_as_ssh_says_it)
{
	if (!ssh_host())
		return;
	sh(": >%s/auth", top);
	make();
	link_connect(link_, environ, LINK_USER);
	await(fails == 1);
	ck_assert_msg(strstr(last_text, "Permission denied (") != NULL, "%s",
	    last_text);
	/* and not tried again by itself, which some hosts answer with a ban */
	link_want(link_, true);
	ck_assert(!link_retrying(link_));
	idle(1500);
	ck_assert_int_eq(fails, 1);
	/* nor for one who is back */
	ck_assert(link_held(link_));
	link_connect(link_, environ, LINK_RETURN);
	idle(100);
	ck_assert_int_eq(fails, 1);
	link_connect(link_, environ, LINK_USER);
	ck_assert(link_retrying(link_));
	await(fails == 2);
}
END_TEST

int
main(int argc, char **argv)
{
	Suite *s;
	TCase *t;

	if (argc > 1 && strcmp(argv[1], "agent") == 0)
		return agent_main(argc - 1, argv + 1);
	if (argc > 1 && getenv("DLMUX_ASKPASS") != NULL)
		return askpass_main(argv[1]);
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
	add_hook_test(t, question_reaches_the_user_and_the_answer_ssh);
#ifndef DLMUX_HOOKS
	printf("SKIP built without hooks: deadlines are a minute\n");
#endif
	tcase_add_test(t,
	    transport_that_ignores_term_is_killed_with_its_group);
	tcase_add_test(t, failed_tries_are_capped_and_remembered);
	tcase_add_test(t, back_off_grows_with_jitter_to_its_ceiling);
	tcase_add_test(t, try_that_hangs_gives_way_to_a_user);
	tcase_add_test(t, refused_question_fails_the_try);
	tcase_add_test(t, background_never_asks);
	tcase_add_test(t, user_who_comes_during_a_background_try_is_asked);
	tcase_add_test(t, link_may_be_freed_at_any_moment);
	tcase_add_test(t, ssh_comes_up_and_back_after_a_kill);
	tcase_add_test(t, unknown_host_key_is_asked_or_told);
	tcase_add_test(t, failed_authentication_is_told_as_ssh_says_it);
	suite_add_tcase(s, t);
	return suite_run(s);
}
