/* SPDX-License-Identifier: ISC */
/*
 * Where systemd keeps a process (its cgroup), what a logout does to it there,
 * and whether a scope of its own would be better. Reads files and asks logind;
 * the moving is scope-leave.c's. Without systemd there is nothing to say, and
 * that is said.
 */
#ifndef DLMUX_SCOPE_H
#define DLMUX_SCOPE_H

#include <sys/types.h>
#include <stdbool.h>
#include <stddef.h>

enum scope_where {
	SCOPE_NOWHERE,	/* no systemd, or nothing that ends with a login */
	SCOPE_SESSION,	/* user.slice/user-1000.slice/session-3.scope */
	SCOPE_MANAGER,	/* .../user@1000.service/...: the user's own manager */
	SCOPE_SERVICE	/* system.slice/cron.service: ends with that */
};

enum scope_know { KNOW_NO, KNOW_YES, KNOW_NOT };

struct scope {
	bool		 systemd;	/* it runs here */
	enum scope_where where;
	bool		 own;		/* a dlmux-....scope already */
	char		 unit[128];	/* the innermost: "session-3.scope" */
	uid_t		 uid;
	bool		 linger;
	bool		 bus;		/* the user's manager can be asked */
	bool		 spares;	/* stopping the unit leaves us alone */
	enum scope_know	 kills;		/* logind kills what a session leaves */
};

enum scope_fate {
	FATE_LIVES,
	FATE_LOGOUT,	/* dies with its session */
	FATE_LAST,	/* dies with the user's last session */
	FATE_UNIT,	/* dies with the unit it was started in */
	FATE_UNKNOWN
};

enum scope_wish {
	WISH_STAY,
	WISH_MANAGER,	/* a scope of the user's manager, */
	WISH_SYSTEM,	/* of the system's, */
	WISH_HAND	/* or a cgroup made by hand: nobody can be asked */
};

/* Where in the text of a /proc/PID/cgroup the path in systemd's own hierarchy
 * begins; it goes to the end of its line. NULL if there is none. */
const char *scope_cgroup(const char *text);
/* Sets where, own and unit from the text of a /proc/PID/cgroup. */
void	 scope_parse(struct scope *, const char *cgroup);
/* Where it is: cheap. False if there is no systemd. */
bool	 scope_read(struct scope *, pid_t);
/* ... and linger and bus; the user's name may have to be asked for. */
void	 scope_look(struct scope *);
/* ... and kills and spares, by files or else by asking logind and systemd, each
 * of which may take SCOPE_ASK_MS. */
void	 scope_ask(struct scope *);
enum scope_fate scope_fate(const struct scope *);
/* Where to go, so that it lives longer; never where it would live shorter. */
enum scope_wish scope_wish(const struct scope *);

/* A path of the system's, malloc'd: tests have another root. */
char	*scope_path(const char *absolute);
/* "/run/user/1000/bus" if it is there and ours; malloc'd, or NULL. */
char	*scope_bus(void);

/*
 * Soon, in a process of its own, never in the way: this process and what it
 * started move into a scope of their own if that makes them live longer.
 * role: "server", "agent"; log: where it is told.
 */
void	 scope_leave(const char *role, const char *log);
/* `dlmux agent --scope ROLE LOG PID`: that process; returns an exit status. */
int	 scope_main(const char *role, const char *log, const char *pid);

#endif
