# SPDX-License-Identifier: ISC
"""One test's own dlmux: a directory under /tmp that holds its home, its far
homes, its ssh and its programs, the commands to run dlmux in it, and the end
of every process that belongs to it. Nothing here sleeps for a length that it
guesses: what is awaited is asked for, with a deadline."""

import ctypes
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

TOP = os.path.realpath(os.path.join(os.path.dirname(__file__), '../../..'))
BUILD = os.path.join(TOP, os.environ.get('DLMUX_BUILD', 'build/hooks'))
TOOLS = os.path.join(BUILD, 'tests/tools')
DLMUX = os.path.realpath(os.environ.get('DLMUX_BIN') or
                         os.path.join(BUILD, 'dlmux'))
ASAN = 'asan' in os.path.basename(BUILD)
# Deadlines are for a quiet machine; sanitizers and a busy one take longer.
SLOW = float(os.environ.get('DLMUX_SLOW', '4' if ASAN else '1'))


# A prompt of any shell, root's too.
PROMPT = '[$#%>] *$'


class Skip(Exception):
    """This cannot run here. here=True: it could, if somebody set it up."""

    def __init__(self, reason, here=False):
        super().__init__(reason)
        self.here = here


class Failure(AssertionError):
    pass


def test(timeout=60, alone=False):
    """Marks a function as a test; its docstring says what must hold."""
    def mark(f):
        f.is_test = True
        f.timeout = timeout
        f.alone = alone
        return f
    return mark


def wait_for(what, deadline=10.0, why='', step=0.01):
    """Asks until the answer is true, and returns it."""
    end = time.monotonic() + deadline * SLOW
    while True:
        got = what()
        if got:
            return got
        if time.monotonic() > end:
            raise Failure('waited %.0f s in vain: %s' % (deadline * SLOW,
                          why or getattr(what, '__name__', '?')))
        time.sleep(step)
        step = min(step * 1.5, 0.1)


def gone(pid):
    """Has it ended? A zombie has: PID 1 may reap late."""
    try:
        with open('/proc/%d/stat' % pid) as f:
            return f.read().rpartition(')')[2].split()[0] == 'Z'
    except OSError:
        return True


def eq(got, want, what=''):
    if got != want:
        raise Failure('%s: got %r, want %r' % (what or 'value', got, want))


def ok(cond, what):
    if not cond:
        raise Failure(what)


class Result:
    def __init__(self, argv, rc, out, err, secs):
        self.argv, self.rc, self.raw, self.rawerr = argv, rc, out, err
        self.secs = secs

    @property
    def out(self):
        return self.raw.decode('utf-8', 'replace')

    @property
    def err(self):
        return self.rawerr.decode('utf-8', 'replace')

    def __repr__(self):
        return '%s -> %s (%.2f s)\n  out: %r\n  err: %r' % (
            ' '.join(self.argv), self.rc, self.secs, self.out[-2000:],
            self.err[-2000:])


class Instance:
    """What a test gets: `t`."""

    def __init__(self, name):
        self.name = name
        # Sockets need short paths, and the link's HOME stands below.
        self.dir = tempfile.mkdtemp(prefix='dlx', dir='/tmp')
        self.home = self.mkdir('h')
        self.bin = self.mkdir('bin')
        self.hooks = self.mkdir('hooks')
        self.procs = []
        self.outers = []
        self.cleanups = []
        self.finals = []
        self.figures = []
        os.symlink(DLMUX, os.path.join(self.bin, 'dlmux'))
        ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)    # PR_SET_CHILD_SUBREAPER
        self.env = self.base_env()

    def base_env(self):
        keep = ('USER', 'LOGNAME', 'TZ', 'DLMUX_CORPUS')
        env = {k: v for k, v in os.environ.items() if k in keep}
        path = os.environ.get('PATH', '/usr/bin:/bin')
        if '/usr/sbin' not in path.split(':'):
            path += ':/usr/sbin:/sbin'
        env.update(HOME=self.home, PATH=self.bin + ':' + path,
                   SHELL='/bin/sh', TERM='xterm-256color',
                   COLORTERM='truecolor', LANG='C.UTF-8',
                   DLMUX_HOOK_DIR=self.hooks, DLMUX_E2E=self.dir, PS1='$ ')
        if ASAN:
            env['ASAN_OPTIONS'] = ('log_path=%s/asan:detect_leaks=0:'
                                   'handle_abort=1' % self.dir)
            env['UBSAN_OPTIONS'] = 'log_path=%s/ubsan:print_stacktrace=1' \
                % self.dir
        return env

    # -- files --

    def path(self, *p):
        return os.path.join(self.dir, *p)

    def mkdir(self, *p):
        d = os.path.join(self.dir, *p)
        os.makedirs(d, mode=0o700, exist_ok=True)
        return d

    def write(self, path, text, mode=0o644):
        path = os.path.join(self.dir, path)
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        with open(path, 'wb') as f:
            f.write(text if isinstance(text, bytes) else text.encode())
        os.chmod(path, mode)
        return path

    def script(self, name, text):
        return self.write('bin/' + name, '#!/bin/sh\n' + text, 0o755)

    def config(self, text):
        return self.write('h/.config/dlmux/dlmux.conf', text, 0o600)

    def note(self, text):
        """A figure for the log, shown also when the test passes."""
        self.figures.append(text)
        print('#', text)

    def guard_tmp(self):
        """For a test, run alone, that makes dlmux leave its home for a
        directory all share: what it leaves there goes with it. The next test
        must not find the agent's binary."""
        tops = ['%s/dlmux-%d' % (top, os.getuid())
                for top in ('/var/tmp', '/tmp', '/dev/shm')]

        def there():
            return {os.path.join(d, n) for d in tops if os.path.isdir(d)
                    for n in os.listdir(d)}
        before = there()

        def forget():
            for p in there() - before:
                if os.path.isdir(p) and not os.path.islink(p):
                    shutil.rmtree(p, ignore_errors=True)
                else:
                    os.unlink(p)
        self.finals.append(forget)

    # -- running dlmux --

    def popen(self, *args, env=None, stdin=subprocess.DEVNULL,
              stdout=subprocess.PIPE, stderr=subprocess.PIPE, **kw):
        e = dict(self.env)
        e.update(env or {})
        argv = [os.path.join(self.bin, 'dlmux')] + [str(a) for a in args]
        p = subprocess.Popen(argv, env={k: v for k, v in e.items()
                                        if v is not None},
                             stdin=stdin, stdout=stdout, stderr=stderr,
                             cwd=kw.pop('cwd', self.home), **kw)
        p.argv = ['dlmux'] + argv[1:]
        p.began = time.monotonic()
        self.procs.append(p)
        return p

    def finish(self, p, input=None, timeout=20):
        try:
            out, err = p.communicate(input, timeout=timeout * SLOW)
        except subprocess.TimeoutExpired:
            p.send_signal(signal.SIGABRT if os.environ.get('DLMUX_CORE')
                          else signal.SIGKILL)
            out, err = p.communicate()
            raise Failure('%s did not end within %.0f s; out %r, err %r' % (
                ' '.join(p.argv), timeout * SLOW, (out or b'')[-1000:],
                (err or b'')[-1000:]))
        r = Result(p.argv, p.returncode, out or b'', err or b'',
                   time.monotonic() - p.began)
        if r.rc is not None and r.rc < 0:
            r.rc = 128 - r.rc
        return r

    def run(self, *args, input=None, timeout=20, rc=0, **kw):
        """Runs dlmux to its end; rc None takes any status."""
        if input is not None:
            kw['stdin'] = subprocess.PIPE
            if isinstance(input, str):
                input = input.encode()
        r = self.finish(self.popen(*args, **kw), input, timeout)
        print(repr(r))
        if rc is not None and r.rc != rc:
            raise Failure('status %s, want %s: %r' % (r.rc, rc, r))
        return r

    def ls(self, *opts):
        """The workspaces."""
        return json.loads(self.run(*opts, 'ls', '--json').out)

    def shells(self, *opts):
        """The shells of all workspaces, as WS:SHELL -> row."""
        return {s['workspace'] + ':' + s['shell']: s
                for w in self.ls(*opts) for s in w['shells']}

    def capture(self, name, *opts):
        return self.run('capture', *opts, name).out

    def wait_capture(self, name, regex, deadline=10):
        last = []

        def look():
            r = self.run('capture', name, rc=None)
            last[:] = [r]
            return r.rc == 0 and re.search(regex, r.out, re.M)
        try:
            return wait_for(look, deadline, 'capture shows ' + regex)
        except Failure as e:
            raise Failure('%s; the last: %r' % (e, last))

    # -- processes --

    def server_pid(self):
        r = self.run('server', 'status', '--json')
        return json.loads(r.out)['pid']

    def ours(self):
        """pid -> command line, of every process that belongs to this test."""
        found = {}
        mine = {os.getpid(), os.getppid()}
        want = self.dir.encode()
        for d in os.listdir('/proc'):
            if not d.isdigit() or int(d) in mine:
                continue
            try:
                with open('/proc/%s/cmdline' % d, 'rb') as f:
                    cmd = f.read()
                with open('/proc/%s/environ' % d, 'rb') as f:
                    env = f.read()
                with open('/proc/%s/stat' % d) as f:
                    state = f.read().rpartition(')')[2].split()[0]
            except OSError:
                continue
            if state != 'Z' and (want in env or want in cmd):
                found[int(d)] = cmd.replace(b'\0', b' ').decode(
                    'utf-8', 'replace').strip()
        return found

    def pids(self, pattern):
        """Our processes whose command line matches."""
        return sorted(p for p, c in self.ours().items()
                      if re.search(pattern, c))

    def agent_pids(self):
        return self.pids(r'agent --daemon')

    def client_pids(self, command):
        """The dlmux clients that run this command: not what started them."""
        return self.pids(r'^(\S*/)?dlmux %s$' % re.escape(command))

    def hook(self, name):
        """Arms a hook: the next process to come there stops itself."""
        h = Hook(self, name)
        try:
            os.unlink(h.hit_path)
        except OSError:
            pass
        # Whole at once: a process may come by and rename it.
        os.rename(self.write('hooks/.new', ''), self.path('hooks', name))
        return h

    # -- a terminal --

    def outer(self, *args, rows=24, cols=80, env=None, shell=False):
        """dlmux in a terminal; shell: under a shell, as in real life."""
        argv = [os.path.join(self.bin, 'dlmux')] + list(args)
        if shell:
            argv = ['/bin/sh', '-c', '"$@"; echo "left $?"; exec cat', 'sh'] \
                + argv
        return self.terminal(argv, rows, cols, env)

    def terminal(self, argv, rows=24, cols=80, env=None):
        e = dict(self.env)
        e.update(env or {})
        o = Outer(self, argv, rows, cols, e)
        self.outers.append(o)
        return o

    # -- the end --

    def logs(self):
        text = []
        for root, _, files in os.walk(self.dir):
            for f in files:
                p = os.path.join(root, f)
                if f.endswith('.log') or f == 'stderr' or \
                        f.startswith(('asan', 'ubsan')):
                    try:
                        with open(p, 'rb') as fd:
                            data = fd.read()[-6000:]
                    except OSError:
                        continue
                    if data:
                        text.append('--- %s\n%s' % (p, data.decode(
                            'utf-8', 'replace')))
        return '\n'.join(text)

    def sanitizer_reports(self):
        """Of clients in files of their own; gcc's ubsan writes to standard
        error instead, which for servers and agents is a file as well."""
        found = [f for f in os.listdir(self.dir)
                 if f.startswith(('asan.', 'ubsan.'))]
        try:
            with open(self.path('hooks', 'stderr'), 'rb') as f:
                said = f.read()
        except OSError:
            said = b''
        if b'runtime error:' in said or b'Sanitizer' in said:
            found.append(said.decode('utf-8', 'replace')[:4000])
        return found

    def close(self):
        for c in reversed(self.cleanups):
            try:
                c()
            except Exception as e:      # the rest must still go
                print('cleanup:', e)
        for o in self.outers:
            o.close()
        end = time.monotonic() + 10
        while True:
            left = self.ours()
            if not left or time.monotonic() > end:
                break
            for pid in left:
                try:
                    os.kill(pid, signal.SIGKILL)
                except OSError:
                    pass
            reap()
            time.sleep(0.02)
        for p in self.procs:
            for f in (p.stdin, p.stdout, p.stderr):
                if f:
                    try:
                        f.close()
                    except OSError:
                        pass
        reap()
        for f in self.finals:
            f()
        if os.environ.get('DLMUX_KEEP'):
            print('kept', self.dir)
        else:
            shutil.rmtree(self.dir, ignore_errors=True)


def reap():
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except OSError:
        pass


def reap_foreign():
    """Children from another PID namespace: nobody else here waits for them."""
    with open('/proc/self/task/%d/children' % os.getpid()) as f:
        children = f.read().split()
    for pid in children:
        try:
            with open('/proc/%s/status' % pid) as f:
                inside = re.search(r'^NSpid:\s+\d+\s+\d', f.read(), re.M)
            if inside:
                os.waitpid(int(pid), os.WNOHANG)
        except OSError:
            pass


class Hook:
    def __init__(self, t, name):
        self.t, self.name = t, name
        self.hit_path = t.path('hooks', name + '.hit')

    def wait(self, deadline=10):
        """The pid of the process that stopped here."""
        def hit():
            try:
                with open(self.hit_path) as f:
                    return int(f.read() or 0)
            except (OSError, ValueError):
                return 0
        pid = wait_for(hit, deadline, 'hook ' + self.name)

        def stopped():
            with open('/proc/%d/stat' % pid) as f:
                return f.read().rpartition(')')[2].split()[0] == 'T'
        wait_for(stopped, deadline, 'stop at ' + self.name)
        return pid

    def kill(self):
        os.kill(self.wait(), signal.SIGKILL)

    def go(self):
        os.kill(self.wait(), signal.SIGCONT)

    def disarm(self):
        try:
            os.unlink(self.t.path('hooks', self.name))
        except OSError:
            pass


class Screen:
    def __init__(self, d):
        self.__dict__.update(d)

    @property
    def text(self):
        return '\n'.join(self.rows)


class Outer:
    """A command in a pty, with the screen a user would see."""

    def __init__(self, t, argv, rows, cols, env):
        self.rawlog = t.path('outer%d.raw' % len(t.outers))
        self.p = subprocess.Popen(
            [os.path.join(TOOLS, 'outer'), str(rows), str(cols), self.rawlog,
             '--'] + argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            env=env, cwd=t.home)

    def ask(self, line):
        try:
            self.p.stdin.write(line.encode() + b'\n')
            self.p.stdin.flush()
            answer = self.p.stdout.readline()
        except BrokenPipeError:
            answer = b''
        if not answer:
            raise Failure('the outer terminal is gone')
        return json.loads(answer)

    def type(self, text):
        if isinstance(text, str):
            text = text.encode()
        self.ask('type ' + text.hex())

    def see(self, ere, deadline=10):
        if not self.ask('wait %d %s' % (deadline * 1000 * SLOW, ere))['ok']:
            raise Failure('did not see /%s/ on\n%s' % (ere, self.show()))

    def gone(self, ere, deadline=10):
        if not self.ask('gone %d %s' % (deadline * 1000 * SLOW, ere))['ok']:
            raise Failure('still see /%s/ on\n%s' % (ere, self.show()))

    def quiet(self, ms=150, deadline=10):
        self.ask('quiet %d %d' % (ms * SLOW, deadline * 1000 * SLOW))

    def wait_exit(self, deadline=10):
        if not self.ask('exit %d' % (deadline * 1000 * SLOW))['ok']:
            raise Failure('the command in the terminal did not end:\n'
                          + self.show())
        return self.screen().status

    def screen(self, cells=False):
        return Screen(self.ask('cells' if cells else 'dump'))

    def show(self):
        s = self.screen()
        return '\n'.join('| ' + r for r in s.rows) + \
            '\n  cursor %s status %s' % (s.cursor, s.status)

    def mute(self):
        self.ask('mute')

    def resize(self, rows, cols):
        self.ask('resize %d %d' % (rows, cols))

    def kill(self, sig=signal.SIGKILL):
        self.ask('kill %d' % sig)

    def termios(self):
        return self.ask('termios')

    def raw(self):
        with open(self.rawlog, 'rb') as f:
            return f.read()

    def modes(self):
        """The DEC private modes that are set now, by the bytes written."""
        on = set()
        for m in re.finditer(rb'\x1b\[\?([0-9;]+)([hl])|\x1b(=|>)(?!\d)|'
                             rb'\x1bc', self.raw()):
            if m.group(1):
                for n in m.group(1).split(b';'):
                    (on.add if m.group(2) == b'h' else on.discard)(int(n))
            elif m.group(3) == b'=':
                on.add('keypad')
            elif m.group(3) == b'>':
                on.discard('keypad')
        return on

    def close(self):
        try:
            self.p.kill()
            self.p.wait()
            self.p.stdin.close()
            self.p.stdout.close()
        except OSError:
            pass


def stop_tree(pids, sig):
    for p in pids:
        try:
            os.kill(p, sig)
        except ProcessLookupError:
            pass


if sys.version_info < (3, 7):
    sys.exit('the end-to-end tests need Python 3.7')
