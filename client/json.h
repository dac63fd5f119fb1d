/* SPDX-License-Identifier: ISC */
/* The little JSON that the client writes. */
#ifndef DLMUX_JSON_H
#define DLMUX_JSON_H

#include <stdbool.h>

#include "../server/base/buf.h"

/* A quoted string; bytes that are no UTF-8 become U+FFFD. */
void	 json_string(struct buf *, const char *);
/* The value of a NAME=VALUE: a bare number if it is one that every reader
 * takes whole, else a string. */
void	 json_number(struct buf *, const char *);
/* The same, if a field of that name is true or false everywhere. */
bool	 json_truth(struct buf *, const char *name, const char *value);

#endif
