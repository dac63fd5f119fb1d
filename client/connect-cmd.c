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

int
cmd_connect(struct args *args)
{
	struct tracing *t = NULL;
	struct query q;
	char *workspace;
	int status;

	if (args_has(args, "json") && !args_has(args, "trace"))
		return usage_error(args->cmd, "--json is for --trace");
	memset(&q, 0, sizeof q);
	status = query_workspace(args, &workspace);
	if (status == 0) {
		q.args = args;
		q.connect_flags = CONNECT_START;
		q.about = args->words[0];
		q.workspace = workspace;
		q.use_flags = args_has(args, "refresh") ? USE_REFRESH : 0;
		/* One question, answered when the connect is over, well or
		 * not. */
		if (args_has(args, "trace"))
			t = tracing_new(&q, workspace, true);
		else
			q.answer = connect_answer;
		status = query_run(&q);
	}
	if (t != NULL) {
		status = tracing_show(t, args_has(args, "json"), status);
		tracing_free(t);
	}
	free(workspace);
	return status;
}

int
cmd_disconnect(struct args *args)
{
	struct query q;
	char *workspace;
	int status;

	memset(&q, 0, sizeof q);
	status = query_workspace(args, &workspace);
	if (status == 0) {
		q.args = args;
		q.connect_flags = CONNECT_START;
		q.about = args->words[0];
		q.type = F_LETGO;
		buf_init(&q.body, 65536);
		buf_str(&q.body, workspace);
		status = query_run(&q);
	}
	free(workspace);
	return status;
}
