# SPDX-License-Identifier: ISC
"""Today's processes meet those of version 1, as recorded in tests/unit/frozen:
whatever is upgraded first, the others must still be spoken with."""

import json
import os
import socket
import struct

from harness import SLOW, TOP, eq, ok, test, wait_for
from test_bad import frame, hello_socket

HELLO, PING, PONG, READY, LIST, ROW, DONE = 1, 2, 3, 7, 0x65, 0x66, 0x6c


def recorded(name):
    with open(TOP + '/tests/unit/frozen/v1-%s.hex' % name) as f:
        return bytes.fromhex(''.join(x for x in f if x[0] != '#'))


class Peer:
    """One end of a connection, which knows what version 1 knew."""

    def __init__(self, s):
        self.s = s
        self.s.settimeout(10 * SLOW)
        self.got = b''

    def take(self, n):
        while len(self.got) < n:
            b = self.s.recv(65536)
            ok(b, 'it hung up: %r' % self.got)
            self.got += b
        b, self.got = self.got[:n], self.got[n:]
        return b

    def message(self, *types):
        """The payload of the next one of these types."""
        while True:
            n, kind, flags, zero, _, _ = struct.unpack('>IBBHII',
                                                       self.take(16))
            eq((zero, n <= 65536), (0, True), 'a header')
            data = self.take(n)
            if kind in types:
                return kind, data
            print('skipped: type 0x%02x, %d bytes' % (kind, n))

    def hello(self, role):
        """Its greeting: what version 1 reads of it must be there."""
        kind, data = self.message(HELLO)
        low, high, is_role, ident, epoch, pid, now = struct.unpack(
            '>HHB16sQIQ', data[:41])
        eq((low <= 1 <= high, is_role), (True, role), 'versions and role')
        at = 41
        for _ in range(3):
            n, = struct.unpack('>I', data[at:at + 4])
            at += 4 + n
        ok(at + 4 <= len(data) and pid > 1 and now > 1.7e12, 'its fields')
        print('greeted by role %d, pid %d, id %s, epoch %d' % (
            is_role, pid, ident.hex(), epoch))
        return ident


def connect(path):
    s = socket.socket(socket.AF_UNIX)
    s.connect(path)
    return Peer(s)


@test()
def a_client_of_version_1(t):
    """a client of version 1 is greeted and served by today's server"""
    path = hello_socket(t)
    t.run('new', 'local:a')
    c = connect(path)
    c.s.sendall(recorded('client-hello') + frame(LIST, b'', channel=1))
    c.hello(3)
    rows = 0
    while c.message(ROW, DONE)[0] == ROW:
        rows += 1
    ok(rows >= 2, 'a workspace and its shell')


@test()
def a_server_of_version_1_for_the_client(t):
    """today's client speaks with a server of version 1"""
    path = hello_socket(t)
    t.run('server', 'stop')
    listen = socket.socket(socket.AF_UNIX)
    listen.bind(path)
    listen.listen(5)
    p = t.popen('ls')
    s = Peer(listen.accept()[0])
    s.s.sendall(recorded('server-hello'))
    s.hello(1)
    s.message(LIST)
    s.s.sendall(frame(DONE, struct.pack('>HII', 0, 0, 0), channel=1))
    eq(t.finish(p).rc, 0, 'ls')


def agent_socket(t):
    t.run('exec', 'local', '--', 'true')
    return os.path.dirname(json.loads(t.run(
        'server', 'status', '--json').out)['socket']) + '/agent.sock'


def linked(p):
    """The agent at the other end takes us for a server, and answers."""
    ident = p.hello(5)
    p.message(READY)
    p.s.sendall(frame(PING, b'version1version1'))
    eq(p.message(PONG)[1], b'version1version1', 'the answer')
    return ident


@test()
def a_server_of_version_1_for_the_agent(t):
    """today's agent takes the hand-offs and the server of version 1"""
    path = agent_socket(t)
    p = connect(path)
    p.s.sendall(recorded('handoff-direct') + recorded('link-hello'))
    ident = linked(p)
    # A front with two descriptors, which are the link.
    front = connect(path)
    ours, its = socket.socketpair()
    eq(front.s.sendmsg([recorded('handoff-fds')], [
        (socket.SOL_SOCKET, socket.SCM_RIGHTS,
         struct.pack('ii', its.fileno(), its.fileno()))]),
       len(recorded('handoff-fds')), 'sent')
    its.close()
    p = Peer(ours)
    line = b'0123456789abcdef0123456789abcdef AGENT\n'
    eq(p.take(len(line)), line, 'the bootstrap\'s word')
    # The recorded server has the same id: another epoch, a newer link.
    again = bytearray(recorded('link-hello'))
    again[16 + 21 + 7] += 1
    p.s.sendall(bytes(again))
    eq(linked(p), ident, 'the same agent')
    ours.close()
    eq(front.s.recv(10), b'', 'the front may go')


@test()
def an_agent_of_version_1(t):
    """today's server links to an agent of version 1 and knows its instance"""
    t.write('said', recorded('agent-hello') + frame(READY, b''))
    t.script('old', 'm=$(echo "$*" | grep -oE "[0-9a-f]{32}" | head -n 1)\n'
             'echo "noise $m AGENT"\ncat %s\nexec cat >/dev/null\n' %
             t.path('said'))
    t.config('Workspace old\n  Command old\n')
    t.run('connect', 'old')
    row = wait_for(lambda: [w for w in t.ls() if w['workspace'] == 'old' and
                            w['state'] == 'up'], 10, 'up')[0]
    eq(row['agent'], '1.0-dev', 'its version')
