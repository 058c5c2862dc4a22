"""Run by gdb: takes a core of a program while a thread is in a taskyield, where the runtime looks for a task."""
import os

import gdb

STEPS = 5000
DEEP = 256  # bytes of stack that the search for a task has, and the call before it does not


def register(name):
    return int(gdb.parse_and_eval("(unsigned long)$" + name))


gdb.execute("set debuginfod enabled off")
gdb.execute("set breakpoint pending on")
gdb.execute("break __kmpc_omp_taskyield")
gdb.execute("run", to_string=True)
for _ in range(100):  # the detached task is done by then
    gdb.execute("continue", to_string=True)
gdb.execute("set scheduler-locking on")
top = register("rsp")
for _ in range(STEPS):
    if register("rsp") < top - DEEP:
        break
    gdb.execute("stepi", to_string=True)
gdb.execute("generate-core-file " + os.path.join(os.environ["OMPD_CORES"], "yields"), to_string=True)
gdb.execute("kill")
