"""The programs that are lent to the child, with one session each."""

import json
import os
import time

import gdb

from . import child, lend, settings, wire

_child = None
_sessions = {}  # by the number of the inferior
_signaled = {}  # the thread that a signal stopped, by the number of the inferior


class Session:
    """One program, lent to the child until another program replaces it."""

    def __init__(self, the_child, inferior):
        self.child, self.inferior = the_child, inferior
        self.lender = lend.Lender(inferior)
        self.program, self.auxv = self.identify(), self.lender.auxv()
        self.target = self.ended = None
        self.stale = False
        self.kept = {}  # answers of this stop
        self.number = the_child.start(b"C", "ompd.v1.DebuggerService/Attach", self)
        hello = {"about": self.about(), "powers": self.lender.powers(), "auxv": self.auxv,
                 "spec": file_settings(inferior)}
        the_child.send_json(self.number, {"hello": hello})
        self.await_target()

    def identify(self):
        """Returns a key that distinguishes this program from the next one in the same inferior, as
        far as gdb knows."""
        return (self.inferior.pid, self.inferior.progspace.filename, lend.target_kind(self.inferior))

    def about(self):
        """Describes the program at this stop."""
        return self.lender.about(_signaled.get(self.inferior.num))

    def await_target(self):
        """Waits until the child has read the program at its current stop."""
        self.target = None
        self.child.serve_until(lambda *_: self.target or self.ended)
        if self.ended:
            raise child.CallError(self.ended)

    def handle(self, kind, payload):
        """Handles a frame of the child: answers its questions."""
        message = json.loads(payload.decode())
        if kind == b"S":
            self.ended = message
            return
        if "target" in message:
            self.target = message["target"]["name"]
        if "questions" in message:
            questions = message["questions"]
            self.child.trips += 1
            self.child.asked += len(questions["questions"])
            answers = [self.lender.answer(q) for q in questions["questions"]]
            if all("memory" in a for a in answers):
                self.child.send(self.number, b"B", wire.binary(int(questions["id"]), answers))
            else:
                self.child.send_json(self.number, {"answers": {"id": questions["id"], "answers": answers}})

    def renew(self):
        """Drops the answers of the last stop if the program has run since. Returns False if this is
        another program."""
        if self.ended or self.identify() != self.program:
            return False
        if self.stale:
            if self.lender.auxv() != self.auxv:
                return False
            self.kept = {}
            self.child.send_json(self.number, {"stopped": {"about": self.about()}})
            self.await_target()
            self.stale = False
        return True

    def end(self):
        """Ends the loan of the program."""
        if not self.ended and not self.child.broken:
            self.child.send(self.number, b"E")

    def verb(self, words, write):
        """Runs a verb on the program."""
        return self.child.verb(words + ["debugger:" + self.target], write)

    def picture(self, *words):
        """Returns the JSON of a verb, which is read once per stop."""
        if words not in self.kept:
            out = []
            exit_status, errors = self.verb(list(words) + ["--json"], out.append)
            if exit_status != 0:
                raise gdb.GdbError(error_text(errors))
            self.kept[words] = json.loads(b"".join(out).decode())
        return self.kept[words]


def file_settings(inferior):
    """Returns gdb's settings for files."""
    out = {"debug_dirs": [d for d in (gdb.parameter("debug-file-directory") or "").split(":") if d]}
    executable = inferior.progspace.filename or ""
    if os.path.isfile(executable):
        out["exe"] = executable
    sysroot = gdb.parameter("sysroot")
    if sysroot and not sysroot.startswith("target:"):
        out["sysroot"] = sysroot
    if gdb.parameter("debuginfod enabled") != "on":
        out["no_debuginfod"] = True
    return out


def error_text(errors):
    """Returns the child's error text without its name."""
    lines = [line for line in errors.strip().splitlines() if "--help" not in line]
    if lines:
        lines[0] = "omp: " + lines[0].replace("ompd-inspect: ", "", 1)
    return "\n".join(lines)


def close():
    """Ends the child; the next command starts another one."""
    global _child
    _sessions.clear()
    if _child is not None:
        _child.close()
        _child = None


def stopped(event=None):
    """Marks all as stale at a new stop, and stores the signal that caused it."""
    inferior = gdb.selected_inferior()
    _signaled.pop(inferior.num, None)
    if isinstance(event, gdb.SignalEvent):
        _signaled[inferior.num] = event.inferior_thread or gdb.selected_thread()
    mark_stale()


def mark_stale(_=None):
    """Marks the sessions as stale."""
    for s in _sessions.values():
        s.stale = True


def is_at_condition():
    """Reports whether the selected thread is stopped although gdb marks it as running: it is at a
    breakpoint, and gdb evaluates the condition. Other threads may run."""
    try:
        return gdb.newest_frame().is_valid()
    except gdb.error:
        return False


def current():
    """Returns the session of the selected inferior, at its current stop."""
    global _child
    inferior = gdb.selected_inferior()
    if inferior.pid == 0 or not inferior.threads():
        raise gdb.GdbError("omp: no program: use `run`, `attach PID` or `core-file CORE` first")
    if any(t.is_running() for t in inferior.threads()):
        if not is_at_condition():
            stopped = [t.num for t in inferior.threads() if t.is_stopped()]
            if stopped:  # in non-stop mode
                raise gdb.GdbError("omp: the selected thread is running: `thread %d` is stopped" % stopped[0])
            raise gdb.GdbError("omp: the program is running: `interrupt` it first")
        mark_stale()
    if _child is not None and _child.broken:
        close()
    for number in [n for n, s in _sessions.items() if not s.inferior.is_valid() or s.inferior.pid == 0]:
        _sessions.pop(number).end()
    if _child is None:
        _child = child.Child(settings.program())
    session = _sessions.get(inferior.num)
    if session is not None and not session.renew():
        _sessions.pop(inferior.num).end()
        session = None
    if session is None:
        try:
            session = Session(_child, inferior)
        except lend.Unsupported as e:
            raise gdb.GdbError("omp: %s" % e)
        _sessions[inferior.num] = session
    return session


class Cost:
    """The cost of a command."""

    def __init__(self):
        self.began = time.monotonic()
        self.before = self.counts()

    @staticmethod
    def counts():
        """Returns round trips, questions, requests for memory, bytes."""
        lenders = [s.lender for s in _sessions.values()]
        counts = (_child.trips, _child.asked) if _child is not None else (0, 0)
        return counts + (sum(x.requests for x in lenders), sum(x.bytes for x in lenders))

    def print(self):
        """Prints the cost, if `omp statistics` is on."""
        if settings.value("statistics"):
            seconds = time.monotonic() - self.began
            trips, asked, requests, size = (max(0, now - then) for now, then in zip(self.counts(), self.before))
            gdb.write("omp: %d round trips, %d questions, %d memory requests of %d KiB, %.0f ms\n"
                      % (trips, asked, requests, size // 1024, 1000 * seconds))


def guarded(command):
    """Makes a command whose errors are gdb's, without traceback, and which prints its cost."""
    def run(self, arg, from_tty):
        cost = Cost()
        guarded_function(command)(self, arg, from_tty)
        cost.print()
    run.__doc__ = command.__doc__
    return run


def guarded_function(function):
    """Makes a function whose errors are gdb's, without traceback."""
    def run(*args):
        try:
            return function(*args)
        except (gdb.GdbError, gdb.error):
            raise
        except KeyboardInterrupt:
            raise gdb.GdbError("Quit")
        except (child.CallError, ConnectionError) as e:
            raise gdb.GdbError("omp: %s" % e)
        except Exception as e:  # a defect must not end in a traceback
            raise gdb.GdbError("omp: a defect in this script, please report it: %s: %s%s"
                               % (type(e).__name__, e, raised_at(e)))
    run.__doc__ = function.__doc__
    return run


def raised_at(e):
    """Returns the line that raised e."""
    trace = e.__traceback__
    while trace.tb_next is not None:
        trace = trace.tb_next
    return " (%s:%d)" % (trace.tb_frame.f_code.co_filename.rsplit("/", 1)[-1], trace.tb_lineno)
