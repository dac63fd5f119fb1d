/* SPDX-License-Identifier: ISC */
/* The names of the containers that run, for an error's sake. */
#ifndef DLMUX_NAMES_H
#define DLMUX_NAMES_H

#include <event2/event.h>

struct names;

/* Runs `PROGRAM ps`. done is called once, from the loop, with "a, b, c", ""
 * if there are none, NULL if it could not be asked; then it is gone. */
struct names *names_start(struct event_base *, const char *program,
	    char *const *env, void (*done)(const char *list, void *), void *);
void	 names_cancel(struct names *);		/* NULL is fine */

#endif
