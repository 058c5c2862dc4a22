package inspect

import (
	"path/filepath"
	"slices"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/code/arch"
	"github.com/ompd-inspect/ompd-inspect/internal/image/libc"
	"github.com/ompd-inspect/ompd-inspect/internal/lockflow"
	"github.com/ompd-inspect/ompd-inspect/internal/stack/symbolize"
	"github.com/ompd-inspect/ompd-inspect/internal/stack/unwind"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// codeNames names the code of a target: which function, file and line an address is
// in, whose code it is, and what its call instructions call.
type codeNames struct {
	target callbacks.Target
	sym    *symbolize.Symbolizer        // nil leaves everything unnamed
	unw    *unwind.Unwinder             // nil: there are no stacks
	openmp []*runtimeView               // whose code is not the program's
	known  map[uint64][]symbolize.Frame // by lookup address
	// rehearsing is set while only what is read of the target counts: nothing is named.
	rehearsing bool

	between map[uint64]bool // standsBetween, by lookup address
	linked  func() bool     // the C library is linked into the executable

	calls map[uint64]string    // what the call before a return address calls
	args  map[callArg]codeWord // what its arguments are

	values *values // nil unless they are asked for

	// within has, by the entry of an outlined function whose name does not tell it, its
	// construct and the function of the program in which that stands.
	within map[uint64]construct
}

// callArg is an argument of the call that returns to an address.
type callArg struct {
	ret uint64
	n   int
}

// codeWord is what code shows of a word, if it does. It is the same for all threads.
type codeWord struct {
	value arch.Value
	shown bool
}

func (c *codeNames) kindOf(f unwind.Frame) frameKind {
	pc := f.LookupPC()
	if c.owned(pc) || c.isRecorder(&f) {
		return kindRuntime
	}
	if f.Module == nil || libc.IsSystem(f.Module.Path) || libc.IsSanitizer(f.Module.Path) {
		return kindSystem
	}
	if c.isGlue(f) {
		return kindGlue
	}
	if c.standsBetween(pc, f.Module) {
		return kindSystem
	}
	return kindUser
}

// recorderFile is the recorder, which stands between a program and its runtime.
const recorderFile = "libompd-recorder.so"

// isRecorder reports whether a frame is the recorder's.
func (*codeNames) isRecorder(f *unwind.Frame) bool {
	return f.Module != nil && filepath.Base(f.Module.Path) == recorderFile
}

// owned reports whether the code at pc is that of an OpenMP runtime.
func (c *codeNames) owned(pc uint64) bool {
	return slices.ContainsFunc(c.openmp, func(rt *runtimeView) bool { return rt.Owns(pc) })
}

// startsProgram reports whether pc is in the code that calls main.
func (c *codeNames) startsProgram(pc uint64) bool {
	if c.sym == nil {
		return false
	}
	f, err := c.sym.Function(pc)
	return err == nil && libc.StartsProgram(f.Function)
}

// startsThread reports whether pc is in the function in which threads begin.
func (c *codeNames) startsThread(pc uint64) bool {
	if c.sym == nil {
		return false
	}
	f, err := c.sym.Function(pc)
	return err == nil && libc.StartsThread(f.Function)
}

func (c *codeNames) moduleOf(pc uint64) *callbacks.Module {
	if c.sym == nil {
		return nil
	}
	return c.sym.Module(pc)
}

// lookup names the code at the lookup address pc, innermost inlined frame first.
// The C library and the runtimes get function names only: their debug information
// is large where it is installed, and their lines are not what people look for.
func (c *codeNames) lookup(pc uint64, kind frameKind) []symbolize.Frame {
	if fs, ok := c.known[pc]; ok || c.rehearsing {
		return fs
	}
	var fs []symbolize.Frame
	switch sym := c.sym; {
	case sym == nil:
	case kind == kindRuntime || kind == kindSystem:
		fs = exported(sym, pc)
		if f, err := sym.Function(pc); len(fs) == 0 && c.between[pc] && err == nil {
			fs = append(fs, f)
		}
	default:
		fs, _ = sym.Code(pc) // a frame without a name is shown by its address
		fs = c.goNames(pc, fs)
	}
	c.known[pc] = fs
	return fs
}

// lookupNative names the code at pc in native stacks: what is not exported by all
// symbols that there are, also those of separate debug files, of which the C
// library has tens of thousands.
func (c *codeNames) lookupNative(pc uint64, kind frameKind) []symbolize.Frame {
	fs := c.lookup(pc, kind)
	if len(fs) > 0 || c.sym == nil {
		return fs
	}
	if f, err := c.sym.Function(pc); err == nil {
		fs = append(fs, f)
	}
	return fs
}

// frames turns one native frame into the frames that people see: inlined
// functions first.
func (c *codeNames) frames(f unwind.Frame, kind frameKind) []picture.Frame {
	out := named(f, kind, c.lookup(f.LookupPC(), kind))
	if len(out) == 1 && out[0].Function == "" && kind == kindUser {
		out[0].Entry = picture.Address(c.functionEntry(f)) // what a function without a name is known by
	}
	c.values.add(f, kind, out)
	return out
}

// innermost is the innermost of frames, with the function of the program in which its construct
// stands, as the stacks of all threads tell it.
func (c *codeNames) innermost(f unwind.Frame, kind frameKind) *picture.Frame {
	return &c.placed(f, kind)[0]
}

// placed is frames, each construct with its kind and the function of the program in which it
// stands, as the stacks of all threads tell it.
func (c *codeNames) placed(f unwind.Frame, kind frameKind) []picture.Frame {
	fs := c.frames(f, kind)
	entry := fs[len(fs)-1].Entry
	if entry == nil {
		return fs
	}
	is := c.within[uint64(*entry)]
	for i := range fs {
		if fs[i].Construct == symbolize.ConstructOutlined && is.kind != "" {
			fs[i].Construct = is.kind
		}
		if fs[i].Construct != "" && fs[i].In == "" {
			fs[i].In = is.in
		}
	}
	return fs
}

// standsIn notes which construct an outlined function was made from, and in which function of the
// program that stands, by its entries. The linker may have made one function of two constructs:
// then it is in none.
func (c *codeNames) standsIn(is construct, entries ...*picture.Hex) {
	for _, e := range entries {
		if e == nil || is.in == "" {
			continue
		}
		known, ok := c.within[uint64(*e)]
		if ok && known.in != is.in {
			c.within[uint64(*e)] = construct{}
			continue
		}
		c.within[uint64(*e)] = is
	}
}

// functionEntry returns the entry address of the function that frame f is in.
func (c *codeNames) functionEntry(f unwind.Frame) uint64 {
	if low, _, ok := c.unw.FunctionBounds(f.LookupPC()); ok {
		return low
	}
	if c.sym != nil {
		if s, err := c.sym.Function(f.LookupPC()); err == nil {
			return s.Low
		}
	}
	return 0
}

// callTarget names what the call instruction before the return address ret
// calls, or "".
func (c *codeNames) callTarget(ret uint64) string {
	name, ok := c.calls[ret]
	if !ok {
		name = c.readCall(ret)
		c.calls[ret] = name
	}
	return name
}

// readCall is callTarget of a call that was not read yet.
func (c *codeNames) readCall(ret uint64) string { return calledBefore(c.target, c.sym, ret) }

// calledBefore names what the call instruction before the return address ret calls, or "".
func calledBefore(target callbacks.Target, sym *symbolize.Symbolizer, ret uint64) string {
	a := target.Arch()
	call, ok := arch.CallBefore(a, target, ret)
	if !ok || sym == nil {
		return ""
	}
	slot := call.Target
	if call.Kind == arch.CallDirect {
		if name := entryName(sym, call.Target); name != "" {
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

// callsProgram reports whether the call before the return address ret is one of a function of the
// program, or through a pointer that is no import.
func (c *codeNames) callsProgram(ret uint64) bool {
	a := c.target.Arch()
	call, ok := arch.CallBefore(a, c.target, ret)
	switch {
	case !ok || c.sym == nil:
		return false
	case call.Kind == arch.CallDirect:
		_, stub := arch.PLTSlot(a, c.target, call.Target)
		return !stub && programCode{c}.Class(call.Target) == lockflow.User
	case call.Kind == arch.CallSlot:
		_, imported := c.sym.SlotSymbol(call.Target)
		return !imported
	}
	return true
}

// argument returns integer argument n of the call that returns to ret, if the
// calling code shows it.
func (c *codeNames) argument(ret uint64, n int, regs callbacks.Registers) (uint64, bool) {
	at := callArg{ret, n}
	w, known := c.args[at]
	if !known {
		if low, _, ok := c.unw.FunctionBounds(ret - 1); ok {
			w.value, w.shown = arch.ArgBefore(c.target.Arch(), c.target, low, ret, n)
		}
		c.args[at] = w
	}
	if !w.shown {
		return 0, false
	}
	r, err := w.value.Resolve(&regs, c.target)
	return r, err == nil
}

// codeAt describes the outlined function at addr. The line that the compiler
// left for the runtime is believed first, then debug information.
func (c *codeNames) codeAt(addr callbacks.Address, src handles.SourceLocation) *picture.Code {
	code := &picture.Code{Address: picture.Address(addr.Offset), File: src.File, Line: src.Line}
	if src.Line != 0 {
		code.LineFrom = "runtime"
	}
	sym := c.sym
	if addr.IsNull() || sym == nil || c.rehearsing {
		return code
	}
	if f, err := sym.Function(addr.Offset); err == nil && f.Function != "" {
		code.Name = f.Function
	}
	if mod := sym.Module(addr.Offset); code.Name == "" && mod != nil {
		code.Module, code.Offset = filepath.Base(mod.Path), addr.Offset-mod.Bias
	}
	if c.owned(addr.Offset) {
		return code
	}
	file, line, err := sym.DeclLine(addr.Offset)
	switch {
	case err != nil || line == 0:
	case code.Line == 0:
		code.File, code.Line, code.LineFrom = file, line, "debug information"
	case code.Line == line, code.File == "": // flang tells no file
		code.File = file // the whole path, where the compiler's string has what was on its command line
	}
	return code
}

// signalFrame stands for the kernel's trampoline, which the handler of a signal returns to: the next frame is where
// the signal came.
const signalFrame = "<signal handler called>"

// named makes the frames of one native frame out of the names of its code.
func named(f unwind.Frame, kind frameKind, names []symbolize.Frame) []picture.Frame {
	base := picture.Frame{
		Kind: kind.word(), PC: picture.Address(f.PC), How: howGuessed(f.How), Goroutine: int64(f.Goroutine),
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
		out[i].Construct, out[i].In = symbolize.Construct(s.Linkage)
		if i > 0 && out[i-1].Construct == symbolize.ConstructParallel && symbolize.IsTaskEntry(s.Linkage) {
			out[i-1].Construct = symbolize.ConstructTask // it is named as regions are
		}
	}
	return out
}

// entryName returns the name of the function that starts at addr.
func entryName(sym *symbolize.Symbolizer, addr uint64) string {
	if name, low := sym.Linkage(addr); low == addr {
		return name
	}
	return ""
}

// exported names code that is not the user's by what its module exports.
func exported(sym *symbolize.Symbolizer, pc uint64) []symbolize.Frame {
	name, low, ok := sym.Exported(pc)
	if !ok {
		return nil
	}
	f := symbolize.Frame{Function: name, Linkage: name, Low: low, Offset: pc - low, Source: symbolize.SourceDynsym}
	return []symbolize.Frame{f}
}
