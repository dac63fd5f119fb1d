/* SPDX-License-Identifier: ISC */
/*
 * `yes', then Ctrl-C, until the prompt is back on the client's terminal: here,
 * and through a link of 100 ms and 1 MB/s.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

#define PROMPT	"BENCH-READY>"
/* Shells of dlmux have the login environment, not their client's. */
#define SHELL	"/usr/bin/env", "PS1=" PROMPT " ", "/bin/sh"

struct inter {
	char		**argv;
	const char	*workspace;	/* a new shell there each time */
	double		 flood_ms;
};

static char **
fresh_shell(struct bench *b, const char *workspace)
{
	static int number;
	char *name = xfmt("%s:int%d", workspace, ++number);

	return dl(b, "attach", name, "--", SHELL, NULL);
}

static double
sample_interrupt(struct bench *b, const struct subject *s, char **cause)
{
	const struct inter *in = s->arg;
	struct term *t = term_new(24, 80);
	double at = -1, began;
	char *screen;
	size_t seen;

	if (term_spawn(b, t, in->workspace != NULL ? fresh_shell(b,
	    in->workspace) : in->argv, cause) == -1)
		goto out;
	if (term_see(t, PROMPT, 0, 15000) < 0) {
		screen = term_show(t);
		*cause = xfmt("no prompt, but\n%s", screen);
		free(screen);
		goto out;
	}
	term_quiet(t, 200, 2000);
	term_type(t, "yes\r", 4);
	/* Long enough that every buffer on the way is full. */
	term_drain(t, PROMPT, in->flood_ms, &seen);
	if (seen < 100) {
		*cause = xfmt("yes did not flood: %zu bytes", seen);
		goto out;
	}
	began = now_ms();
	term_type(t, "\003", 1);
	at = term_drain(t, PROMPT, 30000, &seen);
	if (at < 0)
		*cause = xstr("the prompt did not come back in 30 s");
	else
		at -= began;
out:
	term_type(t, "exit\r", 5);
	term_quiet(t, 100, 500);
	term_free(t);
	return at;
}

static void
interrupt_here(struct bench *b, int rounds)
{
	struct inter in[3];
	struct subject subs[3];
	int n = 0;

	in[n] = (struct inter){ words(SHELL, NULL), NULL, 500 };
	subs[n] = (struct subject){ "direct", sample_interrupt, &in[n],
	    in[n].argv, 0 };
	n++;
	in[n] = (struct inter){ fresh_shell(b, "local"), "local",
	    500 };
	subs[n] = (struct subject){ "dlmux", sample_interrupt, &in[n],
	    in[n].argv, 0 };
	n++;
	if (peer_has(b, "tmux")) {
		in[n] = (struct inter){ tmux(b, "new-session", SHELL, NULL),
		    NULL, 500 };
		subs[n] = (struct subject){ "tmux", sample_interrupt, &in[n],
		    in[n].argv, 0 };
		n++;
	}
	subjects_run(b, "interrupt_ms", "local", "ms", subs, n, rounds, 1);
	tmux_end(b);
}

void
group_interrupt(struct bench *b)
{
	struct inter in[2];
	struct subject subs[2];

	interrupt_here(b, bench_rounds(b, 10));
	if (!far_start(b))
		return;
	far_delay(b, 50);
	far_rate(b, 1e6);
	if (!dl_ok(b, "connect", far_workspace(HOST_FAR), NULL))
		return;
	in[0] = (struct inter){ fresh_shell(b, far_workspace(HOST_FAR)),
	    far_workspace(HOST_FAR), 2000 };
	in[1] = (struct inter){ far_ssh(b, "tty", HOST_FAR, "env PS1='" PROMPT
	    " ' /bin/sh", NULL), NULL, 2000 };
	subs[0] = (struct subject){ "dlmux", sample_interrupt, &in[0],
	    in[0].argv, 0 };
	subs[1] = (struct subject){ "ssh -tt", sample_interrupt, &in[1],
	    in[1].argv, 3 };
	subjects_run(b, "interrupt_ms", "100ms-1MB/s", "ms", subs, 2,
	    bench_rounds(b, 5), 0);
	far_delay(b, 0);
	far_rate(b, 0);
	child_run(b, dl(b, "kill", "-a", far_workspace(HOST_FAR), NULL), NULL,
	    NULL, 10000);
}
