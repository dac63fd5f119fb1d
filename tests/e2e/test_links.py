# SPDX-License-Identifier: ISC
"""Getting there: transports, the bootstrap, prompts, one connection."""

import json
import os
import random
import re
import shutil
import signal
import subprocess
import time

import fixtures
from harness import DLMUX, SLOW, Skip, PROMPT, eq, ok, test, wait_for

RC_FILES = ('.profile', '.bash_profile', '.bashrc', '.zshenv', '.zprofile',
            '.zshrc', '.cshrc', '.tcshrc', '.login',
            '.config/fish/config.fish')


def check(t, ws, timeout=30):
    r = t.run('exec', ws, '--', 'sh', '-c', 'echo fine; exit 6', rc=6,
              timeout=timeout)
    eq(r.out, 'fine\n', ws)
    return r


@test()
def one_connection(t):
    """many commands and shells use one ssh and one login"""
    host = fixtures.Ssh(t).host('web')
    for i in range(5):
        check(t, 'ssh:web')
        t.run('new', 'ssh:web:s%d' % i)
    eq((host.logins(), len(t.ssh.calls())), (1, 1), 'logins, calls')
    r = t.run('ls')
    ok('ssh:web' in r.out, r.out)


@test()
def warm_start(t):
    """after a new server the far binary is found: no second upload"""
    host = fixtures.Ssh(t).host('web')
    cold = check(t, 'ssh:web').secs
    files = [os.path.join(d, f) for d, _, fs in os.walk(host.home + '/.cache')
             for f in fs]
    eq(len(files), 1, 'binaries far: %s' % files)
    ino = os.stat(files[0]).st_ino
    t.run('server', 'stop')
    warm = check(t, 'ssh:web').secs
    t.note('cold %.0f ms, warm %.0f ms' % (cold * 1000, warm * 1000))
    eq(os.stat(files[0]).st_ino, ino, 'the same file')


@test()
def proxy_command_under_a_lock(t):
    """a ProxyCommand of 1.7 s under a lock is paid once"""
    ssh = fixtures.Ssh(t)
    ssh.host('slow', proxy_prefix=fixtures.slow(t, 'slow'))
    first = check(t, 'ssh:slow').secs
    times = sorted(t.run('exec', 'ssh:slow', '--', 'true').secs
                   for _ in range(20))
    t0 = time.monotonic()
    ps = [t.popen('exec', 'ssh:slow', '--', 'sleep', '2') for _ in range(8)]
    for p in ps:
        eq(t.finish(p).rc, 0)
    eight = time.monotonic() - t0
    t.note('first %.2f s, the next 20: median %.1f ms, worst %.1f ms; eight '
           '`sleep 2` together %.2f s' % (first, times[10] * 1000,
                                          times[-1] * 1000, eight))
    ok(first >= 1.7, 'the first pays')
    ok(times[-1] < 1.0 * SLOW, 'the next do not')
    ok(eight < 3.2 * SLOW, 'eight at once: %.2f' % eight)


@test()
def commands_during_the_connect(t):
    """commands given while the link comes up share it"""
    ssh = fixtures.Ssh(t)
    host = ssh.host('slow', proxy_prefix=fixtures.slow(t, 'slow', 1))
    ps = [t.popen('exec', 'ssh:slow', '--', 'sh', '-c', 'exit %d' % i)
          for i in range(10)]
    for i, p in enumerate(ps):
        eq(t.finish(p).rc, i)
    eq((host.tries(), host.logins()), (1, 1), 'connections')


@test()
def black_hole(t):
    """one workspace's sshd stopped: all others as quick as ever"""
    ssh = fixtures.Ssh(t)
    hole = ssh.host('hole')
    ssh.host('web')
    check(t, 'ssh:hole')
    check(t, 'ssh:web')
    t.run('new', 'local:a')
    pids = hole.sshd_pids()
    for p in pids:
        os.kill(p, signal.SIGSTOP)
    p = t.popen('exec', 'ssh:hole', '--', 'true')

    def figure(what, *args):
        times = sorted(t.run(*args).secs for _ in range(7))
        t.note('%s: median %.1f ms, worst %.1f ms' % (
            what, times[3] * 1000, times[-1] * 1000))
        ok(times[-1] < 1.5 * SLOW, what)
    figure('ls', 'ls')
    figure('exec local', 'exec', 'local', '--', 'true')
    figure('exec ssh:web', 'exec', 'ssh:web', '--', 'true')
    t0 = time.monotonic()
    o = t.outer('attach', 'local:a', shell=True)
    o.see(PROMPT)
    t.note('attach local: %.0f ms' % ((time.monotonic() - t0) * 1000))
    for q in pids:
        os.kill(q, signal.SIGCONT)
    t.finish(p, timeout=40)


@test(timeout=150)
def login_shells(t):
    """dash, bash, zsh, fish, tcsh, busybox run the one-liner; noisy or not"""
    shells = {'dash': 'dash', 'bash': 'bash', 'zsh': 'zsh', 'fish': 'fish',
              'tcsh': 'tcsh', 'busybox': 'busybox sh'}
    conf = []
    have = []
    for name, cmd in shells.items():
        if shutil.which(cmd.split()[0]) is None:
            raise Skip('no ' + name, here=True)
        home = t.mkdir('far-' + name)
        # Exactly what sshd does: SHELL -c '<the command line>'.
        t.script('login-' + name, 'export HOME=%s SHELL=%s\ncd\n'
                 'exec %s -c "$1"\n' % (home, shutil.which(cmd.split()[0]),
                                        cmd))
        conf.append('Workspace w-%s\n  Command login-%s %%c\n' % (name, name))
        have.append((name, home))
    t.config(''.join(conf))
    for name, home in have:
        check(t, 'w-' + name)
    for noise in ('echo noise of a start-up file\n',
                  'printf "no newline at the end"\n'):
        t.run('server', 'stop', rc=None)
        for name, home in have:
            for f in RC_FILES:
                t.write(os.path.join(home, f), noise)
            t.run('-L', 'i%d' % len(noise), 'exec', 'w-' + name, '--', 'true',
                  timeout=30)


@test()
def start_up_files_over_ssh(t):
    """start-up files that print without newline, or read stdin"""
    ssh = fixtures.Ssh(t)
    for i, text in enumerate(('printf "no newline"\n', 'echo lots of words\n',
                              'echo to stderr >&2\n',
                              'read -t 1 x || true\n')):
        host = ssh.host('h%d' % i)
        for f in RC_FILES[:6]:
            t.write(os.path.join(host.home, f), text)
        check(t, 'ssh:h%d' % i)


@test()
def command_workspaces(t):
    """Command with %c, without, with its words; a bare name"""
    t.script('where', 'echo "$1" >>%s\nshift\nexec "$@"\n' % t.path('seen'))
    t.config('Workspace one\n  Command where one sh -c %c\n'
             'Workspace two\n  Command where two sh -c\n')
    r = t.run('exec', 'one', '--', 'echo', 'hi')
    eq(r.out, 'hi\n')
    eq(t.run('exec', 'two', '--', 'echo', 'ho').out, 'ho\n')
    eq(open(t.path('seen')).read(), 'one\ntwo\n', 'run once each')


@test()
def bare_names(t):
    """a bare name of ssh_config is ssh:NAME"""
    ssh = fixtures.Ssh(t)
    ssh.host('web')
    t.mkdir('h/.ssh')
    os.symlink(ssh.config, t.path('h/.ssh/config'))
    check(t, 'web')


def wipe(home):
    for d in ('.cache', '.local'):
        shutil.rmtree(os.path.join(home, d), ignore_errors=True)


@test(timeout=120)
def an_upload_cut_anywhere(t):
    """an upload cut at seeded bytes never leaves a broken binary"""
    ssh = fixtures.Ssh(t)
    size = os.path.getsize(os.path.realpath(DLMUX))
    rnd = random.Random(7)
    cuts = [1, size // 2, size - 100] + [rnd.randrange(size)
                                         for _ in range(2)]
    for i, cut in enumerate(cuts):
        # ssh's own handshake is some 4 KB more.
        host = ssh.host('c%d' % i, relay=['--cut-after', str(3000 + cut)])
        r = t.run('exec', 'ssh:c%d' % i, '--', 'true', rc=None, timeout=40)
        whole = [os.path.join(d, f) for d, _, fs in os.walk(host.home)
                 for f in fs if '.cache' in d and 'tmp' not in f and
                 not f.startswith('.')]
        for f in whole:
            ok(os.path.getsize(f) == size, '%s after a cut at %d: %d bytes' % (
                f, cut, os.path.getsize(f)))
        ok(r.rc in (0, 125), repr(r))
        # Without the cut it heals by itself.
        text = open(host.dir + '/proxy').read()
        t.write(host.dir + '/proxy', re.sub('--cut-after [0-9]+', '', text),
                0o755)
        check(t, 'ssh:c%d' % i)


@test(timeout=90)
def a_broken_pipe_all_the_way(t):
    """small pieces and a delay between: everything still works"""
    ssh = fixtures.Ssh(t)
    ssh.host('far', relay=['--split', '700', '--delay', '20'])
    check(t, 'ssh:far')
    o = t.outer('attach', 'ssh:far:a', shell=True)
    o.see(PROMPT)
    o.type('echo over $((2+2))\r')
    o.see('^over 4$')


@test(alone=True)
def a_home_that_is_read_only(t):
    """a read-only or noexec home: another directory is used"""
    t.guard_tmp()
    if os.getuid() != 0:
        raise Skip('needs root to mount')
    ssh = fixtures.Ssh(t)
    for name, opts in (('ro', 'ro'), ('nx', 'noexec')):
        host = ssh.host(name)
        p = subprocess.run(['mount', '-t', 'tmpfs', '-o', opts, 'tmpfs',
                            host.home], stderr=subprocess.PIPE)
        if p.returncode != 0:
            raise Skip('cannot mount here: %s' % p.stderr.decode().strip())
        t.cleanups.append(lambda h=host.home: subprocess.run(
            ['umount', '-l', h]))
        check(t, 'ssh:' + name)
        t.run('new', 'ssh:%s:a' % name)
        t.run('send', '--wait', 'text=^yes 3$', '--timeout', '10',
              'ssh:%s:a' % name, 'echo yes $((1+2))')


@test(alone=True)
def somebody_elses_file_in_the_way(t):
    """another user's directory in /tmp is not trusted"""
    t.guard_tmp()
    if os.getuid() != 0:
        raise Skip('needs root to be two users')
    ssh = fixtures.Ssh(t)
    host = ssh.host('web')
    p = subprocess.run(['mount', '-t', 'tmpfs', '-o', 'ro', 'tmpfs',
                        host.home])
    if p.returncode != 0:
        raise Skip('cannot mount here')
    t.cleanups.append(lambda: subprocess.run(['umount', '-l', host.home]))
    tmp = t.mkdir('fartmp')
    os.chmod(tmp, 0o1777)
    # The name that would be used, taken by somebody else.
    for n in ('dlmux-0', 'dlmux-%d' % os.getuid()):
        d = os.path.join(tmp, n)
        os.makedirs(d, exist_ok=True)
        os.chown(d, 12345, 12345)
    t.write(host.dir + '/sshd_config', open(host.dir + '/sshd_config').read()
            .replace('SetEnv ', 'SetEnv TMPDIR="%s" ' % tmp), 0o600)
    r = t.run('exec', 'ssh:web', '--', 'true', rc=None, timeout=30)
    ok(r.rc in (0, 125), repr(r))
    for n in os.listdir(tmp):
        d = os.path.join(tmp, n)
        if os.stat(d).st_uid == 12345:
            eq(os.listdir(d), [], 'nothing was put into ' + d)


@test()
def host_key_prompt(t):
    """an unknown host key is asked at the terminal of who asked, with echo"""
    ssh = fixtures.Ssh(t)
    ssh.host('new', known=False, ssh_config='StrictHostKeyChecking ask')
    r = t.run('exec', 'ssh:new', '--', 'true', rc=125, timeout=20)
    ok('dlmux connect ssh:new' in r.err, 'without a terminal: ' + r.err)
    o = t.outer('connect', 'ssh:new', rows=30)
    o.see('fingerprint|authenticity|continue', 15)
    o.type('no\r')
    o.see(r'\)\? no *$')
    o.see('Host key verification failed', 15)
    eq(o.wait_exit(), 125, 'status of no')
    o = t.outer('exec', 'ssh:new', '--', 'echo', 'was let in')
    o.see('fingerprint|authenticity|continue', 15)
    o.type('yes\r')
    o.see('was let in', 15)
    eq(o.wait_exit(), 0, 'status')


@test()
def passphrase_prompt(t):
    """a key's passphrase is asked without echo, and is in no argument"""
    ssh = fixtures.Ssh(t, passphrase='open sesame')
    ssh.host('web')
    o = t.outer('connect', 'ssh:web')
    o.see('[Pp]assphrase', 15)
    o.type('open sesame\r')
    eq(o.wait_exit(20), 0, 'status:\n' + o.show())
    ok('sesame' not in o.screen().text, 'no echo')
    check(t, 'ssh:web')


@test()
def wrong_passphrase(t):
    """a wrong passphrase is asked again, ^C fails; the terminal is clean"""
    ssh = fixtures.Ssh(t, passphrase='open sesame')
    ssh.host('web')
    o = t.outer('connect', 'ssh:web')
    o.see('[Pp]assphrase', 15)
    o.type('open wide\r')
    wait_for(lambda: o.screen().text.count('passphrase') == 2, 15, 'again')
    o.type('open\x03')
    eq(o.wait_exit(20), 125, 'status')
    text = o.screen().text
    ok('not answered' in text and 'wide' not in text, text)
    r = t.run('exec', 'ssh:web', '--', 'true', rc=125, timeout=20,
              start_new_session=True)
    ok('dlmux connect ssh:web' in r.err, 'without a terminal: ' + r.err)
    ti = o.termios()
    ok(not ti['ok'] or ti['echo'], 'echo')


@test(timeout=90)
def asked_again_while_attached(t):
    """an attached user is asked again when he wants, not unasked"""
    ssh = fixtures.Ssh(t, passphrase='open sesame')
    host = ssh.host('web')
    o = t.outer('attach', 'ssh:web:a', cols=160)
    o.see('[Pp]assphrase', 15)
    o.type('open sesame\r')
    o.see(PROMPT, 15)
    o.type('echo on $((40+2))\r')
    o.see('^on 42')
    os.kill(t.server_pid(), signal.SIGKILL)
    # In the background nobody is asked; the notice says what it waits for.
    o.see('not connected; .*r connects.*Permission', 20)
    o.see('^on 42')
    n = host.tries()
    o.type('echo typed $((40+2))\r')
    o.type('\x1cr')
    o.see('[Pp]assphrase', 20)
    ok(2004 not in o.modes(), 'the program\'s modes are off: %s' % o.modes())
    o.type('\x03')
    o.see('not connected; .*r connects', 20)
    o.type('\x1cr')
    wait_for(lambda: o.screen().text.count('assphrase') == 2, 20,
             'asked once more')
    o.type('open sesame\r')
    o.gone('[Pp]assphrase|not connected', 20)
    o.see('^typed 42')
    o.type('echo back $((40+2))\r')
    o.see('^back 42', 20)
    ok('sesame' not in o.screen().text, 'no echo')
    eq(host.tries(), n + 2, 'tries')
    o.type('clear; echo on $((40+2))\r')
    o.see('^on 42')
    # Attached to a shell whose link was let go: shown at once, and asked.
    o.type('\x1cd')
    o.wait_exit()
    t.run('disconnect', 'ssh:web')
    o = t.outer('attach', 'ssh:web:a', cols=160)
    o.see('[Pp]assphrase', 20)
    o.type('open sesame\r')
    o.see('^on 42', 20)
    o.gone('assphrase')
    o.type('echo last $((40+2))\r')
    o.see('^last 42', 20)


@test()
def exec_in_front_is_asked_again(t):
    """a new server that needs a password asks who waits for an exec"""
    ssh = fixtures.Ssh(t, passphrase='open sesame')
    ssh.host('web')
    o = t.outer('exec', 'ssh:web', '--', 'sh', '-c',
                'echo be""gun; read x; echo go""ne on; exit 5')
    o.see('[Pp]assphrase', 15)
    o.type('open sesame\r')
    o.see('^begun', 15)
    os.kill(t.server_pid(), signal.SIGKILL)
    wait_for(lambda: o.screen().text.count('assphrase') == 2, 20,
             'asked once more')
    o.type('open sesame\r')
    wait_for(lambda: [w for w in t.ls() if w['state'] == 'up'], 20, 'up')
    o.type('\r')
    o.see('^gone on', 15)
    eq(o.wait_exit(20), 5, 'status')


@test()
def a_connect_that_fails(t):
    """`connect` says why after one try, also where the next comes at once"""
    t.config('Workspace bad\n  Command echo no way >&2; exit 1 #\n')
    r = t.run('connect', 'bad', rc=125)
    ok('bad: no way' in r.err, r)
    ok(r.secs < 3 * SLOW, r)


@test()
def failed_tries_are_counted(t):
    """five failed tries in 30 s, and a sixth is not made, by a new server either"""
    host = fixtures.Ssh(t).host('web', proxy_prefix='echo no way >&2; exit 1')
    for i in range(5):
        r = t.run('exec', 'ssh:web', '--', 'true', rc=125)
        ok('not tried' not in r.err, r)
    r = t.run('exec', 'ssh:web', '--', 'true', rc=125)
    ok('not tried: 5 tries failed within 30 s; next try in' in r.err, r)
    row = t.ls()[0]
    ok(row['error'] and 'not tried' in row['text'], row)
    state = json.loads(t.run('server', 'status', '--json').out)['state_file']
    wait_for(lambda: os.path.exists(state) and re.search(
        rb'[0-9]{13}(,[0-9]{13}){4}', open(state, 'rb').read()), 10,
        'they are written down')
    os.kill(t.server_pid(), signal.SIGKILL)
    r = t.run('exec', 'ssh:web', '--', 'true', rc=125)
    ok('not tried: 5 tries failed' in r.err, r)
    eq(host.tries(), 5, 'tries made')


@test(timeout=120)
def podman(t):
    """podman: and docker:, a user, a shell, an upload into a busybox"""
    p = fixtures.Podman(t)
    p.container('box')
    check(t, 'podman:box', timeout=60)
    eq(t.run('exec', 'podman:u@box', '--', 'id', '-u').out, '1000\n', 'user')
    t.run('new', 'podman:box:a')
    t.run('send', '--wait', 'text=^sum 42$', '--timeout', '20',
          'podman:box:a', 'echo sum $((6*7))', timeout=30)
    check(t, 'docker:box', timeout=60)
    times = sorted(t.run('exec', 'podman:box', '--', 'true').secs
                   for _ in range(10))
    t.note('exec in a container: median %.1f ms' % (times[5] * 1000))
    r = t.run('exec', 'podman:nobox', '--', 'true', rc=125, timeout=30)
    ok('nobox' in r.err, repr(r))


@test(timeout=120)
def shared_home(t):
    """two containers that share a home do not mix up their agents"""
    p = fixtures.Podman(t)
    home = t.mkdir('shared')
    for n in ('one', 'two'):
        p.container(n, '-v', home + ':/root')
    for n in ('one', 'two'):
        t.run('new', 'podman:%s:s' % n, timeout=60)
    eq(sorted(t.shells()), ['podman:one:s', 'podman:two:s'], 'shells')
    for n in ('one', 'two'):
        eq(t.run('exec', 'podman:' + n, '--', 'hostname').rc, 0)
        t.run('send', '--wait', 'text=^x=%s$' % n, '--timeout', '10',
              'podman:%s:s' % n, 'y=%s; echo x=$y' % n)
    out = [t.run('exec', 'podman:' + n, '--', 'cat',
                 '/proc/sys/kernel/hostname').out for n in ('one', 'two')]
    ok(out[0] != out[1], 'each in its own')


@test(timeout=60)
def devpod(t):
    """devpod: the slow start is paid once"""
    fixtures.devpod(t, 'proj')
    first = check(t, 'devpod:proj').secs
    again = sorted(t.run('exec', 'devpod:proj', '--', 'true').secs
                   for _ in range(10))
    t.note('first %.2f s, then %.1f ms (median)' % (first, again[5] * 1000))
    ok(first >= 1.7 and again[-1] < 1 * SLOW, 'paid once')


@test()
def disconnect_and_connect(t):
    """disconnect lets the link go, shells stay; connect brings it back"""
    fixtures.Ssh(t).host('web')
    t.run('new', 'ssh:web:a')
    t.run('send', '--wait', 'text=^v=5$', '--timeout', '10', 'ssh:web:a',
          'v=5; echo v=$v')
    t.run('disconnect', 'ssh:web')
    wait_for(lambda: not t.pids(r'^\S*/ssh .*\bweb\b'), 10, 'ssh ends')
    ok('ssh:web:a' in t.shells(), 'remembered')
    t.run('connect', 'ssh:web')
    t.run('send', '--wait', 'text=^again 5$', '--timeout', '10', 'ssh:web:a',
          'echo again $v')


@test()
def disconnect_forgets_what_holds_no_shell(t):
    """a mistyped workspace is gone from ls after disconnect; one with shells stays"""
    t.run('exec', 'local', '--', 'true')
    t.run('exec', 'ssh:no.such.host.invalid', '--', 'true', rc=125)
    ok('no.such.host' in t.run('ls').out, 'its failure is shown')
    t.run('disconnect', 'ssh:no.such.host.invalid')
    wait_for(lambda: 'no.such.host' not in t.run('ls').out, 10, 'forgotten')
    t.run('new', 'local:a')
    t.run('disconnect', 'local')
    ok('local:a' in t.shells(), 'a workspace with a shell is remembered')


@test()
def remembered_over_a_restart(t):
    """a new server lists what it remembers, without connecting"""
    host = fixtures.Ssh(t).host('web')
    t.run('new', 'ssh:web:a')
    t.run('ls')
    t.run('server', 'stop')
    n = host.tries()
    ok('ssh:web:a' in t.shells(), 'listed')
    eq(host.tries(), n, 'no connection was made')


@test()
def the_agents_end(t):
    """nothing is left behind: the agents go after kill -a and stop"""
    fixtures.Ssh(t).host('web')
    t.run('new', 'ssh:web:a')
    t.run('kill', '-a')
    t.run('server', 'stop')
    wait_for(lambda: not t.pids('server --run|agent --stdio'), 10,
             'server and fronts end')


@test()
def same_agent_by_two_ways(t):
    """`local` and an ssh to the same home reach the same agent"""
    ssh = fixtures.Ssh(t)
    ssh.host('self', env=dict(HOME=t.home))
    t.run('new', 'local:a')
    t.run('send', '--wait', 'text=^v=5$', '--timeout', '10', 'local:a',
          'v=5; echo v=$v')
    t.run('connect', 'ssh:self')
    t.run('send', '--wait', 'text=^seen 5$', '--timeout', '10', 'ssh:self:a',
          'echo seen $v')


@test()
def a_server_that_stops_makes_no_connection(t):
    """stop right after typing lets the links go and makes no new login"""
    host = fixtures.Ssh(t).host('h')
    t.run('new', 'ssh:h:a')
    t.run('send', '--wait', 'text=^42$', 'ssh:h:a', 'echo $((40+2))')
    t.run('server', 'stop')
    eq(host.logins(), 1, 'logins')
    log = [os.path.join(d, f) for d, _, names in os.walk(t.home)
           for f in names if f == 'server.log'][0]
    with open(log) as f:
        eq(f.read().count('connecting: connecting'), 1, 'connects')
    ok('42' in t.capture('ssh:h:a'), 'the shell is there')
