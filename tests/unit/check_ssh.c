/* SPDX-License-Identifier: ISC */
/*
 * What an ssh asks, and who answers (this program is the askpass as well); and
 * a real ssh to a real `sshd -i`.
 */
#include <sys/socket.h>

#include "../../server/link/askpass.h"
#include "link-far.h"

/* the little server for askpass */
static struct conn *asker;
static struct event *listen_ev;
static int listen_fd = -1;

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
	s = suite_create("ssh");
	t = tcase_create("ssh");
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_set_timeout(t, 60);
	add_hook_test(t, question_reaches_the_user_and_the_answer_ssh);
#ifndef DLMUX_HOOKS
	printf("SKIP built without hooks: deadlines are a minute\n");
#endif
	tcase_add_test(t, refused_question_fails_the_try);
	tcase_add_test(t, background_never_asks);
	tcase_add_test(t, user_who_comes_during_a_background_try_is_asked);
	tcase_add_test(t, ssh_comes_up_and_back_after_a_kill);
	tcase_add_test(t, unknown_host_key_is_asked_or_told);
	tcase_add_test(t, failed_authentication_is_told_as_ssh_says_it);
	suite_add_tcase(s, t);
	return suite_run(s);
}
