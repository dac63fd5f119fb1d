/* SPDX-License-Identifier: ISC */
/*
 * `server start|stop|restart|status`.
 */
#include <sys/file.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../server/base/fd.h"
#include "../server/base/mem.h"
#include "json.h"
#include "query.h"
#include "say.h"

/* The server's last words to its clients, and a slow disk. */
#define SERVER_GONE_S	10

struct status {
	bool		 json;
	struct buf	 out;
	bool		 some;
};

static void
status_row(struct status *s, char *const *fields)
{
	const char *eq;
	char *name;

	for (; *fields != NULL; fields++) {
		if ((eq = strchr(*fields, '=')) == NULL)
			continue;
		name = xstrndup(*fields, (size_t)(eq - *fields));
		if (s->json) {
			buf_puts(&s->out, s->some ? ",\n  " : "{\n  ");
			json_string(&s->out, name);
			buf_puts(&s->out, ": ");
			json_number(&s->out, eq + 1);
		} else
			buf_printf(&s->out, "%-12s %s\n", name, eq + 1);
		s->some = true;
		free(name);
	}
}

static int
status_answer(uint8_t type, const uint8_t *p, size_t n, void *arg)
{
	struct status *s = arg;
	struct msg_row row;

	if (type == F_ROW && msg_row_get(&row, p, n) == 0) {
		status_row(s, row.fields);
		msg_row_free(&row);
		return QUERY_GO_ON;
	}
	return QUERY_DEFAULT;
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
	buf_init(&s.out, 4u << 20);
	status = server_ask(args, CONNECT_ONCE, F_STATUS, status_answer, &s, 0);
	if (s.json && s.some)
		buf_puts(&s.out, "\n}\n");
	if (status == 0 && fd_write_all(STDOUT_FILENO, s.out.data,
	    s.out.len) == -1)
		status = STATUS_FAILED;
	buf_free(&s.out);
	return status;
}

static bool
server_runs(const struct place *place)
{
	int fd = fd_connect_unix(place->server_sock);

	if (fd == -1)
		return errno != ENOENT && errno != ECONNREFUSED;
	close(fd);
	return true;
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
	(void)fd_write_all(STDOUT_FILENO, text, strlen(text));
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
