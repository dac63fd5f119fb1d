/* SPDX-License-Identifier: ISC */
/*
 * Whose output killed the server? Whatever is made of a shell's output stands
 * between blame_on() and blame_off(): two stores, no system call. When the
 * process dies in between, by a signal of its own making (SIGSEGV, abort(),
 * ...) or because it computes for ever there, its last act is a line in a file:
 * the shell, and where in its output. The next server reads it. A shell that is
 * blamed BLAME_OUT times at one place is out: see quarantine.c.
 *
 * A signal that somebody sent blames nobody, kill -9 included. Lines of
 * another version of dlmux count for nothing: it may do better.
 *
 * One per process; it knows shells by their uid only.
 */
#ifndef DLMUX_BLAME_H
#define DLMUX_BLAME_H

#include <stdint.h>

/* Reads what earlier servers left, and forgets what is of no use any more. */
void	 blame_load(const char *path);
/* From now on this process blames. */
void	 blame_catch(void);
void	 blame_on(uint64_t uid, uint64_t from, uint64_t to);
void	 blame_off(void);

/* How often in a row, at one place; *at is the offset of the last time. */
unsigned int blame_count(uint64_t uid, uint64_t *at);
/* It is gone, or gets another chance. */
void	 blame_forgive(uint64_t uid);

#endif
