/* SPDX-License-Identifier: ISC */
/*
 * `new`: a shell that nobody looks at yet.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../server/base/fd.h"
#include "../server/base/limits.h"
#include "../server/base/mem.h"
#include "../server/base/size.h"
#include "envlist.h"
#include "opchan.h"
#include "progress.h"
#include "prompter.h"
#include "query.h"
#include "say.h"

struct making {
	struct event_base	*base;
	struct connect		*connect;
	struct opchan		*op;
	const char		*size;		/* a policy for it, or NULL */
	uint32_t		 sizing;	/* channel that tells it, or 0 */
	uint64_t		 uid;		/* made: 0 not yet */
	char			*shell;		/* ... by this name */
	struct prompter		*prompter;
	struct progress		*progress;
	const char		*about;
	char			*workspace;	/* canonical, once known */
	int			 status;
	bool			 over;
};

static void
making_end(struct making *m, int status)
{
	if (m->over)
		return;
	m->over = true;
	m->status = status;
	progress_text(m->progress, NULL);
	event_base_loopbreak(m->base);
}

static void
making_link(struct opchan *op, const struct msg_link *l, void *arg)
{
	struct making *m = arg;

	(void)op;
	progress_link(m->progress, l);
	free(m->workspace);
	m->workspace = xstrdup(l->workspace);
}

static bool
making_opening(struct opchan *op, const struct msg_link *l,
    struct msg_open *open, void *arg)
{
	char *mine[2] = { NULL, NULL };

	(void)op;
	(void)arg;
	/* The agent adds the shell's name: a fresh number is known only
	 * there. */
	mine[0] = xasprintf("DLMUX=%s:", l->workspace);
	strv_free(open->env);
	open->env = envlist_make(l->workspace, l->send_env, true, mine);
	free(mine[0]);
	return true;
}

static void
making_made(struct making *m)
{
	char *line = xasprintf("%s:%s\n", m->workspace, m->shell);

	opchan_close(m->op);
	making_end(m, say_out(line, strlen(line)) == -1 ? STATUS_FAILED : 0);
	free(line);
}

/* Whose size it has is the server's to know, not the agent's. */
static void
making_sizing(struct making *m, int use_flags)
{
	struct msg_sizing z = { m->uid, m->workspace, m->shell,
	    (char *)(uintptr_t)m->size };
	struct buf b;

	m->sizing = connect_channel(m->connect);
	connect_use(m->connect, m->sizing, m->workspace, use_flags);
	buf_init(&b, WIRE_WORDS_MAX);
	msg_sizing_put(&b, &z);
	connect_send(m->connect, CONN_CONTROL, F_SIZING, m->sizing, &b);
	buf_free(&b);
}

static void
making_started(struct opchan *op, const struct msg_started *s, void *arg)
{
	struct making *m = arg;

	(void)op;
	m->uid = s->uid;
	free(m->shell);
	m->shell = xstrdup(s->shell);
	if (m->size == NULL)
		making_made(m);
	else
		making_sizing(m, 0);
}

/* The answer: the shell is there in any case. */
static void
making_sized(struct making *m, uint8_t type, const uint8_t *p, size_t n)
{
	struct msg_done d;

	if (type != F_DONE || msg_done_get(&d, p, n) == -1)
		return;
	making_made(m);
	if (d.code != R_NONE)
		m->status = query_refused(m->about, d.code, d.text);
	msg_done_free(&d);
}

static void
making_done(struct opchan *op, const struct opchan_result *r, void *arg)
{
	struct making *m = arg;

	(void)op;
	progress_text(m->progress, NULL);
	if (r->how == OPCHAN_UNKNOWN)
		say("%s: it is unknown whether the shell was made: %s",
		    m->about, r->text);
	else
		(void)query_refused(m->about, r->refusal, r->text);
	making_end(m, STATUS_FAILED);
}

static const struct opchan_cb making_opchan_cb = {
	.link = making_link,
	.opening = making_opening,
	.started = making_started,
	.done = making_done,
};

static void
making_up(struct connect *c, void *arg)
{
	struct making *m = arg;

	(void)c;
	if (m->uid != 0)
		making_sizing(m, USE_AGAIN);	/* made, by another server */
	else
		opchan_up(m->op);
}

static void
making_down(struct connect *c, const char *why, void *arg)
{
	struct making *m = arg;

	(void)c;
	(void)why;
	prompter_forget(m->prompter);
	m->sizing = 0;
	opchan_down(m->op);
}

static void
making_message(struct connect *c, uint8_t type, uint32_t channel,
    const uint8_t *p, size_t n, void *arg)
{
	struct making *m = arg;

	(void)c;
	if (type == F_PROMPT)
		prompter_ask(m->prompter, channel, p, n);
	else if (type == F_PROGRESS)
		progress_sent(m->progress, p, n);
	else if (m->sizing != 0 && channel == m->sizing)
		making_sized(m, type, p, n);
	else if (!m->over)
		(void)opchan_message(m->op, type, channel, p, n);
}

static void
making_failed(struct connect *c, const char *why, void *arg)
{
	struct making *m = arg;

	(void)c;
	if (m->over)
		return;
	progress_text(m->progress, NULL);
	say("%s", why);
	making_end(m, STATUS_FAILED);
}

static const struct connect_cb making_connect_cb = {
	.up = making_up,
	.message = making_message,
	.down = making_down,
	.failed = making_failed,
};

static void
making_signal(evutil_socket_t sig, short what, void *arg)
{
	struct making *m = arg;

	(void)what;
	if (!prompter_interrupt(m->prompter))
		making_end(m, 128 + (int)sig);
}

int
cmd_new(struct args *args)
{
	struct making m;
	struct opchan_setup setup;
	struct size size = { SIZE_DEFAULT, 0, 0 };
	struct event *sig;
	char *workspace, *shell;
	int status;

	if (args->dashes && args->nrest == 0)
		return usage_error(args->cmd, "there is no command after --");
	if (args_has(args, "size") &&
	    size_parse(args_value(args, "size"), &size) == -1)
		return usage_error(args->cmd, "--size: %s is not " SIZE_WORDS,
		    args_value(args, "size"));
	/* No shell named: a fresh number, made up by the agent. */
	status = query_target(args, args->words[0], NULL, &workspace, &shell);
	if (status != 0)
		return status;
	memset(&m, 0, sizeof m);
	m.about = args->words[0];
	m.base = fd_loop(0);
	m.size = args_value(args, "size");
	m.progress = progress_new(m.base);
	m.connect = connect_new(m.base, args->place, CONNECT_START,
	    &making_connect_cb, &m);
	m.prompter = prompter_new(m.base, m.connect);
	sig = evsignal_new(m.base, SIGINT, making_signal, &m);
	event_add(sig, NULL);

	memset(&setup, 0, sizeof setup);
	setup.workspace = workspace;
	setup.use_flags = prompter_possible() ? USE_MAY_PROMPT : 0;
	setup.open.kind = OP_NEW;
	setup.open.shell = shell;
	setup.open.argv = args->rest;
	setup.open.rows = size.rows;
	setup.open.cols = size.cols;
	m.op = opchan_new(m.connect, &setup, &making_opchan_cb, &m);
	connect_begin(m.connect);
	if (!m.over)
		event_base_dispatch(m.base);
	if (connect_conn(m.connect) != NULL)
		conn_flush(connect_conn(m.connect));

	event_free(sig);
	opchan_free(m.op);
	prompter_free(m.prompter);
	progress_free(m.progress);
	connect_free(m.connect);
	event_base_free(m.base);
	free(m.shell);
	free(m.workspace);
	free(workspace);
	free(shell);
	return m.status;
}
