/* SPDX-License-Identifier: ISC */
/*
 * Tries, one after another; contract in dial.h.
 *
 * Everything that could surprise a caller comes from the loop: dial_call()
 * only notes what is wanted and wakes `kick`. Callbacks stand last in what
 * calls them, so that the callee may do anything.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../base/buf.h"
#include "../base/clock.h"
#include "../base/limits.h"
#include "../base/log.h"
#include "../base/mem.h"
#include "dial.h"

struct dial {
	struct event_base	*base;
	const struct place	*place;
	const struct dial_cb	*cb;
	void			*arg;
	struct target		 target;
	struct target		 used;		/* of the attempt */
	char			**env;
	uint64_t		 limit_ms;
	struct trace		*trace;
	enum link_who		 who;		/* wanted this attempt */
	bool			 ask_next;	/* asked for while it ran */
	bool			 ask_held;	/* if only a user can go on */
	bool			 wanted;
	bool			 held;		/* only a user can go on */
	bool			 start;		/* kick: begin an attempt */
	bool			 gave_up;	/* kick: end it */
	bool			 handed;	/* up() was called: a link's now */
	bool			 twice;		/* a dying agent was met */
	struct attempt		*attempt;
	uint64_t		 begun;		/* clock_ms() of the attempt; 0 */
	uint64_t		 took_ms;	/* of the last good one; 0 */
	uint64_t		 next_at;	/* clock_ms() of the next try; 0 */
	enum link_who		 next_who;
	char			*why;		/* not up, since it was; NULL */
	char			*machine;	/* learned uname -sm */
	struct prompts		*prompts;
	struct retry		 retry;
	struct event		*kick, *timer;
};

static void
wake(struct dial *d)
{
	d->start = true;
	event_active(d->kick, EV_TIMEOUT, 1);
}

static void
remember(struct dial *d, const char *why)
{
	char *copy = why != NULL ? xstrdup(why) : NULL;

	free(d->why);
	d->why = copy;
}

/* Where a firewall may count connections. */
static enum retry_cap
cap(const struct dial *d, enum link_who who)
{
	if (d->target.scheme != SCHEME_SSH &&
	    d->target.scheme != SCHEME_DEVPOD &&
	    d->target.scheme != SCHEME_COMMAND)
		return RETRY_ANY;
	return who <= LINK_WAITING ? RETRY_BACKGROUND : RETRY_USER;
}

static void
unschedule(struct dial *d)
{
	event_del(d->timer);
	d->next_at = 0;
}

static void
try_in(struct dial *d, uint64_t ms, enum link_who who)
{
	struct timeval tv = { (time_t)(ms / 1000),
	    (suseconds_t)(ms % 1000 * 1000) };

	log_debug("link %s: again in %" PRIu64 " ms", d->target.name, ms);
	event_add(d->timer, &tv);
	d->next_at = clock_ms() + ms;
	d->next_who = who;
}

/* spent_ms: what the try took that failed just now. */
static void
schedule(struct dial *d, uint64_t spent_ms)
{
	if (d->wanted && !d->held)
		try_in(d, retry_delay(&d->retry, cap(d, LINK_RETURN),
		    spent_ms), LINK_RETURN);
}

/* ---- one try ---- */

static void
cancel(struct dial *d)
{
	attempt_cancel(d->attempt);
	d->attempt = NULL;
	d->handed = false;
	prompts_end(d->prompts);
}

static const char unanswered[] = "what it asked was not answered";

/*
 * What trying again in the background cannot cure, and what a far side may
 * answer with a ban of the user's address.
 */
static bool
needs_user(const char *why)
{
	return strstr(why, "Permission denied (") != NULL ||
	    strstr(why, "Host key verification failed") != NULL ||
	    strstr(why, "Too many authentication failures") != NULL ||
	    strcmp(why, unanswered) == 0;
}

void
dial_failed(struct dial *d, const char *why)
{
	trace_failed(d->trace, why);
	cancel(d);
	retry_failed(&d->retry);
	log_info("link %s: %s", d->target.name, why);
	remember(d, why);
	if (d->ask_next || (d->ask_held && needs_user(why))) {
		/* Somebody who can answer questions asked meanwhile. */
		d->ask_next = d->ask_held = false;
		d->who = LINK_ASK;
		wake(d);
		return;
	}
	d->held = needs_user(why);
	schedule(d, d->begun != 0 ? clock_ms() - d->begun : 0);
	d->cb->failed(d->why, d->arg);
}

static void
on_failed(const char *why, void *arg)
{
	struct dial *d = arg;

	d->attempt = NULL;
	dial_failed(d, why);
}

static void
on_up(int rfd, int wfd, struct transport *tr, const void *bytes, size_t len,
    void *arg)
{
	struct dial *d = arg;

	d->attempt = NULL;
	d->handed = true;
	d->cb->up(rfd, wfd, tr, bytes, len, d->arg);
}

static void
on_phase(const char *text, void *arg)
{
	struct dial *d = arg;

	d->cb->phase(text, d->arg);
}

static void
on_sent(uint64_t bytes, uint64_t of, void *arg)
{
	struct dial *d = arg;

	d->cb->sent(bytes, of, d->arg);
}

static void
on_machine(const char *machine, void *arg)
{
	struct dial *d = arg;

	free(d->machine);
	d->machine = xstrdup(machine);
}

static const struct attempt_cb attempt_callbacks = {
	.up = on_up,
	.failed = on_failed,
	.phase = on_phase,
	.sent = on_sent,
	.machine = on_machine,
};

/* A lockout of the user by the far side's firewall would be worse than
 * waiting. The pause first: it is the news. */
static void
pause_for(struct dial *d, uint64_t ms)
{
	char *text;

	schedule(d, 0);
	if (d->next_at != 0)
		ms = dial_next_ms(d);
	text = xasprintf("not tried: %u tries failed within %u s; next try in "
	    "%" PRIu64 " s%s%s", d->who == LINK_RETURN ? RETRY_BURST :
	    RETRY_BURST_USER, RETRY_WINDOW_MS / 1000, (ms + 999) / 1000,
	    d->why != NULL ? "; the last: " : "", d->why != NULL ? d->why : "");
	d->cb->failed(text, d->arg);
	free(text);
}

/* In the background: the network may have come back while TCP waits. */
static uint64_t
limit_ms(const struct dial *d)
{
	uint64_t ms = d->took_ms * 4;

	if (d->who != LINK_RETURN || d->took_ms == 0)
		return d->limit_ms;
	ms = ms > CONNECT_AGAIN_MS ? ms : CONNECT_AGAIN_MS;
	return ms < d->limit_ms ? ms : d->limit_ms;
}

static void
begin(struct dial *d)
{
	struct attempt_spec spec = { .base = d->base, .place = d->place,
	    .target = &d->used, .machine = d->machine,
	    .limit_ms = limit_ms(d), .trace = d->trace };
	uint64_t wait;

	d->start = d->gave_up = false;
	unschedule(d);
	if (d->attempt != NULL || d->handed)
		return;
	if ((wait = retry_wait(&d->retry, cap(d, d->who))) > 0) {
		pause_for(d, wait);
		return;
	}
	target_clear(&d->used);
	target_copy(&d->used, &d->target);
	spec.env = d->env;
	spec.askpass = prompts_start(d->prompts, d->who == LINK_ASK);
	d->ask_next = false;
	d->begun = clock_ms();
	trace_begin(d->trace);
	d->attempt = attempt_start(&spec, &attempt_callbacks, d);
	d->cb->begun(d->arg);
}

static void
on_kick(evutil_socket_t fd, short what, void *arg)
{
	struct dial *d = arg;

	(void)fd;
	(void)what;
	if (d->gave_up && d->attempt != NULL) {
		d->gave_up = false;
		dial_failed(d, unanswered);
	} else if (d->start)
		begin(d);
}

static void
on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct dial *d = arg;

	(void)fd;
	(void)what;
	d->next_at = 0;
	if (!d->wanted || d->held)
		return;
	d->who = d->next_who;
	begin(d);
}

/* ---- questions ---- */

static void
prompt_shown(uint32_t id, bool echo, const char *text, void *arg)
{
	struct dial *d = arg;

	if (d->attempt != NULL)
		attempt_pause(d->attempt, true);
	d->cb->prompt(id, echo, text, d->arg);
}

/* ssh wants to tell, not ask ("touch your key"). */
static void
prompt_told(const char *text, void *arg)
{
	struct dial *d = arg;

	if (d->attempt != NULL)
		d->cb->phase(text, d->arg);
}

static void
prompt_none_left(void *arg)
{
	struct dial *d = arg;

	if (d->attempt != NULL)
		attempt_pause(d->attempt, false);
}

static const struct prompts_cb prompt_callbacks = {
	.show = prompt_shown,
	.told = prompt_told,
	.none_left = prompt_none_left,
};

/* ---- the contract ---- */

struct dial *
dial_new(struct event_base *base, const struct place *place,
    const struct target *t, uint64_t limit, struct trace *trace,
    const struct dial_cb *cb, void *arg)
{
	extern char **environ;
	struct dial *d = xcalloc(1, sizeof *d);

	d->base = base;
	d->place = place;
	target_copy(&d->target, t);
	d->limit_ms = limit;
	d->trace = trace;
	d->cb = cb;
	d->arg = arg;
	d->env = strv_copy(environ);
	d->prompts = prompts_new(place->server_sock, &prompt_callbacks, d);
	d->kick = event_new(base, -1, 0, on_kick, d);
	d->timer = event_new(base, -1, 0, on_timer, d);
	return d;
}

void
dial_free(struct dial *d)
{
	cancel(d);
	event_free(d->kick);
	event_free(d->timer);
	prompts_free(d->prompts);
	target_clear(&d->target);
	target_clear(&d->used);
	strv_free(d->env);
	free(d->machine);
	free(d->why);
	free(d);
}

void
dial_target(struct dial *d, const struct target *t)
{
	struct target old = d->target;

	target_copy(&d->target, t);
	/* What failed was another thing; a user who has just mended the config
	 * does not wait for its pause. */
	if (!target_same_way(&old, t)) {
		retry_get(&d->retry, NULL);
		remember(d, NULL);
		d->took_ms = 0;
	}
	target_clear(&old);
}

/* A try in the background without a word for longer than one takes: it may be
 * caught in TCP's own long pauses. */
static bool
stale(const struct dial *d)
{
	uint64_t ms = d->took_ms * 4;

	if (d->attempt == NULL || d->who != LINK_RETURN ||
	    attempt_heard(d->attempt))
		return false;
	if (d->took_ms == 0)
		ms = CONNECT_STALE_MS * 5;
	else if (ms < CONNECT_STALE_MS)
		ms = CONNECT_STALE_MS;
	return clock_ms() - d->begun > ms;
}

void
dial_adopt(struct dial *d, int fd)
{
	d->handed = true;
	d->cb->up(fd, fd, NULL, NULL, 0, d->arg);
}

/* At once, but for a while after the last try; and not where a user is needed
 * for more than typing. */
static bool
may_hurry(struct dial *d)
{
	uint64_t ms = clock_ms() - d->begun;

	if (!d->wanted || d->held)
		return false;
	if (ms >= CONNECT_TYPED_MS)
		return true;
	ms = CONNECT_TYPED_MS - ms;
	if (d->next_at != 0 && dial_next_ms(d) > ms)
		try_in(d, ms, LINK_USER);
	return false;
}

/* Nobody acted: as it is after a loss. */
static bool
come_back(struct dial *d)
{
	if (d->attempt != NULL || d->handed || d->start || d->held ||
	    d->next_at != 0)
		return false;
	d->who = LINK_RETURN;
	wake(d);
	return true;
}

bool
dial_call(struct dial *d, char *const *env, enum link_who who)
{
	if (env != NULL) {
		strv_free(d->env);
		d->env = strv_copy(env);
	}
	if (who == LINK_WAITING)
		d->ask_held = true;
	if (who == LINK_RETURN || (who == LINK_WAITING && !d->held))
		return come_back(d);
	if (who == LINK_WAITING)
		who = LINK_ASK;
	if (who == LINK_TYPING && !may_hurry(d))
		return false;
	if (d->handed)
		return false;
	if (stale(d)) {
		log_info("link %s: a user acts: anew", d->target.name);
		cancel(d);
		retry_failed(&d->retry);
	}
	if (d->attempt != NULL || d->start) {
		d->ask_next |= who == LINK_ASK && d->who != LINK_ASK;
		return false;
	}
	d->who = who;
	d->held = false;
	retry_clear(&d->retry);
	wake(d);
	return true;
}

void
dial_want(struct dial *d, bool on)
{
	d->wanted = on;
	if (!on)
		unschedule(d);
	else if (d->attempt == NULL && !d->handed && !d->start &&
	    d->next_at == 0)
		schedule(d, 0);
}

void
dial_stop(struct dial *d)
{
	cancel(d);
	unschedule(d);
	d->wanted = d->start = d->ask_next = d->ask_held = false;
	remember(d, NULL);
}

void
dial_up(struct dial *d)
{
	d->took_ms = d->begun != 0 ? clock_ms() - d->begun : 0;
	d->ask_next = d->ask_held = d->held = d->twice = false;
	unschedule(d);
	remember(d, NULL);
}

bool
dial_twice(struct dial *d)
{
	if (d->twice || !d->handed || d->used.scheme != SCHEME_LOCAL)
		return false;
	d->handed = false;
	d->twice = true;
	wake(d);
	return true;
}

void
dial_lost(struct dial *d, const char *why, bool lasted)
{
	cancel(d);
	if (lasted)
		retry_clear(&d->retry);
	else
		retry_failed(&d->retry);
	remember(d, why);
	schedule(d, 0);
}

bool
dial_wanted(const struct dial *d)
{
	return d->wanted && !d->held;
}

bool
dial_held(const struct dial *d)
{
	return d->held;
}

uint64_t
dial_next_ms(const struct dial *d)
{
	uint64_t now = clock_ms();

	return d->next_at > now ? d->next_at - now : 0;
}

const char *
dial_why(const struct dial *d)
{
	return d->why;
}

pid_t
dial_pid(const struct dial *d)
{
	return d->attempt != NULL ? attempt_pid(d->attempt) : 0;
}

void
dial_give_up(struct dial *d)
{
	if (d->attempt == NULL)
		return;
	d->gave_up = true;
	event_active(d->kick, EV_TIMEOUT, 1);
}

struct prompts *
dial_prompts(struct dial *d)
{
	return d->prompts;
}

struct retry *
dial_retry(struct dial *d)
{
	return &d->retry;
}
