/* SPDX-License-Identifier: ISC */
/*
 * Series of samples, and the loop that takes them from several subjects in
 * turn. It knows nothing of what is measured.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

/* A subject that fails so often in a row is given up. */
#define FAILURES_MAX	3

struct series *
series_find(struct bench *b, const char *metric, const char *variant,
    const char *subject)
{
	struct series *s;
	size_t i;

	for (i = 0; i < b->nseries; i++) {
		s = b->series[i];
		if (strcmp(s->metric, metric) == 0 &&
		    strcmp(s->variant, variant) == 0 &&
		    strcmp(s->subject, subject) == 0)
			return s;
	}
	return NULL;
}

struct series *
series_get(struct bench *b, const char *metric, const char *variant,
    const char *subject, const char *unit)
{
	struct series *s = series_find(b, metric, variant, subject);

	if (s != NULL)
		return s;
	s = xalloc(sizeof *s);
	s->metric = xstr(metric);
	s->variant = xstr(variant);
	s->subject = xstr(subject);
	s->unit = xstr(unit);
	b->series = realloc(b->series, (b->nseries + 1) * sizeof *b->series);
	if (b->series == NULL)
		bench_die("out of memory");
	b->series[b->nseries++] = s;
	return s;
}

void
series_add(struct series *s, double v)
{
	if (s->n == s->room) {
		s->room = s->room * 2 + 16;
		s->v = realloc(s->v, s->room * sizeof *s->v);
		if (s->v == NULL)
			bench_die("out of memory");
	}
	s->v[s->n++] = v;
}

void
series_command(struct series *s, char *const *argv)
{
	if (s->command == NULL && argv != NULL)
		s->command = argv_join(argv);
}

static int
compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double
quantile(const double *v, size_t n, double q)
{
	double at = q * (double)(n - 1);
	size_t i = (size_t)at;

	if (i + 1 >= n)
		return v[n - 1];
	return v[i] + (v[i + 1] - v[i]) * (at - (double)i);
}

struct stats
series_stats(const struct series *s)
{
	struct stats st = { 0 };
	double *v;
	size_t i;

	if ((st.n = s->n) == 0)
		return st;
	v = xalloc(s->n * sizeof *v);
	memcpy(v, s->v, s->n * sizeof *v);
	qsort(v, s->n, sizeof *v, compare);
	for (i = 0; i < s->n; i++)
		st.mean += v[i] / (double)s->n;
	st.min = v[0];
	st.max = v[s->n - 1];
	st.median = quantile(v, s->n, 0.5);
	st.p95 = quantile(v, s->n, 0.95);
	st.p99 = quantile(v, s->n, 0.99);
	free(v);
	return st;
}

/* A peer that stumbles fails no run of ours; it has a sample less. */
static void
failure(struct bench *b, const char *metric, const char *variant,
    const char *subject, const char *cause)
{
	if (cause == NULL)
		cause = "failed";
	if (strncmp(subject, "dlmux", 5) == 0)
		bench_fail(b, "%s/%s/%s: %s", metric, variant, subject, cause);
	else
		bench_skip(b, "a sample of %s/%s/%s: %s", metric, variant,
		    subject, cause);
}

void
subjects_run(struct bench *b, const char *metric, const char *variant,
    const char *unit, const struct subject *subs, int nsubs, int rounds,
    int warm)
{
	int failed[32] = { 0 }, r, i;
	struct series *s;
	char *cause;
	double v;

	for (r = -warm; r < rounds; r++)
		for (i = 0; i < nsubs && i < 32; i++) {
			if (subs[i].sample == NULL || failed[i] >= FAILURES_MAX)
				continue;
			if (subs[i].limit > 0 && r >= subs[i].limit)
				continue;
			cause = NULL;
			v = subs[i].sample(b, &subs[i], &cause);
			if (v < 0) {
				failure(b, metric, variant, subs[i].name,
				    cause);
				free(cause);
				failed[i]++;
				continue;
			}
			failed[i] = 0;
			if (r < 0)
				continue;
			s = series_get(b, metric, variant, subs[i].name, unit);
			series_command(s, subs[i].argv);
			series_add(s, v);
		}
}
