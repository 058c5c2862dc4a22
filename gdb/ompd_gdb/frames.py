"""The user's model of a stack: `omp bt`, and a filter for gdb's own backtrace."""

import gdb
from gdb.FrameDecorator import FrameDecorator

from . import dap, session

FILTER = "omp"


def user_stack(s, lwp):
    """The thread with an LWP, with its user-model stack."""
    for t in s.picture("threads").get("threads", []):
        if t.get("lwp") == lwp:
            return t
    return {}


def call_of(frame):
    """Name of a frame's function, as people know it."""
    name = frame.get("function") or frame.get("pc", "?")
    if frame.get("construct"):
        name = "%s [%s]" % (frame.get("in") or name, frame["construct"])
    return name


def line_of(frame):
    """A frame in gdb's words."""
    if frame["kind"] == "pseudo":
        return frame["function"]
    text = call_of(frame) + " ()"
    if frame.get("line"):
        text += " at %s:%d" % (frame["file"], frame["line"])
    elif frame.get("module"):
        text += " from " + frame["module"]
    if frame.get("how"):
        text += "  [guessed: %s]" % frame["how"]
    return text


class Backtrace(gdb.Command):
    """The selected thread's stack in the user's model of the program.

Usage: omp bt [on|off]

Frames of the runtime are left out; a line such as <OMP-barrier> says what it is
doing. A worker's stack goes on in that of the thread that forked its region.

`omp bt on` makes gdb's own backtrace like that, until `omp bt off`. It is the frame
filter "omp": `bt -no-filters` is without it."""

    def __init__(self):
        super().__init__("omp bt", gdb.COMMAND_STACK)

    @session.guarded
    def invoke(self, arg, _):
        """Prints the stack, or switches the filter."""
        word = arg.strip()
        if word in ("on", "off"):
            gdb.frame_filters[FILTER].enabled = word == "on"
            return
        if word:
            raise gdb.GdbError("omp bt: %s: it takes on, off or nothing" % word)
        thread = gdb.selected_thread()
        if thread is None:
            raise gdb.GdbError("omp bt: no thread is selected")
        t = user_stack(session.current(), thread.ptid[1])
        if not t.get("user_stack"):
            raise gdb.GdbError("omp bt: the stack cannot be read" + "".join(": " + e for e in t.get("errors", [])))
        for n, f in enumerate(t["user_stack"]):
            if f.get("lwp"):
                gdb.write("    -- in LWP %d, which forked the region --\n" % f["lwp"])
            gdb.write("#%-2d %s\n" % (n, line_of(f)))

    def complete(self, text, word):
        """on and off."""
        return [w for w in ("on", "off") if w.startswith(word or "")]


class Named(FrameDecorator):
    """A frame of an outlined function, by the construct."""

    def __init__(self, base, frame):
        super().__init__(base)
        self.frame = frame

    def function(self):
        """The construct."""
        return call_of(self.frame)

    def frame_args(self):
        """Those of outlined functions are the compiler's."""
        return None


class Stranger(Named):
    """A frame that gdb's stack does not have: one of another thread, or what the
    runtime is doing. It hangs on a frame of this stack."""

    def function(self):
        """The frame's function."""
        name = call_of(self.frame)
        if self.frame.get("lwp"):
            name += " [LWP %d]" % self.frame["lwp"]
        return name

    def address(self):
        """The frame's address. Debug adapters need one: a line that stands for what the runtime does
        has that of the frame that it hangs on there, and none in text."""
        if "pc" in self.frame:
            return int(self.frame["pc"], 16)
        return super().address() if dap.active() else None

    def filename(self):
        """The frame's file."""
        return self.frame.get("file") or self.frame.get("module")

    def line(self):
        """The frame's line."""
        return self.frame.get("line")

    def frame_locals(self):
        """Not those of the frame that it hangs on."""
        return None


class Filter:
    """Leaves out the runtime's frames and adds what the user's model has more."""

    def __init__(self):
        self.name, self.priority, self.enabled = FILTER, 50, False
        gdb.frame_filters[FILTER] = self

    def filter(self, frames):
        """The frames of the user's model; gdb's own where they are not known."""
        try:
            thread = gdb.selected_thread()
            model = user_stack(session.current(), thread.ptid[1]).get("user_stack", [])
        except (gdb.error, gdb.GdbError, session.child.CallError, ConnectionError) as e:
            gdb.write("omp bt: %s\n" % e, gdb.STDERR)
            model = []
        return iter(list(joined(list(frames), model))) if model else frames


def joined(frames, model):
    """Joins gdb's frames with those of the model by address."""
    hook, own = frames[0], {}
    for d in frames:
        own.setdefault(d.inferior_frame().pc(), []).append(d)
    at = 0
    while at < len(model):
        f = model[at]
        if "lwp" in f:
            break
        mine = own.pop(int(f.get("pc", "0"), 16), []) if f["kind"] != "pseudo" and "how" not in f else []
        if not mine:
            yield Stranger(hook, f)
            at += 1
            continue
        # Inlined functions have the address of the frame that they are in.
        same = [f]
        while at + len(same) < len(model) and model[at + len(same)].get("pc") == f["pc"] and same[-1].get("inlined"):
            same.append(model[at + len(same)])
        for n, d in enumerate(mine):
            if n >= len(same) and same[-1].get("construct"):
                break  # the function that the runtime called, of which the former is the body
            hook = d
            yield Named(d, same[n]) if n < len(same) and same[n].get("construct") else d
        at += len(same)
    for f in model[at:]:
        yield Stranger(hook, f)


def register():
    """Makes the command and the filter."""
    Filter()
    Backtrace()
