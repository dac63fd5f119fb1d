/* SPDX-License-Identifier: ISC */
/*
 * One binary, several roles: a command of the user's, the server, the agent
 * and its front, or the asker that ssh runs. The word after the options says
 * which.
 */
#include <sys/resource.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../server/agent/agent.h"
#include "../server/base/fd.h"
#include "../server/base/mem.h"
#include "../server/link/askpass.h"
#include "../server/server.h"
#include "command.h"
#include "say.h"

/* A command has eight open at most; the agent that it may have to start, which
 * inherits the limit, twice as many while it runs a few commands. */
#define DESCRIPTORS_MIN	32

static int
usage_none(void)
{
	say("which command? `dlmux help' lists them");
	return STATUS_USAGE;
}

/* Takes as many and gives them back. 0, or why not. */
static int
descriptors_try(void)
{
	int fds[DESCRIPTORS_MIN], n = 0, error = 0;

	while (n < DESCRIPTORS_MIN && error == 0)
		if ((fds[n] = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)) != -1)
			n++;
		else
			error = errno;
	while (n > 0)
		close(fds[--n]);
	return error;
}

/*
 * Whether as many descriptors can be had as a command needs, and the server
 * that it may have to start: without them this fails here and there, late, or
 * in words of the event loop's.
 */
static bool
descriptors_enough(void)
{
	struct pollfd fds[DESCRIPTORS_MIN * 2];
	int i, n = 0, error;
	struct rlimit limit;

	/* In one look: poll() takes no more than the limit allows, and says of
	 * each number that is not open that it is not. */
	for (i = 0; i < DESCRIPTORS_MIN * 2; i++)
		fds[i] = (struct pollfd){ .fd = i };
	if (poll(fds, DESCRIPTORS_MIN * 2, 0) != -1)
		for (i = 0; i < DESCRIPTORS_MIN * 2; i++)
			n += (fds[i].revents & POLLNVAL) != 0;
	if (n >= DESCRIPTORS_MIN || (error = descriptors_try()) == 0)
		return true;
	if (error == EMFILE && getrlimit(RLIMIT_NOFILE, &limit) == 0)
		say("too few file descriptors (the limit is %llu); dlmux needs "
		    "%d more than are open: raise `ulimit -n'",
		    (unsigned long long)limit.rlim_cur, DESCRIPTORS_MIN);
	else
		say("too few file descriptors: %s", strerror(error));
	return false;
}

static struct place *
open_place(void)
{
	char *cause = NULL;
	struct place *place = place_open(NULL, &cause);

	if (place == NULL)
		say("%s", cause);
	free(cause);
	return place;
}

static int
run_server(int argc, char **argv)
{
	struct place *place = open_place();
	int status;

	if (place == NULL)
		return 1;
	if (strcmp(argv[0], "--keeper") == 0)
		status = keeper_main(place);
	else
		status = server_main(place, argc, argv);
	place_free(place);
	return status;
}

static int
run_command(const struct command *cmd, int argc, char **argv)
{
	struct args args;
	char *cause = NULL, *words[] = { NULL, NULL };
	bool help;
	int status;

	if (args_parse(&args, cmd, argc, argv, &help, &cause) == -1) {
		status = usage_error(cmd, "%s", cause);
		free(cause);
		if (cmd->run == cmd_exec)
			exec_not_run(&args);
	} else if (help) {
		words[0] = (char *)(uintptr_t)cmd->name;
		args.words[0] = words[0];
		args.nwords = 1;
		status = cmd_help(&args);
	} else if (cmd->no_place)
		status = cmd->run(&args);
	else if (!descriptors_enough() ||
	    (args.place = open_place()) == NULL) {
		status = STATUS_FAILED;
		if (cmd->run == cmd_exec)
			exec_not_run(&args);
	} else {
		status = cmd->run(&args);
		place_free(args.place);
	}
	args_clear(&args);
	return status;
}

/* -L NAME in front of the command. Moves argv on; an exit status or -1. */
static int
global_options(int *argc, char ***argv)
{
	const char *name;

	while (*argc > 0 && (*argv)[0][0] == '-' && (*argv)[0][1] != '\0') {
		if (strncmp((*argv)[0], "-L", 2) != 0)
			break;
		name = (*argv)[0] + 2;
		if (*name == '\0' && *argc > 1) {
			name = (*argv)[1];
			(*argc)--;
			(*argv)++;
		}
		if (*name == '\0') {
			say("-L needs the name of an instance");
			return STATUS_USAGE;
		}
		if (!instance_name_ok(name)) {
			say("-L %s: " INSTANCE_NAME_WORDS, name);
			return STATUS_USAGE;
		}
		/* By the environment, so that the server and agents that we
		 * start belong to it too. */
		if (setenv("DLMUX_INSTANCE", name, 1) == -1)
			return STATUS_FAILED;
		(*argc)--;
		(*argv)++;
	}
	return -1;
}

int
main(int argc, char **argv)
{
	const struct command *cmd;
	const char *word;
	int status;

	fd_sanitize();
	/* A reader that left is an error of a write, never our death. */
	(void)signal(SIGPIPE, SIG_IGN);
	/* Nor is a file that may grow no more (a log under `ulimit -f'). */
	(void)signal(SIGXFSZ, SIG_IGN);

	/* ssh runs its asker with the question as the only word. */
	if (argc == 2 && getenv("DLMUX_ASKPASS") != NULL &&
	    command_find(argv[1]) == NULL && argv[1][0] != '-')
		return askpass_main(argv[1]);

	argc--;
	argv++;
	if ((status = global_options(&argc, &argv)) != -1)
		return status;
	if (argc == 0)
		return usage_none();
	word = argv[0];
	if (strcmp(word, "agent") == 0)
		return agent_main(argc, argv);
	if (strcmp(word, "server") == 0 && argc > 1 &&
	    (strcmp(argv[1], "--run") == 0 ||
	    strcmp(argv[1], "--keeper") == 0))
		return run_server(argc - 1, argv + 1);
	if (strcmp(word, "-h") == 0 || strcmp(word, "--help") == 0)
		word = "help";
	else if (strcmp(word, "-V") == 0 || strcmp(word, "--version") == 0)
		word = "version";
	if ((cmd = command_find(word)) == NULL) {
		say("there is no %s \"%s\"; `dlmux help' lists what there is",
		    word[0] == '-' ? "option" : "command", word);
		return STATUS_USAGE;
	}
	return run_command(cmd, argc - 1, argv + 1);
}
