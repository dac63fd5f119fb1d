# SPDX-License-Identifier: ISC
"""Output that kills the server: the second time at one place its shell is
quarantined, and everybody else lives on."""

import os
import signal

from harness import PROMPT, eq, ok, test, wait_for

MAGIC = 'deadly-output'


def server_log(t):
    with open([os.path.join(r, f) for r, _, fs in os.walk(t.home)
               for f in fs if f == 'server.log'][0], errors='replace') as f:
        return f.read()


def deaths_are_meant(t):
    if 'ASAN_OPTIONS' in t.env:
        t.env['ASAN_OPTIONS'] += ':handle_abort=0:handle_segv=0:' \
            'handle_sigbus=0'


def deadly(t, name, more=''):
    """A shell that prints it once the file of its name is there, then lives
    as a cat."""
    deaths_are_meant(t)
    # The magic word stands in no command line that is echoed.
    t.run('new', 'local:' + name, '--', 'sh', '-c', 'echo before; until [ -e '
          '%s ]; do sleep 0.02; done; printf "%%s-%%s\\n" deadly output; %s'
          'echo behind; exec cat' % (t.path(name), more))
    t.wait_capture('local:' + name, 'before')


def let(t, name):
    open(t.path(name), 'w').close()


def quarantined(t, name, deadline=20):
    def look():
        r = t.run('ls', '--json', rc=None)
        return r.rc == 0 and '"quarantined_at"' in r.out
    wait_for(look, deadline, name + ' is quarantined')


@test()
def output_that_kills_the_server(t):
    """two servers die of a shell's output: the third shows the others"""
    t.env['DLMUX_POISON'] = MAGIC
    deadly(t, 'bad')
    o = t.outer('attach', 'local:good')
    o.see(PROMPT)
    bad = t.outer('attach', 'local:bad')
    bad.see('before')
    let(t, 'bad')
    quarantined(t, 'local:bad')
    log = server_log(t)
    eq(log.count('its output at offset'), 2, 'deaths told in the log:\n' + log)
    # The other one, and what is new, as ever.
    o.type('echo $((40+2))\r')
    o.see('^42', 20)
    eq(t.run('exec', 'local', '--', 'echo', 'fine').out, 'fine\n')
    # Its client is told what to do, and may type.
    bad.see('dlmux capture --raw local:bad', 20)
    bad.see('dlmux release local:bad')
    bad.type('typed\r')
    wait_for(lambda: b'typed\r\ntyped\r\n' in t.run(
        'capture', '--raw', 'local:bad').raw, 10, 'what was typed')
    raw = t.run('capture', '--raw', 'local:bad').raw
    eq(raw, b'before\r\ndeadly-output\r\nbehind\r\ntyped\r\ntyped\r\n',
       'its bytes')
    row = t.shells()['local:bad']
    eq(row['state'], 'running')
    ok('dlmux release local:bad' in row['why'], row)
    ok('quarantined' in t.run('ls').out, 'ls says so')
    ok(' 1\n' in [x + '\n' for x in t.run('server', 'status').out.split('\n')
                  if x.startswith('quarantined')][0], 'status says so')
    r = t.run('capture', 'local:bad', rc=125)
    ok('capture --raw' in r.err, r)
    r = t.run('wait', 'local:bad', '--text', 'x', '--timeout', '5', rc=125)
    ok('quarantined' in r.err, r)
    r = t.run('capture', '--raw', 'local:good', rc=125)
    ok('is shown' in r.err, r)
    # The next server knows; nobody dies of it any more, nor does a keeper.
    pid = t.server_pid()
    t.run('server', 'restart')
    quarantined(t, 'local:bad')
    ok(t.server_pid() != pid, 'another server')
    eq(t.run('capture', '--raw', 'local:bad').raw, raw, 'its bytes')
    eq(t.pids('server --keeper'), [], 'keepers')
    # Released, it kills two more; then all is as before.
    bad.close()
    t.run('release', 'local:bad')
    wait_for(lambda: server_log(t).count('again: not shown') >= 3, 20,
             'it is quarantined again')
    quarantined(t, 'local:bad')
    o.type('echo $((50+2))\r')
    o.see('^52', 20)
    t.run('kill', 'local:bad')
    ok('local:bad' not in t.shells(), 'it can be ended')
    eq([f for r, _, fs in os.walk(t.home) for f in fs
        if f == 'server.blame'], ['server.blame'])
    t.run('server', 'restart')
    t.run('ls')
    eq([f for r, _, fs in os.walk(t.home) for f in fs
        if f == 'server.blame'], [], 'nobody is blamed any more')


@test()
def a_release_after_it_has_gone_by(t):
    """released when the program has moved on: shown, with all it is now"""
    t.env['DLMUX_POISON'] = MAGIC
    deadly(t, 'bad', more='seq 1 900000; echo "the end"; exec cat; ')
    let(t, 'bad')
    quarantined(t, 'local:bad')
    wait_for(lambda: b'the end' in t.run('capture', '--raw',
                                         'local:bad').raw[-100:], 20, 'its end')
    pid = t.server_pid()
    t.run('release', 'local:bad')
    out = t.wait_capture('local:bad', '^the end$', 20)
    out = t.capture('local:bad').split('\n')
    eq(out[:22], [str(n) for n in range(899979, 900001)], 'the screen')
    eq(t.server_pid(), pid, 'the server')
    ok('quarantined' not in t.run('ls').out, 'ls')


@test()
def output_that_never_ends_in_the_server(t):
    """a server that computes for ever at a shell's output kills itself"""
    t.env['DLMUX_POISON_SPIN'] = MAGIC
    t.env['DLMUX_STUCK_MS'] = '300'
    t.env['DLMUX_KEEPER'] = 'no'
    deadly(t, 'bad')
    let(t, 'bad')
    quarantined(t, 'local:bad', 30)
    t.run('exec', 'local', '--', 'true')
    ok(MAGIC in t.run('capture', '--raw', 'local:bad').out, 'its bytes')


@test()
def a_server_that_is_killed(t):
    """kill -9 and signals that somebody sends blame no shell"""
    deaths_are_meant(t)
    t.run('new', 'local:flood', '--', 'sh', '-c', 'while :; do seq 1 1000; '
          'done')
    t.wait_capture('local:flood', '1000')
    for sig in (signal.SIGKILL, signal.SIGSEGV, signal.SIGABRT,
                signal.SIGKILL, signal.SIGSEGV, signal.SIGBUS):
        os.kill(t.server_pid(), sig)
        wait_for(lambda: not t.pids('server --run'), 10, 'it is gone')
        t.run('server', 'start')
        t.wait_capture('local:flood', '1000')
    ok('why' not in t.shells()['local:flood'], 'nothing is said of it')
    ok('killed the server' not in server_log(t), server_log(t))
