#!/usr/bin/env python3
"""A debugger without any knowledge of OpenMP: it stops a process, lends its callbacks to an ompd-inspect
server by DebuggerService, and prints what comes back. x86-64 Linux.

    protoc -I proto --python_out=generated proto/ompd/v1/*.proto
    PYTHONPATH=generated lend.py unix:///tmp/oi.sock PID
"""

import ctypes
import os
import queue
import struct
import sys
import threading

import grpc
from ompd.v1 import debugger_service_pb2 as debugger
from ompd.v1 import inspection_service_pb2 as inspection
from ompd.v1 import picture_pb2

PTRACE_GETREGS, PTRACE_ATTACH, PTRACE_DETACH, WALL = 12, 16, 17, 0x40000000
# user_regs_struct, and the registers by DWARF number
WORDS = ("r15 r14 r13 r12 rbp rbx r11 r10 r9 r8 rax rcx rdx rsi rdi orig_rax rip cs eflags rsp ss "
         "fs_base gs_base ds es fs gs").split()
DWARF = "rax rdx rcx rbx rsi rdi rbp rsp r8 r9 r10 r11 r12 r13 r14 r15 rip".split()

libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p]
libc.ptrace.restype = ctypes.c_long


def ptrace(request, tid, data=None):
    if libc.ptrace(request, tid, None, data) < 0:
        raise OSError(ctypes.get_errno(), "ptrace of thread %d" % tid)


def registers(tid):
    """Returns the registers of a stopped thread."""
    words = (ctypes.c_ulonglong * len(WORDS))()
    ptrace(PTRACE_GETREGS, tid, ctypes.addressof(words))
    r = dict(zip(WORDS, words))
    out = debugger.Registers(thread_pointer=r["fs_base"])
    for n, name in enumerate(DWARF):
        out.values[n] = r[name]
    call = struct.unpack("q", struct.pack("Q", r["orig_rax"]))[0]
    if call >= 0:
        out.syscall = call
    return out


class Process:
    """A process that this debugger has stopped."""

    def __init__(self, pid):
        self.dir, self.threads = "/proc/%d" % pid, []
        self.memory = os.open(self.dir + "/mem", os.O_RDONLY)
        for tid in map(int, os.listdir(self.dir + "/task")):
            ptrace(PTRACE_ATTACH, tid)
            os.waitpid(tid, WALL)
            self.threads.append(debugger.NativeThread(lwp=tid, registers=registers(tid)))

    def detach(self):
        """Resumes the process."""
        for t in self.threads:
            ptrace(PTRACE_DETACH, t.lwp)

    def hello(self):
        """Returns the first message, which describes the process."""
        about = picture_pb2.Target(kind=picture_pb2.TARGET_KIND_PROCESS, arch="x86-64",
                                   executable=os.readlink(self.dir + "/exe"))
        powers = [debugger.POWER_REGISTERS, debugger.POWER_MAPPINGS]
        return debugger.AttachRequest(hello=debugger.Hello(about=about, powers=powers))

    def mappings(self):
        """Returns the memory mappings."""
        out = debugger.MappingsAnswer()
        with open(self.dir + "/maps") as f:
            for words in (line.split(maxsplit=5) for line in f):
                low, high = (int(a, 16) for a in words[0].split("-"))
                out.mappings.add(low=low, high=high, read="r" in words[1], write="w" in words[1], exec="x" in words[1],
                                 file_offset=int(words[2], 16), file=words[5].strip() if len(words) > 5 else "")
        return out

    def answer(self, q):
        """Answers one question. A debugger that lists the mappings needs no symbols: the server reads the files."""
        if q.HasField("memory"):
            try:
                data = os.pread(self.memory, q.memory.size, q.memory.address)
            except (OSError, OverflowError):
                data = b""  # fewer than asked for say where it ends
            return debugger.Answer(memory=debugger.MemoryAnswer(data=data))
        if q.HasField("threads"):
            return debugger.Answer(threads=debugger.ThreadsAnswer(threads=self.threads))
        if q.HasField("mappings"):
            return debugger.Answer(mappings=self.mappings())
        return debugger.Answer(error=debugger.AnswerError(message="not in this debugger"))


def serve(p, asked, said):
    """Answers the server's questions until the stream ends."""
    try:
        for m in asked:
            answers = [p.answer(q) for q in m.questions.questions]
            said.put(debugger.AttachRequest(answers=debugger.Answers(id=m.questions.id, answers=answers)))
    except grpc.RpcError as e:
        if e.code() != grpc.StatusCode.CANCELLED:  # the end of main closes the channel
            raise


def word(enum, number):
    """Returns the word of an enum value: its name without the prefix, in lower case."""
    prefix = enum.Name(0)[:-len("UNSPECIFIED")]
    return enum.Name(number)[len(prefix):].lower() if number else ""


def report(channel, p):
    """Lends the process to a server and prints the server's verdicts and threads."""
    said = queue.SimpleQueue()
    said.put(p.hello())
    attach = channel.stream_stream("/ompd.v1.DebuggerService/Attach", debugger.AttachRequest.SerializeToString,
                                   debugger.AttachResponse.FromString)
    asked = attach(iter(said.get, None))
    name = next(asked).target.name
    get_report = channel.unary_stream("/ompd.v1.InspectionService/GetReport",
                                      inspection.GetReportRequest.SerializeToString,
                                      inspection.GetReportResponse.FromString)
    threading.Thread(target=serve, args=(p, asked, said), daemon=True).start()
    whole = picture_pb2.Picture()
    for part in get_report(inspection.GetReportRequest(target=name)):
        whole.MergeFrom(part.picture)
    said.put(None)
    for v in whole.verdicts:
        print("%s: %s (%s)" % (word(picture_pb2.VerdictKind, v.kind), v.summary,
                                 word(picture_pb2.Certainty, v.certainty)))
    for t in whole.threads:
        if t.HasField("thread_num"):
            print("LWP %d: thread %d, %s %s" % (t.lwp, t.thread_num, word(picture_pb2.StateName, t.state.name), t.wait_name))


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: lend.py ADDRESS PID")
    process = Process(int(sys.argv[2]))
    try:
        with grpc.insecure_channel(sys.argv[1]) as server:
            report(server, process)
    finally:
        process.detach()
