# SPDX-License-Identifier: ISC
"""A second user of the machine: nothing that dlmux makes is his to reach, and
nothing that he puts in its way beforehand is followed. The owner is a plain
user here, not root, who could reach everything."""

import os
import shutil
import signal
import socket
import stat
import subprocess

from harness import DLMUX, SLOW, Skip, eq, ok, stop_tree, test, wait_for

ME, OTHER = 54321, 54322


def two_users():
    """Two uids are to be had by trying."""
    if os.fork() == 0:
        try:
            os.setgroups([])
            os.setgid(OTHER)
            os.setuid(OTHER)
        except OSError:
            os._exit(1)
        os._exit(0)
    if os.wait()[1] != 0:
        raise Skip('needs root to be two users')


def as_uid(uid, fn):
    """fn's result, as that user: a string."""
    r, w = os.pipe()
    if os.fork() == 0:
        try:
            os.setgroups([])
            os.setgid(uid)
            os.setuid(uid)
            os.write(w, str(fn()).encode())
        finally:
            os._exit(0)
    os.close(w)
    with os.fdopen(r) as f:
        text = f.read()
    os.wait()
    return text


def setup(t):
    """The owner's home, and dlmux where he may run it."""
    two_users()
    os.chmod(t.dir, 0o711)
    os.chmod(t.bin, 0o755)
    os.unlink(t.path('bin/dlmux'))
    shutil.copy(DLMUX, t.path('bin/dlmux'))
    os.chmod(t.path('bin/dlmux'), 0o755)
    os.chmod(t.hooks, 0o777)
    t.env.update(HOME=t.mkdir('me'), USER='me', LOGNAME='me')
    os.chown(t.env['HOME'], ME, ME)
    if any(k in t.env for k in ('ASAN_OPTIONS',)):
        os.chmod(t.dir, 0o733)      # where the sanitizers would report


def mine(t, *args, rc=0, **kw):
    return t.run(*args, rc=rc, user=ME, group=ME, extra_groups=[],
                 cwd=t.env['HOME'], **kw)


def reach(path):
    """What he gets of it: "" is nothing."""
    got = []
    st = None
    try:
        st = os.stat(path)
    except OSError:
        pass
    if st is not None and stat.S_ISDIR(st.st_mode):
        # A directory that is only gone through is no secret.
        for what, flag in (('list', os.R_OK), ('write', os.W_OK)):
            if os.access(path, flag):
                got.append(what)
        return ' '.join(got)
    s = socket.socket(socket.AF_UNIX)
    try:
        s.connect(path)
        got.append('connect')
    except OSError:
        pass
    s.close()
    for mode in ('rb', 'ab'):
        try:
            with open(path, mode):
                got.append(mode)
        except OSError:
            pass
    return ' '.join(got)


def hangs_up(path):
    """Connects, and says whether a word came before the end."""
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(5 * SLOW)
    s.connect(path)
    try:
        s.sendall(b'DLMUX-HANDOFF 1\n-\ndirect\n0\n')
        return repr(s.recv(100))
    except OSError as e:
        return 'b\'\'' if not isinstance(e, socket.timeout) else 'silence'


@test()
def reaches_nothing(t):
    """every socket, directory, log, state file and program is closed to him;
    opened by mistake, the sockets still hang up"""
    setup(t)
    t.write('me/.config/dlmux/dlmux.conf', 'Workspace far\n  Command '
            'env HOME=%s/far sh -c %%c\n' % t.env['HOME'])
    for d in ('me/.config', 'me/.config/dlmux', 'me/.config/dlmux/dlmux.conf'):
        os.chown(t.path(d), ME, ME)
    os.mkdir(t.path('me/far'))
    os.chown(t.path('me/far'), ME, ME)
    # Where others can look, as homes often are.
    for d in ('me', 'me/far'):
        os.chmod(t.path(d), 0o755)
    mine(t, 'new', 'local:a')
    mine(t, 'new', 'far:b')
    wait_for(lambda: any(n.startswith('state.') for _, _, f in
                         os.walk(t.env['HOME']) for n in f), 10, 'state file')
    made, socks = [], []
    for top, dirs, files in os.walk(t.env['HOME']):
        for n in dirs + files:
            p = os.path.join(top, n)
            if '/dlmux' not in p or '/.config' in p:
                continue
            made.append(p)
            if stat.S_ISSOCK(os.lstat(p).st_mode):
                socks.append(p)
    names = sorted(os.path.basename(s) for s in socks)
    eq(names, ['agent.sock', 'agent.sock', 'server.sock'], 'sockets')
    ok(any('.log' in p for p in made) and any('/dlmux-' in p for p in made) and
       any('/state.' in p for p in made), 'logs, programs, state: %s' % made)
    # And none that has no name there.
    pids = {str(p) for p in t.pids('server --run|agent --daemon|--stdio')}
    with open('/proc/net/unix') as f:
        bound = {x.split()[7] for x in f.readlines()[1:]
                 if len(x.split()) > 7 and t.dir in x}
    ok({s.rpartition('/')[2].split('.sock')[0] for s in bound} <=
       {'agent', 'server'}, 'bound: %s' % bound)
    ok(pids, 'something runs')
    for p in made:
        eq(as_uid(OTHER, lambda: reach(p)), '', p)
    # What no other user may look at in the processes either.
    for pid in pids:
        eq(as_uid(OTHER, lambda: reach('/proc/%s/environ' % pid)), '',
           'environment')
    for top, dirs, _ in os.walk(t.env['HOME']):
        for n in dirs:
            os.chmod(os.path.join(top, n), 0o777)
    for s in socks:
        os.chmod(s, 0o777)
    for s in socks:
        eq(as_uid(OTHER, lambda: hangs_up(s)), "b''", s)
    logs = ''
    for p in made:
        if p.endswith('.log'):
            with open(p) as f:
                logs += f.read()
    eq(logs.count('of another user'), 3, 'told in the logs:\n' + logs)
    # An open directory is refused by its owner from now on, with the cure.
    r = mine(t, 'ls', rc=125)
    ok('chmod 700' in r.err, r.err)
    # His own client does not go there either.
    env = dict(XDG_STATE_HOME=t.path('me/.local/state'))
    r = t.run('ls', rc=125, user=OTHER, group=OTHER, extra_groups=[],
              cwd='/', env=env)
    ok('owned by uid %d' % ME in r.err, r.err)


# In a mount namespace with public directories of its own: each KIND=PATH of $2
# is made by him, and then the owner's dlmux runs. $1: the test's directory.
PLANT = r'''
set -e
cd /
mount --bind "$1" /mnt
for d in /tmp /var/tmp /dev/shm; do
	mount -t tmpfs -o mode=1777 tmpfs $d
done
mkdir -p "$1"
mount --bind /mnt "$1"
umount /mnt
him() { setpriv --reuid %d --regid %d --clear-groups "$@"; }
me() { setpriv --reuid %d --regid %d --clear-groups "$@"; }
me mkdir -m 700 "$HOME/mine"
for x in $2; do
	at=${x#*=}
	case $x in
	file=*) him sh -c ": >$at" ;;
	dir=*) him mkdir -m 777 "$at" ;;
	link=*) him ln -s "$HOME/mine" "$at" ;;
	dangling=*) him ln -s "$HOME/nothing" "$at" ;;
	socket=*) him python3 -c 'import socket, sys
socket.socket(socket.AF_UNIX).bind(sys.argv[1])' "$at" ;;
	esac
done
shift 2
me "$@" || echo "status $?"
''' % (OTHER, OTHER, ME, ME)


def planted(t, what, *argv, env=None):
    e = dict(t.env)
    e.update(env or {})
    p = subprocess.run(['unshare', '-m', '--propagation', 'private', 'sh',
                        '-c', PLANT, 'plant', t.dir, ' '.join(what)] +
                       list(argv), env=e, stdin=subprocess.DEVNULL,
                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                       timeout=30 * SLOW)
    out = p.stdout.decode('utf-8', 'replace')
    print(what, argv, '->', out)
    if 'unshare' in out and 'not permitted' in out:
        raise Skip('no mount namespaces here: ' + out.strip())
    # What he pointed at stays as it was.
    eq(os.listdir(e['HOME'] + '/mine'), [], 'in the owner\'s directory')
    ok(not os.path.exists(e['HOME'] + '/nothing'), 'where nothing was')
    os.rmdir(e['HOME'] + '/mine')
    return out


TMP = '/tmp/dlmux-%d' % ME
PUBLIC = ['/var/tmp/dlmux-%d' % ME, TMP, '/dev/shm/dlmux-%d' % ME]
REFUSED = dict(file='is not a directory', socket='is not a directory',
               dir='owned by uid %d' % OTHER, link='is a symbolic link',
               dangling='is a symbolic link')


@test()
def planted_in_the_way_of_sockets(t):
    """the fallback for sockets is his: refused by name, never followed"""
    setup(t)
    # Its parent cannot be made: sockets go to /tmp.
    env = dict(XDG_STATE_HOME='/nonexistent/state')
    dlmux = t.path('bin/dlmux')
    for kind, words in sorted(REFUSED.items()):
        out = planted(t, [kind + '=' + TMP], dlmux, 'ls', env=env)
        ok('status 125' in out and '%s: %s' % (TMP, words) in out,
           '%s: %s' % (kind, out))
    out = planted(t, [], 'sh', '-c', '%s ls && %s server status' %
                  (dlmux, dlmux), env=env)
    ok(TMP + '/' in out and 'status' not in out, out)


@test()
def planted_in_the_way_of_the_program(t):
    """the agent goes past what is his, to a directory that is free"""
    setup(t)
    home = t.env['HOME']
    conf = t.write('me/.config/dlmux/dlmux.conf', 'Workspace far\n  Command '
                   'env -u XDG_RUNTIME_DIR HOME=/nonexistent XDG_STATE_HOME=%s/'
                   'far sh -c %%c\n' % home)
    for p in (conf, os.path.dirname(conf), home + '/.config'):
        os.chown(p, ME, ME)
    exe = [t.path('bin/dlmux'), 'exec', 'far', '--', 'sh', '-c',
           'echo in $(readlink /proc/$PPID/exe)']
    kinds = sorted(REFUSED)
    for i, kind in enumerate(kinds[:3]):
        out = planted(t, [kind + '=' + PUBLIC[0],
                          kinds[-1 - i] + '=' + PUBLIC[1]], *exe)
        ok('in %s/' % PUBLIC[2] in out, '%s: %s' % (kind, out))
        end(t)
    out = planted(t, ['dir=' + PUBLIC[0], 'link=' + PUBLIC[1],
                      'dangling=' + PUBLIC[2]], *exe)
    ok('status 125' in out and 'no directory there' in out and
       PUBLIC[2] in out, out)


def end(t):
    """The owner's server and agents: the next case begins afresh."""
    def left():
        stop_tree(t.pids('server --run|agent --'), signal.SIGKILL)
        return not t.pids('server --run|agent --')
    wait_for(left, 10, 'they end')
