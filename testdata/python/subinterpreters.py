# A thread executes code of a second interpreter, which sleeps there until the end of the program's input.
import sys
import threading

try:
    import _interpreters as interpreters
    execute = interpreters.exec
except ImportError:
    import _xxsubinterpreters as interpreters
    execute = interpreters.run_string

CODE = """
import os
def leave(n):
    os.write(1, b"ready\\n")
    os.read(n, 1)
leave(%d)
"""


def run(number):
    execute(interpreters.create(), CODE % number)


thread = threading.Thread(target=run, args=(0,))
thread.start()
thread.join()
