/* SPDX-License-Identifier: ISC */
/*
 * The size of a shell: what its clients have, by the policy of the shell or of
 * its workspace. Worked out at the end of a pass, once for all that happened
 * in it, and told to the agent when it is another one.
 *
 * An agent may have several servers; the newest word counts there. So a server
 * says its size when something happened at one of its own terminals, and never
 * only because another server said another one.
 */
#include <stdlib.h>
#include <string.h>

#include "attach.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"

const struct size *
size_policy(const struct sshell *sh)
{
	return sh->size.kind != SIZE_DEFAULT ? &sh->size : &sh->ws->size;
}

static bool
counts(const struct attachment *a)
{
	return !a->passive && !a->read_only && a->again_ms == 0;
}

/* Of the client last typed at. After a server's death nobody was yet: who has
 * the size that the shell has. */
static bool
latest(const struct sshell *sh, uint16_t *rows, uint16_t *cols)
{
	const struct attachment *a, *best = NULL;

	TAILQ_FOREACH(a, &sh->atts, sh_entry)
		if (counts(a) && (best == NULL || a->order > best->order ||
		    (a->order == best->order &&
		    a->rows == sh->rows && a->cols == sh->cols)))
			best = a;
	if (best == NULL)
		return false;
	*rows = (uint16_t)best->rows;
	*cols = (uint16_t)best->cols;
	return true;
}

static bool
extreme(const struct sshell *sh, bool largest, uint16_t *rows, uint16_t *cols)
{
	const struct attachment *a;
	bool any = false;

	TAILQ_FOREACH(a, &sh->atts, sh_entry) {
		if (!counts(a))
			continue;
		if (!any || (a->rows > *rows) == largest)
			*rows = (uint16_t)a->rows;
		if (!any || (a->cols > *cols) == largest)
			*cols = (uint16_t)a->cols;
		any = true;
	}
	return any;
}

bool
size_wanted(const struct sshell *sh, uint16_t *rows, uint16_t *cols)
{
	const struct size *p = size_policy(sh);

	switch (p->kind) {
	case SIZE_SMALLEST:
	case SIZE_LARGEST:
		return extreme(sh, p->kind == SIZE_LARGEST, rows, cols);
	case SIZE_FIXED:
		*rows = p->rows;
		*cols = p->cols;
		return true;
	default:
		return latest(sh, rows, cols);
	}
}

void
size_at_birth(const struct workspace *w, const struct size *own,
    uint16_t *rows, uint16_t *cols)
{
	const struct size *p = own->kind != SIZE_DEFAULT ? own : &w->size;

	if (p->kind != SIZE_FIXED)
		return;
	*rows = p->rows;
	*cols = p->cols;
}

static void
size_tell(struct sshell *sh, uint16_t rows, uint16_t cols, bool now)
{
	struct buf b;

	sh->wish_rows = rows;
	sh->wish_cols = cols;
	/* What keys bring about is no drag of a window. */
	sh->size_ms = now ? 0 : clock_ms();
	buf_init(&b, 16);
	buf_u16(&b, rows);
	buf_u16(&b, cols);
	link_send_buf(sh->ws->link, CONN_CONTROL, F_SIZE, sh->id, &b);
	buf_free(&b);
}

static void
size_due(int fd, short what, void *arg)
{
	struct sshell *sh = arg;

	(void)fd;
	(void)what;
	sshell_later(sh);
}

/* Too soon after the last one: looked at again later. */
static bool
size_too_soon(struct sshell *sh)
{
	uint64_t since = clock_ms() - sh->size_ms;
	struct timeval tv = { 0, 0 };

	if (sh->size_ms == 0 || since >= SIZE_GAP_MS)
		return false;
	tv.tv_usec = (suseconds_t)(SIZE_GAP_MS - since) * 1000;
	if (sh->size_ev == NULL)
		sh->size_ev = evtimer_new(sh->ws->server->base, size_due, sh);
	if (!evtimer_pending(sh->size_ev, NULL))
		evtimer_add(sh->size_ev, &tv);
	return true;
}

void
size_settle(struct sshell *sh, bool now)
{
	uint16_t rows, cols;
	bool told, has;

	if (!sh->size_due)
		return;
	if (sh->id == 0 || !sh->ws->up || sh->state != SHELL_RUNNING ||
	    !size_wanted(sh, &rows, &cols))
		goto done;
	told = sh->wish_rows == rows && sh->wish_cols == cols;
	has = sh->rows == rows && sh->cols == cols;
	/* What was told and is not had is on its way, or another server's word
	 * came behind it: ours anew only if one of our users did something. */
	if (told ? has || !sh->size_insist : has && sh->wish_rows == 0)
		goto done;
	if (!now && size_too_soon(sh))
		return;
	size_tell(sh, rows, cols, now);
done:
	sh->size_due = sh->size_insist = false;
}

void
size_changed(struct sshell *sh, bool insist)
{
	sh->size_due = true;
	sh->size_insist |= insist;
	sshell_later(sh);
}

void
size_set(struct sshell *sh, const struct size *size)
{
	char text[SIZE_TEXT];

	if (!size_same(&sh->size, size)) {
		size_text(size, text);
		log_info("%s:%s: size %s", sh->ws->name, sh->name, text);
		sh->size = *size;
		/* At once: what somebody said is not to be forgotten by a
		 * server that dies now. */
		state_save(sh->ws->server);
	}
	size_changed(sh, true);
}
