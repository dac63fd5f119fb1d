/* SPDX-License-Identifier: ISC */
/*
 * Messages to bytes and back; contract in msg.h, the fields' meaning in
 * doc/protocol.md. Each get reads as the list of its fields: a read past the
 * end yields zero and is asked about once, in MSG_END.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "../base/limits.h"
#include "msg.h"

/* Ends a get: all was there and nothing is left, or all is freed again. */
#define MSG_END(x, m, r)						\
	do {								\
		if (rd_end(r))						\
			return 0;					\
		msg_##x##_free(m);					\
		return -1;						\
	} while (0)

static void
get_id(struct rd *r, uint8_t id[MSG_ID])
{
	const uint8_t *p = rd_raw(r, MSG_ID);

	if (p != NULL)
		memcpy(id, p, MSG_ID);
}

static char *
get_str(struct rd *r)
{
	return rd_str(r, MSG_STRING_MAX);
}

static char **
get_strv(struct rd *r)
{
	return rd_strv(r, MSG_STRINGS_MAX, MSG_STRING_MAX);
}

/* argv or env: as much as exec takes. */
static char **
get_long_strv(struct rd *r)
{
	return rd_strv(r, OPEN_MAX_STRINGS, OPEN_MAX_BYTES);
}

/* --- hello -------------------------------------------------------------- */

void
msg_hello_put(struct buf *b, const struct msg_hello *m)
{
	/* Frozen: proto_min to now_ms are read by every version there will
	 * ever be. */
	buf_u16(b, m->proto_min);
	buf_u16(b, m->proto_max);
	buf_u8(b, m->role);
	buf_put(b, m->id, MSG_ID);
	buf_u64(b, m->epoch);
	buf_u32(b, m->pid);
	buf_u64(b, m->now_ms);
	buf_str(b, m->version);
	buf_str(b, m->host);
	buf_str(b, m->machine);
	buf_strv(b, m->features);
}

int
msg_hello_get(struct msg_hello *m, const uint8_t *p, size_t len)
{
	struct rd r;

	memset(m, 0, sizeof *m);
	rd_init(&r, p, len);
	m->proto_min = rd_u16(&r);
	m->proto_max = rd_u16(&r);
	m->role = rd_u8(&r);
	get_id(&r, m->id);
	m->epoch = rd_u64(&r);
	m->pid = rd_u32(&r);
	m->now_ms = rd_u64(&r);
	m->version = get_str(&r);
	m->host = get_str(&r);
	m->machine = get_str(&r);
	m->features = get_strv(&r);
	MSG_END(hello, m, &r);
}

void
msg_hello_free(struct msg_hello *m)
{
	if (m == NULL)
		return;
	free(m->version);
	free(m->host);
	free(m->machine);
	strv_free(m->features);
	memset(m, 0, sizeof *m);
}

/* --- operations --------------------------------------------------------- */

void
msg_open_put(struct buf *b, const struct msg_open *m)
{
	buf_put(b, m->op, MSG_ID);
	buf_put(b, m->agent, MSG_ID);
	buf_u8(b, m->kind);
	buf_u8(b, m->flags);
	buf_u64(b, m->have[0]);
	buf_u64(b, m->have[1]);
	buf_u64(b, m->max[0]);
	buf_u64(b, m->max[1]);
	buf_u8(b, m->how);
	buf_u8(b, m->probe);
	buf_u16(b, m->rows);
	buf_u16(b, m->cols);
	buf_u64(b, m->uid);
	buf_str(b, m->shell);
	buf_str(b, m->cwd);
	buf_strv(b, m->env);
	buf_strv(b, m->argv);
}

int
msg_open_get(struct msg_open *m, const uint8_t *p, size_t len)
{
	struct rd r;

	memset(m, 0, sizeof *m);
	rd_init(&r, p, len);
	get_id(&r, m->op);
	get_id(&r, m->agent);
	m->kind = rd_u8(&r);
	m->flags = rd_u8(&r);
	m->have[0] = rd_u64(&r);
	m->have[1] = rd_u64(&r);
	m->max[0] = rd_u64(&r);
	m->max[1] = rd_u64(&r);
	m->how = rd_u8(&r);
	m->probe = rd_u8(&r);
	m->rows = rd_u16(&r);
	m->cols = rd_u16(&r);
	m->uid = rd_u64(&r);
	m->shell = get_str(&r);
	m->cwd = get_str(&r);
	m->env = get_long_strv(&r);
	m->argv = get_long_strv(&r);
	MSG_END(open, m, &r);
}

void
msg_open_free(struct msg_open *m)
{
	if (m == NULL)
		return;
	free(m->shell);
	free(m->cwd);
	strv_free(m->env);
	strv_free(m->argv);
	memset(m, 0, sizeof *m);
}

void
msg_started_put(struct buf *b, const struct msg_started *m)
{
	buf_u8(b, m->resumed);
	buf_u64(b, m->in_next);
	buf_u64(b, m->in_max);
	buf_u32(b, m->pid);
	buf_u32(b, m->shell_id);
	buf_u64(b, m->uid);
	buf_str(b, m->shell);
}

int
msg_started_get(struct msg_started *m, const uint8_t *p, size_t len)
{
	struct rd r;

	memset(m, 0, sizeof *m);
	rd_init(&r, p, len);
	m->resumed = rd_u8(&r);
	m->in_next = rd_u64(&r);
	m->in_max = rd_u64(&r);
	m->pid = rd_u32(&r);
	m->shell_id = rd_u32(&r);
	m->uid = rd_u64(&r);
	m->shell = get_str(&r);
	MSG_END(started, m, &r);
}

void
msg_started_free(struct msg_started *m)
{
	if (m == NULL)
		return;
	free(m->shell);
	memset(m, 0, sizeof *m);
}

void
msg_exit_put(struct buf *b, const struct msg_exit *m)
{
	buf_u8(b, m->how);
	buf_u8(b, m->open);
	buf_u32(b, m->code);
	buf_u64(b, m->end[0]);
	buf_u64(b, m->end[1]);
	buf_str(b, m->signal);
}

int
msg_exit_get(struct msg_exit *m, const uint8_t *p, size_t len)
{
	struct rd r;

	memset(m, 0, sizeof *m);
	rd_init(&r, p, len);
	m->how = rd_u8(&r);
	m->open = rd_u8(&r);
	m->code = rd_u32(&r);
	m->end[0] = rd_u64(&r);
	m->end[1] = rd_u64(&r);
	m->signal = get_str(&r);
	MSG_END(exit, m, &r);
}

void
msg_exit_free(struct msg_exit *m)
{
	if (m == NULL)
		return;
	free(m->signal);
	memset(m, 0, sizeof *m);
}

/* --- shells and links --------------------------------------------------- */

void
msg_shell_put(struct buf *b, const struct msg_shell *m)
{
	buf_u64(b, m->uid);
	buf_u8(b, m->ended);
	buf_u8(b, m->how);
	buf_u32(b, m->code);
	buf_u32(b, m->pid);
	buf_u64(b, m->created_ms);
	buf_u64(b, m->output_ms);
	buf_u64(b, m->start);
	buf_u64(b, m->end);
	buf_u16(b, m->rows);
	buf_u16(b, m->cols);
	buf_str(b, m->signal);
	buf_str(b, m->name);
	buf_str(b, m->command);
}

int
msg_shell_get(struct msg_shell *m, const uint8_t *p, size_t len)
{
	struct rd r;

	memset(m, 0, sizeof *m);
	rd_init(&r, p, len);
	m->uid = rd_u64(&r);
	m->ended = rd_u8(&r);
	m->how = rd_u8(&r);
	m->code = rd_u32(&r);
	m->pid = rd_u32(&r);
	m->created_ms = rd_u64(&r);
	m->output_ms = rd_u64(&r);
	m->start = rd_u64(&r);
	m->end = rd_u64(&r);
	m->rows = rd_u16(&r);
	m->cols = rd_u16(&r);
	m->signal = get_str(&r);
	m->name = get_str(&r);
	m->command = get_str(&r);
	MSG_END(shell, m, &r);
}

void
msg_shell_free(struct msg_shell *m)
{
	if (m == NULL)
		return;
	free(m->signal);
	free(m->name);
	free(m->command);
	memset(m, 0, sizeof *m);
}

void
msg_use_put(struct buf *b, const struct msg_use *m)
{
	buf_u8(b, m->flags);
	buf_str(b, m->workspace);
	buf_strv(b, m->env);
}

int
msg_use_get(struct msg_use *m, const uint8_t *p, size_t len)
{
	struct rd r;

	memset(m, 0, sizeof *m);
	rd_init(&r, p, len);
	m->flags = rd_u8(&r);
	m->workspace = get_str(&r);
	m->env = get_long_strv(&r);
	MSG_END(use, m, &r);
}

void
msg_use_free(struct msg_use *m)
{
	if (m == NULL)
		return;
	free(m->workspace);
	strv_free(m->env);
	memset(m, 0, sizeof *m);
}

void
msg_link_put(struct buf *b, const struct msg_link *m)
{
	buf_u8(b, m->state);
	buf_u8(b, m->retry);
	buf_put(b, m->agent, MSG_ID);
	buf_u64(b, m->since_ms);
	buf_u8(b, m->probe);
	buf_str(b, m->workspace);
	buf_str(b, m->text);
	buf_strv(b, m->send_env);
}

int
msg_link_get(struct msg_link *m, const uint8_t *p, size_t len)
{
	struct rd r;

	memset(m, 0, sizeof *m);
	rd_init(&r, p, len);
	m->state = rd_u8(&r);
	m->retry = rd_u8(&r);
	get_id(&r, m->agent);
	m->since_ms = rd_u64(&r);
	m->probe = rd_u8(&r);
	m->workspace = get_str(&r);
	m->text = get_str(&r);
	m->send_env = get_strv(&r);
	MSG_END(link, m, &r);
}

void
msg_link_free(struct msg_link *m)
{
	if (m == NULL)
		return;
	free(m->workspace);
	free(m->text);
	strv_free(m->send_env);
	memset(m, 0, sizeof *m);
}

/* --- attaching ---------------------------------------------------------- */

void
msg_attach_put(struct buf *b, const struct msg_attach *m)
{
	buf_u8(b, m->flags);
	buf_put(b, m->op, MSG_ID);
	buf_put(b, m->agent, MSG_ID);
	buf_u64(b, m->uid);
	buf_u64(b, m->lines);
	buf_u32(b, m->modes);
	buf_u16(b, m->rows);
	buf_u16(b, m->cols);
	buf_str(b, m->workspace);
	buf_str(b, m->shell);
	buf_bin(b, m->caps, m->caps_len);
	buf_strv(b, m->env);
	buf_strv(b, m->argv);
}

static uint8_t *
get_blob(struct rd *r, size_t max, size_t *len)
{
	const uint8_t *p = rd_bin(r, max, len);
	uint8_t *copy;

	if (p == NULL || *len == 0)
		return NULL;
	if ((copy = malloc(*len)) == NULL) {
		r->failed = true;
		*len = 0;
		return NULL;
	}
	return memcpy(copy, p, *len);
}

int
msg_attach_get(struct msg_attach *m, const uint8_t *p, size_t len)
{
	struct rd r;

	memset(m, 0, sizeof *m);
	rd_init(&r, p, len);
	m->flags = rd_u8(&r);
	get_id(&r, m->op);
	get_id(&r, m->agent);
	m->uid = rd_u64(&r);
	m->lines = rd_u64(&r);
	m->modes = rd_u32(&r);
	m->rows = rd_u16(&r);
	m->cols = rd_u16(&r);
	m->workspace = get_str(&r);
	m->shell = get_str(&r);
	m->caps = get_blob(&r, WIRE_CAPS_MAX, &m->caps_len);
	m->env = get_long_strv(&r);
	m->argv = get_long_strv(&r);
	MSG_END(attach, m, &r);
}

void
msg_attach_free(struct msg_attach *m)
{
	if (m == NULL)
		return;
	free(m->workspace);
	free(m->shell);
	free(m->caps);
	strv_free(m->env);
	strv_free(m->argv);
	memset(m, 0, sizeof *m);
}

void
msg_attached_put(struct buf *b, const struct msg_attached *m)
{
	buf_u64(b, m->uid);
	buf_put(b, m->agent, MSG_ID);
	buf_str(b, m->workspace);
	buf_str(b, m->shell);
}

int
msg_attached_get(struct msg_attached *m, const uint8_t *p, size_t len)
{
	struct rd r;

	memset(m, 0, sizeof *m);
	rd_init(&r, p, len);
	m->uid = rd_u64(&r);
	get_id(&r, m->agent);
	m->workspace = get_str(&r);
	m->shell = get_str(&r);
	MSG_END(attached, m, &r);
}

void
msg_attached_free(struct msg_attached *m)
{
	if (m == NULL)
		return;
	free(m->workspace);
	free(m->shell);
	memset(m, 0, sizeof *m);
}

void
msg_left_put(struct buf *b, const struct msg_left *m)
{
	buf_u8(b, m->why);
	buf_u8(b, m->how);
	buf_u32(b, m->code);
	buf_str(b, m->text);
}

int
msg_left_get(struct msg_left *m, const uint8_t *p, size_t len)
{
	struct rd r;

	memset(m, 0, sizeof *m);
	rd_init(&r, p, len);
	m->why = rd_u8(&r);
	m->how = rd_u8(&r);
	m->code = rd_u32(&r);
	m->text = get_str(&r);
	MSG_END(left, m, &r);
}

void
msg_left_free(struct msg_left *m)
{
	if (m == NULL)
		return;
	free(m->text);
	memset(m, 0, sizeof *m);
}

/* --- requests and their answers ----------------------------------------- */

void
msg_wait_put(struct buf *b, const struct msg_wait *m)
{
	buf_u8(b, m->kind);
	buf_u8(b, m->armed);
	buf_put(b, m->op, MSG_ID);
	buf_u32(b, m->idle_ms);
	buf_u32(b, m->timeout_ms);
	buf_str(b, m->workspace);
	buf_str(b, m->shell);
	buf_str(b, m->regex);
}

int
msg_wait_get(struct msg_wait *m, const uint8_t *p, size_t len)
{
	struct rd r;

	memset(m, 0, sizeof *m);
	rd_init(&r, p, len);
	m->kind = rd_u8(&r);
	m->armed = rd_u8(&r);
	get_id(&r, m->op);
	m->idle_ms = rd_u32(&r);
	m->timeout_ms = rd_u32(&r);
	m->workspace = get_str(&r);
	m->shell = get_str(&r);
	m->regex = get_str(&r);
	MSG_END(wait, m, &r);
}

void
msg_wait_free(struct msg_wait *m)
{
	if (m == NULL)
		return;
	free(m->workspace);
	free(m->shell);
	free(m->regex);
	memset(m, 0, sizeof *m);
}

void
msg_waited_put(struct buf *b, const struct msg_waited *m)
{
	buf_u8(b, m->result);
	buf_u8(b, m->how);
	buf_u32(b, m->code);
	buf_str(b, m->text);
}

int
msg_waited_get(struct msg_waited *m, const uint8_t *p, size_t len)
{
	struct rd r;

	memset(m, 0, sizeof *m);
	rd_init(&r, p, len);
	m->result = rd_u8(&r);
	m->how = rd_u8(&r);
	m->code = rd_u32(&r);
	m->text = get_str(&r);
	MSG_END(waited, m, &r);
}

void
msg_waited_free(struct msg_waited *m)
{
	if (m == NULL)
		return;
	free(m->text);
	memset(m, 0, sizeof *m);
}

void
msg_capture_put(struct buf *b, const struct msg_capture *m)
{
	buf_u8(b, m->flags);
	buf_u32(b, m->history);
	buf_str(b, m->workspace);
	buf_str(b, m->shell);
}

int
msg_capture_get(struct msg_capture *m, const uint8_t *p, size_t len)
{
	struct rd r;

	memset(m, 0, sizeof *m);
	rd_init(&r, p, len);
	m->flags = rd_u8(&r);
	m->history = rd_u32(&r);
	m->workspace = get_str(&r);
	m->shell = get_str(&r);
	MSG_END(capture, m, &r);
}

void
msg_capture_free(struct msg_capture *m)
{
	if (m == NULL)
		return;
	free(m->workspace);
	free(m->shell);
	memset(m, 0, sizeof *m);
}

void
msg_row_put(struct buf *b, const struct msg_row *m)
{
	buf_u8(b, m->kind);
	buf_strv(b, m->fields);
}

int
msg_row_get(struct msg_row *m, const uint8_t *p, size_t len)
{
	struct rd r;

	memset(m, 0, sizeof *m);
	rd_init(&r, p, len);
	m->kind = rd_u8(&r);
	m->fields = get_strv(&r);
	MSG_END(row, m, &r);
}

void
msg_row_free(struct msg_row *m)
{
	if (m == NULL)
		return;
	strv_free(m->fields);
	memset(m, 0, sizeof *m);
}

void
msg_done_put(struct buf *b, const struct msg_done *m)
{
	buf_u16(b, m->code);
	buf_u32(b, m->status);
	buf_str(b, m->text);
}

int
msg_done_get(struct msg_done *m, const uint8_t *p, size_t len)
{
	struct rd r;

	memset(m, 0, sizeof *m);
	rd_init(&r, p, len);
	m->code = rd_u16(&r);
	m->status = rd_u32(&r);
	m->text = get_str(&r);
	MSG_END(done, m, &r);
}

void
msg_done_free(struct msg_done *m)
{
	if (m == NULL)
		return;
	free(m->text);
	memset(m, 0, sizeof *m);
}

/* --- words and names ---------------------------------------------------- */

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
