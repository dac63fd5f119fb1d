/* SPDX-License-Identifier: ISC */
/*
 * Requests that may have to wait for a link or a mirror: they stay until what
 * they are about is known, and are tried again at the end of each pass. Here
 * too is the ending of shells; waits and captures have files of their own.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "inside.h"

/* HUP, KILL after the grace, and the way there and back. */
#define ENDING_MS	(KILL_GRACE_MS + 12000)
/* A link that takes longer to come up may take a minute: a screen of before is
 * shown then. Most transports are faster. */
#define CAPTURE_PATIENCE_MS	3000

struct ending {
	struct workspace	*ws;
	uint64_t		 uid;	/* 0: done with */
};

void
request_free(struct request *r)
{
	if (r == NULL)
		return;
	TAILQ_REMOVE(&r->server->requests, r, entry);
	r->client->nrequests--;
	if (r->deadline_ev != NULL)
		event_free(r->deadline_ev);
	wait_free(r);
	strv_free(r->keys);
	free(r->endings);
	buf_free(&r->missed);
	free(r->shell);
	server_later(r->server);
	free(r);
}

/* Whether what was seen last will do. */
static bool
request_stale(const struct request *r)
{
	const struct workspace *w = r->ws;

	return r->kind == REQUEST_CAPTURE && w->link != NULL &&
	    workspace_state(w) == LINK_CONNECTING &&
	    clock_ms() - link_since_ms(w->link) >= CAPTURE_PATIENCE_MS;
}

struct sshell *
request_shell(struct request *r, bool *pending, enum refusal *code,
    char **cause)
{
	struct workspace *w = r->ws;
	struct sshell *sh;

	*pending = false;
	sh = r->uid != 0 ? sshell_by_uid(w, r->uid) :
	    sshell_by_name(w, r->shell);
	if (sh != NULL && sh->state == SHELL_LOST) {
		*code = R_LOST;
		*cause = xstrdup(sh->lost_why != NULL ? sh->lost_why : "lost");
		return NULL;
	}
	/* A link on its way up has newer things to say, unless it hangs. */
	if (!w->up && !workspace_unreachable(w) && !(sh != NULL &&
	    request_stale(r) && sshell_visible(sh))) {
		*pending = true;
		return NULL;
	}
	if (sh != NULL && sshell_visible(sh))
		return sh;
	if (!w->up) {
		*code = R_UNREACHABLE;
		*cause = xasprintf("%s: %s", w->name,
		    *workspace_text(w) != '\0' ? workspace_text(w) :
		    "not connected");
	} else if (!w->ready || sh != NULL)
		*pending = true;
	else {
		*code = R_NO_SHELL;
		*cause = xasprintf("%s:%s: no such shell", w->name, r->shell);
	}
	return NULL;
}

/* --- ending shells -------------------------------------------------------- */

static void __attribute__((format(printf, 2, 3)))
ending_missed(struct request *r, const char *fmt, ...)
{
	va_list ap;
	char *s = NULL;

	va_start(ap, fmt);
	if (vasprintf(&s, fmt, ap) == -1)
		s = NULL;
	va_end(ap);
	if (s == NULL)
		return;
	if (r->missed.len != 0)
		buf_puts(&r->missed, "; ");
	buf_puts(&r->missed, s);
	free(s);
}

static bool
ending_answer(struct request *r)
{
	if (r->missed.len == 0 && buf_ok(&r->missed))
		sclient_done(r->client, r->channel, R_NONE, 0, "%s", "");
	else
		sclient_done(r->client, r->channel, R_UNREACHABLE, 125,
		    "%.*s%s", (int)r->missed.len,
		    r->missed.data != NULL ? (const char *)r->missed.data : "",
		    buf_ok(&r->missed) ? "" : " ...");
	return true;
}

static void
ending_add(struct request *r, struct sshell *sh)
{
	struct buf b;

	r->endings = xreallocarray(r->endings, r->nendings + 1,
	    sizeof *r->endings);
	r->endings[r->nendings].ws = sh->ws;
	r->endings[r->nendings++].uid = sh->uid;
	r->nleft++;
	if (sh->state == SHELL_ENDED) {
		sshell_dismiss(sh);
		return;
	}
	buf_init(&b, 64);
	buf_str(&b, "");
	link_send_buf(sh->ws->link, CONN_CONTROL, F_KILL, sh->id, &b);
	buf_free(&b);
}

/* Those of one workspace; false if its link has to come first. */
static bool
ending_send(struct request *r, struct workspace *w)
{
	struct sshell *sh, *next;
	bool found = false;
	const char *text = workspace_text(w);

	TAILQ_FOREACH_SAFE(sh, &w->shells, entry, next) {
		if (*r->shell != '\0' && strcmp(sh->name, r->shell) != 0)
			continue;
		found = true;
		if (sh->state == SHELL_LOST) {
			sshell_free(sh);
			state_later(r->server);
		} else if (sh->id != 0)
			ending_add(r, sh);
		else
			ending_missed(r, "%s:%s was not reached: %s", w->name,
			    sh->name, *text != '\0' ? text : "not connected");
	}
	if (!found && !w->up && r->ws != NULL)
		ending_missed(r, "%s was not reached: %s", w->name,
		    *text != '\0' ? text : "not connected");
	return found;
}

static bool
ending_try(struct request *r)
{
	struct workspace *w = r->ws;
	size_t i;

	if (!r->sent && w != NULL) {
		if (w->up ? !w->ready : !workspace_unreachable(w))
			return false;
		r->sent = true;
		if (!ending_send(r, w) && w->up && !r->all) {
			sclient_done(r->client, r->channel, R_NO_SHELL, 125,
			    "%s:%s: no such shell", w->name, r->shell);
			return true;
		}
	} else if (!r->sent) {
		r->sent = true;
		TAILQ_FOREACH(w, &r->server->workspaces, entry)
			(void)ending_send(r, w);
	}
	for (i = 0; i < r->nendings; i++) {
		struct ending *e = &r->endings[i];

		if (e->uid == 0 || e->ws->up)
			continue;
		ending_missed(r, "%s: the connection was lost meanwhile",
		    e->ws->name);
		e->uid = 0;
		r->nleft--;
	}
	return r->nleft == 0 && ending_answer(r);
}

static void
ending_gone(struct request *r, const struct sshell *sh)
{
	size_t i;

	for (i = 0; i < r->nendings; i++)
		if (r->endings[i].uid == sh->uid) {
			r->endings[i].uid = 0;
			r->nleft--;
		}
	server_later(r->server);
}

static void
ending_late(struct request *r)
{
	struct sshell *sh;
	size_t i;

	if (!r->sent)
		ending_missed(r, "%s: no answer", r->ws != NULL ?
		    r->ws->name : "?");
	for (i = 0; i < r->nendings; i++) {
		if (r->endings[i].uid == 0)
			continue;
		sh = sshell_by_uid(r->endings[i].ws, r->endings[i].uid);
		ending_missed(r, "%s:%s did not end", r->endings[i].ws->name,
		    sh != NULL ? sh->name : "?");
	}
	ending_answer(r);
}

/* --- the size of a shell --------------------------------------------------- */

static bool
sizing_answer(struct request *r, const struct sshell *sh)
{
	list_shell(r->client, r->channel, sh);
	sclient_done(r->client, r->channel, R_NONE, 0, "%s", "");
	return true;
}

static bool
sizing_try(struct request *r)
{
	struct workspace *w = r->ws;
	struct sshell *sh;

	sh = r->uid != 0 ? sshell_by_uid(w, r->uid) :
	    sshell_by_name(w, r->shell);
	if (sh == NULL || sh->state == SHELL_LOST) {
		/* One that was just made is told of any moment. */
		if (w->up ? !w->ready || r->uid != 0 :
		    !workspace_unreachable(w))
			return false;
		if (w->up)
			sclient_done(r->client, r->channel, R_NO_SHELL, 125,
			    "%s:%s: no such shell", w->name, r->shell);
		else
			sclient_done(r->client, r->channel, R_UNREACHABLE, 125,
			    "%s: %s", w->name, *workspace_text(w) != '\0' ?
			    workspace_text(w) : "not connected");
		return true;
	}
	if (r->size_given)
		size_set(sh, &r->size);
	else if (sh->id == 0 && !workspace_unreachable(w))
		return false;	/* the agent knows better in a moment */
	return sizing_answer(r, sh);
}

/* Of a link that takes longer, what was known last; true: answered. */
static bool
sizing_late(struct request *r)
{
	struct sshell *sh = r->uid != 0 ? sshell_by_uid(r->ws, r->uid) :
	    sshell_by_name(r->ws, r->shell);

	if (sh != NULL && sh->state != SHELL_LOST)
		return sizing_answer(r, sh);
	if (!r->sent) {		/* not known: as long as a connect takes */
		r->sent = true;
		return false;
	}
	sclient_done(r->client, r->channel, R_NO_SHELL, 125,
	    "%s:%s: no such shell", r->ws->name, r->shell);
	return true;
}

/* --- all of them ---------------------------------------------------------- */

static bool
request_try(struct request *r)
{
	switch (r->kind) {
	case REQUEST_WAIT:
		return wait_try(r);
	case REQUEST_CAPTURE:
		return capture_try(r);
	case REQUEST_KEYS:
		return keys_try(r);
	case REQUEST_RELEASE:
		return release_try(r);
	case REQUEST_END:
		return ending_try(r);
	case REQUEST_TRACE:
		return traced_try(r);
	case REQUEST_SIZE:
		return sizing_try(r);
	}
	return true;
}

void
request_retry(struct workspace *w)
{
	struct request *r, *next;

	TAILQ_FOREACH_SAFE(r, &w->server->requests, entry, next)
		if ((r->ws == w || r->ws == NULL) && request_try(r))
			request_free(r);
}

static void
request_again_in(struct request *r, uint32_t ms)
{
	struct timeval tv = { ms / 1000, (ms % 1000) * 1000 };

	evtimer_add(r->deadline_ev, &tv);
}

static void
request_deadline(int fd, short what, void *arg)
{
	struct request *r = arg;

	(void)fd;
	(void)what;
	if (r->kind == REQUEST_CAPTURE) {
		if (!capture_try(r))
			return;		/* nothing was seen yet */
	} else if (r->kind == REQUEST_WAIT)
		wait_timeout(r);
	else if (r->kind == REQUEST_SIZE) {
		if (!sizing_late(r)) {
			request_again_in(r, CONNECT_MS + MADE_WAIT_MS);
			return;
		}
	} else
		ending_late(r);
	request_free(r);
}

static void
request_deadline_in(struct request *r, uint32_t ms)
{
	r->deadline_ev = evtimer_new(r->server->base, request_deadline, r);
	/* The loop's own idea of now is as old as this pass: it would be a
	 * little too early. */
	(void)event_base_update_cache_time(r->server->base);
	request_again_in(r, ms);
}

static struct request *
request_new(struct sclient *c, uint32_t channel, enum request_kind kind,
    const char *shell)
{
	struct request *r;

	if (c->nrequests >= CLIENT_REQUESTS_MAX) {
		sclient_fail(c, R_LIMIT, "more than %u requests at once",
		    CLIENT_REQUESTS_MAX);
		return NULL;
	}
	r = xcalloc(1, sizeof *r);
	r->server = c->server;
	r->client = c;
	r->channel = channel;
	r->kind = kind;
	r->shell = xstrdup(shell);
	buf_init(&r->missed, 16384);
	c->nrequests++;
	TAILQ_INSERT_TAIL(&c->server->requests, r, entry);
	return r;
}

/* The request, with its workspace; else it is answered, and gone. NULL is
 * fine. */
static struct request *
request_where(struct request *r, const char *name)
{
	char *cause = NULL;

	if (r == NULL)
		return NULL;
	r->ws = workspace_for(r->client, r->channel, name, &cause);
	if (r->ws != NULL)
		return r;
	if (r->kind == REQUEST_WAIT)
		wait_lost(r, cause != NULL ? cause : "unknown workspace");
	else
		/* Known once, and no more: it left the config, say. */
		sclient_done(r->client, r->channel,
		    workspace_known(r->server, name) != NULL ?
		    R_UNREACHABLE : R_ERROR, 125, "%s",
		    cause != NULL ? cause : "unknown workspace");
	free(cause);
	request_free(r);
	return NULL;
}

static struct request *
on_wait(struct sclient *c, uint32_t channel, const uint8_t *data, size_t len)
{
	struct request *r;
	struct msg_wait m;
	char *cause = NULL;

	if (msg_wait_get(&m, data, len) == -1) {
		sclient_fail(c, R_ERROR, "a WAIT is damaged");
		return NULL;
	}
	if ((r = request_new(c, channel, REQUEST_WAIT, m.shell)) != NULL) {
		if (!wait_start(r, &m, &cause)) {
			wait_lost(r, cause);
			request_free(r);
			r = NULL;
		} else if ((r = request_where(r, m.workspace)) != NULL &&
		    m.timeout_ms != 0)
			request_deadline_in(r, m.timeout_ms);
	}
	free(cause);
	msg_wait_free(&m);
	return r;
}

static struct request *
on_capture(struct sclient *c, uint32_t channel, const uint8_t *data,
    size_t len)
{
	struct request *r;
	struct msg_capture m;

	if (msg_capture_get(&m, data, len) == -1) {
		sclient_fail(c, R_ERROR, "a CAPTURE is damaged");
		return NULL;
	}
	r = request_new(c, channel, REQUEST_CAPTURE, m.shell);
	if (r != NULL) {
		r->flags = m.flags;
		r->history = m.history;
		if ((r = request_where(r, m.workspace)) != NULL && !r->ws->up)
			request_deadline_in(r, CAPTURE_PATIENCE_MS + 50);
	}
	msg_capture_free(&m);
	return r;
}

static struct request *
on_keys(struct sclient *c, uint32_t channel, const uint8_t *data, size_t len)
{
	struct request *r = NULL;
	struct rd rd;
	char *name, *shell, **keys;

	rd_init(&rd, data, len);
	name = rd_str(&rd, WORKSPACE_NAME_MAX);
	shell = rd_str(&rd, SHELL_NAME_MAX);
	keys = rd_strv(&rd, KEYS_MAX, 65536);
	if (name == NULL || shell == NULL || keys == NULL || !rd_end(&rd)) {
		sclient_fail(c, R_ERROR, "a KEYS is damaged");
		goto out;
	}
	r = request_new(c, channel, REQUEST_KEYS, shell);
	if (r == NULL)
		goto out;
	r->keys = keys;
	keys = NULL;
	r = request_where(r, name);
out:
	free(name);
	free(shell);
	strv_free(keys);
	return r;
}

static struct request *
on_release(struct sclient *c, uint32_t channel, const uint8_t *data,
    size_t len)
{
	struct request *r = NULL;
	struct rd rd;
	char *name, *shell;

	rd_init(&rd, data, len);
	name = rd_str(&rd, WORKSPACE_NAME_MAX);
	shell = rd_str(&rd, SHELL_NAME_MAX);
	if (name == NULL || shell == NULL || !rd_end(&rd))
		sclient_fail(c, R_ERROR, "a RELEASE is damaged");
	else
		r = request_where(request_new(c, channel, REQUEST_RELEASE,
		    shell), name);
	free(name);
	free(shell);
	return r;
}

static struct request *
on_sizing(struct sclient *c, uint32_t channel, const uint8_t *data, size_t len)
{
	struct request *r = NULL;
	struct msg_sizing m;
	struct size size = { SIZE_DEFAULT, 0, 0 };

	if (msg_sizing_get(&m, data, len) == -1) {
		sclient_fail(c, R_ERROR, "a SIZING is damaged");
		return NULL;
	}
	if (*m.size != '\0' && size_parse(m.size, &size) == -1)
		sclient_done(c, channel, R_USAGE, 125, "%s is no size",
		    m.size);
	else
		r = request_new(c, channel, REQUEST_SIZE, m.shell);
	if (r != NULL) {
		r->uid = m.uid;
		r->size = size;
		r->size_given = *m.size != '\0';
		if ((r = request_where(r, m.workspace)) != NULL)
			request_deadline_in(r, CAPTURE_PATIENCE_MS);
	}
	msg_sizing_free(&m);
	return r;
}

static struct request *
on_endshell(struct sclient *c, uint32_t channel, const uint8_t *data,
    size_t len)
{
	struct request *r = NULL;
	struct rd rd;
	char *name, *shell;
	bool all;

	rd_init(&rd, data, len);
	name = rd_str(&rd, WORKSPACE_NAME_MAX);
	shell = rd_str(&rd, SHELL_NAME_MAX);
	all = rd_u8(&rd) != 0;
	if (name == NULL || shell == NULL || !rd_end(&rd) ||
	    (!all && (*name == '\0' || *shell == '\0'))) {
		sclient_fail(c, R_ERROR, "an ENDSHELL is damaged");
		goto out;
	}
	r = request_new(c, channel, REQUEST_END, all ? "" : shell);
	if (r == NULL)
		goto out;
	r->all = all;
	if (*name != '\0' && (r = request_where(r, name)) == NULL)
		goto out;
	request_deadline_in(r, ENDING_MS + CONNECT_MS);
out:
	free(name);
	free(shell);
	return r;
}

/* Asks for nothing to be connected. */
static struct request *
on_trace(struct sclient *c, uint32_t channel, const uint8_t *data, size_t len)
{
	struct request *r = NULL;
	struct rd rd;
	char *name;
	bool patient;

	rd_init(&rd, data, len);
	name = rd_str(&rd, WORKSPACE_NAME_MAX);
	patient = rd_u8(&rd) != 0;
	if (name == NULL || !rd_end(&rd))
		sclient_fail(c, R_ERROR, "a TRACE is damaged");
	else if ((r = request_new(c, channel, REQUEST_TRACE, name)) != NULL) {
		r->ws = workspace_known(c->server, name);
		r->patient = patient;
	}
	free(name);
	return r;
}

void
request_frame(struct sclient *c, uint8_t type, uint32_t channel,
    const uint8_t *data, size_t len)
{
	struct request *r;

	switch (type) {
	case F_WAIT:
		r = on_wait(c, channel, data, len);
		break;
	case F_CAPTURE:
		r = on_capture(c, channel, data, len);
		break;
	case F_KEYS:
		r = on_keys(c, channel, data, len);
		break;
	case F_RELEASE:
		r = on_release(c, channel, data, len);
		break;
	case F_TRACE:
		r = on_trace(c, channel, data, len);
		break;
	case F_SIZING:
		r = on_sizing(c, channel, data, len);
		break;
	default:
		r = on_endshell(c, channel, data, len);
		break;
	}
	if (r != NULL && request_try(r))
		request_free(r);
}

void
request_client_gone(struct sclient *c)
{
	struct request *r, *next;

	if (c->nrequests == 0)
		return;
	TAILQ_FOREACH_SAFE(r, &c->server->requests, entry, next)
		if (r->client == c)
			request_free(r);
}

static void
request_fail(struct request *r, enum refusal code, const char *why)
{
	if (r->kind == REQUEST_WAIT)
		wait_lost(r, why);
	else
		sclient_done(r->client, r->channel, code, 125, "%s", why);
	request_free(r);
}

void
request_workspace_gone(struct workspace *w, const char *why)
{
	struct request *r, *next;

	TAILQ_FOREACH_SAFE(r, &w->server->requests, entry, next)
		if (r->ws == w || r->ws == NULL)
			request_fail(r, R_ERROR, why);
}

void
request_shell_gone(struct sshell *sh, const char *why, bool lost)
{
	struct request *r, *next;

	TAILQ_FOREACH_SAFE(r, &sh->ws->server->requests, entry, next) {
		if (r->kind == REQUEST_END)
			ending_gone(r, sh);
		else if (r->kind == REQUEST_SIZE)
			continue;	/* finds that out by itself */
		else if (r->ws != sh->ws || r->uid != sh->uid)
			continue;
		else if (r->kind == REQUEST_WAIT && !lost) {
			wait_gone(r, sh, why);
			request_free(r);
		} else
			request_fail(r, lost ? R_LOST : R_NO_SHELL, why);
	}
}

unsigned int
request_users(const struct workspace *w)
{
	const struct request *r;
	unsigned int n = 0;

	TAILQ_FOREACH(r, &w->server->requests, entry)
		n += r->ws == w;
	return n;
}
