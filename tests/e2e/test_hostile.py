# SPDX-License-Identifier: ISC
"""Hostile agents: whatever one says, the server serves the others, its memory
stays within a bound, and the log says who and why."""

import os
import re
import signal
import statistics
import time

from harness import ASAN, PROMPT, SLOW, eq, ok, stop_tree, test

EVIL = os.path.join(os.path.dirname(os.path.realpath(__file__)), 'lib',
                    'hostile.py')

# MODE: what the log must say; '' where no rule is broken, only trust.
MODES = {
    'frame-over-the-limit': 'no frame',
    'message-over-the-limit': 'lost',
    'bad-check': 'no frame',
    'not-an-agents': 'lost',
    'unknown-type': 'lost',
    'hello-twice': 'greeting',
    'wrong-state': '',
    'no-newline': '',
    'a-million-shells': '',
    'a-shell-anew': '',
    'endless-checkpoint': 'lost',
    'many-checkpoints': 'lost',
    'lies-about-offsets': '',
    'resizes': '',
    'histories': '',
    'deaf': '',
    'questions': '',
}
# One link's queues and parts, a mirror's history and screen, and as much again.
BOUND_MB = 200


def memory_mb(pid):
    with open('/proc/%d/status' % pid) as f:
        return int(re.search(r'VmHWM:\s+(\d+)', f.read()).group(1)) / 1024


def environ(pid, env):
    """Does it belong to that server's own directory?"""
    try:
        with open('/proc/%d/environ' % pid, 'rb') as f:
            return (env['XDG_STATE_HOME'] + '\0').encode() in f.read()
    except OSError:
        return False


def trips(o, n, first):
    """How long a key's echo takes in the neighbour's shell, milliseconds."""
    took = []
    for i in range(first, first + n):
        t0 = time.monotonic()
        o.type('k%03d' % i)
        o.see('k%03d' % i)
        took.append((time.monotonic() - t0) * 1000)
        o.type('\x15')
    return statistics.median(took), max(took)


@test(timeout=60 + 12 * len(MODES), alone=True)
def agents(t):
    """each hostile agent: neighbours quick, memory bounded, the log says why"""
    t.config(''.join('Workspace %s\n\tCommand python3 %s %s\n' % (m, EVIL, m)
                     for m in MODES))
    logs = []
    for i, mode in enumerate(MODES):
        # A server of its own for each, so that the peak is this one's.
        env = dict(XDG_STATE_HOME=t.mkdir('s%d' % i))
        o = t.outer('attach', 'local:a', env=env)
        o.see(PROMPT)
        server = [p for p in t.pids('server --run') if environ(p, env)][0]
        before = trips(o, 5, 0)
        p = t.popen('connect', mode, env=env)
        end = time.monotonic() + 2 * SLOW
        during = trips(o, 20, 100)
        while time.monotonic() < end:
            more = trips(o, 5, 200)
            during = (max(during[0], more[0]), max(during[1], more[1]))
        peak = memory_mb(server)
        t.note('%-22s key %.1f ms before, %.1f (worst %.0f) during; '
               'server %.0f MB' % (mode, before[0], during[0], during[1],
                                   peak))
        ok(ASAN or peak < BOUND_MB, '%s: %.0f MB' % (mode, peak))
        ok(during[0] < 100 * SLOW, '%s: keys take %.0f ms' % (mode,
                                                              during[0]))
        eq(t.run('exec', 'local', '--', 'echo', 'fine', env=env).out,
           'fine\n', mode)
        p.kill()
        with open([os.path.join(r, f) for r, _, fs in os.walk(
                env['XDG_STATE_HOME']) for f in fs if f == 'server.log'][0],
                errors='replace') as f:
            log = f.read()
        ok(len(log) < 2 << 20, '%s: a log of %d bytes' % (mode, len(log)))
        ok('%s' % mode in log, '%s is not named in the log' % mode)
        if MODES[mode]:
            logs.append((mode, [x for x in log.splitlines() if 'lost' in x
                                and mode in x][:1]))
            ok(re.search(MODES[mode], log), '%s: the log does not say why:\n'
               '%s' % (mode, log[:3000]))
        o.close()
        stop_tree([p for p in t.ours() if environ(p, env)] +
                  t.pids('hostile.py ' + mode), signal.SIGKILL)
    for mode, line in logs:
        print(mode, line)
