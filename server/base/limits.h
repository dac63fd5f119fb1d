/* SPDX-License-Identifier: ISC */
/*
 * Every limit on what a peer, a user or a file can grow, and every deadline
 * on a peer, each with its reason. A number that bounds something belongs
 * here and nowhere else.
 */
#ifndef DLMUX_LIMITS_H
#define DLMUX_LIMITS_H

/* --- wire ------------------------------------------------------------- */

/* Queued for one peer. More than every credit window together can hold for
 * one client, so only a peer that stopped reading reaches it. */
#define CONN_QUEUE_MAX		(32u << 20)
/* Messages being joined from parts, all channels of a connection together: a
 * full checkpoint (16 MiB) and some more. */
#define CONN_PARTS_MAX		(24u << 20)
/* Bytes in front of a key that conn_room() allows in our own queue. */
#define CONN_QUEUE_ROOM		(64u << 10)
/* In flight on a link, unacknowledged: at least this, at most that; between
 * them twice what the link moved in one round trip. ssh alone would swallow
 * 2 MiB, and a key's echo waits behind all of it. */
#define CONN_FLIGHT_MIN		(128u << 10)
#define CONN_FLIGHT_MAX		(1u << 20)
/* One read per readiness, so that no peer keeps the loop from the others. */
#define CONN_READ_MAX		(64u << 10)
/* ... and so long for what they mean, in microseconds: 64 KiB of resizes of a
 * large screen would take seconds. */
#define CONN_SLICE_US		3000

/* --- operations ------------------------------------------------------- */

/* argv and env of one OPEN: the kernel's own limit for exec is 2 MiB. */
#define OPEN_MAX_BYTES		(2u << 20)
#define OPEN_MAX_STRINGS	65536u
/* Bytes an exec may be ahead of its client, each stream: the agent keeps that
 * much for a resume. */
#define OP_WINDOW		(256u << 10)
/* Keystrokes a client may be ahead of the pty: a paste flows through this. */
#define INPUT_WINDOW		(64u << 10)
/* DATA and OUTPUT slices: a key waits behind one of these at most. */
#define SLICE_MAX		(16u << 10)
/* Operations that one agent holds; 64 parallel clients of everything fit
 * sixteen times. */
#define OPS_MAX			1024u

/* --- shells ----------------------------------------------------------- */

#define SHELL_NAME_MAX		64u
#define SHELLS_MAX		1000u
/* One budget for all rings of an agent, and the share of one shell. */
#define RING_BUDGET		(64u << 20)
#define RING_MAX		(4u << 20)
/* Output in flight to a server that is looked at: Ctrl-C bites behind it. */
#define WATCH_WINDOW		(128u << 10)

/* --- the server's own -------------------------------------------------- */

/* Connections of clients at once; a descriptor each, and 1024 is the usual
 * soft limit of descriptors. */
#define CLIENTS_MAX		900u
/* A client that connects says HELLO at once. */
#define CLIENT_HELLO_MS		10000
/* ... and for so long our own waits for its first question. */
#define CLIENT_GREET_MS		20
/* What a client that is being let go may take to read the last words. */
#define CLIENT_LAST_MS		2000
/* Channels of one client: 64 parallel commands of one connection and more. */
#define CLIENT_CHANNELS_MAX	4096u
/* Waits, captures, kills of one client that wait for an answer. */
#define CLIENT_REQUESTS_MAX	64u
/* No descriptors left: accept again so much later, or when one is closed. */
#define ACCEPT_PAUSE_MS		1000
/* Workspaces that one server knows, remembered ones included. */
#define WORKSPACES_MAX		256u
/* Connects that are remembered, besides those of known workspaces. */
#define TRACES_MAX		64u
/* Names, as users write them. */
#define WORKSPACE_NAME_MAX	1024u
/* Environment of a USE: the kernel's limit for exec is 2 MiB. */
#define USE_ENV_STRINGS		16384u
/* A picture: 1000 x 200 cells with a colour each are 4 MiB. */
#define PICTURE_MAX		(8u << 20)
/* Between two pictures in a flood: 200 a second are more than anybody sees. */
#define PICTURE_GAP_MS		5
/* Pictures on their way: one being written, one behind it. */
#define PICTURE_FLIGHT		2u
/* A program that opened a synchronized update and forgot it. */
#define SYNC_HOLD_MS		150
/* A first picture waits so long for a replay to be through. */
#define REPLAY_HOLD_MS		700
/* ... and so long for history that was asked for with it. */
#define HISTORY_HOLD_MS		10000
/* A full checkpoint of 16 MiB over a link that carries 30 KB/s, and nothing
 * else. */
#define HISTORY_MS		(10u * 60 * 1000)
/* An ended shell whose end was shown stays for so long: for the `wait` or
 * `capture` of a script that follows. */
#define SEEN_KEEP_MS		15000
/* A lost link is told of after so long: most are back sooner. */
#define NOTICE_AFTER_MS		400
#define NOTICE_FLASH_MS		4000
/* Halves of one that is too long for the terminal take turns. */
#define NOTICE_TURN_MS		4000
/* Keys count as "somebody waits" for so long. */
#define TYPED_BUSY_MS		15000
/* Checkpoints: a light one bounds what a new server replays, a full one must
 * exist before the ring (RING_MAX) drops what it would be made of. */
#define CHECKPOINT_LIGHT_EVERY	(256u << 10)
#define CHECKPOINT_FULL_EVERY	(1u << 20)	/* LIGHT_SAVES: see there */
/* ... and of the keeper, who has no link to spare: a server is never better off
 * with a light one (LIGHT_SAVES). */
#define CHECKPOINT_FULL_KEEPER	(768u << 10)
#define CHECKPOINT_FULL_QUIET	(64u << 10)	/* ... when output pauses */
#define CHECKPOINT_QUIET_MS	1500
/* One that was sent so long before the link was lost may not have arrived. */
#define CHECKPOINT_DOUBT_MS	30000
/* A shell whose output killed so many servers, within so many bytes of it, is
 * not shown to the next one. */
#define BLAME_OUT		2u
#define BLAME_PLACE		(256u << 10)
/* The server computed for so long at one message of a shell's output: a full
 * checkpoint or a reflow of a long history takes a tenth of a second. */
#define BLAME_STUCK_MS		10000
/* Shells that are remembered for it, the file they stand in, and a stack for a
 * server that died for want of one. */
#define BLAME_SHELLS		64u
#define BLAME_FILE_MAX		(64u << 10)
#define BLAME_STACK		(64u << 10)
/* Output of such a shell kept as it came: as much as its agent has. */
#define QUARANTINE_MAX		RING_MAX
/* History of one mirror in memory. */
#define MIRROR_HISTORY_BYTES	(16u << 20)
/* Streams that did not fit together, without progress between them. */
#define MIRROR_RESYNCS		3u
/* Operations whose MARK a mirror remembers, and fewer than the generations
 * that a screen tells apart (64). */
#define MIRROR_MARKS		32
/* The regex of a wait: repeat counts multiply in regcomp()'s memory. */
#define WAIT_REGEX_MAX		1024u
#define WAIT_REPEAT_MAX		1000u
/* Lines of history that one look of a wait goes back over at most. */
#define WAIT_LINES_MAX		20000
/* A capture's text: all of a screen with its history, colours included. */
#define CAPTURE_MAX_BYTES	(16u << 20)
#define KEYS_MAX		4096u
/* A program that asks for colours waits so long for the user's terminal; it
 * may be at the end of a slow line, but programs wait a second or two. */
#define COLOUR_WAIT_MS		500
/* Answers that wait behind such a question: then it waits no more. */
#define ANSWERS_WAIT_MAX	1024u
/* Answers told when a link was lost may not have arrived: the last few are told
 * again, but not to a program that has given up long ago. */
#define ANSWERS_AGAIN_MAX	32u
#define ANSWERS_AGAIN_MS	3000
/* The state file: every workspace with every shell, in short strings. */
#define STATE_FILE_MAX		(16u << 20)
#define STATE_STRING_MAX	4096u
#define STATE_DELAY_MS		500
/* A terminal's window being dragged gives a size a millisecond; a program that
 * draws anew for each is late for all of them. The first is told at once. */
#define SIZE_GAP_MS		50
/* What a fixed size may have: SCREEN_ROWS_MAX, SCREEN_COLS_MAX. */
#define SIZE_SIDE_MAX		1000u
/* After DONE, LEFT and BYE were queued. */
#define STOP_MS			300
/* Queued for one link: then its clients are not read until it drained. */
#define LINK_QUEUE_HIGH		(4u << 20)
#define LINK_QUEUE_LOW		(1u << 20)

/* --- liveness, milliseconds ------------------------------------------- */

#define PING_IDLE_MS		15000	/* nothing received: ask */
#define PING_BUSY_MS		3000	/* ... while somebody waits */
#define DEAD_IDLE_MS		45000	/* asked and no byte: dead */
#define DEAD_BUSY_MS		10000
#define CONNECT_MS		60000	/* a transport's whole bootstrap, without
					 * the time a user thinks at a prompt */
#define CONNECT_AGAIN_MS	30000	/* ... of a try in the background at a
					 * place that was reached sooner before:
					 * TCP's own tries get rare */
#define CONNECT_STALE_MS	2000	/* one without a word for so long gives
					 * way to a user who acts */
#define CONNECT_TYPED_MS	4000	/* typing into a lost link hurries a try,
					 * but leaves some for who says so */
#define IDLE_AGAIN_MS		60000	/* IdleClose, but a job runs: ask again */
#define RETRY_MIN_MS		400	/* between two tries, the first excepted */
#define RETRY_MAX_MS		30000	/* back-off's ceiling */
#define RETRY_BURST		4	/* tries in RETRY_WINDOW_MS: `ufw limit` */
#define RETRY_WINDOW_MS		30000	/* locks a user out at 6 in 30 s */
#define RETRY_BURST_USER	5	/* ... so that one is left for who acts */
/* An op that no client names after a server is back. */
#define OP_ORPHAN_MS		60000
/* HUP, then KILL. */
#define KILL_GRACE_MS		3000

/* --- a client's terminal (term/caps, term/view) ------------------------ */

/* One capability: the longest in use, setaf, has some 70 bytes. */
#define CAPS_STRING_MAX		512u
#define CAPS_COUNT_MAX		256u
/* History lines in one frame: a terminal that was stopped for a while gets
 * what came meanwhile. When there are more (a flood) some are lost anyway,
 * and only the newest few are sent, so as not to hold up the screen behind
 * them: half a megabyte is the twentieth of a second of a usual terminal. */
#define VIEW_LINES_MAX		6000
#define VIEW_LINES_FLOOD	1000
/* ... and the bytes after which no further line is begun. */
#define VIEW_LINES_BYTES	(4u << 20)
/* A frame: a million cells, each with its own colours and attributes. */
#define VIEW_FRAME_MAX		(64u << 20)
/* Different looks, clusters and links that a view tells apart; when a table
 * is full, all is forgotten and repainted. */
#define VIEW_PENS_MAX		60000u
#define VIEW_CLUSTERS_MAX	60000u
#define VIEW_LINKS_MAX		20000u
#define VIEW_LINK_BYTES		2083u	/* what browsers and terminals take */
#define VIEW_TITLE_MAX		512u
#define VIEW_CLIPBOARD_MAX	(1u << 20)
#define VIEW_NOTES_MAX		8192u	/* notifications in one frame */
#define VIEW_OVERLAY_LINES	200u

/* --- screens (term/) --------------------------------------------------- */

/* Parameters of one control sequence; the fullest SGR that programs print has
 * some 25. Numbers end where xterm's do. */
#define FILTER_PARAMS		64
#define FILTER_PARAM_MAX	65535
/* An OSC string, ... */
#define FILTER_STRING_MAX	8192u
/* ... but for a clipboard write (base64, so 768 KiB of what was copied) ... */
#define FILTER_CLIPBOARD_MAX	(1u << 20)
/* ... and a DCS, which is only kept to be answered. */
#define FILTER_DCS_MAX		256u
#define SCREEN_TITLE_MAX	1024u	/* bytes; cut */
#define SCREEN_CWD_MAX		4096u	/* PATH_MAX */
#define SCREEN_TITLES_MAX	10	/* stack of CSI 22 t, as in xterm */
#define SCREEN_KITTY_MAX	16	/* stack of CSI > u, each screen */
/* A pen index is 16 bits. When all are in use, old history loses its fine
 * colours and links first. */
#define GRID_PENS_MAX		60000u
#define GRID_PENS_ALL		65500u	/* with the coarse ones */
/* Letters with marks, each at most GRID_TEXT_MAX - 1 bytes. */
#define GRID_CLUSTERS_MAX	65536u
#define GRID_CLUSTERS_BYTES	(4u << 20)
/* Links in a screen and its history: a few listings with one per file, ... */
#define GRID_LINKS_MAX		32768u
/* ... but not of the longest addresses. */
#define GRID_LINKS_BYTES	(8u << 20)
#define GRID_URI_MAX		2048u
#define GRID_LINK_ID_MAX	256u

/* --- base and wire, continued ----------------------------------------- */

/* A log is cut at this: enough for weeks of events, no burden to a home. */
#define LOG_MAX			(1u << 20)
/* One line of it; an error's words are cut behind. */
#define LOG_LINE_MAX		2048u
/* Messages being joined at once on a connection. A sender has one per class
 * under way, so this is only reached by a broken one. */
#define CONN_PARTS_COUNT	64u
/* A receiver tells its progress after so many bytes, or when it has been idle
 * for so long (milliseconds). */
#define CONN_ACK_BYTES		(32u << 10)
#define CONN_ACK_MS		5
/* ... and fewer bytes than the first, which hold up nobody, after the second:
 * a key and its echo need no frames and wake-ups of their own for it. */
#define CONN_ACK_FEW		(16u << 10)
#define CONN_ACK_FEW_MS		200
/* Less room than this is told as none: else streams would go in crumbs. */
#define CONN_ROOM_MIN		(4u << 10)
/* Written to one peer per turn of the loop, so that a fast reader does not
 * keep the loop from the others. */
#define CONN_WRITE_MAX		(256u << 10)
/* A peer that takes no more may still have last words (FAIL) on their way. */
#define CONN_LINGER_MS		1000
/* Whole messages. A full checkpoint; a capture of the whole history with
 * colours; words for people, lists of features. */
#define WIRE_CHECKPOINT_MAX	(16u << 20)
#define WIRE_TEXT_MAX		(64u << 20)
#define WIRE_SMALL_MAX		(4u << 10)
#define WIRE_WORDS_MAX		(64u << 10)
/* Strings of other messages than OPEN and ATTACH, and how many in a list. */
#define MSG_STRING_MAX		(32u << 10)
#define MSG_STRINGS_MAX		4096u
/* The capabilities of a client's terminal: terminfo itself stops at 32 KiB. */
#define WIRE_CAPS_MAX		(64u << 10)
/* The colours of a client's terminal: 259 of them, 5 bytes each. */
#define WIRE_THEME_MAX		2048u
/* getent may ask a directory server that is away. */
#define GETENT_MS		2000
/* A bus that hangs; the move into an own scope begins so long after the start,
 * when the first frame is out; and what moves with it at most. */
#define SCOPE_ASK_MS		3000
#define SCOPE_AFTER_MS		1000
#define SCOPE_PIDS_MAX		256u
/* What doctor gathers at one place: some fifty short lines; and a program that
 * it asks there. */
#define FACTS_MAX		(64u << 10)
#define FACTS_ASK_MS		2000
#define FACTS_LINK_MS		(CONNECT_MS + 15000)
/* Less than this free is too little: the agent's program, two logs, the state,
 * and a few for a new version. */
#define DISK_MIN_KB		16384u
#define DISK_MIN_FILES		64u
/* Fewer descriptors than this end as errors in the middle of work: see
 * CLIENTS_MAX; the agent needs 2 for each shell and 4 for each command. */
#define DESCRIPTORS_WANTED	1024u
/* Clocks that differ by more are wrong for make, certificates and one-time
 * codes. */
#define CLOCK_SKEW_MS		5000

/* --- client ------------------------------------------------------------ */

/* From no server to one that answers, a slow disk and a busy machine
 * included. */
#define CONNECT_SERVER_MS	10000
/* Who restarts the server starts it, perhaps as a newer version: clients that
 * run an older one do not get in first. Should it die over it, they start one
 * after all. */
#define CONNECT_RESTART_MS	3000
/* A server that was killed takes connections until the kernel has closed all it
 * held, some ms: the same process again so soon after its death is no server. */
#define CONNECT_DYING_MS	200
/* Deaths of the server without a word between them: then it dies of what it
 * is asked, and asking on only starts it for ever. */
#define CONNECT_DEATHS_MAX	5
/* stdin that `send' and `exec' hold until the agent has taken it: a window and
 * what is being read for the next. */
#define CLIENT_INPUT_MAX	(OP_WINDOW + (64u << 10))
/* Attach keeps reading keys while the link is down, so that the prefix works;
 * beyond this much typed into nothing it stops. */
#define CLIENT_TYPED_MAX	(1u << 20)
/* One answer to a prompt: the line discipline stops at 4095. */
#define PROMPT_LINE_MAX		4096

/* --- configuration, names, links -------------------------------------- */

/* A dlmux.conf: far beyond what people write, small enough to read at each
 * connect; how deep and how many files Include may go. */
#define CONF_FILE_MAX		(1u << 20)
#define CONF_LINE_MAX		(16u << 10)
#define CONF_WORDS_MAX		64
#define CONF_DEPTH_MAX		8
#define CONF_FILES_MAX		64
#define CONF_WORKSPACES_MAX	1024u
#define CONF_NAME_MAX		255u
#define CONF_SEND_ENV_MAX	256u
/* Lines of history a screen keeps, and what may be asked for: a line of 200
 * columns is some 2 KiB. */
#define CONF_HISTORY_LINES	10000
#define CONF_HISTORY_MAX	1000000
/* What a user may name: ssh's own limit for a host is 1025, DNS's 253. */
#define TARGET_TEXT_MAX		512u
/* ssh_config files read for one bare name, and hosts named in an error. */
#define SSHCONF_FILES_MAX	64
#define SSHCONF_DEPTH_MAX	8
#define SSHCONF_NAMES_MAX	16
/* A Target may name a Workspace that has one itself. */
#define TARGET_ALIAS_DEPTH	4
/* Start-up files may print before the agent speaks: so much is looked
 * through, and the end of it kept for the error. */
#define BOOT_NOISE_MAX		(256u << 10)
#define BOOT_NOISE_KEEP		(4u << 10)
/* A line of the bootstrap's own: a word, uname -sm, a path, a reason. */
#define BOOT_LINE_MAX		512u
/* A program that uploads itself: ten times today's, sanitized builds too. */
#define PAYLOAD_MAX		(256u << 20)
/* The end of a transport's stderr, kept for error texts. */
#define TRANSPORT_STDERR_KEEP	(64u << 10)
/* TERM, then KILL for a transport that is let go; an orderly one may first
 * end by itself. */
#define TRANSPORT_GRACE_MS	1000
/* `docker ps` for the names in an error. */
#define TRANSPORT_LIST_MS	3000
#define TRANSPORT_LIST_MAX	(16u << 10)
/* The local agent's start, all retries together. */
#define LOCAL_START_MS		10000
/* A jump between the clocks, or a late timer, that means we slept; the peer
 * then has this long to answer before it counts as dead. */
#define SLEEP_JUMP_MS		5000
#define SLEEP_PROBE_MS		3000
/* A link that dies sooner than this after coming up counts as a failed try:
 * else "up, then dead at once" would go round for ever. */
#define LINK_SHORT_MS		1000
/* ssh's questions open at once on one link. */
#define PROMPTS_MAX		8
#define PROMPT_TEXT_MAX		2048u

/* --- agent ------------------------------------------------------------ */

/* Connections that an agent serves at once, half-made ones included: a few
 * servers, their dying predecessors and keepers. */
#define AGENT_PEERS_MAX		64u
/* A hand-off's environment: the kernel allows 2 MiB, people have 10 KiB. */
#define HANDOFF_ENV_MAX		(1u << 20)
/* Its head: marker, mode and length are 100 bytes. */
#define HANDOFF_HEAD_MAX	256u
#define HANDOFF_MS		10000	/* a front that stops half-way */
#define HELLO_MS		60000	/* a server that says nothing */
/* Variables of one OPEN; they are merged one by one. */
#define OPEN_ENV_MAX		4096u
/* What a peer that was told why gets to read it. */
#define FAREWELL_MS		2000
/* A shell's ring grows in pieces from the first to the second: an idle shell
 * costs a kilobyte, a busy one drops its oldest data in small steps. */
#define RING_CHUNK_MIN		1024u
#define RING_CHUNK_MAX		(64u << 10)
/* Resizes and marks remembered in one ring; a resize more costs the output
 * before the oldest. */
#define RING_ENTRIES_MAX	1024u
/* Read from a pty in one go where it must be emptied (a mark, an end). */
#define DRAIN_MAX		(256u << 10)
/* A read of a pty that gave this much filled what the kernel keeps at once:
 * the next is worth a try. */
#define PTY_FULL		2048u
/* Queued for a server before another checkpoint is: of a hundred shells'
 * histories one at a time goes into its queue. */
#define BULK_QUEUE_MAX		(1u << 20)
/* Answers to programs' questions waiting for a pty that nobody reads. */
#define ANSWERS_MAX		4096u
#define ANSWER_MAX		1024u
/* Shells that ended and nobody dismissed; the oldest go first. */
#define SHELLS_ENDED_MAX	100u
/* An exec's streams after its process ended, while a child holds them. */
#define EXIT_GRACE_MS		200
/* INPUT_HOLD. */
#define HOLD_MS			500
/* A looked-at shell waits so long for a silent server, and so long for one
 * that is heard but takes nothing. */
#define LAG_MS			1000
#define LAG_HEARD_MS		10000
/* A server that takes the history later (HISTORY) keeps what comes before it,
 * and goes through that a second time: so much from the checkpoint on, then
 * so much in all, and so many resizes, each of which may be a reflow. */
#define TWIN_REPLAY_MAX		(256u << 10)
#define PAST_LOG_MAX		(1u << 20)
#define PAST_LOGS_MAX		(16u << 20)	/* of a workspace's shells */
#define PAST_RESIZES		16u
/* A checkpoint without history is preferred when it saves so much. */
#define LIGHT_SAVES		(1u << 20)
/* The keeper: starts so long after output came that no server reads (a server
 * that restarts is back sooner) ... */
#define KEEPER_GRACE_MS		200
/* ... four times as long after each death in a row, and after so many not
 * again until a server was here. */
#define KEEPER_DEATHS_MAX	5
#define KEEPER_LIVED_MS		60000	/* ends a row */
/* A shell whose output killed it so often, within so many bytes, is not shown
 * to it any more. */
#define KEEPER_SHELL_DEATHS	2
#define KEEPER_PLACE		(256u << 10)
/* It is looked after; has so long for what it was sent; and goes when it was
 * not needed for so long. */
#define KEEPER_LOOK_MS		1000
#define KEEPER_STUCK_MS		15000
#define KEEPER_UNNEEDED_MS	5000
/* Behind the shells it watches over. */
#define KEEPER_NICE		5
/* Results that nobody fetched: with a server linked, and without. */
#define OP_UNCLAIMED_MS		(10u * 60 * 1000)
#define OP_UNCLAIMED_ALONE_MS	(24u * 3600 * 1000)
/* Ids of operations that were forgotten, so that a late resume is not taken
 * for a new one. */
#define OP_TOMBS		4096u
/* The environment snapshot: start-up files may take this long and print this
 * much. */
#define PROBE_MS		10000
#define PROBE_MAX		(4u << 20)
/* The agent goes so long after its last shell and link. */
#define AGENT_IDLE_MS		(5u * 60 * 1000)
/* ... and so long after, while an ended shell was not dismissed. */
#define AGENT_IDLE_ENDED_MS	(24u * 3600 * 1000)
/* A place's directory that nobody touched for so long is of a boot or container
 * of before: servers and agents touch theirs by the hour. */
#define PLACE_STALE_S		(30u * 24 * 3600)
/* A name that goes is put back after this: what takes a whole directory away is
 * then done, and is not made to fail. */
#define NAMES_GONE_MS		50
/* How often it looks whether a cleaner took its socket. */
#define AGENT_CHECK_MS		60000
/* A front or server waits so long for a starting agent. */
#define AGENT_START_MS		10000
/* Descriptors the agent asks for: 4 for each of OPS_MAX, 2 for each shell. */
#define AGENT_FDS		8192u

#endif
