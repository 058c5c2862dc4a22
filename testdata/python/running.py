# running.py OUTPUT: threads that execute Python code of many kinds all the time. In a first pass, Python itself reports
# each call, which the program writes to OUTPUT (known_calls.py). Then it prints "ready" and executes the same code
# without an end.
import ctypes
import functools
import sys
import threading

sys.dont_write_bytecode = True
import known_calls

libc = ctypes.CDLL(None)
COMPARE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
ROUNDS = 3


def spend(n):
    total = 0
    for i in range(n):
        total += i * i
    return total


def recursive(n):
    if n > 0:
        return recursive(n - 1) + spend(5)
    return spend(40)


def values():
    yield spend(30)
    yield recursive(
        3,
    )


def outer_values():
    yield from values()


class Made:
    def __init__(self, v):
        self.v = v
        self.values = [w for w in outer_values()]

    def __lt__(self, other):
        return spend(20) < self.v < other.v

    def __del__(self):
        spend(10)

    @property
    def half(self):
        return spend(10) // 2


class Maker(type):
    def __call__(cls, *arguments):
        return super().__call__(*arguments)


class Context(metaclass=Maker):
    def __enter__(self):
        return sorted([3, 1, 2], key=lambda v: Made(v).half)

    def __exit__(self, *_):
        return spend(10) > 0


@functools.lru_cache(maxsize=None)
def cached(_):
    with Context():
        raise ValueError(recursive(2))


async def inner():
    array = (ctypes.c_int * 3)(3, 2, 1)

    def compare(a, b):
        return spend(20) and 1

    libc.qsort(array, 3, 4, COMPARE(compare))
    return max(map(Made, [1, 2])).v  # no object with __del__ is left to the collector, which may run anywhere


async def coroutine():
    return await inner()


def größe():
    class Body:
        try:
            coroutine().send(None)
        except StopIteration as e:
            value = e.value

    return Body


def work(training):
    rounds = 0
    while not training or rounds < ROUNDS:
        cached(threading.get_ident() + rounds)
        größe()
        rounds += 1
        if rounds % ROUNDS == 0:
            cached.cache_clear()


def run(training):
    if training:
        sys.setprofile(known_calls.record)
        threading.setprofile(known_calls.record)
    else:
        known_calls.write(sys.argv[1])
        print("ready", flush=True)
    other = threading.Thread(target=work, args=(training,), name="other", daemon=True)
    other.start()
    work(training)
    other.join()
    sys.setprofile(None)
    threading.setprofile(None)


for training in (True, False):
    run(training)
