/* SPDX-License-Identifier: ISC */
/* SendEnv: which variables of a client's environment go along. */
#ifndef DLMUX_SENDENV_H
#define DLMUX_SENDENV_H

/* The NAME=VALUE entries of env whose NAME matches one of the patterns (as a
 * shell's file names; NULL: none). NULL-ended, strv_free(). */
char	**sendenv_pick(char *const *env, char *const *patterns);

#endif
