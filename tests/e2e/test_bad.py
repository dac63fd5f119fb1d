# SPDX-License-Identifier: ISC
"""Bad input: a clear error, 125 (2 for usage), nothing else disturbed."""

import json
import os
import resource
import signal
import socket
import stat
import struct

import fixtures
from harness import ASAN, SLOW, Skip, eq, ok, test, wait_for


def fails(t, *args, says=(), rc=125, timeout=20, **kw):
    r = t.run(*args, rc=rc, timeout=timeout, **kw)
    for s in (says,) if isinstance(says, str) else says:
        ok(s.lower() in r.err.lower(), 'says %r: %r' % (s, r.err))
    ok(r.err.strip() != '' and len(r.err.split('\n')) < 12, repr(r.err))
    return r


@test()
def unknown_workspace(t):
    """an unknown bare name lists what is known"""
    t.config('Workspace box\n  Command sh -c %c\n')
    r = fails(t, 'exec', 'nosuch', '--', 'true', says=('nosuch', 'box'))
    ok('local' in r.err, 'lists local too: %r' % r.err)


@test()
def names_that_do_not_parse(t):
    """bad workspace and shell names are usage errors or 125, with words"""
    for n in ('local:a/b', 'local:', 'ssh:', ':x', 'local:' + 'x' * 65,
              'ssh:-oProxyCommand=x', 'docker:', 'local:..'):
        r = t.run('new', n, rc=None)
        ok(r.rc in (2, 125) and r.err, '%s: %r' % (n, r))


@test()
def a_host_that_refuses(t):
    """connection refused is said with ssh's own words"""
    fixtures.Ssh(t)
    t.write('ssh/config', 'Host no\n\tHostName 127.0.0.1\n\tPort 1\n', 0o600)
    fails(t, 'exec', 'ssh:no', '--', 'true', says='refused')
    t.run('exec', 'local', '--', 'true')


@test()
def failed_authentication(t):
    """a refused key is said so, and is not tried for ever"""
    host = fixtures.Ssh(t).host('web', authorized=False)
    fails(t, 'exec', 'ssh:web', '--', 'true', says='permission denied')
    n = host.tries()
    ok(n <= 2, 'tries: %d' % n)


@test()
def no_answer(t):
    """a host that is silent: other workspaces and ls stay quick; ^C leaves"""
    ssh = fixtures.Ssh(t)
    host = ssh.host('mute', proxy_prefix='exec sleep 1000')
    p = t.popen('exec', 'ssh:mute', '--', 'true')
    wait_for(lambda: host.tries(), 10)
    for _ in range(3):
        for args in (['ls'], ['exec', 'local', '--', 'true'],
                     ['server', 'status']):
            r = t.run(*args)
            ok(r.secs < 2 * SLOW, '%s took %.2f' % (args, r.secs))
    p.send_signal(2)
    p.send_signal(2)
    r = t.finish(p, timeout=10)
    ok(r.rc in (125, 130), repr(r))


@test()
def a_transport_that_hangs(t):
    """capture shows what was seen last, kill can be left, progress is shown"""
    hang = t.path('hang')
    t.config('Workspace box\n  Command test -e %s && exec sleep 1000; '
             'sh -c %%c\n' % hang)
    t.run('new', 'box:a', '--', 'sh', '-c', 'echo seen; exec cat')
    t.wait_capture('box:a', 'seen')
    t.write('hang', '')
    t.run('disconnect', 'box')
    ok('seen' in t.run('capture', 'box:a').out, 'the screen of before')
    r = t.run('capture', 'box:a')
    ok('seen' in r.out and r.secs < 1 * SLOW, 'at once, now: %r' % r)
    o = t.outer('kill', 'box:a')
    o.see('connecting to box')
    o.type('\x03')
    eq(o.wait_exit(), 130)
    o.gone('connecting to box')


@test()
def far_side_without_sh(t):
    """a far side that is no shell is told with what it said"""
    t.config('Workspace odd\n  Command sh -c \'echo "this is a menu"\' odd\n'
             'Workspace gone\n  Command /no/such/program\n')
    fails(t, 'exec', 'odd', '--', 'true', says='menu')
    fails(t, 'exec', 'gone', '--', 'true', says='no/such/program')


@test()
def no_writable_directory(t):
    """no directory to put the agent in: said so"""
    if os.getuid() == 0:
        # Root writes everywhere: a far side whose mounts are all read-only.
        p = fixtures.Podman(t, agent=False)
        c = p.container('ro', '--read-only', '--read-only-tmpfs=false')
        fails(t, 'exec', 'podman:' + c, '--', 'true', says='directory',
              timeout=60)
        return
    raise Skip('only root can make a place without a directory here')


@test()
def foreign_architecture(t):
    """a foreign architecture without a named binary is said so"""
    host = fixtures.Ssh(t).host('arm')
    # The far side's uname says another machine.
    t.write('far-arm/bin/uname', '#!/bin/sh\necho Linux riscv64\n', 0o755)
    t.write('far-arm/.bashrc', 'PATH=$HOME/bin:$PATH\n')
    t.write('far-arm/.zshenv', 'PATH=$HOME/bin:$PATH\n')
    del host
    fails(t, 'exec', 'ssh:arm', '--', 'true', says=('riscv64',))


@test()
def config_that_does_not_parse(t):
    """an unknown keyword is told with file and line"""
    t.config('# fine\n\nFrobnicate yes\n')
    fails(t, 'exec', 'ssh:x', '--', 'true', says=('dlmux.conf:3',))


@test()
def config_of_somebody_else(t):
    """a config others may write is refused"""
    path = t.config('Workspace box\n  Command sh -c %c\n')
    os.chmod(path, 0o666)
    fails(t, 'exec', 'box', '--', 'true', says='dlmux.conf')


@test()
def state_directory_of_somebody_else(t):
    """a socket directory owned by another user is refused"""
    if os.getuid() != 0:
        raise Skip('needs root to make another user\'s directory')
    d = t.mkdir('h/.local/state/dlmux')
    os.chown(d, 12345, 12345)
    fails(t, 'ls', says='owned')


@test()
def state_directory_is_a_symlink(t):
    """a symlink in place of the directory is refused"""
    t.mkdir('h/.local/state')
    t.mkdir('elsewhere')
    os.symlink(t.path('elsewhere'), t.path('h/.local/state/dlmux'))
    fails(t, 'ls')


def hello_socket(t):
    t.run('server', 'start')
    st = t.path('h/.local/state/dlmux')
    for root, _, files in os.walk(st):
        for f in files:
            if f == 'server.sock':
                return os.path.join(root, f)
    for root, _, files in os.walk('/tmp'):
        if 'server.sock' in files and root.startswith('/tmp/dlmux'):
            return os.path.join(root, 'server.sock')
    raise AssertionError('no server socket')


def say_all(path, data, secs):
    """On a connection of its own, until the server hangs up or says nothing
    for so long."""
    s = socket.socket(socket.AF_UNIX)
    s.connect(path)
    try:
        s.sendall(data)
        s.settimeout(secs * SLOW)
        while s.recv(65536):
            pass
    except OSError:
        pass
    s.close()


@test()
def garbage_on_the_socket(t):
    """garbage and half frames at the server's socket disturb nobody"""
    path = hello_socket(t)
    pid = t.server_pid()
    t.run('new', 'local:a')
    for data in (b'GET / HTTP/1.0\r\n\r\n', b'\0' * 5000, b'\xff' * 5000,
                 os.urandom(70000), struct.pack('>I', 65536) + b'\1\0\0\0'):
        say_all(path, data, 5)
    idle = []
    for _ in range(100):            # connections that say nothing
        s = socket.socket(socket.AF_UNIX)
        s.connect(path)
        idle.append(s)
    t.run('send', '--wait', 'text=^hi$', '--timeout', '10', 'local:a',
          'echo hi')
    eq(t.server_pid(), pid, 'the same server')
    for s in idle:
        s.close()


@test()
def garbage_from_a_far_side(t):
    """a far side that speaks garbage behind the marker is dropped"""
    t.script('liar', 'm=$(echo "$*" | grep -oE "[0-9a-f]{32}" | head -n 1)\n'
             'echo "noise $m AGENT"\nhead -c 20000 /dev/urandom\nsleep 1000\n')
    t.config('Workspace liar\n  Command liar\n')
    fails(t, 'exec', 'liar', '--', 'true', timeout=30)
    t.run('exec', 'local', '--', 'true')


@test()
def endless_noise_from_a_far_side(t):
    """a far side that prints for ever is given up"""
    t.config('Workspace noisy\n  Command yes # %c\n')
    fails(t, 'exec', 'noisy', '--', 'true', timeout=30)
    t.run('exec', 'local', '--', 'true')


CRC = [0] * 256
for _i in range(256):
    _c = _i
    for _ in range(8):
        _c = _c >> 1 ^ (0x82f63b78 if _c & 1 else 0)
    CRC[_i] = _c


def frame(kind, payload, flags=0, channel=0):
    head = struct.pack('>IBBHI', len(payload), kind, flags, 0, channel)
    c = 0xffffffff
    for b in head:
        c = c >> 8 ^ CRC[(c ^ b) & 255]
    return head + struct.pack('>I', c ^ 0xffffffff) + payload


def hello(lowest, highest, role=5, features=()):
    def words(s):
        return struct.pack('>I', len(s)) + s
    return frame(1, struct.pack('>HHB16sQIQ', lowest, highest, role, b'i' * 16,
                                0, 1, 0) + words(b'9.9') + words(b'host') +
                 words(b'Linux x86_64') + struct.pack('>I', len(features)))


@test()
def a_far_side_of_another_version(t):
    """an agent of an unknown protocol version is refused by its number"""
    t.write('hello', hello(99, 100))
    t.script('future', 'm=$(echo "$*" | grep -oE "[0-9a-f]{32}" | head -n 1)\n'
             'echo "$m AGENT"\ncat %s\nsleep 1000\n' % t.path('hello'))
    t.config('Workspace future\n  Command future\n')
    fails(t, 'exec', 'future', '--', 'true', says=('99',), timeout=30)


@test()
def a_server_that_hangs(t):
    """a server that does not answer is told, with its pid"""
    t.run('new', 'local:a')
    pid = t.server_pid()
    os.kill(pid, signal.SIGSTOP)
    try:
        clients = [t.popen(*c.split()) for c in (
            'ls', 'server status', 'server stop', 'exec local -- true')]
        for p in clients:
            r = t.finish(p)
            eq(r.rc, 125, repr(r))
            ok('(pid %d) does not answer' % pid in r.err, repr(r))
    finally:
        os.kill(pid, signal.SIGCONT)
    t.run('exec', 'local', '--', 'true')


@test()
def a_client_of_another_version(t):
    """a client of an unknown version, or one that breaks a rule, is told"""
    path = hello_socket(t)
    pid = t.server_pid()
    for what, data in (('version', hello(99, 100, role=1)),
                       ('unknown frame', hello(1, 1, role=1) +
                        frame(0xee, b'')),
                       ('no hello', frame(0xee, b'x')),
                       ('agent frame', hello(1, 1, role=1) +
                        frame(0x40, b'xx', channel=1))):
        s = socket.socket(socket.AF_UNIX)
        s.connect(path)
        s.settimeout(15 * SLOW)
        s.sendall(data)
        got = b''
        try:
            while True:
                b = s.recv(65536)
                if not b:
                    break
                got += b
        except ConnectionResetError:
            pass
        print(what, got)
        s.close()
        if what == 'version':
            ok(b'99' in got, 'both versions are named: %r' % got)
    eq(t.server_pid(), pid, 'the same server')


@test()
def bad_numbers(t):
    """numbers that are none are usage errors"""
    t.run('new', 'local:a')
    for args in (['wait', '--idle', 'x', 'local:a'],
                 ['wait', '--idle', '-5', 'local:a'],
                 ['wait', '--text', 'x', '--timeout', 'soon', 'local:a'],
                 ['capture', '-s', 'all', 'local:a'],
                 ['exec', '--status-fd', 'x', 'local', '--', 'true'],
                 ['send', '--wait', 'nonsense', 'local:a', 'x']):
        r = t.run(*args, rc=None)
        ok(r.rc in (2, 125) and r.err, '%s: %r' % (args, r))


@test()
def a_shell_that_is_not_there(t):
    """send, wait, capture, kill of a shell that does not exist"""
    for args in (['send', 'local:no', 'x'], ['wait', 'local:no', '--idle',
                 '10'], ['capture', 'local:no'], ['kill', 'local:no'],
                 ['attach', '-r', 'local:no']):
        r = t.run(*args, rc=None, timeout=10)
        ok(r.rc == 125 and r.err, '%s: %r' % (args, r))


@test()
def attach_without_a_terminal(t):
    """attach without a terminal says so"""
    r = t.run('attach', 'local', rc=None)
    ok(r.rc in (2, 125) and 'terminal' in r.err, repr(r))


@test()
def modes_of_what_is_made(t):
    """directories 0700, sockets and state 0600, whatever the umask"""
    old = os.umask(0)
    try:
        fixtures.Ssh(t).host('web')
        t.run('new', 'local:a')
        t.run('new', 'ssh:web:b')
        wait_for(lambda: any(f == 'state' or 'state' in f for _, _, fs in
                 os.walk(t.path('h/.local/state/dlmux')) for f in fs), 10)
        for base in ('h/.local/state/dlmux', 'far-web/.local/state/dlmux',
                     'far-web/.cache/dlmux'):
            for root, dirs, files in os.walk(t.path(base)):
                st = os.lstat(root)
                eq(stat.S_IMODE(st.st_mode), 0o700, root)
                eq(st.st_uid, os.getuid(), root)
                for f in files:
                    p = os.path.join(root, f)
                    mode = stat.S_IMODE(os.lstat(p).st_mode)
                    ok(mode & 0o077 == 0, '%s is %o' % (p, mode))
    finally:
        os.umask(old)


@test()
def another_user_is_turned_away(t):
    """another uid (root included) is refused by SO_PEERCRED"""
    if os.getuid() != 0:
        raise Skip('needs root to be somebody else')
    path = hello_socket(t)
    d = os.path.dirname(path)
    # Even with the directory opened up, the server looks at the peer.
    p = d
    while p != '/tmp':
        os.chmod(p, 0o755)
        p = os.path.dirname(p)
    os.chmod(path, 0o666)
    r, w = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.setgid(12345)
        os.setuid(12345)
        got = b'?'
        try:
            s = socket.socket(socket.AF_UNIX)
            s.connect(path)
            s.settimeout(5)
            got = s.recv(1000)
        except OSError as e:
            got = b'' if isinstance(e, ConnectionResetError) else \
                str(e).encode()
        os.write(w, b'<' + got + b'>')
        os._exit(0)
    os.waitpid(pid, 0)
    got = os.read(r, 2000)
    # No HELLO; a FAIL in words at most.
    ok(got == b'<>' or b'uid' in got or b'user' in got, repr(got))


@test()
def no_secret_in_arguments(t):
    """-e values and environments are in no process's arguments"""
    fixtures.Ssh(t).host('web')
    for ws in ('local', 'ssh:web'):
        p = t.popen('exec', '-e', 'SECRET', ws, '--', 'sh', '-c',
                    'echo up; sleep 30', env=dict(SECRET='hunter2hunter2'))
        p.stdout.readline()
        for pid, cmd in t.ours().items():
            ok('hunter2' not in cmd, cmd)
        p.kill()
        p.wait()
    for root, _, files in os.walk(t.dir):
        for f in files:
            q = os.path.join(root, f)
            if os.path.isfile(q) and not os.path.islink(q):
                with open(q, 'rb') as fd:
                    ok(b'hunter2hunter2' not in fd.read(), q)


def limited(what, n):
    return lambda: resource.setrlimit(what, (n, n))


@test()
def few_descriptors(t):
    """a limit on descriptors is said at once, or is enough"""
    for n in (3, 5, 9, 12, 19, 40):
        if n == 3 and ASAN:
            continue        # the loader of shared libraries needs one itself
        r = t.run('exec', 'local', '--', 'true', rc=None, timeout=8 * SLOW,
                  preexec_fn=limited(resource.RLIMIT_NOFILE, n))
        if n == 40:
            eq(r.rc, 0, n)
        else:
            eq(r.rc, 125, n)
            ok('too few file descriptors' in r.err, r.err)
            ok('libevent' not in r.err and 'evutil' not in r.err, r.err)
        t.run('server', 'stop', rc=None)


@test()
def a_small_stack(t):
    """64 KB of stack are enough"""
    r = t.run('exec', 'local', '--', 'cat', input=b'x' * 200000,
              preexec_fn=limited(resource.RLIMIT_STACK, 65536))
    eq(len(r.out), 200000)


@test()
def no_file_may_grow(t):
    """`ulimit -f 0' kills nobody, and is no signal's business in a command"""
    kw = dict(preexec_fn=limited(resource.RLIMIT_FSIZE, 0))
    r = t.run('exec', 'local', '--', 'grep', 'SigIgn', '/proc/self/status',
              **kw)
    ok(int(r.out.split()[1], 16) & 1 << (signal.SIGXFSZ - 1) == 0, r.out)
    pid = t.server_pid()
    t.run('new', 'local:f', '--', 'cat', **kw)
    t.run('send', 'local:f', 'hello', **kw)
    t.wait_capture('local:f', 'hello')
    t.run('kill', 'local:f')
    eq(t.server_pid(), pid, 'the server lives')


@test()
def descriptors_are_close_on_exec(t):
    """shells and commands inherit 0, 1 and 2 only"""
    fixtures.Ssh(t).host('web')
    for ws in ('local', 'ssh:web'):
        r = t.run('exec', ws, '--', 'sh', '-c', 'ls /proc/self/fd')
        # ls has its own one for the directory
        eq(len(r.out.split()), 4, 'descriptors of an exec: %r' % r.out)
        t.run('new', ws + ':fd', '--', 'sh', '-c',
              'ls /proc/self/fd; echo end; exec cat')
        out = t.wait_capture(ws + ':fd', '^end$') and t.capture(ws + ':fd')
        eq(out.split(), ['0', '1', '2', '3', 'end'], 'descriptors of a shell')


@test()
def json_has_all_fields(t):
    """ls --json of a fresh shell parses and names what the page promises"""
    t.run('new', 'local:j')
    row = t.shells()['local:j']
    print(json.dumps(row))
    for f in ('workspace', 'shell'):
        ok(f in row, 'field ' + f)
