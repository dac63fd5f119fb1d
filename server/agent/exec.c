/* SPDX-License-Identifier: ISC */
/*
 * EXEC: a command with its streams. Strict: nothing is read from it beyond
 * what the client may still ask for again, so a stalled reader stops the
 * writer; what was read is kept until the client has it. The exit is told
 * after all output, and kept until the client says CLOSE.
 */
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "../base/clock.h"
#include "../base/fd.h"
#include "../base/hook.h"
#include "../base/limits.h"
#include "../base/mem.h"
#include "env.h"
#include "envprobe.h"
#include "fifo.h"
#include "op.h"
#include "peer.h"
#include "tty.h"

struct stream {
	struct exec	*exec;
	int		 fd;		/* -1: not open, or over */
	struct event	*event;
	struct fifo	 q;		/* [taken by the client, read) */
	uint64_t	 sent, max;
	size_t		 owed;		/* in the pipe when the process ended */
	bool		 end_sent;
	bool		 drop;		/* nobody will ask for it any more */
	bool		 shut;		/* ... and it was said before there was one */
};

struct exec {
	struct op	*op;
	struct proc	*proc;		/* NULL: not yet, or ended */
	int		 in;		/* -1: closed */
	struct event	*in_event;
	struct fifo	 inq;		/* [written, received) */
	uint64_t	 in_told;	/* the last `taken` sent */
	bool		 in_end;
	bool		 in_eof;	/* a terminal was told of the end */
	uint8_t		 in_last;	/* byte that was written */
	struct stream	 out[2];
	int		 slave;		/* with a pty, while it runs */
	bool		 pty, turn;
	int		 pending_signal; /* came before the process */
	bool		 ended;		/* the process */
	bool		 grace_over;
	int		 status;
	bool		 held;		/* streams were cut off */
	bool		 exit_sent;
	struct event	*timer;		/* the grace after the end */
	struct event	*killer;	/* KILL after HUP */
};

static void exec_check_over(struct exec *);

/* ---- output ---- */

static void
stream_close(struct stream *s)
{
	if (s->event != NULL)
		event_free(s->event);
	s->event = NULL;
	fd_close(&s->fd);
}

/* Reads on while there is room for it; what is full waits for credit. */
static void
stream_update(struct stream *s)
{
	if (s->event == NULL)
		return;
	if (s->drop || fifo_space(&s->q) > 0)
		event_add(s->event, NULL);
	else
		event_del(s->event);
}

static void
stream_read(struct stream *s)
{
	static uint8_t chunk[64 << 10];
	struct exec *e = s->exec;
	size_t space = s->drop ? sizeof chunk : fifo_space(&s->q);
	ssize_t n;

	n = read(s->fd, chunk, space < sizeof chunk ? space : sizeof chunk);
	if (n == -1 && (errno == EAGAIN || errno == EINTR)) {
		if (errno == EAGAIN)
			s->owed = 0;
	} else if (n <= 0 || (!s->drop &&
	    !fifo_put(&s->q, chunk, (size_t)n))) {
		/* A pty says EIO when its last user left. */
		stream_close(s);
		op_ready(e->op);
	} else {
		s->owed -= (size_t)n < s->owed ? (size_t)n : s->owed;
		op_ready(e->op);
	}
	stream_update(s);
}

static void
stream_readable(evutil_socket_t fd, short what, void *arg)
{
	struct stream *s = arg;

	(void)fd;
	(void)what;
	stream_read(s);
	exec_check_over(s->exec);	/* may free it */
}

static void
stream_open(struct stream *s, int fd)
{
	s->fd = fd;
	(void)fd_nonblock(fd);
	s->event = event_new(s->exec->op->agent->base, fd,
	    EV_READ | EV_PERSIST, stream_readable, s);
	if (s->event == NULL)
		stream_close(s);
	stream_update(s);
}

static bool
exec_pump(struct op *op, size_t room)
{
	struct exec *e = op->exec;
	struct stream *s;
	const uint8_t *p;
	struct buf b;
	size_t n, i;

	if (op->state == OP_WAITING)
		return false;
	for (i = 0; i < 2; i++) {
		e->turn = !e->turn;
		s = &e->out[e->turn];
		if (s->end_sent)
			continue;
		n = fifo_at(&s->q, s->sent, &p);
		if (s->max <= s->sent)
			n = 0;
		else if (n > s->max - s->sent)
			n = (size_t)(s->max - s->sent);
		if (n > SLICE_MAX)
			n = SLICE_MAX;
		if (n > room)
			n = room;
		buf_init(&b, SLICE_MAX + 64);
		if (n > 0) {
			buf_u8(&b, (uint8_t)(1 + e->turn));
			buf_u64(&b, s->sent);
			buf_put(&b, p, n);
			s->sent += n;
			op_send(op, CONN_STREAM, F_DATA, &b);
			return true;
		}
		if (s->fd == -1 && s->sent == fifo_end(&s->q)) {
			buf_u8(&b, (uint8_t)(1 + e->turn));
			buf_u64(&b, s->sent);
			s->end_sent = true;
			op_send(op, CONN_STREAM, F_END, &b);
			return true;
		}
	}
	if (op->state == OP_OVER && !e->exit_sent && e->out[0].end_sent &&
	    e->out[1].end_sent) {
		struct msg_exit m;

		memset(&m, 0, sizeof m);
		m.open = e->held;
		m.end[0] = fifo_end(&e->out[0].q);
		m.end[1] = fifo_end(&e->out[1].q);
		proc_status(e->status, &m.how, &m.code, &m.signal);
		e->exit_sent = true;
#ifdef DLMUX_HOOKS
		peer_flush(op->peer);
#endif
		HOOK("agent-exit");
		buf_init(&b, 256);
		msg_exit_put(&b, &m);
		free(m.signal);
		op_send(op, CONN_STREAM, F_EXIT, &b);
		return true;
	}
	return false;
}

static const char *
exec_credit(struct op *op, uint8_t stream, uint64_t taken, uint64_t max)
{
	struct exec *e = op->exec;
	struct stream *s;

	if (stream < 1 || stream > 2)
		return "credit for a stream that is none";
	s = &e->out[stream - 1];
	if (taken > fifo_end(&s->q))
		return "credit for bytes that were not sent";
	/* Some that the last link carried may have come after the resume. */
	if (taken > s->sent)
		s->sent = taken;
	fifo_drop(&s->q, taken);
	if (max > s->max)
		s->max = max;
	stream_update(s);
	op_ready(op);
	return NULL;
}

/* ---- input ---- */

static void
exec_in_close(struct exec *e)
{
	if (e->in_event != NULL)
		event_free(e->in_event);
	e->in_event = NULL;
	fd_close(&e->in);
}

static void
exec_in_credit(struct exec *e)
{
	uint64_t taken = e->inq.base;

	/* Every so often, and always when the other side may be waiting. */
	if (e->inq.len != 0 && taken - e->in_told < OP_WINDOW / 4)
		return;
	if (taken == e->in_told)
		return;
	e->in_told = taken;
	op_credit(e->op, taken, taken + OP_WINDOW);
}

/* A terminal has no end: who reads lines from it is told by its end-of-file
 * character, twice where a line was begun. Who reads keys is not. */
static void
exec_in_eof(struct exec *e)
{
	struct termios t;
	uint8_t eof[2];
	size_t n;

	if (e->in_eof || e->in == -1)
		return;
	e->in_eof = true;
	if (tcgetattr(e->in, &t) == -1 || !(t.c_lflag & ICANON) ||
	    t.c_cc[VEOF] == _POSIX_VDISABLE)
		return;
	eof[0] = eof[1] = t.c_cc[VEOF];
	n = e->in_last != 0 && e->in_last != '\n' && e->in_last != '\r' &&
	    e->in_last != eof[0] ? 2 : 1;
	(void)!write(e->in, eof, n);
}

static void
exec_in_write(struct exec *e)
{
	const uint8_t *p;
	size_t n;
	ssize_t w;

	if (e->op->state == OP_WAITING)
		return;
	while (e->inq.len > 0 && e->in != -1) {
		n = fifo_at(&e->inq, e->inq.base, &p);
		w = write(e->in, p, n);
		if (w > 0) {
			e->in_last = p[w - 1];
			fifo_drop(&e->inq, e->inq.base + (size_t)w);
			continue;
		}
		if (w == -1 && errno == EINTR)
			continue;
		if (w == 0 || errno == EAGAIN) {
			event_add(e->in_event, NULL);
			break;
		}
		exec_in_close(e);	/* EPIPE: it reads no more */
	}
	if (e->in == -1)
		fifo_clear(&e->inq);	/* and what comes is as good as read */
	exec_in_credit(e);
	if (e->inq.len > 0 || !e->in_end)
		return;
	if (e->pty)
		exec_in_eof(e);
	else
		exec_in_close(e);
}

static void
exec_in_writable(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	exec_in_write(arg);
}

static const char *
exec_data(struct op *op, uint64_t offset, const uint8_t *p, size_t n)
{
	struct exec *e = op->exec;
	uint64_t next = fifo_end(&e->inq);

	if (offset > next)
		return "a gap in the input";
	if (next - offset >= n)
		return NULL;		/* known */
	p += next - offset;
	n -= (size_t)(next - offset);
	if (e->in_end)
		return "input after its end";
	if (!fifo_put(&e->inq, p, n))
		return n > fifo_space(&e->inq) ?
		    "more input than there was credit for" : "out of memory";
	exec_in_write(e);
	return NULL;
}

static const char *
exec_end(struct op *op, uint64_t offset)
{
	struct exec *e = op->exec;

	if (offset != fifo_end(&e->inq))
		return e->in_end && offset < fifo_end(&e->inq) ? NULL :
		    "the end of the input is not where it ends";
	e->in_end = true;
	exec_in_write(e);
	return NULL;
}

/* The client's own reader is gone: the command meets a closed pipe, as it would
 * there. A pty has one end for all, and stays. */
static void
exec_shut(struct op *op, uint8_t stream)
{
	struct exec *e = op->exec;

	if (e->pty)
		return;
	if (op->state == OP_WAITING) {
		e->out[stream - 1].shut = true;
		return;
	}
	stream_close(&e->out[stream - 1]);
	op_ready(op);
	exec_check_over(e);
}

/* ---- the process ---- */

static void
exec_signal(struct op *op, int sig)
{
	struct exec *e = op->exec;

	if (op->state == OP_WAITING)
		e->pending_signal = sig;
	else if (e->proc != NULL)
		proc_signal(e->proc, sig);
}

static void
exec_winch(struct op *op, uint16_t rows, uint16_t cols)
{
	struct exec *e = op->exec;

	op->open.rows = rows;
	op->open.cols = cols;
	if (e->pty && e->out[0].fd != -1)
		tty_resize(e->out[0].fd, rows, cols);
}

static void
exec_kill(evutil_socket_t fd, short what, void *arg)
{
	struct exec *e = arg;

	(void)fd;
	(void)what;
	if (e->proc != NULL)
		proc_signal(e->proc, SIGKILL);
}

/* Nobody reads the output any more: the process must not wait for it, nor die
 * of a closed pipe while it tidies up after the HUP. */
static void
exec_drop(struct exec *e)
{
	int i;

	for (i = 0; i < 2; i++) {
		fifo_clear(&e->out[i].q);
		e->out[i].drop = true;
		stream_update(&e->out[i]);
	}
}

static void
exec_discard(struct exec *e)
{
	int i;

	for (i = 0; i < 2; i++) {
		stream_close(&e->out[i]);
		fifo_clear(&e->out[i].q);
	}
}

static void
exec_cancel(struct op *op)
{
	static const struct timeval grace = { KILL_GRACE_MS / 1000,
	    KILL_GRACE_MS % 1000 * 1000 };
	struct exec *e = op->exec;

	if (e->proc == NULL) {
		op_free(op);
		return;
	}
	proc_signal(e->proc, SIGHUP);
	proc_signal(e->proc, SIGCONT);
	exec_in_close(e);
	exec_drop(e);
	if (e->killer == NULL)
		e->killer = evtimer_new(op->agent->base, exec_kill, e);
	if (e->killer != NULL)
		event_add(e->killer, &grace);
}

static void
exec_grace(evutil_socket_t fd, short what, void *arg)
{
	struct exec *e = arg;

	(void)fd;
	(void)what;
	e->grace_over = true;
	exec_check_over(e);
}

/* The process is gone. It is over when its streams have ended, or when all
 * that it wrote was read and whoever holds them had time to let go. */
static void
exec_check_over(struct exec *e)
{
	int i;

	if (!e->ended || e->op->state != OP_RUNNING)
		return;
	for (i = 0; i < 2; i++)
		if (e->out[i].fd != -1 &&
		    (!e->grace_over || e->out[i].owed > 0))
			return;
	for (i = 0; i < 2; i++)
		if (e->out[i].fd != -1) {
			e->held = true;
			stream_close(&e->out[i]);
		}
	exec_in_close(e);
	exec_in_write(e);	/* the rest of the input counts as taken */
	op_over(e->op);		/* may free it */
}

static void
exec_exited(int status, void *arg)
{
	static const struct timeval grace = { EXIT_GRACE_MS / 1000,
	    EXIT_GRACE_MS % 1000 * 1000 };
	struct exec *e = arg;
	int i, n;

	e->proc = NULL;
	e->ended = true;
	e->status = status;
	fd_close(&e->slave);
	for (i = 0; i < 2; i++) {
		n = 0;
		if (e->out[i].fd == -1)
			continue;
		if (e->pty)
			/* What the kernel holds back does not count; a read
			 * that finds nothing ends it. */
			n = DRAIN_MAX;
		else if (ioctl(e->out[i].fd, FIONREAD, &n) == -1)
			n = 0;
		e->out[i].owed = (size_t)n;
	}
	/* Mostly both streams end with the process: no need for the timer. */
	for (i = 0; i < 2; i++)
		if (e->out[i].fd != -1 &&
		    (e->out[i].drop || fifo_space(&e->out[i].q) > 0))
			stream_read(&e->out[i]);
	e->timer = evtimer_new(e->op->agent->base, exec_grace, e);
	if (e->timer != NULL)
		event_add(e->timer, &grace);
	exec_check_over(e);
}

static void
exec_started(enum spawn_stage stage, int error, void *arg)
{
	struct exec *e = arg;
	struct op *op = e->op;

	if (stage != SPAWN_OK) {
		e->proc = NULL;
		op_refuse_spawn(op, stage, error);
		return;
	}
	op->pid = proc_pid(e->proc);
	op_started_forget(op);
	if (e->pending_signal != 0)
		proc_signal(e->proc, e->pending_signal);
	op_started(op);
	exec_in_write(e);
	if (e->out[0].shut)
		exec_shut(op, 1);
	if (e->out[1].shut)
		exec_shut(op, 2);
}

/* ---- beginning and end ---- */

static int
exec_pipes(struct exec *e, int child[3])
{
	int in[2], out[2], i;

	if (e->op->open.how & EXEC_NO_STDIN) {
		child[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
		if (child[0] == -1)
			return -1;
	} else {
		if (fd_pipe(in) == -1)
			return -1;
		child[0] = in[0];
		e->in = in[1];
	}
	for (i = 0; i < 2; i++) {
		if (fd_pipe(out) == -1)
			return -1;
		stream_open(&e->out[i], out[0]);
		child[1 + i] = out[1];
	}
	return 0;
}

static int
exec_tty(struct exec *e, int child[3])
{
	uint16_t rows = e->op->open.rows, cols = e->op->open.cols;
	int master, i;

	if (tty_open(&master, &e->slave, rows != 0 ? rows : 24,
	    cols != 0 ? cols : 80) == -1)
		return -1;
	stream_open(&e->out[0], master);
	if ((e->in = fcntl(master, F_DUPFD_CLOEXEC, 3)) == -1)
		return -1;
	for (i = 0; i < 3; i++)
		if ((child[i] = fcntl(e->slave, F_DUPFD_CLOEXEC, 3)) == -1)
			return -1;
	return 0;
}

static void
exec_env_ready(struct op *op)
{
	static const struct proc_cb cb = { exec_started, exec_exited };
	struct exec *e = op->exec;
	struct spawn s;
	char **env = NULL;
	int child[3] = { -1, -1, -1 }, i;
	int error;

	if (e->proc != NULL)
		return;		/* the fork is on its way */
	if ((e->pty ? exec_tty(e, child) : exec_pipes(e, child)) == -1)
		goto fail;
	if (e->in != -1) {
		(void)fd_nonblock(e->in);
		e->in_event = event_new(op->agent->base, e->in, EV_WRITE,
		    exec_in_writable, e);
		if (e->in_event == NULL)
			goto fail;
	}
	env = op_env(op, true, e->pty);
	memset(&s, 0, sizeof s);
	s.file = op->open.argv[0];
	s.argv = op->open.argv;
	s.env = env;
	s.home = env_get(env, "HOME");
	s.cwd = op->open.cwd;
	memcpy(s.fds, child, sizeof s.fds);
	s.tty = e->pty ? child[0] : -1;
	e->proc = proc_spawn(op->agent->procs, &s, &cb, e);
fail:
	error = errno;
	for (i = 0; i < 3; i++)
		fd_close(&child[i]);
	strv_free(env);
	if (e->proc == NULL)
		op_refuse(op, R_ERROR, "%s: %s", op->open.argv[0],
		    strerror(error));
}

static void
exec_start(struct op *op)
{
	struct exec *e;
	int i;

	if (op->open.argv == NULL || op->open.argv[0] == NULL) {
		op_refuse(op, R_USAGE, "no command");
		return;
	}
	e = op->exec = xcalloc(1, sizeof *e);
	e->op = op;
	e->in = e->slave = -1;
	e->pty = op->open.how & EXEC_PTY;
	e->turn = true;
	fifo_init(&e->inq, OP_WINDOW);
	for (i = 0; i < 2; i++) {
		e->out[i].exec = e;
		e->out[i].fd = -1;
		e->out[i].max = op->open.max[i];
		fifo_init(&e->out[i].q, OP_WINDOW);
	}
	e->out[1].end_sent = e->pty;	/* a pty has one stream */
	if (envprobe_want(op->agent, op->open.probe))
		exec_env_ready(op);
}

static bool
exec_resume(struct op *op, const struct msg_open *m)
{
	struct exec *e = op->exec;
	struct stream *s;
	int i;

	for (i = 0; i < 2; i++) {
		s = &e->out[i];
		/* Also more than was ever sent: a client of another life. */
		if (m->have[i] < s->q.base || m->have[i] > fifo_end(&s->q)) {
			op_refuse(op, R_ERROR, "output that the command was "
			    "resumed at is no longer held");
			return false;
		}
		fifo_drop(&s->q, m->have[i]);
		s->sent = m->have[i];
		s->max = m->max[i];
		s->end_sent = e->pty && i == 1;
		stream_update(s);
	}
	e->exit_sent = false;
	return true;
}

static void
exec_fill_started(struct op *op, struct msg_started *m)
{
	struct exec *e = op->exec;

	m->in_next = fifo_end(&e->inq);
	m->in_max = e->inq.base + OP_WINDOW;
	e->in_told = e->inq.base;
}

static void
exec_rebound(struct op *op)
{
	struct exec *e = op->exec;

	if (e->inq.base > 0)
		op_credit(op, e->inq.base, e->inq.base + OP_WINDOW);
	op_ready(op);
}

static void
exec_free(struct op *op)
{
	struct exec *e = op->exec;

	if (e == NULL)
		return;
	if (e->proc != NULL) {
		proc_signal(e->proc, SIGKILL);
		proc_forget(e->proc);
	}
	exec_in_close(e);
	exec_discard(e);
	fifo_clear(&e->inq);
	fd_close(&e->slave);
	if (e->timer != NULL)
		event_free(e->timer);
	if (e->killer != NULL)
		event_free(e->killer);
	free(e);
	op->exec = NULL;
}

const struct op_class exec_kind = {
	.start = exec_start,
	.env_ready = exec_env_ready,
	.resume = exec_resume,
	.started = exec_fill_started,
	.rebound = exec_rebound,
	.data = exec_data,
	.end = exec_end,
	.shut = exec_shut,
	.credit = exec_credit,
	.signal = exec_signal,
	.winch = exec_winch,
	.pump = exec_pump,
	.cancel = exec_cancel,
	.free = exec_free,
};
