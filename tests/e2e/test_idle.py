# SPDX-License-Identifier: ISC
"""IdleClose: a link that nobody uses is let go, shells and agent stay, and the
next use connects again by itself."""

import time

import fixtures
from harness import PROMPT, eq, ok, test, wait_for


def state(t):
    return [w for w in t.ls() if w['workspace'] == 'ssh:web'][0]


def let_go(t, deadline=10):
    w = wait_for(lambda: (lambda s: s['state'] == 'down' and s)(state(t)),
                 deadline, 'the link is let go')
    ok('let go' in w['text'], 'it says why: %r' % w)


def stays(t, what, ms=2500):
    """Nothing is to happen: the only way to see that is to look for a while,
    three times as long as it would take."""
    end = time.monotonic() + ms / 1000
    while time.monotonic() < end:
        eq(state(t)['state'], 'up', 'the link with ' + what)
        time.sleep(0.1)


@test(timeout=90)
def a_link_that_nobody_uses(t):
    """let go when idle; not under an exec, a client or a foreground job"""
    t.env['DLMUX_IDLE_MS'] = '700'
    t.config('Workspace ssh:web\n\tIdleClose 10\n')
    host = fixtures.Ssh(t).host('web')
    t.run('connect', 'ssh:web')
    agent = wait_for(t.agent_pids, 10)
    let_go(t)
    eq(t.run('exec', 'ssh:web', '--', 'echo', 'back').out, 'back\n')
    eq(t.agent_pids(), agent, 'the agent')
    let_go(t)
    t.run('new', 'ssh:web:a')
    p = t.popen('exec', 'ssh:web', '--', 'sleep', '3')
    wait_for(lambda: state(t)['operations'] == 1, 10)
    stays(t, 'an exec')
    t.run('send', 'ssh:web:a', 'sleep 1000')
    t.finish(p)
    t.wait_capture('ssh:web:a', 'sleep 1000')
    stays(t, 'a job in the foreground')
    t.run('send', '-n', '-k', 'ssh:web:a', 'C-c')
    let_go(t)
    o = t.outer('attach', 'ssh:web:a')
    o.see(PROMPT)       # the last screen, while it connects
    wait_for(lambda: state(t)['state'] == 'up', 10)
    stays(t, 'a client attached')
    o.type('echo still $((40+2))\r')
    o.see('^still 42$')
    o.type('\x1cd')
    o.wait_exit()
    let_go(t)
    eq(t.agent_pids(), agent, 'the agent')
    logins = host.logins()
    t.run('ls')
    eq(host.logins(), logins, 'ls connects nothing')


@test()
def a_link_without_the_keyword(t):
    """ssh keeps its link unless told otherwise"""
    t.env['DLMUX_IDLE_MS'] = '300'
    fixtures.Ssh(t).host('web')
    t.run('connect', 'ssh:web')
    stays(t, 'no IdleClose', 1500)
