/* SPDX-License-Identifier: ISC */
/*
 * The system's settings in *.conf files of several directories, as systemd has
 * them: a file stands for those of its name in the directories before.
 */
#ifndef DLMUX_DROPIN_H
#define DLMUX_DROPIN_H

#include <stddef.h>

/* Calls take() for each file's text, which is its to change, by directory and
 * by name. Those that cannot be read or are long are left out. */
void	 dropin_each(const char *const *dirs, size_t ndirs,
	    void (*take)(char *text, void *), void *);

#endif
