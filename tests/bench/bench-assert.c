/* SPDX-License-Identifier: ISC */
/*
 * Gates:
 *
 *   METRIC[/VARIANT][/SUBJECT][.STAT] <= FACTORxOTHER[+NUMBER]
 *   METRIC[/VARIANT][/SUBJECT][.STAT] >= NUMBER
 *
 * SUBJECT is dlmux unless said, STAT median (or min mean max p95 p99). OTHER
 * is a subject of the same metric and variant, with .STAT if it is to be
 * another than median, or METRIC/VARIANT/SUBJECT. Without a variant it must
 * hold for all that the metric has, and a metric without samples does not
 * hold.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

struct operand {
	char	metric[64], variant[64], subject[64], stat[16];
};

static bool
is_stat(const char *s)
{
	static const char *const all[] = { "median", "min", "mean", "max",
	    "p95", "p99" };
	size_t i;

	for (i = 0; i < sizeof all / sizeof all[0]; i++)
		if (strcmp(s, all[i]) == 0)
			return true;
	return false;
}

static double
value(const struct series *s, const char *stat)
{
	struct stats st = series_stats(s);

	if (strcmp(stat, "min") == 0)
		return st.min;
	if (strcmp(stat, "mean") == 0)
		return st.mean;
	if (strcmp(stat, "max") == 0)
		return st.max;
	if (strcmp(stat, "p95") == 0)
		return st.p95;
	if (strcmp(stat, "p99") == 0)
		return st.p99;
	return st.median;
}

static void
copy(char *to, size_t room, const char *from, size_t n)
{
	if (n >= room)
		n = room - 1;
	memcpy(to, from, n);
	to[n] = '\0';
}

/* A name with slashes: the first part is the metric; variants have some too,
 * so what follows is matched as a whole against each series. */
static void
operand_parse(struct operand *o, const char *s, size_t n)
{
	char text[128], *dot, *slash;

	memset(o, 0, sizeof *o);
	strcpy(o->stat, "median");
	copy(text, sizeof text, s, n);
	if ((dot = strrchr(text, '.')) != NULL && is_stat(dot + 1)) {
		*dot = '\0';
		strcpy(o->stat, dot + 1);
	}
	if ((slash = strchr(text, '/')) != NULL) {
		*slash = '\0';
		copy(o->variant, sizeof o->variant, slash + 1,
		    strlen(slash + 1));
	}
	copy(o->metric, sizeof o->metric, text, strlen(text));
	strcpy(o->subject, "dlmux");
}

/* The rest of an operand may be VARIANT, VARIANT/SUBJECT, or nothing. */
static bool
operand_is(const struct operand *o, const struct series *s)
{
	char full[160];

	if (strcmp(o->metric, s->metric) != 0)
		return false;
	snprintf(full, sizeof full, "%s/%s", s->variant, s->subject);
	if (strcmp(o->variant, full) == 0)
		return true;
	if (strcmp(s->subject, o->subject) != 0)
		return false;
	return o->variant[0] == '\0' || strcmp(o->variant, s->variant) == 0;
}

/* Series by METRIC/VARIANT/SUBJECT, or a subject beside s. */
static const struct series *
other_find(struct bench *b, const struct series *s, const char *text,
    size_t n, struct operand *o)
{
	char name[128], *dot;
	size_t i;

	operand_parse(o, text, n);
	if (memchr(text, '/', n) == NULL) {
		copy(name, sizeof name, text, n);
		if ((dot = strrchr(name, '.')) != NULL && is_stat(dot + 1))
			*dot = '\0';
		return series_find(b, s->metric, s->variant, name);
	}
	for (i = 0; i < b->nseries; i++)
		if (operand_is(o, b->series[i]))
			return b->series[i];
	return NULL;
}

struct gate {
	const char	*left, *right, *plus;
	size_t		 nleft, nright;
	bool		 least;
	double		 factor, number, add;
	bool		 has_other;
};

static int
gate_parse(struct gate *g, const char *text)
{
	const char *op = strstr(text, "<="), *p;
	char *end;

	memset(g, 0, sizeof *g);
	if (op == NULL) {
		op = strstr(text, ">=");
		g->least = true;
	}
	if (op == NULL || op == text)
		return -1;
	g->left = text;
	g->nleft = (size_t)(op - text);
	while (g->nleft > 0 && text[g->nleft - 1] == ' ')
		g->nleft--;
	p = op + 2 + strspn(op + 2, " ");
	g->factor = strtod(p, &end);
	if (end == p)
		return -1;
	if (*end == '\0') {
		g->number = g->factor;
		return 0;
	}
	if (*end != 'x' || end[1] == '\0')
		return -1;
	g->has_other = true;
	g->right = end + 1;
	g->nright = strlen(g->right);
	if ((p = strrchr(g->right, '+')) != NULL) {
		g->nright = (size_t)(p - g->right);
		g->add = strtod(p + 1, &end);
		if (*end != '\0' || g->nright == 0)
			return -1;
	}
	return 0;
}

int
assert_check(struct bench *b, const char *text, char **said)
{
	struct operand left, right;
	const struct series *s, *o;
	struct gate g;
	double v, limit;
	size_t i;
	int found = 0, status = 0;
	char *line, *all = xstr("");

	if (gate_parse(&g, text) == -1) {
		*said = all;
		return 2;
	}
	operand_parse(&left, g.left, g.nleft);
	for (i = 0; i < b->nseries; i++) {
		s = b->series[i];
		if (!operand_is(&left, s) || s->n == 0)
			continue;
		v = value(s, left.stat);
		limit = g.number;
		if (g.has_other) {
			o = other_find(b, s, g.right, g.nright, &right);
			if (o == NULL || o->n == 0)
				continue;
			limit = g.factor * value(o, right.stat) + g.add;
		}
		found++;
		if (g.least ? v < limit : v > limit)
			status = 1;
		line = xfmt("%s%s%s%s%s %.4g of %.4g", all, *all != '\0' ?
		    "; " : "", s->variant, *s->variant != '\0' ? ": " : "",
		    (g.least ? v < limit : v > limit) ? "MISSED" : "ok", v,
		    limit);
		free(all);
		all = line;
	}
	if (found == 0) {
		free(all);
		all = xstr("not measured");
		status = 1;
	}
	*said = all;
	return status;
}
