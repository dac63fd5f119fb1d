/* SPDX-License-Identifier: ISC */
/*
 * `connect` and `disconnect`: a workspace's link, by hand.
 */
#include <stdlib.h>
#include <string.h>

#include "query.h"

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
connect_query(struct args *args, struct query *q, uint8_t type)
{
	char *workspace, *shell;
	int status;

	status = query_target(args, args->words[0], NULL, &workspace, &shell);
	if (status == 0 && shell != NULL)
		status = usage_error(args->cmd,
		    "%s: a workspace is meant, not a shell", args->words[0]);
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

int
cmd_connect(struct args *args)
{
	struct query q;

	memset(&q, 0, sizeof q);
	q.answer = connect_answer;
	if (args_has(args, "refresh"))
		q.use_flags |= USE_REFRESH;
	return connect_query(args, &q, 0);
}

int
cmd_disconnect(struct args *args)
{
	struct query q;

	memset(&q, 0, sizeof q);
	return connect_query(args, &q, F_LETGO);
}
