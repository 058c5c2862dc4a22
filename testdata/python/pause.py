# pause.py LIBRARY WAY: pauses of all threads of a free-threaded Python (stop the world), beside a lock of OpenMP.
# PyDLL keeps a thread attached during a call, CDLL detaches it. It prints "ready" at its start. WAY is
#   lock       a callback requests pauses while it holds a lock that an attached thread waits for
#   collector  the main thread requests pauses, callbacks hold the lock, and an attached thread waits for it
#   lock_turns, collector_turns   the same, with a detached thread: they go on
import ctypes
import gc
import sys
import threading

library, way = sys.argv[1:]
keeps, releases = ctypes.PyDLL(library), ctypes.CDLL(library)
keeps.setup()
print("ready", flush=True)


def adds(by):
    while True:
        by.add(1)


def loop(body):
    releases.for_all_locked(1 << 30, ctypes.CFUNCTYPE(None, ctypes.c_int)(body))


adder = releases if way.endswith("_turns") else keeps
threading.Thread(target=adds, args=(adder,), name="adder", daemon=True).start()
if way.startswith("collector"):
    threading.Thread(target=loop, args=(lambda i: sum(range(100)),), name="loop", daemon=True).start()
    while True:
        gc.collect()
else:
    loop(lambda i: gc.collect())
