/* SPDX-License-Identifier: ISC */
/*
 * What the last connect of a workspace consisted of: its phases with their
 * times, which facts it knew before and which it had to ask for, and how it
 * ended. A stop-watch that the attempt and the link press as they go along;
 * it decides nothing.
 */
#ifndef DLMUX_TRACE_H
#define DLMUX_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* In the order in which a connect goes through them; not each has all. */
enum phase {
	PHASE_TRANSPORT,	/* config and program read, the process started */
	PHASE_FIRST_BYTE,	/* ssh's own: network, keys, login, its shell */
	PHASE_LOGIN,		/* start-up files print before our line runs */
	PHASE_AGENT,		/* the agent is looked for, found, asked */
	PHASE_UPLOAD,		/* it was not there: it is sent */
	PHASE_CONFIRM,		/* what arrived is checked and started */
	PHASE_HELLO,
	PHASE_SHELLS,		/* the agent tells of its shells */
	PHASES
};

struct trace_step {
	enum phase	 phase;
	uint64_t	 us, asked_us;	/* asked: of these, a user thought */
	uint64_t	 bytes;		/* skipped, or sent */
};

struct trace_fact {
	const char	*name, *how;
	char		*value;
};

/* A second and third go at most: each has up to four steps before it. */
#define TRACE_STEPS	24
#define TRACE_FACTS	8

struct trace {
	bool		 begun, running;
	bool		 up;		/* how it ended, once not running */
	char		*why;		/* ... if it failed */
	uint64_t	 began_ms;	/* clock_ms() */
	uint64_t	 began_us, last_us, ended_us;	/* clock_us() */
	uint64_t	 asking_us;	/* a question is open since; 0 */
	unsigned int	 questions, goes, trips;
	uint32_t	 shells;
	size_t		 nsteps, nfacts;
	struct trace_step step[TRACE_STEPS];
	struct trace_fact fact[TRACE_FACTS];
};

/* All take NULL for "nobody wants to know", and do nothing once it ended. */
void	 trace_begin(struct trace *);		/* forgets the last one */
void	 trace_clear(struct trace *);
/* What ran is over; this phase runs from now on. */
void	 trace_enter(struct trace *, enum phase);
void	 trace_bytes(struct trace *, uint64_t);	/* of the running phase, in all */
void	 trace_asking(struct trace *, bool);	/* a user thinks */
void	 trace_again(struct trace *);		/* it begins anew, otherwise */
void	 trace_trip(struct trace *);		/* a round trip was waited for */
/* how: "remembered", "asked", "assumed", "configured". */
void	 trace_fact(struct trace *, const char *name, const char *how,
	    const char *fmt, ...) __attribute__((format(printf, 4, 5)));
void	 trace_up(struct trace *, uint32_t shells);
void	 trace_failed(struct trace *, const char *why);

const char *trace_phase(enum phase);		/* "first-byte" */

#endif
