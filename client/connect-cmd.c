/* SPDX-License-Identifier: ISC */
/*
 * `connect` and `disconnect`: a workspace's link, by hand.
 */
#include <stdlib.h>
#include <string.h>

#include "query.h"
#include "trace.h"

static int
connect_answer(uint8_t type, const uint8_t *p, size_t n, void *arg)
{
	struct msg_link l;
	bool up;

	(void)arg;
	if (type != F_LINK || msg_link_get(&l, p, n) == -1)
		return QUERY_DEFAULT;
	up = l.state == LINK_UP;
	msg_link_free(&l);
	return up ? 0 : QUERY_DEFAULT;
}

static int
connect_target(struct args *args, char **workspace, char **shell)
{
	int status = query_target(args, args->words[0], NULL, workspace,
	    shell);

	if (status == 0 && *shell != NULL)
		status = usage_error(args->cmd,
		    "%s: a workspace is meant, not a shell", args->words[0]);
	return status;
}

static int
connect_query(struct args *args, struct query *q, uint8_t type)
{
	char *workspace, *shell;
	int status;

	status = connect_target(args, &workspace, &shell);
	if (status == 0) {
		q->args = args;
		q->connect_flags = CONNECT_START;
		q->about = args->words[0];
		q->type = type;
		buf_init(&q->body, 65536);
		if (type == 0)
			q->workspace = workspace;
		else
			buf_str(&q->body, workspace);
		status = query_run(q);
	}
	free(workspace);
	free(shell);
	return status;
}

/* One question, answered when the connect is over, well or not. */
static int
connect_traced(struct args *args, struct query *q)
{
	struct tracing *t;
	char *workspace, *shell;
	int status;

	status = connect_target(args, &workspace, &shell);
	if (status == 0) {
		q->args = args;
		q->connect_flags = CONNECT_START;
		q->about = args->words[0];
		q->workspace = workspace;
		t = tracing_new(q, workspace, true);
		status = tracing_show(t, args_has(args, "json"),
		    query_run(q));
		tracing_free(t);
	}
	free(workspace);
	free(shell);
	return status;
}

int
cmd_connect(struct args *args)
{
	struct query q;

	memset(&q, 0, sizeof q);
	if (args_has(args, "refresh"))
		q.use_flags |= USE_REFRESH;
	if (args_has(args, "trace"))
		return connect_traced(args, &q);
	if (args_has(args, "json"))
		return usage_error(args->cmd, "--json is for --trace");
	q.answer = connect_answer;
	return connect_query(args, &q, 0);
}

int
cmd_disconnect(struct args *args)
{
	struct query q;

	memset(&q, 0, sizeof q);
	return connect_query(args, &q, F_LETGO);
}
