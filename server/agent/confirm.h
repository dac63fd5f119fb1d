/* SPDX-License-Identifier: ISC */
/* A fresh upload checks that it arrived whole: its own size and CRC-32C. */
#ifndef DLMUX_CONFIRM_H
#define DLMUX_CONFIRM_H

/* Both as text: decimal size, eight hex digits. 0, or 1 if it is not so. */
int	 confirm_main(const char *size, const char *crc);

#endif
