"""`omp taskframes`: the frames at which a thread's tasks were entered and left."""

import gdb

from . import child, follow, frames, lend, session

SERVICE = "ompd.v1.OmpdService/"
API_VERSION = 202111  # OpenMP 5.2
MAX_TASKS = 1000  # tasks of a thread that are printed

# ompt_frame_flag_t.
APPLICATION = 0x01
CFA = 0x10

# Reasons of errors.
UNAVAILABLE = "UNAVAILABLE"
UNTRACKED = ("NEEDS_STATE_TRACKING", "UNSUPPORTED")


class TaskFrames(gdb.Command):
    """The frames at which the tasks of the selected thread were entered and left.

Usage: omp taskframes

For each task, from the innermost one to the initial task, as ompd_get_task_frame
returns them: the exit frame, from which the runtime called the task's code, and the
enter frame, by which that code called the runtime again. LLVM's runtime stores them
if the program was started with OMP_DEBUG=enabled."""

    def __init__(self):
        super().__init__("omp taskframes", gdb.COMMAND_STACK)

    @session.guarded
    def invoke(self, arg, _):
        """Prints the frames."""
        if arg.strip():
            raise gdb.GdbError("omp taskframes: it takes no argument")
        thread = gdb.selected_thread()
        if thread is None:
            raise gdb.GdbError("omp taskframes: no thread is selected")
        s = session.current()
        places = follow.Places(s)
        lwp = thread.ptid[1]
        t = places.by_lwp.get(lwp)
        if t is None or t["role"] == "none":
            raise gdb.GdbError("omp taskframes: the selected thread is no OpenMP thread")
        try:
            tasks = read_tasks(s, lwp)
        except child.CallError as e:
            if e.reason not in UNTRACKED:
                raise
            raise gdb.GdbError("omp taskframes: only LLVM's runtime stores the frames of tasks, and only if the "
                               "program was started with OMP_DEBUG=enabled")
        gdb.write("TASK FRAMES  of LWP %d, %s\n" % (lwp, places.name(t)))
        stacks = Stacks(s, thread)
        for n, (exit_frame, enter_frame) in enumerate(tasks):
            gdb.write("  task %d%s\n" % (n, ", the innermost" if n == 0 else ""))
            gdb.write("    exit   %s\n" % stacks.describe(exit_frame, True))
            gdb.write("    enter  %s\n" % stacks.describe(enter_frame, False))


def read_tasks(s, lwp):
    """Returns the exit and enter frames of the tasks of a thread, innermost first."""
    def call(method, **request):
        return s.child.call(SERVICE + method, request)

    call("Initialize", api_version=API_VERSION)
    spaces = [a["handle"] for a in call("ProcessInitialize", target=s.target).get("address_spaces", [])]
    try:
        task, out = current_task(call, spaces, lwp), []
        while task and len(out) < MAX_TASKS:
            f = call("GetTaskFrame", task_handle=task)
            out.append((f.get("exit_frame", {}), f.get("enter_frame", {})))
            # The scheduling task is the one that an explicit task interrupted on the thread; an implicit task has
            # that which reached the parallel construct.
            task = (ask(call, "GetSchedulingTaskHandle", "task_handle", task_handle=task) or
                    ask(call, "GetGeneratingTaskHandle", "generating_task_handle", task_handle=task))
        return out
    finally:
        for space in spaces:
            call("RelAddressSpaceHandle", handle=space)


def ask(call, method, field, **request):
    """Makes a call and returns a field of the response, or "" if the runtime has no answer."""
    try:
        return call(method, **request).get(field, "")
    except child.CallError as e:
        if e.reason != UNAVAILABLE:
            raise
        return ""


def current_task(call, spaces, lwp):
    """Returns the handle of the task that a thread executes, in the runtime that knows the thread."""
    for space in spaces:
        thread = ask(call, "GetThreadHandle", "thread_handle", handle=space,
                     thread_id={"kind": "THREAD_ID_KIND_LWP", "value": lwp})
        if thread:
            task = ask(call, "GetCurrTaskHandle", "task_handle", thread_handle=thread)
            if task:
                return task
    raise gdb.GdbError("omp taskframes: the runtime has no task of LWP %d" % lwp)


class Stacks:
    """The native stacks of the threads, in which frames are searched by address."""

    def __init__(self, s, selected):
        threads = s.lender.threads()
        self.selected = selected
        self.threads = [selected] + [t for t in threads if t.num != selected.num]
        self.read = {}  # by the number of the thread

    def describe(self, frame, is_exit):
        """Describes a frame of a task: its address, its number and function in the thread's backtrace, and the
        function of the task that it calls (the exit frame) or that calls it (the enter frame)."""
        if "frame_address" not in frame:
            return "none"
        address = int(frame["frame_address"])
        text = "0x%x" % address
        if frame.get("frame_flag", 0) & APPLICATION:
            text += " (application)"
        # The canonical frame address is the first one above the frame.
        inside = address - 1 if frame.get("frame_flag", 0) & CFA else address
        for thread in self.threads:
            for low, high, line, callee, caller in self.frames(thread):
                if low <= inside < high:
                    line += "  calls " + callee if is_exit else "  called by " + caller
                    if thread is not self.selected:
                        line += "  in LWP %d" % thread.ptid[1]
                    return text + "  " + line
        return text + "  in no frame that gdb can read"

    def frames(self, thread):
        """Returns the bounds, the line, the callee and the caller of each frame of a thread; a frame ends at its
        caller's stack pointer."""
        if thread.num not in self.read:
            self.read[thread.num] = out = []
            with lend.selection():
                try:
                    thread.switch()
                    frame, callee = gdb.newest_frame(), "?"
                    while frame is not None and len(out) < frames.MAX_NATIVE:
                        older = frame.older()
                        if older is not None and frame.type() != gdb.INLINE_FRAME:
                            out.append((stack_pointer(frame), stack_pointer(older), frame_text(frame), callee,
                                        function_of(older)))
                        frame, callee = older, function_of(frame)
                except gdb.error:  # the rest of the stack cannot be read
                    pass
        return self.read[thread.num]


def stack_pointer(frame):
    """Returns the stack pointer of a frame."""
    return int(frame.read_register("sp")) & lend.MASK


def function_of(frame):
    """Returns the function of a frame, or its address."""
    return frame.name() or "0x%x" % frame.pc()


def frame_text(frame):
    """Returns the number and the function of a frame as `bt` has them."""
    sal = frame.find_sal()
    text = "#%d %s" % (frame.level(), function_of(frame))
    if sal.symtab is not None:
        return text + " at %s:%d" % (sal.symtab.filename, sal.line)
    module = gdb.solib_name(frame.pc())
    return text + (" from " + module if module else "")


def register():
    """Makes the command."""
    TaskFrames()
