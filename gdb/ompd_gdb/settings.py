"""The settings: `show omp`."""

import os
import shutil

import gdb

# The default of `omp program`.
PROGRAM = "ompd-inspect"

_made = {}
_folder = []  # the directory of the script


class Setting(gdb.Parameter):
    """A setting that is printed as a sentence."""

    def __init__(self, name, kind, value, doc, choices=None, changed=None):
        self.set_doc, self.show_doc, self.__doc__ = "Set " + doc[0], "Show " + doc[0], doc[1]
        self.changed = changed
        words = (name, gdb.COMMAND_DATA, kind) + ((choices,) if choices else ())
        super().__init__(*words)
        self.name, self.value = name, value
        _made[name] = self

    def get_set_string(self):
        """Applies a new value."""
        if self.changed is not None:
            self.changed()
        return ""

    def get_show_string(self, value):
        """Returns the sentence of `show`."""
        return "%s is %s." % (self.name, value)


class Prefix(gdb.Command):
    """Settings of the OpenMP commands."""

    def __init__(self, verb):
        super().__init__(verb + " omp", gdb.COMMAND_DATA, gdb.COMPLETE_NONE, True)

    def invoke(self, arg, _):
        """Prints all settings."""
        for name in sorted(_made):
            gdb.execute("show " + name)


def value(name):
    """Returns the value of a setting."""
    return _made["omp " + name].value


def program():
    """Returns the ompd-inspect to start: that of the setting, of $OMPD_INSPECT, near the script, or
    the first in PATH."""
    chosen = value("program") or os.environ.get("OMPD_INSPECT")
    if chosen:
        return os.path.expanduser(chosen)
    for near in ("../bin", "../../../bin", "..", "."):  # a clone, an installation, a copy
        path = os.path.normpath(os.path.join(_folder[0], near, PROGRAM))
        if os.access(path, os.X_OK) and not os.path.isdir(path):
            return path
    found = shutil.which(PROGRAM)
    if found is None:
        raise gdb.GdbError("omp: no ompd-inspect near the script or in PATH: `set omp program PATH`")
    return found


def register(folder, new_program, new_names):
    """Makes the settings. folder contains the script. new_program is called when the program to
    start changes, new_names when a setting of follow.py changes."""
    _folder[:] = [folder]
    for verb in ("set", "show"):
        Prefix(verb)
    Setting("omp program", gdb.PARAM_OPTIONAL_FILENAME, "", (
        "the ompd-inspect that OpenMP commands start.",
        "Empty means: $OMPD_INSPECT, else the one near the script, else the first in PATH."), changed=new_program)
    Setting("omp statistics", gdb.PARAM_BOOLEAN, False, (
        "whether OpenMP commands print their cost.",
        "After each command: round trips, questions, requests and bytes of memory, and the time."))
    Setting("omp follow", gdb.PARAM_BOOLEAN, True, (
        "whether $_omp_… variables are updated at each stop.",
        "At each stop and when another thread is selected, if the program has an OpenMP\n"
        "runtime. A stop then costs what `omp threads` costs: see `set omp statistics`."), changed=new_names)
    Setting("omp thread-names", gdb.PARAM_BOOLEAN, True, (
        "whether `info threads` names threads by region and number.",
        "The name is `omp REGION.NUM STATE`; `omp thread` takes REGION.NUM."), changed=new_names)
