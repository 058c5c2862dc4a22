"""`omp break`: breakpoints at the events of the standard."""

import os

import gdb

from . import lend, session

KINDS = ("parallel", "task", "thread")
EDGES = ("begin", "end")
MAX_FRAMES = 64  # of the runtime, in the search for its caller


def find_locations(s, kind, edge):
    """Returns the locations of an event, one for each runtime that has it."""
    name = "ompd_bp_%s_%s" % (kind, edge)
    all_of = [l for l in s.picture("breakpoints").get("locations", []) if l["name"] == name]
    usable = [l for l in all_of if l.get("sites") or l.get("active")]
    if usable:
        return usable
    if not all_of:
        raise gdb.GdbError("omp break: the program has no OpenMP runtime yet: `start` it, or let it load its libraries")
    for l in all_of:
        if l.get("address"):
            raise gdb.GdbError("omp break: only programs that were started with OMP_DEBUG=enabled reach %s: "
                               "`set environment OMP_DEBUG enabled`" % name)
    raise gdb.GdbError("omp break: " + "; ".join("%s: %s" % (name, l.get("error", "not found")) for l in all_of))


class Line:
    """A FILE:LINE of the user."""

    def __init__(self, text):
        path, _, line = text.rpartition(":")
        if not path or not line.isdigit():
            raise gdb.GdbError("omp break: %s: expected FILE:LINE" % text)
        try:
            gdb.decode_line(text)
        except gdb.error as e:
            raise gdb.GdbError("omp break: %s" % e)
        self.text, self.path, self.line = text, path.split("/"), int(line)

    def matches(self, path, line):
        """Reports whether this is the line."""
        if line != self.line or path is None:
            return False
        return os.path.normpath(path).split("/")[-len(self.path):] == self.path


class EventBreakpoint(gdb.Breakpoint):
    """A breakpoint at an address that every such event reaches."""

    def __init__(self, address, event, made, line):
        super().__init__("*" + address)
        self.event, self.made, self.only = event, made, line

    def stop(self):
        """Reports whether to stop: whether the event belongs to the line."""
        if self.only is None:
            return True
        try:
            return self.only.matches(*self.place())
        except Exception as e:  # an unwanted stop is better than a missed one
            gdb.write("omp break: the place of breakpoint %d is unknown: %s\n" % (self.number, e), gdb.STDERR)
            return True

    def place(self):
        """Returns file and line of the construct of the selected thread. A task that was made
        before has them itself; for other events they are those of the call of the runtime."""
        return task_place() if self.made else call_place()


def task_place():
    """Returns file and line of the selected thread's task."""
    s = session.current()
    for t in s.picture("threads").get("threads", []):
        if t.get("lwp") == gdb.selected_thread().ptid[1]:
            for task in s.picture("tasks", "--all").get("tasks", []):
                if task["id"] == t.get("task"):
                    function = task.get("function", {})
                    return function.get("file"), function.get("line")
    return None, None


def find_caller():
    """Returns the frame that called the runtime in which the selected thread is. A runtime that is
    linked into the program is recognized by its missing lines."""
    frame = gdb.newest_frame()
    runtime = gdb.solib_name(frame.pc())
    for _ in range(MAX_FRAMES):
        if frame is None or (gdb.solib_name(frame.pc()) != runtime if runtime else frame.find_sal().symtab):
            return frame
        frame = frame.older()
    return None


def call_place():
    """Returns file and line of the program's call of the runtime."""
    frame = find_caller()
    sal = frame.find_sal() if frame is not None else None
    if sal is None or sal.symtab is None:
        return None, None
    return sal.symtab.fullname(), sal.line


class Break(gdb.Command):
    """Stop at the beginning or end of parallel regions, tasks or threads.

Usage: omp break parallel|task|thread [begin|end] [at FILE:LINE]

It sets breakpoints in the runtime at the addresses that every such event reaches,
whether the program was started for debugging or not. They are normal breakpoints:
`info breakpoints`, `delete`, `condition`, `ignore` and `commands` work.

With `at FILE:LINE`, only regions or tasks of the construct in that line stop.
With GNU's runtime, tasks stop when they are created."""

    def __init__(self):
        super().__init__("omp break", gdb.COMMAND_BREAKPOINTS)

    @session.guarded
    def invoke(self, arg, _):
        """Sets the breakpoints."""
        kind, edge, line = parse_words(gdb.string_to_argv(arg))
        event = "%s %s" % (kind, edge)
        s = session.current()
        if lend.target_kind(s.inferior) == "core":
            raise gdb.GdbError("omp break: a core does not run, so nothing will stop there")
        for l in find_locations(s, kind, edge):
            made = kind == "task" and l.get("source") != "equivalent"
            numbers = [EventBreakpoint(a, event, made, line).number for a in l.get("sites") or [l["address"]]]
            text = "breakpoint %d" % numbers[0]
            if len(numbers) > 1:
                text = "breakpoints %d-%d" % (numbers[0], numbers[-1])
            gdb.write("OpenMP %s%s: %s\n" % (event, " at " + line.text if line else "", text))
            if l.get("source") == "equivalent":
                gdb.write("  %s: %s\n" % (l["function"], l["evidence"]))

    def complete(self, text, word):
        """Returns the words that may come next."""
        words = text.split()
        before = words if not text or text[-1].isspace() else words[:-1]
        if before and before[-1] == "at":
            return gdb.COMPLETE_LOCATION
        if not before:
            names = KINDS
        elif "at" in before or before[0] not in KINDS:
            names = ()
        else:
            names = EDGES + ("at",) if len(before) == 1 else ("at",)
        if before and before[0] == "thread":
            names = [n for n in names if n != "at"]
        return [n for n in names if n.startswith(word or "")]


def parse_words(words):
    """Returns kind, edge and line of the command's words."""
    usage = gdb.GdbError("Usage: omp break parallel|task|thread [begin|end] [at FILE:LINE]")
    if not words or words[0] not in KINDS:
        raise usage
    kind, rest, edge, line = words[0], words[1:], EDGES[0], None
    if rest and rest[0] in EDGES:
        edge, rest = rest[0], rest[1:]
    if rest and rest[0] == "at" and len(rest) == 2:
        if kind == "thread":
            raise gdb.GdbError("omp break: threads do not begin and end at lines of the program")
        line, rest = Line(rest[1]), []
    if rest:
        raise usage
    return kind, edge, line


def print_event(event):
    """Prints the event that stopped the program."""
    try:
        for b in getattr(event, "breakpoints", []):
            if isinstance(b, EventBreakpoint):
                path, line = b.place() if b.event.split()[0] != "thread" else (None, None)
                gdb.write("OpenMP %s%s\n" % (b.event, ", %s:%d" % (os.path.basename(path), line) if path else ""))
                return
    except Exception:  # the stop itself is enough
        pass


def register():
    """Makes the command."""
    Break()
    gdb.events.stop.connect(print_event)


def unregister():
    """Stops listening."""
    gdb.events.stop.disconnect(print_event)
