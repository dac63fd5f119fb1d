/* SPDX-License-Identifier: ISC */
/*
 * Messages to bytes and back; contract in msg.h, the fields' meaning in
 * doc/protocol.md. A message is the list of its fields, in one table; putting,
 * getting and freeing read the table, so the three cannot disagree.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "../base/limits.h"
#include "msg.h"

enum field_type {
	U8, U16, U32, U64,
	ID,		/* MSG_ID raw bytes */
	STR,		/* char *, at most MSG_STRING_MAX */
	STRV,		/* char **, together at most MSG_STRING_MAX */
	LONG_STRV,	/* argv or env: as much as exec takes */
	BLOB		/* struct blob: a pointer and, right behind it, a length */
};

struct field {
	enum field_type	type;
	size_t		at;	/* offset in the struct */
};

struct blob {
	uint8_t	*data;
	size_t	 len;
};

/* A field of the wrong width does not compile. */
#define WIDTH_U8	sizeof(uint8_t)
#define WIDTH_U16	sizeof(uint16_t)
#define WIDTH_U32	sizeof(uint32_t)
#define WIDTH_U64	sizeof(uint64_t)
#define WIDTH_ID	MSG_ID
#define WIDTH_STR	sizeof(char *)
#define WIDTH_STRV	sizeof(char **)
#define WIDTH_LONG_STRV	sizeof(char **)
#define WIDTH_BLOB	sizeof(uint8_t *)
#define FIELD(msg, type, name)						\
	{ type, offsetof(struct msg_##msg, name) + 0 * sizeof(char[	\
	    sizeof ((struct msg_##msg *)0)->name == WIDTH_##type ? 1 : -1]) }

/* Frozen: the first HELLO_FROZEN, proto_min to now_ms, are read by every version
 * there will ever be. */
#define HELLO_FROZEN	7
static const struct field hello_fields[] = {
	FIELD(hello, U16, proto_min),
	FIELD(hello, U16, proto_max),
	FIELD(hello, U8, role),
	FIELD(hello, ID, id),
	FIELD(hello, U64, epoch),
	FIELD(hello, U32, pid),
	FIELD(hello, U64, now_ms),
	FIELD(hello, STR, version),
	FIELD(hello, STR, host),
	FIELD(hello, STR, machine),
	FIELD(hello, STRV, features),
};

static const struct field open_fields[] = {
	FIELD(open, ID, op),
	FIELD(open, ID, agent),
	FIELD(open, U8, kind),
	FIELD(open, U8, flags),
	FIELD(open, U64, have[0]),
	FIELD(open, U64, have[1]),
	FIELD(open, U64, max[0]),
	FIELD(open, U64, max[1]),
	FIELD(open, U8, how),
	FIELD(open, U8, probe),
	FIELD(open, U16, rows),
	FIELD(open, U16, cols),
	FIELD(open, U64, uid),
	FIELD(open, STR, shell),
	FIELD(open, STR, cwd),
	FIELD(open, LONG_STRV, env),
	FIELD(open, LONG_STRV, argv),
};

static const struct field started_fields[] = {
	FIELD(started, U8, resumed),
	FIELD(started, U64, in_next),
	FIELD(started, U64, in_max),
	FIELD(started, U32, pid),
	FIELD(started, U32, shell_id),
	FIELD(started, U64, uid),
	FIELD(started, STR, shell),
};

static const struct field exit_fields[] = {
	FIELD(exit, U8, how),
	FIELD(exit, U8, open),
	FIELD(exit, U32, code),
	FIELD(exit, U64, end[0]),
	FIELD(exit, U64, end[1]),
	FIELD(exit, STR, signal),
};

static const struct field shell_fields[] = {
	FIELD(shell, U64, uid),
	FIELD(shell, U8, ended),
	FIELD(shell, U8, how),
	FIELD(shell, U32, code),
	FIELD(shell, U32, pid),
	FIELD(shell, U64, created_ms),
	FIELD(shell, U64, output_ms),
	FIELD(shell, U64, start),
	FIELD(shell, U64, end),
	FIELD(shell, U16, rows),
	FIELD(shell, U16, cols),
	FIELD(shell, STR, signal),
	FIELD(shell, STR, name),
	FIELD(shell, STR, command),
};

static const struct field use_fields[] = {
	FIELD(use, U8, flags),
	FIELD(use, STR, workspace),
	FIELD(use, LONG_STRV, env),
};

static const struct field link_fields[] = {
	FIELD(link, U8, state),
	FIELD(link, U8, retry),
	FIELD(link, ID, agent),
	FIELD(link, U64, since_ms),
	FIELD(link, U8, probe),
	FIELD(link, STR, workspace),
	FIELD(link, STR, text),
	FIELD(link, STRV, send_env),
};

static const struct field attach_fields[] = {
	FIELD(attach, U8, flags),
	FIELD(attach, ID, op),
	FIELD(attach, ID, agent),
	FIELD(attach, U64, uid),
	FIELD(attach, U64, lines),
	FIELD(attach, U32, modes),
	FIELD(attach, U16, rows),
	FIELD(attach, U16, cols),
	FIELD(attach, STR, workspace),
	FIELD(attach, STR, shell),
	FIELD(attach, BLOB, caps),
	FIELD(attach, LONG_STRV, env),
	FIELD(attach, LONG_STRV, argv),
};

static const struct field manner_fields[] = {
	FIELD(manner, U32, history),
	FIELD(manner, STR, size),
	FIELD(manner, STR, inside),
};

static const struct field attached_fields[] = {
	FIELD(attached, U64, uid),
	FIELD(attached, ID, agent),
	FIELD(attached, STR, workspace),
	FIELD(attached, STR, shell),
};

static const struct field placed_fields[] = {
	FIELD(placed, U16, row),
	FIELD(placed, U16, col),
	FIELD(placed, U16, rows),
	FIELD(placed, U16, cols),
};

static const struct field left_fields[] = {
	FIELD(left, U8, why),
	FIELD(left, U8, how),
	FIELD(left, U32, code),
	FIELD(left, STR, text),
};

static const struct field wait_fields[] = {
	FIELD(wait, U8, kind),
	FIELD(wait, U8, armed),
	FIELD(wait, ID, op),
	FIELD(wait, U32, idle_ms),
	FIELD(wait, U32, timeout_ms),
	FIELD(wait, STR, workspace),
	FIELD(wait, STR, shell),
	FIELD(wait, STR, regex),
};

static const struct field waited_fields[] = {
	FIELD(waited, U8, result),
	FIELD(waited, U8, how),
	FIELD(waited, U32, code),
	FIELD(waited, STR, text),
};

static const struct field capture_fields[] = {
	FIELD(capture, U8, flags),
	FIELD(capture, U32, history),
	FIELD(capture, STR, workspace),
	FIELD(capture, STR, shell),
};

static const struct field sizing_fields[] = {
	FIELD(sizing, U64, uid),
	FIELD(sizing, STR, workspace),
	FIELD(sizing, STR, shell),
	FIELD(sizing, STR, size),
};

static const struct field row_fields[] = {
	FIELD(row, U8, kind),
	FIELD(row, STRV, fields),
};

static const struct field done_fields[] = {
	FIELD(done, U16, code),
	FIELD(done, U32, status),
	FIELD(done, STR, text),
};

_Static_assert(offsetof(struct msg_attach, caps_len) ==
    offsetof(struct msg_attach, caps) + offsetof(struct blob, len),
    "caps and caps_len are read as a struct blob");

/* What the reader would refuse fails the buffer here, where there is somebody
 * to tell: there the whole message is only damaged. */
static void
put_str(struct buf *b, const char *s)
{
	if (s != NULL && strlen(s) > MSG_STRING_MAX)
		b->failed = true;
	buf_str(b, s);
}

static void
put_strv(struct buf *b, char *const *strv, size_t maxn, size_t max)
{
	size_t i, n = strv_len(strv), total = 0;

	for (i = 0; i < n; i++)
		total += strlen(strv[i]);
	if (n > maxn || total > max)
		b->failed = true;
	buf_strv(b, strv);
}

static void
fields_put(struct buf *b, const void *msg, const struct field *f, size_t n)
{
	const struct blob *blob;
	const void *p;

	for (; n-- > 0; f++) {
		p = (const char *)msg + f->at;
		switch (f->type) {
		case U8:
			buf_u8(b, *(const uint8_t *)p);
			break;
		case U16:
			buf_u16(b, *(const uint16_t *)p);
			break;
		case U32:
			buf_u32(b, *(const uint32_t *)p);
			break;
		case U64:
			buf_u64(b, *(const uint64_t *)p);
			break;
		case ID:
			buf_put(b, p, MSG_ID);
			break;
		case STR:
			put_str(b, *(char *const *)p);
			break;
		case STRV:
			put_strv(b, *(char **const *)p, MSG_STRINGS_MAX,
			    MSG_STRING_MAX);
			break;
		case LONG_STRV:
			put_strv(b, *(char **const *)p, OPEN_MAX_STRINGS,
			    OPEN_MAX_BYTES);
			break;
		case BLOB:
			blob = p;
			buf_bin(b, blob->data, blob->len);
			break;
		}
	}
}

static void
fields_free(void *msg, size_t size, const struct field *f, size_t n)
{
	void *p;

	if (msg == NULL)
		return;
	for (; n-- > 0; f++) {
		p = (char *)msg + f->at;
		if (f->type == STR)
			free(*(char **)p);
		else if (f->type == STRV || f->type == LONG_STRV)
			strv_free(*(char ***)p);
		else if (f->type == BLOB)
			free(((struct blob *)p)->data);
	}
	memset(msg, 0, size);
}

static void
blob_get(struct rd *r, struct blob *blob)
{
	const uint8_t *p = rd_bin(r, WIRE_CAPS_MAX, &blob->len);

	if (p == NULL || blob->len == 0)
		return;
	if ((blob->data = malloc(blob->len)) == NULL) {
		r->failed = true;
		blob->len = 0;
		return;
	}
	memcpy(blob->data, p, blob->len);
}

/* A read past the end yields zero and is asked about once, at the end. */
static void
fields_read(void *msg, const struct field *f, size_t n, struct rd *r)
{
	const void *id;
	void *p;

	for (; n-- > 0; f++) {
		p = (char *)msg + f->at;
		switch (f->type) {
		case U8:
			*(uint8_t *)p = rd_u8(r);
			break;
		case U16:
			*(uint16_t *)p = rd_u16(r);
			break;
		case U32:
			*(uint32_t *)p = rd_u32(r);
			break;
		case U64:
			*(uint64_t *)p = rd_u64(r);
			break;
		case ID:
			if ((id = rd_raw(r, MSG_ID)) != NULL)
				memcpy(p, id, MSG_ID);
			break;
		case STR:
			*(char **)p = rd_str(r, MSG_STRING_MAX);
			break;
		case STRV:
			*(char ***)p = rd_strv(r, MSG_STRINGS_MAX,
			    MSG_STRING_MAX);
			break;
		case LONG_STRV:
			*(char ***)p = rd_strv(r, OPEN_MAX_STRINGS,
			    OPEN_MAX_BYTES);
			break;
		case BLOB:
			blob_get(r, p);
			break;
		}
	}
}

static int
fields_get(void *msg, size_t size, const struct field *f, size_t n,
    const uint8_t *bytes, size_t len)
{
	struct rd r;

	memset(msg, 0, size);
	rd_init(&r, bytes, len);
	fields_read(msg, f, n, &r);
	if (rd_end(&r))
		return 0;
	fields_free(msg, size, f, n);
	return -1;
}

int
msg_hello_get(struct msg_hello *m, const uint8_t *p, size_t len)
{
	size_t n = sizeof hello_fields / sizeof hello_fields[0];
	struct rd r;

	memset(m, 0, sizeof *m);
	rd_init(&r, p, len);
	fields_read(m, hello_fields, n, &r);
	if (!r.failed)
		return 0;
	fields_free(m, sizeof *m, hello_fields, n);
	rd_init(&r, p, len);
	fields_read(m, hello_fields, HELLO_FROZEN, &r);
	if (r.failed || (m->proto_min <= PROTO_MAX &&
	    m->proto_max >= PROTO_MIN))
		goto bad;
	m->version = strdup("?");
	m->host = strdup("");
	m->machine = strdup("");
	m->features = calloc(1, sizeof *m->features);
	if (m->version != NULL && m->host != NULL && m->machine != NULL &&
	    m->features != NULL)
		return 0;
bad:
	fields_free(m, sizeof *m, hello_fields, n);
	return -1;
}

#define MESSAGE_PUT(x)							\
	void								\
	msg_##x##_put(struct buf *b, const struct msg_##x *m)		\
	{								\
		fields_put(b, m, x##_fields,				\
		    sizeof x##_fields / sizeof x##_fields[0]);		\
	}								\
	void								\
	msg_##x##_free(struct msg_##x *m)				\
	{								\
		fields_free(m, sizeof *m, x##_fields,			\
		    sizeof x##_fields / sizeof x##_fields[0]);		\
	}

#define MESSAGE(x)							\
	MESSAGE_PUT(x)							\
	int								\
	msg_##x##_get(struct msg_##x *m, const uint8_t *p, size_t len)	\
	{								\
		return fields_get(m, sizeof *m, x##_fields,		\
		    sizeof x##_fields / sizeof x##_fields[0], p, len);	\
	}

MESSAGE_PUT(hello)
MESSAGE(open)
MESSAGE(started)
MESSAGE(exit)
MESSAGE(shell)
MESSAGE(use)
MESSAGE(link)
MESSAGE(attach)
MESSAGE(manner)
MESSAGE(attached)
MESSAGE(placed)
MESSAGE(left)
MESSAGE(wait)
MESSAGE(waited)
MESSAGE(capture)
MESSAGE(sizing)
MESSAGE(row)
MESSAGE(done)

/* --- words and names ---------------------------------------------------- */

const char *
row_value(const struct msg_row *r, const char *name)
{
	size_t n = strlen(name), i;

	for (i = 0; r->fields[i] != NULL; i++)
		if (strncmp(r->fields[i], name, n) == 0 &&
		    r->fields[i][n] == '=')
			return r->fields[i] + n + 1;
	return NULL;
}

const char *
refusal_words(uint16_t code)
{
	static const char *const words[] = {
		[R_NONE] = "success",
		[R_ERROR] = "error",
		[R_NO_COMMAND] = "command not found",
		[R_NO_EXEC] = "the command cannot be executed",
		[R_EXISTS] = "a shell of that name exists",
		[R_NO_SHELL] = "no such shell",
		[R_ENDED] = "the shell has ended",
		[R_UNKNOWN_OP] =
		    "the operation is known no more; its result is unknown",
		[R_OTHER_AGENT] = "the workspace was recreated",
		[R_LIMIT] = "a limit was reached",
		[R_LOST] = "the shell is lost",
		[R_UNREACHABLE] = "the workspace is not connected",
		[R_USAGE] = "the request makes no sense",
		[R_READ_ONLY] = "the connection is read-only",
	};

	if (code >= sizeof words / sizeof words[0])
		return "refused for a reason that this version does not know";
	return words[code];
}

/* Names travel, numbers do not: they differ between systems. */
static const struct {
	const char	*name;
	int		 number;
} signals[] = {
	{ "HUP", SIGHUP }, { "INT", SIGINT }, { "QUIT", SIGQUIT },
	{ "ILL", SIGILL }, { "TRAP", SIGTRAP }, { "ABRT", SIGABRT },
	{ "BUS", SIGBUS }, { "FPE", SIGFPE }, { "KILL", SIGKILL },
	{ "USR1", SIGUSR1 }, { "SEGV", SIGSEGV }, { "USR2", SIGUSR2 },
	{ "PIPE", SIGPIPE }, { "ALRM", SIGALRM }, { "TERM", SIGTERM },
#ifdef SIGSTKFLT
	{ "STKFLT", SIGSTKFLT },
#endif
	{ "CHLD", SIGCHLD }, { "CONT", SIGCONT }, { "STOP", SIGSTOP },
	{ "TSTP", SIGTSTP }, { "TTIN", SIGTTIN }, { "TTOU", SIGTTOU },
	{ "URG", SIGURG }, { "XCPU", SIGXCPU }, { "XFSZ", SIGXFSZ },
	{ "VTALRM", SIGVTALRM }, { "PROF", SIGPROF }, { "WINCH", SIGWINCH },
	{ "IO", SIGIO },
#ifdef SIGPWR
	{ "PWR", SIGPWR },
#endif
	{ "SYS", SIGSYS },
};

const char *
signal_name(int number)
{
	size_t i;

	for (i = 0; i < sizeof signals / sizeof signals[0]; i++)
		if (signals[i].number == number)
			return signals[i].name;
	return NULL;
}

int
signal_number(const char *name)
{
	size_t i;

	if (strncmp(name, "SIG", 3) == 0)
		name += 3;
	for (i = 0; i < sizeof signals / sizeof signals[0]; i++)
		if (strcmp(signals[i].name, name) == 0)
			return signals[i].number;
	return -1;
}
