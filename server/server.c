/* SPDX-License-Identifier: ISC */
/*
 * The server's life: the lock that makes it the only one, the socket, the
 * loop, and the end of each pass where the work is done that callbacks asked
 * for. It knows clients only as descriptors that are ours to serve.
 */
#include <sys/socket.h>
#include <sys/stat.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/dirwatch.h"
#include "base/fd.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/sweep.h"
#include "base/scope.h"
#include "blame.h"
#include "inside.h"
#include "link/child.h"
#include "server.h"

#define TICK_MS 500
#define NAMES_CHECK_S 60	/* cleaners come by the day */

static void
timer_ms(struct event *ev, unsigned int ms)
{
	struct timeval tv = { ms / 1000, (ms % 1000) * 1000 };

	evtimer_add(ev, &tv);
}

void
server_later(struct server *s)
{
	if (s->pass_due)
		return;
	s->pass_due = true;
	/* At the tail of what is ready now: the end of the pass. */
	event_active(s->pass_ev, EV_TIMEOUT, 0);
}

static void
server_pass(int fd, short what, void *arg)
{
	struct server *s = arg;
	struct workspace *w;

	(void)fd;
	(void)what;
	s->pass_due = false;
	sshell_settle_due(s);
	TAILQ_FOREACH(w, &s->workspaces, entry) {
		request_retry(w);
		if (w->changed) {
			w->changed = false;
			attach_retry(w);
		}
		workspace_settle(w);
	}
	attach_settle(s);
	TAILQ_FOREACH(w, &s->workspaces, entry)
		past_settle(w);
	workspace_forget(s);
	if (s->reap) {
		s->reap = false;
		sclient_reap(s);
	}
}

static void
server_tick(int fd, short what, void *arg)
{
	struct server *s = arg;

	(void)fd;
	(void)what;
	attach_tick(s);
	if (!TAILQ_EMPTY(&s->atts)) {
		timer_ms(s->tick_ev, TICK_MS);
		server_later(s);
	}
}

void
server_tick_on(struct server *s)
{
	if (!evtimer_pending(s->tick_ev, NULL))
		timer_ms(s->tick_ev, TICK_MS);
}

const struct conf *
server_conf(struct server *s, char **cause)
{
	struct conf *c;

	if ((c = conf_load(s->place->config, cause)) == NULL)
		return NULL;
	conf_free(s->conf);
	s->conf = c;
	return c;
}

const char *
server_prefix(const struct server *s)
{
	if (s->conf == NULL || s->conf->prefix == NULL)
		return "C-\\";
	return s->conf->prefix;
}

/* --- accepting ---------------------------------------------------------- */

static void
server_accept(int fd, short what, void *arg)
{
	struct server *s = arg;
	pid_t pid = 0;
	int c;

	(void)what;
	c = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (c == -1) {
		if (errno != EMFILE && errno != ENFILE && errno != ENOBUFS &&
		    errno != ENOMEM)
			return;
		/* The connection stays in the queue and the socket readable:
		 * without a pause the loop would do nothing else. */
		log_warn("no descriptors for a new client: waiting");
		event_del(s->listen_ev);
		timer_ms(s->again_ev, ACCEPT_PAUSE_MS);
		return;
	}
	if (!fd_peer_is_us(c, &pid)) {
		log_warn("a client of another user was refused");
		close(c);
		return;
	}
	if (s->stopping || s->nclients >= CLIENTS_MAX) {
		if (!s->stopping)
			log_warn("client (pid %ld) refused: %u are connected",
			    (long)pid, s->nclients);
		close(c);
		return;
	}
	sclient_new(s, c, pid);
}

void
server_accept_again(struct server *s)
{
	if (s->listen_ev == NULL || s->stopping)
		return;
	if (!event_pending(s->listen_ev, EV_READ, NULL)) {
		event_add(s->listen_ev, NULL);
		event_del(s->again_ev);
	}
}

static void
server_again(int fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	server_accept_again(arg);
}

/* --- the end ------------------------------------------------------------ */

static void
server_stopped(int fd, short what, void *arg)
{
	struct server *s = arg;

	(void)fd;
	(void)what;
	event_base_loopexit(s->base, NULL);
}

void
server_stop(struct server *s, bool restart)
{
	struct workspace *w;

	if (s->stopping)
		return;
	s->stopping = true;
	log_info("%s", restart ? "restarting" : "stopping");
	if (s->listen_ev != NULL)
		event_del(s->listen_ev);
	/* The name goes first: whoever comes now starts a new server, which
	 * waits for our lock. */
	if (lock_there(s->place->server_lock, s->lock_fd))
		(void)unlink(s->place->server_sock);
	state_save(s);
	attach_stop(s, restart);
	TAILQ_FOREACH(w, &s->workspaces, entry)
		if (w->link != NULL)
			link_disconnect(w->link, "disconnected");
	timer_ms(s->stop_ev, STOP_MS);
}

static void
server_signal(int sig, short what, void *arg)
{
	(void)what;
	if (sig != SIGHUP)
		server_stop(arg, false);
}

/* --- the beginning ------------------------------------------------------ */

static void
ready_say(int *fd, const char *text)
{
	if (*fd == -1)
		return;
	(void)!write(*fd, text, strlen(text));
	fd_close(fd);
}

static int
ready_fd(int argc, char **argv)
{
	struct stat st;
	char *end;
	long n;
	int i;

	for (i = 0; i + 1 < argc; i++) {
		if (strcmp(argv[i], "--run") != 0)
			continue;
		n = strtol(argv[i + 1], &end, 10);
		if (*end == '\0' && end != argv[i + 1] && n > 2 && n < 65536 &&
		    fcntl((int)n, F_GETFD) != -1)
			return (int)n;
	}
	if (fstat(3, &st) == 0 && S_ISFIFO(st.st_mode))
		return 3;
	return -1;
}

/* --- its names ------------------------------------------------------------ */

static int
server_listen(struct server *s, char **cause)
{
	struct stat st;

	s->listen_fd = fd_listen_unix(s->place->server_sock, cause);
	if (s->listen_fd == -1)
		return -1;
	if (lstat(s->place->server_sock, &st) == 0)
		s->sock_ino = st.st_ino;
	(void)fd_nonblock(s->listen_fd);
	s->listen_ev = event_new(s->base, s->listen_fd, EV_READ | EV_PERSIST,
	    server_accept, s);
	event_add(s->listen_ev, NULL);
	return 0;
}

/* The lock is held for life and taken over by the kernel at death: whoever
 * has it may replace the socket. Without our names nobody finds us, and a
 * second server could start beside us. */
static void
server_names(void *arg)
{
	struct server *s = arg;
	const struct place *p = s->place;
	char *cause = NULL;
	struct stat st;
	int lock;

	if (s->stopping)
		return;
	if (place_again(p, &cause) == -1)
		goto fail;
	if (!lock_there(p->server_lock, s->lock_fd)) {
		lock = lock_take(p->server_lock, &cause);
		if (lock == -1 && cause == NULL) {
			log_warn("another server took our place");
			server_stop(s, true);
			return;
		}
		if (lock == -1)
			goto fail;
		fd_close(&s->lock_fd);
		s->lock_fd = lock;
	}
	if (lstat(p->server_sock, &st) == -1 || st.st_ino != s->sock_ino) {
		log_info("the socket is gone: putting it back");
		if (s->listen_ev != NULL)
			event_free(s->listen_ev);
		s->listen_ev = NULL;
		fd_close(&s->listen_fd);
		if (server_listen(s, &cause) == -1)
			goto fail;
	}
	if (s->watch == NULL)
		s->watch = dirwatch_new(s->base, p->dir, server_names, s);
	dirwatch_again(s->watch);
	return;
fail:
	/* What was tried in vain comes and goes there, too: at the next look,
	 * not at once. */
	dirwatch_free(s->watch);
	s->watch = NULL;
	log_warn("%s", cause);
	free(cause);
}

static void
server_names_look(int fd, short what, void *arg)
{
	struct server *s = arg;

	(void)fd;
	(void)what;
	server_names(s);
	if (!s->swept) {
		s->swept = true;
		(void)sweep_places(s->place);
	}
	/* Cleaners go by age. */
	(void)utimensat(AT_FDCWD, s->place->dir, NULL, 0);
	(void)utimensat(AT_FDCWD, s->place->server_sock, NULL, 0);
	(void)utimensat(AT_FDCWD, s->place->server_lock, NULL, 0);
}

static struct event *
signal_on(struct server *s, int sig)
{
	struct event *ev;

	ev = evsignal_new(s->base, sig, server_signal, s);
	if (ev == NULL || event_add(ev, NULL) == -1)
		fatal("no event for signal %d", sig);
	return ev;
}

/* The local agent is at hand: with it, what a last server remembered is known
 * before anybody asks. One that does not run is not started for that. */
static void
server_local(struct server *s)
{
	struct workspace *w;
	char *cause = NULL;
	int fd;

	if ((fd = fd_connect_unix(s->place->agent_sock)) == -1)
		return;
	close(fd);
	w = workspace_resolve(s, "local", NULL, &cause);
	if (w != NULL)
		workspace_connect(w, NULL, LINK_RETURN);
	free(cause);
}

void
server_loop(struct server *s)
{
	s->base = fd_loop(FD_LOOP_PRECISE);
	TAILQ_INIT(&s->workspaces);
	TAILQ_INIT(&s->clients);
	TAILQ_INIT(&s->requests);
	TAILQ_INIT(&s->traces);
	TAILQ_INIT(&s->atts);
	s->started_ms = clock_ms();
	s->pass_ev = event_new(s->base, -1, 0, server_pass, s);
	s->tick_ev = evtimer_new(s->base, server_tick, s);
	s->again_ev = evtimer_new(s->base, server_again, s);
	s->stop_ev = evtimer_new(s->base, server_stopped, s);
}

static int
server_start(struct server *s, char **cause)
{
	static const struct timeval names = { NAMES_CHECK_S, 0 };
	char *why = NULL;

	server_loop(s);
	s->term_ev = signal_on(s, SIGTERM);
	s->int_ev = signal_on(s, SIGINT);
	s->hup_ev = signal_on(s, SIGHUP);
	if (server_conf(s, &why) == NULL) {
		/* Told to whoever connects something; no reason not to run. */
		log_warn("%s", why);
		free(why);
	}
	blame_load(s->place->server_blame);
	blame_catch();
	state_load(s);
	if (server_listen(s, cause) == -1)
		return -1;
	s->usr1_ev = evsignal_new(s->base, SIGUSR1, server_names_look, s);
	s->names_ev = event_new(s->base, -1, EV_PERSIST, server_names_look, s);
	event_add(s->usr1_ev, NULL);
	event_add(s->names_ev, &names);
	server_names(s);
	server_local(s);
	return 0;
}

static void
event_gone(struct event *ev)
{
	if (ev != NULL)
		event_free(ev);
}

void
server_clear(struct server *s)
{
	struct sclient *c;
	struct workspace *w;

	TAILQ_FOREACH(c, &s->clients, entry)
		sclient_finish(c);
	sclient_reap(s);
	while ((w = TAILQ_FIRST(&s->workspaces)) != NULL)
		workspace_free(w);
	traced_clear(s);
	conf_free(s->conf);
	free(s->theme);
	free(s->news);
	event_gone(s->listen_ev);
	event_gone(s->pass_ev);
	event_gone(s->tick_ev);
	event_gone(s->again_ev);
	event_gone(s->stop_ev);
	event_gone(s->state_ev);
	event_gone(s->term_ev);
	event_gone(s->int_ev);
	event_gone(s->hup_ev);
	event_gone(s->usr1_ev);
	event_gone(s->names_ev);
	dirwatch_free(s->watch);
	fd_close(&s->listen_fd);
	/* The connections' last bytes are still on the loop. */
	event_base_loop(s->base, EVLOOP_NONBLOCK);
	event_base_free(s->base);
	fd_close(&s->lock_fd);
}

/* Another server runs, and may have lost its socket. */
static void
server_wake(const struct place *place)
{
	int fd = fd_connect_unix(place->server_sock);

	if (fd != -1)
		close(fd);
	else if (errno != EAGAIN)
		lock_wake(place->server_lock);
}

static void
server_scope(int fd, short what, void *arg)
{
	const struct server *s = arg;

	(void)fd;
	(void)what;
	scope_leave("server", s->place->server_log);
}

int
server_main(struct place *place, int argc, char **argv)
{
	static const struct timeval later = { SCOPE_AFTER_MS / 1000,
	    SCOPE_AFTER_MS % 1000 * 1000 };
	struct server s;
	char *cause = NULL, *line;
	int ready, busy = 0, status = 1;

	memset(&s, 0, sizeof s);
	s.place = place;
	s.listen_fd = -1;
	ready = ready_fd(argc, argv);
	if (ready != -1)
		(void)fd_cloexec(ready);
	(void)signal(SIGPIPE, SIG_IGN);
	/* It may come before there is a loop to hear it. */
	(void)signal(SIGUSR1, SIG_IGN);
	child_mask(umask(077));
	(void)!chdir("/");

	if ((s.lock_fd = lock_take(place->server_lock, &cause)) == -1) {
		busy = cause == NULL;
		if (busy)
			server_wake(place);
		goto fail;
	}
	/* Without a log nothing is logged; that is no reason not to serve. */
	(void)log_open(place->server_log, "server");
	if (server_start(&s, &cause) == -1)
		goto fail;
	event_base_once(s.base, -1, EV_TIMEOUT, server_scope, &s, &later);
	log_info("dlmux %s listens on %s", DLMUX_VERSION, place->server_sock);
	ready_say(&ready, "READY\n");
	event_base_dispatch(s.base);
	log_info("gone");
	server_clear(&s);
	return 0;

fail:
	/* BUSY: the client need only connect to the one that runs. */
	line = xasprintf("%s\n", busy ? "BUSY" :
	    cause != NULL ? cause : "unknown");
	if (!busy)
		log_warn("%s", cause != NULL ? cause : "unknown");
	ready_say(&ready, line);
	free(line);
	free(cause);
	return status;
}
