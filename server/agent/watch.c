/* SPDX-License-Identifier: ISC */
/* A server's place in a shell's stream; contract in watch.h. */
#include <stdlib.h>
#include <string.h>

#include "../base/clock.h"
#include "../base/limits.h"
#include "../base/mem.h"
#include "keeper.h"
#include "op.h"
#include "peer.h"
#include "shell.h"
#include "watch.h"

struct watch *
watch_find(struct peer *p, struct shell *sh)
{
	struct watch *w;

	TAILQ_FOREACH(w, &sh->watches, of_shell)
		if (w->peer == p)
			return w;
	return NULL;
}

void
watch_free(struct watch *w)
{
	struct shell *sh = w->shell;

	if (w->is_ready)
		peer_watch_unready(w->peer, w);
	TAILQ_REMOVE(&sh->watches, w, of_shell);
	TAILQ_REMOVE(&w->peer->watches, w, of_peer);
	free(w);
	shell_update(sh);
}

const char *
watch_set(struct peer *p, struct shell *sh, uint8_t level, uint8_t begin,
    uint64_t from, uint64_t max)
{
	struct watch *w = watch_find(p, sh);
	bool have = begin == WATCH_FROM;

	if (level == 0) {
		if (w != NULL)
			watch_free(w);
		return NULL;
	}
	if (level > 2)
		return "WATCH of an unknown level";
	if (begin > WATCH_LIGHT)
		return "WATCH of an unknown beginning";
	if (have && from > sh->ring.end)
		return "WATCH from beyond the end";
	if (w == NULL) {
		w = xcalloc(1, sizeof *w);
		w->shell = sh;
		w->peer = p;
		TAILQ_INSERT_TAIL(&sh->watches, w, of_shell);
		TAILQ_INSERT_TAIL(&p->watches, w, of_peer);
	} else if (w->is_ready)
		peer_watch_unready(p, w);	/* the level sorts it */
	w->level = level;
	w->fresh = !have;
	w->light = begin == WATCH_LIGHT;
	w->told_end = false;
	w->lagging = false;
	w->cursor = w->taken = have ? from : 0;
	w->seq = ring_seq_at(&sh->ring, w->cursor);
	w->max = max;
	w->window = max > w->cursor ? max - w->cursor : 0;
	w->acked_ms = clock_ms();
	peer_watch_ready(p, w);
	shell_update(sh);
	return NULL;
}

const char *
watch_taken(struct peer *p, struct shell *sh, uint64_t taken, uint64_t max)
{
	struct watch *w = watch_find(p, sh);

	if (w == NULL)
		return NULL;	/* it crossed a WATCH 0 */
	/* Before a CHECKPOINT reached it a server may speak of bytes that
	 * were sent earlier, never of any beyond the end. */
	if (taken > sh->ring.end)
		return "TAKEN of bytes that were never sent";
	w->taken = taken;
	if (max > w->max)
		w->max = max;
	w->acked_ms = clock_ms();
	w->lagging = false;
	keeper_taken(w);
	peer_watch_ready(p, w);
	shell_update(sh);
	return NULL;
}

void
watch_kick(struct shell *sh)
{
	struct watch *w;

	TAILQ_FOREACH(w, &sh->watches, of_shell)
		peer_watch_ready(w->peer, w);
}

/* ---- what comes next ---- */

static void
watch_send(struct watch *w, uint8_t type, struct buf *b)
{
	peer_send(w->peer, w->bulk ? CONN_BULK : CONN_KEYS, type,
	    w->shell->id, b);
	buf_free(b);
}

static void
watch_send_resized(struct watch *w, uint64_t offset, uint16_t rows,
    uint16_t cols)
{
	struct buf b;

	buf_init(&b, 32);
	buf_u64(&b, offset);
	buf_u16(&b, rows);
	buf_u16(&b, cols);
	watch_send(w, F_RESIZED, &b);
}

static void
watch_go_to(struct watch *w, uint64_t offset)
{
	w->cursor = offset;
	w->seq = ring_seq_at(&w->shell->ring, offset);
	w->fresh = false;
	/* It could not know where it would begin. */
	if (w->max < offset || w->max - offset < w->window)
		w->max = w->window < UINT64_MAX - offset ?
		    offset + w->window : UINT64_MAX;
}

/* A long one is no reason to keep the other shells' output back: it goes as
 * bulk, and what follows it in this stream behind it, until all is written.
 * False: there is too much of that already. */
static bool
watch_send_checkpoint(struct watch *w, const struct checkpoint *c,
    uint8_t kind)
{
	struct buf b;

	if (c->len > FRAME_PAYLOAD_MAX || peer_bulk_busy(w->peer)) {
		if (!peer_bulk_room(w->peer))
			return false;
		w->bulk = true;
	}
	buf_init(&b, c->len + 64);
	buf_u64(&b, c->offset);
	buf_u8(&b, kind);
	buf_u16(&b, c->rows);
	buf_u16(&b, c->cols);
	buf_put(&b, c->data, c->len);
	watch_send(w, F_CHECKPOINT, &b);
	/* Whoever lags knows the history, and is given a whole one. */
	w->light = false;
	watch_go_to(w, c->offset);
	return true;
}

/* The watcher knows nothing, or what it wants next is gone. */
static bool
watch_begin(struct watch *w)
{
	struct shell *sh = w->shell;
	const struct checkpoint *c;
	uint16_t rows, cols;
	uint64_t start;
	struct buf b;
	uint8_t kind;

	if ((c = shell_checkpoint(sh, w->light, &kind)) != NULL)
		return watch_send_checkpoint(w, c, kind);
	start = sh->ring.start;
	if (start == 0) {
		watch_go_to(w, 0);	/* its birth is the first entry */
		return true;
	}
	buf_init(&b, 32);
	buf_u64(&b, w->cursor);
	buf_u64(&b, start);
	watch_send(w, F_GAP, &b);
	ring_size_at_start(&sh->ring, &rows, &cols);
	watch_send_resized(w, start, rows, cols);
	watch_go_to(w, start);
	return true;
}

static void
watch_send_mark(struct watch *w, const struct ring_entry *e)
{
	struct op *op = op_find(w->shell->agent, e->op);
	struct buf b;

	if (op != NULL && op->peer != NULL && op->peer != w->peer)
		return;		/* another server's */
	buf_init(&b, 64);
	buf_u64(&b, e->offset);
	buf_put(&b, e->op, MSG_ID);
	watch_send(w, F_MARK, &b);
}

static bool
watch_send_output(struct watch *w, uint64_t limit, size_t n)
{
	struct shell *sh = w->shell;
	const uint8_t *p;
	struct buf b;
	size_t have;

	if (limit > w->max)
		limit = w->max;
	if (w->cursor >= limit)
		return false;
	if (n > limit - w->cursor)
		n = (size_t)(limit - w->cursor);
	if (n > SLICE_MAX)
		n = SLICE_MAX;
	if (w->cursor == w->taken)
		w->sent_ms = clock_ms();
	buf_init(&b, SLICE_MAX + 64);
	buf_u64(&b, w->cursor);
	while (n > 0 && (have = ring_peek(&sh->ring, w->cursor, &p)) > 0) {
		if (have > n)
			have = n;
		buf_put(&b, p, have);
		w->cursor += have;
		n -= have;
	}
	watch_send(w, F_OUTPUT, &b);
	return true;
}

bool
watch_pump(struct watch *w, size_t n)
{
	struct shell *sh = w->shell;
	const struct ring_entry *e;
	struct buf b;

	if (sh->state == SHELL_STARTING || !keeper_turn(w))
		return false;
	if (w->bulk && !peer_bulk_busy(w->peer))
		w->bulk = false;
	if (w->bulk && !peer_bulk_room(w->peer))
		return false;
	if (w->fresh || w->cursor < sh->ring.start)
		return watch_begin(w);
	e = ring_entry_from(&sh->ring, w->seq);
	if (e != NULL && e->offset <= w->cursor) {
		w->seq = e->seq + 1;
		if (ring_entry_void(&sh->ring, e))
			return true;
		if (e->kind == RING_RESIZED)
			watch_send_resized(w, e->offset, e->rows, e->cols);
		else
			watch_send_mark(w, e);
		return true;
	}
	if (watch_send_output(w, e != NULL ? e->offset : sh->ring.end, n))
		return true;
	if (sh->state == SHELL_ENDED && w->cursor == sh->ring.end &&
	    e == NULL && !w->told_end) {
		w->told_end = true;
		buf_init(&b, 1u << 20);
		shell_put(sh, &b);
		watch_send(w, F_SHELL, &b);
		return true;
	}
	return false;
}

/* ---- flow ---- */

bool
watch_alive(const struct watch *w, uint64_t gated_ms, uint64_t now)
{
	uint64_t acked = w->acked_ms, heard = peer_heard_ms(w->peer);

	if (acked < gated_ms)
		acked = gated_ms;
	if (now - acked < LAG_MS)
		return true;
	return now - acked < LAG_HEARD_MS && now - heard < LAG_MS;
}

bool
watch_want(struct shell *sh, uint64_t now, uint64_t *ms)
{
	struct watch *w;
	uint64_t best = 0;
	bool live = false;

	TAILQ_FOREACH(w, &sh->watches, of_shell) {
		if (w->level < 2 || w->lagging)
			continue;
		if (sh->gated_ms != 0 && w->max <= sh->ring.end &&
		    !watch_alive(w, sh->gated_ms, now)) {
			w->lagging = true;
			continue;
		}
		live = true;
		if (w->max > best)
			best = w->max;
	}
	if (!live)
		return !keeper_gates(sh, now, ms);
	if (sh->ring.end < best)
		return true;
	*ms = LAG_MS / 2;
	return false;
}

uint64_t
watch_low(const struct shell *sh)
{
	const struct watch *w;
	uint64_t low = UINT64_MAX;

	TAILQ_FOREACH(w, &sh->watches, of_shell)
		if (!w->lagging && !w->fresh && w->taken < low)
			low = w->taken;
	return low;
}
