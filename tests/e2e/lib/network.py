# SPDX-License-Identifier: ISC
"""A far host behind a line that can be bad: a real sshd that listens in a
network namespace of its own, a real ssh in another, and tools/network between
them, whose words are in its head comment."""

import os
import subprocess

import fixtures
from harness import Skip, TOOLS, wait_for

FAR = '10.231.1.2'
PORT = 2222


class Network(fixtures.Host):
    """The host `far`. Of it all remains nothing when the tool's stdin ends,
    be it that this process was killed."""

    def __init__(self, t, name='far', seed=1, sshd_config='', **kw):
        ssh = getattr(t, 'ssh', None) or fixtures.Ssh(t)
        super().__init__(ssh, name, sshd_config='Port %d\nListenAddress %s\n%s'
                         % (PORT, FAR, sshd_config), **kw)
        self.control = self.dir + '/ctl'
        self.err = open(self.dir + '/network.log', 'w+')
        tool = TOOLS + '/network'
        self.p = subprocess.Popen(
            [tool, '--seed', str(seed), '--control', self.control, '--',
             ssh.sshd, '-D', '-f', self.dir + '/sshd_config', '-E', self.log],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.err,
            env=t.env)
        t.cleanups.append(self.end)
        if self.p.stdout.readline() != b'ready\n':
            rc = self.p.wait()
            with open(self.err.name) as f:
                why = f.read().strip()
            if rc == 77:
                raise Skip(why)
            raise fixtures.Failure('the network (%s): %s' % (rc, why))
        ssh.through('%s --in %d' % (tool, self.p.pid))
        wait_for(self.listens, 10, 'sshd listens')

    def way(self, relay, proxy_prefix):
        return 'HostName %s\n\tPort %d' % (FAR, PORT)

    def listens(self):
        return self.logged('Server listening') > 0

    def logged(self, words):
        try:
            with open(self.log, errors='replace') as f:
                return f.read().count(words)
        except OSError:
            return 0

    def end(self):
        self.p.stdin.close()
        self.p.wait(10)
        self.p.stdout.close()
        self.err.close()

    # -- the line --

    def cut(self, way=''):
        """Nothing passes, and nobody is told."""
        self.tell('cut ' + way)

    def freeze(self):
        """Nothing of the TCP connections there are; new ones pass."""
        self.tell('freeze')

    def unplug(self):
        """"Network is unreachable"."""
        self.tell('unplug')

    def restore(self, what=''):
        """All of the three, or one."""
        self.tell('restore ' + what)

    def loss(self, percent):
        self.tell('loss %s' % percent)

    def delay(self, ms, jitter=0):
        self.tell('delay %s' % ms)
        self.tell('jitter %s' % jitter)

    def rate(self, n):
        self.tell('rate %d' % n)

    def moved(self):
        """Bytes to the far side, bytes from it, packets lost."""
        return tuple(int(x) for x in self.tell('counts').split())

    def tries(self):
        """Connections that reached it."""
        return self.logged('Connection from ')


def cuts():
    """How long to cut the line, seconds: 1, or what DLMUX_CUTS says."""
    return [float(x) for x in os.environ.get('DLMUX_CUTS', '1').split()]
