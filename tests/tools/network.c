/* SPDX-License-Identifier: ISC */
/*
 * network: two network namespaces and the bad line between them.
 *
 *   network [--delay MS] [--jitter MS] [--loss PERCENT] [--rate BYTES/S]
 *           [--seed N] --control SOCKET -- CMD ARG...
 *   network --in PID CMD ARG...
 *
 * Each namespace has a TUN device, near 10.231.1.1 and far 10.231.1.2, and the
 * IPv4 packets between them pass through here: late, at a limited rate, some
 * of them never. CMD runs in the far namespace; "ready" is printed then.
 * The near one is this process's own: `--in PID`, with its pid, runs a command
 * there. It ends when its stdin does, or CMD, and takes all processes in both
 * namespaces with it. Root, or a user namespace where one may be made and
 * /dev/net/tun be opened: else 77 and the reason.
 *
 * The control socket takes lines, each answered with a line after it holds:
 *
 *   cut [up|down]	nothing passes (that way), and nobody is told
 *   freeze		no more of the TCP connections there are; new ones pass
 *   unplug		the near device is down: "Network is unreachable"
 *   restore [cut|freeze|unplug]	undoes all three, or that one
 *   delay MS, jitter MS, loss PERCENT, rate BYTES/S	from now on, each way
 *   counts		"UP DOWN LOST": bytes passed, packets dropped
 */
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "control.h"

#define DEVICE		"line0"
#define NEAR		"10.231.1.1"
#define FAR		"10.231.1.2"
#define MTU		1400
/* What a router holds before it drops: more than a round trip's worth at any
 * rate that the tests set, little enough that TCP learns of the rate. */
#define QUEUE_MAX	(256u << 10)
#define SKIP		77

struct packet {
	struct packet	*next;
	double		 due;		/* milliseconds */
	size_t		 len;
	uint8_t		 data[];
};

/* One direction. */
struct way {
	int		 in, out;	/* TUN devices */
	bool		 up;		/* towards the far side */
	bool		 cut;
	struct packet	*head, **tail;
	size_t		 queued;
	double		 free_at;	/* the rate: busy until then */
	uint64_t	 random;
	unsigned long long passed, lost;
};

static double		 delay_ms, jitter_ms, loss, rate;
static struct way	 ways[2];
/* TCP connections by their near port: seen, and frozen. */
static bool		 seen[65536], frozen[65536];
static const char	*control;
static ino_t		 networks[2];	/* near and far */

static double
now_ms(void)
{
	struct timespec	 ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec / 1e6;
}

static void __attribute__((noreturn, format(printf, 2, 3)))
fatal(int status, const char *fmt, ...)
{
	int	 error = errno;
	va_list	 ap;

	fprintf(stderr, "network: ");
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fprintf(stderr, ": %s\n", strerror(error));
	exit(status);
}

/* splitmix64: [0, 1). */
static double
chance(struct way *w)
{
	uint64_t	 z = (w->random += 0x9e3779b97f4a7c15u);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return (double)((z ^ (z >> 31)) >> 11) / 9007199254740992.0;
}

/* ---- namespaces and devices ---- */

static void
put(const char *path, const char *text)
{
	int	 fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd == -1 || write(fd, text, strlen(text)) == -1)
		fatal(SKIP, "%s", path);
	close(fd);
}

/* Ours is the near one. */
static void
leave_network(void)
{
	char	 text[64];
	uid_t	 uid = getuid();
	gid_t	 gid = getgid();

	if (unshare(CLONE_NEWNET) == 0)
		return;
	if (unshare(CLONE_NEWUSER | CLONE_NEWNET) == -1)
		fatal(SKIP, "a network namespace cannot be made");
	put("/proc/self/setgroups", "deny");
	snprintf(text, sizeof text, "%u %u 1", uid, uid);
	put("/proc/self/uid_map", text);
	snprintf(text, sizeof text, "%u %u 1", gid, gid);
	put("/proc/self/gid_map", text);
}

static void
device_up(const char *name, bool up)
{
	struct ifreq	 ifr = { 0 };
	int		 s = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	snprintf(ifr.ifr_name, sizeof ifr.ifr_name, "%s", name);
	if (s == -1 || ioctl(s, SIOCGIFFLAGS, &ifr) == -1)
		fatal(SKIP, "%s", name);
	if (up)
		ifr.ifr_flags |= IFF_UP;
	else
		ifr.ifr_flags &= ~IFF_UP;
	if (ioctl(s, SIOCSIFFLAGS, &ifr) == -1)
		fatal(SKIP, "%s up", name);
	close(s);
}

static void
address(int s, unsigned long request, const char *text)
{
	struct ifreq		 ifr = { 0 };
	struct sockaddr_in	*sin = (struct sockaddr_in *)&ifr.ifr_addr;

	strcpy(ifr.ifr_name, DEVICE);
	sin->sin_family = AF_INET;
	inet_pton(AF_INET, text, &sin->sin_addr);
	if (ioctl(s, request, &ifr) == -1)
		fatal(SKIP, "the address %s", text);
}

/* In this process's namespace. */
static int
device_open(const char *here)
{
	struct ifreq	 ifr = { 0 };
	int		 s, fd;

	strcpy(ifr.ifr_name, DEVICE);
	ifr.ifr_flags = IFF_TUN | IFF_NO_PI;
	fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
	if (fd == -1 || ioctl(fd, TUNSETIFF, &ifr) == -1)
		fatal(SKIP, "/dev/net/tun");
	if ((s = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) == -1)
		fatal(SKIP, "a socket");
	address(s, SIOCSIFADDR, here);
	address(s, SIOCSIFNETMASK, "255.255.255.252");
	ifr.ifr_mtu = MTU;
	if (ioctl(s, SIOCSIFMTU, &ifr) == -1)
		fatal(SKIP, "the mtu");
	close(s);
	device_up("lo", true);
	device_up(DEVICE, true);
	return fd;
}

static void
fd_give(int s, int fd)
{
	union { struct cmsghdr h; char b[CMSG_SPACE(sizeof fd)]; } u = { 0 };
	struct iovec	 iov = { (char *)"x", 1 };
	struct msghdr	 m = { .msg_iov = &iov, .msg_iovlen = 1,
	    .msg_control = u.b, .msg_controllen = sizeof u.b };

	u.h.cmsg_level = SOL_SOCKET;
	u.h.cmsg_type = SCM_RIGHTS;
	u.h.cmsg_len = CMSG_LEN(sizeof fd);
	memcpy(CMSG_DATA(&u.h), &fd, sizeof fd);
	if (sendmsg(s, &m, 0) == -1)
		fatal(125, "sendmsg");
}

/* -1: the other side could not. */
static int
fd_take(int s)
{
	union { struct cmsghdr h; char b[CMSG_SPACE(sizeof(int))]; } u;
	char		 c;
	struct iovec	 iov = { &c, 1 };
	struct msghdr	 m = { .msg_iov = &iov, .msg_iovlen = 1,
	    .msg_control = u.b, .msg_controllen = sizeof u.b };
	int		 fd;

	if (recvmsg(s, &m, MSG_CMSG_CLOEXEC) <= 0 ||
	    m.msg_controllen < sizeof u.h)
		return -1;
	memcpy(&fd, CMSG_DATA(&u.h), sizeof fd);
	return fd;
}

/* The far side, which runs CMD; its device and its pid. */
static pid_t
far_start(char **argv, int *device)
{
	int	 s[2];
	pid_t	 pid;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, s) == -1 ||
	    (pid = fork()) == -1)
		fatal(125, "fork");
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (unshare(CLONE_NEWNET) == -1)
			fatal(SKIP, "a second network namespace");
		fd_give(s[1], device_open(FAR));
		/* The line is there when the other side lets go. */
		close(s[0]);
		(void)!read(s[1], s, 1);
		dup2(open("/dev/null", O_RDWR | O_CLOEXEC), 0);
		dup2(2, 1);
		execvp(argv[0], argv);
		fatal(127, "%s", argv[0]);
	}
	close(s[1]);
	if ((*device = fd_take(s[0])) == -1) {
		int	 status;

		waitpid(pid, &status, 0);
		exit(WIFEXITED(status) ? WEXITSTATUS(status) : 125);
	}
	close(s[0]);
	return pid;
}

/* Joins what this process may join; in its own user namespace it has to join
 * that first. */
static int
run_in(const char *pid, char **argv)
{
	char	 path[64];
	int	 user, net;

	snprintf(path, sizeof path, "/proc/%s/ns/user", pid);
	user = open(path, O_RDONLY | O_CLOEXEC);
	snprintf(path, sizeof path, "/proc/%s/ns/net", pid);
	net = open(path, O_RDONLY | O_CLOEXEC);
	if (net == -1)
		fatal(125, "%s", path);
	if (setns(net, CLONE_NEWNET) == -1 && (user == -1 ||
	    setns(user, CLONE_NEWUSER) == -1 ||
	    setns(net, CLONE_NEWNET) == -1))
		fatal(125, "%s", path);
	execvp(argv[0], argv);
	fatal(127, "%s", argv[0]);
}

/* The network namespace of "self" or a pid; 0: none. */
static ino_t
network_of(const char *pid)
{
	struct stat	 st;
	char		 path[300];

	snprintf(path, sizeof path, "/proc/%s/ns/net", pid);
	return stat(path, &st) == 0 ? st.st_ino : 0;
}

/* All that runs in ours, but for us. */
static void __attribute__((noreturn))
leave(int status)
{
	struct dirent	*d;
	DIR		*dir = opendir("/proc");
	ino_t		 in;
	pid_t		 p;

	while (dir != NULL && (d = readdir(dir)) != NULL) {
		p = atoi(d->d_name);
		if (p <= 0 || p == getpid())
			continue;
		in = network_of(d->d_name);
		if (in != 0 && (in == networks[0] || in == networks[1]))
			kill(p, SIGKILL);
	}
	if (control != NULL)
		unlink(control);
	exit(status);
}

/* ---- packets ---- */

static void
purge(struct way *w)
{
	struct packet	*p;

	while ((p = w->head) != NULL) {
		w->head = p->next;
		free(p);
		w->lost++;
	}
	w->tail = &w->head;
	w->queued = 0;
}

/* Of TCP, the port of its near end; 0 for all else. */
static unsigned int
near_port(const struct way *w, const uint8_t *p, size_t n)
{
	size_t	 head = (size_t)(p[0] & 15) * 4;

	if (p[9] != 6 || n < head + 4)
		return 0;
	p += head + (w->up ? 0 : 2);
	return (unsigned int)(p[0] << 8 | p[1]);
}

/* Does it get lost on the way? */
static bool
dropped(struct way *w, const uint8_t *p, size_t n)
{
	unsigned int	 port = near_port(w, p, n);

	/* It is one when the far side has answered. */
	seen[port] |= port != 0 && !w->up && !w->cut;
	return w->cut || frozen[port] ||
	    (rate > 0 && w->queued + n > QUEUE_MAX) ||
	    (loss > 0 && chance(w) * 100 < loss);
}

static void
take(struct way *w)
{
	static uint8_t	 buf[65536];
	struct packet	*p;
	double		 now = now_ms(), at;
	ssize_t		 n;

	n = read(w->in, buf, sizeof buf);
	/* Neither IPv6's own chatter. */
	if (n < 20 || buf[0] >> 4 != 4)
		return;
	if (dropped(w, buf, (size_t)n)) {
		w->lost++;
		return;
	}
	if ((p = malloc(sizeof *p + (size_t)n)) == NULL)
		fatal(125, "malloc");
	memcpy(p->data, buf, (size_t)n);
	p->len = (size_t)n;
	at = w->free_at > now ? w->free_at : now;
	w->free_at = rate > 0 ? at + (double)n * 1e3 / rate : now;
	p->due = w->free_at + delay_ms + (jitter_ms > 0 ?
	    jitter_ms * chance(w) : 0);
	p->next = NULL;
	/* Late, but in order: what a real line does. */
	*w->tail = p;
	w->tail = &p->next;
	w->queued += p->len;
}

static void
give(struct way *w, double now)
{
	struct packet	*p;

	while ((p = w->head) != NULL && p->due <= now) {
		/* A full device, or one that is down, is a lost packet. */
		if (write(w->out, p->data, p->len) == (ssize_t)p->len)
			w->passed += p->len;
		else
			w->lost++;
		if ((w->head = p->next) == NULL)
			w->tail = &w->head;
		w->queued -= p->len;
		free(p);
	}
}

/* ---- control ---- */

static bool
obey(const char *line, char *answer, size_t max)
{
	char	 word[16] = "", arg[16] = "";
	int	 n = sscanf(line, "%15s %15s", word, arg);

	if (strcmp(word, "cut") == 0) {
		ways[0].cut |= strcmp(arg, "down") != 0;
		ways[1].cut |= strcmp(arg, "up") != 0;
		for (n = 0; n < 2; n++)
			if (ways[n].cut)
				purge(&ways[n]);
	} else if (strcmp(word, "freeze") == 0) {
		memcpy(frozen, seen, sizeof frozen);
		purge(&ways[0]);
		purge(&ways[1]);
	} else if (strcmp(word, "unplug") == 0) {
		device_up(DEVICE, false);
	} else if (strcmp(word, "restore") == 0) {
		if (*arg == '\0' || strcmp(arg, "cut") == 0)
			ways[0].cut = ways[1].cut = false;
		if (*arg == '\0' || strcmp(arg, "freeze") == 0)
			memset(frozen, 0, sizeof frozen);
		if (*arg == '\0' || strcmp(arg, "unplug") == 0)
			device_up(DEVICE, true);
	} else if (strcmp(word, "counts") == 0) {
		snprintf(answer, max, "%llu %llu %llu\n", ways[0].passed,
		    ways[1].passed, ways[0].lost + ways[1].lost);
	} else if (n == 2) {
		double	*to = strcmp(word, "delay") == 0 ? &delay_ms :
		    strcmp(word, "jitter") == 0 ? &jitter_ms :
		    strcmp(word, "loss") == 0 ? &loss :
		    strcmp(word, "rate") == 0 ? &rate : NULL;

		if (to == NULL)
			return false;
		*to = atof(arg);
	} else
		return false;
	return true;
}

/* ---- the line ---- */

static void
relay(int lfd, pid_t child)
{
	struct pollfd	 p[4] = { { ways[0].in, POLLIN, 0 },
	    { ways[1].in, POLLIN, 0 }, { lfd, POLLIN, 0 }, { 0, POLLIN, 0 } };
	struct timespec	 ts;
	double		 wait;
	char		 c;
	int		 i, status;

	for (;;) {
		for (wait = 1e3, i = 0; i < 2; i++)
			if (ways[i].head != NULL &&
			    ways[i].head->due - now_ms() < wait)
				wait = ways[i].head->due - now_ms();
		wait = wait > 0 ? wait : 0;
		ts.tv_sec = (time_t)(wait / 1e3);
		ts.tv_nsec = (long)((wait - 1e3 * (double)ts.tv_sec) * 1e6);
		if (ppoll(p, 4, &ts, NULL) == -1 && errno != EINTR)
			fatal(125, "poll");
		for (i = 0; i < 2; i++) {
			if (p[i].revents != 0)
				take(&ways[i]);
			give(&ways[i], now_ms());
		}
		if (p[2].revents != 0)
			control_serve(lfd, obey);
		if (p[3].revents != 0 && read(0, &c, 1) <= 0)
			leave(0);
		if (waitpid(child, &status, WNOHANG) == child)
			leave(WIFEXITED(status) ? WEXITSTATUS(status) :
			    128 + WTERMSIG(status));
	}
}

int
main(int argc, char **argv)
{
	uint64_t	 seed = 1;
	char		 pid[16];
	pid_t		 child;
	int		 i, lfd, near, far;

	if (argc > 3 && strcmp(argv[1], "--in") == 0)
		return run_in(argv[2], argv + 3);
	for (i = 1; i + 1 < argc && strcmp(argv[i], "--") != 0; i += 2) {
		if (strcmp(argv[i], "--delay") == 0)
			delay_ms = atof(argv[i + 1]);
		else if (strcmp(argv[i], "--jitter") == 0)
			jitter_ms = atof(argv[i + 1]);
		else if (strcmp(argv[i], "--loss") == 0)
			loss = atof(argv[i + 1]);
		else if (strcmp(argv[i], "--rate") == 0)
			rate = atof(argv[i + 1]);
		else if (strcmp(argv[i], "--seed") == 0)
			seed = strtoull(argv[i + 1], NULL, 10);
		else if (strcmp(argv[i], "--control") == 0)
			control = argv[i + 1];
		else
			break;
	}
	if (i + 1 >= argc || strcmp(argv[i], "--") != 0 || control == NULL) {
		fprintf(stderr, "usage: network [--delay MS] ... --control "
		    "SOCKET -- CMD\n       network --in PID CMD\n");
		return 2;
	}
	signal(SIGPIPE, SIG_IGN);
	leave_network();
	if ((lfd = control_open(control)) == -1)
		fatal(125, "%s", control);
	near = device_open(NEAR);
	child = far_start(argv + i + 1, &far);
	snprintf(pid, sizeof pid, "%d", (int)child);
	networks[0] = network_of("self");
	networks[1] = network_of(pid);
	ways[0] = (struct way){ .in = near, .out = far, .up = true,
	    .tail = &ways[0].head, .random = seed };
	ways[1] = (struct way){ .in = far, .out = near,
	    .tail = &ways[1].head, .random = ~seed };
	puts("ready");
	fflush(stdout);
	relay(lfd, child);
}
