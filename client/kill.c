/* SPDX-License-Identifier: ISC */
/*
 * `kill`: one shell, all of a workspace, all there are.
 */
#include <stdlib.h>
#include <string.h>

#include "query.h"
#include "say.h"

int
cmd_kill(struct args *args)
{
	struct query q;
	char *workspace = NULL, *shell = NULL;
	bool all = args_has(args, "a");
	int status = 0;

	memset(&q, 0, sizeof q);
	if (args->nwords == 0 && !all)
		return usage_error(args->cmd, "which shell?");
	if (args->nwords > 0)
		status = query_target(args, args->words[0],
		    all ? NULL : "main", &workspace, &shell);
	if (status == 0 && all && shell != NULL)
		status = usage_error(args->cmd,
		    "-a ends all shells of a workspace: leave :%s out", shell);
	if (status == 0) {
		q.args = args;
		q.connect_flags = CONNECT_START;
		/* Everything: only what is known, nothing is connected to. */
		q.workspace = workspace;
		q.type = F_ENDSHELL;
		q.about = args->nwords > 0 ? args->words[0] : "kill";
		buf_init(&q.body, 65536);
		buf_str(&q.body, workspace);
		buf_str(&q.body, shell);
		buf_u8(&q.body, all);
		status = query_run(&q);
	}
	free(workspace);
	free(shell);
	return status;
}
