/* SPDX-License-Identifier: ISC */
/*
 * The front: what a transport starts. It finds the agent, or starts it, gives
 * it its own descriptors 0 and 1, and stays until the agent lets it go.
 */
#ifndef DLMUX_FRONT_H
#define DLMUX_FRONT_H

int	 front_main(const char *marker);	/* an exit status */

#endif
