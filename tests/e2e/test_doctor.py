# SPDX-License-Identifier: ISC
"""dlmux doctor: what is wrong is said, with what to do; the rest is ok. A
logout itself is in test_logout."""

import json
import os
import resource
import subprocess

import fixtures
from harness import Skip, eq, ok, test


def doctor(t, *args, rc=None, **kw):
    r = t.run('doctor', '--json', *args, rc=rc, **kw)
    ok(r.rc in (0, 1), repr(r))
    rows = json.loads(r.out)
    eq(r.rc, 0 if all(x['ok'] for x in rows) else 1, 'status')
    eq([x for x in rows if x['ok'] != (x['todo'] == '')], [], 'ok or todo')
    return {(x['where'], x['check']): x for x in rows}


def wrong(d):
    return sorted('%s %s' % k for k, x in d.items() if not x['ok'])


def says(d, where, check, text, todo):
    x = d[where, check]
    ok(text in x['text'] and todo in x['todo'] and x['todo'],
       '%s %s: %r' % (where, check, x))


@test()
def all_is_well(t):
    """both ends, each line ok, status 0; no server is started for itself"""
    fixtures.Ssh(t).host('web')
    d = doctor(t)
    eq(wrong(d), [], 'here')
    ok('no server runs' in d['here', 'version']['text'], d['here', 'version'])
    d = doctor(t, 'ssh:web')
    eq(wrong(d), [], 'both')
    eq(len([k for k in d if k[0] == 'ssh:web']), 13, 'checks there: %s' % d)
    # Of the instance that is asked about.
    r = t.run('-L', 'two', 'doctor', '--json', 'ssh:web')
    t.run('-L', 'two', 'server', 'stop')
    eq(json.loads(r.out)[0]['ok'], True, 'another instance')
    dirs = os.listdir(t.path('far-web/.local/state/dlmux'))
    eq(len([x for x in dirs if not x.startswith('state.')]), 2, 'places there')
    r = t.run('doctor', 'ssh:web')
    lines = r.out.splitlines()
    eq(len(lines), len(d), 'a line each')
    ok(all(x.split()[2] == 'ok' for x in lines), r.out)
    ok('ssh:web' in r.out and 'as here, within' in r.out, r.out)


@test()
def a_workspace_that_is_down(t):
    """a link that does not come up is told, and the rest goes on"""
    fixtures.Ssh(t).host('shut', proxy_prefix='exit 1')
    d = doctor(t, 'ssh:shut')
    eq(wrong(d), ['ssh:shut link'], 'wrong')
    says(d, 'ssh:shut', 'link', 'nothing can be asked: ',
         'dlmux trace ssh:shut')
    ok(('here', 'disk') in d and ('ssh:shut', 'disk') not in d, 'the rest')


@test()
def here(t):
    """limits, terminal, locale, ssh and directories of this machine"""
    few = dict(preexec_fn=lambda: resource.setrlimit(
        resource.RLIMIT_NOFILE, (200, 200)))
    d = doctor(t, env=dict(TERM='no-such-terminal', LANG='xx_YY.UTF-8',
                           LC_ALL=None), **few)
    says(d, 'here', 'files', '200', 'ulimit -n')
    says(d, 'here', 'terminal', 'no-such-terminal', 'ncurses-term')
    says(d, 'here', 'locale', 'xx_YY.UTF-8 is not installed', 'C.UTF-8')
    says(doctor(t, env=dict(LANG='C', LC_ALL=None)), 'here', 'locale',
         'not UTF-8', 'C.UTF-8')
    # Only dlmux itself can be found.
    bin = t.mkdir('only')
    d = doctor(t, env=dict(PATH=bin))
    says(d, 'here', 'ssh', 'not found', 'openssh-client')
    state = t.path('h/.local/state/dlmux')
    os.chmod(state, 0o755)
    says(doctor(t), 'here', 'dirs', state, 'as it says')
    os.chmod(state, 0o700)
    os.chmod(t.path('h/.local/state'), 0o777)
    says(doctor(t), 'here', 'dirs', state, 'chmod go-w')
    os.chmod(t.path('h/.local/state'), 0o700)
    eq(wrong(doctor(t)), [], 'healed')


@test()
def there(t):
    """a noexec home, little room, a wrong clock, told from over there"""
    if os.getuid() != 0:
        raise Skip('needs root to mount')
    ssh = fixtures.Ssh(t)
    host = ssh.host('odd', env=dict(TEST_CLOCK_AHEAD_MS='90000',
                                    XDG_RUNTIME_DIR=t.mkdir('run')))
    p = subprocess.run(['mount', '-t', 'tmpfs', '-o', 'noexec,size=8m',
                        'tmpfs', host.home], stderr=subprocess.PIPE)
    if p.returncode != 0:
        raise Skip('cannot mount here: %s' % p.stderr.decode().strip())
    t.cleanups.append(lambda: subprocess.run(['umount', '-l', host.home]))
    d = doctor(t, 'ssh:odd')
    eq(wrong(d), ['ssh:odd clock', 'ssh:odd disk'], 'wrong')
    says(d, 'ssh:odd', 'clock', 's later than here', 'timedatectl')
    says(d, 'ssh:odd', 'disk', host.home, 'make room')
    x = d['ssh:odd', 'noexec']
    ok('noexec' in x['text'] and t.path('run') in x['text'], x)


@test()
def by_systemds_files(t):
    """(a root directory of the test's stands in) what logind, linger, units
    and tmpfiles.d say"""
    root = t.mkdir('sys')
    t.env['DLMUX_SYSROOT'] = root
    t.mkdir('sys/run/systemd/system')
    t.script('busctl', 'exit 1\n')
    t.script('systemctl', 'echo "KillMode=${KILLMODE:-control-group}"\n')
    user = t.env.get('USER', 'root')
    t.env['USER'] = user
    uid = os.getuid()
    slice = '/user.slice/user-%d.slice/' % uid

    def look(cgroup, kills, **env):
        t.write('sys/proc/cgroup', '0::%s\n' % cgroup)
        # Of root logind keeps its hands off, unless told otherwise.
        t.write('sys/etc/systemd/logind.conf', '[Login]\n#x=y\n' +
                ('KillUserProcesses=%s\nKillExcludeUsers=no-such-user\n' % kills
                 if kills else 'KillExcludeUsers=\n'))
        return doctor(t, env=env)

    session = slice + 'session-7.scope'
    eq(wrong(look(session, 'no')), [], 'Debian\'s way')
    d = look(session, 'yes')
    leaves = 'a server started from here leaves '
    if uid == 0:
        eq(d['here', 'cgroup']['text'], leaves + 'session-7.scope')
    else:
        says(d, 'here', 'cgroup', 'session-7.scope', 'dbus-user-session')
    says(d, 'here', 'linger', 'last login', 'loginctl enable-linger ' + user)
    says(look(session, ''), 'here', 'kill-user', 'unknown', 'logind.conf')
    d = look(slice + 'user@%d.service/app.slice/editor.service' % uid, 'no')
    eq(wrong(d), ['here linger'], 'the user\'s manager')
    t.write('sys/var/lib/systemd/linger/' + user, '')
    d = look(slice + 'user@%d.service/app.slice/editor.service' % uid, 'no')
    eq((d['here', 'cgroup']['text'], wrong(d)),
       (leaves + 'editor.service', []))
    d = look('/system.slice/cron.service', 'no')
    if uid == 0:
        eq(d['here', 'cgroup']['text'], leaves + 'cron.service')
    else:
        says(d, 'here', 'cgroup', 'cron.service', 'it ends when cron.service')
    eq(wrong(look('/system.slice/ssh.service', 'no', KILLMODE='process')), [],
       'a service that spares')
    # Cleaners: of /tmp, for whoever has his state there.
    for line, words in (('q /tmp 1777 root root 10d', None),
                        ('q /tmp 1777 root root 30m', 'x %s'),
                        ('q /tmp 1777 root root 30m\nx /tmp/dlx*', None)):
        t.write('sys/usr/lib/tmpfiles.d/tmp.conf', '# a comment\n%s\n' % line)
        d = look(session, 'no')
        if words is None:
            eq(wrong(d), [], line)
        else:
            says(d, 'here', 'tmp', 'is cleaned (30m)',
                 words % t.path('h/.local/state/dlmux'))
    # A file of /etc stands for that of its name elsewhere.
    t.write('sys/usr/lib/tmpfiles.d/tmp.conf', 'q /tmp 1777 root root 30m\n')
    t.write('sys/etc/tmpfiles.d/tmp.conf', '')
    eq(wrong(look(session, 'no')), [], 'not cleaned after all')
    lives = look(session, 'no')['here', 'cgroup']
    t.write('sys/usr/lib/systemd/logind.conf.d/kill.conf',
            '[Login]\nKillUserProcesses=on\n')
    x = look(session, 'no')['here', 'cgroup']
    ok(x != lives, x)
    t.write('sys/etc/systemd/logind.conf.d/kill.conf', '')
    eq(look(session, 'no')['here', 'cgroup'], lives)
