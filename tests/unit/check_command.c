/* SPDX-License-Identifier: ISC */
/*
 * The command table: options as people write them, and the three places that
 * speak of a command (table, synopsis, man page) against one another.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../client/command.h"
#include "unit.h"

static struct args args;
static bool help;
static char *cause;

static int
parse(const char *command, char **words)
{
	int n = 0;

	free(cause);
	cause = NULL;
	while (words[n] != NULL)
		n++;
	return args_parse(&args, command_find(command), n, words, &help,
	    &cause);
}

#define W(...) (char *[]){ __VA_ARGS__, NULL }

/* The literals are only read. */
#pragma GCC diagnostic ignored "-Wwrite-strings"
#pragma GCC diagnostic ignored "-Wdiscarded-qualifiers"

START_TEST(options_stand_before_and_after_the_word)
{
	ck_assert_int_eq(parse("wait", W("local:a", "--text", "x y",
	    "--timeout=2.5")), 0);
	ck_assert_int_eq(args.nwords, 1);
	ck_assert_str_eq(args.words[0], "local:a");
	ck_assert_str_eq(args_value(&args, "text"), "x y");
	ck_assert_str_eq(args_value(&args, "timeout"), "2.5");
	args_clear(&args);
}
END_TEST

START_TEST(letters_cluster_and_the_last_takes_a_value)
{
	/* The words must outlive the assertion's own block. */
	int r = parse("exec", W("-ntC/tmp", "-e", "A=1", "-eB",
	    "local", "--", "ls", "-l", "--", "-n"));

	ck_assert_int_eq(r, 0);
	ck_assert(args_has(&args, "n"));
	ck_assert(args_has(&args, "t"));
	ck_assert_str_eq(args_value(&args, "C"), "/tmp");
	ck_assert_str_eq(args_value(&args, "e"), "B");
	ck_assert_int_eq(args.noptions, 5);
	ck_assert_int_eq(args.nrest, 4);
	ck_assert_str_eq(args.rest[1], "-l");
	ck_assert_str_eq(args.rest[3], "-n");
	ck_assert_ptr_null(args.rest[4]);
	args_clear(&args);
}
END_TEST

START_TEST(text_to_send_may_begin_with_a_dash)
{
	ck_assert_int_eq(parse("send", W("-n", "local", "ls", "-l", "--x")),
	    0);
	ck_assert(args_has(&args, "n"));
	ck_assert_int_eq(args.nwords, 4);
	ck_assert_str_eq(args.words[2], "-l");
	ck_assert_str_eq(args.words[3], "--x");
	args_clear(&args);
	ck_assert_int_eq(parse("send", W("local", "--", "-n")), 0);
	ck_assert(!args_has(&args, "n"));
	ck_assert_str_eq(args.words[1], "-n");
	args_clear(&args);
}
END_TEST

static const struct {
	const char	*command;
	char		*words[6];
	const char	*cause;
} wrong[] = {
	{ "exec", { "-z", "local" }, "there is no option -z" },
	{ "exec", { "--e", "local" }, "there is no option --e" },
	{ "exec", { "local", "-C" }, "-C needs DIR" },
	{ "exec", { "local", "ls" }, "put -- before the command \"ls\"" },
	{ "exec", { "--", "ls" }, "something is missing" },
	{ "exec", { "--status-fd" }, "--status-fd needs N" },
	{ "wait", { "a", "--exit=1" }, "--exit takes no value" },
	{ "wait", { "a", "b" }, "\"b\" is too much" },
	{ "ls", { "--jso" }, "there is no option --jso" },
	{ "attach", { NULL }, "something is missing" },
};

START_TEST(what_is_wrong_is_said)
{
	char *words[6];

	memcpy(words, wrong[_i].words, sizeof words);
	ck_assert_int_eq(parse(wrong[_i].command, words), -1);
	ck_assert_str_eq(cause, wrong[_i].cause);
	args_clear(&args);
}
END_TEST

START_TEST(help_is_always_an_option)
{
	ck_assert_int_eq(parse("exec", W("--help")), 0);
	ck_assert(help);
	args_clear(&args);
	ck_assert_int_eq(parse("exec", W("local", "--", "ls", "--help")), 0);
	ck_assert(!help);
	args_clear(&args);
}
END_TEST

START_TEST(seconds_are_milliseconds_rounded_up)
{
	uint32_t ms;

	ck_assert_int_eq(seconds_parse("2", &ms), 0);
	ck_assert_uint_eq(ms, 2000);
	ck_assert_int_eq(seconds_parse("1.5", &ms), 0);
	ck_assert_uint_eq(ms, 1500);
	ck_assert_int_eq(seconds_parse(".25", &ms), 0);
	ck_assert_uint_eq(ms, 250);
	ck_assert_int_eq(seconds_parse("0.0001", &ms), 0);
	ck_assert_uint_eq(ms, 1);
	ck_assert_int_eq(seconds_parse("", &ms), -1);
	ck_assert_int_eq(seconds_parse(".", &ms), -1);
	ck_assert_int_eq(seconds_parse("-1", &ms), -1);
	ck_assert_int_eq(seconds_parse("1s", &ms), -1);
	ck_assert_int_eq(seconds_parse("99999999999999999999", &ms), -1);
	ck_assert_int_eq(number_parse("12", 12, &ms), 0);
	ck_assert_uint_eq(ms, 12);
	ck_assert_int_eq(number_parse("13", 12, &ms), -1);
	ck_assert_int_eq(number_parse("", 12, &ms), -1);
	ck_assert_int_eq(number_parse("+1", 12, &ms), -1);
}
END_TEST

static void
option_word(char *out, size_t max, const struct command_option *o)
{
	snprintf(out, max, "%s%s", o->name[1] == '\0' ? "-" : "--", o->name);
}

/* Every option of the table stands in the synopsis with its argument, and
 * every dash word of the synopsis is an option of the table. */
START_TEST(synopsis_and_options_agree)
{
	const struct command *c = &command_table[_i];
	const struct command_option *o;
	const char *p;
	char word[64], with[128];
	size_t n, found, options = 0;

	for (o = c->options; o->name != NULL; o++) {
		option_word(word, sizeof word, o);
		snprintf(with, sizeof with, "%s%s%s", word,
		    o->arg != NULL ? " " : "", o->arg != NULL ? o->arg : "");
		p = strstr(c->synopsis, with);
		ck_assert_msg(p != NULL, "%s: %s is not in its synopsis",
		    c->name, with);
		ck_assert_ptr_nonnull(o->help);
		options++;
	}
	for (found = 0, p = c->synopsis; *p != '\0'; p += n) {
		n = strcspn(p, " []()|");
		if (n > 1 && p[0] == '-' && strncmp(p, "--", n) != 0)
			found++;
		n += strspn(p + n, " []()|");
	}
	ck_assert_msg(found == options, "%s: %zu options, %zu in the synopsis",
	    c->name, options, found);
}
END_TEST

static char *
man_page(void)
{
	FILE *f = fopen("doc/dlmux.1", "r");
	char *text = calloc(1, 1 << 20);

	ck_assert_msg(f != NULL, "doc/dlmux.1 is to be read from the top of "
	    "the tree");
	ck_assert_uint_gt(fread(text, 1, (1 << 20) - 1, f), 0);
	fclose(f);
	return text;
}

/* A command's part: from ".It Ic NAME" (".It Xo Ic NAME" for long ones) to the
 * next one. */
static char *
man_section(const char *text, const char *name)
{
	char head[64], *copy;
	const char *p, *end;

	snprintf(head, sizeof head, "\n.It Ic %s", name);
	for (p = text; (p = strstr(p, head)) != NULL; p++)
		if (strchr(" \n", p[strlen(head)]) != NULL)
			break;
	if (p == NULL)
		return NULL;
	end = strstr(p + 1, "\n.It Ic ");
	copy = end != NULL ? strndup(p, (size_t)(end - p)) : strdup(p);
	return copy;
}

START_TEST(man_page_has_the_command_and_its_options)
{
	const struct command *c = &command_table[_i];
	const struct command_option *o;
	char *text = man_page(), *section = man_section(text, c->name);
	char word[80];

	ck_assert_msg(section != NULL, "doc/dlmux.1 has no %s", c->name);
	for (o = c->options; o->name != NULL; o++) {
		/* mdoc: "Fl n" is -n, "Fl -wait" is --wait. */
		snprintf(word, sizeof word, "Fl %s%s",
		    o->name[1] == '\0' ? "" : "-", o->name);
		ck_assert_msg(strstr(section, word) != NULL,
		    "doc/dlmux.1: %s has no %s", c->name, word);
	}
	free(section);
	free(text);
}
END_TEST

START_TEST(man_page_names_no_command_that_is_not)
{
	char *text = man_page(), *p, name[64];

	for (p = text; (p = strstr(p, "\n.It Ic ")) != NULL; p++) {
		ck_assert_int_eq(sscanf(p, "\n.It Ic %63s", name), 1);
		ck_assert_msg(command_find(name) != NULL,
		    "doc/dlmux.1 has a command %s", name);
	}
	free(text);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("command");
	TCase *t = tcase_create("command");
	int n;

	for (n = 0; command_table[n].name != NULL; n++)
		;
	tcase_add_test(t, options_stand_before_and_after_the_word);
	tcase_add_test(t, letters_cluster_and_the_last_takes_a_value);
	tcase_add_test(t, text_to_send_may_begin_with_a_dash);
	tcase_add_loop_test(t, what_is_wrong_is_said, 0,
	    (int)(sizeof wrong / sizeof wrong[0]));
	tcase_add_test(t, help_is_always_an_option);
	tcase_add_test(t, seconds_are_milliseconds_rounded_up);
	tcase_add_loop_test(t, synopsis_and_options_agree, 0, n);
	tcase_add_loop_test(t, man_page_has_the_command_and_its_options, 0, n);
	tcase_add_test(t, man_page_names_no_command_that_is_not);
	suite_add_tcase(s, t);
	return suite_run(s);
}
