# SPDX-License-Identifier: ISC
"""Fail closed: a workspace that is another one than before, an agent that is
gone, files that were left behind or damaged. Nothing talks to a ghost, nothing
is started anew in a lost shell's place unless somebody asks for it, and what is
lost is said in words."""

import json
import os
import shutil
import signal
import subprocess

import threading

import fixtures
from harness import PROMPT, SLOW, Skip, eq, ok, test, wait_for


def run(t, ws, *argv, **kw):
    """An exec; what it says, and how it ended and in whose hands."""
    r, w = os.pipe()
    res = t.run('exec', '--status-fd', w, ws, '--', *argv, pass_fds=(w,),
                rc=kw.pop('rc', None), timeout=kw.pop('timeout', 30), **kw)
    os.close(w)
    with os.fdopen(r) as f:
        res.how = json.loads(f.read() or '{}')
    return res


def lost(t, ws):
    """The lost shells of a workspace, as ls tells them."""
    return {k[len(ws) + 1:]: s['why'] for k, s in t.shells().items()
            if s['state'] == 'lost' and s['workspace'] == ws}


def told_lost(o, name):
    o.see('^left 125$', 40)
    text = ' '.join(r.strip() for r in o.screen().rows)
    ok('%s is lost' % name in text, 'the client is told: ' + text)
    print('attached to %s:' % name, text[text.index('dlmux:'):])


@test(timeout=90)
def made_anew_while_idle(t):
    """(a) made anew while nobody looks: lost, said by ls, exec, attach, capture"""
    box = fixtures.Box(t)
    for n in 'ab':
        t.run('new', '%s:%s' % (box.ws, n), timeout=60)
    old = run(t, box.ws, 'true', rc=0).how['agent']
    box.make()
    r = run(t, box.ws, 'cat', 'life', rc=0)
    eq(r.out, '2\n', 'the life it ran in')
    ok(r.how['agent'] != old, 'another agent')
    ok('earlier shells are lost (a, b)' in r.err, 'exec says so: %r' % r.err)
    print('exec says:', r.err.strip())
    eq(run(t, box.ws, 'true', rc=0).err, '', 'once is enough')
    eq(sorted(lost(t, box.ws)), ['a', 'b'], 'ls')
    print(t.run('ls').out)
    # What nobody was told yet is not forgotten by a new server.
    t.run('server', 'restart')
    eq(sorted(lost(t, box.ws)), ['a', 'b'], 'ls of a new server')
    for c in (['capture', box.ws + ':a'], ['send', box.ws + ':a', 'x'],
              ['wait', box.ws + ':a', '--idle', '10']):
        r = t.run(*c, rc=125, timeout=30)
        ok('a is lost' in r.err, repr(r))
    # Told once; asked again, there is a new one.
    o = t.outer('attach', box.ws + ':b', shell=True)
    told_lost(o, 'b')
    ok('b' not in lost(t, box.ws) and box.ws + ':b' not in t.shells(), 'told')
    o = t.outer('attach', box.ws + ':b', shell=True)
    o.see(PROMPT, 20)
    o.type('echo life $(cat life)\r')
    o.see('^life 2$')
    o.type('\x1cd')
    o.see('^left 0$')
    # Shown at once from here, and then: lost.
    box.make()
    o = t.outer('attach', box.ws + ':b', shell=True)
    told_lost(o, 'b')
    eq([k for k, v in t.shells().items() if v['state'] == 'running'], [],
       'shells that nobody asked for')


@test(timeout=90)
def made_anew_under_clients(t):
    """(a) every attached client is told, also of a second loss in a row"""
    box = fixtures.Box(t)
    t.run('new', box.ws + ':alone', timeout=60)
    for life in (1, 2):
        clients = []
        for n in ('a', 'a', 'b'):
            o = t.outer('attach', '%s:%s' % (box.ws, n), shell=True)
            o.see(PROMPT, 20)
            clients.append((n, o))
        clients[0][1].type('echo life $(cat life)\r')
        clients[1][1].see('^life %d$' % life)
        box.make()
        for n, o in clients:
            told_lost(o, n)
        # Nobody was told of this one yet.
        ok('alone' in lost(t, box.ws), 'ls: %r' % lost(t, box.ws))
        for n in 'ab':
            t.run('kill', '%s:%s' % (box.ws, n))
    eq(list(lost(t, box.ws)), ['alone'], 'lost')
    eq([s for s in t.shells().values() if s['state'] == 'running'], [],
       'shells made by nobody')


@test(timeout=120)
def commands_while_made_anew(t):
    """(b) 40 back-to-back exec: in the old, in the new, or failed; none twice"""
    box = fixtures.Box(t)
    runs = os.path.join(box.shared, 'runs')
    agents = {1: run(t, box.ws, 'true', rc=0, timeout=60).how['agent']}
    seen, numbers, wrong = {}, iter(range(400)), []
    start = threading.Event()

    def chain():
        """One after the other, until forty have run and one in the new."""
        try:
            while len(seen) < 40 or 2 not in agents:
                n = next(numbers)
                if n == 10:
                    start.set()
                r = run(t, box.ws, 'sh', '-c', 'echo %d $(cat $HOME/life) '
                        '>>%s; sleep 0.01; echo ran %d' % (n, runs, n))
                if r.rc == 0 and r.how['agent'] != agents[1]:
                    agents[2] = r.how['agent']
                seen[n] = r
        except BaseException as e:
            wrong.append(e)
            start.set()
    chains = [threading.Thread(target=chain) for _ in range(4)]
    for c in chains:
        c.start()
    start.wait()
    box.make()
    t.run('connect', box.ws)        # or the back-off is waited for
    for c in chains:
        c.join()
    if wrong:
        raise wrong[0]
    ran = {}
    with open(runs) as f:
        for line in f:
            i, life = (int(x) for x in line.split())
            ran.setdefault(i, []).append(life)
    count = dict(old=0, new=0, failed=0, unknown=0)
    for i, r in sorted(seen.items()):
        where = ran.get(i, [])
        ok(len(where) <= 1, '%d ran %d times' % (i, len(where)))
        if r.rc == 0:
            eq((r.out, r.how.get('exit')), ('ran %d\n' % i, 0), 'exec %d' % i)
            eq(agents[where[0]], r.how['agent'], 'who answered %d' % i)
            count['old' if where[0] == 1 else 'new'] += 1
            continue
        # Not even of a killed command is a status made up.
        if r.how.get('signal') == 'KILL' and r.rc == 137:
            eq(r.how['agent'], agents[1], 'killed with the old one')
            count['failed'] += 1
            continue
        eq(r.rc, 125, repr(r))
        ok(r.err.strip(), 'in words')
        if 'unknown' in r.how:
            count['unknown'] += 1
        else:
            ok('error' in r.how and where == [], '%d: %r' % (i, r.how))
            count['failed'] += 1
    t.note('%d commands: %d in the old one, %d in the new one, %d failed, %d '
           'unknown; none twice' % (len(seen), count['old'], count['new'],
                                    count['failed'], count['unknown']))
    ok(count['old'] > 0 and count['new'] > 0, 'both were met')


@test(timeout=60)
def a_command_that_was_just_started(t):
    """(b) made anew before a start was told: unknown, and not started again"""
    # Its word is on its way when it ends.
    box = fixtures.Box(t, kinds='namespaces')
    runs = os.path.join(box.shared, 'runs')
    t.run('exec', box.ws, '--', 'true')
    box.tell('delay 1000')
    r, w = os.pipe()
    p = t.popen('exec', '--status-fd', w, box.ws, '--', 'sh', '-c',
                'echo $(cat $HOME/life) >>%s; exec sleep 100' % runs,
                pass_fds=(w,))
    os.close(w)
    wait_for(lambda: os.path.exists(runs) and os.path.getsize(runs), 10,
             'it runs')
    box.make()
    res = t.finish(p, timeout=30)
    with os.fdopen(r) as f:
        how = json.loads(f.read())
    eq((res.rc, list(how)[0]), (125, 'unknown'), repr(res))
    print(res.err.strip())
    with open(runs) as f:
        eq(f.read(), '1\n', 'starts, and where')


@test(timeout=90)
def stopped_and_started(t):
    """(c) stopped and started: its shells are lost, said so, and nothing hangs"""
    box = fixtures.Box(t)
    o = t.outer('attach', box.ws + ':a', shell=True)
    o.see(PROMPT, 60)
    t.run('new', box.ws + ':b')
    old = run(t, box.ws, 'true', rc=0).how['agent']
    p = t.popen('exec', box.ws, '--', 'sh', '-c', 'echo up; exec sleep 100')
    eq(p.stdout.readline(), b'up\n')
    box.stop()
    wait_for(lambda: t.ls()[0]['state'] != 'up', 20, 'the loss is known')
    r = run(t, box.ws, 'true', rc=125)
    ok('error' in r.how and r.secs < 5 * SLOW, repr(r))
    print('exec while it is stopped: %.2f s, %s' % (r.secs, r.err.strip()))
    r = t.run('ls')
    ok(r.secs < 1 * SLOW, 'ls took %.2f s' % r.secs)
    print(r.out)
    box.start()
    r = run(t, box.ws, 'cat', 'life', rc=0)
    eq(r.out, '1\n', 'the same home')
    ok(r.how['agent'] != old, 'another agent')
    ok('lost (a, b)' in r.err, repr(r.err))
    told_lost(o, 'a')
    r = t.finish(p, timeout=20)
    ok(r.rc == 125 and 'unknown' in r.err or r.rc == 137, repr(r))
    print('the exec that ran there:', r.rc, r.err.strip())
    eq(sorted(lost(t, box.ws)), ['a', 'b'], 'ls')


# --- (d) what is left behind, and damaged -------------------------------------

def damage(path, how):
    """False: it cannot be had here."""
    before = b''
    if os.path.isfile(path):
        with open(path, 'rb') as f:
            before = f.read()
    if how == 'left as it is':
        return True
    if how in ('unreadable', "somebody else's") and not os.path.lexists(path):
        return False
    if how == 'unreadable':
        os.chmod(path, 0)
        return True
    if how == "somebody else's":
        if os.getuid() == 0:
            os.chown(path, 12345, 12345)
        return os.getuid() == 0
    clear(path)
    if how in ('cut', 'garbage'):
        with open(path, 'wb') as f:
            f.write(before[:len(before) // 2] if how == 'cut' else
                    os.urandom(3000))
    elif how == 'a directory':
        os.makedirs(path + '/with/something')
    elif how == 'a symlink':
        os.symlink('/no/such/file', path)
    elif how == 'a FIFO':
        os.mkfifo(path)
    return True


def clear(path):
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    elif os.path.lexists(path):
        os.unlink(path)


HOW = ('left as it is', 'gone', 'cut', 'garbage', 'a directory', 'a symlink',
       'a FIFO', 'unreadable', "somebody else's")


def use(t, ws, path, what, words):
    """Works, or says which file is in the way; without it, works."""
    r = t.run('exec', ws, '--', 'echo', 'fine', rc=None, timeout=15)
    ok(r.secs < 8 * SLOW, '%s: took %.1f s' % (what, r.secs))
    if r.rc == 0:
        eq(r.out, 'fine\n', what)
        said = r.err.strip()
    else:
        eq(r.rc, 125, '%s: %r' % (what, r))
        ok(path in r.err, '%s: does not name it: %r' % (what, r))
        clear(path)
        t.run('exec', ws, '--', 'true')
        said = 'says: ' + r.err.strip()
    said = said.replace(os.path.dirname(path), '...')
    name, _, what = what.partition(': ')
    words.setdefault(said, {}).setdefault(name, []).append(what)


def tell(words):
    for said, names in words.items():
        print(said or 'healed')
        for name, how in names.items():
            print('  %s: %s' % (name, ', '.join(how)))


@test(timeout=150)
def files_of_a_server_left_behind(t):
    """(d) socket, lock, log, state of a killed server damaged: healed or said"""
    t.run('new', 'local:a')
    k = json.loads(t.run('server', 'status', '--json').out)
    d = os.path.dirname(k['socket'])
    words = {}
    for name, path in (('socket', k['socket']), ('log', k['log']),
                       ('lock', d + '/server.lock'),
                       ('blame', d + '/server.blame'),
                       ('state', k['state_file'])):
        for how in HOW:
            wait_for(lambda: os.path.exists(k['state_file']) or
                     how != 'cut', 5, 'a state file')
            for p in t.pids('server --run'):
                os.kill(p, signal.SIGKILL)
            if damage(path, how):
                use(t, 'local', path, '%s: %s' % (name, how), words)
                eq(t.shells()['local:a']['state'], 'running', 'the shell')
    tell(words)


@test(timeout=60)
def files_of_an_agent_left_behind(t):
    """(d) an agent's socket, lock and log damaged: healed or said"""
    t.run('exec', 'local', '--', 'true')
    d = os.path.dirname(find(t.home, 'agent.sock'))
    words = {}
    for name in ('socket', 'lock', 'log'):
        path = '%s/agent.%s' % (d, name.replace('socket', 'sock'))
        for how in HOW:
            t.run('disconnect', 'local', rc=None)
            for p in t.agent_pids():
                os.kill(p, signal.SIGKILL)
            if damage(path, how):
                use(t, 'local', path, '%s: %s' % (name, how), words)
    tell(words)


@test(timeout=60)
def a_program_that_is_damaged(t):
    """(d) the agent's program at the far side damaged: healed or said"""
    host = fixtures.Ssh(t).host('web')
    t.run('exec', 'ssh:web', '--', 'true')
    path = find(host.home + '/.cache', 'dlmux-')
    words = {}
    for how in ('gone', 'cut', 'garbage', 'a directory', 'unreadable'):
        t.run('disconnect', 'ssh:web')
        if damage(path, how):
            use(t, 'ssh:web', path, 'program: ' + how, words)
    eq(len(t.agent_pids()), 1, 'agents')
    tell(words)


@test(timeout=60)
def something_in_the_place_of_a_socket(t):
    """(d) a directory where a live server's socket was: said, and it lives on"""
    t.run('new', 'local:a')
    pid = t.server_pid()
    sock = json.loads(t.run('server', 'status', '--json').out)['socket']
    words = {}
    for how in ('a directory', 'garbage', 'a symlink', 'gone', 'a directory'):
        # It would put it back at once.
        os.kill(pid, signal.SIGSTOP)
        damage(sock, how)
        os.kill(pid, signal.SIGCONT)
        use(t, 'local', sock, 'live socket: ' + how, words)
        eq(t.server_pid(), pid, 'the server')
    tell(words)


def find(top, name):
    return [os.path.join(d, f) for d, _, fs in os.walk(top) for f in fs
            if f.startswith(name)][0]


@test(timeout=60)
def an_ssh_that_is_killed(t):
    """(d) kill -9 of an idle ssh and of one in use: the next use heals it"""
    host = fixtures.Ssh(t).host('web')
    t.run('new', 'ssh:web:a')
    agent = run(t, 'ssh:web', 'true', rc=0).how['agent']
    ssh = r'^\S*/ssh .*\bweb\b'
    p = t.popen('exec', 'ssh:web', '--', 'sh', '-c', 'echo up; cat; exit 4',
                stdin=subprocess.PIPE)
    eq(p.stdout.readline(), b'up\n')
    os.kill(wait_for(lambda: t.pids(ssh), 5)[0], signal.SIGKILL)
    r = t.finish(p, b'over the next one', timeout=20)
    eq((r.rc, r.out), (4, 'over the next one'), 'the exec')
    os.kill(wait_for(lambda: t.pids(ssh), 5)[0], signal.SIGKILL)
    r = run(t, 'ssh:web', 'true', rc=0)
    eq((r.how['agent'], r.err), (agent, ''), 'the same agent')
    eq(t.shells()['ssh:web:a']['state'], 'running', 'the shell')
    eq(host.tries(), 3, 'connections')


# --- (e) agents and disks -----------------------------------------------------

@test(timeout=60)
def an_agent_that_is_killed(t):
    """(e) a killed agent: its exec is unknown, its shells are lost, said so"""
    fixtures.Ssh(t).host('web')
    for ws in ('local', 'ssh:web'):
        t.run('new', ws + ':b')
        old = run(t, ws, 'true', rc=0).how['agent']
        p = t.popen('exec', ws, '--', 'sh', '-c', 'echo up; exec sleep 60')
        eq(p.stdout.readline(), b'up\n')
        o = t.outer('attach', ws + ':a', shell=True)
        o.see(PROMPT)
        for a in t.agent_pids():
            os.kill(a, signal.SIGKILL)
        r = t.finish(p, timeout=30)
        ok(r.rc == 125 and 'unknown' in r.err, repr(r))
        print('its exec:', r.err.strip())
        told_lost(o, 'a')
        r = run(t, ws, 'true', rc=0)
        ok(r.how['agent'] != old and 'lost (' in r.err, repr(r))
        print('the next:', r.err.strip())
        eq(sorted(lost(t, ws)), ['a', 'b'], 'ls')
        o = t.outer('attach', ws + ':b', shell=True)
        told_lost(o, 'b')
        t.run('kill', ws + ':a')


@test(timeout=90)
def names_that_a_cleaner_took(t):
    """(e) an agent's socket deleted, linked or not: no shell is lost"""
    box = fixtures.Box(t)
    t.run('new', box.ws + ':a', timeout=60)
    t.run('send', '--wait', 'text=^v=5$', '--timeout', '10', box.ws + ':a',
          'v=5; echo v=$v')
    agent = run(t, box.ws, 'true', rc=0).how['agent']
    sock = find(box.home, 'agent.sock')
    d = os.path.dirname(sock)
    for what in ('the socket', 'the socket, linked', 'socket and lock',
                 'the directory'):
        if 'linked' not in what:
            t.run('disconnect', box.ws)
            wait_for(lambda: t.ls()[0]['state'] == 'down', 10, 'down')
        if what == 'the directory':
            shutil.rmtree(os.path.dirname(d))
        else:
            os.unlink(sock)
        if what == 'socket and lock':
            os.unlink(d + '/agent.lock')
        r = run(t, box.ws, 'true', rc=0)
        print('%s taken: exec took %.2f s' % (what, r.secs))
        wait_for(lambda: os.path.exists(sock), 5, 'it is put back')
        eq((r.how['agent'], r.err), (agent, ''), 'the agent')
        t.run('send', '--wait', 'text=^still 5$', '--timeout', '10',
              box.ws + ':a', 'clear; echo still $v')


def tmpfs(t, path, opts):
    """A small disk there; mounted again, with other limits."""
    if os.getuid() != 0:
        raise Skip('needs root to mount a small file system')
    again = os.path.ismount(path)
    p = subprocess.run(['mount', '-t', 'tmpfs', '-o', 'mode=700,%s%s' % (
        'remount,' if again else '', opts), 'tmpfs', path],
        stderr=subprocess.PIPE)
    if p.returncode != 0:
        raise Skip('cannot mount here: ' + p.stderr.decode().strip())
    if not again:
        t.finals.insert(0, lambda: subprocess.run(['umount', '-l', path]))


@test(timeout=60)
def a_disk_that_is_full(t):
    """(e) full at the upload or at the first run: told; later: works on"""
    kib = os.path.getsize(os.path.realpath(t.bin + '/dlmux')) // 1024
    disk = t.mkdir('disk')
    p = fixtures.Podman(t)
    tmpfs(t, disk, 'size=%dk' % (kib // 2))
    p.container('box', '--read-only', '--read-only-tmpfs=false',
                '--shm-size', '16k', '-v', disk + ':/root')
    ws = 'podman:box'
    # Then for .cache, dlmux and the program, and no more.
    for when, opts in (('upload', None), ('first run', 'size=%dk,nr_inodes=4' %
                                          (kib + 200))):
        if opts:
            tmpfs(t, disk, opts)
        r = run(t, ws, 'true', rc=125)
        ok(('No space left' in r.err or 'full' in r.err) and '/root' in r.err,
           repr(r))
        ok('error' in r.how and r.secs < 10 * SLOW, repr(r))
        print('full at the %s: %s' % (when, r.err.strip()))
    tmpfs(t, disk, 'nr_inodes=100')
    t.run('new', ws + ':a')
    r = run(t, ws, 'sh', '-c', 'cat /dev/zero >fill; df -k . | tail -n 1', rc=0)
    print('full later:', r.out.strip())
    t.run('send', '--wait', 'text=^still 42$', '--timeout', '10', ws + ':a',
          'echo still $((6*7))')
    t.run('new', ws + ':b')
    # A new front finds the agent there, and needs no room.
    t.run('disconnect', ws)
    r = run(t, ws, 'wc', '-c', stdin=subprocess.PIPE, input=b'x' * 100000, rc=0)
    eq(r.out.strip(), '100000', 'an exec')


@test(alone=True)
def a_home_that_is_full(t):
    """(e) a full home beside disks with room: another directory is used"""
    t.guard_tmp()
    host = fixtures.Ssh(t).host('full')
    tmpfs(t, host.home, 'size=64k')
    eq(run(t, 'ssh:full', 'echo', 'hi', rc=0).out, 'hi\n', 'it works')
