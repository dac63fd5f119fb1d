/* SPDX-License-Identifier: ISC */
/* Environments; contract in env.h. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../base/mem.h"
#include "../base/place.h"
#include "env.h"

/* What belongs to one connection, one terminal or one process. A trailing
 * star matches the rest. */
static const char *const env_drop[] = {
	"SSH_CONNECTION", "SSH_CLIENT", "SSH_TTY", "SSH_ORIGINAL_COMMAND",
	"SSH_USER_AUTH", "SSH_ASKPASS*", "DLMUX*", "TERM", "TERM_*",
	"TERMCAP", "COLORTERM", "COLUMNS", "LINES", "TMUX", "TMUX_*", "STY",
	"WINDOW", "WINDOWID", "VTE_VERSION", "KITTY_*", "WEZTERM_*",
	"ALACRITTY_*", "KONSOLE_*", "GHOSTTY_*", "ITERM_*", "INSIDE_EMACS",
	"PWD", "OLDPWD", "SHLVL", "_", NULL
};
/* ... and these when they came over ssh with the connection. */
static const char *const env_drop_ssh[] = {
	"SSH_AUTH_SOCK", "DISPLAY", "XAUTHORITY", "WAYLAND_DISPLAY", NULL
};

static size_t
env_name_len(const char *s)
{
	return strcspn(s, "=");
}

const char *
env_get(char *const *env, const char *name)
{
	size_t n = strlen(name);

	for (; env != NULL && *env != NULL; env++)
		if (strncmp(*env, name, n) == 0 && (*env)[n] == '=')
			return *env + n + 1;
	return NULL;
}

void
env_put(char ***env, const char *nv)
{
	size_t i, n = env_name_len(nv);

	if (n == 0 || nv[n] != '=')
		return;
	for (i = 0; *env != NULL && (*env)[i] != NULL; i++)
		if (strncmp((*env)[i], nv, n + 1) == 0) {
			free((*env)[i]);
			(*env)[i] = xstrdup(nv);
			return;
		}
	*env = xreallocarray(*env, i + 2, sizeof **env);
	(*env)[i] = xstrdup(nv);
	(*env)[i + 1] = NULL;
}

void
env_set(char ***env, const char *name, const char *value)
{
	char *nv = xasprintf("%s=%s", name, value);

	env_put(env, nv);
	free(nv);
}

void
env_unset(char **env, const char *name)
{
	size_t n = strlen(name);
	char **to;

	if (env == NULL)
		return;
	for (to = env; *env != NULL; env++)
		if (strncmp(*env, name, n) == 0 && (*env)[n] == '=')
			free(*env);
		else
			*to++ = *env;
	*to = NULL;
}

char **
env_split(const void *data, size_t len)
{
	const char *p = data, *end = p + len, *e;
	char **env = xcalloc(1, sizeof *env);
	size_t n = 0;

	for (; p < end; p = e + 1) {
		if ((e = memchr(p, '\0', (size_t)(end - p))) == NULL)
			break;
		if (*p == '=' || strchr(p, '=') == NULL)
			continue;
		if ((n & (n + 1)) == 0)		/* 2^k - 1: full */
			env = xreallocarray(env, 2 * n + 2, sizeof *env);
		env[n++] = xstrdup(p);
		env[n] = NULL;
	}
	return env;
}

static bool
env_match(const char *nv, const char *const *names)
{
	size_t n = env_name_len(nv), k;

	for (; *names != NULL; names++) {
		k = strlen(*names);
		if ((*names)[k - 1] == '*') {
			if (strncmp(nv, *names, k - 1) == 0)
				return true;
		} else if (k == n && strncmp(nv, *names, n) == 0)
			return true;
	}
	return false;
}

void
env_clean(char **env)
{
	bool ssh = env_get(env, "SSH_CONNECTION") != NULL;
	char **to;

	if (env == NULL)
		return;
	for (to = env; *env != NULL; env++)
		if (env_match(*env, env_drop) ||
		    (ssh && env_match(*env, env_drop_ssh)))
			free(*env);
		else
			*to++ = *env;
	*to = NULL;
}

void
env_complete(char ***env)
{
	const char *v;

	if (env_get(*env, "HOME") == NULL)
		env_set(env, "HOME", user_home());
	/* What came over from elsewhere may not be installed here. */
	if ((v = env_get(*env, "SHELL")) == NULL || *v != '/' ||
	    access(v, X_OK) == -1)
		env_set(env, "SHELL", access(user_shell(), X_OK) == 0 ?
		    user_shell() : "/bin/sh");
	if (env_get(*env, "USER") == NULL)
		env_set(env, "USER", user_name());
	if (env_get(*env, "LOGNAME") == NULL)
		env_set(env, "LOGNAME", env_get(*env, "USER"));
	if (env_get(*env, "PATH") == NULL)
		env_set(env, "PATH", "/usr/local/sbin:/usr/local/bin:"
		    "/usr/sbin:/usr/bin:/sbin:/bin");
	/* Without any of these programs take every byte beyond ASCII for
	 * rubbish. */
	if (env_get(*env, "LANG") == NULL && env_get(*env, "LC_ALL") == NULL &&
	    env_get(*env, "LC_CTYPE") == NULL)
		env_set(env, "LANG", "C.UTF-8");
}
