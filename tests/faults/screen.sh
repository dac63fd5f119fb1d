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
[ -d build/plain ] && cp -a build/plain "$tmp/build/"
cp VERSION "$tmp/" 2>/dev/null || echo faulty >"$tmp/VERSION"
cd "$tmp" || exit 1

build() {
	make build/plain/tests/soak/soak build/plain/dlmux \
	    build/plain/tests/unit/check_corpus >build.log 2>&1 && return
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
	esac >look.log 2>&1
	found=$?
	took=$(($(date +%s) - began))
	return $found
}

bad=0
for p in "$here"/screen/*"$pattern"*.patch; do
	n=$(basename "$p" .patch)
	oracle=$(sed -n 's/^Oracle: //p' "$p")
	if [ "$oracle" = corpus ] && [ ! -d "$corpus" ]; then
		echo "SKIP $n: no corpus here"
		continue
	fi
	patch -s -p1 <"$p" || exit 1
	build "$n"
	if look "$oracle"; then
		echo "FAIL $n: not found by $oracle within $limit s"
		bad=1
	else
		echo "ok   $n: found by $oracle in $took s:" \
		    "$(sed -n '/^step\|^client\|:F:corpus\|^corpus: .*differs\|checkpoint at\|and back/{p;q}' look.log | cut -c1-90)"
	fi
	patch -s -R -p1 <"$p" || exit 1
done
exit $bad
