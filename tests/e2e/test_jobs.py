# SPDX-License-Identifier: ISC
"""Job control of the shell that a client is started from: stopped, continued,
in the background."""

import os
import signal

from harness import eq, ok, test, wait_for

PREFIX = '\x1c'
# A program with the mouse on that shows what is typed, and its size.
PROGRAM = """'printf "\\033[?1000;2004hready\\n"; trap "stty size" WINCH; """ \
    """while :; do if read -r x; then test "$x" != q || exit; """ \
    """echo "got $x"; fi; done'"""


def shell(t):
    """An interactive shell with job control, and its jobs in words."""
    o = t.terminal(['/bin/sh', '-i'], env={'PS1': 'outer$ '})
    o.see('^outer[$]')
    return o


def raw(o):
    return not o.termios()['icanon']


def stop(t, o, command):
    """SIGSTOP, and the shell has the terminal and does with it as it likes."""
    os.kill(t.client_pids(command)[0], signal.SIGSTOP)
    wait_for(lambda: b'Stopped' in o.raw(), 5, 'the shell saw it stop')
    # \n: a small shell leaves the terminal as it is.
    o.type('stty sane; printf "\\033c\\033[?1000;2004lal%s" one\n')
    o.see('alone')
    ok(not raw(o), 'the shell has its terminal')


@test()
def attach_continued(t):
    """after SIGSTOP and fg it is raw, all shown anew, of the size it has"""
    o = shell(t)
    o.type('dlmux attach local:a -- sh -c ' + PROGRAM + '\r')
    o.see('^ready$')
    wait_for(lambda: {1000, 2004} <= o.modes(), 5, 'the modes are on')
    stop(t, o, 'attach local:a -- sh -c ' + PROGRAM.strip("'"))
    o.resize(20, 60)
    o.type('fg\r')
    o.see('^ready$')
    o.gone('alone')
    o.see('^20 60$')
    ok(raw(o), 'the terminal is raw')
    wait_for(lambda: {1000, 2004} <= o.modes(), 5, 'the modes are on again')
    o.type('words\r')
    o.see('^got words$')
    o.type(PREFIX + 'd')
    o.see('^outer[$]')
    wait_for(lambda: not raw(o), 5, 'as it was')
    eq(o.modes() & {1000, 2004}, set(), 'modes left on')


@test()
def attach_in_the_background(t):
    """`attach &' stops before it does anything, until it is in front"""
    o = shell(t)
    o.type('dlmux attach local:b -- sh -c ' + PROGRAM + ' &\r')
    wait_for(lambda: o.raw().count(b'Stopped') == 1 or
             o.type('\r'), 10, 'it stops')
    o.type('bg\r')
    wait_for(lambda: o.raw().count(b'Stopped') == 2 or
             o.type('\r'), 10, 'it stops again')
    eq(t.shells(), {}, 'nothing is made')
    o.type('fg\r')
    o.see('^ready$')
    o.type('words\r')
    o.see('^got words$')
    o.type(PREFIX + 'd')
    wait_for(lambda: not raw(o), 5, 'as it was')
    o.type('echo al""ive\r')
    o.see('^alive$')


@test()
def exec_continued(t):
    """an `exec -t' that was stopped has its terminal raw after fg"""
    o = shell(t)
    o.type('dlmux exec -t local -- sh -c ' + PROGRAM + '\r')
    o.see('^ready')
    wait_for(lambda: raw(o), 5, 'raw')
    stop(t, o, 'exec -t local -- sh -c ' + PROGRAM.strip("'"))
    o.resize(20, 60)
    o.type('fg\r')
    o.see('20 60')
    wait_for(lambda: raw(o), 5, 'raw again')
    o.type('words\r')
    o.see('got words')
    o.type('q\r')
    wait_for(lambda: not raw(o), 5, 'as it was')


@test()
def a_stopped_watchdog(t):
    """a watchdog that somebody stopped keeps nobody from leaving"""
    o = t.outer('attach', 'local:a', shell=True)
    o.see('[$#] *$')
    client = t.client_pids('attach local:a')[0]

    def children():
        with open('/proc/%d/task/%d/children' % (client, client)) as f:
            return [int(p) for p in f.read().split()]
    os.kill(wait_for(children, 5, 'a watchdog')[0], signal.SIGSTOP)
    o.type(PREFIX + 'd')
    o.see('^left 0$')
