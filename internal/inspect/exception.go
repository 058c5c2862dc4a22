package inspect

import (
	"slices"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/code/emulate"
	"github.com/ompd-inspect/ompd-inspect/internal/image/cxxabi"
	"github.com/ompd-inspect/ompd-inspect/internal/image/libc"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect/stacks"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/accessor"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
	"github.com/ompd-inspect/ompd-inspect/internal/stack/symbolize"
	"github.com/ompd-inspect/ompd-inspect/internal/stack/unwind"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

const (
	// maxThrowStack bounds the part of a stack in which pointers to an exception are
	// looked for, in bytes: the unwinder's frames are some 2 KiB each.
	maxThrowStack = 32 << 10
	// whatFunction is the number of std::exception::what among its virtual functions.
	whatFunction = 2
)

// exceptions finds the exception that ended a program.
type exceptions struct {
	*crash
	regions *regionTable
	flows   *stacks.Flow
}

// find adds the exception that nobody caught to how the program was ended, if there is one.
func (x *exceptions) find(how **picture.Abort) {
	a := *how
	n := x.roster.byLWP[x.about.CrashedLWP]
	if n == nil || x.about.Signal != "SIGABRT" || a != nil && a.Component != cxxLibrary || a == nil && !x.unnamed() {
		return
	}
	st := n.Stack()
	if a != nil && x.ownTermination(st) {
		return
	}
	e, ok := x.inFlight(n, st)
	if !ok {
		return
	}
	if a == nil {
		a = &picture.Abort{Thread: n.LWP, Component: cxxLibrary}
		*how = a
	}
	out := &picture.Exception{}
	x.describe(n, e, out)
	left := x.boundary(n, st, e, out)
	x.left(n, st, left, out)
	x.thrown(n, st, e, left, &out.Thrown)
	a.Exception = out
}

// unnamed reports whether the program is linked statically and has no symbols, so that
// nothing tells its C++ library from itself.
func (x *exceptions) unnamed() bool {
	if x.code.Symbols == nil {
		return false
	}
	_, known := x.code.Symbols.Lookup("abort", "")
	return !known
}

// Functions that end the program since an exception may not go on. The last are called
// by the code that compilers make.
var terminators = []string{"_ZSt9terminatev", "__cxa_call_terminate", clangTerminates}

// ownTermination reports whether the program called std::terminate by itself.
func (x *exceptions) ownTermination(st *stacks.Stack) bool {
	for i, f := range st.Frames {
		if st.Kinds[i] == stacks.KindUser && f.Module != nil && !libc.IsLanguage(f.Module.Path) {
			return x.code.CallTarget(f.PC) == terminators[0] && !x.endsExceptions(f.LookupPC())
		}
	}
	return false
}

// endsExceptions reports whether the function around pc is what clang calls where an
// exception may not go on: it takes the exception and terminates.
func (x *exceptions) endsExceptions(pc uint64) bool {
	code := x.flows.FunctionAt(pc)
	if code == nil {
		return false
	}
	sites := code.Sites()
	return len(sites) == 2 && slices.ContainsFunc(sites, func(s callSite) bool { return s.Name == "__cxa_begin_catch" })
}

// inFlight finds the exception: what the C++ library keeps for the thread, else what the
// thread's stack points to.
func (x *exceptions) inFlight(n *native, st *stacks.Stack) (cxxabi.Exception, bool) {
	if e, ok := x.caught(n); ok {
		return e, true
	}
	regs := n.Registers()
	if regs == nil {
		return cxxabi.Exception{}, false
	}
	end := regs.SP() + maxThrowStack
	if last := len(st.Frames) - 1; last >= 0 && st.Frames[last].CFA > regs.SP() {
		end = min(end, st.Frames[last].CFA)
	}
	low := regs.SP() - min(regs.SP(), deadStack)
	words := x.readable(low, end-low)
	for i := 0; i+8 <= len(words); i += 8 {
		if e, ok := cxxabi.At(x.target, callbacks.Word(words[i:i+8])); ok && x.plausible(e, regs.SP(), st) {
			return e, true
		}
	}
	return cxxabi.Exception{}, false
}

// plausible reports whether memory that looks like an exception is one of the thread's.
func (x *exceptions) plausible(e cxxabi.Exception, sp uint64, st *stacks.Stack) bool {
	if e.Stop != 0 && x.stop(st, e) < 0 {
		return false
	}
	if e.Foreign {
		return e.Stop > sp && !x.unnamed()
	}
	_, err := cxxabi.TypeName(x.target, e.Type)
	return err == nil
}

// caught is the exception that the C++ library keeps as the last one that the thread has
// caught: it counts a termination as that.
func (x *exceptions) caught(n *native) (cxxabi.Exception, bool) {
	in, err := emulate.NewCaller(x.target.Arch(), x.target)
	if err != nil || x.code.Symbols == nil {
		return cxxabi.Exception{}, false
	}
	entry, ok := x.code.Symbols.Lookup("__cxa_get_globals_fast", "")
	if !ok {
		return cxxabi.Exception{}, false
	}
	out, err := in.Call(entry, accessor.ThreadPointer(x.target, uint64(n.LWP), n.Pthread), nil, 0)
	if err != nil {
		return cxxabi.Exception{}, false
	}
	var b [8]byte
	if x.target.ReadMemory(callbacks.At(out.Result), b[:]) != nil {
		return cxxabi.Exception{}, false
	}
	for _, size := range cxxabi.HeaderAfter() { // of the libraries that there are
		if e, ok := cxxabi.At(x.target, callbacks.Word(b[:])+size); ok {
			return e, true
		}
	}
	return cxxabi.Exception{}, false
}

// describe says what the exception is.
func (x *exceptions) describe(n *native, e cxxabi.Exception, out *picture.Exception) {
	if e.Foreign {
		out.Language = e.Class
		return
	}
	mangled, err := cxxabi.TypeName(x.target, e.Type)
	if err != nil {
		return
	}
	out.Type = symbolize.TypeName(mangled)
	if v, ok := cxxabi.Value(x.target, mangled, e.Object); ok {
		out.What, out.WhatSource = v, "the object that was thrown"
		return
	}
	if off, ok := cxxabi.Base(x.target, e.Type, "St9exception"); ok {
		out.What, out.WhatSource = x.what(n, e.Object+off), "what its function what() would return, by its code"
	}
	for _, name := range []string{"St13runtime_error", "St11logic_error"} {
		if off, ok := cxxabi.Base(x.target, e.Type, name); ok && out.What == "" {
			out.What, out.WhatSource = x.textAt(e.Object+off+8), "the string in "+symbolize.TypeName(name)
		}
	}
	if out.What == "" {
		out.WhatSource = ""
	}
}

// what is what the function what() of the object returns.
func (x *exceptions) what(n *native, object uint64) string {
	in, err := emulate.NewCaller(x.target.Arch(), x.target)
	if err != nil {
		return ""
	}
	entry, err := cxxabi.Virtual(x.target, object, whatFunction)
	if err != nil || x.code.ModuleOf(entry) == nil {
		return ""
	}
	tp := accessor.ThreadPointer(x.target, uint64(n.LWP), n.Pthread)
	out, err := in.Call(entry, tp, []uint64{object}, 0)
	if err != nil {
		return ""
	}
	s, err := cxxabi.Text(x.target, out.Result)
	if err != nil {
		return ""
	}
	return oneLine(s)
}

// textAt is the string that a pointer at addr leads to.
func (x *exceptions) textAt(addr uint64) string {
	var b [8]byte
	if x.target.ReadMemory(callbacks.At(addr), b[:]) != nil {
		return ""
	}
	s, err := cxxabi.Text(x.target, callbacks.Word(b[:]))
	if err != nil {
		return ""
	}
	return oneLine(s)
}

// oneLine is text without ends of lines.
func oneLine(s string) string { return strings.ReplaceAll(strings.TrimSpace(s), "\n", "; ") }

// stop is the number of the frame that the exception may not leave, or -1.
func (x *exceptions) stop(st *stacks.Stack, e cxxabi.Exception) int {
	return slices.IndexFunc(st.Frames, func(f frame) bool {
		return f.CFA != 0 && f.Registers.SP() <= e.Stop && e.Stop < f.CFA
	})
}

// boundary is the number of the frame that the exception may not leave, or -1: the one
// that ends the program by a call that compilers make for that; the one in which the search
// for a handler ended; or, from where it was thrown outwards, the first whose tables say so.
func (x *exceptions) boundary(n *native, st *stacks.Stack, e cxxabi.Exception, out *picture.Exception) int {
	for i, f := range st.Frames {
		if name := x.code.CallTarget(f.PC); slices.Contains(terminators[1:], name) && !x.ofLanguage(f) {
			out.Boundary.Source = "it called " + name
			return i
		}
	}
	if i := x.stop(st, e); i >= 0 && !x.ofLanguage(st.Frames[i]) && !x.unnamed() {
		out.Boundary.Source = "the search for a handler ended there"
		return i
	}
	from := x.onItsWay(st)
	if from < 0 {
		if i := x.regionFrame(n, st); i >= 0 && x.code.Unwinder.HandlingAt(st.Frames[i].LookupPC()) == unwind.Ends {
			out.Boundary.Source,
				out.Boundary.Uncertain = "its tables say so; which functions further in were left is not known", true
			return i
		}
		return -1
	}
	for i := from; i < len(st.Frames); i++ {
		switch x.code.Unwinder.HandlingAt(st.Frames[i].LookupPC()) {
		case unwind.Ends:
			out.Boundary.Source = "its tables say that no exception may leave it there"
			return i
		case unwind.HandlingUnknown:
			return -1
		}
	}
	out.Boundary.Uncaught = true
	return -1
}

// onItsWay is the number of the frame that an exception was thrown in, or has come to; -1 if
// the stack does not tell.
func (x *exceptions) onItsWay(st *stacks.Stack) int {
	if i := slices.IndexFunc(st.Frames, func(f frame) bool { return x.code.CallTarget(f.PC) == passing }); i >= 0 {
		return i
	}
	i, _ := x.thrower(st, -1)
	return i
}

// regionFrame is the number of the frame of the innermost region's function, or -1.
func (x *exceptions) regionFrame(n *native, st *stacks.Stack) int {
	if n.rt == nil || len(n.chain) == 0 {
		return -1
	}
	fn := x.regions.get(n.rt, n.chain[0]).info.Function
	return slices.IndexFunc(st.Frames, func(f frame) bool {
		return !fn.IsNull() && x.code.FunctionEntry(f) == fn.Offset
	})
}

// left says which function, region and task the exception would have left, if it had
// left frame number i; those that the thread is in if no function stops it.
func (x *exceptions) left(n *native, st *stacks.Stack, i int, out *picture.Exception) {
	if i >= 0 {
		out.Boundary.Frame = x.code.InnermostFrame(st.Frames[i], st.Kinds[i])
		out.Boundary.Construct = x.callsRuntime(st.Frames[i].LookupPC())
		if f := out.Boundary.Frame; f.Inlined && strings.Contains(f.Function, "~") {
			out.Boundary.Source += "; its code is a part of another function's, and destructors are noexcept"
			out.Boundary.Uncertain, out.Boundary.Construct = true, false
			return
		}
	}
	if n.rt == nil || i < 0 && !out.Boundary.Uncaught {
		return
	}
	j := i // of the function that the runtime called
	if i >= 0 && i+1 < len(st.Frames) && out.Boundary.Frame.Construct != "" && st.Kinds[i+1] == stacks.KindUser {
		j++ // clang's calls another that has the construct's code
	}
	calledBack := func(entry callbacks.Address) bool {
		return i < 0 || j+1 < len(st.Frames) && st.Kinds[j+1] == stacks.KindRuntime ||
			x.code.FunctionEntry(st.Frames[j]) == entry.Offset
	}
	if h, err := n.rt.CurrentTask(n.h); err == nil {
		if info, err := n.rt.Task(h); err == nil && info.Kind == picture.TaskExplicit && calledBack(info.Function) {
			out.Boundary.Task = taskID(h)
		}
	}
	if len(n.chain) > 0 && calledBack(x.regions.get(n.rt, n.chain[0]).info.Function) && n.chain[0].Level > 0 {
		out.Boundary.Region = regionID(n.chain[0])
	}
}

// callsRuntime reports whether the function around pc calls an OpenMP runtime.
func (x *exceptions) callsRuntime(pc uint64) bool {
	code := x.flows.FunctionAt(pc)
	return code != nil && slices.ContainsFunc(code.Sites(), func(s callSite) bool {
		return rtl.OfConstruct(s.Name)
	})
}
