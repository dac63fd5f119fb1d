/* SPDX-License-Identifier: ISC */
/* When a keeper is needed, and its life; contract in keeper.h. */
#include <sys/socket.h>
#include <sys/wait.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../base/clock.h"
#include "../base/fd.h"
#include "../base/limits.h"
#include "../base/log.h"
#include "../base/mem.h"
#include "keeper.h"
#include "peer.h"
#include "shell.h"
#include "watch.h"

struct keeper {
	struct agent	*agent;
	struct event	*timer;		/* to start one, or to look at it */
	struct peer	*peer;		/* NULL: none runs */
	struct proc	*proc;
	bool		 killed;	/* proc was, by us */
	uint64_t	 started_ms;	/* clock_ms() */
	uint64_t	 unneeded_ms;	/* since when; 0: it is needed */
	unsigned int	 deaths;	/* one after the other */
};

static void
keeper_timer_ms(struct keeper *k, unsigned int ms)
{
	struct timeval tv = { (time_t)(ms / 1000),
	    (suseconds_t)(ms % 1000 * 1000) };

	event_add(k->timer, &tv);
}

bool
keeper_shuns(const struct shell *sh)
{
	return sh->keeper_deaths >= KEEPER_SHELL_DEATHS;
}

/* ---- is one needed? ---- */

/* Half of what a shell's ring may hold: the rest is for the time until there
 * is a checkpoint. */
static uint64_t
keeper_behind(const struct agent *a)
{
	size_t share = RING_BUDGET / (a->nshells > 0 ? a->nshells : 1);

	return (share < RING_MAX ? share : RING_MAX) / 2;
}

/* More output than that which no server has taken ... */
static bool
keeper_untaken(const struct shell *sh)
{
	const struct watch *w;
	uint64_t best = 0;

	if (sh->state != SHELL_RUNNING || keeper_shuns(sh))
		return false;
	TAILQ_FOREACH(w, &sh->watches, of_shell)
		if (!w->peer->keeper && w->taken > best)
			best = w->taken;
	return sh->ring.end - best > keeper_behind(sh->agent);
}

/* ... and that no checkpoint covers either. */
static bool
keeper_uncovered(const struct shell *sh)
{
	uint64_t best = sh->full.offset;

	if (sh->light.offset > best)
		best = sh->light.offset;
	return keeper_untaken(sh) &&
	    sh->ring.end - best > keeper_behind(sh->agent);
}

static bool
keeper_needed(const struct agent *a)
{
	const struct shell *sh;

	TAILQ_FOREACH(sh, &a->shells, entry) {
		if (sh->state != SHELL_RUNNING || keeper_shuns(sh))
			continue;
		if (a->nlinked == 0 || keeper_untaken(sh))
			return true;
	}
	return false;
}

void
keeper_output(struct shell *sh)
{
	struct keeper *k = sh->agent->keeper;

	if (k == NULL || k->peer != NULL || k->proc != NULL ||
	    sh->state != SHELL_RUNNING || keeper_shuns(sh) ||
	    k->deaths > KEEPER_DEATHS_MAX)
		return;
	if (keeper_uncovered(sh)) {
		/* There is no time to lose, unless it dies all the time. */
		if (k->deaths == 0)
			event_active(k->timer, EV_TIMEOUT, 0);
	} else if (sh->agent->nlinked > 0)
		return;
	if (!event_pending(k->timer, EV_TIMEOUT, NULL))
		keeper_timer_ms(k, KEEPER_GRACE_MS << (2 * k->deaths));
}

bool
keeper_gates(struct shell *sh, uint64_t now, uint64_t *ms)
{
	struct keeper *k = sh->agent->keeper;
	struct watch *w;

	if (k == NULL || k->peer == NULL || !keeper_uncovered(sh))
		return false;
	*ms = LAG_MS / 2;
	w = watch_find(k->peer, sh);
	if (w == NULL)
		return now - k->started_ms < LAG_MS;
	if (sh->ring.end - w->taken <= keeper_behind(sh->agent))
		return false;
	return watch_alive(w, sh->gated_ms != 0 ? sh->gated_ms : now, now);
}

/* ---- its life ---- */

static void
keeper_started(enum spawn_stage stage, int error, void *arg)
{
	struct keeper *k = arg;

	if (stage == SPAWN_OK)
		return;
	k->proc = NULL;		/* the connection's end tells the rest */
	k->deaths = KEEPER_DEATHS_MAX + 1;
	log_warn("no keeper: %s", strerror(error));
}

static void
keeper_exited(int status, void *arg)
{
	struct keeper *k = arg;

	k->proc = NULL;
	if (WIFSIGNALED(status) &&
	    !(k->killed && WTERMSIG(status) == SIGKILL))
		log_warn("the keeper was killed by signal %d",
		    WTERMSIG(status));
}

static void
keeper_start(struct keeper *k)
{
	static const struct proc_cb cb = { keeper_started, keeper_exited };
	char *argv[] = { (char *)(uintptr_t)"dlmux",
	    (char *)(uintptr_t)"server", (char *)(uintptr_t)"--keeper", NULL };
	struct spawn s = { .file = "/proc/self/exe", .argv = argv,
	    .env = environ, .home = "/", .tty = -1 };
	int fd[2], null;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd) == -1) {
		log_warn("no keeper: %s", strerror(errno));
		return;
	}
	if ((null = open("/dev/null", O_RDWR | O_CLOEXEC)) != -1) {
		s.fds[0] = fd[1];
		s.fds[1] = s.fds[2] = null;
		k->killed = false;
		k->proc = proc_spawn(k->agent->procs, &s, &cb, k);
		close(null);
	}
	close(fd[1]);
	if (k->proc == NULL) {
		log_warn("no keeper: %s", strerror(errno));
		close(fd[0]);
		return;
	}
	log_info("nobody reads the shells' output: keeper %ld started",
	    (long)proc_pid(k->proc));
	k->started_ms = clock_ms();
	k->unneeded_ms = 0;
	k->peer = peer_new_keeper(k->agent, fd[0]);
	keeper_timer_ms(k, KEEPER_LOOK_MS);
}

/* Was it sent what it has not taken? */
static bool
keeper_has(const struct watch *w)
{
	return !w->fresh && w->cursor > w->taken;
}

/* Given output and silent about it: it spins in something. */
static bool
keeper_stuck(const struct keeper *k, uint64_t now)
{
	const struct watch *w;

	TAILQ_FOREACH(w, &k->peer->watches, of_peer)
		if (keeper_has(w) && now - w->acked_ms > KEEPER_STUCK_MS &&
		    now - w->sent_ms > KEEPER_STUCK_MS)
			return true;
	return false;
}

static void
keeper_kill(struct keeper *k)
{
	if (k->proc == NULL)
		return;
	k->killed = true;
	proc_signal(k->proc, SIGKILL);
}

static void
keeper_look(struct keeper *k)
{
	uint64_t now = clock_ms();

	if (keeper_stuck(k, now)) {
		log_warn("the keeper is stuck: killed");
		keeper_kill(k);
	} else if (keeper_needed(k->agent))
		k->unneeded_ms = 0;
	else if (k->unneeded_ms == 0)
		k->unneeded_ms = now;
	else if (now - k->unneeded_ms >= KEEPER_UNNEEDED_MS) {
		log_info("the keeper is not needed any more");
		peer_bye(k->peer, "servers read the shells' output again");
		return;
	}
	if (k->deaths > 0 && now - k->started_ms >= KEEPER_LIVED_MS)
		k->deaths = 0;
	keeper_timer_ms(k, KEEPER_LOOK_MS);
}

static void
keeper_timer(evutil_socket_t fd, short what, void *arg)
{
	struct keeper *k = arg;
	const struct shell *sh;
	bool start = false;

	(void)fd;
	(void)what;
	if (k->peer != NULL) {
		keeper_look(k);
		return;
	}
	/* A server may have come meanwhile. */
	TAILQ_FOREACH(sh, &k->agent->shells, entry)
		if (sh->state == SHELL_RUNNING && !keeper_shuns(sh) &&
		    (k->agent->nlinked == 0 || keeper_uncovered(sh)))
			start = true;
	if (start && k->proc == NULL)
		keeper_start(k);
}

/* Which output killed it? Some that it had and had not taken. Of several, the
 * next keeper gets one after the other, so that the second time shows who. To
 * be blamed twice it has to be at one place: others go on in between. */
static void
keeper_blame(const struct peer *p)
{
	struct watch *w;
	struct shell *sh;
	bool suspects = false;

	TAILQ_FOREACH(w, &p->watches, of_peer)
		if (keeper_has(w) && w->shell->keeper_deaths > 0)
			suspects = true;
	TAILQ_FOREACH(w, &p->watches, of_peer) {
		sh = w->shell;
		if (!keeper_has(w) || (suspects && sh->keeper_deaths == 0))
			continue;
		if (sh->keeper_deaths > 0 && w->taken > sh->keeper_died +
		    KEEPER_PLACE)
			sh->keeper_deaths = 0;
		sh->keeper_died = w->taken;
		sh->keeper_sent = w->cursor;
		if (++sh->keeper_deaths == KEEPER_SHELL_DEATHS)
			log_warn("shell %u: its output at %llu killed the "
			    "keeper again: not shown to it any more", sh->id,
			    (unsigned long long)w->taken);
	}
}

bool
keeper_turn(const struct watch *w)
{
	const struct watch *o;

	if (!w->peer->keeper || w->shell->keeper_deaths == 0)
		return true;
	TAILQ_FOREACH(o, &w->peer->watches, of_peer)
		if (o != w && o->shell->keeper_deaths > 0 && keeper_has(o))
			return false;
	return true;
}

void
keeper_taken(struct watch *w)
{
	struct watch *o;

	if (!w->peer->keeper || w->shell->keeper_deaths == 0)
		return;
	if (w->taken >= w->shell->keeper_sent)
		w->shell->keeper_deaths = 0;
	TAILQ_FOREACH(o, &w->peer->watches, of_peer)
		if (o->shell->keeper_deaths > 0)
			peer_watch_ready(o->peer, o);
}

void
keeper_lost(struct peer *p)
{
	struct keeper *k = p->agent->keeper;

	if (k == NULL || k->peer != p)
		return;
	k->peer = NULL;
	event_del(k->timer);
	if (!p->leaving) {
		keeper_blame(p);
		if (k->deaths <= KEEPER_DEATHS_MAX &&
		    ++k->deaths > KEEPER_DEATHS_MAX)
			log_warn("the keeper died %u times: no other is "
			    "started before a server was here", k->deaths);
		else if (keeper_needed(p->agent))
			keeper_timer_ms(k, KEEPER_GRACE_MS <<
			    (2 * k->deaths));
	}
	/* It has nothing to lose. */
	keeper_kill(k);
}

void
keeper_linked(struct agent *a)
{
	if (a->keeper != NULL)
		a->keeper->deaths = 0;
}

struct keeper *
keeper_new(struct agent *a)
{
	const char *v = getenv("DLMUX_KEEPER");
	struct keeper *k;

	if (v != NULL && strcmp(v, "no") == 0)
		return NULL;
	k = xcalloc(1, sizeof *k);
	k->agent = a;
	if ((k->timer = evtimer_new(a->base, keeper_timer, k)) == NULL)
		fatal("out of memory");
	return k;
}

void
keeper_free(struct keeper *k)
{
	if (k == NULL)
		return;
	if (k->proc != NULL)
		proc_forget(k->proc);
	event_free(k->timer);
	free(k);
}
