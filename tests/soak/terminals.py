#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""terminals.py [-dv] [-t TERMINAL] [-n RANDOM] [-e EVERY] [-s SEED] [-k DIR]
[CASE...]: xterm and tmux show what `dlmux attach` writes for a shell that
prints a stream; text, cursor and attributes must be what dlmux's own screen
has that was fed the stream directly. The streams: each EVERYth case of the
corpus (or those named), and RANDOM ones from a seed. With -d the terminal is
fed the stream itself: what another emulator makes of it, a second opinion.
What was written to an xterm that shows something else is kept in DIR."""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time

from realterm import (DLMUX, TOP, Display, Tmux, Xterm, home, leave, libc,
                      missing, seen)

SOAK = os.environ.get('DLMUX_SOAK', os.path.join(
    TOP, 'build/plain/tests/soak/soak'))
CORPUS = os.environ.get('DLMUX_CORPUS', os.path.join(TOP, '../shared/corpus'))
WAIT = 6
PARTS = ('text', 'cursor', 'attributes')


def ours(stream, rows, cols, term):
    """As a terminal's shown(), of our screen."""
    with open(stream, 'rb') as f:
        out = subprocess.run(
            [SOAK, '-d', '%dx%d' % (rows, cols)] +
            (['-T', term] if term else []), stdin=f, check=True,
            stdout=subprocess.PIPE).stdout.decode('utf-8', 'replace')
    cells, cursor = {}, (0, 0)
    for line in out.split('\n'):
        w = line.split(' ', 6)
        if w[0] == 'cursor':
            cursor = (int(w[1]), int(w[2]))
        elif len(w) == 7:
            cells[int(w[0]), int(w[1])] = (
                w[6], w[3], w[4], '' if w[5] == '-' else w[5])
    return cells, cursor


def width(text):
    return libc.wcwidth(ord(text[0])) if text else 1


BLANK = (' ', '-', '-', '')
# No terminal tells these by an SGR of its own, or only as plain underlines.
STYLES = str.maketrans('Ucoa', 'uuuu')


def doubtful(text):
    """More than one code point, or one that not all agree about."""
    if len(text) > 1:
        return True
    return ord(text) > 0x7e and (libc.wcwidth(ord(text)) < 1 or not (
        ord(text) < 0x500 or 0x2500 <= ord(text) < 0x2600 or
        0x3040 <= ord(text) < 0x3100 or 0x4e00 <= ord(text) < 0x9f00 or
        0xac00 <= ord(text) < 0xd7a0))


def compare(have, want, rows, cols):
    """What differs: {part: words}."""
    out = {}
    if have[1] != want[1]:
        out['cursor'] = 'at %d %d, not %d %d' % (have[1] + want[1])
    for y in range(rows):
        doubt = 0
        for x in range(cols):
            h = seen(have[0].get((y, x), BLANK))
            w = seen(want[0].get((y, x), BLANK))
            if any(doubtful(t) for t in (h[0], w[0])):
                doubt = 3
            doubt -= 1
            if doubt >= 0:
                continue
            # The second half of a wide character.
            if x and width(want[0].get((y, x - 1), BLANK)[0]) == 2:
                continue
            if h[0] == ' ' and 'h' in w[3]:     # xterm tells no more
                h = (w[0], w[1], h[2], w[3])
            if h[0] != w[0]:
                out.setdefault('text', 'row %d, column %d: %r, not %r' % (
                    y, x, h[0], w[0]))
            elif h[1:3] != w[1:3] or \
                    set(h[3].translate(STYLES)) != set(
                        w[3].translate(STYLES)):
                out.setdefault('attributes', 'row %d, column %d: %s, not %s'
                               % (y, x, h[1:], w[1:]))
    return out


def run(kind, tmp, stream, rows, cols, direct, n):
    """{part: words}, the bytes that xterm got; None: it cannot have that
    size."""
    cat = ['sh', '-c', 'stty raw -echo; cat %s; exec sleep 1000' % stream]
    shell = 'local:%d' % n
    term = kind(tmp, cat if direct else [DLMUX, 'attach', shell, '--'] + cat,
                rows, cols)
    try:
        if term.size() != (rows, cols):
            return None, b''
        want = ours(stream, rows, cols, None if direct else kind.term)
        term.quiet(0.15, os.path.getsize(stream) if direct else 1)
        end = time.monotonic() + (1 if direct else WAIT)
        while True:
            diff = compare(term.shown(rows, cols), want, rows, cols)
            if not diff or time.monotonic() > end:
                return diff, term.written()
            time.sleep(0.1)
    finally:
        term.close()
        if not direct:
            subprocess.run([DLMUX, 'kill', shell], stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL)


def streams(args, tmp):
    """name, path, rows, cols"""
    names = args.case
    if not names and args.every and os.path.isdir(CORPUS):
        with open(os.path.join(CORPUS, 'RESULTS.tsv')) as f:
            names = [line.split('\t')[0] for line in f][1:]
        names = sorted(n for n in names if '#' not in n)[::args.every]
    elif not names and args.every:
        print('terminals: no corpus here, random streams alone')
    for name in names:
        path = os.path.join(CORPUS, name)
        with open(os.path.join(path, 'size')) as f:
            cols, rows = (int(n) for n in f.read().split())
        yield name, os.path.join(path, 'input'), rows, cols
    if args.case:
        return
    for seed in range(args.seed, args.seed + args.random):
        path = os.path.join(tmp, 'stream')
        with open(path, 'wb') as f:
            subprocess.run([SOAK, '-o', str(seed)], stdout=f, check=True)
        yield 'seed %d' % seed, path, 24, 80


def terminal(kind, args, tmp):
    n, bad = 0, {p: 0 for p in PARTS}
    for name, path, rows, cols in streams(args, tmp):
        diff, written = run(kind, tmp, path, rows, cols, args.direct, n)
        if diff is None:
            print('%s: %s: no such size' % (kind.name, name))
            continue
        n += 1
        for part in diff:
            bad[part] += 1
            print('%s: %s: %s: %s' % (kind.name, name, part, diff[part]))
        if diff and args.keep and written:
            with open(os.path.join(args.keep, name), 'wb') as f:
                f.write(written)
        if args.verbose and not diff:
            print('%s: %s: the same' % (kind.name, name))
        sys.stdout.flush()
    print('%s%s: %d streams; %s' % (
        kind.name, ' directly' if args.direct else '', n, ', '.join(
            '%s %d the same' % (p, n - bad[p]) for p in PARTS)))
    return n == 0 or any(bad.values())


def main():
    p = argparse.ArgumentParser()
    p.add_argument('-d', dest='direct', action='store_true')
    p.add_argument('-v', dest='verbose', action='store_true')
    p.add_argument('-k', dest='keep')
    p.add_argument('-t', dest='terminal', choices=['xterm', 'tmux'])
    p.add_argument('-n', dest='random', type=int, default=40)
    p.add_argument('-e', dest='every', type=int, default=12)
    p.add_argument('-s', dest='seed', type=int, default=int(time.time()))
    p.add_argument('case', nargs='*')
    args = p.parse_args()
    if not args.case:
        print('terminals: seed %d' % args.seed)
    tmp = tempfile.mkdtemp(prefix='dlt', dir='/tmp')
    home(tmp)
    os.environ['COLORTERM'] = 'truecolor'
    bad, display = 0, None
    try:
        for kind, needs in ((Xterm, ('Xvfb', 'xterm')), (Tmux, ('tmux',))):
            if args.terminal not in (None, kind.name):
                continue
            lack = missing(*needs)
            if lack:
                print('SKIP %s: no %s here' % (kind.name, lack))
                continue
            if kind is Xterm:
                display = Display()
            bad |= terminal(kind, args, tmp)
    finally:
        leave()
        if display:
            display.close()
        shutil.rmtree(tmp, ignore_errors=True)
    return bad


if __name__ == '__main__':
    sys.exit(main())
