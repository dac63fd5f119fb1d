#!/bin/sh
# SPDX-License-Identifier: ISC
#
# probe.sh DIR: prints make variables with the flags that this compiler and
# these libraries take. What is only nice to have is left out silently; what
# is needed and missing is named, with the way to get it.

dir=$1
tmp=$dir/probe.$$
mkdir -p "$tmp"
trap 'rm -rf "$tmp"' EXIT
pc=${PKG_CONFIG:-pkg-config}

missing() {
	echo "dlmux: missing: $1 (Debian: $2); 'make deps' installs it" >&2
	exit 1
}

# try FLAGS...: does an empty program compile and link with them?
echo 'int main(void) { return 0; }' >"$tmp/t.c"
try() {
	# shellcheck disable=SC2086
	$CC -Werror $base "$@" -o "$tmp/t" "$tmp/t.c" >/dev/null 2>&1
}
# compile FLAGS... < source
compile() {
	cat >"$tmp/c.c"
	# shellcheck disable=SC2086
	$CC -std=gnu11 -D_GNU_SOURCE $base "$@" -c -o "$tmp/c.o" "$tmp/c.c" \
	    >/dev/null 2>&1
}
# libs PACKAGE FALLBACK
libs() {
	$pc --libs "$1" 2>/dev/null || echo "$2"
}

base=
try || missing "a C compiler ($CC)" 'gcc libc6-dev'

cflags='-ffunction-sections -fdata-sections'
ldflags=
if [ -n "$SANITIZE" ]; then
	cflags="$cflags -fsanitize=$SANITIZE -fno-omit-frame-pointer"
	try -fno-sanitize-recover=all &&
	    cflags="$cflags -fno-sanitize-recover=all"
	[ "$FUZZ" = 1 ] && cflags="$cflags -fsanitize=fuzzer-no-link"
	# shellcheck disable=SC2086
	try $cflags || missing "the sanitizers of $CC ($SANITIZE)" \
	    'libgcc-dev, or clang and libclang-rt-dev'
else
	for f in -fstack-protector-strong -fstack-clash-protection \
	    -fcf-protection=full -mbranch-protection=standard \
	    -ftrivial-auto-var-init=zero \
	    -fno-asynchronous-unwind-tables \
	    '-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2 -O1'
	do
		# shellcheck disable=SC2086
		try $f && cflags="$cflags ${f% -O1}"
	done
fi
for f in -Wl,--gc-sections -Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack \
    -Wl,--build-id=sha1
do
	try "$f" && ldflags="$ldflags $f"
done

ev_c=$($pc --cflags libevent_core 2>/dev/null)
ev_l=$(libs libevent_core -levent_core)
vt_c=${VTERM_CFLAGS:-$($pc --cflags vterm 2>/dev/null)}
vt_l=${VTERM_LIBS:-$(libs vterm -lvterm)}
ti_c=$($pc --cflags tinfo 2>/dev/null || $pc --cflags ncursesw 2>/dev/null)
ti_l=$(libs tinfo "$(libs ncursesw -ltinfo)")
ck_c=$($pc --cflags check 2>/dev/null)
ck_l=$(libs check '-lcheck -lsubunit -lrt -lm')

# shellcheck disable=SC2086
echo '#include <event2/event.h>' | compile $ev_c ||
    missing 'libevent 2.1' libevent-dev
# shellcheck disable=SC2086
echo '#include <vterm.h>' | compile $vt_c || missing libvterm libvterm-dev
# shellcheck disable=SC2086
printf '#include <curses.h>\n#include <term.h>\n' | compile $ti_c ||
    missing 'terminfo (ncurses)' libncurses-dev

# libvterm 0.3 hands strings over in fragments; 0.1 has no such type.
# shellcheck disable=SC2086
if compile $vt_c <<'X'
#include <vterm.h>
VTermStringFragment f;
X
then
	vt_c="$vt_c -DHAVE_VTERM_03"
fi

# The linkage: static-pie, static, or as the compiler likes.
cat >"$tmp/l.c" <<'X'
#include <event2/event.h>
#include <vterm.h>
#include <curses.h>
#include <term.h>
int main(void)
{
	int e;
	struct event_base *b = event_base_new();
	VTerm *v = vterm_new(24, 80);
	return b == 0 || v == 0 || setupterm("dumb", 1, &e) == ERR;
}
X
link() {
	# shellcheck disable=SC2086
	$CC $cflags $ldflags $ev_c $vt_c $ti_c "$@" -o "$tmp/l" "$tmp/l.c" \
	    $ev_l $vt_l $ti_l >"$tmp/log" 2>&1
}
if [ "$STATIC" = 1 ]; then
	if link -fPIE -static-pie && TERM=dumb "$tmp/l" >/dev/null 2>&1; then
		cflags="$cflags -fPIE" ldflags="$ldflags -static-pie"
		# Relocations in bits, where linker and libc know them.
		relr=-Wl,-z,pack-relative-relocs
		link -fPIE -static-pie $relr && TERM=dumb "$tmp/l" \
		    >/dev/null 2>&1 &&
		    ldflags="$ldflags $relr"
	elif link -static; then
		ldflags="$ldflags -static"
	else
		cat "$tmp/log" >&2
		missing 'static libraries (or use STATIC=0)' \
		    'libevent-dev libvterm-dev libncurses-dev libc6-dev'
	fi
	# Without tables for unwinding, where the linker can leave them out; a
	# cross-built program cannot be tried, and keeps them.
	small='-Wl,--no-eh-frame-hdr -Wl,-T,tests/tools/no-unwind.ld'
	# shellcheck disable=SC2086
	link $small && TERM=dumb "$tmp/l" >/dev/null 2>&1 &&
	    ldflags="$ldflags $small"
else
	if link -fPIE -pie; then
		cflags="$cflags -fPIE" ldflags="$ldflags -pie"
	elif ! link; then
		cat "$tmp/log" >&2
		missing 'libraries to link with' \
		    'libevent-dev libvterm-dev libncurses-dev'
	fi
fi

# shellcheck disable=SC2086,SC2116
cat <<X
PROBED_CFLAGS := $cflags
PROBED_LDFLAGS := $ldflags
DEP_CFLAGS := $(echo $ev_c $vt_c $ti_c)
DEP_LIBS := $vt_l $ev_l $ti_l
CHECK_CFLAGS := $ck_c
CHECK_LIBS := $ck_l
X
