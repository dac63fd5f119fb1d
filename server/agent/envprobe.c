/* SPDX-License-Identifier: ISC */
/* The environment snapshot; contract in envprobe.h. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../base/fd.h"
#include "../base/limits.h"
#include "../base/log.h"
#include "../base/mem.h"
#include "env.h"
#include "envprobe.h"
#include "op.h"

struct probe {
	struct agent	*agent;
	uint8_t		 mode;
	bool		 settled;
	char		**env;		/* NULL: it failed, or is not there */
	struct proc	*proc;
	int		 fd;
	struct event	*event, *timer;
	struct buf	 out;
	char		 marker[2 * MSG_ID + 1];
};

struct envprobe {
	struct probe	mode[PROBE_INTERACTIVE + 1];
};

struct envprobe *
envprobe_new(struct agent *a)
{
	struct envprobe *e = xcalloc(1, sizeof *e);
	uint8_t i;

	for (i = 0; i <= PROBE_INTERACTIVE; i++) {
		e->mode[i].agent = a;
		e->mode[i].mode = i;
		e->mode[i].fd = -1;
	}
	return e;
}

static void
probe_stop(struct probe *p)
{
	if (p->proc != NULL) {
		/* With whatever its start-up files left running. */
		proc_signal(p->proc, SIGKILL);
		proc_forget(p->proc);
		p->proc = NULL;
	}
	if (p->event != NULL)
		event_free(p->event);
	if (p->timer != NULL)
		event_free(p->timer);
	p->event = p->timer = NULL;
	fd_close(&p->fd);
	buf_free(&p->out);
}

void
envprobe_free(struct envprobe *e)
{
	uint8_t i;

	if (e == NULL)
		return;
	for (i = 0; i <= PROBE_INTERACTIVE; i++) {
		probe_stop(&e->mode[i]);
		strv_free(e->mode[i].env);
	}
	free(e);
}

char **
envprobe_parse(const void *data, size_t len, const char *marker)
{
	const char *p = data, *from, *to;
	size_t n = strlen(marker);

	if (len == 0 || (from = memmem(p, len, marker, n)) == NULL)
		return NULL;
	from += n;
	to = memmem(from, len - (size_t)(from - p), marker, n);
	return to != NULL ? env_split(from, (size_t)(to - from)) : NULL;
}

static void
probe_settle(struct probe *p, const char *why)
{
	struct agent *a = p->agent;

	if (why == NULL) {
		p->env = envprobe_parse(p->out.data, p->out.len, p->marker);
		if (p->env == NULL)
			why = "its output holds none";
	}
	if (why != NULL)
		log_warn("no environment from the login shell: %s", why);
	else {
		env_clean(p->env);
		env_complete(&p->env);
	}
	probe_stop(p);
	p->settled = true;
	op_env_ready(a, (enum env_probe)p->mode);
}

static bool
probe_done(const struct probe *p)
{
	size_t n = strlen(p->marker);

	/* It ends with the second marker; a start-up file's background job
	 * may hold the pipe for ever. */
	return p->out.len > 2 * n && memmem(p->out.data, p->out.len, p->marker,
	    n) != (void *)(p->out.data + p->out.len - n) &&
	    memcmp(p->out.data + p->out.len - n, p->marker, n) == 0;
}

static void
probe_readable(evutil_socket_t fd, short what, void *arg)
{
	struct probe *p = arg;
	uint8_t *to;
	ssize_t n;

	(void)what;
	if ((to = buf_reserve(&p->out, 16384)) == NULL) {
		probe_settle(p, "it prints too much");
		return;
	}
	n = read(fd, to, 16384);
	if (n > 0)
		p->out.len += (size_t)n;
	if (n == 0 || (n > 0 && probe_done(p)))
		probe_settle(p, NULL);
	else if (n == -1 && errno != EAGAIN && errno != EINTR)
		probe_settle(p, strerror(errno));
}

static void
probe_late(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	probe_settle(arg, "no answer in time");
}

static void
probe_started(enum spawn_stage stage, int error, void *arg)
{
	struct probe *p = arg;

	if (stage == SPAWN_OK)
		return;
	p->proc = NULL;
	probe_settle(p, strerror(error));
}

static void
probe_exited(int status, void *arg)
{
	struct probe *p = arg;

	(void)status;
	p->proc = NULL;		/* the end of its output settles it */
}

static int
probe_start(struct probe *p)
{
	static const struct proc_cb cb = { probe_started, probe_exited };
	static const struct timeval limit = { PROBE_MS / 1000, 0 };
	char **env = agent_env(p->agent);
	char *argv[5], *command;
	const char *shell = env_get(env, "SHELL"), *base;
	uint8_t id[MSG_ID];
	struct spawn s;
	int out[2] = { -1, -1 }, null, n = 0;

	random_bytes(id, sizeof id);
	hex_put(p->marker, id, sizeof id);
	if (shell == NULL)
		shell = "/bin/sh";
	base = strrchr(shell, '/');
	/* A leading dash makes every shell a login shell, also those that
	 * take no -l beside -c. /proc, because our file may have been
	 * replaced. */
	argv[n++] = xasprintf("-%s", base != NULL ? base + 1 : shell);
	if (p->mode == PROBE_INTERACTIVE)
		argv[n++] = xstrdup("-i");
	argv[n++] = xstrdup("-c");
	command = xasprintf("/proc/%ld/exe agent --env %s", (long)getpid(),
	    p->marker);
	argv[n++] = command;
	argv[n] = NULL;

	buf_init(&p->out, PROBE_MAX);
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (null != -1 && fd_pipe(out) == 0) {
		memset(&s, 0, sizeof s);
		s.file = shell;
		s.argv = argv;
		s.env = env;
		s.home = env_get(env, "HOME");
		s.fds[0] = s.fds[2] = null;
		s.fds[1] = out[1];
		s.tty = -1;
		p->proc = proc_spawn(p->agent->procs, &s, &cb, p);
	}
	if (p->proc != NULL) {
		p->fd = out[0];
		(void)fd_nonblock(p->fd);
		p->event = event_new(p->agent->base, p->fd,
		    EV_READ | EV_PERSIST, probe_readable, p);
		p->timer = evtimer_new(p->agent->base, probe_late, p);
		if (p->event != NULL)
			event_add(p->event, NULL);
		if (p->timer != NULL)
			event_add(p->timer, &limit);
	} else
		fd_close(&out[0]);
	fd_close(&out[1]);
	fd_close(&null);
	while (n > 0)
		free(argv[--n]);
	strv_free(env);
	return p->proc != NULL ? 0 : -1;
}

bool
envprobe_want(struct agent *a, uint8_t mode)
{
	struct probe *p = &a->probe->mode[mode];

	if (mode == PROBE_NO || p->settled)
		return true;
	if (p->fd != -1)
		return false;
	if (probe_start(p) == -1) {
		log_warn("no environment from the login shell: %s",
		    strerror(errno));
		probe_stop(p);
		p->settled = true;
		return true;
	}
	return false;
}

char **
envprobe_env(const struct agent *a, uint8_t mode)
{
	const struct probe *p = &a->probe->mode[mode];

	return p->env != NULL ? strv_copy(p->env) : NULL;
}

void
envprobe_refresh(struct agent *a)
{
	struct probe *p;
	uint8_t i;

	for (i = PROBE_LOGIN; i <= PROBE_INTERACTIVE; i++) {
		p = &a->probe->mode[i];
		if (p->fd != -1)
			continue;	/* being taken: fresh enough */
		p->settled = false;
		strv_free(p->env);
		p->env = NULL;
	}
}

int
envprobe_print(const char *marker)
{
	struct buf b;
	char **e;
	int r;

	buf_init(&b, PROBE_MAX);
	buf_puts(&b, marker);
	for (e = environ; e != NULL && *e != NULL; e++)
		buf_put(&b, *e, strlen(*e) + 1);
	buf_puts(&b, marker);
	r = buf_ok(&b) && fd_write_all(1, b.data, b.len) != -1 ? 0 : 1;
	buf_free(&b);
	return r;
}
