/* SPDX-License-Identifier: ISC */
/*
 * A workspace: how it is reached, its link and the link's state as clients see
 * it, and the prompts of an ssh that belong to one of them. What a shell's
 * stream means is mirror.c's, what an operation's bytes mean nobody's here.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hook.h"
#include "base/log.h"
#include "base/mem.h"
#include "inside.h"

struct prompt {
	TAILQ_ENTRY(prompt)	 entry;
	uint32_t		 id;
	struct chan		*chan;
};

static void	 workspace_link_state(struct link *, enum link_state,
		    const char *, const struct msg_hello *, void *);
static void	 workspace_link_message(struct link *, uint8_t, uint32_t,
		    const uint8_t *, size_t, void *);
static void	 workspace_link_prompt(struct link *, uint32_t, bool,
		    const char *, void *);
static void	 workspace_link_room(struct link *, void *);
static void	 workspace_link_sent(struct link *, uint64_t, uint64_t, void *);

static const struct link_cb workspace_cb = {
	.state = workspace_link_state,
	.message = workspace_link_message,
	.room = workspace_link_room,
	.sent = workspace_link_sent,
	.prompt = workspace_link_prompt,
};

struct workspace *
workspace_new(struct server *s, const char *name, const char *reach,
    char **cause)
{
	struct workspace *w;
	size_t i;

	if (s->nworkspaces >= WORKSPACES_MAX) {
		*cause = xasprintf("%s: more than %u workspaces are known",
		    name, WORKSPACES_MAX);
		return NULL;
	}
	w = xcalloc(1, sizeof *w);
	w->server = s;
	w->name = xstrdup(name);
	w->reach = xstrdup(reach);
	w->probe = PROBE_LOGIN;
	w->size.kind = SIZE_LATEST;
	w->pass[PASS_BELL] = w->pass[PASS_CLIPBOARD] = -1;
	w->pass[PASS_NOTIFY] = -1;
	TAILQ_INIT(&w->shells);
	TAILQ_INIT(&w->chans);
	TAILQ_INIT(&w->prompts);
	for (i = 0; i < RELAY_BUCKETS; i++)
		LIST_INIT(&w->relays[i]);
	TAILQ_INSERT_TAIL(&s->workspaces, w, entry);
	s->nworkspaces++;
	return w;
}

void
workspace_free(struct workspace *w)
{
	struct sshell *sh;
	struct chan *ch;
	struct prompt *p;

	if (w == NULL)
		return;
	w->up = false;
	relay_link_down(w);
	sclient_release(w);
	request_workspace_gone(w, "the server ends");
	attach_workspace_gone(w, "the server ends");
	while ((p = TAILQ_FIRST(&w->prompts)) != NULL) {
		TAILQ_REMOVE(&w->prompts, p, entry);
		free(p);
	}
	while ((ch = TAILQ_FIRST(&w->chans)) != NULL) {
		TAILQ_REMOVE(&w->chans, ch, ws_entry);
		ch->ws = NULL;
	}
	while ((sh = TAILQ_FIRST(&w->shells)) != NULL)
		sshell_free(sh);
	if (w->idle_ev != NULL)
		event_free(w->idle_ev);
	link_free(w->link);
	TAILQ_REMOVE(&w->server->workspaces, w, entry);
	w->server->nworkspaces--;
	strv_free(w->send_env);
	free(w->agent_version);
	free(w->theme);
	free(w->news);
	free(w->tries);
	free(w->name);
	free(w->reach);
	free(w);
}

static bool
workspace_useless(const struct workspace *w)
{
	if (w->nshells > 0 || w->nrelays > 0 || !TAILQ_EMPTY(&w->chans) ||
	    !TAILQ_EMPTY(&w->server->requests) || attach_users(w) > 0)
		return false;
	if (w->link != NULL && (link_retrying(w->link) ||
	    link_state(w->link) == LINK_UP ||
	    link_state(w->link) == LINK_CONNECTING))
		return false;
	if (w->forget)
		return true;
	/* A name that was mistyped, say. Not before its failed tries are of no
	 * account any more: they bound those to come. */
	return !w->agent_known && w->link != NULL &&
	    clock_ms() - link_since_ms(w->link) > RETRY_WINDOW_MS;
}

void
workspace_forget(struct server *s)
{
	struct workspace *w, *next;

	if (s->keeper)
		return;
	TAILQ_FOREACH_SAFE(w, &s->workspaces, entry, next)
		if (workspace_useless(w)) {
			log_info("%s: forgotten", w->name);
			workspace_free(w);
			state_later(s);
		}
}

struct workspace *
workspace_find(struct server *s, const char *name)
{
	struct workspace *w;

	TAILQ_FOREACH(w, &s->workspaces, entry)
		if (strcmp(w->name, name) == 0)
			return w;
	return NULL;
}

struct workspace *
workspace_known(struct server *s, const char *text)
{
	struct workspace *w;
	struct target t;
	char *shell = NULL, *cause = NULL;

	if ((w = workspace_find(s, text)) != NULL)
		return w;
	TAILQ_FOREACH(w, &s->workspaces, entry)
		if (strcmp(w->reach, text) == 0)
			return w;
	if (target_parse(text, s->conf, NULL, false, &t, &shell,
	    &cause) == 0) {
		w = workspace_find(s, t.name);
		target_clear(&t);
	}
	free(shell);
	free(cause);
	return w;
}

/* What an agent knows us by. Two workspaces may be one place (ssh:localhost
 * and local, two names of a host): were they one server to its agent, each link
 * would fence the other off for ever. */
static void
workspace_server_id(const struct workspace *w, uint8_t id[MSG_ID])
{
	uint64_t hash = 14695981039346656037u;
	const char *p;
	size_t i;

	for (p = w->name; *p != '\0'; p++)
		hash = (hash ^ (uint8_t)*p) * 1099511628211u;
	memcpy(id, w->server->id, MSG_ID);
	for (i = 0; i < 8; i++)
		id[i] ^= (uint8_t)(hash >> (8 * i));
}

/* For tests, which would else wait for minutes. */
static uint64_t
workspace_idle_ms(const struct target *t)
{
#ifdef DLMUX_HOOKS
	const char *v = getenv("DLMUX_IDLE_MS");

	if (v != NULL && t->idle_ms != 0)
		return strtoull(v, NULL, 10);
#endif
	return t->idle_ms;
}

static void
workspace_size(struct workspace *w, const struct size *size)
{
	struct sshell *sh;

	if (size_same(&w->size, size) ||
	    size->kind == SIZE_DEFAULT)
		return;
	w->size = *size;
	TAILQ_FOREACH(sh, &w->shells, entry)
		if (sh->size.kind == SIZE_DEFAULT)
			size_changed(sh, true);
}

static void
workspace_target(struct workspace *w, const struct target *t)
{
	struct server *s = w->server;
	struct link_setup setup;

	w->probe = t->probe;
	memcpy(w->pass, t->pass, sizeof w->pass);
	w->idle_ms = workspace_idle_ms(t);
	workspace_size(w, &t->size);
	strv_free(w->send_env);
	w->send_env = strv_copy(t->send_env);
	if (w->link != NULL) {
		link_retarget(w->link, t);
		return;
	}
	memset(&setup, 0, sizeof setup);
	setup.base = s->base;
	setup.place = s->place;
	workspace_server_id(w, setup.server_id);
	setup.role = s->keeper ? ROLE_KEEPER : ROLE_SERVER;
	setup.cb = &workspace_cb;
	setup.arg = w;
	if (!s->keeper)
		w->trace = setup.trace = traced_for(s, w->name);
	w->link = link_new(&setup, t);
	if (w->tries != NULL)
		link_set_tries(w->link, w->tries);
}

struct workspace *
workspace_adopt(struct server *s, int fd, char **cause)
{
	struct workspace *w;
	struct target t;

	if ((w = workspace_new(s, "keeper", "keeper", cause)) == NULL)
		return NULL;
	memset(&t, 0, sizeof t);
	t.scheme = SCHEME_LOCAL;
	t.name = w->name;
	workspace_target(w, &t);
	link_adopt(w->link, fd);
	return w;
}

struct workspace *
workspace_resolve(struct server *s, const char *text, char *const *env,
    char **cause)
{
	const struct conf *conf;
	struct workspace *w;
	struct target t;
	char *shell = NULL;

	if (*text == '\0' || strlen(text) > WORKSPACE_NAME_MAX) {
		*cause = xstrdup("no name of a workspace");
		return NULL;
	}
	if ((conf = server_conf(s, cause)) == NULL)
		return NULL;
	if (target_parse(text, conf, env, true, &t, &shell, cause) == -1)
		return NULL;
	free(shell);
	w = workspace_find(s, t.name);
	if (w == NULL)
		w = workspace_new(s, t.name, text, cause);
	if (w != NULL)
		workspace_target(w, &t);
	target_clear(&t);
	return w;
}

struct workspace *
workspace_for(struct sclient *c, uint32_t channel, const char *name,
    char **cause)
{
	struct chan *ch = chan_find(c, channel);
	struct workspace *w;

	if (ch != NULL && ch->ws != NULL)
		return ch->ws;
	w = workspace_known(c->server, name);
	if (w == NULL || w->link == NULL)
		w = workspace_resolve(c->server, name, NULL, cause);
	if (w != NULL && !w->up)
		workspace_connect(w, NULL, LINK_USER);
	return w;
}

void
workspace_connect(struct workspace *w, char *const *env, enum link_who who)
{
	if (w->link == NULL || w->server->stopping)
		return;
	w->let_go = w->forget = false;
	link_want(w->link, true);
	link_connect(w->link, env, who);
}

void
workspace_changed(struct workspace *w)
{
	w->changed = true;
	server_later(w->server);
}

enum link_state
workspace_state(const struct workspace *w)
{
	return w->link != NULL ? link_state(w->link) : LINK_DOWN;
}

bool
workspace_retrying(const struct workspace *w)
{
	return w->link != NULL && link_retrying(w->link);
}

bool
workspace_unreachable(const struct workspace *w)
{
	switch (workspace_state(w)) {
	case LINK_FAILED:
		return true;
	case LINK_DOWN:
		return w->tried || !workspace_retrying(w);
	default:
		return false;
	}
}

const char *
workspace_text(const struct workspace *w)
{
	const char *t;

	if (w->link == NULL)
		return "not connected";
	t = link_text(w->link);
	return t != NULL ? t : "";
}

char *
workspace_said(const struct workspace *w)
{
	const char *text = workspace_text(w), *why;
	uint64_t ms;

	if (w->link == NULL || w->up)
		return xstrdup(text);
	why = link_why(w->link);
	ms = link_next_ms(w->link);
	if (link_state(w->link) == LINK_CONNECTING && why != NULL)
		return xasprintf("%s; the last try: %s", text, why);
	if (link_held(w->link))
		return xasprintf("%s; `dlmux connect %s' asks you", text,
		    w->name);
	/* The pause's own words have it. */
	if (ms > 0 && strncmp(text, "not tried", 9) != 0)
		return xasprintf("%s; next try in %llu s", text,
		    (unsigned long long)(ms + 999) / 1000);
	return xstrdup(text);
}

uint64_t
workspace_away_ms(const struct workspace *w)
{
	if (w->link == NULL)
		return 0;
	return clock_ms() - (!w->up && w->down_ms != 0 &&
	    workspace_retrying(w) ? w->down_ms : link_since_ms(w->link));
}

/* --- IdleClose ---------------------------------------------------------- */

/* Nobody used it for so long; whether a job there does, only the agent
 * knows. */
static void
workspace_idle(int fd, short what, void *arg)
{
	struct workspace *w = arg;

	(void)fd;
	(void)what;
	link_send(w->link, CONN_CONTROL, F_JOBS, 0, NULL, 0);
}

static void
workspace_idle_in(struct workspace *w, uint64_t ms)
{
	struct timeval tv = { (time_t)(ms / 1000),
	    (suseconds_t)(ms % 1000 * 1000) };

	evtimer_add(w->idle_ev, &tv);
}

static void
workspace_jobs(struct workspace *w, const uint8_t *data, size_t len)
{
	struct rd r;
	uint32_t n;
	char *why;

	rd_init(&r, data, len);
	n = rd_u32(&r);
	/* Pending: somebody came meanwhile and has gone again. */
	if (!rd_end(&r) || !w->idle || evtimer_pending(w->idle_ev, NULL))
		return;
	if (n > 0) {
		workspace_idle_in(w, w->idle_ms < IDLE_AGAIN_MS ? w->idle_ms :
		    IDLE_AGAIN_MS);
		return;
	}
	why = xasprintf("let go after %llu min without use",
	    (unsigned long long)(w->idle_ms / 60000));
	log_info("%s: %s", w->name, why);
	w->typed_ms = 0;	/* nobody waits for an echo any more */
	link_disconnect(w->link, why);
	free(why);
}

static void
workspace_settle_idle(struct workspace *w, bool used)
{
	bool idle = w->up && w->ready && !used && w->idle_ms > 0;

	if (idle == w->idle)
		return;
	w->idle = idle;
	if (w->idle_ev == NULL)
		w->idle_ev = evtimer_new(w->server->base, workspace_idle, w);
	if (idle)
		workspace_idle_in(w, w->idle_ms);
	else
		evtimer_del(w->idle_ev);
}

/* Who waits for the far side: its deadlines are shorter then, and a lost link
 * is brought back. */
void
workspace_settle(struct workspace *w)
{
	struct chan *ch;
	bool used, busy;

	if (w->link == NULL)
		return;
	used = w->nrelays > 0 || request_users(w) > 0 || attach_users(w) > 0;
	TAILQ_FOREACH(ch, &w->chans, ws_entry)
		if (!(ch->flags & USE_PASSIVE))
			used = true;
	/* Who sits in front of a shell and types nothing does not wait. */
	busy = w->nworking > 0 || request_users(w) > 0 ||
	    (w->typed_ms != 0 && clock_ms() - w->typed_ms < TYPED_BUSY_MS);
	link_busy(w->link, busy);
	link_want(w->link, (used || busy) && !w->let_go &&
	    !w->server->stopping);
	workspace_settle_idle(w, used);
}

/* --- what clients are told ---------------------------------------------- */

void
workspace_tell(struct workspace *w, struct chan *only)
{
	struct msg_link m;
	struct chan *ch;
	struct buf b;
	char *none[] = { NULL };

	memset(&m, 0, sizeof m);
	m.state = (uint8_t)workspace_state(w);
	if (m.state == LINK_UP && !w->up)
		m.state = LINK_CONNECTING;
	if (workspace_retrying(w))
		m.retry = w->agent_known ? 2 : 1;
	if (m.state == LINK_UP)
		memcpy(m.agent, w->agent, MSG_ID);
	if (w->link != NULL)
		m.since_ms = clock_ms() - link_since_ms(w->link);
	m.probe = w->probe;
	m.workspace = w->name;
	m.text = xstrdup(workspace_text(w));
	m.send_env = w->send_env != NULL ? w->send_env : none;
	buf_init(&b, OPEN_MAX_BYTES);
	msg_link_put(&b, &m);
	TAILQ_FOREACH(ch, &w->chans, ws_entry)
		if (only == NULL || ch == only)
			sclient_send(ch->client, CONN_CONTROL, F_LINK,
			    ch->number, b.data, b.len);
	buf_free(&b);
	free(m.text);
}

/* The newest that can be asked is who wanted the link last. */
static struct chan *
workspace_asked(struct workspace *w)
{
	struct chan *ch, *to = NULL;

	TAILQ_FOREACH(ch, &w->chans, ws_entry)
		if ((ch->flags & USE_MAY_PROMPT) && ch->client->conn != NULL &&
		    (!attach_shown(ch->client) || (ch->flags & USE_ASK_SHOWN)))
			to = ch;
	return to;
}

void
workspace_chan_gone(struct workspace *w, struct chan *ch)
{
	struct prompt *p, *next;

	TAILQ_REMOVE(&w->chans, ch, ws_entry);
	TAILQ_FOREACH_SAFE(p, &w->prompts, entry, next)
		if (p->chan == ch) {
			uint32_t id = p->id;

			TAILQ_REMOVE(&w->prompts, p, entry);
			free(p);
			link_reply(w->link, id, false, "");
			if (workspace_asked(w) == NULL)
				link_give_up(w->link);
		}
	ch->ws = NULL;
	server_later(w->server);
}

bool
workspace_reply(struct workspace *w, struct chan *ch, uint32_t id, bool ok,
    const char *text)
{
	struct prompt *p;

	TAILQ_FOREACH(p, &w->prompts, entry)
		if (p->id == id && p->chan == ch)
			break;
	if (p == NULL)
		return false;
	TAILQ_REMOVE(&w->prompts, p, entry);
	free(p);
	link_reply(w->link, id, ok, text);
	/* ssh would take it for an empty answer, and ask twice more. */
	if (!ok)
		link_give_up(w->link);
	return true;
}

static void
workspace_link_prompt(struct link *link, uint32_t id, bool echo,
    const char *text, void *arg)
{
	struct workspace *w = arg;
	struct chan *to = workspace_asked(w);
	enum conn_class class = CONN_CONTROL;
	struct prompt *p;
	struct buf b;

	if (to == NULL) {
		link_reply(link, id, false, "");
		link_give_up(link);
		return;
	}
	p = xcalloc(1, sizeof *p);
	p->id = id;
	p->chan = to;
	TAILQ_INSERT_TAIL(&w->prompts, p, entry);
	/* Behind the picture that makes room for it. */
	if (attach_ask(to->client))
		class = CONN_KEYS;
	buf_init(&b, 65536);
	buf_u32(&b, id);
	buf_u8(&b, echo);
	buf_str(&b, text);
	sclient_send_buf(to->client, class, F_PROMPT, to->number, &b);
	buf_free(&b);
}

/* --- the link ----------------------------------------------------------- */

/* For tests: without light beginnings, as with an older agent. */
static bool
workspace_whole(void)
{
#ifdef DLMUX_HOOKS
	return getenv("DLMUX_WHOLE") != NULL;
#else
	return false;
#endif
}

static void
workspace_up(struct workspace *w, const struct msg_hello *agent)
{
	static const uint8_t zero[MSG_ID];
	char id[2 * MSG_ID + 1];
	bool same;

	if (agent == NULL)
		return;
	same = memcmp(w->agent, agent->id, MSG_ID) == 0;
	hex_put(id, agent->id, MSG_ID);
	trace_fact(w->trace, "instance", w->agent_known && same ?
	    "remembered" : "asked", "%.8s, %s", id, !w->agent_known ?
	    "met for the first time" : same ? "the same as before" :
	    "another than before");
	trace_fact(w->trace, "shells", w->nshells > 0 ? "remembered" : "asked",
	    "%u from before", w->nshells);
	if (w->agent_known && !same && memcmp(w->agent, zero, MSG_ID) != 0)
		sshell_all_lost(w);
	memcpy(w->agent, agent->id, MSG_ID);
	w->agent_known = true;
	free(w->agent_version);
	w->agent_version = xstrdup(agent->version != NULL ? agent->version :
	    "");
	w->agent_history = strv_has(agent->features, FEATURE_HISTORY) &&
	    !workspace_whole();
	w->up = true;
	w->ready = false;
	w->down_ms = 0;
	state_later(w->server);
	if (w->refresh) {
		w->refresh = false;
		link_send(w->link, CONN_CONTROL, F_REFRESH, 0, NULL, 0);
	}
}

static void
workspace_down(struct workspace *w, struct link *link)
{
	uint64_t now = clock_ms(), silent;

	w->up = w->ready = false;
	silent = link_silent_ms(link);
	if (silent > now || silent > DEAD_IDLE_MS * 4)
		silent = 0;
	w->down_ms = now - silent;
	relay_link_down(w);
	sshell_link_down(w);
	past_link_down(w);
	sclient_release(w);
}

static void
workspace_link_room(struct link *link, void *arg)
{
	(void)link;
	sclient_release(arg);
}

static void
workspace_link_state(struct link *link, enum link_state state,
    const char *text, const struct msg_hello *agent, void *arg)
{
	static const char *const names[] = { "down", "connecting", "up",
	    "failed" };
	struct workspace *w = arg;
	char clean[512];

	log_info("%s: %s%s%s", w->name, names[state & 3],
	    text != NULL && *text != '\0' ? ": " : "",
	    log_clean(clean, sizeof clean, text != NULL ? text : ""));
	if (w->up)
		workspace_down(w, link);
	else if (w->down_ms == 0)
		w->down_ms = clock_ms();
	/* A link that is lost is one thing, one that does not come up another:
	 * that is an answer to whoever wanted it. */
	if (state == LINK_DOWN || state == LINK_FAILED)
		w->tried = w->connecting;
	w->connecting = state == LINK_CONNECTING;
	if (state == LINK_UP)
		workspace_up(w, agent);
	if (state != LINK_CONNECTING)
		attach_asked(w);
	/* A failed try is remembered. */
	if (state == LINK_FAILED)
		state_later(w->server);
	if (w->link == NULL)
		w->link = link;
	workspace_tell(w, NULL);
	workspace_changed(w);
	/* Who keeps an agent's screens lives as long as the agent wants. */
	if (w->server->keeper && state != LINK_UP && state != LINK_CONNECTING)
		event_base_loopexit(w->server->base, NULL);
}

/* For whoever waits for it: a bar instead of a silence. */
static void
workspace_link_sent(struct link *link, uint64_t bytes, uint64_t of, void *arg)
{
	struct workspace *w = arg;
	struct chan *ch;
	struct buf b;

	(void)link;
	buf_init(&b, 16);
	buf_u64(&b, bytes);
	buf_u64(&b, of);
	TAILQ_FOREACH(ch, &w->chans, ws_entry)
		if (ch->client->progress)
			sclient_send(ch->client, CONN_CONTROL, F_PROGRESS,
			    ch->number, b.data, b.len);
	buf_free(&b);
}

static void
workspace_link_message(struct link *link, uint8_t type, uint32_t channel,
    const uint8_t *data, size_t len, void *arg)
{
	struct workspace *w = arg;
	struct sshell *sh;
	struct rd r;
	char *why;

	(void)link;
	if (!w->up)
		return;
	switch (type) {
	case F_READY:
		if (!w->ready) {
			w->ready = true;
			sshell_all_told(w);
			trace_up(w->trace, w->nshells);
			workspace_changed(w);
			colours_tell(w);
		}
		break;
	case F_JOBS:
		workspace_jobs(w, data, len);
		break;
	case F_THEME:
		colours_told(w, data, len);
		break;
	case F_SHELL:
		if (!sshell_told(w, channel, data, len))
			log_warn("%s: a SHELL is damaged", w->name);
		break;
	case F_GONE:
		if ((sh = sshell_by_id(w, channel)) == NULL)
			break;
		rd_init(&r, data, len);
		why = rd_str(&r, 4096);
		sshell_gone(sh, why != NULL ? why : "");
		free(why);
		break;
	case F_OUTPUT:
		if (w->server->keeper)
			HOOK("keeper-output");
		/* FALLTHROUGH */
	case F_RESIZED:
	case F_MARK:
	case F_CHECKPOINT:
	case F_GAP:
		sh = sshell_by_id(w, channel);
		if (sh != NULL && sh->mirror != NULL)
			mirror_message(sh->mirror, type, data, len);
		break;
	case F_HISTORY:
		sh = sshell_by_id(w, channel);
		if (sh != NULL && sh->mirror != NULL)
			past_arrived(sh->mirror, data, len);
		break;
	case F_STARTED:
	case F_REFUSED:
	case F_DATA:
	case F_END:
	case F_CREDIT:
	case F_EXIT:
		relay_from_agent(w, type, channel, data, len);
		break;
	default:
		/* A newer agent's, marked as one to skip. */
		break;
	}
}
