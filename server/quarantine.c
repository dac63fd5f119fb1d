/* SPDX-License-Identifier: ISC */
/*
 * A shell whose output killed the server, and the next one at the same place
 * (blame.h). From then on nothing of it is parsed: its bytes are taken from
 * the agent as ever, so that the shell runs on and no keeper is started for
 * it, and the newest of them are kept as they came, for `capture --raw'. Its
 * screen is ours and says so; keys reach the shell, and its end is noticed.
 *
 * It is over when a user says so, and with the next version of dlmux.
 */
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "blame.h"
#include "inside.h"

struct quarantine {
	uint64_t	 at;		/* what killed it, in the output */
	struct buf	 raw;		/* the newest output, in one piece */
};

char *
quarantine_words(const struct sshell *sh)
{
	const struct mirror *m = sh->mirror;

	if (m == NULL || m->quarantine == NULL)
		return NULL;
	return xasprintf("quarantined: its output killed the server twice; "
	    "`dlmux capture --raw %s:%s' prints it, `dlmux release %s:%s' "
	    "shows it again", sh->ws->name, sh->name, sh->ws->name, sh->name);
}

uint64_t
quarantine_at(const struct mirror *m)
{
	return m->quarantine->at;
}

const uint8_t *
quarantine_bytes(const struct mirror *m, size_t *len)
{
	*len = m->quarantine->raw.len;
	return m->quarantine->raw.data;
}

/* What an attached client sees in place of the output. */
static void
quarantine_show(struct mirror *m)
{
	const struct sshell *sh = m->shell;
	uint64_t offset = screen_offset(m->screen);
	char *text;

	text = xasprintf("dlmux: the output of %s:%s killed the server twice\r\n"
	    "and is not shown any more. The shell runs on, and gets what is "
	    "typed.\r\n\n"
	    "  dlmux capture --raw %s:%s\r\n"
	    "      prints its output as it comes\r\n"
	    "  dlmux release %s:%s\r\n"
	    "      shows it again\r\n"
	    "  dlmux kill %s:%s\r\n"
	    "      ends it\r\n\n",
	    sh->ws->name, sh->name, sh->ws->name, sh->name, sh->ws->name,
	    sh->name, sh->ws->name, sh->name);
	screen_write(m->screen, text, strlen(text));
	screen_set_offset(m->screen, offset);
	free(text);
}

void
quarantine_begin(struct mirror *m, uint64_t at)
{
	struct quarantine *q = xcalloc(1, sizeof *q);

	q->at = at;
	buf_init(&q->raw, 2 * QUARANTINE_MAX + FRAME_PAYLOAD_MAX);
	m->quarantine = q;
	/* All that the agent still has, and not from a checkpoint on: that may
	 * be as deadly. */
	m->begun = true;
	screen_set_offset(m->screen, m->shell->start);
	quarantine_show(m);
}

void
quarantine_free(struct mirror *m)
{
	if (m->quarantine == NULL)
		return;
	buf_free(&m->quarantine->raw);
	free(m->quarantine);
	m->quarantine = NULL;
}

void
quarantine_write(struct mirror *m, const uint8_t *p, size_t len)
{
	struct buf *raw = &m->quarantine->raw;

	buf_put(raw, p, len);
	/* Not with each message, which would move it all each time. */
	if (raw->len > 2 * QUARANTINE_MAX)
		buf_drain(raw, raw->len - QUARANTINE_MAX);
	screen_set_offset(m->screen, screen_offset(m->screen) + len);
}

void
quarantine_jump(struct mirror *m, uint64_t offset)
{
	buf_reset(&m->quarantine->raw);
	screen_set_offset(m->screen, offset);
}

void
quarantine_release(struct mirror *m)
{
	struct sshell *sh = m->shell;

	log_info("%s:%s: shown again on request", sh->ws->name, sh->name);
	blame_forgive(sh->uid);
	quarantine_free(m);
	m->begun = false;
	screen_reset(m->screen);
	mirror_watch(m);
	sshell_later(sh);
}
