/* SPDX-License-Identifier: ISC */
/*
 * The benchmark: what its files share. All times are milliseconds as double,
 * by the monotonic clock. Text that a function hands out is the caller's,
 * unless said otherwise. Out of memory ends the program; this is a tool.
 */
#ifndef BENCH_H
#define BENCH_H

#include <sys/types.h>

#include <stdbool.h>
#include <stddef.h>

struct bench;
struct term;

/* --- bench.c --- */

/* What a measurement found out to be not what it was taken for: said at once,
 * kept for the report, and the exit status is 1. */
void	 bench_fail(struct bench *, const char *, ...)
	    __attribute__((format(printf, 2, 3)));
/* Not measured, and why: reported, no failure. */
void	 bench_skip(struct bench *, const char *, ...)
	    __attribute__((format(printf, 2, 3)));
void	 bench_say(const char *, ...) __attribute__((format(printf, 1, 2)));
/* Ends the program; for what it cannot do without. */
void	 bench_die(const char *, ...)
	    __attribute__((format(printf, 1, 2), noreturn));
/* N, or a tenth of it (at least 3) with --quick. */
int	 bench_rounds(const struct bench *, int);

/* --- bench-util.c --- */

double	 now_ms(void);
void	 sleep_ms(double);
void	*xalloc(size_t);
char	*xstr(const char *);
char	*xfmt(const char *, ...) __attribute__((format(printf, 1, 2)));
/* Whole file as text, NULL if it cannot be read. */
char	*file_read(const char *);
void	 file_write(const char *, int, const char *, ...)
	    __attribute__((format(printf, 3, 4)));
/* Lines with this text in a file; 0 if there is no file. */
int	 file_count(const char *, const char *);
char	*argv_join(char *const *);
/* Whether the program is in PATH (and the sbin directories): its path. */
char	*program_find(const char *);

/* --- bench-stats.c: what was measured --- */

struct stats {
	size_t	 n;
	double	 min, median, p95, p99, mean, max;
};

struct series {
	char	*metric, *variant, *subject;
	char	*unit;
	char	*command;
	double	*v;
	size_t	 n, room;
};

/* The series of these names, made if there is none. */
struct series	*series_get(struct bench *, const char *, const char *,
		    const char *, const char *);
struct series	*series_find(struct bench *, const char *, const char *,
		    const char *);
void		 series_add(struct series *, double);
void		 series_command(struct series *, char *const *);
struct stats	 series_stats(const struct series *);

/*
 * One side of a comparison. sample() returns milliseconds, or a negative
 * number after it set *cause (malloc'd): it failed, or did not go the way that
 * it is to measure. limit: samples at most, for slow ones; 0 as all.
 */
struct subject {
	const char	*name;
	double		(*sample)(struct bench *, const struct subject *,
			    char **);
	const void	*arg;
	char *const	*argv;		/* for the report */
	int		 limit;
};
/* A B A B ...: drift meets all alike. Subjects without sample are left out.
 * warm rounds before are thrown away. */
void	 subjects_run(struct bench *, const char *, const char *, const char *,
	    const struct subject *, int, int, int);

/* --- bench-child.c: whole processes --- */

struct output {
	char	*out, *err;		/* NUL-terminated */
	int	 status;		/* exit status, 128+n for a signal */
};
void	 output_clear(struct output *);
/* From before it is started until it has been waited for. env NULL: the
 * bench's. o may be NULL. Status 127 if it cannot be started, 137 on the
 * deadline. */
double	 child_run(struct bench *, char *const *, char *const *,
	    struct output *, double);
/* count of them at once, until the last has ended. Negative if one failed. */
double	 child_parallel(struct bench *, char *const *, int, double,
	    char **);
/* In the background, own session, output into a file (NULL: nowhere). */
pid_t	 child_start(struct bench *, char *const *, const char *);
/* A subject whose argv is run and must end with 0: arg is a string that its
 * output must hold, or NULL. */
double	 child_sample(struct bench *, const struct subject *, char **);

/* --- bench-term.c: a user's terminal --- */

struct frame {
	int	 rows, cols;
	char	**row;		/* without trailing blanks */
	char	*mark;		/* drawn last, contiguous */
};

struct term	*term_new(int, int);
void		 term_free(struct term *);	/* kills what runs in it */
/* Starts a program as a user's shell would; notes the time before. */
int		 term_spawn(struct bench *, struct term *, char *const *,
		    char **);
double		 term_started(const struct term *);
pid_t		 term_pid(const struct term *);
void		 term_type(struct term *, const char *, size_t);
/* Everything that came so far. */
size_t		 term_bytes(const struct term *);
const char	*term_raw(const struct term *);
void		 term_forget(struct term *);	/* drop the log of bytes */
/* When the screen was first whole, or -1. What came is parsed only while
 * nothing comes, so that the parser takes no time from it. */
double		 term_frame(struct term *, const struct frame *, double);
/* Whether it was whole by that time: for checking later. */
bool		 term_whole_at(struct term *, const struct frame *, double);
/* When these bytes were first there, at or after an offset; or -1. */
double		 term_see(struct term *, const char *, size_t, double);
/* The same without keeping what comes: for floods. */
double		 term_drain(struct term *, const char *, double, size_t *);
/* Reads away what comes until nothing has for so long. */
void		 term_quiet(struct term *, double, double);
/* When it had ended and was waited for, or -1. */
double		 term_end(struct term *, double, int *);
char		*term_show(struct term *);

/* --- bench-roles.c: what runs inside of shells --- */

int		 role_main(int, char **);
struct frame	*frame_new(int, int);
void		 frame_free(struct frame *);
/* A megabyte of what a kind of flood consists of. */
char		*flood_block(const char *, int, int, size_t *);
int		 relay_main(int, char **);

/* --- bench-place.c: a home of its own --- */

char		*place_make(void);
/* Ends every process that carries the directory in its environment, and
 * removes it. */
void		 place_remove(const char *);
void		 place_enter(struct bench *);
char		*place_path(const struct bench *, const char *);
/* Processes of ours with this in their command line; how many fit. */
int		 place_pids(const struct bench *, const char *, pid_t *, int);
/* Agents with that home and instance (NULL: the usual one). */
int		 place_agents(struct bench *, const char *, const char *,
		    pid_t *, int);
pid_t		 place_server(struct bench *, const char *);
pid_t		 place_agent(struct bench *, const char *);	/* `local' */
/* Kilobytes that only this process has; -1. */
long		 process_private(pid_t);
/* Nanoseconds on a processor, and how often it woke up. */
int		 process_cpu(pid_t, double *, long *);

/* argv of dlmux: dl(b, "ls", NULL); never freed, like words(). */
char		**dl(struct bench *, ...) __attribute__((sentinel));
char		**words(const char *, ...) __attribute__((sentinel));
/* Runs and expects 0; a failure is told. */
bool		 dl_ok(struct bench *, ...) __attribute__((sentinel));
bool		 run_ok(struct bench *, char *const *);

/* --- bench-far.c: hosts --- */

enum host { HOST_NEAR, HOST_SLOW, HOST_FAR };

/* Makes keys and configurations and starts sshd. false: why was told. */
bool		 far_start(struct bench *);
int		 far_logins(const struct bench *, enum host);
/* The link of HOST_FAR, for all connections through it. */
void		 far_delay(struct bench *, double);
void		 far_rate(struct bench *, double);
void		 far_stall(struct bench *, bool);
/* argv of ssh: how is "fresh", "master" or "tty". */
char		**far_ssh(struct bench *, const char *, enum host, ...)
		    __attribute__((sentinel));
bool		 far_master(struct bench *, enum host);
void		 far_master_end(struct bench *, enum host);
const char	*far_workspace(enum host);
/* Ends the agent there; clean: removes its binary too. */
void		 far_forget(struct bench *, enum host, bool);

/* --- bench-peers.c --- */

bool		 peer_has(const struct bench *, const char *);
void		 peers_find(struct bench *);
/* argv of tmux for our own server. */
char		**tmux(struct bench *, ...) __attribute__((sentinel));
bool		 tmux_new(struct bench *, char *const *);
void		 tmux_end(struct bench *);

/* --- bench-report.c, bench-assert.c, bench-target.c --- */

void		 report_table(struct bench *);
void		 report_json(struct bench *, const char *);
void		 report_markdown(struct bench *, const char *);
/* Status 0 holds, 1 does not, 2 is no assertion. Says what was compared. */
int		 assert_check(struct bench *, const char *, char **);
/* The targets of doc/benchmarks.md: text, then the assertion. */
struct target {
	const char	*what, *assertion;
};
extern const struct target targets[];

/* --- bench-attach.c --- */

struct attach {
	char			**argv;
	const char		*detach;	/* what is typed to leave */
	const struct frame	*frame;
};
/* A subject whose arg is one: until the frame is whole; then it detaches. */
double	 attach_shown(struct bench *, const struct subject *, char **);

/* --- groups --- */

void	 group_start(struct bench *);
void	 group_attach(struct bench *);
void	 group_send(struct bench *);
void	 group_ls(struct bench *);
void	 group_capture(struct bench *);
void	 group_exec(struct bench *);
void	 group_parallel(struct bench *);
void	 group_cold(struct bench *);
void	 group_keys(struct bench *);
void	 group_flood(struct bench *);
void	 group_interrupt(struct bench *);
void	 group_trips(struct bench *);
void	 group_slow(struct bench *);
void	 group_linkdown(struct bench *);
void	 group_scrollback(struct bench *);
void	 group_shells(struct bench *);
void	 group_idle(struct bench *);

struct peer {
	const char	*name;
	char		*path;
	char		*version;
};
#define NPEERS 6

struct bench {
	char		*self, *dlmux, *dir, *home, *far_home;
	char		**env;
	bool		 quick;
	int		 flood_mib;
	struct series	**series;
	size_t		 nseries;
	char		**failures, **skips;
	size_t		 nfailures, nskips;
	struct peer	 peers[NPEERS];
	char		*ssh, *sshd, *ssh_config;
	bool		 far, far_tried;
	int		 port;
	double		 began;
	char		*commandline;
};

#endif
