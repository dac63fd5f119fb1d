/* SPDX-License-Identifier: ISC */
/*
 * Linked into the static program only: the resolver that libevent could call
 * and we never do. A static glibc would bring 140 KB of it along, and with it
 * code that loads modules of a foreign libc. Nothing of ours resolves names
 * (ssh does that); these only fail.
 */
#include <sys/socket.h>
#include <netdb.h>
#include <stddef.h>

int
getaddrinfo(const char *restrict node, const char *restrict service,
    const struct addrinfo *restrict hints, struct addrinfo **restrict res)
{
	(void)node, (void)service, (void)hints, (void)res;
	return EAI_FAIL;
}

void
freeaddrinfo(struct addrinfo *ai)
{
	(void)ai;
}

const char *
gai_strerror(int code)
{
	(void)code;
	return "no resolver in this program";
}

struct servent *
getservbyname(const char *name, const char *proto)
{
	(void)name, (void)proto;
	return NULL;
}

struct protoent *
getprotobynumber(int proto)
{
	(void)proto;
	return NULL;
}
