/* SPDX-License-Identifier: ISC */
/*
 * Character sets as tables; see charset.h.
 */
#include <string.h>

#include "charset.h"

/* Where a set has nothing, as xterm shows it. */
#define NONE	0x2e2e

/* DEC special graphics, 0x5f to 0x7e. */
static const uint16_t graphics[] = {
	0x0020, 0x25c6, 0x2592, 0x2409, 0x240c, 0x240d, 0x240a, 0x00b0,
	0x00b1, 0x2424, 0x240b, 0x2518, 0x2510, 0x250c, 0x2514, 0x253c,
	0x23ba, 0x23bb, 0x2500, 0x23bc, 0x23bd, 0x251c, 0x2524, 0x2534,
	0x252c, 0x2502, 0x2264, 0x2265, 0x03c0, 0x2260, 0x00a3, 0x00b7
};

/* DEC technical, 0x21 to 0x7e. */
static const uint16_t technical[] = {
	0x23b7, 0x250c, 0x2500, 0x2320, 0x2321, 0x2502, 0x23a1, 0x23a3,
	0x23a4, 0x23a6, 0x23a7, 0x23a9, 0x23ab, 0x23ad, 0x23a8, 0x23ac,
	NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE,
	NONE, NONE, NONE, 0x2264, 0x2260, 0x2265, 0x222b, 0x2234,
	0x221d, 0x221e, 0x00f7, 0x0394, 0x2207, 0x03a6, 0x0393, 0x223c,
	0x2243, 0x0398, 0x00d7, 0x039b, 0x21d4, 0x21d2, 0x2261, 0x03a0,
	0x03a8, NONE, 0x03a3, NONE, NONE, 0x221a, 0x03a9, 0x039e,
	0x03a5, 0x2282, 0x2283, 0x2229, 0x222a, 0x2227, 0x2228, 0x00ac,
	0x03b1, 0x03b2, 0x03c7, 0x03b4, 0x03b5, 0x03c6, 0x03b3, 0x03b7,
	0x03b9, 0x03b8, 0x03ba, 0x03bb, NONE, 0x03bd, 0x2202, 0x03c0,
	0x03c8, 0x03c1, 0x03c3, 0x03c4, NONE, 0x0192, 0x03c9, 0x03be,
	0x03c5, 0x03b6, 0x2190, 0x2191, 0x2192, 0x2193
};

/* ASCII with a few others in it. */
static const struct replaced {
	uint8_t		set;
	char		at[13];
	uint16_t	to[12];
} replaced[] = {
	{ 'A', "#", { 0xa3 } },				/* British */
	{ '4', "#@[\\]{|}~", /* Dutch */
	    { 0xa3, 0xbe, 0x133, 0xbd, 0x7c, 0xa8, 0x192, 0xbc, 0xb4 } },
	{ '5', "[\\]^`{|}~", /* Finnish */
	    { 0xc4, 0xd6, 0xc5, 0xdc, 0xe9, 0xe4, 0xf6, 0xe5, 0xfc } },
	{ 'R', "#@[\\]{|}~", /* French */
	    { 0xa3, 0xe0, 0xb0, 0xe7, 0xa7, 0xe9, 0xf9, 0xe8, 0xa8 } },
	{ 'Q', "@[\\]^`{|}~", /* French Canadian */
	    { 0xe0, 0xe2, 0xe7, 0xea, 0xee, 0xf4, 0xe9, 0xf9, 0xe8, 0xfb } },
	{ 'K', "@[\\]{|}~", /* German */
	    { 0xa7, 0xc4, 0xd6, 0xdc, 0xe4, 0xf6, 0xfc, 0xdf } },
	{ 'Y', "#@[\\]`{|}~", /* Italian */
	    { 0xa3, 0xa7, 0xb0, 0xe7, 0xe9, 0xf9, 0xe0, 0xf2, 0xe8, 0xec } },
	{ 'E', "@[\\]^`{|}~", /* Norwegian, Danish */
	    { 0xc4, 0xc6, 0xd8, 0xc5, 0xdc, 0xe4, 0xe6, 0xf8, 0xe5, 0xfc } },
	{ 'P', "[\\]{|}", /* Portuguese */
	    { 0xc3, 0xc7, 0xd5, 0xe3, 0xe7, 0xf5 } },
	{ 'Z', "#@[\\]{|}", /* Spanish */
	    { 0xa3, 0xa7, 0xa1, 0xd1, 0xbf, 0xb0, 0xf1, 0xe7 } },
	{ 'H', "@[\\]^`{|}~", /* Swedish */
	    { 0xc9, 0xc4, 0xd6, 0xc5, 0xdc, 0xe9, 0xe4, 0xf6, 0xe5, 0xfc } },
	{ '=', "#@[\\]^_`{|}~", /* Swiss */
	    { 0xf9, 0xe0, 0xe9, 0xe7, 0xea, 0xee, 0xe8, 0xf4, 0xe4, 0xf6, 0xfc, 0xfb } },
};

static const struct {
	uint8_t	mid2, final, set;
	bool	national;
} designations[] = {
	{ 0,	'B',	CHARSET_ASCII,	false },
	{ 0,	'0',	'0',	false },
	{ 0,	'1',	CHARSET_ASCII,	false },	/* the alternate ROM's */
	{ 0,	'2',	CHARSET_ASCII,	false },
	{ 0,	'A',	'A',	false },
	{ 0,	'<',	'<',	false },
	{ '%',	'5',	'<',	false },
	{ 0,	'>',	'>',	false },
	{ 0,	'4',	'4',	true },
	{ 0,	'5',	'5',	true },
	{ 0,	'C',	'5',	true },
	{ 0,	'R',	'R',	true },
	{ 0,	'f',	'R',	true },
	{ 0,	'Q',	'Q',	true },
	{ 0,	'9',	'Q',	true },
	{ 0,	'K',	'K',	true },
	{ 0,	'Y',	'Y',	true },
	{ 0,	'E',	'E',	true },
	{ 0,	'6',	'E',	true },
	{ 0,	'`',	'E',	true },
	{ '%',	'6',	'P',	true },
	{ 0,	'Z',	'Z',	true },
	{ 0,	'H',	'H',	true },
	{ 0,	'7',	'H',	true },
	{ 0,	'=',	'=',	true },
};

uint8_t
charset_find(uint8_t mid, uint8_t mid2, uint8_t final, bool national)
{
	size_t i;

	if (mid >= '-' && mid <= '/')
		return mid2 == 0 && final == 'A' ? CHARSET_LATIN1 : 0;
	for (i = 0; i < sizeof designations / sizeof designations[0]; i++)
		if (designations[i].mid2 == mid2 &&
		    designations[i].final == final)
			return designations[i].national && !national ?
			    CHARSET_ASCII : designations[i].set;
	return 0;
}

bool
charset_known(uint8_t set)
{
	return set != '\0' && strchr("BL0A<>45RQKYEPZH=", set) != NULL;
}

/* DEC supplemental: Latin-1 as far as it was thought of in 1983. */
static uint32_t
supplemental(uint32_t ch)
{
	switch (ch) {
	case '(':
		return 0xa4;
	case 'W':
		return 0x152;
	case 'w':
		return 0x153;
	case ']':
		return 0x178;
	case '}':
		return 0xff;
	}
	return strchr("$&,-./48>P^p~", (int)ch) != NULL ? NONE : ch | 0x80;
}

uint32_t
charset_char(uint8_t set, uint32_t ch)
{
	const struct replaced *r;
	const char *at;
	size_t i;

	if (set == CHARSET_LATIN1)
		return ch | 0x80;
	if (ch <= 0x20 || ch >= 0x7f || set == CHARSET_ASCII)
		return ch;
	if (set == '0')
		return ch >= 0x5f ? graphics[ch - 0x5f] : ch;
	if (set == '>')
		return technical[ch - 0x21];
	if (set == '<')
		return supplemental(ch);
	for (i = 0; i < sizeof replaced / sizeof replaced[0]; i++) {
		r = &replaced[i];
		if (r->set == set)
			return (at = strchr(r->at, (int)ch)) != NULL ?
			    r->to[at - r->at] : ch;
	}
	return ch;
}
