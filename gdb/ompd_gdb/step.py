"""`omp step`: into the body of the region or task that is being forked."""

import gdb

from . import breaks, follow, lend, session

FORKS = ("ompd_bp_parallel_begin", "ompd_bp_teams_begin", "ompd_bp_task_begin")


class Body:
    """The function that the compiler made of a region or task, and how to know the
    call of it that is meant."""

    def __init__(self, address, thread=None, task=None, register=None):
        self.address, self.thread, self.task, self.register = address, thread, task, register


class Arrival(gdb.Breakpoint):
    """The first instruction of a body."""

    def __init__(self, body):
        super().__init__("*%#x" % body.address, internal=True)
        self.silent, self.body, self.reached = True, body, False
        if body.thread is not None:
            self.thread = body.thread

    def stop(self):
        """Whether it is the task that is meant."""
        body = self.body
        self.reached = body.register is None or value_of(body.register) == body.task
        return self.reached


def value_of(name):
    """An integer register of the selected thread."""
    return int(gdb.newest_frame().read_register(name)) & lend.MASK


def forks(s):
    """The locations where regions and tasks begin."""
    out = [l for l in s.picture("breakpoints").get("locations", []) if l["name"] in FORKS]
    if not out:
        raise gdb.GdbError("omp step: the program has no OpenMP runtime yet: `start` it, or let it load its libraries")
    return out


def called(s, locations):
    """The body of the call of the runtime at whose first instruction the selected
    thread is."""
    pc = gdb.newest_frame().pc()
    for l in locations:
        for e in l.get("entries", []):
            if int(e["address"], 16) != pc:
                continue
            value = value_of(s.lender.arguments[e["argument"]])
            if "task_offset" not in e:
                own = None if l["name"] == "ompd_bp_task_begin" else gdb.selected_thread().global_num
                return Body(value, thread=own)
            if "task_argument" not in e:
                return Body(s.lender.word(value + e["task_offset"]))
            return Body(s.lender.word(value + e["task_offset"]), None, value, s.lender.arguments[e["task_argument"]])
    return None


def made(s, locations):
    """The body of the task that the runtime has made ready for the selected thread."""
    if "ompd_bp_task_begin" not in beginning(locations):
        return None
    own = gdb.selected_thread()
    task = follow.Places(s).by_lwp.get(own.ptid[1], {}).get("task")
    for t in s.picture("tasks", "--all").get("tasks", []):
        if t["id"] == task and "address" in t.get("function", {}):
            return Body(int(t["function"]["address"], 16), own.global_num)
    return None


def beginning(locations):
    """The locations at which the selected thread is."""
    pc = gdb.newest_frame().pc()
    return [l["name"] for l in locations if any(int(a, 16) == pc for a in l.get("sites", []) + [l.get("address", "0")])]


def inside(locations):
    """Whether the selected thread is in the runtime, as far as gdb tells."""
    here = gdb.solib_name(gdb.newest_frame().pc())
    entries = [int(e["address"], 16) for l in locations for e in l.get("entries", [])]
    return here is not None and any(gdb.solib_name(a) == here for a in entries)


class Step(gdb.Command):
    """Step into the body of the parallel region or task that is being forked.

Usage: omp step

In the program's code this is `step`, but it also goes into the body of a region or
task that the selected thread meets on the way: into the region with this thread,
into a task with the thread that executes it. Where a breakpoint of `omp break`
stopped a thread at the beginning of a region or task, it goes on to the body."""

    def __init__(self):
        super().__init__("omp step", gdb.COMMAND_RUNNING)

    @session.guarded
    def invoke(self, arg, _):
        """Steps."""
        if arg.strip():
            raise gdb.GdbError("Usage: omp step")
        s = session.current()
        if gdb.selected_thread() is None or lend.kind_of(s.inferior) == "core":
            raise gdb.GdbError("omp step: a core does not run")
        locations = forks(s)
        body = called(s, locations) or made(s, locations)
        if body is None and inside(locations):
            if not beginning(locations):
                raise gdb.GdbError("omp step: the selected thread is inside of the runtime, and not where a region or task "
                                   "begins: `omp break parallel` and `omp break task` stop there")
            # A serialized region is called by the program, all others by the runtime.
            body = until_body(s, locations, "continue", breaks.caller())
        if body is None and gdb.selected_thread() is not None and not inside(locations):
            body = until_body(s, locations, "step" if lines() else "continue")
        if body is not None and go(body):
            gdb.execute("frame")


def lines():
    """Whether the selected thread is in code with lines, which gdb can step through."""
    return gdb.newest_frame().find_sal().symtab is not None


def until_body(s, locations, command, out=None):
    """Lets the program run by a command of gdb, but no farther than to where the
    runtime is called with a body, or to where a frame goes on."""
    own = gdb.selected_thread().global_num
    ways = []
    places = {int(e["address"], 16) for l in locations for e in l.get("entries", [])}
    for a in sorted(places | ({out.pc()} if out is not None else set())):
        b = gdb.Breakpoint("*%#x" % a, internal=True)
        b.silent, b.thread = True, own
        ways.append(b)
    try:
        gdb.execute(command)
    finally:
        for b in ways:
            if b.is_valid():
                b.delete()
    return called(s, locations) if gdb.selected_thread() is not None else None


def go(body):
    """Lets the program run to a body, and reports whether it came there."""
    arrival = Arrival(body)
    try:
        gdb.execute("continue")
    finally:
        if arrival.is_valid():
            arrival.delete()
    return arrival.reached and gdb.selected_thread() is not None


def register():
    """Makes the command."""
    Step()
