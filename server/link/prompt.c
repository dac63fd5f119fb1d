/* SPDX-License-Identifier: ISC */
/* Questions of one link; contract in prompt.h. */
#include <stdlib.h>
#include <string.h>

#include "../base/limits.h"
#include "../base/mem.h"
#include "../base/place.h"
#include "prompt.h"

#define TOKEN	16

struct question {
	uint32_t	 id;		/* 0: free */
	void		(*reply)(bool, const char *, void *);
	void		*arg;
};

struct prompts {
	char			*sock;
	const struct prompts_cb	*cb;
	void			*arg;
	char			 token[TOKEN * 2 + 1];	/* "": none */
	char			*askpass;
	uint32_t		 next;
	struct question		 q[PROMPTS_MAX];
};

struct prompts *
prompts_new(const char *sock, const struct prompts_cb *cb, void *arg)
{
	struct prompts *p = xcalloc(1, sizeof *p);

	p->sock = xstrdup(sock);
	p->cb = cb;
	p->arg = arg;
	return p;
}

void
prompts_free(struct prompts *p)
{
	if (p == NULL)
		return;
	prompts_end(p);
	free(p->askpass);
	free(p->sock);
	free(p);
}

const char *
prompts_start(struct prompts *p, bool may_ask)
{
	uint8_t random[TOKEN];

	prompts_end(p);
	if (!may_ask)
		return NULL;
	random_bytes(random, sizeof random);
	hex_put(p->token, random, sizeof random);
	free(p->askpass);
	p->askpass = xasprintf("%s %s", p->sock, p->token);
	return p->askpass;
}

void
prompts_end(struct prompts *p)
{
	struct question q;
	size_t i;

	p->token[0] = '\0';
	for (i = 0; i < PROMPTS_MAX; i++) {
		q = p->q[i];
		memset(&p->q[i], 0, sizeof p->q[i]);
		if (q.id != 0)
			q.reply(false, "", q.arg);
	}
}

/* What ssh prints comes in part from the far side; lines stay lines. */
static char *
clean_text(const char *text)
{
	char *s = xstrndup(text, strnlen(text, PROMPT_TEXT_MAX)), *p;

	for (p = s; *p != '\0'; p++)
		if (((unsigned char)*p < ' ' && *p != '\n' && *p != '\t') ||
		    (unsigned char)*p >= 0x7f)
			*p = '?';
	return s;
}

bool
prompts_ask(struct prompts *p, const char *token, int kind, const char *text,
    void (*reply)(bool, const char *, void *), void *arg)
{
	struct question *q;
	char *clean;
	size_t i;

	if (p->token[0] == '\0' || strcmp(token, p->token) != 0)
		return false;
	for (i = 0; i < PROMPTS_MAX && p->q[i].id != 0; i++)
		;
	if (i == PROMPTS_MAX)
		return false;
	clean = clean_text(text);
	if (kind == 2) {
		p->cb->told(clean, p->arg);
		reply(true, "", arg);
	} else {
		q = &p->q[i];
		q->id = ++p->next != 0 ? p->next : ++p->next;
		q->reply = reply;
		q->arg = arg;
		p->cb->show(q->id, kind == 1 || strstr(clean, "(yes/no") !=
		    NULL, clean, p->arg);
	}
	free(clean);
	return true;
}

static void
check_left(struct prompts *p)
{
	size_t i;

	for (i = 0; i < PROMPTS_MAX; i++)
		if (p->q[i].id != 0)
			return;
	p->cb->none_left(p->arg);
}

void
prompts_reply(struct prompts *p, uint32_t id, bool ok, const char *text)
{
	struct question q;
	size_t i;

	for (i = 0; i < PROMPTS_MAX; i++) {
		if (id == 0 || p->q[i].id != id)
			continue;
		q = p->q[i];
		memset(&p->q[i], 0, sizeof p->q[i]);
		check_left(p);
		q.reply(ok, text, q.arg);
		return;
	}
}

void
prompts_gone(struct prompts *p, void *arg)
{
	size_t i;

	for (i = 0; i < PROMPTS_MAX; i++)
		if (p->q[i].id != 0 && p->q[i].arg == arg) {
			memset(&p->q[i], 0, sizeof p->q[i]);
			check_left(p);
			return;
		}
}
