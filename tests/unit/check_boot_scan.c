/* SPDX-License-Identifier: ISC */
/* The bootstrap's words, found in whatever else a far side prints. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../server/base/limits.h"
#include "../../server/link/bootstrap.h"
#include "unit.h"

#define MARKER	"0123456789abcdef0123456789abcdef"

/* Feeds text in pieces of n bytes; the words seen as letters. */
static char *
scan_in(const char *text, size_t n, char *rest, size_t max)
{
	struct boot_scan *s = boot_scan_new(MARKER);
	static char words[64];
	size_t i, used, len = strlen(text), k = 0, take;

	memset(words, 0, sizeof words);
	rest[0] = '\0';
	for (i = 0; i < len; i += used) {
		take = len - i < n ? len - i : n;
		switch (boot_scan(s, text + i, take, &used)) {
		case BOOT_MORE:
			ck_assert_uint_eq(used, take);
			break;
		case BOOT_HERE:
			words[k++] = 'H';
			break;
		case BOOT_GOT:
			words[k++] = 'G';
			break;
		case BOOT_AGENT:
			words[k++] = 'A';
			snprintf(rest, max, "%s", text + i + used);
			boot_scan_free(s);
			return words;
		case BOOT_NEED:
			words[k++] = 'N';
			break;
		case BOOT_NODIR:
			words[k++] = 'D';
			break;
		case BOOT_FAIL:
			words[k++] = 'F';
			break;
		case BOOT_NOISE:
			words[k++] = '!';
			boot_scan_free(s);
			return words;
		}
	}
	boot_scan_free(s);
	return words;
}

static const struct { const char *text, *words, *rest; } scans[] = {
	{ MARKER " AGENT\nframes", "A", "frames" },
	{ "hi\n" MARKER " AGENT\n", "A", "" },
	{ "glued" MARKER " AGENT\nx", "A", "x" },
	{ MARKER " AGENT\r\nx", "A", "x" },
	{ "motd\n" MARKER " HERE\n" MARKER " AGENT\nx", "HA", "x" },
	{ MARKER " NEED Linux x86_64\n" MARKER " AGENT\n\1\2", "NA", "\1\2" },
	{ MARKER " NEED \n" MARKER " FAIL run /x\n", "NF", "" },
	{ MARKER " NEED \n" MARKER " GOT   12\n" MARKER " GOT 99\n" MARKER
	    " FAIL run /x\n", "NGGF", "" },
	{ MARKER " NODIR /a /b\n", "D", "" },
	/* an echoed command line, then the real word */
	{ "+ m=" MARKER "; n=x\n" MARKER " AGENT\n", "A", "" },
	{ "m=" MARKER "; echo " MARKER " AGENT\nx", "A", "x" },
	{ MARKER MARKER " AGENT\nx", "A", "x" },
	/* a near miss overlaps the marker */
	{ "0123456789abcdef" MARKER " AGENT\nx", "A", "x" },
	{ MARKER " AGENTS\n" MARKER "AGENT\n" MARKER " agent\n", "", "" },
	{ "0123456789abcdef0123456789abcdeX AGENT\n", "", "" },
	{ MARKER " AGENT", "", "" },
};

START_TEST(scanner_finds_the_words_however_the_bytes_are_cut)
{
	char rest[64];
	size_t n;

	for (n = 1; n < 90; n++) {
		ck_assert_str_eq(scan_in(scans[_i].text, n, rest, sizeof rest),
		    scans[_i].words);
		ck_assert_str_eq(rest, scans[_i].rest);
	}
}
END_TEST

START_TEST(scanner_gives_up_on_endless_noise_and_keeps_its_end)
{
	struct boot_scan *s = boot_scan_new(MARKER);
	char line[65];
	size_t used, total = 0;
	enum boot_word w;
	int i = 0;

	do {
		snprintf(line, sizeof line, "%063d\n", i++);
		w = boot_scan(s, line, 64, &used);
		total += used;
		ck_assert_uint_lt(total, 2 * BOOT_NOISE_MAX);
	} while (w == BOOT_MORE);
	ck_assert_int_eq(w, BOOT_NOISE);
	ck_assert_uint_eq(total, BOOT_NOISE_MAX);
	ck_assert_uint_le(strlen(boot_scan_noise(s)), BOOT_NOISE_KEEP);
	snprintf(line, sizeof line, "%063d\n", i - 2);
	ck_assert_ptr_nonnull(strstr(boot_scan_noise(s), line));
	boot_scan_free(s);
}
END_TEST

START_TEST(last_line_is_the_one_that_says_something)
{
	static const struct { const char *in, *out; } t[] = {
		{ "a\nb\n", "b" }, { "a\nb\n\n \r\n", "b" },
		{ "ssh: connect: refused\r\n", "ssh: connect: refused" },
		{ "\33[31mfatal\33[0m no\n", "fatal no" },
		{ "x\n\33[0m\n", "x" }, { "  in\n", "in" },
		{ "bell\a\n", "bell?" }, { "", NULL }, { "\n\n", NULL }
	};
	size_t i;
	char *s;

	for (i = 0; i < sizeof t / sizeof t[0]; i++) {
		s = boot_last_line(t[i].in, strlen(t[i].in));
		if (t[i].out == NULL)
			ck_assert_ptr_null(s);
		else
			ck_assert_str_eq(s, t[i].out);
		free(s);
	}
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("boot-scan");
	TCase *t = tcase_create("scan");

	tcase_add_loop_test(t,
	    scanner_finds_the_words_however_the_bytes_are_cut, 0,
	    (int)(sizeof scans / sizeof scans[0]));
	tcase_add_test(t, scanner_gives_up_on_endless_noise_and_keeps_its_end);
	tcase_add_test(t, last_line_is_the_one_that_says_something);
	suite_add_tcase(s, t);
	return suite_run(s);
}
