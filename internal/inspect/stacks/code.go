package stacks

import (
	"path/filepath"
	"slices"
	"sync"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/code/arch"
	"github.com/ompd-inspect/ompd-inspect/internal/image/libc"
	"github.com/ompd-inspect/ompd-inspect/internal/lockflow"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
	"github.com/ompd-inspect/ompd-inspect/internal/stack/symbolize"
	"github.com/ompd-inspect/ompd-inspect/internal/stack/unwind"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// Code names the code of a target: the function, file and line of an address, the owner of the code, and the
// functions that its call instructions call.
type Code struct {
	Target   callbacks.Target
	Symbols  *symbolize.Symbolizer // nil: code has no names
	Unwinder *unwind.Unwinder      // nil: there are no stacks
	runtimes []rtl.Runtime         // the owners of runtime code
	names
	functions *Functions // has names
	// Rehearsing is set while only the reads of the target matter: code gets no names.
	Rehearsing bool

	// Mappings returns the memory mappings of the target; nil if they are unknown.
	Mappings func() []callbacks.Mapping
	linkedIn func() bool // the C library is linked into the executable

	values *values // nil: frames have no values
	python func() *python

	// PerfMap reads the perf map of the target: the names of functions that it made at run time.
	PerfMap   func() []byte
	generated func() *generated

	// constructs has the construct of each outlined function without a recognizable name, by entry.
	constructs map[uint64]Construct
}

// NewCode returns the names of the code of a target. It continues with the results in known, which may be nil.
func NewCode(
	t callbacks.Target, sym *symbolize.Symbolizer, unw *unwind.Unwinder, runtimes []rtl.Runtime, known *Functions,
) *Code {
	known = known.continued(runtimes)
	c := &Code{
		Target: t, Symbols: sym, Unwinder: unw, runtimes: runtimes,
		names: known.names, functions: known, linkedIn: sync.OnceValue(func() bool {
			return libc.New(libc.Config{Target: t}).Kind() == libc.Unknown
		}),
		Mappings:   sync.OnceValue(func() []callbacks.Mapping { return MappingsOf(t) }),
		constructs: map[uint64]Construct{},
	}
	c.PerfMap = func() []byte { return nil }
	c.generated = sync.OnceValue(func() *generated { return newGenerated(c, c.PerfMap) })
	c.python = sync.OnceValue(func() *python { return newPython(c) })
	return c
}

// Construct describes an outlined function, as the runtime knows it.
type Construct struct {
	Kind     string // parallel or task
	Function string // the function of the program that contains it, as the compiler passed it to the runtime; or empty
}

// callArg is an argument of the call that returns to an address.
type callArg struct {
	ret uint64
	n   int
}

// codeWord is the value of an argument as code shows it. It is the same for all threads.
type codeWord struct {
	value arch.Value
	shown bool
}

// ModuleOf returns the module around pc, or nil.
func (c *Code) ModuleOf(pc uint64) *callbacks.Module {
	if c.Symbols == nil {
		return nil
	}
	return c.Symbols.Module(pc)
}

// namesAt names the code at the lookup address pc, innermost inlined frame first.
// For the C library and the runtimes it returns function names only: their debug information
// is large where it is installed, and users do not look for their lines.
func (c *Code) namesAt(pc uint64, kind Kind) []symbolize.Frame {
	fs, ok := c.known[pc]
	if !ok && c.Symbols != nil && pc != 0 && c.Symbols.Module(pc) == nil {
		fs = c.generated().name(pc) // also in a rehearsal: its name is in the target's memory
		c.known[pc] = fs
		return fs
	}
	if ok || c.Rehearsing {
		return fs
	}
	switch sym := c.Symbols; {
	case sym == nil:
	case kind == KindRuntime || kind == KindSystem:
		fs = exportedName(sym, pc)
		if f, err := sym.Function(pc); len(fs) == 0 && c.interposed[pc] && err == nil {
			fs = append(fs, f)
		}
	default:
		fs, _ = sym.Code(pc) // a frame without a name is shown by its address
		fs = c.completeGoNames(pc, fs)
	}
	c.known[pc] = fs
	return fs
}

// NativeNames names the code at pc for a native stack. Functions that are not exported are looked up in all
// symbols, including those of separate debug files: the C library has tens of thousands.
func (c *Code) NativeNames(pc uint64, kind Kind) []symbolize.Frame {
	fs := c.namesAt(pc, kind)
	if len(fs) > 0 || c.Symbols == nil {
		return fs
	}
	if f, err := c.Symbols.Function(pc); err == nil {
		fs = append(fs, f)
	}
	return fs
}

// Frames returns the source-level frames of a native frame, innermost inlined function first.
// A frame of a Python interpreter has the Python frames that it runs, or that are next outwards.
func (c *Code) Frames(f unwind.Frame, kind Kind) []picture.Frame {
	if fs := c.pythonFrames(f); len(fs) > 0 {
		return fs
	}
	out := nameFrames(f, kind, c.namesAt(f.LookupPC(), kind))
	if len(out) == 1 && out[0].Function == "" && kind == KindUser {
		out[0].Entry = picture.Address(c.FunctionEntry(f)) // it identifies a function without a name
	}
	c.values.addTo(f, kind, out)
	return out
}

// NativeFrames returns the frames of a native frame for a native stack.
func (c *Code) NativeFrames(f unwind.Frame, kind Kind) []picture.Frame {
	out := nameFrames(f, kind, c.NativeNames(f.LookupPC(), kind))
	c.values.addTo(f, kind, out)
	return out
}

// InnermostFrame returns the first frame of FramesWithConstruct.
func (c *Code) InnermostFrame(f unwind.Frame, kind Kind) *picture.Frame {
	return &c.FramesWithConstruct(f, kind)[0]
}

// FramesWithConstruct returns Frames. Each outlined function has its construct and the function of the program
// that contains the construct, as found on the stacks of all threads.
func (c *Code) FramesWithConstruct(f unwind.Frame, kind Kind) []picture.Frame {
	fs := c.Frames(f, kind)
	entry := fs[len(fs)-1].Entry
	if entry == nil {
		return fs
	}
	is := c.constructs[uint64(*entry)]
	for i := range fs {
		if fs[i].Construct == symbolize.ConstructOutlined && is.Kind != "" {
			fs[i].Construct = is.Kind
		}
		if fs[i].Construct != "" && fs[i].In == "" {
			fs[i].In = is.Function
		}
	}
	return fs
}

// NoteConstruct records the construct of an outlined function, by its entries. If the linker merged the
// functions of two constructs, the entry has no construct.
func (c *Code) NoteConstruct(is Construct, entries ...*picture.Hex) {
	for _, e := range entries {
		if e == nil || is.Function == "" {
			continue
		}
		known, ok := c.constructs[uint64(*e)]
		if ok && known.Function != is.Function {
			c.constructs[uint64(*e)] = Construct{}
			continue
		}
		c.constructs[uint64(*e)] = is
	}
}

// FunctionEntry returns the entry address of the function around f, 0 if it is unknown.
func (c *Code) FunctionEntry(f unwind.Frame) uint64 {
	if low, _, ok := c.Unwinder.FunctionBounds(f.LookupPC()); ok {
		if entry, part := c.PartOf(low); part && entry != 0 {
			return entry
		}
		return low
	}
	if c.Symbols != nil {
		if s, err := c.Symbols.Function(f.LookupPC()); err == nil {
			return s.Low
		}
	}
	return 0
}

// StartsFunction reports whether a function of the program starts at addr, by the unwind tables.
func (c *Code) StartsFunction(addr uint64) bool {
	low, _, ok := c.Bounds(addr)
	if !ok || low != addr || c.Class(addr) != lockflow.User {
		return false
	}
	_, part := c.PartOf(low)
	return !part
}

// CallTarget returns the name of the function that is called by the instruction before the return address ret,
// or "".
func (c *Code) CallTarget(ret uint64) string {
	name, ok := c.calls[ret]
	if !ok {
		name = c.readCallTarget(ret)
		c.calls[ret] = name
	}
	return name
}

// CalledIn returns the name of the function that a frame has called, or "". The innermost frame, and one that a signal
// interrupted, have called none: before their next instruction, another function may end with a call.
func (c *Code) CalledIn(f unwind.Frame) string {
	if f.Exact {
		return ""
	}
	return c.CallTarget(f.PC)
}

// readCallTarget reads the call target from code.
func (c *Code) readCallTarget(ret uint64) string { return CallTargetBefore(c.Target, c.Symbols, ret) }

// CallTargetBefore returns the name of the function that is called by the instruction before the return address
// ret, or "".
func CallTargetBefore(target callbacks.Target, sym *symbolize.Symbolizer, ret uint64) string {
	a := target.Arch()
	call, ok := arch.CallBefore(a, target, ret)
	if !ok || sym == nil {
		return ""
	}
	slot := call.Target
	if call.Kind == arch.CallDirect {
		if name := EntryName(sym, call.Target); name != "" {
			return name
		}
		if slot, ok = arch.PLTSlot(a, target, call.Target); !ok {
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

// CallsProgram reports whether the call before the return address ret calls a function of the program, or
// calls through a pointer that is not an import.
func (c *Code) CallsProgram(ret uint64) bool {
	a := c.Target.Arch()
	call, ok := arch.CallBefore(a, c.Target, ret)
	switch {
	case !ok || c.Symbols == nil:
		return false
	case call.Kind == arch.CallDirect:
		_, stub := arch.PLTSlot(a, c.Target, call.Target)
		return !stub && c.Class(call.Target) == lockflow.User
	case call.Kind == arch.CallSlot:
		_, imported := c.Symbols.SlotSymbol(call.Target)
		return !imported
	}
	return true
}

// LockCall is the call of a function for locks of OpenMP.
type LockCall struct {
	Frame        int // number of the program's frame that contains the call
	Name, Family string
}

// MaxLibraryFrames bounds the frames of libraries between a fault and the program's call.
const MaxLibraryFrames = 64

// LockCallAfter returns the call of a function for locks in which a thread was at frame number from: the program's
// innermost call after that frame.
func (c *Code) LockCallAfter(st *Stack, from int) (LockCall, bool) {
	for i := from + 1; i < min(len(st.Frames), from+MaxLibraryFrames); i++ {
		if st.Kinds[i-1] == KindUser && st.Frames[i-1].Module != nil {
			break // the program's code, and no address without code to which the runtime jumped
		}
		if st.Kinds[i] != KindUser {
			continue
		}
		name := c.CallTarget(st.Frames[i].PC)
		call, ok := rtl.LockCallOf(name)
		return LockCall{i, name, call.Family}, ok && (call.Family == rtl.FamilyLock || call.Family == rtl.FamilyNest)
	}
	return LockCall{}, false
}

// Argument returns integer argument n of the call that returns to ret, if the calling code shows it.
func (c *Code) Argument(ret uint64, n int, regs callbacks.Registers) (uint64, bool) {
	at := callArg{ret, n}
	w, known := c.args[at]
	if !known {
		if low, _, ok := c.Unwinder.FunctionBounds(ret - 1); ok {
			w.value, w.shown = arch.ArgBefore(c.Target.Arch(), c.Target, low, ret, n)
		}
		c.args[at] = w
	}
	if !w.shown {
		return 0, false
	}
	r, err := w.value.Resolve(&regs, c.Target)
	return r, err == nil
}

// FramesAt returns the frames of the program's code at pc, innermost first. exact marks pc as the next
// instruction; else it is a return address.
func (c *Code) FramesAt(pc uint64, exact bool) []picture.Frame {
	return c.FramesWithConstruct(unwind.Frame{PC: pc, Exact: exact, Module: c.ModuleOf(pc)}, KindUser)
}

// CodeAt describes the outlined function at addr. The line that the compiler passed to the runtime comes first,
// then debug information.
func (c *Code) CodeAt(addr callbacks.Address, src handles.SourceLocation) *picture.Code {
	code := &picture.Code{Address: picture.Address(addr.Offset), File: src.File, Line: src.Line}
	if src.Line != 0 {
		code.LineFrom = "runtime"
	}
	sym := c.Symbols
	if addr.IsNull() || sym == nil || c.Rehearsing {
		return code
	}
	if f, err := sym.Function(addr.Offset); err == nil && f.Function != "" {
		code.Name = symbolize.OutlinedName(f.Function)
	}
	if mod := sym.Module(addr.Offset); code.Name == "" && mod != nil {
		code.Module, code.Offset = filepath.Base(mod.Path), addr.Offset-mod.Bias
	}
	if c.InRuntime(addr.Offset) {
		return code
	}
	file, line, err := sym.DeclLine(addr.Offset)
	switch {
	case err != nil || line == 0:
	case code.Line == 0:
		code.File, code.Line, code.LineFrom = file, line, "debug information"
	case code.Line == line, code.File == "": // flang has no file
		code.File = file // the whole path; the compiler's string has that of its command line
	}
	return code
}

// signalFrame names the kernel's trampoline, to which a signal handler returns. The next frame is the
// interrupted one.
const signalFrame = "<signal handler called>"

// nameFrames returns the frames of one native frame, given the names of its code.
func nameFrames(f unwind.Frame, kind Kind, names []symbolize.Frame) []picture.Frame {
	base := picture.Frame{
		Kind: kind.word(), PC: picture.Address(f.PC), How: guessedBy(f.How), Goroutine: int64(f.Goroutine),
	}
	if f.Module != nil {
		base.Module = filepath.Base(f.Module.Path)
	}
	if f.Signal {
		base.Function = signalFrame
		return []picture.Frame{base}
	}
	if len(names) == 0 || len(names) == 1 && names[0].Function == "" && names[0].Line == 0 {
		if f.Module != nil {
			base.Offset = f.PC - f.Module.Bias
		}
		return []picture.Frame{base}
	}
	out := make([]picture.Frame, len(names))
	for i, s := range names {
		out[i] = base
		out[i].Function, out[i].File, out[i].Line, out[i].Near = s.Function, s.File, s.Line, s.Near
		out[i].Inlined = s.Inlined
		if !s.Inlined {
			out[i].Offset, out[i].Entry = s.Offset, picture.Address(s.Low)
		}
		out[i].Construct, _ = symbolize.Construct(s.Linkage)
		out[i].In = s.Around
		if i > 0 && out[i-1].Construct == symbolize.ConstructParallel && symbolize.IsTaskEntry(s.Linkage) {
			out[i-1].Construct = symbolize.ConstructTask // it is named as regions are
		}
	}
	return out
}

// EntryName returns the name of the function that starts at addr.
func EntryName(sym *symbolize.Symbolizer, addr uint64) string {
	if name, low := sym.Linkage(addr); low == addr {
		return name
	}
	return ""
}

// exportedName names the code at pc by the exported symbols of its module.
func exportedName(sym *symbolize.Symbolizer, pc uint64) []symbolize.Frame {
	name, low, ok := sym.Exported(pc)
	if !ok {
		return nil
	}
	f := symbolize.Frame{Function: name, Linkage: name, Low: low, Offset: pc - low, Source: symbolize.SourceDynsym}
	return []symbolize.Frame{f}
}

// guessedBy returns the evidence of a guessed frame, "" for a frame that unwind tables gave.
func guessedBy(h unwind.How) string {
	if h.Guessed() {
		return h.String()
	}
	return ""
}

// ProgramFrame returns the index of the innermost frame with the program's own code in a native frame and the
// functions inlined in it. It is 0 if all are in headers of the C++ library.
func ProgramFrame(fs []picture.Frame) int {
	return max(0, slices.IndexFunc(fs, HasProgramLine))
}

// ProgramCode returns the frame at ProgramFrame.
func ProgramCode(fs []picture.Frame) *picture.Frame {
	return &fs[ProgramFrame(fs)]
}

// HasProgramLine reports whether a frame has a line that is not in a header of the C++ library.
func HasProgramLine(f picture.Frame) bool { return f.Line != 0 && !InLibraryHeader(f) }

// InLibraryHeader reports whether a frame is a template of the C++ library.
func InLibraryHeader(f picture.Frame) bool { return f.InStandardLibrary() }
