"""Run by gdb: takes cores of a program whose initial thread forks nested regions, where it acquires the runtime's own
lock to form a team, and where it does to end one."""
import os

import gdb

CALLS = 20000
FORKS = 20

gdb.execute("set debuginfod enabled off")
gdb.execute("set breakpoint pending on")
gdb.execute("break __kmp_acquire_ticket_lock")
gdb.execute("run", to_string=True)
forks, wanted = 0, {"forks", "joins"}
for _ in range(CALLS):
    stack = gdb.execute("bt 4", to_string=True).splitlines()
    inside = gdb.selected_thread().num == 1 and "__kmpc_fork_call" in stack[2] and "outlined" in stack[3]
    name = "forks" if "__kmp_fork_call" in stack[1] else "joins"
    forks += inside
    if inside and forks > FORKS and name in wanted:
        wanted.remove(name)
        gdb.execute("generate-core-file " + os.path.join(os.environ["OMPD_CORES"], name), to_string=True)
    if not wanted:
        break
    gdb.execute("continue", to_string=True)
gdb.execute("kill")
