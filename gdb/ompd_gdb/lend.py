"""gdb's callbacks: answers to the questions of DebuggerService.

They do not parse gdb's text output.
"""

import contextlib
import os
import re
import signal
import struct
import sys
import tempfile

import gdb

PAGE = 4096
MASK = (1 << 64) - 1
MAX_ANSWER = 2 << 20  # bytes of memory in one answer; the child requests less
MAX_AUXV = 64  # entries; the kernel writes about twenty
MAX_ARGS = 1 << 20  # words of arguments and environment, more than ARG_MAX allows
MAX_MAIN_STACK = 16 << 20  # bytes of the initial stack that are searched for the vector

# By gdb's name of the architecture: the API's name, registers by DWARF number, the
# registers that hold the thread pointer, the system call and the mask of pointer
# authentication, and those in which integer arguments are passed.
X86 = "rax rdx rcx rbx rsi rdi rbp rsp r8 r9 r10 r11 r12 r13 r14 r15 rip".split()
X86_ARGUMENTS = "rdi rsi rdx rcx r8 r9".split()
ARM = ["x%d" % n for n in range(31)] + ["sp", "pc"]
ARCHITECTURES = {
    "i386:x86-64": ("x86-64", X86, "fs_base", "orig_rax", None, X86_ARGUMENTS),
    "i386:x86-64:intel": ("x86-64", X86, "fs_base", "orig_rax", None, X86_ARGUMENTS),
    "aarch64": ("aarch64", ARM, "tpidr", None, "pauth_cmask", ARM[:8]),
}

# Signals by which debuggers stop programs.
STOPS = ("SIGTRAP", "SIGSTOP", "SIGINT")


def pthread_of(thread):
    """Returns the pthread_t of a thread with the key of the protocol, or nothing without libthread_db."""
    try:
        return {"pthread": int.from_bytes(thread.handle(), sys.byteorder)}
    except (gdb.error, ValueError, AttributeError):
        return {}


class Unsupported(Exception):
    """A program that cannot be inspected."""


@contextlib.contextmanager
def selection():
    """Restores the selected thread and frame."""
    thread, frame = gdb.selected_thread(), None
    try:
        frame = gdb.selected_frame()
    except gdb.error:
        pass
    try:
        yield
    finally:
        if thread is not None and thread.is_valid():
            if gdb.selected_thread() != thread:
                thread.switch()
            if frame is not None and frame.is_valid():
                frame.select()


def target_kind(inferior):
    """Returns how gdb accesses the program: native, core, remote, extended-remote, …"""
    connection = getattr(inferior, "connection", None)
    return connection.type if connection is not None else "native"


def local_path(path):
    """Returns a path without the mark of remote files."""
    path = path or ""
    return path[len("target:"):] if path.startswith("target:") else path


class Lender:
    """Answers questions about one inferior."""

    def __init__(self, inferior):
        self.inferior = inferior
        name = inferior.architecture().name()
        if name not in ARCHITECTURES:
            raise Unsupported("unsupported architecture %s: only x86-64 and aarch64 are supported" % name)
        self.arch, self.registers, self.pointer, self.syscall, self.mask, self.arguments = ARCHITECTURES[name]
        self.requests = self.bytes = 0

    # The program.

    def threads(self):
        """Returns the living threads, in gdb's order."""
        return sorted((t for t in self.inferior.threads() if t.is_valid() and not t.is_exited()), key=lambda t: t.num)

    def about(self, signaled=None):
        """Returns the picture's target. signaled is the thread that a signal stopped, if any."""
        core = target_kind(self.inferior) == "core"
        about = {"kind": "TARGET_KIND_" + ("CORE" if core else "PROCESS"), "pid": self.inferior.pid, "arch": self.arch,
                 "executable": local_path(self.inferior.progspace.filename)}
        if core:
            threads = self.threads()
            about.update(self.signal_of(threads[0]) if threads else {})
        elif signaled is not None and signaled.is_valid():
            about.update(self.signal_of(signaled))
        return about

    def signal_of(self, thread):
        """Returns the signal of a thread, with the picture's keys."""
        with selection():
            thread.switch()
            try:
                info = gdb.parse_and_eval("$_siginfo")
                name = signal.Signals(int(info["si_signo"])).name
                if name in STOPS:
                    return {}
                out = {"signal": name, "crashed_lwp": thread.ptid[1], "signal_code": int(info["si_code"])}
                if name in ("SIGSEGV", "SIGBUS", "SIGILL", "SIGFPE") and int(info["si_code"]) > 0:
                    out["fault_address"] = int(info["_sifields"]["_sigfault"]["si_addr"]) & MASK
                return out
            except (gdb.error, ValueError):
                return {}

    def powers(self):
        """Returns the powers besides memory, symbols and threads."""
        out = ["POWER_REGISTERS"]
        if self.maps_file() is not None:
            out.append("POWER_MAPPINGS")
        return out

    def word(self, address):
        """Returns a word of memory."""
        return struct.unpack("<Q", self.read(address, 8))[0]

    def read(self, address, size):
        """Reads memory. Raises gdb.MemoryError if a part is missing."""
        self.requests += 1
        data = bytes(self.inferior.read_memory(address, size))
        self.bytes += len(data)
        return data

    def auxv(self):
        """Returns the auxiliary vector, which the kernel has written to the initial stack."""
        try:
            at = self.word(int(gdb.parse_and_eval("&__libc_stack_end")) & MASK)
            found = self.vector_after_environment(at)
            if found:
                return found
        except (gdb.error, ValueError):
            pass
        return self.vector_on_stack()

    def vector_after_environment(self, at):
        """Returns the vector, if the program's arguments start at address at."""
        count = self.word(at)
        if not 0 < count < MAX_ARGS:
            return {}
        at += 8 * (count + 2)
        for _ in range(MAX_ARGS):
            if self.word(at) == 0:
                return parse_vector(self.read_partly(at + 8, 16 * MAX_AUXV))
            at += 8
        return {}

    def read_partly(self, address, size):
        """Reads memory up to the first unreadable byte."""
        try:
            return self.read(address, size)
        except gdb.MemoryError:
            return self.readable(address, size)

    def vector_on_stack(self):
        """Searches the stack of the initial thread for the vector."""
        for thread in self.threads():
            if thread.ptid[1] == self.inferior.pid:
                break
        else:
            return {}
        with selection():
            thread.switch()
            at = int(gdb.newest_frame().read_register("sp")) & MASK & ~7
        tail = b""
        for _ in range(MAX_MAIN_STACK // (16 * PAGE)):
            size = 16 * PAGE - at % PAGE
            data = self.read_partly(at, size)
            found = find_vector(tail + data)
            if found or len(data) < size:
                return found
            at, tail = at + size, data[-16 * MAX_AUXV:]
        return {}

    def maps_file(self):
        """Returns the kernel's list of mappings, or None if it is not available."""
        path = "/proc/%d/maps" % self.inferior.pid
        kind = target_kind(self.inferior)
        try:
            if kind == "native":
                with open(path) as f:
                    return f.read()
            if kind in ("remote", "extended-remote"):
                return fetch_file(path).decode(errors="replace")
        except (OSError, gdb.error):
            pass
        return None

    # Answers.

    def answer(self, question):
        """Returns the answer to one question."""
        for kind, by in (("memory", self.memory), ("symbol", self.symbol), ("threads", self.native_threads),
                         ("type", self.type), ("mappings", self.mappings)):
            if kind in question:
                try:
                    return by(question[kind])
                except gdb.error as e:
                    return error_answer("ANSWER_CODE_UNSPECIFIED", str(e))
        return error_answer("ANSWER_CODE_UNSUPPORTED", "this gdb does not support the question")

    def memory(self, q):
        """Reads as much as possible from the start."""
        address, size = int(q.get("address", 0)), min(int(q.get("size", 0)), MAX_ANSWER)
        answer = {}
        try:
            data = self.read(address, size)
        except (gdb.MemoryError, OverflowError):
            data = self.readable(address, size)
            answer["code"] = "ANSWER_CODE_UNMAPPED"
        answer["data"] = data
        return {"memory": answer}

    def readable(self, address, size):
        """Reads the longest readable prefix of a piece of memory: whole pages, and then a part of
        the next one."""
        first = PAGE - address % PAGE
        good = self.longest(address, range(first, size, PAGE))
        rest = min(size - len(good), PAGE)
        return good + self.longest(address + len(good), range(1, rest))

    def longest(self, address, sizes):
        """Reads the memory of the largest readable one of ascending sizes."""
        good, low, high = b"", 0, len(sizes)
        while low < high:
            middle = (low + high) // 2 if low else 0  # often none is readable
            try:
                good, low = self.read(address, sizes[middle]), middle + 1
            except (gdb.MemoryError, OverflowError):
                high = middle
        return good

    def symbol(self, q):
        """Returns the address of a symbol; with lwp, that of the thread's own instance."""
        name, lwp = q["name"], int(q.get("lwp", 0))
        if not re.match(r"^[A-Za-z_.$][A-Za-z0-9_.$@]*$", name):
            return error_answer("ANSWER_CODE_NO_SYMBOL", "not a name of the C language")
        with selection():
            if lwp:
                thread = self.thread(lwp)
                if thread is None:
                    return error_answer("ANSWER_CODE_NO_THREAD", "no LWP %d" % lwp)
                thread.switch()
            try:
                address = int(gdb.parse_and_eval("&'%s'" % name)) & MASK
            except gdb.error as e:
                return error_answer("ANSWER_CODE_NO_SYMBOL", str(e))
        if q.get("file") and not lwp and not self.in_file(address, q["file"]):
            return error_answer("ANSWER_CODE_NO_SYMBOL", "the symbol is in another module")
        return {"symbol": {"address": address}}

    def in_file(self, address, path):
        """Reports whether an address is in a module, by path or base name."""
        name = gdb.solib_name(address) or self.inferior.progspace.filename
        return os.path.basename(local_path(name)) == os.path.basename(path)

    def thread(self, lwp):
        """Returns the thread with an LWP."""
        return next((t for t in self.threads() if t.ptid[1] == lwp), None)

    def native_threads(self, _):
        """Returns all threads with their registers."""
        out = []
        with selection():
            for t in self.threads():
                thread = {"lwp": t.ptid[1] or t.ptid[2]}
                t.switch()
                try:
                    thread["registers"] = self.registers_of(gdb.newest_frame())
                except gdb.error:  # it is running: its pthread_t identifies it without registers
                    thread.update(pthread_of(t))
                out.append(thread)
        return {"threads": {"threads": out}}

    def registers_of(self, frame):
        """Returns the registers of a thread by its innermost frame."""
        def value(name):
            try:
                return int(frame.read_register(name)) & MASK if name else None
            except (gdb.error, ValueError):
                return None
        values = {n: value(name) for n, name in enumerate(self.registers)}
        out = {"values": {n: v for n, v in values.items() if v is not None}}
        for key, name in (("thread_pointer", self.pointer), ("pac_mask", self.mask)):
            v = value(name)
            if v:
                out[key] = v
        call = value(self.syscall)
        if call is not None and call < 1 << 63:
            out["syscall"] = call
        return out

    def type(self, q):
        """Returns the size of a type, or the size and offset of a field."""
        try:
            found = gdb.lookup_type(q["type"]).strip_typedefs()
        except gdb.error as e:
            return error_answer("ANSWER_CODE_NO_TYPE", str(e))
        if not q.get("field"):
            return {"type": {"size": found.sizeof}}
        offset = 0
        for name in q["field"].split("."):
            place = find_field(found, name)
            if place is None:
                return error_answer("ANSWER_CODE_NO_TYPE", "%s has no field %s" % (q["type"], q["field"]))
            offset, found = offset + place[0], place[1]
        return {"type": {"size": found.sizeof, "offset": offset}}

    def mappings(self, _):
        """Returns the kernel's list of mappings."""
        text = self.maps_file()
        if text is None:
            return error_answer("ANSWER_CODE_UNSUPPORTED", "the list is not available")
        out = []
        for line in text.splitlines():
            words = line.split(None, 5)
            low, high = (int(x, 16) for x in words[0].split("-"))
            m = {"low": low, "high": high, "file_offset": int(words[2], 16)}
            m.update({name: True for name, c in (("read", "r"), ("write", "w"), ("exec", "x")) if c in words[1]})
            if len(words) > 5 and words[5].startswith("/"):
                m["file"] = words[5]
            out.append(m)
        return {"mappings": {"mappings": out}}


def error_answer(code, message):
    """Returns an answer with an error."""
    return {"error": {"code": code, "message": message}}


def parse_vector(data):
    """Parses the auxiliary vector at the start of data. Returns an empty one if it has no end
    there."""
    out = {}
    for key, value in struct.iter_unpack("<QQ", data[:len(data) & ~15]):
        if key == 0:
            return out
        out[key] = value
    return {}


def find_vector(data):
    """Finds the auxiliary vector in a piece of a stack. It contains the page size (6: 4096 or
    more), the size of program headers (4: 56) and their number (5)."""
    mark = struct.pack("<QQ", 4, 56)
    at = data.find(mark)
    while at >= 0:
        if at % 8 == 0:
            begin = at
            while begin >= 16 and struct.unpack_from("<Q", data, begin - 16)[0] in range(1, 64):
                begin -= 16
            found = parse_vector(data[begin:])
            if found.get(6, 0) >= PAGE and 5 in found and 3 in found:
                return found
        at = data.find(mark, at + 1)
    return {}


def fetch_file(path):
    """Reads a file of the machine of a gdbserver."""
    with tempfile.TemporaryDirectory() as folder:
        to = os.path.join(folder, "file")
        gdb.execute("remote get %s %s" % (path, to), to_string=True)
        with open(to, "rb") as f:
            return f.read()


def find_field(type_, name):
    """Returns offset and type of a field, also of one in unnamed members."""
    if type_.code not in (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION):
        return None
    for f in type_.fields():
        if not hasattr(f, "bitpos") or f.bitsize:
            continue
        inner = f.type.strip_typedefs()
        if f.name == name:
            return f.bitpos // 8, inner
        if not f.name or f.is_base_class:
            place = find_field(inner, name)
            if place is not None:
                return f.bitpos // 8 + place[0], place[1]
    return None
