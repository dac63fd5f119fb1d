#!/bin/sh
# SPDX-License-Identifier: ISC
#
# doc.sh [REPORT]: puts a report, made now or given, into doc/benchmarks.md. Made
# now it takes seven minutes on a machine that does nothing else.

cd "$(dirname "$0")/../.." || exit 1
doc=doc/benchmarks.md
tmp=$(mktemp) || exit 1
trap 'rm -f "$tmp" "$doc.tmp"' EXIT
if [ $# -gt 0 ]; then
	cp "$1" "$tmp" || exit 1
else
	make -s all build/plain/tests/bench/bench || exit 1
	load=$(cut -d' ' -f1 /proc/loadavg 2>/dev/null)
	case $load in
	''|0.*) ;;
	*) echo "doc.sh: the load is $load; figures for the document want a" \
	    "machine that does nothing else" >&2 ;;
	esac
	# A target that is missed belongs into the report as well.
	build/plain/tests/bench/bench --no-table --markdown "$tmp"
	[ -s "$tmp" ] || exit 1
fi
sed '/^## A whole report$/q' "$doc" >"$doc.tmp" && echo >>"$doc.tmp" &&
    cat "$tmp" >>"$doc.tmp" && mv "$doc.tmp" "$doc"
