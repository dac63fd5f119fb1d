/* SPDX-License-Identifier: ISC */
/*
 * The client's end of an operation against a server made of frames: what is
 * sent again and what never is, after a server or a link was lost.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sys/socket.h>

#include "../../client/opchan.h"
#include "../../server/base/fd.h"
#include "../../server/base/limits.h"
#include "../../server/base/mem.h"
#include "unit.h"

#define FRAMES 64

struct frame {
	uint8_t	 type;
	uint32_t channel;
	uint8_t	*data;
	size_t	 len;
};

static char		 dir[] = "/tmp/check-opchan.XXXXXX";
static struct place	 place;
static struct event_base *base;
static int		 listener;
static struct connect	*client;
static struct opchan	*op;
static struct conn	*server;	/* its end of the connection */
static struct frame	 frames[FRAMES];	/* what the client sent */
static size_t		 nframes, next_frame;
static uint8_t		 agent_a[MSG_ID] = "agent A", agent_b[MSG_ID] = "B";

/* What the owner of the operation saw. */
static struct {
	struct buf		 out;
	int			 started, dones, ups, rooms;
	struct opchan_result	 result;
	char			 text[256];
	bool			 failed;
} seen;

/* --- the owner ------------------------------------------------------------- */

static void
on_started(struct opchan *o, const struct msg_started *m, void *arg)
{
	(void)o;
	(void)m;
	(void)arg;
	seen.started++;
}

static void
on_output(struct opchan *o, int stream, const uint8_t *p, size_t n, void *arg)
{
	(void)arg;
	buf_put(&seen.out, p, n);
	opchan_took(o, stream, n);
}

static void
on_room(struct opchan *o, void *arg)
{
	(void)o;
	(void)arg;
	seen.rooms++;
}

static void
on_done(struct opchan *o, const struct opchan_result *r, void *arg)
{
	(void)o;
	(void)arg;
	seen.dones++;
	seen.result = *r;
	snprintf(seen.text, sizeof seen.text, "%s", r->text);
}

static const struct opchan_cb op_cb = {
	.started = on_started,
	.output = on_output,
	.room = on_room,
	.done = on_done,
};

static void
on_up(struct connect *c, void *arg)
{
	(void)c;
	(void)arg;
	seen.ups++;
	opchan_up(op);
}

static void
on_down(struct connect *c, const char *why, void *arg)
{
	(void)c;
	(void)why;
	(void)arg;
	opchan_down(op);
}

static void
on_message(struct connect *c, uint8_t type, uint32_t channel, const uint8_t *p,
    size_t n, void *arg)
{
	(void)c;
	(void)arg;
	opchan_message(op, type, channel, p, n);
}

static void
on_failed(struct connect *c, const char *why, void *arg)
{
	(void)c;
	(void)arg;
	seen.failed = true;
	snprintf(seen.text, sizeof seen.text, "%s", why);
}

static const struct connect_cb client_cb = {
	.up = on_up,
	.message = on_message,
	.down = on_down,
	.failed = on_failed,
};

/* --- the server ------------------------------------------------------------- */

static void
server_message(struct conn *c, uint8_t type, uint32_t channel,
    const uint8_t *p, size_t n, void *arg)
{
	struct frame *f = &frames[nframes++];

	(void)c;
	(void)arg;
	ck_assert_uint_lt(nframes, FRAMES);
	f->type = type;
	f->channel = channel;
	f->data = malloc(n + 1);
	memcpy(f->data, p, n);
	f->len = n;
}

static void
server_closed(struct conn *c, const char *why, void *arg)
{
	(void)why;
	(void)arg;
	if (c == server)
		server = NULL;
	conn_free(c);
}

static const struct conn_cb server_cb = {
	.message = server_message,
	.closed = server_closed,
};

static void
server_accept(void)
{
	int next, fd = -1;

	/* The newest: the same process so soon after its death was met before,
	 * and hung up on. */
	while ((next = accept4(listener, NULL, NULL, SOCK_CLOEXEC)) != -1) {
		fd_close(&fd);
		fd = next;
	}
	ck_assert_int_ge(fd, 0);
	server = conn_new(base, fd, fd, PEER_CLIENT, &server_cb, NULL);
}

/* The next frame that the client sent, which must be of this type. HELLO and
 * CREDIT come as they like. */
static struct frame *
want(uint8_t type)
{
	struct frame *f;
	int turns = 0;

	for (;;) {
		while (next_frame < nframes) {
			f = &frames[next_frame++];
			if (f->type == F_HELLO || (f->type == F_CREDIT &&
			    type != F_CREDIT))
				continue;
			ck_assert_msg(f->type == type, "type %02x, not %02x",
			    f->type, type);
			return f;
		}
		ck_assert_msg(turns++ < 200, "no frame %02x", type);
		event_base_loop(base, EVLOOP_ONCE | (turns > 100 ?
		    EVLOOP_NONBLOCK : 0));
	}
}

/* Everything on its way has arrived; nothing but CREDIT was sent meanwhile. */
static void
quiet(void)
{
	int i;

	for (i = 0; i < 50; i++)
		event_base_loop(base, EVLOOP_NONBLOCK);
	for (; next_frame < nframes; next_frame++)
		ck_assert_msg(frames[next_frame].type == F_CREDIT,
		    "a frame %02x that was not due", frames[next_frame].type);
}

static void
tell_link(uint32_t channel, uint8_t state, const uint8_t *agent, bool retry)
{
	char *none[] = { NULL };
	struct msg_link l;
	struct buf b;

	memset(&l, 0, sizeof l);
	l.state = state;
	l.retry = retry;
	memcpy(l.agent, agent, MSG_ID);
	l.workspace = (char *)"ssh:web";
	l.text = (char *)"words";
	l.send_env = none;
	buf_init(&b, 4096);
	msg_link_put(&b, &l);
	conn_send_buf(server, CONN_CONTROL, F_LINK, channel, &b);
	buf_free(&b);
}

static void
tell_started(uint32_t channel, bool resumed, uint64_t in_next, uint64_t in_max)
{
	struct msg_started m;
	struct buf b;

	memset(&m, 0, sizeof m);
	m.resumed = resumed;
	m.in_next = in_next;
	m.in_max = in_max;
	m.shell = (char *)"";
	buf_init(&b, 4096);
	msg_started_put(&b, &m);
	conn_send_buf(server, CONN_CONTROL, F_STARTED, channel, &b);
	buf_free(&b);
}

static void
tell_data(uint32_t channel, uint64_t offset, const char *text)
{
	struct buf b;

	buf_init(&b, 4096);
	buf_u8(&b, 1);
	buf_u64(&b, offset);
	buf_puts(&b, text);
	conn_send_buf(server, CONN_STREAM, F_DATA, channel, &b);
	buf_free(&b);
}

static void
tell_credit(uint32_t channel, uint64_t taken, uint64_t max)
{
	struct buf b;

	buf_init(&b, 64);
	buf_u8(&b, 0);
	buf_u64(&b, taken);
	buf_u64(&b, max);
	conn_send_buf(server, CONN_CONTROL, F_CREDIT, channel, &b);
	buf_free(&b);
}

static void
tell_exit(uint32_t channel, uint32_t code, uint64_t end)
{
	struct msg_exit m;
	struct buf b;

	memset(&m, 0, sizeof m);
	m.how = END_EXIT;
	m.code = code;
	m.end[0] = end;
	m.signal = (char *)"";
	buf_init(&b, 4096);
	msg_exit_put(&b, &m);
	conn_send_buf(server, CONN_STREAM, F_EXIT, channel, &b);
	buf_free(&b);
}

static void
tell_refused(uint32_t channel, uint16_t code)
{
	struct buf b;

	buf_init(&b, 256);
	buf_u16(&b, code);
	buf_str(&b, "no");
	conn_send_buf(server, CONN_CONTROL, F_REFUSED, channel, &b);
	buf_free(&b);
}

/* kill -9: the client meets EOF, and connects anew by itself. */
static uint32_t
server_dies(void)
{
	conn_free(server);
	server = NULL;
	while (seen.ups < 2)
		event_base_loop(base, EVLOOP_ONCE);
	server_accept();
	return want(F_USE)->channel;
}

static void
check_data(const struct frame *f, uint64_t offset, const char *text)
{
	struct rd r;
	size_t n;
	const uint8_t *p;

	rd_init(&r, f->data, f->len);
	ck_assert_uint_eq(rd_u8(&r), 0);
	ck_assert_uint_eq(rd_u64(&r), offset);
	p = rd_rest(&r, &n);
	ck_assert_uint_eq(n, strlen(text));
	ck_assert(memcmp(p, text, n) == 0);
}

static struct msg_open
get_open(const struct frame *f)
{
	struct msg_open m;

	ck_assert_int_eq(msg_open_get(&m, f->data, f->len), 0);
	return m;
}

/* --- set-up ------------------------------------------------------------------- */

static uint32_t
start(uint8_t kind)
{
	char *argv[] = { (char *)"cat", NULL }, *cause = NULL;
	struct opchan_setup setup;

	ck_assert_ptr_nonnull(mkdtemp(dir));
	place.server_sock = xasprintf("%s/s", dir);
	place.server_log = place.server_sock;
	listener = fd_listen_unix(place.server_sock, &cause);
	ck_assert_msg(listener >= 0, "%s", cause);
	base = fd_loop(0);
	buf_init(&seen.out, 1 << 20);
	client = connect_new(base, &place, 0, &client_cb, NULL);
	memset(&setup, 0, sizeof setup);
	setup.workspace = "web";
	setup.input_max = CLIENT_INPUT_MAX;
	setup.open.kind = kind;
	setup.open.argv = argv;
	op = opchan_new(client, &setup, &op_cb, NULL);
	connect_begin(client);
	ck_assert(!seen.failed);
	server_accept();
	return want(F_USE)->channel;
}

static void
teardown(void)
{
	char cmd[64];

	opchan_free(op);
	connect_free(client);
	conn_free(server);
	snprintf(cmd, sizeof cmd, "rm -rf %s", dir);
	ck_assert_int_eq(system(cmd), 0);
}

/* --- tests ---------------------------------------------------------------------- */

START_TEST(a_command_runs_and_its_bytes_pass)
{
	uint32_t c = start(OP_EXEC);
	struct msg_open m;

	tell_link(c, LINK_CONNECTING, agent_a, false);
	quiet();
	tell_link(c, LINK_UP, agent_a, false);
	m = get_open(want(F_OPEN));
	ck_assert(memcmp(m.agent, agent_a, MSG_ID) == 0);
	ck_assert_uint_eq(m.flags, 0);
	ck_assert_str_eq(m.argv[0], "cat");
	opchan_input(op, "hello", 5);
	check_data(want(F_DATA), 0, "hello");	/* right behind OPEN */
	tell_started(c, false, 0, OP_WINDOW);
	quiet();
	tell_credit(c, 5, OP_WINDOW + 5);
	opchan_input(op, "you", 3);
	check_data(want(F_DATA), 5, "you");
	opchan_input_end(op);
	want(F_END);
	tell_data(c, 0, "abc");
	tell_data(c, 3, "def");
	tell_exit(c, 7, 6);
	quiet();
	ck_assert_int_eq(seen.dones, 1);
	ck_assert_int_eq(seen.result.how, OPCHAN_EXITED);
	ck_assert_uint_eq(seen.result.exit->code, 7);
	ck_assert_uint_eq(seen.out.len, 6);
	opchan_close(op);
	want(F_CLOSE);
	msg_open_free(&m);
}
END_TEST

START_TEST(a_dead_server_loses_and_doubles_nothing)
{
	uint32_t c = start(OP_EXEC);
	struct msg_open first, m;

	tell_link(c, LINK_UP, agent_a, false);
	first = get_open(want(F_OPEN));
	opchan_input(op, "0123456789", 10);
	tell_started(c, false, 3, 100);
	check_data(want(F_DATA), 0, "0123456789");
	tell_credit(c, 4, 100);
	tell_data(c, 0, "abcd");
	quiet();
	ck_assert_uint_eq(opchan_kept(op), 6);

	c = server_dies();
	tell_link(c, LINK_UP, agent_a, false);
	m = get_open(want(F_OPEN));
	ck_assert(memcmp(m.op, first.op, MSG_ID) == 0);
	ck_assert_uint_eq(m.flags, OPEN_RESUME);
	ck_assert_uint_eq(m.have[0], 4);
	ck_assert_uint_ge(m.max[0], 4 + OP_WINDOW);
	tell_started(c, true, 7, 100);
	check_data(want(F_DATA), 7, "789");
	tell_data(c, 2, "cdEF");	/* two of them again */
	tell_exit(c, 0, 6);
	quiet();
	ck_assert_int_eq(seen.started, 1);
	ck_assert_uint_eq(seen.out.len, 6);
	ck_assert(memcmp(seen.out.data, "abcdEF", 6) == 0);
	ck_assert_int_eq(seen.result.how, OPCHAN_EXITED);
	msg_open_free(&first);
	msg_open_free(&m);
}
END_TEST

START_TEST(an_open_without_answer_is_asked_again_not_resumed)
{
	uint32_t c = start(OP_EXEC);
	struct msg_open first, m;

	tell_link(c, LINK_UP, agent_a, false);
	first = get_open(want(F_OPEN));
	c = server_dies();
	tell_link(c, LINK_UP, agent_a, false);
	m = get_open(want(F_OPEN));
	ck_assert(memcmp(m.op, first.op, MSG_ID) == 0);
	ck_assert_uint_eq(m.flags, 0);
	msg_open_free(&first);
	msg_open_free(&m);
}
END_TEST

START_TEST(another_agent_makes_it_unknown_and_nothing_starts_there)
{
	uint32_t c = start(OP_EXEC);

	tell_link(c, LINK_UP, agent_a, false);
	want(F_OPEN);
	tell_link(c, LINK_DOWN, agent_a, true);
	tell_link(c, LINK_UP, agent_b, false);
	quiet();
	ck_assert_int_eq(seen.dones, 1);
	ck_assert_int_eq(seen.result.how, OPCHAN_UNKNOWN);
}
END_TEST

START_TEST(another_agent_before_the_open_is_fine)
{
	uint32_t c = start(OP_EXEC);

	tell_link(c, LINK_CONNECTING, agent_a, true);
	tell_link(c, LINK_UP, agent_b, false);
	want(F_OPEN);
	ck_assert_int_eq(seen.dones, 0);
}
END_TEST

START_TEST(a_forgotten_operation_is_unknown)
{
	uint32_t c = start(OP_EXEC);

	tell_link(c, LINK_UP, agent_a, false);
	want(F_OPEN);
	tell_started(c, false, 0, 100);
	tell_link(c, LINK_DOWN, agent_a, true);
	tell_link(c, LINK_UP, agent_a, false);
	want(F_OPEN);
	tell_refused(c, R_UNKNOWN_OP);
	quiet();
	ck_assert_int_eq(seen.result.how, OPCHAN_UNKNOWN);
}
END_TEST

START_TEST(what_cannot_be_reached_never_began)
{
	uint32_t c = start(OP_EXEC);

	tell_link(c, LINK_FAILED, agent_a, true);
	quiet();
	ck_assert_int_eq(seen.result.how, OPCHAN_REFUSED);
	ck_assert_uint_eq(seen.result.refusal, R_UNREACHABLE);
	ck_assert_str_eq(seen.text, "words");
}
END_TEST

START_TEST(a_running_command_outwaits_a_failing_link_while_it_is_tried)
{
	uint32_t c = start(OP_EXEC);

	tell_link(c, LINK_UP, agent_a, false);
	want(F_OPEN);
	tell_started(c, false, 0, 100);
	tell_link(c, LINK_FAILED, agent_a, true);
	quiet();
	ck_assert_int_eq(seen.dones, 0);
	tell_link(c, LINK_FAILED, agent_a, false);
	quiet();
	ck_assert_int_eq(seen.result.how, OPCHAN_UNKNOWN);
}
END_TEST

START_TEST(a_gap_in_the_output_is_not_passed_over)
{
	uint32_t c = start(OP_EXEC);

	tell_link(c, LINK_UP, agent_a, false);
	want(F_OPEN);
	tell_started(c, false, 0, 100);
	tell_data(c, 1, "b");
	quiet();
	ck_assert_int_eq(seen.result.how, OPCHAN_UNKNOWN);
	ck_assert_uint_eq(seen.out.len, 0);
}
END_TEST

START_TEST(a_status_without_all_output_is_unknown)
{
	uint32_t c = start(OP_EXEC);

	tell_link(c, LINK_UP, agent_a, false);
	want(F_OPEN);
	tell_started(c, false, 0, 100);
	tell_data(c, 0, "ab");
	tell_exit(c, 0, 3);
	quiet();
	ck_assert_int_eq(seen.result.how, OPCHAN_UNKNOWN);
}
END_TEST

START_TEST(signals_wait_for_the_command)
{
	uint32_t c = start(OP_EXEC);
	struct frame *f;
	struct rd r;
	char *s;

	tell_link(c, LINK_UP, agent_a, false);
	want(F_OPEN);
	opchan_signal(op, "INT");
	quiet();
	tell_started(c, false, 0, 100);
	f = want(F_SIGNAL);
	rd_init(&r, f->data, f->len);
	s = rd_str(&r, 32);
	ck_assert_str_eq(s, "INT");
	free(s);
}
END_TEST

/* What went behind an OPEN that got no answer may have arrived or not. */
START_TEST(input_behind_a_lost_open_goes_again_from_where_the_agent_says)
{
	uint32_t c = start(OP_EXEC);
	struct msg_open m;

	opchan_input(op, "0123456789", 10);
	opchan_input_end(op);
	tell_link(c, LINK_UP, agent_a, false);
	want(F_OPEN);
	check_data(want(F_DATA), 0, "0123456789");
	want(F_END);
	c = server_dies();
	tell_link(c, LINK_UP, agent_a, false);
	m = get_open(want(F_OPEN));
	ck_assert_uint_eq(m.flags, 0);
	quiet();			/* not before it says so */
	tell_started(c, true, 6, 8);
	check_data(want(F_DATA), 6, "67");
	tell_credit(c, 6, 10);
	check_data(want(F_DATA), 8, "89");
	want(F_END);
	msg_open_free(&m);
}
END_TEST

START_TEST(input_before_the_answer_is_no_more_than_a_window)
{
	static uint8_t much[OP_WINDOW + SLICE_MAX];
	uint32_t c = start(OP_EXEC);
	size_t sent = 0, n;
	struct frame *f;

	opchan_input(op, much, sizeof much);
	tell_link(c, LINK_UP, agent_a, false);
	want(F_OPEN);
	while (sent < OP_WINDOW) {
		f = want(F_DATA);
		n = f->len - 9;
		sent += n;
	}
	ck_assert_uint_eq(sent, OP_WINDOW);
	quiet();
	tell_started(c, false, 0, OP_WINDOW);
	quiet();
	tell_credit(c, SLICE_MAX, OP_WINDOW + SLICE_MAX);
	want(F_DATA);
	quiet();
}
END_TEST

START_TEST(keys_are_done_when_all_are_taken)
{
	uint32_t c = start(OP_INPUT);

	opchan_input(op, "ls\r", 3);
	opchan_input_end(op);
	tell_link(c, LINK_UP, agent_a, false);
	want(F_OPEN);
	check_data(want(F_DATA), 0, "ls\r");
	want(F_END);
	tell_started(c, false, 0, 100);
	quiet();
	tell_credit(c, 2, 100);
	quiet();
	ck_assert_int_eq(seen.dones, 0);
	tell_credit(c, 3, 100);
	quiet();
	ck_assert_int_eq(seen.result.how, OPCHAN_TAKEN);
}
END_TEST

START_TEST(taken_keys_that_the_new_server_does_not_report_are_not_lost_sight_of)
{
	uint32_t c = start(OP_INPUT);

	opchan_input(op, "ls\r", 3);
	opchan_input_end(op);
	tell_link(c, LINK_UP, agent_a, false);
	want(F_OPEN);
	tell_started(c, false, 0, 100);
	want(F_DATA);
	want(F_END);
	/* All three arrived there; the word of it did not come back. */
	c = server_dies();
	tell_link(c, LINK_UP, agent_a, false);
	want(F_OPEN);
	tell_started(c, true, 3, 103);
	want(F_END);
	tell_credit(c, 3, 103);
	quiet();
	ck_assert_int_eq(seen.result.how, OPCHAN_TAKEN);
}
END_TEST

static void
tell_hello(uint16_t min, uint16_t max)
{
	char *none[] = { NULL };
	struct msg_hello h;
	struct buf b;

	memset(&h, 0, sizeof h);
	h.proto_min = min;
	h.proto_max = max;
	h.role = ROLE_SERVER;
	h.pid = 77;
	h.version = (char *)"9.1";
	h.host = h.machine = (char *)"";
	h.features = none;
	buf_init(&b, 4096);
	msg_hello_put(&b, &h);
	conn_send_buf(server, CONN_CONTROL, F_HELLO, 0, &b);
	buf_free(&b);
}

START_TEST(a_server_of_another_version_is_told_in_words)
{
	start(OP_EXEC);
	tell_hello(PROTO_MAX + 1, PROTO_MAX + 2);
	quiet();
	ck_assert(seen.failed);
	ck_assert_ptr_nonnull(strstr(seen.text, "pid 77, version 9.1"));
	ck_assert_ptr_nonnull(strstr(seen.text, "server restart"));
}
END_TEST

START_TEST(a_newer_server_that_still_speaks_ours_is_fine)
{
	uint32_t c = start(OP_EXEC);

	tell_hello(PROTO_MIN, PROTO_MAX + 5);
	tell_link(c, LINK_UP, agent_a, false);
	want(F_OPEN);
	ck_assert(!seen.failed);
	ck_assert_str_eq(connect_hello(client)->version, "9.1");
}
END_TEST

START_TEST(a_server_that_was_stopped_is_not_started_again)
{
	struct buf b;

	start(OP_EXEC);
	buf_init(&b, 64);
	buf_str(&b, "stop");
	conn_send_buf(server, CONN_CONTROL, F_BYE, 0, &b);
	buf_free(&b);
	want(F_BYE);
	quiet();
	ck_assert(seen.failed);
	ck_assert_str_eq(seen.text, "the server was stopped");
	ck_assert_int_eq(seen.ups, 1);
}
END_TEST

START_TEST(a_server_that_restarts_is_found_again)
{
	struct buf b;

	start(OP_EXEC);
	buf_init(&b, 64);
	buf_str(&b, "restart");
	conn_send_buf(server, CONN_CONTROL, F_BYE, 0, &b);
	buf_free(&b);
	want(F_BYE);
	server_dies();
	ck_assert(!seen.failed);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("opchan");
	TCase *t = tcase_create("opchan");

	tcase_add_checked_fixture(t, NULL, teardown);
	tcase_set_timeout(t, 20);
	tcase_add_test(t, a_command_runs_and_its_bytes_pass);
	tcase_add_test(t, a_dead_server_loses_and_doubles_nothing);
	tcase_add_test(t, an_open_without_answer_is_asked_again_not_resumed);
	tcase_add_test(t,
	    another_agent_makes_it_unknown_and_nothing_starts_there);
	tcase_add_test(t, another_agent_before_the_open_is_fine);
	tcase_add_test(t, a_forgotten_operation_is_unknown);
	tcase_add_test(t, what_cannot_be_reached_never_began);
	tcase_add_test(t,
	    a_running_command_outwaits_a_failing_link_while_it_is_tried);
	tcase_add_test(t, a_gap_in_the_output_is_not_passed_over);
	tcase_add_test(t, a_status_without_all_output_is_unknown);
	tcase_add_test(t, signals_wait_for_the_command);
	tcase_add_test(t,
	    input_behind_a_lost_open_goes_again_from_where_the_agent_says);
	tcase_add_test(t, input_before_the_answer_is_no_more_than_a_window);
	tcase_add_test(t, keys_are_done_when_all_are_taken);
	tcase_add_test(t,
	    taken_keys_that_the_new_server_does_not_report_are_not_lost_sight_of);
	tcase_add_test(t, a_server_of_another_version_is_told_in_words);
	tcase_add_test(t, a_newer_server_that_still_speaks_ours_is_fine);
	tcase_add_test(t, a_server_that_was_stopped_is_not_started_again);
	tcase_add_test(t, a_server_that_restarts_is_found_again);
	suite_add_tcase(s, t);
	return suite_run(s);
}
