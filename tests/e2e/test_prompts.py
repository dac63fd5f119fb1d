# SPDX-License-Identifier: ISC
"""What ssh asks: passwords and one-time codes by a real sshd with PAM, right,
wrong and interrupted; where there is nobody to ask; what is left of a secret
afterwards. Passphrases and host keys are in test_links."""

import base64
import glob
import hashlib
import hmac
import os
import re
import stat
import struct
import subprocess
import time

import fixtures
from harness import Skip, eq, ok, test, wait_for

SECRET = 'correct horse 4711'
SEED = b'a seed of twenty..20'


def pam(t, name, codes=False, **kw):
    """A host whose sshd asks PAM; its own /etc/pam.d is in a mount namespace
    of that sshd's."""
    if os.getuid() != 0:
        raise Skip('needs root to give sshd a PAM of its own')
    modules = glob.glob('/usr/lib*/security/pam_*.so') + \
        glob.glob('/lib*/security/pam_*.so') + \
        glob.glob('/lib*/*-linux-*/security/pam_*.so')
    for m in ['pam_exec'] + ['pam_google_authenticator'] * codes:
        if not any(x.endswith('/%s.so' % m) for x in modules):
            raise Skip('no %s on this machine' % m, here=True)
    p = subprocess.run(['unshare', '-m', 'true'], stderr=subprocess.PIPE)
    if p.returncode != 0:
        raise Skip('no mount namespace here: %s' % p.stderr.decode().strip())
    # pam_exec gives the password with a NUL at its end.
    check = t.script('pam-check', 'IFS= read -r p\ntest "$p" = "%s"\n' % SECRET)
    lines = ['auth required pam_exec.so quiet expose_authtok ' + check]
    if codes:
        seed = t.write('pam/seed', base64.b32encode(SEED).decode() +
                       '\n" TOTP_AUTH\n', 0o600)
        lines.append('auth required pam_google_authenticator.so '
                     'secret=%s user=root no_strict_owner' % seed)
    lines += ['account required pam_permit.so', 'session required '
              'pam_permit.so']
    conf = t.mkdir('pam-' + name)
    t.write(conf + '/sshd', '\n'.join(lines) + '\n')
    return fixtures.Ssh(t).host(
        name, authorized=False,
        proxy_prefix='test -n "$AGAIN" || AGAIN=1 exec unshare -m '
        '--propagation private sh -c \'mount --bind %s /etc/pam.d && '
        'exec "$0"\' "$0"' % conf,
        pam=True, **kw)


def code():
    """The one-time code of now (RFC 6238)."""
    h = hmac.new(SEED, struct.pack('>Q', int(time.time()) // 30),
                 hashlib.sha1).digest()
    n = struct.unpack('>I', h[h[19] & 15:][:4])[0] & 0x7fffffff
    return '%06d' % (n % 1000000)


def asked(o, question, times=1):
    """The question stands on the screen for the so-manieth time."""
    wait_for(lambda: o.screen().text.count(question) >= times, 15,
             '%s, %d times' % (question, times))


def nowhere(t, secret):
    """It is in no file of ours, no argument and no environment."""
    for top, dirs, files in os.walk(t.home):
        for f in files:
            if stat.S_ISSOCK(os.lstat(os.path.join(top, f)).st_mode):
                continue
            with open(os.path.join(top, f), 'rb') as fd:
                ok(secret.encode() not in fd.read(), 'in ' + f)
    for pid in t.ours():
        for f in ('cmdline', 'environ'):
            try:
                with open('/proc/%d/%s' % (pid, f), 'rb') as fd:
                    ok(secret.encode() not in fd.read(), '%d %s' % (pid, f))
            except OSError:
                pass


@test()
def password(t):
    """a wrong password is asked for again; the right one is never shown,
    logged or kept; what is piped into exec is no answer"""
    t.env['DLMUX_DEBUG'] = '1'
    pam(t, 'web', methods='password')
    o = t.terminal(['/bin/sh', '-c', 'echo piped | dlmux exec ssh:web -- cat; '
                    'echo left $?; stty -a | grep -ow -e "-*echo"; '
                    'exec cat'])
    asked(o, "web's password:")
    o.type('wrong one\r')
    asked(o, "web's password:", 2)
    o.type(SECRET + '\r')
    o.see('^piped', 15)
    o.see('^left 0', 15)
    o.see('^echo$')
    text = o.screen().text
    ok(SECRET not in text and 'wrong one' not in text, 'no echo:\n' + text)
    nowhere(t, SECRET)
    nowhere(t, 'wrong one')


@test()
def one_time_codes(t):
    """keyboard-interactive: a password, then a code; a wrong code is asked
    for again from the start"""
    pam(t, 'web', codes=True, methods='keyboard-interactive')
    o = t.outer('connect', '--trace', 'ssh:web')
    for i, c in enumerate(('000000', None)):
        asked(o, 'Password:', i + 1)
        o.type(SECRET + '\r')
        asked(o, 'Verification code:', i + 1)
        c = c or code()
        o.type(c + '\r')
    eq(o.wait_exit(20), 0, 'status:\n' + o.show())
    ok(c not in o.screen().text, 'no echo')
    nowhere(t, c)
    d = t.run('trace', '--json', 'ssh:web').out
    ok('"questions": 4' in d, d)


@test()
def interrupted(t):
    """^C at a question ends it: the terminal is as before, ssh is gone,
    nothing asks from the background, and the next try asks anew"""
    host = pam(t, 'web', methods='password')
    o = t.terminal(['/bin/sh', '-c', 'trap : INT; dlmux connect ssh:web; echo left $?; '
                    'stty -a | grep -ow -e "-*echo"; exec cat'])
    asked(o, "web's password:")
    o.type('half of it\x03')
    o.see('^left 125$', 15)
    o.see('^echo$')
    text = o.screen().text
    ok('half' not in text, 'no echo')
    eq(text.count('password:'), 1, 'asked once:\n' + text)
    ok('not answered' in text, text)
    wait_for(lambda: not t.pids(r'^\S*/ssh .*\bweb\b'), 10, 'ssh ends')
    n = host.tries()
    r = t.run('exec', 'ssh:web', '--', 'true', rc=125, start_new_session=True)
    ok('Permission denied' in r.err, r.err)
    eq(host.tries(), 2 * n, 'one more try: the proxy runs itself again')
    o = t.outer('connect', 'ssh:web')
    asked(o, "web's password:")
    o.type(SECRET + '\r')
    eq(o.wait_exit(20), 0, 'status')


@test()
def nobody_to_ask(t):
    """without a terminal: at once, and where it would be asked"""
    pam(t, 'web', methods='password')
    t0 = time.monotonic()
    r = t.run('exec', 'ssh:web', '--', 'true', rc=125, start_new_session=True)
    t.note('refused after %.0f ms' % ((time.monotonic() - t0) * 1000))
    ok(re.search(r'^dlmux: ssh:web: .*Permission denied \(\S*password\S*\)',
                 r.err), r.err)
    ok('dlmux connect ssh:web' in r.err, r.err)
    ok(r.secs < 8, 'at once: %.1f s' % r.secs)
