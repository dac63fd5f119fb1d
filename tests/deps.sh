#!/bin/sh
# SPDX-License-Identifier: ISC
#
# deps.sh [-n] GROUP...: lists what the groups (build test container lint
# fuzz pictures) need and this machine lacks, and installs it where it may: with
# apt-get, as root or by sudo. Elsewhere it prints the command to run. -n only
# lists. The container group is welcome, not needed: its failure is no failure.

set -u
dry=0
[ "${1:-}" = -n ] && { dry=1; shift; }
groups=${*:-build test}
cc=${CC:-cc}
command -v "$cc" >/dev/null 2>&1 || cc=gcc
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT

# group | test of presence | apt | dnf | pacman | apk | brew
table() {
	cat <<'X'
build|cc|gcc|gcc|gcc|gcc|gcc
build|hdr stdio.h|libc6-dev|glibc-devel glibc-static|glibc|musl-dev linux-headers|-
build|cmd make|make|make|make|make|make
build|cmd ar|binutils|binutils|binutils|binutils|binutils
build|cmd pkg-config|pkg-config|pkgconf|pkgconf|pkgconf|pkgconf
build|hdr event2/event.h|libevent-dev|libevent-devel|libevent|libevent-dev libevent-static|libevent
build|hdr vterm.h|libvterm-dev|libvterm-devel|libvterm|libvterm-dev libvterm-static|libvterm
build|hdr term.h|libncurses-dev|ncurses-devel ncurses-static|ncurses|ncurses-dev ncurses-static|ncurses
build|cmd infocmp|ncurses-bin|ncurses|ncurses|ncurses|ncurses
test|hdr check.h|check|check-devel subunit-devel|check|check-dev|check
test|cmd ssh|openssh-client|openssh-clients|openssh|openssh-client|openssh
test|cmd sshd|openssh-server|openssh-server|openssh|openssh-server|-
test|cmd python3|python3|python3|python|python3|python
test|cmd tmux|tmux|tmux|tmux|tmux|tmux
test|terminfo tmux-256color|ncurses-term|ncurses-term|ncurses|ncurses-terminfo|ncurses
test|cmd ps|procps|procps-ng|procps-ng|procps|-
test|cmd patch|patch|patch|patch|patch|gpatch
test|cmd flock|util-linux|util-linux|util-linux|util-linux|util-linux
test|cmd zsh|zsh|zsh|zsh|zsh|zsh
test|cmd fish|fish|fish|fish|fish|fish
test|cmd tcsh|tcsh|tcsh|tcsh|tcsh|tcsh-shell
test|cmd busybox|busybox-static|busybox|busybox|busybox-static|-
test|vim|vim|vim-enhanced|vim|vim|vim
test|cmd less|less|less|less|less|less
test|cmd htop|htop|htop|htop|htop|htop
container|cmd busctl|systemd|systemd|systemd|-|-
container|cmd dbus-daemon|dbus|dbus-daemon|dbus|-|-
container|file /usr/lib/systemd/user/dbus.socket|dbus-user-session|dbus-broker|dbus|-|-
container|pam systemd|libpam-systemd|systemd-pam|systemd|-|-
container|pam google_authenticator|libpam-google-authenticator|google-authenticator|libpam-google-authenticator|google-authenticator|-
container|cmd podman|podman|podman|podman|podman|podman
container|cmd runc|runc|runc|runc|runc|-
pictures|cmd Xvfb|xvfb|xorg-x11-server-Xvfb|xorg-server-xvfb|xvfb|-
pictures|cmd xterm|xterm|xterm|xterm|xterm|xterm
pictures|cmd import|imagemagick|ImageMagick|imagemagick|imagemagick|imagemagick
pictures|cmd vttest|vttest|vttest|-|-|vttest
pictures|cmd fc-list|fontconfig|fontconfig|fontconfig|fontconfig|fontconfig
pictures|font family=DejaVuSansMono|fonts-dejavu-core|dejavu-sans-mono-fonts|ttf-dejavu|font-dejavu|-
pictures|font charset=4f60|fonts-noto-cjk|google-noto-sans-cjk-ttc-fonts|noto-fonts-cjk|font-noto-cjk|-
pictures|font charset=1f680|fonts-symbola|gdouros-symbola-fonts|-|-|-
lint|cmd cppcheck|cppcheck|cppcheck|cppcheck|cppcheck|cppcheck
lint|cmd shellcheck|shellcheck|ShellCheck|shellcheck|shellcheck|shellcheck
lint|cmd mandoc|mandoc|mandoc|mandoc|mandoc|mandoc
fuzz|fuzzer|clang libclang-rt-dev|clang compiler-rt|clang compiler-rt|clang compiler-rt|llvm
X
}

# The test of one line; a directory of system programs may be out of PATH.
present() {
	case $1 in
	cc)
		command -v "$cc" ;;
	cmd)
		PATH=$PATH:/usr/sbin:/sbin command -v "$2" ;;
	hdr)
		echo "#include <$2>" >"$tmp/h.c"
		case $2 in
		term.h) printf '#include <curses.h>\n#include <term.h>\n' \
		    >"$tmp/h.c" ;;
		check.h) echo '#include <check.h>' >"$tmp/h.c" ;;
		esac
		# shellcheck disable=SC2046
		"$cc" $(pkg-config --cflags libevent_core vterm tinfo \
		    2>/dev/null) -D_GNU_SOURCE -E -o /dev/null "$tmp/h.c" ;;
	file)
		[ -e "$2" ] ;;
	pam)
		set -- "$2" /usr/lib*/security/pam_"$2".so \
		    /lib*/security/pam_"$2".so \
		    /lib*/*-linux-*/security/pam_"$2".so
		while [ $# -gt 1 ]; do
			[ -e "$2" ] && return
			shift
		done
		false ;;
	vim)	# the small vim knows no mouse
		vim --version 2>/dev/null | grep -q '+mouse' ;;
	font)	# a pattern of fontconfig's
		fc-list ":$2" | grep -q . ;;
	terminfo)
		infocmp "$2" ;;
	fuzzer)
		echo 'int LLVMFuzzerTestOneInput(void){return 0;}' >"$tmp/f.c"
		clang -fsanitize=fuzzer,address -o "$tmp/f" "$tmp/f.c" ;;
	esac >/dev/null 2>&1
}

# libclang-rt-dev is a name of newer Debians; bookworm numbers it.
apt_name() {
	if [ "$1" = libclang-rt-dev ] &&
	    ! apt-cache show "$1" 2>/dev/null | grep -q .; then
		v=$(apt-cache depends clang 2>/dev/null |
		    sed -n 's/.*clang-\([0-9]*\)$/\1/p' | head -n 1)
		echo "libclang-rt-${v:-14}-dev"
	else
		echo "$1"
	fi
}

# names COLUMN GROUP...: the packages of what is missing.
need=$tmp/need
: >"$need"
table >"$tmp/table"
while IFS='|' read -r g t apt dnf pac apk brew; do
	case " $groups " in *" $g "*) ;; *) continue ;; esac
	# shellcheck disable=SC2086
	present $t || echo "$g|$apt|$dnf|$pac|$apk|$brew" >>"$need"
done <"$tmp/table"

names() { # COLUMN [-o: only optional | -r: only required]
	case ${2:-} in
	-o) grep '^container|' "$need" ;;
	-r) grep -v '^container|' "$need" ;;
	*) cat "$need" ;;
	esac | cut -d '|' -f "$1" | tr ' ' '\n' | grep -v '^-$' | sort -u |
	    tr '\n' ' ' | sed 's/ $//'
}

[ -s "$need" ] || { echo "deps: nothing missing ($groups)"; exit 0; }
echo "deps: missing: $(names 2)"

manual() {
	echo "deps: install it with:" >&2
	if command -v apt-get >/dev/null 2>&1; then
		echo "  sudo apt-get install $(names 2)" >&2
	elif command -v dnf >/dev/null 2>&1; then
		echo "  sudo dnf install $(names 3)" >&2
	elif command -v pacman >/dev/null 2>&1; then
		echo "  sudo pacman -S --needed $(names 4)" >&2
	elif command -v apk >/dev/null 2>&1; then
		echo "  sudo apk add $(names 5)" >&2
	elif command -v brew >/dev/null 2>&1; then
		echo "  brew install $(names 6)" >&2
	else
		echo "  apt-get install $(names 2)" >&2
		echo "  dnf install $(names 3)" >&2
		echo "  pacman -S --needed $(names 4)" >&2
		echo "  apk add $(names 5)" >&2
		echo "  brew install $(names 6)" >&2
	fi
}
[ $dry = 1 ] && { manual; exit 1; }

required=$(names 2 -r)
optional=$(names 2 -o)
as=
if ! command -v apt-get >/dev/null 2>&1; then
	manual
	[ -z "$required" ]
	exit
elif [ "$(id -u)" != 0 ]; then
	if command -v sudo >/dev/null 2>&1 &&
	    { sudo -n true 2>/dev/null || [ -t 0 ]; }; then
		as=sudo
	else
		manual
		[ -z "$required" ]
		exit
	fi
fi

install() {
	# shellcheck disable=SC2086
	$as env DEBIAN_FRONTEND=noninteractive apt-get install -y -q \
	    --no-install-recommends "$@" >"$tmp/log" 2>&1
}
expand() {
	for n in "$@"; do
		apt_name "$n"
	done
}
update() {
	# shellcheck disable=SC2086
	$as apt-get update -q >"$tmp/uplog" 2>&1 || tail -n 5 "$tmp/uplog" >&2
	updated=1
}

updated=0
set -- /var/lib/apt/lists/*_Packages*
[ -e "$1" ] || update
rc=0
if [ -n "$required" ]; then
	# shellcheck disable=SC2046,SC2086
	set -- $(expand $required)
	echo "deps: installing $*"
	install "$@" || {
		[ $updated = 1 ] || update
		install "$@"
	} || {
		tail -n 15 "$tmp/log" >&2
		manual
		rc=1
	}
fi
if [ $rc = 0 ] && [ -n "$optional" ]; then
	echo "deps: installing $optional (optional)"
	# shellcheck disable=SC2086
	install $optional || {
		[ $updated = 1 ] || update
		install $optional
	} || echo "deps: $optional could not be installed; its tests SKIP"
fi
exit $rc
