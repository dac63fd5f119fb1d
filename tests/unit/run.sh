#!/bin/sh
# SPDX-License-Identifier: ISC
#
# run.sh BUILD PROGRAM...: runs the unit tests, two at a time, prints one line
# each (all of it when it failed) and the sum. A line "corpus: ..." or
# "SKIP ..." of a test is always shown.

b=$1
shift
out=$b/unit-out
rm -rf "$out"
mkdir -p "$out" build/results
case $b in
*asan*)	DLMUX_UNIT_TIMEOUT=${DLMUX_UNIT_TIMEOUT:-400} ;;
esac
export DLMUX_UNIT_TIMEOUT
DLMUX_CORPUS=${DLMUX_CORPUS:-../shared/corpus}
[ -d "$DLMUX_CORPUS" ] && DLMUX_CORPUS=$(cd "$DLMUX_CORPUS" && pwd)
export DLMUX_CORPUS

# shellcheck disable=SC2016
one='n=${1##*/}
timeout -k 5 "${DLMUX_UNIT_TIMEOUT:-120}" "$1" >"$0/$n.log" 2>&1
echo $? >"$0/$n.rc"'
printf '%s\n' "$@" | xargs -P 2 -n 1 sh -c "$one" "$out"

pass=0 fail=0 skip=0
for p in "$@"; do
	n=${p##*/}
	rc=$(cat "$out/$n.rc" 2>/dev/null || echo 99)
	log=$out/$n.log
	# "100%: Checks: 12, Failures: 0, Errors: 0", one a suite
	# shellcheck disable=SC2046
	set -- $(sed -n 's/^[0-9]*%: Checks: \([0-9]*\), Failures: \([0-9]*\), Errors: \([0-9]*\).*/\1 \2 \3/p' \
	    "$log" | awk '{ c += $1; f += $2 + $3 } END { print c+0, f+0 }')
	checks=$1 bad=$2
	[ "$rc" != 0 ] && [ "$bad" = 0 ] && bad=1 checks=$((checks + 1))
	s=$(grep -c '^SKIP' "$log")
	grep '^SKIP' "$log" | sed "s/^SKIP/$n:/" >>build/skips
	pass=$((pass + checks - bad)) fail=$((fail + bad)) skip=$((skip + s))
	if [ "$bad" = 0 ]; then
		printf 'ok   %-28s %s checks\n' "$n" "$checks"
		grep -E '^(corpus:|SKIP)' "$log" | sed 's/^/     /'
	else
		printf 'FAIL %-28s %s of %s (status %s)\n' "$n" "$bad" \
		    "$checks" "$rc"
		tail -n 60 "$log" | sed 's/^/     | /'
	fi
done
echo "unit: $pass passed, $fail failed, $skip skipped"
echo "$pass $fail $skip" >"build/results/unit-${b##*/}"
[ $fail = 0 ]
