/* SPDX-License-Identifier: ISC */
/*
 * The client's end of an operation (a command, a new shell, a stream of
 * keystrokes), the other end of which is the agent. It keeps input until the
 * agent has taken it and counts output, so that it goes on where it stood
 * after a lost link or a dead server; and it decides when the result is
 * unknown. It never starts anything a second time.
 *
 * It knows nothing of descriptors: bytes come from and go to its owner.
 */
#ifndef DLMUX_OPCHAN_H
#define DLMUX_OPCHAN_H

#include "connect.h"

struct opchan;

enum opchan_how {
	OPCHAN_EXITED,		/* exec: exit is filled */
	OPCHAN_TAKEN,		/* input: ended, and all of it taken */
	OPCHAN_REFUSED,		/* never began: refusal and text */
	OPCHAN_UNKNOWN		/* may have begun, nobody can say more: text */
};

struct opchan_result {
	enum opchan_how	 how;
	uint16_t	 refusal;
	const char	*text;		/* words without the workspace's name */
	const struct msg_exit *exit;
};

struct opchan_cb {
	/* The link's state, as told. May be NULL. */
	void	(*link)(struct opchan *, const struct msg_link *, void *);
	/* About to be opened the first time: what depends on the link (SendEnv,
	 * DLMUX) can be put into the OPEN now. May be NULL. False: the owner
	 * has ended the operation. */
	bool	(*opening)(struct opchan *, const struct msg_link *,
	    struct msg_open *, void *);
	void	(*started)(struct opchan *, const struct msg_started *, void *);
	/* The next bytes of stream 1 or 2, each once and in order. */
	void	(*output)(struct opchan *, int stream, const uint8_t *, size_t,
	    void *);
	void	(*output_end)(struct opchan *, int stream, void *);
	/* More input fits (opchan_room() grew). May be NULL. */
	void	(*room)(struct opchan *, void *);
	/* Over; called once. The owner frees it when it likes. */
	void	(*done)(struct opchan *, const struct opchan_result *, void *);
	/* Another frame on this channel (PROMPT). May be NULL. */
	void	(*other)(struct opchan *, uint8_t type, const uint8_t *, size_t,
	    void *);
};

struct opchan_setup {
	const char	*workspace;
	int		 use_flags;	/* USE_* */
	struct msg_open	 open;		/* copied; op, agent, have, max are
					 * filled here (op: unless set) */
	size_t		 input_max;	/* bytes of input held */
	bool		 waits;		/* for a link that was had before and
					 * is tried again */
	bool		 patient;	/* ... also for one that only its user
					 * can bring back */
};

struct opchan *opchan_new(struct connect *, const struct opchan_setup *,
	    const struct opchan_cb *, void *);
void	 opchan_free(struct opchan *);		/* NULL is fine */

/* The owner passes these on from its connection. */
void	 opchan_up(struct opchan *);
void	 opchan_down(struct opchan *);
/* True if the message was for this channel. */
bool	 opchan_message(struct opchan *, uint8_t type, uint32_t channel,
	    const uint8_t *, size_t);

size_t	 opchan_room(const struct opchan *);
void	 opchan_input(struct opchan *, const void *, size_t); /* <= room */
void	 opchan_input_end(struct opchan *);
/* Input that the agent has not taken yet, in bytes. */
size_t	 opchan_kept(const struct opchan *);
/* n more bytes of a stream are really out of our hands. */
void	 opchan_took(struct opchan *, int stream, size_t n);
/* Nobody reads this stream here any more: what comes is dropped, and the
 * command is told as a closed pipe tells it. */
void	 opchan_shut(struct opchan *, int stream);
/* Kept until the agent can be told. */
void	 opchan_signal(struct opchan *, const char *name);
void	 opchan_winch(struct opchan *, int rows, int cols);

const uint8_t *opchan_id(const struct opchan *);
/* The instance of the agent that it was opened in; NULL before that. */
const uint8_t *opchan_agent(const struct opchan *);
bool	 opchan_opened(const struct opchan *);	/* an OPEN went out once */
/* Input goes out as it comes: STARTED came on this link, or it is the first
 * one, where nobody has any of it. */
bool	 opchan_takes_input(const struct opchan *);
/* Tells the agent that it may forget the operation (after done()). */
void	 opchan_close(struct opchan *);

#endif
