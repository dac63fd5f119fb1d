/* SPDX-License-Identifier: ISC */
/*
 * The snapshot of a login shell's environment that commands run with: taken
 * once, waited for by the first who needs it and by all who come meanwhile.
 * A shell whose start-up files hang, fail or print nonsense costs ten seconds
 * once; then the agent's own environment serves.
 */
#ifndef DLMUX_ENVPROBE_H
#define DLMUX_ENVPROBE_H

#include <stdbool.h>
#include <stdint.h>

#include "core.h"

struct envprobe *envprobe_new(struct agent *);
void	 envprobe_free(struct envprobe *);
/* True: it is settled (or not wanted). False: started; op_env_ready() is
 * called when it is. */
bool	 envprobe_want(struct agent *, uint8_t mode);
/* A copy, malloc'd; NULL if there is none. */
char	**envprobe_env(const struct agent *, uint8_t mode);
void	 envprobe_refresh(struct agent *);	/* the next asks anew */

/* `agent --env MARKER`: MARKER, each variable ended by NUL, MARKER. */
int	 envprobe_print(const char *marker);
/* What a shell printed around it: the variables, malloc'd, or NULL. */
char	**envprobe_parse(const void *, size_t, const char *marker);

#endif
