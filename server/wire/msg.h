/* SPDX-License-Identifier: ISC */
/*
 * The messages that more than one role builds or reads, as structs with a put
 * and a get. A get refuses trailing bytes; strings of a got struct are owned
 * by it and go with its _free. doc/protocol.md says what they mean.
 */
#ifndef DLMUX_MSG_H
#define DLMUX_MSG_H

#include "../base/buf.h"

#define PROTO_MIN	1
#define PROTO_MAX	1
#define MSG_ID		16	/* bytes of an operation, instance or server id */

enum hello_role {
	ROLE_CLIENT = 1, ROLE_ASKPASS, ROLE_SERVER, ROLE_KEEPER, ROLE_AGENT
};

struct msg_hello {		/* F_HELLO, either side of either connection */
	uint16_t proto_min, proto_max;
	uint8_t	 role;		/* enum hello_role */
	uint8_t	 id[MSG_ID];	/* agent: instance; server: its id; client: 0 */
	uint64_t epoch;		/* server to agent: fences older connections of
				 * the same server id; else 0 */
	uint32_t pid;
	uint64_t now_ms;	/* wall clock */
	char	*version;	/* "1.0" */
	char	*host;		/* nodename */
	char	*machine;	/* uname -sm */
	char	**features;	/* FEATURE_*: what it understands besides */
};

/* An agent's: WATCH_LIGHT and HISTORY. */
#define FEATURE_HISTORY	"history"
/* A client's: PROGRESS. */
#define FEATURE_PROGRESS "progress"
/* What a WATCH begins with: the newest checkpoint, there where the server
 * stands, or the screen alone if the rest of it can be had later. */
enum watch_have { WATCH_NEWEST, WATCH_FROM, WATCH_LIGHT };

enum op_kind { OP_EXEC = 1, OP_NEW, OP_INPUT };

#define OPEN_RESUME	0x01	/* STARTED was seen: an unknown id is an error */
#define EXEC_PTY	0x01
#define EXEC_NO_STDIN	0x02	/* /dev/null */
#define NEW_OR_FIND	0x04	/* a shell of that name is the answer, no error */
#define INPUT_HOLD	0x08	/* hold until the shell's first output or 500 ms */
enum env_probe { PROBE_NO, PROBE_LOGIN, PROBE_INTERACTIVE };

struct msg_open {		/* F_OPEN */
	uint8_t	 op[MSG_ID];
	uint8_t	 agent[MSG_ID];	/* the instance meant: another one refuses */
	uint8_t	 kind;		/* enum op_kind */
	uint8_t	 flags;		/* OPEN_RESUME */
	uint64_t have[2];	/* bytes of stdout, stderr the client has */
	uint64_t max[2];	/* and its credit: absolute offsets */
	uint8_t	 how;		/* EXEC_*, NEW_*, INPUT_* */
	uint8_t	 probe;		/* enum env_probe */
	uint16_t rows, cols;	/* of the pty; 0: default */
	uint64_t uid;		/* INPUT: the shell; 0: by name */
	char	*shell;		/* NEW: name, "" lowest free number; INPUT */
	char	*cwd;		/* "": home */
	char	**env;		/* NAME=VALUE on top of the base */
	char	**argv;		/* NEW: empty is a login shell */
};

struct msg_started {		/* F_STARTED */
	uint8_t	 resumed;	/* 1: the op was known */
	uint64_t in_next;	/* next byte of input the agent wants */
	uint64_t in_max;	/* and its credit */
	uint32_t pid;
	uint32_t shell_id;	/* NEW, INPUT */
	uint64_t uid;
	char	*shell;
};

/* Codes of F_REFUSED and F_DONE. */
enum refusal {
	R_NONE = 0,		/* (R_OK is taken by unistd.h) */
	R_ERROR,		/* see the text */
	R_NO_COMMAND,		/* exec: not found: status 127 */
	R_NO_EXEC,		/* exec: not executable: status 126 */
	R_EXISTS,		/* new: the name is taken */
	R_NO_SHELL,		/* no such shell */
	R_ENDED,		/* the shell has ended */
	R_UNKNOWN_OP,		/* resume of an id nobody knows: result unknown */
	R_OTHER_AGENT,		/* the workspace was recreated */
	R_LIMIT,
	R_LOST,			/* the shell is lost */
	R_UNREACHABLE,		/* no link */
	R_USAGE,
	R_READ_ONLY
};

enum end_how { END_NONE, END_EXIT, END_SIGNAL, END_UNKNOWN };

struct msg_exit {		/* F_EXIT */
	uint8_t	 how;		/* enum end_how */
	uint8_t	 open;		/* 1: streams were still held by a child */
	uint32_t code;		/* exit status or 128+n */
	uint64_t end[2];	/* final offsets of stdout and stderr */
	char	*signal;	/* "KILL", or "" */
};

struct msg_shell {		/* F_SHELL */
	uint64_t uid;		/* random, never reused */
	uint8_t	 ended;
	uint8_t	 how;		/* enum end_how */
	uint32_t code;
	uint32_t pid;
	uint64_t created_ms;	/* wall */
	uint64_t output_ms;	/* wall, of the last output */
	uint64_t start, end;	/* offsets that the ring holds */
	uint16_t rows, cols;
	char	*signal;
	char	*name;
	char	*command;	/* argv joined, for people */
};

enum link_state { LINK_DOWN, LINK_CONNECTING, LINK_UP, LINK_FAILED };

#define USE_MAY_PROMPT	0x01	/* there is a terminal for prompts */
#define USE_REFRESH	0x02	/* drop the agent's environment snapshot */
#define USE_READ_ONLY	0x04	/* this connection may open no input */
#define USE_PASSIVE	0x08	/* do not connect: tell the state only */
#define USE_AGAIN	0x10	/* the same to a new server: nobody acted */
#define USE_ASK_SHOWN	0x20	/* ... prompts also while a shell is shown */
struct msg_use {		/* F_USE */
	uint8_t	 flags;
	char	*workspace;	/* as the user wrote it */
	char	**env;		/* the client's, for the transport */
};

struct msg_link {		/* F_LINK */
	uint8_t	 state;		/* enum link_state */
	uint8_t	 retry;		/* DOWN, FAILED: the server goes on trying: 1;
				 * to reach what it had reached before: 2 */
	uint8_t	 agent[MSG_ID];	/* UP */
	uint64_t since_ms;	/* how long ago the state was entered */
	uint8_t	 probe;		/* enum env_probe, from the config */
	char	*workspace;	/* its canonical name */
	char	*text;		/* what is happening or went wrong, in words */
	char	**send_env;	/* names or patterns, from the config */
};

#define ATTACH_READ_ONLY 0x01
#define ATTACH_OTHERS	0x02	/* detach the others */
#define ATTACH_PASSIVE	0x04	/* never counts for the size */
#define ATTACH_CREATE	0x08	/* make the shell if there is none */
#define ATTACH_AGAIN	0x10	/* uid was seen: nothing else will do */
#define ATTACH_NEXT	0x20	/* the next shell after the one named */
#define ATTACH_PREV	0x40
#define ATTACH_FRESH	0x80	/* a new one, lowest free number */
struct msg_attach {		/* F_ATTACH */
	uint8_t	 flags;
	uint8_t	 op[MSG_ID];	/* of the creation */
	uint8_t	 agent[MSG_ID];	/* AGAIN: the instance it was in */
	uint64_t uid;		/* AGAIN */
	uint64_t lines;		/* history lines shown; UINT64_MAX: none yet */
	uint32_t modes;		/* on at the terminal: struct view_frame */
	uint16_t rows, cols;
	char	*workspace, *shell;
	uint8_t	*caps;		/* a caps blob */
	size_t	 caps_len;
	char	**env, **argv;	/* for the creation */
};

struct msg_attached {		/* F_ATTACHED */
	uint64_t uid;
	uint8_t	 agent[MSG_ID];	/* zero if not known (link down) */
	char	*workspace, *shell;
};

/* How the ATTACH behind it is meant, beside what ATTACH itself says. */
#define HISTORY_SCREEN	UINT32_MAX	/* as many lines as the screen has */
struct msg_manner {		/* F_MANNER */
	uint32_t history;	/* lines above the screen: HISTORY_* or a count */
	char	*size;		/* a policy that the shell gets, or "" */
	char	*inside;	/* WORKSPACE:SHELL the client runs in, or "" */
};

struct msg_placed {		/* F_PLACED: where the shell is on the terminal */
	uint16_t row, col;	/* of the shell, in the terminal's corner */
	uint16_t rows, cols;	/* the shell's */
};

enum left_why { LEFT_DETACHED = 1, LEFT_EVICTED, LEFT_ENDED, LEFT_LOST,
	LEFT_REFUSED, LEFT_STOPPED };
struct msg_left {		/* F_LEFT */
	uint8_t	 why;
	uint8_t	 how;		/* enum end_how */
	uint32_t code;
	char	*text;
};

enum wait_kind { WAIT_TEXT = 1, WAIT_IDLE, WAIT_EXIT };
struct msg_wait {		/* F_WAIT */
	uint8_t	 kind;
	uint8_t	 armed;		/* 1: only what comes after op's MARK */
	uint8_t	 op[MSG_ID];
	uint32_t idle_ms;
	uint32_t timeout_ms;	/* 0: none */
	char	*workspace, *shell, *regex;
};

enum waited_result { WAITED_MET = 1, WAITED_TIMEOUT, WAITED_ENDED, WAITED_ERROR };
struct msg_waited {		/* F_WAITED */
	uint8_t	 result;
	uint8_t	 how;
	uint32_t code;
	char	*text;
};

/* F_COLOURS: flags, and with DONE the colours as term/theme.h writes them. */
#define COLOURS_ASKING	0x01	/* what was told is void, more is to come */
#define COLOURS_DONE	0x02	/* all that the terminal has told */
#define COLOURS_REPORTS	0x04	/* it reports a change by itself */
/* F_ENQUIRE: which are wanted. */
#define ENQUIRE_BASE	0x01	/* 0..15, foreground, background, cursor */
#define ENQUIRE_REST	0x02	/* 16..255 */

#define CAPTURE_ESCAPES	0x01
#define CAPTURE_RAW	0x02	/* of one in quarantine: its output as it came */
struct msg_capture {		/* F_CAPTURE */
	uint8_t	 flags;
	uint32_t history;	/* lines; UINT32_MAX: all */
	char	*workspace, *shell;
};

struct msg_sizing {		/* F_SIZING */
	uint64_t uid;		/* 0: by name */
	char	*workspace, *shell;
	char	*size;		/* the new policy; "": only tell */
};

struct msg_row {		/* F_ROW, an answer to F_LIST or F_STATUS */
	uint8_t	 kind;		/* 'w' workspace, 's' shell, 'k' key-value */
	char	**fields;	/* NAME=VALUE; names only ever added to */
};

struct msg_done {		/* F_DONE */
	uint16_t code;		/* enum refusal */
	uint32_t status;	/* what the client exits with if it matters */
	char	*text;
};

/* One pair each: void msg_X_put(struct buf *, const struct msg_X *);
 * int msg_X_get(struct msg_X *, const uint8_t *, size_t) (-1: damaged, nothing
 * to free); void msg_X_free(struct msg_X *).
 * A HELLO alone may be longer than we know: what a later version appended is
 * skipped. Of one that we cannot speak with, only the frozen head must be
 * there: so it is refused by its number and not as damaged. */
#define MSG(x) \
	void msg_##x##_put(struct buf *, const struct msg_##x *); \
	int msg_##x##_get(struct msg_##x *, const uint8_t *, size_t); \
	void msg_##x##_free(struct msg_##x *)
MSG(hello); MSG(open); MSG(started); MSG(exit); MSG(shell); MSG(use); MSG(link);
MSG(attach); MSG(manner); MSG(attached); MSG(placed); MSG(left); MSG(wait);
MSG(waited); MSG(capture); MSG(sizing); MSG(row); MSG(done);
#undef MSG

/* The value of a row's field; NULL if it has none of that name. */
const char *row_value(const struct msg_row *, const char *name);
/* "not found", "the shell has ended", ... */
const char *refusal_words(uint16_t);
/* "KILL" for 9, NULL if unknown; and back, -1 if unknown. */
const char *signal_name(int);
int	 signal_number(const char *);

#endif
