# SPDX-License-Identifier: ISC
"""A server that knows nothing: screens at once, their history behind them."""

import os
import re
import signal

import fixtures
from harness import eq, ok, test, wait_for

LINES = 9000
SLOW_RATE = '--rate 30000'      # bytes a second: a history takes seconds


def agent_log(home):
    with open([os.path.join(r, f) for r, _, fs in os.walk(home)
               for f in fs if f == 'agent.log'][0], errors='replace') as f:
        return f.read()


def kill_server(t):
    for p in t.pids('server --run'):
        os.kill(p, signal.SIGKILL)
    wait_for(lambda: not t.pids('server --run'), 10, 'the server is gone')


def host_with_history(t, names):
    """Shells that printed much, and an agent that has it all in full
    checkpoints."""
    host = fixtures.Ssh(t).host(
        'web', relay=['$(cat %s)' % t.write('relay', '')],
        proxy_prefix='[ ! -e %s ] || exit 1' % t.path('away'),
        env=dict(DLMUX_DEBUG='1'))
    t.write('print', 'seq -f "%%.0f x" %d; seq -f "long %%0200.0f" 9\n' % LINES)
    for n in names:
        t.run('new', 'ssh:web:' + n)
        t.run('send', 'ssh:web:' + n, 'sh %s; echo all-""printed' %
              t.path('print'))
        t.wait_capture('ssh:web:' + n, '^all-printed', 30)
    wait_for(lambda: len(set(re.findall(
        r'shell (\d+): checkpoint full at (\d+) of \2,',
        agent_log(host.home)))) == len(names), 20, 'full checkpoints')
    return host


def numbers(text):
    return [int(m) for m in re.findall(r'^(\d+) x$', text, re.M)]


def down(host):
    """Bytes that came from the far side on the newest link."""
    return int(host.tell('bytes').split()[-1])


@test(timeout=90)
def comes_behind_the_screen(t):
    """the first picture of a new server does not wait for the history"""
    host = host_with_history(t, ('a', 'b', 'c'))
    # One that comes back to the next server, and holds nothing up there.
    waits = t.popen('wait', 'ssh:web:b', '--exit')
    sizes = [int(x) for x in re.findall(r'checkpoint full at \d+ of \d+, '
                                        r'(\d+)', agent_log(host.home))]
    kill_server(t)
    t.write('relay', SLOW_RATE)
    # Another size: lines are wrapped anew before those above them are here.
    o = t.outer('attach', 'ssh:web:b', rows=40, cols=100)
    o.see('^all-printed')
    got = down(host)
    t.note('%d bytes came before the first picture, of histories of %s' %
           (got, sizes))
    ok(got < min(sizes) / 2, 'the first picture came behind %d bytes' % got)
    o.type('echo ty""ped\r')
    # A capture waits for it, and a terminal that wants it above the screen.
    r = t.popen('capture', '-s', '-', 'ssh:web:b')
    above = t.outer('attach', '-s', '300', 'ssh:web:c')
    host.tell('rate 0')
    eq(numbers(t.finish(r, timeout=30).out), list(range(1, LINES + 1)),
       'the history')
    eq(waits.poll(), None, 'the wait for its end')
    o.see('^typed')
    above.see('^all-printed', 20)
    s = above.screen()
    n = numbers('\n'.join(s.history + s.rows))
    eq(n, list(range(LINES + 1 - len(n), LINES + 1)), 'lines above it')
    ok(len(n) > 200, '%d lines above it' % len(n))
    above.close()
    ok('begins anew' not in t.logs(), 'it was not put together here')
    # The same as with all at once.
    got = [t.capture('ssh:web:' + x, '-e', '-s', '-') for x in 'abc']
    o.close()
    kill_server(t)
    t.write('relay', '')
    t.env['DLMUX_WHOLE'] = '1'
    for x, have in zip('abc', got):
        eq(t.capture('ssh:web:' + x, '-e', '-s', '-'), have,
           'the history of ' + x)


@test(timeout=90)
def does_not_come_yet(t):
    """a link lost before the history came: the gap is told, and filled when the
    link is back"""
    host = host_with_history(t, ('a',))
    kill_server(t)
    t.write('relay', SLOW_RATE)
    t.wait_capture('ssh:web:a', '^all-printed')
    host.tell('stall')
    t.write('away', '')
    t.run('disconnect', 'ssh:web')
    out = t.capture('ssh:web:a', '-s', '-').split('\n')
    ok(out[0].startswith('[dlmux: the lines before this one are still in'),
       out[0])
    ok('all-printed' in out, 'the screen')
    screen = t.capture('ssh:web:a').split('\n')
    eq(out[-len(screen):], screen, 'the screen')
    ok(len(out) <= 1 + 2 * len(screen), 'a screenful above: %s' % out)
    os.unlink(t.path('away'))
    t.write('relay', '')
    t.run('connect', 'ssh:web')
    eq(numbers(t.capture('ssh:web:a', '-s', '-')),
       list(range(1, LINES + 1)), 'the history')
