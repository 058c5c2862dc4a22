# frames.py OUTPUT: Python frames of many kinds on one stack: a generator, a coroutine, a metaclass, a class body, a
# constructor, a key function, a cached function, a callback from C, recursion and a name that is not ASCII.
# It writes its own stack to OUTPUT, one line "function file line" for each frame, innermost first, prints "ready",
# and waits for its standard input. The line of the innermost frame is that of the call that reads the stack.
import asyncio
import ctypes
import functools
import os
import sys
import traceback

libc = ctypes.CDLL(None)
COMPARE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)


def write_and_wait():
    with open(sys.argv[1], "w", encoding="utf-8") as out:
        for f in reversed(traceback.extract_stack()):
            out.write(f"{f.name} {os.path.basename(f.filename)} {f.lineno}\n")
    print("ready", flush=True)
    sys.stdin.read()


def recursive(n):
    if n > 0:
        return recursive(n - 1)
    return write_and_wait()


def values():
    yield 1
    recursive(
        3,
    )
    yield 2


def outer_values():
    yield from values()


class Made:
    def __init__(self, _):
        self.values = [v for v in outer_values()]


class Maker(type):
    def __call__(cls, *arguments):
        return super().__call__(*arguments)


class Sorted(metaclass=Maker):
    def __init__(self):
        sorted([1, 2], key=lambda v: Made(v))


@functools.lru_cache(maxsize=None)
def cached(_):
    return Sorted()


async def inner():
    array = (ctypes.c_int * 2)(2, 1)

    def compare(_a, _b):
        cached(3)
        return 0

    libc.qsort(array, 2, 4, COMPARE(compare))


async def coroutine():
    await inner()


def größe():
    class Body:
        asyncio.new_event_loop().run_until_complete(coroutine())


größe()
