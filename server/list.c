/* SPDX-License-Identifier: ISC */
/*
 * ls and status: what is known, at once, whatever the links are doing. The
 * names of fields are in doc/protocol.md ("Rows") and are only ever added to.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attach.h"
#include "base/clock.h"
#include "base/mem.h"

void
field(struct fields *f, const char *fmt, ...)
{
	va_list ap;
	char *s = NULL;

	va_start(ap, fmt);
	if (vasprintf(&s, fmt, ap) == -1)
		s = NULL;
	va_end(ap);
	if (s != NULL && f->n < FIELDS_MAX)
		f->v[f->n++] = s;
	else
		free(s);
}

void
row_send(struct sclient *c, uint32_t channel, char kind, struct fields *f)
{
	struct msg_row m;
	struct buf b;
	size_t i;

	f->v[f->n] = NULL;
	m.kind = (uint8_t)kind;
	m.fields = f->v;
	buf_init(&b, 65536);
	msg_row_put(&b, &m);
	if (buf_ok(&b))
		sclient_send_buf(c, CONN_CONTROL, F_ROW, channel, &b);
	buf_free(&b);
	for (i = 0; i < f->n; i++)
		free(f->v[i]);
	memset(f, 0, sizeof *f);
}

static const char *
state_word(const struct workspace *w)
{
	switch (workspace_state(w)) {
	case LINK_UP:
		return w->up ? "up" : "connecting";
	case LINK_CONNECTING:
		return "connecting";
	case LINK_FAILED:
		return "failed";
	default:
		return workspace_retrying(w) ? "reconnecting" : "down";
	}
}

static void
list_workspace(struct sclient *c, uint32_t channel, const struct workspace *w)
{
	const struct link *l = w->link;
	struct fields f = { { NULL }, 0 };
	const char *why = l != NULL ? link_why(l) : NULL;
	char *said = workspace_said(w);

	field(&f, "workspace=%s", w->name);
	field(&f, "state=%s", state_word(w));
	field(&f, "text=%s", said);
	free(said);
	field(&f, "since_ms=%" PRIu64, workspace_away_ms(w));
	field(&f, "error=%s", why != NULL ? why : "");
	field(&f, "next_ms=%" PRIu64, l != NULL ? link_next_ms(l) : 0);
	field(&f, "silent_ms=%" PRIu64, w->up ? link_silent_ms(l) : 0);
	field(&f, "rtt_us=%" PRIu64, w->up ? link_rtt_us(l) : 0);
	field(&f, "retry=%d", workspace_retrying(w));
	field(&f, "agent=%s", w->agent_version != NULL ? w->agent_version : "");
	field(&f, "transport_pid=%ld", l != NULL ? (long)link_pid(l) : 0L);
	field(&f, "shells=%u", w->nshells);
	field(&f, "operations=%u", w->nrelays);
	field(&f, "clients=%u", attach_users(w));
	row_send(c, channel, 'w', &f);
}

static const char *
shell_word(const struct sshell *sh)
{
	switch (sh->state) {
	case SHELL_LOST:
		return "lost";
	case SHELL_ENDED:
		return "ended";
	default:
		return sh->id != 0 ? "running" : "remembered";
	}
}

static uint64_t
ago(uint64_t wall_ms)
{
	uint64_t now = clock_wall_ms();

	return wall_ms != 0 && now > wall_ms ? now - wall_ms : 0;
}

/* One that shows a shell. */
static void
list_client(struct sclient *c, uint32_t channel, const struct attachment *a)
{
	struct fields f = { { NULL }, 0 };
	uint64_t now = clock_ms();

	field(&f, "workspace=%s", a->ws->name);
	field(&f, "shell=%s", a->sh->name);
	field(&f, "pid=%ld", (long)a->client->pid);
	field(&f, "rows=%d", a->rows);
	field(&f, "cols=%d", a->cols);
	field(&f, "passive=%d", a->passive);
	field(&f, "read_only=%d", a->read_only);
	field(&f, "age_ms=%" PRIu64, now - a->since_ms);
	field(&f, "idle_ms=%" PRIu64, now - (a->typed_ms != 0 ? a->typed_ms :
	    a->since_ms));
	row_send(c, channel, 'a', &f);
}

void
list_shell(struct sclient *c, uint32_t channel, const struct sshell *sh)
{
	struct fields f = { { NULL }, 0 };
	const char *title = sh->title;
	char *why;
	char size[SIZE_TEXT];

	if (sh->mirror != NULL && sh->mirror->begun)
		title = screen_title(sh->mirror->screen);
	field(&f, "workspace=%s", sh->ws->name);
	field(&f, "shell=%s", sh->name);
	field(&f, "uid=%016" PRIx64, sh->uid);
	field(&f, "state=%s", shell_word(sh));
	field(&f, "command=%s", sh->command);
	field(&f, "title=%s", title);
	field(&f, "rows=%u", sh->rows);
	field(&f, "cols=%u", sh->cols);
	size_text(size_policy(sh), size);
	field(&f, "size=%s", size);
	field(&f, "clients=%u", sh->natts);
	field(&f, "idle_ms=%" PRIu64, ago(sh->output_ms));
	field(&f, "age_ms=%" PRIu64, ago(sh->created_ms));
	field(&f, "pid=%u", sh->pid);
	if (sh->state == SHELL_ENDED) {
		field(&f, "status=%u", sh->code);
		field(&f, "signal=%s", sh->signal);
	}
	if (sh->state == SHELL_LOST && sh->lost_why != NULL)
		field(&f, "why=%s", sh->lost_why);
	if ((why = quarantine_words(sh)) != NULL) {
		field(&f, "quarantined_at=%" PRIu64,
		    quarantine_at(sh->mirror));
		field(&f, "why=%s", why);
		free(why);
	}
	row_send(c, channel, 's', &f);
}

void
list_all(struct sclient *c, uint32_t channel)
{
	struct server *s = c->server;
	const struct workspace *w;
	const struct sshell *sh;
	const struct attachment *a;

	TAILQ_FOREACH(w, &s->workspaces, entry) {
		list_workspace(c, channel, w);
		TAILQ_FOREACH(sh, &w->shells, entry) {
			list_shell(c, channel, sh);
			TAILQ_FOREACH(a, &sh->atts, sh_entry)
				list_client(c, channel, a);
		}
	}
	sclient_done(c, channel, R_NONE, 0, "%s", "");
}

static void __attribute__((format(printf, 3, 4)))
status_row(struct sclient *c, uint32_t channel, const char *fmt, ...)
{
	struct fields f = { { NULL }, 0 };
	va_list ap;
	char *s = NULL;

	va_start(ap, fmt);
	if (vasprintf(&s, fmt, ap) != -1)
		field(&f, "%s", s);
	va_end(ap);
	free(s);
	row_send(c, channel, 'k', &f);
}

void
list_status(struct sclient *c, uint32_t channel)
{
	struct server *s = c->server;
	const struct workspace *w;
	const struct sshell *sh;
	unsigned int shells = 0, up = 0, out = 0;

	TAILQ_FOREACH(w, &s->workspaces, entry) {
		shells += w->nshells;
		up += w->up;
		TAILQ_FOREACH(sh, &w->shells, entry)
			out += sh->mirror != NULL &&
			    sh->mirror->quarantine != NULL;
	}
	status_row(c, channel, "pid=%ld", (long)getpid());
	status_row(c, channel, "version=%s", DLMUX_VERSION);
	status_row(c, channel, "socket=%s", s->place->server_sock);
	status_row(c, channel, "log=%s", s->place->server_log);
	status_row(c, channel, "state_file=%s", s->place->state_file);
	status_row(c, channel, "config=%s", s->place->config);
	status_row(c, channel, "instance=%s", s->place->instance);
	status_row(c, channel, "uptime_ms=%" PRIu64,
	    clock_ms() - s->started_ms);
	/* Whoever asks does not count. */
	status_row(c, channel, "clients=%u", s->nclients - 1);
	status_row(c, channel, "workspaces=%u", s->nworkspaces);
	status_row(c, channel, "connected=%u", up);
	status_row(c, channel, "shells=%u", shells);
	status_row(c, channel, "quarantined=%u", out);
	TAILQ_FOREACH(w, &s->workspaces, entry)
		list_workspace(c, channel, w);
	sclient_done(c, channel, R_NONE, 0, "%s", "");
}
