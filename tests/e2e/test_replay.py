# SPDX-License-Identifier: ISC
"""Output that is read a second time: by a new server, over a new link, by
another machine's server. It draws; it does nothing else again."""

import os
import re
import signal

import fixtures
from harness import PROMPT, eq, test, wait_for
from test_history import agent_log
from test_passing import SAY

ASK = '''stty raw -echo min 0 time 5
printf '\\033[c\\033]11;?\\a\\033[6n'
while c=$(dd bs=64 count=1 2>/dev/null | od -An -c); [ -n "$c" ]; do
	echo "$c" >>%s
done
stty sane
echo as""ked
'''


def passed(o):
    raw = o.raw()
    return (o.screen().bells, raw.count(b'\x1b]52;c;aGk=\a'),
            raw.count(b'\x1b]777;notify;t;b\a'), raw.count(b'\x1b]9;n\a'))


@test(timeout=90)
def has_no_side_effects(t):
    """no second bell, copy, notification or answer after a server's death, a
    cut link, a history that comes late, and in a second server"""
    host = fixtures.Ssh(t).host(
        'web', relay=['$(cat %s)' % t.write('relay', '')],
        env=dict(DLMUX_DEBUG='1'))
    t.run('new', 'ssh:web:a')
    o = t.outer('attach', 'ssh:web:a')
    o.see(PROMPT)
    t.write('ask', ASK % t.path('answers'))
    o.type('sh %s\r' % t.path('ask'))
    o.see('^asked')
    with open(t.path('answers')) as f:
        answers = f.read()
    eq(answers.count('033'), 3, 'answers')
    said = [0]

    def say(lines):
        said[0] += 1
        o.type('seq 1 %d; %s; echo sa""id%d\r' % (lines, SAY, said[0]))
        o.see('^said%d' % said[0])
        unchanged('it was said')

    def unchanged(what):
        n = said[0]
        wait_for(lambda: passed(o) == (n, n, n, n), 1 if n else 0,
                 'as often as said, %s: %s' % (what, passed(o)))
        with open(t.path('answers')) as f:
            eq(f.read(), answers, 'answers, ' + what)

    def goes_on(word):
        o.type('echo %s""%s\r' % (word[0], word[1:]))
        o.see('^' + word, 20)
        unchanged('after ' + word)

    def kill_and_crawl():
        """A new server, over a link so slow that its client is shown the shell
        while it still reads what was printed before."""
        t.write('relay', '--rate 50000')
        for p in t.pids('server --run'):
            os.kill(p, signal.SIGKILL)
    # From its birth on.
    say(10000)
    kill_and_crawl()
    goes_on('killed')
    t.write('relay', '')
    host.tell('cut')
    goes_on('cut')
    # From a checkpoint on, and once more when its history has come.
    o.type('seq 1 12000; echo ma""ny\r')
    o.see('^many')
    wait_for(lambda: re.search(r'checkpoint full at (\d+) of \1,',
                               agent_log(host.home)), 20, 'a checkpoint')
    say(1000)
    kill_and_crawl()
    o.type('echo beh""ind\r')
    r = t.popen('capture', '-s', '-', 'ssh:web:a')
    o.see('^behind', 20)
    host.tell('rate 0')
    eq(t.finish(r).out.count('\nmany\n'), 1, 'its history')
    goes_on('whole')
    other = t.outer('attach', 'ssh:web:a', env=dict(
        XDG_STATE_HOME=t.mkdir('state2')))
    other.see('^whole', 20)
    goes_on('two')
    other.see('^two')
    eq(passed(other), (0, 0, 0, 0), 'what came before it')
    # What is new still is.
    o.type(SAY + '\r')
    wait_for(lambda: passed(o)[2:] == (3, 3) and passed(other)[2:] == (1, 1),
             10, 'new ones')
