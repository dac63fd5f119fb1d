#!/bin/sh
# SPDX-License-Identifier: ISC
#
# lint.sh: cppcheck (or clang-tidy) over the sources, shellcheck over the
# scripts, mandoc over the man pages, Python's own compiler over the tests. A
# tool that is not here is said so and is no failure.

cd "$(dirname "$0")/.." || exit 1
bad=0
have() {
	command -v "$1" >/dev/null 2>&1 || {
		echo "lint: no $1 here; left out ('tests/deps.sh lint')"
		return 1
	}
}
step() {
	name=$1
	shift
	if "$@"; then echo "lint: $name ok"; else
		echo "lint: $name FAILED" >&2
		bad=1
	fi
}

if have cppcheck; then
	# Of the system's headers it needs the macros that look like syntax.
	queue=$(find /usr/include -path '*sys/queue.h' 2>/dev/null |
	    head -n 1)
	step cppcheck cppcheck -q -j "$(nproc)" --std=c11 --inline-suppr \
	    --enable=warning,portability --error-exitcode=1 \
	    --suppress=missingIncludeSystem --suppress=unknownMacro \
	    --suppress=nullPointerOutOfMemory \
	    --suppress=uninitvar:server/agent/front.c \
	    --suppress=autoVariables:term/checkpoint.c \
	    --suppress=invalidPrintfArgType_uint:server/agent/peer.c \
	    ${queue:+"--include=$queue"} \
	    -D__linux__ -D_GNU_SOURCE client server term
elif have clang-tidy; then
	# shellcheck disable=SC2046
	step clang-tidy clang-tidy --quiet --warnings-as-errors='*' \
	    --checks='-*,bugprone-infinite-loop,clang-analyzer-core.*,clang-analyzer-unix.Malloc' \
	    $(find client server term -name '*.c') -- -std=gnu11 -D_GNU_SOURCE
fi
if have shellcheck; then
	# SC2317: a function that a trap calls is not unreachable.
	# shellcheck disable=SC2046
	step shellcheck shellcheck -e SC2317 -x .ci/run \
	    $(find tests -name '*.sh')
fi
if have mandoc; then
	pages=$(ls doc/*.[1-9] 2>/dev/null)
	# shellcheck disable=SC2086
	[ -z "$pages" ] || step man-pages mandoc -Tlint -Wwarning $pages
fi
if have python3; then
	# shellcheck disable=SC2046
	step python python3 -c 'import ast, sys
for f in sys.argv[1:]:
    ast.parse(open(f).read(), f)' tests/e2e/run $(find tests -name '*.py')
fi

# The house rules that a grep can hold.
rule() { # NAME PATTERN
	hit=$(find client server term -name '*.[ch]' -exec grep -nE "$2" {} + |
	    grep -v 'lint: ok')
	[ -z "$hit" ] || {
		echo "lint: $1:" >&2
		echo "$hit" | head -n 20 >&2
		bad=1
	}
}
rule 'trailing blanks' '[ 	]+$'
rule 'an unbounded string function' '[^_a-z](strcpy *\([^"]*\)|(strcat|sprintf|gets) *\()'
# shellcheck disable=SC2044
for f in $(find client server term tests -name '*.[ch]' -o -name '*.sh' \
    -o -name '*.py'); do
	head -n 2 "$f" | grep -q 'SPDX-License-Identifier: ISC' || {
		echo "lint: $f: no licence line" >&2
		bad=1
	}
done
[ $bad = 0 ] && echo "lint: ok"
exit $bad
