package inspect

import (
	"path/filepath"
	"slices"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/rtl"
	"github.com/ompd-inspect/ompd-inspect/symbolize"
	"github.com/ompd-inspect/ompd-inspect/unwind"
)

// pseudoFrames name what the runtime is doing, in the words of the collector
// interface's user model where it has them.
var pseudoFrames = map[rtl.State]string{
	rtl.StateIdle:                         "<OMP-idle>",
	rtl.StateOverhead:                     "<OMP-overhead>",
	rtl.StateUndefined:                    "<OMP-overhead>",
	rtl.StateWaitBarrier:                  "<OMP-barrier>",
	rtl.StateWaitBarrierExplicit:          "<OMP-explicit_barrier>",
	rtl.StateWaitBarrierImplicit:          "<OMP-implicit_barrier>",
	rtl.StateWaitBarrierImplicitParallel:  "<OMP-implicit_barrier>",
	rtl.StateWaitBarrierImplicitWorkshare: "<OMP-implicit_barrier>",
	rtl.StateWaitBarrierImplementation:    "<OMP-implicit_barrier>",
	rtl.StateWaitBarrierTeams:             "<OMP-implicit_barrier>",
	rtl.StateWaitTaskwait:                 "<OMP-taskwait>",
	rtl.StateWaitTaskgroup:                "<OMP-taskgroup_wait>",
	rtl.StateWaitMutex:                    "<OMP-mutex_wait>",
	rtl.StateWaitLock:                     "<OMP-lock_wait>",
	rtl.StateWaitCritical:                 "<OMP-critical_section_wait>",
	rtl.StateWaitAtomic:                   "<OMP-atomic_section_wait>",
	rtl.StateWaitOrdered:                  "<OMP-ordered_section_wait>",
	rtl.StateWorkReduction:                "<OMP-reduction>",
	rtl.StateWaitTarget:                   "<OMP-target_wait>",
	rtl.StateWaitTargetMap:                "<OMP-target_wait>",
	rtl.StateWaitTargetUpdate:             "<OMP-target_wait>",
}

// userStack is the stack of n in the user's model of the program: runtime frames
// hidden and replaced by one pseudo-frame for what the runtime is doing, and a
// worker's stack continued into the stack of the thread that forked its region.
func (in *Inspector) userStack(n *native, state rtl.State) []Frame {
	if state == rtl.StateIdle {
		return []Frame{{Kind: FramePseudo, Function: pseudoFrames[state]}}
	}
	st := in.stackOf(n)
	var out []Frame
	if name := pseudoFrames[state]; name != "" && st.topSegment() > 0 {
		out = append(out, Frame{Kind: FramePseudo, Function: name})
	}
	for i := range st.own {
		out = append(out, in.frames(st.frames[i], st.kinds[i])...)
	}
	out = append(withoutInsides(out), in.jumpedFrom(n)...)
	out = append(out, withoutInsides(in.modelFrames(n, st.own, in.forks(n)))...)
	return in.mergeOutlined(in.continueInForker(n, n.chain, out))
}

// withoutInsides leaves out the functions without a name with which the C library
// does what the named function of its own, that called them, is for.
func withoutInsides(fs []Frame) []Frame {
	for len(fs) > 1 && fs[0].Kind == FrameSystem && fs[0].Function == "" && fs[1].Kind == FrameSystem {
		fs = fs[1:]
	}
	return fs
}

// lastUser returns the number of the outermost frame of user code, or -1.
func (st *stack) lastUser() int {
	last := len(st.kinds) - 1
	for last >= 0 && st.kinds[last] != kindUser {
		last--
	}
	return last
}

// userFrames are the frames of st from frame number from on, without those of
// runtimes and of thread starts.
func (in *Inspector) userFrames(st *stack, from int) []Frame {
	var out []Frame
	for i := from; i <= st.lastUser(); i++ {
		if st.kinds[i] != kindRuntime && st.kinds[i] != kindGlue {
			out = append(out, in.frames(st.frames[i], st.kinds[i])...)
		}
	}
	return out
}

// continueInForker appends to a worker's frames those of the thread that forked
// the region in which the worker's own stack begins, and so on outwards. chain
// has the regions of n that matter, innermost first.
func (in *Inspector) continueInForker(n *native, chain []handles.Parallel, out []Frame) []Frame {
	for range MaxLevels {
		v, p, own := in.forker(n, chain)
		if p == nil || p == n {
			return out
		}
		user, ok := in.forkPoint(p, v)
		if !ok {
			known := len(in.stackOf(p).frames) > 0
			if known && !n.rt.told() && !n.rt.Owns(v.info.Function.Offset) { // a team of the runtime's own was forked by no user code
				n.errs = appendOnce(n.errs, errNoForkFrame)
			}
			return out
		}
		forks := in.forks(p)
		forks[user] = v
		more := in.modelFrames(p, user, forks)
		if len(more) > 0 {
			more[0].LWP = p.lwp
		}
		out = append(out, more...)
		n, chain = p, chain[own+1:]
	}
	return out
}

// forker returns the region in which the stack of n begins, as the thread p has
// it that forked it, and its index in chain; p is nil for a thread whose stack
// begins in serial code.
func (in *Inspector) forker(n *native, chain []handles.Parallel) (v *regionView, p *native, own int) {
	if own := in.ownRegion(n, chain); own >= 0 {
		v := in.regions.get(n.rt, chain[own])
		return v, in.regions.primary(v), own
	}
	// Thread 0 of a team of a league was forked by the thread that encountered
	// the teams construct, which is thread 0 of another team of the league.
	for i := range max(0, len(chain)-1) {
		if in.regions.get(n.rt, chain[i]).info.League == 0 || chain[i].Level != 0 {
			continue
		}
		p := in.regions.primary(in.regions.get(n.rt, chain[i+1]))
		if p == nil || p == n {
			continue
		}
		if at := slices.Index(p.chain, chain[i+1]); at > 0 {
			return in.regions.get(n.rt, p.chain[at-1]), p, i
		}
	}
	return nil, nil, -1
}

// maxForks bounds the regions of one thread whose forks are looked for; deeper
// nesting of active regions has no use.
const maxForks = 32

// forks has, by the number of the frame of p's stack that forked it, the
// innermost region that was forked there.
func (in *Inspector) forks(p *native) map[int]*regionView {
	out := map[int]*regionView{}
	for i, h := range p.chain[:min(len(p.chain), maxForks)] {
		if own := in.ownRegion(p, p.chain[i:]); own == 0 {
			break
		}
		v := in.regions.get(p.rt, h)
		if user, ok := in.forkPoint(p, v); ok && out[user] == nil {
			out[user] = v
		}
	}
	return out
}

// modelFrames are the user frames of p's stack from frame number from on, and
// those that are missing there where a region was forked by a jump.
func (in *Inspector) modelFrames(p *native, from int, forks map[int]*regionView) []Frame {
	st := in.stackOf(p)
	last := st.lastUser()
	var out []Frame
	for i := from; i < len(st.kinds); i++ {
		if v := forks[i]; v != nil {
			out = append(out, in.tailCallers(p, v, i)...)
		}
		if i <= last && st.kinds[i] != kindRuntime && st.kinds[i] != kindGlue {
			out = append(out, in.frames(st.frames[i], st.kinds[i])...)
		}
	}
	return out
}

// What marks a function that has no frame since it has ended: by which jump.
const (
	howJump   = "no frame: it forked by a jump"
	howJumped = "no frame: its last call was a jump"
)

// jumpedFrom is the function of the region or the task from which a thread jumped to the
// C library, if it is known.
func (in *Inspector) jumpedFrom(n *native) []Frame {
	st := in.stackOf(n)
	if st.own == 0 || len(n.chain) == 0 {
		return nil
	}
	v := in.regions.get(n.rt, n.chain[0])
	task := rtl.TaskInfo{Kind: rtl.TaskImplicit, Function: v.info.Function}
	if h, err := n.rt.CurrentTask(n.h); err == nil {
		if info, err := n.rt.Task(h); err == nil && info.Kind == rtl.TaskExplicit {
			task = info
		}
	}
	fn := task.Function
	if fn.IsNull() || in.owned(fn.Offset) || in.hasFunction(st, st.own, fn.Offset) {
		return nil
	}
	return []Frame{in.endedFrame(fn, in.taskCode(v, task), howJumped)}
}

// endedFrame is the frame that an outlined function had which has ended.
func (in *Inspector) endedFrame(fn callbacks.Address, c *Code, how string) Frame {
	f := Frame{Kind: FrameUser, Function: c.Name, PC: hexPtr(fn.Offset), File: c.File, Line: c.Line, How: how, entry: fn.Offset}
	f.Construct, f.In = symbolize.Construct(c.Name)
	return f
}

// tailCallers are the outlined functions of the regions that enclose v on p's
// stack and have no frame there, since their last call, the fork, was a jump.
func (in *Inspector) tailCallers(p *native, v *regionView, user int) []Frame {
	var out []Frame
	st := in.stackOf(p)
	last := len(p.chain)
	if own := in.ownRegion(p, p.chain); own >= 0 {
		last = own + 1
	}
	for i := slices.Index(p.chain, v.h) + 1; i < last; i++ {
		outer := in.regions.get(p.rt, p.chain[i])
		fn := outer.info.Function
		if fn.IsNull() || outer.info.Serialized || in.hasFunction(st, user, fn.Offset) {
			return out
		}
		out = append(out, in.endedFrame(fn, in.regionCode(outer), howJump))
	}
	return out
}

// hasFunction tells whether a frame of st from number from on is of the function
// at entry.
func (in *Inspector) hasFunction(st *stack, from int, entry uint64) bool {
	for i := from; i < len(st.frames); i++ {
		if st.kinds[i] == kindUser && in.functionEntry(st.frames[i]) == entry {
			return true
		}
	}
	return false
}

// ownRegion returns the index in chain of the region in which the stack of n
// begins: the innermost one of which n is not thread 0. It is -1 for a thread
// whose stack begins in serial code.
func (in *Inspector) ownRegion(n *native, chain []handles.Parallel) int {
	for i, h := range chain {
		if num, ok := in.threadNumAt(n, h); ok && num > 0 {
			return i
		}
	}
	return -1
}

// threadNumAt returns the number of n in region h of its chain.
func (in *Inspector) threadNumAt(n *native, h handles.Parallel) (int, bool) {
	i := slices.Index(n.chain, h)
	switch {
	case i < 0:
		return 0, false
	case i == 0:
		return n.info.ThreadNum, n.info.ThreadNum >= 0
	}
	inner := in.regions.get(n.rt, n.chain[i-1])
	if inner.err != nil || inner.info.PrimaryNum < 0 {
		return 0, false
	}
	return inner.info.PrimaryNum, true
}

// forkFrame returns the user frame that forked region v.
func (in *Inspector) forkFrame(v *regionView) (Frame, bool) {
	p := in.regions.primary(v)
	if p == nil {
		return Frame{}, false
	}
	user, ok := in.forkPoint(p, v)
	st := in.stackOf(p)
	if !ok || user >= len(st.kinds) || st.kinds[user] != kindUser {
		return Frame{}, false
	}
	fs := in.frames(st.frames[user], kindUser)
	return fs[0], fs[0].Line != 0
}

// functionEntry returns the entry address of the function that frame f is in.
func (in *Inspector) functionEntry(f unwind.Frame) uint64 {
	if low, _, ok := in.cfg.Unwinder.FunctionBounds(f.LookupPC()); ok {
		return low
	}
	if in.cfg.Symbolizer != nil {
		if s, err := in.cfg.Symbolizer.Function(f.LookupPC()); err == nil {
			return s.Low
		}
	}
	return 0
}

// frames turns one native frame into the frames that people see: inlined
// functions first.
func (in *Inspector) frames(f unwind.Frame, kind frameKind) []Frame {
	return named(f, kind, in.lookup(f.LookupPC(), kind))
}

// named makes the frames of one native frame out of the names of its code.
func named(f unwind.Frame, kind frameKind, names []symbolize.Frame) []Frame {
	base := Frame{Kind: kind.String(), PC: hexPtr(f.PC), How: howGuessed(f.How), Goroutine: int64(f.Goroutine)}
	if f.Module != nil {
		base.Module = filepath.Base(f.Module.Path)
	}
	if len(names) == 0 {
		return []Frame{base}
	}
	out := make([]Frame, len(names))
	for i, s := range names {
		out[i] = base
		out[i].Function, out[i].File, out[i].Line = s.Function, s.File, s.Line
		out[i].Inlined = s.Inlined
		if !s.Inlined {
			out[i].Offset, out[i].entry = s.Offset, s.Low
		}
		out[i].Construct, out[i].In = symbolize.Construct(s.Linkage)
		if i > 0 && out[i-1].Construct == symbolize.ConstructParallel && symbolize.IsTaskEntry(s.Linkage) {
			out[i-1].Construct = symbolize.ConstructTask // it is named as regions are
		}
	}
	return out
}
