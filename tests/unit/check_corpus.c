/* SPDX-License-Identifier: ISC */
/*
 * The corpus of other projects' terminal tests: every case's final screen,
 * cursor and attributes against ours, however it is cut into writes. Where
 * the emulators that were asked agree ("same", "libvterm-alone") we must agree
 * too. What differs, also of what they contest, stands in
 * corpus-exceptions.txt with who shows it as we do and why. A terminal outside
 * that gets the view's frames must show what we show (tests/soak). The fuzz
 * packs must be survived. Lies in $DLMUX_CORPUS, by default ../shared/corpus;
 * when it is not there the tests say so and pass. `make corpus` prints it all.
 */
#include <sys/stat.h>

#include <check.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../server/base/mem.h"
#include "../../term/screen.h"
#include "../../term/view.h"
#include "../soak/oracle.h"
#include "unit.h"

/* Among "same" and "libvterm-alone". */
#define EXCEPTIONS_MAX	15

static const char *
corpus(void)
{
	const char *dir = getenv("DLMUX_CORPUS");
	struct stat st;

	if (dir == NULL)
		dir = "../shared/corpus";
	return stat(dir, &st) == 0 ? dir : NULL;
}

static char *
slurp(const char *dir, const char *name, const char *file, size_t *len)
{
	char path[1024], *data;
	FILE *fp;
	long n;

	snprintf(path, sizeof path, "%s/%s%s%s", dir, name,
	    *file != '\0' ? "/" : "", file);
	if ((fp = fopen(path, "rb")) == NULL)
		return NULL;
	fseek(fp, 0, SEEK_END);
	n = ftell(fp);
	rewind(fp);
	data = xmalloc(n + 1);
	n = fread(data, 1, n, fp);
	data[n] = '\0';
	fclose(fp);
	if (len != NULL)
		*len = n;
	return data;
}

static void
feed(struct screen *s, const char *p, size_t n)
{
	size_t run;

	for (; n > 0; p += run, n -= run) {
		run = n < 4096 ? n : 4096;
		screen_write(s, p, run);
	}
}

/* The first row that differs, or -1. */
static int
text_differs(struct screen *s, const char *want)
{
	struct buf b;
	const char *end;
	int y;

	buf_init(&b, 1 << 20);
	for (y = 0; y < screen_rows(s); y++) {
		buf_reset(&b);
		screen_row_text(s, y, false, &b, NULL);
		end = strchrnul(want, '\n');
		if (b.len != (size_t)(end - want) ||
		    (b.len > 0 && memcmp(b.data, want, b.len) != 0)) {
			if (getenv("V") != NULL)
				printf("  row %d\n  want |%.*s|\n  have |%.*s|"
				    "\n", y, (int)(end - want), want,
				    (int)b.len, b.len ? (char *)b.data : "");
			break;
		}
		want = *end == '\n' ? end + 1 : end;
	}
	buf_free(&b);
	return y == screen_rows(s) ? -1 : y;
}

static bool
cursor_differs(struct screen *s, const char *want)
{
	char word[16] = "";
	int row, col, wrow, wcol;
	bool wrap;

	screen_cursor(s, &row, &col, &wrap);
	if (sscanf(want, "%d %d %15s", &wrow, &wcol, word) < 2)
		return false;
	if (getenv("V") != NULL && (row != wrow || col != wcol))
		printf("  cursor want %d %d have %d %d\n", wrow, wcol, row,
		    col);
	return row != wrow || col != wcol;
}

static uint32_t
parse_colour(const char *p)
{
	unsigned v;

	if (*p == '-')
		return COLOUR_DEFAULT;
	if (*p == '#') {
		v = strtoul(p + 1, NULL, 16);
		return 0x02000000u | v;
	}
	return COLOUR_INDEX(strtoul(p, NULL, 10));
}

static void
our_attr(const struct screen *s, const struct row *row, int x,
    struct written *out)
{
	static const struct cell blank = { .width = 1 };
	const struct cell *c = x < row->used ? &row->cells[x] : &blank;

	written_attr(grid_pen(screen_grid(s), c->pen), written_empty(c), out);
}

static bool
same_flags(const char *a, const char *b)
{
	if (strlen(a) != strlen(b))
		return false;
	for (; *a != '\0'; a++)
		if (strchr(b, *a) == NULL)
			return false;
	return true;
}

static bool
attrs_differ(struct screen *s, const char *want)
{
	int rows = screen_rows(s), cols = screen_cols(s), n, y, x, count, bad = 0;
	char fg[16], bg[16], flags[16];
	struct written *all, have;

	all = xcalloc(rows * cols, sizeof *all);
	while (sscanf(want, "%d %d %d %15s %15s %15s%n", &y, &x, &count, fg,
	    bg, flags, &n) == 6) {
		want += n;
		for (; count > 0 && y < rows && x < cols; count--, x++) {
			all[y * cols + x].fg = parse_colour(fg);
			all[y * cols + x].bg = parse_colour(bg);
			if (*flags != '-')
				strcpy(all[y * cols + x].flags, flags);
		}
	}
	for (y = 0; y < rows; y++)
		for (x = 0; x < cols; x++) {
			our_attr(s, screen_row(s, y), x, &have);
			if (have.fg == all[y * cols + x].fg &&
			    have.bg == all[y * cols + x].bg &&
			    same_flags(have.flags, all[y * cols + x].flags))
				continue;
			if (bad++ == 0 && getenv("V") != NULL)
				printf("  attr %d %d want %x %x %s have %x %x"
				    " %s\n", y, x, all[y * cols + x].fg,
				    all[y * cols + x].bg,
				    all[y * cols + x].flags, have.fg, have.bg,
				    have.flags);
		}
	free(all);
	return bad > 0;
}

enum { TEXT, CURSOR, ATTRS, PARTS };
static const char *const parts[PARTS] = { "screen", "cursor", "attributes" };

/* What a case states, and in what of that we differ. */
struct outcome {
	bool	states[PARTS], differs[PARTS], cut;
};

static bool
part_differs(struct screen *s, int part, const char *want)
{
	switch (part) {
	case TEXT:
		return text_differs(s, want) >= 0;
	case CURSOR:
		return cursor_differs(s, want);
	default:
		return attrs_differ(s, want);
	}
}

/* However the stream is cut into writes, the screen is the same. */
static bool
cuts_matter(struct screen *s, const char *input, size_t len, int rows,
    int cols)
{
	struct screen *again = screen_new(rows, cols, NULL, NULL);
	struct buf why;
	size_t at, n;
	bool same;

	for (at = 0; at < len; at += n) {
		n = 1 + at % 3;
		if (n > len - at)
			n = len - at;
		screen_write(again, input + at, n);
	}
	buf_init(&why, 1 << 16);
	same = screen_equal(s, again, true, &why);
	if (!same)
		printf("  cut into small writes: %.*s\n", (int)why.len,
		    (char *)why.data);
	buf_free(&why);
	screen_free(again);
	return !same;
}

static bool
run_case(const char *dir, const char *name, struct outcome *out)
{
	static const char *const files[PARTS] = {
		"screen.txt", "cursor", "attrs.txt"
	};
	char *input, *size, *want;
	struct screen *s;
	int cols, rows, i;
	size_t len;

	memset(out, 0, sizeof *out);
	if ((input = slurp(dir, name, "input", &len)) == NULL)
		return false;
	size = slurp(dir, name, "size", NULL);
	ck_assert_ptr_nonnull(size);
	ck_assert_int_eq(sscanf(size, "%d %d", &cols, &rows), 2);
	s = screen_new(rows, cols, NULL, NULL);
	feed(s, input, len);
	out->cut = cuts_matter(s, input, len, rows, cols);
	for (i = 0; i < PARTS; i++) {
		if ((want = slurp(dir, name, files[i], NULL)) == NULL)
			continue;
		out->states[i] = true;
		out->differs[i] = part_differs(s, i, want);
		free(want);
	}
	screen_free(s);
	free(input);
	free(size);
	return true;
}

/* The column of RESULTS.tsv, counted from 0. */
static bool
column(const char *line, int n, char *out, size_t size)
{
	size_t len;

	while (n-- > 0) {
		if ((line = strchr(line, '\t')) == NULL)
			return false;
		line++;
	}
	len = strcspn(line, "\t\n");
	if (len >= size)
		return false;
	memcpy(out, line, len);
	out[len] = '\0';
	return true;
}

/* Its line in the exceptions: "NAME <TAB> WHO AGREES <TAB> REASON". */
static bool
excepted(const char *list, const char *name, char *who, size_t size)
{
	size_t n = strlen(name);
	char reason[200];

	for (; list != NULL && *list != '\0'; list = strchr(list, '\n')) {
		list += *list == '\n';
		if (strncmp(list, name, n) == 0 && list[n] == '\t')
			return column(list, 1, who, size) && *who != '\0' &&
			    column(list, 2, reason, sizeof reason) &&
			    *reason != '\0';
	}
	return false;
}

enum { SAME, ALONE, CONTESTED, SOURCE, CRASHES, NONE, VERDICTS };
static const char *const verdicts[VERDICTS] = {
	"same", "libvterm-alone", "contested", "source-alone",
	"libvterm-crashes", "-"
};

/* Of the cases of one verdict: how many, and in how many we agree. */
struct tally {
	int	cases, agree, states[PARTS], same[PARTS];
};

static void
table(const struct tally *all)
{
	char cell[32];
	int v, i;

	printf("corpus: %-17s %6s %6s", "verdict", "cases", "agree");
	for (i = 0; i < PARTS; i++)
		printf(" %12s", parts[i]);
	for (v = 0; v < VERDICTS; v++) {
		printf("\ncorpus: %-17s %6d", v == NONE ? "(no screen)" :
		    verdicts[v], all[v].cases);
		if (all[v].states[TEXT] == 0)
			continue;
		printf(" %6d", all[v].agree);
		for (i = 0; i < PARTS; i++) {
			snprintf(cell, sizeof cell, "%d of %d",
			    all[v].same[i], all[v].states[i]);
			printf(" %12s", cell);
		}
	}
	printf("\n");
}

/* One case into the table: false if it differs and must not, or was excused
 * and need not be. */
static bool
judge(const char *name, int v, const struct outcome *o, const char *except,
    struct tally *t, int *excused)
{
	char who[64] = "";
	bool differs = false, listed;
	int i;

	t->cases++;
	for (i = 0; i < PARTS; i++) {
		t->states[i] += o->states[i];
		t->same[i] += o->states[i] && !o->differs[i];
		differs |= o->differs[i];
	}
	t->agree += o->states[TEXT] && !differs;
	if (o->cut)
		printf("corpus: %s: depends on how it is cut\n", name);
	listed = excepted(except, name, who, sizeof who);
	if (differs && listed && (v == SAME || v == ALONE))
		++*excused;
	if (differs != listed) {
		printf("corpus: %s: %s", name, listed ?
		    "an exception no more" : "differs:");
		for (i = 0; i < PARTS; i++)
			if (o->differs[i])
				printf(" %s", parts[i]);
		printf("\n");
	} else if (getenv("V") != NULL && differs)
		printf("corpus: %s (%s): as %s\n", name, verdicts[v], who);
	return differs == listed && !o->cut;
}

START_TEST(screens_agree_where_the_emulators_agree)
{
	struct tally all[VERDICTS] = { 0 };
	int v, wrong = 0, excused = 0, cases = 0;
	const char *dir = corpus();
	char *results, *line, *next, *except, name[256], verdict[32];
	struct outcome o;

	if (dir == NULL) {
		printf("corpus: not here, skipped\n");
		return;
	}
	except = slurp("tests/unit", "corpus-exceptions.txt", "", NULL);
	ck_assert_ptr_nonnull(except);
	results = slurp(dir, "RESULTS.tsv", "", NULL);
	ck_assert_ptr_nonnull(results);
	for (line = results; *line != '\0'; line = next) {
		if ((next = strchr(line, '\n')) != NULL)
			*next++ = '\0';
		else
			next = strchr(line, '\0');
		if (!column(line, 0, name, sizeof name) ||
		    !column(line, 8, verdict, sizeof verdict) ||
		    strchr(name, '#') != NULL)
			continue;
		if (getenv("CASE") != NULL && strcmp(getenv("CASE"), name))
			continue;
		for (v = 0; v < VERDICTS; v++)
			if (strcmp(verdict, verdicts[v]) == 0)
				break;
		if (v == VERDICTS || !run_case(dir, name, &o))
			continue;
		cases++;
		if (!judge(name, v, &o, except, &all[v], &excused))
			wrong++;
	}
	table(all);
	printf("corpus: %d cases run; %d exceptions, of at most %d "
	    "(tests/unit/corpus-exceptions.txt)\n", cases, excused,
	    EXCEPTIONS_MAX);
	fflush(stdout);
	free(results);
	free(except);
	ck_assert_int_eq(wrong, 0);
	ck_assert_int_le(excused, EXCEPTIONS_MAX);
	if (getenv("CASE") == NULL)
		ck_assert_int_ge(cases, 740);
}
END_TEST

/* What a terminal outside shows of a case: frame by frame, the sizes equal,
 * from an attach before the first byte on. NULL, or what differs. */
static const char *
run_outside(const char *dir, const char *name, struct buf *why)
{
	char *input, *size;
	struct screen *s;
	struct caps *caps;
	struct view *v;
	struct outside *t;
	struct view_frame frame;
	struct buf out;
	int cols, rows;
	size_t len, at, n;
	bool ok = true;

	if ((input = slurp(dir, name, "input", &len)) == NULL)
		return "-";
	size = slurp(dir, name, "size", NULL);
	ck_assert_int_eq(sscanf(size, "%d %d", &cols, &rows), 2);
	s = screen_new(rows, cols, NULL, NULL);
	rows = screen_rows(s);
	cols = screen_cols(s);
	caps = oracle_caps("all");
	v = view_new(caps, rows, cols);
	t = outside_new(rows, cols);
	buf_init(&out, 64 << 20);
	/* About eight frames, cut anywhere. */
	for (at = 0; ok && (at < len || at == 0); at += n) {
		n = len / 8 + 1 < len - at ? len / 8 + 1 : len - at;
		feed(s, input + at, n);
		buf_reset(&out);
		view_render(v, s, &out, &frame);
		outside_write(t, out.data, out.len);
		ok = compare_screen(t, s, caps, 0, 0, why) &&
		    compare_modes(t, s, caps, why);
		if (len == 0)
			break;
	}
	buf_free(&out);
	outside_free(t);
	view_free(v);
	caps_free(caps);
	screen_free(s);
	free(input);
	free(size);
	return ok ? NULL : "differs";
}

START_TEST(a_terminal_outside_shows_the_same)
{
	const char *dir = corpus(), *what;
	int run = 0, good = 0;
	struct dirent *e;
	struct buf why;
	DIR *d;

	if (dir == NULL)
		return;
	d = opendir(dir);
	ck_assert_ptr_nonnull(d);
	while ((e = readdir(d)) != NULL) {
		if (*e->d_name == '.' || (getenv("CASE") != NULL &&
		    strcmp(getenv("CASE"), e->d_name) != 0))
			continue;
		buf_init(&why, 1 << 16);
		what = run_outside(dir, e->d_name, &why);
		if (what == NULL) {
			run++;
			good++;
		} else if (*what != '-') {
			run++;
			printf("corpus: %s: outside: %.*s\n", e->d_name,
			    (int)why.len, (char *)why.data);
		}
		buf_free(&why);
	}
	closedir(d);
	printf("corpus: a terminal outside shows the same: %d of %d\n", good,
	    run);
	fflush(stdout);
	ck_assert_int_eq(good, run);
}
END_TEST

START_TEST(fuzz_packs_are_survived)
{
	const char *dir = corpus();
	struct dirent *e;
	struct screen *s;
	char *pack, *p, *end;
	size_t len, n;
	int count = 0;
	DIR *d;

	if (dir == NULL || getenv("CASE") != NULL)
		return;
	d = opendir(dir);
	ck_assert_ptr_nonnull(d);
	while ((e = readdir(d)) != NULL) {
		if (strstr(e->d_name, ".pack") == NULL)
			continue;
		pack = slurp(dir, e->d_name, "", &len);
		for (p = pack, end = pack + len; p < end; p += n) {
			n = strtoul(p, &p, 10);
			if (*p++ != '\n' || n > (size_t)(end - p))
				break;
			s = screen_new(24, 80, NULL, NULL);
			feed(s, p, n);
			screen_resize(s, 5, 20 + count % 80);
			screen_free(s);
			count++;
		}
		free(pack);
	}
	closedir(d);
	printf("corpus: %d records of fuzz packs survived%s\n", count,
#ifdef __SANITIZE_ADDRESS__
	    ", under ASan and UBSan"
#else
	    ""
#endif
	    );
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("corpus");
	TCase *tc = tcase_create("corpus");

	tcase_set_timeout(tc, 120);
	tcase_add_test(tc, screens_agree_where_the_emulators_agree);
	tcase_add_test(tc, a_terminal_outside_shows_the_same);
	tcase_add_test(tc, fuzz_packs_are_survived);
	suite_add_tcase(suite, tc);
	return suite_run(suite);
}
