/* SPDX-License-Identifier: ISC */
/*
 * For the tests of links: a link in a loop of its own, what its callbacks saw,
 * and a far side behind a Command. The test program is also the agent, which
 * sends itself: main() gives `agent ...` to agent_main().
 */
#ifndef DLMUX_LINK_FAR_H
#define DLMUX_LINK_FAR_H

#include <check.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../server/agent/agent.h"
#include "../../server/base/clock.h"
#include "../../server/base/fd.h"
#include "../../server/base/log.h"
#include "../../server/base/mem.h"
#include "../../server/link/link.h"
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

#endif
