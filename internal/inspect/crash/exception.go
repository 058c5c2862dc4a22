package crash

import (
	"slices"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/code/emulate"
	"github.com/ompd-inspect/ompd-inspect/internal/image/cxxabi"
	"github.com/ompd-inspect/ompd-inspect/internal/image/libc"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect/stacks"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect/teams"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/accessor"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
	"github.com/ompd-inspect/ompd-inspect/internal/stack/symbolize"
	"github.com/ompd-inspect/ompd-inspect/internal/stack/unwind"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

const (
	// maxThrowStack bounds the part of a stack that is searched for pointers to an exception,
	// in bytes: the unwinder's frames are some 2 KiB each.
	maxThrowStack = 32 << 10
	// whatFunction is the number of std::exception::what among its virtual functions.
	whatFunction = 2
)

// Exceptions finds the exception that ended a program.
type Exceptions struct {
	*Finder
	regions *teams.RegionTable
}

// AddTo adds the uncaught exception to the abort, if there is one.
func (x *Exceptions) AddTo(how **picture.Abort) {
	a := *how
	n := x.threads.ByLWP[x.about.CrashedLWP]
	if n == nil || x.about.Signal != "SIGABRT" ||
		a != nil && a.Component != cxxLibrary || a == nil && !x.lacksSymbols() {
		return
	}
	st := n.Stack()
	if a != nil && x.ownTermination(st) {
		return
	}
	e, ok := x.findInFlight(n, st)
	if !ok {
		return
	}
	if a == nil {
		a = &picture.Abort{Thread: n.LWP, Component: cxxLibrary}
		*how = a
	}
	out := &picture.Exception{}
	x.addDescription(n, e, out)
	left := x.findBoundary(n, st, e, out)
	x.addLeft(n, st, left, out)
	x.addThrown(n, st, e, left, &out.Thrown)
	a.Exception = out
}

// lacksSymbols reports whether the program is linked statically and has no symbols: its C++ library cannot be
// distinguished from its own code.
func (x *Exceptions) lacksSymbols() bool {
	if x.code.Symbols == nil {
		return false
	}
	_, known := x.code.Symbols.Lookup("abort", "")
	return !known
}

// terminators are functions that end the program since an exception must not continue. Code that compilers make
// calls all but the first.
var terminators = []string{"_ZSt9terminatev", "__cxa_call_terminate", clangTerminate}

// ownTermination reports whether the program itself called std::terminate.
func (x *Exceptions) ownTermination(st *stacks.Stack) bool {
	for i, f := range st.Frames {
		if st.Kinds[i] == stacks.KindUser && f.Module != nil && !libc.IsLanguage(f.Module.Path) {
			return x.code.CalledIn(f) == terminators[0] && !x.endsExceptions(f.LookupPC())
		}
	}
	return false
}

// endsExceptions reports whether the function around pc is the one that clang calls where an exception must not
// continue: it catches the exception and terminates.
func (x *Exceptions) endsExceptions(pc uint64) bool {
	code := x.flows.FunctionAt(pc)
	if code == nil {
		return false
	}
	sites := code.Sites()
	return len(sites) == 2 && slices.ContainsFunc(sites, func(s callSite) bool { return s.Name == "__cxa_begin_catch" })
}

// findInFlight finds the exception: by the C++ library's record of the thread, else by a pointer on the thread's
// stack.
func (x *Exceptions) findInFlight(n *teams.Thread, st *stacks.Stack) (cxxabi.Exception, bool) {
	if e, ok := x.lastCaught(n); ok {
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
	words := x.readPadded(low, end-low)
	for i := 0; i+8 <= len(words); i += 8 {
		if e, ok := cxxabi.ReadException(x.target, callbacks.Word(words[i:i+8])); ok && x.isPlausible(e, regs.SP(),
			st) {
			return e, true
		}
	}
	return cxxabi.Exception{}, false
}

// isPlausible reports whether memory that looks like an exception is one of the thread's.
func (x *Exceptions) isPlausible(e cxxabi.Exception, sp uint64, st *stacks.Stack) bool {
	if e.Stop != 0 && x.stopFrame(st, e) < 0 {
		return false
	}
	if e.Foreign {
		return e.Stop > sp && !x.lacksSymbols()
	}
	_, err := cxxabi.TypeName(x.target, e.Type)
	return err == nil
}

// lastCaught returns the exception that the C++ library records as the last one that the thread caught:
// terminating counts as catching it.
func (x *Exceptions) lastCaught(n *teams.Thread) (cxxabi.Exception, bool) {
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
	if x.target.ReadMemory(callbacks.Addr(out.Result), b[:]) != nil {
		return cxxabi.Exception{}, false
	}
	for _, size := range cxxabi.HeaderAfter() { // of the known libraries
		if e, ok := cxxabi.ReadException(x.target, callbacks.Word(b[:])+size); ok {
			return e, true
		}
	}
	return cxxabi.Exception{}, false
}

// addDescription adds the exception's type and text.
func (x *Exceptions) addDescription(n *teams.Thread, e cxxabi.Exception, out *picture.Exception) {
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
		out.What, out.WhatSource = x.whatText(n, e.Object+off), "what its function what() would return, by its code"
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

// whatText returns the result of the object's function what().
func (x *Exceptions) whatText(n *teams.Thread, object uint64) string {
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

// textAt returns the string that the pointer at addr points to.
func (x *Exceptions) textAt(addr uint64) string {
	var b [8]byte
	if x.target.ReadMemory(callbacks.Addr(addr), b[:]) != nil {
		return ""
	}
	s, err := cxxabi.Text(x.target, callbacks.Word(b[:]))
	if err != nil {
		return ""
	}
	return oneLine(s)
}

// oneLine returns text without line breaks.
func oneLine(s string) string { return strings.ReplaceAll(strings.TrimSpace(s), "\n", "; ") }

// stopFrame returns the index of the frame that the exception must not leave, or -1.
func (x *Exceptions) stopFrame(st *stacks.Stack, e cxxabi.Exception) int {
	return slices.IndexFunc(st.Frames, func(f frame) bool {
		return f.CFA != 0 && f.Registers.SP() <= e.Stop && e.Stop < f.CFA
	})
}

// findBoundary returns the index of the frame that the exception must not leave, or -1. It is the frame that ends
// the program by a call that compilers make for that; or the one at which the search for a handler ended; or the
// first from the throw outwards with tables that forbid it.
func (x *Exceptions) findBoundary(n *teams.Thread, st *stacks.Stack, e cxxabi.Exception, out *picture.Exception) int {
	for i, f := range st.Frames {
		if name := x.code.CalledIn(f); slices.Contains(terminators[1:], name) && !x.inLanguageLibrary(f) {
			out.Boundary.Source = "it called " + name
			return i
		}
	}
	if i := x.stopFrame(st, e); i >= 0 && !x.inLanguageLibrary(st.Frames[i]) && !x.lacksSymbols() {
		out.Boundary.Source = "the search for a handler ended there"
		return i
	}
	from := x.passingFrame(st)
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

// passingFrame returns the index of the frame that threw an exception, or that it has reached; -1 if the stack
// does not show it.
func (x *Exceptions) passingFrame(st *stacks.Stack) int {
	if i := slices.IndexFunc(st.Frames, func(f frame) bool { return x.code.CalledIn(f) == unwindResume }); i >= 0 {
		return i
	}
	i, _ := x.findThrower(st, -1)
	return i
}

// regionFrame returns the index of the frame of the innermost region's function, or -1.
func (x *Exceptions) regionFrame(n *teams.Thread, st *stacks.Stack) int {
	if n.Runtime == nil || len(n.Chain) == 0 {
		return -1
	}
	fn := x.regions.Get(n.Runtime, n.Chain[0]).Info.Function
	return slices.IndexFunc(st.Frames, func(f frame) bool {
		return !fn.IsNull() && x.code.FunctionEntry(f) == fn.Offset
	})
}

// addLeft adds the function, region and task that the exception would have left with frame i. If no function
// stops it, these are the thread's own.
func (x *Exceptions) addLeft(n *teams.Thread, st *stacks.Stack, i int, out *picture.Exception) {
	if i >= 0 {
		out.Boundary.Frame = x.code.InnermostFrame(st.Frames[i], st.Kinds[i])
		out.Boundary.Construct = x.callsRuntime(st.Frames[i].LookupPC())
		if f := out.Boundary.Frame; f.Inlined && strings.Contains(f.Function, "~") {
			out.Boundary.Source += "; its code is a part of another function's, and destructors are noexcept"
			out.Boundary.Uncertain, out.Boundary.Construct = true, false
			return
		}
	}
	if n.Runtime == nil || i < 0 && !out.Boundary.Uncaught {
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
	if h, err := n.Runtime.CurrentTask(n.Handle); err == nil {
		if info, err := n.Runtime.Task(h); err == nil && info.Kind == picture.TaskExplicit &&
			calledBack(info.Function) {
			out.Boundary.Task = teams.TaskID(h)
		}
	}
	if len(n.Chain) > 0 && calledBack(x.regions.Get(n.Runtime, n.Chain[0]).Info.Function) && n.Chain[0].Level > 0 {
		out.Boundary.Region = teams.RegionID(n.Chain[0])
	}
}

// callsRuntime reports whether the function around pc calls an OpenMP runtime.
func (x *Exceptions) callsRuntime(pc uint64) bool {
	code := x.flows.FunctionAt(pc)
	return code != nil && slices.ContainsFunc(code.Sites(), func(s callSite) bool {
		return rtl.OfConstruct(s.Name)
	})
}

// NewExceptions returns a finder of the exception that ended a program.
func NewExceptions(c *Finder, regions *teams.RegionTable) *Exceptions {
	return &Exceptions{Finder: c, regions: regions}
}
