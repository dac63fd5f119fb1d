# SPDX-License-Identifier: ISC
"""The keeper: what the agent starts beside it when nobody reads its shells'
output, so that programs get their answers and a night of output ends with the
right screen."""

import os
import re
import signal
import time

import fixtures
from harness import eq, ok, test, wait_for


def agent_log(t):
    text = ''
    for root, _, files in os.walk(t.dir):
        for f in files:
            if f.startswith('agent') and f.endswith('.log'):
                with open(os.path.join(root, f), errors='replace') as fd:
                    text += fd.read()
    return text


def kill_server(t):
    for p in t.pids('server --run'):
        os.kill(p, signal.SIGKILL)
    wait_for(lambda: not t.pids('server --run'), 10, 'the server is gone')


def keeper(t, deadline=10):
    return wait_for(lambda: t.pids('server --keeper'), deadline, 'a keeper')[0]


def shell(t, name, script, ws='local:'):
    """A shell that stands still until the file of that name is made."""
    t.run('new', ws + name, '--', 'sh', '-c', 'echo ready; until [ -e '
          '%s ]; do sleep 0.02; done; %s' % (t.path(name), script))
    t.wait_capture(ws + name, 'ready')


def touch(t, name):
    open(t.path(name), 'w').close()


@test()
def a_question_without_a_server(t):
    """DA1 is answered while no server exists, once; a server then takes over"""
    shell(t, 'ask', 'stty raw -echo min 0 time 100; printf "\\033[c"; '
          'dd bs=64 count=1 of=%s 2>/dev/null; printf "\\033[6n"; stty time '
          '20; dd bs=64 count=1 of=%s 2>/dev/null; stty sane; cat >%s' % (
              t.path('answer'), t.path('second'), t.path('rest')))
    kill_server(t)
    touch(t, 'ask')
    t0 = time.monotonic()
    wait_for(lambda: os.path.exists(t.path('rest')), 15, 'both answers')
    t.note('two answers after %.0f ms' % ((time.monotonic() - t0) * 1000))
    with open(t.path('answer')) as f:
        ok(re.match('\x1b\\[\\?[0-9;]+c$', f.read()), 'DA1 was answered')
    with open(t.path('second')) as f:
        eq(f.read(), '\x1b[2;1R', 'the cursor report')
    k = keeper(t)
    with open('/proc/%d/stat' % k) as f:
        eq(f.read().rpartition(')')[2].split()[16], '5', 'its niceness')
    # A server that comes back reads the same questions again.
    t.run('send', 'local:ask', 'typed')
    t.run('send', '-n', '-k', 'local:ask', 'C-d')
    t.run('wait', 'local:ask', '--exit', '--timeout', '10')
    with open(t.path('rest')) as f:
        eq(f.read(), 'typed\n', 'nothing but what was typed')
    wait_for(lambda: not t.pids('server --keeper'), 20, 'the keeper goes')


@test(timeout=120)
def fifty_megabytes_without_a_server(t):
    """50 MB without a server: right screen, and history from a checkpoint"""
    t.env['DLMUX_DEBUG'] = '1'
    shell(t, 'flood', 'seq 1 6500000; printf "\\033[1;31mlast\\033[m\\n"; '
          'touch %s; exec cat' % t.path('done'))
    kill_server(t)
    touch(t, 'flood')
    wait_for(lambda: os.path.exists(t.path('done')), 60, 'all is printed')

    def whole():
        c = re.findall(r'checkpoint full at (\d+) of (\d+)', agent_log(t))
        return c and c[-1][0] == c[-1][1] and int(c[-1][0]) > 50 << 20
    wait_for(whole, 30, 'a full checkpoint of the end', step=0.1)
    out = t.capture('local:flood', '-s', '9000').split('\n')
    n = [int(x) for x in out if x.isdigit()]
    ok(len(n) >= 9000, 'history: %d lines' % len(n))
    eq(n, list(range(6500001 - len(n), 6500001)), 'the history')
    ok('last' in out, 'the last line')
    ok('\x1b[' in t.capture('local:flood', '-e').split('last')[0][-12:],
       'and its colour')


@test(timeout=120)
def a_server_that_lags(t):
    """a link that stands still: it catches up by a checkpoint, without a gap"""
    host = fixtures.Ssh(t).host('web', relay=[], env=dict(DLMUX_DEBUG='1'))
    t.run('connect', 'ssh:web')
    for name, looked in (('seen', True), ('unseen', False)):
        shell(t, name, 'seq 1 3000000; echo "last line"; touch %s; exec cat' %
              t.path(name + '-done'), 'ssh:web:')
    o = t.outer('attach', 'ssh:web:seen')
    o.see('ready')
    host.tell('stall')
    for name in ('seen', 'unseen'):
        touch(t, name)
        wait_for(lambda: os.path.exists(t.path(name + '-done')), 40,
                 name + ' has printed all')

    def whole():
        c = re.findall(r'checkpoint full at (\d+) of (\d+)', agent_log(t))
        return len([x for x in c if x[0] == x[1] and
                    int(x[0]) > 20 << 20]) >= 2
    wait_for(whole, 30, 'full checkpoints of both ends', step=0.1)
    host.tell('resume')
    o.see('last line', 30)
    for name in ('seen', 'unseen'):
        t.run('wait', 'ssh:web:' + name, '--text', '^last line$',
              '--timeout', '20')
        out = t.capture('ssh:web:' + name, '-s', '9000').split('\n')
        n = [int(x) for x in out if x.isdigit()]
        ok(len(n) >= 9000, 'history: %d lines' % len(n))
        eq(n, list(range(3000001 - len(n), 3000001)), 'the history')
    ok('is lost' not in t.logs(), 'a gap:\n' + t.logs())
    wait_for(lambda: not t.pids('server --keeper'), 20, 'the keeper goes')


@test(timeout=90)
def a_keeper_that_dies(t):
    """kill -9 of the keeper: shells live, another comes; not for ever"""
    shell(t, 'a', 'stty -icanon; while :; do echo x; sleep 0.05; done')
    kill_server(t)
    touch(t, 'a')
    seen = []
    for _ in range(2):
        k = wait_for(lambda: [p for p in t.pids('server --keeper')
                              if p not in seen], 20, 'a keeper')[0]
        seen.append(k)
        os.kill(k, signal.SIGKILL)
    t.run('send', '-n', 'local:a', 'y')
    eq(t.shells()['local:a']['state'], 'running', 'the shell')


@test(timeout=90)
def output_that_kills_the_keeper(t):
    """a shell whose output killed two keepers is not shown to a third"""
    shell(t, 'bad', 'echo poison; exec cat')
    shell(t, 'ask', 'stty raw -echo min 0 time 200; printf "\\033[c"; '
          'dd bs=64 count=1 of=%s 2>/dev/null; stty sane; exec cat' %
          t.path('answer'))
    h = t.hook('keeper-output')
    kill_server(t)
    touch(t, 'bad')
    h.kill()
    h = t.hook('keeper-output')
    h.kill()
    wait_for(lambda: 'not shown to it any more' in agent_log(t), 10,
             'quarantine')
    touch(t, 'ask')
    wait_for(lambda: os.path.exists(t.path('answer')) and
             os.path.getsize(t.path('answer')), 20, 'an answer')
    # A server is not the keeper: it shows it.
    t.wait_capture('local:bad', 'poison')
