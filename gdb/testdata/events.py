"""Lets a program run from one `omp break` to the next, and prints as one line of JSON
what stopped it, how often, and where `omp step` leads."""

import collections
import json

import gdb

MAX_STOPS = 400


def said(command):
    """What a command prints, or its error."""
    try:
        return gdb.execute(command, to_string=True)
    except gdb.error as e:
        return str(e)


def running():
    """Whether there is a program."""
    return gdb.selected_inferior().pid != 0


def begin():
    """Starts the program anew, up to the marker."""
    gdb.execute("delete")
    if running():
        gdb.execute("kill")
    gdb.execute("tbreak marker")
    gdb.execute("run")


def counted(*breaks):
    """Runs to the end; counts the stops by what they were at."""
    begin()
    heard, counts = [], collections.Counter()
    said_of = {}
    from ompd_gdb import breaks as module
    for b in breaks:
        said_of[b] = said("omp break " + b)

    def stop(event):
        for b in getattr(event, "breakpoints", []):
            if isinstance(b, module.EventBreakpoint):
                path, line = b.place() if not b.event.startswith("thread") else (None, None)
                heard.append("%s:%s" % (b.event, line))

    gdb.events.stop.connect(stop)
    for _ in range(MAX_STOPS):
        if not running():
            break
        del heard[:]
        gdb.execute("continue")
        counts.update(heard[:1])
    gdb.events.stop.disconnect(stop)
    return {"counts": counts, "said": said_of}


def of_thread(name):
    """A fact about the selected thread: variables are set only before a prompt."""
    return gdb.parse_and_eval('$_omp("%s")' % name)


def place():
    """Where the selected thread is, by gdb and by the function."""
    thread_num, level = (of_thread(n) for n in ("thread_num", "level"))
    frame = gdb.selected_frame()
    block = frame.block()
    while block.function is None:
        block = block.superblock
    task = [t for t in json.loads(said("omp tasks --json --all"))["tasks"] if t["id"] == of_thread("task").string()]
    return {"function": block.function.name, "first": frame.pc() == block.start, "line": frame.find_sal().line,
            "thread_num": int(thread_num), "level": int(level), "task": task[0]["kind"]}


def stepped(line, *commands):
    """Where `omp step` leads from a line of the program."""
    begin()
    gdb.execute("tbreak events.c:%d" % line)
    gdb.execute("continue")
    for c in commands or ("omp step",):
        gdb.execute(c)
    return place()


gdb.execute("set omp follow off")
out = {
    "all": counted(*["%s %s" % (kind, edge) for kind in ("parallel", "task", "thread") for edge in ("begin", "end")]),
    "at": counted("parallel at events.c:22", "parallel end at events.c:22", "task at events.c:26", "task end at events.c:26",
                  "parallel begin at events.c:26", "task end at events.c:30"),
    "wrong": {c: said(c) for c in ("omp break", "omp break parallel at nowhere.c:1", "omp break parallel at 7", "omp break thread at events.c:22",
                                   "omp break task begin end", "omp step x")},
}
gdb.execute("set omp follow on")
out["steps"] = {
    "region": stepped(15), "serialized": stepped(19),
    "begun region": stepped(15, "omp break parallel", "continue", "delete", "omp step"),
    "task": stepped(26),
    "begun task": stepped(22, "omp break task at events.c:26", "continue", "delete", "omp step"),
}
gdb.write("EVENTS %s\n" % json.dumps(out))
gdb.execute("kill")
