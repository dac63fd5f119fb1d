/* SPDX-License-Identifier: ISC */
/*
 * `capture`: a screen as text.
 */
#include <stdlib.h>
#include <string.h>

#include "query.h"
#include "say.h"

static int
capture_answer(uint8_t type, const uint8_t *p, size_t n, void *arg)
{
	(void)arg;
	if (type != F_TEXT)
		return QUERY_DEFAULT;
	return say_out(p, n) == -1 ? STATUS_FAILED : 0;
}

int
cmd_capture(struct args *args)
{
	struct query q;
	struct msg_capture c;
	const char *v = args_value(args, "s");
	int status;

	memset(&q, 0, sizeof q);
	memset(&c, 0, sizeof c);
	if (v != NULL && strcmp(v, "-") == 0)
		c.history = UINT32_MAX;
	else if (v != NULL && number_parse(v, UINT32_MAX - 1,
	    &c.history) == -1)
		return usage_error(args->cmd, "-s %s: no number of lines", v);
	if (args_has(args, "e"))
		c.flags |= CAPTURE_ESCAPES;
	if (args_has(args, "raw"))
		c.flags |= CAPTURE_RAW;
	status = query_target(args, args->words[0], "main", &c.workspace,
	    &c.shell);
	if (status == 0) {
		q.args = args;
		q.connect_flags = CONNECT_START;
		q.workspace = c.workspace;
		q.type = F_CAPTURE;
		q.about = args->words[0];
		q.answer = capture_answer;
		buf_init(&q.body, 65536);
		msg_capture_put(&q.body, &c);
		status = query_run(&q);
	}
	free(c.workspace);
	free(c.shell);
	return status;
}
