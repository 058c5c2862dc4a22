package teams

import (
	"cmp"
	"slices"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/code/arch"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect/stacks"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
	"github.com/ompd-inspect/ompd-inspect/internal/stack/symbolize"
	"github.com/ompd-inspect/ompd-inspect/internal/stack/unwind"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// howTailCall marks a function without a frame: it follows from the call before it, and from the code.
const howTailCall = "no frame: it ended in a tail call"

// calledFunction is the function of a region or task that a runtime called through a pointer.
type calledFunction struct {
	frame   int // the runtime's frame
	entry   uint64
	removed []stacks.RemovedFrame // it and the functions after it that have no frame; empty if it has one
}

// calledFunctions returns the functions of n's regions and tasks that are active on its stack, innermost first. A
// function that ended in a tail call has no frame. It is found if it is the only function of a region or task without a
// frame from which tail calls lead to the next frame.
func (u *UserModel) calledFunctions(n *Thread) []calledFunction {
	if n.Runtime == nil || len(n.Chain) == 0 {
		return nil
	}
	a := n.regionCache()
	if a.calledRead {
		return a.called
	}
	a.calledRead = true
	st := n.Stack()
	c := &callSearch{u: u, n: n, st: st}
	c.missing, c.outermost = u.functionsOf(n)
	for i := 1; i < len(st.Kinds); i++ {
		if st.Kinds[i] != stacks.KindRuntime {
			continue
		}
		entry := u.code.FunctionEntry(st.Frames[i-1])
		switch _, known := c.missing[entry]; {
		case known:
			c.found = append(c.found, calledFunction{frame: i, entry: entry})
			c.missing[entry]--
		case c.mayHideFunction(i):
			c.open = append(c.open, i)
		}
	}
	for _, i := range c.open {
		c.findRemoved(i)
	}
	a.hidden = len(c.open) > 0 && u.isFunctionUnknown(n) && !slices.ContainsFunc(c.found, func(f calledFunction) bool {
		return slices.Contains(c.open, f.frame)
	})
	slices.SortFunc(c.found, func(x, y calledFunction) int { return x.frame - y.frame })
	a.called = c.found
	return a.called
}

// isFunctionUnknown reports whether the function of a region on n's stack is unknown.
func (u *UserModel) isFunctionUnknown(n *Thread) bool {
	last := len(n.Chain)
	if own := u.regions.ownRegion(n, n.Chain); own >= 0 {
		last = own + 1
	}
	return slices.ContainsFunc(n.Chain[:last], func(h handles.Parallel) bool {
		return h.Level > 0 && u.regions.Get(n.Runtime, h).Info.Function.IsNull()
	})
}

// functionsOf returns the number of regions on n's stack by their function, and the function of the outermost one; 0 if
// that is unknown.
func (u *UserModel) functionsOf(n *Thread) (count map[uint64]int, outermost uint64) {
	last := len(n.Chain)
	if own := u.regions.ownRegion(n, n.Chain); own >= 0 {
		last = own + 1
	}
	count = map[uint64]int{}
	for _, h := range n.Chain[:last] {
		v := u.regions.Get(n.Runtime, h)
		if !v.Info.Function.IsNull() {
			count[v.Info.Function.Offset]++
		}
		if h.Level > 0 {
			outermost = v.Info.Function.Offset
		}
	}
	return count, outermost
}

// callSearch finds the functions that runtimes called on a stack.
type callSearch struct {
	u         *UserModel
	n         *Thread
	st        *stacks.Stack
	missing   map[uint64]int // number of regions and tasks without a frame so far, by function
	outermost uint64         // function of the region in which the stack starts; 0 if unknown
	open      []int          // the runtime's frames that called an unknown function
	found     []calledFunction
	tasks     []uint64 // functions of the explicit tasks that the thread is in, innermost first
	tasksRead bool
}

// mayHideFunction reports whether the runtime's frame i may have called a function of the program that has no frame.
func (c *callSearch) mayHideFunction(i int) bool {
	code := c.u.code
	if c.st.Frames[i].Exact || c.st.Frames[i-1].Signal || code.Symbols == nil {
		return false
	}
	if c.st.Kinds[i-1] == stacks.KindUser {
		// The runtime calls outlined functions itself.
		name, _ := code.Symbols.Linkage(c.st.Frames[i-1].LookupPC())
		if kind, _ := symbolize.Construct(name); kind != "" {
			return false
		}
	}
	call, ok := arch.CallBefore(code.Target.Arch(), code.Target, c.st.Frames[i].PC)
	return ok && call.Kind == arch.CallRegister
}

// findRemoved adds the function that the runtime's frame i called if there is only one candidate to which the code
// leads. Among several, the outermost function of a thread without explicit tasks is that of the region in which its
// stack starts, and the function of the current task is the one that was called last.
func (c *callSearch) findRemoved(i int) {
	if !c.tasksRead {
		c.tasksRead = true
		c.tasks = c.u.taskFunctions(c.n)
		for _, fn := range c.tasks {
			if !slices.ContainsFunc(c.found, func(f calledFunction) bool { return f.entry == fn }) {
				c.missing[fn]++
			}
		}
	}
	var all []calledFunction
	proven := map[uint64]bool{}
	for fn, count := range c.missing {
		if count <= 0 || !c.u.code.StartsFunction(fn) {
			continue
		}
		removed, leads := c.u.flows.RemovedAfter(c.st, i, fn)
		if proven[fn] = leads; len(removed) > 0 {
			all = append(all, calledFunction{i, fn, removed})
		}
	}
	if only := c.onlyCandidate(i); len(all) > 1 && only != 0 {
		all = slices.DeleteFunc(all, func(f calledFunction) bool { return f.entry != only })
	}
	if len(all) == 1 && proven[all[0].entry] {
		c.found = append(c.found, all[0])
		c.missing[all[0].entry]--
	}
}

// onlyCandidate returns the function that the runtime's frame i must have called by its place on the stack; 0 if
// others are possible.
func (c *callSearch) onlyCandidate(i int) uint64 {
	switch {
	case len(c.tasks) > 0:
		if !slices.ContainsFunc(c.found, func(f calledFunction) bool { return f.frame < i }) {
			return c.tasks[0]
		}
	case c.outermost != 0 && !slices.ContainsFunc(c.found, func(f calledFunction) bool { return f.frame > i }) &&
		!slices.ContainsFunc(c.open, func(frame int) bool { return frame > i && c.mayCall(frame, c.outermost) }):
		return c.outermost
	}
	return 0
}

// mayCall reports whether the function at entry, without a frame, may be the one that the runtime's frame i called.
func (c *callSearch) mayCall(i int, entry uint64) bool {
	removed, _ := c.u.flows.RemovedAfter(c.st, i, entry)
	return len(removed) > 0
}

// taskFunctions returns the functions of the explicit tasks that n executes or has suspended, innermost first.
func (u *UserModel) taskFunctions(n *Thread) (out []uint64) {
	h, err := n.Runtime.CurrentTask(n.Handle)
	for depth := 0; err == nil && depth < MaxLevels; depth++ {
		info, infoErr := n.Runtime.Task(h)
		if infoErr != nil || info.Kind != picture.TaskExplicit {
			break
		}
		if !info.Function.IsNull() {
			out = append(out, info.Function.Offset)
		}
		h, err = n.Runtime.SchedulingTask(h)
	}
	return out
}

// removedFrames returns the frames, innermost first, that functions had before their tail calls.
func (u *UserModel) removedFrames(n *Thread, list []stacks.RemovedFrame) []picture.Frame {
	var out []picture.Frame
	for _, r := range slices.Backward(u.withPlaces(n, list)) {
		at := unwind.Frame{PC: cmp.Or(r.After, r.Entry), Exact: r.After == 0, Module: u.code.ModuleOf(r.Entry)}
		if u.code.InInterpreter(at.Module) {
			continue // its frames are hidden, too
		}
		fs := u.code.Frames(at, stacks.KindUser)
		if same := u.sameLine(r); same != nil {
			fs = same
		} else if r.After == 0 {
			fs = fs[len(fs)-1:]
			fs[0].File, fs[0].Line, fs[0].Offset, fs[0].Near = "", 0, 0, false
			if v := u.regionOf(n, r.Entry); v != nil {
				c := u.code.CodeAt(v.Info.Function, v.Info.Source)
				fs[0].File, fs[0].Line = c.File, c.Line
			}
		}
		for i := range fs {
			fs[i].How = howTailCall
		}
		out = append(out, fs...)
	}
	return out
}

// withPlaces returns functions without frames, with the places at which they ended if n can have called its runtime,
// for the lock that it waits for, in one way only.
func (u *UserModel) withPlaces(n *Thread, list []stacks.RemovedFrame) []stacks.RemovedFrame {
	c, ok := u.waitingCall(n)
	if !ok || len(list) == 0 || &c.removed[0] != &list[0] || len(c.ways) > 1 || len(c.ways[0].Frames) != len(list) {
		return list
	}
	return c.ways[0].Frames
}

// sameLine returns the frames of a function that ended in one of several jumps, if all of them are of one line:
// compilers copy the end of a function to each branch that leads to it. It returns nil if they differ.
func (u *UserModel) sameLine(r stacks.RemovedFrame) []picture.Frame {
	var out []picture.Frame
	for _, pc := range r.Jumps {
		fs := u.code.Frames(unwind.Frame{PC: pc, Module: u.code.ModuleOf(r.Entry)}, stacks.KindUser)
		if out != nil && !slices.EqualFunc(fs, out, func(a, b picture.Frame) bool {
			return a.Line == b.Line && a.File == b.File && a.Function == b.Function
		}) || fs[0].Line == 0 {
			return nil
		}
		out = fs
	}
	return out
}

// removedCall is the call of a runtime by a function of a region or task that has no frame: it ended in a tail call of
// the runtime, or the last of the functions that it called in the same way did.
type removedCall struct {
	frame   int                   // the runtime's frame that called the first of them
	removed []stacks.RemovedFrame // the functions that are known, outermost first
	ways    []stacks.TailWay      // by which they may have ended
}

// removedCall returns the call by which n entered its runtime, if the function that made it has no frame. It is not ok
// if there may be other ways than those known.
func (u *UserModel) removedCall(n *Thread) (removedCall, bool) {
	called := u.calledFunctions(n)
	if len(called) == 0 || len(called[0].removed) == 0 || called[0].frame >= n.Stack().RuntimeFrames() {
		return removedCall{}, false
	}
	return u.waysOf(n, called[0])
}

// LibraryCall returns the call of the C library in which n is, if a function of its region or task made it as a tail
// call, so that no frame of the program is between the runtime and the C library. The name is "" if the code does not
// show it. arg returns an integer argument.
func (u *UserModel) LibraryCall(n *Thread) (name string, arg func(i int) (uint64, bool), ok bool) {
	called := u.calledFunctions(n)
	if n.Stack().TailCalled == 0 || len(called) == 0 || called[0].frame != n.Stack().TailCalled {
		return "", nil, false
	}
	c, ok := u.waysOf(n, called[0])
	if !ok {
		return "", nil, false
	}
	return stacks.WaysName(c.ways), func(i int) (uint64, bool) { return u.argument(n, &c, i) }, true
}

// waysOf returns the ways by which functions without frames may have ended.
func (u *UserModel) waysOf(n *Thread, f calledFunction) (removedCall, bool) {
	ways, complete := u.flows.Program.TailWays(f.entry, n.Stack().Frames[f.frame-1].LookupPC())
	return removedCall{f.frame, f.removed, ways}, complete && len(ways) > 0
}

// points returns the places of all ways, those of the innermost functions first.
func (c *removedCall) points() []stacks.RemovedPoint {
	out := stacks.PointsOf(c.ways[0])
	for _, w := range c.ways[1:] {
		for i, p := range stacks.PointsOf(w) {
			if !slices.Contains(out, p) {
				out = slices.Insert(out, min(i, len(out)), p)
			}
		}
	}
	for i, p := range out {
		out[i].Guess = slices.ContainsFunc(c.ways, func(w stacks.TailWay) bool {
			return !slices.Contains(stacks.PointsOf(w), p)
		})
	}
	return out
}

// argument returns integer argument i of the call, if it is the same in each way.
func (u *UserModel) argument(n *Thread, c *removedCall, i int) (uint64, bool) {
	return u.flows.WaysArgument(n.Stack(), c.frame, c.ways, i)
}

// selectLock keeps the ways by which n may have called for the lock in the program's variable.
func (u *UserModel) selectLock(n *Thread, c *removedCall, variable uint64) {
	other := func(w stacks.TailWay) bool {
		call, ok := rtl.LockCallOf(w.Name)
		if !ok || !call.Set {
			return true
		}
		v, known := uint64(0), false
		if call.Arg >= 0 {
			v, known = u.flows.RemovedArgument(n.Stack(), c.frame, stacks.PointsOf(w), call.Arg)
		}
		return known && v != variable
	}
	if left := slices.DeleteFunc(slices.Clone(c.ways), other); len(left) > 0 {
		c.ways = left
	}
}

// waitingCall returns the call by which n, in a known state, entered its runtime, if the function that made it has no
// frame. If n waits for a lock, it has only the ways that lead to a call for that lock.
func (u *UserModel) waitingCall(n *Thread) (removedCall, bool) {
	c, ok := u.removedCall(n)
	if ok && n.state != nil && n.state.WaitVariable != 0 && n.state.WaitKind.OfLock() {
		u.selectLock(n, &c, n.state.WaitVariable)
	}
	return c, ok
}

// ShowRemoved adds the functions of n's regions and tasks that have no frames to its stack for the analysis of locks.
func (u *UserModel) ShowRemoved(n *Thread) {
	points := map[int][]stacks.RemovedPoint{}
	for i, f := range u.calledFunctions(n) {
		if len(f.removed) == 0 {
			continue
		}
		c, ok := u.waysOf(n, f)
		if inner, innermost := u.waitingCall(n); i == 0 && innermost {
			c, ok = inner, true
		}
		if ok {
			points[f.frame] = c.points()
		}
	}
	hidden := n.regions != nil && n.regions.hidden && n.state != nil && n.state.WaitKind.OfLock()
	if len(points) > 0 || hidden {
		u.flows.SetRemoved(&n.Thread, points, hidden)
	}
}

// regionOf returns the innermost region of n with the function at entry, or nil.
func (u *UserModel) regionOf(n *Thread, entry uint64) *Region {
	for _, h := range n.Chain {
		if v := u.regions.Get(n.Runtime, h); v.Info.Function == callbacks.Addr(entry) {
			return v
		}
	}
	return nil
}
