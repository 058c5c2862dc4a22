"""Loads the OpenMP commands when gdb loads a runtime: links below gdb's auto-load directory name this file.

A stop costs nothing more than without the commands: the settings that look at each stop are off. A script that was
sourced before, as in ~/.gdbinit, stays as it is.
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
