/* SPDX-License-Identifier: ISC */
/*
 * The command of a transport: target.h's target_argv(). What is ssh's (keys,
 * ports, jumps) stays ssh's; only what would get in our way is switched off.
 */
#include <stdlib.h>
#include <string.h>

#include "../base/buf.h"
#include "../base/limits.h"
#include "../base/mem.h"
#include "sshconf.h"
#include "target.h"

struct argv {
	char	**v;
	size_t	  n;
};

static void
add(struct argv *a, const char *s)
{
	a->v = xreallocarray(a->v, a->n + 2, sizeof *a->v);
	a->v[a->n++] = xstrdup(s);
	a->v[a->n] = NULL;
}

/*
 * A stale ControlMaster of the user's would hang us (-S none); forwards would
 * collide with the user's own session; a RemoteCommand cannot stand beside
 * ours; OpenSSH before 10.1 marks sessions without a tty as background
 * traffic (IPQoS).
 */
static const char *const ssh_words[] = {
	"ssh", "-T", "-S", "none",
	"-o", "ControlMaster=no", "-o", "ControlPath=none",
	"-o", "RemoteCommand=none", "-o", "RequestTTY=no",
	"-o", "PermitLocalCommand=no", "-o", "ClearAllForwardings=yes",
	"-o", "ForkAfterAuthentication=no", "-o", "StdinNull=no",
	"-o", "ServerAliveInterval=15", "-o", "ServerAliveCountMax=3",
	"-o", "IPQoS=af21", "-x", NULL
};

/* The config that devpod writes into: the first named one with the host. */
static const char *
devpod_config(char *const *env, const char *host)
{
	static const char *const names[] = { "DEVPOD_SSH_CONFIG",
	    "SSH_CONFIG_PATH", "SSH_CONFIG_INCLUDE_PATH" };
	const char *file, *first = NULL;
	size_t i;

	for (i = 0; i < sizeof names / sizeof names[0]; i++) {
		if ((file = env_value(env, names[i])) == NULL)
			continue;
		if (sshconf_host(file, env, host, NULL))
			return file;
		if (first == NULL)
			first = file;
	}
	/* Named, but without the host: perhaps it stands in ~/.ssh/config. */
	if (first != NULL && sshconf_host(NULL, env, host, NULL))
		return NULL;
	return first;
}

static void
ssh_argv(struct argv *a, const struct target *t, const char *oneliner,
    bool batch, char *const *env)
{
	const char *config = NULL;
	char *host;
	size_t i;

	host = t->scheme == SCHEME_DEVPOD ? xasprintf("%s.devpod", t->host) :
	    xstrdup(t->host);
	if (t->scheme == SCHEME_DEVPOD)
		config = devpod_config(env, host);
	for (i = 0; ssh_words[i] != NULL; i++)
		add(a, ssh_words[i]);
	if (config != NULL) {
		add(a, "-F");
		add(a, config);
	}
	if (batch) {
		add(a, "-o");
		add(a, "BatchMode=yes");
	}
	if (t->user != NULL) {
		add(a, "-l");
		add(a, t->user);
	}
	/* A host is never taken for an option, nor what follows it. */
	add(a, "--");
	add(a, host);
	add(a, oneliner);
	free(host);
}

static void
container_argv(struct argv *a, const struct target *t, const char *oneliner)
{
	add(a, t->scheme == SCHEME_DOCKER ? "docker" : "podman");
	add(a, "exec");
	add(a, "-i");
	if (t->user != NULL) {
		add(a, "-u");
		add(a, t->user);
	}
	add(a, t->host);
	add(a, "sh");
	add(a, "-c");
	add(a, oneliner);
}

/* In single quotes for sh, a quote inside as '\''. */
static void
put_quoted(struct buf *b, const char *s)
{
	buf_puts(b, "'");
	for (; *s != '\0'; s++)
		if (*s == '\'')
			buf_puts(b, "'\\''");
		else
			buf_u8(b, (uint8_t)*s);
	buf_puts(b, "'");
}

/* %c is the one-liner as one word, %% a percent sign; without %c it is the
 * last word. */
static void
command_argv(struct argv *a, const struct target *t, const char *oneliner)
{
	struct buf b;
	const char *s;
	bool put = false;

	buf_init(&b, CONF_LINE_MAX * 8);
	for (s = t->command; *s != '\0'; s++) {
		if (s[0] == '%' && s[1] == 'c') {
			put_quoted(&b, oneliner);
			put = true;
			s++;
		} else if (s[0] == '%' && s[1] == '%') {
			buf_puts(&b, "%");
			s++;
		} else
			buf_u8(&b, (uint8_t)*s);
	}
	if (!put) {
		buf_puts(&b, " ");
		put_quoted(&b, oneliner);
	}
	buf_u8(&b, 0);
	add(a, "sh");
	add(a, "-c");
	/* A command of a thousand %c: say so instead of running half of it. */
	add(a, buf_ok(&b) ? (const char *)b.data :
	    "echo the Command is too long >&2; exit 1");
	buf_free(&b);
}

char **
target_argv(const struct target *t, const char *oneliner, bool batch,
    char *const *env)
{
	struct argv a = { NULL, 0 };

	switch (t->scheme) {
	case SCHEME_LOCAL:
		return NULL;
	case SCHEME_SSH:
	case SCHEME_DEVPOD:
		ssh_argv(&a, t, oneliner, batch, env);
		break;
	case SCHEME_DOCKER:
	case SCHEME_PODMAN:
		container_argv(&a, t, oneliner);
		break;
	case SCHEME_COMMAND:
		command_argv(&a, t, oneliner);
		break;
	}
	return a.v;
}
