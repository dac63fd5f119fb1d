/* SPDX-License-Identifier: ISC */
/*
 * The last act of a server that dies of a shell's output; see blame.h. What
 * runs in a signal handler here calls async-signal-safe functions only.
 */
#include <sys/time.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/version.h"
#include "blame.h"

#define BLAME_WORD	"dlmux-blame-1"
#define BLAME_LINE	256
#define BLAME_FORGIVEN	0	/* in place of a signal */

struct blame {
	uint64_t	 uid;
	uint64_t	 at;		/* offset, of the last time */
	unsigned int	 count;
};

static const int deadly[] = { SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL };
#define BLAME_SIGNALS	(sizeof deadly / sizeof *deadly)
static struct sigaction before[BLAME_SIGNALS];

/* Read by the handlers. */
static volatile struct {
	uint64_t	 uid, from, to;
	unsigned int	 serial;
	sig_atomic_t	 on;
} now;

static char *blame_path;
static struct blame blames[BLAME_SHELLS];
static size_t nblames;

void
blame_on(uint64_t uid, uint64_t from, uint64_t to)
{
	now.uid = uid;
	now.from = from;
	now.to = to;
	now.serial++;
	now.on = 1;
}

void
blame_off(void)
{
	now.on = 0;
}

/* ---- dying ---- */

static size_t
put_number(char *out, uint64_t v, unsigned int base)
{
	char digits[24];
	size_t n = 0, i;

	do
		digits[n++] = "0123456789abcdef"[v % base];
	while ((v /= base) != 0);
	for (i = 0; i < n; i++)
		out[i] = digits[n - 1 - i];
	out[n] = ' ';
	return n + 1;
}

/* A line at the file's end; also from the handlers. */
static void
blame_write(uint64_t uid, uint64_t from, uint64_t to, int sig)
{
	static const char word[] = BLAME_WORD " ", version[] = DLMUX_VERSION
	    "\n";
	char line[BLAME_LINE];
	size_t n = sizeof word - 1;
	int fd;

	fd = open(blame_path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW |
	    O_CLOEXEC, 0600);
	if (fd == -1)
		return;
	memcpy(line, word, n);
	n += put_number(line + n, uid, 16);
	n += put_number(line + n, from, 10);
	n += put_number(line + n, to, 10);
	n += put_number(line + n, (uint64_t)sig, 10);
	if (sizeof version - 1 <= sizeof line - n) {
		memcpy(line + n, version, sizeof version - 1);
		(void)!write(fd, line, n + sizeof version - 1);
	}
	close(fd);
}

static void
blame_last_act(int sig)
{
	/* Whoever dies needs no descriptors; there may be none left. */
	close(0);
	blame_write(now.uid, now.from, now.to, sig);
}

static void
blame_death(int sig, siginfo_t *si, void *context)
{
	size_t i;

	(void)context;
	/* A fault of the kernel's finding, or our own abort(); not somebody's
	 * kill(1). */
	if (now.on && (si->si_code > 0 || si->si_pid == getpid()))
		blame_last_act(sig);
	/* What comes next is what came before us: a core file, or what a
	 * sanitizer has to say. */
	for (i = 0; i < BLAME_SIGNALS; i++)
		if (deadly[i] == sig)
			(void)sigaction(sig, &before[i], NULL);
	/* A fault happens again by itself, where it belongs. */
	if (si->si_code <= 0)
		(void)raise(sig);
}

/* So much computing later it is still at the same bytes. */
static void
blame_tick(int sig)
{
	static unsigned int seen;

	(void)sig;
	if (now.on && seen == now.serial) {
		blame_last_act(SIGPROF);
		now.on = 0;
		(void)raise(SIGABRT);
	}
	seen = now.serial;
}

/* For tests, which would else compute for long. */
static unsigned int
blame_stuck_ms(void)
{
#ifdef DLMUX_HOOKS
	const char *v = getenv("DLMUX_STUCK_MS");

	if (v != NULL)
		return (unsigned int)strtoul(v, NULL, 10);
#endif
	return BLAME_STUCK_MS;
}

void
blame_catch(void)
{
	unsigned int ms = blame_stuck_ms();
	struct itimerval tick;
	struct sigaction sa;
	stack_t stack;
	size_t i;

	if (blame_path == NULL)
		return;
	/* A recursion without end leaves no room on the usual one. */
	memset(&stack, 0, sizeof stack);
	stack.ss_size = BLAME_STACK;
	stack.ss_sp = xmalloc(stack.ss_size);
	if (sigaltstack(&stack, NULL) == -1)
		free(stack.ss_sp);
	memset(&sa, 0, sizeof sa);
	sigfillset(&sa.sa_mask);
	sa.sa_sigaction = blame_death;
	sa.sa_flags = SA_SIGINFO | SA_ONSTACK;
	for (i = 0; i < BLAME_SIGNALS; i++)
		(void)sigaction(deadly[i], &sa, &before[i]);
	sa.sa_handler = blame_tick;
	sa.sa_flags = SA_RESTART | SA_ONSTACK;
	sigemptyset(&sa.sa_mask);
	(void)sigaction(SIGPROF, &sa, NULL);
	/* It runs while we compute: neither a stopped nor an idle server hears
	 * of it. Children do not inherit it. */
	tick.it_interval.tv_sec = (time_t)(ms / 1000);
	tick.it_interval.tv_usec = (suseconds_t)(ms % 1000 * 1000);
	tick.it_value = tick.it_interval;
	(void)setitimer(ITIMER_PROF, &tick, NULL);
}

/* ---- what the last ones left ---- */

static struct blame *
blame_find(uint64_t uid)
{
	size_t i;

	for (i = 0; i < nblames; i++)
		if (blames[i].uid == uid)
			return &blames[i];
	return NULL;
}

static bool
blame_drop(uint64_t uid)
{
	struct blame *b = blame_find(uid);

	if (b == NULL)
		return false;
	nblames--;
	memmove(b, b + 1, sizeof *b * (size_t)(blames + nblames - b));
	return true;
}

/* The newest count when there are too many. */
static struct blame *
blame_get(uint64_t uid)
{
	struct blame *b = blame_find(uid);

	if (b != NULL)
		return b;
	if (nblames == BLAME_SHELLS) {
		memmove(blames, blames + 1, sizeof *blames *
		    (BLAME_SHELLS - 1));
		nblames--;
	}
	b = &blames[nblames++];
	memset(b, 0, sizeof *b);
	b->uid = uid;
	return b;
}

/* The same byte kills again, but where the next one is cut out of the stream
 * around it, or how much further a picture is painted, may differ. */
static bool
blame_near(const struct blame *b, uint64_t from, uint64_t to)
{
	return from <= b->at + BLAME_PLACE && to + BLAME_PLACE >= b->at;
}

static void
blame_line(const char *line)
{
	char version[128];
	uint64_t uid, from, to;
	struct blame *b;
	int sig, n = 0;

	if (sscanf(line, BLAME_WORD " %" SCNx64 " %" SCNu64 " %" SCNu64
	    " %d %127s%n", &uid, &from, &to, &sig, version, &n) != 5 ||
	    line[n] != '\0' || from > to || to > UINT64_MAX / 2 ||
	    strcmp(version, DLMUX_VERSION) != 0)
		return;
	if (sig == BLAME_FORGIVEN) {
		(void)blame_drop(uid);
		return;
	}
	b = blame_get(uid);
	if (!blame_near(b, from, to))
		b->count = 0;
	b->at = from;
	b->count++;
}

static void
blame_save(void)
{
	struct buf out;
	size_t i;
	unsigned int k;

	if (nblames == 0) {
		(void)unlink(blame_path);
		return;
	}
	buf_init(&out, BLAME_SHELLS * BLAME_OUT * BLAME_LINE);
	for (i = 0; i < nblames; i++)
		for (k = 0; k < blames[i].count && k < BLAME_OUT; k++)
			buf_printf(&out, BLAME_WORD " %" PRIx64 " %" PRIu64
			    " %" PRIu64 " %d %s\n", blames[i].uid,
			    blames[i].at, blames[i].at, SIGABRT, DLMUX_VERSION);
	if (buf_ok(&out) && fd_write_file(blame_path, out.data, out.len) == -1)
		log_warn("%s: %s", blame_path, strerror(errno));
	buf_free(&out);
}

void
blame_load(const char *path)
{
	char *text, *line, *next;

	free(blame_path);
	blame_path = xstrdup(path);
	nblames = 0;
	if (fd_read_file(path, &text, BLAME_FILE_MAX) == -1) {
		/* Whatever it is, it is of no use. */
		if (errno != ENOENT)
			(void)unlink(path);
		return;
	}
	for (line = text; line != NULL; line = next) {
		if ((next = strchr(line, '\n')) != NULL)
			*next++ = '\0';
		blame_line(line);
	}
	free(text);
	blame_save();
}

unsigned int
blame_count(uint64_t uid, uint64_t *at)
{
	const struct blame *b = blame_find(uid);

	if (b == NULL)
		return 0;
	*at = b->at;
	return b->count;
}

void
blame_forgive(uint64_t uid)
{
	if (blame_drop(uid))
		blame_write(uid, 0, 0, BLAME_FORGIVEN);
}
