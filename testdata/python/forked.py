# forked.py LIBRARY: a process that has used threads of libgomp forks a child by package multiprocessing, which uses
# them, too. It prints the number of the child.
import ctypes
import multiprocessing
import sys

work = ctypes.CFUNCTYPE(None, ctypes.c_int)(lambda i: None)
library = ctypes.CDLL(sys.argv[1])


def team():
    library.for_all(8, work)


team()
child = multiprocessing.get_context("fork").Process(target=team)
child.start()
print(child.pid, flush=True)
child.join()
