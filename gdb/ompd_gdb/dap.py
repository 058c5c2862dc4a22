"""gdb as a debug adapter (`gdb -i dap`, gdb 14 and newer): threads have their names, and a client
can request the picture. Stacks are those of `omp bt on`."""

import sys

import gdb

from . import follow, session

_posted = []  # not empty: give_names is scheduled


def active():
    """Reports whether this gdb is a debug adapter."""
    return "gdb.dap" in sys.modules


def picture():
    """Returns the whole picture (proto/picture.schema.json)."""
    return session.current().picture("report")


def regions():
    """Returns the regions with their threads, by the client's numbers. others are threads outside
    of regions."""
    s = session.current()
    pic = s.picture("report")
    numbers = {t.ptid[1]: (t.global_num, t.name) for t in s.lender.threads()}
    out = [dict(r, members=[]) for r in pic.get("regions", [])]
    by_id, others = {r["id"]: r["members"] for r in out if r.get("id")}, []
    for t in pic.get("threads", []):
        if t.get("lwp") not in numbers:
            continue
        number, name = numbers[t["lwp"]]
        member = {"threadId": number, "name": name or "", "lwp": t["lwp"]}
        if "state" in t:
            member["state"] = t["state"]["name"]
        if "thread_num" in t:
            member["thread_num"] = t["thread_num"]
        home = by_id.get(t.get("region")) if "thread_num" in t else None
        (others if home is None else home).append(member)
    for r in out:
        r["members"].sort(key=lambda m: m["thread_num"])
    return {"regions": out, "others": others}


REQUESTS = {"ompd/picture": picture, "ompd/regions": regions}


def make_handler(answer):
    """Returns a handler in gdb's form, which gets its arguments by name."""
    guarded = session.guarded_function(answer)

    def run(**_):
        return guarded()
    return run


def register_requests():
    """Registers the requests with gdb. gdb has no stable interface for this. A gdb without this one
    lacks the requests, but has names and stacks."""
    server = sys.modules.get("gdb.dap.server")
    if server is None or not hasattr(server, "request"):
        return
    for name, answer in REQUESTS.items():
        try:
            getattr(server, "_commands", {}).pop(name, None)  # of this script, loaded before
            server.request(name)(make_handler(answer))
        except Exception as e:
            gdb.write("omp: this gdb does not support the request %s: %s %s\n" % (name, type(e).__name__, e),
                      gdb.STDERR)


@follow.ignore_errors
def give_names():
    """Names the threads of a stopped program."""
    del _posted[:]
    if not any(t.is_running() for t in gdb.selected_inferior().threads()):
        follow.name_threads()


@follow.ignore_errors
def on_stop(_):
    """Names the threads at a stop, before the client requests them."""
    follow.name_threads()


@follow.ignore_errors
def on_thread(_):
    """Schedules the naming of threads: when a core is opened, threads appear without a stop, and
    are readable only afterwards."""
    if not _posted:
        _posted.append(True)
        gdb.post_event(give_names)


EVENTS = (("stop", on_stop), ("new_thread", on_thread))


def register():
    """Registers with gdb, if it is a debug adapter."""
    if active():
        register_requests()
        for name, handler in EVENTS:
            getattr(gdb.events, name).connect(handler)


def unregister():
    """Stops listening."""
    if active():
        for name, handler in EVENTS:
            getattr(gdb.events, name).disconnect(handler)
