package stacks

import (
	"slices"
	"strings"
	"unsafe"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/code/arch"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
	"github.com/ompd-inspect/ompd-inspect/internal/stack/unwind"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// MaxFrames bounds a native stack.
const MaxFrames = 512

// Reader reads the registers and the native stacks of a target's threads.
type Reader struct {
	code  *Code
	notes *Notes
}

// NewReader returns a Reader of the target of code. It adds its warnings to notes.
func NewReader(code *Code, notes *Notes) *Reader { return &Reader{code, notes} }

// Thread is a thread of the target. Its registers and its stack are read at most once.
type Thread struct {
	LWP           int     // 0 for a thread that only a runtime lists
	Pthread       uint64  // its pthread_t; 0 if it is unknown
	Errs          []error // of reading it
	reader        *Reader
	regs          *callbacks.Registers
	registersRead bool
	stack         *Stack
}

// NewThread returns a thread of the target. Its lwp is 0 if only a runtime lists it.
func (s *Reader) NewThread(lwp int, pthread uint64) Thread {
	return Thread{LWP: lwp, Pthread: pthread, reader: s}
}

// Stack is a native stack, innermost frame first.
type Stack struct {
	Frames []unwind.Frame
	Kinds  []Kind // by frame
	// TailCalled is the number of innermost frames of the C library that were called by a function of the program
	// without a frame: it ended in a tail call. The next frame is a runtime's.
	TailCalled int
	Err        error // of unwinding it to its end
	// Python are the frames of Python and R outwards of the last native frame, if the stack could not be unwound to its
	// end.
	Python []picture.Frame
	code   *Code
}

// Kind is the owner of a frame's code.
type Kind uint8

// The owners of code.
const (
	KindUser    Kind = iota // the program
	KindRuntime             // an OpenMP runtime, or code that it called
	KindSystem              // the C library and the start of threads
	KindGlue                // Go's runtime, the code between Go and C, and libraries for devices
)

// InProcess reports whether the code is the program's or a runtime's.
func (k Kind) InProcess() bool { return k != KindSystem && k != KindGlue }

// word returns the kind as a picture has it.
func (k Kind) word() picture.FrameKind {
	switch k {
	case KindRuntime:
		return picture.FrameRuntime
	case KindSystem, KindGlue:
		return picture.FrameSystem
	}
	return picture.FrameUser
}

// Registers returns the registers of the thread, nil if they are unknown.
func (n *Thread) Registers() *callbacks.Registers {
	if n.registersRead || n.LWP == 0 {
		return n.regs
	}
	n.registersRead = true
	rr, ok := n.reader.code.Target.(callbacks.RegisterReader)
	if !ok {
		return nil
	}
	regs, err := rr.Registers(callbacks.LWP(uint64(n.LWP)))
	if err != nil {
		n.Errs = append(n.Errs, err)
		return nil
	}
	if in, ok := arch.FutexCall(&regs, n.reader.code.Target); ok {
		regs = in // it sleeps before it does any work
	} else if in, ok := arch.ContinuedCall(&regs, n.reader.code.Target); ok {
		regs = in
	}
	n.regs = &regs
	return n.regs
}

// OnFutex reports whether the thread is known to sleep on a futex.
func (n *Thread) OnFutex() bool {
	regs := n.Registers()
	if regs == nil {
		return false
	}
	_, asleep := arch.IsFutexWait(regs)
	return asleep
}

// Stack returns the native stack of the thread.
func (n *Thread) Stack() *Stack {
	if n.stack != nil {
		return n.stack
	}
	s := n.reader
	st := &Stack{code: s.code}
	n.stack = st
	regs := n.Registers()
	if regs == nil || s.code.Unwinder == nil {
		s.readPython(n)
		return st
	}
	frames, err := s.code.Unwinder.Stack(*regs, MaxFrames)
	if err != nil && len(frames) > 0 && s.code.starts(frames[len(frames)-1].LookupPC()) {
		err = nil // the outermost function of a thread or program has no tables for its caller
	}
	if err != nil {
		frames, err = s.resume(n, frames, err)
	}
	st.Frames, st.Err = frames, err
	s.notes.keep("threads", uintptr(len(frames))*unsafe.Sizeof(unwind.Frame{}))
	if err != nil {
		n.Errs = append(n.Errs, err)
	}
	s.readBeyond(st)
	st.classify(s.code.KindOf, rtl.ProgramCall(arch.SyscallName(regs.Arch, regs.Syscall)) ||
		s.tailCalls(frames, regs))
	st.classifyThreadStart()
	if err := s.code.python().placePython(n.Pthread, st); err != nil {
		n.Errs = append(n.Errs, err)
	}
	return st
}

// KnownStack returns the stack if it was unwound before.
func (n *Thread) KnownStack() (*Stack, bool) { return n.stack, n.stack != nil }

// tailCalls reports whether a thread in the C library was called by a function of the program that ended in a
// tail call. The runtime's frame there calls through a pointer, as for functions of regions and tasks; it calls
// the C library by name.
func (s *Reader) tailCalls(frames []unwind.Frame, regs *callbacks.Registers) bool {
	i := slices.IndexFunc(frames, func(f unwind.Frame) bool { return s.code.KindOf(f) != KindSystem })
	if i < 1 || frames[i].Exact || s.code.KindOf(frames[i]) != KindRuntime {
		return false
	}
	call, ok := arch.CallBefore(regs.Arch, s.code.Target, frames[i].PC)
	return ok && call.Kind == arch.CallRegister
}

// Complete reports whether the stack ends at a function without a caller.
func (st *Stack) Complete() bool {
	if st.Err != nil || len(st.Frames) == 0 {
		return false
	}
	last := st.Frames[len(st.Frames)-1]
	return last.Outermost || st.code.starts(last.LookupPC())
}

// OfMain reports whether the stack is that of the thread that executes main.
func (st *Stack) OfMain() bool {
	return slices.ContainsFunc(st.Frames[max(len(st.Frames)-maxStartFrames, 0):], func(f unwind.Frame) bool {
		return st.code.startsProgram(f.LookupPC())
	})
}

// maxStartFrames bounds the frames of the code that calls main.
const maxStartFrames = 4

// classify finds the owner of each frame. C library code that the runtime called counts as the runtime's. An
// exception are the innermost frames of a system call that only programs make: a function of the program
// tail-called the C library. Another one is the frame between a handler of the program and the code that its signal
// interrupted.
func (st *Stack) classify(kindOf func(unwind.Frame) Kind, programCall bool) {
	st.Kinds = make([]Kind, len(st.Frames))
	for i, f := range st.Frames {
		st.Kinds[i] = kindOf(f)
	}
	first := slices.IndexFunc(st.Kinds, func(k Kind) bool { return k != KindSystem })
	if programCall && first > 0 && st.Kinds[first] == KindRuntime {
		st.TailCalled = first
	}
	for i := len(st.Kinds) - 2; i >= st.TailCalled; i-- {
		if st.Frames[i].Signal && i > 0 && st.Kinds[i-1] == KindUser {
			continue
		}
		if st.Kinds[i] == KindSystem && st.Kinds[i+1] == KindRuntime {
			st.Kinds[i] = KindRuntime
		}
	}
	st.classifyDevices()
}

// classifyThreadStart counts the function that the C library's first function of a thread called as the C library's,
// too, if it is linked into the program. Its name differs: start_thread of glibc, start of musl.
func (st *Stack) classifyThreadStart() {
	i := len(st.Frames) - 2
	if i >= 0 && st.Kinds[i] == KindUser && st.code.linkedIn() && st.code.startsThread(st.Frames[i+1].LookupPC()) {
		st.Kinds[i] = KindSystem
	}
}

// classifyDevices counts code that LLVM's offloading library called as that library's, if it is a driver's or the C
// library's.
func (st *Stack) classifyDevices() {
	offload := false
	for i, f := range slices.Backward(st.Frames) {
		switch {
		case f.Module == nil:
			offload = false
		case st.Kinds[i] == KindGlue && rtl.IsOffloadModule(f.Module.Path):
			offload = true
		case offload && (st.Kinds[i] == KindSystem || rtl.IsDeviceDriver(f.Module.Path)):
			st.Kinds[i] = KindGlue
		default:
			offload = false
		}
	}
}

// RuntimeFrames returns the number of runtime frames at the top of the stack; 0 if the innermost frame is not
// the runtime's.
func (st *Stack) RuntimeFrames() int {
	n := 0
	for n < len(st.Kinds) && st.Kinds[n] == KindRuntime {
		n++
	}
	return n
}

// CalledFunction returns the name of the function that frame user called, and the source of the name.
func (st *Stack) CalledFunction(user int) (name, by string) {
	if name := st.code.CallTarget(st.Frames[user].PC); name != "" {
		return name, "call instruction"
	}
	if st.code.Symbols == nil {
		return "", ""
	}
	if name, _, ok := st.code.Symbols.Exported(st.Frames[user-1].LookupPC()); ok {
		return name, "symbol of the frame"
	}
	return "", ""
}

// InFunction reports whether the thread is in a function of the C library with a name that starts with function.
func (n *Thread) InFunction(function string) bool {
	st := n.Stack()
	if n.reader.code.Symbols == nil {
		return false
	}
	for _, f := range st.Frames {
		name, system := n.reader.code.SystemFunction(f)
		if !system {
			return strings.HasPrefix(n.reader.code.CalledIn(f), function)
		}
		if strings.HasPrefix(name, function) {
			return true
		}
	}
	return false
}

// InnermostIs reports whether function has the innermost frame outside of the C library.
func (n *Thread) InnermostIs(function string) bool {
	if n.reader.code.Symbols == nil {
		return false
	}
	for _, f := range n.Stack().Frames {
		if _, system := n.reader.code.SystemFunction(f); !system && f.Module != nil {
			at, err := n.reader.code.Symbols.Function(f.LookupPC())
			return err == nil && at.Function == function
		}
	}
	return false
}

// CalledByProgram reports whether the program's code called the C library function that the thread is in.
func (n *Thread) CalledByProgram() bool {
	st := n.Stack()
	i := slices.IndexFunc(st.Kinds, func(k Kind) bool { return k != KindSystem })
	return st.TailCalled > 0 || i >= 0 && st.Kinds[i] == KindUser
}

// lostStack is the number of bytes to read of a stack after the last frame that could be unwound: the frames of
// a runtime and of the program's outlined functions need less.
const lostStack = 8 << 10

// readBeyond reads the stack after the last frame that could be unwound. In a rehearsal on a running process,
// some registers of waiting threads are unknown: unwinding may fail then, and succeed on the stopped process.
func (s *Reader) readBeyond(st *Stack) {
	if !s.code.Rehearsing || st.Err == nil || len(st.Frames) == 0 {
		return
	}
	var rest [lostStack]byte
	_ = s.code.Target.ReadMemory(callbacks.Addr(st.Frames[len(st.Frames)-1].Registers.SP()), rest[:])
}

// resume continues a stack that ended with an error, in code that was made at run time. The Python and R calls of the
// thread are witnesses: each has its mark in a native frame.
func (s *Reader) resume(n *Thread, frames []unwind.Frame, err error) ([]unwind.Frame, error) {
	marks := s.code.python().marks(n.Pthread)
	marks = append(marks, s.code.python().rMarks(&Stack{Frames: frames})...)
	all, ok := s.code.Unwinder.Resume(frames, MaxFrames, unwind.Witness{
		Starts: func(f unwind.Frame) bool { return s.code.starts(f.LookupPC()) },
		Agrees: func(fs []unwind.Frame) bool {
			return !slices.ContainsFunc(marks, func(m mark) bool { return !slices.ContainsFunc(fs, m.isIn) })
		},
	})
	if !ok {
		return frames, err
	}
	return all, nil
}

// readPython reads the Python frames of a running thread, and those of R, in a rehearsal, where its registers are
// unknown: most of their objects are needed again when the process is stopped.
func (s *Reader) readPython(n *Thread) {
	if !s.code.Rehearsing {
		return
	}
	s.code.python().readR()
	for _, t := range s.code.python().threads[n.Pthread] {
		_, _ = t.of.Runtime.Calls(t.Thread) // the frames change meanwhile
	}
}

// Goroutine returns the number of the innermost goroutine of the stack, or 0.
func (st *Stack) Goroutine() int64 {
	for _, f := range st.Frames {
		if f.Goroutine != 0 {
			return int64(f.Goroutine)
		}
	}
	return 0
}

// OutermostUser returns the index of the outermost frame of user code, or -1.
func (st *Stack) OutermostUser() int {
	last := len(st.Kinds) - 1
	for last >= 0 && st.Kinds[last] != KindUser {
		last--
	}
	return last
}

// InModule reports whether a frame is in the module.
func (st *Stack) InModule(mod *callbacks.Module) bool {
	for i := range st.Frames {
		if mod.Contains(callbacks.Addr(st.Frames[i].LookupPC())) {
			return true
		}
	}
	return false
}

// RegistersOf returns the known registers of frame i.
func (st *Stack) RegistersOf(i int) callbacks.Registers {
	known := st.Frames[i].Registers
	out := callbacks.Registers{Arch: known.Arch, Syscall: -1}
	for n, v := range known.Values {
		if known.Valid>>n&1 != 0 {
			out.Set(n, v)
		}
	}
	return out
}

// Target returns the target of the threads.
func (s *Reader) Target() callbacks.Target { return s.code.Target }
