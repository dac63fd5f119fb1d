/* SPDX-License-Identifier: ISC */
/*
 * `kill`: one shell, all of a workspace, all there are; and the forgetting of
 * those that cannot be reached.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "../server/base/fd.h"
#include "../server/base/limits.h"
#include "../server/base/mem.h"
#include "progress.h"
#include "prompter.h"
#include "query.h"
#include "say.h"

/* Workspaces that have shells, as ls tells them. */
struct places {
	char	**names;
	size_t	 n;
};

static int
places_answer(uint8_t type, const uint8_t *p, size_t n, void *arg)
{
	struct places *w = arg;
	struct msg_row r;
	const char *name;

	if (type != F_ROW || msg_row_get(&r, p, n) == -1)
		return QUERY_DEFAULT;
	name = row_get(&r, "workspace");
	if (r.kind == 's' && (w->n == 0 ||
	    strcmp(w->names[w->n - 1], name) != 0)) {
		w->names = xreallocarray(w->names, w->n + 2,
		    sizeof *w->names);
		w->names[w->n++] = xstrdup(name);
		w->names[w->n] = NULL;
	}
	msg_row_free(&r);
	return QUERY_GO_ON;
}

static void
kill_query(struct query *q, struct args *args, uint8_t type)
{
	memset(q, 0, sizeof *q);
	q->args = args;
	q->connect_flags = CONNECT_START;
	q->type = type;
	buf_init(&q->body, 65536);
}

/* What could not be ended is still listed. */
static void
kill_hint(const char *about, bool all)
{
	say("`dlmux kill --forget%s%s%s' takes what is not connected off the "
	    "list", all ? " -a" : "", about[0] != '\0' ? " " : "", about);
}

/* A shell, or with shell NULL all of a workspace. */
static int
kill_there(struct args *args, const char *about, const char *workspace,
    const char *shell)
{
	struct query q;
	int status;

	kill_query(&q, args, F_ENDSHELL);
	buf_str(&q.body, workspace);
	buf_str(&q.body, shell);
	buf_u8(&q.body, shell == NULL);
	q.workspace = workspace;
	q.about = about;
	status = query_run(&q);
	if (status != 0 && q.refused == R_UNREACHABLE)
		kill_hint(about, shell == NULL);
	return status;
}

/* --- all there are ------------------------------------------------------------ */

struct ending {
	const char	*workspace;
	uint32_t	 channel;	/* 0: not asked */
	bool		 over;
};

/* All workspaces at once: one that cannot be reached takes a while to say so. */
struct endings {
	struct event_base	*base;
	struct connect		*connect;
	struct prompter		*prompter;
	struct progress		*progress;
	struct ending		*all;
	size_t			 n, left;
	bool			 unreached;
	int			 status;
};

static void
endings_stop(struct endings *e, int status)
{
	if (status != 0)
		e->status = status;
	progress_text(e->progress, NULL);
	event_base_loopbreak(e->base);
}

/* As many as a server takes of one client. */
static void
endings_more(struct endings *e)
{
	struct connect *c = e->connect;
	struct ending *one;
	struct buf b;
	size_t i, asked = 0;

	for (i = 0; i < e->n; i++)
		asked += e->all[i].channel != 0 && !e->all[i].over;
	buf_init(&b, 65536);
	for (i = 0; i < e->n && asked < CLIENT_REQUESTS_MAX; i++) {
		one = &e->all[i];
		if (one->over || one->channel != 0)
			continue;
		asked++;
		one->channel = connect_channel(c);
		connect_use(c, one->channel, one->workspace,
		    prompter_possible() ? USE_MAY_PROMPT : 0);
		buf_str(&b, one->workspace);
		buf_str(&b, "");
		buf_u8(&b, true);
		connect_send(c, CONN_CONTROL, F_ENDSHELL, one->channel, &b);
	}
	buf_free(&b);
}

static void
endings_up(struct connect *c, void *arg)
{
	(void)c;
	endings_more(arg);
}

static void
endings_down(struct connect *c, const char *why, void *arg)
{
	struct endings *e = arg;
	size_t i;

	(void)c;
	(void)why;
	prompter_forget(e->prompter);
	for (i = 0; i < e->n; i++)
		e->all[i].channel = 0;
}

static void
endings_message(struct connect *c, uint8_t type, uint32_t channel,
    const uint8_t *p, size_t n, void *arg)
{
	struct endings *e = arg;
	struct ending *one = NULL;
	struct msg_link l;
	struct msg_done d;
	size_t i;

	(void)c;
	if (type == F_PROMPT)
		prompter_ask(e->prompter, channel, p, n);
	for (i = 0; i < e->n; i++)
		if (e->all[i].channel == channel && !e->all[i].over)
			one = &e->all[i];
	if (one == NULL)
		return;
	if (type == F_PROGRESS)
		progress_sent(e->progress, p, n);
	else if (type == F_LINK && msg_link_get(&l, p, n) == 0) {
		progress_link(e->progress, &l);
		msg_link_free(&l);
	} else if (type == F_DONE && msg_done_get(&d, p, n) == 0) {
		progress_text(e->progress, NULL);
		if (d.code != R_NONE)
			e->status = query_refused(one->workspace, d.code,
			    d.text);
		e->unreached |= d.code == R_UNREACHABLE;
		one->over = true;
		if (--e->left == 0)
			endings_stop(e, 0);
		else
			endings_more(e);
		msg_done_free(&d);
	}
}

static void
endings_failed(struct connect *c, const char *why, void *arg)
{
	struct endings *e = arg;

	(void)c;
	progress_text(e->progress, NULL);
	say("%s", why);
	e->left = 0;
	endings_stop(e, STATUS_FAILED);
}

static const struct connect_cb endings_cb = {
	.up = endings_up,
	.message = endings_message,
	.down = endings_down,
	.failed = endings_failed,
};

static void
endings_signal(evutil_socket_t sig, short what, void *arg)
{
	struct endings *e = arg;

	(void)what;
	if (!prompter_interrupt(e->prompter))
		endings_stop(e, 128 + (int)sig);
}

static int
endings_run(struct endings *e, const struct place *place)
{
	struct event *sig;

	e->base = fd_loop(0);
	e->progress = progress_new(e->base);
	e->connect = connect_new(e->base, place, CONNECT_START, &endings_cb,
	    e);
	e->prompter = prompter_new(e->base, e->connect);
	sig = evsignal_new(e->base, SIGINT, endings_signal, e);
	event_add(sig, NULL);
	connect_begin(e->connect);
	if (e->left > 0)
		event_base_dispatch(e->base);
	event_free(sig);
	prompter_free(e->prompter);
	progress_free(e->progress);
	connect_free(e->connect);
	event_base_free(e->base);
	if (e->unreached)
		kill_hint("", true);
	return e->status;
}

/* Each workspace that has shells, connected or not. */
static int
kill_everywhere(struct args *args)
{
	struct places places = { NULL, 0 };
	struct endings e;
	struct query q;
	size_t i;
	int status;

	kill_query(&q, args, F_LIST);
	q.answer = places_answer;
	q.arg = &places;
	status = query_run(&q);
	if (status == 0 && places.n > 0) {
		memset(&e, 0, sizeof e);
		e.all = xcalloc(places.n, sizeof *e.all);
		e.n = e.left = places.n;
		for (i = 0; i < places.n; i++)
			e.all[i].workspace = places.names[i];
		status = endings_run(&e, args->place);
		free(e.all);
	}
	strv_free(places.names);
	return status;
}

/* --- the command --------------------------------------------------------------- */

static int
forget(struct args *args, const char *workspace, const char *shell)
{
	struct query q;

	kill_query(&q, args, F_FORGET);
	buf_str(&q.body, workspace);
	buf_str(&q.body, shell);
	q.about = args->nwords > 0 ? args->words[0] : NULL;
	return query_run(&q);
}

int
cmd_kill(struct args *args)
{
	char *workspace = NULL, *shell = NULL;
	bool all = args_has(args, "a");
	int status = 0;

	if (args->nwords == 0 && !all)
		return usage_error(args->cmd, "which shell?");
	if (args->nwords > 0)
		status = query_target(args, args->words[0],
		    all ? NULL : "main", &workspace, &shell);
	if (status == 0 && all && shell != NULL)
		status = usage_error(args->cmd,
		    "-a ends all shells of a workspace: leave :%s out", shell);
	else if (status == 0 && args_has(args, "forget"))
		status = forget(args, workspace, shell);
	else if (status == 0 && workspace == NULL)
		status = kill_everywhere(args);
	else if (status == 0)
		status = kill_there(args, args->words[0], workspace, shell);
	free(workspace);
	free(shell);
	return status;
}
