# os_fork.py LIBRARY WAY: a process that has used threads of libgomp forks children that use them, too. It prints the
# number of the last child. WAY is
#   attribute  by os.fork in a function, several times
#   variable   by a name that was imported
#   library    by a class of the standard library
#   several    the function of the child has two calls of fork: the line is unknown
import ctypes
import os
import socketserver
import sys
import threading
from os import fork

work = ctypes.CFUNCTYPE(None, ctypes.c_int)(lambda i: None)
library = ctypes.CDLL(sys.argv[1])


def team():
    library.for_all(8, work)


def by_attribute():
    for i in range(20):
        pid = os.fork()
        if pid == 0:
            if i == 19:
                team()
            os._exit(0)
        if i < 19:
            os.waitpid(pid, 0)
    return pid


def by_variable():
    if pid := fork():
        return pid
    team()


def by_library():
    class Server(socketserver.ForkingMixIn):
        max_children, active_children, block_on_close = 40, None, False

        def finish_request(self, *_):
            team()

        def close_request(self, _):
            pass

    server = Server()
    server.process_request(
        None, None)
    return next(iter(server.active_children))


def by_several():
    if os.environ.get("NEVER"):
        os.fork()
    pid = os.fork()
    if pid == 0:
        team()
    return pid


team()
child = globals()["by_" + sys.argv[2]]()
print(child, flush=True)
os.waitpid(child, 0)
