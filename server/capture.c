/* SPDX-License-Identifier: ISC */
/*
 * What can be read off a mirror: its screen as text, or its output as it came
 * if that killed the server; and key names as the bytes that its program
 * expects now.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "blame.h"
#include "inside.h"
#include "../term/keys.h"

static struct sshell *
shell_of(struct request *r, bool *answered)
{
	enum refusal code = R_ERROR;
	struct sshell *sh;
	char *cause = NULL, *words;
	bool pending;

	*answered = false;
	sh = request_shell(r, &pending, &code, &cause);
	if (sh != NULL && r->kind == REQUEST_CAPTURE &&
	    !(r->flags & CAPTURE_RAW) &&
	    (words = quarantine_words(sh)) != NULL) {
		cause = xasprintf("%s:%s: %s", sh->ws->name, sh->name, words);
		free(words);
		sh = NULL;
	}
	if (sh == NULL && !pending) {
		sclient_done(r->client, r->channel, code, 125, "%s",
		    cause != NULL ? cause : "");
		*answered = true;
	}
	free(cause);
	return sh;
}

static bool
row_blank(const struct screen *screen, int y)
{
	struct buf b;
	bool blank;

	buf_init(&b, 1 << 20);
	screen_row_text(screen, y, false, &b, NULL);
	blank = b.len == 0 && buf_ok(&b);
	buf_free(&b);
	return blank;
}

/* What is kept as it came is kept for quarantine only. */
static void
capture_raw(struct request *r, const struct sshell *sh)
{
	const uint8_t *p;
	size_t len;

	if (sh->mirror->quarantine == NULL) {
		sclient_done(r->client, r->channel, R_ERROR, 125, "%s:%s is "
		    "shown: its output is not kept as it came (capture -e "
		    "prints it with its colours)", sh->ws->name, sh->name);
		return;
	}
	p = quarantine_bytes(sh->mirror, &len);
	sclient_send(r->client, CONN_BULK, F_TEXT, r->channel, p, len);
}

bool
release_try(struct request *r)
{
	struct sshell *sh;
	bool answered;

	if ((sh = shell_of(r, &answered)) == NULL)
		return answered;
	if (sh->mirror->quarantine == NULL)
		sclient_done(r->client, r->channel, R_ERROR, 125,
		    "%s:%s is shown already", sh->ws->name, sh->name);
	else {
		sclient_done(r->client, r->channel, R_NONE, 0, "%s", "");
		quarantine_release(sh->mirror);
	}
	return true;
}

bool
capture_try(struct request *r)
{
	const struct screen *screen;
	struct sshell *sh;
	struct buf b;
	bool answered, gap;
	int y, first, last;

	if ((sh = shell_of(r, &answered)) == NULL)
		return answered;
	if (r->flags & CAPTURE_RAW) {
		capture_raw(r, sh);
		return true;
	}
	gap = past_wanted(sh->mirror, r->history);
	if (gap && sh->ws->up)
		return false;
	screen = sh->mirror->screen;
	blame_on(sh->uid, screen_offset(screen), screen_offset(screen));
	first = -screen_history(screen);
	if (r->history < (uint32_t)-first)
		first = -(int)r->history;
	/* Rows below the last text were never written to. */
	for (last = screen_rows(screen); last > 0; last--)
		if (!row_blank(screen, last - 1))
			break;
	buf_init(&b, CAPTURE_MAX_BYTES);
	if (gap || (sh->mirror->past_lost && r->history > (uint32_t)-first))
		buf_printf(&b, "[dlmux: the lines before this one are %s]\n",
		    gap ? "still in the workspace, which is not connected" :
		    "lost");
	for (y = first; y < last; y++) {
		screen_row_text(screen, y, (r->flags & CAPTURE_ESCAPES) != 0,
		    &b, NULL);
		buf_u8(&b, '\n');
	}
	blame_off();
	if (buf_ok(&b))
		sclient_send_buf(r->client, CONN_BULK, F_TEXT, r->channel, &b);
	else
		sclient_done(r->client, r->channel, R_LIMIT, 125,
		    "more than %u MiB of text; ask for fewer lines",
		    CAPTURE_MAX_BYTES >> 20);
	buf_free(&b);
	return true;
}

bool
keys_try(struct request *r)
{
	struct sshell *sh;
	struct buf b;
	bool answered;
	size_t i;

	if ((sh = shell_of(r, &answered)) == NULL)
		return answered;
	buf_init(&b, 1 << 20);
	for (i = 0; r->keys[i] != NULL; i++)
		if (keys_encode(r->keys[i], screen_modes(sh->mirror->screen),
		    &b) == -1) {
			sclient_done(r->client, r->channel, R_USAGE, 2,
			    "\"%s\" is not the name of a key", r->keys[i]);
			goto out;
		}
	if (buf_ok(&b))
		sclient_send_buf(r->client, CONN_CONTROL, F_TEXT, r->channel,
		    &b);
	else
		sclient_done(r->client, r->channel, R_LIMIT, 125,
		    "too many keys at once");
out:
	buf_free(&b);
	return true;
}
