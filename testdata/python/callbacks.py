# callbacks.py LIBRARY WAY: a parallel loop that calls back into Python. PyDLL keeps the interpreter's lock (GIL)
# during a call, CDLL releases it. It prints "ready" at its start. WAY is
#   barrier  the thread that forked the region has the GIL, which the callbacks of the others need
#   lock     a callback waits for the GIL with a lock that the thread with the GIL waits for
#   self     the callback acquires the lock that its thread has
#   healthy  a loop whose callbacks need the GIL, which the thread that forked it released: it goes on
#   turns    as lock, but without the GIL
#   critical        as lock, with a critical section
#   critical_turns  as turns, with a critical section
#   loader          a callback of dl_iterate_phdr waits for the GIL, whose holder waits for the loader's lock
#   loader_turns    as loader, but without the GIL
#   held     a thread without OpenMP waits for the GIL, whose holder sleeps
import ctypes
import sys
import threading
import time

library, way = sys.argv[1:]
keeps, releases = ctypes.PyDLL(library), ctypes.CDLL(library)
keeps.setup()
print("ready", flush=True)


def adds(i):
    releases.add(1)


def sleeps(i):
    time.sleep(0.01)


def other(add):
    time.sleep(0.3)
    while True:
        add(1)
        time.sleep(0)


def under_loader():
    callback = ctypes.CFUNCTYPE(None, ctypes.c_int)(lambda i: None)
    while True:
        releases.under_loader(callback)
        time.sleep(0.01)


def loop(function, body):
    function(1 << 30, ctypes.CFUNCTYPE(None, ctypes.c_int)(body))


if way == "barrier":
    keeps.on_workers(ctypes.CFUNCTYPE(None, ctypes.c_int)(lambda i: None))
elif way == "healthy":
    loop(releases.for_all, sleeps)
elif way == "held":
    threading.Thread(target=other, args=(releases.add,), name="adder", daemon=True).start()
    time.sleep(0.1)
    keeps.hold()
elif way == "self":
    loop(releases.for_all_locked, adds)
elif way.startswith("critical"):
    by = keeps if way == "critical" else releases
    threading.Thread(target=other, args=(by.add_critical,), daemon=True).start()
    loop(releases.for_all_critical, sleeps)
elif way.startswith("loader"):
    by = keeps if way == "loader" else releases
    threading.Thread(target=under_loader, daemon=True).start()
    threading.Thread(target=loop, args=(releases.for_all, sleeps), daemon=True).start()
    while True:
        while not releases.is_under_loader():
            time.sleep(0.01)
        by.after_loader()
else:
    threading.Thread(target=other, args=((keeps if way == "lock" else releases).add,), daemon=True).start()
    loop(releases.for_all_locked, sleeps)
