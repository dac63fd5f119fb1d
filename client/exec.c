/* SPDX-License-Identifier: ISC */
/*
 * `exec`: a command's streams, signals and status, as if it ran here. Output
 * counts as taken only when it was really written, so what a dead server had
 * on its way comes again; input is kept until the agent has it.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../server/base/fd.h"
#include "../server/base/hook.h"
#include "../server/base/limits.h"
#include "../server/base/mem.h"
#include "../server/link/target.h"
#include "command.h"
#include "connect.h"
#include "envlist.h"
#include "json.h"
#include "opchan.h"
#include "outfd.h"
#include "outmodes.h"
#include "progress.h"
#include "prompter.h"
#include "rawtty.h"
#include "say.h"

/* A command that sends its last output to a reader that stopped: that is
 * waited for. The last frame to the server is not. */
#define EXEC_SIGNALS	7

struct exec {
	const struct args	*args;
	struct event_base	*base;
	struct connect		*connect;
	struct opchan		*op;
	struct prompter		*prompter;
	struct progress		*progress;
	struct outfd		*out[2];	/* stdout, stderr */
	bool			 out_ended;	/* stdout: nothing more comes */
	bool			 out_lost;	/* a full disk */
	struct event		*in_ev, *signals[EXEC_SIGNALS];
	bool			 in_on;
	char			*workspace;
	char			**env;		/* of -e */
	bool			 pty, started, linked;
	int			 rows, cols;	/* of the pty, as told */
	struct rawtty		 tty;
	struct watchdog		*watchdog;
	struct outmodes		 modes;		/* stdout, if a terminal */
	bool			 modal;		/* it is one, and raw */
	int			 interrupts;	/* while no link */
	bool			 over;
	int			 status, status_fd;
	struct buf		 json;
};

static void
exec_end(struct exec *e, int status)
{
	if (e->over)
		return;
	e->over = true;
	e->status = status;
	if (e->in_on)
		event_del(e->in_ev);
	e->in_on = false;
	if (outfd_queued(e->out[0]) == 0 && outfd_queued(e->out[1]) == 0)
		event_base_loopbreak(e->base);
}

/* How it ended, for --status-fd: {"KEY":VALUE,"agent":"ID"}. The instance of
 * the agent says in which life of the workspace. */
static void
exec_note_end(struct exec *e)
{
	const uint8_t *agent = e->op != NULL ? opchan_agent(e->op) : NULL;
	char hex[2 * MSG_ID + 1];

	if (agent != NULL) {
		hex_put(hex, agent, MSG_ID);
		buf_printf(&e->json, ",\"agent\":\"%s\"", hex);
	}
	buf_puts(&e->json, "}\n");
}

static void
exec_note(struct exec *e, const char *key, const char *text)
{
	if (e->over)
		return;
	buf_reset(&e->json);
	buf_printf(&e->json, "{\"%s\":", key);
	json_string(&e->json, text);
	exec_note_end(e);
}

/* The program is not there any more to undo what it did to the terminal. */
static void
exec_undo(struct exec *e)
{
	struct buf b;

	if (!e->modal)
		return;
	e->modal = false;
	buf_init(&b, 4096);
	outmodes_undo(e->modes.modes, &b);
	if (buf_ok(&b))
		(void)fd_write_all(STDOUT_FILENO, b.data, b.len);
	buf_free(&b);
	watchdog_modes(e->watchdog, 0, 0);
}

static void
exec_fail(struct exec *e, bool unknown, int status, const char *text)
{
	if (e->over)
		return;
	exec_undo(e);
	rawtty_restore(&e->tty);
	progress_text(e->progress, NULL);
	exec_note(e, unknown ? "unknown" : "error", text);
	if (unknown)
		say("%s: the result is unknown: %s", e->workspace, text);
	else
		say("%s: %s", e->workspace, text);
	exec_end(e, status);
}

/* --- input ---------------------------------------------------------------- */

static void
exec_want_input(struct exec *e)
{
	bool want = !e->over && e->in_ev != NULL && opchan_takes_input(e->op) &&
	    opchan_room(e->op) > 0;

	/* Over a terminal, Ctrl-C Ctrl-C must be seen while the link is away. */
	if (e->tty.raw && !e->over && e->in_ev != NULL &&
	    opchan_room(e->op) > 0 && !prompter_asking(e->prompter))
		want = true;
	if (want == e->in_on)
		return;
	e->in_on = want;
	if (want)
		event_add(e->in_ev, NULL);
	else
		event_del(e->in_ev);
}

/* Keys go to a pty of the size that the terminal has by now. */
static void
exec_resize(struct exec *e)
{
	int rows, cols;

	rawtty_size(STDIN_FILENO, &rows, &cols);
	if (rows == e->rows && cols == e->cols)
		return;
	e->rows = rows;
	e->cols = cols;
	opchan_winch(e->op, rows, cols);
}

static void	 exec_interrupted(struct exec *, const char *);

static void
exec_input(evutil_socket_t fd, short what, void *arg)
{
	struct exec *e = arg;
	static char data[65536];	/* a stack may be no larger */
	size_t room = opchan_room(e->op);
	ssize_t n, i;

	(void)what;
	n = read(fd, data, room < sizeof data ? room : sizeof data);
	if (n == -1 && (errno == EINTR || errno == EAGAIN))
		return;
	if (n <= 0) {
		event_del(e->in_ev);
		event_free(e->in_ev);
		e->in_ev = NULL;
		e->in_on = false;
		opchan_input_end(e->op);
		return;
	}
	if (e->tty.raw && !e->linked)
		for (i = 0; i < n; i++)
			if (data[i] == 3)
				exec_interrupted(e, NULL);
	if (e->over)
		return;
	/* Its SIGWINCH may be served behind what was typed after it. */
	if (e->tty.raw)
		exec_resize(e);
	opchan_input(e->op, data, (size_t)n);
	exec_want_input(e);
}

/* --- output --------------------------------------------------------------- */

/* Which of the two it is. */
static int
exec_stream(const struct exec *e, const struct outfd *o)
{
	return o == e->out[0] ? 1 : 2;
}

/* stdout ended before the command did: whoever reads it should know. */
static void
exec_shut_stdout(struct exec *e)
{
	int fd;

	if (!e->out_ended || outfd_queued(e->out[0]) > 0 || e->pty ||
	    isatty(STDOUT_FILENO))
		return;
	e->out_ended = false;
	/* Not just closed: the number would become somebody else's. */
	if ((fd = open("/dev/null", O_WRONLY | O_CLOEXEC)) >= 0) {
		outfd_free(e->out[0]);
		e->out[0] = NULL;
		(void)dup2(fd, STDOUT_FILENO);
		close(fd);
	}
}

static void
exec_wrote(struct outfd *o, size_t n, void *arg)
{
	struct exec *e = arg;

	opchan_took(e->op, exec_stream(e, o), n);
	if (e->modal && outfd_queued(e->out[0]) == 0)
		watchdog_modes(e->watchdog, e->modes.modes, 0);
	if (e->over && outfd_queued(e->out[0]) == 0 &&
	    outfd_queued(e->out[1]) == 0)
		event_base_loopbreak(e->base);
	else
		exec_shut_stdout(e);
}

static void
exec_write_failed(struct outfd *o, int error, void *arg)
{
	struct exec *e = arg;

	/* A reader that went (head) ends the command as a closed pipe does
	 * here. Anything else (a full disk) is said. */
	if (error != EPIPE && error != EIO) {
		say("exec: %s: %s", o == e->out[0] ? "standard output" :
		    "standard error", strerror(error));
		e->out_lost = true;
	}
	opchan_shut(e->op, exec_stream(e, o));
	if (e->over)
		event_base_loopbreak(e->base);
}

static const struct outfd_cb exec_outfd_cb = {
	.wrote = exec_wrote,
	.failed = exec_write_failed,
};

static void
exec_output(struct opchan *op, int stream, const uint8_t *p, size_t n,
    void *arg)
{
	struct exec *e = arg;
	uint32_t old;

	(void)op;
	if (e->out[stream - 1] == NULL)
		return;
	if (e->modal && stream == 1) {
		old = e->modes.modes;
		outmodes_scan(&e->modes, p, n);
		/* Until it is written, either may be on. */
		watchdog_modes(e->watchdog, old | e->modes.modes, 0);
	}
	outfd_put(e->out[stream - 1], p, n);
	outfd_flush(e->out[stream - 1]);
}

static void
exec_output_end(struct opchan *op, int stream, void *arg)
{
	struct exec *e = arg;

	(void)op;
	if (stream != 1)
		return;
	e->out_ended = true;
	exec_shut_stdout(e);
}

/* --- the operation --------------------------------------------------------- */

static bool
exec_opening(struct opchan *op, const struct msg_link *l, struct msg_open *m,
    void *arg)
{
	struct exec *e = arg;

	(void)op;
	strv_free(m->env);
	m->env = envlist_make(l->workspace, l->send_env, e->pty, e->env);
	return true;
}

static void
exec_link(struct opchan *op, const struct msg_link *l, void *arg)
{
	struct exec *e = arg;

	(void)op;
	e->linked = l->state == LINK_UP;
	if (e->linked)
		e->interrupts = 0;
	if (!e->started)
		progress_link(e->progress, l);
	if (l->workspace[0] != '\0') {
		free(e->workspace);
		e->workspace = xstrdup(l->workspace);
	}
	exec_want_input(e);
}

static void
exec_started(struct opchan *op, const struct msg_started *s, void *arg)
{
	struct exec *e = arg;

	(void)op;
	(void)s;
	e->started = true;
	progress_text(e->progress, NULL);
	if (e->pty && rawtty_open(&e->tty, STDIN_FILENO) == 0 &&
	    rawtty_raw(&e->tty) == 0) {
		e->watchdog = watchdog_start(&e->tty, STDIN_FILENO, NULL);
		e->modal = isatty(STDOUT_FILENO);
	}
	exec_want_input(e);
}

static void
exec_room(struct opchan *op, void *arg)
{
	(void)op;
	exec_want_input(arg);
}

static void
exec_done(struct opchan *op, const struct opchan_result *r, void *arg)
{
	struct exec *e = arg;
	const struct msg_exit *x = r->exit;

	(void)op;
	HOOK("client-exit");
	switch (r->how) {
	case OPCHAN_EXITED:
		if (x->how == END_SIGNAL)
			exec_note(e, "signal", x->signal);
		else if (x->how == END_EXIT) {
			buf_reset(&e->json);
			buf_printf(&e->json, "{\"exit\":%u",
			    (unsigned)x->code);
			exec_note_end(e);
		} else {
			exec_fail(e, true, STATUS_FAILED,
			    "the agent does not know how it ended");
			break;
		}
		exec_end(e, (int)(x->code & 0xff));
		break;
	case OPCHAN_REFUSED:
		exec_fail(e, false,
		    r->refusal == R_NO_COMMAND ? STATUS_NO_COMMAND :
		    r->refusal == R_NO_EXEC ? STATUS_NO_EXEC : STATUS_FAILED,
		    r->text);
		break;
	default:
		exec_fail(e, true, STATUS_FAILED, r->text);
	}
}

static void
exec_other(struct opchan *op, uint8_t type, const uint8_t *p, size_t n,
    void *arg)
{
	(void)op;
	(void)type;
	(void)p;
	(void)n;
	(void)arg;
}

static const struct opchan_cb exec_opchan_cb = {
	.link = exec_link,
	.opening = exec_opening,
	.started = exec_started,
	.output = exec_output,
	.output_end = exec_output_end,
	.room = exec_room,
	.done = exec_done,
	.other = exec_other,
};

/* --- signals ---------------------------------------------------------------- */

/* Programs send these once and wait: `timeout`, a closing terminal. */
static bool
exec_must_end(const char *name)
{
	return name != NULL && (strcmp(name, "TERM") == 0 ||
	    strcmp(name, "HUP") == 0);
}

/* The user wants it to end: the first time the command is told (name, or
 * NULL if the byte itself goes there), the second time without a link we go. */
static void
exec_interrupted(struct exec *e, const char *name)
{
	if (e->over)
		return;
	if (prompter_interrupt(e->prompter))
		return;
	if (!opchan_opened(e->op)) {
		/* Nothing runs there yet, and nothing will. */
		exec_note(e, "error", "interrupted before the command started");
		progress_text(e->progress, NULL);
		exec_end(e, 128 + (name != NULL && strcmp(name, "INT") != 0 ?
		    signal_number(name) : SIGINT));
		return;
	}
	if (!e->linked && (exec_must_end(name) || ++e->interrupts >= 2)) {
		exec_fail(e, true, STATUS_FAILED, "interrupted while there was "
		    "no connection; the command may still run");
		return;
	}
	if (!e->linked)
		say("%s: no connection; the signal is passed on when it is "
		    "back, once more leaves", e->workspace);
	if (name != NULL)
		opchan_signal(e->op, name);
}

static void
exec_signal(evutil_socket_t sig, short what, void *arg)
{
	struct exec *e = arg;

	(void)what;
	if (sig == SIGCHLD) {
		watchdog_check(e->watchdog);
		return;
	}
	if (sig == SIGCONT && e->tty.raw)
		(void)rawtty_again(&e->tty);
	if (sig == SIGWINCH || sig == SIGCONT) {
		if (e->pty)
			exec_resize(e);
		return;
	}
	exec_interrupted(e, signal_name((int)sig));
}

/* --- the connection ----------------------------------------------------------- */

static void
exec_up(struct connect *c, void *arg)
{
	struct exec *e = arg;

	(void)c;
	opchan_up(e->op);
}

static void
exec_down(struct connect *c, const char *why, void *arg)
{
	struct exec *e = arg;

	(void)c;
	(void)why;
	e->linked = false;
	prompter_forget(e->prompter);
	opchan_down(e->op);
	exec_want_input(e);
}

static void
exec_message(struct connect *c, uint8_t type, uint32_t channel,
    const uint8_t *p, size_t n, void *arg)
{
	struct exec *e = arg;

	(void)c;
	if (type == F_PROMPT) {
		prompter_ask(e->prompter, channel, p, n);
		exec_want_input(e);	/* what is typed now is the answer */
	} else if (type == F_PROGRESS)
		progress_sent(e->progress, p, n);
	else
		(void)opchan_message(e->op, type, channel, p, n);
}

static void
exec_failed(struct connect *c, const char *why, void *arg)
{
	struct exec *e = arg;

	(void)c;
	exec_fail(e, opchan_opened(e->op), STATUS_FAILED, why);
}

static const struct connect_cb exec_connect_cb = {
	.up = exec_up,
	.message = exec_message,
	.down = exec_down,
	.failed = exec_failed,
};

/* --- the command ---------------------------------------------------------------- */

/* The -e options as NAME=VALUE. 0; -1 if one is not set here (said). */
static int
exec_environment(struct exec *e)
{
	const struct args *a = e->args;
	const char *v, *value;
	int i, n = 0;

	e->env = xcalloc((size_t)a->noptions + 1, sizeof *e->env);
	for (i = 0; i < a->noptions; i++) {
		if (strcmp(a->options[i].def->name, "e") != 0)
			continue;
		v = a->options[i].value;
		if (v[0] == '\0' || v[0] == '=')
			return usage_error(a->cmd, "-e needs a name");
		if (strchr(v, '=') != NULL)
			e->env[n++] = xstrdup(v);
		else if ((value = getenv(v)) != NULL)
			e->env[n++] = xasprintf("%s=%s", v, value);
		else {
			say("exec: -e %s: not set here", v);
			return STATUS_FAILED;
		}
	}
	return 0;
}

static void
exec_run(struct exec *e, bool no_stdin)
{
	static const int sigs[EXEC_SIGNALS] = { SIGINT, SIGTERM, SIGHUP,
	    SIGQUIT, SIGWINCH, SIGCHLD, SIGCONT };
	struct opchan_setup setup;
	const char *cwd = args_value(e->args, "C");
	struct sigaction sa;
	int i;

	e->base = fd_loop(FD_LOOP_FILES);
	e->progress = progress_new(e->base);
	e->connect = connect_new(e->base, e->args->place, CONNECT_START,
	    &exec_connect_cb, e);
	e->prompter = prompter_new(e->base, e->connect);
	for (i = 0; i < 2; i++)
		e->out[i] = outfd_new(e->base, STDOUT_FILENO + i,
		    OP_WINDOW + SLICE_MAX, &exec_outfd_cb, e);
	for (i = 0; i < EXEC_SIGNALS; i++) {
		/* nohup's SIG_IGN stays: the user asked for it. */
		if (sigaction(sigs[i], NULL, &sa) == 0 &&
		    sa.sa_handler == SIG_IGN)
			continue;
		e->signals[i] = evsignal_new(e->base, sigs[i], exec_signal, e);
		event_add(e->signals[i], NULL);
	}
	if (e->pty)
		rawtty_size(STDIN_FILENO, &e->rows, &e->cols);

	memset(&setup, 0, sizeof setup);
	setup.workspace = e->workspace;
	setup.use_flags = prompter_possible() ? USE_MAY_PROMPT : 0;
	setup.input_max = CLIENT_INPUT_MAX;
	setup.open.kind = OP_EXEC;
	setup.open.how = (uint8_t)((e->pty ? EXEC_PTY : 0) |
	    (no_stdin && !e->pty ? EXEC_NO_STDIN : 0));
	setup.open.rows = (uint16_t)e->rows;
	setup.open.cols = (uint16_t)e->cols;
	setup.open.cwd = (char *)(uintptr_t)cwd;
	setup.open.argv = e->args->rest;
	e->op = opchan_new(e->connect, &setup, &exec_opchan_cb, e);
	if (no_stdin)
		opchan_input_end(e->op);
	else
		e->in_ev = event_new(e->base, STDIN_FILENO,
		    EV_READ | EV_PERSIST, exec_input, e);

	connect_begin(e->connect);
	if (!e->over || outfd_queued(e->out[0]) + outfd_queued(e->out[1]) > 0)
		event_base_dispatch(e->base);
	opchan_close(e->op);
	if (connect_conn(e->connect) != NULL)
		conn_flush(connect_conn(e->connect));

	rawtty_restore(&e->tty);
	watchdog_end(e->watchdog);
	for (i = 0; i < EXEC_SIGNALS; i++)
		if (e->signals[i] != NULL)
			event_free(e->signals[i]);
	if (e->in_ev != NULL)
		event_free(e->in_ev);
	opchan_free(e->op);
	outfd_free(e->out[0]);
	outfd_free(e->out[1]);
	prompter_free(e->prompter);
	progress_free(e->progress);
	connect_free(e->connect);
	event_base_free(e->base);
}

/* The descriptor of --status-fd; -1 if there is none, -2 if it is no good. A
 * standard one is not closed with the command's, and stays as it is. */
static int
exec_status_fd(const struct args *args)
{
	const char *v = args_value(args, "status-fd");
	uint32_t n;

	if (v == NULL)
		return -1;
	if (number_parse(v, 65535, &n) == -1 || fcntl((int)n, F_GETFD) == -1)
		return -2;
	if (n <= STDERR_FILENO)
		return fcntl((int)n, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	/* For whoever called us, not for what we start. */
	(void)fd_cloexec((int)n);
	return (int)n;
}

/* 0, or -1 (said). */
static int
exec_tell(const struct exec *e, const struct args *args)
{
	if (e->status_fd < 0 || e->json.len == 0 || fd_write_all(e->status_fd,
	    e->json.data, e->json.len) != -1)
		return 0;
	say("--status-fd %s: %s", args_value(args, "status-fd"),
	    strerror(errno));
	return -1;
}

void
exec_not_run(const struct args *args)
{
	struct exec e;

	memset(&e, 0, sizeof e);
	e.status_fd = exec_status_fd(args);
	buf_init(&e.json, 65536);
	exec_note(&e, "error", say_last() != NULL ? say_last() : "failed");
	(void)exec_tell(&e, args);
	buf_free(&e.json);
}

/* What the words say. 0, or an exit status (said). */
static int
exec_words(struct exec *e)
{
	const struct args *args = e->args;
	const char *cwd = args_value(args, "C");
	char *shell = NULL, *cause = NULL;
	int status = 0;

	if (e->status_fd == -2)
		return usage_error(args->cmd, "--status-fd %s: no open "
		    "descriptor", args_value(args, "status-fd"));
	if (args->nrest == 0)
		return usage_error(args->cmd, "there is no command after --");
	if (cwd != NULL && *cwd == '\0')
		return usage_error(args->cmd, "-C needs a directory");
	if (target_split(args->words[0], &e->workspace, &shell, &cause) == -1)
		status = usage_error(args->cmd, "%s", cause);
	else if (shell != NULL)
		status = usage_error(args->cmd,
		    "%s: a command runs in a workspace, not in a shell",
		    args->words[0]);
	free(shell);
	free(cause);
	return status != 0 ? status : exec_environment(e);
}

int
cmd_exec(struct args *args)
{
	struct exec e;
	int status;

	memset(&e, 0, sizeof e);
	e.args = args;
	e.tty.fd = -1;
	e.status_fd = exec_status_fd(args);
	e.pty = args_has(args, "t");
	buf_init(&e.json, 65536);
	status = exec_words(&e);
	if (status != 0) {
		exec_note(&e, "error", say_last() != NULL ? say_last() :
		    "failed");
	} else {
		exec_run(&e, args_has(args, "n"));
		status = e.status;
		/* The command knows nothing of our full disk. */
		if (status == 0 && e.out_lost)
			status = STATUS_FAILED;
	}
	if (exec_tell(&e, args) == -1 && status == 0)
		status = STATUS_FAILED;
	buf_free(&e.json);
	strv_free(e.env);
	free(e.workspace);
	return status;
}
