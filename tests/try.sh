#!/bin/sh
# SPDX-License-Identifier: ISC
#
# try.sh: with a terminal, a shell in the workspace `local`. Without one, the
# same job by script: start a shell, send it a command, wait, look at the
# screen, run a command with its own status; each step is printed.

cd "$(dirname "$0")/.." || exit 1
d=${DLMUX_BIN:-$PWD/dlmux}

if [ -t 0 ] && [ -t 1 ] && [ -z "${DLMUX_TRY_SCRIPT:-}" ]; then
	echo "This is a shell in the workspace 'local'. Detach with C-\\ d."
	echo "Come back with: ./dlmux attach local"
	exec "$d" attach local
fi

s=try$$
fail() {
	echo "try: $1" >&2
	"$d" kill "local:$s" >/dev/null 2>&1
	exit 1
}
show() {
	echo "\$ dlmux $*"
	timeout 30 "$d" "$@"
}

show new "local:$s" || fail "no shell"
show send --wait text='^sum 42$' --timeout 20 "local:$s" \
    "echo sum \$((6*7))" || fail "the command's output did not come"
show capture "local:$s" >"${TMPDIR:-/tmp}/dlmux-try.$$" ||
    fail "no picture of the screen"
grep -v '^$' "${TMPDIR:-/tmp}/dlmux-try.$$"
grep -q '^sum 42' "${TMPDIR:-/tmp}/dlmux-try.$$" ||
    fail "the screen does not show it"
rm -f "${TMPDIR:-/tmp}/dlmux-try.$$"
show exec local -- sh -c 'echo out; echo err >&2; exit 3'
rc=$?
echo "(status $rc)"
[ $rc = 3 ] || fail "exec returned $rc, not 3"
show ls || fail "ls"
show kill "local:$s" || fail "kill"
echo "try: all done; the real thing: ./dlmux attach local"
