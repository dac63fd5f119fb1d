/* SPDX-License-Identifier: ISC */
/*
 * Asking by way of the server; contract in askpass.h. One small exchange, so
 * it reads and writes frames itself, blocking, without an event loop. ssh
 * reads one line of our stdout and takes our status.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../base/buf.h"
#include "../base/clock.h"
#include "../base/fd.h"
#include "../base/limits.h"
#include "../base/mem.h"
#include "../wire/frame.h"
#include "../wire/msg.h"
#include "askpass.h"

static int
send_frame(int fd, uint8_t type, const struct buf *b)
{
	struct frame_head h = { .len = (uint32_t)b->len, .type = type };
	uint8_t head[FRAME_HEADER];

	if (!buf_ok(b))
		return -1;
	frame_head_put(head, &h);
	if (fd_write_all(fd, head, sizeof head) == -1 ||
	    fd_write_all(fd, b->data, b->len) == -1)
		return -1;
	return 0;
}

static int
read_all(int fd, uint8_t *p, size_t n)
{
	ssize_t r;

	for (; n > 0; p += r, n -= (size_t)r)
		if ((r = read(fd, p, n)) <= 0)
			return -1;
	return 0;
}

/* The payload of the next REPLY; everything else is passed over. */
static ssize_t
await_reply(int fd, uint8_t *payload)
{
	uint8_t head[FRAME_HEADER];
	struct frame_head h;

	for (;;) {
		if (read_all(fd, head, sizeof head) == -1 ||
		    !frame_head_get(head, &h) || h.len > FRAME_PAYLOAD_MAX ||
		    read_all(fd, payload, h.len) == -1)
			return -1;
		if (h.type == F_REPLY)
			return (ssize_t)h.len;
		if (h.type == F_FAIL || h.type == F_BYE)
			return -1;
	}
}

/* ssh tells by this variable what it wants: absent for a secret. */
static uint8_t
kind_of(void)
{
	const char *s = getenv("SSH_ASKPASS_PROMPT");

	if (s != NULL && strcmp(s, "confirm") == 0)
		return 1;
	return s != NULL && strcmp(s, "none") == 0 ? 2 : 0;
}

static int
greet_and_ask(int fd, const char *token, const char *prompt)
{
	struct msg_hello h = { .proto_min = PROTO_MIN, .proto_max = PROTO_MAX,
	    .role = ROLE_ASKPASS, .pid = (uint32_t)getpid(),
	    .now_ms = clock_wall_ms(), .version = (char *)"",
	    .host = (char *)"", .machine = (char *)"" };
	struct buf b;
	char *text = xstrndup(prompt, strnlen(prompt, PROMPT_TEXT_MAX));
	int r;

	buf_init(&b, WIRE_WORDS_MAX);
	msg_hello_put(&b, &h);
	r = send_frame(fd, F_HELLO, &b);
	buf_reset(&b);
	buf_str(&b, token);
	buf_u8(&b, kind_of());
	buf_str(&b, text);
	if (r == 0)
		r = send_frame(fd, F_ASK, &b);
	buf_free(&b);
	free(text);
	return r;
}

static int
print_answer(const uint8_t *payload, size_t n)
{
	struct rd r;
	char *text;
	uint8_t ok;
	int rc = 1;

	rd_init(&r, payload, n);
	rd_u32(&r);
	ok = rd_u8(&r);
	text = rd_str(&r, WIRE_WORDS_MAX);
	if (rd_end(&r) && ok && text != NULL &&
	    fd_write_all(STDOUT_FILENO, text, strlen(text)) != -1 &&
	    fd_write_all(STDOUT_FILENO, "\n", 1) != -1)
		rc = 0;
	if (text != NULL)
		explicit_bzero(text, strlen(text));
	free(text);
	return rc;
}

int
askpass_main(const char *prompt)
{
	static uint8_t payload[FRAME_PAYLOAD_MAX];
	const char *env = getenv("DLMUX_ASKPASS");
	const char *token = env != NULL ? strrchr(env, ' ') : NULL;
	char *sock;
	ssize_t n = -1;
	int fd, rc = 1;

	if (token == NULL)
		return 1;
	sock = xstrndup(env, (size_t)(token - env));
	fd = fd_connect_unix(sock);
	free(sock);
	if (fd == -1 || !fd_peer_is_us(fd, NULL) ||
	    fcntl(fd, F_SETFL, 0) == -1) {
		fprintf(stderr, "dlmux: the server that would ask is gone\n");
		return 1;
	}
	if (greet_and_ask(fd, token + 1, prompt) == 0)
		n = await_reply(fd, payload);
	if (n >= 0)
		rc = print_answer(payload, (size_t)n);
	explicit_bzero(payload, sizeof payload);
	close(fd);
	return rc;
}
