# SPDX-License-Identifier: ISC
"""Through an attached client: what programs have for their user, and pastes
from the user for programs."""

import hashlib
import random

from harness import PROMPT, eq, test, wait_for

PREFIX = '\x1c'
SAY = r"printf '\a\033]52;c;aGk=\a\033]777;notify;t;b\a\033]9;n\a'"


@test()
def bells_copies_and_notes(t):
    """bell and notifications to all, a copy to the one last typed at, once,
    and as the config says"""
    def count(o):
        raw = o.raw()
        return (o.screen().bells, raw.count(b'\x1b]52;c;aGk=\a'),
                raw.count(b'\x1b]777;notify;t;b\a'), raw.count(b'\x1b]9;n\a'))

    def see(one, a, two, b):
        wait_for(lambda: (count(one), count(two)) == (a, b), 10,
                 'the right things passed')
    one = t.outer('attach', 'local:a', shell=True)
    one.see(PROMPT)
    two = t.outer('attach', 'local:a', shell=True)
    two.see(PROMPT)
    two.type(SAY + '\r')
    see(one, (1, 0, 1, 1), two, (1, 1, 1, 1))
    one.type(SAY + '\r')
    see(one, (2, 1, 2, 2), two, (2, 1, 2, 2))
    t.config('Clipboard all\nWorkspace local\n Bell last\n Notify no\n')
    # Read when somebody comes.
    t.run('new', 'local:b')
    one.type(SAY + '\r')
    see(one, (3, 2, 2, 2), two, (2, 2, 2, 2))


# Takes a bracketed paste, slowly: nothing until a file is there, then little
# by little. Tells its length and sum.
READER = r'''
import hashlib, os, sys, termios, time, tty
was = termios.tcgetattr(0)
tty.setraw(0)
os.write(1, b'\033[?2004h\r\nready %s\r\n' % sys.argv[2].encode())
while sys.argv[1] != '-' and not os.path.exists(sys.argv[1]):
    time.sleep(0.01)
got = b''
while not got.endswith(b'\033[201~'):
    got += os.read(0, 4096)
    time.sleep(0.001)
os.write(1, b'\033[?2004l')
termios.tcsetattr(0, termios.TCSADRAIN, was)
print('got', len(got), hashlib.sha256(got).hexdigest()[:16])
'''


def paste(size, seed):
    """Text of all kinds, of so many bytes, that is not the same anywhere."""
    rnd = random.Random(seed)
    words = [rnd.choice((b'%d\r' % n, b'\t', b'words ', b'\x1b[A', b'\x03',
                         '日本é\u200d'.encode(), PREFIX.encode() + b'd',
                         b'\x1b]11;rgb:1/2/3\a')) for n in range(size // 3)]
    return b'\x1b[200~' + b''.join(words)[:size] + b'\x1b[201~'


def pasted(t, o, data, wait):
    o.type('python3 %s %s %d\r' % (t.path('reader'), wait, len(data)))
    o.see('^ready %d$' % len(data))
    wait_for(lambda: 2004 in o.modes(), 10, 'bracketed paste is on')
    for i in range(0, len(data), 200000):
        o.type(data[i:i + 200000])
    if wait != '-':
        t.write(wait, '')
    o.see('^got %d %s$' % (len(data), hashlib.sha256(data).hexdigest()[:16]),
          30)


@test()
def pastes_arrive_whole(t):
    """16 KB that nobody reads at first, 1 MB that is read slowly: every byte,
    in order, with the marks, and what looks like a key of ours as it is"""
    t.write('reader', READER)
    o = t.outer('attach', 'local:a', shell=True)
    o.see(PROMPT)
    pasted(t, o, paste(16384, 1), t.path('go'))
    pasted(t, o, paste(1 << 20, 2), '-')
    o.type('echo still $((40+2))\r')
    o.see('still 42$')
    o.type(PREFIX + 'd')
    o.see('^left 0$')
    eq(2004 in o.modes(), False, 'bracketed paste left on')
