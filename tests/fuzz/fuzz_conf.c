/* SPDX-License-Identifier: ISC */
/* dlmux.conf, and then every name in it resolved. Include may open files, so
 * what it could open is only what is regular, ours and small. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../../server/base/conf.h"
#include "../../server/base/buf.h"
#include "../../server/link/target.h"

int	 LLVMFuzzerTestOneInput(const uint8_t *, size_t);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static char *env[] = { (char *)"HOME=/nonexistent", NULL };
	struct target t;
	struct conf *c;
	char *cause = NULL, *shell = NULL, **v;
	size_t i;

	c = conf_parse((const char *)data, len, "/nonexistent/dlmux.conf",
	    &cause);
	if (c == NULL) {
		if (cause == NULL || *cause == '\0')
			abort();	/* an error without words */
		free(cause);
		return 0;
	}
	for (i = 0; i < c->nws && i < 8; i++) {
		shell = cause = NULL;
		if (target_parse(c->ws[i].name, c, env, false, &t, &shell,
		    &cause) == 0) {
			v = target_argv(&t, "exec sh -c 'x'", true, env);
			strv_free(v);
			target_clear(&t);
		} else if (cause == NULL)
			abort();
		free(shell);
		free(cause);
	}
	conf_free(c);
	return 0;
}
