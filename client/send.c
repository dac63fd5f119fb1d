/* SPDX-License-Identifier: ISC */
/*
 * `send`: text, keys or a stream into a shell, and what comes of it. The wait
 * is armed before the first byte can go, on the same connection.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../server/base/fd.h"
#include "../server/base/limits.h"
#include "../server/base/log.h"
#include "../server/base/mem.h"
#include "opchan.h"
#include "progress.h"
#include "prompter.h"
#include "query.h"
#include "say.h"
#include "waited.h"

/* Names of keys in one command; a line of argv holds no more. */
#define SEND_KEYS_MAX	(256u << 10)

struct sending {
	const struct args	*args;
	const char		*about;
	char			*workspace, *shell;
	struct event_base	*base;
	struct connect		*connect;
	struct opchan		*op;
	struct prompter		*prompter;
	struct progress		*progress;
	struct event		*in_ev, *timer, *sig;	/* in_ev: from stdin */
	bool			 in_on;
	uint64_t		 in_bytes;
	bool			 keys;		/* still to be made into bytes */
	uint32_t		 keys_channel;
	struct msg_wait		 wait;
	bool			 waiting;	/* --wait, not answered */
	uint32_t		 wait_channel;
	int			 wait_status;
	bool			 no_wait;	/* for the link */
	bool			 taken;		/* all of it */
	bool			 over;
	int			 status;
};

static void
sending_end(struct sending *s, int status)
{
	if (s->over)
		return;
	s->over = true;
	s->status = status;
	progress_text(s->progress, NULL);
	event_base_loopbreak(s->base);
}

static void
sending_settle(struct sending *s)
{
	if (s->taken && !s->waiting)
		sending_end(s, s->wait_status);
}

/* --- what is asked beside the input ----------------------------------------- */

static void
sending_ask_wait(struct sending *s)
{
	struct buf b;

	s->wait_channel = connect_channel(s->connect);
	connect_use(s->connect, s->wait_channel, s->workspace,
	    s->no_wait ? USE_PASSIVE : 0);
	buf_init(&b, 65536);
	memcpy(s->wait.op, opchan_id(s->op), MSG_ID);
	msg_wait_put(&b, &s->wait);
	connect_send(s->connect, CONN_CONTROL, F_WAIT, s->wait_channel, &b);
	buf_free(&b);
}

static void
sending_ask_keys(struct sending *s)
{
	struct buf b;

	s->keys_channel = connect_channel(s->connect);
	connect_use(s->connect, s->keys_channel, s->workspace,
	    s->no_wait ? USE_PASSIVE : 0);
	buf_init(&b, SEND_KEYS_MAX);
	buf_str(&b, s->workspace);
	buf_str(&b, s->shell);
	buf_strv(&b, s->args->words + 1);
	if (!buf_ok(&b)) {
		buf_free(&b);
		say("send: too many keys at once");
		sending_end(s, STATUS_FAILED);
		return;
	}
	connect_send(s->connect, CONN_CONTROL, F_KEYS, s->keys_channel, &b);
	buf_free(&b);
}

static void
sending_keys(struct sending *s, uint8_t type, const uint8_t *p, size_t n)
{
	struct msg_done d;

	if (type == F_DONE && msg_done_get(&d, p, n) == 0) {
		progress_text(s->progress, NULL);
		sending_end(s, query_refused(s->about, d.code, d.text));
		msg_done_free(&d);
	}
	if (type != F_TEXT || !s->keys)
		return;
	s->keys = false;
	if (n > opchan_room(s->op)) {
		say("send: too many keys at once");
		sending_end(s, STATUS_FAILED);
		return;
	}
	opchan_input(s->op, p, n);
	opchan_input_end(s->op);
}

static void
sending_waited(struct sending *s, uint8_t type, const uint8_t *p, size_t n)
{
	struct msg_done d;
	struct msg_waited w;
	bool met;

	if (type == F_DONE && msg_done_get(&d, p, n) == 0) {
		progress_text(s->progress, NULL);
		sending_end(s, query_refused(s->about, d.code, d.text));
		msg_done_free(&d);
	}
	if (type != F_WAITED || !s->waiting ||
	    msg_waited_get(&w, p, n) == -1)
		return;
	met = w.result == WAITED_MET;
	msg_waited_free(&w);
	s->waiting = false;
	progress_text(s->progress, NULL);
	s->wait_status = waited_status(s->about, &s->wait, p, n);
	/* A shell that ended takes no more. */
	if (!met)
		sending_end(s, s->wait_status);
	else
		sending_settle(s);
}

/* --- the input ----------------------------------------------------------------- */

static void
sending_want_input(struct sending *s)
{
	bool want = !s->over && s->in_ev != NULL && opchan_takes_input(s->op) &&
	    opchan_room(s->op) > 0;

	if (want == s->in_on)
		return;
	s->in_on = want;
	if (want)
		event_add(s->in_ev, NULL);
	else
		event_del(s->in_ev);
}

static void
sending_input(evutil_socket_t fd, short what, void *arg)
{
	struct sending *s = arg;
	static char data[65536];	/* a stack may be no larger */
	size_t room = opchan_room(s->op);
	ssize_t n;

	(void)what;
	n = read(fd, data, room < sizeof data ? room : sizeof data);
	if (n == -1 && (errno == EINTR || errno == EAGAIN))
		return;
	if (n <= 0) {
		event_free(s->in_ev);
		s->in_ev = NULL;
		s->in_on = false;
		if (s->in_bytes == 0 && s->waiting) {
			/* No byte, no mark: from now on, then. */
			s->wait.armed = 0;
			sending_ask_wait(s);
		}
		opchan_input_end(s->op);
		return;
	}
	s->in_bytes += (size_t)n;
	opchan_input(s->op, data, (size_t)n);
	sending_want_input(s);
}

static void
sending_link(struct opchan *op, const struct msg_link *l, void *arg)
{
	struct sending *s = arg;
	char text[512];

	if (!s->no_wait) {
		progress_link(s->progress, l);
		return;
	}
	if (l->state == LINK_UP || s->over)
		return;
	log_clean(text, sizeof text, l->text);
	say(opchan_opened(op) ? "%s: the connection was lost, it is unknown "
	    "how much of it arrived: %s" : "%s: not connected: %s", s->about,
	    text);
	sending_end(s, STATUS_FAILED);
}

static void
sending_started(struct opchan *op, const struct msg_started *m, void *arg)
{
	(void)op;
	(void)m;
	sending_want_input(arg);
}

static void
sending_room(struct opchan *op, void *arg)
{
	(void)op;
	sending_want_input(arg);
}

static void
sending_done(struct opchan *op, const struct opchan_result *r, void *arg)
{
	struct sending *s = arg;

	if (r->how == OPCHAN_TAKEN) {
		/* With a wait the agent keeps it: a new server is told of the
		 * mark again. */
		if (!s->waiting)
			opchan_close(op);
		s->taken = true;
		sending_settle(s);
		return;
	}
	progress_text(s->progress, NULL);
	if (r->how == OPCHAN_UNKNOWN)
		say("%s: it is unknown how much of it arrived: %s", s->about,
		    r->text);
	else
		(void)query_refused(s->about, r->refusal, r->text);
	sending_end(s, STATUS_FAILED);
}

static const struct opchan_cb sending_opchan_cb = {
	.link = sending_link,
	.started = sending_started,
	.room = sending_room,
	.done = sending_done,
};

/* --- the connection -------------------------------------------------------------- */

static void
sending_up(struct connect *c, void *arg)
{
	struct sending *s = arg;

	(void)c;
	/* In this order: the wait stands before OPEN can go. */
	if (s->waiting)
		sending_ask_wait(s);
	if (s->keys)
		sending_ask_keys(s);
	if (!s->over)
		opchan_up(s->op);
}

static void
sending_down(struct connect *c, const char *why, void *arg)
{
	struct sending *s = arg;

	(void)c;
	(void)why;
	prompter_forget(s->prompter);
	opchan_down(s->op);
	sending_want_input(s);
}

static void
sending_message(struct connect *c, uint8_t type, uint32_t channel,
    const uint8_t *p, size_t n, void *arg)
{
	struct sending *s = arg;

	(void)c;
	if (type == F_PROMPT)
		prompter_ask(s->prompter, channel, p, n);
	else if (type == F_PROGRESS)
		progress_sent(s->progress, p, n);
	else if (s->over)
		return;
	else if (channel == s->wait_channel)
		sending_waited(s, type, p, n);
	else if (channel == s->keys_channel)
		sending_keys(s, type, p, n);
	else
		(void)opchan_message(s->op, type, channel, p, n);
}

static void
sending_failed(struct connect *c, const char *why, void *arg)
{
	struct sending *s = arg;

	(void)c;
	if (s->over)
		return;
	progress_text(s->progress, NULL);
	say("%s", why);
	sending_end(s, STATUS_FAILED);
}

static const struct connect_cb sending_connect_cb = {
	.up = sending_up,
	.message = sending_message,
	.down = sending_down,
	.failed = sending_failed,
};

static void
sending_signal(evutil_socket_t sig, short what, void *arg)
{
	struct sending *s = arg;

	(void)what;
	if (!prompter_interrupt(s->prompter))
		sending_end(s, 128 + (int)sig);
}

static void
sending_timeout(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	sending_end(arg, STATUS_TIMEOUT);
}

/* --- the command ------------------------------------------------------------------ */

/* --wait text=RE|idle=MS|exit. 0, or an exit status. */
static int
sending_parse_wait(struct sending *s, const char *v)
{
	char *cause = NULL;
	int r = -1;

	s->waiting = true;
	s->wait.armed = 1;
	if (strncmp(v, "text=", 5) == 0)
		r = waited_parse(&s->wait, "text", v + 5, &cause);
	else if (strncmp(v, "idle=", 5) == 0)
		r = waited_parse(&s->wait, "idle", v + 5, &cause);
	else if (strcmp(v, "exit") == 0)
		r = waited_parse(&s->wait, "exit", "", &cause);
	if (r == 0)
		return 0;
	r = usage_error(s->args->cmd, "--wait %.60s: %s", v, cause != NULL ?
	    cause : "text=RE, idle=MS or exit is meant");
	free(cause);
	return r;
}

/* The words with single spaces, and Enter. */
static char *
sending_text(char *const *words, bool enter, size_t *len)
{
	size_t n = 2;
	char *text, *p;
	int i;

	for (i = 0; words[i] != NULL; i++)
		n += strlen(words[i]) + 1;
	p = text = xmalloc(n);
	for (i = 0; words[i] != NULL; i++) {
		if (i > 0)
			*p++ = ' ';
		n = strlen(words[i]);
		memcpy(p, words[i], n);
		p += n;
	}
	if (enter)
		*p++ = '\r';
	*len = (size_t)(p - text);
	return text;
}

static void
sending_run(struct sending *s, uint32_t timeout_ms)
{
	struct opchan_setup setup;
	struct timeval tv;
	bool typed = s->args->nwords > 1;
	char *text = NULL;
	size_t len = 0;

	s->base = fd_loop(FD_LOOP_FILES);
	s->progress = progress_new(s->base);
	s->connect = connect_new(s->base, s->args->place, CONNECT_START,
	    &sending_connect_cb, s);
	s->prompter = prompter_new(s->base, s->connect);
	s->sig = evsignal_new(s->base, SIGINT, sending_signal, s);
	event_add(s->sig, NULL);
	s->timer = evtimer_new(s->base, sending_timeout, s);
	if (timeout_ms > 0) {
		tv.tv_sec = timeout_ms / 1000;
		tv.tv_usec = (suseconds_t)(timeout_ms % 1000) * 1000;
		evtimer_add(s->timer, &tv);
	}
	if (typed && !s->keys)
		text = sending_text(s->args->words + 1,
		    !args_has(s->args, "n"), &len);

	memset(&setup, 0, sizeof setup);
	setup.workspace = s->workspace;
	setup.use_flags = s->no_wait ? USE_PASSIVE :
	    prompter_possible() ? USE_MAY_PROMPT : 0;
	setup.waits = true;
	setup.input_max = len > CLIENT_INPUT_MAX ? len : CLIENT_INPUT_MAX;
	setup.open.kind = OP_INPUT;
	setup.open.how = INPUT_HOLD;
	setup.open.shell = s->shell;
	s->op = opchan_new(s->connect, &setup, &sending_opchan_cb, s);
	if (text != NULL) {
		if (len == 0)
			s->wait.armed = 0;	/* no byte, no mark */
		opchan_input(s->op, text, len);
		opchan_input_end(s->op);
	} else if (!s->keys)
		s->in_ev = event_new(s->base, STDIN_FILENO,
		    EV_READ | EV_PERSIST, sending_input, s);
	free(text);

	connect_begin(s->connect);
	if (!s->over)
		event_base_dispatch(s->base);
	if (s->taken)
		opchan_close(s->op);
	if (connect_conn(s->connect) != NULL)
		conn_flush(connect_conn(s->connect));

	if (s->in_ev != NULL)
		event_free(s->in_ev);
	event_free(s->timer);
	event_free(s->sig);
	opchan_free(s->op);
	prompter_free(s->prompter);
	progress_free(s->progress);
	connect_free(s->connect);
	event_base_free(s->base);
}

int
cmd_send(struct args *args)
{
	struct sending s;
	const char *v;
	uint32_t ms = 0;
	int status = 0;

	memset(&s, 0, sizeof s);
	s.args = args;
	s.about = args->words[0];
	s.keys = args_has(args, "k");
	s.no_wait = args_has(args, "no-wait");
	if (s.keys && args->nwords < 2)
		return usage_error(args->cmd, "-k needs names of keys");
	if ((v = args_value(args, "timeout")) != NULL &&
	    (seconds_parse(v, &ms) == -1 || ms == 0))
		return usage_error(args->cmd,
		    "--timeout %s: no number of seconds", v);
	if ((v = args_value(args, "wait")) != NULL)
		status = sending_parse_wait(&s, v);
	if (status == 0)
		status = query_target(args, args->words[0], "main",
		    &s.workspace, &s.shell);
	if (status == 0) {
		s.wait.workspace = s.workspace;
		s.wait.shell = s.shell;
		sending_run(&s, ms);
		status = s.status;
	}
	free(s.wait.regex);
	free(s.workspace);
	free(s.shell);
	return status;
}
