/* SPDX-License-Identifier: ISC */
/*
 * The role that ssh runs to ask something: it passes the question to the
 * server named in DLMUX_ASKPASS ("SOCKET TOKEN") and the answer back to ssh.
 */
#ifndef DLMUX_ASKPASS_H
#define DLMUX_ASKPASS_H

/* Prints the answer on stdout. 0, or 1 if it was refused or nobody can be
 * asked. Blocks: it is a process of its own. */
int	 askpass_main(const char *prompt);

#endif
