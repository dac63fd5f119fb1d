/* SPDX-License-Identifier: ISC */
/*
 * Expressions of users; see pattern.h.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "limits.h"
#include "mem.h"
#include "pattern.h"

/* regcomp() copies what a repeat count multiplies, and back-references make
 * regexec() search for ever; neither may stop the server. */
static bool
pattern_bounded(const char *s, char **cause)
{
	unsigned long total = 1, n, m;
	char *end;

	if (strlen(s) > WAIT_REGEX_MAX) {
		*cause = xasprintf("the expression is longer than %u bytes",
		    WAIT_REGEX_MAX);
		return false;
	}
	for (; *s != '\0'; s++) {
		if (*s == '\\') {
			if (s[1] >= '1' && s[1] <= '9') {
				*cause = xstrdup("back-references are not "
				    "supported");
				return false;
			}
			if (s[1] != '\0')
				s++;
		} else if (*s == '{' && s[1] >= '0' && s[1] <= '9') {
			n = m = strtoul(s + 1, &end, 10);
			if (*end == ',')
				m = strtoul(end + 1, &end, 10);
			if (m > n)
				n = m;
			if (n > WAIT_REPEAT_MAX ||
			    (total *= n > 1 ? n : 1) > WAIT_REPEAT_MAX) {
				*cause = xasprintf("repeat counts of more than "
				    "%u in all", WAIT_REPEAT_MAX);
				return false;
			}
		}
	}
	return true;
}

int
pattern_compile(regex_t *regex, const char *s, char **cause)
{
	char text[256];
	int error;

	if (!pattern_bounded(s, cause))
		return -1;
	if ((error = regcomp(regex, s, REG_EXTENDED)) == 0)
		return 0;
	regerror(error, regex, text, sizeof text);
	*cause = xasprintf("\"%s\": %s", s, text);
	return -1;
}
