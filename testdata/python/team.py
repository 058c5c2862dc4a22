# team.py LIBRARY: each of the four members of a parallel region of the library callbacks.c calls Python and blocks there.
# Their Python stacks go to the file of $OMPD_TRUTH: a line of JSON for each thread, with "function file line" for each
# frame, innermost first. Then READY goes to the descriptor of $OMPD_READY_FD. The line of the innermost frame is that of
# the call that reads the stack.
import ctypes
import json
import os
import sys
import threading
import traceback

MEMBERS = 4
library = ctypes.CDLL(sys.argv[1])
guard, never = threading.Lock(), threading.Lock()
never.acquire()
lines = []


def as_line(**fields):
    return json.dumps(fields, separators=(",", ":"))  # as the programs in C write it


def write_truth():
    lines.append(as_line(kind="program", pid=os.getpid()))
    with open(os.environ["OMPD_TRUTH"], "w", encoding="utf-8") as out:
        out.write("\n".join(lines) + "\n")
    os.write(int(os.environ["OMPD_READY_FD"]), b"READY\n")


def member(i):
    frames = [f"{f.name} {os.path.basename(f.filename)} {f.lineno}" for f in reversed(traceback.extract_stack())]
    line = as_line(kind="python", lwp=threading.get_native_id(), frames=frames)
    with guard:
        lines.append(line)
        if len(lines) == MEMBERS:
            write_truth()
    never.acquire()


def fork_team():
    library.for_all(MEMBERS, ctypes.CFUNCTYPE(None, ctypes.c_int)(member))


fork_team()
