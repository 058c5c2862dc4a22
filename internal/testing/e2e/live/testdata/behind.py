"""Run by gdb: takes a core of a program whose worker was interrupted in its sleep at the end of a region, and has not
run since, while the initial thread has ended that region and begun another."""
import os

import gdb

CALLS = 1000
WAITS = (0, 9)


def waits():
    """Whether the selected thread is about to sleep in futex."""
    begins = int(gdb.parse_and_eval("(long)$rax")) == -38  # ENOSYS, until the call is over
    return begins and int(gdb.parse_and_eval("(long)$rsi")) & 127 in WAITS


gdb.execute("set debuginfod enabled off")
gdb.execute("break last")
gdb.execute("run", to_string=True)
gdb.execute("set scheduler-locking on")
gdb.execute("catch syscall futex")
for _ in range(CALLS):
    gdb.execute("continue", to_string=True)
    if waits():
        break
gdb.execute("generate-core-file " + os.path.join(os.environ["OMPD_CORES"], "behind"), to_string=True)
gdb.execute("kill")
