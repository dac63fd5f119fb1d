#!/bin/sh
# SPDX-License-Identifier: ISC
#
# symbols.sh BUILD: the rooms keep to themselves. The agent and what it stands
# on know no terminal library; nothing of ours calls what a static glibc would
# load modules for; the term room opens no socket and knows no event loop.

b=$1
bad=0
deny() { # ARCHIVE PATTERN REASON
	[ -f "$b/$1.a" ] || return 0
	hit=$(nm -u "$b/$1.a" 2>/dev/null | awk '{ print $NF }' |
	    grep -E "$2" | sort -u | tr '\n' ' ')
	if [ -n "$hit" ]; then
		echo "symbols: $1.a uses $hit: $3" >&2
		bad=1
	fi
}

for a in base wire agent link server; do
	deny "$a" '^(setupterm|tiget|tigetstr|tigetnum|tparm|tputs|initscr)' \
	    'terminfo belongs to term and client'
done
for a in base wire agent link; do
	deny "$a" '^vterm_' 'libvterm belongs to term'
done
deny term '^(event_|evbuffer_|bufferevent_|socket$|connect$|accept)' \
    'term knows no sockets'
for a in base wire agent link server term client; do
	deny "$a" '^(getpw|getgr|getaddrinfo|gethostby|getserv|iconv|setlocale|dlopen|initgroups)' \
	    'a static glibc would load modules for it'
done
if grep -lE '#include <vterm\.h>' client/*.c server/*.c server/*/*.c \
    term/*.[ch] 2>/dev/null | grep -v '^term/vt\.c$' | grep .; then
	echo "symbols: only term/vt.c includes <vterm.h>" >&2
	bad=1
fi
# The static program is sent over slow lines, whole.
size=$(stat -c %s dlmux 2>/dev/null || echo 0)
if [ "$size" -ge 1600000 ] && ! ldd dlmux >/dev/null 2>&1; then
	echo "symbols: dlmux has $size bytes, 1600000 are too many" >&2
	bad=1
fi

# Two rooms with one name: the linker would silently take the first.
twice=$(for a in base wire agent link server term client; do
	nm -g --defined-only "$b/$a.a" 2>/dev/null |
	    awk 'NF == 3 { print $3 }' | sort -u
done | sort | uniq -d | tr '\n' ' ')
if [ -n "$twice" ]; then
	echo "symbols: defined in two archives: $twice" >&2
	bad=1
fi
[ $bad = 0 ] && echo "symbols: ok"
exit $bad
