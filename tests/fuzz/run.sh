#!/bin/sh
# SPDX-License-Identifier: ISC
#
# run.sh BUILD SECONDS [PATTERN]: each fuzz target for so long, from its
# seeds. What a target finds stays in BUILD/found.

b=$1 secs=$2 pat=${3:-}
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$b/found"
bad=0 n=0
for t in "$b"/tests/fuzz/fuzz_*; do
	[ -x "$t" ] || continue
	case $t in *"$pat"*) ;; *) continue ;; esac
	name=${t##*/fuzz_}
	new=$b/corpus/$name
	mkdir -p "$new"
	set -- "$new"
	[ -d "$here/seeds/$name" ] && set -- "$new" "$here/seeds/$name"
	if timeout $((secs + 60)) "$t" -max_total_time="$secs" -timeout=10 \
	    -rss_limit_mb=1024 -max_len=8192 -print_final_stats=1 \
	    -artifact_prefix="$b/found/$name-" "$@" >"$b/$name.log" 2>&1; then
		echo "ok   fuzz $name: $(sed -n \
		    's/^stat::number_of_executed_units: *//p' \
		    "$b/$name.log") runs"
	else
		echo "FAIL fuzz $name"
		tail -n 40 "$b/$name.log"
		bad=1
	fi
	n=$((n + 1))
done
echo "fuzz: $n targets"
exit $bad
