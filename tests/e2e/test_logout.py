# SPDX-License-Identifier: ISC
"""Logging out: what a real logind does to server, agent and shells, and what
doctor says of it before."""

import json
import os
import re
import socket
import time

from harness import ASAN, Skip, eq, ok, test, wait_for
from systemd import Systemd


def doctor(sd):
    r = sd.login('dlmux doctor --json local')
    rows = json.loads(r.out)
    return r.returncode, {(x['where'], x['check']): x for x in rows}


@test(timeout=90)
def logind_kills(t):
    """KillUserProcesses=yes, linger: own scopes; a logout ends no shell"""
    if ASAN:
        raise Skip('su gives a login no sanitizer options')
    t0 = time.monotonic()
    sd = Systemd(t, kills='yes')
    t.note('systemd up after %.1f s' % (time.monotonic() - t0))
    # Without linger it is said, and what to do about it.
    rc, d = doctor(sd)
    eq(rc, 1, 'status')
    eq(d['local', 'linger']['todo'], 'loginctl enable-linger dlx', 'linger')
    eq(d['local', 'kill-user']['text'], 'KillUserProcesses=yes', 'kill')
    # It waits for what has just been started to move.
    for where in ('here', 'local'):
        x = d[where, 'cgroup']
        ok(x['ok'] and 'its own' in x['text'], x)
    sd.logged_out()
    sd.root('loginctl', 'enable-linger', 'dlx')
    # Half a second of shell before the move: it moves, too.
    r = sd.login('dlmux new local:a && dlmux send --wait text=^=5 local:a '
                 '"v=5; echo =\\$v" && until grep -qs dlmux-agent /proc/$('
                 'pgrep -f "^dlmux agent")/cgroup && grep -qs dlmux-server '
                 '/proc/$(pgrep -f "^dlmux server --run")/cgroup; '
                 'do sleep 0.1; done; cat ~/.local/state/dlmux/*/*.log')
    eq(r.returncode, 0, r.out)
    eq(len(re.findall(r'moved from session-\S+ to dlmux-', r.out)), 2, r.out)
    sd.logged_out()
    ok(all(x.startswith('dlmux-server-') for x in sd.dlmux('server --run')) and
       all(x.startswith('dlmux-agent-') for x in sd.dlmux('agent --daemon')),
       'scopes of their own')
    r = sd.login('dlmux send --wait text=^again.5 local:a "tail -n 1 '
                 '/proc/self/cgroup; echo again \\$v" && dlmux capture local:a')
    eq(r.returncode, 0, r.out)
    ok(re.search(r'/dlmux-agent-\d+\.scope', r.out), 'the shell is in it')
    rc, d = doctor(sd)
    eq((rc, [x for x in d.values() if not x['ok']]), (0, []), 'all is well')
    ok('its own' in d['local', 'cgroup']['text'], d['local', 'cgroup'])
    # Started in a service, without busctl: by hand, and the service's end is
    # not theirs.
    r = sd.login('systemd-run --user -q --unit=ed -p Type=oneshot '
                 '-p RemainAfterExit=yes env PATH=/nowhere /usr/local/bin/'
                 'dlmux -L two new local:x -- /bin/sleep 1000 && until '
                 '[ $(cat ~/.local/state/dlmux/*/*.log | grep -c "moved from '
                 'ed.service to .* by hand") = 2 ]; do sleep 0.1; done && '
                 'systemctl --user stop ed.service && dlmux -L two ls')
    ok(re.search(r'local:x +running', r.out), r.out)


@test()
def a_bus_that_hangs(t):
    """(busctl, bus and cgroup stand in for systemd's) the move is asked for
    after the first shell, with all that was started; nobody waits for it"""
    uid = os.getuid()
    t.env['DLMUX_SYSROOT'] = t.mkdir('sys')
    t.mkdir('sys/run/systemd/system')
    t.write('sys/proc/cgroup', '0::/user.slice/user-%d.slice/user@%d.service/'
            'app.slice/editor.service\n' % (uid, uid))
    s = socket.socket(socket.AF_UNIX)
    s.bind(t.mkdir('sys/run/user/%d' % uid) + '/bus')
    calls = t.path('calls')
    t.script('busctl', 'echo "$*" >>%s\nexec sleep 100\n' % calls)
    t.run('new', 'local:a')
    ok(not os.path.exists(calls), 'asked before the first shell was there')

    def moves():
        try:
            with open(calls) as f:
                got = [x.split() for x in f if 'StartTransientUnit' in x]
        except OSError:
            return None
        return len(got) == 2 and {x[7].split('-')[1]: x for x in got}
    asked = wait_for(moves, 10, 'both ask')
    for role, who in (('server', 'server --run'), ('agent', 'agent --daemon')):
        words = asked[role]
        pids = words[words.index('PIDs') + 3:words.index('Delegate')]
        pid = str(t.pids(who)[0])
        eq(words[7], 'dlmux-%s-%s.scope' % (role, pid), 'unit')
        eq(words[0], '--address=unix:path=%s/run/user/%d/bus' % (
            t.path('sys'), uid), 'the bus')
        eq(pids[0], pid, 'who moves')
        eq(role == 'agent', str(t.shells()['local:a']['pid']) in pids,
           'the shell moves with the agent')
    eq(t.run('exec', 'local', '--', 'echo', 'fine').out, 'fine\n')
    s.close()
