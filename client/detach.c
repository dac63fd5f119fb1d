/* SPDX-License-Identifier: ISC */
/*
 * `detach`: the clients of a shell, or of the shell that this runs in.
 *
 * A shell knows its name, not who shows it. In a workspace that is another
 * machine, the server that shows it is over there where the user sits, and a
 * server here knows nothing of it: that is said, and none is started for it.
 */
#include <stdlib.h>
#include <string.h>

#include "../server/base/mem.h"
#include "query.h"
#include "say.h"

/* Of the shell this runs in: it is there for certain, so a server that does
 * not know it is not the one that shows it. */
static int
detach_answer(uint8_t type, const uint8_t *p, size_t n, void *arg)
{
	struct msg_done d;
	int status = QUERY_DEFAULT;

	if (type != F_DONE || msg_done_get(&d, p, n) == -1)
		return QUERY_DEFAULT;
	if (d.code == R_NO_SHELL) {
		say("%s", (const char *)arg);
		status = STATUS_FAILED;
	}
	msg_done_free(&d);
	return status;
}

int
cmd_detach(struct args *args)
{
	struct query q;
	char *workspace, *shell, *elsewhere = NULL;
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
		if (args->nwords == 0) {
			elsewhere = xasprintf("detach: %s is shown from "
			    "another machine: detach there, with the prefix "
			    "key and d", name);
			q.answer = detach_answer;
			q.arg = elsewhere;
			if (strcmp(workspace, "local") != 0) {
				q.connect_flags = 0;
				q.no_server = elsewhere;
			}
		}
		status = query_run(&q);
	}
	free(elsewhere);
	free(workspace);
	free(shell);
	return status;
}
