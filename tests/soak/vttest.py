#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""vttest.py [OUT]: vttest's screens 1, 2, 3 and 8, page by page, in xterm,
directly and through dlmux: prints the number of pixels that differ on each
page where any do. The pictures stay in OUT (build/vttest). With -f CMD... it
takes out of what CMD writes the request to allow 132 columns: dlmux does not
change the size of its user's terminal."""

import os
import pty
import select
import shutil
import sys
import tempfile
import tty
import fcntl
import termios

from realterm import (DLMUX, EDGES, TOP, Display, Xterm, differ, home, leave,
                      missing, picture)

TESTS = ('1', '2', '3', '8')
# What is known to differ, and why.
EXPECTED = {
    '3/4': 'ESC ) A is British; xterm takes it for Latin-1 while DECNRCM is '
           'off',
    '3/6': 'the same, and bytes above 127 that are no UTF-8 are no GR set',
    '8/6': 'rows of double width are drawn with their letters spaced',
    '8/13': 'the same',
}


def without(drop, argv):
    """argv in a pty; what it writes comes out here without drop."""
    size = fcntl.ioctl(0, termios.TIOCGWINSZ, b'\0' * 8)
    pid, fd = pty.fork()
    if pid == 0:
        fcntl.ioctl(0, termios.TIOCSWINSZ, size)
        os.execvp(argv[0], argv)
    tty.setraw(0)
    while True:
        for f in select.select({0, fd}, [], [])[0]:
            try:
                data = os.read(f, 65536)
            except OSError:
                data = b''
            if not data:
                return
            os.write(1 if f == fd else fd,
                     data.replace(drop, b'') if f == fd else data)


def pages(term, out, kind):
    """test -> its pictures."""
    menu = os.path.join(out, '%s-menu.png' % kind)
    picture(term, menu)
    shown = {}
    for test in TESTS:
        shown[test] = []
        term.key(test + '\r')
        inner = ['8\r', '9\r', '10\r', '0\r'] if test == '3' else []
        submenu = None
        for i in range(60):
            pic = os.path.join(out, '%s-%s-%02d.png' % (kind, test, i + 1))
            picture(term, pic)
            if differ(pic, menu) == 0:
                os.unlink(pic)
                break
            shown[test].append(pic)
            # Test 3 has a menu of its own, where xterm is more than a VT100.
            if test == '3' and submenu is None:
                submenu = pic
            if inner and submenu and differ(pic, submenu) == 0:
                term.key(inner.pop(0))
            else:
                term.key('\r')
    return shown


def compare(test, direct, through):
    """Prints what differs; True if something does that should not."""
    bad, same = len(direct) != len(through), 0
    for i, (p, q) in enumerate(zip(direct, through)):
        n = differ(p, q)
        same += n == 0
        page = '%s/%d' % (test, i + 1)
        why = EXPECTED.get(page, 'edges of glyphs' if n <= EDGES else None)
        if n == 0 and page in EXPECTED:
            bad = True
            print('vttest %s, page %d: differs no more' % (test, i + 1))
        if n:
            bad |= why is None
            print('vttest %s, page %d: %d pixels differ: %s' % (
                test, i + 1, n, why or 'NOT EXPECTED: %s %s' % (
                    os.path.basename(p), os.path.basename(q))))
    print('vttest %s: %d pages directly, %d through dlmux, %d the same' % (
        test, len(direct), len(through), same))
    return bad


def main():
    lack = missing('Xvfb', 'xterm', 'import', 'compare', 'vttest')
    if lack:
        print('SKIP vttest: no %s here' % lack)
        return 0
    out = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else
                          os.path.join(TOP, 'build/vttest'))
    shutil.rmtree(out, ignore_errors=True)
    os.makedirs(out)
    tmp = tempfile.mkdtemp(prefix='dlv', dir='/tmp')
    home(tmp)
    display = Display('1400x500')
    seen, bad = {}, False
    try:
        vttest = [sys.executable, os.path.realpath(__file__), '-f',
                  'vttest', '24x80.80']
        for kind, argv in (('direct', vttest),
                           ('dlmux', [DLMUX, 'attach', 'local:v', '--'] +
                            vttest)):
            # Of the level that dlmux answers with: vttest asks, and writes
            # other bytes for other levels.
            term = Xterm(tmp, argv, font=11, level='vt220',
                         extra=('-xrm', 'XTerm*c132: false'))
            seen[kind] = pages(term, out, kind)
            term.close()
        for test in TESTS:
            bad |= compare(test, seen['direct'][test], seen['dlmux'][test])
    finally:
        leave()
        display.close()
        shutil.rmtree(tmp, ignore_errors=True)
    return bad


if __name__ == '__main__':
    if sys.argv[1:2] == ['-f']:
        without(b'\x1b[?40h', sys.argv[2:])
        sys.exit(0)
    sys.exit(main())
