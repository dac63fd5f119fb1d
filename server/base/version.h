/* SPDX-License-Identifier: ISC */
/* The build gives it to what names it; this is for who looks without a build
 * (linters). */
#ifndef DLMUX_VERSION
#define DLMUX_VERSION "1.0-dev"
#endif
