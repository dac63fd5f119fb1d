/* SPDX-License-Identifier: ISC */
/*
 * What the files of `attach' know of one another: attach.c (the life of it),
 * attach-keys.c (what is typed), attach-paint.c (what is shown), attach-ask.c
 * (what the terminal is asked). Nothing else includes this.
 */
#ifndef DLMUX_ATTACHED_H
#define DLMUX_ATTACHED_H

#include "../term/caps.h"
#include "../term/keys.h"
#include "../term/mouse.h"
#include "../term/replies.h"
#include "command.h"
#include "connect.h"
#include "opchan.h"
#include "outfd.h"
#include "progress.h"
#include "prompter.h"
#include "rawtty.h"

/* Pictures being written: PICTURE_FLIGHT of the server and what crosses. */
#define PICTURES	8

#define ATTACH_SIGNALS	7

struct picture {
	uint32_t	number, modes;
	uint64_t	lines;
	size_t		left;		/* bytes not written yet */
};

/* What is typed into one shell. */
struct typing {
	struct opchan	*op;
	struct typing	*next;		/* older ones, not all taken yet */
	uint64_t	 uid;
};

struct attached {
	const struct args	*args;
	const char		*about;		/* as the user wrote it */
	char			*workspace, *shell;	/* canonical once known */
	struct event_base	*base;
	struct connect		*connect;
	struct prompter		*prompter;
	struct progress		*progress;
	struct outfd		*out;
	struct rawtty		 tty;
	struct watchdog		*watchdog;
	struct caps		*caps;
	struct prefix		*prefix;
	struct replies		*replies;
	struct mouse		*mouse;
	struct msg_placed	 placed;	/* the shell, on the terminal */
	char			*key;		/* its name */
	int			 rows, cols;

	uint32_t		 channel;	/* of ATTACH; 0: no server */
	uint8_t			 op[MSG_ID];	/* of the creation */
	uint8_t			 agent[MSG_ID];
	uint64_t		 uid;		/* 0: nothing shown yet */
	bool			 read_only, passive, shown;
	bool			 orphan;	/* what is shown a dead server drew */
	bool			 noticed;	/* ... and our notice is over it */
	bool			 undone;	/* ... and out of the way */
	bool			 stale;		/* what comes until LEFT */
	uint32_t		 history;	/* lines above it, HISTORY_* */
	const char		*size;		/* a policy for it, or NULL */
	char			*inside;	/* the shell this runs in */
	struct picture		 pictures[PICTURES];
	int			 npictures;
	uint32_t		 modes;		/* on at the terminal */
	uint64_t		 lines;
	char			*link_text;	/* how the link does */
	struct buf		 question;	/* a PROMPT behind a picture */
	uint32_t		 question_channel;

	struct typing		*typing;	/* the newest first */
	bool			 moving;	/* ATTACH sent, ATTACHED not here */
	struct buf		 held;		/* typed since */
	uint32_t		 told;		/* TYPED: so many wait */
	bool			 helping;
	unsigned int		 asked;		/* REPLIES_*, ever */
	uint64_t		 asked_ms;
	bool			 ask_again;	/* once this is answered */

	struct event		*in_ev, *notice_ev, *leave_ev, *prefix_ev;
	struct event		*failed_ev, *ask_ev, *typed_ev;
	struct event		*signals[ATTACH_SIGNALS];
	bool			 in_on;

	bool			 leaving;	/* DETACH sent, or over */
	bool			 left;		/* the last picture is here */
	bool			 over;
	int			 status;
	char			*news;		/* said once the screen is left */
	char			*last;		/* the line said at the end */
	bool			 failed;	/* ... is an error */
};

/* --- attach.c */

/* It is over; the loop goes on until the terminal has what was written. The
 * words are said at the end, as an error if failed. */
void	 attached_end(struct attached *, int status, bool failed,
	    const char *, ...) __attribute__((format(printf, 4, 5)));
/* The terminal has everything. */
void	 attached_stop(struct attached *);
/* The user wants to go. */
void	 attached_detach(struct attached *);
/* The user wants the link now, and can be asked. */
void	 attached_connect(struct attached *);
/* ssh's question, once the last picture is out of the way. */
void	 attached_question(struct attached *);
/* Before keys: the size that the terminal has by now. Its SIGWINCH may be served
 * behind what was typed after it. */
void	 attached_size(struct attached *);
/* Another shell of the workspace (ATTACH_FRESH, ...): keys wait for it. */
void	 attached_move(struct attached *, int flags);

/* --- attach-keys.c */

/* The shell shown is another one from now on: so is where keys go. */
void	 attached_keys_to(struct attached *);
/* Keys held during a move go to where they belong. */
void	 attached_keys_release(struct attached *);
/* Reads from the terminal, or stops to. */
void	 attached_input_wanted(struct attached *);
void	 attached_keys_clear(struct attached *);
/* Events. */
void	 attached_input(evutil_socket_t, short, void *);
void	 attached_prefix_due(evutil_socket_t, short, void *);
void	 attached_typed_due(evutil_socket_t, short, void *);

/* --- attach-ask.c */

/* An ENQUIRE frame. */
void	 attached_enquire(struct attached *, const uint8_t *, size_t);
/* Something was read from the terminal. */
void	 attached_replied(struct attached *);
/* A new server has to be told what is known. */
void	 attached_ask_retold(struct attached *);
/* The modes of the terminal are others. */
void	 attached_ask_modes(struct attached *);
/* Before the terminal is given back: what is on its way is taken. */
void	 attached_ask_drain(struct attached *);
void	 attached_ask_due(evutil_socket_t, short, void *);

/* --- attach-paint.c */

/* The terminal is ours from now on, or again. False: it cannot be. */
bool	 attached_take_tty(struct attached *);
/* A PICTURE frame. */
void	 attached_picture(struct attached *, const uint8_t *, size_t);
/* No server will paint the end: by ourselves. */
uint32_t attached_modes(const struct attached *);
uint64_t attached_lines(const struct attached *);
void	 attached_undo(struct attached *);
/* Undone, and nothing is known any more of what the terminal shows. */
void	 attached_unknown(struct attached *);
extern const struct outfd_cb attached_outfd_cb;
void	 attached_notice_due(evutil_socket_t, short, void *);

#endif
