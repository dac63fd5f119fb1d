# SPDX-License-Identifier: ISC
"""Questions about colours: the user's terminal is asked, once, and what it
says is for programs only."""

import itertools
import os
import re
import signal

from harness import PROMPT, eq, ok, test, wait_for

PREFIX = '\x1c'

# Asks what argv[1] says (as hex), and prints what comes until DA1's end;
# argv[2] is a line behind it; with argv[3] it asks byte by byte.
ASKER = r'''
import os, re, select, sys, termios, tty
was = termios.tcgetattr(0)
tty.setraw(0)
ask = bytes.fromhex(sys.argv[1]) + b'\033[c'
for i in range(0, len(ask), 1 if sys.argv[3:] else len(ask)):
    os.write(1, ask[i:i + 1] if sys.argv[3:] else ask)
got = b''
while not re.search(rb'\033\[\?62;[0-9;]*c', got):
    if not select.select([0], [], [], 30)[0]:
        got += b'<nothing more>'
        break
    got += os.read(0, 4096)
termios.tcsetattr(0, termios.TCSADRAIN, was)
print('got', got.decode().replace('\033', 'E').replace('\a', 'B'))
print(sys.argv[2])
'''

ALL = b'\x1b[6n\x1b]11;?\a\x1b[5n\x1b]4;1;?;2;?\x1b\\\x1b[?996n\x1b[>c' \
    b'\x1b[=c\x1b[?6n\x1b]10;?;?\x1b\\\x1b[?2004$p\x1bP$qm\x1b\\\x1b[>q' \
    b'\x1b[18t\x1b]12;?\a\x1b[?u'


def answers(back, rest=b''):
    palette = b''.join(b'\x1b]4;%d;rgb:%02x/00/00\a' % (i, i)
                       for i in range(16))
    return (b'\x1b]10;rgb:0000/0000/0000\a\x1b]11;rgb:%s\a'
            b'\x1b]12;rgb:01/02/03\a' % back + palette + rest +
            b'\x1b[?64;1;22c')


turn = itertools.count()


def ask(t, o, question, how=''):
    """Begins to ask; call what comes back for what the asker printed."""
    end = 'end%d' % next(turn)
    o.type('clear; python3 %s %s %s %s\r' % (t.path('asker'), question.hex(),
                                             end, how))

    def got():
        o.see('^%s$' % end)
        return versionless(re.search('got (.*?)' + end, ''.join(
            o.screen().rows)).group(1))
    return got


def asked(o):
    """How often the terminal was asked for its background."""
    return o.raw().count(b'\x1b]11;?')


def versionless(text):
    return re.sub(r'dlmux\(.*?\)', 'dlmux', re.sub(r'>1;\d+;0c', '>1c', text))


WANT = 'E[1;1RE]11;rgb:%s/%s/%sBE[0nE]4;1;rgb:0101/0000/0000E\\' \
    'E]4;2;rgb:0202/0000/0000E\\E[?997;%dnE[>1cEP!|00000000E\\E[?1;1;1R' \
    'E]10;rgb:0000/0000/0000E\\E]11;rgb:%s/%s/%sE\\E[?2004;2$y' \
    'EP1$r0mE\\EP>|dlmuxE\\E[8;24;80tE]12;rgb:0101/0202/0303BE[?0u' \
    'E[?62;22c'


def want(rgb, scheme):
    return WANT % (*rgb, scheme, *rgb)


LIGHT = want(('fdfd', 'f6f6', 'e3e3'), 2)
DARK = want(('1111', '1111', '1111'), 1)


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
    eq(ask(t, o, ALL, 'slowly')(), LIGHT, 'byte by byte')
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
    for i in range(3):
        go, over = t.path('go%d' % i), t.path('over%d' % i)
        t.run('send', 'local:a', 'clear; until [ -e %s ]; do sleep 0.02; done; '
              'python3 %s %s end; echo %d done; : >%s' % (
                  go, t.path('asker'), ALL.hex(), i, over))
        if i == 1:
            os.kill(t.server_pid(), signal.SIGKILL)
            wait_for(lambda: not t.pids('dlmux server --run'), 10,
                     'the server is gone')
        t.write('go%d' % i, '')
        wait_for(lambda: os.path.exists(over), 10, 'it has its answers')
        t.wait_capture('local:a', '^%d done$' % i)
        text = t.capture('local:a').replace('\n', '')
        eq(versionless(re.search('got (.*?)end', text).group(1)), DARK,
           'detached')


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
