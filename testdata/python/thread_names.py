# thread_names.py [COUNT]: threads with names of Python's module threading: a default name, names of one, two and four
# bytes a character, a class of its own, attributes in a dictionary, a name that is changed later, COUNT further ones,
# and a thread that Python did not start. It prints "THREAD NUMBER NAME" for each that threading.enumerate() returns,
# with the pthread_t as a hexadecimal number, then "ready", and waits for its standard input.
import _thread
import sys
import threading

count = int(sys.argv[1]) if len(sys.argv) > 1 else 0
go_on = threading.Event()
parked = threading.Semaphore(0)


def park():
    parked.release()
    go_on.wait()


def park_foreign():
    threading.current_thread()  # lists it, as Dummy-N
    park()


class Loader(threading.Thread):
    """A thread with more attributes than instances of a class share keys for."""

    def __init__(self, name):
        super().__init__(name=name, daemon=True)
        for i in range(40):
            setattr(self, f"attribute_{i}", i)

    def run(self):
        park()


def thread(name):
    return threading.Thread(target=park, name=name, daemon=True)


renamed = thread("before")
read = thread("attributes read")
threads = [thread(None), thread("größe"), thread("читатель"), thread("🐍 feeds"), Loader("loader"), renamed, read]
threads += [thread(f"worker {i}") for i in range(count)]
for t in threads:
    t.start()
_thread.start_new_thread(park_foreign, ())
for _ in range(len(threads) + 1):
    parked.acquire()
renamed.name = "after"
len(read.__dict__)  # makes a dictionary of the attributes
# Names that were deleted from a dictionary leave marks in it.
for name in [f"deleted_{i}" for i in range(100)]:
    globals()[name] = 0
    del globals()[name]
for t in threading.enumerate():
    print("THREAD", hex(t.ident), t.name, flush=True)
print("ready", flush=True)
sys.stdin.read()
