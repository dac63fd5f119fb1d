# SPDX-License-Identifier: ISC
"""Where the time of a connect went."""

import json
import os
import re

import fixtures
from harness import eq, ok, test

# In the order of time.
COLD = ['transport', 'first-byte', 'login', 'agent', 'upload', 'confirm',
        'hello', 'shells']
WARM = ['transport', 'first-byte', 'login', 'agent', 'hello', 'shells']
LOCAL = ['transport', 'agent', 'hello', 'shells']


def trace(t, *args, rc=0):
    d = json.loads(t.run(*args, rc=rc).out)
    d['by'] = {p['phase']: p for p in d['phases']}
    d['known'] = {f['fact']: f['how'] for f in d['facts']}
    return d


def names(d):
    return [p['phase'] for p in d['phases']]


@test()
def phases(t):
    """connect --trace: each phase has its time; cold, warm, remembered"""
    host = fixtures.Ssh(t).host('web')
    t.write(host.home + '/.bashrc', 'echo words of a start-up file\n')
    cold = trace(t, 'connect', '--trace', '--json', 'ssh:web')
    eq(names(cold), COLD, 'cold')
    eq((cold['state'], cold['trips'], cold['goes'], cold['questions']),
       ('up', 2, 1, 0), 'cold')
    eq(cold['by']['upload']['bytes'], os.path.getsize(
        os.path.realpath(t.path('bin/dlmux'))), 'bytes sent')
    eq((cold['known']['machine'], cold['known']['agent'],
        cold['known']['instance']), ('asked', 'sent', 'asked'), 'facts')
    total = sum(p['us'] for p in cold['phases'])
    ok(abs(total - cold['total_us']) <= 10, 'the phases are all of it: %r' %
       cold)
    ok(0 < cold['transport_us'] < cold['total_us'], 'ssh has a share')
    t.run('new', 'ssh:web:a')
    t.run('disconnect', 'ssh:web')
    warm = trace(t, 'connect', '--trace', '--json', 'ssh:web')
    eq(names(warm), WARM, 'warm')
    eq((warm['trips'], warm['shells']), (1, 1), 'warm')
    eq((warm['known']['agent'], warm['known']['instance'],
        warm['known']['shells']), ('found', 'remembered', 'remembered'),
       'facts')
    again = trace(t, 'trace', '--json', 'ssh:web')
    eq(names(again), WARM, 'remembered')
    eq(again['total_us'], warm['total_us'], 'the same one')
    # Once up, connecting is nothing and the last one is told.
    r = t.run('connect', '--trace', 'ssh:web')
    for want in (r'^ssh:web: connected; begun \d+ s ago$',
                 r'^ +\d+\.\d ms  its first byte$',
                 r"^ +\d+\.\d ms  in all, of it ssh's own \d+\.\d ms$",
                 r'^ +found  agent: dlmux-[0-9a-f]{24}$'):
        ok(re.search(want, r.out, re.M), '%s in\n%s' % (want, r.out))


@test()
def noise_is_counted(t):
    """what login scripts print is counted as skipped"""
    t.script('far', 'printf "%1000s\\n" noise\nexec sh -c "$1"\n')
    t.config('Workspace far\n  Command far %c\n')
    d = trace(t, 'connect', '--trace', '--json', 'far')
    eq(d['by']['login']['bytes'], 1001, 'noise')


@test()
def local_and_failed(t):
    """local; a connect that fails says where, and is remembered"""
    d = trace(t, 'connect', '--trace', '--json', 'local')
    eq(names(d), LOCAL, 'local')
    eq(d['known']['agent'], 'started', 'agent')
    fixtures.Ssh(t).host('shut', proxy_prefix='exit 1')
    r = t.run('connect', '--trace', 'ssh:shut', rc=125)
    ok(re.search(r'^ +\d+\.\d ms  its first byte: here it failed$', r.out,
                 re.M), r.out)
    ok('ssh:shut: ' in r.err, r.err)
    d = trace(t, 'trace', '--json', 'ssh:shut')
    eq((d['state'], names(d)), ('failed', ['transport', 'first-byte']),
       'failed')
    ok(d['text'], 'why')
    # A name that is none has no connect, and the reason is told.
    r = t.run('connect', '--trace', 'nobody', rc=125)
    ok('nobody' in r.err and not r.out, repr(r))
    r = t.run('trace', 'ssh:other', rc=125)
    ok('ssh:other' in r.err, repr(r))


@test()
def thinking_is_told_apart(t):
    """the time at a prompt is the user's, not ssh's"""
    ssh = fixtures.Ssh(t, passphrase='open sesame')
    ssh.host('web')
    o = t.outer('connect', '--trace', '--json', 'ssh:web')
    o.see('[Pp]assphrase', 15)
    o.quiet(300)
    o.type('open sesame\r')
    eq(o.wait_exit(20), 0, 'status')
    d = trace(t, 'trace', '--json', 'ssh:web')
    asked = d['by']['first-byte']['asked_us']
    eq(d['questions'], 1, 'questions')
    ok(asked >= 300000, 'asked %d' % asked)
    ok(d['transport_us'] <= d['total_us'] - asked, 'not in its share')


@test()
def a_bar_for_a_slow_upload(t):
    """a bar says how far a slow upload is; one that moves has all its time"""
    t.env['DLMUX_LINK_TIMES'] = '15000,3000,45000,10000,1800'
    ssh = fixtures.Ssh(t)
    size = os.path.getsize(os.path.realpath(t.path('bin/dlmux')))
    ssh.host('slow', relay=['--rate', str(size * 10 // 22)])
    o = t.outer('connect', 'ssh:slow')
    o.see(r'sending the agent \[#+\.*\] [0-9]+ %, [0-9]+ kB/s', 15)
    eq(o.wait_exit(30), 0, 'status')
    o.gone('sending the agent')
    # One that breaks: how far it was is no word of ssh's.
    ssh.host('cut', relay=['--rate', str(size * 10 // 22), '--cut-after',
                           str(size * 6 // 10)])
    r = t.run('connect', '--trace', 'ssh:cut', rc=125)
    ok('broke while the agent was being sent' in r.err and
       'GOT' not in r.err, r.err)
    ok(re.search(r'the agent sent \(\S+ [kM]B, \S+ [kM]B/s\): here it failed',
                 r.out), r.out)
