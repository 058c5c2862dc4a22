"""Loads the OpenMP commands when gdb loads a runtime: links in gdb's auto-load directory point to this file.

The commands do not slow down stops: the settings that take a snapshot at each stop are off. If the script was sourced
before, as in ~/.gdbinit, its settings are kept.
"""

import os
import sys

import gdb

if "ompd_gdb" not in sys.modules:
    # gdb's `source` within a script does not change __file__.
    _path = os.path.join(os.path.dirname(os.path.realpath(__file__)), "ompd_inspect.py")
    with open(_path, encoding="utf-8") as _script:
        exec(compile(_script.read(), _path, "exec"), {"__file__": _path, "__name__": "__main__"})
    gdb.execute("set omp follow off")
    gdb.execute("set omp thread-names off")
