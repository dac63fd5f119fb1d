/* SPDX-License-Identifier: ISC */
/*
 * `ls`: the server's rows as a table for people or as JSON for programs.
 */
#include <sys/ioctl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../server/base/log.h"
#include "../server/base/mem.h"
#include "json.h"
#include "query.h"
#include "say.h"

#define LIST_OUT_MAX	(64u << 20)
#define LIST_CELL	160
#define LIST_COLUMNS	7

struct listing {
	struct msg_row	*rows;
	size_t		 nrows, room;
};

/* --- JSON ------------------------------------------------------------------- */

static void
json_row(struct buf *b, const struct msg_row *r)
{
	const char *sep = "";
	size_t i;

	for (i = 0; r->fields[i] != NULL; i++) {
		/* The count; the shells themselves stand under this name. */
		if (r->kind == 'w' && strncmp(r->fields[i], "shells=", 7) == 0)
			continue;
		if (json_field(b, sep, r->fields[i]))
			sep = ", ";
	}
}

static void
list_json(const struct listing *l, struct buf *b)
{
	const struct msg_row *r;
	size_t i;
	bool open = false, shells = false, clients = false;

	buf_puts(b, "[");
	for (i = 0; i < l->nrows; i++) {
		r = &l->rows[i];
		if (r->kind != 'a' && shells) {
			buf_puts(b, clients ? "\n    ]}" : "]}");
			clients = false;
		}
		if (r->kind == 'w') {
			if (open)
				buf_puts(b, shells ? "\n  ]}" : "]}");
			buf_puts(b, open ? ",\n {" : "\n {");
			json_row(b, r);
			buf_puts(b, ", \"shells\": [");
			open = true;
			shells = false;
		} else if (r->kind == 's' && open) {
			buf_puts(b, shells ? ",\n   {" : "\n   {");
			json_row(b, r);
			buf_puts(b, ", \"attached\": [");
			shells = true;
		} else if (r->kind == 'a' && shells) {
			buf_puts(b, clients ? ",\n     {" : "\n     {");
			json_row(b, r);
			buf_puts(b, "}");
			clients = true;
		}
	}
	if (shells)
		buf_puts(b, clients ? "\n    ]}" : "]}");
	if (open)
		buf_puts(b, shells ? "\n  ]}\n" : "]}\n");
	buf_puts(b, "]\n");
}

/* --- the table --------------------------------------------------------------- */

/* "3s", "12m", "5h", "8d" of milliseconds. */
static void
put_time(char *out, size_t max, const char *ms)
{
	unsigned long long s = strtoull(ms, NULL, 10) / 1000;

	if (ms[0] == '\0')
		(void)snprintf(out, max, "%s", "");
	else if (s < 60)
		(void)snprintf(out, max, "%llus", s);
	else if (s < 3600)
		(void)snprintf(out, max, "%llum", s / 60);
	else if (s < 48 * 3600)
		(void)snprintf(out, max, "%lluh", s / 3600);
	else
		(void)snprintf(out, max, "%llud", s / 86400);
}

static void
workspace_cells(const struct msg_row *r, char c[LIST_COLUMNS][LIST_CELL])
{
	const char *state = row_get(r, "state");
	unsigned long us = strtoul(row_get(r, "rtt_us"), NULL, 10);

	log_clean(c[0], LIST_CELL, row_get(r, "workspace"));
	if (strcmp(state, "up") != 0) {
		(void)snprintf(c[1], LIST_CELL, "%s", state);
		put_time(c[5], LIST_CELL, row_get(r, "since_ms"));
		log_clean(c[6], LIST_CELL, row_get(r, "text"));
	} else if (us == 0)
		(void)snprintf(c[1], LIST_CELL, "up");
	else if (us < 10000)
		(void)snprintf(c[1], LIST_CELL, "up %lu.%lu ms", us / 1000,
		    us % 1000 / 100);
	else
		(void)snprintf(c[1], LIST_CELL, "up %lu ms", us / 1000);
}

/* A client, below its shell. */
static void
client_cells(const struct msg_row *r, char c[LIST_COLUMNS][LIST_CELL])
{
	(void)snprintf(c[0], LIST_CELL, "  pid %s", row_get(r, "pid"));
	(void)snprintf(c[1], LIST_CELL, "%s", strcmp(row_get(r, "read_only"),
	    "1") == 0 ? "view only" : strcmp(row_get(r, "passive"), "1") == 0 ?
	    "passive" : "attached");
	(void)snprintf(c[2], LIST_CELL, "%sx%s", row_get(r, "cols"),
	    row_get(r, "rows"));
	put_time(c[4], LIST_CELL, row_get(r, "idle_ms"));
	put_time(c[5], LIST_CELL, row_get(r, "age_ms"));
}

/* r's clients stand behind it; passive: how many of them do not count. */
static void
shell_cells(const struct msg_row *r, unsigned int passive,
    char c[LIST_COLUMNS][LIST_CELL])
{
	const char *state = row_get(r, "state"), *title, *clients;
	char name[LIST_CELL];

	(void)snprintf(name, sizeof name, "%s:%s", row_get(r, "workspace"),
	    row_get(r, "shell"));
	log_clean(c[0], LIST_CELL, name);
	if (strcmp(state, "ended") == 0 && row_get(r, "signal")[0] != '\0')
		(void)snprintf(c[1], LIST_CELL, "ended %s",
		    row_get(r, "signal"));
	else if (strcmp(state, "ended") == 0)
		(void)snprintf(c[1], LIST_CELL, "ended %s",
		    row_get(r, "status"));
	else if (row_get(r, "quarantined_at")[0] != '\0')
		(void)snprintf(c[1], LIST_CELL, "quarantined");
	else
		(void)snprintf(c[1], LIST_CELL, "%s", state);
	(void)snprintf(c[2], LIST_CELL, "%sx%s", row_get(r, "cols"),
	    row_get(r, "rows"));
	clients = row_get(r, "clients");
	if (passive > 0)
		(void)snprintf(c[3], LIST_CELL, "%s, %u passive", clients,
		    passive);
	else
		(void)snprintf(c[3], LIST_CELL, "%s", clients);
	put_time(c[4], LIST_CELL, row_get(r, "idle_ms"));
	put_time(c[5], LIST_CELL, row_get(r, "age_ms"));
	title = row_get(r, "title");
	if (row_get(r, "why")[0] != '\0')
		title = row_get(r, "why");
	else if (title[0] == '\0')
		title = row_get(r, "command");
	log_clean(c[6], LIST_CELL, title);
}

/* Columns of a clean UTF-8 string, nearly: what is beyond the Latin, Greek and
 * their neighbours counts two, which is never too little for what people put
 * into titles. */
static size_t
text_cols(const char *s)
{
	size_t n = 0;

	for (; *s != '\0'; s++)
		if (((unsigned char)*s & 0xc0) != 0x80)
			n += (unsigned char)*s >= 0xe1 ? 2 : 1;
	return n;
}

static void
text_cut(char *s, size_t cols)
{
	size_t n = 0, w;

	for (; *s != '\0'; s++) {
		if (((unsigned char)*s & 0xc0) == 0x80)
			continue;
		w = (unsigned char)*s >= 0xe1 ? 2 : 1;
		if (n + w > cols) {
			*s = '\0';
			return;
		}
		n += w;
	}
}

/* The passive ones among the clients behind a shell's row. */
static unsigned int
passive_behind(const struct listing *l, size_t i)
{
	unsigned int n = 0;

	for (i++; i < l->nrows && l->rows[i].kind == 'a'; i++)
		n += strcmp(row_get(&l->rows[i], "passive"), "1") == 0;
	return n;
}

/* Rows of text; how many. */
static size_t
list_cells(const struct listing *l, bool clients,
    char (*cells)[LIST_COLUMNS][LIST_CELL])
{
	static const char *const heads[LIST_COLUMNS] = { "NAME", "STATE",
	    "SIZE", "CLIENTS", "IDLE", "AGE", "WHAT" };
	size_t i, k, n = 1;

	for (k = 0; k < LIST_COLUMNS; k++)
		(void)snprintf(cells[0][k], LIST_CELL, "%s", heads[k]);
	for (i = 0; i < l->nrows; i++) {
		if (l->rows[i].kind == 'w')
			workspace_cells(&l->rows[i], cells[n++]);
		else if (l->rows[i].kind == 's')
			shell_cells(&l->rows[i], passive_behind(l, i),
			    cells[n++]);
		else if (clients)
			client_cells(&l->rows[i], cells[n++]);
	}
	return n;
}

static void
list_line(char cells[LIST_COLUMNS][LIST_CELL],
    const size_t wide[LIST_COLUMNS], size_t cols, struct buf *b)
{
	size_t used = 0, k, n;

	for (k = 0; k < LIST_COLUMNS - 1; k++) {
		buf_puts(b, cells[k]);
		for (n = text_cols(cells[k]); n < wide[k] + 2; n++)
			buf_u8(b, ' ');
		used += wide[k] + 2;
	}
	if (cols > 0)
		text_cut(cells[k], cols > used ? cols - used : 0);
	buf_puts(b, cells[k]);
	while (b->len > 0 && b->data[b->len - 1] == ' ')
		b->len--;
	buf_puts(b, "\n");
}

static void
list_table(const struct listing *l, bool clients, struct buf *b)
{
	char (*cells)[LIST_COLUMNS][LIST_CELL];
	size_t wide[LIST_COLUMNS] = { 0 }, i, k, n, w, cols = 0;
	struct winsize ws;

	if (l->nrows == 0)
		return;
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &ws) == 0)
		cols = ws.ws_col;
	cells = xcalloc(l->nrows + 1, sizeof *cells);
	n = list_cells(l, clients, cells);
	for (i = 0; i < n; i++)
		for (k = 0; k < LIST_COLUMNS; k++)
			if ((w = text_cols(cells[i][k])) > wide[k])
				wide[k] = w;
	for (i = 0; i < n; i++)
		list_line(cells[i], wide, cols, b);
	free(cells);
}

static int
list_answer(uint8_t type, const uint8_t *p, size_t n, void *arg)
{
	struct listing *l = arg;
	struct msg_row r;

	if (type != F_ROW || msg_row_get(&r, p, n) == -1)
		return QUERY_DEFAULT;
	if (r.kind != 'w' && r.kind != 's' && r.kind != 'a') {
		msg_row_free(&r);	/* a newer server's */
		return QUERY_GO_ON;
	}
	if (l->nrows == l->room) {
		l->room = l->room != 0 ? l->room * 2 : 16;
		l->rows = xreallocarray(l->rows, l->room, sizeof *l->rows);
	}
	l->rows[l->nrows++] = r;
	return QUERY_GO_ON;
}

int
cmd_list(struct args *args)
{
	struct query q;
	struct listing l;
	struct buf b;
	size_t i;
	int status;

	memset(&q, 0, sizeof q);
	memset(&l, 0, sizeof l);
	q.args = args;
	q.connect_flags = CONNECT_START;	/* it remembers */
	q.type = F_LIST;
	q.answer = list_answer;
	q.arg = &l;
	buf_init(&q.body, 16);
	status = query_run(&q);
	if (status == 0) {
		buf_init(&b, LIST_OUT_MAX);
		if (args_has(args, "json"))
			list_json(&l, &b);
		else
			list_table(&l, args_has(args, "c"), &b);
		if (say_out(b.data, b.len) == -1)
			status = STATUS_FAILED;
		buf_free(&b);
	}
	for (i = 0; i < l.nrows; i++)
		msg_row_free(&l.rows[i]);
	free(l.rows);
	return status;
}
