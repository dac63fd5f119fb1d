# SPDX-License-Identifier: ISC
"""Several terminals on one shell: whose size it has, what each shows of it,
where its mouse points; and terminals within terminals."""

import os
import re
import signal

import fixtures
from harness import PROMPT, eq, ok, test, wait_for

PREFIX = '\x1c'
# Says its size at once and at each change.
SAY_SIZE = ('trap "stty size" WINCH; stty size; '
            'while :; do sleep 0.02; done')


def size(t, name='local:a'):
    s = t.shells()[name]
    return '%dx%d' % (s['cols'], s['rows'])


def has_size(t, want, name='local:a'):
    wait_for(lambda: size(t, name) == want, 5, 'size %s' % want)


def attach(t, *args, **kw):
    o = t.outer('attach', *args, shell=True, **kw)
    wait_for(lambda: os.path.exists(o.rawlog) and o.raw(), 10, 'a picture')
    return o


@test()
def policies(t):
    """smallest, largest, fixed and latest; a client that goes or is killed;
    the policy outlives the server"""
    a = attach(t, 'local:a', rows=30, cols=60)
    a.see(PROMPT)
    b = attach(t, '--size', 'smallest', 'local:a', rows=20, cols=100)
    has_size(t, '60x20')
    eq(t.run('size', 'local:a').out, 'local:a 60x20 smallest\n', 'size')
    t.run('size', 'local:a', 'largest')
    has_size(t, '100x30')
    b.resize(40, 110)
    has_size(t, '110x40')
    os.kill(t.client_pids('attach --size smallest local:a')[0],
            signal.SIGKILL)
    has_size(t, '60x30')
    t.run('size', 'local:a', '70x22')
    has_size(t, '70x22')
    # What was said is kept, however soon the server dies.
    os.kill(t.server_pid(), signal.SIGKILL)
    eq(t.run('size', 'local:a').out, 'local:a 70x22 70x22\n', 'after a kill')
    a.type('\r')
    a.resize(28, 62)
    t.run('size', 'local:a', 'default')
    has_size(t, '62x28')
    eq(t.shells()['local:a']['size'], 'latest', 'the default')
    r = t.run('size', 'local:a', 'enormous', rc=2)
    ok('COLSxROWS' in r.err, 'the error says what may be said')
    t.run('size', 'local:none', 'latest', rc=125)


@test()
def sizes_from_the_configuration_and_at_birth(t):
    """Size of the config; a new shell has its size from its first byte on"""
    t.config('Size largest\nWorkspace local\n    Size 90x33\n')
    t.run('new', 'local:a', '--', 'sh', '-c', SAY_SIZE)
    t.run('wait', 'local:a', '--text', '^33 90$', '--timeout', '10')
    eq(t.shells()['local:a']['size'], '90x33', 'policy')
    t.run('new', '--size', '50x10', 'local:b', '--', 'sh', '-c', SAY_SIZE)
    t.run('wait', 'local:b', '--text', '^10 50$', '--timeout', '10')
    o = attach(t, 'local:b')
    o.see('^10 50 *│')
    o.type(PREFIX + 'd')
    o.see('^left 0$')
    o = attach(t, '--size', '40x12', 'local:c', '--', 'sh', '-c', SAY_SIZE)
    o.see('^12 40 *│')
    for name in ('local:a', 'local:b', 'local:c'):
        eq(len(re.findall('^[0-9]+ [0-9]+$', t.capture(name), re.M)), 1,
           'sizes that %s saw' % name)


@test()
def a_size_that_stays_is_no_signal(t):
    """attach, detach and a server's death at one size: the program is not
    told; a passive client never tells it anything"""
    o = attach(t, 'local:a', '--', 'sh', '-c', SAY_SIZE)
    o.see('^24 80$')
    b = attach(t, 'local:a')
    b.type(PREFIX + 'd')
    b.see('^left 0$')
    p = attach(t, '--passive', 'local:a', rows=10, cols=30)
    p.resize(9, 29)
    p.type('\r')
    os.kill(t.server_pid(), signal.SIGKILL)
    rows = wait_for(lambda: (lambda c: c if len(c) == 2 else None)(
        t.shells().get('local:a', {}).get('attached', [])), 10)
    eq(sorted((c['cols'], c['rows'], c['passive']) for c in rows),
       [(29, 9, True), (80, 24, False)], 'clients in ls --json')
    r = t.run('ls', '-c').out
    ok(re.search('^local:a .* 2, 1 passive ', r, re.M), 'ls counts it')
    ok(re.search('^  pid [0-9]+ +passive +29x9 ', r, re.M), 'ls -c lists it')
    # Now one that is told, so that the end of waiting is known.
    o.resize(25, 81)
    wait_for(lambda: '25 81' in t.capture('local:a'), 5)
    eq(re.findall('^[0-9]+ [0-9]+$', t.capture('local:a'), re.M),
       ['24 80', '25 81'], 'sizes that the program saw')


@test()
def history_above_the_screen(t):
    """attach -s: so many lines in the terminal's own history, each once"""
    t.run('new', '--size', '80x24', 'local:a', '--', 'sh', '-c',
          'seq 1 500; exec sleep 1000')
    t.run('wait', 'local:a', '--text', '^500$', '--timeout', '10')
    for opts, first, cols in (([], 478 - 24, 80), (['-s', '0'], 478, 80),
                              (['-s', '100'], 378, 80), (['-s-'], 1, 80),
                              (['-s', '100'], 378, 70)):
        o = t.outer('attach', *opts, 'local:a', shell=True, cols=cols)
        o.see('^500( |$)')
        o.quiet()
        s = o.screen()
        got = [int(x.split()[0]) for x in s.history + s.rows
               if re.match('[0-9]+( |$)', x)]
        eq(got, list(range(first, 501)), 'lines with %s' % opts)
        o.type(PREFIX + 'd')
        o.see('^left 0$')
        o.close()
    t.run('attach', '-s', 'x', 'local:a', rc=2)


@test()
def the_mouse_in_a_part_of_the_shell(t):
    """a click is told where the shell has it, and not at all beside it"""
    t.run('new', '--size', '100x30', 'local:a', '--', 'sh', '-c',
          'stty raw -echo; printf "\\033[2J\\033[30;100H\\033[?1000;1006hX"; '
          'exec cat -v')
    small = attach(t, 'local:a', rows=10, cols=40)
    small.see('X$')
    wait_for(lambda: 1006 in small.modes(), 5, 'the mouse is on')
    # The lower right corner shows: 60 columns and 20 rows are left out.
    small.type('\x1b[<0;3;4M')
    wait_for(lambda: '[<0;63;24M' in t.capture('local:a'), 5)
    large = attach(t, 'local:a', rows=40, cols=120)
    wait_for(lambda: 1006 in large.modes(), 5, 'the mouse is on')
    large.see('│')
    large.type('\x1b[<0;101;5M' + '\x1b[<0;100;5M' + '\x1b[<0;110;35m')
    wait_for(lambda: '[<0;100;30m' in t.capture('local:a'), 5)
    ok('[<0;100;5M' in t.capture('local:a'), 'the press inside')
    ok('[<0;101;5M' not in t.capture('local:a'), 'the press beside it')


@test()
def shells_that_show_each_other(t):
    """a shell is not shown inside itself, nor inside one that it shows"""
    one = attach(t, 'local:one', rows=24, cols=80)
    one.see(PROMPT)
    one.type(t.bin + '/dlmux attach local:one; echo "said $?"\r')
    one.see('itself in itself')
    one.see('^said 125$')
    one.type('clear; ' + t.bin + '/dlmux attach local:two; echo "back $?"\r')
    wait_for(lambda: t.shells().get('local:two', {}).get('clients') == 1, 5)
    t.run('wait', 'local:two', '--text', PROMPT, '--timeout', '10')
    # Inside two now, inside one.
    one.type('clear; ' + t.bin + '/dlmux attach local:one; echo "told $?"\r')
    one.see('^told 125$')
    ok('local:one shows local:two' in one.screen().text, 'and why')
    # Neither by going there with the prefix key, which goes to the inner.
    one.type('clear; ' + t.bin + '/dlmux attach local:three\r')
    wait_for(lambda: t.shells().get('local:three', {}).get('clients') == 1, 5)
    eq(t.shells()['local:one']['clients'], 1, 'clients of one')
    t.run('kill', 'local:three')
    t.run('kill', 'local:two')
    one.see('^back ')


@test()
def killed_where_nothing_is_connected(t):
    """kill -a connects what has shells; --forget takes off the list what
    cannot be reached, a workspace that left the config too"""
    fixtures.Ssh(t).host('web')
    t.config('Workspace lab\n    Command ssh web\n')
    t.run('new', 'local:a')
    t.run('new', 'lab:b')
    t.run('disconnect', 'local')
    t.run('disconnect', 'lab')
    t.run('kill', '-a')
    eq([s for s in t.shells()], [], 'shells after kill -a')
    t.run('new', 'lab:c')
    t.run('new', 'local:d')
    t.run('kill', '--forget', 'lab:c', rc=125)
    t.run('server', 'stop')
    t.config('')
    eq(sorted(t.shells()), ['lab:c', 'local:d'], 'remembered')
    r = t.run('kill', 'lab:c', rc=125)
    ok('unknown workspace' in r.err and 'kill --forget lab:c' in r.err,
       'what is wrong and what to do')
    r = t.run('kill', '-a', rc=125)
    ok('lab' in r.err and 'kill --forget -a' in r.err, 'the same of all')
    eq(list(t.shells()), ['lab:c'], 'the other one was ended')
    t.run('kill', '--forget', 'lab:c')
    eq([w['workspace'] for w in t.ls()], ['local'], 'forgotten')
    os.kill(t.server_pid(), signal.SIGKILL)
    eq([w['workspace'] for w in t.ls()], ['local'], 'for good')


@test()
def detach_inside_a_far_shell(t):
    """detach without a name where another machine shows the shell: one line
    that says so, and no server is started for it"""
    fixtures.Ssh(t).host('web')
    o = attach(t, 'ssh:web:a')
    o.see(PROMPT)
    servers = len(t.pids('server --run'))
    o.type('PATH=%s:$PATH; dlmux detach; echo "said $?"\r' % t.bin)
    o.see('^said 125$')
    ok('is shown from another machine' in
       ' '.join(o.screen().rows).replace('  ', ' '), 'why')
    eq(len(t.pids('server --run')), servers, 'servers')
    o.type('dlmux server start; clear; dlmux detach; echo "then $?"\r')
    o.see('^then 125$')
    ok('is shown from another machine' in o.screen().text, 'why again')
    # Here it works.
    b = attach(t, 'local:b')
    b.see(PROMPT)
    b.type(t.bin + '/dlmux detach\r')
    b.see('^left 0$')
