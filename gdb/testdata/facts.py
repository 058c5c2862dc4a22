"""Prints what the OpenMP commands say of a program, as one line of JSON."""

import json

import gdb


def said(command):
    """What a command prints."""
    return gdb.execute(command, to_string=True)


def variables():
    """The convenience variables of the selected thread."""
    out = {}
    for name in ("thread_num", "num_threads", "level", "active_level", "region", "role", "state"):
        v = gdb.convenience_variable("_omp_" + name)
        if v is not None:
            out[name] = v.string() if v.type.code == gdb.TYPE_CODE_ARRAY else int(v)
    return out


def facts():
    """All facts."""
    out = {"threads": json.loads(said("omp threads --json"))["threads"], "places": [], "stacks": {}, "filtered": {}}
    out["regions"] = json.loads(said("omp regions --json"))["regions"]
    before = gdb.selected_thread().num, gdb.selected_frame().pc()
    said("info threads")
    out["names"] = {t.ptid[1]: t.name for t in gdb.selected_inferior().threads() if t.name}
    out["kept"] = before == (gdb.selected_thread().num, gdb.selected_frame().pc())
    from ompd_gdb import follow, session
    for name in follow.Places(session.current()).names():
        said("omp thread " + name)
        place = variables()
        place.update(name=name, lwp=gdb.selected_thread().ptid[1], tells=said("omp thread"),
                     function=int(gdb.parse_and_eval('$_omp("thread_num")')))
        out["places"].append(place)
    for t in gdb.selected_inferior().threads():
        t.switch()
        try:
            out["stacks"][t.ptid[1]] = said("omp bt")
        except gdb.error as e:
            out["stacks"][t.ptid[1]] = str(e)
        said("omp bt on")
        out["filtered"][t.ptid[1]] = said("bt")
        said("omp bt off")
    for verb in ("report", "diagnose", "threads", "regions", "tasks", "icvs", "devices", "stacks", "layout", "doctor"):
        out.setdefault("verbs", {})[verb] = said("omp " + verb)
    return out


gdb.write("FACTS %s\n" % json.dumps(facts()))
