/* SPDX-License-Identifier: ISC */
/*
 * Whose size a shell has: the words of the config file, of the command line,
 * of the wire and of the state file are the same.
 */
#ifndef DLMUX_SIZE_H
#define DLMUX_SIZE_H

#include <stdbool.h>
#include <stdint.h>

/* The numbers are in state files: append only. */
enum size_kind {
	SIZE_DEFAULT,		/* nothing said: the next outer one counts */
	SIZE_LATEST,		/* of the client last typed at */
	SIZE_SMALLEST,		/* that fits all clients */
	SIZE_LARGEST,		/* that some client has */
	SIZE_FIXED		/* rows and cols, whatever the clients have */
};

struct size {
	uint8_t	 kind;		/* enum size_kind */
	uint16_t rows, cols;	/* SIZE_FIXED */
};

/* "latest", "smallest", "largest", "COLSxROWS"; "default" where a shell goes
 * back to what its workspace has. 0, or -1: none of them. */
int	 size_parse(const char *, struct size *);
/* Could size_parse() have made it? */
bool	 size_ok(const struct size *);
bool	 size_same(const struct size *, const struct size *);
/* Back to the word. */
#define SIZE_TEXT	16
void	 size_text(const struct size *, char out[SIZE_TEXT]);

/* For errors: what may be said. */
#define SIZE_WORDS	"latest, smallest, largest or COLSxROWS"

#endif
