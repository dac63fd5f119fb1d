/* SPDX-License-Identifier: ISC */
/*
 * The promise of checkpoints: made anywhere in a stream, restored into a
 * fresh screen and continued with the rest, one gives the screen that never
 * was interrupted. Tried at every offset of our own inputs and at some of the
 * corpus; and damaged ones are refused without harm.
 */
#include <sys/stat.h>

#include <check.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../server/base/mem.h"
#include "../../term/screen.h"
#include "unit.h"

static const char *const own[] = {
	"plain text\r\nand more\tof it\b\b\r\n",
	/* The pending wrap, tabs, margins, origin, insert. */
	"0123456789012345678901234567890123456789x\033[5;10r\033[?6h"
	"\033[3;3Hin\033[4hse\033[4lrt\033[3g\033H\t\tq\033[?6l\033[r",
	"\033[?69h\033[3;20s\033[2;3Hsides that wrap and wrap and wrap again",
	/* Pens of every kind. */
	"\033[1;3;4:3;58:2::1:2:3;38;2;9;8;7;48;5;99mpen\033[0;2;8;9;53mx"
	"\033[22;7;21m\033[Ky\033[m\033[41m\033[J\033[1\"qprot\033[\"q",
	/* Clusters, wide ones, cut UTF-8, bad UTF-8. */
	"e\314\201\314\202 \344\275\240\345\245\275\360\237\230\200"
	"\033[1;2Hx\355\240\200\300\200\360\237\230y\377z",
	/* Both screens, both kitty stacks, saved cursors. */
	"main\033[>5u\0337\033[?1049h\033[>1u\033[>3ualt\033[31m\0337\033[2;2H"
	"\0338x\033[?1049ly\033[<u\033[=2;2u",
	"\033[?47hone\033[?47ltwo\033[?1047hthree\033[?1047l\033[?1048h"
	"\033[9;9H\033[?1048l.",
	/* Strings and their limits. */
	"\033]0;title \303\251\a\033[22t\033]2;other\033\\\033]7;file://h/p"
	"\033\\\033]8;id=a;http://x/\033\\link\033]8;;\a\033]4;1;#123456\a"
	"\033]10;rgb:1/2/3\033\\\033[23;0t\033]133;A\a$ \033]52;c;aGk=\a",
	"\033Pq#0;2;0;0;0#0~~@@vv@@~~\033\\\033_Gf=24;AAAA\033\\\033^pm\033\\"
	"\033Xsos\033\\\033P$qm\033\\after",
	/* Modes. */
	"\033[?1;7;12;25;45;1000;1002;1006;1004;2004;2026;2031h\033=\033[20h"
	"\033[4 q\033[>4;2m\033[?1;1000s\033[?1;1000l\033[?1r\033[?5h\n|",
	/* Character sets and shifts, REP. */
	"\033(0qqx\033(B\033)0\016ab\017\033*0\033Nabc\033nj\033o.\017z"
	"\033[7b\344\270\255\033[3b",
	/* History, wrapped and not, and what clears it. */
	"1\r\n2\r\n3\r\n4\r\n5\r\n6\r\n7\r\n8\r\n9\r\n10\r\n11\r\n12\r\n13\r\n"
	"0123456789012345678901234567890123456789012345678901234567890123456789"
	"0123456789\r\n\033[3S\033[2T\033[2L\033[3M\033[1;4r\033[4;1H\n\n\n",
	"a\r\nb\r\n\n\n\n\n\n\n\n\n\n\n\n\n\033[3Jc\033cd\033[!pe",
	/* Held halves. */
	"\033[1;2;3\030x\033[38:2:1:2\032y\033]0;cut\030z\033[?\033[31mw\033#8",
};

static void
make(struct screen *s, enum checkpoint_kind kind, struct buf *b)
{
	buf_init(b, CHECKPOINT_MAX);
	screen_checkpoint(s, kind, b);
	ck_assert(buf_ok(b));
}

static void
same(const struct screen *a, const struct screen *b, bool history,
    const char *name, size_t at)
{
	struct buf why;

	buf_init(&why, 1000);
	if (!screen_equal(a, b, history, &why)) {
		buf_u8(&why, 0);
		ck_abort_msg("%s at %zu: %s", name, at, (char *)why.data);
	}
	buf_free(&why);
}

/* Checkpoints at every step-th offset, each restored and continued. */
static void
property(const char *name, const char *p, size_t n, int rows, int cols,
    size_t step)
{
	struct screen *whole, *upto, *back;
	struct buf b;
	size_t at;
	int kind;

	whole = screen_new(rows, cols, NULL, NULL);
	screen_write(whole, p, n);
	upto = screen_new(rows, cols, NULL, NULL);
	for (at = 0; at <= n; at += step) {
		for (kind = CHECKPOINT_LIGHT; kind <= CHECKPOINT_FULL;
		    kind++) {
			make(upto, kind, &b);
			back = screen_new(24, 80, NULL, NULL);
			ck_assert_msg(screen_restore(back, b.data, b.len) ==
			    0, "%s at %zu: refused", name, at);
			buf_free(&b);
			ck_assert(screen_offset(back) == at);
			same(upto, back, kind == CHECKPOINT_FULL, name, at);
			screen_write(back, p + at, n - at);
			same(whole, back, kind == CHECKPOINT_FULL, name, at);
			screen_free(back);
		}
		if (at < n)
			screen_write(upto, p + at, at + step < n ? step :
			    n - at);
	}
	screen_free(upto);
	screen_free(whole);
}

START_TEST(at_every_offset_of_our_own_inputs)
{
	char name[32];
	size_t i;

	for (i = 0; i < sizeof own / sizeof *own; i++) {
		snprintf(name, sizeof name, "input %zu", i);
		property(name, own[i], strlen(own[i]), 10, 40, 1);
	}
}
END_TEST

static char *
slurp(const char *dir, const char *name, const char *file, size_t *len)
{
	char path[1024], *data;
	FILE *fp;
	long n;

	snprintf(path, sizeof path, "%s/%s/%s", dir, name, file);
	if ((fp = fopen(path, "rb")) == NULL)
		return NULL;
	fseek(fp, 0, SEEK_END);
	n = ftell(fp);
	rewind(fp);
	data = xmalloc(n + 1);
	*len = fread(data, 1, n, fp);
	data[*len] = '\0';
	fclose(fp);
	return data;
}

START_TEST(at_some_offsets_of_the_corpus)
{
	const char *dir = getenv("DLMUX_CORPUS"), *step = getenv("STEPS");
	struct dirent *e;
	int cols, rows, cases = 0;
	size_t n, len, steps = step == NULL ? 3 : strtoul(step, NULL, 10);
	char *input, *size;
	DIR *d;

	if (dir == NULL)
		dir = "../shared/corpus";
	if ((d = opendir(dir)) == NULL) {
		printf("SKIP checkpoints of the corpus: not here\n");
		return;
	}
	while ((e = readdir(d)) != NULL) {
		if (*e->d_name == '.' ||
		    (size = slurp(dir, e->d_name, "size", &len)) == NULL)
			continue;
		input = slurp(dir, e->d_name, "input", &n);
		if (input != NULL && sscanf(size, "%d %d", &cols, &rows) ==
		    2) {
			/* The long ones are all alike in what they hold. */
			if (n > 100000)
				n = 100000;
			property(e->d_name, input, n, rows, cols,
			    n <= steps ? 1 : n / steps + 1);
			cases++;
		}
		free(input);
		free(size);
	}
	closedir(d);
	printf("corpus: %d cases through checkpoints\n", cases);
}
END_TEST

START_TEST(a_history_that_does_not_fit_loses_its_oldest_lines)
{
	struct screen *s = screen_new(5, 20, NULL, NULL), *t;
	struct buf b, text;
	char line[32];
	int i, kept;

	for (i = 0; i < 1000; i++) {
		snprintf(line, sizeof line, "line %d\r\n", i);
		screen_write(s, line, strlen(line));
	}
	buf_init(&b, 8192);
	screen_checkpoint(s, CHECKPOINT_FULL, &b);
	ck_assert(buf_ok(&b));
	t = screen_new(1, 2, NULL, NULL);
	ck_assert_int_eq(screen_restore(t, b.data, b.len), 0);
	kept = screen_history(t);
	ck_assert_int_gt(kept, 100);
	ck_assert_int_lt(kept, screen_history(s));
	buf_init(&text, 100);
	screen_row_text(t, -1, false, &text, NULL);
	ck_assert_uint_eq(text.len, 8);
	ck_assert_mem_eq(text.data, "line 995", 8);
	buf_free(&text);
	buf_free(&b);
	screen_free(s);
	screen_free(t);
}
END_TEST

START_TEST(damaged_ones_are_refused_and_leave_a_blank_screen)
{
	struct screen *s, *t, *blank;
	struct buf b;
	uint8_t old;
	size_t i, k;
	unsigned seed = 7;
	int refused = 0;

	for (k = 0; k < sizeof own / sizeof *own; k++) {
		s = screen_new(10, 40, NULL, NULL);
		screen_write(s, own[k], strlen(own[k]));
		make(s, CHECKPOINT_FULL, &b);
		t = screen_new(10, 40, NULL, NULL);
		/* Cut anywhere. */
		for (i = 0; i < b.len; i++) {
			ck_assert_int_eq(screen_restore(t, b.data, i), -1);
			blank = screen_new(10, 40, NULL, NULL);
			screen_set_offset(blank, screen_offset(t));
			if (i % 64 == 0)
				same(t, blank, false, "blank", i);
			screen_free(blank);
		}
		/* Any byte another. */
		for (i = 0; i < b.len; i++) {
			old = b.data[i];
			seed = seed * 1103515245 + 12345;
			b.data[i] ^= 1 + (seed >> 16) % 255;
			if (screen_restore(t, b.data, b.len) != 0)
				refused++;
			else
				screen_write(t, own[k], strlen(own[k]));
			screen_resize(t, 10 + i % 3, 30 + i % 20);
			b.data[i] = old;
		}
		buf_free(&b);
		screen_free(s);
		screen_free(t);
	}
	ck_assert_int_gt(refused, 1000);
}
END_TEST

START_TEST(what_a_terminal_would_obey_is_refused)
{
	struct screen *s = screen_new(3, 20, NULL, NULL), *t;
	struct buf b;
	char *at;

	screen_write(s, "\033]0;harmless\atext e\314\201", 21);
	make(s, CHECKPOINT_LIGHT, &b);
	t = screen_new(3, 20, NULL, NULL);
	ck_assert_int_eq(screen_restore(t, b.data, b.len), 0);
	ck_assert_str_eq(screen_title(t), "harmless");
	at = memmem(b.data, b.len, "harmless", 8);
	ck_assert_ptr_nonnull(at);
	at[3] = '\033';
	ck_assert_int_eq(screen_restore(t, b.data, b.len), -1);
	at[3] = 'm';
	at = memmem(b.data, b.len, "text ", 5);
	ck_assert_ptr_nonnull(at);
	at[0] = '\a';
	ck_assert_int_eq(screen_restore(t, b.data, b.len), -1);
	at[0] = 't';
	at = memmem(b.data, b.len, "e\314\201", 3);
	ck_assert_ptr_nonnull(at);
	at[0] = '\r';
	ck_assert_int_eq(screen_restore(t, b.data, b.len), -1);
	buf_free(&b);
	screen_free(s);
	screen_free(t);
}
END_TEST

START_TEST(counters_go_on_after_a_restore)
{
	struct screen *s = screen_new(3, 20, NULL, NULL);
	uint32_t epoch, serial;
	uint64_t whole;
	struct buf b;

	screen_write(s, "some text\r\nmore", 15);
	make(s, CHECKPOINT_FULL, &b);
	epoch = screen_epoch(s);
	whole = screen_serial(s);
	serial = screen_row(s, 2)->serial;
	if (screen_row(s, 0)->serial > serial)
		serial = screen_row(s, 0)->serial;
	ck_assert_int_eq(screen_restore(s, b.data, b.len), 0);
	ck_assert(screen_epoch(s) != epoch);
	ck_assert(screen_serial(s) > whole);
	ck_assert_uint_gt(screen_row(s, 0)->serial, serial);
	buf_free(&b);
	screen_free(s);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("checkpoint");
	TCase *tc = tcase_create("checkpoint");

	tcase_set_timeout(tc, 120);
	tcase_add_test(tc, at_every_offset_of_our_own_inputs);
	tcase_add_test(tc, at_some_offsets_of_the_corpus);
	tcase_add_test(tc, a_history_that_does_not_fit_loses_its_oldest_lines);
	tcase_add_test(tc, damaged_ones_are_refused_and_leave_a_blank_screen);
	tcase_add_test(tc, what_a_terminal_would_obey_is_refused);
	tcase_add_test(tc, counters_go_on_after_a_restore);
	suite_add_tcase(suite, tc);
	return suite_run(suite);
}
