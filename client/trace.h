/* SPDX-License-Identifier: ISC */
/* The last connect of a workspace: asked of the server, shown as a table. */
#ifndef DLMUX_TRACE_SHOW_H
#define DLMUX_TRACE_SHOW_H

#include "query.h"

struct tracing;

/* Makes q ask for it; USE and flags are the caller's. patient: when the
 * connect that runs is over, and then its failure is the command's. */
struct tracing *tracing_new(struct query *, const char *workspace,
	    bool patient);
/* Prints what came; the exit status, given query_run()'s. */
int	 tracing_show(struct tracing *, bool json, int status);
void	 tracing_free(struct tracing *);

#endif
