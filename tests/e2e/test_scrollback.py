# SPDX-License-Identifier: ISC
"""Native scrollback: the lines that leave the top of a shell's screen are in
the history of the user's own terminal, each once and in order. tmux plays
that terminal: neither our code nor libvterm."""

import os
import re
import shutil
import signal
import subprocess
import time

from harness import PROMPT, Skip, eq, ok, test, wait_for

COUNT = 5000


class Tmux:
    """A terminal with a history that can be asked for."""

    def __init__(self, t, *args, rows=24, cols=80):
        if shutil.which('tmux') is None:
            raise Skip('tmux is not here')
        self.t = t
        self.base = ['tmux', '-f', '/dev/null', '-S', t.path('tmux')]
        conf = ['set', '-g', 'history-limit', '50000', ';',
                'set', '-g', 'status', 'off', ';',
                'set', '-g', 'default-terminal', 'tmux-256color', ';']
        self.run('start-server', ';', *conf, 'new-session', '-d', '-x',
                 str(cols), '-y', str(rows), '-s', 's',
                 os.path.join(t.bin, 'dlmux') + ' ' + ' '.join(args))
        t.cleanups.append(lambda: self.run('kill-server', check=False))

    def run(self, *args, check=True):
        env = dict(self.t.env)
        env.pop('TMUX', None)
        p = subprocess.run(self.base + list(args), env=env,
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                           cwd=self.t.home)
        if check and p.returncode != 0:
            raise AssertionError(p.stderr.decode())
        return p.stdout.decode('utf-8', 'replace')

    def type(self, text):
        self.run('send-keys', '-t', 's', '-l', text)

    def enter(self, text):
        self.type(text)
        self.run('send-keys', '-t', 's', 'Enter')

    def screen(self):
        return self.run('capture-pane', '-p', '-t', 's')

    def all(self):
        return self.run('capture-pane', '-p', '-S', '-', '-E', '-', '-t',
                        's')

    def see(self, ere, deadline=20):
        wait_for(lambda: re.search(ere, self.screen(), re.M), deadline,
                 'tmux shows ' + ere)


def attached(t):
    term = Tmux(t, 'attach', 'local:a')
    term.see(PROMPT)
    # What the test types must hold no line that is a number.
    t.write('count', '''#!/bin/sh
n=$1
while [ "$n" -le "$2" ]; do
	echo "$n"; n=$((n + 1))
	[ $((n % ${3:-100000})) = 0 ] && sleep 0.02
done
''', 0o755)
    term.count = t.path('count')
    return term


def check(term, what):
    """1 to COUNT, each once, in order."""
    got = [int(x) for x in re.findall(r'^(\d+)$', term.all(), re.M)]
    if got == list(range(1, COUNT + 1)):
        return
    missing = sorted(set(range(1, COUNT + 1)) - set(got))
    twice = sorted({x for x in got if got.count(x) > 1})[:20]
    ok(False, '%s: %d lines; missing %d: %s; twice: %s; left out: %s' % (
        what, len(got), len(missing), missing[:20], twice,
        re.findall(r'.*left out.*', term.all())))


@test(timeout=90)
def each_line_once(t):
    """seq 1 5000 through attach: 1 to 5000 in the terminal's history"""
    term = attached(t)
    term.enter('seq 1 %d; echo the "end"' % COUNT)
    term.see('^the end$')
    check(term, 'seq')


@test(timeout=90)
def each_line_once_slowly(t):
    """the same when a shell counts, frame by frame"""
    term = attached(t)
    term.enter('%s 1 %d; echo the "end"' % (term.count, COUNT))
    term.see('^the end$', 40)
    check(term, 'counted')


@test(timeout=90)
def while_the_client_is_stopped(t):
    """the client stopped for five seconds in the middle: every line, once"""
    term = attached(t)
    go = t.path('go')
    term.enter('%s 1 1500; while [ ! -e %s ]; do sleep 0.05; done; '
               '%s 1501 %d; echo the "end"' % (term.count, go, term.count,
                                               COUNT))
    term.see('^1500$')
    pid = t.client_pids('attach local:a')[0]
    os.kill(pid, signal.SIGSTOP)
    began = time.monotonic()
    open(go, 'w').close()
    t.wait_capture('local:a', '^the end$', 30)
    time.sleep(max(0, 5 - (time.monotonic() - began)))
    ok('the end' not in term.screen(), 'the client is stopped')
    os.kill(pid, signal.SIGCONT)
    term.see('^the end$')
    check(term, 'stopped')


@test(timeout=90)
def while_the_server_is_killed(t):
    """kill -9 of the server in the middle of it: every line, once"""
    term = attached(t)
    term.enter('%s 1 %d 50; echo the "end"' % (term.count, COUNT))
    pids = set()
    for at in ('^[12]\\d\\d\\d$', '^3\\d\\d\\d$'):
        term.see(at)
        pids.add(t.server_pid())
        os.kill(t.server_pid(), signal.SIGKILL)
    eq(len(pids), 2, 'servers killed')
    term.see('^the end$', 40)
    wait_for(lambda: 'reconnect' not in term.screen(), 10, 'no notice')
    check(term, 'killed')


@test(timeout=90)
def an_editor_in_between(t):
    """nothing of the alternate screen is in it, what was before and after is"""
    term = attached(t)
    term.enter('%s 1 2500; printf "\\033[?1049h\\033[H"; '
               'seq -f "inside %%g" 1 500; sleep 0.3; '
               'printf "\\033[?1049l"; %s 2501 %d; echo the "end"' % (
                   term.count, term.count, COUNT))
    term.see('^the end$', 40)
    check(term, 'around the alternate screen')
    eq(re.findall(r'^inside.*', term.all(), re.M), [], 'of the editor')
