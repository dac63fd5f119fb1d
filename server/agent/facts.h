/* SPDX-License-Identifier: ISC */
/*
 * What can be known about a place from inside it, as lines NAME=VALUE: what
 * `dlmux doctor' judges, here and at the far end of a link, with the same
 * code. It gathers and does not judge. doc/protocol.md ("Facts") has the names;
 * they are only ever added to.
 */
#ifndef DLMUX_FACTS_H
#define DLMUX_FACTS_H

#include <sys/types.h>

#include "../base/buf.h"

/* about: the server or agent whose surroundings are meant; 0: this process,
 * which would start it. May take seconds (busctl, locale, ssh -V). */
void	 facts_gather(struct buf *, pid_t about);
/* `dlmux agent --facts`: of the agent that started this process. */
int	 facts_main(void);

#endif
