# SPDX-License-Identifier: ISC
"""Questions about colours: the user's terminal is asked, once, and what it
says is for programs only."""

import itertools
import re

from harness import PROMPT, eq, ok, test, wait_for

PREFIX = '\x1c'

# Asks what argv[1] says (as hex), and prints what comes until DA1's end;
# argv[2] ends the line.
ASKER = r'''
import os, re, select, sys, termios, tty
was = termios.tcgetattr(0)
tty.setraw(0)
os.write(1, bytes.fromhex(sys.argv[1]) + b'\033[c')
got = b''
while not re.search(rb'\033\[\?62;[0-9;]*c', got):
    if not select.select([0], [], [], 30)[0]:
        got += b'<nothing more>'
        break
    got += os.read(0, 4096)
termios.tcsetattr(0, termios.TCSADRAIN, was)
print('got', got.decode().replace('\033', 'E').replace('\a', 'B'), sys.argv[2])
'''

ALL = b'\x1b[6n\x1b]11;?\a\x1b[5n\x1b]4;1;?;2;?\x1b\\\x1b[?996n'


def answers(back, rest=b''):
    palette = b''.join(b'\x1b]4;%d;rgb:%02x/00/00\a' % (i, i)
                       for i in range(16))
    return (b'\x1b]10;rgb:0000/0000/0000\a\x1b]11;rgb:%s\a'
            b'\x1b]12;rgb:1/2/3\a' % back + palette + rest +
            b'\x1b[?64;1;22c')


turn = itertools.count()


def ask(t, o, question):
    """Begins to ask; call what comes back for what the asker printed."""
    end = 'end%d' % next(turn)
    o.type('clear; python3 %s %s %s\r' % (t.path('asker'), question.hex(),
                                          end))

    def got():
        o.see('[^ ]c %s$' % end)
        return re.search('got (.*) ' + end,
                         ''.join(o.screen().rows)).group(1)
    return got


def asked(o):
    """How often the terminal was asked for its background."""
    return o.raw().count(b'\x1b]11;?')


WANT = 'E[1;1RE]11;rgb:%s/%s/%sBE[0nE]4;1;rgb:0101/0000/0000E\\' \
    'E]4;2;rgb:0202/0000/0000E\\E[?997;%dnE[?62;22c'
LIGHT = WANT % ('fdfd', 'f6f6', 'e3e3', 2)
DARK = WANT % ('1111', '1111', '1111', 1)


@test()
def colours_are_the_terminals(t):
    """asked once, in order, however it answers; then from memory, also with
    nobody attached and for the next server; followed when they change"""
    t.write('asker', ASKER)
    o = t.outer('attach', 'local:a', shell=True)
    o.see(PROMPT)
    o.mute()
    eq(asked(o), 0, 'asked before anybody wants to know')
    got = ask(t, o, ALL)
    wait_for(lambda: asked(o) == 1, 10, 'the terminal is asked')
    reply = answers(b'fd/f6/e3', b'\x1b[?2031;2$y')
    # In pieces, and twice.
    for i in range(0, len(reply), 11):
        o.type(reply[i:i + 11])
    o.type(reply)
    eq(got(), LIGHT)
    eq(ask(t, o, ALL)(), LIGHT, 'from memory')
    eq(asked(o), 1)
    # It reports changes: they are awaited, and nobody types them.
    wait_for(lambda: 2031 in o.modes(), 10, 'reports are on')
    o.type('\x1b[?997;1n')
    wait_for(lambda: asked(o) == 2, 10, 'asked again')
    o.type(answers(b'11/11/11', b'\x1b[?2031;1$y'))
    eq(ask(t, o, ALL)(), DARK, 'followed')
    # Late ones, from nowhere.
    o.type(answers(b'11/11/11')[:-4])
    o.type(answers(b'11/11/11')[-4:])
    o.type('clear; echo clea""n\r')
    o.see('^clean$')
    ok(not re.search('rgb|64;1', o.screen().text), 'an answer was typed')
    o.type(PREFIX + 'd')
    o.see('^left 0$')
    ok(2031 not in o.modes(), 'reports left on')
    # By a server without a client, by the keeper, and by the next server.
    for i, first in enumerate(('', 'sleep .2; kill -9 %d; ' % t.server_pid(),
                               '')):
        t.run('send', 'local:a', 'clear; %spython3 %s %s end; echo %d done' % (
            first, t.path('asker'), ALL.hex(), i))
        wait_for(lambda: not first or not t.pids('dlmux server --run'), 10,
                 'the server is gone')
        t.wait_capture('local:a', '^%d done$' % i)
        text = t.capture('local:a').replace('\n', '')
        eq(re.search('got (.*) end', text).group(1), DARK, 'detached')


@test()
def a_terminal_that_does_not_answer(t):
    """a program is not stalled, once; and what comes after a quick detach is
    not typed into the user's shell"""
    t.write('asker', ASKER)
    o = t.outer('attach', 'local:a', shell=True)
    o.see(PROMPT)
    o.mute()
    ok('E]11;rgb:0000/0000/0000B' in ask(t, o, ALL)(), 'a usual colour')
    eq(asked(o), 1)
    ok('E]11;rgb:0000/0000/0000B' in ask(t, o, ALL)(), 'the same')
    eq(asked(o), 1, 'asked a deaf one again')
    # Another attachment: it may be another terminal.
    o.type(PREFIX + 'd')
    o.see('^left 0$')
    o = t.outer('attach', 'local:a', shell=True)
    o.see(PROMPT)
    o.mute()
    ask(t, o, b'\x1b]11;?\a')
    wait_for(lambda: asked(o) == 1, 10, 'asked')
    o.type(PREFIX.encode() + b'd' + answers(b'11/22/33'))
    o.see('^left 0$')
    o.type('clean\r')
    o.see('^clean$')
    ok(not re.search('rgb|64;1', o.screen().text), 'an answer was typed')
