/* SPDX-License-Identifier: ISC */
/* The words of `dlmux agent`. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/scope.h"
#include "agent.h"
#include "confirm.h"
#include "daemon.h"
#include "envprobe.h"
#include "facts.h"
#include "front.h"

int
agent_main(int argc, char **argv)
{
	const char *word = argc > 1 ? argv[1] : "";

	if (strcmp(word, "--stdio") == 0 && argc == 3)
		return front_main(argv[2]);
	if (strcmp(word, "--daemon") == 0 && argc == 3)
		return daemon_main(atoi(argv[2]));
	if (strcmp(word, "--confirm") == 0 && argc == 4)
		return confirm_main(argv[2], argv[3]);
	if (strcmp(word, "--facts") == 0 && argc == 2)
		return facts_main();
	if (strcmp(word, "--scope") == 0 && argc == 5)
		return scope_main(argv[2], argv[3], argv[4]);
	if (strcmp(word, "--env") == 0 && argc == 3)
		return envprobe_print(argv[2]);
	fprintf(stderr, "usage: dlmux agent --stdio MARKER | --daemon FD | "
	    "--confirm SIZE CRC | --env MARKER | --scope ROLE LOG PID | "
	    "--facts\n");
	return 2;
}
