/* SPDX-License-Identifier: ISC */
/*
 * `release': a shell whose output killed the server is shown again.
 */
#include <stdlib.h>
#include <string.h>

#include "query.h"

int
cmd_release(struct args *args)
{
	struct query q;
	char *workspace, *shell;
	int status;

	memset(&q, 0, sizeof q);
	status = query_target(args, args->words[0], "main", &workspace,
	    &shell);
	if (status == 0) {
		q.args = args;
		q.connect_flags = CONNECT_START;
		q.workspace = workspace;
		q.type = F_RELEASE;
		q.about = args->words[0];
		buf_init(&q.body, 65536);
		buf_str(&q.body, workspace);
		buf_str(&q.body, shell);
		status = query_run(&q);
	}
	free(workspace);
	free(shell);
	return status;
}
