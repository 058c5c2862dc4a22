"""Run by gdb: takes cores of a program while its initial thread is in a region's call: where it
wakes another thread for the tenth time, and where it sleeps."""
import os

import gdb

CALLS = 20000
WAIT, WAKE = 0, 1
BITSET = {9: WAIT, 10: WAKE}


def call():
    """What the selected thread is about to do with a futex, as the initial thread in a region's call."""
    operation = int(gdb.parse_and_eval("(long)$rsi")) & 127
    begins = int(gdb.parse_and_eval("(long)$rax")) == -38  # ENOSYS, until the call is over
    inside = "__kmpc_fork_call" in gdb.execute("bt 20", to_string=True)
    return BITSET.get(operation, operation) if gdb.selected_thread().num == 1 and begins and inside else None


gdb.execute("set debuginfod enabled off")
gdb.execute("set breakpoint pending on")
gdb.execute("catch syscall futex")
gdb.execute("run", to_string=True)
woken, wanted = 0, {"sleeps", "wakes"}
for _ in range(CALLS):
    what, name = call(), None
    woken += what == WAKE
    if what == WAKE and woken >= 10:
        name = "wakes"
    elif what == WAIT and woken >= 10:
        name = "sleeps"
    if name in wanted:
        wanted.remove(name)
        gdb.execute("generate-core-file " + os.path.join(os.environ["OMPD_CORES"], name), to_string=True)
    if not wanted:
        break
    gdb.execute("continue", to_string=True)
gdb.execute("kill")
