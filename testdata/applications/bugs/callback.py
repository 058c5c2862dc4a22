# A parallel loop calls back into Python while the thread that forked it has the interpreter's
# lock: PyDLL does not release it.
import ctypes
import sys

library = ctypes.PyDLL(sys.argv[1])
work = ctypes.CFUNCTYPE(None, ctypes.c_int)(lambda i: None)
library.for_all(100, work)
