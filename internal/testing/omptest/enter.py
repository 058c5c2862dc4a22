"""Run by gdb: takes a core of a program, whoever wrote it, while all threads of a
team are in one parallel region, and writes down what the threads are told there.

The environment has OMPD_FORK (which call of GOMP_parallel outside of parallel
regions, from 1), OMPD_TEAM (threads of its team), OMPD_CORE and OMPD_TRUTH (the
files to write)."""
import json
import os

import gdb

QUESTIONS = ("omp_get_thread_num", "omp_get_num_threads", "omp_get_level", "omp_get_active_level", "omp_get_max_threads")
ATTEMPTS = 20  # how far the others of a team have come is chance


def number(text):
    return int(gdb.parse_and_eval(text)) & (1 << 64) - 1


def tell(question, *args):
    return int(gdb.parse_and_eval("((int(*)())%s)(%s)" % (question, ", ".join(map(str, args)))))


def stack():
    """With debug information of the C library, gdb shows functions that ended in a tail call, too: they have no frame."""
    frame, pcs = gdb.newest_frame(), []
    while frame is not None:
        if frame.type() not in (gdb.INLINE_FRAME, gdb.TAILCALL_FRAME):
            pcs.append(frame.pc())
        frame = frame.older()
    return pcs


def enter(fork, team):
    """Stops where the last thread of the team is about to execute its part."""
    gdb.execute("tbreak GOMP_parallel")
    gdb.execute("run")
    gdb.execute("break GOMP_parallel thread 1")
    while fork > 1:
        gdb.execute("continue")
        fork -= tell("omp_get_level") == 0
    region = {"function": number("$rdi"), "return": number("*(unsigned long *)$rsp")}
    gdb.execute("delete")
    gdb.Breakpoint("*%d" % region["function"]).ignore_count = team - 1
    gdb.execute("continue")
    region["last"] = gdb.selected_thread().ptid[1]
    return region


def whole():
    """Whether gdb has the stack of each thread. A function in assembly may have no unwind
    information; then a stack ends there, with 0."""
    for thread in gdb.selected_inferior().threads():
        thread.switch()
        if stack()[-1] == 0:
            return False
    return True


def main():
    gdb.execute("set breakpoint pending on")
    gdb.execute("set backtrace past-main on")
    for attempt in range(ATTEMPTS):
        truth = enter(int(os.environ["OMPD_FORK"]), int(os.environ["OMPD_TEAM"]))
        if whole():
            break
        gdb.execute("delete")
        gdb.execute("kill")
    else:
        raise gdb.GdbError("in %d runs some thread was where gdb has no stack" % ATTEMPTS)
    gdb.execute("set scheduler-locking on")
    truth["pid"] = gdb.selected_inferior().pid
    truth["threads"] = []
    for thread in gdb.selected_inferior().threads():
        thread.switch()
        truth["threads"].append({"lwp": thread.ptid[1], "stack": stack(), "member": tell("omp_get_ancestor_thread_num", 1), "told": {q: tell(q) for q in QUESTIONS}})
    gdb.execute("generate-core-file " + os.environ["OMPD_CORE"])
    with open(os.environ["OMPD_TRUTH"], "w") as out:
        json.dump(truth, out)
    gdb.execute("kill")


main()
