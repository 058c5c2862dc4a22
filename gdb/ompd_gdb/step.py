"""`omp step`: step into the body of a region or task that is being forked."""

import gdb

from . import breaks, follow, lend, session

FORKS = ("ompd_bp_parallel_begin", "ompd_bp_teams_begin", "ompd_bp_task_begin")


class Body:
    """The outlined function of a region or task, and the condition for the right call of it."""

    def __init__(self, address, thread=None, task=None, register=None):
        self.address, self.thread, self.task, self.register = address, thread, task, register


class Arrival(gdb.Breakpoint):
    """A breakpoint at the first instruction of a body."""

    def __init__(self, body):
        super().__init__("*%#x" % body.address, internal=True)
        self.silent, self.body, self.reached = True, body, False
        if body.thread is not None:
            self.thread = body.thread

    def stop(self):
        """Reports whether this is the right task."""
        body = self.body
        self.reached = body.register is None or register_value(body.register) == body.task
        return self.reached


def register_value(name):
    """Returns an integer register of the selected thread."""
    return int(gdb.newest_frame().read_register(name)) & lend.MASK


def fork_locations(s):
    """Returns the locations where regions and tasks begin."""
    out = [l for l in s.picture("breakpoints").get("locations", []) if l["name"] in FORKS]
    if not out:
        raise gdb.GdbError("omp step: the program has no OpenMP runtime yet: `start` it, or let it load its libraries")
    return out


def called_body(s, locations):
    """Returns the body of the call of the runtime at whose first instruction the selected thread
    is."""
    pc = gdb.newest_frame().pc()
    for l in locations:
        for e in l.get("entries", []):
            if int(e["address"], 16) != pc:
                continue
            value = register_value(s.lender.arguments[e["argument"]])
            if "task_offset" not in e:
                own = None if l["name"] == "ompd_bp_task_begin" else gdb.selected_thread().global_num
                return Body(value, thread=own)
            if "task_argument" not in e:
                return Body(s.lender.word(value + e["task_offset"]))
            return Body(s.lender.word(value + e["task_offset"]), None, value, s.lender.arguments[e["task_argument"]])
    return None


def prepared_body(s, locations):
    """Returns the body of the task that the runtime has prepared for the selected thread."""
    if "ompd_bp_task_begin" not in locations_at_pc(locations):
        return None
    own = gdb.selected_thread()
    task = follow.Places(s).by_lwp.get(own.ptid[1], {}).get("task")
    for t in s.picture("tasks", "--all").get("tasks", []):
        if t["id"] == task and "address" in t.get("function", {}):
            return Body(int(t["function"]["address"], 16), own.global_num)
    return None


def locations_at_pc(locations):
    """Returns the names of the locations at which the selected thread is."""
    pc = gdb.newest_frame().pc()
    return [l["name"] for l in locations if any(int(a, 16) == pc for a in l.get("sites", []) + [l.get("address", "0")])]


def in_runtime(locations):
    """Reports whether the selected thread is in the runtime, as far as gdb knows."""
    here = gdb.solib_name(gdb.newest_frame().pc())
    entries = [int(e["address"], 16) for l in locations for e in l.get("entries", [])]
    return here is not None and any(gdb.solib_name(a) == here for a in entries)


class Step(gdb.Command):
    """Step into the body of the parallel region or task that is being forked.

Usage: omp step

In the program's code this is `step`, but it also enters the body of a region or task
that the selected thread reaches: a region with this thread, a task with the thread
that executes it. Where a breakpoint of `omp break` stopped a thread at the beginning
of a region or task, it continues to the body."""

    def __init__(self):
        super().__init__("omp step", gdb.COMMAND_RUNNING)

    @session.guarded
    def invoke(self, arg, _):
        """Steps."""
        if arg.strip():
            raise gdb.GdbError("Usage: omp step")
        s = session.current()
        if gdb.selected_thread() is None or lend.target_kind(s.inferior) == "core":
            raise gdb.GdbError("omp step: a core does not run")
        locations = fork_locations(s)
        body = called_body(s, locations) or prepared_body(s, locations)
        if body is None and in_runtime(locations):
            if not locations_at_pc(locations):
                raise gdb.GdbError("omp step: the selected thread is in the runtime, but not at the beginning of a "
                                   "region or task: `omp break parallel` and `omp break task` stop there")
            # A serialized region is called by the program, all others by the runtime.
            body = until_body(s, locations, "continue", breaks.find_caller())
        if body is None and gdb.selected_thread() is not None and not in_runtime(locations):
            body = until_body(s, locations, "step" if has_lines() else "continue")
        if body is not None and run_to(body):
            if is_wrapper(gdb.newest_frame()):
                gdb.execute("step", to_string=True)
            gdb.execute("frame")


MARK = "_debug__"  # in the names of functions with the bodies for which clang makes wrappers, with debug information


def is_wrapper(frame):
    """Reports whether a frame is in a function around a body, which has another function for the body
    itself: its lines are those of the directive only."""
    block = None
    try:
        block = frame.block()
    except RuntimeError:  # no debug information
        return False
    while block is not None and block.function is None:
        block = block.superblock
    if block is None or MARK in block.function.name:
        return False
    code = frame.architecture().disassemble(block.start, block.end - 1)
    return any(MARK in i["asm"] for i in code)


def has_lines():
    """Reports whether the selected thread is in code with lines, through which gdb can step."""
    return gdb.newest_frame().find_sal().symtab is not None


def until_body(s, locations, command, out=None):
    """Runs a command of gdb, up to a call of the runtime with a body, or to the return to a frame.
    Returns the body."""
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
    return called_body(s, locations) if gdb.selected_thread() is not None else None


def run_to(body):
    """Continues to a body, and reports whether it was reached."""
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
