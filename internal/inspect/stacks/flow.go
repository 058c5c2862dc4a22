package stacks

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/code/arch"
	"github.com/ompd-inspect/ompd-inspect/internal/code/flow"
	"github.com/ompd-inspect/ompd-inspect/internal/code/symbolic"
	"github.com/ompd-inspect/ompd-inspect/internal/image/libc"
	"github.com/ompd-inspect/ompd-inspect/internal/lockflow"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
	"github.com/ompd-inspect/ompd-inspect/internal/stack/symbolize"
	"github.com/ompd-inspect/ompd-inspect/internal/stack/unwind"
)

// Functions keeps the results of analysing functions from one Inspector of a process to the next, as long as
// its modules are the same. The zero value is empty. It is not for concurrent use.
type Functions struct {
	program  *lockflow.Program
	names    names
	runtimes string // of program and names
}

// names keeps what code tells of itself: names, calls and owners.
type names struct {
	known      map[uint64][]symbolize.Frame // by lookup address
	interposed map[uint64]bool              // results of isInterposed, by lookup address
	calls      map[uint64]string            // results of CallTarget, by return address
	args       map[callArg]codeWord         // results of Argument
}

// maxNames bounds each map of names. Programs have fewer places that are seen on stacks, even over hours.
const maxNames = 1 << 16

// newNames returns empty names.
func newNames() names {
	return names{map[uint64][]symbolize.Frame{}, map[uint64]bool{}, map[uint64]string{}, map[callArg]codeWord{}}
}

// continued returns k, or what is valid of it with the given runtimes.
func (k *Functions) continued(runtimes []rtl.Runtime) *Functions {
	if k == nil {
		k = &Functions{}
	}
	now := identifyRuntimes(runtimes)
	if k.names.known == nil || k.runtimes != now || len(k.names.known)+len(k.names.calls) > maxNames {
		*k = Functions{names: newNames(), runtimes: now}
	}
	return k
}

// identifyRuntimes returns a text that changes when the analysis of code does: a runtime in an executable
// changes the owner of code and the names of calls once it is found.
func identifyRuntimes(runtimes []rtl.Runtime) string {
	var out strings.Builder
	for _, rt := range runtimes {
		id := rt.Identity()
		fmt.Fprintf(&out, "%s %p\n", id.Family, id.Module)
		linked, ok := rt.(rtl.LinkedReader)
		if !ok {
			continue
		}
		for _, f := range linked.LinkedFunctions() {
			fmt.Fprintf(&out, "%s %x\n", f.Name, f.Address.Offset)
		}
	}
	return out.String()
}

// Flow analyses the code of the functions on the stacks.
type Flow struct {
	Program *lockflow.Program
	threads map[*Stack]*lockflow.Thread
	whole   map[*Stack]wholeStack // with functions that have no frames
}

// NewFlow continues with the results that code has.
func NewFlow(code *Code, b Budget) *Flow {
	known, t := code.functions, code.Target
	cfg := lockflow.Config{
		Arch: t.Arch(), Mem: t, Code: code, Apart: newLinkage(code).isApart, Handler: code.handler,
	}
	if b != nil {
		cfg.Meter = budgetMeter{b}
	}
	if known.program == nil {
		known.program = lockflow.NewProgram(cfg)
	} else {
		known.program.Retarget(cfg)
	}
	return &Flow{
		Program: known.program, threads: map[*Stack]*lockflow.Thread{}, whole: map[*Stack]wholeStack{},
	}
}

// codeUnit is the number of bytes of code that cost as much as reading one structure.
const codeUnit = 64

// budgetMeter counts work in bytes of code.
type budgetMeter struct{ budget Budget }

// Spend counts bytes of code.
func (m budgetMeter) Spend(work int) error { return m.budget.Spend((work + codeUnit - 1) / codeUnit) }

// Thread returns the stack of n for package lockflow, with the functions that SetRemoved added.
func (f *Flow) Thread(n *Thread) *lockflow.Thread {
	t := f.whole[n.Stack()].thread
	if t == nil {
		t = f.threadOf(n.Stack())
	}
	t.ID = n.LWP
	return t
}

// wholeStack is a stack with functions that have no frames.
type wholeStack struct {
	thread *lockflow.Thread
	own    []int // number of each frame in the stack; of one without a frame, that of the frame that it called
	points map[int]RemovedPoint
	hidden bool // other functions are unknown
}

// RemovedPoint is the place at which a function ended in a tail call.
type RemovedPoint struct {
	After uint64 // address after the jump
	Entry uint64 // of the function
	Guess bool   // it may have been another place
}

// SetRemoved adds functions without frames to the stack of n. The key of points is the number of the frame that called
// them; they are innermost first. hidden means that others are unknown, which makes the stack incomplete.
func (f *Flow) SetRemoved(n *Thread, points map[int][]RemovedPoint, hidden bool) {
	w := f.withRemoved(n.Stack(), points)
	w.thread.Whole, w.hidden = w.thread.Whole && !hidden, hidden
	f.whole[n.Stack()] = w
}

// IsHidden reports whether the stack of n lacks unknown functions without frames.
func (f *Flow) IsHidden(n *Thread) bool { return f.whole[n.Stack()].hidden }

// HasRemoved reports whether SetRemoved added functions to the stack of n.
func (f *Flow) HasRemoved(n *Thread) bool { return f.whole[n.Stack()].thread != nil }

// withRemoved returns st with functions that have no frames. A tail call leaves the stack pointer and the kept
// registers as they were before the call of its function.
func (f *Flow) withRemoved(st *Stack, points map[int][]RemovedPoint) wholeStack {
	raw := f.threadOf(st)
	out := wholeStack{thread: &lockflow.Thread{Whole: raw.Whole}, points: map[int]RemovedPoint{}}
	for i := range raw.Frames {
		for _, p := range points[i] {
			out.points[len(out.own)] = p
			out.own = append(out.own, i-1)
			out.thread.Frames = append(out.thread.Frames, lockflow.Frame{
				PC: p.After, CFA: st.Frames[i-1].CFA, Registers: &st.Frames[i].Registers, User: true, Guess: p.Guess,
			})
		}
		out.own = append(out.own, i)
		out.thread.Frames = append(out.thread.Frames, raw.Frames[i])
	}
	return out
}

// RemovedArgument returns integer argument n of the tail call that ended the innermost of some functions without
// frames, which frame at of st called.
func (f *Flow) RemovedArgument(st *Stack, at int, points []RemovedPoint, n int) (uint64, bool) {
	return f.Program.Argument(f.withRemoved(st, map[int][]RemovedPoint{at: points}).thread, at, n)
}

// PointsOf returns the places of a way, innermost first.
func PointsOf(w TailWay) []RemovedPoint {
	var out []RemovedPoint
	for _, r := range slices.Backward(w.Frames) {
		out = append(out, RemovedPoint{After: r.After, Entry: r.Entry})
	}
	return out
}

// WaysName returns the function that all ways end in, at least one; "" if several are possible.
func WaysName(ways []TailWay) string {
	name := ways[0].Name
	if slices.ContainsFunc(ways, func(w TailWay) bool { return w.Name != name }) {
		return ""
	}
	return name
}

// WaysArgument returns integer argument n of the call in which all ways end that frame at of st called, if it is the
// same in each.
func (f *Flow) WaysArgument(st *Stack, at int, ways []TailWay, n int) (value uint64, ok bool) {
	for k, w := range ways {
		v, ok := f.RemovedArgument(st, at, PointsOf(w), n)
		if !ok || k > 0 && v != value {
			return 0, false
		}
		value = v
	}
	return value, true
}

// FrameOf returns frame i of Thread(n), and its number in the stack of n. For a function without a frame, that is the
// number of the frame that it called.
func (f *Flow) FrameOf(n *Thread, i int) (fr unwind.Frame, own int) {
	st, w := n.Stack(), f.whole[n.Stack()]
	if w.thread == nil {
		return st.Frames[i], i
	}
	if p, removed := w.points[i]; removed {
		return unwind.Frame{PC: p.After, CFA: w.thread.Frames[i].CFA, Module: st.code.ModuleOf(p.Entry)}, w.own[i]
	}
	return st.Frames[w.own[i]], w.own[i]
}

// threadOf returns a stack for package lockflow.
func (f *Flow) threadOf(st *Stack) *lockflow.Thread {
	if t := f.threads[st]; t != nil {
		return t
	}
	t := &lockflow.Thread{Whole: st.Complete(), Frames: make([]lockflow.Frame, len(st.Frames))}
	for i := range st.Frames {
		fr := &st.Frames[i]
		t.Frames[i] = lockflow.Frame{
			PC: fr.PC, Exact: fr.Exact, CFA: fr.CFA, Registers: &fr.Registers, User: st.Kinds[i] == KindUser,
		}
	}
	f.threads[st] = t
	return t
}

// SetNumber records the number of n in the team whose region its frames up to the region's function execute.
func (f *Flow) SetNumber(n *Thread, number int, region uint64) {
	st := n.Stack()
	set := func(frames []lockflow.Frame) {
		for k := range frames {
			frames[k].Numbered, frames[k].Number = true, number
		}
	}
	w := f.whole[st]
	for i, p := range w.points {
		if p.Entry == region {
			set(w.thread.Frames[:i+1])
		}
	}
	for i := range st.Frames {
		if st.Kinds[i] != KindUser || st.code.FunctionEntry(st.Frames[i]) != region {
			continue
		}
		set(f.threadOf(st).Frames[:i+1])
		if w.thread != nil {
			set(w.thread.Frames[:slices.Index(w.own, i)+1])
		}
		return
	}
}

// FunctionAt returns the control-flow graph of the function around pc, nil if its code cannot be read.
func (f *Flow) FunctionAt(pc uint64) *flow.Function { return f.Program.FlowAt(pc) }

// PointIn returns the position of frame i in its function.
func (f *Flow) PointIn(st *Stack, i int) flow.Point {
	return f.Program.PointOf(f.threadOf(st), i)
}

// Argument returns integer argument n of the call that frame i makes. It follows values through the function
// and its callers.
func (f *Flow) Argument(st *Stack, i, n int) (uint64, bool) {
	return f.Program.Argument(f.threadOf(st), i, n)
}

// Callee returns the name of the function that frame i called through a pointer, by the pointer's current value.
func (f *Flow) Callee(st *Stack, i int) (string, bool) { return f.Program.Callee(f.threadOf(st), i) }

// TailCall returns the tail call that ended the function which frame i called: that function has no frame.
func (f *Flow) TailCall(st *Stack, i int) (lockflow.TailCall, bool) {
	return f.Program.TailCall(f.threadOf(st), i)
}

// RemovedFrame is a function without a frame, since its last call was a tail call.
type RemovedFrame = lockflow.RemovedFrame

// TailWay is a chain of functions without frames.
type TailWay = lockflow.TailWay

// RemovedBelow returns the functions of the program between frame i of st, which called the first of them, and frame
// i-1. They have no frames, since each ended in a tail call of the next.
func (f *Flow) RemovedBelow(st *Stack, i int) []RemovedFrame {
	entry, ok := f.removedEntry(st, i)
	if !ok {
		return nil
	}
	out, _ := f.Program.RemovedFrames(entry, st.Frames[i-1].LookupPC())
	return out
}

// WaysBelow returns the ways by which tail calls may have led from the function that frame i of st called to frame i-1;
// nil if there may be others.
func (f *Flow) WaysBelow(st *Stack, i int) []TailWay {
	entry, ok := f.removedEntry(st, i)
	if !ok {
		return nil
	}
	if ways, complete := f.Program.TailWays(entry, st.Frames[i-1].LookupPC()); complete {
		return ways
	}
	return nil
}

// removedEntry returns the function that frame i of st called by its name, if it is not the function of frame i-1.
func (f *Flow) removedEntry(st *Stack, i int) (entry uint64, ok bool) {
	if i == 0 || st.Kinds[i] != KindUser || st.Frames[i].Exact || st.Frames[i-1].Signal || st.Frames[i].How.Guessed() {
		return 0, false
	}
	code := st.code
	call, ok := arch.CallBefore(code.Target.Arch(), code.Target, st.Frames[i].PC)
	callee, slot := call.Target, call.Target
	switch {
	case !ok || call.Kind == arch.CallRegister:
		return 0, false
	case call.Kind == arch.CallDirect:
		if code.FunctionEntry(st.Frames[i-1]) == callee {
			return 0, false
		}
		slot, ok = arch.PLTSlot(code.Target.Arch(), code.Target, callee)
	}
	if ok {
		if callee, ok = f.Program.AddressIn(slot); !ok {
			return 0, false
		}
	}
	return callee, code.StartsFunction(callee)
}

// RemovedAfter returns the function at entry, if the runtime's frame i may have called it through a pointer, and those
// after it without a frame, up to frame i-1. leads reports whether a known chain of tail calls leads to the function of
// frame i-1.
func (f *Flow) RemovedAfter(st *Stack, i int, entry uint64) (frames []RemovedFrame, leads bool) {
	return f.Program.RemovedFrames(entry, st.Frames[i-1].LookupPC())
}

// Bounds returns the function around pc.
func (c *Code) Bounds(pc uint64) (low, high uint64, ok bool) {
	if c.Unwinder == nil {
		return 0, 0, false
	}
	return c.Unwinder.FunctionBounds(pc)
}

// Resolve names the function that starts at addr, or the function that the pointer at addr points to.
func (c *Code) Resolve(addr uint64) (symbolic.Target, bool) {
	sym := c.Symbols
	if sym == nil {
		return symbolic.Target{}, false
	}
	if name, ok := sym.SlotSymbol(addr); ok {
		return symbolic.Target{Name: name}, true
	}
	name := EntryName(sym, addr)
	return symbolic.Target{Name: name}, name != ""
}

// PartOf returns the entry of the function that has a part at low that a compiler, or a later tool, put elsewhere; 0 if
// no symbol shows it.
func (c *Code) PartOf(low uint64) (entry uint64, ok bool) {
	if c.Symbols != nil {
		name, entry := c.Symbols.Linkage(low)
		if _, part := symbolize.PartName(name); name != "" && (!part || entry != low) {
			return entry, part
		}
	}
	return 0, c.Unwinder != nil && c.Unwinder.StartsInFrame(low)
}

// Parts returns the starts of such parts of the function at entry.
func (c *Code) Parts(entry uint64) []uint64 {
	if c.Symbols == nil {
		return nil
	}
	return c.Symbols.Parts(entry)
}

// Lookup finds a function by name.
func (c *Code) Lookup(name string) (entry uint64, ok bool) {
	if c.Symbols == nil {
		return 0, false
	}
	return c.Symbols.Lookup(name, "")
}

// Class classifies the code at pc by its owner.
func (c *Code) Class(pc uint64) lockflow.Class {
	mod := c.ModuleOf(pc)
	switch {
	case c.InRuntime(pc):
		return lockflow.System
	case mod == nil:
		return lockflow.Unmapped
	case libc.IsLanguage(mod.Path), c.KindOf(unwind.Frame{PC: pc, Exact: true, Module: mod}) != KindUser:
		return lockflow.System
	case rtl.OpaqueModule(filepath.Base(mod.Path)):
		return lockflow.Opaque
	case c.InInterpreter(mod):
		return lockflow.Interpreter
	}
	return lockflow.User
}

// handler returns the handler of an exception that the call around pc throws.
func (c *Code) handler(pc uint64) lockflow.Handler {
	if c.InRuntime(pc) {
		return lockflow.Handler{Runtime: true}
	}
	if c.Unwinder == nil {
		return lockflow.Handler{}
	}
	h, pad := c.Unwinder.LandingPad(pc)
	return lockflow.Handler{Pad: pad, Catches: h == unwind.MayCatch, Ends: h == unwind.Ends}
}

// IsFixed reports whether the program cannot write the memory at addr: it is in a part of a module that is read-only
// since the loader relocated it.
func (c *Code) IsFixed(addr uint64) bool {
	m := libc.MappingAt(c.Mappings(), addr)
	return m != nil && m.Perm&callbacks.PermWrite == 0 && c.ModuleOf(addr) != nil
}

// IsExecutable reports whether the memory at addr can be executed.
func (c *Code) IsExecutable(addr uint64) bool {
	m := libc.MappingAt(c.Mappings(), addr)
	return m != nil && m.Perm&callbacks.PermExec != 0
}

// Extent finds the local variable of a frame around addr.
func (c *Code) Extent(fr flow.Frame, addr uint64) (low, high uint64, ok bool) {
	if c.Symbols == nil {
		return 0, 0, false
	}
	return c.Symbols.LocalExtent(symbolize.Activation{PC: fr.PC, CFA: fr.CFA, Register: fr.Register}, addr)
}

// EnteredWith returns integer argument n with which the function of frame i was called.
func (f *Flow) EnteredWith(st *Stack, i, n int) (uint64, bool) {
	return f.Program.EnteredWith(f.threadOf(st), i, n)
}
