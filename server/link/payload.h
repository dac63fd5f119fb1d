/* SPDX-License-Identifier: ISC */
/*
 * The program that is sent to a workspace: this very one, or the one the
 * config names for another machine. Its name there holds its hash, so that a
 * name found is the right version and nothing has to be asked.
 */
#ifndef DLMUX_PAYLOAD_H
#define DLMUX_PAYLOAD_H

#include <stdbool.h>
#include <stdint.h>

#include "target.h"

#define PAYLOAD_HASH	24		/* hex digits */

struct payload {
	int		 fd;		/* open for reading; -1: none */
	uint64_t	 size;
	uint32_t	 crc;		/* crc32c of it all */
	char		 hash[PAYLOAD_HASH + 1];
	bool		 own;		/* fd is shared: never closed */
};

/* "Linux x86_64", of the kernel that runs us. */
const char *payload_machine(void);

/*
 * The program for a machine ("uname -sm"; NULL or "": not known yet, taken as
 * the configured one or ours). -1 and *cause, which names the remedy.
 */
int	 payload_open(struct payload *, const struct target *,
	    const char *machine, char **cause);
/* Any file, hashed. */
int	 payload_file(struct payload *, const char *path, char **cause);
void	 payload_close(struct payload *);

#endif
