/* SPDX-License-Identifier: ISC */
/*
 * The workspace's end: owns ptys and processes, keeps raw output in rings,
 * never interprets it. Uses libevent and libc only.
 */
#ifndef DLMUX_AGENT_H
#define DLMUX_AGENT_H

/* `dlmux agent ...`: --stdio MARKER (the front), --daemon FD (the agent; FD is
 * the ready pipe), --confirm SIZE CRC, --env MARKER, --scope ROLE LOG PID,
 * --facts. Returns an exit status. */
int	 agent_main(int argc, char **argv);

#endif
