#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""pictures.py [-o OUT] [NAME...]: what xterm shows of a program directly, and
what it shows through dlmux after a detach and an attach in another xterm,
after it is made larger there, and after it is as before. Prints the number of
pixels that differ for each; the pictures stay in OUT (build/pictures)."""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile

from realterm import (DEADLINE, DLMUX, EDGES, TOP, Display, Xterm, differ,
                      home, leave, missing, picture, wait_for)

SIZE, LARGER = (24, 90), (32, 110)
# Printed once, by a program that draws nothing again: larger, it is another
# picture, for xterm wraps no line anew, and dlmux does.
REFLOWED = ('wide',)

TEXT = '''\
Latin: Käse, naïve, œuvre    Greek: αβγδε    Cyrillic: Привет
CJK:   你好世界 日本語テキスト 한국어 ｆｕｌｌ
Emoji: 😀 🎉 🚀 👍 🐛 🔥   Signs: ✓ ✗ → ← ↑ ↓ ★ ☆
Boxes: ┌────┬────┐  ░▒▓█  ╔══╗
       │ a  │ b  │  ▁▂▃▄▅▆▇█  ║  ║
       └────┴────┘  ╚══╝
Marks: é (e+´), ñ (n+~), ก็ Thai, नमस्ते
\033[1mbold\033[m \033[2mfaint\033[m \033[3mitalic\033[m \033[4mline\033[m \
\033[7mreverse\033[m \033[9mstruck\033[m \033[38;5;208mcolour 208\033[m \
\033[48;2;40;80;120mdirect 你好\033[m
A long line that goes on beyond the right margin of a terminal of ninety \
columns and wraps into the next.
'''
VIMRC = '''\
syntax on
set nocompatible number ruler background=dark hlsearch
set shortmess+=I noswapfile viminfo=
'''
# htop in a process namespace of its own, with the numbers of the machine as
# they were: two looks at it are the same. What processes use is left out.
HTOPRC = '''\
htop_version=3.2.2
config_reader_min_version=3
header_layout=two_50_50
column_meters_0=AllCPUs Memory Swap
column_meter_modes_0=1 1 1
column_meters_1=Tasks LoadAverage Uptime
column_meter_modes_1=2 2 2
show_cpu_usage=1
screen:Main=PID USER PRIORITY NICE STATE Command
.sort_key=PID
.tree_view=0
delay=15
'''
FROZEN = '''\
for f in stat meminfo loadavg uptime; do
	mount --bind %(tmp)s/$f /proc/$f || exit 1
done
sleep 1000 & sleep 2000 &
exec htop
'''


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, 'w', encoding='utf-8') as f:
        f.write(text)
    return path


def history(tmp):
    """A repository with branches and merges."""
    repo = os.path.join(tmp, 'repo')
    env = dict(os.environ, GIT_CONFIG_GLOBAL='/dev/null',
               GIT_CONFIG_SYSTEM='/dev/null')
    for who in ('AUTHOR', 'COMMITTER'):
        env.update({'GIT_%s_NAME' % who: 'Käthe Müller',
                    'GIT_%s_EMAIL' % who: 'kaethe@example.org',
                    'GIT_%s_DATE' % who: '2024-02-29T12:00:00+0100'})

    def git(*args):
        subprocess.run(['git', '-C', repo] + list(args), check=True, env=env,
                       stdout=subprocess.DEVNULL)

    def commit(name, text):
        write(os.path.join(repo, name), text)
        git('add', name)
        git('commit', '-q', '-m', '%s: %s' % (name, text.split('\n')[0]))

    os.mkdir(repo)
    git('init', '-q', '-b', 'main')
    commit('main', 'the beginning, 最初のコミット\n')
    for i, branch in enumerate(('left', 'right', 'far')):
        git('checkout', '-q', '-b', branch, 'main')
        for n in range(2):
            commit(branch, 'change %d of %s\n' % (n, branch) + 'x\n' * n * 9)
        git('checkout', '-q', 'main')
        commit('main', 'meanwhile %d\n' % i)
    git('merge', '-q', '-m', 'an octopus 🐙', 'left', 'right')
    git('tag', 'v1.0')
    git('merge', '-q', '-m', 'far comes in', 'far')
    return repo


def programs(tmp):
    shown = {
        'vim': ['vim', '-u', write(tmp + '/vimrc', VIMRC), '+/^view_render',
                shutil.copy(TOP + '/term/view.c', tmp)],
        'wide': ['sh', '-c', 'cat %s; exec sleep 1000' % write(
            tmp + '/wide', TEXT)],
        'graph': ['sh', '-c', 'git -C %s log --graph --color=always --all '
                  '--oneline --decorate; exec sleep 1000' % history(tmp)]}
    for name in ('stat', 'meminfo', 'loadavg', 'uptime'):
        shutil.copyfile('/proc/' + name, os.path.join(tmp, name))
    write(tmp + '/.config/htop/htoprc', HTOPRC)
    frozen = ['unshare', '--pid', '--fork', '--mount', '--mount-proc', 'sh',
              write(tmp + '/frozen', FROZEN % {'tmp': tmp})]
    if os.getuid() != 0:
        frozen.insert(1, '--map-root-user')
    if missing('htop', 'unshare') is None and subprocess.run(
            frozen[:-2] + ['true'], stderr=subprocess.DEVNULL).returncode == 0:
        shown['htop'] = frozen
    else:
        print('SKIP htop: not here, or no namespaces to freeze it in')
    return shown


def resize(term, size):
    """As if its user had."""
    term.tell('\033[8;%d;%dt' % size)
    wait_for(lambda: term.size() == size, DEADLINE, 'it has that size')


def three(term, out, name):
    """Pictures as it is, larger, and as it was."""
    paths = []
    for what, size in (('', None), ('-larger', LARGER), ('-again', SIZE)):
        if size:
            resize(term, size)
        paths.append(os.path.join(out, name + what + '.png'))
        picture(term, paths[-1], 1)
    term.close()
    return paths


def show(name, argv, tmp, out):
    """True if something differs that should not."""
    direct = three(Xterm(tmp, argv, *SIZE, font=11), out, name + '-direct')
    term = Xterm(tmp, [DLMUX, 'attach', 'local:' + name, '--'] + argv, *SIZE,
                 font=11)
    term.quiet(1, 1)
    subprocess.run([DLMUX, 'detach', 'local:' + name], check=True)
    term.close()
    term = Xterm(tmp, [DLMUX, 'attach', 'local:' + name], *SIZE, font=11)
    term.quiet(1, 1)
    through = three(term, out, name + '-dlmux')
    subprocess.run([DLMUX, 'kill', 'local:' + name], check=True)
    bad = False
    for i, when in enumerate(('detach and attach', 'made larger',
                              'made as before')):
        n = differ(direct[i], through[i],
                   through[i].replace('.png', '-diff.png'))
        why = '' if n == 0 else ' (edges of glyphs)' if n <= EDGES else \
            ' (xterm wraps no line anew)' if i and name in REFLOWED else \
            ' NOT EXPECTED'
        bad |= why == ' NOT EXPECTED'
        print('%s, after %s: %d pixels differ%s' % (name, when, n, why))
    return bad


def main():
    p = argparse.ArgumentParser()
    p.add_argument('-o', dest='out', default=os.path.join(
        TOP, 'build/pictures'))
    p.add_argument('name', nargs='*')
    args = p.parse_args()
    lack = missing('Xvfb', 'xterm', 'import', 'compare', 'vim', 'git')
    if lack:
        print('SKIP pictures: no %s here' % lack)
        return 0
    os.makedirs(args.out, exist_ok=True)
    tmp = tempfile.mkdtemp(prefix='dlp', dir='/tmp')
    home(tmp)
    os.environ['COLORTERM'] = 'truecolor'
    display = Display('1600x1000')
    bad = False
    try:
        for name, argv in programs(tmp).items():
            if not args.name or name in args.name:
                bad |= show(name, argv, tmp, args.out)
    finally:
        leave()
        display.close()
        shutil.rmtree(tmp, ignore_errors=True)
    return bad


if __name__ == '__main__':
    sys.exit(main())
