/* SPDX-License-Identifier: ISC */
/*
 * `attach`: the user's terminal and the server's pictures of a shell. The
 * server paints; this end writes whole pictures, sends what is typed as an
 * operation of its own (so that a dead server loses no key), and puts the
 * terminal back on every way out.
 */
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../server/base/conf.h"
#include "../server/base/fd.h"
#include "../server/base/limits.h"
#include "../server/base/mem.h"
#include "attached.h"
#include "envlist.h"
#include "inside.h"
#include "query.h"
#include "say.h"

/* Most servers are back sooner than a notice is worth reading. */
#define NOTICE_MS	300
/* The last picture and LEFT after DETACH; then we leave without. */
#define DETACH_MS	500
/* A failed link usually comes with a LEFT that knows more. */
#define FAILED_MS	1000
/* A terminal that takes no more does not keep us from leaving. */
#define DRAIN_MS	2000

/* --- leaving ---------------------------------------------------------------- */

void
attached_stop(struct attached *a)
{
	a->over = true;
	event_base_loopbreak(a->base);
}

void
attached_end(struct attached *a, int status, bool failed, const char *fmt, ...)
{
	static const struct timeval drain = { DRAIN_MS / 1000, 0 };
	char text[2048];
	va_list ap;

	if (a->left || a->over)
		return;
	a->left = a->leaving = true;
	a->status = status;
	a->failed = failed;
	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	free(a->last);
	a->last = xstrdup(text);
	progress_text(a->progress, NULL);
	event_del(a->notice_ev);
	attached_input_wanted(a);
	if (outfd_queued(a->out) == 0)
		attached_stop(a);
	else
		evtimer_add(a->leave_ev, &drain);
}

void
attached_detach(struct attached *a)
{
	static const struct timeval tv = { 0, DETACH_MS * 1000 };

	if (a->leaving)
		return;
	a->leaving = true;
	attached_input_wanted(a);
	if (a->channel != 0 && a->shown && a->uid != 0) {
		conn_send(connect_conn(a->connect), CONN_KEYS, F_DETACH,
		    a->channel, NULL, 0);
		evtimer_add(a->leave_ev, &tv);
		return;
	}
	attached_undo(a);
	attached_end(a, 0, false, "[detached from %s:%s]", a->workspace,
	    a->shell);
}

static void
attached_leave_due(evutil_socket_t fd, short what, void *arg)
{
	struct attached *a = arg;

	(void)fd;
	(void)what;
	if (a->left) {		/* the terminal takes nothing */
		attached_stop(a);
		return;
	}
	attached_undo(a);
	attached_end(a, 0, false, "[detached from %s:%s]", a->workspace,
	    a->shell);
}

static void
attached_left(struct attached *a, const uint8_t *p, size_t n)
{
	struct msg_left m;
	bool it;

	if (msg_left_get(&m, p, n) == -1)
		return;
	a->uid = 0;
	switch (m.why) {
	case LEFT_DETACHED:
		attached_end(a, 0, false, "[detached from %s:%s]",
		    a->workspace, a->shell);
		break;
	case LEFT_EVICTED:
		attached_end(a, 0, false, "[detached from %s:%s%s%s]",
		    a->workspace, a->shell, m.text[0] != '\0' ? ": " : "",
		    m.text);
		break;
	case LEFT_STOPPED:
		attached_end(a, 0, false, "[detached from %s:%s: %s]",
		    a->workspace, a->shell, m.text);
		break;
	case LEFT_ENDED:
		/* The name stands for the "it" of the server's words. */
		it = strncmp(m.text, "it ", 3) == 0;
		if (m.how != END_EXIT)
			attached_end(a, (int)(m.code & 0xff), false,
			    "[%s:%s%s%s]", a->workspace, a->shell,
			    it ? "" : ": ", m.text + (it ? 2 : 0));
		else
			attached_end(a, (int)(m.code & 0xff), false,
			    "[%s:%s ended with status %u]", a->workspace,
			    a->shell, (unsigned)m.code);
		break;
	default:
		attached_end(a, STATUS_FAILED, true, "%s", m.text);
	}
	msg_left_free(&m);
}

/* --- asking to be shown something ------------------------------------------- */

static void
attached_ask(struct attached *a, int flags)
{
	struct msg_attach m;
	struct buf b, caps;
	char *none[] = { NULL };

	memset(&m, 0, sizeof m);
	buf_init(&caps, WIRE_CAPS_MAX);
	caps_put(a->caps, &caps);
	m.flags = (uint8_t)(flags | (a->read_only ? ATTACH_READ_ONLY : 0) |
	    (a->passive ? ATTACH_PASSIVE : 0));
	memcpy(m.op, a->op, MSG_ID);
	memcpy(m.agent, a->agent, MSG_ID);
	m.uid = a->uid;
	m.lines = a->shown ? attached_lines(a) : UINT64_MAX;
	m.modes = attached_modes(a);
	m.rows = (uint16_t)a->rows;
	m.cols = (uint16_t)a->cols;
	m.workspace = a->workspace;
	m.shell = a->shell;
	m.caps = caps.data;
	m.caps_len = caps.len;
	/* SendEnv's part the server adds: it knows the patterns. */
	m.env = envlist_make(a->workspace, NULL, true, NULL);
	m.argv = (flags & ATTACH_CREATE) && a->args->rest != NULL ?
	    a->args->rest : none;
	buf_init(&b, OPEN_MAX_BYTES);
	msg_attach_put(&b, &m);
	if (!buf_ok(&b)) {
		a->leaving = true;
		attached_end(a, STATUS_FAILED, true,
		    "the command is too long");
	} else
		connect_send(a->connect, CONN_CONTROL, F_ATTACH, a->channel,
		    &b);
	buf_free(&b);
	buf_free(&caps);
	strv_free(m.env);
}

/* Before an ATTACH: what else there is to say of it. first: not one that comes
 * back, which finds all as it was. */
static void
attached_manner(struct attached *a, bool first)
{
	struct msg_manner m = { HISTORY_SCREEN, NULL, a->inside };
	struct buf b;

	if (first) {
		m.history = a->history;
		if (a->size != NULL)
			m.size = (char *)(uintptr_t)a->size;
	}
	buf_init(&b, WIRE_WORDS_MAX);
	msg_manner_put(&b, &m);
	connect_send(a->connect, CONN_CONTROL, F_MANNER, a->channel, &b);
	buf_free(&b);
}

void
attached_move(struct attached *a, int flags)
{
	if (a->channel == 0 || a->moving || a->uid == 0)
		return;
	random_bytes(a->op, MSG_ID);
	a->moving = true;
	attached_ask(a, flags);
}

static void
attached_arrived(struct attached *a, const uint8_t *p, size_t n)
{
	struct msg_attached m;
	bool other;

	if (msg_attached_get(&m, p, n) == -1)
		return;
	other = a->typing == NULL || a->typing->uid != m.uid;
	a->uid = m.uid;
	memcpy(a->agent, m.agent, MSG_ID);
	free(a->workspace);
	free(a->shell);
	a->workspace = xstrdup(m.workspace);
	a->shell = xstrdup(m.shell);
	msg_attached_free(&m);
	a->moving = false;
	if (other)
		attached_keys_to(a);
	attached_keys_release(a);
	attached_input_wanted(a);
}

/* --- the server --------------------------------------------------------------- */

static void
attached_link(struct attached *a, const uint8_t *p, size_t n)
{
	static const struct timeval tv = { FAILED_MS / 1000, 0 };
	struct msg_link l;

	if (msg_link_get(&l, p, n) == -1)
		return;
	if (!a->shown)
		progress_link(a->progress, &l);
	free(a->link_text);
	a->link_text = xstrdup(l.text);
	if (l.state == LINK_FAILED && !a->shown)
		evtimer_add(a->failed_ev, &tv);
	else if (l.state == LINK_UP || a->shown)
		event_del(a->failed_ev);
	/* Nothing came of the question. */
	if (a->shown && !a->tty.raw && l.state != LINK_CONNECTING)
		attached_take_tty(a);
	msg_link_free(&l);
}

static void
attached_link_failed(evutil_socket_t fd, short what, void *arg)
{
	struct attached *a = arg;

	(void)fd;
	(void)what;
	if (!a->shown)
		attached_end(a, STATUS_FAILED, true, "%s: %s", a->workspace,
		    a->link_text != NULL ? a->link_text : "no connection");
}

static void
attached_up(struct connect *c, void *arg)
{
	struct attached *a = arg;
	struct typing *t;
	int flags;

	a->channel = connect_channel(c);
	/* The user sits at it the first time; coming back is background. */
	flags = a->read_only ? USE_READ_ONLY : 0;
	if (a->uid != 0)
		flags |= USE_AGAIN;
	else if (prompter_possible())
		flags |= USE_MAY_PROMPT | USE_ASK_SHOWN;
	connect_use(c, a->channel, a->workspace, flags);
	attached_manner(a, a->uid == 0);
	if (a->uid != 0) {
		attached_ask(a, ATTACH_AGAIN);
		attached_ask_retold(a);
		for (t = a->typing; t != NULL; t = t->next)
			opchan_up(t->op);
		return;
	}
	/* To look at what is not there makes no sense. */
	attached_ask(a, (a->read_only ? 0 : ATTACH_CREATE) |
	    (args_has(a->args, "d") ? ATTACH_OTHERS : 0));
}

void
attached_connect(struct attached *a)
{
	if (a->channel != 0)
		connect_use(a->connect, a->channel, a->workspace,
		    USE_MAY_PROMPT | USE_ASK_SHOWN |
		    (a->read_only ? USE_READ_ONLY : 0));
}

void
attached_question(struct attached *a)
{
	if (a->question.len == 0 || outfd_queued(a->out) > 0)
		return;
	if (a->orphan && !a->undone) {
		/* This server has drawn nothing and takes nothing back. */
		a->undone = true;
		attached_undo(a);
		a->modes = 0;
		attached_ask(a, ATTACH_AGAIN);
		if (outfd_queued(a->out) > 0)
			return;
	}
	rawtty_restore(&a->tty);
	attached_input_wanted(a);
	prompter_ask(a->prompter, a->question_channel, a->question.data,
	    a->question.len);
	buf_reset(&a->question);
}

static void
attached_down(struct connect *c, const char *why, void *arg)
{
	static const struct timeval tv = { 0, NOTICE_MS * 1000 };
	struct attached *a = arg;
	struct typing *t;

	(void)c;
	(void)why;
	a->channel = 0;
	a->helping = a->stale = false;
	a->told = 0;
	buf_reset(&a->question);
	prompter_forget(a->prompter);
	for (t = a->typing; t != NULL; t = t->next)
		opchan_down(t->op);
	free(a->link_text);
	a->link_text = NULL;
	if (a->left)
		return;
	if (a->leaving) {
		/* It died over our DETACH: that is a detach. */
		attached_undo(a);
		attached_end(a, 0, false, "[detached from %s:%s]",
		    a->workspace, a->shell);
		return;
	}
	/* A move that was under way: back to where we were. */
	a->moving = false;
	if (a->typing != NULL)
		attached_keys_release(a);
	if (a->shown) {
		a->orphan = true;
		evtimer_add(a->notice_ev, &tv);
	}
}

static void
attached_message(struct connect *c, uint8_t type, uint32_t channel,
    const uint8_t *p, size_t n, void *arg)
{
	struct attached *a = arg;
	struct typing *t;

	(void)c;
	if (type == F_PROMPT) {
		if (!a->tty.raw) {
			prompter_ask(a->prompter, channel, p, n);
			return;
		}
		a->question_channel = channel;
		buf_reset(&a->question);
		buf_put(&a->question, p, n);
		attached_question(a);
		return;
	}
	if (type == F_PROGRESS) {
		if (!a->shown)
			progress_sent(a->progress, p, n);
		return;
	}
	if (channel != a->channel) {
		for (t = a->typing; t != NULL; t = t->next)
			if (opchan_message(t->op, type, channel, p, n))
				break;
		return;
	}
	if (a->left)
		return;
	if (a->stale && type != F_LINK) {
		a->stale = type != F_LEFT;
		return;
	}
	switch (type) {
	case F_LINK:
		attached_link(a, p, n);
		break;
	case F_ATTACHED:
		attached_arrived(a, p, n);
		break;
	case F_PICTURE:
		attached_picture(a, p, n);
		break;
	case F_ENQUIRE:
		attached_enquire(a, p, n);
		break;
	case F_PLACED:
		(void)msg_placed_get(&a->placed, p, n);
		break;
	case F_LEFT:
		attached_left(a, p, n);
		break;
	}
}

static void
attached_failed(struct connect *c, const char *why, void *arg)
{
	struct attached *a = arg;

	(void)c;
	a->channel = 0;
	if (a->left)
		return;
	a->leaving = true;
	attached_undo(a);
	attached_end(a, STATUS_FAILED, true, "%s", why);
}

/* Not into the middle of the screen: behind it, at the end. */
static void
attached_news(struct connect *c, const char *text, void *arg)
{
	struct attached *a = arg;

	(void)c;
	if (a->shown) {
		free(a->news);
		a->news = xstrdup(text);
	} else
		say("%s", text);
}

static const struct connect_cb attached_connect_cb = {
	.up = attached_up,
	.message = attached_message,
	.down = attached_down,
	.failed = attached_failed,
	.news = attached_news,
};

/* --- signals ------------------------------------------------------------------- */

static void
attached_resized(struct attached *a)
{
	struct buf b;

	rawtty_size(STDOUT_FILENO, &a->rows, &a->cols);
	watchdog_modes(a->watchdog, a->modes, a->rows);
	buf_init(&b, 16);
	buf_u16(&b, (uint16_t)a->rows);
	buf_u16(&b, (uint16_t)a->cols);
	if (a->channel != 0)
		connect_send(a->connect, CONN_CONTROL, F_RESIZE, a->channel,
		    &b);
	buf_free(&b);
}

void
attached_size(struct attached *a)
{
	int rows, cols;

	rawtty_size(STDOUT_FILENO, &rows, &cols);
	if (rows != a->rows || cols != a->cols)
		attached_resized(a);
}

/* We were stopped, and the shell we were started from had the terminal: it shows
 * anything, in modes that nobody knows. Shown anew, as to one that comes back. If
 * there is no such shell, all is as it was, and no line is to be given twice. */
static void
attached_continued(struct attached *a)
{
	if (!a->tty.raw || a->leaving || rawtty_kept(&a->tty) ||
	    rawtty_again(&a->tty) == -1)
		return;
	rawtty_size(STDOUT_FILENO, &a->rows, &a->cols);
	attached_unknown(a);
	if (a->channel == 0)
		return;		/* it is asked for when there is a server */
	a->moving = a->helping = false;
	if (a->typing != NULL)
		attached_keys_release(a);
	/* Of one class: ATTACH must not overtake it. */
	conn_send(connect_conn(a->connect), CONN_CONTROL, F_DETACH, a->channel,
	    NULL, 0);
	a->stale = true;
	attached_manner(a, false);
	attached_ask(a, ATTACH_AGAIN);
	/* Whose terminal this is sits at it: the shell may have its size. */
	attached_resized(a);
}

static void
attached_signal(evutil_socket_t sig, short what, void *arg)
{
	struct attached *a = arg;

	(void)what;
	if (sig == SIGWINCH) {
		attached_resized(a);
		return;
	}
	if (sig == SIGCHLD) {
		watchdog_check(a->watchdog);
		return;
	}
	if (sig == SIGCONT) {
		attached_continued(a);
		return;
	}
	if (sig == SIGINT && prompter_interrupt(a->prompter))
		return;
	a->leaving = true;
	attached_undo(a);
	attached_end(a, 128 + (int)sig, false, "[detached from %s:%s]",
	    a->workspace, a->shell);
}

/* --- the command ----------------------------------------------------------------- */

static char *
attached_prefix(struct attached *a, char **cause)
{
	struct conf *conf = conf_load(a->args->place->config, cause);
	char *key;

	if (conf == NULL)
		return NULL;
	key = xstrdup(conf->prefix != NULL ? conf->prefix : "C-\\");
	conf_free(conf);
	return key;
}

/* What has to be there before the terminal is touched. 0, or -1 (said). */
static int
attached_prepare(struct attached *a)
{
	const char *term = getenv("TERM");
	char *cause = NULL;

	if ((a->key = attached_prefix(a, &cause)) != NULL)
		a->prefix = prefix_new(a->key, &cause);
	if (a->prefix != NULL)
		a->caps = caps_load(term != NULL ? term : "", &cause);
	if (a->caps != NULL)
		return 0;
	say("attach: %s", cause);
	free(cause);
	return -1;
}

static void
attached_start(struct attached *a)
{
	static const int sigs[ATTACH_SIGNALS] = { SIGWINCH, SIGINT, SIGTERM,
	    SIGHUP, SIGQUIT, SIGCHLD, SIGCONT };
	int i;

	rawtty_size(STDOUT_FILENO, &a->rows, &a->cols);
	a->base = fd_loop(0);
	a->progress = progress_new(a->base);
	a->connect = connect_new(a->base, a->args->place, CONNECT_START,
	    &attached_connect_cb, a);
	a->prompter = prompter_new(a->base, a->connect);
	a->out = outfd_new(a->base, STDOUT_FILENO, PICTURES * PICTURE_MAX,
	    &attached_outfd_cb, a);
	a->in_ev = event_new(a->base, STDIN_FILENO, EV_READ | EV_PERSIST,
	    attached_input, a);
	a->notice_ev = evtimer_new(a->base, attached_notice_due, a);
	a->leave_ev = evtimer_new(a->base, attached_leave_due, a);
	a->prefix_ev = evtimer_new(a->base, attached_prefix_due, a);
	a->failed_ev = evtimer_new(a->base, attached_link_failed, a);
	a->ask_ev = evtimer_new(a->base, attached_ask_due, a);
	a->replies = replies_new();
	a->typed_ev = evtimer_new(a->base, attached_typed_due, a);
	for (i = 0; i < ATTACH_SIGNALS; i++) {
		a->signals[i] = evsignal_new(a->base, sigs[i], attached_signal,
		    a);
		event_add(a->signals[i], NULL);
	}
	/* Raw mode knows no suspend key; a stray TSTP would stop us with the
	 * terminal raw. TTOU: restoring from the background must not stop. */
	(void)signal(SIGTSTP, SIG_IGN);
	(void)signal(SIGTTOU, SIG_IGN);
	buf_init(&a->held, INPUT_WINDOW + 65536);
	buf_init(&a->question, WIRE_WORDS_MAX);
	random_bytes(a->op, MSG_ID);
}

static void
attached_clear(struct attached *a)
{
	int i;

	for (i = 0; i < ATTACH_SIGNALS; i++)
		event_free(a->signals[i]);
	event_free(a->in_ev);
	event_free(a->notice_ev);
	event_free(a->leave_ev);
	event_free(a->prefix_ev);
	event_free(a->failed_ev);
	event_free(a->ask_ev);
	replies_free(a->replies);
	event_free(a->typed_ev);
	attached_keys_clear(a);
	outfd_free(a->out);
	prompter_free(a->prompter);
	progress_free(a->progress);
	connect_free(a->connect);
	event_base_free(a->base);
	buf_free(&a->question);
	free(a->link_text);
}

static void
attached_run(struct attached *a)
{
	struct typing *t;

	attached_start(a);
	connect_begin(a->connect);
	if (!a->over)
		event_base_dispatch(a->base);
	/* What was typed and taken need not be kept. */
	for (t = a->typing; t != NULL; t = t->next)
		if (opchan_kept(t->op) == 0)
			opchan_close(t->op);
	if (connect_conn(a->connect) != NULL)
		conn_flush(connect_conn(a->connect));
	attached_ask_drain(a);
	rawtty_restore(&a->tty);
	watchdog_end(a->watchdog);
	if (a->news != NULL)
		say("%s", a->news);
	if (a->last != NULL && a->last[0] != '\0') {
		if (a->failed)
			say("%s", a->last);
		else {
			fputs(a->last, stdout);
			fputc('\n', stdout);
			fflush(stdout);
		}
	}
	attached_clear(a);
}

/* What -s and --size say. 0, or a usage error's status. */
static int
attached_options(struct attached *a)
{
	const char *history = args_value(a->args, "s");
	struct size size;

	a->history = HISTORY_SCREEN;
	if (history != NULL && strcmp(history, "-") == 0)
		a->history = CONF_HISTORY_MAX;
	else if (history != NULL && number_parse(history, CONF_HISTORY_MAX,
	    &a->history) == -1)
		return usage_error(a->args->cmd, "-s: %s is no number of "
		    "lines up to %d, nor -", history, CONF_HISTORY_MAX);
	if ((a->size = args_value(a->args, "size")) == NULL)
		return 0;
	if (a->read_only)
		return usage_error(a->args->cmd,
		    "who only looks (-r) has no say in the size");
	if (size_parse(a->size, &size) == -1)
		return usage_error(a->args->cmd, "--size: %s is not "
		    SIZE_WORDS, a->size);
	return 0;
}

int
cmd_attach(struct args *args)
{
	struct attached a;
	int status;

	if (args->dashes && args->nrest == 0)
		return usage_error(args->cmd, "there is no command after --");
	memset(&a, 0, sizeof a);
	a.args = args;
	a.about = args->words[0];
	a.read_only = args_has(args, "r");
	a.passive = args_has(args, "passive");
	if ((status = attached_options(&a)) != 0)
		return status;
	status = query_target(args, a.about, "main", &a.workspace, &a.shell);
	if (status != 0)
		return status;
	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)) {
		say("attach: standard input and output must be a terminal; "
		    "`dlmux new', `send' and `capture' need none");
		status = STATUS_FAILED;
	} else if (rawtty_open(&a.tty, STDIN_FILENO) == -1) {
		say("attach: the terminal: %s", strerror(errno));
		status = STATUS_FAILED;
	} else if (attached_prepare(&a) == -1)
		status = STATUS_FAILED;
	else {
		a.mouse = mouse_new();
		a.inside = inside_shell(args->place);
		attached_run(&a);
		status = a.status;
	}
	prefix_free(a.prefix);
	mouse_free(a.mouse);
	caps_free(a.caps);
	free(a.workspace);
	free(a.shell);
	free(a.key);
	free(a.inside);
	free(a.last);
	free(a.news);
	return status;
}
