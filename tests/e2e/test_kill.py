# SPDX-License-Identifier: ISC
"""The kill matrix. While a counter prints in a shell that one client shows, a
second client types a numbered text into `cat >file`, and one exec streams
bytes both ways, something is killed with SIGKILL: the showing client, the
server, the ssh process, the front, one at a time and in pairs, at moments
that a seed chooses and the log names. Afterwards the counter is whole, the
text is whole and once, and the bytes are the same.

Then the server alone, again and again under that load, each time at another
moment that the seed chose: three times, or DLMUX_KILL_ROUNDS times
(`DLMUX_KILL_ROUNDS=100 tests/e2e/run kill.under_load`), with a table of the
phases that were hit and of how long it took from the kill to the first echoed
key and the first new byte.

DLMUX_KILL_MB (4) and DLMUX_KILL_ROUNDS (1) make it longer; DLMUX_SEED repeats
a run."""

import collections
import hashlib
import json
import os
import random
import re
import signal
import subprocess
import threading
import time

import fixtures
from harness import SLOW, Failure, PROMPT, eq, ok, test, wait_for

MB = int(os.environ.get('DLMUX_KILL_MB', '4'))
ROUNDS = int(os.environ.get('DLMUX_KILL_ROUNDS', '1'))
SEED = int(os.environ.get('DLMUX_SEED', '0'))


class Stream:
    """An exec of `cat` that is given MB of noise and counts what comes back."""

    def __init__(self, t, ws, mb, rnd):
        self.data = rnd.randbytes(1 << 16) if hasattr(rnd, 'randbytes') else \
            bytes(rnd.randrange(256) for _ in range(1 << 16))
        self.total = mb << 20
        self.sent = hashlib.sha256()
        self.got = hashlib.sha256()
        self.count = 0
        self.last = 0.0             # when it last moved
        self.mark, self.passed = 0, None    # and went beyond the mark
        self.allowed = 0
        self.moved = threading.Condition()
        self.p = t.popen('exec', ws, '--', 'sh', '-c', 'cat; exit 37',
                         stdin=subprocess.PIPE)
        self.err = b''
        self.threads = [threading.Thread(target=f, daemon=True)
                        for f in (self.write, self.read, self.errors)]
        [x.start() for x in self.threads]

    def write(self):
        try:
            for i in range(self.total >> 16):
                with self.moved:
                    self.moved.wait_for(lambda: self.allowed >= i << 16)
                block = i.to_bytes(8, 'big') + self.data[8:]
                self.sent.update(block)
                self.p.stdin.write(block)
            self.p.stdin.close()
        except OSError as e:
            print('stream: stdin:', e)

    def read(self):
        while True:
            b = os.read(self.p.stdout.fileno(), 65536)
            with self.moved:
                if not b:
                    self.count = self.total + 1
                else:
                    self.got.update(b)
                    self.count += len(b)
                self.last = time.monotonic()
                if self.passed is None and self.count > self.mark:
                    self.passed = self.last
                self.moved.notify_all()
            if not b:
                return

    def errors(self):
        self.err = self.p.stderr.read()

    def allow(self, n):
        """So many bytes may go now; the rest waits for the next call."""
        with self.moved:
            self.allowed = n
            self.moved.notify_all()

    def reach(self, n):
        """Until n bytes came back."""
        with self.moved:
            if not self.moved.wait_for(lambda: self.count >= n, 60 * SLOW):
                raise Failure('the stream stands still at %d of %d: %r' % (
                    self.count, self.total, self.err))

    def set_mark(self):
        with self.moved:
            self.mark, self.passed = self.count, None

    def first_new(self):
        """When the first byte beyond the mark came."""
        with self.moved:
            if not self.moved.wait_for(lambda: self.passed is not None,
                                       60 * SLOW):
                raise Failure('no byte after %d: %r' % (self.mark, self.err))
            return self.passed

    def end(self):
        self.allow(self.total)
        for x in self.threads:
            x.join(120 * SLOW)
        rc = self.p.wait(timeout=30 * SLOW)
        eq(rc, 37, 'status of the stream (stderr %r)' % self.err)
        eq(self.got.hexdigest(), self.sent.hexdigest(), 'sums of the stream')


class Matrix:
    def __init__(self, t, ws, seed, mb=MB, echo=False):
        self.t, self.ws, self.mb = t, ws, mb
        self.rnd = random.Random(seed)
        self.seed = seed
        self.file = t.path('typed-%d' % seed)
        self.far = ws != 'local'
        c, k = '%s:count%d' % (ws, seed), '%s:cat%d' % (ws, seed)
        self.count, self.cat = c, k
        self.stop = t.path('stop-%d' % seed)
        t.run('new', c, '--', 'sh', '-c', 'i=0; while [ ! -e %s ]; do '
              'i=$((i+1)); echo "c $i"; [ $((i %% 4)) = 0 ] && sleep 0.02; '
              'done; echo "end $i"; exec cat' % self.stop)
        t.run('new', k, '--', 'sh', '-c', '%secho ready; exec cat >%s' % (
            '' if echo else 'stty -echo; ', self.file))
        t.wait_capture(k, 'ready')
        self.show = t.outer('attach', c, shell=True)
        self.show.see('^c [0-9]+$')
        self.typer = t.outer('attach', k, shell=True)
        self.typer.see('ready')
        self.lines = 0
        self.text = []
        self.stream = Stream(t, ws, mb, self.rnd)

    def type(self, n=5):
        for _ in range(n):
            self.lines += 1
            line = 'numbered line %06d %s\n' % (
                self.lines, 'z' * self.rnd.randrange(60))
            self.text.append(line)
            # Anywhere in a line may be the moment: type it in two pieces.
            cut = self.rnd.randrange(len(line))
            self.typer.type(line[:cut])
            self.typer.type(line[cut:])

    def pid(self, what):
        t = self.t
        if what == 'client':
            return wait_for(lambda: t.client_pids('attach ' + self.count),
                            10)[0]
        pattern = {'server': r'server --run', 'ssh': r'^\S*/ssh .* (web|far) exec',
                   'front': r'agent --stdio'}[what]
        return wait_for(lambda: t.pids(pattern), 20, 'a ' + what)[0]

    def kill(self, *what):
        """All at once: the pids are looked up first."""
        pids = []
        for w in what:
            try:
                pids.append((w, self.pid(w)))
            except Failure:
                print('no %s to kill now' % w)
        for w, p in pids:
            print('kill -9 %s (%d) at %d bytes, line %d' % (
                w, p, self.stream.count, self.lines))
            try:
                os.kill(p, signal.SIGKILL)
            except ProcessLookupError:
                print('it had gone by itself')
        if any(w == 'client' for w, _ in pids):
            self.show.see('left 137$', 20)
            self.show.close()
            self.show = self.t.outer('attach', self.count, shell=True)

    def recovered(self):
        """Until the counter goes on before the showing client's eyes."""
        def last():
            n = [int(r[2:]) for r in self.show.screen().rows
                 if re.match('c [0-9]+$', r)]
            return n[-1] if n else 0
        before = last()
        wait_for(lambda: last() > before, 30, 'the counter goes on:\n' +
                 self.show.show(), step=0.05)

    def end(self):
        t = self.t
        self.stream.end()
        self.type(3)
        self.show.see('^c [0-9]+$', 20)
        open(self.stop, 'w').close()
        t.run('wait', self.count, '--text', '^end [0-9]+$', '--timeout', '20',
              timeout=30)
        out = t.capture(self.count, '-s', '-').split('\n')
        n = [int(x[2:]) for x in out if re.match('c [0-9]+$', x)]
        last = int([x for x in out if x.startswith('end ')][0][4:])
        eq(n, list(range(1, last + 1)), 'the counter')
        self.show.see('^end %d$' % last, 20)
        self.typer.type('\x04')
        t.run('wait', self.cat, '--exit', '--timeout', '20', timeout=30)
        with open(self.file) as f:
            eq(f.read(), ''.join(self.text), 'the typed text')
        t.note('seed %d: counter 1..%d whole, %d lines once, %d MiB both ways'
               % (self.seed, last, self.lines, self.mb))
        t.run('kill', self.count)
        # The client that showed its end may have dismissed this one.
        t.run('kill', self.cat, rc=None)


def setup(t):
    # Every line of the counter must still be in the history.
    t.config('HistoryLines 200000\n')
    host = fixtures.Ssh(t).host('web')
    t.run('connect', 'ssh:web')
    return host


def matrix(t, ws, combos):
    for r in range(ROUNDS):
        seed = SEED or random.randrange(1, 10 ** 6)
        m = Matrix(t, ws, seed)
        t.note('seed %d' % seed)
        part = m.stream.total // (len(combos) + 1)
        for i, c in enumerate(combos):
            # Bytes are on their way when it happens, and must still be.
            at = part * i + m.rnd.randrange(part // 4, part * 3 // 4)
            m.stream.allow(part * (i + 1))
            m.type()
            m.stream.reach(at)
            m.kill(*c)
            m.type()
            m.stream.reach(part * (i + 1) - (1 << 16))
            m.recovered()
        m.end()


@test(timeout=120 + ROUNDS * (60 + MB * 3))
def one_at_a_time(t):
    """client, server, ssh, front killed one at a time"""
    setup(t)
    matrix(t, 'ssh:web', [('client',), ('server',), ('ssh',), ('front',)])


@test(timeout=120 + ROUNDS * (90 + MB * 3))
def in_pairs(t):
    """each pair of client, server, ssh, front killed at once"""
    setup(t)
    matrix(t, 'ssh:web', [('client', 'server'), ('client', 'ssh'),
                          ('client', 'front'), ('server', 'ssh'),
                          ('server', 'front'), ('ssh', 'front')])


@test(timeout=120 + ROUNDS * (60 + MB * 3))
def local_server(t):
    """the server of `local` killed again and again"""
    t.config('HistoryLines 200000\n')
    matrix(t, 'local', [('server',), ('client',), ('server',),
                        ('client', 'server')])


# --- the server alone, at any moment ------------------------------------------

KILLS = 3 if ROUNDS == 1 else ROUNDS
PIECE = 1 << 20                 # of the stream, a round
MORE = 1 << 17                  # and when it was killed
HOOKS = ('link-hello', 'server-open', 'server-frame')


def share(times, part):
    times = sorted(times)
    return 1000 * times[min(len(times) - 1, int(len(times) * part))]


class Kills(Matrix):
    """Each round: a piece of the stream and a line are let go, the server is
    killed, at once or some time later, sometimes once more before it is
    back, and the round is over when a key was echoed and a new byte came."""

    def __init__(self, t, ws, seed, rounds):
        mb = -(-(rounds + 1) * (PIECE + MORE) >> 20)
        super().__init__(t, ws, seed, mb, echo=True)
        self.phases = collections.Counter()
        self.echo, self.byte = [], []
        self.recent = 0.1       # how long it took last

    def server(self):
        return wait_for(lambda: self.t.pids(r'server --run'), 20,
                        'a server', step=0.002)[0]

    def said(self, pid):
        """The log of that server."""
        text = ''
        for d, _, names in os.walk(self.t.home):
            if 'server.log' in names:
                with open(d + '/server.log', errors='replace') as f:
                    text += ''.join(x for x in f if '[%d]' % pid in x)
        return text

    def phase(self, pid, back):
        """What it was about, from what it said and what is not done yet."""
        said = self.said(pid)
        if 'listens on' not in said:
            return 'starting'
        if '%s: up' % self.ws not in said:
            return 'before the link'
        if not back:
            return 'restoring'
        if self.unseen():
            return 'with a key on its way'
        if self.stream.count < self.stream.allowed:
            return 'with bytes on their way'
        return 'with the counter alone'

    def unseen(self):
        line = self.text[-1].split(' z')[0].rstrip() if self.text else ''
        return not any(line in r for r in self.typer.screen().rows)

    def strike(self, pid, phase):
        """Kills what stands still, and says when."""
        # What is in the client is no recovery.
        wait_for(lambda: time.monotonic() - self.stream.last >= 0.005, 5,
                 'nothing more comes', step=0.002)
        self.stream.set_mark()
        t0 = time.monotonic()
        os.kill(pid, signal.SIGKILL)
        self.phases[phase] += 1
        print('kill %d: server %d %s; %d bytes, line %d' % (
            sum(self.phases.values()), pid, phase, self.stream.mark,
            self.lines))
        return t0

    def hold(self, back, pid=None):
        pid = pid or self.server()
        os.kill(pid, signal.SIGSTOP)
        wait_for(lambda: open('/proc/%d/stat' % pid).read().rpartition(')')[2]
                 .split()[0] in 'TZ', 5, 'it stands', step=0.001)
        return pid, self.phase(pid, back)

    def at_hook(self, name):
        """In the middle of that: now, or when it comes back."""
        if name == 'server-frame':
            h = self.t.hook(name)
        else:
            pid, phase = self.hold(True)
            h = self.t.hook(name)
            self.strike(pid, phase)
        pid = h.wait(20)
        if pid not in self.t.pids(r'server --run'):
            os.kill(pid, signal.SIGCONT)        # the keeper came by
            return None
        return self.strike(pid, 'at ' + name)

    def round(self, left):
        """So many kills at most; returns how many it took."""
        before = sum(self.phases.values())
        rnd, pid = self.rnd, self.server()
        how, wait = rnd.random(), rnd.uniform(0, 0.012)
        self.stream.allow(self.stream.allowed + PIECE)
        self.type(1)
        struck = None
        if how < 0.2 and left >= 2:
            struck, pid = self.at_hook(rnd.choice(HOOKS)), None
        if struck is None and sum(self.phases.values()) - before < left:
            time.sleep(wait)    # any moment will do, here and below
            struck = self.strike(*self.hold(True, pid))
            while how > 0.6 and sum(self.phases.values()) - before < \
                    min(left, 4):
                time.sleep(rnd.uniform(0, self.recent))
                struck = self.strike(*self.hold(False))
                how -= 0.2
        if struck is not None:
            self.back(struck)
        return sum(self.phases.values()) - before

    def back(self, since):
        """Until a key was echoed and a byte came that is new."""
        self.stream.allow(self.stream.allowed + MORE)
        self.type(1)
        # One key and its echo are enough, but a line is found by its number.
        self.typer.see('^numbered line %06d' % self.lines, 30)
        self.echo.append(time.monotonic() - since)
        self.byte.append(self.stream.first_new() - since)
        self.recent = self.echo[-1]
        self.recovered()

    def table(self, what='kills'):
        t = self.t
        t.note('%-7s %d %s, seed %d, %d recoveries' % (
            self.ws, sum(self.phases.values()), what, self.seed,
            len(self.echo)))
        for p, n in self.phases.most_common():
            t.note('    %-28s %4d' % (p, n))
        for what, times in (('first echoed key', self.echo),
                            ('first new byte', self.byte)):
            t.note('    %-17s p50 %4.0f ms  p95 %4.0f ms  max %4.0f ms' % (
                what, share(times, .5), share(times, .95), share(times, 1)))


def under_load(t, ws):
    m = Kills(t, ws, SEED or random.randrange(1, 10 ** 6), KILLS)
    t.note('seed %d' % m.seed)
    done = 0
    while done < KILLS:
        done += m.round(KILLS - done)
    m.table()
    m.end()
    for what, times in (('key', m.echo), ('byte', m.byte)):
        ok(share(times, .95) < 3000 * SLOW, 'the first %s: %r' % (what, times))


def upgraded(t):
    """The same program, by another version and so another name."""
    said = t.run('version').out.split()[1]
    ok(re.match(r'[0-9]\.', said), 'a version: ' + said)
    new = '9' + said[1:]
    with open(t.bin + '/dlmux', 'rb') as f:
        text = f.read()
    was, becomes = said.encode() + b'\0', new.encode() + b'\0'
    ok(was in text, said + ' stands in the program')
    path = t.write('bin/.new', text.replace(was, becomes), 0o755)
    os.rename(path, t.bin + '/dlmux')
    eq(t.run('version').out.split()[1], new, 'the version')
    return said, new


@test(timeout=120)
def restarts_and_an_upgrade(t):
    """server restart, and one by a new version, under load: all goes on"""
    setup(t)
    m = Kills(t, 'ssh:web', SEED or random.randrange(1, 10 ** 6), 5)
    agents = t.agent_pids()
    old = new = t.run('version').out.split()[1]
    for i in range(4):
        if i == 2:
            old, new = upgraded(t)
        pid = m.server()
        m.stream.allow(m.stream.allowed + PIECE)
        m.type(1)
        m.stream.set_mark()
        t0 = time.monotonic()
        t.run('server', 'restart')
        m.back(t0)
        k = json.loads(t.run('server', 'status', '--json').out)
        ok(k['pid'] != pid, 'another server')
        eq(k['version'], new, 'the server')
        eq([w['agent'] for w in t.ls()], [old], 'the agent')
        m.phases['by another version' if i == 2 else 'by the same'] += 1
    eq(t.agent_pids(), agents, 'agents')
    m.table('restarts')
    m.end()


@test(timeout=60 + KILLS * 4)
def under_load_local(t):
    """kill -9 of the server under load, at seeded moments: local"""
    t.config('HistoryLines 200000\n')
    under_load(t, 'local')


@test(timeout=60 + KILLS * 4)
def under_load_ssh(t):
    """kill -9 of the server under load, at seeded moments: an ssh host"""
    setup(t)
    under_load(t, 'ssh:web')


def at_hook(name, action, m, deadline=30):
    t = m.t
    h = t.hook(name)
    burst = None
    m.type(2)
    if 'checkpoint' in name:
        # They are made every so many bytes of output. Not waited for yet: who
        # would answer may stand at the hook already.
        burst = t.popen('new', '%s:burst-%s' % (m.ws, name), '--', 'sh', '-c',
              'head -c 900000 /dev/zero | tr "\\0" x | fold -w 79; exec cat')
    try:
        pid = h.wait(deadline)
    except Failure:
        h.disarm()
        raise
    print('stopped at %s: %d' % (name, pid))
    action(pid)
    if burst is not None:
        eq(t.finish(burst).rc, 0, 'the new shell')


@test(timeout=240 + MB * 5)
def mid_frame_and_mid_checkpoint(t):
    """the server killed in the middle of a frame and of a checkpoint"""
    setup(t)
    m = Matrix(t, 'ssh:web', SEED or 11)

    def kill(pid):
        os.kill(pid, signal.SIGKILL)
    m.stream.allow(1 << 20)
    at_hook('server-frame', kill, m)
    m.recovered()
    at_hook('server-checkpoint', kill, m)
    m.recovered()

    def ssh_gone(pid):
        # The agent stands in the middle of storing a checkpoint.
        m.kill('ssh')
        os.kill(pid, signal.SIGCONT)
    at_hook('agent-checkpoint', ssh_gone, m)
    m.end()


def exit_record(t, ws, hook, victims):
    """An exec whose end is held up at a hook while something is killed."""
    h = t.hook(hook)
    p = t.popen('exec', ws, '--', 'sh', '-c', 'echo out; echo err >&2; exit 73')
    pid = h.wait(20)
    print('%s: stopped %d' % (hook, pid))
    for v in victims:
        if v == 'stopped':
            os.kill(pid, signal.SIGKILL)
        else:
            os.kill(wait_for(lambda: t.pids(
                {'server': r'server --run', 'ssh': r'^\S*/ssh .* (web|far) exec',
                 'front': r'agent --stdio'}[v]), 10)[0], signal.SIGKILL)
    if 'stopped' not in victims:
        os.kill(pid, signal.SIGCONT)
    r = t.finish(p, timeout=40)
    eq((r.rc, r.out, r.err.split('\n')[0]), (73, 'out\n', 'err'),
       '%s %s' % (hook, victims))


@test(timeout=200)
def mid_exit_record(t):
    """killed while an exit record is on its way: the status still arrives"""
    setup(t)
    for ws in ('local', 'ssh:web'):
        t.run('exec', ws, '--', 'true')
        exit_record(t, ws, 'server-exit', ['stopped'])
        exit_record(t, ws, 'agent-exit', ['server'])
        if ws != 'local':
            exit_record(t, ws, 'agent-exit', ['ssh'])
            exit_record(t, ws, 'agent-exit', ['front'])
            exit_record(t, ws, 'agent-exit', ['server', 'ssh'])


@test(timeout=120)
def mid_open(t):
    """killed while an OPEN is on its way: run once, never twice"""
    setup(t)
    for i, (ws, hook) in enumerate([('local', 'server-open'),
                                    ('ssh:web', 'server-open'),
                                    ('local', 'agent-started'),
                                    ('ssh:web', 'agent-started')]):
        t.run('exec', ws, '--', 'true')
        mark = t.path('ran%d' % i)
        h = t.hook(hook)
        p = t.popen('exec', ws, '--', 'sh', '-c', 'echo x >>%s; exit 8' % mark)
        pid = h.wait(20)
        os.kill(t.pids('server --run')[0], signal.SIGKILL)
        if hook.startswith('agent'):
            os.kill(pid, signal.SIGCONT)
        r = t.finish(p, timeout=40)
        eq(r.rc, 8, '%s %s: %r' % (ws, hook, r))
        eq(open(mark).read(), 'x\n', 'runs')


@test(timeout=60)
def attached_after_kill_of_the_server(t):
    """an attached client goes on within a second of kill -9 of the server"""
    o = t.outer('attach', 'local:a', shell=True)
    o.see(PROMPT)
    for i in range(3):
        os.kill(t.pids('server --run')[0], signal.SIGKILL)
        t0 = time.monotonic()
        o.type('echo back $((%d+100))\r' % i)
        o.see('^back %d$' % (i + 100))
        took = time.monotonic() - t0
        t.note('typed and echoed %.0f ms after the kill' % (took * 1000))
        ok(took < 1 * SLOW, 'took %.2f s' % took)
    o.type('exit 3\r')
    o.see('^left 3$')


@test(timeout=90)
def a_cut_link_resumes(t):
    """the relay cut at seeded byte counts: exec goes on"""
    ssh = fixtures.Ssh(t)
    host = ssh.host('web', relay=[])
    t.run('connect', 'ssh:web')
    s = Stream(t, 'ssh:web', 6, random.Random(SEED or 5))
    s.allow(s.total)
    for at in (1 << 20, 3 << 20):
        s.reach(at)
        host.tell('cut')
    s.end()


@test(timeout=90)
def a_stalled_link(t):
    """a black hole: a notice over the last screen, ls quick, then on"""
    ssh = fixtures.Ssh(t)
    host = ssh.host('web', relay=[])
    o = t.outer('attach', 'ssh:web:a', shell=True)
    o.see(PROMPT)
    o.type('echo before; cat\r')
    o.see('^before$')
    host.tell('stall')
    o.type('x\r')
    o.see('no answer', 40)
    s = o.screen()
    ok('before' in s.text, 'the last screen stays: ' + s.text)
    t.note('ls beside a black hole: %.0f ms' % (t.run('ls').secs * 1000))
    host.tell('resume')
    o.gone('no answer', 40)
    o.type('y\r')
    o.see('^y$', 20)

