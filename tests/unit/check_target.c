/* SPDX-License-Identifier: ISC */
/* The grammar of names, what a bare name means, and the commands. */
#include <sys/stat.h>

#include <check.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../server/base/buf.h"
#include "../../server/base/mem.h"
#include "../../server/link/sshconf.h"
#include "../../server/link/target.h"
#include "../../server/wire/msg.h"
#include "unit.h"

static char top[64], *home_env;
static char *env[8];

static void
setup(void)
{
	snprintf(top, sizeof top, "/tmp/dlmux-target.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(top));
	sh("mkdir -p %s/.ssh/config.d", top);
	home_env = xasprintf("HOME=%s", top);
	memset(env, 0, sizeof env);
	env[0] = home_env;
}

static void
teardown(void)
{
	sh("rm -rf %s", top);
	free(home_env);
}

/* text; canonical name, user, host, shell; NULL name: refused, and the error
 * holds host. "-": none. */
static const struct {
	const char *text, *name, *user, *host, *shell;
} names[] = {
	{ "local", "local", "-", "-", "-" },
	{ "local:build", "local", "-", "-", "build" },
	{ "ssh:web", "ssh:web", "-", "web", "-" },
	{ "ssh:web:1", "ssh:web", "-", "web", "1" },
	{ "ssh:me@web", "ssh:me@web", "me", "web", "-" },
	{ "ssh:me@web:main", "ssh:me@web", "me", "web", "main" },
	{ "ssh:10.0.0.1:s", "ssh:10.0.0.1", "-", "10.0.0.1", "s" },
	{ "ssh:a.b-c_d", "ssh:a.b-c_d", "-", "a.b-c_d", "-" },
	{ "ssh:me@corp.com@web", "ssh:me@corp.com@web", "me@corp.com", "web",
	    "-" },
	{ "ssh:DOM\\me@web:x", "ssh:DOM\\me@web", "DOM\\me", "web", "x" },
	{ "ssh:[::1]", "ssh:[::1]", "-", "::1", "-" },
	{ "ssh:[fe80::1%eth0]:s", "ssh:[fe80::1%eth0]", "-", "fe80::1%eth0",
	    "s" },
	{ "ssh:me@[2001:db8::1]:a.b", "ssh:me@[2001:db8::1]", "me",
	    "2001:db8::1", "a.b" },
	{ "docker:api", "docker:api", "-", "api", "-" },
	{ "docker:root@api:s1", "docker:root@api", "root", "api", "s1" },
	{ "docker:1000:1000@api", "docker:1000:1000@api", "1000:1000", "api",
	    "-" },
	{ "docker:1000:1000@api:s", "docker:1000:1000@api", "1000:1000",
	    "api", "s" },
	{ "podman:api_1.x", "podman:api_1.x", "-", "api_1.x", "-" },
	{ "devpod:my-ws", "devpod:my-ws", "-", "my-ws", "-" },
	{ "devpod:my-ws:s", "devpod:my-ws", "-", "my-ws", "s" },
	/* a bare name, not looked up */
	{ "web", "ssh:web", "-", "web", "-" },
	{ "web:2", "ssh:web", "-", "web", "2" },
	{ "me@web:2", "ssh:me@web", "me", "web", "2" },
	{ "localhost", "ssh:localhost", "-", "localhost", "-" },
	{ "ssh:local", "ssh:local", "-", "local", "-" },

	{ "", NULL, "", "no workspace is named", "" },
	{ ":s", NULL, "", "a name is missing", "" },
	{ "ssh", NULL, "", "write ssh:[USER@]HOST", "" },
	{ "docker", NULL, "", "write docker:[USER@]NAME", "" },
	{ "ssh:", NULL, "", "a name is missing", "" },
	{ "ssh::x", NULL, "", "a name is missing", "" },
	{ "ssh:web:", NULL, "", "'' is no name for a shell", "" },
	{ "local:", NULL, "", "'' is no name for a shell", "" },
	{ "local:a:b", NULL, "", "'a:b' is no name for a shell", "" },
	{ "local:..", NULL, "", "'..' is no name for a shell", "" },
	{ "ssh:web:a/b", NULL, "", "'a/b' is no name for a shell", "" },
	{ "ssh:web:22:s", NULL, "", "a port belongs to ssh_config", "" },
	{ "ssh:::1", NULL, "", "stands in brackets", "" },
	{ "ssh:2001:db8::1", NULL, "", "stands in brackets", "" },
	{ "ssh:[::1", NULL, "", "bracket is not closed", "" },
	{ "ssh:[::1]x", NULL, "", "after the bracket", "" },
	{ "ssh:[]", NULL, "", "a name is missing", "" },
	{ "ssh:[a/b]", NULL, "", "is no name for a host", "" },
	{ "docker:[::1]", NULL, "", "too many colons", "" },
	{ "ssh:-oProxyCommand=x", NULL, "", "is no name for a host", "" },
	{ "ssh:-l", NULL, "", "is no name for a host", "" },
	{ "ssh:-x@web", NULL, "", "'-x' is no user name", "" },
	{ "ssh:@web", NULL, "", "'' is no user name", "" },
	{ "ssh:u:pw@web", NULL, "", "'u:pw' is no user name", "" },
	{ "ssh:$(id)@web", NULL, "", "is no user name", "" },
	{ "ssh:u\\@web", NULL, "", "is no user name", "" },
	{ "docker:1:2:3@web", NULL, "", "is no user name", "" },
	{ "ssh:web;id", NULL, "", "is no name for a host", "" },
	{ "ssh:w$x", NULL, "", "is no name for a host", "" },
	{ "ssh:w%h", NULL, "", "is no name for a host", "" },
	{ "ssh://web", NULL, "", "is no name for a host", "" },
	{ "docker:--privileged", NULL, "", "is no name for a workspace", "" },
	{ "devpod:me@x", NULL, "", "devpod takes no user", "" },
	{ "web server", NULL, "", "without spaces", "" },
	{ "ssh:we\001b", NULL, "", "without spaces", "" },
	{ "ssh:w\303\274b", NULL, "", "without spaces", "" },
	{ "-x", NULL, "", "is no name for a workspace", "" },
	{ "foo:bar:baz", NULL, "", "'foo' is no scheme", "" },
	{ "kubectl:pod", NULL, "", "kubectl is not supported yet", "" },
	{ "devcontainer:/x", NULL, "", "is not supported yet", "" },
};

static const char *
or_dash(const char *s)
{
	return s != NULL ? s : "-";
}

START_TEST(names_are_taken_apart_by_the_table)
{
	struct target t;
	char *shell = NULL, *cause = NULL, *ws;

	if (target_parse(names[_i].text, NULL, env, false, &t, &shell,
	    &cause) == -1) {
		ck_assert_msg(names[_i].name == NULL, "%s: %s",
		    names[_i].text, cause);
		ck_assert_msg(strstr(cause, names[_i].host) != NULL, "%s",
		    cause);
		free(cause);
		cause = NULL;
		ck_assert_int_eq(target_split(names[_i].text, &ws, &shell,
		    &cause), -1);
		free(cause);
		return;
	}
	ck_assert_msg(names[_i].name != NULL, "%s is taken for %s",
	    names[_i].text, t.name);
	ck_assert_str_eq(t.name, names[_i].name);
	ck_assert_str_eq(or_dash(t.user), names[_i].user);
	ck_assert_str_eq(or_dash(t.host), names[_i].host);
	ck_assert_str_eq(or_dash(shell), names[_i].shell);
	free(shell);
	target_clear(&t);

	ck_assert_int_eq(target_split(names[_i].text, &ws, &shell, &cause),
	    0);
	ck_assert_str_eq(or_dash(shell), names[_i].shell);
	ck_assert_int_eq(strncmp(ws, names[_i].text, strlen(ws)), 0);
	free(ws);
	free(shell);
	/* the canonical name names itself */
	ck_assert_int_eq(target_parse(names[_i].name, NULL, env, false, &t,
	    &shell, &cause), 0);
	ck_assert_str_eq(t.name, names[_i].name);
	ck_assert_ptr_null(shell);
	target_clear(&t);
}
END_TEST

START_TEST(a_name_too_long_is_refused)
{
	char text[2000], *ws, *shell, *cause;

	memset(text, 'a', sizeof text);
	text[sizeof text - 1] = '\0';
	ck_assert_int_eq(target_split(text, &ws, &shell, &cause), -1);
	ck_assert_ptr_nonnull(strstr(cause, "too long"));
	free(cause);
	text[70] = '\0';
	text[4] = ':';
	ck_assert_int_eq(target_split(text, &ws, &shell, &cause), -1);
	free(cause);
}
END_TEST

/* ---- ssh_config ---- */

static const struct { const char *config, *host; bool yes; } hosts[] = {
	{ "Host web\n", "web", true },
	{ "host=web\n", "web", true },
	{ "  HOST\t\"web\" other\r\n", "web", true },
	{ "Host a b web", "web", true },
	{ "Host web*\n", "web1", true },
	{ "Host w?b\n", "web", true },
	{ "Host *\n", "web", false },
	{ "Host **\nHost ?*\n", "web", false },
	{ "Host web1\n", "web", false },
	{ "Host *.dev !bad.dev\n", "bad.dev", false },
	{ "Host *.dev !bad.dev\n", "good.dev", true },
	{ "Host !web\n", "web", false },
	{ "# Host web\n", "web", false },
	{ "Host a # web\n", "web", false },
	{ "HostName web\n", "web", false },
	{ "Match host web\n", "web", false },
	{ "Host Web\n", "web", false },
	{ "Host a*a*a*a*a*a*a*a*a*b\n", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
	    false },
	{ "Host \"open\n", "open", true },
	{ "Host\n\nHost \"\"\n", "web", false },
};

START_TEST(host_lines_of_ssh_config_decide_bare_names)
{
	ck_assert_msg(sshconf_text(hosts[_i].config, strlen(hosts[_i].config),
	    top, hosts[_i].host, NULL) == hosts[_i].yes, "%s for %s",
	    hosts[_i].config, hosts[_i].host);
}
END_TEST

START_TEST(includes_of_ssh_config_are_followed)
{
	struct target t;
	char *shell, *cause;

	sh("cd %s/.ssh && echo 'Include config.d/*.conf ~/more' >config && "
	    "echo 'Host inc' >config.d/a.conf && "
	    "echo 'Host hidden' >config.d/a.txt && "
	    "echo 'Host more' >../more && echo 'Include %s/more' >>../more",
	    top, top);
	ck_assert(sshconf_host(NULL, env, "inc", NULL));
	ck_assert(sshconf_host(NULL, env, "more", NULL));
	ck_assert(!sshconf_host(NULL, env, "hidden", NULL));
	ck_assert_int_eq(target_parse("inc:2", NULL, env, true, &t, &shell,
	    &cause), 0);
	ck_assert_str_eq(t.name, "ssh:inc");
	ck_assert_int_eq(t.scheme, SCHEME_SSH);
	target_clear(&t);
	free(shell);
	ck_assert_int_eq(target_parse("hidden", NULL, env, true, &t, &shell,
	    &cause), -1);
	ck_assert_msg(strstr(cause, "unknown workspace 'hidden'") != NULL &&
	    strstr(cause, "inc") != NULL && strstr(cause, "more") != NULL,
	    "%s", cause);
	free(cause);
}
END_TEST

START_TEST(a_fifo_for_ssh_config_stops_nobody)
{
	sh("mkfifo %s/.ssh/config", top);
	ck_assert(!sshconf_host(NULL, env, "web", NULL));
}
END_TEST

/* ---- the config's blocks ---- */

static struct conf *
conf(const char *text)
{
	char *cause;
	struct conf *c = conf_parse(text, strlen(text), "/x/dlmux.conf",
	    &cause);

	ck_assert_msg(c != NULL, "%s", cause);
	return c;
}

static char *
refused(const char *text, const struct conf *c)
{
	struct target t;
	char *shell, *cause = NULL;

	ck_assert_int_eq(target_parse(text, c, env, true, &t, &shell,
	    &cause), -1);
	return cause;
}

START_TEST(blocks_of_the_config_name_workspaces)
{
	struct conf *c = conf("SendEnv LC_*\nEnvProbe no\nSize largest\n"
	    "AgentDirectory /opt/agents\n"
	    "Workspace build\n Command ssh jump %c\n SendEnv FOO\n"
	    "Workspace prod\n Target ssh:deploy@prod.example.com\n"
	    " EnvProbe interactive\n AgentMachine Linux aarch64\n"
	    " AgentBinary /opt/x\n"
	    "Workspace ssh:deploy@prod.example.com\n SendEnv BAR\n"
	    " EnvProbe login\n IdleClose 5\n Size 80x24\n"
	    "Workspace a\n Target b\nWorkspace b\n Target a\n"
	    "Workspace dp\n Target devpod:x\n"
	    "Workspace devpod:y\n IdleClose no\n"
	    "Workspace local\n EnvProbe interactive\n"
	    "Workspace ssh:z\n Command foo\n"
	    "Workspace sh\n Target local:x\n");
	struct target t, u;
	char *shell, *cause;

	ck_assert_int_eq(target_parse("build:3", c, env, true, &t, &shell,
	    &cause), 0);
	ck_assert_int_eq(t.scheme, SCHEME_COMMAND);
	ck_assert_str_eq(t.name, "build");
	ck_assert_str_eq(t.command, "ssh jump %c");
	ck_assert_str_eq(shell, "3");
	ck_assert_str_eq(t.send_env[0], "FOO");
	ck_assert_str_eq(t.send_env[1], "LC_*");
	ck_assert_ptr_null(t.send_env[2]);
	ck_assert_int_eq(t.probe, PROBE_NO);
	ck_assert_str_eq(t.binary_dir, "/opt/agents");
	ck_assert_uint_eq(t.size.kind, SIZE_LARGEST);
	target_copy(&u, &t);
	target_clear(&t);
	ck_assert_str_eq(u.command, "ssh jump %c");
	ck_assert_str_eq(u.send_env[1], "LC_*");
	target_clear(&u);
	free(shell);

	/* a Target: its block is nearer than the target's own */
	ck_assert_int_eq(target_parse("prod", c, env, true, &t, &shell,
	    &cause), 0);
	ck_assert_int_eq(t.scheme, SCHEME_SSH);
	ck_assert_str_eq(t.name, "ssh:deploy@prod.example.com");
	ck_assert_str_eq(t.user, "deploy");
	ck_assert_int_eq(t.probe, PROBE_INTERACTIVE);
	ck_assert_str_eq(t.binary, "/opt/x");
	ck_assert_str_eq(t.binary_machine, "Linux aarch64");
	ck_assert_str_eq(t.send_env[0], "BAR");
	ck_assert_uint_eq(t.idle_ms, 300000);
	ck_assert_uint_eq(t.size.kind, SIZE_FIXED);
	ck_assert_ptr_null(shell);
	target_clear(&t);

	/* idle: ten minutes for devpod, unless told */
	ck_assert_int_eq(target_parse("dp", c, env, true, &t, &shell,
	    &cause), 0);
	ck_assert_uint_eq(t.idle_ms, 600000);
	target_clear(&t);
	ck_assert_int_eq(target_parse("devpod:y", c, env, true, &t, &shell,
	    &cause), 0);
	ck_assert_uint_eq(t.idle_ms, 0);
	target_clear(&t);
	ck_assert_int_eq(target_parse("local:x", c, env, true, &t, &shell,
	    &cause), 0);
	ck_assert_int_eq(t.probe, PROBE_INTERACTIVE);
	target_clear(&t);
	free(shell);

	cause = refused("a", c);
	ck_assert_ptr_nonnull(strstr(cause, "circle"));
	free(cause);
	cause = refused("ssh:z", c);
	ck_assert_ptr_nonnull(strstr(cause, "needs a name of its own"));
	free(cause);
	cause = refused("sh", c);
	ck_assert_ptr_nonnull(strstr(cause, "names a shell"));
	free(cause);
	cause = refused("nobody", c);
	ck_assert_ptr_nonnull(strstr(cause, "build, prod"));
	free(cause);
	conf_free(c);
}
END_TEST

/* ---- commands ---- */

#define LINE	"exec sh -c 'x=1; y'"

static char *
joined(char **v)
{
	struct buf b;
	size_t i;

	ck_assert_ptr_nonnull(v);
	buf_init(&b, 65536);
	for (i = 0; v[i] != NULL; i++)
		buf_printf(&b, "%s[%s]", i > 0 ? " " : "", v[i]);
	buf_u8(&b, 0);
	strv_free(v);
	return (char *)b.data;
}

static char *
argv_of(const char *text, const struct conf *c, bool batch)
{
	struct target t;
	char *shell, *cause, *s;

	ck_assert_msg(target_parse(text, c, env, false, &t, &shell, &cause) ==
	    0, "%s", cause);
	s = joined(target_argv(&t, LINE, batch, env));
	target_clear(&t);
	return s;
}

START_TEST(ssh_is_called_so_that_nothing_of_the_users_gets_in_the_way)
{
	char *s = argv_of("ssh:me@web", NULL, true);

	ck_assert_str_eq(s, "[ssh] [-T] [-S] [none] [-o] [ControlMaster=no] "
	    "[-o] [ControlPath=none] [-o] [RemoteCommand=none] [-o] "
	    "[RequestTTY=no] [-o] [PermitLocalCommand=no] [-o] "
	    "[ClearAllForwardings=yes] [-o] [ForkAfterAuthentication=no] "
	    "[-o] [StdinNull=no] [-o] [ServerAliveInterval=15] [-o] "
	    "[ServerAliveCountMax=3] [-o] [IPQoS=af21] [-x] [-o] "
	    "[BatchMode=yes] [-l] [me] [--] [web] [" LINE "]");
	free(s);
	s = argv_of("ssh:[::1]", NULL, false);
	ck_assert_ptr_null(strstr(s, "BatchMode"));
	ck_assert_ptr_nonnull(strstr(s, "[--] [::1] ["));
	free(s);
}
END_TEST

START_TEST(containers_are_entered_without_a_terminal)
{
	char *s = argv_of("docker:1:2@api", NULL, true);

	ck_assert_str_eq(s, "[docker] [exec] [-i] [-u] [1:2] [api] [sh] "
	    "[-c] [" LINE "]");
	free(s);
	s = argv_of("podman:api", NULL, false);
	ck_assert_str_eq(s, "[podman] [exec] [-i] [api] [sh] [-c] [" LINE
	    "]");
	free(s);
}
END_TEST

START_TEST(devpod_uses_the_config_that_devpod_writes)
{
	char *s;

	s = argv_of("devpod:ws", NULL, true);
	ck_assert_ptr_null(strstr(s, "[-F]"));
	ck_assert_ptr_nonnull(strstr(s, "[--] [ws.devpod] ["));
	free(s);
	sh("echo 'Host ws.devpod' >%s/dp", top);
	env[1] = xasprintf("DEVPOD_SSH_CONFIG=%s/none", top);
	env[2] = xasprintf("SSH_CONFIG_PATH=%s/dp", top);
	s = argv_of("devpod:ws", NULL, true);
	{
		char *want = xasprintf("[-F] [%s/dp]", top);

		ck_assert_ptr_nonnull(strstr(s, want));
		free(want);
	}
	free(s);
	/* where it is not written but stands in ~/.ssh/config: no -F */
	sh("rm %s/dp; echo 'Host *.devpod' >%s/.ssh/config", top, top);
	s = argv_of("devpod:ws", NULL, true);
	ck_assert_ptr_null(strstr(s, "[-F]"));
	free(s);
}
END_TEST

START_TEST(command_gets_the_one_liner_as_one_word)
{
	static const struct { const char *command, *want; } t[] = {
		{ "ssh jump", "ssh jump 'exec sh -c '\\''x=1; y'\\'''" },
		{ "a %c b", "a 'exec sh -c '\\''x=1; y'\\''' b" },
		{ "a %%c", "a %c 'exec sh -c '\\''x=1; y'\\'''" },
		{ "100%", "100% 'exec sh -c '\\''x=1; y'\\'''" },
	};
	char *text, *s, *want;
	struct conf *c;
	size_t i;

	for (i = 0; i < sizeof t / sizeof t[0]; i++) {
		text = xasprintf("Workspace box\n Command %s\n", t[i].command);
		c = conf(text);
		s = argv_of("box", c, true);
		want = xasprintf("[sh] [-c] [%s]", t[i].want);
		ck_assert_str_eq(s, want);
		free(want);
		free(s);
		conf_free(c);
		free(text);
	}
	/* and really is one, for a shell */
	c = conf("Workspace box\n Command printf '%%s' %c\n");
	{
		struct target tg;
		char *shell, *cause, **v, out[200];
		FILE *f;

		ck_assert_int_eq(target_parse("box", c, env, true, &tg,
		    &shell, &cause), 0);
		v = target_argv(&tg, LINE, true, env);
		f = popen(v[2], "r");
		ck_assert_ptr_nonnull(fgets(out, sizeof out, f));
		pclose(f);
		ck_assert_str_eq(out, LINE);
		strv_free(v);
		target_clear(&tg);
	}
	conf_free(c);
}
END_TEST

START_TEST(local_has_no_command)
{
	struct target t;
	char *shell, *cause;

	ck_assert_int_eq(target_parse("local", NULL, env, true, &t, &shell,
	    &cause), 0);
	ck_assert_ptr_null(target_argv(&t, LINE, true, env));
	target_clear(&t);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("target");
	TCase *t = tcase_create("target");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_loop_test(t, names_are_taken_apart_by_the_table, 0,
	    (int)(sizeof names / sizeof names[0]));
	tcase_add_test(t, a_name_too_long_is_refused);
	tcase_add_loop_test(t, host_lines_of_ssh_config_decide_bare_names, 0,
	    (int)(sizeof hosts / sizeof hosts[0]));
	tcase_add_test(t, includes_of_ssh_config_are_followed);
	tcase_add_test(t, a_fifo_for_ssh_config_stops_nobody);
	tcase_add_test(t, blocks_of_the_config_name_workspaces);
	tcase_add_test(t,
	    ssh_is_called_so_that_nothing_of_the_users_gets_in_the_way);
	tcase_add_test(t, containers_are_entered_without_a_terminal);
	tcase_add_test(t, devpod_uses_the_config_that_devpod_writes);
	tcase_add_test(t, command_gets_the_one_liner_as_one_word);
	tcase_add_test(t, local_has_no_command);
	suite_add_tcase(s, t);
	return suite_run(s);
}
