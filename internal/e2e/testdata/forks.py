"""Run by gdb: takes a core of a program while its initial thread, which forks a nested region, acquires the runtime's
own lock for that, after it has forked others."""
import os

import gdb

CALLS = 20000
FORKS = 20

gdb.execute("set debuginfod enabled off")
gdb.execute("set breakpoint pending on")
gdb.execute("break __kmp_acquire_ticket_lock")
gdb.execute("run", to_string=True)
forks = 0
for _ in range(CALLS):
    stack = gdb.execute("bt 4", to_string=True).splitlines()
    inside = gdb.selected_thread().num == 1 and "__kmpc_fork_call" in stack[2] and " main" in stack[3]
    forks += inside or "omp_outlined" in stack[3] and "__kmpc_fork_call" in stack[2] and gdb.selected_thread().num == 1
    if forks == FORKS:
        break
    gdb.execute("continue", to_string=True)
gdb.execute("generate-core-file " + os.path.join(os.environ["OMPD_CORES"], "forks"), to_string=True)
gdb.execute("kill")
