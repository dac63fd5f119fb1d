/* SPDX-License-Identifier: ISC */
/*
 * A tool's control socket: one command a connection, a line, which is answered
 * with a line after it holds.
 */
#ifndef TESTS_CONTROL_H
#define TESTS_CONTROL_H

#include <stdbool.h>
#include <stddef.h>

/* Returns the descriptor to be served, -1 (errno). */
int	 control_open(const char *path);
/* Takes a connection and obeys. The answer is "ok" unless obey puts another;
 * false: it does not know the word. */
void	 control_serve(int, bool (*obey)(const char *line, char *answer,
	    size_t max));

#endif
