/* SPDX-License-Identifier: ISC */
/*
 * `server start|stop|restart|status`.
 */
#include <sys/file.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../server/base/fd.h"
#include "../server/base/lock.h"
#include "../server/base/mem.h"
#include "json.h"
#include "query.h"
#include "say.h"

#define STATUS_MAX	(4u << 20)
/* The server's last words to its clients, and a slow disk. */
#define SERVER_GONE_S	10
#define SERVER_LOOKS	50

struct status {
	bool		 json;
	struct buf	 out;		/* what is said of the server itself */
	struct buf	 list;		/* and of each workspace */
};

static void
status_fields(struct status *s, struct buf *b, char *const *fields,
    const char *before, const char *between)
{
	const char *eq;

	for (; *fields != NULL; fields++) {
		if (s->json)
			(void)json_field(b, b->len > 0 ? between : before,
			    *fields);
		else if ((eq = strchr(*fields, '=')) != NULL)
			buf_printf(b, "%-12.*s %s\n", (int)(eq - *fields),
			    *fields, eq + 1);
	}
}

/* A workspace of the server, in one line. */
static void
status_workspace(struct status *s, const struct msg_row *row)
{
	const char *state = row_get(row, "state");
	const char *text = row_get(row, "text");
	struct buf one;

	if (s->json) {
		buf_init(&one, 65536);
		status_fields(s, &one, row->fields, "{", ", ");
		buf_puts(&s->list, s->list.len > 0 ? ",\n    " : "\n    ");
		buf_put(&s->list, one.data, one.len);
		buf_puts(&s->list, "}");
		buf_free(&one);
		return;
	}
	buf_printf(&s->list, "%-12s %s: %s%s%s\n", "",
	    row_get(row, "workspace"), state,
	    strcmp(state, "up") != 0 && text[0] != '\0' ? ", " : "",
	    strcmp(state, "up") != 0 ? text : "");
}

static int
status_answer(uint8_t type, const uint8_t *p, size_t n, void *arg)
{
	struct status *s = arg;
	struct msg_row row;

	if (type != F_ROW || msg_row_get(&row, p, n) == -1)
		return QUERY_DEFAULT;
	if (row.kind == 'k')
		status_fields(s, &s->out, row.fields, "{\n  ", ",\n  ");
	else if (row.kind == 'w')
		status_workspace(s, &row);
	msg_row_free(&row);
	return QUERY_GO_ON;
}

static int
server_ask(struct args *args, int flags, uint8_t type,
    int (*answer)(uint8_t, const uint8_t *, size_t, void *), void *arg,
    int restart)
{
	struct query q;

	memset(&q, 0, sizeof q);
	q.args = args;
	q.connect_flags = flags;
	q.type = type;
	q.answer = answer;
	q.arg = arg;
	buf_init(&q.body, 16);
	if (type == F_STOP)
		buf_u8(&q.body, (uint8_t)restart);
	return query_run(&q);
}

static int
server_status(struct args *args)
{
	struct status s;
	int status;

	memset(&s, 0, sizeof s);
	s.json = args_has(args, "json");
	buf_init(&s.out, STATUS_MAX);
	buf_init(&s.list, STATUS_MAX);
	status = server_ask(args, CONNECT_ONCE, F_STATUS, status_answer, &s, 0);
	if (s.json) {
		buf_puts(&s.out, ",\n  \"workspace_list\": [");
		buf_puts(&s.list, s.list.len > 0 ? "\n  ]\n}\n" : "]\n}\n");
	}
	buf_put(&s.out, s.list.data, s.list.len);
	if (status == 0 && say_out(s.out.data, s.out.len) == -1)
		status = STATUS_FAILED;
	buf_free(&s.out);
	buf_free(&s.list);
	return status;
}

static bool
server_runs(const struct place *place)
{
	int i, fd;

	for (i = 0; i < SERVER_LOOKS; i++) {
		if ((fd = fd_connect_unix(place->server_sock)) != -1) {
			close(fd);
			return true;
		}
		if (errno != ENOENT && errno != ECONNREFUSED)
			return true;
		/* One whose socket was removed puts it back when asked. */
		if (!lock_wake(place->server_lock))
			return false;
		(void)poll(NULL, 0, 20);
	}
	return false;
}

static void
server_alarm(int sig)
{
	(void)sig;
}

/* It holds its lock until it is gone; waiting for the lock is waiting for
 * that. */
static int
server_await_end(const struct place *place)
{
	struct sigaction sa;
	int fd, r;

	if ((fd = open(place->server_lock, O_RDWR | O_CLOEXEC)) == -1)
		return 0;
	memset(&sa, 0, sizeof sa);
	sa.sa_handler = server_alarm;	/* without SA_RESTART */
	(void)sigaction(SIGALRM, &sa, NULL);
	(void)alarm(SERVER_GONE_S);
	r = flock(fd, LOCK_SH);
	(void)alarm(0);
	close(fd);
	if (r == -1)
		say("server: it was told to stop, but has not ended yet");
	return r == -1 ? STATUS_FAILED : 0;
}

static int
server_stop_now(struct args *args, bool restart)
{
	int status;

	status = server_ask(args, CONNECT_ONCE, F_STOP, NULL, NULL, restart);
	return status != 0 ? status : server_await_end(args->place);
}

static void
put_line(const char *text)
{
	(void)say_out(text, strlen(text));
}

static int
server_start_now(struct args *args)
{
	/* Any question will do: the answer means that it serves. */
	return server_ask(args, CONNECT_START, F_STATUS, NULL, NULL, 0);
}

int
cmd_server(struct args *args)
{
	const char *what = args->words[0];
	int status;

	if (args_has(args, "json") && strcmp(what, "status") != 0)
		return usage_error(args->cmd, "--json is for status");
	if (strcmp(what, "status") == 0)
		return server_status(args);
	if (strcmp(what, "start") == 0)
		return server_start_now(args);
	if (strcmp(what, "stop") == 0) {
		if (!server_runs(args->place)) {
			put_line("no server is running\n");
			return 0;
		}
		if ((status = server_stop_now(args, false)) == 0)
			put_line("stopped; shells go on running in their "
			    "workspaces\n");
		return status;
	}
	if (strcmp(what, "restart") == 0) {
		if (server_runs(args->place) &&
		    (status = server_stop_now(args, true)) != 0)
			return status;
		return server_start_now(args);
	}
	return usage_error(args->cmd, "\"%s\" is not known", what);
}
