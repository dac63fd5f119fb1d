/* SPDX-License-Identifier: ISC */
/*
 * What the server's files know of one another. Nothing outside this folder
 * includes it.
 *
 * Who owns what: the server owns workspaces and clients; a workspace owns its
 * link, its shells and its relays; a shell owns its mirror; a client owns its
 * channels and its attachment; requests belong to their client. Callbacks of
 * links and connections set flags and call server_later(); pictures, waits,
 * credits and clean-up are done once at the end of the pass.
 */
#ifndef DLMUX_SERVER_INSIDE_H
#define DLMUX_SERVER_INSIDE_H

#include <sys/types.h>
#include <sys/queue.h>

#include <event2/event.h>

#include "base/buf.h"
#include "base/conf.h"
#include "base/limits.h"
#include "base/place.h"
#include "base/version.h"
#include "link/link.h"
#include "link/target.h"
#include "wire/conn.h"
#include "wire/msg.h"
#include "../term/screen.h"
#include "../term/theme.h"
#include "state.h"

#ifndef TAILQ_FOREACH_SAFE
#define TAILQ_FOREACH_SAFE(var, head, field, next)			\
	for ((var) = TAILQ_FIRST(head);					\
	    (var) != NULL && ((next) = TAILQ_NEXT(var, field), 1);	\
	    (var) = (next))
#endif
#ifndef LIST_FOREACH_SAFE
#define LIST_FOREACH_SAFE(var, head, field, next)			\
	for ((var) = LIST_FIRST(head);					\
	    (var) != NULL && ((next) = LIST_NEXT(var, field), 1);	\
	    (var) = (next))
#endif

struct questions;
struct attachment;
struct chan;
struct sclient;
struct request;
struct traced;

TAILQ_HEAD(attachments, attachment);
TAILQ_HEAD(requests, request);

/* --- server.c ----------------------------------------------------------- */

struct server {
	struct event_base	*base;
	const struct place	*place;
	struct conf		*conf;		/* the last one that parsed */
	uint8_t			 id[MSG_ID];
	uint64_t		 started_ms;	/* clock_ms() */
	TAILQ_HEAD(, workspace)	 workspaces;
	unsigned int		 nworkspaces;
	LIST_HEAD(, sshell)	 due;		/* sshell_later() */
	TAILQ_HEAD(, sclient)	 clients;
	unsigned int		 nclients;
	uint32_t		 client_number;
	struct requests		 requests;	/* not answered yet */
	TAILQ_HEAD(traceds, traced) traces;	/* newest connect first */
	struct attachments	 atts;
	struct theme		*theme;	/* of the client last typed at */
	int			 lock_fd, listen_fd;
	ino_t			 sock_ino;	/* of the socket's name */
	struct event		*listen_ev, *again_ev, *pass_ev, *tick_ev;
	struct event		*state_ev, *term_ev, *int_ev, *hup_ev,
				*usr1_ev, *names_ev;
	struct event		*stop_ev;
	struct dirwatch		*watch;		/* of its names; may be NULL */
	bool			 swept;		/* what others left */
	bool			 keeper;	/* no clients: an agent's own */
	bool			 pass_due, reap, stopping;
	bool			 state_failed;	/* its last write */
	char			*news;		/* for the next client */
};

/* The end of this pass has work. */
void	 server_later(struct server *);
/* A descriptor became free: accepting may go on. */
void	 server_accept_again(struct server *);
/* Says good-bye to everybody and ends the loop soon. restart: clients come
 * back by themselves. */
void	 server_stop(struct server *, bool restart);
/* The loop, its lists and what is done at the end of a pass: for server_main()
 * and keeper_main(), and their end. */
void	 server_loop(struct server *);
void	 server_clear(struct server *);
/* Reads the config again: NULL and *cause if it does not parse. The result is
 * the server's. */
const struct conf *server_conf(struct server *, char **cause);
const char *server_prefix(const struct server *);
void	 server_tick_on(struct server *);

/* --- workspace.c -------------------------------------------------------- */

#define RELAY_BUCKETS 64

struct workspace {
	TAILQ_ENTRY(workspace)	 entry;
	struct server		*server;
	char			*name;		/* canonical */
	char			*reach;		/* as the user wrote it */
	struct link		*link;		/* NULL until it was resolved */
	char			*tries;		/* remembered, for link */
	struct trace		*trace;		/* of the last connect */
	uint8_t			 probe;
	int			 pass[PASSES];	/* enum pass; -1: as usual */
	char			**send_env;
	struct size		 size;		/* of shells without their own */
	uint8_t			 agent[MSG_ID];	/* the newest instance seen */
	bool			 agent_known;
	char			*agent_version;
	bool			 agent_history;	/* it has FEATURE_HISTORY */
	uint64_t		 asked_past;	/* uid of the shell; 0: none */
	uint64_t		 asked_ms;	/* clock_ms() then */
	unsigned int		 npasts;	/* mirrors without their history */
	size_t			 past_bytes;	/* in their logs */
	bool			 up, ready;	/* ready: READY came */
	bool			 changed;	/* pending ones try again */
	bool			 refresh;	/* REFRESH when it comes up */
	bool			 connecting, tried;	/* tried: in vain */
	bool			 idle;		/* nobody uses it, it may be let go */
	bool			 let_go;	/* by a user: stays down */
	bool			 forget;	/* ... and need not be known */
	uint64_t		 down_ms;	/* clock_ms() of last word */
	TAILQ_HEAD(, sshell)	 shells;	/* oldest first */
	unsigned int		 nshells;
	LIST_HEAD(, relay)	 relays[RELAY_BUCKETS];
	unsigned int		 nrelays, nworking; /* working: not for input */
	uint32_t		 next_channel;
	TAILQ_HEAD(, chan)	 chans;		/* that USEd it */
	TAILQ_HEAD(, prompt)	 prompts;
	uint64_t		 typed_ms;	/* clock_ms() of the last key */
	uint64_t		 idle_ms;	/* IdleClose; 0: never */
	struct event		*idle_ev;	/* pending: nobody uses it */
	struct theme		*theme;		/* that its agent keeps */
	char			*news;		/* for the next command there */
};

/* Makes the record (a limit may refuse: NULL and *cause), link still NULL. */
struct workspace *workspace_new(struct server *, const char *name,
	    const char *reach, char **cause);
void	 workspace_free(struct workspace *);
/* Drops those that nobody uses and nobody would miss: without a shell, and
 * let go by a user or never reached. Not from inside a link's callback. */
void	 workspace_forget(struct server *);
/* By canonical name. */
struct workspace *workspace_find(struct server *, const char *name);
/* What a user wrote, resolved with the config and env, made if new, its link
 * made or told of a changed target. Does not connect. */
struct workspace *workspace_resolve(struct server *, const char *text,
	    char *const *env, char **cause);
/* The keeper's only one: the agent at the other end of this descriptor. */
struct workspace *workspace_adopt(struct server *, int fd, char **cause);
/* What a user wrote, only if it is known already. */
struct workspace *workspace_known(struct server *, const char *text);
/* Of a request: what its channel USEd, else by name, connecting it with the
 * environment it had. NULL and *cause. */
struct workspace *workspace_for(struct sclient *, uint32_t channel,
	    const char *name, char **cause);
void	 workspace_connect(struct workspace *, char *const *env,
	    enum link_who);
void	 workspace_changed(struct workspace *);
/* End of pass: what the link should know of who waits. */
void	 workspace_settle(struct workspace *);
enum link_state workspace_state(const struct workspace *);
bool	 workspace_retrying(const struct workspace *);
/* Whoever waits for it should be told no, with workspace_text(). */
bool	 workspace_unreachable(const struct workspace *);
const char *workspace_text(const struct workspace *);
/* The same for a list: with the last error, and when it is tried again;
 * malloc'd. */
char	*workspace_said(const struct workspace *);
/* How long it is as it is; all tries to come back are one. */
uint64_t workspace_away_ms(const struct workspace *);
/* Tells one channel, or all that USEd it, the link's state. */
void	 workspace_tell(struct workspace *, struct chan *);
/* A REPLY of a client; false if no such prompt was its to answer. */
bool	 workspace_reply(struct workspace *, struct chan *, uint32_t id,
	    bool ok, const char *);
void	 workspace_chan_gone(struct workspace *, struct chan *);

/* --- sshell.c ------------------------------------------------------------ */

enum shell_state { SHELL_RUNNING, SHELL_ENDED, SHELL_REMEMBERED, SHELL_LOST };

struct sshell {
	TAILQ_ENTRY(sshell)	 entry;
	LIST_ENTRY(sshell)	 due_entry;
	bool			 due;	/* ... is on server.due */
	struct workspace	*ws;
	uint32_t		 id;	/* its channel on this link, or 0 */
	uint64_t		 uid;
	char			*name, *command, *title;
	enum shell_state	 state;
	uint8_t			 how;
	uint32_t		 code, pid;
	char			*signal;
	uint64_t		 created_ms, output_ms;	/* wall */
	uint64_t		 start, end;	/* the ring's, as last told */
	uint16_t		 rows, cols;
	uint16_t		 wish_rows, wish_cols;	/* told on this link */
	struct size		 size;		/* its own policy, if any */
	bool			 size_due;	/* to be worked out anew */
	bool			 size_insist;	/* ... and told again */
	uint64_t		 size_ms;	/* clock_ms() of the last told */
	struct event		*size_ev;	/* pending: too soon after it */
	bool			 over;	/* ended, and all its output is here */
	struct event		*seen_ev; /* its end was seen: goes soon */
	char			*lost_why;
	struct mirror		*mirror;	/* NULL: nothing to show */
	struct attachments	 atts;		/* that show it */
	unsigned int		 natts, nwaits;
	unsigned int		 ntexts;	/* of them, that know its cells */
};

struct sshell *sshell_new(struct workspace *, uint64_t uid, const char *name);
/* Attached clients and waits must have been told before. */
void	 sshell_free(struct sshell *);
struct sshell *sshell_by_id(struct workspace *, uint32_t id);
struct sshell *sshell_by_uid(struct workspace *, uint64_t uid);
struct sshell *sshell_by_name(struct workspace *, const char *name);
/* F_SHELL, F_GONE. False: damaged. */
bool	 sshell_told(struct workspace *, uint32_t id, const uint8_t *, size_t);
void	 sshell_gone(struct sshell *, const char *why);
/* The agent has told all: what it did not name is gone. */
void	 sshell_all_told(struct workspace *);
void	 sshell_link_down(struct workspace *);
/* Another agent: everything here is lost. Told to whoever shows one or waits
 * for it, to the next command that is run there, and once to whoever wants to
 * attach to one of them. */
void	 sshell_all_lost(struct workspace *);
/* As a last server knew it. */
void	 sshell_set_lost(struct sshell *);
/* Something about it is to be settled at the end of the pass: of a thousand
 * shells most have nothing. */
void	 sshell_later(struct sshell *);
void	 sshell_settle_due(struct server *);		/* end of pass */
void	 sshell_dismiss(struct sshell *);
/* A user was shown its end: kept a little for a wait or a capture that comes
 * right behind, then dismissed. */
void	 sshell_seen(struct sshell *);
/* A new one of this name is wanted: one that was seen makes room. */
void	 sshell_make_room(struct workspace *, const char *name);
/* Is there a picture that is true as far as can be known? */
bool	 sshell_visible(const struct sshell *);
/* "its status was 3", "it was ended by signal KILL": for people; malloc'd. */
char	*sshell_how(const struct sshell *);

/* --- size.c -------------------------------------------------------------- */

/* What counts for the shell: its own policy, else its workspace's. */
const struct size *size_policy(const struct sshell *);
/* By that, what its clients want. False: nobody has a say. */
bool	 size_wanted(const struct sshell *, uint16_t *rows, uint16_t *cols);
/* Of a shell that is to be made: rows and cols stay unless a size is fixed. */
void	 size_at_birth(const struct workspace *, const struct size *own,
	    uint16_t *rows, uint16_t *cols);
/* A client came, went or has another size: looked at at the end of the pass.
 * insist: a user did it, and another server's word does not stand. */
void	 size_changed(struct sshell *, bool insist);
/* now: a key comes behind it, it must not wait for its turn. */
void	 size_settle(struct sshell *, bool now);
/* A new policy of its own (SIZE_DEFAULT: none any more), kept for ever. */
void	 size_set(struct sshell *, const struct size *);

/* --- mirror.c ----------------------------------------------------------- */

/* A MARK as it came: a WAIT that is asked again after a restart of the server
 * may come behind it. */
struct mark {
	uint8_t		 op[MSG_ID];
	uint8_t		 gen;		/* screen_mark() */
	uint64_t	 lines;		/* screen_lines() */
	uint32_t	 epoch;
	uint64_t	 ms;		/* clock_ms() */
};

struct past;
struct quarantine;

struct mirror {
	struct sshell	*shell;
	struct quarantine *quarantine;	/* NULL: its output is parsed */
	struct past	*past;		/* history that is still to come */
	bool		 past_lost;	/* ... and did not */
	bool		 whole;		/* no light beginning this time */
	struct screen	*screen;
	bool		 begun;		/* something came: there is a picture */
	bool		 watching;	/* on this link */
	bool		 broken;	/* gave up on it */
	bool		 muted;
	bool		 replaying;	/* from past.c, not from the agent */
	uint8_t		 level;
	uint64_t	 told;		/* last TAKEN */
	uint64_t	 sync_to;	/* caught up from this offset on */
	uint64_t	 mute_to;	/* replayed up to here */
	uint64_t	 light_at, full_at; /* the last checkpoints' offsets */
	uint64_t	 light_ms, full_ms;	/* and clock_ms() of them */
	uint64_t	 output_ms;	/* clock_ms() when the last byte came */
	uint64_t	 lost_bytes;	/* GAPs not shown to anybody yet */
	uint64_t	 resync_at;	/* offset at the last resync */
	unsigned int	 resyncs;
	struct mark	 marks[MIRROR_MARKS];	/* the last nmarks of them */
	unsigned int	 nmarks;
	struct event	*quiet_ev;
	struct questions	*questions;
};

/* How many lines a mirror keeps behind the screen, by the config. */
size_t	 mirror_history(const struct server *);
struct mirror *mirror_new(struct sshell *);
void	 mirror_free(struct mirror *);
/* The link is up and told the shell: watch it from where we are. */
void	 mirror_watch(struct mirror *);
void	 mirror_link_down(struct mirror *);
/* Level 2 while somebody looks, or waits: nothing may be skipped then. */
void	 mirror_looked_at(struct mirror *);
void	 mirror_message(struct mirror *, uint8_t type, const uint8_t *, size_t);
void	 mirror_settle(struct mirror *);
bool	 mirror_synced(const struct mirror *);
/* Back to a checkpoint, and from there with what came since, as if it had
 * begun with that. -1: damaged, and the screen is empty. */
int	 mirror_rewind(struct mirror *, const uint8_t *, size_t, uint64_t offset);
void	 mirror_replay(struct mirror *, uint8_t type, const uint8_t *, size_t);
/* Anew from the agent's newest full checkpoint. */
void	 mirror_whole(struct mirror *);
/* Of this operation, NULL if none is remembered. */
const struct mark *mirror_mark(const struct mirror *, const uint8_t op[MSG_ID]);

/* --- past.c ---------------------------------------------------------------- */

/* The mirror begins with a light checkpoint: what is behind it comes later. */
void	 past_begin(struct mirror *, uint64_t offset);
void	 past_free(struct mirror *);
/* A message that the mirror follows. */
void	 past_record(struct mirror *, uint8_t type, const uint8_t *, size_t);
/* The answer to HISTORY. */
void	 past_arrived(struct mirror *, const uint8_t *, size_t);
/* End of pass: asks for the next one, when nothing better is to do. */
void	 past_settle(struct workspace *);
void	 past_link_down(struct workspace *);
/* Somebody wants so many lines of history: is there more to wait for? */
bool	 past_wanted(struct mirror *, uint32_t lines);
/* Lines of it that a terminal has seen last: is it missing some that are not
 * here yet? */
bool	 past_behind(const struct mirror *, uint64_t lines);

/* --- quarantine.c --------------------------------------------------------- */

/* A new mirror of a shell whose output killed the server too often (blame.h):
 * its output is kept as it comes and never parsed, and its screen says so. */
void	 quarantine_begin(struct mirror *, uint64_t at);
void	 quarantine_free(struct mirror *);
void	 quarantine_write(struct mirror *, const uint8_t *, size_t);
/* The stream goes on there. */
void	 quarantine_jump(struct mirror *, uint64_t offset);
/* Parsed again, from the newest checkpoint on. */
void	 quarantine_release(struct mirror *);
/* Why, and what to do: for people, malloc'd. NULL if it is not in it. */
char	*quarantine_words(const struct sshell *);
/* Where in the output it was. */
uint64_t quarantine_at(const struct mirror *);
const uint8_t *quarantine_bytes(const struct mirror *, size_t *);

/* --- questions.c -------------------------------------------------------- */

struct questions *questions_new(struct mirror *);
void	 questions_free(struct questions *);
/* The answer to a question, and one about a colour. */
void	 questions_answer(struct questions *, uint64_t offset, const void *, size_t);
void	 questions_colour(struct questions *, uint64_t offset,
	    const struct screen_ask *);
/* Sends those that can be. */
void	 questions_pump(struct questions *);
/* The link is a new one: what was on its way is told again. */
void	 questions_again(struct questions *);
/* Is there one that the agent has not been told? */
bool	 questions_open(const struct questions *);

/* --- colours.c ---------------------------------------------------------- */

/* What knows that colour best. NULL: a terminal has been asked for it; late:
 * do without. */
const struct theme *colours_find(struct sshell *, int which, bool late);
/* The agent's, told and asked. */
void	 colours_tell(struct workspace *);
void	 colours_told(struct workspace *, const uint8_t *, size_t);
/* It is typed at: its colours are the ones now. */
void	 colours_current(struct attachment *);
/* COLOURS of a client. */
void	 colours_frame(struct attachment *, const uint8_t *, size_t);

/* --- sclient.c ---------------------------------------------------------- */

struct sclient {
	TAILQ_ENTRY(sclient)	 entry;
	struct server		*server;
	struct conn		*conn;		/* NULL: over, to be reaped */
	uint32_t		 number;	/* for the log */
	pid_t			 pid;
	uint8_t			 role;		/* 0: no HELLO yet */
	bool			 read_only;
	char			*inside;	/* the shell it runs in */
	struct msg_manner	 manner;	/* of its next ATTACH */
	bool			 asked;		/* askpass: passed on */
	bool			 progress;	/* understands F_PROGRESS */
	struct workspace	*held;	/* not read: this link is full */
	TAILQ_HEAD(, chan)	 chans;
	unsigned int		 nchans, nrequests;
	struct attachment	*att;
	struct event		*hello_ev;
	bool			 greeted;	/* our HELLO went */
	/* An ended shell that it was shown: dismissed when the client has
	 * taken note (its next frame or its EOF), not before: a server that
	 * dies in between must find the status again. */
	struct workspace	*over_ws;
	uint64_t		 over_uid;
};

void	 sclient_new(struct server *, int fd, pid_t pid);
void	 sclient_reap(struct server *);
/* Over: said why, logged; freed at the end of the pass. */
void	 sclient_fail(struct sclient *, enum refusal, const char *, ...)
	    __attribute__((format(printf, 3, 4)));
void	 sclient_finish(struct sclient *);
void	 sclient_send(struct sclient *, enum conn_class, uint8_t type,
	    uint32_t channel, const void *, size_t);
void	 sclient_send_buf(struct sclient *, enum conn_class, uint8_t type,
	    uint32_t channel, struct buf *);
void	 sclient_done(struct sclient *, uint32_t channel, enum refusal,
	    uint32_t status, const char *, ...)
	    __attribute__((format(printf, 5, 6)));
/* Something to tell a user beside what was asked; *text is freed, and NULL
 * from then on: once is enough. Nothing if it is NULL. */
void	 sclient_news(struct sclient *, uint32_t channel, char **text);
/* It sent stream bytes for that link: not read on while the link's queue is
 * long. sclient_release() lets those go on whose link has drained. */
void	 sclient_hold(struct sclient *, struct workspace *);
void	 sclient_release(struct workspace *);

/* --- chan.c ------------------------------------------------------------- */

/* A channel of a client that is about a workspace. */
struct chan {
	TAILQ_ENTRY(chan)	 entry;		/* of the client */
	TAILQ_ENTRY(chan)	 ws_entry;
	struct sclient		*client;
	uint32_t		 number;
	struct workspace	*ws;		/* NULL: USE failed */
	uint8_t			 flags;		/* USE_* */
	/* What SendEnv names of the client's, for a shell that ATTACH makes. */
	char			**sent_env;
	struct relay		*relay;		/* of its operation, or NULL */
};

struct chan *chan_find(struct sclient *, uint32_t number);
void	 chan_free(struct chan *);
/* USE, and what comes behind it on the channel. */
void	 chan_frame(struct sclient *, uint8_t type, uint32_t channel,
	    const uint8_t *, size_t);

/* --- relay.c ------------------------------------------------------------ */

/* One operation on a link: a client's, or one of our own (att). */
struct relay {
	LIST_ENTRY(relay)	 entry;
	struct workspace	*ws;
	uint32_t		 channel;	/* on the link */
	struct chan		*chan;
	struct attachment	*att;
	uint8_t			 kind;		/* enum op_kind */
	uint8_t			 op[MSG_ID];
};

/* Frames of a client on a channel. They drop the client if it broke a rule. */
void	 relay_open(struct chan *, const uint8_t *, size_t);
void	 relay_from_client(struct chan *, uint8_t type, const uint8_t *,
	    size_t);
void	 relay_from_agent(struct workspace *, uint8_t type, uint32_t channel,
	    const uint8_t *, size_t);
/* An OPEN NEW of our own for an attachment. */
struct relay *relay_create(struct workspace *, struct attachment *,
	    const struct msg_open *);
void	 relay_free(struct relay *);		/* forgets it, says nothing */
void	 relay_cancel(struct relay *);		/* CANCEL, then forgets it */
void	 relay_link_down(struct workspace *);

/* STARTED names a shell; its SHELL comes with it or was overtaken. */
#define MADE_WAIT_MS	5000

/* --- attach.c ----------------------------------------------------------- */

void	 attach_frame(struct sclient *, uint8_t type, uint32_t channel,
	    const uint8_t *, size_t);
void	 attach_free(struct attachment *);	/* the connection is gone */
void	 attach_retry(struct workspace *);
void	 attach_settle(struct server *);
void	 attach_tick(struct server *);
void	 attach_typed(struct sclient *);
bool	 attach_shown(const struct sclient *);	/* a picture is there */
/* The client's terminal is wanted for a question: the picture steps aside,
 * until attach_asked(). False: none is there. */
bool	 attach_ask(struct sclient *);
void	 attach_asked(struct workspace *);
void	 attach_bell(struct sshell *);
void	 attach_clipboard(struct sshell *, const char *sel, const char *,
	    size_t);
void	 attach_notify(struct sshell *, const char *title, const char *);
/* The one last typed at, or attached; who only looks does not count. */
struct attachment *attach_newest(const struct sshell *);
void	 attach_over(struct sshell *);
void	 attach_lost(struct sshell *, const char *why);
unsigned int attach_evict(struct sshell *, const struct sclient *except,
	    const char *text);
void	 attach_stop(struct server *, bool restart);
/* STARTED or REFUSED for relay_create(). */
void	 attach_created(struct attachment *, uint8_t type, const uint8_t *,
	    size_t);
/* Of its workspace: how many are attached or on the way. */
unsigned int attach_users(const struct workspace *);
void	 attach_workspace_gone(struct workspace *, const char *why);

/* --- request.c, wait.c, capture.c, list.c ------------------------------- */

enum request_kind { REQUEST_WAIT, REQUEST_CAPTURE, REQUEST_KEYS,
	REQUEST_RELEASE, REQUEST_END, REQUEST_TRACE, REQUEST_SIZE };

struct request {
	TAILQ_ENTRY(request)	 entry;
	struct server		*server;
	struct sclient		*client;
	uint32_t		 channel;
	enum request_kind	 kind;
	struct workspace	*ws;	/* NULL: all (REQUEST_END) */
	uint64_t		 uid;	/* the shell once found, else 0 */
	char			*shell;
	struct event		*deadline_ev;
	struct wait		*wait;
	uint8_t			 flags;		/* CAPTURE_* */
	uint32_t		 history;
	char			**keys;
	bool			 patient;	/* REQUEST_TRACE */
	struct size		 size;		/* REQUEST_SIZE ... */
	bool			 size_given;	/* ... else only asked */
	/* REQUEST_END */
	bool			 all, sent;
	struct ending		*endings;	/* array */
	size_t			 nendings, nleft;
	struct buf		 missed;	/* who was not reached */
};

/* A WAIT, CAPTURE, KEYS, RELEASE, ENDSHELL or TRACE frame. */
void	 request_frame(struct sclient *, uint8_t type, uint32_t channel,
	    const uint8_t *, size_t);
void	 request_free(struct request *);
/* Tries again those about this workspace. */
void	 request_retry(struct workspace *);
void	 request_client_gone(struct sclient *);
void	 request_workspace_gone(struct workspace *, const char *why);
void	 request_shell_gone(struct sshell *, const char *why, bool lost);
unsigned int request_users(const struct workspace *);
/* The shell that r is about. NULL: *wait true: not to be known yet; else
 * answered by fail. */
struct sshell *request_shell(struct request *, bool *pending, enum refusal *,
	    char **cause);

bool	 wait_start(struct request *, const struct msg_wait *, char **cause);
void	 wait_free(struct request *);
/* True: answered, the request may be freed. */
bool	 wait_try(struct request *);
void	 wait_mark(struct sshell *, const struct mark *);
void	 wait_lost(struct request *, const char *why);
void	 wait_timeout(struct request *);
void	 wait_gone(struct request *, const struct sshell *, const char *why);

bool	 capture_try(struct request *);
bool	 keys_try(struct request *);
bool	 release_try(struct request *);

/* Rows are built field by field and sent. */
#define FIELDS_MAX 32

struct fields {
	char	*v[FIELDS_MAX + 1];
	size_t	 n;
};

void	 field(struct fields *, const char *, ...)
	    __attribute__((format(printf, 2, 3)));
void	 row_send(struct sclient *, uint32_t channel, char kind,
	    struct fields *);
void	 list_all(struct sclient *, uint32_t channel);
void	 list_shell(struct sclient *, uint32_t channel, const struct sshell *);
void	 list_status(struct sclient *, uint32_t channel);

/* --- traced.c ------------------------------------------------------------ */

/* The record of a workspace's last connect, which outlives the workspace: who
 * mistyped a name may still ask why it failed. The server's; never NULL. */
struct trace *traced_for(struct server *, const char *workspace);
void	 traced_clear(struct server *);
/* A TRACE: r->shell is the workspace as it was named. */
bool	 traced_try(struct request *);

/* --- remember.c --------------------------------------------------------- */

void	 state_load(struct server *);		/* at start */
void	 state_later(struct server *);		/* something changed */
void	 state_save(struct server *);		/* now */

#endif
