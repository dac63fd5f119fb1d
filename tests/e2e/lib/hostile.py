#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""hostile.py MODE ONE-LINER: what answers as a workspace's agent and means
harm, in the way that MODE says. It reads what the server sends and answers
pings, unless it is to be deaf."""

import os
import re
import struct
import sys
import threading

MODE = sys.argv[1]
MARKER = re.search(r'\bm=([0-9a-f]{32})', sys.argv[2]).group(1)

TABLE = []
for i in range(256):
    for _ in range(8):
        i = i >> 1 ^ (0x82f63b78 if i & 1 else 0)
    TABLE.append(i)

HELLO, PING, PONG, BYE, READY = 1, 2, 3, 5, 7
STARTED, DATA, END, CREDIT, EXIT = 0x11, 0x13, 0x14, 0x15, 0x18
SHELL, GONE, OUTPUT, RESIZED, MARK = 0x30, 0x31, 0x32, 0x33, 0x34
CHECKPOINT, GAP, WATCH, JOBS, ATTACH = 0x35, 0x36, 0x38, 0x3e, 0x52
HISTORY = 0x37


def crc32c(data):
    c = 0xffffffff
    for b in data:
        c = TABLE[(c ^ b) & 0xff] ^ c >> 8
    return c ^ 0xffffffff


def frame(type, channel=0, data=b'', flags=0, length=None):
    h = struct.pack('>IBBHI', len(data) if length is None else length, type,
                    flags, 0, channel)
    return h + struct.pack('>I', crc32c(h)) + data


lock = threading.Lock()


def write(data):
    with lock:
        while data:
            data = data[os.write(1, data):]


def send(*a, **kw):
    write(frame(*a, **kw))


def s(text):
    return struct.pack('>I', len(text)) + text.encode()


def hello():
    return struct.pack('>HHB', 1, 1, 5) + b'\x66' * 16 + struct.pack(
        '>QIQ', 0, 1, 0) + s('1.0') + s('evil') + s('Linux x86_64') + \
        struct.pack('>I', 1) + s('history')


def shell(n, end=0, rows=24, cols=80, name=None):
    return struct.pack('>QBBIIQQQQHH', n, 0, 0, 0, 1, 0, 0, 0, end, rows,
                       cols) + s('') + s(name or 'a%d' % n) + s('cat')


def listen():
    """Answers pings; the rest is thrown away."""
    f = os.fdopen(0, 'rb', 0)

    def take(n):
        got = b''
        while len(got) < n:
            b = f.read(n - len(got))
            if not b:
                os._exit(0)
            got += b
        return got
    while True:
        n, type, _, _, channel, _ = struct.unpack('>IBBHII', take(16))
        data = take(n)
        if type == PING:
            send(PONG, 0, data)


def forever(make):
    i = 0
    while True:
        write(make(i))
        i += 1


def main():
    write(MARKER.encode() + b' AGENT\n' + frame(HELLO, 0, hello()))
    if MODE != 'deaf':
        threading.Thread(target=listen, daemon=True).start()
    send(SHELL, 1, shell(1))
    send(READY)
    send(RESIZED, 1, struct.pack('>QHH', 0, 24, 80))
    line = b'x' * 60000
    at = struct.Struct('>Q').pack
    if MODE == 'frame-over-the-limit':
        send(OUTPUT, 1, b'', length=1 << 30)
    elif MODE == 'message-over-the-limit':
        forever(lambda i: frame(SHELL, 1, line, flags=2))
    elif MODE == 'bad-check':
        write(frame(OUTPUT, 1)[:-1] + b'\0' + b'y' * 100)
    elif MODE == 'not-an-agents':
        send(ATTACH, 1, b'x')
    elif MODE == 'unknown-type':
        send(0xee, 1, b'x')
    elif MODE == 'hello-twice':
        send(HELLO, 0, hello())
    elif MODE == 'wrong-state':
        # Of operations and shells that nobody knows, and of no form.
        for t in (STARTED, DATA, END, CREDIT, EXIT):
            for c in (0, 1, 7, 0xffffffff):
                send(t, c, b'')
                send(t, c, b'\1' + b'\xff' * 8)
        for t in (GONE, RESIZED, MARK, CHECKPOINT, GAP, OUTPUT, JOBS):
            for c in (0, 1, 9, 0xffffffff):
                send(t, c, b'\xff\xff\xff')
        send(SHELL, 5, b'\0')
    elif MODE == 'no-newline':
        # Credit does not stop it.
        forever(lambda i: frame(OUTPUT, 1, at(i * len(line)) + line))
    elif MODE == 'a-million-shells':
        forever(lambda i: frame(SHELL, i + 2, shell(i + 2)))
    elif MODE == 'a-shell-anew':
        forever(lambda i: frame(SHELL, 1, shell(i + 2)) +
                frame(GONE, 1, s('gone')))
    elif MODE == 'endless-checkpoint':
        forever(lambda i: frame(CHECKPOINT, 1, line, flags=2))
    elif MODE == 'many-checkpoints':
        # Parts of messages on ever more channels, none of them whole.
        forever(lambda i: frame(CHECKPOINT, i, line, flags=2))
    elif MODE == 'lies-about-offsets':
        big = (1 << 64) - 1
        for n in (0, 1, 1 << 20, 1 << 62, big):
            send(OUTPUT, 1, at(n) + b'lie')
            send(MARK, 1, at(n) + b'm' * 16)
            send(GAP, 1, at(n) + at(big - n))
            send(GAP, 1, at(5) + at(n))
            send(RESIZED, 1, at(n) + struct.pack('>HH', 65535, 65535))
            send(CHECKPOINT, 1, at(n) + struct.pack('>BHH', 2, 65535, 65535) +
                 os.urandom(500))
            send(SHELL, 1, shell(1, n, 65535, 65535))
        forever(lambda i: frame(OUTPUT, 1, at(i * 7919 % 100000) + line))
    elif MODE == 'resizes':
        forever(lambda i: frame(RESIZED, 1, at(0) + struct.pack(
            '>HH', 1 + i * 37 % 65535, 1 + i * 91 % 65535)))
    elif MODE == 'histories':
        # Light beginnings, and what is behind them: unasked, never, or none.
        def light(i, n, what):
            return frame(CHECKPOINT, n, at(i << 21) + struct.pack(
                '>BHH', 1, 24, 80) + what)
        for n in range(2, 200):
            send(SHELL, n, shell(n))
        forever(lambda i: light(i, 2 + i % 198, os.urandom(50)) + frame(
            OUTPUT, 2 + i % 198, at(i << 21) + line) + (frame(
                HISTORY, 2 + i % 198, at(i << 21) + line) if i % 3 else b''))
    elif MODE == 'deaf':
        forever(lambda i: frame(PING, 0, b'p' * 16))
    elif MODE == 'questions':
        q = b'\x1b[c\x1b[6n\x1b]11;?\x07' * 4000
        forever(lambda i: frame(OUTPUT, 1, at(i * len(q)) + q))
    threading.Event().wait()


try:
    main()
except OSError:
    pass
