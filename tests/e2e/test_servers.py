# SPDX-License-Identifier: ISC
"""Links that are half dead, away, or one of several to the same agent."""

import os
import signal
import time

import fixtures
from harness import PROMPT, eq, gone, ok, test, wait_for


@test(timeout=90)
def send_no_wait(t):
    """send --no-wait: 125 and a word while the link is down, else as ever"""
    host = fixtures.Ssh(t).host('web')
    r = t.run('send', '--no-wait', 'ssh:web:a', 'x', rc=125)
    ok('not connected' in r.err, r)
    eq(host.tries(), 0, 'connections made')
    t.run('new', 'ssh:web:a', '--', 'sh', '-c', 'stty -echo; exec cat >%s' %
          t.path('typed'))
    t.run('send', '--no-wait', 'ssh:web:a', 'one')
    t.run('send', '--no-wait', '-n', '-k', 'ssh:web:a', 'x', 'Enter')
    t.run('disconnect', 'ssh:web')
    r = t.run('send', '--no-wait', 'ssh:web:a', 'two', rc=125)
    ok('not connected' in r.err, r)
    t.run('send', '--no-wait', '-k', 'ssh:web:a', 'y', rc=125)
    t.run('send', '-n', 'ssh:web:a', '', stdin=None)
    t.run('send', 'ssh:web:a', input='')
    t.run('send', 'ssh:web:a', 'three')
    t.run('send', '-n', '-k', 'ssh:web:a', 'C-d')
    t.run('wait', 'ssh:web:a', '--exit', '--timeout', '10')
    with open(t.path('typed')) as f:
        eq(f.read(), 'one\nx\nthree\n', 'what was typed')


@test(timeout=90)
def send_waits_for_a_lost_link(t):
    """send waits while tries fail to bring a link back; never had: an error"""
    down = t.path('down')
    host = fixtures.Ssh(t).host('web', proxy_prefix=(
        '[ ! -e %s ] || { echo no way >&2; exit 1; }' % down))
    t.write(down, '')
    r = t.run('send', 'ssh:web:a', 'x', rc=125)
    ok('dlmux: ssh:web:a: ' in r.err and 'onnection' in r.err, r)
    os.unlink(down)
    t.run('new', 'ssh:web:a')
    t.write(down, '')
    n = host.tries()
    os.kill([w['transport_pid'] for w in t.ls()][0], signal.SIGKILL)
    p = t.popen('send', 'ssh:web:a', 'echo la""ter $((40+2))')
    wait_for(lambda: host.tries() >= n + 2, 20, 'tries fail')
    eq(p.poll(), None, 'the send waits')
    os.unlink(down)
    t.run('connect', 'ssh:web')     # the tries in the background are used up
    eq(t.finish(p).rc, 0, 'and is typed')
    t.wait_capture('ssh:web:a', '^later 42')


def server_log(t):
    with open([os.path.join(r, f) for r, _, fs in os.walk(t.home)
               for f in fs if f == 'server.log'][0]) as f:
        return f.read()


@test(timeout=90)
def a_machine_that_slept(t):
    """after a sleep a link is asked at once: kept if it lives, else made anew"""
    host = fixtures.Ssh(t).host('web', relay=[])
    t.run('connect', 'ssh:web')

    def pid():
        return [w['transport_pid'] for w in t.ls()
                if w['workspace'] == 'ssh:web'][0]
    first = pid()
    # The clock that runs on in a sleep, and the one that does not, part.
    t.write('hooks/clock-slept', '600000')
    wait_for(lambda: server_log(t).count('we slept') == 1, 10, 'it is seen')
    t.run('exec', 'ssh:web', '--', 'true')
    eq(pid(), first, 'the ssh')
    eq(host.tries(), 1, 'connections')
    # While it slept the network went away, without a word.
    p = t.popen('exec', 'ssh:web', '--', 'sh', '-c', 'cat; exit 7', stdin=-1)
    p.stdin.write(b'asleep')
    p.stdin.flush()
    eq(os.read(p.stdout.fileno(), 100), b'asleep', 'the exec')
    host.tell('stall')
    t.write('hooks/clock-slept', '1200000')
    wait_for(lambda: server_log(t).count('we slept') == 2, 10, 'it is seen')
    t0 = time.monotonic()
    wait_for(lambda: 'lost: no answer' in server_log(t), 10, 'the loss')
    t.note('a link that died in a sleep: known %.1f s after' % (
        time.monotonic() - t0))
    p.stdin.close()
    p.stdin = None
    eq(t.finish(p, timeout=30).rc, 7, 'the exec goes on')
    ok(pid() != first, 'another ssh')


@test(timeout=120)
def an_old_link_that_wakes_up(t):
    """a half-dead link that wakes up beside its successor is fenced off"""
    t.env['DLMUX_LINK_TIMES'] = '500,300,2000,1500,20000'
    # Its own session: what ends the ssh does not end the relay.
    host = fixtures.Ssh(t).host('web', relay=[], proxy_prefix=(
        '[ -n "$OWN" ] || { export OWN=1; exec setsid sh "$0"; }'))
    t.run('new', 'ssh:web:a', '--', 'sh', '-c', 'stty -echo; echo ready; '
          'exec cat >%s' % t.path('typed'))
    o = t.outer('attach', 'ssh:web:a')
    o.see('ready')
    o.type('before\r')
    wait_for(lambda: os.path.getsize(t.path('typed')) == 7, 10, 'typed')
    p = t.popen('exec', 'ssh:web', '--', 'sh', '-c', 'echo run >>%s; cat; '
                'exit 9' % t.path('runs'), stdin=-1)
    p.stdin.write(b'first ')
    p.stdin.flush()
    eq(os.read(p.stdout.fileno(), 100), b'first ', 'the exec')
    with open(host.dir + '/pids') as f:
        old = int(f.read().split()[-1])
    os.kill(old, signal.SIGSTOP)
    o.type('meanwhile\r')
    p.stdin.write(b'second')
    p.stdin.close()
    p.stdin = None
    # The server gives it up and makes another.
    wait_for(lambda: os.path.getsize(t.path('typed')) == 17, 30,
             'typed over the new link')
    r = t.finish(p)
    eq((r.rc, r.out), (9, 'second'), 'the exec')
    os.kill(old, signal.SIGCONT)
    wait_for(lambda: gone(old), 10, 'the old relay ends')
    o.type('after\r')
    wait_for(lambda: os.path.getsize(t.path('typed')) == 23, 10, 'typed')
    t.run('exec', 'ssh:web', '--', 'true')
    with open(t.path('typed')) as f:
        eq(f.read(), 'before\nmeanwhile\nafter\n', 'what was typed')
    with open(t.path('runs')) as f:
        eq(f.read(), 'run\n', 'starts')
    with open([os.path.join(r, f) for r, _, fs in os.walk(host.home)
               for f in fs if f == 'agent.log'][0]) as f:
        ok('replaced by a newer' in f.read(), 'the agent fenced it off')


@test(timeout=90)
def two_servers_on_one_agent(t):
    """two servers, one agent: one answer per question, the newest size"""
    host = fixtures.Ssh(t).host('web')
    two = dict(XDG_STATE_HOME=t.path('state2'))
    t.mkdir('state2')
    t.run('new', 'ssh:web:a')
    one = t.outer('attach', 'ssh:web:a', rows=24, cols=80)
    one.see(PROMPT)
    other = t.outer('attach', 'ssh:web:a', rows=30, cols=100, env=two)
    other.see(PROMPT)
    eq(len(t.pids('server --run')), 2, 'servers')
    eq(len(t.agent_pids()), 1, 'agents')
    for o, size in ((other, '30 100'), (one, '24 80'), (other, '30 100')):
        o.type('clear; stty size\r')
        one.see('^' + size + '( |$)')
        other.see('^' + size + '( |$)')
    # Both mirrors see the question.
    t.write('ask', 'stty raw -echo min 0 time 10\nprintf "\\033[c"\n'
            'while c=$(dd bs=64 count=1 2>/dev/null | od -An -c); '
            '[ -n "$c" ]; do echo "$c" >>%s; done\nstty sane\n'
            'echo as""ked\n' % t.path('answers'))
    other.type('sh %s\r' % t.path('ask'))
    one.see('^asked')
    other.see('^asked')
    with open(t.path('answers')) as f:
        eq(f.read().count('033'), 1, 'answers')
    # One of them goes; the other notices nothing.
    for p in t.pids('server --run'):
        if two['XDG_STATE_HOME'].encode() in open(
                '/proc/%d/environ' % p, 'rb').read():
            os.kill(p, 9)
    one.type('echo still $((40+2))\r')
    one.see('^still 42')
    other.see('^still 42', 20)
    eq(host.tries() >= 3, True, 'links')
