#!/bin/bash
# SPDX-License-Identifier: ISC
#
# pictures.sh [OUT]: what xterm shows of a program directly, and what it shows
# through dlmux after a detach, an attach in another xterm, and a resize there
# and back. Prints the number of differing pixels for each; the pictures stay
# in OUT (build/pictures). Needs Xvfb, xterm, ImageMagick, vim, git.

top=$(cd "$(dirname "$0")/../.." && pwd)
out=$(mkdir -p "${1:-$top/build/pictures}" && cd "${1:-$top/build/pictures}" && pwd)
dlmux=${DLMUX_BIN:-$top/dlmux}
for p in Xvfb xterm import compare vim git; do
	command -v $p >/dev/null || { echo "SKIP pictures: no $p here"; exit 0; }
done

tmp=$(mktemp -d /tmp/dlpXXXXXX) || exit 1
export HOME=$tmp TERM=xterm-256color SHELL=/bin/sh LANG=C.UTF-8
unset COLORTERM TMUX VTE_VERSION
pids=
finish() {
	for p in $pids; do kill "$p" 2>/dev/null; done
	"$dlmux" kill -a >/dev/null 2>&1
	"$dlmux" server stop >/dev/null 2>&1
	rm -rf "$tmp"
}
trap finish EXIT
trap 'exit 1' HUP INT TERM

# Everything that is shown, the same each time.
cp "$top/term/view.c" "$tmp/view.c"
printf 'syntax on\nset nocompatible number ruler background=dark\nset shortmess+=I noswapfile viminfo=\n' >"$tmp/vimrc"
cat >"$tmp/wide" <<'END'
Latin: Käse, naïve, œuvre    Greek: αβγδε    Cyrillic: Привет
CJK:   你好世界 日本語テキスト 한국어
Emoji: 😀 🎉 🚀 👍 🐛 🔥   Signs: ✓ ✗ → ← ↑ ↓ ★ ☆
Boxes: ┌────┬────┐  ░▒▓█  ╔══╗
       │ a  │ b  │  ▁▂▃▄▅▆▇█  ║  ║
       └────┴────┘  ╚══╝
Marks: é (e+´), ñ (n+~), ก็ Thai, नमस्ते
A long line that goes on beyond the right margin of a terminal of ninety columns and wraps into the next.
END
git -C "$top" log -40 --graph --color=always --oneline --decorate >"$tmp/graph"
# A frame of htop as it was drawn once: the same twice.
{
	printf '\033[?1049h\033[H\033[2J\033[?25l'
	for c in 1 2; do
		printf '  \033[36m%d\033[1;39m[\033[0;32m||||||||\033[31m|||\033[34m||\033[1;30m              37.%d%%\033[39m]\033[m\r\n' $c $c
	done
	printf '  \033[36mMem\033[1m[\033[0;32m|||||||\033[34m||\033[33m||||\033[1;30m  1.52G/7.6G\033[39m]\033[m\r\n\r\n'
	printf '\033[30;42m  PID USER      PRI  NI  VIRT   RES   SHR S CPU%% MEM%%   TIME+  Command\033[K\033[m\r\n'
	for i in 1 2 3 4 5 6 7 8 9; do
		[ $i = 3 ] && printf '\033[30;46m'
		printf '%5d root       20   0 %4dM %4dM  %3dM S  %d.%d  0.%d  0:0%d.42 ' $((i * 731)) $((i * 97)) $((i * 12)) $i $((9 - i)) $i $i $i
		[ $i = 3 ] || printf '\033[32m'
		printf '/usr/lib/systemd/systemd-%d \033[1m--x\033[K\033[m\r\n' $i
	done
	printf '\033[24;1HF1\033[30;46mHelp  \033[mF2\033[30;46mSetup \033[mF3\033[30;46mSearch\033[mF10\033[30;46mQuit  \033[K\033[m'
} >"$tmp/top"

Xvfb -displayfd 3 -screen 0 1600x1000x24 3>"$tmp/display" 2>/dev/null &
pids="$pids $!"
for _ in $(seq 100); do [ -s "$tmp/display" ] && break; sleep 0.1; done
DISPLAY=:$(cat "$tmp/display")
export DISPLAY

# xterm GEOMETRY COMMAND...: its pid goes into $x
term() {
	g=$1
	shift
	xterm -u8 -fa 'DejaVu Sans Mono' -fs 11 -geometry "$g+0+0" -b 0 \
	    -tn xterm-256color -xrm 'XTerm*allowWindowOps: true' \
	    -xrm 'XTerm*cursorBlink: false' -e "$@" 2>/dev/null &
	x=$!
	pids="$pids $x"
}

# Until two pictures in a row are the same.
still() {
	rm -f "$tmp/a.png"
	for _ in $(seq 60); do
		import -window root "$tmp/b.png" 2>/dev/null
		[ -e "$tmp/a.png" ] && [ "$(compare -metric AE "$tmp/a.png" \
		    "$tmp/b.png" null: 2>&1)" = 0 ] && n=$((n + 1)) || n=0
		[ "$n" -ge 2 ] && break
		mv "$tmp/b.png" "$tmp/a.png"
		sleep 0.3
	done
	cp "$tmp/a.png" "$1"
}

gone() {
	kill "$x" 2>/dev/null
	wait "$x" 2>/dev/null
}

# The xterm changes its size, as if its user had.
resize() {
	tty=$(ps -o tty= --ppid "$x" | head -1)
	# shellcheck disable=SC1003
	printf '\033[8;%d;%dt' "$1" "$2" >"/dev/${tty# }"
}

# there_and_back PICTURE: larger, pictured, and as before
there_and_back() {
	resize 32 110
	sleep 0.5
	still "$1"
	resize 24 90
	sleep 0.5
}

differ() {
	n=$(compare -metric AE "$out/$1.png" "$out/$2.png" \
	    "$out/$2-diff.png" 2>&1)
	echo "$3: $n pixels differ"
	[ "$n" = 0 ] || bad=1
}

show() {
	name=$1
	shift
	term 90x24 "$@"
	sleep 0.5
	still "$out/$name-direct.png"
	there_and_back "$tmp/larger-direct.png"
	still "$out/$name-direct-resized.png"
	gone
	term 90x24 "$dlmux" attach "local:$name" -- "$@"
	sleep 0.5
	still "$tmp/first.png"
	"$dlmux" detach "local:$name"
	gone
	term 90x24 "$dlmux" attach "local:$name"
	sleep 0.5
	still "$out/$name-attach.png"
	there_and_back "$out/$name-larger.png"
	still "$out/$name-resized.png"
	gone
	differ "$name-direct" "$name-attach" "$name after detach and attach"
	# A program may draw another picture after a resize (vim takes its
	# message away): so resized directly, too.
	differ "$name-direct-resized" "$name-resized" "$name after resize"
	"$dlmux" kill "local:$name" >/dev/null 2>&1
}

bad=0
show vim vim -u "$tmp/vimrc" +42 "$tmp/view.c"
show top sh -c "cat $tmp/top; exec sleep 1000"
show wide sh -c "cat $tmp/wide; exec sleep 1000"
show graph sh -c "cat $tmp/graph; exec sleep 1000"
exit $bad
