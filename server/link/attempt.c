/* SPDX-License-Identifier: ISC */
/*
 * The bootstrap as the server lives it: start the transport, read to the
 * marker, send the program if it is wanted, hand over at AGENT. Nothing is
 * sent before the far side has said NEED, and nothing but the program then.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../base/buf.h"
#include "../base/clock.h"
#include "../base/fd.h"
#include "../base/hook.h"
#include "../base/limits.h"
#include "../base/log.h"
#include "../base/mem.h"
#include "attempt.h"
#include "bootstrap.h"
#include "child.h"
#include "local.h"
#include "names.h"
#include "payload.h"

/* After the end of its output a transport has this long to end itself. */
#define EOF_MS		2000
#define CHUNK		(32 << 10)

struct attempt {
	struct attempt_spec	 spec;
	const struct attempt_cb	*cb;
	void			*arg;
	char			*askpass, *machine;
	char			**env;
	struct local		*local;
	struct transport	*tr;
	struct names		*names;
	struct payload		 payload;
	struct boot_scan	*scan;
	char			 marker[BOOT_MARKER + 1];
	int			 rfd, wfd;
	struct event		*rev, *wev, *timer, *begin;
	uint64_t		 until;		/* clock_ms(); 0: paused */
	uint64_t		 left_ms;	/* while paused */
	uint64_t		 sent, got;
	bool			 needed;	/* NEED was said */
	bool			 careful;	/* second go: trust nothing */
	bool			 moved;		/* second go: other machine */
	bool			 eof;		/* its output ended */
	bool			 heard;		/* its output began */
	char			*why;		/* while the names are asked */
};

static void	 begin(evutil_socket_t, short, void *);
static void	 on_read(evutil_socket_t, short, void *);
static void	 on_write(evutil_socket_t, short, void *);

/* Ends what runs, keeps what a second go needs. */
static void
stop(struct attempt *a)
{
	local_cancel(a->local);
	a->local = NULL;
	names_cancel(a->names);
	a->names = NULL;
	if (a->rev != NULL)
		event_free(a->rev);
	if (a->wev != NULL)
		event_free(a->wev);
	a->rev = a->wev = NULL;
	fd_close(&a->rfd);
	fd_close(&a->wfd);
	transport_free(a->tr, 0);
	a->tr = NULL;
	boot_scan_free(a->scan);
	a->scan = NULL;
	payload_close(&a->payload);
}

void
attempt_cancel(struct attempt *a)
{
	if (a == NULL)
		return;
	stop(a);
	event_free(a->timer);
	event_free(a->begin);
	free(a->askpass);
	free(a->machine);
	strv_free(a->env);
	free(a->why);
	free(a);
}

/* Takes why. */
static void
fail(struct attempt *a, char *why)
{
	const struct attempt_cb *cb = a->cb;
	void *arg = a->arg;

	attempt_cancel(a);
	cb->failed(why, arg);
	free(why);
}

static void
again(struct attempt *a)
{
	stop(a);
	trace_again(a->spec.trace);
	event_active(a->begin, EV_TIMEOUT, 1);
}

static void
set_timer(struct attempt *a, uint64_t ms)
{
	struct timeval tv = { (time_t)(ms / 1000),
	    (suseconds_t)(ms % 1000 * 1000) };

	a->until = clock_ms() + ms;
	event_add(a->timer, &tv);
}

/* ---- words for a failure ---- */

/* The last line of its stderr, or of what start-up files printed, or what
 * became of it. */
static char *
last_words(struct attempt *a, const char *otherwise)
{
	static const char hostkey[] = "Host key verification failed.";
	const char *err;
	char *s, *before, *all;
	size_t len;

	err = transport_stderr(a->tr, &len);
	s = boot_last_line(err, len);
	if (s != NULL && strcmp(s, hostkey) == 0) {
		/* The line before says more; in BatchMode there is none when
		 * the key is merely unknown. */
		before = boot_last_line(err, (size_t)(strstr(err, hostkey) -
		    err));
		all = before != NULL ? xasprintf("%s %s", before, s) :
		    xasprintf("%s If the host is new, `dlmux connect %s` "
		    "asks about its key", s, a->spec.target->name);
		free(before);
		free(s);
		return all;
	}
	/* In BatchMode ssh does not even try what it would have to ask. */
	if (s != NULL && a->askpass == NULL &&
	    strstr(s, "Permission denied (") != NULL) {
		all = xasprintf("%s At a terminal, `dlmux connect %s` asks for "
		    "a password, passphrase or code", s, a->spec.target->name);
		free(s);
		return all;
	}
	if (s == NULL)
		s = boot_last_line(boot_scan_noise(a->scan),
		    strlen(boot_scan_noise(a->scan)));
	return s != NULL ? s : xstrdup(otherwise);
}

/* Says what and, where the far side gave one, the reason. */
static void
fail_with(struct attempt *a, char *what)
{
	const char *err;
	char *last, *all;
	size_t len;

	err = transport_stderr(a->tr, &len);
	last = boot_last_line(err, len);
	if (last == NULL) {
		fail(a, what);
		return;
	}
	all = xasprintf("%s: %s", what, last);
	free(last);
	free(what);
	fail(a, all);
}

static void
fail_upload(struct attempt *a)
{
	const char *text = boot_scan_text(a->scan);
	char clean[BOOT_LINE_MAX], *dir;

	log_clean(clean, sizeof clean, text);
	dir = strchr(clean, ' ');
	if (dir == NULL)
		dir = (char *)" ?";
	if (strncmp(clean, "write ", 6) == 0)
		fail_with(a, xasprintf("the agent could not be written "
		    "to%s", dir));
	else if (strncmp(clean, "run ", 4) == 0)
		fail_with(a, xasprintf("the agent does not run in%s (it was "
		    "built for another machine or C library?)", dir));
	else if (strncmp(clean, "rename ", 7) == 0)
		fail_with(a, xasprintf("%s/dlmux-%s is in the agent's way; "
		    "remove it", dir + 1, a->payload.hash));
	else if (strncmp(clean, "start ", 6) == 0)
		fail_with(a, xasprintf("the agent could not be started "
		    "in%s", dir));
	else		/* the front's own words */
		fail_with(a, xstrdup(clean));
}

static void
on_names(const char *list, void *arg)
{
	struct attempt *a = arg;
	const char *prog = a->spec.target->scheme == SCHEME_DOCKER ? "docker" :
	    "podman";
	char *why = a->why;

	a->names = NULL;
	a->why = NULL;
	if (list != NULL) {
		free(why);
		why = *list != '\0' ?
		    xasprintf("no such container (%s ps lists: %s)", prog,
		    list) : xasprintf("no such container (%s ps lists none)",
		    prog);
	}
	fail(a, why);
}

/* docker's words, and podman's ("can only create exec sessions on running
 * containers: container state improper"). */
static bool
stopped_container(const char *s)
{
	return strcasestr(s, "container ") != NULL &&
	    (strcasestr(s, "is not running") != NULL ||
	    strcasestr(s, "on running containers") != NULL);
}

/* The transport is gone and no word of the bootstrap's explains it. */
static void
explain(struct attempt *a, int status)
{
	enum scheme scheme = a->spec.target->scheme;
	const char *prog = scheme == SCHEME_DOCKER ? "docker" : "podman";
	char *words, *otherwise, *s;

	words = child_words(status);
	otherwise = xasprintf("its %s %s before dlmux could be started there",
	    scheme == SCHEME_COMMAND ? "Command" : "connection", words);
	free(words);
	/* What was written may still be ssh's own. */
	if (a->needed && a->got < a->payload.size) {
		s = last_words(a, "");
		words = xasprintf("the connection broke while the agent was "
		    "being sent%s%s", *s != '\0' ? ": " : "", s);
		free(s);
		s = words;
	} else
		s = last_words(a, otherwise);
	free(otherwise);
	if (scheme != SCHEME_DOCKER && scheme != SCHEME_PODMAN) {
		fail(a, s);
		return;
	}
	if (stopped_container(s)) {
		free(s);
		s = xasprintf("the container is not running (%s start %s "
		    "starts it)", prog, a->spec.target->host);
	}
	if (strcasestr(s, "no such container") != NULL ||
	    strcasestr(s, "no container with name") != NULL) {
		a->why = s;
		a->names = names_start(a->spec.base, prog, a->env, on_names,
		    a);
		return;
	}
	fail(a, s);
}

/* ---- the bootstrap ---- */

static void
send_more(struct attempt *a)
{
	char data[CHUNK];
	size_t want;
	ssize_t n;

	if (a->sent >= a->payload.size)
		return;
	want = sizeof data;
	if (want > a->payload.size - a->sent)
		want = (size_t)(a->payload.size - a->sent);
	n = pread(a->payload.fd, data, want, (off_t)a->sent);
	if (n <= 0) {
		fail(a, xasprintf("the agent's program cannot be read: %s",
		    n == 0 ? "it became shorter" : strerror(errno)));
		return;
	}
	n = write(a->wfd, data, (size_t)n);
	if (n == -1 && errno != EAGAIN && errno != EINTR)
		return;		/* gone: its end or its FAIL will tell why */
	if (n > 0) {
#ifdef DLMUX_HOOKS
		if (a->sent < a->payload.size / 2 && a->sent + (uint64_t)n >=
		    a->payload.size / 2)
			HOOK("link-upload");
#endif
		a->sent += (uint64_t)n;
	}
	if (a->sent < a->payload.size)
		event_add(a->wev, NULL);
}

static void
on_write(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	send_more(arg);
}

/* False: the attempt is over or goes another way. */
static bool
on_need(struct attempt *a)
{
	const char *machine = boot_scan_text(a->scan), *have;
	struct payload other;
	char clean[128], *cause, *s;

	have = a->machine != NULL ? a->machine : payload_machine();
	if (a->machine == NULL && a->spec.target->binary != NULL &&
	    a->spec.target->binary_machine != NULL)
		have = a->spec.target->binary_machine;
	log_clean(clean, sizeof clean, machine);
	if (*clean != '\0' && strcmp(clean, have) != 0) {
		if (a->moved || payload_open(&other, a->spec.target, clean,
		    &cause) == -1) {
			fail(a, a->moved ? xasprintf("it said '%s' and then "
			    "'%s'", have, clean) : cause);
			return false;
		}
		payload_close(&other);
		free(a->machine);
		a->machine = xstrdup(clean);
		a->moved = true;
		trace_fact(a->spec.trace, "machine", "asked", "%s", clean);
		a->cb->machine(clean, a->arg);
		again(a);
		return false;
	}
	if (a->needed) {
		fail(a, xstrdup("the far side asked for the agent twice"));
		return false;
	}
	a->needed = true;
	a->sent = 0;
	a->got = 0;
	if (!a->moved)
		trace_fact(a->spec.trace, "machine", "asked", "%s", clean);
	trace_fact(a->spec.trace, "agent", "sent", "dlmux-%s",
	    a->payload.hash);
	trace_trip(a->spec.trace);
	trace_enter(a->spec.trace, PHASE_UPLOAD);
	s = xasprintf("sending the agent (%.1f MB)",
	    (double)a->payload.size / 1e6);
	a->cb->phase(s, a->arg);
	free(s);
	event_add(a->wev, NULL);
	return true;
}

static void
hand_over(struct attempt *a, const char *rest, size_t len)
{
	const struct attempt_cb *cb = a->cb;
	struct transport *tr = a->tr;
	void *arg = a->arg;
	int rfd = a->rfd, wfd = a->wfd;
	char *bytes;

	if (a->needed && a->sent < a->payload.size) {
		fail(a, xstrdup("the agent spoke before it was there"));
		return;
	}
	if (!a->needed)
		trace_fact(a->spec.trace, "agent", "found", "dlmux-%s",
		    a->payload.hash);
	trace_enter(a->spec.trace, PHASE_HELLO);
	bytes = xmalloc(len);
	memcpy(bytes, rest, len);
	event_free(a->rev);
	event_free(a->wev);
	a->rev = a->wev = NULL;
	a->rfd = a->wfd = -1;
	a->tr = NULL;
	attempt_cancel(a);
	cb->up(rfd, wfd, tr, bytes, len, arg);
	free(bytes);
}

/* So much is there. Bytes that move are an answer: a slow line has all the
 * time it needs. */
static void
on_got(struct attempt *a, const char *text)
{
	uint64_t got = strtoull(text, NULL, 10);

	if (!a->needed || got <= a->got || got > a->sent)
		return;
	a->got = got;
	if (a->until != 0)
		set_timer(a, a->spec.limit_ms);
	trace_bytes(a->spec.trace, got);
	if (a->cb->sent != NULL)
		a->cb->sent(got, a->payload.size, a->arg);
	if (got == a->payload.size)
		trace_enter(a->spec.trace, PHASE_CONFIRM);
}

/* tried: the directories, and behind a semicolon which of them are full. */
static void
fail_nodir(struct attempt *a, char *tried)
{
	static const char full[] = "; no room in ";
	char *in = strstr(tried, full);

	if (in == NULL) {
		fail_with(a, xasprintf("no directory there is writable, yours "
		    "alone and lets programs run (tried %s)", tried));
		return;
	}
	*in = '\0';
	fail(a, xasprintf("the disk there is full: no room for the agent "
	    "(%.1f MB) in %s (tried %s)", (double)a->payload.size / 1e6,
	    in + sizeof full - 1, tried));
}

/* The same on its stderr, where it cannot get between the agent's frames. */
static void
on_said(const char *text, void *arg)
{
	if (strncmp(text, " GOT ", 5) == 0)
		on_got(arg, text + 5);
}

/* False: the attempt is over or began anew. */
static bool
take(struct attempt *a, const char *data, size_t n)
{
	enum boot_word w;
	size_t used, i;
	char clean[BOOT_LINE_MAX];

	for (i = 0; i < n; i += used) {
		w = boot_scan(a->scan, data + i, n - i, &used);
		switch (w) {
		case BOOT_MORE:
			break;
		case BOOT_HERE:
			trace_bytes(a->spec.trace, boot_scan_skipped(a->scan));
			trace_enter(a->spec.trace, PHASE_AGENT);
			break;
		case BOOT_GOT:
			on_got(a, boot_scan_text(a->scan));
			break;
		case BOOT_NEED:
			if (!on_need(a))
				return false;
			break;
		case BOOT_AGENT:
			hand_over(a, data + i + used, n - i - used);
			return false;
		case BOOT_NODIR:
			log_clean(clean, sizeof clean,
			    boot_scan_text(a->scan));
			fail_nodir(a, clean);
			return false;
		case BOOT_FAIL:
			fail_upload(a);
			return false;
		case BOOT_NOISE:
			fail(a, xasprintf("more than %u KiB came and no "
			    "agent spoke; does a start-up file print "
			    "without end?", BOOT_NOISE_MAX >> 10));
			return false;
		}
	}
	return true;
}

/* 1: more may come; 0: the end; -1: the attempt is over. */
static int
read_some(struct attempt *a)
{
	char data[16 << 10];
	ssize_t n;

	n = read(a->rfd, data, sizeof data);
	if (n == -1 && (errno == EAGAIN || errno == EINTR))
		return 1;
	if (n <= 0)
		return 0;
	if (!a->heard) {
		a->heard = true;
		trace_trip(a->spec.trace);
		trace_enter(a->spec.trace, PHASE_LOGIN);
	}
	return take(a, data, (size_t)n) ? 2 : -1;
}

static void
on_read(evutil_socket_t fd, short what, void *arg)
{
	struct attempt *a = arg;

	(void)fd;
	(void)what;
	if (read_some(a) != 0)
		return;
	/* Its status and last words come with its end, soon. */
	event_del(a->rev);
	a->eof = true;
	set_timer(a, EOF_MS);
}

/*
 * Could the program that was found under the right name be to blame (another
 * machine's home, damage)? A shell that cannot run it says 126 or 127, or
 * takes it for a script of its own and chokes (2); half a program crashes, and
 * ssh tells of a signal only by 255 without a word.
 */
static bool
died_of_what_it_found(struct attempt *a, int status)
{
	size_t len;
	int code = WIFEXITED(status) ? WEXITSTATUS(status) :
	    128 + WTERMSIG(status);

	switch (code) {
	case 2:
	case 126:
	case 127:
	case 128 + SIGSEGV:
	case 128 + SIGBUS:
	case 128 + SIGILL:
		return true;
	case 255:
		(void)transport_stderr(a->tr, &len);
		return len == 0;
	default:
		return false;
	}
}

static void
on_ended(struct transport *t, int status, void *arg)
{
	struct attempt *a = arg;
	int r;

	(void)t;
	/* Its last word may still be in the pipe. */
	while ((r = read_some(a)) == 2)
		;
	if (r == -1)
		return;
	if (a->rev != NULL)
		event_del(a->rev);
	if (!a->needed && !a->careful && died_of_what_it_found(a, status)) {
		a->careful = true;
		again(a);
		return;
	}
	explain(a, status);
}

static void
on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct attempt *a = arg;
	char *last, *s;

	(void)fd;
	(void)what;
	if (a->why != NULL) {
		s = a->why;
		a->why = NULL;
		fail(a, s);
		return;
	}
	if (a->tr == NULL) {
		fail(a, xstrdup("no answer"));
		return;
	}
	if (a->eof) {
		fail(a, last_words(a, "the transport closed its output before "
		    "the agent spoke"));
		return;
	}
	last = last_words(a, "");
	s = xasprintf("no answer within %" PRIu64 " s%s%s",
	    a->spec.limit_ms / 1000, *last != '\0' ? "; last heard: " : "",
	    last);
	free(last);
	fail(a, s);
}

static void
on_local(int fd, const char *why, void *arg)
{
	struct attempt *a = arg;
	const struct attempt_cb *cb = a->cb;
	void *cbarg = a->arg;

	a->local = NULL;
	if (fd < 0) {
		fail(a, xstrdup(why));
		return;
	}
	trace_enter(a->spec.trace, PHASE_HELLO);
	attempt_cancel(a);
	cb->up(fd, fd, NULL, "", 0, cbarg);
}

/* What is known before anything is asked. */
static void
note_facts(struct attempt *a)
{
	const struct target *t = a->spec.target;

	if (a->moved)
		;		/* it was asked */
	else if (a->machine != NULL)
		trace_fact(a->spec.trace, "machine", "remembered", "%s",
		    a->machine);
	else if (t->binary != NULL && t->binary_machine != NULL)
		trace_fact(a->spec.trace, "machine", "configured", "%s",
		    t->binary_machine);
	else
		trace_fact(a->spec.trace, "machine", "assumed", "%s",
		    payload_machine());
	trace_fact(a->spec.trace, "program", a->payload.own ? "remembered" :
	    "read", "%.1f MB, its hash in its name",
	    (double)a->payload.size / 1e6);
}

static void
begin(evutil_socket_t fd, short what, void *arg)
{
	struct attempt *a = arg;
	struct transport_spec ts = { .target = a->spec.target,
	    .env = a->env, .askpass = a->askpass, .word = a->marker,
	    .said = on_said };
	struct boot_spec bs = { .instance = a->spec.place->instance,
	    .payload = &a->payload, .careful = a->careful,
	    .strip = a->spec.target->scheme == SCHEME_COMMAND };
	uint8_t random[BOOT_MARKER / 2];
	char *line, *cause = NULL;

	(void)fd;
	(void)what;
	if (a->until == 0 && a->left_ms == 0)
		set_timer(a, a->spec.limit_ms);
	if (a->spec.target->scheme == SCHEME_LOCAL) {
		trace_enter(a->spec.trace, PHASE_AGENT);
		a->local = local_start(a->spec.base, a->spec.place,
		    a->env, a->spec.trace, on_local, a);
		return;
	}
	if (payload_open(&a->payload, a->spec.target, a->machine, &cause) ==
	    -1) {
		fail(a, cause);
		return;
	}
	note_facts(a);
	random_bytes(random, sizeof random);
	hex_put(a->marker, random, sizeof random);
	a->needed = a->eof = a->heard = false;
	a->scan = boot_scan_new(a->marker);
	bs.marker = a->marker;
	ts.oneliner = line = boot_oneliner(&bs);
	a->tr = transport_start(a->spec.base, &ts, on_ended, a, &cause);
	free(line);
	if (a->tr == NULL) {
		fail(a, cause);
		return;
	}
	transport_take(a->tr, &a->rfd, &a->wfd);
	a->rev = event_new(a->spec.base, a->rfd, EV_READ | EV_PERSIST,
	    on_read, a);
	a->wev = event_new(a->spec.base, a->wfd, EV_WRITE, on_write, a);
	event_add(a->rev, NULL);
	trace_enter(a->spec.trace, PHASE_FIRST_BYTE);
}

struct attempt *
attempt_start(const struct attempt_spec *spec, const struct attempt_cb *cb,
    void *arg)
{
	struct attempt *a = xcalloc(1, sizeof *a);

	a->spec = *spec;
	a->env = strv_copy(spec->env);
	a->cb = cb;
	a->arg = arg;
	a->rfd = a->wfd = a->payload.fd = -1;
	if (spec->askpass != NULL)
		a->askpass = xstrdup(spec->askpass);
	if (spec->machine != NULL)
		a->machine = xstrdup(spec->machine);
	a->timer = event_new(spec->base, -1, 0, on_timer, a);
	a->begin = event_new(spec->base, -1, 0, begin, a);
	event_active(a->begin, EV_TIMEOUT, 1);
	return a;
}

void
attempt_pause(struct attempt *a, bool on)
{
	uint64_t now = clock_ms();

	trace_asking(a->spec.trace, on);
	if (on && a->until != 0) {
		a->left_ms = a->until > now ? a->until - now : 1;
		a->until = 0;
		event_del(a->timer);
	} else if (!on && a->until == 0) {
		set_timer(a, a->left_ms != 0 ? a->left_ms :
		    a->spec.limit_ms);
		a->left_ms = 0;
	}
}

pid_t
attempt_pid(const struct attempt *a)
{
	return a->tr != NULL ? transport_pid(a->tr) : 0;
}

bool
attempt_heard(const struct attempt *a)
{
	size_t len = 0;

	if (a->tr != NULL)
		(void)transport_stderr(a->tr, &len);
	return a->heard || len > 0;
}
