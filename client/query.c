/* SPDX-License-Identifier: ISC */
/*
 * Question and answer; see query.h.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "../server/base/fd.h"
#include "../server/base/mem.h"
#include "../server/link/target.h"
#include "progress.h"
#include "prompter.h"
#include "query.h"
#include "say.h"

/* A link that failed usually comes with an answer that knows more. */
#define QUERY_FAILED_MS	1000

struct asking {
	struct query		*q;
	struct event_base	*base;
	struct connect		*connect;
	struct prompter		*prompter;
	struct progress		*progress;
	struct event		*int_ev, *timeout_ev, *failed_ev;
	uint32_t		 channel;
	bool			 been_up;	/* the link that was wanted */
	char			*failed;	/* "ssh:web: no route to host" */
	int			 status;	/* QUERY_GO_ON while asking */
};

int
query_refused(const char *about, uint16_t code, const char *text)
{
	const char *words = text != NULL && text[0] != '\0' ? text :
	    refusal_words(code);

	size_t n = about != NULL ? strlen(about) : 0;

	/* Some texts name it themselves. */
	if (n > 0 && (strncmp(words, about, n) != 0 ||
	    (words[n] != ':' && words[n] != ' ')))
		say("%s: %s", about, words);
	else
		say("%s", words);
	return code == R_USAGE ? STATUS_USAGE : STATUS_FAILED;
}

static void
asking_end(struct asking *a, int status)
{
	if (a->status != QUERY_GO_ON)
		return;
	a->status = status;
	progress_text(a->progress, NULL);
	event_base_loopbreak(a->base);
}

static void
asking_link(struct asking *a, const uint8_t *p, size_t n)
{
	static const struct timeval tv = { QUERY_FAILED_MS / 1000, 0 };
	struct msg_link l;

	if (msg_link_get(&l, p, n) == -1)
		return;
	a->been_up |= l.state == LINK_UP;
	progress_link(a->progress, &l);
	/* That it is tried again at once does not make it a success. Who had
	 * it once leaves it to the server. */
	if (l.state == LINK_FAILED && !a->been_up) {
		free(a->failed);
		a->failed = xasprintf("%s: %s", l.workspace[0] != '\0' ?
		    l.workspace : a->q->workspace, l.text);
		if (!evtimer_pending(a->failed_ev, NULL))
			evtimer_add(a->failed_ev, &tv);
	} else if (l.state == LINK_UP)
		event_del(a->failed_ev);
	msg_link_free(&l);
}

static void
asking_default(struct asking *a, uint8_t type, const uint8_t *p, size_t n)
{
	struct msg_done d;
	struct rd r;
	uint16_t code;
	char *text;

	switch (type) {
	case F_DONE:
		if (msg_done_get(&d, p, n) == -1)
			break;
		progress_text(a->progress, NULL);
		a->q->refused = d.code;
		asking_end(a, d.code == R_NONE ? (int)d.status :
		    query_refused(a->q->about, d.code, d.text));
		msg_done_free(&d);
		break;
	case F_REFUSED:
		rd_init(&r, p, n);
		code = rd_u16(&r);
		text = rd_str(&r, 65536);
		progress_text(a->progress, NULL);
		asking_end(a, query_refused(a->q->about, code, text));
		free(text);
		break;
	}
}

static void
asking_message(struct connect *c, uint8_t type, uint32_t channel,
    const uint8_t *p, size_t n, void *arg)
{
	struct asking *a = arg;
	int status = QUERY_DEFAULT;

	(void)c;
	if (type == F_PROMPT) {
		prompter_ask(a->prompter, channel, p, n);
		return;
	}
	if (type == F_PROGRESS) {
		progress_sent(a->progress, p, n);
		return;
	}
	if (channel != a->channel || a->status != QUERY_GO_ON)
		return;
	if (type == F_LINK)
		asking_link(a, p, n);
	if (a->q->answer != NULL)
		status = a->q->answer(type, p, n, a->q->arg);
	if (status == QUERY_DEFAULT)
		asking_default(a, type, p, n);
	else if (status != QUERY_GO_ON)
		asking_end(a, status);
}

static void
asking_up(struct connect *c, void *arg)
{
	struct asking *a = arg;
	struct query *q = a->q;

	a->channel = connect_channel(c);
	if (q->workspace != NULL)
		connect_use(c, a->channel, q->workspace, q->use_flags);
	if (q->type != 0)
		conn_send(connect_conn(c), CONN_CONTROL, q->type, a->channel,
		    q->body.data, q->body.len);
}

static void
asking_down(struct connect *c, const char *why, void *arg)
{
	struct asking *a = arg;

	(void)c;
	(void)why;
	prompter_forget(a->prompter);
	a->q->use_flags &= ~USE_REFRESH;
	if (a->been_up)
		a->q->use_flags |= USE_AGAIN;
}

static void
asking_failed(struct connect *c, const char *why, void *arg)
{
	struct asking *a = arg;

	(void)c;
	if (a->status != QUERY_GO_ON)
		return;		/* answered, and then it went */
	progress_text(a->progress, NULL);
	if (!a->q->quiet)
		say("%s", a->q->no_server != NULL ? a->q->no_server : why);
	asking_end(a, STATUS_FAILED);
}

static const struct connect_cb asking_cb = {
	.up = asking_up,
	.message = asking_message,
	.down = asking_down,
	.failed = asking_failed,
};

static void
asking_signal(evutil_socket_t sig, short what, void *arg)
{
	struct asking *a = arg;

	(void)what;
	if (!prompter_interrupt(a->prompter))
		asking_end(a, 128 + (int)sig);
}

static void
asking_timeout(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	asking_end(arg, STATUS_TIMEOUT);
}

static void
asking_link_failed(evutil_socket_t fd, short what, void *arg)
{
	struct asking *a = arg;

	(void)fd;
	(void)what;
	progress_text(a->progress, NULL);
	say("%s", a->failed);
	asking_end(a, STATUS_FAILED);
}

int
query_run(struct query *q)
{
	struct asking a;
	struct timeval tv;

	memset(&a, 0, sizeof a);
	a.q = q;
	a.status = QUERY_GO_ON;
	if (!buf_ok(&q->body)) {
		buf_free(&q->body);
		say("%s: too much to ask at once", q->args->cmd->name);
		return STATUS_FAILED;
	}
	a.base = fd_loop(FD_LOOP_FILES);
	a.progress = progress_new(a.base);
	a.connect = connect_new(a.base, q->args->place, q->connect_flags,
	    &asking_cb, &a);
	a.prompter = prompter_new(a.base, a.connect);
	a.int_ev = evsignal_new(a.base, SIGINT, asking_signal, &a);
	event_add(a.int_ev, NULL);
	a.timeout_ev = evtimer_new(a.base, asking_timeout, &a);
	a.failed_ev = evtimer_new(a.base, asking_link_failed, &a);
	if (q->timeout_ms > 0) {
		tv.tv_sec = q->timeout_ms / 1000;
		tv.tv_usec = (suseconds_t)(q->timeout_ms % 1000) * 1000;
		evtimer_add(a.timeout_ev, &tv);
	}
	if (q->workspace != NULL && !(q->use_flags & USE_PASSIVE) &&
	    prompter_possible())
		q->use_flags |= USE_MAY_PROMPT;

	connect_begin(a.connect);
	if (a.status == QUERY_GO_ON)
		event_base_dispatch(a.base);

	event_free(a.int_ev);
	event_free(a.timeout_ev);
	event_free(a.failed_ev);
	prompter_free(a.prompter);
	progress_free(a.progress);
	connect_free(a.connect);
	event_base_free(a.base);
	buf_free(&q->body);
	free(a.failed);
	return a.status;
}

const char *
row_get(const struct msg_row *r, const char *name)
{
	const char *s = row_value(r, name);

	return s != NULL ? s : "";
}

int
query_target(const struct args *args, const char *text, const char *fallback,
    char **workspace, char **shell)
{
	char *cause = NULL;
	int status;

	*workspace = *shell = NULL;
	if (target_split(text, workspace, shell, &cause) == -1) {
		status = usage_error(args->cmd, "%s", cause);
		free(cause);
		return status;
	}
	if (*shell == NULL && fallback != NULL)
		*shell = xstrdup(fallback);
	return 0;
}

int
query_workspace(const struct args *args, char **workspace)
{
	char *shell;
	int status = query_target(args, args->words[0], NULL, workspace,
	    &shell);

	if (status == 0 && shell != NULL)
		status = usage_error(args->cmd,
		    "%s: a workspace is meant, not a shell", args->words[0]);
	free(shell);
	return status;
}
