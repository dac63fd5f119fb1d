/* SPDX-License-Identifier: ISC */
/*
 * Cases as things: made step by step, copied, written to a file and read
 * back, and cut down while they still fail.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../../server/base/mem.h"
#include "oracle.h"

static const char *const names[STEP_KINDS] = {
	"say", "attach", "detach", "resize", "stall", "go", "keep", "server",
	"link", "help"
};

void
case_free(struct soak_case *c)
{
	size_t i;

	if (c == NULL)
		return;
	for (i = 0; i < c->n; i++)
		free(c->steps[i].data);
	free(c->steps);
	free(c);
}

struct step *
case_add(struct soak_case *c, enum step_kind kind, int who, int a, int b)
{
	struct step *t;

	c->steps = xreallocarray(c->steps, c->n + 1, sizeof *c->steps);
	t = &c->steps[c->n++];
	memset(t, 0, sizeof *t);
	t->kind = (uint8_t)kind;
	t->who = (uint8_t)who;
	t->a = (uint16_t)a;
	t->b = (uint16_t)b;
	return t;
}

void
case_say(struct soak_case *c, const void *p, size_t n)
{
	struct step *t;

	if (n == 0)
		return;
	t = case_add(c, STEP_SAY, 0, 0, 0);
	t->data = xmalloc(n);
	memcpy(t->data, p, n);
	t->len = n;
}

struct soak_case *
case_copy(const struct soak_case *c)
{
	struct soak_case *d = xcalloc(1, sizeof *d);
	size_t i;

	*d = *c;
	d->steps = NULL;
	d->n = 0;
	for (i = 0; i < c->n; i++)
		if (c->steps[i].kind == STEP_SAY)
			case_say(d, c->steps[i].data, c->steps[i].len);
		else
			case_add(d, c->steps[i].kind, c->steps[i].who,
			    c->steps[i].a, c->steps[i].b);
	return d;
}

void
case_drop(struct soak_case *c, size_t from, size_t n)
{
	size_t i;

	for (i = from; i < from + n; i++)
		free(c->steps[i].data);
	memmove(&c->steps[from], &c->steps[from + n],
	    (c->n - from - n) * sizeof *c->steps);
	c->n -= n;
}

void
case_write(const struct soak_case *c, FILE *fp)
{
	size_t i, k;

	fprintf(fp, "seed %llu term %s size %d %d\n",
	    (unsigned long long)c->seed, c->term, c->rows, c->cols);
	for (i = 0; i < c->n; i++) {
		const struct step *t = &c->steps[i];

		fprintf(fp, "%s %d %d %d ", names[t->kind], t->who, t->a,
		    t->b);
		for (k = 0; k < t->len; k++)
			fprintf(fp, "%02x", t->data[k]);
		fprintf(fp, "\n");
	}
}

struct soak_case *
case_read(FILE *fp)
{
	struct soak_case *c = xcalloc(1, sizeof *c);
	static char line[1 << 20];
	unsigned long long seed;
	unsigned v;
	char name[16];
	int who, a, b, kind, at;
	struct buf bytes;

	if (fgets(line, sizeof line, fp) == NULL || sscanf(line,
	    "seed %llu term %31s size %d %d", &seed, c->term, &c->rows,
	    &c->cols) != 4)
		goto bad;
	c->seed = seed;
	buf_init(&bytes, sizeof line);
	while (fgets(line, sizeof line, fp) != NULL) {
		if (sscanf(line, "%15s %d %d %d %n", name, &who, &a, &b,
		    &at) != 4 || who < 0 || who >= CLIENTS)
			goto bad;
		for (kind = 0; kind < STEP_KINDS; kind++)
			if (strcmp(name, names[kind]) == 0)
				break;
		if (kind == STEP_KINDS)
			goto bad;
		if (kind != STEP_SAY) {
			case_add(c, kind, who, a, b);
			continue;
		}
		buf_reset(&bytes);
		for (; sscanf(line + at, "%2x", &v) == 1; at += 2)
			buf_u8(&bytes, (uint8_t)v);
		case_say(c, bytes.data, bytes.len);
	}
	buf_free(&bytes);
	return c;
bad:
	case_free(c);
	return NULL;
}

void
case_show(const struct soak_case *c, FILE *fp)
{
	size_t i, k;

	fprintf(fp, "%s, %d rows, %d columns, seed %llu\n", c->term, c->rows,
	    c->cols, (unsigned long long)c->seed);
	for (i = 0; i < c->n; i++) {
		const struct step *t = &c->steps[i];

		fprintf(fp, "  %-7s", names[t->kind]);
		if (t->kind != STEP_SAY)
			fprintf(fp, " %d %d %d", t->who, t->a, t->b);
		for (k = 0; k < t->len; k++)
			if (t->data[k] == 27)
				fprintf(fp, "\\e");
			else if (t->data[k] < 32 || t->data[k] >= 127 ||
			    t->data[k] == '\\')
				fprintf(fp, "\\x%02x", t->data[k]);
			else
				fputc(t->data[k], fp);
		fprintf(fp, "\n");
	}
}

/* --- cutting down --------------------------------------------------------- */

static bool
try(struct soak_case *c, struct soak_case *d,
    bool (*fails)(struct soak_case *))
{
	struct soak_case old;

	if (!fails(d)) {
		case_free(d);
		return false;
	}
	old = *c;
	*c = *d;
	*d = old;
	case_free(d);
	return true;
}

static bool
shrink_steps(struct soak_case *c, bool (*fails)(struct soak_case *),
    time_t end)
{
	bool any = false;
	size_t n, at;

	for (n = c->n / 2; n > 0; n /= 2)
		for (at = 0; at + n <= c->n && time(NULL) < end;) {
			struct soak_case *d = case_copy(c);

			case_drop(d, at, n);
			if (try(c, d, fails))
				any = true;
			else
				at += n;
		}
	return any;
}

static bool
shrink_bytes(struct soak_case *c, bool (*fails)(struct soak_case *),
    time_t end)
{
	bool any = false;
	size_t i, n, at;

	for (i = 0; i < c->n; i++)
		for (n = c->steps[i].len / 2; n > 0; n /= 2)
			for (at = 0; at + n <= c->steps[i].len &&
			    time(NULL) < end;) {
				struct soak_case *d = case_copy(c);
				struct step *t = &d->steps[i];

				memmove(t->data + at, t->data + at + n,
				    t->len - at - n);
				t->len -= n;
				if (try(c, d, fails))
					any = true;
				else
					at += n;
			}
	return any;
}

/* Two that are said one after the other, as one. */
static bool
shrink_joins(struct soak_case *c, bool (*fails)(struct soak_case *),
    time_t end)
{
	bool any = false;
	size_t i;

	for (i = 0; i + 1 < c->n && time(NULL) < end;) {
		struct soak_case *d = case_copy(c);
		struct step *t = &d->steps[i], *u = t + 1;

		if (t->kind != STEP_SAY || u->kind != STEP_SAY) {
			case_free(d);
			i++;
			continue;
		}
		t->data = xrealloc(t->data, t->len + u->len + 1);
		memcpy(t->data + t->len, u->data, u->len);
		t->len += u->len;
		case_drop(d, i + 1, 1);
		if (try(c, d, fails))
			any = true;
		else
			i++;
	}
	return any;
}

void
case_shrink(struct soak_case *c, bool (*fails)(struct soak_case *),
    int seconds)
{
	time_t end = time(NULL) + seconds;
	bool any = true;

	while (any && time(NULL) < end) {
		any = shrink_steps(c, fails, end);
		any |= shrink_joins(c, fails, end);
		any |= shrink_bytes(c, fails, end);
	}
}
