# SPDX-License-Identifier: ISC
"""exec: argv, streams, signals and above all the status."""

import hashlib
import json
import os
import re
import signal
import socket
import subprocess
import threading
import time

import fixtures
from harness import SLOW, eq, ok, test, wait_for


def places(t):
    fixtures.Ssh(t).host('web')
    return 'local', 'ssh:web'


@test()
def statuses(t):
    """0, 3, 125, 255, a signal, a missing command, local and ssh"""
    for ws in places(t):
        for n in (0, 3, 125, 255):
            t.run('exec', ws, '--', 'sh', '-c', 'exit %d' % n, rc=n)
        t.run('exec', ws, '--', 'sh', '-c', 'kill -TERM $$', rc=128 + 15)
        t.run('exec', ws, '--', 'sh', '-c', 'kill -KILL $$', rc=128 + 9)
        r = t.run('exec', ws, '--', 'no-such-command-anywhere', rc=127)
        ok('no-such-command-anywhere' in r.err, repr(r))
        t.run('exec', ws, '--', '/etc/passwd', rc=126)


@test()
def signals_while_the_connection_is_down(t):
    """TERM and HUP leave at once, a second INT; the result is unknown"""
    away = t.path('away')
    web = fixtures.Ssh(t).host('web', relay=[],
                               proxy_prefix='[ ! -e %s ] || exit 1' % away)
    for sigs in ((signal.SIGTERM,), (signal.SIGHUP,),
                 (signal.SIGINT, signal.SIGINT)):
        t.run('connect', 'ssh:web')
        p = t.popen('exec', 'ssh:web', '--', 'sh', '-c',
                    'echo on; exec sleep 600')
        eq(p.stdout.readline(), b'on\n', 'the command')
        t.write('away', '')
        web.tell('cut')
        wait_for(lambda: json.loads(t.run('ls', '--json').out)[0]['state'] !=
                 'up', 10, 'the link is lost')
        for s in sigs[:-1]:
            p.send_signal(s)
            ok(b'once more leaves' in p.stderr.readline(), 'it says so')
        p.send_signal(sigs[-1])
        eq(p.wait(10 * SLOW), 125, sigs)
        ok(b'may still run' in p.stderr.read(), 'it says so')
        p.stdout.close()
        p.stderr.close()
        os.unlink(away)


@test()
def status_fd(t):
    """--status-fd tells an exit from a signal from an error"""
    def status(*argv, rc):
        r, w = os.pipe()
        res = t.run('exec', '--status-fd', w, *argv, rc=rc, pass_fds=(w,))
        os.close(w)
        with os.fdopen(r) as f:
            got = json.loads(f.read())
            agents.append(got.pop('agent', None))
            return got, res
    agents = []
    for ws in places(t):
        eq(status(ws, '--', 'sh', '-c', 'exit 3', rc=3)[0], {'exit': 3}, ws)
        eq(status(ws, '--', 'sh', '-c', 'exit 125', rc=125)[0], {'exit': 125},
           ws)
        eq(status(ws, '--', 'sh', '-c', 'kill -KILL $$', rc=137)[0],
           {'signal': 'KILL'}, ws)
    eq([len(a) for a in agents], [32] * len(agents), 'agents')
    eq(len(set(agents)), len(agents) // 3, 'agents, one a place')
    for rc, args in ((125, ('ssh:nowhere.invalid', '--', 'true')),
                     (2, ('local', '--')), (2, ('local',)), (2, ('--', 'true')),
                     (2, ('-Z', 'local', '--', 'true')),
                     (2, ('local:x', '--', 'true')),
                     (2, ('-C', '', 'local', '--', 'true')),
                     (125, ('-e', 'NOT_SET', 'local', '--', 'true')),
                     (127, ('local', '--', 'no-such-command')),
                     (126, ('local', '--', '/etc'))):
        got, res = status(*args, rc=rc)
        ok(list(got) == ['error'], '%r: an error: %r' % (args, got))
        ok(got['error'] in res.err, 'the words said: %r' % got)
    for fd, stream in ((1, 'raw'), (2, 'rawerr')):
        r = t.run('exec', '--status-fd', fd, 'local', '--', 'sh', '-c',
                  'echo out; exec >&-; echo err >&2')
        eq(json.loads(getattr(r, stream).splitlines()[-1])['exit'], 0,
           'on descriptor %d' % fd)
    with open('/dev/null', 'rb') as null:
        t.run('exec', '--status-fd', 0, 'local', '--', 'true', rc=125,
              stdin=null)
    t.env['DLMUX_INSTANCE'] = '../x'
    got = status('local', '--', 'true', rc=125)[0]
    ok(list(got) == ['error'], 'no place: %r' % got)


@test()
def arguments_as_given(t):
    """argv arrives exactly: blanks, quotes, newlines, empty, globs, bytes"""
    args = ['', ' ', 'a b', "it's", '"', '$HOME', '`x`', '*', '\\', 'l1\nl2',
            '-n', '--', 'é', '\x7f\x01']
    for ws in places(t):
        r = t.run('exec', ws, '--', 'printf', '%s\\0', *args)
        eq(r.out.split('\0')[:-1], args, ws)


@test()
def streams(t):
    """stdout and stderr stay apart, stdin is binary safe and half-closes"""
    data = os.urandom(3 << 20)
    for ws in places(t):
        r = t.run('exec', ws, '--', 'sh', '-c', 'cat; echo done >&2',
                  input=data, timeout=40)
        eq(hashlib.sha256(r.raw).digest(), hashlib.sha256(data).digest(), ws)
        eq(r.err, 'done\n', ws + ' stderr')


@test()
def stdin_kinds(t):
    """stdin from /dev/null, a file, a socket, a pipe, closed; and -n"""
    f = t.write('in', b'from a file\n')
    t.run('new', 'local:w')
    for ws in places(t):
        eq(t.run('exec', ws, '--', 'cat').out, '', 'null')
        with open(f) as fd:
            eq(t.run('exec', ws, '--', 'cat', stdin=fd).out, 'from a file\n',
               'file')
        a, b = socket.socketpair()
        a.sendall(b'by socket')
        a.shutdown(socket.SHUT_WR)
        eq(t.run('exec', ws, '--', 'cat', stdin=b).out, 'by socket', 'socket')
        a.close(), b.close()
        r = subprocess.run(['sh', '-c', 'dlmux exec %s -- cat <&-' % ws],
                           env=t.env, stdout=subprocess.PIPE, timeout=20)
        eq((r.returncode, r.stdout), (0, b''), 'closed')
        with open(f) as fd:
            eq(t.run('exec', '-n', ws, '--', 'cat', stdin=fd).out, '', '-n')
            eq(fd.read(), 'from a file\n', '-n leaves the input alone')


@test()
def output_kinds(t):
    """output to a file, a socket, /dev/null and closed descriptors"""
    for ws in places(t):
        out = t.path('out')
        with open(out, 'wb') as fd:
            t.run('exec', ws, '--', 'echo', 'hi', stdout=fd)
        eq(open(out).read(), 'hi\n', 'file')
        a, b = socket.socketpair()
        t.run('exec', ws, '--', 'echo', 'sock', stdout=b)
        b.close()
        eq(a.recv(100), b'sock\n', 'socket')
        a.close()
        for redir in ('>&-', '2>&-', '>/dev/null 2>&1', '<&- >&- 2>&-'):
            r = subprocess.run(['sh', '-c', 'dlmux exec %s -- sh -c '
                                '"echo x; echo y >&2; exit 6" %s' % (ws, redir)],
                               env=t.env, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, timeout=20)
            eq(r.returncode, 6, redir)


@test()
def a_full_disk_here(t):
    """output that cannot be written is no success"""
    with open('/dev/full', 'wb') as full:
        for ws in places(t):
            for fd in 'stdout', 'stderr':
                r, w = os.pipe()
                p = t.run('exec', '--status-fd', w, ws, '--', 'sh', '-c',
                          'echo x; echo y >&2', rc=125, pass_fds=(w,),
                          **{fd: full})
                os.close(w)
                got = json.loads(os.read(r, 200))
                eq(got['exit'], 0, 'the command itself')
                os.close(r)
                if fd == 'stdout':
                    ok('No space left' in p.err, p)
            t.run('exec', ws, '--', 'sh', '-c', 'echo x; exit 3', rc=3,
                  stdout=full)
        t.run('new', 'local:a')
        t.run('send', '--wait', 'text=^4$', 'local:a', 'echo $((2+2))')
        for c in ('ls', 'ls --json', 'server status', 'help', 'version',
                  'new local:b', 'capture local:a'):
            p = t.run(*c.split(), rc=125, stdout=full)
            ok('No space left' in p.err, p)


@test()
def too_many_arguments(t):
    """what no exec would take is refused here, and known not to have run"""
    for args in (['x'] * 70000, ['-C', '/' + 'x' * 40000]):
        opts = args if args[0] == '-C' else []
        r, w = os.pipe()
        p = t.run('exec', '--status-fd', w, *opts, 'local', '--', 'true',
                  *([] if opts else args), rc=125, pass_fds=(w,))
        os.close(w)
        ok(os.read(r, 200).startswith(b'{"error":'), 'it did not run')
        os.close(r)
        ok('too long' in p.err, p)


@test()
def a_reader_that_leaves(t):
    """exec of endless output into `head` ends"""
    for ws in places(t):
        r = subprocess.run(['sh', '-c', 'dlmux exec %s -- yes | head -n 2' %
                            ws], env=t.env, stdout=subprocess.PIPE, timeout=20)
        eq(r.stdout, b'y\ny\n', ws)
        wait_for(lambda: not t.pids('^yes$'), 10, 'yes is gone')


@test()
def a_stalled_reader(t):
    """a stalled reader stops the writer, nothing is dropped"""
    for ws in places(t):
        p = t.popen('exec', ws, '--', 'sh', '-c',
                    'head -c 8000000 /dev/zero; echo end >&2')
        wait_for(lambda: t.pids('head -c 8000000'), 10)
        first = p.stdout.read(100000)
        # It must stand still now: the same pid is still there.
        end = time.monotonic() + 1
        while time.monotonic() < end:
            ok(t.pids('head -c 8000000'), 'the writer waits')
            time.sleep(0.1)
        rest = p.stdout.read()
        eq(len(first) + len(rest), 8000000, ws)
        eq(t.finish(p).rc, 0, ws)


@test()
def signals(t):
    """INT, TERM, HUP, QUIT reach the command; its answer is the status"""
    for ws in places(t):
        for name in ('INT', 'TERM', 'HUP', 'QUIT'):
            p = t.popen('exec', ws, '--', 'sh', '-c',
                        'trap "echo got %s; exit 9" %s; echo ready; '
                        'while :; do sleep 0.05; done' % (name, name))
            eq(p.stdout.readline(), b'ready\n', 'ready')
            p.send_signal(getattr(signal, 'SIG' + name))
            r = t.finish(p)
            eq((r.rc, r.out), (9, 'got %s\n' % name), ws + ' ' + name)


@test()
def a_client_that_dies(t):
    """kill -9 of an exec's client ends the command"""
    for ws in places(t):
        p = t.popen('exec', ws, '--', 'sh', '-c', 'echo $$; exec sleep 777')
        pid = int(p.stdout.readline())
        p.kill()
        wait_for(lambda: pid not in t.pids('sleep 777'), 10,
                 ws + ': the command is gone')


@test()
def environment(t):
    """-e sets, -e NAME passes, an unset one fails; the snapshot is used"""
    host = fixtures.Ssh(t).host('web')
    for home, ws in ((t.home, 'local'), (host.home, 'ssh:web')):
        for f in ('.profile', '.bash_profile'):
            t.write(os.path.join(home, f), 'export FROM_LOGIN=snap\n'
                    'echo noise on stdout\n')
        r = t.run('exec', '-e', 'A=1 2', '-e', 'HERE', ws, '--', 'sh', '-c',
                  'echo "$A,$HERE,$FROM_LOGIN"', env=dict(HERE='there'))
        eq(r.out, '1 2,there,snap\n', ws)
        r = t.run('exec', '-e', 'NOT_SET_ANYWHERE', ws, '--', 'true', rc=125)
        ok('NOT_SET_ANYWHERE' in r.err, repr(r))
    r = t.run('exec', 'ssh:web', '--', 'env')
    ok('SSH_CONNECTION' not in r.out, 'no SSH_CONNECTION')


@test()
def the_mask_for_new_files(t):
    """commands get the mask of who logged in, not the one of our own files"""
    local, far = places(t)
    old = os.umask(0o027)
    try:
        t.run('server', 'start')
        plain = subprocess.run(['ssh', far.partition(':')[2], 'umask'],
                               env=t.env, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, timeout=20).stdout
        eq(t.run('exec', local, '--', 'sh', '-c', 'umask').out, '0027\n')
        eq(t.run('exec', far, '--', 'sh', '-c', 'umask').raw, plain, 'cold')
        eq(t.run('-L', 'other', 'exec', far, '--', 'sh', '-c', 'umask').raw,
           plain, 'warm')
    finally:
        os.umask(old)


@test()
def configured_environment(t):
    """SendEnv passes what it names; EnvProbe no takes no snapshot"""
    host = fixtures.Ssh(t).host('web')
    t.config('SendEnv DLT_* LC_*\nWorkspace bare\n  Target ssh:web\n'
             '  EnvProbe no\n')
    t.write(os.path.join(host.home, '.bash_profile'), 'export FROM_LOGIN=1\n')
    t.write(os.path.join(host.home, '.profile'), 'export FROM_LOGIN=1\n')
    t.write(os.path.join(host.home, '.zprofile'), 'export FROM_LOGIN=1\n')
    r = t.run('exec', 'ssh:web', '--', 'sh', '-c',
              'echo "$DLT_A,$DLT_B,$OTHER,$FROM_LOGIN"',
              env=dict(DLT_A='1', DLT_B='2 3', OTHER='4'))
    eq(r.out, '1,2 3,,1\n', 'SendEnv')
    r = t.run('exec', 'bare', '--', 'sh', '-c', 'echo "<$FROM_LOGIN>"')
    eq(r.out, '<>\n', 'EnvProbe no')


@test()
def a_slow_login_does_not_delay_the_rest(t):
    """a start-up file that hangs costs its limit once, and is told"""
    t.write('h/.profile', 'sleep 3\nexport SLOWLY=yes\n')
    t.run('server', 'start')
    first = t.run('exec', 'local', '--', 'sh', '-c', 'echo $SLOWLY',
                  timeout=40)
    again = t.run('exec', 'local', '--', 'sh', '-c', 'echo $SLOWLY')
    eq(again.out, 'yes\n', 'the snapshot')
    ok(again.secs < 1 * SLOW, 'the second: %.2f s' % again.secs)
    t.note('with a start-up file of 3 s: first exec %.2f s, second %.3f s' % (
        first.secs, again.secs))


@test()
def refreshed_environment(t):
    """connect --refresh takes the snapshot anew"""
    t.write('h/.profile', 'export V=1\n')
    eq(t.run('exec', 'local', '--', 'sh', '-c', 'echo $V').out, '1\n')
    t.write('h/.profile', 'export V=2\n')
    eq(t.run('exec', 'local', '--', 'sh', '-c', 'echo $V').out, '1\n')
    t.run('connect', '--refresh', 'local')
    eq(t.run('exec', 'local', '--', 'sh', '-c', 'echo $V').out, '2\n')


@test()
def directory(t):
    """-C changes the directory, a missing one is an error"""
    for ws in places(t):
        eq(t.run('exec', '-C', '/usr', ws, '--', 'pwd').out, '/usr\n')
        r = t.run('exec', '-C', '/no/such', ws, '--', 'pwd', rc=125)
        ok('/no/such' in r.err, repr(r))


@test()
def with_a_pty(t):
    """-t gives a terminal of the right size that follows"""
    for ws in places(t):
        o = t.outer('exec', '-t', ws, '--', 'sh', '-c',
                    'tty; stty size; echo $TERM; while [ "$(stty size)" = '
                    '"20 70" ]; do sleep 0.02; done; stty size; read x; exit 4',
                    rows=20, cols=70)
        o.see('^20 70$')
        o.see('^xterm-256color$')
        o.resize(21, 71)
        o.see('^21 71$')
        o.type('\r')
        eq(o.wait_exit(), 4, 'status')
        ok(o.termios()['ok'] is False or o.termios()['echo'], 'echo is on')


@test()
def a_pty_and_the_end_of_input(t):
    """-t without a terminal here: the end of input ends who reads lines"""
    for ws in places(t):
        cat = ('-t', ws, '--', 'sh', '-c', 'stty -echo; cat; exit 5')
        eq(t.run('exec', *cat, rc=5).out, '', 'nothing')
        eq(t.run('exec', '-n', *cat, rc=5).out, '', '-n')
        for text in 'a\n', 'a':
            r = t.run('exec', '-t', ws, '--', 'sh', '-c', 'stty -echo; '
                      'echo >%s; cat; exit 5' % t.path('ready'), input=text,
                      rc=5)
            ok(r.out.endswith(text.replace('\n', '\r\n')), r)


@test(timeout=120, alone=True)
def sixty_four_at_once(t):
    """64 at once over ssh: statuses, 1 MB each, one ssh, one login"""
    host = fixtures.Ssh(t).host('web')
    t.run('exec', 'ssh:web', '--', 'true')
    calls = len(t.ssh.calls())
    n, size = 64, 1 << 20
    blobs = []
    for i in range(n):
        blob = os.urandom(4096) * (size // 4096)
        t.write('blob%d' % i, blob)
        blobs.append(hashlib.sha256(blob).hexdigest())
    t0 = time.monotonic()
    got = [None] * n

    def one(i):
        p = t.popen('exec', 'ssh:web', '--', 'sh', '-c',
                    'cat %s; exit %d' % (t.path('blob%d' % i), i + 1))
        out, _ = p.communicate(timeout=90 * SLOW)
        got[i] = (p.returncode, hashlib.sha256(out).hexdigest())
    th = [threading.Thread(target=one, args=(i,)) for i in range(n)]
    [x.start() for x in th]
    [x.join() for x in th]
    t.note('64 parallel with 1 MB each: %.2f s' % (time.monotonic() - t0))
    for i in range(n):
        eq(got[i], (i + 1, blobs[i]), 'command %d' % i)
    eq(len(t.ssh.calls()), calls, 'ssh calls after the first')
    eq(host.logins(), 1, 'logins')
    eq(len(t.pids(r'^\S*ssh .*\bweb\b')), 1, 'ssh processes')


@test()
def commands_do_not_wait_for_each_other(t):
    """eight sleeps at once take as long as one"""
    for ws in places(t):
        t.run('exec', ws, '--', 'true')
        t0 = time.monotonic()
        ps = [t.popen('exec', ws, '--', 'sleep', '1') for _ in range(8)]
        for p in ps:
            eq(t.finish(p).rc, 0)
        took = time.monotonic() - t0
        t.note('%s: eight `sleep 1`: %.2f s' % (ws, took))
        ok(took < 2 * SLOW, 'together: %.2f s' % took)


@test()
def output_order_and_end(t):
    """the last byte of a quick command is never lost"""
    for ws in places(t):
        for i in range(15):
            r = t.run('exec', ws, '--', 'sh', '-c',
                      'printf %%s a%d; printf %%s b%d >&2' % (i, i))
            eq((r.out, r.err), ('a%d' % i, 'b%d' % i), ws)


@test()
def a_background_child_does_not_hang_it(t):
    """a command whose child keeps stdout open still ends"""
    for ws in places(t):
        r = t.run('exec', ws, '--', 'sh', '-c',
                  'sleep 30 & echo started; exit 2', rc=2, timeout=10)
        eq(r.out, 'started\n')


@test()
def usage_errors(t):
    """wrong usage is 2 and says how"""
    for args in (['exec'], ['exec', 'local'], ['exec', '-q', 'local', '--',
                 'x'], ['nonsense'], ['send'], ['wait', 'local:x'], []):
        r = t.run(*args, rc=2)
        ok(re.search('usage|dlmux', r.err), repr(r))
