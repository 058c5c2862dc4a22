package inspect

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/arch"
	"github.com/ompd-inspect/ompd-inspect/rtl"
	"github.com/ompd-inspect/ompd-inspect/symbolize"
	"github.com/ompd-inspect/ompd-inspect/unwind"
)

// stack is a native stack, cut in segments.
type stack struct {
	frames []unwind.Frame
	kinds  []frameKind
	own    int // innermost frames of the C library in a call of the program's, below which is a runtime
	err    error
}

// frameKind is what a frame's code belongs to.
type frameKind uint8

const (
	kindUser    frameKind = iota
	kindRuntime           // an OpenMP runtime, or code that it called
	kindSystem            // the C library and what starts threads
	kindGlue              // Go's runtime, and what stands between Go and C
)

func (k frameKind) String() string {
	switch k {
	case kindRuntime:
		return FrameRuntime
	case kindSystem, kindGlue:
		return FrameSystem
	}
	return FrameUser
}

// stackOf returns the native stack of n, unwound at most once.
func (in *Inspector) stackOf(n *native) *stack {
	if n.stack != nil {
		return n.stack
	}
	n.stack = &stack{}
	regs := in.registers(n)
	if regs == nil || in.cfg.Unwinder == nil {
		return n.stack
	}
	frames, err := in.cfg.Unwinder.Stack(*regs, MaxFrames)
	if err != nil && len(frames) > 0 && in.startsThread(frames[len(frames)-1].LookupPC()) {
		err = nil // the outermost function of a thread has no tables for its caller
	}
	n.stack.frames, n.stack.err = frames, err
	if err != nil {
		n.errs = append(n.errs, err)
	}
	n.stack.classify(in.kindOf, rtl.ProgramCall(arch.SyscallName(regs.Arch, regs.Syscall)))
	return n.stack
}

// whole tells whether a stack was followed to the function that nothing called.
func (in *Inspector) whole(st *stack) bool {
	if st.err != nil || len(st.frames) == 0 {
		return false
	}
	last := st.frames[len(st.frames)-1]
	return last.Outermost || in.startsThread(last.LookupPC()) || in.startsProgram(last.LookupPC())
}

// classify says what each frame belongs to. Code of the C library that the runtime called
// is the runtime's, but for the innermost in a system call that can only be the program's:
// a function of the program jumped there.
func (st *stack) classify(kindOf func(unwind.Frame) frameKind, programCall bool) {
	st.kinds = make([]frameKind, len(st.frames))
	for i, f := range st.frames {
		st.kinds[i] = kindOf(f)
	}
	first := slices.IndexFunc(st.kinds, func(k frameKind) bool { return k != kindSystem })
	if programCall && first > 0 && st.kinds[first] == kindRuntime {
		st.own = first
	}
	for i := len(st.kinds) - 2; i >= st.own; i-- {
		if st.kinds[i] == kindSystem && st.kinds[i+1] == kindRuntime {
			st.kinds[i] = kindRuntime
		}
	}
}

func (in *Inspector) kindOf(f unwind.Frame) frameKind {
	pc := f.LookupPC()
	if in.owned(pc) {
		return kindRuntime
	}
	if f.Module == nil || isSystem(f.Module) {
		return kindSystem
	}
	if f.Module.Main && in.startsProgram(pc) {
		return kindSystem
	}
	if in.isGlue(f) {
		return kindGlue
	}
	return kindUser
}

// owned tells whether the code at pc is that of an OpenMP runtime.
func (in *Inspector) owned(pc uint64) bool {
	return slices.ContainsFunc(in.runtimes, func(rt *runtimeView) bool { return rt.Owns(pc) })
}

// startsProgram tells whether pc is in the code that calls main.
func (in *Inspector) startsProgram(pc uint64) bool {
	if in.cfg.Symbolizer == nil {
		return false
	}
	f, err := in.cfg.Symbolizer.Function(pc)
	return err == nil && (f.Function == "_start" || strings.HasPrefix(f.Function, "__libc_start"))
}

// startsThread tells whether pc is in the function in which threads begin.
func (in *Inspector) startsThread(pc uint64) bool {
	if in.cfg.Symbolizer == nil {
		return false
	}
	f, err := in.cfg.Symbolizer.Function(pc)
	return err == nil && slices.Contains([]string{"clone", "clone3", "__clone", "__clone3", "__clone_internal"}, f.Function)
}

// systemModules are the libraries whose frames people do not call theirs.
var systemModules = []string{"libc.so", "libpthread.so", "ld-linux", "libdl.so", "libm.so", "librt.so", "ld-musl", "libc-"}

func isSystem(m *callbacks.Module) bool {
	base := filepath.Base(m.Path)
	if base == "[vdso]" {
		return true
	}
	for _, p := range systemModules {
		if strings.HasPrefix(base, p) {
			return true
		}
	}
	return false
}

// evidence returns what the state of n can be inferred from, gathered at most
// once.
func (in *Inspector) evidence(n *native) *rtl.Evidence {
	if n.seen == nil {
		n.seen = in.gather(n)
	}
	return n.seen
}

// evidenceOf is the evidence of the thread that a runtime calls h.
func (in *Inspector) evidenceOf(h handles.Thread) *rtl.Evidence {
	if n := in.byHandle[h]; n != nil {
		return in.evidence(n)
	}
	return nil
}

func (in *Inspector) gather(n *native) *rtl.Evidence {
	regs := in.registers(n)
	if regs == nil {
		return nil
	}
	ev := &rtl.Evidence{Registers: regs}
	if regs.Syscall >= 0 {
		ev.Syscall = arch.SyscallName(regs.Arch, regs.Syscall)
	}
	if w, ok := arch.IsFutexWait(regs); ok {
		ev.Futex = w
	}
	st := in.stackOf(n)
	top := st.topSegment()
	ev.Outside = len(st.kinds) > 0 && !slices.ContainsFunc(st.kinds, func(k frameKind) bool { return k != kindSystem && k != kindGlue })
	for i := range st.frames {
		ev.Frames = append(ev.Frames, in.evidenceFrame(n, st, i))
		if st.kinds[i] == kindUser {
			break
		}
	}
	ev.Jumped = st.own > 0
	ev.Cut = st.err != nil && !slices.Contains(st.kinds, kindUser)
	if top > 0 && top < len(st.frames) && st.kinds[top] == kindUser {
		ev.Entry = in.entry(st, top)
	}
	return ev
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

func (in *Inspector) evidenceFrame(n *native, st *stack, i int) rtl.EvidenceFrame {
	f := st.frames[i]
	ef := rtl.EvidenceFrame{PC: f.PC, CFA: f.CFA}
	if f.Module != nil {
		ef.Module = filepath.Base(f.Module.Path)
	}
	ef.Owned = n.rt != nil && n.rt.Owns(f.LookupPC())
	if in.cfg.Symbolizer != nil && ef.Owned {
		if name, low, ok := in.cfg.Symbolizer.Exported(f.LookupPC()); ok {
			ef.Symbol, ef.Low = name, low
		}
	}
	return ef
}

// entry describes the call by which frame user, the innermost one of user code,
// entered the runtime.
func (in *Inspector) entry(st *stack, user int) *rtl.Entry {
	ret := st.frames[user].PC
	e := &rtl.Entry{
		Return:    ret,
		StackLow:  callbacks.At(st.frames[0].Registers.SP()),
		StackHigh: callbacks.At(st.frames[user-1].CFA),
	}
	e.Function, e.By = in.calledFunction(st, user)
	regs := st.frames[user].Registers
	e.Arg = func(n int) (uint64, bool) {
		if v, ok := in.argument(ret, n, regs); ok {
			return v, true
		}
		return in.flowArgument(st, user, n)
	}
	return e
}

// calledFunction names the function that frame user called.
func (in *Inspector) calledFunction(st *stack, user int) (name, by string) {
	if name := in.callTarget(st.frames[user].PC); name != "" {
		return name, "call instruction"
	}
	if in.cfg.Symbolizer == nil {
		return "", ""
	}
	if name, _, ok := in.cfg.Symbolizer.Exported(st.frames[user-1].LookupPC()); ok {
		return name, "symbol of the frame"
	}
	return "", ""
}

// callTarget names what the call instruction before the return address ret
// calls, or "".
func (in *Inspector) callTarget(ret uint64) string {
	sym := in.cfg.Symbolizer
	a := in.cfg.Target.Arch()
	call, ok := arch.CallBefore(a, in.cfg.Target, ret)
	if !ok || sym == nil {
		return ""
	}
	slot := call.Target
	if call.Kind == arch.CallDirect {
		if name := entryName(sym, call.Target); name != "" {
			return name
		}
		if slot, ok = arch.PLTSlot(a, in.cfg.Target, call.Target); !ok {
			return ""
		}
	} else if call.Kind != arch.CallSlot {
		return ""
	}
	if name, ok := sym.SlotSymbol(slot); ok {
		return name
	}
	return ""
}

// entryName returns the name of the function that starts at addr.
func entryName(sym *symbolize.Symbolizer, addr uint64) string {
	f, err := sym.Function(addr)
	if err != nil || f.Low != addr {
		return ""
	}
	return f.Linkage
}

// argument returns integer argument n of the call that returns to ret, if the
// calling code shows it.
func (in *Inspector) argument(ret uint64, n int, regs callbacks.Registers) (uint64, bool) {
	low, _, ok := in.cfg.Unwinder.FunctionBounds(ret - 1)
	if !ok {
		return 0, false
	}
	a := in.cfg.Target.Arch()
	v, ok := arch.ArgBefore(a, in.cfg.Target, low, ret, n)
	if !ok {
		return 0, false
	}
	r, err := v.Resolve(&regs, in.cfg.Target)
	return r, err == nil
}

// exported names code that is not the user's by what its module exports.
func exported(sym *symbolize.Symbolizer, pc uint64) []symbolize.Frame {
	name, low, ok := sym.Exported(pc)
	if !ok {
		return nil
	}
	return []symbolize.Frame{{Function: name, Linkage: name, Low: low, Offset: pc - low, Source: symbolize.SourceDynsym}}
}

// lookupNative names the code at pc in native stacks: what is not exported by all
// symbols that there are, also those of separate debug files, of which the C
// library has tens of thousands.
func (in *Inspector) lookupNative(pc uint64, kind frameKind) []symbolize.Frame {
	fs := in.lookup(pc, kind)
	if len(fs) > 0 || in.cfg.Symbolizer == nil {
		return fs
	}
	if f, err := in.cfg.Symbolizer.Function(pc); err == nil {
		fs = append(fs, f)
	}
	return fs
}

// lookup names the code at the lookup address pc, innermost inlined frame first.
// The C library and the runtimes get function names only: their debug information
// is large where it is installed, and their lines are not what people look for.
func (in *Inspector) lookup(pc uint64, kind frameKind) []symbolize.Frame {
	if fs, ok := in.code[pc]; ok {
		return fs
	}
	var fs []symbolize.Frame
	switch sym := in.cfg.Symbolizer; {
	case sym == nil:
	case kind == kindRuntime || kind == kindSystem:
		fs = exported(sym, pc)
	default:
		fs, _ = sym.Code(pc) // a frame without a name is shown by its address
		fs = in.goNames(pc, fs)
	}
	in.code[pc] = fs
	return fs
}
