/* SPDX-License-Identifier: ISC */
/*
 * Identity, checked directories and the paths in them; see place.h. It knows
 * where files are, not what is in them.
 */
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/utsname.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fd.h"
#include "limits.h"
#include "log.h"
#include "mem.h"
#include "place.h"

/* The longest name in the directory, with the suffix that fd_listen_unix()
 * binds first, and the NUL. */
#define PLACE_SOCK_TAIL		sizeof "/server.sock.0000"

void
random_bytes(void *out, unsigned long n)
{
	unsigned char *p = out;
	size_t part;
	ssize_t r;
	int fd;

	while (n > 0) {
		part = n < 256 ? n : 256;
		if (getentropy(p, part) == -1)
			break;
		p += part;
		n -= part;
	}
	if (n == 0)
		return;
	/* A kernel from before getrandom(), or a filter against it. */
	if ((fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC)) == -1)
		fatal("/dev/urandom: %s", strerror(errno));
	while (n > 0) {
		r = read(fd, p, n);
		if (r == -1 && errno == EINTR)
			continue;
		if (r <= 0)
			fatal("/dev/urandom: no random bytes");
		p += r;
		n -= (size_t)r;
	}
	close(fd);
}

void
hex_put(char *out, const void *data, unsigned long n)
{
	static const char digits[] = "0123456789abcdef";
	const unsigned char *p = data;
	unsigned long i;

	for (i = 0; i < n; i++) {
		*out++ = digits[p[i] >> 4];
		*out++ = digits[p[i] & 15];
	}
	*out = '\0';
}

static bool
place_name_ok(const char *s, size_t max)
{
	size_t i;

	if (strcmp(s, ".") == 0 || strcmp(s, "..") == 0)
		return false;
	for (i = 0; s[i] != '\0'; i++)
		if (i == max || !((s[i] >= 'a' && s[i] <= 'z') ||
		    (s[i] >= 'A' && s[i] <= 'Z') ||
		    (s[i] >= '0' && s[i] <= '9') ||
		    s[i] == '_' || s[i] == '.' || s[i] == '-'))
			return false;
	return i != 0;
}

bool
instance_name_ok(const char *s)
{
	return place_name_ok(s, INSTANCE_NAME_MAX);
}

bool
shell_name_ok(const char *s)
{
	return s != NULL && place_name_ok(s, SHELL_NAME_MAX);
}

/* FNV-1a: the identity tells places apart, it guards nothing. The NUL goes in
 * too, so that "ab","c" and "a","bc" differ. */
static uint64_t
place_hash(uint64_t h, const char *s)
{
	do {
		h ^= (unsigned char)*s;
		h *= UINT64_C(0x100000001b3);
	} while (*s++ != '\0');
	return h;
}

#define PLACE_HASH_START	UINT64_C(0xcbf29ce484222325)

/* Field 22 of /proc/1/stat, when PID 1 started: tells two containers of one
 * boot apart whose PID namespaces got the same number. "" if unreadable. */
static void
place_pid1_start(char *out, size_t max)
{
	char *stat, *p;
	int i;

	*out = '\0';
	if (fd_read_file("/proc/1/stat", &stat, 8192) == -1)
		return;
	/* The name in parentheses may hold spaces and parentheses. */
	p = strrchr(stat, ')');
	for (i = 2; p != NULL && i < 22; i++)
		if ((p = strchr(p, ' ')) != NULL)
			p++;
	if (p != NULL)
		snprintf(out, max, "%.*s", (int)strcspn(p, " \n"), p);
	free(stat);
}

static void
place_identity(char id[17], const char *instance)
{
	char *boot = NULL, text[128];
	uint64_t h = PLACE_HASH_START;
	ssize_t n;

	/* What cannot be read is left out, the same way each time. */
	if (fd_read_file("/proc/sys/kernel/random/boot_id", &boot, 256) != -1)
		h = place_hash(h, boot);
	free(boot);
	n = readlink("/proc/self/ns/pid", text, sizeof text - 1);
	text[n > 0 ? n : 0] = '\0';
	h = place_hash(h, text);
	place_pid1_start(text, sizeof text);
	h = place_hash(h, text);
	snprintf(text, sizeof text, "%lu", (unsigned long)geteuid());
	h = place_hash(h, text);
	h = place_hash(h, instance);
	snprintf(id, 17, "%016" PRIx64, h);
}

/* 0: a directory of ours and of ours alone; -1: what is there must not be
 * used, *cause says why; 1: nothing is there that could be looked at. */
static int
place_look(const char *path, char **cause)
{
	struct stat st;

	if (lstat(path, &st) == -1)
		return 1;
	if (S_ISLNK(st.st_mode))
		*cause = xasprintf("%s: is a symbolic link; remove it or set "
		    "XDG_STATE_HOME", path);
	else if (!S_ISDIR(st.st_mode))
		*cause = xasprintf("%s: is not a directory; remove it or set "
		    "XDG_STATE_HOME", path);
	else if (st.st_uid != geteuid())
		*cause = xasprintf("%s: owned by uid %lu, not by you; remove "
		    "it or set XDG_STATE_HOME", path, (unsigned long)st.st_uid);
	else if ((st.st_mode & 077) != 0)
		*cause = xasprintf("%s: mode %04o lets others in; chmod 700 "
		    "it", path, (unsigned int)st.st_mode & 07777);
	else
		return 0;
	return -1;
}

/* The same; what is not there is made. errno if it is 1. */
static int
place_have(const char *path, char **cause)
{
	int r, error;

	/* Nearly always it is there: every client comes through here. */
	if ((r = place_look(path, cause)) != 1)
		return r;
	error = mkdir(path, 0700) == -1 ? errno : 0;
	r = place_look(path, cause);
	if (r == 1 && error != 0)
		errno = error;
	return r;
}

int
place_dir(const char *path, char **cause)
{
	int r = place_have(path, cause);

	if (r == 1)
		*cause = xasprintf("%s: %s", path, strerror(errno));
	return r == 0 ? 0 : -1;
}

/* False: it is not there and cannot be made. errno is mkdir's. */
static bool
place_there(const char *path)
{
	struct stat st;
	int error;

	if (mkdir(path, 0700) == 0)
		return true;
	error = errno;
	if (lstat(path, &st) == 0)
		return true;
	errno = error;
	return false;
}

/* The directories above path, made 0700 as the XDG specification asks. False and
 * *cause. */
static bool
place_parents(const char *path, char **cause)
{
	char *copy = xstrdup(path), *p;
	bool ok = true;

	for (p = copy + 1; ok && (p = strchr(p, '/')) != NULL; p++) {
		*p = '\0';
		if (!(ok = place_there(copy)))
			*cause = xasprintf("%s: %s", copy, strerror(errno));
		*p = '/';
	}
	free(copy);
	return ok;
}

static char *
place_xdg(const char *var, const char *under_home, const char *name)
{
	const char *s = getenv(var), *home = user_home();

	/* The specification: a relative path is to be ignored. */
	if (s != NULL && *s == '/')
		return xasprintf("%s/%s", s, name);
	return xasprintf("%s/%s/%s", strcmp(home, "/") == 0 ? "" : home,
	    under_home, name);
}

int
place_again(const struct place *p, char **cause)
{
	char *top = xstrdup(p->dir);
	int r = -1;

	*strrchr(top, '/') = '\0';
	if (place_parents(top, cause) && place_dir(top, cause) == 0)
		r = place_dir(p->dir, cause);
	free(top);
	return r;
}

static bool
place_writable(const char *path)
{
	return access(path, W_OK | X_OK) == 0;
}

/*
 * Makes and checks p->dir. 1: somewhere else is to be tried (a home that
 * cannot be written is no fault); -1: something is wrong. *cause says so.
 * *state: p->state at least is checked, and ours.
 */
static int
place_make(struct place *p, bool *state, char **cause)
{
	struct sockaddr_un sun;
	const char *path = p->state;
	int r;

	if ((r = place_look(path, cause)) == 1) {
		if (!place_parents(path, cause))
			return 1;
		r = place_have(path, cause);
	}
	*state = r == 0;
	if (r == 0) {
		path = p->dir;
		if (strlen(path) + PLACE_SOCK_TAIL > sizeof sun.sun_path) {
			errno = ENAMETOOLONG;
			r = 1;
		} else
			r = place_have(path, cause);
	}
	if (r == -1 || (r == 0 && place_writable(path)))
		return r;
	*cause = xasprintf("%s: %s", path, strerror(errno));
	return 1;
}

/* *cause: why the first directory would not do; an error tells both. */
static int
place_fallback(struct place *p, char **cause)
{
	uint64_t h = place_hash(PLACE_HASH_START, p->dir);
	char *top, *first = *cause, *second = NULL;
	int r;

	top = xasprintf("/tmp/dlmux-%lu", (unsigned long)geteuid());
	free(p->dir);
	p->dir = xasprintf("%s/%016" PRIx64, top, h);
	*cause = NULL;
	r = place_dir(top, &second);
	if (r == 0)
		r = place_dir(p->dir, &second);
	if (r == -1)
		*cause = xasprintf("%s; %s", first, second);
	free(first);
	free(second);
	free(top);
	return r;
}

/* state.<instance>.<host>: hosts that share a home keep their own. */
static char *
place_state_file(const struct place *p, bool here)
{
	struct utsname u;
	char host[65];
	size_t i;

	if (uname(&u) == -1)
		strcpy(u.nodename, "unknown");
	snprintf(host, sizeof host, "%s", u.nodename);
	for (i = 0; host[i] != '\0'; i++)
		if (strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
		    "0123456789_.-", host[i]) == NULL)
			host[i] = '_';
	return xasprintf("%s/state.%s.%s",
	    here && place_writable(p->state) ? p->state : p->dir, p->instance,
	    host);
}

struct place *
place_open(const char *instance, char **cause)
{
	struct place *p;
	bool here = false;
	int r;

	if (instance == NULL)
		instance = getenv("DLMUX_INSTANCE");
	if (instance == NULL || *instance == '\0')
		instance = "default";
	if (!instance_name_ok(instance)) {
		*cause = xstrdup(INSTANCE_NAME_WORDS);
		return NULL;
	}
	p = xcalloc(1, sizeof *p);
	p->instance = xstrdup(instance);
	place_identity(p->id, instance);
	p->state = place_xdg("XDG_STATE_HOME", ".local/state", "dlmux");
	p->cache = place_xdg("XDG_CACHE_HOME", ".cache", "dlmux");
	p->config = place_xdg("XDG_CONFIG_HOME", ".config", "dlmux/dlmux.conf");
	p->dir = xasprintf("%s/%s", p->state, p->id);
	if ((r = place_make(p, &here, cause)) == 1)
		r = place_fallback(p, cause);
	if (r == -1) {
		place_free(p);
		return NULL;
	}
	p->server_sock = xasprintf("%s/server.sock", p->dir);
	p->server_lock = xasprintf("%s/server.lock", p->dir);
	p->server_log = xasprintf("%s/server.log", p->dir);
	p->server_blame = xasprintf("%s/server.blame", p->dir);
	p->agent_sock = xasprintf("%s/agent.sock", p->dir);
	p->agent_lock = xasprintf("%s/agent.lock", p->dir);
	p->agent_log = xasprintf("%s/agent.log", p->dir);
	p->state_file = place_state_file(p, here);
	return p;
}

void
place_free(struct place *p)
{
	if (p == NULL)
		return;
	free(p->instance);
	free(p->state);
	free(p->dir);
	free(p->cache);
	free(p->config);
	free(p->server_sock);
	free(p->server_lock);
	free(p->server_log);
	free(p->server_blame);
	free(p->state_file);
	free(p->agent_sock);
	free(p->agent_lock);
	free(p->agent_log);
	free(p);
}
