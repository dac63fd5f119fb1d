/* SPDX-License-Identifier: ISC */
/*
 * NEW: a named shell comes to be. Without a command it is the user's login
 * shell; a command gets the environment that an exec would.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/fd.h"
#include "../base/limits.h"
#include "../base/mem.h"
#include "env.h"
#include "envprobe.h"
#include "op.h"
#include "shell.h"

static void
new_answer(struct op *op, const struct shell *sh)
{
	op->shell_id = sh->id;
	op->shell_uid = sh->uid;
	free(op->shell_name);
	op->shell_name = xstrdup(sh->name);
	op->pid = sh->pid;
	op_started_forget(op);
	op_started(op);
}

/* The next op that waits for this shell. */
static struct op *
new_waiting(const struct shell *sh)
{
	struct op *op;

	TAILQ_FOREACH(op, &sh->agent->ops, all)
		if (op->kind == &new_kind && op->state == OP_WAITING &&
		    op->shell_uid == sh->uid)
			return op;
	return NULL;
}

static void
new_started(enum spawn_stage stage, int error, void *arg)
{
	struct shell *sh = arg;
	struct op *op;

	if (stage == SPAWN_OK) {
		/* Servers hear of the shell before a client does. */
		shell_started(sh);
		while ((op = new_waiting(sh)) != NULL)
			new_answer(op, sh);
		return;
	}
	while ((op = new_waiting(sh)) != NULL)
		op_refuse_spawn(op, stage, error);
	sh->proc = NULL;
	shell_free(sh);
}

static void
new_exited(int status, void *arg)
{
	shell_exited(arg, status);
}

static int
new_spawn(struct op *op, struct shell *sh, const char *shell_path,
    char *const *env)
{
	static const struct proc_cb cb = { new_started, new_exited };
	struct spawn s;
	const char *base;
	char *login[2] = { NULL, NULL };
	int i;

	memset(&s, 0, sizeof s);
	if (op->open.argv != NULL && op->open.argv[0] != NULL) {
		s.file = op->open.argv[0];
		s.argv = op->open.argv;
		sh->command_given = true;
	} else {
		base = strrchr(shell_path, '/');
		login[0] = xasprintf("-%s", base != NULL ? base + 1 :
		    shell_path);
		s.file = shell_path;
		s.argv = login;
	}
	s.env = env;
	s.home = env_get(env, "HOME");
	s.cwd = op->open.cwd;
	for (i = 0; i < 3; i++)
		s.fds[i] = sh->slave;
	s.tty = sh->slave;
	sh->proc = proc_spawn(op->agent->procs, &s, &cb, sh);
	free(login[0]);
	return sh->proc != NULL ? 0 : -1;
}

/* "DLMUX=ssh:web:" of a client that could not know the name yet: a fresh
 * number is made up here. */
static void
new_name_itself(char ***env, const char *name)
{
	const char *v = env_get(*env, "DLMUX");
	size_t n = v != NULL ? strlen(v) : 0;
	char *whole;

	if (n == 0 || v[n - 1] != ':')
		return;
	whole = xasprintf("%s%s", v, name);
	env_set(env, "DLMUX", whole);
	free(whole);
}

static void
new_make(struct op *op)
{
	struct agent *a = op->agent;
	const char *name = op->open.shell, *path;
	bool command = op->open.argv != NULL && op->open.argv[0] != NULL;
	char number[16], **env, *login[2];
	struct shell *sh;
	unsigned int n;
	int error;

	if (name != NULL && *name != '\0') {
		if ((sh = shell_by_name(a, name)) != NULL) {
			if (!(op->open.how & NEW_OR_FIND))
				op_refuse(op, R_EXISTS, "shell %s exists",
				    name);
			else if (sh->state == SHELL_STARTING)
				op->shell_uid = sh->uid;
			else
				new_answer(op, sh);
			return;
		}
	} else {
		for (n = 1; ; n++) {
			snprintf(number, sizeof number, "%u", n);
			if (shell_by_name(a, number) == NULL)
				break;
		}
		name = number;
	}
	if (a->nshells >= SHELLS_MAX) {
		op_refuse(op, R_LIMIT, "too many shells in this workspace");
		return;
	}
	env = op_env(op, command, true);
	new_name_itself(&env, name);
	if ((path = env_get(env, "SHELL")) == NULL)
		path = "/bin/sh";
	login[0] = (char *)(uintptr_t)path;
	login[1] = NULL;
	sh = shell_new(a, name, command ? op->open.argv : login,
	    op->open.rows != 0 ? op->open.rows : 24,
	    op->open.cols != 0 ? op->open.cols : 80);
	if (sh == NULL || new_spawn(op, sh, path, env) == -1) {
		error = errno;
		if (sh != NULL)
			shell_free(sh);
		op_refuse_spawn(op, SPAWN_SETUP, error);
	} else
		op->shell_uid = sh->uid;
	strv_free(env);
}

static void
new_env_ready(struct op *op)
{
	if (op->shell_uid != 0)
		return;		/* under way */
	if (op->doomed)
		op_free(op);	/* nobody wants it any more */
	else
		new_make(op);
}

static void
new_start(struct op *op)
{
	if (op->open.shell != NULL && *op->open.shell != '\0' &&
	    !shell_name_ok(op->open.shell)) {
		op_refuse(op, R_USAGE, "not a shell's name");
		return;
	}
	if (op->open.argv == NULL || op->open.argv[0] == NULL ||
	    envprobe_want(op->agent, op->open.probe))
		new_make(op);
}

static void
new_cancel(struct op *op)
{
	op_free(op);		/* the shell stays */
}

const struct op_class new_kind = {
	.outlives = true,
	.start = new_start,
	.env_ready = new_env_ready,
	.cancel = new_cancel,
};
