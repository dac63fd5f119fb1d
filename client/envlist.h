/* SPDX-License-Identifier: ISC */
/* The environment that a new shell or command gets on top of its base. */
#ifndef DLMUX_ENVLIST_H
#define DLMUX_ENVLIST_H

#include "../server/wire/msg.h"

/* LANG, what SendEnv names (link may be NULL), then extra; with terminal also
 * TERM and COLORTERM in front. NULL-ended, strv_free(). */
char	**envlist_make(const struct msg_link *, bool terminal,
	    char *const *extra);

#endif
