/* SPDX-License-Identifier: ISC */
/*
 * Key names to bytes, and the prefix key in what is typed: every stream is
 * also fed cut at each byte.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "../../server/base/buf.h"
#include "../../term/keys.h"
#include "unit.h"

static const struct {
	const char		*name;
	struct screen_modes	 modes;
	const char		*bytes;		/* NULL: no key */
	size_t			 len;		/* 0: strlen */
} names[] = {
	{ "a", { 0 }, "a", 0 },
	{ "A", { 0 }, "A", 0 },
	{ "\303\244", { 0 }, "\303\244", 0 },
	{ "C-a", { 0 }, "\001", 0 },
	{ "C-A", { 0 }, "\001", 0 },
	{ "^c", { 0 }, "\003", 0 },
	{ "C-\\", { 0 }, "\034", 0 },
	{ "C-Space", { 0 }, "\000", 1 },
	{ "C-@", { 0 }, "\000", 1 },
	{ "C--", { 0 }, "-", 0 },
	{ "-", { 0 }, "-", 0 },
	{ "^", { 0 }, "^", 0 },
	{ "M-x", { 0 }, "\033x", 0 },
	{ "C-M-x", { 0 }, "\033\030", 0 },
	{ "M-\303\244", { 0 }, "\033\303\244", 0 },
	{ "S-a", { 0 }, "A", 0 },
	{ "Enter", { 0 }, "\r", 0 },
	{ "enter", { 0 }, "\r", 0 },
	{ "Escape", { 0 }, "\033", 0 },
	{ "Space", { 0 }, " ", 0 },
	{ "Tab", { 0 }, "\t", 0 },
	{ "BTab", { 0 }, "\033[Z", 0 },
	{ "S-Tab", { 0 }, "\033[Z", 0 },
	{ "BSpace", { 0 }, "\177", 0 },
	{ "C-BSpace", { 0 }, "\b", 0 },
	{ "M-BSpace", { 0 }, "\033\177", 0 },
	{ "Up", { 0 }, "\033[A", 0 },
	{ "Up", { .flags = MODE_APP_CURSOR }, "\033OA", 0 },
	{ "S-Up", { .flags = MODE_APP_CURSOR }, "\033[1;2A", 0 },
	{ "C-M-Up", { 0 }, "\033[1;7A", 0 },
	{ "S-Left", { 0 }, "\033[1;2D", 0 },
	{ "Home", { 0 }, "\033[H", 0 },
	{ "End", { .flags = MODE_APP_CURSOR }, "\033OF", 0 },
	{ "PgUp", { 0 }, "\033[5~", 0 },
	{ "NPage", { 0 }, "\033[6~", 0 },
	{ "C-DC", { 0 }, "\033[3;5~", 0 },
	{ "IC", { 0 }, "\033[2~", 0 },
	{ "F1", { 0 }, "\033OP", 0 },
	{ "C-F1", { 0 }, "\033[1;5P", 0 },
	{ "F5", { 0 }, "\033[15~", 0 },
	{ "F12", { 0 }, "\033[24~", 0 },
	{ "F20", { 0 }, "\033[34~", 0 },
	{ "M-F5", { 0 }, "\033[15;3~", 0 },
	{ "KP5", { 0 }, "5", 0 },
	{ "KP5", { .flags = MODE_APP_KEYPAD }, "\033Ou", 0 },
	{ "KPEnter", { 0 }, "\r", 0 },
	{ "KPEnter", { .flags = MODE_APP_KEYPAD }, "\033OM", 0 },
	{ "KP/", { 0 }, "/", 0 },
	/* kitty, disambiguate */
	{ "a", { .kitty_flags = 1 }, "a", 0 },
	{ "C-a", { .kitty_flags = 1 }, "\033[97;5u", 0 },
	{ "C-A", { .kitty_flags = 1 }, "\033[97;6u", 0 },
	{ "M-x", { .kitty_flags = 1 }, "\033[120;3u", 0 },
	{ "Escape", { .kitty_flags = 1 }, "\033[27u", 0 },
	{ "Enter", { .kitty_flags = 1 }, "\r", 0 },
	{ "C-Enter", { .kitty_flags = 1 }, "\033[13;5u", 0 },
	{ "S-Tab", { .kitty_flags = 1 }, "\033[9;2u", 0 },
	{ "BTab", { .kitty_flags = 1 }, "\033[9;2u", 0 },
	{ "F3", { .kitty_flags = 1 }, "\033[13~", 0 },
	{ "S-Up", { .kitty_flags = 1 }, "\033[1;2A", 0 },
	{ "a", { .kitty_flags = 9 }, "\033[97u", 0 },
	/* modifyOtherKeys */
	{ "C-a", { .modify_other = 1 }, "\001", 0 },
	{ "C-a", { .modify_other = 2 }, "\033[27;5;97~", 0 },
	{ "C-Enter", { .modify_other = 1 }, "\033[27;5;13~", 0 },
	{ "A", { .modify_other = 2 }, "A", 0 },
	{ "", { 0 }, NULL, 0 },
	{ "F21", { 0 }, NULL, 0 },
	{ "X-a", { 0 }, NULL, 0 },
	{ "Nonsense", { 0 }, NULL, 0 },
	{ "\377", { 0 }, NULL, 0 },
	{ "\001", { 0 }, NULL, 0 },
};

START_TEST(a_name_gives_its_bytes)
{
	size_t i, len;
	struct buf b;
	int r;

	for (i = 0; i < sizeof names / sizeof names[0]; i++) {
		buf_init(&b, 64);
		r = keys_encode(names[i].name, &names[i].modes, &b);
		if (names[i].bytes == NULL)
			ck_assert_msg(r == -1, "\"%s\" is a key",
			    names[i].name);
		else {
			len = names[i].len != 0 ? names[i].len :
			    strlen(names[i].bytes);
			ck_assert_msg(r == 0 && b.len == len &&
			    memcmp(b.data, names[i].bytes, len) == 0,
			    "\"%s\" gives %zu bytes: %.*s", names[i].name,
			    b.len, (int)b.len,
			    b.data == NULL ? "" : (char *)b.data);
		}
		buf_free(&b);
	}
}
END_TEST

/* out: what reaches the program, commands in it as <d>. */
static const struct {
	const char	*key, *in, *out;
} streams[] = {
	{ "C-\\", "abc", "abc" },
	{ "C-\\", "a\034d", "a<d>" },
	{ "C-\\", "\034\034x", "\034x" },
	{ "C-\\", "\034xy", "y" },
	{ "C-\\", "\034?q", "<?>q" },
	{ "C-\\", "\034\303\244z", "z" },
	{ "C-\\", "\034\033[Az", "z" },
	{ "C-\\", "\034\033xz", "z" },
	{ "C-\\", "\034\033OAz", "z" },
	{ "C-\\", "\033\034", "\033\034" },
	{ "C-\\", "\033[A\033OA\033x", "\033[A\033OA\033x" },
	{ "C-a", "\001d", "<d>" },
	{ "C-a", "\034d", "\034d" },
	{ "C-Space", "", "" },
	{ "none", "\034d\001d", "\034d\001d" },
	{ "none", "\033[92;5ud", "\033[92;5ud" },
	/* kitty */
	{ "C-\\", "\033[92;5ud", "<d>" },
	{ "C-\\", "\033[92;5u\033[100u", "<d>" },
	{ "C-\\", "\033[92;133ud", "<d>" },		/* num lock */
	{ "C-\\", "\033[92;69ud", "<d>" },		/* caps lock */
	{ "C-\\", "\033[92;5:1ud", "<d>" },
	{ "C-\\", "\033[92;5:1u\033[92;5:3ud", "<d>" },
	{ "C-\\", "\033[92;5:1u\033[92;5:2u\033[92;5:2ud", "<d>" },
	{ "C-\\", "\033[92;5u\033[92;5u", "\033[92;5u" },
	{ "C-\\", "\033[92;5u\033[92;5:3u\033[92;5u\033[92;5:3u",
	    "\033[92;5u\033[92;5:3u" },
	{ "C-\\", "\033[92;5u\033[57442;5u\033[57442;1:3u\033[100;1u"
	    "\033[100;1:3u", "\033[57442;5u\033[57442;1:3u<d>" },
	{ "C-\\", "\033[92;7u", "\033[92;7u" },		/* alt too */
	{ "C-\\", "\033[92;5u\033[47;2u", "<?>" },
	{ "C-\\", "\033[92;5u\033[47:63;2u", "<?>" },
	{ "C-\\", "\033[92;5u\033[39:63:45;2u", "<?>" },
	{ "C-\\", "\033[97;5u", "\033[97;5u" },
	{ "C-a", "\033[97;5ud", "<d>" },
	{ "C-a", "\033[1092::97;5ud", "<d>" },		/* Cyrillic layout */
	{ "C-a", "\033[1092::97;5u\033[1074::100u", "<d>" },
	{ "C-_", "\033[45:95;6ud", "<d>" },
	{ "C-\\", "\033[97;;97u", "\033[97;;97u" },
	/* modifyOtherKeys */
	{ "C-\\", "\033[27;5;92~d", "<d>" },
	{ "C-\\", "\033[27;5;92~\033[27;5;92~", "\033[27;5;92~" },
	{ "C-\\", "\033[27;5;97~", "\033[27;5;97~" },
	/* paste */
	{ "C-\\", "\033[200~a\034d\033[92;5ud\033[201~\034d",
	    "\033[200~a\034d\033[92;5ud\033[201~<d>" },
	{ "C-\\", "\034\033[200~d\033[201~d", "\033[200~d\033[201~d" },
	{ "C-\\", "\033[200~\033\033[201~\034d",
	    "\033[200~\033\033[201~<d>" },
	/* mouse, focus */
	{ "C-\\", "\034\033[<0;1;2M\033[<0;1;2md",
	    "\033[<0;1;2M\033[<0;1;2m<d>" },
	{ "C-\\", "\034\033[Mddd?", "\033[Mddd<?>" },
	{ "C-\\", "\034\033[Id", "\033[I<d>" },
	/* broken sequences */
	{ "C-\\", "\033[12\034d", "\033[12<d>" },
	{ "C-\\", "\033[12\033[A", "\033[12\033[A" },
	{ "C-\\", "\034\033[[Ad", "d" },
	{ "C-\\", "\033[[A", "\033[[A" },
};

static void
feed(struct prefix *p, const char *s, size_t len, struct buf *out)
{
	size_t used;
	int ch;

	while (len > 0) {
		ch = prefix_feed(p, "d?", s, len, &used, out);
		ck_assert_uint_le(used, len);
		s += used;
		len -= used;
		if (ch != 0)
			buf_printf(out, "<%c>", ch);
	}
}

START_TEST(the_prefix_is_found_however_it_arrives)
{
	struct prefix *p;
	struct buf out;
	size_t i, cut, len;
	char *cause = NULL;

	for (i = 0; i < sizeof streams / sizeof streams[0]; i++) {
		len = strlen(streams[i].in);
		for (cut = 0; cut <= len; cut++) {
			buf_init(&out, 1024);
			p = prefix_new(streams[i].key, &cause);
			ck_assert_ptr_nonnull(p);
			feed(p, streams[i].in, cut, &out);
			feed(p, streams[i].in + cut, len - cut, &out);
			buf_u8(&out, 0);
			ck_assert_msg(strcmp((char *)out.data,
			    streams[i].out) == 0, "stream %zu cut at %zu: "
			    "\"%s\"", i, cut, (char *)out.data);
			prefix_free(p);
			buf_free(&out);
		}
	}
}
END_TEST

START_TEST(escape_alone_is_held_and_flushed)
{
	struct prefix *p;
	struct buf out;
	size_t used;
	char *cause;

	buf_init(&out, 64);
	p = prefix_new("C-\\", &cause);
	ck_assert_int_eq(prefix_feed(p, "d", "\033", 1, &used, &out), 0);
	ck_assert_uint_eq(out.len, 0);
	ck_assert(prefix_pending(p));
	prefix_flush(p, &out);
	ck_assert(!prefix_pending(p));
	ck_assert_uint_eq(out.len, 1);
	/* After the prefix it means: never mind. */
	buf_reset(&out);
	prefix_feed(p, "d", "\034\033", 2, &used, &out);
	prefix_flush(p, &out);
	ck_assert_int_eq(prefix_feed(p, "d", "d", 1, &used, &out), 0);
	ck_assert_uint_eq(out.len, 1);
	prefix_free(p);
	buf_free(&out);
}
END_TEST

START_TEST(a_long_sequence_passes_unbroken)
{
	char text[400];
	struct prefix *p;
	struct buf out;
	size_t used;
	char *cause;

	memset(text, '1', sizeof text);
	memcpy(text, "\033[", 2);
	text[sizeof text - 1] = 'm';
	buf_init(&out, 1024);
	p = prefix_new("C-\\", &cause);
	prefix_feed(p, "1m", text, sizeof text, &used, &out);
	ck_assert_uint_eq(out.len, sizeof text);
	ck_assert_int_eq(memcmp(out.data, text, sizeof text), 0);
	prefix_free(p);
	buf_free(&out);
}
END_TEST

START_TEST(a_bad_prefix_is_refused_in_words)
{
	static const char *const bad[] = { "", "x", "F5", "M-x", "C-", "C-i",
	    "C-m", "C-[", "C-xx", "C-1" };
	char *cause;
	size_t i;

	for (i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		cause = NULL;
		ck_assert_msg(prefix_new(bad[i], &cause) == NULL,
		    "\"%s\" was taken", bad[i]);
		ck_assert_ptr_nonnull(cause);
		ck_assert_ptr_nonnull(strstr(cause, "cannot be used"));
		free(cause);
	}
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("keys");
	TCase *tc = tcase_create("keys");

	tcase_add_test(tc, a_name_gives_its_bytes);
	tcase_add_test(tc, the_prefix_is_found_however_it_arrives);
	tcase_add_test(tc, escape_alone_is_held_and_flushed);
	tcase_add_test(tc, a_long_sequence_passes_unbroken);
	tcase_add_test(tc, a_bad_prefix_is_refused_in_words);
	suite_add_tcase(s, tc);
	return suite_run(s);
}
