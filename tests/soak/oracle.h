/* SPDX-License-Identifier: ISC */
/*
 * The oracles of the screen and the view. A case is a stream cut into steps,
 * with what happens to the clients in between; running it compares after
 * each step
 *
 *   G	the screen fed the stream directly,
 *   M	the server's screen: as G, but now and then restored from a
 *	checkpoint and what came after it,
 *   T	each attached client's terminal (outside.h), fed the view's frames.
 *
 * A case is made from a seed (grammar.c), can be written to a file, read from
 * one, and be cut down to what still fails.
 */
#ifndef DLMUX_SOAK_ORACLE_H
#define DLMUX_SOAK_ORACLE_H

#include <stdio.h>

#include "../../server/base/buf.h"
#include "../../term/caps.h"
#include "../../term/screen.h"
#include "outside.h"

enum step_kind {
	STEP_SAY,	/* bytes of the stream */
	STEP_ATTACH,	/* client, rows, cols */
	STEP_DETACH,	/* client */
	STEP_RESIZE,	/* client, rows, cols */
	STEP_STALL,	/* client gets no frames (a: for its terminal does not
			 * read; else it is stopped) ... */
	STEP_GO,	/* ... until here */
	STEP_KEEP,	/* a checkpoint; a: its kind */
	STEP_SERVER,	/* killed; the next one starts from the last kept */
	STEP_LINK,	/* lost and resumed: a notice comes and goes */
	STEP_HELP,	/* an overlay comes and goes */
	STEP_KINDS
};

#define CLIENTS 2

struct step {
	uint8_t		 kind;
	uint8_t		 who;
	uint16_t	 a, b;
	uint8_t		*data;
	size_t		 len;
};

struct soak_case {
	uint64_t	 seed;
	char		 term[32];
	int		 rows, cols;	/* the shell's first size */
	struct step	*steps;
	size_t		 n;
};

/* grammar.c */
struct soak_case *case_random(uint64_t seed);
uint64_t rnd_next(uint64_t *state);
uint32_t rnd(uint64_t *state, uint32_t n);
void	 grammar_stream(uint64_t *state, int rows, int cols, size_t tokens,
	    struct buf *);

/* case.c */
void	 case_free(struct soak_case *);
struct soak_case *case_copy(const struct soak_case *);
struct step *case_add(struct soak_case *, enum step_kind, int who, int a,
	    int b);
void	 case_say(struct soak_case *, const void *, size_t);
void	 case_drop(struct soak_case *, size_t from, size_t n);
void	 case_write(const struct soak_case *, FILE *);
struct soak_case *case_read(FILE *);	/* NULL: damaged */
/* Cuts it down while fails() says so, for so many seconds. */
void	 case_shrink(struct soak_case *, bool (*fails)(struct soak_case *),
	    int seconds);
/* So that a person can read it. */
void	 case_show(const struct soak_case *, FILE *);

/* oracle.c: false if a difference was found, with words in why. */
bool	 oracle_run(const struct soak_case *, struct buf *why);
/* Checkpoints here and there, and reflow there and back, of a stream. */
bool	 oracle_self(const uint8_t *, size_t, int rows, int cols, uint64_t seed,
	    struct buf *why);

/* compare.c */
struct caps *oracle_caps(const char *term);
/* What T shows of the screen whose cell top, left is in its corner. */
bool	 compare_screen(struct outside *, const struct screen *,
	    const struct caps *, int top, int left, struct buf *why);
bool	 compare_modes(struct outside *, const struct screen *,
	    const struct caps *, struct buf *why);
/* T's lines from number first on against the screen's newest. */
bool	 compare_lines(struct outside *, size_t first, const struct screen *,
	    struct buf *why);
/* Terminals disagree about the width of what is in it. */
bool	 compare_doubtful(const struct screen *, const struct row *, int x);
/* A pen as such a terminal can show it. */
void	 compare_pen(const struct screen *, const struct caps *, struct pen *);

/* written.c: a cell's attributes as the corpus writes them down: of a blank
 * only what shows. */
struct written {
	uint32_t	fg, bg;
	char		flags[16];	/* b d i k r h s, one of u U c o a */
};
void	 written_attr(const struct pen *, bool empty, struct written *);
bool	 written_empty(const struct cell *);
/* "cursor ROW COL [wrap]", then a line "ROW COL WIDTH FG BG FLAGS TEXT" for
 * each cell that was written to. caps: of the terminal that is to show it;
 * NULL: as the program meant it. */
void	 written_screen(const struct screen *, const struct caps *, FILE *);

#endif
