/* SPDX-License-Identifier: ISC */
/*
 * The agent itself. One per place: a lock held for life, a socket that is
 * put back when a cleaner took it, an end some minutes after the last shell
 * and link. Contract in daemon.h.
 */
#include <sys/socket.h>
#include <sys/stat.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../base/clock.h"
#include "../base/dirwatch.h"
#include "../base/fd.h"
#include "../base/limits.h"
#include "../base/lock.h"
#include "../base/log.h"
#include "../base/mem.h"
#include "../base/scope.h"
#include "../base/sweep.h"
#include "core.h"
#include "daemon.h"
#include "env.h"
#include "envprobe.h"
#include "handoff.h"
#include "keeper.h"
#include "op.h"
#include "peer.h"
#include "shell.h"

static void
daemon_say(int *ready, const char *text)
{
	char *line;

	/* In one write: a reader may take what one read gives for all. */
	if (*ready != -1) {
		line = xasprintf("%s\n", text);
		(void)fd_write_all(*ready, line, strlen(line));
		free(line);
	}
	fd_close(ready);
}

char **
agent_env(const struct agent *a)
{
	char **env = strv_copy(a->env);

	env_complete(&env);
	return env;
}

/* ---- lock and socket ---- */

/*
 * The lock: 1 if we have it; 0 if another agent has, and answers. Its socket
 * may not be there yet, or not be there any more: it is asked for that. Or it
 * is dying just now. -1 and *cause.
 */
static int
daemon_lock(struct agent *a, char **cause)
{
	const struct place *place = a->place;
	uint64_t until = clock_ms() + AGENT_START_MS / 2;
	int fd;

	while ((a->lock = lock_take(place->agent_lock, cause)) == -1) {
		if (*cause != NULL)
			return -1;
		fd = fd_connect_unix(place->agent_sock);
		if (fd != -1) {
			close(fd);
			return 0;
		}
		if (errno == EISDIR) {
			*cause = fd_in_the_way(place->agent_sock, errno);
			return -1;
		}
		if (clock_ms() >= until) {
			*cause = xasprintf("%s: another agent holds it, but "
			    "does not answer", place->agent_lock);
			return -1;
		}
		lock_wake(place->agent_lock);
		poll(NULL, 0, 20);
	}
	return 1;
}

static void
daemon_accept_again(evutil_socket_t fd, short what, void *arg)
{
	struct agent *a = arg;

	(void)fd;
	(void)what;
	if (a->accept != NULL)
		event_add(a->accept, NULL);
}

static void
daemon_accept(evutil_socket_t fd, short what, void *arg)
{
	static const struct timeval later = { 1, 0 };
	struct agent *a = arg;
	int c;

	(void)what;
	c = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (c == -1 && (errno == EMFILE || errno == ENFILE ||
	    errno == ENOMEM || errno == ENOBUFS)) {
		/* Who waits in the queue stays readable: not at once again. */
		log_warn("accept: %s", strerror(errno));
		event_del(a->accept);
		event_base_once(a->base, -1, EV_TIMEOUT, daemon_accept_again,
		    a, &later);
	}
	if (c == -1)
		return;
	if (!fd_peer_is_us(c, NULL)) {
		log_warn("a connection of another user: refused");
		close(c);
	} else if (a->npeers + a->nhandoffs >= AGENT_PEERS_MAX) {
		log_warn("too many connections: one refused");
		close(c);
	} else
		handoff_new(a, c);
}

static int
daemon_listen(struct agent *a, char **cause)
{
	if ((a->listener = fd_listen_unix(a->place->agent_sock, cause)) == -1)
		return -1;
	a->accept = event_new(a->base, a->listener, EV_READ | EV_PERSIST,
	    daemon_accept, a);
	if (a->accept != NULL)
		event_add(a->accept, NULL);
	return 0;
}

static void
daemon_unlisten(struct agent *a)
{
	if (a->accept != NULL)
		event_free(a->accept);
	a->accept = NULL;
	fd_close(&a->listener);
}

static void	 daemon_name_gone(void *);

static void
daemon_put_back(struct agent *a)
{
	char *cause = NULL;
	struct stat st;
	int lock;

	if (place_again(a->place, &cause) == -1)
		goto fail;
	if (!lock_there(a->place->agent_lock, a->lock)) {
		lock = lock_take(a->place->agent_lock, &cause);
		if (lock == -1)
			goto fail;
		close(a->lock);
		a->lock = lock;
	}
	if (lstat(a->place->agent_sock, &st) == -1 || !S_ISSOCK(st.st_mode)) {
		log_info("the socket is gone: putting it back");
		daemon_unlisten(a);
		if (daemon_listen(a, &cause) == -1)
			goto fail;
	}
	if (a->names == NULL)
		a->names = dirwatch_new(a->base, a->place->dir,
		    daemon_name_gone, a);
	dirwatch_again(a->names);
	return;
fail:
	/* What was tried in vain comes and goes there, too: at the next look,
	 * not at once. */
	dirwatch_free(a->names);
	a->names = NULL;
	log_warn("%s", cause != NULL ? cause : "another agent took the lock");
	free(cause);
}

static void
daemon_name_gone(void *arg)
{
	daemon_put_back(arg);
}

static void
daemon_check(evutil_socket_t fd, short what, void *arg)
{
	static unsigned int turns;
	struct agent *a = arg;

	(void)fd;
	(void)what;
	daemon_put_back(a);
	if (turns == 0)
		(void)sweep_places(a->place);
	/* Cleaners go by age. */
	if (turns++ % 60 == 0) {
		(void)utimensat(AT_FDCWD, a->place->dir, NULL, 0);
		(void)utimensat(AT_FDCWD, a->place->agent_sock, NULL, 0);
		(void)utimensat(AT_FDCWD, a->place->agent_lock, NULL, 0);
	}
}

/* ---- time ---- */

/* Our name goes first, then nobody new can come; who came meanwhile is in the
 * queue. */
static bool
daemon_may_end(struct agent *a)
{
	char *cause = NULL;
	int c;

	(void)unlink(a->place->agent_sock);
	c = accept4(a->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (c == -1)
		return true;
	if (fd_peer_is_us(c, NULL))
		handoff_new(a, c);
	else
		close(c);
	daemon_unlisten(a);
	if (daemon_listen(a, &cause) == -1)
		log_warn("%s", cause);
	free(cause);
	return false;
}

static uint64_t
daemon_idle_limit(const struct agent *a)
{
	const char *v = getenv("DLMUX_AGENT_IDLE_MS");	/* for tests */

	if (a->nended > 0)
		return AGENT_IDLE_ENDED_MS;
	return v != NULL ? strtoull(v, NULL, 10) : AGENT_IDLE_MS;
}

static void
daemon_tick(evutil_socket_t fd, short what, void *arg)
{
	struct agent *a = arg;
	struct timeval tv = { 30, 0 };
	uint64_t now = clock_ms(), limit = daemon_idle_limit(a);

	(void)fd;
	(void)what;
	op_tick(a, now);
	peer_tick(a);
	if (a->nshells > a->nended || a->npeers > 0 || a->nhandoffs > 0 ||
	    a->nops > 0)
		a->idle_since = 0;
	else if (a->idle_since == 0)
		a->idle_since = now;
	else if (now - a->idle_since >= limit && daemon_may_end(a)) {
		log_info("idle: ending");
		event_base_loopbreak(a->base);
		return;
	}
	if (a->nops > 0)
		tv.tv_sec = 5;
	if (limit < 30000) {
		tv.tv_sec = 0;
		tv.tv_usec = 50000;
	}
	event_add(a->tick, &tv);
}

/* ---- life ---- */

static void
daemon_signals(void)
{
	struct sigaction sa;
	static const int ignored[] = { SIGHUP, SIGINT, SIGQUIT, SIGTERM,
	    SIGPIPE, SIGTSTP, SIGTTIN, SIGTTOU, SIGUSR1, SIGUSR2 };
	size_t i;

	/* The shells hang on this process: a logout's TERM is not for it.
	 * USR1 may come before there is a loop to hear it. */
	memset(&sa, 0, sizeof sa);
	sa.sa_handler = SIG_IGN;
	for (i = 0; i < sizeof ignored / sizeof *ignored; i++)
		(void)sigaction(ignored[i], &sa, NULL);
	/* A mask that was inherited would keep SIGCHLD away. */
	sigemptyset(&sa.sa_mask);
	(void)sigprocmask(SIG_SETMASK, &sa.sa_mask, NULL);
}

static void
daemon_scope(evutil_socket_t fd, short what, void *arg)
{
	const struct agent *a = arg;

	(void)fd;
	(void)what;
	scope_leave("agent", a->place->agent_log);
}

static void
daemon_run(struct agent *a)
{
	static const struct timeval check = { AGENT_CHECK_MS / 1000, 0 };
	static const struct timeval soon = { 0, 50000 };
	static const struct timeval later = { SCOPE_AFTER_MS / 1000,
	    SCOPE_AFTER_MS % 1000 * 1000 };
	struct event *usr1;

	usr1 = evsignal_new(a->base, SIGUSR1, daemon_check, a);
	daemon_put_back(a);
	a->check = event_new(a->base, -1, EV_PERSIST, daemon_check, a);
	a->tick = evtimer_new(a->base, daemon_tick, a);
	if (usr1 == NULL || a->check == NULL || a->tick == NULL)
		fatal("out of memory");
	event_add(usr1, NULL);
	event_add(a->check, &check);
	event_add(a->tick, &soon);
	event_base_once(a->base, -1, EV_TIMEOUT, daemon_scope, a, &later);
	event_base_dispatch(a->base);
	event_free(usr1);
	dirwatch_free(a->names);
	event_free(a->check);
	event_free(a->tick);
}

/* Whatever was open in whoever started us is not ours to hold, standard error
 * included: an ssh session would wait for it. */
static void
daemon_descriptors(int *ready)
{
	int null, i;

	fd_sanitize();
	if (*ready <= 2)
		*ready = -1;
	else if (*ready != 3 && dup2(*ready, 3) != -1)
		*ready = 3;
	fd_close_from(*ready == -1 ? 3 : 4);
	if (*ready != -1)
		(void)fd_cloexec(*ready);
	if ((null = open("/dev/null", O_RDWR | O_CLOEXEC)) == -1)
		return;
	for (i = 0; i < 3; i++)
		(void)dup2(null, i);
	close(null);
}

int
daemon_main(int ready)
{
	struct agent *a;
	char *cause = NULL;
	int got, r = 1;

	daemon_descriptors(&ready);
	daemon_signals();
	a = xcalloc(1, sizeof *a);
	a->lock = a->listener = -1;
	if ((a->place = place_open(NULL, &cause)) == NULL)
		goto out;
	(void)log_open(a->place->agent_log, "agent");
	if ((got = daemon_lock(a, &cause)) != 1) {
		r = got == 0 ? 0 : 1;
		goto out;
	}
	if ((a->base = fd_loop(0)) == NULL) {
		cause = xstrdup("no event loop");
		goto out;
	}
	TAILQ_INIT(&a->peers);
	TAILQ_INIT(&a->shells);
	LIST_INIT(&a->handoffs);
	op_init(a);
	random_bytes(a->id, sizeof a->id);
	a->env = strv_copy(environ);
	env_clean(a->env);
	a->procs = procs_new(a->base);
	a->probe = envprobe_new(a);
	a->keeper = keeper_new(a);
	if (chdir("/") == -1 || daemon_listen(a, &cause) == -1)
		goto out;
	log_info("agent %s is here", DLMUX_VERSION);
	daemon_say(&ready, "ok");
	daemon_run(a);
	r = 0;
out:
	if (r == 0)
		daemon_say(&ready, "ok");
	else
		daemon_say(&ready, cause != NULL ? cause : strerror(errno));
	free(cause);
	if (a->base != NULL) {
		handoff_clear(a);
		peer_clear(a);
		keeper_free(a->keeper);
		a->keeper = NULL;
		op_clear(a);
		shell_clear(a);
		envprobe_free(a->probe);
		procs_free(a->procs);
		daemon_unlisten(a);
		event_base_free(a->base);
	}
	strv_free(a->env);
	place_free(a->place);
	fd_close(&a->lock);
	free(a);
	return r;
}
