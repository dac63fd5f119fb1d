/* SPDX-License-Identifier: ISC */
/*
 * What whole.c, which takes the steps of a case, and whole-shown.c, which holds
 * what its terminals show against the screen, share.
 */
#ifndef DLMUX_SOAK_WHOLE_PRIVATE_H
#define DLMUX_SOAK_WHOLE_PRIVATE_H

#include "whole.h"

struct client {
	bool		 on, stalled;
	bool		 deaf;		/* stalled, for its terminal reads not */
	bool		 lost;		/* no server that runs knows it */
	int		 rows, cols;
	pid_t		 pid;
	int		 fd;		/* the pty's master, -1 */
	struct outside	*t;
	uint64_t	 order;		/* of its attach */
	unsigned long	 bytes;		/* that came */
	int		 raw;		/* where they are kept, -1 */

	bool		 counting;
	size_t		 base;
	uint64_t	 lines;
	uint32_t	 epoch;
};

struct whole {
	char		 dir[64];
	char		*binary, *self;
	unsigned	 cases;		/* run so far: a shell's name each */
	uint64_t	*last_link;	/* killed; shared with children */
	pid_t		 guardian;
	int		 life;		/* a pipe to it: closed when we are gone */

	/* of the case in hand */
	struct caps	*caps;
	const char	*term;
	char		 shell[32];	/* far:N */
	char		 socket[96];
	int		 listener, player;
	bool		 made;		/* the shell */
	bool		 killed;	/* the server, just now */
	bool		 unsure;	/* no server knows who typed last */
	struct screen	*g;
	struct client	 client[CLIENTS];
	uint64_t	 order;
	struct buf	*why;
};

/* Runs dlmux to its end; its output into out (may be NULL). */
int	 whole_dlmux(struct whole *, struct buf *out, const char *,
	    const char *, const char *);
/* Takes what there is, waiting for it up to ms. */
void	 whole_turn(struct whole *, int ms);
/* Until fd can be read, turning; false at the end. */
bool	 whole_readable(struct whole *, int fd, uint64_t end);
/* Puts the text, and what that client's terminal shows, into why; false. */
bool	 whole_fail(struct whole *, int who, const char *text);
/* Until every terminal that is looked at shows the screen; false: not in
 * time. */
bool	 whole_settled(struct whole *);
/* The same, when no more comes: it may have looked right by chance before the
 * first frame was there. */
bool	 whole_quiet(struct whole *, int who);
/* Until what looks shows the screen; nobody does: until `capture` prints it. */
bool	 whole_at_rest(struct whole *);

#endif
