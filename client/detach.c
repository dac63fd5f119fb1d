/* SPDX-License-Identifier: ISC */
/*
 * `detach`: the clients of a shell, or of the shell that this runs in.
 */
#include <stdlib.h>
#include <string.h>

#include "query.h"

int
cmd_detach(struct args *args)
{
	struct query q;
	char *workspace, *shell;
	const char *name = args->nwords > 0 ? args->words[0] :
	    getenv("DLMUX");
	int status;

	if (name == NULL || name[0] == '\0')
		return usage_error(args->cmd, "not inside a shell of dlmux: "
		    "name one");
	memset(&q, 0, sizeof q);
	status = query_target(args, name, "main", &workspace, &shell);
	if (status == 0) {
		q.args = args;
		q.type = F_EVICT;
		q.about = name;
		buf_init(&q.body, 65536);
		buf_str(&q.body, workspace);
		buf_str(&q.body, shell);
		/* No server, no clients; one that just died has them back in a
		 * moment. */
		q.connect_flags = CONNECT_START;
		status = query_run(&q);
	}
	free(workspace);
	free(shell);
	return status;
}
