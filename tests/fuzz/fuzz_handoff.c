/* SPDX-License-Identifier: ISC */
/*
 * The hand-off's parser and the snapshot's: whatever comes on the agent's
 * socket, and whatever a start-up file prints.
 */
#include <stdlib.h>
#include <string.h>

#include "../../server/agent/env.h"
#include "../../server/agent/envprobe.h"
#include "../../server/agent/handoff.h"
#include "../../server/base/limits.h"

int	LLVMFuzzerTestOneInput(const uint8_t *, size_t);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct handoff_head h;
	char **env;
	size_t i;
	int r, last = 0;

	/* More bytes never turn a no or a yes into something else. */
	for (i = 0; i <= len; i++) {
		r = handoff_parse(data, i, &h);
		if (last != 0 && r != last)
			abort();
		if (r == 1 && (h.head + h.env > i ||
		    strlen(h.marker) > 64 || h.env > HANDOFF_ENV_MAX))
			abort();
		last = r;
		if (len > 512 && i < len - 1)
			i += len / 64;
	}
	if (last == 1) {
		env = env_split(data + h.head, h.env);
		env_clean(env);
		env_complete(&env);
		strv_free(env);
	}
	if (len > 0 && (env = envprobe_parse(data, len, "mark")) != NULL) {
		env_clean(env);
		strv_free(env);
	}
	return 0;
}
