# SPDX-License-Identifier: ISC
"""Attached: what the user's terminal shows, and how it is left."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time

import fixtures
from harness import Skip, PROMPT, eq, ok, test, wait_for

PREFIX = '\x1c'


def attached(t, name='local:a', *args, **kw):
    o = t.outer('attach', name, *args, shell=True, **kw)
    o.see(PROMPT)
    return o


def clean(o):
    """The terminal is as it was."""
    left = {m for m in o.modes() if m not in (7, 8, 25, 'keypad')}
    eq(left, set(), 'modes left on')
    s = o.screen()
    eq((s.alt, s.mouse, s.visible), (False, 0, True), 'alt, mouse, cursor')
    ti = o.termios()
    if ti['ok']:
        eq((ti['echo'], ti['icanon'], ti['isig'], ti['opost']),
           (True, True, True, True), 'terminal settings')


@test()
def attach_and_detach(t):
    """attach, type, detach: status 0, one line, the terminal as it was"""
    o = attached(t)
    o.type('echo sum $((6*7))\r')
    o.see('^sum 42$')
    o.type(PREFIX + 'd')
    o.see('^left 0$')
    clean(o)
    s = o.screen()
    ok('sum 42' in s.text + '\n'.join(s.history), 'the output stays')
    o2 = attached(t)
    o2.see('^sum 42$')
    o2.type('exit 5\r')
    o2.see('^left 5$')
    clean(o2)


@test()
def status_of_a_signal(t):
    """a shell ended by a signal: 128+n"""
    o = attached(t)
    o.type('kill -KILL $$\r')
    o.see('^left 137$')


@test()
def last_words_of_a_shell_that_ended(t):
    """a shell that ended unseen shows its last screen, then its status"""
    t.run('new', 'local:a', '--', 'sh', '-c', 'echo last words; exit 4')
    t.run('wait', 'local:a', '--exit', '--timeout', '10', rc=4)
    o = t.outer('attach', 'local:a', shell=True)
    o.see('^left 4$')
    ok('last words' in o.screen().text, 'its last screen')
    clean(o)


@test()
def view_only(t):
    """attach -r shows, and nothing typed reaches the shell"""
    t.run('new', 'local:a')
    t.run('send', '--wait', 'text=^here$', '--timeout', '10', 'local:a',
          'echo here')
    o = t.outer('attach', '-r', 'local:a', shell=True)
    o.see('^here$')
    o.type('echo typed-by-viewer\r')
    t.run('send', '--wait', 'text=^later$', '--timeout', '10', 'local:a',
          'echo later')
    o.see('^later$')
    ok('typed-by-viewer' not in t.capture('local:a'), 'nothing typed')
    o.type(PREFIX + 'd')
    o.see('^left 0$')


@test()
def detach_others(t):
    """attach -d and `detach` detach the other clients"""
    a = attached(t)
    b = t.outer('attach', '-d', 'local:a', shell=True)
    a.see('^left 0$')
    clean(a)
    b.see(PROMPT)
    t.run('detach', 'local:a')
    b.see('^left 0$')
    clean(b)


@test()
def prefix_keys(t):
    """c makes a shell, n and p go round, ? helps, C-\\ itself is sent"""
    o = attached(t, 'local')
    o.type('echo this is main\r')
    o.see('^this is main$')
    o.type(PREFIX + 'c')
    o.gone('^this is main$')
    o.see(PROMPT)
    o.type('echo this is $DLMUX\r')
    o.see('^this is local:[0-9]+$')
    o.type(PREFIX + 'n')
    o.see('^this is main$')
    o.type(PREFIX + 'p')
    o.see('^this is local:[0-9]+$')
    o.type(PREFIX + '?')
    o.see('[Dd]etach')
    o.type('q')
    o.gone('[Dd]etach')
    o.type('stty raw -echo; od -An -tx1 -N 2; stty sane; echo\r')
    o.quiet()
    o.type(PREFIX + PREFIX)
    o.type('y')
    o.see('1c 79')


@test()
def prefix_in_other_encodings(t):
    """the prefix is seen as kitty's and modifyOtherKeys' escapes too"""
    for seq in ('\x1b[92;5u', '\x1b[27;5;92~'):
        o = attached(t)
        o.type(seq + 'd')
        o.see('^left 0$')


@test()
def prefix_in_a_paste_is_text(t):
    """the prefix inside a bracketed paste is no prefix"""
    o = t.outer('attach', 'local:p', '--', 'sh', '-c',
                'stty raw -echo; printf "\\033[?2004hgo"; '
                'od -An -tx1 -v -w32 -N 14', shell=True)
    o.see('go')
    wait_for(lambda: 2004 in o.modes(), 5, 'bracketed paste is on')
    o.type('\x1b[200~' + PREFIX + 'd' + '\x1b[201~')
    o.see('1b 5b 32 30 30 7e 1c 64 1b 5b 32 30 31 7e')


@test()
def a_configured_prefix(t):
    """PrefixKey of the config"""
    t.config('PrefixKey C-a\n')
    o = attached(t)
    o.type('\x01d')
    o.see('^left 0$')


@test()
def killed_in_vim_with_the_mouse(t):
    """SIGKILL of the client in vim with the mouse on: all is undone"""
    if shutil.which('vim') is None:
        raise Skip('no vim', here=True)
    t.write('h/.vimrc', 'set mouse=a nocompatible\n')
    t.write('h/text', ''.join('line %d of the text\n' % i
                              for i in range(100)))
    o = attached(t, 'local:v')
    o.type('vim text\r')
    o.see('line 5 of the text')
    wait_for(lambda: o.screen().mouse != 0, 10, 'vim turns the mouse on')
    pid = wait_for(lambda: t.client_pids('attach local:v'), 5)
    os.kill(pid[0], signal.SIGKILL)
    # The shell speaks at once, perhaps before the watchdog.
    wait_for(lambda: b'left 137' in o.raw(), 5, 'the client is dead')
    wait_for(lambda: not o.screen().alt, 5, 'the main screen')
    wait_for(lambda: o.screen().mouse == 0, 5, 'no mouse')
    wait_for(lambda: o.termios()['echo'], 5, 'echo')
    clean(o)
    # vim itself is untouched.
    o2 = t.outer('attach', 'local:v', shell=True)
    o2.see('line 5 of the text')
    wait_for(lambda: o2.screen().mouse != 0, 5, 'the mouse is back')
    o2.type(':q!\r')
    o2.gone('line 5 of the text')
    o2.type(PREFIX + 'd')
    o2.see('^left 0$')
    clean(o2)


@test()
def exec_killed_with_modes_on(t):
    """SIGKILL of an `exec -t' whose program has the mouse on: all is undone"""
    o = t.outer('exec', '-t', 'local', '--', 'sh', '-c',
                'printf "\\033[?1049h\\033[?1000;1006h\\033[?2004h'
                '\\033[?1h\\033=\\033[?25lhere"; exec sleep 60', shell=True)
    o.see('here')
    wait_for(lambda: o.screen().mouse != 0 and o.screen().alt, 5)
    os.kill(t.pids(r'^(\S*/)?dlmux exec -t')[0], signal.SIGKILL)
    wait_for(lambda: b'left 137' in o.raw(), 5, 'the client is dead')
    wait_for(lambda: not o.screen().alt, 5, 'the main screen')
    wait_for(lambda: o.termios()['echo'], 5, 'echo')
    clean(o)


@test()
def watchdog_killed(t):
    """a watchdog that is killed is replaced, and leaves no zombie"""
    o = attached(t)
    client = t.client_pids('attach local:a')[0]

    def children():
        with open('/proc/%d/task/%d/children' % (client, client)) as f:
            return [int(p) for p in f.read().split()]
    first = wait_for(children, 5)
    eq(len(first), 1, 'one watchdog')
    os.kill(first[0], signal.SIGKILL)
    wait_for(lambda: len(children()) == 1 and children() != first, 5)
    o.type('printf "\\033[?1049h\\033[?1000hin"\r')
    wait_for(lambda: o.screen().mouse != 0, 5)
    os.kill(client, signal.SIGKILL)
    wait_for(lambda: b'left 137' in o.raw(), 5, 'the client is dead')
    wait_for(lambda: not o.screen().alt, 5, 'the main screen')
    wait_for(lambda: o.termios()['echo'], 5, 'echo')
    clean(o)


@test()
def stopped_and_hung_up(t):
    """TERM and HUP to the client leave a clean terminal"""
    for sig in (signal.SIGTERM, signal.SIGHUP):
        o = attached(t, 'local:s')
        o.type('printf "\\033[?1049h\\033[?1000h\\033[?2004h\\033[?25lin"\r')
        wait_for(lambda: o.screen().mouse != 0, 5)
        os.kill(t.client_pids('attach local:s')[0], sig)
        o.see('^left [0-9]+$')
        clean(o)
        t.run('kill', 'local:s')


SCENES = {
    'text': 'i=0; while [ $i -lt 40 ]; do i=$((i+1)); echo "row $i"; done',
    'colours': 'for i in 0 1 2 3 4 5 6 7; do printf "\\033[3${i}mf$i '
               '\\033[4${i}mb$i\\033[0m "; done; echo; '
               'printf "\\033[1;4;7mbold\\033[0m \\033[38;5;208mx\\033[0m '
               '\\033[38;2;10;20;30mrgb\\033[0m\\n"',
    'wide': 'printf "\\344\\270\\255\\346\\226\\207 e\\314\\201 '
            '\\360\\237\\230\\200 end\\n"',
    'cursor': 'printf "\\033[2J\\033[5;10Hhere\\033[10;3Hthere\\033[7;20H"',
    'margins': 'printf "\\033[2J\\033[5;15r\\033[15;1H"; for i in 1 2 3 4 5 6 '
               '7 8 9 10 11 12 13 14 15 16; do echo "in $i"; done; '
               'printf "\\033[r\\033[20;1Hdone"',
    'alternate': 'echo main; printf "\\033[?1049h\\033[2J\\033[3;3Halt '
                 '\\033[7m x \\033[0m"',
    'wrap': 'printf "%0100d\\n" 7; printf "%080d" 8',
    'graphics': 'printf "\\033(0lqqqk\\nx   x\\nmqqqj\\033(B\\n"',
}


def same(a, b, what):
    x, y = a.screen(cells=True), b.screen(cells=True)
    for i, (p, q) in enumerate(zip(x.rows, y.rows)):
        eq(p, q, '%s: row %d (attached, direct)' % (what, i))
    eq(x.cursor, y.cursor, what + ': cursor')
    eq((x.alt, x.visible, x.mouse), (y.alt, y.visible, y.mouse),
       what + ': modes')
    for i, (p, q) in enumerate(zip(x.cells, y.cells)):
        # Blank cells may differ in what cannot be seen.
        for c, (m, n) in enumerate(zip(p.split(), q.split())):
            if c < len(x.rows[i]) and x.rows[i].isascii() and \
                    x.rows[i][c] != ' ':
                eq(m, n, '%s: attributes at %d,%d' % (what, i, c))


@test(timeout=90)
def as_direct(t):
    """scenes look the same attached, direct, and after detach and attach"""
    for name, script in SCENES.items():
        run = script + '; exec sleep 1000'
        direct = t.terminal(['sh', '-c', run])
        o = t.outer('attach', 'local:' + name, '--', 'sh', '-c', run,
                    shell=True)
        direct.quiet(200)
        o.quiet(200)
        wait_for(lambda: o.screen().rows == direct.screen().rows, 5,
                 '%s as direct:\n%s\n--\n%s' % (name, o.show(),
                                                direct.show()))
        same(o, direct, name)
        o.type(PREFIX + 'd')
        o.see('^left 0$')
        o2 = t.outer('attach', 'local:' + name, shell=True)
        wait_for(lambda: o2.screen().rows == direct.screen().rows, 5,
                 '%s attached again' % name)
        same(o2, direct, name + ' again')
        o2.close()
        direct.close()
        t.run('kill', 'local:' + name)


@test()
def scrollback_is_the_terminals_own(t):
    """lines that scroll off are in the terminal's own history, once each"""
    o = attached(t)
    o.type('i=0; while [ $i -lt 300 ]; do i=$((i+1)); echo "row $i"; done\r')
    o.see('^row 300$')
    o.quiet()
    s = o.screen()
    got = [x for x in s.history + s.rows if re.match('row [0-9]+$', x)]
    eq(got, ['row %d' % i for i in range(1, 301)], 'rows')


@test()
def resize(t):
    """the size follows the client last typed at"""
    a = attached(t, 'local:r', rows=30, cols=100)
    a.type('stty size\r')
    a.see('30 100$')
    b = t.outer('attach', 'local:r', shell=True, rows=20, cols=60)
    b.see('30 100')
    b.type('stty size\r')
    b.see('20 60$')
    a.type('\r')
    a.type('stty size\r')
    a.see('30 100$')
    a.resize(25, 90)
    a.type('stty size\r')
    a.see('25 90$')
    a.type(PREFIX + 'd')
    b.type('stty size\r')
    wait_for(lambda: b.screen().text.count('20 60') >= 2 or
             b.screen().text.endswith('20 60'), 10, 'b has its size again')


@test()
def a_key_brings_the_size(t):
    """a key goes to a shell of the terminal's size, its SIGWINCH come or not"""
    block = 'import os, signal, sys; signal.pthread_sigmask(' \
        'signal.SIG_BLOCK, [signal.SIGWINCH]); os.execv(sys.argv[1], ' \
        'sys.argv[1:])'
    sizes = '--', 'sh', '-c', 'stty -echo; echo ready; ' \
        'while read -r x; do stty size; done'
    for way in ('attach', 'local:a'), ('exec', '-t', 'local'):
        o = t.terminal([sys.executable, '-c', block,
                        os.path.join(t.bin, 'dlmux'), *way, *sizes])
        o.see('^ready$')
        wait_for(lambda o=o: not o.termios()['icanon'], 10, 'raw')
        o.resize(20, 60)
        o.type('\r')
        o.see('^20 60$')


@test()
def two_clients_see_the_same(t):
    """two clients of one size on one shell show the same"""
    a = attached(t)
    b = attached(t)
    a.type('echo from-a\r')
    b.see('^from-a$')
    b.type('echo from-b\r')
    a.see('^from-b$')
    a.quiet()
    b.quiet()
    eq(a.screen().rows, b.screen().rows, 'screens')


@test()
def echo_is_quick(t):
    """a key's echo, local and ssh (figures)"""
    fixtures.Ssh(t).host('web')
    for ws in ('local', 'ssh:web'):
        o = attached(t, ws + ':q')
        o.type('cat\r')
        o.quiet()
        times = []
        for i in range(20):
            t0 = time.monotonic()
            o.type('abcdefghijklmnopqrstuvwxyz'[i])
            o.see('abcdefghijklmnopqrstuvwxyz'[:i + 1] + '$', 5)
            times.append((time.monotonic() - t0) * 1000)
        times.sort()
        t.note('%s: echo seen after %.1f ms (median), %.1f (worst)' % (
            ws, times[10], times[-1]))


@test()
def a_flood_can_be_interrupted(t):
    """Ctrl-C bites in a flood, and another shell stays quick"""
    o = attached(t, 'local:f')
    o.type('yes "a line of the flood that goes on and on"\r')
    o.see('flood')
    b = attached(t, 'local:g')
    t0 = time.monotonic()
    b.type('echo quick $((40+2))\r')
    b.see('^quick 42$')
    t.note('another shell beside a flood: %.0f ms' % (
        (time.monotonic() - t0) * 1000))
    t0 = time.monotonic()
    o.type('\x03')
    wait_for(lambda: not t.pids('^yes a line'), 10, 'yes ends')
    t.note('Ctrl-C in a flood: %.0f ms' % ((time.monotonic() - t0) * 1000))
    o.type('echo after-all\r')
    o.see('^after-all$')


@test()
def a_client_that_does_not_read(t):
    """a terminal that takes nothing slows neither shell nor neighbour"""
    a = attached(t, 'local:x')
    b = attached(t, 'local:x')
    a.ask('stop')
    b.type('i=0; while [ $i -lt 20000 ]; do i=$((i+1)); echo "row $i"; '
           'done\r')
    b.see('^row 20000$', 20)
    a.ask('go')
    a.see('^row 20000$', 20)


@test()
def full_screen_programs(t):
    """less, htop, vim and git log --graph --color after detach and attach"""
    t.write('h/text', ''.join('line %d of the text\n' % i
                              for i in range(200)))
    subprocess.run('git init -q r && cd r && for i in 1 2 3; do '
                   'git -c user.name=a -c user.email=a@b commit -q '
                   '--allow-empty -m c$i; done', shell=True, cwd=t.home,
                   env=t.env, check=True)
    progs = {'less': ('less text', 'line 20 of the text', 'q'),
             'htop': ('htop', 'PID.*USER', 'q'),
             'vim': ('vim text', 'line 20 of the text', ':q!\r'),
             'git': ('git -C r --no-pager log --graph --color', 'c1', None)}
    for name, (cmd, text, quit_keys) in progs.items():
        if shutil.which(name) is None:
            raise Skip('no ' + name, here=True)
        o = attached(t, 'local:' + name)
        o.type(cmd + '\r')
        o.see(text)
        o.quiet(300)
        before = o.screen()
        o.type(PREFIX + 'd')
        o.see('^left 0$')
        clean(o)
        o2 = t.outer('attach', 'local:' + name, shell=True)
        o2.see(text)
        o2.quiet(300)
        after = o2.screen()
        if name != 'htop':
            eq(after.rows, before.rows, name + ' after detach and attach')
        eq(after.alt, before.alt, name + ': alternate screen')
        if quit_keys:
            o2.type(quit_keys)
            o2.quiet(200)
            o2.type('\recho over $((1+1))\r')
            o2.see('over 2$')
            eq(o2.screen().alt, False, name + ': main screen')


@test()
def inside_tmux(t):
    """attached inside tmux as the outer terminal"""
    if shutil.which('tmux') is None:
        raise Skip('no tmux', here=True)
    sock = t.path('tmux')
    tm = ['tmux', '-f', '/dev/null', '-S', sock]

    def tmux(*args):
        return subprocess.run(tm + list(args), env=t.env, check=True,
                              stdout=subprocess.PIPE, timeout=20,
                              stdin=subprocess.DEVNULL).stdout.decode()
    tmux('new-session', '-d', '-x', '80', '-y', '24', 'sh')
    t.cleanups.append(lambda: subprocess.run(tm + ['kill-server'], env=t.env))
    tmux('send-keys', 'dlmux attach local:t', 'Enter')
    wait_for(lambda: t.client_pids('attach local:t'), 10)
    wait_for(lambda: len(tmux('capture-pane', '-p').strip()) > 0, 5)
    t.wait_capture('local:t', PROMPT)
    tmux('send-keys', 'echo in $((20+1)); printf '
         '"\\033[31mred\\033[0m\\n"', 'Enter')
    wait_for(lambda: re.search('^in 21$', tmux('capture-pane', '-p'), re.M),
             10, 'output in the pane')
    wait_for(lambda: re.search('\x1b\\[31mred', tmux('capture-pane', '-e',
                                                     '-p')), 10, 'red')
    tmux('send-keys', 'C-\\', 'd')
    wait_for(lambda: not t.client_pids('attach local:t'), 10, 'detached')


@test()
def questions_are_answered_once(t):
    """a program's questions are answered, and no answer becomes typed text"""
    o = attached(t)
    o.type('stty -echo -icanon min 1 time 10; printf "\\033[6n"; '
           'a=$(dd bs=1 count=6 2>/dev/null | od -An -c); stty sane; '
           'echo; echo "got" $a\r')
    o.see('^got 033 \\[ ')
    o.quiet(200)
    o.type('echo clean\r')
    o.see('^clean$')
    ok(not re.search(r'\[\??\d+;\d+', o.screen().rows[-1]), 'no stray answer')
