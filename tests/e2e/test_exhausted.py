# SPDX-License-Identifier: ISC
"""What runs out while dlmux runs: memory, processes, descriptors, disk, and the
patience of a client that never reads. Everybody else is served, and the log
says who and why."""

import os
import re
import resource
import shutil
import socket
import statistics
import subprocess
import time

import fixtures
from harness import ASAN, PROMPT, SLOW, Skip, eq, gone, ok, test, wait_for
from test_bad import frame, hello, hello_socket, say_all

SHELLS = 200
MEMORY = 256 << 20


def log_of(t, name):
    with open([os.path.join(r, f) for r, _, fs in os.walk(t.dir)
               for f in fs if f == name][0], errors='replace') as f:
        return f.read()


def rss_mb(pid, what='VmHWM'):
    with open('/proc/%d/status' % pid) as f:
        return int(re.search(what + r':\s+(\d+)', f.read()).group(1)) / 1024


# -- memory --

class Cgroup:
    """Where a process's memory is accounted, in either version."""

    def __init__(self, pid):
        with open('/proc/%d/cgroup' % pid) as f:
            lines = [x.rstrip('\n').split(':', 2) for x in f]
        for _, names, path in lines:
            if 'memory' in names.split(','):
                self.dir = '/sys/fs/cgroup/memory' + path
                self.v1 = True
                return
        self.dir = '/sys/fs/cgroup' + lines[-1][2]
        self.v1 = False

    def number(self, *names):
        for n in names:
            try:
                with open(os.path.join(self.dir, n)) as f:
                    return int(f.read())
            except (OSError, ValueError):
                pass
        return None

    def limit(self):
        return self.number('memory.limit_in_bytes', 'memory.max')

    def peak(self):
        return self.number('memory.max_usage_in_bytes', 'memory.peak')

    def kills(self):
        name = 'memory.oom_control' if self.v1 else 'memory.events'
        with open(os.path.join(self.dir, name)) as f:
            return int(re.search(r'oom_kill (\d+)', f.read()).group(1))


def chatterers(t, ws):
    """They print as fast as they can from /tmp/go on until /tmp/stop."""
    script = ('i=0; until [ -e /tmp/go ]; do sleep 0.5; done; until '
              '[ -e /tmp/stop ]; do i=$((i+1)); echo "line $i of shell %s '
              'with a few words more"; done; echo "end $i"; exec cat')
    for i in range(SHELLS):
        t.run('new', '%s:s%d' % (ws, i), '--', 'sh', '-c', script %
              ('s%d' % i))


def right_at_the_end(t, ws, i):
    """Its last lines: consecutive, and the very last."""
    name = '%s:s%d' % (ws, i)
    t.run('wait', name, '--text', '^end [0-9]+$', '--timeout', '30')
    out = t.capture(name).rstrip('\n').split('\n')
    last = int(out[-1].split()[1])
    eq(out, ['line %d of shell s%d with a few words more' % (n, i)
             for n in range(last - len(out) + 2, last + 1)] +
       ['end %d' % last], 'the screen of ' + name)


@test(timeout=120, alone=True)
def two_hundred_chattering_shells(t):
    """in a container of 256 MiB: bounded, answering, and right at the end"""
    p = fixtures.Podman(t)
    c = p.container('small', '--memory=%d' % MEMORY)
    ws = 'podman:' + c
    t.run('connect', ws)
    agent = [x for x in t.agent_pids()][0]
    group = Cgroup(agent)
    if group.limit() != MEMORY:
        raise Skip('a container\'s memory is not limited here: %s has %s' % (
            group.dir, group.limit()))
    chatterers(t, ws)
    t.run('exec', ws, '--', 'touch', '/tmp/go')
    took = []
    long = float(os.environ.get('DLMUX_CHATTER_S', '0'))
    end = time.monotonic() + max(1, long)
    while time.monotonic() < end:
        t0 = time.monotonic()
        eq(t.run('exec', ws, '--', 'echo', 'fine', timeout=30).out, 'fine\n')
        took.append((time.monotonic() - t0) * 1000)
    if long:
        # Without a server a keeper may be what is too much, never the agent:
        # for so long.
        t.run('server', 'stop')
        time.sleep(long)
    t.run('exec', ws, '--', 'touch', '/tmp/stop', timeout=30)
    for i in range(0, SHELLS, 23):
        right_at_the_end(t, ws, i)
    t.note('exec beside %d shells that print: median %.0f ms, worst %.0f' % (
        SHELLS, statistics.median(took), max(took)))
    t.note('agent %.0f MB at most, its container %.0f of %d; killed for want '
           'of memory: %d' % (rss_mb(agent), group.peak() / 1048576,
                              MEMORY >> 20, group.kills()))
    ok(not gone(agent), 'the agent lives')
    eq(t.agent_pids(), [agent], 'the agent')
    ok(rss_mb(agent) < 100, 'the agent took %.0f MB' % rss_mb(agent))
    eq(len([s for s in t.shells().values() if s['state'] == 'running']),
       SHELLS, 'shells')


# -- processes --

NOBODY = 54321


def another_user(t):
    """The test's dlmux runs as a user whose processes can be counted: root's
    cannot. Others' files it needs are copied to where it may read them."""
    if os.getuid() != 0:
        return
    shutil.copy(os.path.realpath(t.path('bin/dlmux')), t.path('bin/copy'))
    os.unlink(t.path('bin/dlmux'))
    os.rename(t.path('bin/copy'), t.path('bin/dlmux'))
    for root, dirs, files in os.walk(t.dir):
        os.lchown(root, NOBODY, NOBODY)
        for f in files:
            os.lchown(os.path.join(root, f), NOBODY, NOBODY)
    popen = t.popen

    def drop():
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
    t.popen = lambda *a, **kw: popen(*a, **dict(kw, preexec_fn=drop))


def limit(pid, what, n):
    """As its owner: to set another user's takes a privilege of its own."""
    owner = os.stat('/proc/%d' % pid)
    child = os.fork()
    if child == 0:
        try:
            if owner.st_uid != os.getuid():
                os.setgid(owner.st_gid)
                os.setuid(owner.st_uid)
            hard = resource.prlimit(pid, what)[1]
            resource.prlimit(pid, what, (hard if n is None else n, hard))
        except BaseException:
            os._exit(1)
        os._exit(0)
    eq(os.waitpid(child, 0)[1], 0, 'setting a limit')


def server_of(t):
    return t.pids('server --run')[0]


@test()
def no_more_processes(t):
    """fork fails in the agent, then in the server: said so, others go on"""
    t.config('Workspace box\n  Command sh -c %c\n')
    another_user(t)
    t.run('new', 'local:a', '--', 'sh', '-c', 'echo ready; exec cat')
    t.wait_capture('local:a', 'ready')
    agent, server = t.agent_pids()[0], server_of(t)
    limit(agent, resource.RLIMIT_NPROC, 1)
    r = t.run('exec', 'local', '--', 'true', rc=125)
    ok('Resource temporarily unavailable' in r.err, r)
    r = t.run('new', 'local:b', rc=125)
    ok('Resource temporarily unavailable' in r.err, r)
    t.run('send', '--wait', 'text=^typed$', '--timeout', '10', 'local:a',
          'typed')
    limit(server, resource.RLIMIT_NPROC, 1)
    r = t.run('exec', 'box', '--', 'true', rc=125)
    ok('Resource temporarily unavailable' in r.err, r)
    ok('Resource temporarily unavailable' in log_of(t, 'server.log'),
       'the log says why')
    t.run('send', '--wait', 'text=^again$', '--timeout', '10', 'local:a',
          'again')
    for p in (agent, server):
        limit(p, resource.RLIMIT_NPROC, None)
    t.run('exec', 'local', '--', 'true')
    t.run('exec', 'box', '--', 'true')
    t.run('new', 'local:b')
    eq((t.agent_pids()[0], server_of(t)), (agent, server), 'both live')


# -- descriptors --

@test()
def no_more_descriptors(t):
    """at run: those who are there go on, others are told or wait"""
    t.config('Workspace box\n  Command sh -c %c\n')
    o = t.outer('attach', 'local:a')
    o.see(PROMPT)
    agent, server = t.agent_pids()[0], server_of(t)
    path = hello_socket(t)

    def used(pid):
        return max(int(x) for x in os.listdir('/proc/%d/fd' % pid)) + 1
    limit(agent, resource.RLIMIT_NOFILE, used(agent))
    r = t.run('new', 'local:b', rc=125)
    ok('Too many open files' in r.err, r)
    r = t.run('exec', 'local', '--', 'true', rc=125)
    ok('Too many open files' in r.err, r)
    o.type('echo $((40+2))\r')
    o.see('^42')
    limit(agent, resource.RLIMIT_NOFILE, 1024)
    t.run('exec', 'local', '--', 'true')
    # The server: its last ones are taken by connections that say nothing.
    limit(server, resource.RLIMIT_NOFILE, used(server) + 3)
    held = []
    for _ in range(20):
        s = socket.socket(socket.AF_UNIX)
        s.connect(path)
        held.append(s)
    wait_for(lambda: 'no descriptors for a new client' in log_of(
        t, 'server.log'), 10, 'the log says so')
    o.type('echo $((50+2))\r')
    o.see('^52')
    late = t.popen('ls')
    for s in held:
        s.close()
    eq(t.finish(late).rc, 0, 'a client that waited')
    limit(server, resource.RLIMIT_NOFILE, used(server) + 1)
    r = t.run('exec', 'box', '--', 'true', rc=125)
    ok('Too many open files' in r.err, r)
    limit(server, resource.RLIMIT_NOFILE, 1024)
    t.run('exec', 'box', '--', 'true')
    eq((t.agent_pids()[0], server_of(t)), (agent, server), 'both live')


# -- disk --

@test()
def a_disk_that_fills_up(t):
    """state, logs and /home full at run: everything else goes on, also with a
    new server; when there is room again the state is saved"""
    if os.getuid() != 0:
        raise Skip('needs root to mount a small file system')
    d = t.mkdir('h/.local/state')
    if subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=128k,mode=700',
                       'tmpfs', d]).returncode != 0:
        raise Skip('cannot mount here')
    t.cleanups.append(lambda: subprocess.run(['umount', '-l', d]))
    o = t.outer('attach', 'local:a')
    o.see(PROMPT)
    full = os.path.join(d, 'full')
    fd = os.open(full, os.O_WRONLY | os.O_CREAT)
    try:
        while True:
            os.write(fd, b'x' * 4096)
    except OSError:
        os.close(fd)
    for i in range(3):
        t.run('new', 'local:n%d' % i)
    eq(t.run('exec', 'local', '--', 'echo', 'fine').out, 'fine\n')
    o.type('echo $((40+2))\r')
    o.see('^42')
    for p in t.pids('server --run'):
        os.kill(p, 9)
    o.type('echo $((50+2))\r')
    o.see('^52')
    eq(sorted(t.shells()), ['local:a', 'local:n0', 'local:n1', 'local:n2'],
       'shells')
    t.run('kill', 'local:n0')
    os.unlink(full)
    t.run('new', 'local:more')
    wait_for(lambda: any(b'more' in open(os.path.join(r, f), 'rb').read()
                         for r, _, fs in os.walk(d) for f in fs
                         if f.startswith('state.')), 10, 'the state is saved')


# -- clients --

def client(path):
    s = socket.socket(socket.AF_UNIX)
    s.connect(path)
    s.sendall(hello(1, 1, role=1))
    return s


def words(*strings):
    return b''.join(len(x).to_bytes(4, 'big') + x.encode() for x in strings)


@test()
def a_client_that_never_reads(t):
    """asks for the same long history without end and reads nothing: bounded,
    dropped, named in the log; a neighbour's keys are quick"""
    t.run('new', 'local:long', '--', 'sh', '-c',
          'seq -f "%0150.0f" 1 5000; echo all; exec cat')
    t.wait_capture('local:long', '^all$')
    o = t.outer('attach', 'local:a')
    o.see(PROMPT)
    server = server_of(t)
    before = rss_mb(server)
    s = client(hello_socket(t))
    s.settimeout(0.2)
    # CAPTURE: flags, lines, workspace, shell
    ask = b'\0' + b'\xff' * 4 + words('local', 'long')
    took, sent, over = [], 0, False
    end = time.monotonic() + 20 * SLOW
    while not over and time.monotonic() < end:
        try:
            for _ in range(5):
                sent += 1
                s.sendall(frame(0x62, ask, channel=sent))
        except socket.timeout:
            pass
        except OSError:
            over = True
        t0 = time.monotonic()
        o.type('k%d' % sent)
        o.see('k%d' % sent)
        took.append((time.monotonic() - t0) * 1000)
        o.type('\x15')
    t.note('dropped after %d requests; server %.0f MB before, %.0f at most; '
           'a key beside it: median %.1f ms, worst %.0f' % (
               sent, before, rss_mb(server), statistics.median(took),
               max(took)))
    ok(over, 'it was not dropped')
    ok(ASAN or rss_mb(server) < before + 100, 'server: %.0f MB' %
       rss_mb(server))
    ok(re.search(r'client \d+ \(pid %d\) dropped: .* (does not read|'
                 r'requests at once)' % os.getpid(),
                 log_of(t, 'server.log')), log_of(t, 'server.log')[-2000:])
    eq(server_of(t), server, 'the server')


@test()
def garbage_is_named(t):
    """what a client says wrong is in the log, with its pid, and bounded"""
    path = hello_socket(t)
    server = server_of(t)
    for _ in range(50):
        for data in (os.urandom(5000), hello(1, 1, role=1) + frame(0xee, b''),
                     hello(1, 1, role=1) + frame(0x52, os.urandom(600))):
            say_all(path, data, 10)
    log = log_of(t, 'server.log')
    ok(len(re.findall(r'client \d+ \(pid %d\)' % os.getpid(), log)) >= 150,
       'each is named:\n' + log[-3000:])
    ok(len(log) < 2 << 20, 'a log of %d bytes' % len(log))
    ok(ASAN or rss_mb(server) < 50, 'server: %.0f MB' % rss_mb(server))
    eq(server_of(t), server, 'the server')
