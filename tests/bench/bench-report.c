/* SPDX-License-Identifier: ISC */
/*
 * What was measured, for people (a table, Markdown) and for programs (JSON):
 * with all raw samples, the machine, versions and commands.
 */
#include <sys/stat.h>
#include <sys/utsname.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"

/* A value of "name : value" in a file, copied; "" if there is none. */
static char *
info(const char *path, const char *name)
{
	char *text = file_read(path), *p, *s;

	if (text == NULL || (p = strstr(text, name)) == NULL) {
		free(text);
		return xstr("");
	}
	p += strlen(name);
	p += strspn(p, " \t:=\"");
	s = xfmt("%.*s", (int)strcspn(p, "\"\n"), p);
	free(text);
	return s;
}

/* Paths of this run mean nothing to a reader. */
static char *
tidy(const struct bench *b, const char *s)
{
	char *out = xalloc(strlen(s) * 2 + 16), *o = out;
	size_t n = strlen(b->dir);

	while (*s != '\0')
		if (strncmp(s, b->dir, n) == 0) {
			o = stpcpy(o, "$DIR");
			s += n;
		} else
			*o++ = *s++;
	return out;
}

static char *
dlmux_version(struct bench *b)
{
	struct output o;
	struct stat st;
	char *s;

	child_run(b, dl(b, "version", NULL), NULL, &o, 5000);
	if (stat(b->dlmux, &st) == -1)
		st.st_size = 0;
	s = xfmt("%.*s, %lld bytes", (int)strcspn(o.out, "\n"), o.out,
	    (long long)st.st_size);
	output_clear(&o);
	return s;
}

struct fact {
	const char	*name;
	char		*value;
};
#define NFACTS	9

static void
facts_make(struct bench *b, struct fact *f)
{
	struct utsname u;
	char *peers = xstr(""), *t;
	int i, n = 0;

	uname(&u);
	for (i = 0; i < NPEERS; i++)
		if (b->peers[i].path != NULL &&
		    strcmp(b->peers[i].name, "sshd") != 0) {
			t = xfmt("%s%s%s", peers, *peers ? "; " : "",
			    b->peers[i].version);
			free(peers);
			peers = t;
		}
	f[n++] = (struct fact){ "machine", info("/proc/cpuinfo",
	    "model name") };
	f[n++] = (struct fact){ "processors", xfmt("%ld",
	    sysconf(_SC_NPROCESSORS_ONLN)) };
	f[n++] = (struct fact){ "memory", info("/proc/meminfo", "MemTotal") };
	f[n++] = (struct fact){ "load now", info("/proc/loadavg", "") };
	f[n++] = (struct fact){ "kernel", xfmt("%s %s", u.release,
	    u.machine) };
	f[n++] = (struct fact){ "system", info("/etc/os-release",
	    "PRETTY_NAME") };
	f[n++] = (struct fact){ "dlmux", dlmux_version(b) };
	f[n++] = (struct fact){ "peers", peers };
	f[n++] = (struct fact){ "took", xfmt("%.0f s, `%s`", (now_ms() -
	    b->began) / 1e3, b->commandline) };
}

static const struct series *
mine(struct bench *b, const struct series *s)
{
	const struct series *d = series_find(b, s->metric, s->variant,
	    "dlmux");

	return d != NULL && d != s && d->n > 0 ? d : NULL;
}

/* "0.12 x": what dlmux needs of the peer's. */
static char *
ratio(struct bench *b, const struct series *s)
{
	const struct series *d = mine(b, s);
	double median = series_stats(s).median;

	if (d == NULL || median <= 0)
		return xstr("");
	return xfmt("%.2f", series_stats(d).median / median);
}

static const char *
state_of(int status)
{
	return status == 0 ? "met" : "MISSED";
}

void
report_table(struct bench *b)
{
	struct fact f[NFACTS];
	struct stats st;
	const struct series *s;
	char *r, *said;
	const char *last = "";
	size_t i, k;
	int status;

	facts_make(b, f);
	putchar('\n');
	for (i = 0; i < NFACTS; i++)
		printf("%-11s %s\n", f[i].name, f[i].value);
	printf("\n%-44s %4s %9s %9s %9s %9s %9s %-6s %s\n", "", "n", "min",
	    "median", "p95", "mean", "max", "", "dlmux/it");
	for (i = 0; i < b->nseries; i++) {
		s = b->series[i];
		st = series_stats(s);
		r = ratio(b, s);
		if (strcmp(last, s->metric) != 0)
			putchar('\n');
		last = s->metric;
		said = xfmt("%s %s %s", s->metric, s->variant, s->subject);
		printf("%-44s %4zu %9.3f %9.3f %9.3f %9.3f %9.3f %-6s %s\n",
		    said, st.n, st.min, st.median, st.p95, st.mean, st.max,
		    s->unit, r);
		free(r);
		free(said);
	}
	printf("\nraw samples\n");
	for (i = 0; i < b->nseries; i++) {
		s = b->series[i];
		printf("%s/%s/%s:", s->metric, s->variant, s->subject);
		for (k = 0; k < s->n; k++)
			printf(" %.3f", s->v[k]);
		putchar('\n');
	}
	printf("\ntargets\n");
	for (i = 0; targets[i].what != NULL; i++) {
		status = assert_check(b, targets[i].assertion, &said);
		if (strcmp(said, "not measured") != 0)
			printf("%-6s %s (%s)\n       %s\n", state_of(status),
			    targets[i].what, targets[i].assertion, said);
		free(said);
	}
	for (i = 0; i < b->nskips; i++)
		printf("skipped: %s\n", b->skips[i]);
	for (i = 0; i < b->nfailures; i++)
		printf("FAILED: %s\n", b->failures[i]);
}

static FILE *
open_out(const char *path)
{
	FILE *f = strcmp(path, "-") == 0 ? stdout : fopen(path, "w");

	if (f == NULL)
		bench_die("%s: %s", path, strerror(errno));
	return f;
}

static void
close_out(FILE *f, const char *path)
{
	if ((f == stdout ? fflush(f) : fclose(f)) == EOF)
		bench_die("%s: %s", path, strerror(errno));
}

static void
json_string(FILE *f, const char *s)
{
	putc('"', f);
	for (; *s != '\0'; s++)
		if (*s == '"' || *s == '\\')
			fprintf(f, "\\%c", *s);
		else if ((unsigned char)*s < 32)
			fprintf(f, "\\u%04x", (unsigned char)*s);
		else
			putc(*s, f);
	putc('"', f);
}

static void
json_strings(FILE *f, const char *name, char **v, size_t n)
{
	size_t i;

	fprintf(f, " \"%s\": [", name);
	for (i = 0; i < n; i++) {
		fputs(i > 0 ? ",\n  " : "\n  ", f);
		json_string(f, v[i]);
	}
	fputs("],\n", f);
}

void
report_json(struct bench *b, const char *path)
{
	FILE *f = open_out(path);
	struct fact facts[NFACTS];
	struct stats st;
	const struct series *s;
	char *said;
	size_t i, k;
	int status;

	facts_make(b, facts);
	fputs("{\n", f);
	for (i = 0; i < NFACTS; i++) {
		fprintf(f, " \"%s\": ", facts[i].name);
		json_string(f, facts[i].value);
		fputs(",\n", f);
	}
	json_strings(f, "failures", b->failures, b->nfailures);
	json_strings(f, "skipped", b->skips, b->nskips);
	fputs(" \"targets\": [", f);
	for (i = 0; targets[i].what != NULL; i++) {
		status = assert_check(b, targets[i].assertion, &said);
		fprintf(f, "%s\n  {\"met\": %s, \"assertion\": ", i > 0 ?
		    "," : "", status == 0 ? "true" : "false");
		json_string(f, targets[i].assertion);
		fputs(", \"measured\": ", f);
		json_string(f, said);
		fputs("}", f);
		free(said);
	}
	fputs("],\n \"series\": [", f);
	for (i = 0; i < b->nseries; i++) {
		s = b->series[i];
		st = series_stats(s);
		fprintf(f, "%s\n  {\"metric\": ", i > 0 ? "," : "");
		json_string(f, s->metric);
		fputs(", \"variant\": ", f);
		json_string(f, s->variant);
		fputs(", \"subject\": ", f);
		json_string(f, s->subject);
		fputs(", \"unit\": ", f);
		json_string(f, s->unit);
		fprintf(f, ", \"n\": %zu, \"min\": %.4f, \"median\": %.4f, "
		    "\"p95\": %.4f, \"p99\": %.4f, \"mean\": %.4f, \"max\": "
		    "%.4f, \"command\": ", st.n, st.min, st.median, st.p95,
		    st.p99, st.mean, st.max);
		json_string(f, s->command != NULL ? s->command : "");
		fputs(", \"samples\": [", f);
		for (k = 0; k < s->n; k++)
			fprintf(f, "%s%.4f", k > 0 ? ", " : "", s->v[k]);
		fputs("]}", f);
	}
	fputs("]\n}\n", f);
	close_out(f, path);
}

static void
markdown_samples(struct bench *b, FILE *f)
{
	const struct series *s;
	char *line;
	size_t i, k;
	int col;

	fputs("\n### Commands\n\n`$DIR` is the run's own directory.\n\n"
	    "```\n", f);
	for (i = 0; i < b->nseries; i++) {
		s = b->series[i];
		if (s->command == NULL)
			continue;
		line = tidy(b, s->command);
		fprintf(f, "%s/%s/%s: %s\n", s->metric, s->variant, s->subject,
		    line);
		free(line);
	}
	fputs("```\n\n### Raw samples\n\n```\n", f);
	for (i = 0; i < b->nseries; i++) {
		s = b->series[i];
		col = fprintf(f, "%s/%s/%s:", s->metric, s->variant,
		    s->subject);
		for (k = 0; k < s->n; k++) {
			if (col > 100)
				col = fprintf(f, "\n   ") - 1;
			col += fprintf(f, " %.3f", s->v[k]);
		}
		putc('\n', f);
	}
	fputs("```\n", f);
}

void
report_markdown(struct bench *b, const char *path)
{
	FILE *f = open_out(path);
	struct fact facts[NFACTS];
	struct stats st;
	const struct series *s;
	char *said, *r;
	size_t i;
	int status;

	facts_make(b, facts);
	fputs("| | |\n| --- | --- |\n", f);
	for (i = 0; i < NFACTS; i++)
		fprintf(f, "| %s | %s |\n", facts[i].name, facts[i].value);
	fputs("\n### Targets\n\n| target | assertion | | measured |\n"
	    "| --- | --- | --- | --- |\n", f);
	for (i = 0; targets[i].what != NULL; i++) {
		status = assert_check(b, targets[i].assertion, &said);
		if (strcmp(said, "not measured") == 0)
			fprintf(f, "| %s | `%s` | - | %s |\n", targets[i].what,
			    targets[i].assertion, said);
		else
			fprintf(f, "| %s | `%s` | %s | %s |\n",
			    targets[i].what, targets[i].assertion,
			    status == 0 ? "met" : "**missed**", said);
		free(said);
	}
	fputs("\n### Figures\n\n`dlmux/it` is dlmux's median divided by that "
	    "subject's.\n\n| metric | variant | subject | n | min | median | "
	    "p95 | p99 | mean | max | unit | dlmux/it |\n| --- | --- | --- | "
	    "--: | --: | --: | --: | --: | --: | --: | --- | --: |\n", f);
	for (i = 0; i < b->nseries; i++) {
		s = b->series[i];
		st = series_stats(s);
		r = ratio(b, s);
		fprintf(f, "| %s | %s | %s | %zu | %.3f | %.3f | %.3f | %.3f "
		    "| %.3f | %.3f | %s | %s |\n", s->metric, s->variant,
		    s->subject, st.n, st.min, st.median, st.p95, st.p99,
		    st.mean, st.max, s->unit, r);
		free(r);
	}
	for (i = 0; i < b->nskips; i++)
		fprintf(f, "%s- skipped: %s\n", i == 0 ? "\n" : "",
		    b->skips[i]);
	for (i = 0; i < b->nfailures; i++)
		fprintf(f, "%s- FAILED: %s\n", i == 0 ? "\n" : "",
		    b->failures[i]);
	markdown_samples(b, f);
	close_out(f, path);
}
