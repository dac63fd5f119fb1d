/* SPDX-License-Identifier: ISC */
/*
 * Names against patterns; see sendenv.h.
 */
#include <fnmatch.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "buf.h"
#include "mem.h"
#include "sendenv.h"

static bool
wanted(const char *entry, char *const *patterns)
{
	const char *eq = strchr(entry, '=');
	char *name;
	bool found = false;

	if (eq == NULL || eq == entry)
		return false;
	name = xstrndup(entry, (size_t)(eq - entry));
	for (; *patterns != NULL && !found; patterns++)
		found = fnmatch(*patterns, name, 0) == 0;
	free(name);
	return found;
}

char **
sendenv_pick(char *const *env, char *const *patterns)
{
	size_t i, n = 0;
	char **out;

	if (env == NULL || patterns == NULL)
		return xcalloc(1, sizeof *out);
	out = xcalloc(strv_len(env) + 1, sizeof *out);
	for (i = 0; env[i] != NULL; i++)
		if (wanted(env[i], patterns))
			out[n++] = xstrdup(env[i]);
	return out;
}
