/* SPDX-License-Identifier: ISC */
/*
 * Named points at which a test can stop a process, so that races are forced
 * and not slept for. Only in builds with DLMUX_HOOKS; else nothing.
 *
 * When $DLMUX_HOOK_DIR/NAME exists and a process reaches HOOK("NAME"), it
 * renames that file to NAME.hit with its pid inside and stops itself
 * (SIGSTOP). The test waits for the .hit file, then kills or continues it.
 *
 * A long-lived role says what it says to nobody, and a sanitizer's report with
 * it: HOOK_STDERR() makes $DLMUX_HOOK_DIR/stderr of it.
 */
#ifndef DLMUX_HOOK_H
#define DLMUX_HOOK_H

#include <stddef.h>

/*
 * Where a shell's output is parsed: output with $DLMUX_POISON in it makes the
 * process abort, output with $DLMUX_POISON_SPIN makes it compute for ever.
 */
#ifdef DLMUX_HOOKS
void	 hook_point(const char *name);
void	 hook_parse(const void *, size_t);
void	 hook_stderr(void);
#define HOOK_STDERR()	hook_stderr()
#define HOOK(name)	hook_point(name)
#define HOOK_PARSE(p, n) hook_parse(p, n)
#else
#define HOOK(name)	((void)0)
#define HOOK_STDERR()	((void)0)
#define HOOK_PARSE(p, n) ((void)0)
#endif

#endif
