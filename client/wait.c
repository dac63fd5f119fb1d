/* SPDX-License-Identifier: ISC */
/*
 * `wait`: for a text, for silence, for the end.
 */
#include <stdlib.h>
#include <string.h>

#include "../server/base/mem.h"
#include "../server/base/pattern.h"
#include "query.h"
#include "say.h"
#include "waited.h"

/* Longer than a month is no wait; and the sum of a clock and it must fit. */
#define WAIT_IDLE_MAX	(31u * 24 * 3600 * 1000)

int
waited_parse(struct msg_wait *w, const char *kind, const char *value,
    char **cause)
{
	regex_t regex;

	if (strcmp(kind, "text") == 0) {
		w->kind = WAIT_TEXT;
		if (pattern_compile(&regex, value, cause) == -1)
			return -1;
		regfree(&regex);
		free(w->regex);
		w->regex = xstrdup(value);
		return 0;
	}
	if (strcmp(kind, "exit") == 0) {
		w->kind = WAIT_EXIT;
		return 0;
	}
	w->kind = WAIT_IDLE;
	if (number_parse(value, WAIT_IDLE_MAX, &w->idle_ms) == -1 ||
	    w->idle_ms == 0) {
		*cause = xasprintf("\"%s\" is no number of milliseconds",
		    value);
		return -1;
	}
	return 0;
}

int
waited_status(const char *about, const struct msg_wait *w, const uint8_t *p,
    size_t n)
{
	struct msg_waited d;
	int status = STATUS_FAILED;

	if (msg_waited_get(&d, p, n) == -1)
		return STATUS_FAILED;
	switch (d.result) {
	case WAITED_MET:
		status = w->kind == WAIT_EXIT ? (int)(d.code & 0xff) : 0;
		break;
	case WAITED_TIMEOUT:
		status = STATUS_TIMEOUT;
		break;
	case WAITED_ENDED:
		status = w->kind == WAIT_EXIT ? (int)(d.code & 0xff) :
		    STATUS_ENDED;
		if (w->kind != WAIT_EXIT)
			say("%s: %s", about, d.text[0] != '\0' ? d.text :
			    "the shell ended");
		break;
	default:
		(void)query_refused(about, 0, d.text);
	}
	msg_waited_free(&d);
	return status;
}

/* What the answer is read with. */
struct waiting {
	const char		*about;
	const struct msg_wait	*wait;
};

static int
wait_answer(uint8_t type, const uint8_t *p, size_t n, void *arg)
{
	struct waiting *w = arg;

	if (type != F_WAITED)
		return QUERY_DEFAULT;
	return waited_status(w->about, w->wait, p, n);
}

int
cmd_wait(struct args *args)
{
	struct query q;
	struct msg_wait w;
	struct waiting waiting = { args->words[0], &w };
	const char *v;
	char *cause = NULL;
	int status;

	memset(&q, 0, sizeof q);
	memset(&w, 0, sizeof w);
	if (args_has(args, "text") + args_has(args, "idle") +
	    args_has(args, "exit") != 1)
		return usage_error(args->cmd,
		    "one of --text, --idle and --exit is needed");
	if ((v = args_value(args, "timeout")) != NULL &&
	    (seconds_parse(v, &q.timeout_ms) == -1 || q.timeout_ms == 0))
		return usage_error(args->cmd,
		    "--timeout %s: no number of seconds", v);
	if ((v = args_value(args, "text")) != NULL)
		status = waited_parse(&w, "text", v, &cause);
	else if ((v = args_value(args, "idle")) != NULL)
		status = waited_parse(&w, "idle", v, &cause);
	else
		status = waited_parse(&w, "exit", "", &cause);
	if (status == -1) {
		status = usage_error(args->cmd, "--%s: %s", w.kind == WAIT_IDLE ?
		    "idle" : "text", cause);
		free(cause);
		return status;
	}
	status = query_target(args, args->words[0], "main", &w.workspace,
	    &w.shell);
	if (status == 0) {
		q.args = args;
		q.connect_flags = CONNECT_START;
		q.workspace = w.workspace;
		q.type = F_WAIT;
		q.about = args->words[0];
		q.answer = wait_answer;
		q.arg = &waiting;
		buf_init(&q.body, 65536);
		msg_wait_put(&q.body, &w);
		status = query_run(&q);
	}
	free(w.workspace);
	free(w.shell);
	free(w.regex);
	return status;
}
