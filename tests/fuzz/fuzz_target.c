/* SPDX-License-Identifier: ISC */
/*
 * Names as users write them, and ssh_config (behind the first NUL). What is
 * taken must name itself again, and no name may become an option of ssh or
 * docker.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../../server/base/buf.h"
#include "../../server/link/sshconf.h"
#include "../../server/link/target.h"

int	 LLVMFuzzerTestOneInput(const uint8_t *, size_t);

static void
check_argv(const struct target *t, char *const *env)
{
	char **v = target_argv(t, "LINE", true, env);

	if (t->scheme != SCHEME_LOCAL && (v == NULL || t->host[0] == '-' ||
	    (t->user != NULL && t->user[0] == '-')))
		abort();
	strv_free(v);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static char *env[] = { (char *)"HOME=/nonexistent", NULL };
	struct target t, again;
	char *text, *shell = NULL, *cause = NULL, *ws;
	const uint8_t *rest;
	size_t n;

	rest = memchr(data, '\0', len);
	n = rest != NULL ? (size_t)(rest - data) : len;
	text = strndup((const char *)data, n);
	if (target_parse(text, NULL, env, false, &t, &shell, &cause) == 0) {
		free(shell);
		shell = NULL;
		check_argv(&t, env);
		if (target_parse(t.name, NULL, env, false, &again, &shell,
		    &cause) == -1 || shell != NULL ||
		    strcmp(again.name, t.name) != 0)
			abort();
		target_clear(&again);
		target_clear(&t);
		if (target_split(text, &ws, &shell, &cause) == -1)
			abort();
		free(ws);
		free(shell);
	} else {
		if (cause == NULL)
			abort();
		free(cause);
	}
	if (rest != NULL)
		sshconf_text((const char *)rest + 1, len - n - 1,
		    "/nonexistent", text, NULL);
	free(text);
	return 0;
}
