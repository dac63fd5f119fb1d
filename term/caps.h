/* SPDX-License-Identifier: ISC */
/*
 * What a client's terminal can do: terminfo strings and flags, loaded in the
 * client (the only place with the user's database) and sent to the server as
 * a blob, so that the server needs none.
 */
#ifndef DLMUX_CAPS_H
#define DLMUX_CAPS_H

#include "../server/base/buf.h"

struct caps;

/* Loads the entry for a TERM name. NULL with a sentence in *cause (malloc'd)
 * if it is unknown or cannot move its cursor. Only this function, in
 * term/terminfo.c, touches <term.h>. */
struct caps *caps_load(const char *term, char **cause);
void	 caps_free(struct caps *);
/* To bytes and back; caps_get() returns NULL for a damaged blob. */
void	 caps_put(const struct caps *, struct buf *);
struct caps *caps_get(const void *, size_t);
const char *caps_name(const struct caps *);

#endif
