#!/bin/sh
# SPDX-License-Identifier: ISC
#
# doc.sh [REPORT]: puts a report, made now or given, into doc/benchmarks.md.

cd "$(dirname "$0")/../.." || exit 1
doc=doc/benchmarks.md
tmp=$(mktemp) || exit 1
trap 'rm -f "$tmp" "$doc.tmp"' EXIT
if [ $# -gt 0 ]; then
	cp "$1" "$tmp" || exit 1
else
	make -s all build/plain/tests/bench/bench || exit 1
	# A target that is missed belongs into the report as well.
	build/plain/tests/bench/bench --no-table --markdown "$tmp"
	[ -s "$tmp" ] || exit 1
fi
sed '/^## A whole report$/q' "$doc" >"$doc.tmp" && echo >>"$doc.tmp" &&
    cat "$tmp" >>"$doc.tmp" && mv "$doc.tmp" "$doc"
