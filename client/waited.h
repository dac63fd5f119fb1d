/* SPDX-License-Identifier: ISC */
/* What `wait` and `send --wait` share. */
#ifndef DLMUX_WAITED_H
#define DLMUX_WAITED_H

#include "../server/wire/msg.h"

/* kind is "text", "idle" or "exit"; regex is then malloc'd. -1 and *cause. */
int	 waited_parse(struct msg_wait *, const char *kind, const char *value,
	    char **cause);
/* The exit status of a WAITED; says what has to be said. */
int	 waited_status(const char *about, const struct msg_wait *,
	    const uint8_t *, size_t);

#endif
