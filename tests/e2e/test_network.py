# SPDX-License-Identifier: ISC
"""A whole network that is cut, slow and lossy, between a real ssh and a real
sshd. DLMUX_CUTS="1 10 100" (seconds) is the long form, with what takes its time
and a storm of DLMUX_ROUNDS faults; DLMUX_SEED repeats one."""

import os
import random
import subprocess
import sys
import time

import network
import test_kill
from harness import PROMPT, eq, ok, test, wait_for

LONG = 'DLMUX_CUTS' in os.environ
LINE = 64           # bytes, with the newline


def long_test(**kw):
    """What takes its time by nature."""
    return test(**kw) if LONG else lambda f: f


# Lines of numbers at so many bytes a second, for so many seconds (what it is
# held up does not count); a mark in `runs` for each start.
NUMBERS = '''\
import sys, time
rate, secs = float(sys.argv[1]), float(sys.argv[2])
open(sys.argv[3], 'a').write('run\\n')
n, ran, last = 0, 0, time.monotonic()
while True:
    now = time.monotonic()
    ran, last = ran + min(now - last, 0.1), now
    upto = int(min(ran, secs) * rate / %d)
    sys.stdout.write(''.join('%%07d %%055d\\n' %% (i, 0)
                             for i in range(n, upto)))
    sys.stdout.flush()
    n = upto
    if ran >= secs:
        break
    time.sleep(0.02)
print('end %%d' %% n, flush=True)
sys.exit(7)
''' % LINE


def lines(first, last):
    return ''.join('%07d %055d\n' % (i, 0) for i in range(first, last))


class Cut:
    """A shell that prints and an exec that streams, over a line that is cut
    for so long, and what is to be right afterwards."""

    def __init__(self, t, net):
        self.t, self.net = t, net
        self.script = t.write('numbers', NUMBERS)
        self.runs = t.path('runs')

    def numbers(self, rate, secs):
        return '%s %s %d %s %s' % (sys.executable, self.script, rate, secs,
                                   self.runs)

    def run(self, secs, rate, before=0.3, after=0.7):
        t, net = self.t, self.net
        began = len(self.starts())
        # A shell that nobody reads goes on, an exec does not.
        command = self.numbers(rate, before + secs + after)
        o = t.outer('attach', 'ssh:far:a')
        o.see(PROMPT)
        out = open(t.path('out'), 'w+b')
        p = t.popen('exec', 'ssh:far', '--', 'sh', '-c', 'exec ' +
                    self.numbers(rate, before + after), stdout=out)
        o.type('clear; ' + command + '\r')
        o.gone('^end [0-9]+$')
        o.see('^[0-9]{7} 0{55}$')
        time.sleep(before)      # not a wait for an event: it is to flow
        counts = net.moved()
        net.cut()
        at = time.monotonic()
        noticed = None
        if o.ask('wait %d no answer|reconnecting' % (secs * 1000))['ok']:
            noticed = time.monotonic() - at
        # So long is the cut.
        time.sleep(max(0, at + secs - time.monotonic()))
        shown = o.show()
        size = os.path.getsize(out.name)
        net.restore()
        at = time.monotonic()
        wait_for(lambda: os.path.getsize(out.name) > size, 90,
                 'the exec goes on')
        back = time.monotonic() - at
        # Its own output's end, not the echo of a command.
        o.see('^end [0-9]+$', 90)
        screen = time.monotonic() - at
        o.gone('no answer|reconnecting', 90)
        r = t.finish(p, timeout=90)
        done = time.monotonic() - at
        self.exec_whole(r, out, began)
        self.shell_right()
        moved = [b - a for a, b in zip(counts, net.moved())]
        t.note('cut for %g s: noticed %s; after it back in %.1f s, end on '
               'screen in %.1f s, exec over in %.1f s; %.1f MB moved, %d '
               'packets lost' % (
                   secs, 'never' if noticed is None else
                   'after %.1f s' % noticed, back, screen, done,
                   (moved[0] + moved[1]) / 1e6, moved[2]))
        ok(noticed is not None or secs < 8, 'a notice while it is down:\n'
           + shown)
        o.type('\x1cd')
        o.wait_exit()

    def starts(self):
        try:
            with open(self.runs) as f:
                return f.read().split()
        except OSError:
            return []

    def exec_whole(self, r, out, began):
        out.seek(0)
        got = out.read().decode()
        out.close()
        n = got.count('\n') - 1
        eq(r.rc, 7, 'status of the exec')
        eq(len(self.starts()) - began, 2, 'starts, of exec and shell')
        ok(got == lines(0, n) + 'end %d\n' % n, 'the exec: %d lines, %d bytes'
           % (n, len(got)))

    def shell_right(self):
        text = self.t.capture('ssh:far:a', '-s', '-').rstrip('\n')
        rows = text.split('\n')
        end = max(i for i, x in enumerate(rows) if x.startswith('end '))
        n = int(rows[end].split()[1])
        # What HistoryLines keeps, but for the lines of the prompts.
        count = min(n, 9970)
        have = rows[max(end - count, 0):end]
        want = lines(n - count, n).split('\n')[:-1]
        eq(len(have), count, 'lines of history')
        if have != want:
            bad = [i for i in range(len(have)) if have[i] != want[i]]
            ok(False, 'the shell: %d lines differ, the first %r for %r' % (
                len(bad), have[bad[0]], want[bad[0]]))


@test(timeout=600)
def a_line_that_is_cut(t):
    """the line cut while a shell prints 1 MB/s and an exec streams: all right"""
    c = Cut(t, network.Network(t))
    for secs in network.cuts():
        c.run(secs, 1e6)


@test(timeout=900)
def a_bad_line_that_is_cut(t):
    """the same through 2 % loss and 100 ms"""
    net = network.Network(t)
    t.run('connect', 'ssh:far')     # the upload is not what is measured
    net.delay(100)
    net.loss(2)
    c = Cut(t, net)
    for secs in network.cuts():
        c.run(secs, 1e6 if secs > 1 else 1e5)


def row(t):
    return [w for w in t.ls() if w['workspace'] == 'ssh:far'][0]


def log(t, name):
    return open([os.path.join(d, f) for d, _, fs in os.walk(t.dir)
                 for f in fs if f == name][0]).read()


@test(timeout=240)
def a_peer_gone_silent(t):
    """found after 45 s when nothing is waited for, 10 s when something is"""
    scale = 1 if LONG else 20
    if scale > 1:
        t.env['DLMUX_LINK_TIMES'] = ','.join(
            str(x // scale) for x in (15000, 3000, 45000, 10000, 600000))
    net = network.Network(t)
    t.run('connect', 'ssh:far')

    def found(deadline):
        at = time.monotonic()
        net.cut()
        wait_for(lambda: row(t)['state'] != 'up', deadline * 2, 'it is found')
        secs = time.monotonic() - at
        ok('no answer for' in row(t)['error'], row(t))
        net.restore()
        return secs * scale
    idle = found(45 / scale)
    r = t.run('exec', 'ssh:far', '--', 'echo', 'on')
    eq(r.out, 'on\n')
    p = t.popen('exec', 'ssh:far', '--', 'sh', '-c', 'echo begun; cat; exit 3',
                stdin=subprocess.PIPE)
    eq(p.stdout.readline(), b'begun\n')
    busy = found(10 / scale)
    p.stdin.close()
    p.stdin = None
    eq(t.finish(p).rc, 3, 'the exec goes on')
    t.note('a peer gone silent: found after %.1f s idle, %.1f s busy (times '
           '1/%d)' % (idle, busy, scale))


@test(timeout=120)
def a_line_that_thaws(t):
    """typed into a dead line: kept, delivered once; when it thaws it is fenced"""
    t.env['DLMUX_LINK_TIMES'] = '500,300,2500,2000,20000'
    net = network.Network(t)
    t.run('new', 'ssh:far:a', '--', 'sh', '-c',
          'stty -echo; echo ready; exec cat >%s' % t.path('typed'))
    o = t.outer('attach', 'ssh:far:a', cols=120)
    o.see('ready')
    p = t.popen('exec', 'ssh:far', '--', 'sh', '-c', 'echo run >>%s; cat; '
                'exit 9' % t.path('runs'), stdin=-1)
    p.stdin.write(b'first ')
    p.stdin.flush()
    eq(os.read(p.stdout.fileno(), 100), b'first ', 'the exec')
    # Nothing passes at all: what is typed waits, and so does a send.
    net.cut()
    o.type('meanwhile\r')
    p.stdin.write(b'second')
    p.stdin.close()
    p.stdin = None
    o.see('no answer for [0-9]+ s, reconnecting.*, 10 bytes typed wait', 20)
    w = row(t)
    ok(w['state'] in ('connecting', 'reconnecting') and w['since_ms'] > 0 and
       'no answer for' in w['text'] and 'no answer' in w['error'], w)
    r = t.run('send', '--no-wait', 'ssh:far:a', 'not this', rc=125)
    ok('not connected' in r.err, r)
    sent = t.popen('send', 'ssh:far:a', 'sent')
    # Only new connections pass: dlmux comes back beside the old one.
    net.freeze()
    net.restore('cut')
    t.run('connect', 'ssh:far')
    r = t.finish(p)
    eq((r.rc, r.out), (9, 'second'), 'the exec')
    eq(t.finish(sent).rc, 0, 'the send')
    o.gone('no answer', 20)
    net.restore()
    wait_for(lambda: 'replaced by a newer' in log(t, 'agent.log'), 10,
             'the old one is fenced off')
    o.type('after\r')
    wait_for(lambda: os.path.getsize(t.path('typed')) == 21, 10, 'typed')
    with open(t.path('typed')) as f:
        eq(sorted(f.read().split()), ['after', 'meanwhile', 'sent'],
           'what was typed')
    with open(t.path('runs')) as f:
        eq(f.read(), 'run\n', 'starts')


@long_test(timeout=120)
def a_network_that_is_not_there(t):
    """unplugged: few tries, and one at once for who types or asks for it"""
    net = network.Network(t)
    t.run('new', 'ssh:far:a')
    o = t.outer('attach', 'ssh:far:a', cols=150)
    o.see(PROMPT)
    for what in ('\r', '\x1cr'):
        n = len(t.ssh.calls())
        net.unplug()
        os.kill(row(t)['transport_pid'], 9)
        o.see('reconnecting in ([5-9]|[12][0-9]) s.*Network is unreachable',
              30)
        ok(1 <= len(t.ssh.calls()) - n <= 4, 'tries: %s' % t.ssh.calls()[n:])
        net.restore()
        at = time.monotonic()
        o.type(what)
        wait_for(lambda: row(t)['state'] == 'up', 4.9, 'up at once')
        t.note('up %.1f s after %r' % (time.monotonic() - at, what))
        t.run('exec', 'ssh:far', '--', 'true')


def fault(t, net, m, rnd):
    """One of what a line can do, for a while; its words."""
    secs = rnd.choice((rnd.uniform(0.05, 1), rnd.uniform(1, 5)))
    what = rnd.choice(('cut', 'cut up', 'cut down', 'freeze', 'unplug', 'loss',
                       'slow', 'delay', 'ssh', 'server'))
    if what in ('ssh', 'server'):
        net.cut()
        m.kill(what)
    elif what == 'loss':
        net.loss(rnd.uniform(5, 40))
    elif what == 'slow':
        net.rate(rnd.randrange(20000, 200000))
    elif what == 'delay':
        net.delay(rnd.uniform(10, 200), rnd.uniform(0, 100))
    else:
        net.tell(what)
    m.type(rnd.randrange(4))
    time.sleep(secs)            # so long is the fault
    if rnd.random() < 0.2:
        t.popen('connect', 'ssh:far')
    m.type(rnd.randrange(4))
    net.restore()
    net.loss(0)
    net.rate(0)
    net.delay(0)
    return '%s %.1f s' % (what, secs)


@long_test(timeout=1800)
def a_storm(t):
    """faults of the line at random: keys, counter and stream whole and once"""
    rounds = int(os.environ.get('DLMUX_ROUNDS', '20'))
    seed = int(os.environ.get('DLMUX_SEED', '0')) or \
        random.randrange(1, 10 ** 6)
    rnd = random.Random(seed)
    t.note('seed %d' % seed)
    t.config('HistoryLines 1000000\n')
    t.env['DLMUX_LINK_TIMES'] = '500,300,2500,2000,20000'
    net = network.Network(t, seed=seed)
    t.run('connect', 'ssh:far')
    m = test_kill.Matrix(t, 'ssh:far', seed, mb=rounds // 4 + 1)
    part = m.stream.total // (rounds + 1)
    worst = 0
    for i in range(rounds):
        m.stream.allow(part * (i + 1))
        m.type(2)
        print(i, fault(t, net, m, rnd))
        at = time.monotonic()
        m.stream.reach(part * (i + 1) - (1 << 16))
        m.recovered()
        worst = max(worst, time.monotonic() - at)
    m.end()
    t.note('%d faults, the longest way back %.1f s' % (rounds, worst))
