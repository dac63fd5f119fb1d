/* SPDX-License-Identifier: ISC */
/*
 * Finding and hashing the program to send. Ours is read once, by way of
 * /proc/self/exe: an upgrade that replaced the file on the disk changes
 * nothing for the server that still runs the old one.
 */
#include <sys/stat.h>
#include <sys/utsname.h>

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../base/limits.h"
#include "../base/mem.h"
#include "../wire/frame.h"
#include "payload.h"

const char *
payload_machine(void)
{
	static char *text;
	struct utsname u;

	if (text == NULL && uname(&u) == 0)
		text = xasprintf("%s %s", u.sysname, u.machine);
	return text != NULL ? text : "";
}

/* FNV-1a beside the crc: together with the size no two builds meet by
 * chance. Against malice the directory's owner and mode stand. */
static int
hash_fd(struct payload *p, const char *path, char **cause)
{
	uint64_t h = UINT64_C(14695981039346656037);
	uint8_t *block = xmalloc(64 << 10);
	ssize_t n, i;

	p->size = 0;
	p->crc = 0;
	while ((n = pread(p->fd, block, 64 << 10, (off_t)p->size)) > 0) {
		p->crc = crc32c(p->crc, block, (size_t)n);
		for (i = 0; i < n; i++)
			h = (h ^ block[i]) * UINT64_C(1099511628211);
		p->size += (uint64_t)n;
		if (p->size > PAYLOAD_MAX) {
			errno = EFBIG;
			n = -1;
			break;
		}
	}
	free(block);
	if (n < 0 || p->size == 0) {
		*cause = xasprintf("%s: %s", path, n < 0 ? strerror(errno) :
		    "is empty");
		return -1;
	}
	snprintf(p->hash, sizeof p->hash, "%016" PRIx64 "%08" PRIx32,
	    h ^ p->size, p->crc);
	return 0;
}

int
payload_file(struct payload *p, const char *path, char **cause)
{
	struct stat st;

	memset(p, 0, sizeof *p);
	p->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (p->fd == -1 || fstat(p->fd, &st) == -1) {
		*cause = xasprintf("%s: %s", path, strerror(errno));
		payload_close(p);
		return -1;
	}
	if (!S_ISREG(st.st_mode)) {
		*cause = xasprintf("%s: not a regular file", path);
		payload_close(p);
		return -1;
	}
	if (hash_fd(p, path, cause) == -1) {
		payload_close(p);
		return -1;
	}
	return 0;
}

static int
payload_own(struct payload *p, char **cause)
{
	static struct payload own = { .fd = -1 };

	if (own.fd == -1) {
		if (payload_file(&own, "/proc/self/exe", cause) == -1)
			return -1;
		own.own = true;
	}
	*p = own;
	return 0;
}

/* "Linux aarch64" -> DIR/dlmux-linux-aarch64; NULL for words that are none. */
static char *
file_for(const char *dir, const char *machine)
{
	char *path = xasprintf("%s/dlmux-%s", dir, machine), *s;

	for (s = path + strlen(dir) + 7; *s != '\0'; s++) {
		if (*s == ' ')
			*s = '-';
		else if (isalnum((unsigned char)*s) || *s == '_' || *s == '.')
			*s = (char)tolower((unsigned char)*s);
		else {
			free(path);
			return NULL;
		}
	}
	return path;
}

int
payload_open(struct payload *p, const struct target *t, const char *machine,
    char **cause)
{
	const char *here = payload_machine();
	char *path;
	int r;

	p->fd = -1;
	if (machine == NULL || *machine == '\0')
		machine = t->binary != NULL && t->binary_machine != NULL ?
		    t->binary_machine : here;
	if (t->binary != NULL && (t->binary_machine == NULL ?
	    strcmp(machine, here) != 0 :
	    strcmp(machine, t->binary_machine) == 0))
		return payload_file(p, t->binary, cause);
	if (strcmp(machine, here) == 0)
		return payload_own(p, cause);
	if (t->binary_dir != NULL &&
	    (path = file_for(t->binary_dir, machine)) != NULL) {
		r = payload_file(p, path, cause);
		free(path);
		return r;
	}
	*cause = xasprintf("it is a %.80s, this is a %s: name a dlmux built "
	    "for it with AgentBinary or AgentDirectory in dlmux.conf",
	    machine, here);
	return -1;
}

void
payload_close(struct payload *p)
{
	if (p->fd >= 0 && !p->own)
		close(p->fd);
	p->fd = -1;
}
