/* SPDX-License-Identifier: ISC */
/*
 * PROMPT and REPLY; see prompter.h.
 */
#include <sys/queue.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "../server/base/fd.h"
#include "../server/base/limits.h"
#include "../server/base/log.h"
#include "../server/base/mem.h"
#include "prompter.h"
#include "say.h"

struct question {
	TAILQ_ENTRY(question) entry;
	uint32_t	 channel, id;
	bool		 echo;
	char		*text;
};

struct prompter {
	struct event_base	*base;
	struct connect		*connect;
	TAILQ_HEAD(, question)	 waiting;	/* the first is being asked */
	bool			 asking;
	int			 fd;		/* of /dev/tty while asking */
	struct event		*ev;
	struct termios		 before;
	bool			 echo;		/* of the one being asked */
	char			 line[PROMPT_LINE_MAX];
	size_t			 len;
};

static void	 prompter_next(struct prompter *);

bool
prompter_possible(void)
{
	int fd = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);

	if (fd == -1)
		return false;
	close(fd);
	return true;
}

struct prompter *
prompter_new(struct event_base *base, struct connect *connect)
{
	struct prompter *p = xcalloc(1, sizeof *p);

	p->base = base;
	p->connect = connect;
	p->fd = -1;
	TAILQ_INIT(&p->waiting);
	return p;
}

static void
prompter_unasked(struct prompter *p)
{
	if (!p->asking)
		return;
	p->asking = false;
	say_hush(0);
	event_free(p->ev);
	p->ev = NULL;
	(void)tcsetattr(p->fd, TCSANOW, &p->before);
	/* Without echo the user's Enter did not show either. */
	if (!p->echo)
		(void)fd_write_all(p->fd, "\n", 1);
	fd_close(&p->fd);
	explicit_bzero(p->line, sizeof p->line);
	p->len = 0;
}

static void
prompter_answer(struct prompter *p, bool ok)
{
	struct question *q = TAILQ_FIRST(&p->waiting);
	struct buf b;

	p->line[p->len] = '\0';
	buf_init(&b, PROMPT_LINE_MAX + 64);
	buf_u32(&b, q->id);
	buf_u8(&b, ok);
	buf_str(&b, ok ? p->line : "");
	prompter_unasked(p);
	if (connect_conn(p->connect) != NULL)
		conn_send(connect_conn(p->connect), CONN_CONTROL, F_REPLY,
		    q->channel, b.data, b.len);
	if (b.data != NULL)
		explicit_bzero(b.data, b.cap);
	buf_free(&b);
	TAILQ_REMOVE(&p->waiting, q, entry);
	free(q->text);
	free(q);
	prompter_next(p);
}

static void
prompter_read(evutil_socket_t fd, short what, void *arg)
{
	struct prompter *p = arg;
	ssize_t n;
	char *nl;

	(void)what;
	n = read(fd, p->line + p->len, sizeof p->line - 1 - p->len);
	if (n == -1 && (errno == EINTR || errno == EAGAIN))
		return;
	if (n <= 0) {		/* Ctrl-D, or the terminal is gone */
		prompter_answer(p, false);
		return;
	}
	p->len += (size_t)n;
	nl = memchr(p->line, '\n', p->len);
	if (nl == NULL && p->len < sizeof p->line - 1)
		return;
	if (nl != NULL)
		p->len = (size_t)(nl - p->line);
	prompter_answer(p, nl != NULL);
}

static void
prompter_next(struct prompter *p)
{
	struct question *q = TAILQ_FIRST(&p->waiting);
	struct termios t;
	char *clean;
	size_t n, i;

	if (p->asking || q == NULL)
		return;
	say_progress(NULL);
	p->fd = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (p->fd == -1 || tcgetattr(p->fd, &p->before) == -1) {
		fd_close(&p->fd);
		p->len = 0;
		p->asking = false;
		/* Nobody to ask: that is a refusal. */
		prompter_answer(p, false);
		return;
	}
	t = p->before;
	t.c_lflag |= ICANON | ISIG;
	t.c_iflag |= ICRNL;
	if (q->echo)
		t.c_lflag |= ECHO;
	else
		t.c_lflag &= ~(tcflag_t)ECHO;
	t.c_lflag &= ~(tcflag_t)ECHONL;
	/* FLUSH: what was typed before the question was seen is no answer to
	 * it, and a password must not come out of type-ahead. */
	(void)tcsetattr(p->fd, TCSAFLUSH, &t);
	/* ssh's words may hold what a far side said; lines are kept. */
	n = strlen(q->text);
	clean = xmalloc(n + 1);
	log_clean(clean, n + 1, q->text);
	for (i = 0; i < n && clean[i] != '\0'; i++)
		if (q->text[i] == '\n')
			clean[i] = '\n';
	(void)fd_write_all(p->fd, clean, strlen(clean));
	free(clean);
	say_hush(1);
	p->asking = true;
	p->echo = q->echo;
	p->len = 0;
	p->ev = event_new(p->base, p->fd, EV_READ | EV_PERSIST, prompter_read,
	    p);
	event_add(p->ev, NULL);
}

void
prompter_ask(struct prompter *p, uint32_t channel, const uint8_t *data,
    size_t n)
{
	struct question *q;
	struct rd r;

	q = xcalloc(1, sizeof *q);
	rd_init(&r, data, n);
	q->channel = channel;
	q->id = rd_u32(&r);
	q->echo = rd_u8(&r) != 0;
	q->text = rd_str(&r, 65536);
	if (q->text == NULL) {
		free(q);
		return;
	}
	TAILQ_INSERT_TAIL(&p->waiting, q, entry);
	prompter_next(p);
}

void
prompter_forget(struct prompter *p)
{
	struct question *q;

	prompter_unasked(p);
	while ((q = TAILQ_FIRST(&p->waiting)) != NULL) {
		TAILQ_REMOVE(&p->waiting, q, entry);
		free(q->text);
		free(q);
	}
}

void
prompter_free(struct prompter *p)
{
	if (p == NULL)
		return;
	prompter_forget(p);
	free(p);
}

bool
prompter_interrupt(struct prompter *p)
{
	if (p == NULL || !p->asking)
		return false;
	p->len = 0;
	prompter_answer(p, false);
	return true;
}

bool
prompter_asking(const struct prompter *p)
{
	return p != NULL && p->asking;
}
