/* SPDX-License-Identifier: ISC */
/*
 * The one file that reads the terminfo database, in the client, and the only
 * one to include <term.h>: its macros are words like "columns" and "lines".
 * Linked statically it still finds the user's own entries.
 */
#include <stdlib.h>
#include <string.h>

#include <curses.h>
#include <term.h>

#include "../server/base/mem.h"
#include "caps.h"

/* Names that the database of an older host lacks, although what the terminal
 * takes is well known: better a plain entry than no session. */
static const char *const fall_back[][2] = {
	{ "xterm-kitty", "xterm-256color" }, { "kitty", "xterm-256color" },
	{ "xterm-ghostty", "xterm-256color" }, { "ghostty", "xterm-256color" },
	{ "foot", "xterm-256color" }, { "alacritty", "xterm-256color" },
	{ "wezterm", "xterm-256color" }, { "contour", "xterm-256color" },
	{ "mintty", "xterm-256color" }, { "konsole", "xterm-256color" },
	{ "vte", "xterm-256color" }, { "st-256color", "xterm-256color" },
	{ "xterm-", "xterm-256color" }, { "tmux", "screen" },
	{ "screen-256color", "screen" }, { "screen.", "screen" },
};

/* And for a host without any database: what all of them have in common. */
static const struct {
	enum cap	 cap;
	const char	*value;
} plain[] = {
	{ CAP_CUP, "\033[%i%p1%d;%p2%dH" }, { CAP_HOME, "\033[H" },
	{ CAP_CUU, "\033[%p1%dA" }, { CAP_CUD, "\033[%p1%dB" },
	{ CAP_CUF, "\033[%p1%dC" }, { CAP_CUB, "\033[%p1%dD" },
	{ CAP_CUF1, "\033[C" }, { CAP_CUB1, "\b" }, { CAP_CUD1, "\n" },
	{ CAP_ED, "\033[J" }, { CAP_EL, "\033[K" },
	{ CAP_CSR, "\033[%i%p1%d;%p2%dr" }, { CAP_IND, "\n" },
	{ CAP_RI, "\033M" },
	{ CAP_SMCUP, "\033[?1049h" }, { CAP_RMCUP, "\033[?1049l" },
	{ CAP_CIVIS, "\033[?25l" }, { CAP_CNORM, "\033[?25h" },
	{ CAP_SGR0, "\033[m" }, { CAP_BOLD, "\033[1m" },
	{ CAP_SMUL, "\033[4m" }, { CAP_RMUL, "\033[24m" },
	{ CAP_REV, "\033[7m" }, { CAP_BLINK, "\033[5m" },
	{ CAP_SETAF, "\033[3%p1%dm" }, { CAP_SETAB, "\033[4%p1%dm" },
	{ CAP_OP, "\033[39;49m" },
};

static bool
missing(const char *s)
{
	return s == NULL || s == (const char *)-1;
}

/* Copies without the padding marks, $<5> and the like: nothing that still
 * needs them has a network behind it. */
static void
set_stripped(struct caps *c, enum cap cap, const char *s)
{
	char *copy = xmalloc(strlen(s) + 1), *p = copy;
	const char *end;

	while (*s != '\0') {
		if (s[0] == '$' && s[1] == '<' &&
		    (end = strchr(s, '>')) != NULL)
			s = end + 1;
		else
			*p++ = *s++;
	}
	*p = '\0';
	caps_set(c, cap, copy);
	free(copy);
}

static const char *
string(const char *name)
{
	char copy[16];

	/* Older headers take a plain char *. */
	strncpy(copy, name, sizeof copy - 1);
	copy[sizeof copy - 1] = '\0';
	return tigetstr(copy);
}

static bool
flag(const char *name)
{
	char copy[16];

	strncpy(copy, name, sizeof copy - 1);
	copy[sizeof copy - 1] = '\0';
	return tigetflag(copy) > 0;
}

static int
set_up(const char *term)
{
	int error, r;

	r = setupterm(term, 1, &error);
	return r == OK && error == 1 ? 0 : -1;
}

static bool
env_is(const char *name, const char *value)
{
	const char *s = getenv(name);

	return s != NULL && strcmp(s, value) == 0;
}

/* Many terminals call themselves xterm and say in other variables what they
 * are. Believed only then: below tmux or screen these are somebody else's. */
static uint32_t
flags_of_environment(const char *term)
{
	uint32_t flags = 0;
	const char *vte = getenv("VTE_VERSION");

	if (env_is("COLORTERM", "truecolor") || env_is("COLORTERM", "24bit"))
		flags |= CAPS_RGB;
	if (strncmp(term, "xterm", 5) != 0)
		return strncmp(term, "screen", 6) == 0 ||
		    strncmp(term, "linux", 5) == 0 ? 0 : flags;
	if (vte != NULL && atoi(vte) >= 5200)
		flags |= caps_known("vte");
	if (env_is("TERM_PROGRAM", "WezTerm"))
		flags |= caps_known("wezterm");
	if (env_is("TERM_PROGRAM", "ghostty"))
		flags |= caps_known("ghostty");
	if (env_is("TERM_PROGRAM", "iTerm.app"))
		flags |= CAPS_RGB | CAPS_ULSTYLE | CAPS_ULCOLOUR | CAPS_SYNC;
	if (env_is("TERM_PROGRAM", "vscode"))
		flags |= CAPS_RGB | CAPS_ULSTYLE | CAPS_ULCOLOUR | CAPS_SYNC;
	return flags;
}

static uint32_t
flags_of_entry(const struct caps *c)
{
	uint32_t flags = 0;

	if (flag("am"))
		flags |= CAPS_AM;
	if (flag("xenl"))
		flags |= CAPS_XENL;
	if (flag("bce"))
		flags |= CAPS_BCE;
	if (flag("Tc") || flag("RGB") || !missing(string("setrgbf")))
		flags |= CAPS_RGB;
	if (flag("Su") || caps_has(c, CAP_SMULX))
		flags |= CAPS_ULSTYLE;
	if (flag("Su") || caps_has(c, CAP_SETULC))
		flags |= CAPS_ULCOLOUR;
	if (caps_has(c, CAP_SS))
		flags |= CAPS_DECSCUSR;
	if (caps_has(c, CAP_SMXX))
		flags |= CAPS_STRIKE;
	if (caps_has(c, CAP_SMOL))
		flags |= CAPS_OVERLINE;
	if (caps_has(c, CAP_MS))
		flags |= CAPS_CLIPBOARD;
	if (caps_has(c, CAP_SYNC))
		flags |= CAPS_SYNC;
	if (flag("XT"))
		flags |= CAPS_TITLE | CAPS_DECSET;
	return flags;
}

static struct caps *
load_plain(const char *term)
{
	struct caps *c = caps_new(term);
	size_t i;

	for (i = 0; i < sizeof plain / sizeof plain[0]; i++)
		caps_set(c, plain[i].cap, plain[i].value);
	caps_set_number(c, 8, CAPS_AM | CAPS_XENL | caps_known(term));
	return c;
}

static int
set_up_known(const char *term, bool *known)
{
	size_t i, n = sizeof fall_back / sizeof fall_back[0];

	*known = caps_known(term) != 0;
	if (set_up(term) == 0)
		return 0;
	for (i = 0; i < n; i++)
		if (strncmp(term, fall_back[i][0],
		    strlen(fall_back[i][0])) == 0)
			return set_up(fall_back[i][1]);
	return -1;
}

struct caps *
caps_load(const char *term, char **cause)
{
	struct caps *c;
	const char *s;
	bool known;
	int i, colours;

	if (term == NULL || *term == '\0') {
		*cause = xstrdup("TERM is not set; set it to what your "
		    "terminal really is");
		return NULL;
	}
	if (set_up_known(term, &known) != 0) {
		if (!known) {
			*cause = xasprintf("terminal type \"%s\" is not known "
			    "on this machine; set TERM to what your terminal "
			    "really is", term);
			return NULL;
		}
		c = load_plain(term);
		goto settle;
	}
	c = caps_new(term);
	for (i = 0; i < CAP_COUNT; i++) {
		s = string(caps_cap_name((enum cap)i));
		if (!missing(s))
			set_stripped(c, (enum cap)i, s);
	}
	colours = tigetnum((char *)(uintptr_t)"colors");
	if (colours < 256 && strstr(term, "256color") != NULL)
		colours = 256;	/* a fall-back entry */
	caps_set_number(c, colours, flags_of_entry(c) | caps_known(term) |
	    flags_of_environment(term));
	del_curterm(cur_term);
settle:
	if (caps_settle(c, cause) != 0) {
		caps_free(c);
		return NULL;
	}
	return c;
}
