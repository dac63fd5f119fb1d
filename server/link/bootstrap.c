/* SPDX-License-Identifier: ISC */
/*
 * The one-liner. It is one argument of ssh, read by whatever login shell is
 * there, so inside its quotes there is no ' ! \ or newline; it needs sh, test
 * -O, head -c, mkdir, chmod, mv, rm, ls, wc, sleep, id and uname, nothing else. It
 * reads nothing from stdin before it has said NEED, since start-up files may.
 *
 * Warm: the first candidate directory that is ours, 0700 and no link and holds
 * the program, ours and no link, is used. Cold: the first that we can make so,
 * that has the room, and whose files run (an empty one: the kernel says
 * "no format" where it would run, "not permitted" where it would not, and a
 * shell runs the former as an empty script). What arrives must confirm its own
 * size and sum before it gets its name: from then on the name is the check.
 * Each second a loop beside it says how far it is (what ssh has swallowed is
 * not there yet), on stderr, since the agent may speak at any moment; it ends when
 * the new file has got its name, or nobody listens.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../base/buf.h"
#include "../base/limits.h"
#include "../base/log.h"
#include "../base/mem.h"
#include "bootstrap.h"

struct boot_scan {
	char	 marker[BOOT_MARKER + 1];
	uint8_t	 fall[BOOT_MARKER + 1];	/* Knuth, Morris, Pratt */
	size_t	 hit;			/* bytes of the marker just seen */
	bool	 taking;		/* behind a marker: collect the line */
	size_t	 len;
	char	 line[BOOT_LINE_MAX + 1];
	size_t	 total;			/* bytes looked at */
	size_t	 ours;			/* ... that are words of ours */
	size_t	 kept;
	char	 noise[BOOT_NOISE_KEEP + 1];
};

/* $d: directory, $a: the program in it, $t: the new file, $f: the directories
 * that are full, $w: the step, $l: the mask of who logged in, which is the one
 * for what he runs. A directory is gone into before it is looked
 * at, and everything in it named from there: in a /tmp that others write, a
 * name could be another thing at each use. */
static const char candidates[] =
	"echo \"$m HERE\"; "
	"u=$(id -u); c=${XDG_CACHE_HOME:-${HOME:+$HOME/.cache}}; "
	"set -- \"${c:+$c/dlmux}\" "
	"\"${XDG_RUNTIME_DIR:+$XDG_RUNTIME_DIR/dlmux}\" "
	"/var/tmp/dlmux-$u /tmp/dlmux-$u /dev/shm/dlmux-$u; a=./$n; ";

static const char warm_head[] =
	"for d in \"$@\"; do case $d in /*) ;; *) continue;; esac; "
	"test -L \"$d\" && continue; cd \"$d\" 2>/dev/null && "
	"test -O . && test -f $a && test -O $a && test -x $a || continue; "
	"case $(ls -ld .) in drwx--[-S]---*) ;; *) continue;; esac; "
	"test -L $a && continue; ";
/* The size first: a shell would run half a program as a script of its own. */
static const char warm_careful[] =
	"test $(wc -c <$a) -eq $s && $a agent --confirm $s $k || continue; ";
static const char warm_tail[] =
	"exec $a agent --stdio $m; done; ";

static const char cold[] =
	"l=$(umask); umask 077; t=; f=; for d in \"$@\"; do "
	"case $d in /*) ;; *) continue;; esac; "
	"mkdir -p \"$d\"; test -L \"$d\" && continue; "
	"cd \"$d\" && test -O . && chmod 700 . || continue; "
	"t=./.$n.$m; "
	"if test -c /dev/zero; then head -c $s /dev/zero >$t || "
	"{ test -f $t && f=\"$f $d\"; false; }; fi && "
	"true >$t && chmod 700 $t && $t && break; "
	"rm -f $t; t=; done; "
	"if test -z \"$t\"; then echo \"$m NODIR $*${f:+; no room in$f}\"; "
	"exit 1; fi; "
	"echo \"$m NEED $(uname -sm)\"; "
	"w=write; { while sleep 1 >/dev/null 2>&1; do "
	"test -f $t && echo \"$m GOT $(wc -c <$t)\" >&2 || break; done; } & "
	"head -c $s >$t; echo \"$m GOT $s\"; "
	"test $(wc -c <$t) -eq $s && chmod 700 $t && "
	"w=run && $t agent --confirm $s $k && "
	"w=rename && { test -d $a || mv -f $t $a; } && test -f $a && "
	"w=start && umask $l && exec $a agent --stdio $m; "
	"rm -f $t; echo \"$m FAIL $w $d\"; exit 1";

char *
boot_oneliner(const struct boot_spec *b)
{
	/* ssh's variables for prompts name our server and a secret; behind a
	 * Command they would reach the shells of the workspace. */
	static const char strip[] =
	    "unset SSH_ASKPASS SSH_ASKPASS_REQUIRE DLMUX_ASKPASS; ";

	return xasprintf("exec sh -c '%sm=%s; n=dlmux-%s; s=%" PRIu64
	    "; k=0x%08" PRIx32 "; DLMUX_INSTANCE=%s; export DLMUX_INSTANCE; "
	    "%s%s%s%s%s'", b->strip ? strip : "", b->marker, b->payload->hash,
	    b->payload->size, b->payload->crc, b->instance, candidates,
	    warm_head, b->careful ? warm_careful : "", warm_tail, cold);
}

struct boot_scan *
boot_scan_new(const char *marker)
{
	struct boot_scan *s = xcalloc(1, sizeof *s);
	size_t i, k = 0;

	memcpy(s->marker, marker, BOOT_MARKER);
	for (i = 1; i < BOOT_MARKER; i++) {
		while (k > 0 && s->marker[i] != s->marker[k])
			k = s->fall[k];
		if (s->marker[i] == s->marker[k])
			k++;
		s->fall[i + 1] = (uint8_t)k;
	}
	return s;
}

void
boot_scan_free(struct boot_scan *s)
{
	free(s);
}

const char *
boot_scan_text(const struct boot_scan *s)
{
	const char *p = s->line + strcspn(s->line, " ");

	return *p == ' ' ? p + 1 : p;
}

size_t
boot_scan_skipped(const struct boot_scan *s)
{
	return s->total - s->ours;
}

const char *
boot_scan_noise(const struct boot_scan *s)
{
	return s->noise;
}

/* Keeps the end: when full, the older half goes. */
static void
keep_noise(struct boot_scan *s, char c)
{
	if (s->kept == BOOT_NOISE_KEEP) {
		s->kept /= 2;
		memmove(s->noise, s->noise + BOOT_NOISE_KEEP - s->kept,
		    s->kept);
	}
	s->noise[s->kept++] = c != '\0' ? c : ' ';
	s->noise[s->kept] = '\0';
}

/* True when c completes the marker. */
static bool
match(struct boot_scan *s, char c)
{
	while (s->hit > 0 && (s->hit == BOOT_MARKER ||
	    s->marker[s->hit] != c))
		s->hit = s->fall[s->hit];
	if (s->marker[s->hit] == c)
		s->hit++;
	return s->hit == BOOT_MARKER;
}

/* The line behind a marker, without its end: " WORD text". */
static enum boot_word
word_of(struct boot_scan *s)
{
	static const struct { const char *name; enum boot_word word; } w[] = {
		{ " HERE", BOOT_HERE }, { " GOT", BOOT_GOT },
		{ " AGENT", BOOT_AGENT }, { " NEED", BOOT_NEED },
		{ " NODIR", BOOT_NODIR }, { " FAIL", BOOT_FAIL }
	};
	size_t i, n;

	if (s->len > 0 && s->line[s->len - 1] == '\r')
		s->len--;
	s->line[s->len] = '\0';
	for (i = 0; i < sizeof w / sizeof w[0]; i++) {
		n = strlen(w[i].name);
		if (strncmp(s->line, w[i].name, n) == 0 &&
		    (s->line[n] == ' ' || s->line[n] == '\0')) {
			memmove(s->line, s->line + 1, s->len);
			return w[i].word;
		}
	}
	return BOOT_MORE;
}

static void
line_was_noise(struct boot_scan *s)
{
	size_t i;

	for (i = 0; i < s->len; i++)
		keep_noise(s, s->line[i]);
	s->len = 0;
	s->line[0] = '\0';
	s->taking = false;
}

enum boot_word
boot_scan(struct boot_scan *s, const void *data, size_t n, size_t *used)
{
	const char *p = data;
	enum boot_word w;
	size_t i, n_ours;

	for (i = 0; i < n; i++) {
		if (++s->total > BOOT_NOISE_MAX) {
			*used = i;
			return BOOT_NOISE;
		}
		if (match(s, p[i])) {
			/* Its beginning went to the noise. */
			if (!s->taking)
				s->kept -= s->kept < BOOT_MARKER - 1 ?
				    s->kept : BOOT_MARKER - 1;
			s->noise[s->kept] = '\0';
			s->taking = true;
			s->len = 0;
			continue;
		}
		if (!s->taking) {
			keep_noise(s, p[i]);
			continue;
		}
		if (p[i] == '\n') {
			n_ours = BOOT_MARKER + s->len + 1;
			w = word_of(s);
			if (w != BOOT_MORE) {
				s->taking = false;
				s->hit = 0;
				s->ours += n_ours;
				*used = i + 1;
				return w;
			}
			line_was_noise(s);
			keep_noise(s, '\n');
		} else if (s->len == BOOT_LINE_MAX) {
			line_was_noise(s);
			keep_noise(s, p[i]);
		} else
			s->line[s->len++] = p[i] != '\0' ? p[i] : ' ';
	}
	*used = n;
	return BOOT_MORE;
}

/* Drops CSI sequences in place: devpod colours what it logs. */
static void
uncolour(char *s)
{
	char *out = s;

	while (*s != '\0') {
		if (s[0] == '\033' && s[1] == '[') {
			for (s += 2; *s >= 0x20 && *s < 0x40; s++)
				;
			if (*s != '\0')
				s++;
		} else
			*out++ = *s++;
	}
	*out = '\0';
}

static bool
says_something(const char *s)
{
	for (; *s != '\0'; s++)
		if ((unsigned char)*s > ' ')
			return true;
	return false;
}

char *
boot_last_line(const char *text, size_t len)
{
	char clean[BOOT_LINE_MAX], *line, *s;
	size_t end = len, start;

	for (;;) {
		while (end > 0 && (text[end - 1] == '\n' ||
		    text[end - 1] == '\r'))
			end--;
		if (end == 0)
			return NULL;
		for (start = end; start > 0 && text[start - 1] != '\n' &&
		    text[start - 1] != '\r'; start--)
			;
		line = xstrndup(text + start, end - start);
		uncolour(line);
		if (says_something(line))
			break;
		free(line);
		end = start;
	}
	for (s = line; *s == ' ' || *s == '\t'; s++)
		;
	log_clean(clean, sizeof clean, s);
	free(line);
	return xstrdup(clean);
}
