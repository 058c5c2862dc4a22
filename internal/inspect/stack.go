package inspect

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

// stacks has the native stacks of threads, each unwound at most once.
type stacks struct {
	roster *roster
	code   *codeNames
}

// stack is a native stack, cut in segments.
type stack struct {
	frames []unwind.Frame
	kinds  []frameKind
	// tailCalled counts the innermost frames that are the C library's in a call of the
	// program's, with a runtime's behind them: a tail call removed the program's frame.
	tailCalled int
	err        error
}

// frameKind is what a frame's code belongs to.
type frameKind uint8

const (
	kindUser    frameKind = iota
	kindRuntime           // an OpenMP runtime, or code that it called
	kindSystem            // the C library and what starts threads
	kindGlue              // Go's runtime, and what stands between Go and C
)

// inside reports whether code is the program's or a runtime's.
func (k frameKind) inside() bool { return k != kindSystem && k != kindGlue }

func (k frameKind) word() picture.FrameKind {
	switch k {
	case kindRuntime:
		return picture.FrameRuntime
	case kindSystem, kindGlue:
		return picture.FrameSystem
	}
	return picture.FrameUser
}

// stackOf returns the native stack of n, unwound at most once.
func (s *stacks) stackOf(n *native) *stack {
	if n.stack != nil {
		return n.stack
	}
	n.stack = &stack{}
	regs := s.roster.registers(n)
	if regs == nil || s.code.unw == nil {
		return n.stack
	}
	frames, err := s.code.unw.Stack(*regs, MaxFrames)
	if err != nil && len(frames) > 0 && s.code.startsThread(frames[len(frames)-1].LookupPC()) {
		err = nil // the outermost function of a thread has no tables for its caller
	}
	n.stack.frames, n.stack.err = frames, err
	s.roster.notes.keep("threads", uintptr(len(frames))*unsafe.Sizeof(unwind.Frame{}))
	if err != nil {
		n.errs = append(n.errs, err)
	}
	s.readOn(n.stack)
	n.stack.classify(s.code.kindOf, rtl.ProgramCall(arch.SyscallName(regs.Arch, regs.Syscall)) ||
		s.tailCalls(frames, regs))
	return n.stack
}

// tailCalls reports whether a thread that is in the C library came there from a function of the
// program that ended in a tail call: the runtime behind it calls by a pointer, as it calls the
// functions of regions and tasks, and calls the C library by name.
func (s *stacks) tailCalls(frames []unwind.Frame, regs *callbacks.Registers) bool {
	i := slices.IndexFunc(frames, func(f unwind.Frame) bool { return s.code.kindOf(f) != kindSystem })
	if i < 1 || frames[i].Exact || s.code.kindOf(frames[i]) != kindRuntime {
		return false
	}
	call, ok := arch.CallBefore(regs.Arch, s.code.target, frames[i].PC)
	return ok && call.Kind == arch.CallRegister
}

// whole reports whether a stack was followed to the function that nothing called.
func (s *stacks) whole(st *stack) bool {
	if st.err != nil || len(st.frames) == 0 {
		return false
	}
	last := st.frames[len(st.frames)-1]
	return last.Outermost || s.code.startsThread(last.LookupPC()) || s.code.startsProgram(last.LookupPC())
}

// classify says what each frame belongs to. Code of the C library that the runtime called
// is the runtime's, but for the innermost in a system call that can only be the program's:
// a function of the program tail-called it.
func (st *stack) classify(kindOf func(unwind.Frame) frameKind, programCall bool) {
	st.kinds = make([]frameKind, len(st.frames))
	for i, f := range st.frames {
		st.kinds[i] = kindOf(f)
	}
	first := slices.IndexFunc(st.kinds, func(k frameKind) bool { return k != kindSystem })
	if programCall && first > 0 && st.kinds[first] == kindRuntime {
		st.tailCalled = first
	}
	for i := len(st.kinds) - 2; i >= st.tailCalled; i-- {
		if st.kinds[i] == kindSystem && st.kinds[i+1] == kindRuntime {
			st.kinds[i] = kindRuntime
		}
	}
}

// topSegment returns the number of frames of the runtime segment at the top of
// the stack; 0 if the innermost frame is not the runtime's.
func (st *stack) topSegment() int {
	n := 0
	for n < len(st.kinds) && st.kinds[n] == kindRuntime {
		n++
	}
	return n
}

// calledFunction names the function that frame user called.
func (s *stacks) calledFunction(st *stack, user int) (name, by string) {
	if name := s.code.callTarget(st.frames[user].PC); name != "" {
		return name, "call instruction"
	}
	if s.code.sym == nil {
		return "", ""
	}
	if name, _, ok := s.code.sym.Exported(st.frames[user-1].LookupPC()); ok {
		return name, "symbol of the frame"
	}
	return "", ""
}

// called reports whether the C library's frames on top of n's stack are those of one
// of its functions.
func (s *stacks) called(n *native, function string) bool {
	st := s.stackOf(n)
	if s.code.sym == nil {
		return false
	}
	for _, f := range st.frames {
		name, system := s.code.systemFunction(f)
		if !system {
			return strings.HasPrefix(s.code.callTarget(f.PC), function)
		}
		if strings.HasPrefix(name, function) {
			return true
		}
	}
	return false
}

// sleepsIn reports whether the innermost frame of n's stack outside of the C library is that
// of a function.
func (s *stacks) sleepsIn(n *native, function string) bool {
	if s.code.sym == nil {
		return false
	}
	for _, f := range s.stackOf(n).frames {
		if _, system := s.code.systemFunction(f); !system && f.Module != nil {
			at, err := s.code.sym.Function(f.LookupPC())
			return err == nil && at.Function == function
		}
	}
	return false
}

// fromProgram reports whether the program's code called the C library, in which n is.
func (s *stacks) fromProgram(n *native) bool {
	st := s.stackOf(n)
	i := slices.IndexFunc(st.kinds, func(k frameKind) bool { return k != kindSystem })
	return st.tailCalled > 0 || i >= 0 && st.kinds[i] == kindUser
}
