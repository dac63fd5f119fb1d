/* SPDX-License-Identifier: ISC */
/*
 * What a user's terminal sends, as a play: keys, pastes and answers in an order
 * that the input tells, written in pieces that it tells as well, with time
 * passing between them. The keys must come out, all of them and as they were
 * typed, and of the answers nothing. Then the input itself, as bytes: however
 * it is cut, the same comes out, and nothing that did not go in.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../../server/base/buf.h"
#include "../../term/replies.h"

int	LLVMFuzzerTestOneInput(const uint8_t *, size_t);

/* Nothing here, put behind ESC, makes the beginning of an answer. */
static const char *const keys[] = {
	"a", "ls -l\r", "\003", "\033", "\033[A", "\033OP", "\033[15;5~",
	"\033[97;5u", "\033[27;5;97~", "\033[<0;3;4M", "\033[M !!", "\033[[A",
	"\033x", "\033\033[B", "\303\251", "\360\237\230\200", "c", "0n",
	"\033[200~pasted \033]11;rgb:1/2/3\a text\033[?1;2c\033[201~",
	"\033[200~\033[201~", "\033[Z", "\033[1;3C", "\033[57441;5:3u",
	"\177", "\t", "y", ";", "\\",
};

static const char *const answers[] = {
	"\033]11;rgb:0000/1111/2222\033\\", "\033]10;rgb:ff/ee/dd\a",
	"\033]12;#abcdef\a", "\033]4;7;rgb:1/2/3\033\\",
	"\033]4;255;rgba:0000/1111/2222/ffff\a", "\033[?62;22c", "\033[?c",
	"\033[?64;1;2;6;9;15;16;17;18;21;22;28c", "\033[?2031;2$y",
	"\033[?2031;0$y", "\033[?997;1n", "\033[I", "\033[O",
};

#define N(a) (sizeof (a) / sizeof (a)[0])

static void
must(bool ok)
{
	if (!ok)
		abort();
}

/* p: one byte an event, the next its piece's length when it is cut. */
static void
play(const uint8_t *p, size_t n)
{
	struct replies *r = replies_new();
	struct buf asked, out, want;
	const char *s;
	size_t len, at, piece;
	bool key, escape = false;

	buf_init(&asked, 1 << 16);
	buf_init(&out, 1 << 20);
	buf_init(&want, 1 << 20);
	replies_mine(r, true, true);
	while (n-- > 0) {
		uint8_t c = *p++;

		if (c >= 0xf0) {
			buf_reset(&asked);
			replies_ask(r, c & 7, &asked);
			continue;
		}
		if (c >= 0xe8) {
			replies_give_up(r);
			continue;
		}
		if (c >= 0xe0) {
			replies_flush(r, &out);
			escape = false;
			continue;
		}
		key = c < 0x80;
		s = key ? keys[c % N(keys)] : answers[c % N(answers)];
		len = strlen(s);
		/* Escape and what follows at once are one key together: "[" by
		 * itself is no token, so none of an answer's. */
		if (key && escape && (*s == 'O' || *s == '['))
			continue;
		if (key)
			buf_put(&want, s, len);
		escape = key && s[len - 1] == '\033';
		for (at = 0; at < len; at += piece) {
			piece = n > 0 ? 1 + *p % 7 : len;
			if (piece > len - at)
				piece = len - at;
			replies_feed(r, s + at, piece, &out);
			/* Time passes: within an answer's first bytes only
			 * while one is awaited, and then nothing is let go. */
			if (n > 0 && *p & 0x40 && at + piece >= 6 &&
			    !replies_open(r))
				replies_flush(r, &out);
			if (n > 0) {
				p++;
				n--;
			}
		}
	}
	replies_flush(r, &out);
	must(buf_ok(&out) && buf_ok(&want) && out.len == want.len &&
	    (out.len == 0 || memcmp(out.data, want.data, out.len) == 0));
	must(!replies_pending(r));
	replies_free(r);
	buf_free(&asked);
	buf_free(&out);
	buf_free(&want);
}

static void
raw(const uint8_t *p, size_t n, size_t cut, struct buf *out)
{
	struct replies *r = replies_new();
	struct buf asked;

	buf_init(&asked, 1 << 16);
	replies_ask(r, REPLIES_BASE, &asked);
	replies_feed(r, p, cut, out);
	replies_feed(r, p + cut, n - cut, out);
	buf_free(&asked);
	replies_free(r);
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	struct buf whole, cut;
	size_t i, at = 0;

	if (n < 2)
		return 0;
	play(p, n);
	buf_init(&whole, 1 << 20);
	buf_init(&cut, 1 << 20);
	raw(p, n, 0, &whole);
	raw(p, n, p[0] % n, &cut);
	must(whole.len == cut.len && (whole.len == 0 ||
	    memcmp(whole.data, cut.data, whole.len) == 0));
	/* In order, and nothing else. */
	for (i = 0; i < whole.len; i++, at++) {
		while (at < n && p[at] != whole.data[i])
			at++;
		must(at < n);
	}
	buf_free(&whole);
	buf_free(&cut);
	return 0;
}
