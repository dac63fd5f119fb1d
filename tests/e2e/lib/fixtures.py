# SPDX-License-Identifier: ISC
"""Far places for the tests: hosts (a real ssh to a real `sshd -i` behind a
ProxyCommand, so that neither root nor a port is needed), containers (podman
on a busybox root), and a devpod as slow under its lock as the real one."""

import getpass
import os
import shutil
import socket
import subprocess

from harness import ASAN, Failure, Skip, TOOLS, reap_foreign, wait_for


def need(program):
    path = shutil.which(program, path=os.environ.get('PATH', '') +
                        ':/usr/sbin:/sbin:/usr/bin:/bin')
    if path is None:
        raise Skip('no %s on this machine' % program, here=True)
    return path


def sh(argv, **kw):
    p = subprocess.run(argv, stdin=kw.pop('stdin', subprocess.DEVNULL),
                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                       timeout=60, **kw)
    if p.returncode != 0:
        raise Failure('%s: %s' % (' '.join(argv),
                                  p.stdout.decode('utf-8', 'replace')))
    return p.stdout.decode('utf-8', 'replace')


def tell(control, command):
    """A word to a relay's control socket, and its answer."""
    def connect():
        s = socket.socket(socket.AF_UNIX)
        try:
            s.connect(control)
            return s
        except OSError:
            s.close()
            return None
    s = wait_for(connect, 10, 'the relay at ' + control)
    s.sendall(command.encode() + b'\n')
    got = s.recv(100).decode().strip()
    s.close()
    if got == 'what?':
        raise Failure('the relay does not know ' + command)
    return got


class Ssh:
    """The near side: `ssh` first in PATH that reads our config only, and
    notes each call in ssh/calls."""

    def __init__(self, t, passphrase=''):
        self.t = t
        self.sshd = need('sshd')
        self.ssh = need('ssh')
        self.dir = t.mkdir('ssh')
        self.config = t.write('ssh/config', '', 0o600)
        self.known = t.write('ssh/known_hosts', '', 0o600)
        self.key = t.path('ssh/id')
        sh(['ssh-keygen', '-q', '-t', 'ed25519', '-N', passphrase, '-f',
            self.key])
        if os.getuid() == 0:
            os.makedirs('/run/sshd', mode=0o755, exist_ok=True)
        self.through('')
        t.ssh = self

    def through(self, words):
        """Words before ssh's own: where it runs."""
        run = words + ' ' + self.ssh
        self.t.script('ssh', 'echo "$$ $*" >>%s/calls\nfor a; do\n'
                      'case $a in -F*) exec %s "$@" ;; --) break ;; esac\n'
                      'done\nexec %s -F %s "$@"\n' % (
                          self.dir, run, run, self.config))

    def calls(self):
        try:
            with open(self.dir + '/calls') as f:
                return f.read().splitlines()
        except OSError:
            return []

    def host(self, name, **kw):
        return Host(self, name, **kw)


class Host:
    """One far host. proxy_prefix runs before the connection is made (a lock,
    a wait); relay: arguments of the bad pipe between; sshd_config: more
    lines; known=False: an unknown host key; pam: sshd asks PAM; methods: of
    authentication, beside a key."""

    def __init__(self, ssh, name, relay=None, proxy_prefix='', sshd_config='',
                 ssh_config='', known=True, authorized=True, env=None,
                 config=None, pam=False, methods=None):
        t = ssh.t
        self.t, self.name, self.ssh = t, name, ssh
        self.user = getpass.getuser()
        safe = name.replace('/', '_')
        self.dir = t.mkdir('sshd-' + safe)
        self.home = t.mkdir('far-' + safe)
        self.log = self.dir + '/sshd.log'
        self.control = None
        sh(['ssh-keygen', '-q', '-t', 'ed25519', '-N', '', '-f',
            self.dir + '/hostkey'])
        if authorized:
            shutil.copy(ssh.key + '.pub', self.dir + '/authorized')
        far = dict(HOME=self.home, DLMUX_E2E=t.dir)
        for k in ('ASAN_OPTIONS', 'UBSAN_OPTIONS', 'DLMUX_HOOK_DIR'):
            if k in t.env:
                far[k] = t.env[k]
        far.update(env or {})
        t.write(self.dir + '/sshd_config', '''\
HostKey %s/hostkey
AuthorizedKeysFile %s/authorized
PidFile none
UsePAM %s
StrictModes no
PermitRootLogin yes
PrintMotd no
PasswordAuthentication %s
KbdInteractiveAuthentication %s
LogLevel VERBOSE
MaxSessions 10
SetEnv %s
%s
''' % (self.dir, self.dir, 'yes' if pam else 'no',
            'yes' if methods == 'password' else 'no',
            'yes' if methods == 'keyboard-interactive' else 'no',
            ' '.join('%s="%s"' % kv for kv in far.items()),
            sshd_config), 0o600)
        with open(config or ssh.config, 'a') as f:
            f.write('''
Host %s
	%s
	User %s
	IdentityFile %s
	IdentitiesOnly yes
	UserKnownHostsFile %s
	GlobalKnownHostsFile none
	HostKeyAlias %s
%s
''' % (name, self.way(relay, proxy_prefix), self.user, ssh.key, ssh.known,
                name, '\n'.join('\t' + x for x in ssh_config.splitlines())))
        if known:
            with open(self.dir + '/hostkey.pub') as f, \
                    open(ssh.known, 'a') as k:
                k.write('%s %s' % (name, f.read()))

    def way(self, relay, proxy_prefix):
        """The line of ssh_config that says how it is reached."""
        cmd = '%s -i -f %s/sshd_config -E %s' % (self.ssh.sshd, self.dir,
                                                 self.log)
        if relay is not None:
            self.control = self.dir + '/ctl'
            cmd = '%s/pipe --control %s %s -- %s' % (
                TOOLS, self.control, ' '.join(relay), cmd)
        return 'ProxyCommand ' + self.t.write(
            self.dir + '/proxy', '#!/bin/sh\necho $$ >>%s/pids\n%s\nexec %s\n'
            % (self.dir, proxy_prefix, cmd), 0o755)

    def logins(self):
        try:
            with open(self.log, errors='replace') as f:
                return sum(x.startswith('Accepted ') and ' ssh2' in x
                           for x in f)
        except OSError:
            return 0

    def tries(self):
        try:
            with open(self.dir + '/pids') as f:
                return len(f.read().splitlines())
        except OSError:
            return 0

    def tell(self, command):
        """A word to the newest relay: cut, stall, resume, delay MS, bytes."""
        return tell(self.control, command)

    def sshd_pids(self):
        """The newest sshd and its children. It writes its title over its
        arguments and environment, so it is found by its pid."""
        with open(self.dir + '/pids') as f:
            found = [int(f.read().split()[-1])]
        for p in found:
            try:
                with open('/proc/%d/task/%d/children' % (p, p)) as f:
                    kids = [int(x) for x in f.read().split()]
            except OSError:
                continue
            for k in kids:
                try:
                    with open('/proc/%d/comm' % k) as f:
                        if f.read().strip() == 'sshd':
                            found.append(k)
                except OSError:
                    pass
        return found


class Podman:
    """Containers that need no registry and no network. Facts that decide
    whether it runs here are found by trying; the reason is told."""

    def __init__(self, t, agent=True):
        self.t = t
        if agent and ASAN:
            raise Skip('a sanitized dlmux is dynamic and cannot run in a '
                       'container without a C library')
        podman = need('podman')
        runtime = 'runc' if shutil.which('runc') else 'crun'
        if os.getuid() != 0:
            raise Skip('podman is tried as root only', here=False)
        conf = t.write('ct/containers.conf', '''\
[containers]
default_ulimits = ["nofile=1024:1024", "nproc=2048:2048"]
netns = "none"
[engine]
runtime = "%s"
cgroup_manager = "cgroupfs"
events_logger = "file"
''' % runtime)
        t.env['CONTAINERS_CONF'] = conf
        root = t.path('ct')
        text = 'export CONTAINERS_CONF=%s\nunset XDG_RUNTIME_DIR\n' \
            'echo "$*" >>%s/calls\nexec %s --root %s/root --runroot %s/run ' \
            '"$@"\n' % (conf, root, podman, root, root)
        t.script('podman', text)
        t.script('docker', text)
        self.made = []
        t.cleanups.append(self.remove)
        # podman leaves its store mounted on itself.
        t.finals.append(lambda: subprocess.run(
            ['umount', '-l', root + '/root/overlay'],
            stderr=subprocess.DEVNULL))
        self.rootfs = self.make_rootfs()

    def make_rootfs(self):
        busybox = need('busybox')
        t = self.t
        root = t.mkdir('ct/rootfs')
        for d in ('bin', 'etc', 'tmp', 'root', 'proc', 'sys', 'dev', 'run',
                  'home/u'):
            t.mkdir('ct/rootfs', d)
        os.chmod(root, 0o755)
        for d in ('bin', 'etc', 'home', 'run', 'dev', 'proc', 'sys'):
            os.chmod(os.path.join(root, d), 0o755)
        os.chmod(root + '/tmp', 0o1777)
        shutil.copy(busybox, root + '/bin/busybox')
        names = sh([busybox, '--list']).split()
        for n in names:
            if n != 'busybox':
                os.symlink('busybox', root + '/bin/' + n)
        t.write('ct/rootfs/etc/passwd',
                'root:x:0:0:root:/root:/bin/sh\nu:x:1000:1000:u:/home/u:'
                '/bin/sh\n')
        t.write('ct/rootfs/etc/group', 'root:x:0:\nu:x:1000:\n')
        os.chown(root + '/home/u', 1000, 1000)
        return root

    def container(self, name, *opts, cmd=('/bin/sleep', '3600')):
        # A root file system of its own for each, so that they do not share.
        root = self.t.path('ct', 'fs-' + name)
        shutil.copytree(self.rootfs, root, symlinks=True)
        os.chown(root + '/home/u', 1000, 1000)
        os.chmod(root + '/tmp', 0o1777)
        p = subprocess.run(['podman', 'run', '-d', '--name', name, '-e',
                            'DLMUX_E2E=' + self.t.dir] + list(opts) +
                           ['--rootfs', root] + list(cmd),
                           env=self.t.env, stdin=subprocess.DEVNULL,
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                           timeout=60)
        if p.returncode != 0:
            raise Skip('podman cannot run a container here: ' +
                       p.stderr.decode('utf-8', 'replace').strip()
                       .split('\n')[-1])
        self.made.append(name)
        return name

    def remove(self):
        for n in self.made:
            subprocess.run(['podman', 'rm', '-f', '-t', '0', n],
                           env=self.t.env, stdin=subprocess.DEVNULL,
                           stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL, timeout=30)


class Box:
    """A workspace that ends, is made anew, stopped and started: a container,
    or (a sanitized dlmux, no podman) an ssh host in PID and mount namespaces
    of its own. DLMUX_BOX=podman|namespaces asks for one kind. Its home holds
    a file `life`: how often it was made. `shared` is the same inside and
    outside."""

    def __init__(self, t, name='box', kinds='podman namespaces'):
        self.t, self.name = t, name
        self.life = 0
        self.shared = t.mkdir('shared')
        os.chmod(self.shared, 0o777)
        asked = os.environ.get('DLMUX_BOX', '')
        why = []
        for k in (asked if asked in kinds and asked else kinds).split():
            try:
                getattr(self, k)()
                break
            except Skip as e:
                why.append('%s: %s' % (k, e))
        else:
            raise Skip('; '.join(why))
        self.kind = k
        print('a box of the kind', k)

    def podman(self):
        self.ct = getattr(self.t, 'podman', None) or Podman(self.t)
        self.t.podman = self.ct
        self.ws = 'podman:' + self.name
        self.home = self.t.path('ct', 'fs-' + self.name, 'root')
        self.make, self.start, self.stop = (self.podman_make,
                                            self.podman_start,
                                            self.podman_stop)
        self.make()

    def run(self, *args):
        sh(['podman'] + list(args), env=self.t.env)

    def podman_make(self):
        if self.life > 0:
            self.run('rm', '-f', '-t', '0', self.name)
            shutil.rmtree(os.path.dirname(self.home))
        self.life += 1
        self.t.write('ct/rootfs/root/life', '%d\n' % self.life)
        self.ct.container(self.name, '-v', self.shared + ':' + self.shared)

    def podman_stop(self):
        self.run('stop', '-t', '0', self.name)

    def podman_start(self):
        self.run('start', self.name)

    def namespaces(self):
        t = self.t
        need('nsenter')
        p = subprocess.run([need('unshare'), '--fork', '--pid',
                            '--mount-proc', 'true'], stderr=subprocess.PIPE)
        if p.returncode != 0:
            raise Skip('no namespaces here: ' + p.stderr.decode().strip())
        self.init = t.path('init-' + self.name)
        ssh = getattr(t, 'ssh', None) or Ssh(t)
        host = ssh.host(self.name, relay=[], proxy_prefix='[ -n "$INSIDE" ] || exec env '
                        'INSIDE=1 nsenter -t "$(cat %s)" -p -m sh "$0"' %
                        self.init)
        self.ws = 'ssh:' + self.name
        self.home, self.tell = host.home, host.tell
        self.make, self.start, self.stop = (self.ns_make, self.ns_start,
                                            self.ns_stop)
        self.make()

    def ns_make(self):
        if self.life > 0:
            self.stop()
            shutil.rmtree(self.home)
            os.mkdir(self.home, 0o700)
        self.life += 1
        self.t.write(os.path.join(self.home, 'life'), '%d\n' % self.life)
        self.start()

    def ns_start(self):
        """Its first process is the only child of unshare's."""
        self.p = subprocess.Popen(['unshare', '--fork', '--pid',
                                   '--mount-proc', '--kill-child', 'sh', '-c',
                                   'echo; exec sleep 3600'], env=self.t.env,
                                  stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE,
                                  stderr=subprocess.DEVNULL)
        self.p.stdout.readline()
        self.p.stdout.close()
        with open('/proc/%d/task/%d/children' % (self.p.pid,
                                                 self.p.pid)) as f:
            self.t.write(self.init, f.read().strip())

    def ns_stop(self):
        """A namespace ends when all in it are reaped, also those who lost
        their parent and became ours."""
        os.kill(int(open(self.init).read()), 9)

        def gone():
            reap_foreign()
            return self.p.poll() is not None
        wait_for(gone, 20, 'the namespace ends')


def devpod(t, name, wait=1.7):
    """A devpod workspace: an entry in the config that devpod writes, whose
    ProxyCommand asks for `wait` seconds under the workspace's lock."""
    ssh = getattr(t, 'ssh', None) or Ssh(t)
    config = t.write('devpod/config', '', 0o600)
    t.env['DEVPOD_SSH_CONFIG'] = config
    t.script('devpod', 'echo "devpod: not here" >&2\nexit 1\n')
    return ssh.host(name + '.devpod', config=config, proxy_prefix=slow(
        t, 'devpod-' + name, wait))


def slow(t, name, wait=1.7):
    """Lines of a ProxyCommand that costs so long, one at a time."""
    need('flock')
    return 'flock %s.lock sleep %s' % (t.path(name), wait)
