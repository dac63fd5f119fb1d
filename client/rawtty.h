/* SPDX-License-Identifier: ISC */
/*
 * The user's terminal: raw and back, its size, and the watchdog that puts it
 * back when the client was killed outright.
 */
#ifndef DLMUX_RAWTTY_H
#define DLMUX_RAWTTY_H

#include <stdbool.h>
#include <stdint.h>
#include <termios.h>

#include "../term/caps.h"

struct rawtty {
	int		fd;
	bool		raw;
	struct termios	before;		/* as the user had it */
	struct termios	ours;		/* as the terminal says after rawtty_raw */
};

/* Reads the settings, once we are in the foreground. -1 if fd is no terminal. */
int	 rawtty_open(struct rawtty *, int fd);
int	 rawtty_raw(struct rawtty *);			/* -1 with errno */
/* Are these the settings that rawtty_raw() left? */
bool	 rawtty_is_ours(const struct rawtty *, const struct termios *);
/* After SIGCONT: can nobody have had the terminal meanwhile? */
bool	 rawtty_kept(const struct rawtty *);
/* ... somebody had it. As rawtty_raw(). */
int	 rawtty_again(struct rawtty *);
void	 rawtty_restore(struct rawtty *);
/* 24x80 if the terminal does not know. */
void	 rawtty_size(int fd, int *rows, int *cols);
/* Its size in pixels; 0 if it does not say. */
void	 rawtty_pixels(int fd, int *x, int *y);

struct watchdog;

/*
 * A process in its own group that holds nothing but the terminal and waits
 * for this one to die. If it dies without watchdog_end(), the modes last
 * written down are undone (by view_undo() and caps; without caps, by
 * outmodes_undo()) and the settings restored if they are still those of
 * rawtty_raw(). The pointers stay the caller's and must outlive it. NULL if it
 * cannot be started: the terminal is then as safe as with any other program.
 */
struct watchdog *watchdog_start(const struct rawtty *, int out,
	    const struct caps *);
/* SIGCHLD: if it was killed, another one takes its place. NULL is fine. */
void	 watchdog_check(struct watchdog *);
/* What is, or may be in the middle of a write, on at the terminal. */
void	 watchdog_modes(struct watchdog *, uint32_t modes, int rows);
/* The terminal was asked something and has not answered yet, or has: nothing of
 * it may be left for who reads next. NULL is fine. */
void	 watchdog_asked(struct watchdog *, bool);
/* All is well: it goes. NULL is fine. */
void	 watchdog_end(struct watchdog *);

#endif
