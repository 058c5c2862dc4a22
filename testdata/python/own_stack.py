# Writes the Python stack of the calling thread for a test. It is a module of its own, as numba copies the functions of a
# script, with their variables.
import os
import sys
import threading
import traceback

reached = threading.Lock()
held = os.dup(0)  # package multiprocessing closes the standard input of its children


def write_and_wait(*_, **_named):
    if not reached.acquire(blocking=False):
        threading.Event().wait()  # another thread has written its stack
    frames = traceback.extract_stack()
    if threading.current_thread() is not threading.main_thread():  # it has forked the region in the script
        main = traceback.extract_stack(sys._current_frames()[threading.main_thread().ident])
        frames = [f for f in main if f.filename == sys.argv[0]] + frames
    with open(sys.argv[2], "w", encoding="utf-8") as out:
        for f in reversed(frames):
            out.write(f"{f.name} {os.path.basename(f.filename)} {f.lineno}\n")
    print("ready", os.getpid(), threading.get_native_id(), flush=True)
    os.read(held, 1)
    os._exit(0)
