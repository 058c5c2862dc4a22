"""omp and its commands that show a part of the picture."""

import codecs
import functools
import os
import re
import sys

import gdb

from . import follow, lend, session

FOUND = 3  # the exit status of diagnose for a hang
CRASH = 4  # the exit status of diagnose for a crash

# Verbs of ompd-inspect: name, description and flags.
VERBS = (
    ("report", "The verdicts, threads, regions, tasks and stacks of the OpenMP program.", ("--native", "--all", "--html")),
    ("diagnose", "The verdicts only: deadlocks, threads missing at a barrier, the cause of a crash.", ()),
    ("threads", "The OpenMP threads: role, number and team, state, and what each waits for.", ("--numbers", "--all")),
    ("regions", "The tree of parallel regions, with the numbers that `omp thread` takes.", ("--numbers", "--all")),
    ("tasks", "The tasks: running, waiting, queued, blocked on a dependence.", ("--all",)),
    ("icvs", "Every internal control variable by scope, with the source of its value.", ("--all", "--thread")),
    ("devices", "The devices of target regions, and the data that is mapped to them.", ("--all",)),
    ("stacks", "User-model stacks of all threads, merged. `omp bt` prints that of one thread.", ("--native", "--all")),
    ("trace", "The last OpenMP events of a program that was started with `ompd-inspect record`.",
     ("--events", "--last", "--summary", "--all")),
    ("layout", "The offset of every field of the runtime, with its source.", ("--source",)),
    ("doctor", "The readable parts of this program; for missing parts, the cause and the fix.", ()),
)
# The values of flags.
VALUES = {"--source": "SOURCE", "--html": "FILE", "--thread": "[REGION.NUM]", "--events": "NUMBER", "--last": "TIME"}
SOURCES = ("symbols", "memory", "debuginfo", "code", "table")


class Omp(gdb.Command):
    """OpenMP: threads, regions, tasks and what they wait for.

Works for cores, started, attached and remote programs, with LLVM's and GNU's
runtimes as distributions ship them."""

    def __init__(self):
        super().__init__("omp", gdb.COMMAND_DATA, gdb.COMPLETE_NONE, True)

    def invoke(self, arg, from_tty):
        """Prints the help."""
        if arg:
            raise gdb.GdbError('Undefined omp command: "%s". Try "help omp".' % arg)
        gdb.execute("help omp", from_tty)


class Verb(gdb.Command):
    """A verb of ompd-inspect on the program in gdb."""

    def __init__(self, name, doc, flags):
        self.verb, self.flags = name, ("--json",) + flags
        usage = "".join(" [%s]" % " ".join([f] + [VALUES[v] for v in VALUES if v == f]) for f in self.flags)
        self.__doc__ = "%s\n\nUsage: omp %s%s" % (doc, name, usage)
        super().__init__("omp " + name, gdb.COMMAND_DATA)

    @session.guarded
    def invoke(self, arg, _):
        """Prints the output of the verb."""
        words = gdb.string_to_argv(arg)
        if words[:1] == ["--thread"] and "--thread" in self.flags:
            print_icvs(words[1:])
            return
        for at, w in enumerate(words):
            before = words[at - 1] if at else ""
            if w.split("=")[0] not in self.flags and before not in VALUES:
                raise gdb.GdbError("omp %s: %s: its flags are %s" % (self.verb, w, ", ".join(self.flags)))
            if before == "--html":
                words[at] = os.path.abspath(os.path.expanduser(w))  # gdb's directory, not that of ompd-inspect
        s = session.current()
        if "--numbers" in self.flags and "--json" not in words:
            words.append("--numbers")
        decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        run = s.verb if self.verb != "trace" else functools.partial(run_trace, s)
        exit_status, errors = run([self.verb] + words + style_flags(), lambda b: gdb.write(decoder.decode(b)))
        if exit_status not in (0, FOUND, CRASH):
            raise gdb.GdbError(session.error_text(errors))

    def complete(self, text, word):
        """Returns flags, and the sources of layout."""
        before = text[:len(text) - len(word or "")].split()
        names = SOURCES if before and before[-1] == "--source" else self.flags
        # gdb treats the part after a dash as a separate word.
        typed = text.split()[-1] if text and not text[-1].isspace() else ""
        cut = len(typed) - len(word or "")
        return [n[cut:] for n in names if n.startswith(typed)]


def run_trace(s, words, write):
    """Runs the verb trace. The child itself reads the core or the process, since a recording is large and changes
    while it is read."""
    kind = lend.target_kind(s.inferior)
    if kind == "core":
        core = core_file()
        if core is None:
            raise gdb.GdbError("omp trace: gdb does not show the core's file: `shell ompd-inspect trace CORE` shows the events")
        executable = s.inferior.progspace.filename or ""
        return s.child.verb(words + (["--exe", executable] if os.path.isfile(executable) else []) + [core], write)
    if kind != "native":
        raise gdb.GdbError("omp trace: only of cores, and of processes of this machine; "
                           "`ompd-inspect trace %d` shows the events there" % s.inferior.pid)
    return s.child.verb(words + [str(s.inferior.pid)], write)


ELF_HEADER = 18  # bytes up to the type
ELF_CORE = 4  # the type of a core


def core_file():
    """Returns the path of the selected inferior's core, or None. gdb's Python has no function for it, and the words
    of `info files` depend on the language, so the files that it names are searched for a core."""
    for path in re.findall(r"[`'\u2018\"](/[^\n]*?)['\u2019\"],", gdb.execute("info files", to_string=True)):
        try:
            with open(path, "rb") as f:
                head = f.read(ELF_HEADER)
        except OSError:
            continue
        if len(head) == ELF_HEADER and head[:4] == b"\x7fELF":
            order = "little" if head[5] == 1 else "big"
            if int.from_bytes(head[16:18], order) == ELF_CORE:
                return path
    return None


def print_icvs(words):
    """Prints the control variables of one thread: its own, and those of its region, its task and the program."""
    if len(words) > 1:
        raise gdb.GdbError("omp icvs: --thread takes one thread, such as 2.1")
    s = session.current()
    places = follow.Places(s)
    thread = gdb.selected_thread()
    lwp = places.find(words[0]) if words else thread.ptid[1] if thread is not None else None
    t = places.by_lwp.get(lwp)
    if t is None or t["role"] == "none":
        raise gdb.GdbError("omp icvs: the selected thread is no OpenMP thread: `omp icvs --thread REGION.NUM` takes another one")
    owner = {"thread": lwp, "parallel": t.get("region"), "implicit_task": t.get("task"), "task": t.get("task")}
    key = {"thread": "thread", "parallel": "region", "implicit_task": "task", "task": "task"}
    rows = [("NAME", "VALUE", "SCOPE", "READ FROM")]
    for v in s.picture("icvs").get("icvs", []):
        scope = v["scope"]
        if "value" in v and v.get("runtime") == t.get("runtime") and (scope not in key or v.get(key[scope]) == owner[scope]):
            rows.append((v["name"], v["value"], scope.replace("_", " "), v.get("source", "")))
    gdb.write("CONTROL VARIABLES  of LWP %d, %s\n" % (lwp, places.name(t)))
    widths = [max(len(r[n]) for r in rows) for n in range(3)]
    for r in rows:
        gdb.write(("  " + "".join("%-*s  " % (w, text) for w, text in zip(widths, r)) + r[3]).rstrip() + "\n")


def style_flags():
    """Returns flags for the colour and width of gdb's own output."""
    color = "always" if gdb.parameter("style enabled") and sys.stdout.isatty() else "never"
    return ["--color", color, "--width", str(gdb.parameter("width") or 0)]


class Thread(gdb.Command):
    """Select a thread by its OpenMP name: REGION.NUM.

Usage: omp thread [REGION.NUM]

REGION is a number of `omp regions`, or a complete ID of `omp regions --json`.
NUM is the thread number there, as omp_get_thread_num or omp_get_ancestor_thread_num
returns it. Without an argument, print the region and number of the selected thread."""

    def __init__(self):
        super().__init__("omp thread", gdb.COMMAND_RUNNING)

    @session.guarded
    def invoke(self, arg, from_tty):
        """Selects the thread, or prints the name of the selected one."""
        s = session.current()
        places = follow.Places(s)
        if not arg.strip():
            print_selected(places)
            return
        lwp = places.find(arg.strip())
        thread = s.lender.thread(lwp)
        if thread is None:
            raise gdb.GdbError("omp thread: LWP %d has ended" % lwp)
        gdb.execute("thread %d.%d" % (s.inferior.num, thread.num), from_tty)

    def complete(self, text, word):
        """Returns the names of all threads."""
        try:
            names = follow.Places(session.current()).names()
        except (gdb.error, gdb.GdbError, session.child.CallError, ConnectionError):
            return []
        typed = text.strip()
        cut = len(typed) - len(word or "")
        return [n[cut:] for n in names if n.startswith(typed)]


def print_selected(places):
    """Prints the region and number of the selected thread."""
    thread = gdb.selected_thread()
    if thread is None:
        raise gdb.GdbError("omp thread: no thread is selected")
    t = places.by_lwp.get(thread.ptid[1])
    name = places.name(t) if t is not None else "no OpenMP thread"
    gdb.write("[Current thread is %d (LWP %d), %s]\n" % (thread.num, thread.ptid[1], name))


def register():
    """Makes the commands."""
    Omp()
    for name, doc, flags in VERBS:
        Verb(name, doc, flags)
    Thread()
