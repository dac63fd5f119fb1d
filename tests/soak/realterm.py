# SPDX-License-Identifier: ISC
"""Real terminals for tests, xterm (under Xvfb) and tmux: a command is run in
one, and what the terminal then shows is asked of the terminal itself, cell by
cell with attributes, and the cursor.

In xterm the command's bytes pass through a relay, which is this file run as a
program: it obeys lines from a socket, so that the terminal can be asked and
typed at between two bytes of the command's."""

import ctypes
import fcntl
import os
import pty
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import termios
import time
import tty

ME = os.path.realpath(__file__)
TOP = os.path.realpath(os.path.join(os.path.dirname(ME), '../..'))
sys.path.insert(0, os.path.join(TOP, 'tests/e2e/lib'))
from harness import wait_for        # noqa: E402

DLMUX = os.environ.get('DLMUX_BIN', os.path.join(TOP, 'dlmux'))
DEADLINE = 15
# xterm draws runs of one look; a glyph that reaches over its cell's edge is
# cut where another run begins, and where those begin is not the program's: so
# many pixels of a picture.
EDGES = 120


def missing(*programs):
    """Of these, the first that is not here; None."""
    return next((p for p in programs if shutil.which(p) is None), None)


def home(tmp):
    """A directory to be at home in, and nothing of the user's."""
    os.environ.update(HOME=tmp, SHELL='/bin/sh', LANG='C.UTF-8')
    for v in ('TMUX', 'COLORTERM', 'VTE_VERSION', 'TERM_PROGRAM', 'LC_ALL',
              'XDG_RUNTIME_DIR'):
        os.environ.pop(v, None)


def leave():
    """No shell, server or agent of that home stays."""
    for argv in (['kill', '-a'], ['server', 'stop']):
        subprocess.run([DLMUX] + argv, stdin=subprocess.DEVNULL,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    here = os.environ['HOME'].encode()
    for _ in range(50):
        left = [p for p in os.listdir('/proc') if p.isdigit() and
                int(p) not in (os.getpid(), os.getppid()) and
                b'HOME=' + here + b'\0' in environment(p)]
        for p in left:
            os.kill(int(p), signal.SIGKILL)
        if not left:
            return
        time.sleep(0.05)


def environment(pid):
    try:
        with open('/proc/%s/environ' % pid, 'rb') as f:
            return f.read()
    except OSError:
        return b''


# ---- the relay: runs in xterm ----

class Relay:
    def __init__(self, path, argv):
        self.control = socket.socket(socket.AF_UNIX)
        self.control.connect(path)
        tty.setraw(0)
        self.bytes = 0
        self.log = open(path + '.log', 'wb', buffering=0)
        pid, self.fd = pty.fork()
        if pid == 0:
            self.control.close()
            os.execvp(argv[0], argv)
        self.resized()
        signal.signal(signal.SIGWINCH, self.resized)

    def resized(self, *_):
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ,
                    fcntl.ioctl(0, termios.TIOCGWINSZ, b'\0' * 8))

    def copy(self, a, b):
        try:
            data = os.read(a, 65536)
        except OSError:
            data = b''
        while data:
            data = data[os.write(b, data):]

    def output(self):
        try:
            data = os.read(self.fd, 65536)
        except OSError:
            data = b''
        if not data:
            self.fd = -1
        self.bytes += len(data)
        self.log.write(data)
        while data:
            data = data[os.write(1, data):]

    def ask(self, question):
        """What the terminal says until it tells where its cursor is."""
        out, at = b'', 0
        end = time.monotonic() + DEADLINE
        while not re.search(rb'\033\[\??\d+;\d+R$', out):
            can = at < len(question) and [1] or []
            r, w, _ = select.select([0], can, [], 1)
            if r:
                out += os.read(0, 65536)
            if w:
                at += os.write(1, question[at:at + 512])
            if time.monotonic() > end:
                return b''
        return out

    def obey(self, line):
        word, _, rest = line.partition(b' ')
        if word == b'type':
            os.write(self.fd, bytes.fromhex(rest.decode()))
            return b''
        if word == b'tell':
            os.write(1, bytes.fromhex(rest.decode()))
            return b''
        if word == b'size':
            return b'%d %d' % os.get_terminal_size(0)[::-1]
        if word == b'bytes':
            return b'%d %d' % (self.bytes, self.fd >= 0)
        if word == b'ask':
            return self.ask(bytes.fromhex(rest.decode())).hex().encode()
        return b'?'

    def run(self):
        line = b''
        while True:
            fds = [0, self.control] + ([self.fd] if self.fd >= 0 else [])
            for f in select.select(fds, [], [])[0]:
                if f == self.fd:
                    self.output()
                elif f == 0:
                    self.copy(0, self.fd if self.fd >= 0 else
                              os.open('/dev/null', os.O_WRONLY))
                else:
                    data = self.control.recv(65536)
                    if not data:
                        return
                    line += data
                    while b'\n' in line:
                        one, _, line = line.partition(b'\n')
                        self.control.sendall(self.obey(one) + b'\n')


# ---- X ----

class Display:
    """Xvfb; DISPLAY is set."""

    def __init__(self, size='2400x1600'):
        r, w = os.pipe()
        self.p = subprocess.Popen(
            ['Xvfb', '-noreset', '-displayfd', str(w), '-screen', '0', size + 'x24'],
            pass_fds=[w], stderr=subprocess.DEVNULL)
        os.close(w)
        # It writes in two goes, and dies if nobody reads the second.
        with os.fdopen(r) as f:
            os.environ['DISPLAY'] = ':' + f.readline().strip()

    def close(self):
        self.p.terminate()
        self.p.wait()


class Xterm:
    name = 'xterm'
    term = 'xterm-256color'

    def __init__(self, tmp, argv, rows=24, cols=80, font=5, level='vt420',
                 extra=()):
        self.dir = os.path.join(tmp, 'x%d' % time.monotonic_ns())
        os.mkdir(self.dir)
        path = os.path.join(self.dir, 's')
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(path)
        listener.listen(1)
        listener.settimeout(DEADLINE)
        self.print = os.path.join(self.dir, 'print')
        said = {
            'printerCommand': 'cat >%s- && mv %s- %s' % ((self.print,) * 3),
            'printAttributes': 0, 'printerExtent': 'true',
            'printerAutoClose': 'true', 'allowWindowOps': 'true',
            'cursorBlink': 'false', 'boldColors': 'false',
            'decTerminalID': level}
        x = [y for k, v in said.items()
             for y in ('-xrm', 'XTerm*%s: %s' % (k, v))]
        self.p = subprocess.Popen(
            ['xterm', '-u8', '-fa', 'DejaVu Sans Mono', '-fs', str(font),
             '-geometry', '%dx%d+0+0' % (cols, rows), '-b', '0', '-tn',
             self.term] + x + list(extra) +
            # xterm takes COLORTERM out of the environment.
            ['-e', 'env', 'COLORTERM=truecolor', sys.executable, ME, path] +
            argv,
            stderr=subprocess.DEVNULL)
        try:
            self.s = listener.accept()[0]
        finally:
            listener.close()
        self.f = self.s.makefile('rwb')

    def say(self, line):
        self.f.write(line.encode() + b'\n')
        self.f.flush()
        return self.f.readline().strip().decode()

    def size(self):
        return tuple(int(n) for n in self.say('size').split())

    def type(self, text):
        self.say('type ' + text.encode().hex())

    def key(self, text):
        """Types, and waits until something comes of it."""
        before = self.bytes()
        self.type(text)
        end = time.monotonic() + 5
        while self.bytes() == before and time.monotonic() < end:
            time.sleep(0.02)

    def tell(self, text):
        """To the terminal, as if the command had written it."""
        self.say('tell ' + text.encode().hex())

    def ask(self, text):
        return bytes.fromhex(self.say('ask ' + text.encode().hex())).decode(
            'utf-8', 'replace')

    def bytes(self):
        """How many came of the command."""
        return int(self.say('bytes').split()[0])

    def written(self):
        """All that came of the command."""
        with open(os.path.join(self.dir, 's.log'), 'rb') as f:
            return f.read()

    def quiet(self, seconds, at_least=0):
        """Until nothing came for so long, and so many bytes in all."""
        last, since = -1, time.monotonic()
        end = since + DEADLINE
        while time.monotonic() < end:
            now = self.bytes()
            if now != last:
                last, since = now, time.monotonic()
            elif now >= at_least and time.monotonic() - since >= seconds:
                return
            time.sleep(0.02)

    def shown(self, rows, cols):
        """cells {(row, col): (text, fg, bg, flags)}, (row, col)."""
        if os.path.exists(self.print):
            os.unlink(self.print)
        # CAN ends what the command left unfinished.
        at = self.ask('\x18\033[?6$p\033P$qr\033\\\033P$qs\033\\\033[6n')
        look = self.ask('\033[i' + ''.join(
            '\033[%d;%d;%d;%d#|' % (y, x, y, x) for y in range(1, rows + 1)
            for x in range(1, cols + 1)) + '\033[6n')
        wait_for(lambda: os.path.exists(self.print), DEADLINE, 'xterm prints')
        with open(self.print, encoding='utf-8', errors='replace') as f:
            text = f.read()
        attrs = re.findall(r'\033\[([\d;:]*)m', look)
        row, col = (int(n) - 1 for n in re.findall(
            r'\033\[(\d+);(\d+)R', at)[-1])
        if '\033[?6;1$y' in at:     # from the margins' corner, then
            row += int((re.findall(r'\$r(\d+);\d+r', at) or [1])[0]) - 1
            col += int((re.findall(r'\$r(\d+);\d+s', at) or [1])[0]) - 1
        text = re.sub(r'\033(#\d|\[[\d;:]*m)', '', text).replace('\f', '')
        cells = {}
        for y, line in enumerate(re.split('\r?\n', text)[:rows]):
            line = columns(line)[:cols]
            for x, t in enumerate(line + [' '] * (cols - len(line))):
                if t != '' and y * cols + x < len(attrs):
                    cells[y, x] = (t,) + sgr(attrs[y * cols + x])
        return cells, (row, col)

    def close(self):
        self.s.close()
        self.p.terminate()
        self.p.wait()


def differ(a, b, out='null:'):
    """How many pixels of two pictures."""
    p = subprocess.run(['compare', '-metric', 'AE', a, b, out],
                       stderr=subprocess.PIPE)
    return int(float(p.stderr.decode().split()[0]))


def picture(term, to, seconds=0.5):
    """When nothing came for so long, and two in a row are the same."""
    term.quiet(seconds)
    last = to + '.last.png'
    for i in range(60):
        subprocess.run(['import', '-window', 'root', to], check=True)
        if i and differ(to, last) == 0:
            break
        shutil.copy(to, last)
        time.sleep(0.1)
    os.unlink(last)


def columns(line):
    """xterm prints U+FFFF behind each wide character."""
    out = []
    for ch in line:
        if ch == '\uffff':
            out.append('')
        elif out and libc.wcwidth(ord(ch)) == 0 and ch >= ' ':
            out[-1] += ch
        else:
            out.append(ch)
    return out


# ---- tmux ----

class Tmux:
    name = 'tmux'
    term = 'tmux-256color'

    def __init__(self, tmp, argv, rows=24, cols=80):
        self.base = ['tmux', '-f', '/dev/null', '-S',
                     os.path.join(tmp, 't%d' % time.monotonic_ns())]
        self.run('start-server', ';', 'set', '-g', 'status', 'off', ';',
                 'set', '-g', 'default-terminal', self.term, ';',
                 'new-session', '-d', '-x', str(cols), '-y', str(rows), '-s',
                 's', *argv)

    def run(self, *args):
        return subprocess.run(self.base + list(args), check=True,
                              stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL).stdout.decode()

    def size(self):
        return tuple(int(n) for n in self.run(
            'display', '-p', '-t', 's',
            '#{pane_height} #{pane_width}').split())

    def quiet(self, seconds, _=0):
        time.sleep(seconds)     # of what comes it does not tell

    def written(self):
        return b''

    def shown(self, rows, cols):
        out = self.run('display', '-p', '-t', 's',
                       '#{cursor_y} #{cursor_x}', ';',
                       'capture-pane', '-p', '-e', '-N', '-t', 's')
        at, _, text = out.partition('\n')
        row, col = (int(n) for n in at.split())
        cells, pen = {}, ''
        for y, line in enumerate(text.split('\n')[:rows]):
            x = 0
            last = None
            for m in re.finditer(r'\033\[([\d;:]*)m|\033\][^\033]*\033\\|'
                                 r'[\016\017]|(.)', line):
                if m.group(1) is not None:
                    pen = m.group(1) if re.match('(0|$|0;)', m.group(1)) \
                        else pen + ';' + m.group(1)
                elif m.group(2):
                    w = libc.wcwidth(ord(m.group(2)))
                    if w == 0 and last:
                        t = cells[last]
                        cells[last] = (t[0] + m.group(2),) + t[1:]
                        continue
                    last = (y, x)
                    cells[last] = (m.group(2),) + sgr(pen)
                    x += max(w, 1)
        return cells, (row, min(col, cols - 1))

    def close(self):
        subprocess.run(self.base + ['kill-server'],
                       stderr=subprocess.DEVNULL)


# ---- attributes, widths ----

libc = ctypes.CDLL(None)
libc.setlocale(0, b'C.UTF-8')
FLAGS = {1: 'b', 2: 'd', 3: 'i', 5: 'k', 7: 'r', 8: 'h', 9: 's', 4: 'u',
         21: 'U'}
STYLES = ' uUcoa'


def sgr(text):
    """fg, bg, flags in the corpus' words, of an SGR's parameters."""
    fg = bg = '-'
    flags = set()
    p = [[int(n or 0) for n in s.split(':')] for s in text.split(';')]
    while p:
        n = p.pop(0)
        if n[0] == 0:
            fg = bg = '-'
            flags = set()
        elif n[0] == 4 and len(n) > 1:
            flags.add(STYLES[n[1]])
        elif n == [5, 3]:
            pass        # tmux 3.3 spells overline so
        elif n[0] in FLAGS:
            flags.add(FLAGS[n[0]])
        elif n[0] in (38, 48, 58):
            if len(n) == 1:
                n += [q[0] for q in p[:2 if p[0][0] == 5 else 4]]
                del p[:2 if n[1] == 5 else 4]
            colour = str(n[2]) if n[1] == 5 else '#%02x%02x%02x' % tuple(
                n[-3:])
            fg = colour if n[0] == 38 else fg
            bg = colour if n[0] == 48 else bg
        elif n[0] == 39:
            fg = '-'
        elif n[0] == 49:
            bg = '-'
        elif 30 <= n[0] <= 37:
            fg = str(n[0] - 30)
        elif 90 <= n[0] <= 97:
            fg = str(n[0] - 82)
        elif 40 <= n[0] <= 47:
            bg = str(n[0] - 40)
        elif 100 <= n[0] <= 107:
            bg = str(n[0] - 92)
    return fg, bg, ''.join(sorted(flags - {' '}))


def seen(cell):
    """The same with what does not show on a blank taken out."""
    text, fg, bg, flags = cell
    if text.strip(' ') == '':
        if not set(flags) & set('uUcoars'):
            fg = '-'
        flags = ''.join(f for f in flags if f in 'uUcoars')
    return text, fg, bg, flags


if __name__ == '__main__':
    Relay(sys.argv[1], sys.argv[2:]).run()
