/* SPDX-License-Identifier: ISC */
/*
 * Contract in sweep.h. A home may be shared with other containers and hosts,
 * so that a directory that looks dead may be in use: its locks are taken
 * before anything goes, and everything is named from open directories.
 */
#include <sys/file.h>
#include <sys/stat.h>
#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "fd.h"
#include "limits.h"
#include "log.h"
#include "sweep.h"

static const char *const locks[] = { "server.lock", "agent.lock" };
#define LOCKS	(sizeof locks / sizeof locks[0])

static bool
sweep_name_ok(const char *s)
{
	return strlen(s) == 16 && strspn(s, "0123456789abcdef") == 16;
}

static bool
sweep_is_old(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && st.st_uid == geteuid() &&
	    time(NULL) - st.st_mtime > PLACE_STALE_S;
}

/* False: somebody holds one. Those that are there are held from now on. */
static bool
sweep_lock(int dir, int held[LOCKS])
{
	size_t i;

	for (i = 0; i < LOCKS; i++) {
		held[i] = openat(dir, locks[i], O_RDWR | O_NOFOLLOW |
		    O_NONBLOCK | O_CLOEXEC);
		if (held[i] != -1 && flock(held[i], LOCK_EX | LOCK_NB) == -1)
			return false;
	}
	return true;
}

/* Names of ours only: removed, or just looked at. False if there is another, or
 * one that does not go. */
static bool
sweep_files(int dir, bool go)
{
	struct dirent *e;
	bool ok = true;
	DIR *d;
	int fd;

	if ((fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)) == -1)
		return false;
	if ((d = fdopendir(fd)) == NULL) {
		close(fd);
		return false;
	}
	while (ok && (e = readdir(d)) != NULL) {
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		ok = strncmp(e->d_name, "server.", 7) == 0 ||
		    strncmp(e->d_name, "agent.", 6) == 0;
		if (ok && go)
			ok = unlinkat(dir, e->d_name, 0) == 0;
	}
	closedir(d);
	return ok;
}

static bool
sweep_one(int top, const char *name)
{
	int dir, held[LOCKS] = { -1, -1 };
	bool gone = false;
	size_t i;

	dir = openat(top, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
	    O_CLOEXEC);
	if (dir == -1)
		return false;
	if (sweep_is_old(dir) && sweep_files(dir, false) &&
	    sweep_lock(dir, held))
		gone = sweep_files(dir, true) &&
		    unlinkat(top, name, AT_REMOVEDIR) == 0;
	for (i = 0; i < LOCKS; i++)
		fd_close(&held[i]);
	close(dir);
	return gone;
}

unsigned int
sweep_places(const struct place *p)
{
	struct dirent *e;
	unsigned int n = 0;
	DIR *d;

	if ((d = opendir(p->state)) == NULL)
		return 0;
	while ((e = readdir(d)) != NULL)
		if (sweep_name_ok(e->d_name) && strcmp(e->d_name, p->id) != 0 &&
		    sweep_one(dirfd(d), e->d_name))
			n++;
	closedir(d);
	if (n > 0)
		log_info("%s: removed what %u boots or containers of before "
		    "left", p->state, n);
	return n;
}
