# SPDX-License-Identifier: ISC
"""send, wait and capture: every byte once, in order, and no race."""

import os
import random
import re
import signal
import subprocess
import time

import fixtures
from harness import eq, ok, test, wait_for

ROUNDS = int(os.environ.get('DLMUX_ROUNDS', '0'))


def rounds(t, ws, n, prefix):
    times = []
    for i in range(n):
        name = '%s:%s%d' % (ws, prefix, i)
        times.append(t.run('new', name).secs)
        number = random.randrange(10 ** 8, 10 ** 9)
        # The echoed command line must not satisfy the wait.
        t.run('send', '--wait', 'text=^n %d$' % number, '--timeout', '20',
              name, 'echo n $((%d+1))' % (number - 1), timeout=30)
        ok('n %d' % number in t.capture(name).split('\n'), 'capture')
        t.run('kill', name)
    times.sort()
    t.note('%d rounds on %s: new median %.0f ms, worst %.0f ms' % (
        n, ws, times[n // 2] * 1000, times[-1] * 1000))


@test(timeout=max(120, ROUNDS * 6))
def race_rounds(t):
    """new, at once send --wait, capture, kill over ssh, many times"""
    fixtures.Ssh(t).host('web')
    t.run('connect', 'ssh:web')
    rounds(t, 'ssh:web', ROUNDS or 12, 's')


@test(timeout=max(120, ROUNDS * 8))
def race_rounds_with_a_slow_start(t):
    """the same with a shell whose start-up file sleeps 2 s"""
    host = fixtures.Ssh(t).host('web')
    for f in ('.profile', '.bash_profile', '.zprofile'):
        t.write(os.path.join(host.home, f), 'sleep 2\n')
    t.run('connect', 'ssh:web')
    rounds(t, 'ssh:web', ROUNDS or 3, 's')


@test()
def local_rounds(t):
    """the same on local"""
    rounds(t, 'local', ROUNDS or 12, 's')


@test()
def bytes_arrive_once_and_in_order(t):
    """200 KB of stdin reach the pty whole"""
    data = ''.join('%06d abcdefghijklmnopqrstuvwxyz\n' % i
                   for i in range(6000))
    out = t.path('got')
    t.run('new', 'local:c', '--', 'sh', '-c',
          'stty raw -echo; echo ready; exec head -c %d >%s' % (len(data), out))
    t.wait_capture('local:c', 'ready')
    t.run('send', 'local:c', input=data, timeout=40)
    t.run('wait', 'local:c', '--exit', '--timeout', '20')
    eq(open(out).read() == data, True, 'the file is what was sent')


@test()
def enter_and_no_enter(t):
    """-n types no Enter; without it Enter is typed"""
    t.run('new', 'local:n')
    t.run('send', '-n', 'local:n', 'echo on')
    t.run('send', '--wait', 'text=^one two$', '--timeout', '10', 'local:n',
          'e two')


@test()
def keys(t):
    """-k types keys by name, encoded by the modes the program set"""
    def keys_of(mode, *names):
        n = 'local:k%d' % len(names) + ('a' if mode else 'b')
        t.run('new', n, '--', 'sh', '-c', 'stty raw -echo; printf "%sgo"; '
              'exec od -An -c -v -w1' % mode)
        t.wait_capture(n, 'go')
        t.run('send', '-k', n, *names)
        wait_for(lambda: len(t.capture(n).split()) > 1, 10)
        t.run('wait', n, '--idle', '150', '--timeout', '10')
        s = ''.join(x for x in t.capture(n).replace('go', '', 1).split())
        t.run('kill', n)
        return s
    eq(keys_of('', 'Up'), '033[A', 'Up')
    eq(keys_of('\\\\033[?1h', 'Up'), '033OA', 'Up with cursor keys set')
    eq(keys_of('', 'F5', 'S-Left'), '033[15~033[1;2D', 'F5 S-Left')
    eq(keys_of('', 'M-x', 'Space', 'Enter'), '033x\\r', 'M-x Space Enter')
    r = t.run('send', '-k', 'local:zz', 'No-Such-Key', rc=None)
    ok(r.rc in (2, 125), repr(r))


@test()
def ctrl_c(t):
    """send -k C-c interrupts; a bad key name is an error and types nothing"""
    t.run('new', 'local:i')
    t.run('send', 'local:i', 'sleep 1000; echo was $?')
    wait_for(lambda: t.pids('^sleep 1000$'), 10)
    r = t.run('send', '-k', 'local:i', 'C-c', 'Nonsense', rc=None)
    ok(r.rc in (2, 125) and 'Nonsense' in r.err, repr(r))
    ok(t.pids('^sleep 1000$'), 'nothing was typed')
    t.run('send', '-k', '--wait', 'text=^(was 130|[$#])', '--timeout', '10',
          'local:i', 'C-c')
    wait_for(lambda: not t.pids('^sleep 1000$'), 10)


@test()
def wait_looks_only_behind_its_bytes(t):
    """send --wait is not satisfied by what stands there already"""
    t.run('new', 'local:w')
    t.run('send', '--wait', 'text=^yes$', '--timeout', '10', 'local:w',
          'echo yes')
    r = t.run('send', '--wait', 'text=^yes$', '--timeout', '1', 'local:w',
              'true', rc=124)
    ok(r.secs >= 0.9, 'the time-out was kept')
    t.run('wait', 'local:w', '--text', '^yes$', '--timeout', '5')
    t.run('send', '--wait', 'text=^yes$', '--timeout', '10', 'local:w',
          'sleep 0.3; echo yes')


@test()
def wait_idle_and_exit(t):
    """--idle waits for silence, --exit returns the status"""
    t.run('new', 'local:w')
    t.run('send', 'local:w',
          'for i in 1 2 3 4 5 6; do echo $i; sleep 0.1; done')
    r = t.run('wait', 'local:w', '--idle', '400', '--timeout', '10')
    ok(r.secs >= 0.4, 'took %.2f' % r.secs)
    ok('6' in t.capture('local:w').split('\n'), 'it was over')
    t.run('send', '--wait', 'exit', '--timeout', '10', 'local:w', 'exit 7',
          rc=7)
    t.run('wait', 'local:w', '--exit', rc=7)


@test()
def wait_errors(t):
    """a bad regex is wrong usage; a shell that ends first is 1"""
    t.run('new', 'local:w')
    for regex in '(unclosed', '(a)\\1', 'a{1,2000}':
        r = t.run('wait', 'local:w', '--text', regex, rc=2)
        ok('--text: ' in r.err, repr(r))
        r = t.run('send', '--wait', 'text=' + regex, 'local:w', 'x', rc=2)
        ok('--wait text=' in r.err, repr(r))
    p = t.popen('wait', 'local:w', '--text', 'never', '--timeout', '10')
    t.run('send', 'local:w', 'exit 0')
    eq(t.finish(p).rc, 1, 'the shell ended first')


@test()
def interleaved_senders_keep_their_words(t):
    """twenty senders at once: each text whole"""
    out = t.path('got')
    t.run('new', 'local:c', '--', 'sh', '-c', 'stty -echo; echo ready; '
          'exec cat >%s' % out)
    t.wait_capture('local:c', 'ready')
    words = ['%d-%s' % (i, 'x' * 200) for i in range(20)]
    ps = [t.popen('send', 'local:c', w) for w in words]
    for p in ps:
        eq(t.finish(p).rc, 0)

    def lines():
        with open(out) as f:
            return f.read().split('\n')[:-1]
    wait_for(lambda: len(lines()) >= 20, 10)
    eq(sorted(lines()), sorted(words), 'lines')


@test()
def names_are_said_once(t):
    """send and wait to no shell: one line, the name once"""
    for c in ('send --wait exit local:no x', 'send local:no x',
              'wait --exit local:no', 'wait --text x local:no'):
        r = t.run(*c.split(), rc=125)
        eq(r.err, 'dlmux: local:no: no such shell\n', c)
    r = t.run('wait', '--text', 'x' * 1100, 'local:no', rc=2)
    ok('longer than' in r.err, r)
    r = t.run('send', '--wait', 'text=' + 'x' * 1100, 'local:no', 'x', rc=2)
    ok('longer than' in r.err, r)


@test()
def capture_options(t):
    """-e keeps colours, -s brings scrollback"""
    t.run('new', 'local:c')
    t.run('send', '--wait', 'text=^end$', '--timeout', '10', 'local:c',
          'i=0; while [ $i -lt 200 ]; do i=$((i+1)); echo line $i; done; '
          'printf "\\033[31mred\\033[0m\\n"; echo end')
    plain = t.capture('local:c').split('\n')
    ok('line 200' in plain and 'line 20' not in plain, 'the screen only')
    ok(re.search('\x1b\\[[0-9;]*31m.*red', t.capture('local:c', '-e')),
       'colours')
    ok('\x1b' not in t.capture('local:c'), 'no escapes without -e')
    got = t.capture('local:c', '-s', '-').split('\n')
    for i in range(1, 201):
        ok('line %d' % i in got, 'line %d' % i)
    few = t.capture('local:c', '-s', '50').split('\n')
    ok('line 20' not in few and 'line 150' in few, '-s 50')
    eq(len(few), len(plain) + 50, 'lines more')


@test()
def a_line_too_long_for_the_terminal(t):
    """what a terminal in line mode would drop is an error, not a loss"""
    t.run('new', 'local:l', '--', 'sh', '-c',
          'stty -echo; echo ready; while read -r x; do echo "<${#x}>"; done')
    t.wait_capture('local:l', 'ready')
    # 4095 bytes and Enter are the most
    t.run('send', '--wait', 'text=<4095>', '--timeout', '10', 'local:l',
          'x' * 4095)
    r = t.run('send', 'local:l', 'x' * 4096, rc=125)
    ok('lines of at most 4095 bytes' in r.err, r.err)
    t.run('send', '-k', 'local:l', 'C-u')
    many = ''.join('y' * 4000 + '\n' for _ in range(20))
    t.run('send', 'local:l', input=many)
    t.run('send', '--wait', 'text=<7>', '--timeout', '10', 'local:l',
          'z' * 7)
    out = t.capture('local:l', '-s', '-')
    eq(out.count('<4000>'), 20, out)
    t.run('new', 'local:r', '--', 'sh', '-c', 'stty raw -echo; echo ready; '
          'head -c 9000 | wc -c')
    t.wait_capture('local:r', 'ready')
    t.run('send', '-n', 'local:r', 'x' * 9000)
    t.run('wait', 'local:r', '--exit', '--timeout', '10')
    ok('9000' in t.capture('local:r'), 'raw: all of it')


@test()
def a_sender_interrupted(t):
    """an interrupted send types each byte at most once and stops"""
    t.run('new', 'local:c', '--', 'sh', '-c',
          'stty raw -echo; echo ready; exec sleep 100')
    t.wait_capture('local:c', 'ready')
    p = t.popen('send', 'local:c', stdin=subprocess.PIPE)
    p.stdin.write(b'x' * 50)
    p.stdin.flush()
    time.sleep(0.2)         # not awaited for: any moment will do
    p.send_signal(signal.SIGINT)
    eq(p.wait(timeout=10), 130, 'status')
