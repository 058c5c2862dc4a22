"""`omp break`: breakpoints at the events of the standard."""

import os

import gdb

from . import session

KINDS = ("parallel", "task", "thread")
EDGES = ("begin", "end")
MAX_FRAMES = 64  # of the runtime, on the way out of it


def found(s, kind, edge):
    """The locations of an event, one for each runtime that has it."""
    name = "ompd_bp_%s_%s" % (kind, edge)
    all_of = [l for l in s.picture("breakpoints").get("locations", []) if l["name"] == name]
    usable = [l for l in all_of if l.get("sites") or l.get("active")]
    if usable:
        return usable
    if not all_of:
        raise gdb.GdbError("omp break: the program has no OpenMP runtime yet: `start` it, or let it load its libraries")
    for l in all_of:
        if l.get("address"):
            raise gdb.GdbError("omp break: threads come to %s only in programs that were started with OMP_DEBUG=enabled: "
                               "`set environment OMP_DEBUG enabled`" % name)
    raise gdb.GdbError("omp break: " + "; ".join("%s: %s" % (name, l.get("error", "not found")) for l in all_of))


class Line:
    """FILE:LINE as the user wrote it."""

    def __init__(self, text):
        path, _, line = text.rpartition(":")
        if not path or not line.isdigit():
            raise gdb.GdbError("omp break: %s: a place is FILE:LINE" % text)
        try:
            gdb.decode_line(text)
        except gdb.error as e:
            raise gdb.GdbError("omp break: %s" % e)
        self.text, self.path, self.line = text, path.split("/"), int(line)

    def same(self, path, line):
        """Whether that is this line."""
        return line == self.line and path is not None and os.path.normpath(path).split("/")[-len(self.path):] == self.path


class At(gdb.Breakpoint):
    """A place that every such event passes."""

    def __init__(self, address, event, made, line):
        super().__init__("*" + address)
        self.event, self.made, self.only = event, made, line

    def stop(self):
        """Whether it is an event of that line."""
        if self.only is None:
            return True
        try:
            return self.only.same(*self.place())
        except Exception as e:  # rather one stop too many
            gdb.write("omp break: where breakpoint %d is cannot be told: %s\n" % (self.number, e), gdb.STDERR)
            return True

    def place(self):
        """File and line of the construct that the selected thread is at. A task that
        was made before tells itself; all else was called at the construct."""
        return of_task() if self.made else of_call()


def of_task():
    """Where the selected thread's task is in the source."""
    s = session.current()
    for t in s.picture("threads").get("threads", []):
        if t.get("lwp") == gdb.selected_thread().ptid[1]:
            for task in s.picture("tasks", "--all").get("tasks", []):
                if task["id"] == t.get("task"):
                    function = task.get("function", {})
                    return function.get("file"), function.get("line")
    return None, None


def caller():
    """The frame that called the runtime in which the selected thread is. A runtime that
    is a part of the program is told from the rest by having no lines."""
    frame = gdb.newest_frame()
    runtime = gdb.solib_name(frame.pc())
    for _ in range(MAX_FRAMES):
        if frame is None or (gdb.solib_name(frame.pc()) != runtime if runtime else frame.find_sal().symtab):
            return frame
        frame = frame.older()
    return None


def of_call():
    """Where the program called the runtime."""
    frame = caller()
    sal = frame.find_sal() if frame is not None else None
    if sal is None or sal.symtab is None:
        return None, None
    return sal.symtab.fullname(), sal.line


class Break(gdb.Command):
    """Stop at the beginning or end of parallel regions, tasks or threads.

Usage: omp break parallel|task|thread [begin|end] [at FILE:LINE]

It sets breakpoints at the places in the runtime that every such event passes,
whether the program was started for debugging or not. They are breakpoints like all
others: `info breakpoints`, `delete`, `condition`, `ignore` and `commands` work.

With `at FILE:LINE`, only regions or tasks of the construct in that line stop.
GNU's runtime tells of tasks when they are made."""

    def __init__(self):
        super().__init__("omp break", gdb.COMMAND_BREAKPOINTS)

    @session.guarded
    def invoke(self, arg, _):
        """Sets the breakpoints."""
        kind, edge, line = parse(gdb.string_to_argv(arg))
        event = "%s %s" % (kind, edge)
        s = session.current()
        for l in found(s, kind, edge):
            made = kind == "task" and l.get("how") != "equivalent"
            numbers = [At(a, event, made, line).number for a in l.get("sites") or [l["address"]]]
            several = "breakpoint %d" % numbers[0] if len(numbers) == 1 else "breakpoints %d-%d" % (numbers[0], numbers[-1])
            gdb.write("OpenMP %s%s: %s\n" % (event, " at " + line.text if line else "", several))
            if l.get("how") == "equivalent":
                gdb.write("  %s: %s\n" % (l["function"], l["evidence"]))

    def complete(self, text, word):
        """The words that may come next."""
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


def parse(words):
    """Kind, edge and line of the command's words."""
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


def told(event):
    """Tells which event stopped the program."""
    try:
        for b in getattr(event, "breakpoints", []):
            if isinstance(b, At):
                path, line = b.place() if b.event.split()[0] != "thread" else (None, None)
                gdb.write("OpenMP %s%s\n" % (b.event, ", %s:%d" % (os.path.basename(path), line) if path else ""))
                return
    except Exception:  # the stop itself says enough
        pass


def register():
    """Makes the command."""
    Break()
    gdb.events.stop.connect(told)


def unregister():
    """Stops listening."""
    gdb.events.stop.disconnect(told)
