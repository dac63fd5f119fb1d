/* SPDX-License-Identifier: ISC */
/*
 * Hosts: a real sshd on a port of the loopback, and the same sshd behind two
 * ProxyCommands: one that takes 1.7 s under a lock (as devpod's does), and one
 * through a link whose delay and rate are set. Keys and configurations are
 * made here, in the benchmark's own directory.
 */
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <netinet/in.h>

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench-relay.h"

/* mosh wants a name that resolves; the others are aliases of ours. */
static const char *const	 names[] = { "127.0.0.1", "slow", "far" };

static struct way_terms	*control;

const char *
far_workspace(enum host h)
{
	static const char *const ws[] = { "ssh:127.0.0.1", "ssh:slow",
	    "ssh:far" };

	return ws[h];
}

static int
free_port(void)
{
	struct sockaddr_in sin = { .sin_family = AF_INET };
	socklen_t len = sizeof sin;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), port = 0;

	sin.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (fd != -1 && bind(fd, (struct sockaddr *)&sin, sizeof sin) == 0 &&
	    getsockname(fd, (struct sockaddr *)&sin, &len) == 0)
		port = ntohs(sin.sin_port);
	if (fd != -1)
		close(fd);
	return port;
}

static bool
port_answers(int port)
{
	struct sockaddr_in sin = { .sin_family = AF_INET,
	    .sin_port = htons((uint16_t)port) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), r;

	sin.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	r = connect(fd, (struct sockaddr *)&sin, sizeof sin);
	close(fd);
	return r == 0;
}

static bool
make_keys(struct bench *b)
{
	static const char *const keys[] = { "id", "host" };
	char *path, *pub;
	int i;
	bool ok = true;

	for (i = 0; i < 2 && ok; i++) {
		path = xfmt("%s/ssh/%s", b->dir, keys[i]);
		ok = run_ok(b, words("ssh-keygen", "-q", "-t", "ed25519",
		    "-N", "", "-f", path, NULL));
		free(path);
	}
	if (!ok)
		return false;
	path = xfmt("%s/ssh/host.pub", b->dir);
	pub = file_read(path);
	free(path);
	path = xfmt("%s/ssh/known", b->dir);
	file_write(path, 0600, "bench %s", pub);
	free(path);
	free(pub);
	return true;
}

static void
write_sshd(struct bench *b)
{
	char *path = xfmt("%s/ssh/sshd_config", b->dir);

	file_write(path, 0600,
	    "ListenAddress 127.0.0.1\nPort %d\nHostKey %s/ssh/host\n"
	    "AuthorizedKeysFile %s/ssh/id.pub\nPidFile none\nUsePAM no\n"
	    "UseDNS no\nStrictModes no\nPermitRootLogin yes\nPrintMotd no\n"
	    "PasswordAuthentication no\nKbdInteractiveAuthentication no\n"
	    "LogLevel VERBOSE\nMaxStartups 2000\nMaxSessions 10\n"
	    "AcceptEnv LANG\n"
	    "SetEnv HOME=%s DLMUX_BENCH=%s BENCH_FAR=yes \"PS1=BENCH-READY> "
	    "\" PATH=%s\n", b->port, b->dir, b->dir, b->far_home, b->dir,
	    getenv("PATH") != NULL ? getenv("PATH") : "/usr/bin:/bin");
	free(path);
}

static void
write_ssh(struct bench *b)
{
	char *wrapper = xfmt("%s/bin/ssh", b->dir);
	char *slow = xfmt("%s/ssh/slow", b->dir);

	file_write(b->ssh_config, 0600,
	    "Host slow\n\tProxyCommand %s\n"
	    "Host far\n\tProxyCommand %s --role relay %s/ssh/link -- %s -i -f "
	    "%s/ssh/sshd_config -E %s/ssh/log.far\n"
	    "Host *\n\tPort %d\n\tIdentityFile %s/ssh/id\n"
	    "\tIdentitiesOnly yes\n\tUserKnownHostsFile %s/ssh/known\n"
	    "\tGlobalKnownHostsFile none\n\tHostKeyAlias bench\n"
	    "\tStrictHostKeyChecking yes\n",
	    slow, b->self, b->dir, b->sshd, b->dir, b->dir, b->port,
	    b->dir, b->dir);
	file_write(slow, 0700, "#!/bin/sh\nflock %s/ssh/lock sleep 1.7\n"
	    "exec %s -i -f %s/ssh/sshd_config -E %s/ssh/log.slow\n", b->dir,
	    b->sshd, b->dir, b->dir);
	/* dlmux takes the ssh of PATH; ssh itself knows no variable for its
	 * configuration. */
	file_write(wrapper, 0700, "#!/bin/sh\nexec %s -F %s \"$@\"\n", b->ssh,
	    b->ssh_config);
	free(wrapper);
	free(slow);
}

static bool
start_sshd(struct bench *b)
{
	char *conf = xfmt("%s/ssh/sshd_config", b->dir);
	char *log = xfmt("%s/ssh/log.near", b->dir);
	double end = now_ms() + 10000;
	bool ok;

	if (getuid() == 0)
		(void)mkdir("/run/sshd", 0755);
	child_start(b, words(b->sshd, "-D", "-f", conf, "-E", log, NULL),
	    NULL);
	while (!(ok = port_answers(b->port)) && now_ms() < end)
		sleep_ms(10);
	free(conf);
	free(log);
	return ok;
}

bool
far_start(struct bench *b)
{
	char *link;

	if (b->far_tried)
		return b->far;
	b->far_tried = true;
	b->ssh = program_find("ssh");
	b->sshd = program_find("sshd");
	if (b->ssh == NULL || b->sshd == NULL ||
	    (b->port = free_port()) == 0) {
		bench_skip(b, "everything over ssh: no ssh or sshd here");
		return false;
	}
	b->ssh_config = place_path(b, "ssh/config");
	link = place_path(b, "ssh/link");
	control = relay_control_map(link, true);
	free(link);
	if (!make_keys(b))
		return false;
	write_sshd(b);
	write_ssh(b);
	if (!start_sshd(b)) {
		bench_fail(b, "sshd does not answer");
		return false;
	}
	if (!run_ok(b, far_ssh(b, "fresh", HOST_NEAR, "true", NULL)))
		return false;
	return b->far = true;
}

int
far_logins(const struct bench *b, enum host h)
{
	static const char *const logs[] = { "near", "slow", "far" };
	char *path = xfmt("%s/ssh/log.%s", b->dir, logs[h]);
	int n = file_count(path, "Accepted publickey");

	free(path);
	return n;
}

void
far_delay(struct bench *b, double ms)
{
	(void)b;
	control->delay = ms;
}

void
far_rate(struct bench *b, double rate)
{
	(void)b;
	control->rate = rate;
}

void
far_stall(struct bench *b, bool on)
{
	(void)b;
	control->stalled = on ? WAY_UP | WAY_DOWN : 0;
}

static char *
master_path(const struct bench *b, enum host h)
{
	return xfmt("%s/ssh/m%d", b->dir, (int)h);
}

char **
far_ssh(struct bench *b, const char *how, enum host h, ...)
{
	va_list ap;
	char *v[16], **w;
	int n = 0;

	va_start(ap, h);
	while (n < 15 && (v[n] = va_arg(ap, char *)) != NULL)
		n++;
	v[n] = NULL;
	va_end(ap);
	if (strcmp(how, "master") == 0)
		w = words(b->ssh, "-F", b->ssh_config, "-S", master_path(b, h),
		    names[h], v[0], n > 1 ? v[1] : NULL, NULL);
	else if (strcmp(how, "tty") == 0)
		w = words(b->ssh, "-F", b->ssh_config, "-S", "none", "-tt",
		    names[h], v[0], n > 1 ? v[1] : NULL, NULL);
	else
		w = words(b->ssh, "-F", b->ssh_config, "-S", "none", names[h],
		    v[0], n > 1 ? v[1] : NULL, NULL);
	return w;
}

bool
far_master(struct bench *b, enum host h)
{
	return run_ok(b, words(b->ssh, "-F", b->ssh_config, "-M", "-S",
	    master_path(b, h), "-o", "ControlPersist=yes", "-f", "-N",
	    names[h], NULL));
}

void
far_master_end(struct bench *b, enum host h)
{
	child_run(b, words(b->ssh, "-F", b->ssh_config, "-S",
	    master_path(b, h), "-O", "exit", names[h], NULL), NULL, NULL, 5000);
}

void
far_forget(struct bench *b, enum host h, bool clean)
{
	pid_t p[8];
	char *cmd;
	int i, n;

	child_run(b, dl(b, "disconnect", far_workspace(h), NULL), NULL, NULL,
	    10000);
	n = place_agents(b, b->far_home, NULL, p, 8);
	for (i = 0; i < n; i++)
		kill(p[i], SIGKILL);
	sleep_ms(20);
	cmd = xfmt("rm -rf '%s/.local'%s%s%s", b->far_home, clean ? " '" : "",
	    clean ? b->far_home : "", clean ? "/.cache'" : "");
	if (system(cmd) != 0)
		bench_fail(b, "%s", cmd);
	free(cmd);
}
