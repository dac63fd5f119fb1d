/* SPDX-License-Identifier: ISC */
/*
 * One attachment: a client's terminal and the shell it shows. attach.c says for
 * how long, attach-seek.c which shell, paint.c what is sent when, colours.c
 * what its terminal told of its colours, size.c whose size counts, nested.c
 * what must not show what. Besides them only list.c includes this.
 */
#ifndef DLMUX_SERVER_ATTACH_H
#define DLMUX_SERVER_ATTACH_H

#include "../term/caps.h"
#include "../term/view.h"
#include "inside.h"

struct attachment {
	TAILQ_ENTRY(attachment)	 entry;		/* of the server's */
	TAILQ_ENTRY(attachment)	 sh_entry;	/* of those that show sh */
	struct server		*server;
	struct sclient		*client;
	uint32_t		 channel;
	struct workspace	*ws;
	struct sshell		*sh;		/* shown now, or NULL */

	/* What was asked for and is not shown yet. */
	bool			 pending;
	struct msg_attach	 want;
	uint64_t		 want_uid;	/* it was made: this one */
	struct relay		*relay;		/* its creation under way */
	bool			 asked;		/* an OPEN for it went out */
	uint8_t			 asked_agent[MSG_ID];	/* to this instance */
	uint64_t		 pending_ms, made_ms;
	unsigned int		 round;		/* of the last try */
	unsigned int		 tries;		/* names, for a FRESH one */

	struct caps		*caps;
	struct theme		 theme;		/* what its terminal told */
	uint8_t			 enquired, told;	/* ENQUIRE_* */
	struct view		*view;
	int			 rows, cols;
	bool			 read_only, passive;
	struct size		 own;		/* the policy the shell gets, */
	bool			 own_given;	/* ... once it is shown */
	uint64_t		 since_ms, typed_ms;	/* clock_ms() */
	unsigned int		 nested_round;	/* of the last search */
	uint64_t		 order;		/* of the last key or attach */
	uint64_t		 again_ms;	/* it came back, its size waits */

	uint32_t		 modes;		/* of the last picture */
	uint32_t		 sent, shown;	/* picture numbers */
	uint64_t		 serial;	/* of the screen, as sent */
	bool			 dirty;		/* something else changed */
	bool			 echo;		/* a key was typed */
	uint32_t		 above;		/* lines of history asked for */
	bool			 painted;	/* a picture was ever sent */
	bool			 inherited;	/* ... by another server */
	bool			 aside;		/* the user is asked something */
	struct msg_placed	 placed;	/* as last told */
	uint64_t		 frame_ms, sync_ms;
	struct event		*frame_ev;
	char			 notice[256];	/* as set in the view */
	unsigned int		 typed;		/* bytes that wait: the client */
	char			*flash;		/* a passing one */
	uint64_t		 flash_ms;	/* until then */
};

/* attach.c. Shows the shell from now on. May free the attachment: it is refused,
 * or the shell is over. */
void	 attach_show(struct attachment *, struct sshell *);
/* It cannot be: the one shown before stays, else that was all and it is freed. */
void	 attach_refuse(struct attachment *, enum left_why, const char *, ...)
	    __attribute__((format(printf, 3, 4)));

/* attach-seek.c. What was asked for is shown or refused, if it can be yet. */
void	 attach_try(struct attachment *);

/* nested.c. Why that shell must not be shown there, malloc'd; NULL: it may. */
char	*nested_refusal(struct attachment *, const struct sshell *);

/* paint.c */
void	 paint_init(struct attachment *);
void	 paint_clear(struct attachment *);
/* Brings the terminal up to the screen now, if it may. */
void	 paint_settle(struct attachment *);
/* The last one: drawn whatever is on its way, then the terminal undone. */
void	 paint_leave(struct attachment *);
/* The same for a while: nothing is drawn until aside is taken back. */
void	 paint_aside(struct attachment *);
/* Sets the notice that is due, or takes it away. */
void	 paint_notice(struct attachment *);
void	 paint_flash(struct attachment *, const char *, ...)
	    __attribute__((format(printf, 2, 3)));
void	 paint_help(struct attachment *, bool);

#endif
