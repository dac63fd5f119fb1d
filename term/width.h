/* SPDX-License-Identifier: ISC */
/*
 * The width of a printable code point in columns.
 */
#ifndef DLMUX_WIDTH_H
#define DLMUX_WIDTH_H

#include <stddef.h>
#include <stdint.h>

/* 0 for what joins the character before it, else 1 or 2. */
int	width_of(uint32_t cp);

#endif
