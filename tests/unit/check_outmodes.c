/* SPDX-License-Identifier: ISC */
/*
 * What output that is passed through leaves on at the terminal, and how that
 * is undone.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "../../client/outmodes.h"
#include "unit.h"

static const struct {
	const char	*out, *undo;
} cases[] = {
	{ "plain text\033[31m and colour", "" },
	{ "\033[?1049h", "\033[?1049l\033[m\r\n" },
	{ "\033[?1049h\033[?1049l", "" },
	{ "\033[?1000;1006h", "\033[?1000l\033[?1006l\033[m\r\n" },
	{ "\033[?25l", "\033[?25h\033[m\r\n" },
	{ "\033[?25l\033[?25h", "" },
	{ "\033[?1h\033=", "\033[?1l\033>\033[m\r\n" },
	{ "\033=\033>", "" },
	{ "\033[>1u\033[>5u\033[<u", "\033[<u\033[m\r\n" },
	{ "\033[>1u\033[<9u", "" },
	{ "\033[>4;2m", "\033[>4m\033[m\r\n" },
	{ "\033[>4;2m\033[>4;m", "" },
	{ "\033[2;5r", "\0337\033[r\0338\033[m\r\n" },
	{ "\033[2;5r\033[r", "" },
	{ "\033[?2004h\033c", "" },
	/* Inside a string it is text; one that was cut off ends. */
	{ "\033]0;\033[?25l", "\033[?25h\033[m\r\n" },
	{ "\033]0;[?25l\a", "" },
	{ "\033P=[?25l\033\\", "" },
	{ "\033[?25\030l", "" },
	/* Nothing that is known here, however long. */
	{ "\033[?99999999999999999999999h", "" },
	{ "\033[?25;25;25;25;25;25;25;25;25;25;25;25;25;25;25;25;25;25;25;25;"
	    "25;25;25;25;25;25;25;25;25;25;25;25;25;25l\033[?7l",
	    "\033[?7h\033[m\r\n" },
};

START_TEST(what_was_turned_on_is_turned_off_however_it_is_cut)
{
	const char *out = cases[_i].out;
	size_t n = strlen(out), i;
	struct outmodes o;
	struct buf b;

	for (i = 0; i <= n; i++) {
		memset(&o, 0, sizeof o);
		outmodes_scan(&o, (const uint8_t *)out, i);
		outmodes_scan(&o, (const uint8_t *)out + i, n - i);
		buf_init(&b, 4096);
		outmodes_undo(o.modes, &b);
		buf_u8(&b, 0);
		ck_assert_str_eq((const char *)b.data, cases[_i].undo);
		buf_free(&b);
	}
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("outmodes");
	TCase *t = tcase_create("outmodes");

	tcase_add_loop_test(t,
	    what_was_turned_on_is_turned_off_however_it_is_cut, 0,
	    (int)(sizeof cases / sizeof cases[0]));
	suite_add_tcase(s, t);
	return suite_run(s);
}
