"""gdb's callbacks: answers to the questions of DebuggerService.

Nothing here reads what gdb prints for people.
"""

import contextlib
import os
import re
import signal
import struct
import tempfile

import gdb

PAGE = 4096
MASK = (1 << 64) - 1
MAX_ANSWER = 2 << 20  # bytes of memory that one question gets; the child asks for less
MAX_AUXV = 64  # entries; the kernel gives some twenty
MAX_ARGS = 1 << 20  # words of arguments and environment, more than ARG_MAX has room for
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


class Unsupported(Exception):
    """A program that cannot be looked at."""


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


def kind_of(inferior):
    """How gdb reaches the program: native, core, remote, extended-remote, …"""
    connection = getattr(inferior, "connection", None)
    return connection.type if connection is not None else "native"


def local(path):
    """A path without the mark of remote files."""
    path = path or ""
    return path[len("target:"):] if path.startswith("target:") else path


class Lender:
    """Answers questions about one inferior."""

    def __init__(self, inferior):
        self.inferior = inferior
        name = inferior.architecture().name()
        if name not in ARCHITECTURES:
            raise Unsupported("programs of architecture %s are not read, only x86-64 and aarch64" % name)
        self.arch, self.registers, self.pointer, self.syscall, self.mask, self.arguments = ARCHITECTURES[name]
        self.requests = self.bytes = 0

    # What the program is.

    def threads(self):
        """The threads that are there, in gdb's order."""
        return sorted((t for t in self.inferior.threads() if t.is_valid() and not t.is_exited()), key=lambda t: t.num)

    def about(self, signaled=None):
        """The picture's target; signaled is the event of a signal, if one stopped the
        program."""
        core = kind_of(self.inferior) == "core"
        about = {"kind": "TARGET_KIND_" + ("CORE" if core else "PROCESS"), "pid": self.inferior.pid, "arch": self.arch,
                 "executable": local(self.inferior.progspace.filename)}
        if core:
            threads = self.threads()
            about.update(self.signal_of(threads[0]) if threads else {})
        elif signaled is not None and signaled.is_valid():
            about.update(self.signal_of(signaled))
        return about

    def signal_of(self, thread):
        """The signal that a thread got, in the picture's words."""
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
        """What can be asked for besides memory, symbols and threads."""
        out = ["POWER_REGISTERS"]
        if self.maps_file() is not None:
            out.append("POWER_MAPPINGS")
        return out

    def word(self, address):
        """A word of memory."""
        return struct.unpack("<Q", self.read(address, 8))[0]

    def read(self, address, size):
        """Memory, all of it or gdb.MemoryError."""
        self.requests += 1
        data = bytes(self.inferior.read_memory(address, size))
        self.bytes += len(data)
        return data

    def auxv(self):
        """The auxiliary vector, as the kernel laid it on the initial stack."""
        try:
            at = self.word(int(gdb.parse_and_eval("&__libc_stack_end")) & MASK)
            found = self.vector_behind_environment(at)
            if found:
                return found
        except (gdb.error, ValueError):
            pass
        return self.vector_on_stack()

    def vector_behind_environment(self, at):
        """The vector, if a program's arguments begin at address at."""
        count = self.word(at)
        if not 0 < count < MAX_ARGS:
            return {}
        at += 8 * (count + 2)
        for _ in range(MAX_ARGS):
            if self.word(at) == 0:
                return vector(self.some(at + 8, 16 * MAX_AUXV))
            at += 8
        return {}

    def some(self, address, size):
        """As much of the memory as can be read."""
        try:
            return self.read(address, size)
        except gdb.MemoryError:
            return self.readable(address, size)

    def vector_on_stack(self):
        """The vector, searched for on the stack of the initial thread."""
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
            data = self.some(at, size)
            found = find_vector(tail + data)
            if found or len(data) < size:
                return found
            at, tail = at + size, data[-16 * MAX_AUXV:]
        return {}

    def maps_file(self):
        """The kernel's list of mappings, None where it cannot be had."""
        path = "/proc/%d/maps" % self.inferior.pid
        kind = kind_of(self.inferior)
        try:
            if kind == "native":
                with open(path) as f:
                    return f.read()
            if kind in ("remote", "extended-remote"):
                return fetched(path).decode(errors="replace")
        except (OSError, gdb.error):
            pass
        return None

    # Answers.

    def answer(self, question):
        """The answer to one question."""
        for kind, by in (("memory", self.memory), ("symbol", self.symbol), ("threads", self.native_threads),
                         ("type", self.type), ("mappings", self.mappings)):
            if kind in question:
                try:
                    return by(question[kind])
                except gdb.error as e:
                    return failed("ANSWER_CODE_UNSPECIFIED", str(e))
        return failed("ANSWER_CODE_UNSUPPORTED", "this gdb cannot tell")

    def memory(self, q):
        """As much as can be read from the beginning."""
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
        """The longest beginning of a piece of memory that can be read: whole pages,
        and then what is there of the next."""
        first = PAGE - address % PAGE
        good = self.longest(address, range(first, size, PAGE))
        rest = min(size - len(good), PAGE)
        return good + self.longest(address + len(good), range(1, rest))

    def longest(self, address, sizes):
        """The memory of the largest of ascending sizes that can be read."""
        good, low, high = b"", 0, len(sizes)
        while low < high:
            middle = (low + high) // 2 if low else 0  # often there is nothing at all
            try:
                good, low = self.read(address, sizes[middle]), middle + 1
            except (gdb.MemoryError, OverflowError):
                high = middle
        return good

    def symbol(self, q):
        """The address of a symbol, for a thread's own instance with lwp."""
        name, lwp = q["name"], int(q.get("lwp", 0))
        if not re.match(r"^[A-Za-z_.$][A-Za-z0-9_.$@]*$", name):
            return failed("ANSWER_CODE_NO_SYMBOL", "not a name of the C language")
        with selection():
            if lwp:
                thread = self.thread(lwp)
                if thread is None:
                    return failed("ANSWER_CODE_NO_THREAD", "no LWP %d" % lwp)
                thread.switch()
            try:
                address = int(gdb.parse_and_eval("&'%s'" % name)) & MASK
            except gdb.error as e:
                return failed("ANSWER_CODE_NO_SYMBOL", str(e))
        if q.get("file") and not lwp and not self.in_file(address, q["file"]):
            return failed("ANSWER_CODE_NO_SYMBOL", "gdb knows one in another module")
        return {"symbol": {"address": address}}

    def in_file(self, address, path):
        """Whether an address is in a module, by path or base name."""
        name = gdb.solib_name(address) or self.inferior.progspace.filename
        return os.path.basename(local(name)) == os.path.basename(path)

    def thread(self, lwp):
        """The thread with an LWP."""
        return next((t for t in self.threads() if t.ptid[1] == lwp), None)

    def native_threads(self, _):
        """All threads with their registers."""
        out = []
        with selection():
            for t in self.threads():
                thread = {"lwp": t.ptid[1] or t.ptid[2]}
                t.switch()
                try:
                    thread["registers"] = self.registers_of(gdb.newest_frame())
                except gdb.error:
                    pass  # it runs
                out.append(thread)
        return {"threads": {"threads": out}}

    def registers_of(self, frame):
        """The registers of a thread, whose innermost frame is given."""
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
        """The size of a type, or size and place of a field."""
        try:
            found = gdb.lookup_type(q["type"]).strip_typedefs()
        except gdb.error as e:
            return failed("ANSWER_CODE_NO_TYPE", str(e))
        if not q.get("field"):
            return {"type": {"size": found.sizeof}}
        offset = 0
        for name in q["field"].split("."):
            place = field_of(found, name)
            if place is None:
                return failed("ANSWER_CODE_NO_TYPE", "%s has no field %s" % (q["type"], q["field"]))
            offset, found = offset + place[0], place[1]
        return {"type": {"size": found.sizeof, "offset": offset}}

    def mappings(self, _):
        """The kernel's list of mappings."""
        text = self.maps_file()
        if text is None:
            return failed("ANSWER_CODE_UNSUPPORTED", "the list cannot be had")
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


def failed(code, message):
    """An answer that there is none."""
    return {"error": {"code": code, "message": message}}


def vector(data):
    """The auxiliary vector that data begins with, empty if it does not end there."""
    out = {}
    for key, value in struct.iter_unpack("<QQ", data[:len(data) & ~15]):
        if key == 0:
            return out
        out[key] = value
    return {}


def find_vector(data):
    """The auxiliary vector in a piece of a stack: it has the size of pages (6, 4096 or
    more), the size of program headers (4, 56) and their number (5)."""
    mark = struct.pack("<QQ", 4, 56)
    at = data.find(mark)
    while at >= 0:
        if at % 8 == 0:
            begin = at
            while begin >= 16 and struct.unpack_from("<Q", data, begin - 16)[0] in range(1, 64):
                begin -= 16
            found = vector(data[begin:])
            if found.get(6, 0) >= PAGE and 5 in found and 3 in found:
                return found
        at = data.find(mark, at + 1)
    return {}


def fetched(path):
    """A file of the machine that a gdbserver runs on."""
    with tempfile.TemporaryDirectory() as folder:
        to = os.path.join(folder, "file")
        gdb.execute("remote get %s %s" % (path, to), to_string=True)
        with open(to, "rb") as f:
            return f.read()


def field_of(type_, name):
    """Place in bytes and type of a field, also of one in unnamed members."""
    if type_.code not in (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION):
        return None
    for f in type_.fields():
        if not hasattr(f, "bitpos") or f.bitsize:
            continue
        inner = f.type.strip_typedefs()
        if f.name == name:
            return f.bitpos // 8, inner
        if not f.name or f.is_base_class:
            place = field_of(inner, name)
            if place is not None:
                return f.bitpos // 8 + place[0], place[1]
    return None
