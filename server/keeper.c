/* SPDX-License-Identifier: ISC */
/*
 * The keeper: the server's mirrors without its clients. The agent that started
 * it speaks on descriptor 0, as to any server; when it says good-bye, or is
 * gone, so is the keeper. It writes no state, listens nowhere and is the first
 * to go when memory is short.
 */
#include <sys/resource.h>
#include <sys/stat.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "inside.h"
#include "server.h"

/* Nobody waits for it, but the shells beside it are somebody's work. */
static void
keeper_modest(void)
{
	int fd;

	(void)setpriority(PRIO_PROCESS, 0, KEEPER_NICE);
	fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
	if (fd != -1) {
		(void)!write(fd, "1000\n", 5);
		close(fd);
	}
}

int
keeper_main(struct place *place)
{
	struct server s;
	char *why = NULL;
	int fd, null;

	(void)signal(SIGPIPE, SIG_IGN);
	(void)umask(077);
	(void)!chdir("/");
	if ((fd = fcntl(0, F_DUPFD_CLOEXEC, 3)) == -1)
		return 1;
	if ((null = open("/dev/null", O_RDWR | O_CLOEXEC)) != -1) {
		(void)dup2(null, 0);
		close(null);
	}
	keeper_modest();
	(void)log_open(place->agent_log, "keeper");
	memset(&s, 0, sizeof s);
	s.place = place;
	s.listen_fd = s.lock_fd = -1;
	s.keeper = true;
	random_bytes(s.id, MSG_ID);
	server_loop(&s);
	if (server_conf(&s, &why) == NULL) {
		/* It only says how much history is kept. */
		log_warn("%s", why);
		free(why);
		why = NULL;
	}
	if (workspace_adopt(&s, fd, &why) != NULL)
		event_base_dispatch(s.base);
	free(why);
	server_clear(&s);
	return 0;
}
