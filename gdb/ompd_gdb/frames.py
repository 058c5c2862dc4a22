"""User-model stacks: `omp bt`, and a filter for gdb's own backtrace."""

import gdb
from gdb.FrameDecorator import FrameDecorator

from . import dap, lend, session

FILTER = "omp"


def user_stack(s, lwp):
    """Returns the thread with an LWP, with its user-model stack."""
    for t in s.picture("threads").get("threads", []):
        if t.get("lwp") == lwp:
            return t
    return {}


def function_name(frame):
    """Returns the name of a frame's function, for users."""
    name = frame.get("function") or frame.get("pc", "?")
    if frame.get("construct"):
        name = "%s [%s]" % (frame.get("in") or name, frame["construct"])
    return name


def guess(frame):
    """Returns the mark of a frame that is inferred, or an empty string."""
    return "guessed: " + frame["how"] if frame.get("how") else ""


def frame_line(frame, arguments=""):
    """Returns a frame in gdb's form."""
    if frame["kind"] == "pseudo":
        return frame["function"]
    text = "%s (%s)" % (function_name(frame), arguments)
    if frame.get("line"):
        text += " at %s:%d" % (frame["file"], frame["line"])
    elif frame.get("module"):
        text += " from " + frame["module"]
    if guess(frame):
        text += "  " + guess(frame)
    return text


MAX_NATIVE = 10000  # frames of a thread that are searched for arguments


def arguments_of(s, lwp, model):
    """Returns the text of the arguments of each frame of a user-model stack; "" for outlined functions, whose
    arguments are the compiler's, and for functions without a frame."""
    out, groups = [""] * len(model), []
    for n, f in enumerate(model):
        if n == 0 or f.get("lwp"):
            groups.append((f.get("lwp", lwp), []))
        groups[-1][1].append(n)
    with lend.selection():
        for owner, numbers in groups:
            thread = s.lender.thread(owner)
            if thread is None:
                continue
            try:
                thread.switch()
                frames = frames_by_address()
                # A stack may contain one call several times. The outermost frames are those of the model.
                for n in reversed(numbers):
                    frame = take_frame(frames, model[n])
                    if frame is not None:
                        out[n] = argument_text(frame)
            except gdb.error:  # gdb cannot read the thread's stack
                pass
    return out


def frames_by_address():
    """Returns the frames of the selected thread, innermost first, by address."""
    out, frame = {}, gdb.newest_frame()
    for _ in range(MAX_NATIVE):
        if frame is None:
            break
        out.setdefault(frame.pc(), []).append(frame)
        frame = frame.older()
    return out


def take_frame(frames, f):
    """Removes the outermost frame that is frame f of a user-model stack, and returns it if its arguments are the
    program's."""
    if f["kind"] == "pseudo" or f.get("how"):
        return None
    here = frames.get(int(f.get("pc", "0"), 16), [])
    name = f.get("function", "").split("(")[0]
    for n in reversed(range(len(here))):
        if (here[n].name() or "").split("(")[0] == name:
            frame = here.pop(n)
            return frame if name and not f.get("construct") else None
    return None


def argument_text(frame):
    """Returns the arguments of a frame as `bt` prints them."""
    shown = gdb.parameter("print frame-arguments")
    out = []
    for argument in FrameDecorator(frame).frame_args() or []:
        symbol = argument.symbol()
        if shown == "presence":
            return "..."
        out.append("%s=%s" % (symbol, value_text(frame, symbol, shown)))
    return ", ".join(out)


def value_text(frame, symbol, shown):
    """Returns the value of an argument, or "..." for one that the setting hides."""
    try:
        value = frame.read_var(symbol)
        kind = value.type.strip_typedefs()
        if kind.code in (gdb.TYPE_CODE_REF, gdb.TYPE_CODE_RVALUE_REF):
            kind = kind.target().strip_typedefs()
        compound = (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION, gdb.TYPE_CODE_ARRAY)
        if shown == "none" or shown == "scalars" and kind.code in compound:
            return "..."
        return value.format_string()
    except (gdb.error, ValueError, RuntimeError) as e:
        return "<error: %s>" % e


class Backtrace(gdb.Command):
    """The selected thread's stack in the user's model of the program.

Usage: omp bt [--plain|on|off]

Frames of the runtime are omitted; a line such as <OMP-barrier> shows its activity.
A worker's stack continues in that of the thread that forked its region; with
--plain it ends with the worker's own frames.

`omp bt on` changes gdb's own backtrace in the same way, until `omp bt off`. It is
the frame filter "omp": `bt -no-filters` omits it."""

    def __init__(self):
        super().__init__("omp bt", gdb.COMMAND_STACK)

    @session.guarded
    def invoke(self, arg, _):
        """Prints the stack, or switches the filter."""
        word = arg.strip()
        if word in ("on", "off"):
            gdb.frame_filters[FILTER].enabled = word == "on"
            return
        if word not in ("", "--plain"):
            raise gdb.GdbError("omp bt: %s: expected --plain, on, off or no argument" % word)
        thread = gdb.selected_thread()
        if thread is None:
            raise gdb.GdbError("omp bt: no thread is selected")
        s = session.current()
        t = user_stack(s, thread.ptid[1])
        if not t.get("user_stack"):
            raise gdb.GdbError("omp bt: the stack cannot be read" + "".join(": " + e for e in t.get("errors", [])))
        arguments = arguments_of(s, thread.ptid[1], t["user_stack"])
        for n, f in enumerate(t["user_stack"]):
            if f.get("lwp") and word:
                break
            if f.get("lwp"):
                gdb.write("    -- in LWP %d, which forked the region --\n" % f["lwp"])
            gdb.write("#%-2d %s\n" % (n, frame_line(f, arguments[n])))

    def complete(self, text, word):
        """Returns --plain, on and off."""
        typed = text.split()[-1] if text and not text[-1].isspace() else ""
        cut = len(typed) - len(word or "")  # gdb treats the part after a dash as a separate word
        return [w[cut:] for w in ("--plain", "on", "off") if w.startswith(typed)]


class OutlinedFrame(FrameDecorator):
    """A frame of an outlined function, named by its construct."""

    def __init__(self, base, frame):
        super().__init__(base)
        self.frame = frame

    def function(self):
        """Returns the construct."""
        return function_name(self.frame)

    def frame_args(self):
        """Returns no arguments: those of outlined functions are the compiler's."""
        return None


class ExtraFrame(OutlinedFrame):
    """A frame that gdb's stack lacks: one of another thread, or a pseudo frame. It is attached to a
    frame of this stack."""

    def function(self):
        """Returns the frame's function."""
        name = function_name(self.frame)
        if self.frame.get("lwp"):
            name += " [LWP %d]" % self.frame["lwp"]
        if guess(self.frame):
            name += " [%s]" % guess(self.frame)
        return name

    def address(self):
        """Returns the frame's address. Debug adapters need one: there a pseudo frame has that of
        the frame to which it is attached; in text it has none."""
        if "pc" in self.frame:
            return int(self.frame["pc"], 16)
        return super().address() if dap.active() else None

    def filename(self):
        """Returns the frame's file."""
        return self.frame.get("file") or self.frame.get("module")

    def line(self):
        """Returns the frame's line."""
        return self.frame.get("line")

    def frame_locals(self):
        """Returns no variables: those of the frame to which it is attached are not its own."""
        return None


class Filter:
    """Removes the runtime's frames and adds those that only the user-model stack has."""

    def __init__(self):
        self.name, self.priority, self.enabled = FILTER, 50, False
        gdb.frame_filters[FILTER] = self

    def filter(self, frames):
        """Returns the frames of the user-model stack, or gdb's own if that is unknown."""
        try:
            thread = gdb.selected_thread()
            model = user_stack(session.current(), thread.ptid[1]).get("user_stack", [])
        except (gdb.error, gdb.GdbError, session.child.CallError, ConnectionError) as e:
            gdb.write("omp bt: %s\n" % e, gdb.STDERR)
            model = []
        return iter(list(merge_frames(list(frames), model))) if model else frames


def merge_frames(frames, model):
    """Merges gdb's frames with those of the model by address."""
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
            yield ExtraFrame(hook, f)
            at += 1
            continue
        # Inlined functions have the address of the frame that contains them.
        same = [f]
        while at + len(same) < len(model) and model[at + len(same)].get("pc") == f["pc"] and same[-1].get("inlined"):
            same.append(model[at + len(same)])
        for n, d in enumerate(mine):
            if n >= len(same) and same[-1].get("construct"):
                break  # the function that the runtime called; the former is its body
            hook = d
            yield OutlinedFrame(d, same[n]) if n < len(same) and same[n].get("construct") else d
        at += len(same)
    for f in model[at:]:
        yield ExtraFrame(hook, f)


def register():
    """Makes the command and the filter."""
    Filter()
    Backtrace()
