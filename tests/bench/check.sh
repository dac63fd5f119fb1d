#!/bin/sh
# SPDX-License-Identifier: ISC
#
# check.sh BENCH DLMUX: the benchmark's own test. Its gates must hold for what
# is there and fail for a dlmux that was made slow on purpose; a false path
# must be noticed.

bench=$1
dlmux=$(realpath "$2")
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
failed=0

expect() { # STATUS WHAT ARG...
	want=$1
	what=$2
	shift 2
	"$bench" --no-table --quick "$@" >"$tmp/out" 2>&1
	got=$?
	if [ "$got" = "$want" ]; then
		echo "ok: $what"
	else
		echo "FAILED: $what: status $got, expected $want"
		cat "$tmp/out"
		failed=1
	fi
}

slow() { # FILE COMMAND SECONDS: this command takes so much longer
	cat >"$1" <<X
#!/bin/sh
[ "\$1" = $2 ] && sleep $3
exec $dlmux "\$@"
X
	chmod 755 "$1"
}

slow "$tmp/slow" ls 0.5
cat >"$tmp/lying" <<X
#!/bin/sh
[ "\$1" = ls ] && exit 0
exec $dlmux "\$@"
X
chmod 755 "$tmp/lying"

expect 0 "a gate that holds" --dlmux "$dlmux" --only ls \
    --assert 'ls_ms<=100xtrue' --assert 'ls_ms/8 shells.max<=400'
expect 1 "a planted slow-down fails the gate" --dlmux "$tmp/slow" --only ls \
    --assert 'ls_ms<=100xtrue' --assert 'ls_ms/8 shells.max<=400'
expect 1 "a gate on what was not measured" --dlmux "$dlmux" --only ls \
    --assert 'send_ms<=100xtrue'
expect 1 "a command that does not do its work" --dlmux "$tmp/lying" --only ls
expect 2 "no assertion" --dlmux "$dlmux" --only ls --assert 'ls_ms is fast'
expect 2 "no such group" --dlmux "$dlmux" --only lss
exit $failed
