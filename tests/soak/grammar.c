/* SPDX-License-Identifier: ISC */
/*
 * Random cases from a seed. Each case picks for itself how likely every kind
 * of token is (many not at all), so that rare things meet each other; the
 * stream is then cut into steps at any byte, also within a sequence.
 */
#include <stdlib.h>
#include <string.h>

#include "../../server/base/mem.h"
#include "oracle.h"

#define N(a) (sizeof (a) / sizeof (a)[0])

uint64_t
rnd_next(uint64_t *s)
{
	uint64_t z = (*s += 0x9e3779b97f4a7c15ULL);

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return z ^ z >> 31;
}

uint32_t
rnd(uint64_t *s, uint32_t n)
{
	return (uint32_t)(rnd_next(s) >> 33) % n;
}

enum token {
	T_WORD, T_WIDE, T_MARK, T_LINE, T_SGR, T_MOVE, T_CONTROL, T_ERASE,
	T_EDIT, T_REGION, T_SIDES, T_TABS, T_MODE, T_INNER, T_ALT, T_TITLE,
	T_LINK, T_COLOUR, T_OSC, T_STRING, T_CHARSET, T_SAVE, T_RESET,
	T_QUESTION, T_BROKEN, T_REPEAT, T_KEYS, T_SHAPE, T_BURST, T_LONG,
	T_PROTECT, T_DOUBT, T_SIZE, TOKENS
};

static const uint8_t usual[TOKENS] = {
	[T_WORD] = 60, [T_WIDE] = 8, [T_MARK] = 4, [T_LINE] = 30,
	[T_SGR] = 30, [T_MOVE] = 25, [T_CONTROL] = 6, [T_ERASE] = 10,
	[T_EDIT] = 12, [T_REGION] = 4, [T_SIDES] = 1, [T_TABS] = 3,
	[T_MODE] = 5, [T_INNER] = 4, [T_ALT] = 2, [T_TITLE] = 2, [T_LINK] = 4,
	[T_COLOUR] = 1, [T_OSC] = 2, [T_STRING] = 2, [T_CHARSET] = 2,
	[T_SAVE] = 3, [T_RESET] = 1, [T_QUESTION] = 2, [T_BROKEN] = 3,
	[T_REPEAT] = 2, [T_KEYS] = 2, [T_SHAPE] = 2, [T_BURST] = 2,
	[T_LONG] = 5, [T_PROTECT] = 1, [T_DOUBT] = 1, [T_SIZE] = 1
};

static const char *
pick(uint64_t *s, const char *const *list, size_t n)
{
	return list[rnd(s, (uint32_t)n)];
}

static void
wide(uint64_t *s, struct buf *b)
{
	static const char *const list[] = { "\346\227\245\346\234\254",
	    "\344\275\240", "\360\237\230\200", "\357\274\241", "\352\260\200",
	    "\343\201\202\343\201\204", "\360\240\200\200" };

	buf_puts(b, pick(s, list, N(list)));
}

static void
narrow(uint64_t *s, struct buf *b)
{
	static const char *const list[] = { "\303\251", "\303\237",
	    "\342\224\200\342\224\202", "\342\226\210", "\316\261\316\262",
	    "\320\226", "\342\202\254", "e\314\201", "a\314\202\314\203",
	    "\340\270\201\340\270\264" };

	buf_puts(b, pick(s, list, N(list)));
}

/* Of which old and new terminals think differently. */
static void
doubt(uint64_t *s, struct buf *b)
{
	static const char *const list[] = { "\360\237\253\240",
	    "\342\235\244\357\270\217",
	    "\360\237\221\251\342\200\215\360\237\222\273",
	    "\360\237\207\251\360\237\207\252", "\342\234\205", "\302\255",
	    "\360\237\221\215\360\237\217\275", "\340\244\225\340\245\215",
	    "\342\200\213", "\341\204\200\341\205\241", "x\342\203\235" };

	buf_puts(b, pick(s, list, N(list)));
}

static void
word(uint64_t *s, struct buf *b)
{
	static const char *const list[] = { "word", "a", " ", "   ", "the",
	    "$ ", "# ", "-rw-r--r-- 1 root", "0123456789", "{", "}", "x",
	    "          ", "=====", "/usr/lib/x", "~" };

	buf_puts(b, pick(s, list, N(list)));
}

static void
line(uint64_t *s, struct buf *b)
{
	static const char *const list[] = { "\r\n", "\r\n", "\r\n", "\n",
	    "\r", "\r\n\r\n", "\033D", "\033E", "\033M", "\n\n\n", "\v", "\f" };

	buf_puts(b, pick(s, list, N(list)));
}

static void
sgr(uint64_t *s, struct buf *b)
{
	static const char *const list[] = { "0", "", "1", "2", "3", "4", "5",
	    "7", "8", "9", "21", "22", "23", "24", "25", "27", "28", "29",
	    "53", "55", "59", "39", "49", "4:0", "4:1", "4:2", "4:3", "4:4",
	    "4:5", "58;5;9", "58:2::1:2:3", "58;2;9;9;9", "38;5;200",
	    "48;5;17", "38;2;1;2;3", "48;2;9;8;7", "38:2:7:7:7", "38:5:1",
	    "48:2::4:5:6", "38;5;8", "48;5;255", "6", "99", "38;5", "48;2;1" };
	int n = 1 + (int)rnd(s, 3);

	buf_puts(b, "\033[");
	while (n-- > 0) {
		if (rnd(s, 2) == 0)
			buf_puts(b, pick(s, list, N(list)));
		else
			buf_printf(b, "%u", (rnd(s, 2) == 0 ? 30 : 40) +
			    rnd(s, 8) + 60 * rnd(s, 2));
		if (n > 0)
			buf_puts(b, ";");
	}
	buf_puts(b, "m");
}

static uint32_t
small(uint64_t *s)
{
	return rnd(s, 12) == 0 ? rnd(s, 4000) : rnd(s, 8);
}

static void
move(uint64_t *s, int rows, int cols, struct buf *b)
{
	uint32_t y = 1 + rnd(s, (uint32_t)rows), x = 1 + rnd(s, (uint32_t)cols);

	switch (rnd(s, 5)) {
	case 0:
	case 1:
		buf_printf(b, "\033[%u;%u%c", y, x, "HHHf"[rnd(s, 4)]);
		break;
	case 2:
		buf_printf(b, "\033[%u%c", rnd(s, 3) == 0 ? x : y,
		    "Gd`"[rnd(s, 3)]);
		break;
	case 3:
		buf_printf(b, "\033[%u%c", small(s), "ABCDEFae"[rnd(s, 8)]);
		break;
	default:
		buf_printf(b, "\033[%c", "HABCDIZ"[rnd(s, 7)]);
	}
}

static void
mode(uint64_t *s, struct buf *b)
{
	static const int list[] = { 1, 5, 9, 12, 25, 25, 66, 1000, 1002, 1003,
	    1004, 1005, 1006, 1007, 1015, 1016, 2004, 2004, 2026, 2031 };

	if (rnd(s, 8) == 0) {
		buf_puts(b, rnd(s, 2) == 0 ? "\033=" : "\033>");
		return;
	}
	buf_printf(b, "\033[?%d", list[rnd(s, N(list))]);
	if (rnd(s, 3) == 0)
		buf_printf(b, ";%d", list[rnd(s, N(list))]);
	buf_puts(b, pick(s, (const char *const []){ "h", "h", "h", "l", "l",
	    "s", "r" }, 7));
}

static void
inner(uint64_t *s, struct buf *b)
{
	static const char *const list[] = { "\033[4h", "\033[4l", "\033[20h",
	    "\033[20l", "\033[?6h", "\033[?6l", "\033[?7l", "\033[?7h",
	    "\033[?7h", "\033[?45h", "\033[?45l", "\033[?40h", "\033[?3h",
	    "\033[?3l" };

	buf_puts(b, pick(s, list, N(list)));
}

static void
alt(uint64_t *s, struct buf *b)
{
	static const char *const list[] = { "\033[?1049h", "\033[?1049l",
	    "\033[?1049l", "\033[?47h", "\033[?47l", "\033[?1047h",
	    "\033[?1047l", "\033[?1048h", "\033[?1048l",
	    "\033[?1049h\033[2J\033[H" };

	buf_puts(b, pick(s, list, N(list)));
}

static void
title(uint64_t *s, struct buf *b)
{
	static const char *const list[] = { "\033]0;title\a", "\033]2;\a",
	    "\033]2;another \303\251 \346\227\245\033\\", "\033]1;icon\a",
	    "\033[22t", "\033[23t", "\033[22;2t", "\033[23;2t", "\033[22;0t",
	    "\033[23;0t", "\033]0;with \001 controls\a", "\033]2;cut" };

	buf_puts(b, pick(s, list, N(list)));
}

static void
hyperlink(uint64_t *s, struct buf *b)
{
	static const char *const list[] = { "\033]8;;http://a.example/\a",
	    "\033]8;id=1;http://a.example/\033\\", "\033]8;;\a", "\033]8;;\a",
	    "\033]8;id=2:x=y;file:///tmp/x\a", "\033]8;;http://b.example/q;r\a",
	    "\033]8;id=a b;http://c.example/\a", "\033]8;;bad uri here\a" };

	buf_puts(b, pick(s, list, N(list)));
}

static void
colour(uint64_t *s, struct buf *b)
{
	static const char *const list[] = { "\033]4;1;#112233\a",
	    "\033]4;1;rgb:ff/00/00;2;#abcdef\033\\", "\033]10;#eeeeee\a",
	    "\033]11;rgb:1111/2222/3333\a", "\033]104\a", "\033]104;1\a",
	    "\033]110\a", "\033]111\a", "\033]112\a", "\033]12;#ff0000\a" };

	buf_puts(b, pick(s, list, N(list)));
}

static void
osc(uint64_t *s, struct buf *b)
{
	static const char *const list[] = { "\033]7;file://host/tmp\a",
	    "\033]133;A\a", "\033]133;B\033\\", "\033]133;C\a",
	    "\033]133;D;0\a", "\033]52;c;aGk=\a", "\033]9;note\a",
	    "\033]777;notify;a;b\a", "\033]1337;File=:AAAA\a", "\033]99;x\a",
	    "\033]50;font\a", "\033]\a", "\033]x\a", "\a" };

	buf_puts(b, pick(s, list, N(list)));
}

static void
string(uint64_t *s, struct buf *b)
{
	static const char *const list[] = { "\033Pq#0;2;0;0;0#0~~@@-~~\033\\",
	    "\033_Gf=24,s=1,v=1;AAAA\033\\", "\033^privacy\033\\",
	    "\033Xsos\033\\", "\033P$qm\033\\", "\033P+q544e\033\\",
	    "\033Pabc\030", "\033_x\033[31m", "\033PqAAAA\a\033\\" };

	buf_puts(b, pick(s, list, N(list)));
}

static void
charset(uint64_t *s, struct buf *b)
{
	static const char *const list[] = { "\033(0", "\033(B", "\033(B",
	    "\033)0", "\016", "\017", "\033(A", "\033*0", "\033N", "\033O",
	    "\033n", "\033o", "\033%G", "\033(0lqqk\033(B", "\033(<", "\033)>",
	    "\033-A", "\033.A", "\033[?42h\033(K", "\033[?42l", "\033(=" };

	buf_puts(b, pick(s, list, N(list)));
}

/* Rows of double width, and back. */
static void
sizes(uint64_t *s, struct buf *b)
{
	static const char *const list[] = { "\033#6", "\033#3", "\033#4",
	    "\033#5", "\033#5", "\033#8", "\033[2J\033#6wide\r\n" };

	buf_puts(b, pick(s, list, N(list)));
}

static void
save(uint64_t *s, struct buf *b)
{
	static const char *const list[] = { "\0337", "\0338", "\033[s",
	    "\033[u" };

	buf_puts(b, pick(s, list, N(list)));
}

static void
reset(uint64_t *s, struct buf *b)
{
	static const char *const list[] = { "\033c", "\033[!p", "\033#8",
	    "\033[3J", "\033[H\033[2J\033[3J", "\033[?1049l\033[r\033[m" };

	buf_puts(b, pick(s, list, N(list)));
}

static void
question(uint64_t *s, struct buf *b)
{
	static const char *const list[] = { "\033[c", "\033[>c", "\033[=c",
	    "\033[5n", "\033[6n", "\033[?6n", "\033[?1$p", "\033[>q",
	    "\033[18t", "\033[14t", "\033]11;?\a", "\033]4;1;?\a", "\033[?u",
	    "\033P$q\"p\033\\", "\033[x", "\033[?996n" };

	buf_puts(b, pick(s, list, N(list)));
}

static void
broken(uint64_t *s, struct buf *b)
{
	static const char *const list[] = { "\033", "\033[", "\033[3", "\303",
	    "\342\224", "\360\237\230", "\377", "\300\200", "\355\240\200",
	    "\364\220\200\200", "\030", "\032", "\033[1;2\030", "\000", "\177",
	    "\302\233", "\302\215", "\033[999999999999m", "\033[?;;h",
	    "\033[1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1m",
	    "\033[:::m", "\033[1$$$$z", "\033[<1;2;3M", "\033[1\r2A", "\005",
	    "\033\033[A", "\033]2;unfinished", "\033[0;0r", "\033[5;3r",
	    "\033[99;99r" };
	int n;

	if (rnd(s, 6) == 0)
		for (n = (int)rnd(s, 12); n >= 0; n--)
			buf_u8(b, (uint8_t)rnd(s, 256));
	else
		buf_puts(b, pick(s, list, N(list)));
}

static void
keys(uint64_t *s, struct buf *b)
{
	static const char *const list[] = { "\033[>1u", "\033[>31u", "\033[<u",
	    "\033[<u", "\033[<9u", "\033[=5u", "\033[=1;2u", "\033[=1;3u",
	    "\033[>4;2m", "\033[>4;1m", "\033[>4m", "\033[>4;0m", "\033[>0m" };

	buf_puts(b, pick(s, list, N(list)));
}

static void
region(uint64_t *s, int rows, struct buf *b)
{
	uint32_t a = 1 + rnd(s, (uint32_t)rows), c = 1 + rnd(s, (uint32_t)rows);

	if (rnd(s, 3) == 0)
		buf_puts(b, "\033[r");
	else
		buf_printf(b, "\033[%u;%ur", a < c ? a : c, a < c ? c : a);
}

static void
sides(uint64_t *s, int cols, struct buf *b)
{
	uint32_t a = 1 + rnd(s, (uint32_t)cols), c = 1 + rnd(s, (uint32_t)cols);

	switch (rnd(s, 4)) {
	case 0:
		buf_puts(b, "\033[?69l");
		break;
	case 1:
		buf_puts(b, "\033[?69h");
		break;
	default:
		buf_printf(b, "\033[%u;%us", a < c ? a : c, a < c ? c : a);
	}
}

static void
burst(uint64_t *s, struct buf *b)
{
	int i, n = 1 + (int)rnd(s, 60);

	for (i = 0; i < n; i++) {
		buf_printf(b, "line %d ", i);
		if (rnd(s, 4) == 0)
			sgr(s, b);
		if (rnd(s, 4) == 0)
			wide(s, b);
		if (rnd(s, 6) == 0)
			word(s, b);
		buf_puts(b, "\r\n");
	}
}

static void
token(uint64_t *s, enum token t, int rows, int cols, struct buf *b)
{
	static const char controls[] = "\b\b\b\t\t\r\a\n\b\r";
	int n;

	switch (t) {
	case T_WORD: word(s, b); break;
	case T_WIDE: wide(s, b); break;
	case T_MARK: narrow(s, b); break;
	case T_DOUBT: doubt(s, b); break;
	case T_LINE: line(s, b); break;
	case T_SGR: sgr(s, b); break;
	case T_MOVE: move(s, rows, cols, b); break;
	case T_CONTROL:
		buf_u8(b, (uint8_t)controls[rnd(s, sizeof controls - 1)]);
		break;
	case T_ERASE:
		n = (int)rnd(s, 8);
		buf_printf(b, "\033[%s%u%c", rnd(s, 6) == 0 ? "?" : "",
		    n == 7 ? small(s) : rnd(s, 3), "KKKKJKJX"[n]);
		break;
	case T_EDIT:
		if (rnd(s, 8) == 0)
			buf_printf(b, "\033[%u'%c", small(s), "}~"[rnd(s, 2)]);
		else
			buf_printf(b, "\033[%u%c", small(s),
			    "LMP@STLMP@X"[rnd(s, 11)]);
		break;
	case T_REGION: region(s, rows, b); break;
	case T_SIDES: sides(s, cols, b); break;
	case T_TABS:
		buf_puts(b, pick(s, (const char *const []){ "\t", "\t",
		    "\033H", "\033[g", "\033[3g", "\033[2I", "\033[Z",
		    "\033[?5W" }, 8));
		break;
	case T_MODE: mode(s, b); break;
	case T_INNER: inner(s, b); break;
	case T_ALT: alt(s, b); break;
	case T_TITLE: title(s, b); break;
	case T_LINK: hyperlink(s, b); break;
	case T_COLOUR: colour(s, b); break;
	case T_OSC: osc(s, b); break;
	case T_STRING: string(s, b); break;
	case T_CHARSET: charset(s, b); break;
	case T_SIZE: sizes(s, b); break;
	case T_SAVE: save(s, b); break;
	case T_RESET: reset(s, b); break;
	case T_QUESTION: question(s, b); break;
	case T_BROKEN: broken(s, b); break;
	case T_REPEAT: buf_printf(b, "\033[%ub", small(s)); break;
	case T_KEYS: keys(s, b); break;
	case T_SHAPE: buf_printf(b, "\033[%u q", rnd(s, 8)); break;
	case T_BURST: burst(s, b); break;
	case T_LONG:
		for (n = (int)rnd(s, 60); n >= 0; n--)
			word(s, b);
		break;
	case T_PROTECT:
		buf_puts(b, pick(s, (const char *const []){ "\033[1\"q",
		    "\033[0\"q", "\033[?2J", "\033[?1K" }, 4));
		break;
	default:
		break;
	}
}

/* How likely each kind is in this stream. */
static uint32_t
weigh(uint64_t *s, uint32_t w[TOKENS])
{
	uint32_t sum = 0;
	int i;

	for (i = 0; i < TOKENS; i++) {
		w[i] = usual[i];
		switch (rnd(s, 4)) {
		case 0: w[i] = i == T_WORD ? w[i] : 0; break;
		case 1: w[i] *= 4; break;
		default: break;
		}
		sum += w[i];
	}
	return sum;
}

static void
some(uint64_t *s, const uint32_t w[TOKENS], uint32_t sum, int rows, int cols,
    size_t n, struct buf *b)
{
	uint32_t at;
	int i;

	while (n-- > 0) {
		at = rnd(s, sum);
		for (i = 0; at >= w[i]; i++)
			at -= w[i];
		token(s, (enum token)i, rows, cols, b);
	}
}

void
grammar_stream(uint64_t *s, int rows, int cols, size_t tokens, struct buf *b)
{
	uint32_t w[TOKENS], sum = weigh(s, w);

	some(s, w, sum, rows, cols, tokens, b);
}

static void
size(uint64_t *s, int *rows, int *cols)
{
	*rows = 2 + (int)rnd(s, 12);
	*cols = 8 + (int)rnd(s, 40);
	if (rnd(s, 20) == 0)
		*rows = 1;
	/* With two columns libvterm stays past the last one too long. */
	if (rnd(s, 20) == 0)
		*cols = 4 + (int)rnd(s, 4);
}

struct soak_case *
case_random(uint64_t seed)
{
	static const char *const terms[] = { "all", "all", "all", "all",
	    "xterm-256color", "xterm-kitty", "alacritty", "foot",
	    "tmux-256color", "screen", "linux" };
	struct soak_case *c = xcalloc(1, sizeof *c);
	uint64_t s = seed * 0x2545f4914f6cdd1dULL + 1;
	uint32_t w[TOKENS], sum;
	int i, n, rows, cols;
	struct buf b;
	bool cuts, events;

	c->seed = seed;
	strcpy(c->term, pick(&s, terms, N(terms)));
	size(&s, &c->rows, &c->cols);
	rows = c->rows;
	cols = c->cols;
	sum = weigh(&s, w);
	cuts = rnd(&s, 3) == 0;
	events = rnd(&s, 3) != 0;
	n = 4 + (int)rnd(&s, 40);
	case_add(c, STEP_ATTACH, 0, rows, cols);
	buf_init(&b, 1 << 22);
	for (i = 0; i < n; i++) {
		some(&s, w, sum, rows, cols, 1 + rnd(&s, 20), &b);
		if (cuts && b.len > 2) {
			size_t half = 1 + rnd(&s, (uint32_t)b.len - 1);

			case_say(c, b.data, half);
			buf_drain(&b, half);
		} else {
			case_say(c, b.data, b.len);
			buf_reset(&b);
		}
		if (!events || rnd(&s, 4) != 0)
			continue;
		switch (rnd(&s, 13)) {
		case 0:
			case_add(c, STEP_DETACH, (int)rnd(&s, CLIENTS), 0, 0);
			break;
		case 1:
		case 2:
			size(&s, &rows, &cols);
			case_add(c, STEP_RESIZE, (int)rnd(&s, CLIENTS), rows,
			    cols);
			break;
		case 3:
			size(&s, &rows, &cols);
			case_add(c, STEP_ATTACH, 1, rows, cols);
			break;
		case 4:
		case 5:
			case_add(c, STEP_ATTACH, 0, rows, cols);
			break;
		case 6:
		case 12:
			case_add(c, STEP_STALL, (int)rnd(&s, CLIENTS),
			    (int)rnd(&s, 2), 0);
			break;
		case 7:
			case_add(c, STEP_GO, (int)rnd(&s, CLIENTS), 0, 0);
			break;
		case 8:
			case_add(c, STEP_KEEP, 0, 1 + (int)rnd(&s, 2), 0);
			break;
		case 9:
			case_add(c, STEP_SERVER, 0, 0, 0);
			if (rnd(&s, 3) == 0)
				case_add(c, STEP_DETACH, (int)rnd(&s,
				    CLIENTS), 0, 0);
			break;
		case 10:
			case_add(c, STEP_LINK, 0, 0, 0);
			break;
		default:
			case_add(c, STEP_HELP, 0, 0, 0);
		}
	}
	case_say(c, b.data, b.len);
	case_add(c, STEP_GO, 0, 0, 0);
	case_add(c, STEP_GO, 1, 0, 0);
	buf_free(&b);
	return c;
}
