/* SPDX-License-Identifier: ISC */
/*
 * `size`: whose size a shell has.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../server/base/mem.h"
#include "../server/base/size.h"
#include "query.h"
#include "say.h"

/* A row of the shell as it is now: "local:main 80x24 latest". */
static int
size_answer(uint8_t type, const uint8_t *p, size_t n, void *arg)
{
	struct msg_row r;
	char *line;
	int status = QUERY_GO_ON;

	(void)arg;
	if (type != F_ROW || msg_row_get(&r, p, n) == -1)
		return QUERY_DEFAULT;
	line = xasprintf("%s:%s %sx%s %s\n", row_get(&r, "workspace"),
	    row_get(&r, "shell"), row_get(&r, "cols"), row_get(&r, "rows"),
	    row_get(&r, "size"));
	if (say_out(line, strlen(line)) == -1)
		status = STATUS_FAILED;
	free(line);
	msg_row_free(&r);
	return status;
}

int
cmd_size(struct args *args)
{
	struct query q;
	struct msg_sizing m;
	struct size size;
	char *workspace, *shell, *policy = args->words[1];
	int status;

	if (policy != NULL && size_parse(policy, &size) == -1)
		return usage_error(args->cmd, "%s is not default, " SIZE_WORDS,
		    policy);
	status = query_target(args, args->words[0], "main", &workspace,
	    &shell);
	if (status == 0) {
		memset(&q, 0, sizeof q);
		q.args = args;
		q.connect_flags = CONNECT_START;
		q.workspace = workspace;
		q.type = F_SIZING;
		q.about = args->words[0];
		/* To set it says nothing. */
		if (policy == NULL)
			q.answer = size_answer;
		m.uid = 0;
		m.workspace = workspace;
		m.shell = shell;
		m.size = policy;
		buf_init(&q.body, 65536);
		msg_sizing_put(&q.body, &m);
		status = query_run(&q);
	}
	free(workspace);
	free(shell);
	return status;
}
