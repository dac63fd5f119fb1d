/* SPDX-License-Identifier: ISC */
/*
 * soak [-n CASES] [-t SECONDS] [SEED]	random cases, from that seed on
 * soak [-1] -r FILE			a case that was written down; cut down
 * soak -1 SEED				one case, shown
 * soak -w DLMUX ...			the same with real processes, of that binary
 * soak -o SEED				a random stream of 24 by 80, on stdout
 * soak -d ROWSxCOLS [-T TERM] <STREAM	what a screen of that size shows of it,
 *					or what such a terminal shows of that
 *
 * -k goes on after a failure, -s SECONDS bounds the cutting down.
 *
 * A case that fails is cut down and written to soak-SEED.case; the status is
 * then 1. Cases run in a child, so that a crash is a finding like another.
 */
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "oracle.h"
#include "whole.h"

/* With real processes all is a hundred times slower. */
#define BATCH	(whole != NULL ? 5 : 50)
#define HANGS	(whole != NULL ? 120 : 10)

static int shrink = -1;		/* seconds for cutting down */
static struct whole *whole;
static uint64_t *now;		/* shared with the child: the seed in hand */

static void
stream_of(const struct soak_case *c, struct buf *b)
{
	size_t i;

	for (i = 0; i < c->n; i++)
		buf_put(b, c->steps[i].data, c->steps[i].len);
}

static bool
run_case(struct soak_case *c, struct buf *why)
{
	struct buf b;
	bool ok;

	if (whole != NULL)
		return whole_run(whole, c, why);
	if (!oracle_run(c, why))
		return false;
	buf_init(&b, 16 << 20);
	stream_of(c, &b);
	ok = oracle_self(b.data, b.len, c->rows, c->cols, c->seed, why);
	buf_free(&b);
	return ok;
}

/* In a child of its own: it may crash, or hang. */
static bool
fails(struct soak_case *c)
{
	struct buf why;
	int status;
	pid_t pid;

	fflush(NULL);
	if ((pid = fork()) == 0) {
		alarm(HANGS);
		if (freopen("/dev/null", "w", stderr) == NULL)
			_exit(1);
		buf_init(&why, 1 << 16);
		_exit(run_case(c, &why) ? 0 : 1);
	}
	waitpid(pid, &status, 0);
	return status != 0;
}

/* Runs it once more, aloud. */
static bool
explain(struct soak_case *c)
{
	struct buf why;
	int status = 0;
	bool ok;

	fflush(NULL);
	if (fork() == 0) {
		alarm(HANGS);
		buf_init(&why, 1 << 16);
		ok = run_case(c, &why);
		if (!ok)
			printf("%.*s\n", (int)why.len, (char *)why.data);
		fflush(NULL);
		_exit(!ok);
	}
	if (wait(&status) != -1 && WIFSIGNALED(status))
		printf("killed by signal %d\n", WTERMSIG(status));
	return status == 0;
}

static void
report(struct soak_case *c)
{
	char name[64];
	FILE *fp;

	snprintf(name, sizeof name, "soak-%llu.case",
	    (unsigned long long)c->seed);
	if ((fp = fopen(name, "w")) != NULL) {
		case_write(c, fp);
		fclose(fp);
	}
	case_show(c, stdout);
	printf("written to %s\n", name);
	explain(c);
}

static void
cut_down(struct soak_case *c)
{
	case_shrink(c, fails, shrink >= 0 ? shrink : whole != NULL ? 300 :
	    60);
}

static int
found(uint64_t seed)
{
	struct soak_case *c = case_random(seed);

	printf("seed %llu fails; cutting it down\n",
	    (unsigned long long)seed);
	fflush(stdout);
	whole_deadline_ms = 5000;	/* it was waited for, once */
	if (!fails(c))
		printf("... but not alone\n");
	else
		cut_down(c);
	report(c);
	case_free(c);
	return 1;
}

static void
batch(uint64_t seed, int n)
{
	struct soak_case *c;
	struct buf why;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	alarm(BATCH * HANGS);
	for (; n > 0; n--, seed++) {
		*now = seed;
		c = case_random(seed);
		buf_init(&why, 1 << 16);
		if (!run_case(c, &why)) {
			printf("%.*s\n", (int)why.len, (char *)why.data);
			fflush(stdout);
			_exit(1);
		}
		buf_free(&why);
		case_free(c);
	}
	_exit(0);
}

static int
soak(uint64_t seed, long cases, long seconds, bool go_on)
{
	time_t end = time(NULL) + seconds;
	uint64_t first = seed;
	int status, bad = 0;
	pid_t pid;

	while ((cases == 0 || seed - first < (uint64_t)cases) &&
	    (seconds == 0 || time(NULL) < end)) {
		fflush(NULL);
		if ((pid = fork()) == 0)
			batch(seed, cases != 0 && cases - (long)(seed - first) <
			    BATCH ? (int)(cases - (long)(seed - first)) :
			    BATCH);
		waitpid(pid, &status, 0);
		if (status == 0) {
			seed += BATCH;
			continue;
		}
		bad++;
		found(*now);
		if (!go_on)
			break;
		seed = *now + 1;
	}
	printf("soak: %llu cases from seed %llu on, %d failed\n",
	    (unsigned long long)(cases != 0 && seed - first >
	    (uint64_t)cases ? (uint64_t)cases : seed - first),
	    (unsigned long long)first, bad);
	return bad != 0;
}

static int
put_stream(uint64_t seed)
{
	struct buf b;

	buf_init(&b, 1 << 22);
	seed = seed * 0x2545f4914f6cdd1dULL + 1;
	grammar_stream(&seed, 24, 80, 150, &b);
	fwrite(b.data, 1, b.len, stdout);
	return 0;
}

static int
put_screen(const char *size, const char *term)
{
	struct screen *s;
	char data[4096];
	int rows, cols;
	size_t n;

	if (sscanf(size, "%dx%d", &rows, &cols) != 2)
		return 2;
	s = screen_new(rows, cols, NULL, NULL);
	while ((n = fread(data, 1, sizeof data, stdin)) > 0)
		screen_write(s, data, n);
	written_screen(s, term != NULL ? oracle_caps(term) : NULL, stdout);
	return 0;
}

/* What was asked for; an exit status. */
static int
work(const char *file, bool single, uint64_t seed, long cases, long seconds,
    bool go_on)
{
	struct soak_case *c = NULL;
	FILE *fp;
	int bad;

	if (file == NULL) {
		if (single)
			return found(seed);
		return soak(seed, cases == 0 && seconds == 0 ? 1000 : cases,
		    seconds, go_on);
	}
	if ((fp = fopen(file, "r")) == NULL || (c = case_read(fp)) == NULL) {
		fprintf(stderr, "soak: cannot read %s\n", file);
		return 2;
	}
	fclose(fp);
	if (single) {
		whole_deadline_ms = 5000;
		cut_down(c);
		report(c);
	} else
		case_show(c, stdout);
	bad = !explain(c);
	case_free(c);
	return bad;
}

int
main(int argc, char **argv)
{
	long cases = 0, seconds = 0;
	const char *file = NULL, *binary = NULL, *size = NULL, *term = NULL;
	bool single = false, go_on = false;
	uint64_t seed;
	int ch, status;

	now = mmap(NULL, sizeof *now, PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	while ((ch = getopt(argc, argv, "n:t:r:s:1kw:p:o:d:T:")) != -1)
		switch (ch) {
		case 'n': cases = atol(optarg); break;
		case 't': seconds = atol(optarg); break;
		case 'r': file = optarg; break;
		case '1': single = true; break;
		case 'p': return whole_play(optarg);
		case 'o': return put_stream(strtoull(optarg, NULL, 10));
		case 'd': size = optarg; break;
		case 'T': term = optarg; break;
		case 'w': binary = optarg; break;
		case 's': shrink = atoi(optarg); break;
		case 'k': go_on = true; break;
		default: return 2;
		}
	if (size != NULL)
		return put_screen(size, term);
	seed = optind < argc && *argv[optind] != '\0' ?
	    strtoull(argv[optind], NULL, 10) : (uint64_t)time(NULL) * 1000;
	signal(SIGPIPE, SIG_IGN);
	if (binary != NULL && (whole = whole_new(binary, argv[0])) == NULL) {
		fprintf(stderr, "soak: no directory to work in\n");
		return 2;
	}
	status = work(file, single, seed, cases, seconds, go_on);
	whole_free(whole);
	return status;
}
