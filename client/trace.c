/* SPDX-License-Identifier: ISC */
/*
 * `trace` and `connect --trace`: where the time of a connect went; see
 * trace.h. The phases' names are the wire's, the words for them are here.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../server/base/log.h"
#include "../server/base/mem.h"
#include "json.h"
#include "say.h"
#include "trace.h"

#define TRACE_OUT_MAX	(256u << 10)
#define TRACE_ROWS_MAX	64
#define TRACE_CELL	200

struct tracing {
	bool		 patient;
	bool		 refused;	/* the USE was: its reason is better */
	struct msg_row	 rows[TRACE_ROWS_MAX];
	size_t		 nrows;
};

/* What a phase is to people; %s: what moved in it. */
static const struct {
	const char *phase, *words;
	bool bytes;
} phases[] = {
	{ "transport", "the transport is started", false },
	{ "first-byte", "its first byte", false },
	{ "login", "login noise skipped", true },
	{ "agent", "the agent looked for", false },
	{ "upload", "the agent sent", true },
	{ "confirm", "what arrived checked and started", false },
	{ "hello", "hello", false },
	{ "shells", "shells resumed", false },
};

static unsigned long long
number(const struct msg_row *r, const char *name)
{
	return strtoull(row_get(r, name), NULL, 10);
}

static const struct msg_row *
head(const struct tracing *t)
{
	size_t i;

	for (i = 0; i < t->nrows; i++)
		if (t->rows[i].kind == 'c')
			return &t->rows[i];
	return NULL;
}

/* The scheme's own program did that: what dlmux cannot make shorter. */
static bool
foreign_share(const struct msg_row *r)
{
	return strcmp(row_get(r, "phase"), "first-byte") == 0 ||
	    strcmp(row_get(r, "phase"), "login") == 0;
}

static unsigned long long
share_us(const struct tracing *t)
{
	unsigned long long us = 0;
	size_t i;

	for (i = 0; i < t->nrows; i++)
		if (t->rows[i].kind == 'p' && foreign_share(&t->rows[i]))
			us += number(&t->rows[i], "us") -
			    number(&t->rows[i], "asked_us");
	return us;
}

/* "ssh" of "ssh:web"; a workspace of the config has a Command. */
static void
transport_word(const char *workspace, char *out, size_t max)
{
	size_t n = strcspn(workspace, ":");

	if (workspace[n] == '\0')
		(void)snprintf(out, max, "its Command");
	else
		(void)snprintf(out, max, "%.*s", (int)n, workspace);
}

/* --- JSON ------------------------------------------------------------------- */

static void
json_row(struct buf *b, const struct msg_row *r)
{
	const char *sep = "";
	size_t i;

	for (i = 0; r->fields[i] != NULL; i++)
		if (json_field(b, sep, r->fields[i]))
			sep = ", ";
}

static void
json_rows(struct buf *b, const struct tracing *t, uint8_t kind)
{
	size_t i;
	bool first = true;

	for (i = 0; i < t->nrows; i++) {
		if (t->rows[i].kind != kind)
			continue;
		buf_puts(b, first ? "\n  {" : ",\n  {");
		first = false;
		json_row(b, &t->rows[i]);
		buf_puts(b, "}");
	}
}

static void
show_json(struct buf *b, const struct tracing *t)
{
	buf_puts(b, "{");
	json_row(b, head(t));
	buf_printf(b, ", \"transport_us\": %llu, \"phases\": [", share_us(t));
	json_rows(b, t, 'p');
	buf_puts(b, "], \"facts\": [");
	json_rows(b, t, 'f');
	buf_puts(b, "]}\n");
}

/* --- the table --------------------------------------------------------------- */

static void
put_ms(struct buf *b, unsigned long long us)
{
	char text[32];

	(void)snprintf(text, sizeof text, "%llu.%llu ms", us / 1000,
	    us % 1000 / 100);
	buf_printf(b, "%12s", text);
}

static void
put_bytes(struct buf *b, const char *sep, unsigned long long n)
{
	if (n < 10000)
		buf_printf(b, "%s%llu byte%s", sep, n, n == 1 ? "" : "s");
	else if (n < 1000000)
		buf_printf(b, "%s%.1f kB", sep, (double)n / 1e3);
	else
		buf_printf(b, "%s%.2f MB", sep, (double)n / 1e6);
}

static void
show_phase(struct buf *b, const struct msg_row *r, const struct msg_row *c,
    bool failed)
{
	unsigned long long us = number(r, "us"), bytes = number(r, "bytes"),
	    asked = number(r, "asked_us");
	const char *words = row_get(r, "phase");
	char clean[TRACE_CELL];
	bool counts = bytes > 0;
	size_t i;

	for (i = 0; i < sizeof phases / sizeof phases[0]; i++)
		if (strcmp(phases[i].phase, words) == 0) {
			words = phases[i].words;
			counts = phases[i].bytes;
			break;
		}
	put_ms(b, us);
	buf_printf(b, "  %s", log_clean(clean, sizeof clean, words));
	if (counts) {
		put_bytes(b, " (", bytes);
		if (us > 0 && bytes > 10000)
			put_bytes(b, ", ", bytes * 1000000 / us);
		buf_puts(b, us > 0 && bytes > 10000 ? "/s)" : ")");
	}
	if (strcmp(row_get(r, "phase"), "shells") == 0)
		buf_printf(b, " (%llu)", number(c, "shells"));
	if (asked > 0)
		buf_printf(b, ", of it %llu.%llu s at a prompt",
		    asked / 1000000, asked % 1000000 / 100000);
	if (failed)
		buf_puts(b, ": here it failed");
	buf_puts(b, "\n");
}

static void
show_total(struct buf *b, const struct tracing *t)
{
	const struct msg_row *c = head(t);
	unsigned long long share = share_us(t), trips = number(c, "trips");
	char clean[TRACE_CELL], word[64];

	put_ms(b, number(c, "total_us"));
	buf_puts(b, "  in all");
	if (share > 0) {
		transport_word(row_get(c, "workspace"), word, sizeof word);
		buf_printf(b, ", of it %s's own %llu.%llu ms",
		    log_clean(clean, sizeof clean, word), share / 1000,
		    share % 1000 / 100);
	}
	if (trips > 1)
		buf_printf(b, "; %llu round trips were waited for", trips);
	if (number(c, "goes") > 1)
		buf_printf(b, "; it began anew %llu time(s)",
		    number(c, "goes") - 1);
	buf_puts(b, "\n");
}

static void
show_head(struct buf *b, const struct msg_row *c)
{
	unsigned long long ago = number(c, "ago_ms") / 1000;
	char clean[TRACE_CELL], text[1024];
	const char *state = row_get(c, "state");

	buf_printf(b, "%s: ", log_clean(clean, sizeof clean,
	    row_get(c, "workspace")));
	if (strcmp(state, "up") == 0)
		buf_puts(b, "connected");
	else if (strcmp(state, "failed") == 0)
		buf_puts(b, "failed");
	else
		buf_puts(b, "still connecting");
	buf_printf(b, ago < 120 ? "; begun %llu s ago" :
	    ago < 7200 ? "; begun %llu min ago" : "; begun %llu h ago",
	    ago < 120 ? ago : ago < 7200 ? ago / 60 : ago / 3600);
	if (row_get(c, "text")[0] != '\0')
		buf_printf(b, ": %s", log_clean(text, sizeof text,
		    row_get(c, "text")));
	buf_puts(b, "\n");
}

static void
show_table(struct buf *b, const struct tracing *t)
{
	const struct msg_row *c = head(t), *r;
	char name[TRACE_CELL], how[TRACE_CELL], value[TRACE_CELL];
	size_t i, last = 0;

	show_head(b, c);
	for (i = 0; i < t->nrows; i++)
		if (t->rows[i].kind == 'p')
			last = i;
	for (i = 0; i < t->nrows; i++)
		if (t->rows[i].kind == 'p')
			show_phase(b, &t->rows[i], c, i == last &&
			    strcmp(row_get(c, "state"), "failed") == 0);
	show_total(b, t);
	for (i = 0; i < t->nrows; i++) {
		r = &t->rows[i];
		if (r->kind == 'f')
			buf_printf(b, "%12s  %s: %s\n",
			    log_clean(how, sizeof how, row_get(r, "how")),
			    log_clean(name, sizeof name, row_get(r, "fact")),
			    log_clean(value, sizeof value, row_get(r, "value")));
	}
}

/* --- asking ----------------------------------------------------------------- */

static int
tracing_answer(uint8_t type, const uint8_t *p, size_t n, void *arg)
{
	struct tracing *t = arg;
	struct msg_link l;
	struct msg_done d;
	struct msg_row r;
	bool in_vain;

	switch (type) {
	case F_LINK:
		if (msg_link_get(&l, p, n) == -1)
			return QUERY_DEFAULT;
		t->refused = l.state == LINK_FAILED;
		msg_link_free(&l);
		return QUERY_DEFAULT;
	case F_ROW:
		if (msg_row_get(&r, p, n) == -1)
			return QUERY_DEFAULT;
		if (t->nrows < TRACE_ROWS_MAX)
			t->rows[t->nrows++] = r;
		else
			msg_row_free(&r);
		return QUERY_GO_ON;
	case F_DONE:
		if (msg_done_get(&d, p, n) == -1)
			return QUERY_DEFAULT;
		in_vain = d.code != R_NONE;
		msg_done_free(&d);
		/* The link's own words come when its grace is over. */
		return in_vain && t->refused ? QUERY_GO_ON : QUERY_DEFAULT;
	default:
		return QUERY_DEFAULT;
	}
}

struct tracing *
tracing_new(struct query *q, const char *workspace, bool patient)
{
	struct tracing *t = xcalloc(1, sizeof *t);

	t->patient = patient;
	q->type = F_TRACE;
	q->answer = tracing_answer;
	q->arg = t;
	buf_init(&q->body, 65536);
	buf_str(&q->body, workspace);
	buf_u8(&q->body, patient);
	return t;
}

int
tracing_show(struct tracing *t, bool json, int status)
{
	const struct msg_row *c = head(t);
	struct buf b;

	if (status != 0 || c == NULL)
		return status;
	buf_init(&b, TRACE_OUT_MAX);
	(json ? show_json : show_table)(&b, t);
	if (say_out(b.data, b.len) == -1)
		status = STATUS_FAILED;
	buf_free(&b);
	if (t->patient && strcmp(row_get(c, "state"), "up") != 0) {
		say("%s: %s", row_get(c, "workspace"), row_get(c, "text"));
		status = STATUS_FAILED;
	}
	return status;
}

void
tracing_free(struct tracing *t)
{
	size_t i;

	for (i = 0; i < t->nrows; i++)
		msg_row_free(&t->rows[i]);
	free(t);
}

int
cmd_trace(struct args *args)
{
	struct query q;
	struct tracing *t;
	char *workspace;
	int status;

	status = query_workspace(args, &workspace);
	if (status == 0) {
		memset(&q, 0, sizeof q);
		q.args = args;
		q.connect_flags = CONNECT_ONCE;
		t = tracing_new(&q, workspace, false);
		status = tracing_show(t, args_has(args, "json"),
		    query_run(&q));
		tracing_free(t);
	}
	free(workspace);
	return status;
}
