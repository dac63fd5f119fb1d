/* SPDX-License-Identifier: ISC */
/* The little JSON that the client writes. */
#ifndef DLMUX_JSON_H
#define DLMUX_JSON_H

#include <stdbool.h>

#include "../server/base/buf.h"

/* A quoted string; bytes that are no UTF-8 become U+FFFD. */
void	 json_string(struct buf *, const char *);
/* sep and "NAME": VALUE of a row's NAME=VALUE: a string or a truth value if the
 * field of that name is one everywhere, else a bare number if it is one that
 * every reader takes whole. False if it is no NAME=VALUE: then nothing. */
bool	 json_field(struct buf *, const char *sep, const char *field);

#endif
