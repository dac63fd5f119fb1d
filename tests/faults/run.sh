#!/bin/sh
# SPDX-License-Identifier: ISC
#
# run.sh [SEEDS=200]: does the model test find a fault when there is one? Each
# patch here plants one; in a copy of the tree the model has to fail with it
# within so many seeds, and to pass without.

seeds=${1:-200}
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
tmp=$(mktemp -d "${TMPDIR:-/tmp}/dlmux-faults.XXXXXX") || exit 1
trap 'rm -rf "$tmp"' EXIT
trap 'exit 1' HUP INT TERM

cd "$top" || exit 1
mkdir "$tmp/build"
cp -a GNUmakefile client server term tests "$tmp/" || exit 1
if [ -f VERSION ]; then cp -a VERSION "$tmp/"; fi
if [ -d build/hooks ]; then cp -a build/hooks "$tmp/build/"; fi
cd "$tmp" || exit 1

# model NAME: builds it and runs it; what it says goes into NAME.log
model() {
	make HOOKS=1 build/hooks/tests/unit/check_model >"$1.log" 2>&1 || {
		cat "$1.log"
		echo "FAIL $1: does not build"
		exit 1
	}
	DLMUX_MODEL_SEEDS=$seeds timeout 300 \
	    build/hooks/tests/unit/check_model >>"$1.log" 2>&1
}

bad=0
if model none; then
	echo "ok   without a fault: $seeds seeds pass"
else
	tail -1 none.log
	echo "FAIL without a fault"
	bad=1
fi
for p in "$here"/*.patch; do
	n=$(basename "$p" .patch)
	patch -s -p1 <"$p" || exit 1
	if model "$n"; then
		echo "FAIL $n: not found within $seeds seeds"
		bad=1
	else
		echo "ok   $n: $(sed -n 's/^.*:0: //p' "$n.log" | tail -1)"
	fi
	patch -s -R -p1 <"$p" || exit 1
done
exit $bad
