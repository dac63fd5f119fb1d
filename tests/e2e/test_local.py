# SPDX-License-Identifier: ISC
"""Shells in the workspace `local`, by script."""

import json
import os
import signal
import subprocess
import time

from harness import DLMUX, PROMPT, TOP, eq, gone, ok, test, wait_for


@test()
def the_main_path(t):
    """new, send --wait, capture, exec, ls, kill"""
    r = t.run('new', 'local:a')
    eq(r.out, 'local:a\n', 'new prints the name')
    t.run('send', '--wait', 'text=^sum 42$', '--timeout', '10', 'local:a',
          'echo sum $((6*7))')
    ok('sum 42' in t.capture('local:a').split('\n'), 'capture shows it')
    r = t.run('exec', 'local', '--', 'sh', '-c', 'echo o; echo e >&2; exit 3',
              rc=3)
    eq((r.out, r.err), ('o\n', 'e\n'), 'streams')
    ok('local:a' in t.shells(), 'ls lists the shell')
    t.run('kill', 'local:a')
    ok('local:a' not in t.shells(), 'gone after kill')


@test()
def ls_of_nothing_is_an_empty_list(t):
    """ls --json prints [] when there is nothing"""
    eq(json.loads(t.run('ls', '--json').out), [], 'ls --json')


@test()
def two_at_once_get_one_server(t):
    """sixteen clients at once start one server and one agent"""
    ps = [t.popen('exec', 'local', '--', 'sh', '-c', 'exit %d' % i)
          for i in range(16)]
    for i, p in enumerate(ps):
        r = t.finish(p)
        eq(r.rc, i, 'status of client %d: %r' % (i, r))
    eq(len(t.pids('server --run')), 1, 'servers')
    eq(len(t.agent_pids()), 1, 'agents')


@test()
def names_that_were_removed(t):
    """server and agent are found again when their sockets are removed"""
    t.run('new', 'local:a')
    t.run('send', '--wait', 'text=^42$', 'local:a', 'echo $((40+2))')
    pid = t.server_pid()
    sock = json.loads(t.run('server', 'status', '--json').out)['socket']
    d = os.path.dirname(sock)
    for names in (['server.sock'], ['server.sock', 'server.lock'],
                  [f for f in os.listdir(d) if not f.endswith('.log')]):
        for f in names:
            os.unlink(os.path.join(d, f))
        if 'server.lock' in names:
            # It looks by itself too, but not so often.
            os.kill(pid, signal.SIGUSR1)
        eq(t.server_pid() if 'server.lock' not in names else
           wait_for(lambda: os.path.exists(sock) and t.server_pid()), pid,
           'the same server')
        ok('42' in t.capture('local:a'), 'the shell is there')
    os.unlink(sock)
    t.run('server', 'stop')
    wait_for(lambda: gone(pid), 10, 'the server ends')
    # The agent has lost its names too, and looks after them when asked.
    os.kill(t.agent_pids()[0], signal.SIGUSR1)
    wait_for(lambda: os.path.exists(os.path.join(d, 'agent.sock')))
    t.run('exec', 'local', '--', 'true')
    ok('42' in t.capture('local:a'), 'the shell is there')
    t.run('kill', '-a')


@test()
def shells_survive_the_server(t):
    """server stop leaves the shells; the next command finds them"""
    t.run('new', 'local:keep')
    t.run('send', '--wait', 'text=^mark 9$', '--timeout', '10', 'local:keep',
          'x=9; echo mark $x')
    pid = t.server_pid()
    r = t.run('server', 'stop')
    ok('keep' in r.out + r.err or 'shell' in r.out + r.err,
       'stop says that shells stay: %r' % r)
    wait_for(lambda: gone(pid), 10, 'server gone')
    ok('mark 9' in t.capture('local:keep'), 'the screen is back')
    t.run('send', '--wait', 'text=^still 9$', '--timeout', '10', 'local:keep',
          'echo still $x')


@test()
def shells_survive_kill_9_of_the_server(t):
    """after kill -9 of the server the next command goes on in the shell"""
    t.run('new', 'local:keep')
    t.run('send', '--wait', 'text=^mark 9$', '--timeout', '10', 'local:keep',
          'x=9; echo mark $x')
    os.kill(t.server_pid(), 9)
    ok('mark 9' in t.capture('local:keep'), 'the screen is back')
    t.run('send', '--wait', 'text=^still 9$', '--timeout', '10', 'local:keep',
          'echo still $x')


@test()
def server_commands(t):
    """server status names pid and version; restart keeps shells"""
    t.run('new', 'local:s')
    st = json.loads(t.run('server', 'status', '--json').out)
    ok(isinstance(st['pid'], int) and 'version' in st, 'fields: %r' % st)
    os.kill(st['pid'], 0)
    retry = [w['retry'] for w in st['workspace_list']]
    eq(retry, [False], 'as in ls')
    t.run('server', 'restart')
    pid = wait_for(lambda: t.server_pid(), 10)
    ok(pid != st['pid'], 'another server')
    ok('local:s' in t.shells(), 'the shell is listed')
    t.run('server', 'stop')
    r = t.run('server', 'status', rc=None)
    ok(r.rc != 0, 'status of no server fails: %r' % r)


@test()
def an_instance_of_its_own(t):
    """-L NAME has its own server and shells"""
    t.run('new', 'local:one')
    t.run('-L', 'other', 'new', 'local:two')
    ok('local:two' not in t.shells(), 'not in the default')
    ok('local:two' in t.shells('-L', 'other'), 'in its own')
    eq(len(t.pids('server --run')), 2, 'servers')
    for name in '/x', '..', 'a b', 'x' * 33, '':
        t.run('-L', name, 'ls', rc=2)


@test()
def a_shell_that_ended(t):
    """an ended shell can be captured until it is killed; wait tells"""
    t.run('new', 'local:e', '--', 'sh', '-c', 'echo last words; exit 5')
    r = t.run('wait', 'local:e', '--exit', '--timeout', '10', rc=5)
    ok('last words' in t.capture('local:e'), 'capture after the end')
    r = t.run('wait', 'local:e', '--text', 'never', '--timeout', '5', rc=1)
    ok(r.err != '', 'says why')
    ok('local:e' in t.shells(), 'still listed')
    t.run('kill', 'local:e')
    t.run('capture', 'local:e', rc=125)


@test()
def new_refuses_a_name_in_use(t):
    """new of an existing shell is 125 and says so"""
    t.run('new', 'local:x')
    r = t.run('new', 'local:x', rc=125)
    ok('x' in r.err, 'names it: %r' % r.err)


@test()
def a_program_that_cannot_start(t):
    """new of a missing program fails with its reason"""
    r = t.run('new', 'local:x', '--', '/does/not/exist', rc=None)
    ok(r.rc in (125, 126, 127) and 'exist' in r.err, repr(r))


@test()
def kill_all(t):
    """kill -a ends every shell"""
    for n in 'abc':
        t.run('new', 'local:' + n)
    t.run('kill', '-a', 'local')
    eq(t.shells(), {}, 'shells left')


@test()
def kill_of_a_stubborn_shell(t):
    """a shell that ignores HUP is killed after the grace"""
    t.run('new', 'local:s', '--', 'sh', '-c',
          'trap "" HUP TERM; echo ready; while :; do sleep 1; done')
    t.wait_capture('local:s', 'ready')
    t0 = time.monotonic()
    t.run('kill', 'local:s')
    ok(time.monotonic() - t0 < 8, 'within the grace and a little')


@test()
def names_in_the_shell(t):
    """shells know DLMUX, TERM, COLORTERM and are login shells"""
    t.write('h/.profile', 'FROM_PROFILE=yes; export FROM_PROFILE\n')
    t.run('new', 'local:env')
    t.run('send', '--wait', 'text=^end$', '--timeout', '10', 'local:env',
          'echo "<$DLMUX> <$TERM> <$COLORTERM> <$FROM_PROFILE>"; echo end')
    out = t.capture('local:env')
    ok('<local:env> <xterm-256color> <truecolor> <yes>' in out, out)


@test()
def send_is_quick(t):
    """figures of the main path"""
    t.run('new', 'local:q')
    for name, args in (('exec true', ('exec', 'local', '--', 'true')),
                       ('capture', ('capture', 'local:q')),
                       ('ls', ('ls',))):
        times = []
        for _ in range(10):
            times.append(t.run(*args).secs * 1000)
        times.sort()
        t.note('%s: median %.1f ms, worst %.1f ms' % (name, times[5],
                                                      times[-1]))


@test()
def the_try_script(t):
    """make try's script runs the same job without a terminal"""
    p = subprocess.run([TOP + '/tests/try.sh'], env=dict(
        t.env, DLMUX_BIN=DLMUX, DLMUX_TRY_SCRIPT='1'),
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, timeout=60)
    eq(p.returncode, 0, 'status of try.sh: %s' % p.stdout.decode())
    ok(b'sum 42' in p.stdout, 'the output is shown')


@test()
def detach_from_inside(t):
    """dlmux detach inside a local shell detaches that shell's clients"""
    o = t.outer('attach', 'local:in')
    o.see(PROMPT)
    o.type(t.bin + '/dlmux detach\n')
    eq(o.wait_exit(), 0, 'status')
    t.run('wait', 'local:in', '--idle', '100', '--timeout', '5')


@test()
def help_and_version(t):
    """help lists every command; version prints one line"""
    out = t.run('help').out
    for c in ('attach', 'new', 'detach', 'send', 'wait', 'capture', 'exec',
              'ls', 'kill', 'connect', 'disconnect', 'server', 'version'):
        ok(c in out, 'help names ' + c)
        t.run('help', c)
    eq(len(t.run('version').out.strip().split('\n')), 1, 'lines')


@test(alone=True)
def a_long_home(t):
    """a home whose sockets would have too long paths still works"""
    t.guard_tmp()
    deep = t.mkdir('h', 'd' * 60, 'e' * 60)
    r = t.run('exec', 'local', '--', 'echo', 'deep', env=dict(HOME=deep))
    eq(r.out, 'deep\n', 'exec')
