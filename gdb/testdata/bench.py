"""Times `omp threads` beside LLVM's plugin and gdb's own list, and prints the times in
milliseconds and what ours asked for as one line of JSON."""

import json
import time

import gdb

from ompd_gdb import session

ROUNDS = 5


def timed(command):
    """How long a command takes, and what it prints."""
    began = time.monotonic()
    text = gdb.execute(command, to_string=True)
    return 1000 * (time.monotonic() - began), text


def best(command, before=lambda: None):
    """The fastest of several."""
    out = []
    for _ in range(ROUNDS):
        before()
        out.append(timed(command))
    return min(out)


gdb.execute("set omp thread-names off")
first, _ = timed("omp threads")
before = session.Cost.counts()
ours, text = best("omp threads --all", session.mark_stale)
trips, _, requests, size = ((b - a) / ROUNDS for a, b in zip(before, session.Cost.counts()))
kept, _ = best("omp threads --all")
gdb.execute("ompd init")
theirs, plugin = best("ompd parallel")  # `ompd threads` knows only threads that it saw begin
own, _ = best("info threads")
gdb.write("BENCH %s\n" % json.dumps({
    "first": first, "ours": ours, "kept": kept, "plugin": theirs, "info": own, "trips": trips, "requests": requests, "kib": size / 1024,
    "ourlines": text.count("\n"), "pluginlines": plugin.count("ompt_state_")}))
