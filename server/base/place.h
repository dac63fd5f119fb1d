/* SPDX-License-Identifier: ISC */
/*
 * Where things live: the identity of this place (boot, PID namespace, PID 1,
 * uid, instance), and the checked directories and paths derived from it.
 *
 * A home directory shared by two containers holds one identity directory
 * each, so their sockets never meet; nothing here is under XDG_RUNTIME_DIR,
 * which goes at logout.
 */
#ifndef DLMUX_PLACE_H
#define DLMUX_PLACE_H

#include <stdbool.h>

struct place {
	char	*instance;	/* -L NAME or DLMUX_INSTANCE, else "default" */
	char	 id[17];	/* hex of the identity */
	char	*state;		/* ${XDG_STATE_HOME:-~/.local/state}/dlmux */
	char	*dir;		/* state/<id>, or a /tmp fallback if the socket
				 * paths would be too long or the home cannot
				 * be written; 0700, ours, no symlink: checked */
	char	*cache;		/* ${XDG_CACHE_HOME:-~/.cache}/dlmux (not made) */
	char	*config;	/* ${XDG_CONFIG_HOME:-~/.config}/dlmux/dlmux.conf */
	char	*server_sock, *server_lock, *server_log, *state_file;
	char	*server_blame;
	char	*agent_sock, *agent_lock, *agent_log;
};

/* Makes and checks the directory. NULL and *cause ("...: owned by uid 1000,
 * not by you; remove it or set XDG_STATE_HOME"). instance NULL: from
 * DLMUX_INSTANCE or the default; names are [A-Za-z0-9_.-]{1,32}. */
struct place *place_open(const char *instance, char **cause);
void	 place_free(struct place *);

/* lstat: a directory, ours, 0700, no symlink; made if absent. -1 and *cause. */
int	 place_dir(const char *path, char **cause);
/* The place's own, made again with what is above it if it was removed. */
int	 place_again(const struct place *, char **cause);

/* The user, without getpw*: $HOME etc., else /etc/passwd, else a getent child
 * where one exists. Never NULL; "/" and "/bin/sh" if nothing is known. */
const char *user_home(void);
const char *user_shell(void);
const char *user_name(void);

/* random_bytes dies if the kernel has none. hex writes 2n+1 chars. */
void	 random_bytes(void *, unsigned long);
void	 hex_put(char *out, const void *, unsigned long n);

/* [A-Za-z0-9_.-]{1,64}, not "." nor "..". */
bool	 shell_name_ok(const char *);
/* The same characters, up to INSTANCE_NAME_MAX. */
bool	 instance_name_ok(const char *);
#define INSTANCE_NAME_MAX	32
#define INSTANCE_NAME_WORDS	"an instance's name is 1 to 32 of the " \
				"characters A-Z a-z 0-9 _ . -"

#endif
