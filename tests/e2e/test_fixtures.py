# SPDX-License-Identifier: ISC
"""The fixtures themselves: a broken one must not look like a broken dlmux."""

import os
import select
import subprocess

from harness import TOOLS, eq, ok, test, wait_for
import fixtures


@test()
def outer_terminal(t):
    """the outer terminal shows text, modes, history and the exit status"""
    o = t.terminal(['sh', '-c', 'for i in 1 2 3 4 5; do echo line $i; done; '
                    'printf "\\033[?1049h\\033[?2004h\\033[31mred"; read x; '
                    'printf "\\033[?1049l\\033[?2004l"; exit 7'], rows=4)
    o.see('red')
    s = o.screen()
    eq(s.alt, True, 'alternate screen')
    eq(s.history, ['line 1', 'line 2'], 'history')
    ok(2004 in o.modes(), 'mode 2004')
    o.type('\n')
    eq(o.wait_exit(), 7, 'exit status')
    ok(2004 not in o.modes(), 'mode 2004 off')


@test()
def relay(t):
    """the relay passes bytes whole in small pieces, and cuts where told"""
    data = os.urandom(300000)
    p = subprocess.run([TOOLS + '/pipe', '--split', '7000', '--', 'cat'],
                       input=data, stdout=subprocess.PIPE, timeout=30)
    eq(p.stdout, data, 'relayed bytes')
    p = subprocess.run([TOOLS + '/pipe', '--cut-after-down', '100000', '--',
                        'head', '-c', '300000', '/dev/zero'],
                       stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                       timeout=30)
    eq((p.returncode, len(p.stdout)), (255, 100000), 'cut')
    for args in (['--split', '1'], ['--split', '9000', '--seed', '7'],
                 ['--jitter', '20', '--delay', '5', '--rate', '1000000']):
        p = subprocess.run([TOOLS + '/pipe'] + args + ['--', 'cat'],
                           input=data[:50000], stdout=subprocess.PIPE,
                           timeout=30)
        eq(p.stdout, data[:50000], 'relayed by ' + ' '.join(args))


@test()
def relay_half_open(t):
    """the relay stalls one way, and ends one way while the other goes on"""
    control = t.path('ctl')
    p = subprocess.Popen([TOOLS + '/pipe', '--control', control, '--', 'sh',
                          '-c', 'cat; echo over; exec sleep 60'],
                         stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    fd = p.stdout.fileno()
    os.set_blocking(fd, False)
    got = b''

    def there(want):
        nonlocal got
        got += os.read(fd, 1000) if select.select([fd], [], [], 0)[0] else b''
        return got == want

    def say(text):
        p.stdin.write(text)
        p.stdin.flush()

    def count(which):
        return int(fixtures.tell(control, 'bytes').split()[which])
    say(b'one ')
    wait_for(lambda: there(b'one '), 10, 'passed on')
    fixtures.tell(control, 'stall down')
    say(b'two ')
    wait_for(lambda: count(0) == 8, 10, 'up goes on')
    eq((count(1), there(b'one ')), (4, True), 'down does not')
    fixtures.tell(control, 'resume')
    wait_for(lambda: there(b'one two '), 10, 'the rest')
    fixtures.tell(control, 'shut up')
    wait_for(lambda: there(b'one two over\n'), 10, 'its stdin ended')
    fixtures.tell(control, 'cut')
    eq(p.wait(10), 255, 'status')
    p.stdin.close()
    p.stdout.close()


@test()
def sshd_behind_a_proxy(t):
    """sshd -i behind a ProxyCommand runs a command in its own home"""
    host = fixtures.Ssh(t).host('web')
    p = subprocess.run(['ssh', 'web', 'echo $HOME; exit 3'], env=t.env,
                       stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                       timeout=30)
    eq(p.returncode, 3, 'status')
    eq(p.stdout.decode().strip(), host.home, 'far home')
    eq(host.logins(), 1, 'logins in the log')


@test(timeout=120)
def a_container(t):
    """a podman container runs and takes a command"""
    c = fixtures.Podman(t, agent=False).container('box')
    p = subprocess.run(['podman', 'exec', '-i', c, 'sh', '-c', 'cat; exit 4'],
                       env=t.env, input=b'through', stdout=subprocess.PIPE,
                       timeout=60)
    eq((p.returncode, p.stdout), (4, b'through'), 'exec')
