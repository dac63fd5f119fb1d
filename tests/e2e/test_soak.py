# SPDX-License-Identifier: ISC
"""A fixed small number of the soak's cases with real processes: random
streams, clients that come, go, resize and stall, servers and links that are
killed. `make soak` runs as many as wanted; a seed that fails here is cut down
by `soak -w dlmux -1 SEED`."""

import os
import re
import subprocess

from harness import BUILD, DLMUX, SLOW, ok, test


@test(timeout=150)
def random_cases(t):
    """terminals show what the screen fed directly shows, whatever is killed"""
    p = subprocess.run([os.path.join(BUILD, 'tests/soak/soak'), '-s', '0',
                        '-w', DLMUX, '-n', '15', '1'], cwd=t.dir,
                       stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                       stderr=subprocess.STDOUT, timeout=140 * SLOW,
                       env=t.base_env())
    out = p.stdout.decode('utf-8', 'replace')
    ok(p.returncode == 0 and re.search('15 cases .* 0 failed', out), out)
