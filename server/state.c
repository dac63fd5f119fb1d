/* SPDX-License-Identifier: ISC */
/*
 * The state file: what a new server can say before anybody reconnects. The
 * server's id, the workspaces and how they are reached, the shells last seen,
 * failed tries. It is a memory aid: damaged, it is set aside and said in the
 * log, and nothing else is lost. No environment is in it: that may hold
 * secrets.
 *
 *	"DLMUXST2"  id  u32 n workspaces  CRC-32C of all before
 *
 * Version 1, whose shells had no size policy, is still read.
 */
#include <sys/stat.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "state.h"

#define STATE_MAGIC	"DLMUXST2"
#define STATE_MAGIC_LEN	8
#define STATE_NUMBER	7	/* where it says the version */

/* --- bytes ---------------------------------------------------------------- */

static void
put_cut(struct buf *b, const char *s)
{
	size_t n = s != NULL ? strlen(s) : 0;

	buf_bin(b, s, n < STATE_STRING_MAX ? n : STATE_STRING_MAX);
}

static void
shell_put(struct buf *b, const struct state_shell *sh)
{
	buf_u64(b, sh->uid);
	buf_u64(b, sh->created_ms);
	buf_u64(b, sh->output_ms);
	buf_u8(b, sh->ended);
	buf_u8(b, sh->how);
	buf_u32(b, sh->code);
	buf_u16(b, sh->rows);
	buf_u16(b, sh->cols);
	put_cut(b, sh->name);
	put_cut(b, sh->command);
	put_cut(b, sh->title);
	put_cut(b, sh->signal);
	buf_u8(b, sh->size.kind);
	buf_u16(b, sh->size.rows);
	buf_u16(b, sh->size.cols);
}

void
state_put(struct buf *b, const struct state *st)
{
	size_t i, j;

	buf_put(b, STATE_MAGIC, STATE_MAGIC_LEN);
	buf_put(b, st->id, MSG_ID);
	buf_u32(b, (uint32_t)st->nws);
	for (i = 0; i < st->nws; i++) {
		const struct state_workspace *w = &st->ws[i];

		put_cut(b, w->name);
		put_cut(b, w->reach);
		put_cut(b, w->tries);
		buf_put(b, w->agent, MSG_ID);
		buf_u32(b, (uint32_t)w->nshells);
		for (j = 0; j < w->nshells; j++)
			shell_put(b, &w->shells[j]);
	}
	if (buf_ok(b))
		buf_u32(b, crc32c(0, b->data, b->len));
}

static bool
shell_get(struct rd *r, int version, struct state_shell *sh)
{
	sh->uid = rd_u64(r);
	sh->created_ms = rd_u64(r);
	sh->output_ms = rd_u64(r);
	sh->ended = rd_u8(r);
	sh->how = rd_u8(r);
	sh->code = rd_u32(r);
	sh->rows = rd_u16(r);
	sh->cols = rd_u16(r);
	sh->name = rd_str(r, STATE_STRING_MAX);
	sh->command = rd_str(r, STATE_STRING_MAX);
	sh->title = rd_str(r, STATE_STRING_MAX);
	sh->signal = rd_str(r, STATE_STRING_MAX);
	if (version >= 2) {
		sh->size.kind = rd_u8(r);
		sh->size.rows = rd_u16(r);
		sh->size.cols = rd_u16(r);
	}
	return !r->failed && shell_name_ok(sh->name) &&
	    size_ok(&sh->size);
}

static bool
workspace_get(struct rd *r, int version, struct state_workspace *w)
{
	const uint8_t *id;
	uint32_t i, n;

	w->name = rd_str(r, STATE_STRING_MAX);
	w->reach = rd_str(r, STATE_STRING_MAX);
	w->tries = rd_str(r, STATE_STRING_MAX);
	id = rd_raw(r, MSG_ID);
	n = rd_u32(r);
	if (r->failed || n > SHELLS_MAX * 2 || *w->name == '\0')
		return false;
	memcpy(w->agent, id, MSG_ID);
	for (i = 0; i < n; i++) {
		/* Grown as they come: a count costs its sender nothing. */
		w->shells = xreallocarray(w->shells, i + 1,
		    sizeof *w->shells);
		memset(&w->shells[i], 0, sizeof *w->shells);
		w->nshells = i + 1;
		if (!shell_get(r, version, &w->shells[i]))
			return false;
	}
	return true;
}

int
state_get(struct state *st, const void *data, size_t len)
{
	const uint8_t *p = data;
	struct rd r;
	uint32_t i, n;

	memset(st, 0, sizeof *st);
	if (len < STATE_MAGIC_LEN + MSG_ID + 8 ||
	    memcmp(p, STATE_MAGIC, STATE_NUMBER) != 0 ||
	    p[STATE_NUMBER] < '1' ||
	    p[STATE_NUMBER] > STATE_MAGIC[STATE_NUMBER])
		return -1;
	rd_init(&r, p + len - 4, 4);
	if (rd_u32(&r) != crc32c(0, p, len - 4))
		return -1;
	rd_init(&r, p + STATE_MAGIC_LEN, len - 4 - STATE_MAGIC_LEN);
	memcpy(st->id, rd_raw(&r, MSG_ID), MSG_ID);
	n = rd_u32(&r);
	if (r.failed || n > WORKSPACES_MAX)
		goto bad;
	for (i = 0; i < n; i++) {
		st->ws = xreallocarray(st->ws, i + 1, sizeof *st->ws);
		memset(&st->ws[i], 0, sizeof *st->ws);
		st->nws = i + 1;
		if (!workspace_get(&r, p[STATE_NUMBER] - '0', &st->ws[i]))
			goto bad;
	}
	if (!rd_end(&r))
		goto bad;
	return 0;
bad:
	state_clear(st);
	return -1;
}

void
state_clear(struct state *st)
{
	size_t i, j;

	for (i = 0; i < st->nws; i++) {
		struct state_workspace *w = &st->ws[i];

		for (j = 0; j < w->nshells; j++) {
			free(w->shells[j].name);
			free(w->shells[j].command);
			free(w->shells[j].title);
			free(w->shells[j].signal);
		}
		free(w->shells);
		free(w->name);
		free(w->reach);
		free(w->tries);
	}
	free(st->ws);
	memset(st, 0, sizeof *st);
}

/* --- the file ------------------------------------------------------------- */

int
state_read(struct state *st, const char *path, char **cause)
{
	struct stat sb;
	char *data = NULL, *aside;
	ssize_t n;

	memset(st, 0, sizeof *st);
	if (lstat(path, &sb) == -1 && errno == ENOENT)
		return 1;
	n = fd_read_file(path, &data, STATE_FILE_MAX);
	if (n >= 0 && state_get(st, data, (size_t)n) == 0) {
		free(data);
		return 0;
	}
	aside = xasprintf("%s.damaged", path);
	/* An earlier one may be there, of another kind. */
	if (rename(path, aside) == -1 && (unlink(aside) == -1 ||
	    rename(path, aside) == -1))
		*cause = xasprintf("%s is damaged, and cannot be set aside: "
		    "%s; remove it", path, strerror(errno));
	else
		*cause = xasprintf("%s was damaged and is now %s; shells show "
		    "again when their workspaces are connected", path, aside);
	free(aside);
	free(data);
	return -1;
}

int
state_write(const struct state *st, const char *path)
{
	struct buf b;
	char *tmp = NULL;
	int fd = -1, result = -1, error;
	size_t at = 0;
	ssize_t n;

	buf_init(&b, STATE_FILE_MAX);
	state_put(&b, st);
	if (!buf_ok(&b)) {
		errno = EFBIG;
		goto out;
	}
	tmp = xasprintf("%s.tmp", path);
	fd = open(tmp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW |
	    O_NONBLOCK, 0600);
	if (fd == -1)
		goto out;
	while (at < b.len) {
		n = write(fd, b.data + at, b.len - at);
		if (n == -1 && errno == EINTR)
			continue;
		if (n <= 0)
			goto out;
		at += (size_t)n;
	}
	if (close(fd) == -1) {
		fd = -1;
		goto out;
	}
	fd = -1;
	result = rename(tmp, path);
out:
	error = errno;
	if (fd != -1)
		close(fd);
	if (result == -1 && tmp != NULL)
		(void)unlink(tmp);
	free(tmp);
	buf_free(&b);
	errno = error;
	return result;
}
