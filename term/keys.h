/* SPDX-License-Identifier: ISC */
/*
 * Key names as tmux spells them, the bytes a terminal would send for them,
 * and the recogniser of the prefix key in what the user types.
 */
#ifndef DLMUX_KEYS_H
#define DLMUX_KEYS_H

#include "../server/base/buf.h"
#include "screen.h"

/* "C-c", "Up", "F5", "M-x", "S-Left", "Space", "Enter", "BTab", ...: the bytes
 * under these modes. -1 if the name is none. A single character is itself. */
int	 keys_encode(const char *name, const struct screen_modes *,
	    struct buf *);

/*
 * The prefix. Bytes typed go in; what should reach the program comes out, and
 * the keys that follow a prefix are reported. Recognises the prefix as plain
 * byte, as kitty (CSI code;mods u, lock bits ignored, release events
 * swallowed) and modifyOtherKeys (CSI 27;mods;code~) encodings; never inside
 * a bracketed paste. Holds back an unfinished sequence until the rest comes
 * or prefix_flush() (call after 50 ms).
 */
struct prefix;

/* key: "C-\\", "C-a", ..., or "none". NULL and *cause for a bad name. */
struct prefix *prefix_new(const char *key, char **cause);
void	 prefix_free(struct prefix *);
/* out receives bytes for the program. Stops after a command key: returns it
 * (a character, 'd', 'c', '?', ...) with *used bytes consumed; 0 if all were
 * consumed. The prefix twice puts the prefix itself into out. A key that is
 * no command (cmds lists those that are) is dropped with a return of 0. */
int	 prefix_feed(struct prefix *, const char *cmds, const void *, size_t,
	    size_t *used, struct buf *out);
bool	 prefix_pending(const struct prefix *);
void	 prefix_flush(struct prefix *, struct buf *out);

#endif
