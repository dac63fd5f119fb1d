# SPDX-License-Identifier: ISC
"""A systemd of the test's own: PID 1 of fresh namespaces, on an overlay of
this machine's root, with logind, a system bus and one user who can log in (by
su, whose PAM session is a real one). Whether that works here is found by
trying. Nothing of the machine is changed."""

import os
import shutil
import signal
import subprocess

from harness import DLMUX, Failure, SLOW, Skip, wait_for

USER = 'dlx'
BOOT = r'''
set -e
m=$1 r=$1/root
mount -t tmpfs tmpfs "$m"
mkdir "$m/up" "$m/work" "$r"
mount -t overlay overlay -o "lowerdir=/,upperdir=$m/up,workdir=$m/work" "$r"
mount -t proc proc "$r/proc"
mount -t sysfs -o ro sysfs "$r/sys"
mount -t tmpfs tmpfs "$r/sys/fs/cgroup"
mount -t cgroup2 cgroup2 "$r/sys/fs/cgroup"
mount -t tmpfs -o mode=755 tmpfs "$r/run"
mount -t tmpfs -o mode=1777 tmpfs "$r/tmp"
mount -t tmpfs -o mode=755 tmpfs "$r/dev"
for n in null zero full random urandom tty; do
	: >"$r/dev/$n"
	mount --bind "/dev/$n" "$r/dev/$n"
done
mkdir "$r/dev/pts" "$r/dev/shm"
mount -t devpts -o newinstance,ptmxmode=666 devpts "$r/dev/pts"
ln -s pts/ptmx "$r/dev/ptmx"
mkdir -p "$r/etc/systemd/system" "$r/etc/systemd/logind.conf.d"
cat >"$r/etc/systemd/system/dlx.target" <<X
[Unit]
Requires=dbus.socket systemd-logind.service
After=dbus.socket systemd-logind.service
AllowIsolate=yes
X
printf '[Login]\nKillUserProcesses=%s\n' "$2" \
    >"$r/etc/systemd/logind.conf.d/dlx.conf"
rm -f "$r/etc/machine-id" "$r/etc/nologin"
echo 0123456789abcdef0123456789abcdef >"$r/etc/machine-id"
chroot "$r" useradd -m -s /bin/sh dlx
cp "$3" "$r/usr/local/bin/dlmux"
exec env -i container=dlx PATH="$PATH" DLMUX_E2E="$DLMUX_E2E" \
    chroot "$r" /lib/systemd/systemd --system --unit=dlx.target \
    --log-target=null --show-status=no
'''


def unified():
    for d in ('/sys/fs/cgroup/unified', '/sys/fs/cgroup'):
        if os.path.exists(d + '/cgroup.procs') and \
                os.path.exists(d + '/cgroup.controllers'):
            return d
    return None


class Systemd:
    def __init__(self, t, kills='yes'):
        self.t = t
        if os.getuid() != 0:
            raise Skip('a systemd of one\'s own is tried as root only')
        for p in ('/lib/systemd/systemd', '/lib/systemd/systemd-logind',
                  '/usr/bin/busctl', '/usr/bin/dbus-daemon',
                  '/usr/lib/systemd/user/dbus.socket'):
            if not os.path.exists(p):
                raise Skip('no %s on this machine' % p, here=True)
        if not any(os.path.exists(d + '/security/pam_systemd.so') for d in
                   ('/lib/x86_64-linux-gnu', '/lib/aarch64-linux-gnu',
                    '/usr/lib64', '/usr/lib')):
            raise Skip('no pam_systemd on this machine', here=True)
        top = unified()
        if top is None:
            raise Skip('no cgroup2 hierarchy is mounted here')
        self.group = os.path.join(top, os.path.basename(t.dir))
        try:
            os.mkdir(self.group)
        except OSError as e:
            raise Skip('no cgroup can be made here: %s' % e)
        t.finals.append(self.clear)
        self.log = open(t.path('boot.log'), 'w+b')
        self.p = subprocess.Popen(
            ['sh', '-c', 'echo $$ >%s/cgroup.procs && exec unshare -m -p -f '
             '-n -u -i -C --kill-child --propagation private sh -c "$0" boot '
             '"$@"' % self.group, BOOT, t.mkdir('sd'), kills,
             os.path.realpath(DLMUX)], env=t.env, stdin=subprocess.DEVNULL,
            stdout=self.log, stderr=self.log)
        t.procs.append(self.p)
        t.cleanups.append(self.stop)
        self.pid = None
        try:
            wait_for(self.up, 20, step=0.05)
        except Failure:
            self.log.seek(0)
            text = self.log.read().decode('utf-8', 'replace').strip()
            raise Skip('systemd does not come up here: ' +
                       (text.split('\n')[-1] or 'no word'))

    def up(self):
        if self.p.poll() is not None:
            raise Failure('it ended')
        self.pid = self.first()
        return self.pid and self.inside('systemctl', 'is-active', '-q',
                                        'dlx.target').returncode == 0

    def first(self):
        """Our child's child is PID 1 there, once it is systemd."""
        try:
            with open('/proc/%d/task/%d/children' % (self.p.pid,
                                                     self.p.pid)) as f:
                pid = int(f.read().split()[0])
            with open('/proc/%d/comm' % pid) as f:
                return pid if f.read().strip() == 'systemd' else None
        except (OSError, ValueError, IndexError):
            return None

    def inside(self, *argv, input=None):
        return subprocess.run(
            ['nsenter', '-t', str(self.pid), '-a', '-r', '-w', '--', 'env',
             '-i', 'PATH=' + os.environ['PATH'] + ':/usr/sbin:/sbin',
             'DLMUX_E2E=' + self.t.dir] + list(argv),
            input=input, stdin=None if input else subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            timeout=30 * SLOW)

    def login(self, command):
        """One login of the user's that runs this and logs out."""
        r = self.inside('su', '-', USER, '-c', 'export LANG=C.UTF-8 DLMUX_E2E=%s; %s' % (
            self.t.dir, command))
        print('login: %s -> %d\n%s' % (command, r.returncode,
                                       r.stdout.decode('utf-8', 'replace')))
        r.out = r.stdout.decode('utf-8', 'replace')
        return r

    def root(self, *argv):
        r = self.inside(*argv)
        if r.returncode != 0:
            raise Failure('%s: %s' % (argv, r.stdout))
        return r.stdout.decode()

    def logged_out(self):
        """No session is left, and what belonged to one has been killed."""
        wait_for(lambda: USER not in self.root('loginctl', 'list-sessions'),
                 20, 'the session ends')

    def dlmux(self, what):
        """Is such a process there? The unit it is in."""
        r = self.inside('sh', '-c', 'for p in $(pgrep -u %s -f "^dlmux %s"); '
                        'do tail -n 1 /proc/$p/cgroup; done' % (USER, what))
        return [x.rpartition('/')[2] for x in r.stdout.decode().split()]

    def stop(self):
        if self.pid:
            try:
                os.kill(self.pid, signal.SIGKILL)
            except OSError:
                pass
        self.p.kill()
        self.p.wait()

    def clear(self):
        def gone():
            for d, kids, _ in os.walk(self.group, topdown=False):
                try:
                    os.rmdir(d)
                except OSError:
                    pass
            return not os.path.exists(self.group)
        wait_for(gone, 10, 'the cgroups go')
        shutil.rmtree(self.t.path('sd'), ignore_errors=True)
