/* SPDX-License-Identifier: ISC */
/* Files of settings; contract in dropin.h. */
#include <dirent.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dropin.h"
#include "fd.h"
#include "mem.h"
#include "scope.h"

#define CONF_MAX	65536u

static int
is_conf(const struct dirent *d)
{
	size_t n = strlen(d->d_name);

	return n > 5 && strcmp(d->d_name + n - 5, ".conf") == 0;
}

static char *
file_in(const char *dir, const char *name)
{
	char *path = scope_path(dir), *file = xasprintf("%s/%s", path, name);

	free(path);
	return file;
}

static bool
is_replaced(const char *name, const char *const *later, size_t n)
{
	bool found = false;
	char *file;
	size_t i;

	for (i = 0; !found && i < n; i++) {
		file = file_in(later[i], name);
		found = access(file, F_OK) == 0;
		free(file);
	}
	return found;
}

void
dropin_each(const char *const *dirs, size_t ndirs,
    void (*take)(char *, void *), void *arg)
{
	struct dirent **list;
	char *path, *file, *text;
	size_t i;
	int k, n;

	for (i = 0; i < ndirs; i++) {
		path = scope_path(dirs[i]);
		n = scandir(path, &list, is_conf, alphasort);
		free(path);
		for (k = 0; k < n; k++) {
			file = file_in(dirs[i], list[k]->d_name);
			if (!is_replaced(list[k]->d_name, dirs + i + 1,
			    ndirs - i - 1) &&
			    fd_read_file(file, &text, CONF_MAX) != -1) {
				take(text, arg);
				free(text);
			}
			free(file);
			free(list[k]);
		}
		if (n >= 0)
			free(list);
	}
}
