/* SPDX-License-Identifier: ISC */
/*
 * The soak's oracles, a fixed small number of them: cases that once failed
 * (tests/soak/cases), and random ones from one seed on. DLMUX_ORACLE_CASES
 * says how many, DLMUX_ORACLE_SEED from where; `make soak` runs as many as
 * wanted.
 */
#include <check.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../soak/oracle.h"
#include "unit.h"

#define CASES_DIR "tests/soak/cases"

static bool
both(struct soak_case *c, int rounds, struct buf *why)
{
	struct buf b;
	bool ok = oracle_run(c, why);
	size_t i;

	buf_init(&b, 16 << 20);
	for (i = 0; i < c->n; i++)
		buf_put(&b, c->steps[i].data, c->steps[i].len);
	for (i = 0; ok && i < (size_t)rounds; i++)
		ok = oracle_self(b.data, b.len, c->rows, c->cols, c->seed + i,
		    why);
	buf_free(&b);
	return ok;
}

START_TEST(cases_that_once_failed)
{
	struct soak_case *c;
	struct dirent *e;
	struct buf why;
	char path[512];
	int n = 0;
	FILE *fp;
	DIR *d;

	d = opendir(CASES_DIR);
	ck_assert_ptr_nonnull(d);
	while ((e = readdir(d)) != NULL) {
		if (strstr(e->d_name, ".case") == NULL)
			continue;
		snprintf(path, sizeof path, "%s/%s", CASES_DIR, e->d_name);
		fp = fopen(path, "r");
		ck_assert_ptr_nonnull(fp);
		c = case_read(fp);
		ck_assert_msg(c != NULL, "%s cannot be read", path);
		fclose(fp);
		buf_init(&why, 1 << 16);
		if (!both(c, 20, &why))
			ck_abort_msg("%s: %.*s", e->d_name, (int)why.len,
			    (char *)why.data);
		buf_free(&why);
		case_free(c);
		n++;
	}
	closedir(d);
	ck_assert_int_gt(n, 0);
}
END_TEST

START_TEST(random_cases)
{
	const char *n = getenv("DLMUX_ORACLE_CASES");
	const char *from = getenv("DLMUX_ORACLE_SEED");
	uint64_t seed = from != NULL ? strtoull(from, NULL, 10) : 1;
	uint64_t end = seed + (n != NULL ? strtoull(n, NULL, 10) : 300);
	struct soak_case *c;
	struct buf why;

	for (; seed < end; seed++) {
		c = case_random(seed);
		buf_init(&why, 1 << 16);
		if (!both(c, 1, &why))
			ck_abort_msg("seed %llu: %.*s (soak -1 %llu cuts it "
			    "down)", (unsigned long long)seed, (int)why.len,
			    (char *)why.data, (unsigned long long)seed);
		buf_free(&why);
		case_free(c);
	}
}
END_TEST

START_TEST(a_case_is_read_as_it_was_written)
{
	struct soak_case *a = case_random(7), *b;
	char *text = NULL, *again = NULL;
	size_t n, m;
	FILE *fp = open_memstream(&text, &n);

	case_write(a, fp);
	fclose(fp);
	fp = fmemopen(text, n, "r");
	b = case_read(fp);
	fclose(fp);
	ck_assert_ptr_nonnull(b);
	fp = open_memstream(&again, &m);
	case_write(b, fp);
	fclose(fp);
	ck_assert_str_eq(text, again);
	free(text);
	free(again);
	case_free(a);
	case_free(b);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("oracle");
	TCase *tc = tcase_create("oracle");

	tcase_set_timeout(tc, 120);
	tcase_add_test(tc, a_case_is_read_as_it_was_written);
	tcase_add_test(tc, cases_that_once_failed);
	tcase_add_test(tc, random_cases);
	suite_add_tcase(suite, tc);
	return suite_run(suite);
}
