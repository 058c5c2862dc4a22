# Defines the command "counted COMMAND", which runs a command of LLVM's plugin and says how many reads of how many bytes
# the OMPD library asked the debugger for.
import gdb
import ompd_callbacks

asked = []
read = ompd_callbacks._read


def noted(address, size):
    asked.append(size)
    return read(address, size)


ompd_callbacks._read = noted


class Counted(gdb.Command):
    def __init__(self):
        super(Counted, self).__init__("counted", gdb.COMMAND_USER)

    def invoke(self, argument, from_tty):
        asked.clear()
        gdb.execute(argument)
        print("counted %s: %d reads, %d bytes" % (argument, len(asked), sum(asked)))


Counted()
