"""OpenMP commands for gdb: `source ompd_inspect.py`, then `help omp`.

It starts ompd-inspect as a child process and provides gdb's callbacks to it, so it
works for all programs that gdb can debug. It needs only gdb's own Python.
"""

import os
import sys

import gdb


def _load():
    """Loads the modules next to this file, again if they were loaded before."""
    folder = os.path.join(os.path.dirname(os.path.abspath(__file__)))
    before = sys.modules.get("ompd_gdb")
    if before is not None:
        before.unload()
    for name in [n for n in sys.modules if n.split(".")[0] == "ompd_gdb"]:
        del sys.modules[name]
    sys.path.insert(0, folder)
    try:
        import ompd_gdb
    finally:
        sys.path.remove(folder)
    ompd_gdb.load(folder)


if sys.version_info < (3, 6):
    raise gdb.GdbError("ompd_inspect.py needs a gdb with Python 3.6 or later")
_load()
