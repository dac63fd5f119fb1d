#!/bin/sh
# SPDX-License-Identifier: ISC
#
# screen.sh [SECONDS=60] [PATTERN]: do the oracles of the screen find a fault
# when there is one? Each patch in screen/ plants one and names the oracle that
# has to find it within so many seconds:
#
#	soak	random cases against a terminal outside, and checkpoints
#	whole	the same with real processes
#	corpus	the corpus of terminal tests
#	packs	its fuzz packs, sanitized
#	terminals, pictures	what xterm shows (make terminals, make pictures)

limit=${1:-60} pattern=${2:-}
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
corpus=${DLMUX_CORPUS:-$top/../shared/corpus}
tmp=$(mktemp -d "${TMPDIR:-/tmp}/dlmux-faults.XXXXXX") || exit 1
trap 'rm -rf "$tmp"' EXIT
trap 'exit 1' HUP INT TERM

cd "$top" || exit 1
mkdir "$tmp/build"
cp -a GNUmakefile client server term tests "$tmp/" || exit 1
for v in plain asan-hooks; do
	[ -d build/$v ] && cp -a build/$v "$tmp/build/"
done
cp VERSION "$tmp/" 2>/dev/null || echo faulty >"$tmp/VERSION"
cd "$tmp" || exit 1

build() {
	if [ "$oracle" = packs ]; then
		make SANITIZE=address,undefined HOOKS=1 \
		    build/asan-hooks/tests/unit/check_corpus
	else
		make dlmux build/plain/tests/soak/soak \
		    build/plain/tests/unit/check_corpus
	fi >build.log 2>&1 && return
	tail -20 build.log
	echo "FAIL $1: does not build"
	exit 1
}

# look ORACLE: 0 if it finds nothing. The seconds it took go into $took.
look() {
	began=$(date +%s)
	case $1 in
	soak) (cd build/plain && tests/soak/soak -s 0 -t "$limit" 1) ;;
	whole) (cd build/plain && tests/soak/soak -s 0 -t "$limit" \
	    -w ./dlmux 1) ;;
	corpus) DLMUX_CORPUS=$corpus timeout "$limit" \
	    build/plain/tests/unit/check_corpus ;;
	packs) DLMUX_CORPUS=$corpus timeout "$limit" \
	    build/asan-hooks/tests/unit/check_corpus ;;
	terminals) DLMUX_CORPUS=/none timeout "$limit" \
	    tests/soak/terminals.py -t xterm -s 1 -n 3 ;;
	pictures) timeout "$limit" tests/soak/pictures.py wide ;;
	esac >look.log 2>&1
	found=$?
	took=$(($(date +%s) - began))
	return $found
}

bad=0
for p in "$here"/screen/*"$pattern"*.patch; do
	n=$(basename "$p" .patch)
	oracle=$(sed -n 's/^Oracle: //p' "$p")
	case $oracle in
	corpus|packs)
		[ -d "$corpus" ] || { echo "SKIP $n: no corpus here"; continue; } ;;
	terminals|pictures)
		tests/deps.sh -n pictures >/dev/null 2>&1 ||
		    { echo "SKIP $n: no xterm and all that here"; continue; } ;;
	esac
	patch -s -p1 <"$p" || exit 1
	build "$n"
	if look "$oracle"; then
		echo "FAIL $n: not found by $oracle within $limit s"
		bad=1
	else
		echo "ok   $n: found by $oracle in $took s:" \
		    "$(sed -n '/^step\|^client\|^corpus: .*differs\|^corpus: .*depends\|ERROR: Addr\|checkpoint at\|and back\|^xterm: \|NOT EXP/{p;q}' look.log | cut -c1-90)"
	fi
	patch -s -R -p1 <"$p" || exit 1
done
exit $bad
