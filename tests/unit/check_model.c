/* SPDX-License-Identifier: ISC */
/*
 * A model of what must not be lost: the client's end of operations
 * (client/opchan.c), the server's relay (server/relay.c) and the agent's
 * operations (server/agent/op.c, exec.c, input.c, new.c, shell.c) as they are,
 * in one process, over connections that are queues in memory. A seed decides
 * what is delivered next, when the link is cut (each end finds out on its
 * own), when the server dies, when the agent is replaced, when processes read,
 * write and end, and how time goes. What must hold:
 *
 *	every byte of every stream arrives once and in order;
 *	a command is started once, ever; a refused one never;
 *	its status is its own, told once, behind all of its output;
 *	"unknown" is said only when an agent was lost, or time ran out;
 *	with the faults over, everything comes to its end.
 *
 * DLMUX_MODEL_SEEDS (how many), DLMUX_MODEL_FIRST (from which), DLMUX_MODEL_V
 * (what happens, of one seed). tests/faults/run.sh shows that it finds faults.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "../model/model.h"
#include "unit.h"

#define STEPS_MAX	400000

bool time_ran_out;
int faults;

static void
fault(void)
{
	struct mlink *l = &links[rnd(LINKS_MAX)];

	if (faults == 0)
		return;
	faults--;
	switch (rnd(10)) {
	case 0: case 1: case 2: case 3:
		/* The server notices; the agent later. What is on the way to it
		 * may still arrive, or not. */
		server_link_down();
		break;
	case 4: case 5:
		if (l->agent_end) {
			trace("agent: a link is gone");
			peer_over(l);
		}
		break;
	case 6: case 7: case 8:
		server_kill();
		break;
	default:
		if (seed % 16 == 1 && restarts == 0)
			agent_replaced();
		else if (seed % 16 == 2) {
			trace("two minutes go by");
			now_ms += 120000;
			time_ran_out = true;
			op_tick(agent, now_ms);
		} else if (rnd(2) == 0 && current != NULL) {
			/* Everything under way is lost, at once. */
			trace("the link is cut");
			way_clear(&current->up);
			way_clear(&current->down);
			peer_over(current);
			server_link_down();
		}
		break;
	}
}

static void
deliver(void)
{
	struct connect *c = &clients[rnd(CLIENTS)];
	struct mlink *l = &links[rnd(LINKS_MAX)];
	struct message *m = NULL;

	switch (rnd(4)) {
	case 0:
		if (c->connected && (m = way_get(&c->up)) != NULL)
			server_from_client(c, m);
		break;
	case 1:
		if (c->connected && (m = way_get(&c->down)) != NULL)
			(void)opchan_message(c->op, m->type, m->channel,
			    m->data, m->len);
		break;
	case 2:
		if (!l->agent_end)
			break;
		/* A link whose server end is gone: EOF behind what is left, or
		 * half-dead for long. */
		if ((m = way_get(&l->up)) != NULL)
			peer_message(l, m);
		else if (!l->server_end && rnd(4) == 0)
			peer_over(l);
		break;
	case 3:
		if (current == NULL)
			break;
		if ((m = way_get(&current->down)) != NULL)
			server_message(m);
		else if (!current->agent_end && rnd(4) == 0)
			server_link_down();
		break;
	}
	free(m);
}

static bool
all_done(void)
{
	struct connect *c;

	for (c = clients; c < clients + CLIENTS; c++)
		if (!c->done)
			return false;
	return true;
}

static void
step(void)
{
	uint32_t k = rnd(100);

	now_ms += rnd(2);
	if (k < 50)
		deliver();
	else if (k < 60)
		agent_turns();
	else if (k < 72)
		proc_step();
	else if (k < 82)
		client_step(&clients[rnd(CLIENTS)]);
	else if (k < 92)
		peer_pump(&links[rnd(LINKS_MAX)]);
	else if (k < 94)
		shell_step();
	else if (k < 96) {
		if (server_lives && current == NULL)
			server_link_connect();
	} else if (k < 98)
		client_connect(&clients[rnd(CLIENTS)]);
	else if (rnd(8) == 0)
		fault();
}

/* ---- one seed ---- */

static size_t
some(uint32_t max)
{
	switch (rnd(4)) {
	case 0:
		return 0;
	case 1:
		return rnd(100);
	case 2:
		return rnd(40000);
	default:
		return rnd(3) == 0 ? rnd(max) : rnd(max / 8);
	}
}

static void
begin(void)
{
	char number[16], *argv[] = { (char *)(uintptr_t)"c", number, NULL };
	struct opchan_setup setup;
	struct connect *c;
	int i;

	rnd_state = seed * 0x2545f4914f6cdd1du;
	now_ms = 1000000;
	restarts = 0;
	time_ran_out = false;
	shell_read_bytes = 0;
	epoch = 0;
	faults = (int)rnd(14);
	memset(clients, 0, sizeof clients);
	memset(links, 0, sizeof links);
	memset(&ws, 0, sizeof ws);
	memset(&server, 0, sizeof server);
	ws.server = &server;
	TAILQ_INIT(&ws.chans);
	for (i = 0; i < RELAY_BUCKETS; i++)
		LIST_INIT(&ws.relays[i]);
	current = NULL;
	server_lives = false;
	agent_begin();
	for (i = 0; i < CLIENTS; i++) {
		c = &clients[i];
		c->number = i;
		c->what = i == 0 && seed % 4 == 0 ? INPUT : EXEC;
		c->nin = some(IN_MAX);
		c->plan[0] = c->what == EXEC ? some(OUT_MAX) : 0;
		c->plan[1] = c->what == EXEC ? some(OUT_MAX / 4) : 0;
		c->reads = rnd(3) != 0;
		c->status = rnd(256);
		way_init(&c->up);
		way_init(&c->down);
		memset(&setup, 0, sizeof setup);
		setup.workspace = "w";
		memset(setup.open.op, i + 1, MSG_ID);
		snprintf(number, sizeof number, "%d", i);
		setup.open.kind = c->what == EXEC ? OP_EXEC : OP_INPUT;
		if (c->what == EXEC)
			setup.open.argv = argv;
		else
			setup.open.shell = (char *)(uintptr_t)"main";
		setup.input_max = CLIENT_INPUT_MAX;
		c->op = opchan_new(c, &setup, &client_cb, c);
	}
	if (seed % 4 == 0)
		agent_shell();
}

static void
end(void)
{
	struct connect *c;
	int i;

	for (c = clients; c < clients + CLIENTS; c++) {
		if (c->connected) {
			server_client_gone(c);
			c->connected = false;
		}
		opchan_free(c->op);
	}
	relay_link_down(&ws);
	agent_end();
	event_base_free(agent->base);
	free(agent);
	agent = NULL;
	for (i = 0; i < LINKS_MAX; i++)
		if (links[i].server_end || links[i].agent_end) {
			way_clear(&links[i].up);
			way_clear(&links[i].down);
		}
}

static void
run_seed(void)
{
	const struct connect *c = &clients[0];
	unsigned int i;

	begin();
	for (i = 0; i < STEPS_MAX && !all_done(); i++)
		step();
	for (i = 0; i < CLIENTS; i++)
		MUST(clients[i].done, "client %u has no end: got %llu of %llu "
		    "and %llu of %llu, fed %zu of %zu, kept %zu, %s", i,
		    (unsigned long long)clients[i].got[0],
		    (unsigned long long)clients[i].plan[0],
		    (unsigned long long)clients[i].got[1],
		    (unsigned long long)clients[i].plan[1], clients[i].fed,
		    clients[i].nin, opchan_kept(clients[i].op),
		    opchan_takes_input(clients[i].op) ? "open" : "not open");
	/* The kernel hands a pty's bytes over in its own time. */
	for (i = 0; i < 200 && c->what == INPUT && c->how == OPCHAN_TAKEN &&
	    restarts == 0 && shell_read_bytes < c->nin; i++) {
		shell_step();
		if (i > 20)
			usleep(1000);
	}
	if (c->what == INPUT && c->how == OPCHAN_TAKEN && restarts == 0)
		MUST(shell_read_bytes == c->nin, "typed: %llu of %zu bytes",
		    (unsigned long long)shell_read_bytes, c->nin);
	end();
}

START_TEST(whatever_breaks_everything_happens_once)
{
	const char *s = getenv("DLMUX_MODEL_SEEDS");
	uint64_t n = s != NULL ? strtoull(s, NULL, 10) : 1000, first;

	s = getenv("DLMUX_MODEL_FIRST");
	first = s != NULL ? strtoull(s, NULL, 10) : 1;
	verbose = getenv("DLMUX_MODEL_V") != NULL;
	signal(SIGPIPE, SIG_IGN);
	for (seed = first; seed < first + n; seed++)
		run_seed();
	printf("model: %llu seeds\n", (unsigned long long)n);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("model");
	TCase *t = tcase_create("model");

	suite_add_tcase(s, t);
	tcase_add_test(t, whatever_breaks_everything_happens_once);
	tcase_set_timeout(t, 600);
	return suite_run(s);
}
