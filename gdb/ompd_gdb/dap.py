"""gdb as a debug adapter (`gdb -i dap`, gdb 14 and newer): threads have their names, and a client can
ask for the picture. Stacks are those of `omp bt on`."""

import sys

import gdb

from . import follow, session

_posted = []  # names that are to be given when gdb has time for it


def active():
    """Whether this gdb is a debug adapter."""
    return "gdb.dap" in sys.modules


def picture():
    """The whole picture, as proto/picture.schema.json has it."""
    return session.current().picture("report")


def regions():
    """The regions with the threads that the client knows; others are threads of no region."""
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


def request_of(answer):
    """A request as gdb wants them: it takes arguments by name."""
    guarded = session.guarded_function(answer)

    def run(**_):
        return guarded()
    return run


def offer():
    """Makes the requests known to gdb. It has no stable way for that: one that does not know this way
    has no such requests, and names and stacks all the same."""
    server = sys.modules.get("gdb.dap.server")
    if server is None or not hasattr(server, "request"):
        return
    for name, answer in REQUESTS.items():
        try:
            getattr(server, "_commands", {}).pop(name, None)  # of this script, loaded before
            server.request(name)(request_of(answer))
        except Exception as e:
            gdb.write("omp: this gdb takes no request %s: %s %s\n" % (name, type(e).__name__, e), gdb.STDERR)


@follow.quietly
def give_names():
    """Names the threads of a program that stands still."""
    del _posted[:]
    if not any(t.is_running() for t in gdb.selected_inferior().threads()):
        follow.name_threads()


@follow.quietly
def on_stop(_):
    """A new stop: the client asks for the threads after it."""
    follow.name_threads()


@follow.quietly
def on_thread(_):
    """Threads come without a stop when a core is opened; they can be looked at when it is."""
    if not _posted:
        _posted.append(True)
        gdb.post_event(give_names)


EVENTS = (("stop", on_stop), ("new_thread", on_thread))


def register():
    """Listens to gdb, if it is a debug adapter."""
    if active():
        offer()
        for name, handler in EVENTS:
            getattr(gdb.events, name).connect(handler)


def unregister():
    """Stops listening."""
    if active():
        for name, handler in EVENTS:
            getattr(gdb.events, name).disconnect(handler)
