/* SPDX-License-Identifier: ISC */
/*
 * The state file as bytes and as structs; it knows nothing of a running
 * server. Strings of a got struct are owned by it.
 */
#ifndef DLMUX_STATE_H
#define DLMUX_STATE_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/limits.h"
#include "base/place.h"
#include "base/size.h"
#include "wire/frame.h"
#include "wire/msg.h"

enum state_end { STATE_ALIVE, STATE_ENDED, STATE_LOST };

struct state_shell {
	uint64_t uid, created_ms, output_ms;
	uint8_t	 ended;		/* enum state_end */
	uint8_t	 how;
	uint32_t code;
	uint16_t rows, cols;
	struct size size;	/* its own policy */
	char	*name, *command, *title, *signal;
};

struct state_workspace {
	char	*name, *reach, *tries;
	uint8_t	 agent[MSG_ID];
	struct state_shell *shells;
	size_t	 nshells;
};

struct state {
	uint8_t	 id[MSG_ID];
	struct state_workspace *ws;
	size_t	 nws;
};

void	 state_put(struct buf *, const struct state *);
int	 state_get(struct state *, const void *, size_t);	/* -1: damaged */
void	 state_clear(struct state *);
/* 0; 1: there was none; -1: damaged, set aside, *cause says where. */
int	 state_read(struct state *, const char *path, char **cause);
/* Whole or not at all; no fsync: the file is a memory aid, and a slow disk
 * must not stop the loop. -1 and errno. */
int	 state_write(const struct state *, const char *path);

#endif
