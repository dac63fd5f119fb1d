/* SPDX-License-Identifier: ISC */
/*
 * A client's terminal capabilities as a value: named strings, a few flags and
 * a number of colours; to a blob and back, and the expansion of parameters.
 * The expander is ours and not curses', because in the server the strings
 * come from a peer: it has a bounded stack, bounded output and no loops.
 * This file knows nothing of the terminfo database: see terminfo.c.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../server/base/limits.h"
#include "../server/base/mem.h"
#include "caps.h"
#include "decimal.h"

#define CAPS_VERSION 1

struct caps {
	char		*name;
	char		*str[CAP_COUNT];	/* NULL: has none */
	size_t		 plain[CAP_COUNT];	/* length, 0 if parameters or
						 * none */
	bool		 simple[CAP_COUNT];	/* numbers in decimal, no more */
	uint32_t	 flags;			/* CAPS_* */
	int		 colours;
	bool		 sgr;			/* derived: caps_settle() */
	bool		 sgr_off;
};

/* The names are terminfo's (and tmux's for the extended ones). */
static const char *const cap_names[CAP_COUNT] = {
	[CAP_CUP] = "cup", [CAP_HOME] = "home",
	[CAP_HPA] = "hpa", [CAP_VPA] = "vpa",
	[CAP_CUU] = "cuu", [CAP_CUD] = "cud",
	[CAP_CUF] = "cuf", [CAP_CUB] = "cub",
	[CAP_CUU1] = "cuu1", [CAP_CUD1] = "cud1",
	[CAP_CUF1] = "cuf1", [CAP_CUB1] = "cub1",
	[CAP_ED] = "ed", [CAP_EL] = "el", [CAP_ECH] = "ech",
	[CAP_CSR] = "csr", [CAP_IND] = "ind", [CAP_RI] = "ri",
	[CAP_INDN] = "indn", [CAP_RIN] = "rin",
	[CAP_SMCUP] = "smcup", [CAP_RMCUP] = "rmcup",
	[CAP_CIVIS] = "civis", [CAP_CNORM] = "cnorm",
	[CAP_SGR0] = "sgr0", [CAP_BOLD] = "bold", [CAP_DIM] = "dim",
	[CAP_SITM] = "sitm", [CAP_SMUL] = "smul", [CAP_RMUL] = "rmul",
	[CAP_BLINK] = "blink", [CAP_REV] = "rev", [CAP_INVIS] = "invis",
	[CAP_SMXX] = "smxx", [CAP_SMOL] = "Smol",
	[CAP_SETAF] = "setaf", [CAP_SETAB] = "setab", [CAP_OP] = "op",
	[CAP_SMULX] = "Smulx", [CAP_SETULC] = "Setulc",
	[CAP_TSL] = "tsl", [CAP_FSL] = "fsl", [CAP_SS] = "Ss",
	[CAP_MS] = "Ms", [CAP_SYNC] = "Sync"
};

/*
 * Terminals by the beginning of their TERM name, the first match counts. Only
 * what terminfo has no word for, or what entries in use commonly leave out.
 * tmux takes direct colours from programs whatever the terminal outside does,
 * and screen's hard status makes titles there a thing of their own.
 */
#define KNOWN_XTERM	(CAPS_DECSET | CAPS_LINKS | CAPS_DECSCUSR |	\
			    CAPS_OTHERKEYS | CAPS_TITLE | CAPS_STRIKE |	\
			    CAPS_CLIPBOARD | CAPS_COLOURS | CAPS_NOTIFY)
#define KNOWN_MODERN	(KNOWN_XTERM | CAPS_RGB | CAPS_ULSTYLE |	\
			    CAPS_ULCOLOUR | CAPS_SYNC)
static const struct {
	const char	*prefix;
	uint32_t	 flags;
} known[] = {
	{ "xterm-kitty",	KNOWN_MODERN | CAPS_KITTY },
	{ "kitty",		KNOWN_MODERN | CAPS_KITTY },
	{ "xterm-ghostty",	KNOWN_MODERN | CAPS_KITTY | CAPS_OVERLINE },
	{ "ghostty",		KNOWN_MODERN | CAPS_KITTY | CAPS_OVERLINE },
	{ "foot",		KNOWN_MODERN | CAPS_KITTY },
	{ "alacritty",		KNOWN_MODERN | CAPS_KITTY },
	{ "wezterm",		KNOWN_MODERN | CAPS_KITTY | CAPS_OVERLINE },
	{ "contour",		KNOWN_MODERN | CAPS_OVERLINE },
	{ "mintty",		KNOWN_MODERN | CAPS_OVERLINE },
	{ "tmux",		KNOWN_MODERN | CAPS_OVERLINE },
	{ "vte",		KNOWN_XTERM | CAPS_RGB | CAPS_ULSTYLE |
				    CAPS_ULCOLOUR | CAPS_OVERLINE },
	{ "xterm",		KNOWN_XTERM },
	{ "konsole",		KNOWN_XTERM | CAPS_RGB },
	{ "rxvt-unicode",	CAPS_DECSET | CAPS_DECSCUSR | CAPS_TITLE |
				    CAPS_COLOURS | CAPS_NOTIFY },
	{ "rxvt",		CAPS_DECSET | CAPS_TITLE },
	{ "st-",		CAPS_DECSET | CAPS_RGB | CAPS_DECSCUSR |
				    CAPS_TITLE | CAPS_STRIKE | CAPS_COLOURS },
	{ "screen",		CAPS_DECSET | CAPS_COLOURS },
	{ "linux",		CAPS_DECSET },
	{ "vt2",		CAPS_DECSET },
	{ "vt3",		CAPS_DECSET },
	{ "vt4",		CAPS_DECSET },
	{ "vt5",		CAPS_DECSET }
};

uint32_t
caps_known(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof known / sizeof known[0]; i++)
		if (strncmp(name, known[i].prefix,
		    strlen(known[i].prefix)) == 0)
			return known[i].flags;
	return 0;
}

const char *
caps_cap_name(enum cap cap)
{
	return cap_names[cap];
}

struct caps *
caps_new(const char *name)
{
	struct caps *c = xcalloc(1, sizeof *c);

	c->name = xstrdup(name);
	return c;
}

void
caps_free(struct caps *c)
{
	int i;

	if (c == NULL)
		return;
	for (i = 0; i < CAP_COUNT; i++)
		free(c->str[i]);
	free(c->name);
	free(c);
}

const char *
caps_name(const struct caps *c)
{
	return c->name;
}

/* Literal text, %i, %p1%d and %p2%d: nearly all that move a cursor. */
static bool
is_simple(const char *s)
{
	size_t n = 0;

	for (; *s != '\0'; s++, n++) {
		if (*s != '%')
			continue;
		if (s[1] == 'i')
			s++;
		else if (s[1] == 'p' && (s[2] == '1' || s[2] == '2') &&
		    s[3] == '%' && s[4] == 'd') {
			s += 4;
			n += DECIMAL_MAX;
		} else
			return false;
	}
	return n <= CAPS_EXPAND_MAX;
}

void
caps_set(struct caps *c, enum cap cap, const char *s)
{
	if (*s == '\0' || strlen(s) > CAPS_STRING_MAX)
		return;
	free(c->str[cap]);
	c->str[cap] = xstrdup(s);
	c->plain[cap] = strchr(s, '%') == NULL && strlen(s) <=
	    CAPS_EXPAND_MAX ? strlen(s) : 0;
	c->simple[cap] = is_simple(s);
}

void
caps_set_number(struct caps *c, int colours, uint32_t flags)
{
	if (colours < 0)
		colours = 0;
	c->colours = colours >= 256 ? 256 : colours >= 16 ? 16 :
	    colours >= 8 ? 8 : 0;
	c->flags = flags;
}

int
caps_settle(struct caps *c, char **cause)
{
	char text[CAPS_EXPAND_MAX];
	const char *s;

	if (c->str[CAP_CUP] == NULL || caps_expand(c, CAP_CUP, 999, 999,
	    text) == 0) {
		if (cause != NULL)
			*cause = xasprintf("terminal type \"%s\" cannot move "
			    "its cursor; set TERM to what your terminal "
			    "really is", c->name);
		return -1;
	}
	/* A terminal whose bold is CSI 1 m takes the other attributes that it
	 * has in the standard form as well, several in one sequence. */
	s = c->str[CAP_BOLD] != NULL ? c->str[CAP_BOLD] : c->str[CAP_REV];
	c->sgr = s != NULL && strncmp(s, "\033[", 2) == 0 &&
	    (c->colours == 0 || (c->str[CAP_SETAF] != NULL &&
	    strncmp(c->str[CAP_SETAF], "\033[", 2) == 0));
	s = c->str[CAP_RMUL];
	c->sgr_off = c->sgr && s != NULL && strncmp(s, "\033[24m", 5) == 0;
	return 0;
}

bool
caps_has(const struct caps *c, enum cap cap)
{
	return c->str[cap] != NULL;
}

bool
caps_is(const struct caps *c, enum cap cap, const char *s)
{
	return c->str[cap] != NULL && strcmp(c->str[cap], s) == 0;
}

bool
caps_flag(const struct caps *c, uint32_t flag)
{
	return (c->flags & flag) != 0;
}

int
caps_colours(const struct caps *c)
{
	return c->colours;
}

bool
caps_sgr(const struct caps *c)
{
	return c->sgr;
}

bool
caps_sgr_off(const struct caps *c)
{
	return c->sgr_off;
}

/* Blob: u8 version, name, u32 flags, u32 colours, u32 count, and count times
 * a cap's name and its string. */
void
caps_put(const struct caps *c, struct buf *b)
{
	uint32_t n = 0;
	int i;

	for (i = 0; i < CAP_COUNT; i++)
		n += c->str[i] != NULL;
	buf_u8(b, CAPS_VERSION);
	buf_str(b, c->name);
	buf_u32(b, c->flags);
	buf_u32(b, (uint32_t)c->colours);
	buf_u32(b, n);
	for (i = 0; i < CAP_COUNT; i++) {
		if (c->str[i] == NULL)
			continue;
		buf_str(b, cap_names[i]);
		buf_str(b, c->str[i]);
	}
}

/* One pair; a name that this version does not know is a newer client's. They
 * come in our own order as a rule: *next is where the search begins. */
static int
caps_get_pair(struct caps *c, struct rd *r, int *next)
{
	const uint8_t *name;
	char *value;
	size_t len;
	int i, at;

	name = rd_bin(r, CAPS_STRING_MAX, &len);
	if (name == NULL || memchr(name, '\0', len) != NULL ||
	    (value = rd_str(r, CAPS_STRING_MAX)) == NULL)
		return -1;
	for (i = 0; i < CAP_COUNT; i++) {
		at = (*next + i) % CAP_COUNT;
		if (strlen(cap_names[at]) != len ||
		    memcmp(name, cap_names[at], len) != 0)
			continue;
		caps_set(c, (enum cap)at, value);
		*next = at + 1;
		break;
	}
	free(value);
	return 0;
}

struct caps *
caps_get(const void *data, size_t len)
{
	struct rd r;
	struct caps *c = NULL;
	char *name;
	uint32_t flags, colours, n;
	int next = 0;

	rd_init(&r, data, len);
	if (rd_u8(&r) != CAPS_VERSION ||
	    (name = rd_str(&r, CAPS_STRING_MAX)) == NULL)
		return NULL;
	c = caps_new(name);
	free(name);
	flags = rd_u32(&r);
	colours = rd_u32(&r);
	n = rd_u32(&r);
	if (n > CAPS_COUNT_MAX)
		goto bad;
	while (n-- > 0)
		if (caps_get_pair(c, &r, &next) != 0)
			goto bad;
	if (!rd_end(&r))
		goto bad;
	caps_set_number(c, colours > 256 ? 256 : (int)colours, flags);
	if (caps_settle(c, NULL) != 0)
		goto bad;
	return c;
bad:
	caps_free(c);
	return NULL;
}

/* --- the expander ------------------------------------------------------- */

#define STACK_MAX 16

struct expand {
	int	 stack[STACK_MAX];
	int	 depth;
	int	 param[9];
	int	 var[52];
	char	*out;
	size_t	 len;
	bool	 full;
};

static void
push(struct expand *e, int v)
{
	if (e->depth < STACK_MAX)
		e->stack[e->depth++] = v;
}

static int
pop(struct expand *e)
{
	return e->depth > 0 ? e->stack[--e->depth] : 0;
}

static void
put(struct expand *e, const char *s, size_t n)
{
	if (e->full || n > CAPS_EXPAND_MAX - e->len) {
		e->full = true;
		return;
	}
	memcpy(e->out + e->len, s, n);
	e->len += n;
}

static int *
variable(struct expand *e, char c)
{
	if (c >= 'a' && c <= 'z')
		return &e->var[c - 'a'];
	if (c >= 'A' && c <= 'Z')
		return &e->var[26 + c - 'A'];
	return NULL;
}

/* Numbers overflow as unsigned ones do; division by zero is zero. */
static void
binary(struct expand *e, char op)
{
	int b = pop(e), a = pop(e), r = 0;

	switch (op) {
	case '+': r = (int)((unsigned)a + (unsigned)b); break;
	case '-': r = (int)((unsigned)a - (unsigned)b); break;
	case '*': r = (int)((unsigned)a * (unsigned)b); break;
	case '/': r = b > 0 ? a / b : 0; break;
	case 'm': r = b > 0 ? a % b : 0; break;
	case '&': r = a & b; break;
	case '|': r = a | b; break;
	case '^': r = a ^ b; break;
	case '=': r = a == b; break;
	case '<': r = a < b; break;
	case '>': r = a > b; break;
	case 'A': r = a && b; break;
	case 'O': r = a || b; break;
	}
	push(e, r);
}

/* Behind the %; from a false %t to its %e or %;, or from a %e reached in
 * truth to the %;. Conditionals inside are stepped over. */
static const char *
skip_branch(const char *s, bool to_else)
{
	int depth = 0;

	for (; *s != '\0'; s++) {
		if (*s != '%' || *++s == '\0') {
			if (*s == '\0')
				break;
			continue;
		}
		if (*s == '?')
			depth++;
		else if (*s == ';' && depth-- == 0)
			return s + 1;
		else if (*s == 'e' && depth == 0 && to_else)
			return s + 1;
		else if (*s == '\'' && s[1] != '\0' && s[2] == '\'')
			s += 2;
	}
	return s;
}

/* %[[:]flags][width[.precision]][doxX]: of the flags only the zero is real in
 * any entry that moves a cursor; width is capped. */
static const char *
number(struct expand *e, const char *s)
{
	char text[48];
	int width = 0, digits = 0, n, v;
	bool zero = false;

	if (*s == ':')
		s++;
	while (*s == '-' || *s == '+' || *s == '#' || *s == ' ')
		s++;
	if (*s == '0')
		zero = true;
	while (*s >= '0' && *s <= '9')
		if (width < 100)
			width = width * 10 + (*s++ - '0');
		else
			s++;
	if (*s == '.')
		for (s++; *s >= '0' && *s <= '9'; s++)
			if (digits < 100)
				digits = digits * 10 + (*s - '0');
	if (width > 20)
		width = 20;
	if (digits > 20)
		digits = 20;
	if (digits > width) {
		width = digits;
		zero = true;
	}
	switch (*s) {
	case 'd':
		v = pop(e);
		if (v >= 0 && width == 0) {
			put(e, text, decimal_put(text, (uint32_t)v));
			return s + 1;
		}
		n = snprintf(text, sizeof text, zero ? "%0*d" : "%*d", width,
		    v);
		break;
	case 'o':
		v = pop(e);
		n = snprintf(text, sizeof text, zero ? "%0*o" : "%*o", width,
		    (unsigned)v);
		break;
	case 'x':
	case 'X':
		v = pop(e);
		n = snprintf(text, sizeof text, *s == 'x' ?
		    (zero ? "%0*x" : "%*x") : (zero ? "%0*X" : "%*X"), width,
		    (unsigned)v);
		break;
	case 's':	/* no string parameters here: prints nothing */
		pop(e);
		return s + 1;
	default:
		return *s != '\0' ? s + 1 : s;
	}
	put(e, text, (size_t)n);
	return s + 1;
}

static const char *
constant(struct expand *e, const char *s)
{
	int v = 0;

	for (; *s >= '0' && *s <= '9'; s++)
		if (v < 100000)
			v = v * 10 + (*s - '0');
	push(e, v);
	return *s == '}' ? s + 1 : s;
}

/* One operation, s behind its %. Returns where to go on: always forwards. */
static const char *
operation(struct expand *e, const char *s)
{
	char c = *s;
	int *var;

	switch (c) {
	case '%':
		put(e, s, 1);
		break;
	case 'c':
		c = (char)pop(e);
		if (c != '\0')
			put(e, &c, 1);
		break;
	case 'p':
		if (s[1] < '1' || s[1] > '9')
			break;
		push(e, e->param[s[1] - '1']);
		return s + 2;
	case 'P':
		if ((var = variable(e, s[1])) == NULL)
			break;
		*var = pop(e);
		return s + 2;
	case 'g':
		if ((var = variable(e, s[1])) == NULL)
			break;
		push(e, *var);
		return s + 2;
	case '\'':
		if (s[1] == '\0' || s[2] != '\'')
			break;
		push(e, (unsigned char)s[1]);
		return s + 3;
	case '{':
		return constant(e, s + 1);
	case '!':
		push(e, !pop(e));
		break;
	case '~':
		push(e, ~pop(e));
		break;
	case 'i':
		e->param[0]++;
		e->param[1]++;
		break;
	case '?':
	case ';':
		break;
	case 't':
		if (!pop(e))
			return skip_branch(s + 1, true);
		break;
	case 'e':
		return skip_branch(s + 1, false);
	default:
		if (strchr("+-*/m&|^=<>AO", c) == NULL)
			return number(e, s);
		binary(e, c);
	}
	return s + 1;
}

/* Of a string that is_simple(). */
static size_t
expand_simple(const char *s, uint32_t a, uint32_t b, char *out)
{
	size_t n = 0;

	for (; *s != '\0'; s++) {
		if (*s != '%')
			out[n++] = *s;
		else if (*++s == 'i') {
			a++;
			b++;
		} else {	/* p1%d */
			n += decimal_put(out + n, s[1] == '1' ? a : b);
			s += 3;
		}
	}
	return n;
}

size_t
caps_expand(const struct caps *c, enum cap cap, int a, int b,
    char out[CAPS_EXPAND_MAX])
{
	const char *s = c->str[cap], *plain;
	struct expand e;
	size_t n;

	if (s == NULL)
		return 0;
	if ((n = c->plain[cap]) != 0) {
		memcpy(out, s, n);
		return n;
	}
	if (c->simple[cap] && a >= 0 && b >= 0)
		return expand_simple(s, (uint32_t)a, (uint32_t)b, out);
	memset(&e, 0, sizeof e);
	e.out = out;
	e.param[0] = a;
	e.param[1] = b;
	while (*s != '\0' && !e.full) {
		for (plain = s; *s != '\0' && *s != '%'; s++)
			;
		put(&e, plain, (size_t)(s - plain));
		if (*s == '%' && *++s != '\0')
			s = operation(&e, s);
	}
	return e.full ? 0 : e.len;
}

void
caps_emit(const struct caps *c, enum cap cap, int a, int b, struct buf *out)
{
	char text[CAPS_EXPAND_MAX];

	if (c->plain[cap] != 0)
		buf_put(out, c->str[cap], c->plain[cap]);
	else
		buf_put(out, text, caps_expand(c, cap, a, b, text));
}
