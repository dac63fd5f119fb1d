/* SPDX-License-Identifier: ISC */
/* A watched directory; contract in dirwatch.h. */
#include <sys/inotify.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "dirwatch.h"
#include "fd.h"
#include "limits.h"
#include "mem.h"

struct dirwatch {
	const char	*path;
	void		(*gone)(void *);
	void		*arg;
	int		 fd;
	struct event	*ev, *due;
};

static void
dirwatch_event(evutil_socket_t fd, short what, void *arg)
{
	static const struct timeval tv = { 0, NAMES_GONE_MS * 1000 };
	struct dirwatch *w = arg;
	char events[4096];
	ssize_t n;

	(void)what;
	/* Which name it was is looked up by the owner anyway. */
	while ((n = read(fd, events, sizeof events)) > 0 ||
	    (n == -1 && errno == EINTR))
		;
	if (!evtimer_pending(w->due, NULL))
		evtimer_add(w->due, &tv);
}

static void
dirwatch_due(evutil_socket_t fd, short what, void *arg)
{
	struct dirwatch *w = arg;

	(void)fd;
	(void)what;
	w->gone(w->arg);
}

void
dirwatch_again(struct dirwatch *w)
{
	if (w != NULL)
		(void)inotify_add_watch(w->fd, w->path, IN_DELETE |
		    IN_MOVED_FROM | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR);
}

struct dirwatch *
dirwatch_new(struct event_base *base, const char *path, void (*gone)(void *),
    void *arg)
{
	struct dirwatch *w = xcalloc(1, sizeof *w);

	w->path = path;
	w->gone = gone;
	w->arg = arg;
	w->due = evtimer_new(base, dirwatch_due, w);
	w->fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (w->fd != -1 && w->due != NULL)
		w->ev = event_new(base, w->fd, EV_READ | EV_PERSIST,
		    dirwatch_event, w);
	if (w->ev == NULL || event_add(w->ev, NULL) == -1) {
		dirwatch_free(w);
		return NULL;
	}
	dirwatch_again(w);
	return w;
}

void
dirwatch_free(struct dirwatch *w)
{
	if (w == NULL)
		return;
	if (w->ev != NULL)
		event_free(w->ev);
	if (w->due != NULL)
		event_free(w->due);
	fd_close(&w->fd);
	free(w);
}
