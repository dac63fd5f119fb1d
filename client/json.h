/* SPDX-License-Identifier: ISC */
/* The little JSON that the client writes. */
#ifndef DLMUX_JSON_H
#define DLMUX_JSON_H

#include "../server/base/buf.h"

/* A quoted string; bytes that are no UTF-8 become U+FFFD. */
void	 json_string(struct buf *, const char *);
/* The value of a NAME=VALUE: a bare number if it is one that every reader
 * takes whole, else a string. */
void	 json_number(struct buf *, const char *);

#endif
