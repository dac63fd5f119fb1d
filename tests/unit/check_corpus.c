/* SPDX-License-Identifier: ISC */
/*
 * The corpus of other projects' terminal tests: every case's final screen,
 * cursor and attributes against ours. Where the emulators that were asked
 * agree ("same", "libvterm-alone") we must agree too; the exceptions stand in
 * corpus-exceptions.txt, each with its reason. What is contested is counted
 * only. A terminal outside that gets the view's frames must show what we show
 * (tests/soak). The fuzz packs must be survived. Lies in $DLMUX_CORPUS, by default
 * ../shared/corpus; when it is not there the tests say so and pass.
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

/* Cases that matched when this number was last raised. */
#define FLOOR	378

struct attr {
	uint32_t	fg, bg;
	char		flags[16];
};

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
    struct attr *out)
{
	static const struct {
		uint16_t	flag;
		char		letter;
	} letters[] = {
		{ PEN_BOLD, 'b' }, { PEN_FAINT, 'd' }, { PEN_ITALIC, 'i' },
		{ PEN_BLINK, 'k' }, { PEN_REVERSE, 'r' },
		{ PEN_CONCEAL, 'h' }, { PEN_STRIKE, 's' }
	};
	static const struct cell blank = { .width = 1 };
	const struct cell *c = x < row->used ? &row->cells[x] : &blank;
	const struct pen *pen = grid_pen(screen_grid(s), c->pen);
	bool empty = (c->ch == 0 && c->width != 0) || c->ch == ' ';
	bool lined = pen->underline != 0 ||
	    pen->flags & (PEN_REVERSE | PEN_STRIKE);
	size_t i, n = 0;

	memset(out, 0, sizeof *out);
	out->bg = pen->bg;
	if (!empty || lined)
		out->fg = pen->fg;
	for (i = 0; i < sizeof letters / sizeof *letters; i++)
		if (pen->flags & letters[i].flag && (!empty ||
		    letters[i].letter == 'r' || letters[i].letter == 's'))
			out->flags[n++] = letters[i].letter;
	if (pen->underline != 0)
		out->flags[n++] = " uUcoa"[pen->underline];
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
	struct attr *all, have;

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

/* Which of "text", "cursor", "attrs" differ; NULL if the case states no
 * screen. */
static const char *
run_case(const char *dir, const char *name)
{
	static char what[64];
	char *input, *size, *want;
	struct screen *s;
	int cols, rows;
	size_t len;

	if ((input = slurp(dir, name, "input", &len)) == NULL)
		return NULL;
	size = slurp(dir, name, "size", NULL);
	ck_assert_ptr_nonnull(size);
	ck_assert_int_eq(sscanf(size, "%d %d", &cols, &rows), 2);
	s = screen_new(rows, cols, NULL, NULL);
	feed(s, input, len);
	*what = '\0';
	if ((want = slurp(dir, name, "screen.txt", NULL)) != NULL) {
		if (text_differs(s, want) >= 0)
			strcat(what, " text");
		free(want);
		if ((want = slurp(dir, name, "cursor", NULL)) != NULL) {
			if (cursor_differs(s, want))
				strcat(what, " cursor");
			free(want);
		}
		if ((want = slurp(dir, name, "attrs.txt", NULL)) != NULL) {
			if (attrs_differ(s, want))
				strcat(what, " attrs");
			free(want);
		}
	} else
		strcpy(what, "-");
	screen_free(s);
	free(input);
	free(size);
	return what;
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

static bool
excepted(const char *list, const char *name)
{
	size_t n = strlen(name);

	while (list != NULL && *list != '\0') {
		if (strncmp(list, name, n) == 0 && (list[n] == '\t' ||
		    list[n] == '\n' || list[n] == ' '))
			return true;
		if ((list = strchr(list, '\n')) != NULL)
			list++;
	}
	return false;
}

enum { SAME, ALONE, CONTESTED, SOURCE, CRASHES, NONE, VERDICTS };
static const char *const verdicts[VERDICTS] = {
	"same", "libvterm-alone", "contested", "source-alone",
	"libvterm-crashes", "-"
};

START_TEST(screens_agree_where_the_emulators_agree)
{
	int run[VERDICTS] = { 0 }, good[VERDICTS] = { 0 }, v, wrong = 0;
	const char *dir = corpus(), *what;
	char *results, *line, *next, *except, name[256], verdict[32];

	if (dir == NULL) {
		printf("corpus: not here, skipped\n");
		return;
	}
	except = slurp("tests/unit", "corpus-exceptions.txt", "", NULL);
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
		if (v == VERDICTS || (what = run_case(dir, name)) == NULL)
			continue;
		run[v]++;
		if (*what == '\0') {
			good[v]++;
			if (excepted(except, name))
				printf("corpus: %s: an exception no more\n",
				    name);
			continue;
		}
		if (v == NONE || v == CRASHES)
			continue;
		if ((v == SAME || v == ALONE) && !excepted(except, name)) {
			printf("corpus: %s: differs:%s\n", name, what);
			wrong++;
		} else if (getenv("V") != NULL)
			printf("corpus: %s (%s):%s\n", name, verdict, what);
	}
	for (v = 0; v < VERDICTS; v++)
		if (v == NONE || v == CRASHES)
			printf("corpus: %-16s %4d run\n", verdicts[v],
			    run[v]);
		else
			printf("corpus: %-16s %4d of %4d match\n",
			    verdicts[v], good[v], run[v]);
	free(results);
	free(except);
	if (getenv("CASE") != NULL)
		return;
	ck_assert_int_eq(wrong, 0);
	ck_assert_int_ge(good[SAME] + good[ALONE], FLOOR);
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
	printf("corpus: %-16s %4d of %4d match\n", "terminal outside", good,
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
	printf("corpus: %d fuzz inputs survived\n", count);
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
