/* SPDX-License-Identifier: ISC */
/*
 * Getting the agent to speak at the far end of a transport: the one-liner
 * that the far shell runs, and the reading of what it prints.
 *
 * It runs nothing and owns no descriptor.
 */
#ifndef DLMUX_BOOTSTRAP_H
#define DLMUX_BOOTSTRAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "payload.h"

#define BOOT_MARKER	32		/* hex digits */

struct boot_spec {
	const char	*marker;	/* BOOT_MARKER hex digits */
	const char	*instance;	/* far agent's -L NAME */
	const struct payload *payload;
	bool		 careful;	/* run what is found before trusting it */
	bool		 strip;		/* our askpass variables would leak */
};

/* The text that ssh takes as one argument: no ' ! \ or newline between its
 * two quotes, so that csh, fish and the rest pass it on. malloc'd. */
char	*boot_oneliner(const struct boot_spec *);

enum boot_word {
	BOOT_MORE,	/* nothing yet */
	BOOT_HERE,	/* our line runs: what came before it is noise */
	BOOT_AGENT,	/* frames follow */
	BOOT_GOT,	/* text: bytes of the payload that are there */
	BOOT_NEED,	/* text is its uname -sm: send the payload */
	BOOT_NODIR,
	BOOT_FAIL,	/* text is "STEP DIRECTORY" */
	BOOT_NOISE	/* more than BOOT_NOISE_MAX without a word */
};

struct boot_scan;

struct boot_scan *boot_scan_new(const char *marker);
void	 boot_scan_free(struct boot_scan *);
/*
 * Takes bytes until a line of the bootstrap's is whole; *used says how many
 * were taken (after BOOT_AGENT the rest are frames). The marker may stand
 * anywhere in a line; one that no known word follows is noise too.
 */
enum boot_word boot_scan(struct boot_scan *, const void *, size_t,
	    size_t *used);
/* What stood behind the last word; "" if nothing. */
const char *boot_scan_text(const struct boot_scan *);
/* Bytes that were none of ours. */
size_t	 boot_scan_skipped(const struct boot_scan *);
/* The end of the noise, NUL-ended, raw. */
const char *boot_scan_noise(const struct boot_scan *);

/*
 * The last line of text that says something, cleaned for people, without
 * line ends and with its colours taken away; malloc'd, NULL if there is none.
 */
char	*boot_last_line(const char *text, size_t len);

#endif
