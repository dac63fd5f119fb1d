#!/bin/sh
# SPDX-License-Identifier: ISC
#
# sum.sh DIR: adds up what the test runners left there ("passed failed
# skipped" a file), and says so in one line.

# shellcheck disable=SC2086
cat $1/* 2>/dev/null | awk '{ p += $1; f += $2; s += $3 }
END { printf "%d passed, %d failed, %d skipped\n", p, f, s; exit f > 0 }'
