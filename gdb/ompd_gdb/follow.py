"""The parts that are updated at each stop: convenience variables, and the names that `info threads`
shows."""

import gdb

from . import session, settings

# Convenience variables, with functions that read them from a thread of the picture.
VARIABLES = (
    ("thread_num", lambda t, _: t.get("thread_num")),
    ("num_threads", lambda t, _: t.get("team_size")),
    ("level", lambda t, _: t.get("level")),
    ("active_level", lambda t, _: t.get("active_level")),
    ("region", lambda t, places: places.number.get(t.get("region"))),
    ("task", lambda t, _: t.get("task")),
    ("role", lambda t, _: t.get("role")),
    ("state", lambda t, _: t.get("state", {}).get("name")),
    ("wait_id", lambda t, _: int(t["wait_id"], 16) if "wait_id" in t else None),
    ("wait_kind", lambda t, _: t.get("wait_kind")),
    ("wait_name", lambda t, _: t.get("wait_name")),
)
NAMES = [name for name, _ in VARIABLES]

_named = []  # threads with a name that was set here
_seen = [None]  # the stop and the thread of the variables


class Places:
    """The regions and numbers of the threads at a stop."""

    def __init__(self, s):
        self.threads = s.picture("threads").get("threads", [])
        self.regions = s.picture("regions").get("regions", [])
        self.by_lwp = {t["lwp"]: t for t in self.threads if "lwp" in t}
        self.number = {r["id"]: n for n, r in enumerate(self.regions) if r.get("id")}

    def names(self):
        """Returns the names of all threads, REGION.NUM."""
        out = []
        for t in self.threads:
            for at in t.get("levels", []):
                if at.get("region") in self.number and "thread_num" in at:
                    out.append("%d.%d" % (self.number[at["region"]], at["thread_num"]))
        return sorted(set(out), key=lambda n: [int(x) for x in n.split(".")])

    def find(self, name):
        """Returns the LWP of the thread with a name. A thread has one name in each of its regions."""
        region, _, num = name.rpartition(".")
        if not num.isdigit() or not region:
            raise gdb.GdbError("omp thread: %s: expected REGION.NUM, such as 1.0" % name)
        if region.isdigit():
            if int(region) >= len(self.regions):
                raise gdb.GdbError("omp thread: there is no region %s: `omp regions` lists them" % region)
            region = self.regions[int(region)].get("id")
        members = [lwp for r in self.regions if r.get("id") == region for lwp in r.get("threads", [])]
        found = [t["lwp"] for t in self.threads for at in t.get("levels", [])
                 if at.get("region") == region and at.get("thread_num") == int(num) and "lwp" in t]
        # Threads of inner regions have the number of the member that forked these. The member itself comes first.
        if found:
            return min(found, key=lambda lwp: lwp not in members)
        raise gdb.GdbError("omp thread: no thread %s is in that region: `omp threads` lists them" % name)

    def name(self, t):
        """Returns the name that `info threads` shows for a thread."""
        words = ["omp"]
        if t.get("region") in self.number and "thread_num" in t:
            words.append("%d.%d" % (self.number[t["region"]], t["thread_num"]))
        elif t["role"] == "none":
            return None
        else:
            words.append(t["role"])
        if "state" in t and t["state"]["name"] not in words:
            words.append(t["state"]["name"])
        return " ".join(words)


def uses_openmp():
    """Reports whether the program has OpenMP, without taking a snapshot."""
    try:
        gdb.parse_and_eval("&omp_get_thread_num")
        return True
    except gdb.error:
        return False


def ignore_errors(action):
    """Makes a handler of events, which must not fail."""
    def run(*args):
        try:
            action(*args)
        except (Exception, KeyboardInterrupt):  # the user's next command reports the error
            pass
    return run


def clear():
    """Clears the variables."""
    _seen[0] = None
    for name in NAMES:
        gdb.set_convenience_variable("_omp_" + name, None)


def update():
    """Sets the variables for the selected thread."""
    thread = gdb.selected_thread()
    if thread is None or not settings.value("follow") or not thread.is_stopped() or not uses_openmp():
        clear()
        return
    try:
        places = Places(session.current())
    except BaseException:
        clear()
        raise
    t = places.by_lwp.get(thread.ptid[1], {})
    for name, read in VARIABLES:
        gdb.set_convenience_variable("_omp_" + name, read(t, places))


def remove_names():
    """Removes the names that were set here, because the threads resume."""
    for thread, name in _named:
        if thread.is_valid() and thread.name == name:
            thread.name = None
    del _named[:]


def name_threads():
    """Names the threads of the selected inferior."""
    remove_names()
    if not settings.value("thread-names") or gdb.selected_inferior().pid == 0 or not uses_openmp():
        return
    s = session.current()
    places = Places(s)
    for thread in s.lender.threads():
        t = places.by_lwp.get(thread.ptid[1])
        name = places.name(t) if t is not None else None
        if name is not None:
            thread.name = name
            _named.append((thread, name))


def apply_settings():
    """Applies a changed setting."""
    remove_names()
    ignore_errors(update)()


@ignore_errors
def on_stop(event):
    """Forgets all at a new stop. The next prompt sets the variables: loops of steps in a script have none."""
    session.stopped(event)
    remove_names()
    clear()


@ignore_errors
def on_change(event=None):
    """Marks the snapshot as stale after memory or registers were written."""
    session.mark_stale()


@ignore_errors
def on_prompt():
    """Updates the variables before the prompt: programs may have appeared, and threads may have
    been selected without an event."""
    thread = gdb.selected_thread()
    now = (thread.ptid, thread.num) if thread is not None else None
    if now != _seen[0]:
        update()
        _seen[0] = now


@ignore_errors
def before_info_threads():
    """Names the threads before `info threads`."""
    name_threads()


@ignore_errors
def after_selection():
    """Updates the variables after a thread or program was selected."""
    update()


class Current(gdb.Function):
    """$_omp("NAME"): the value of $_omp_NAME for the current thread.

Unlike the variables, which are set before a prompt, it works in scripts, in the
condition of a breakpoint and in `thread apply`. NAME is thread_num, num_threads,
level, active_level, region, task, role, state, wait_id, wait_kind or wait_name.
Values that the thread lacks are -1, or the empty string."""

    def __init__(self):
        super().__init__("_omp")

    @session.guarded_function
    def invoke(self, name):
        """Returns the value."""
        name = name.string()
        if name not in NAMES:
            raise gdb.GdbError("$_omp(\"%s\"): expected one of %s" % (name, ", ".join(NAMES)))
        places = Places(session.current())
        t = places.by_lwp.get(gdb.selected_thread().ptid[1], {})
        value = dict(VARIABLES)[name](t, places)
        if value is None:
            return "" if name in ("task", "role", "state", "wait_kind", "wait_name") else -1
        return value


EVENTS = (("stop", on_stop), ("memory_changed", on_change), ("register_changed", on_change),
          ("before_prompt", on_prompt), ("inferior_call", on_change), ("exited", on_change))
HOOKS = (("info hook-threads", "before_info_threads"), ("hookpost-thread", "after_selection"),
         ("hookpost-inferior", "after_selection"), ("hookpost-core-file", "after_selection"))


def register():
    """Registers with gdb."""
    Current()
    for name, handler in EVENTS:
        if hasattr(gdb.events, name):
            getattr(gdb.events, name).connect(handler)
    for hook, function in HOOKS:
        gdb.execute("define %s\npython import ompd_gdb.follow; ompd_gdb.follow.%s()\nend" % (hook, function))
    after_selection()


def unregister():
    """Stops listening."""
    for name, handler in EVENTS:
        if hasattr(gdb.events, name):
            getattr(gdb.events, name).disconnect(handler)
    remove_names()
