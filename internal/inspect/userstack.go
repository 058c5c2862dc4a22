package inspect

import (
	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect/stacks"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
	"github.com/ompd-inspect/ompd-inspect/internal/stack/symbolize"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// pseudoFrames name what the runtime is doing, in the words of the collector
// interface's user model where it has them.
var pseudoFrames = map[handles.State]string{
	handles.StateIdle:                         "<OMP-idle>",
	handles.StateOverhead:                     "<OMP-overhead>",
	handles.StateUndefined:                    "<OMP-overhead>",
	handles.StateWaitBarrier:                  "<OMP-barrier>",
	handles.StateWaitBarrierExplicit:          "<OMP-explicit_barrier>",
	handles.StateWaitBarrierImplicit:          "<OMP-implicit_barrier>",
	handles.StateWaitBarrierImplicitParallel:  "<OMP-implicit_barrier>",
	handles.StateWaitBarrierImplicitWorkshare: "<OMP-implicit_barrier>",
	handles.StateWaitBarrierImplementation:    "<OMP-implicit_barrier>",
	handles.StateWaitBarrierTeams:             "<OMP-implicit_barrier>",
	handles.StateWaitTaskwait:                 "<OMP-taskwait>",
	handles.StateWaitTaskgroup:                "<OMP-taskgroup_wait>",
	handles.StateWaitMutex:                    "<OMP-mutex_wait>",
	handles.StateWaitLock:                     "<OMP-lock_wait>",
	handles.StateWaitCritical:                 "<OMP-critical_section_wait>",
	handles.StateWaitAtomic:                   "<OMP-atomic_section_wait>",
	handles.StateWaitOrdered:                  "<OMP-ordered_section_wait>",
	handles.StateWorkReduction:                "<OMP-reduction>",
	handles.StateWaitTarget:                   "<OMP-target_wait>",
	handles.StateWaitTargetMap:                "<OMP-target_wait>",
	handles.StateWaitTargetUpdate:             "<OMP-target_wait>",
}

// userModel shows stacks in the user's model of the program.
type userModel struct {
	roster      *roster
	regions     *regionTable
	code        *stacks.Code
	constructOf map[uint64]stacks.Construct // nil until they are asked for
}

// userStack is the stack of n in the user's model of the program: runtime frames
// hidden and replaced by one pseudo-frame for what the runtime is doing, and a
// worker's stack continued into the stack of the thread that forked its region.
func (u *userModel) userStack(n *native, state handles.State) []picture.Frame {
	if state == handles.StateIdle && !u.executes(n) {
		return []picture.Frame{{Kind: picture.FramePseudo, Function: pseudoFrames[state]}}
	}
	st := n.Stack()
	var out []picture.Frame
	if name := pseudoFrames[state]; name != "" && st.RuntimeFrames() > 0 {
		out = append(out, picture.Frame{Kind: picture.FramePseudo, Function: name})
	}
	for i := range st.TailCalled {
		out = append(out, u.code.Frames(st.Frames[i], st.Kinds[i])...)
	}
	out = append(trimLibcInternals(out), u.tailCaller(n)...)
	out = append(out, trimLibcInternals(u.modelFrames(n, st.TailCalled, u.forks(n)))...)
	return u.mergeOutlined(u.continueInForker(n, n.chain, out))
}

// executes reports whether a thread that its runtime calls idle died in code of the program:
// what the runtime keeps of it is not true then.
func (u *userModel) executes(n *native) bool {
	return n.LWP != 0 && n.LWP == u.roster.about.CrashedLWP && n.Stack().OutermostUser() >= 0
}

// trimLibcInternals leaves out the functions without a name with which the C library
// does what the named function of its own, that called them, is for.
func trimLibcInternals(fs []picture.Frame) []picture.Frame {
	internal := func(f picture.Frame) bool { return f.Kind == picture.FrameSystem && f.Function == "" }
	for len(fs) > 1 && internal(fs[0]) && fs[1].Kind == picture.FrameSystem {
		fs = fs[1:]
	}
	return fs
}

// userFrames are the frames of st from frame number from on, without those of
// runtimes and of thread starts.
func (u *userModel) userFrames(st *stacks.Stack, from int) []picture.Frame {
	var out []picture.Frame
	for i := from; i <= st.OutermostUser(); i++ {
		if st.Kinds[i] != stacks.KindRuntime && st.Kinds[i] != stacks.KindGlue {
			out = append(out, u.code.Frames(st.Frames[i], st.Kinds[i])...)
		}
	}
	return out
}

// continueInForker appends to a worker's frames those of the thread that forked
// the region in which the worker's own stack begins, and so on outwards. chain
// has the regions of n that matter, innermost first.
func (u *userModel) continueInForker(n *native, chain []handles.Parallel, out []picture.Frame) []picture.Frame {
	for range MaxLevels {
		v, p, own := u.forker(n, chain)
		if p == nil || p == n {
			return out
		}
		user, ok := u.forkPoint(p, v)
		if !ok {
			known := len(p.Stack().Frames) > 0
			// A team of the runtime's own was forked by no user code.
			if known && !n.rt.apiOnly() && !n.rt.Owns(v.info.Function.Offset) {
				n.Errs = appendOnce(n.Errs, errNoForkFrame)
			}
			return out
		}
		out = append(out, u.outerFrames(p, v, user)...)
		n, chain = p, chain[own+1:]
	}
	return out
}

// forker returns the region in which the stack of n begins, as the thread p has
// it that forked it, and its index in chain; p is nil for a thread whose stack
// begins in serial code.
func (u *userModel) forker(n *native, chain []handles.Parallel) (v *regionView, p *native, own int) {
	if own := u.regions.ownRegion(n, chain); own >= 0 {
		v := u.regions.get(n.rt, chain[own])
		return v, u.regions.primary(v), own
	}
	// Thread 0 of a team of a league was forked by the thread that encountered
	// the teams construct, which is thread 0 of another team of the league.
	for i := range max(0, len(chain)-1) {
		if u.regions.get(n.rt, chain[i]).info.League == 0 || chain[i].Level != 0 {
			continue
		}
		p := u.regions.primary(u.regions.get(n.rt, chain[i+1]))
		if p == nil || p == n {
			continue
		}
		if at := p.indexOf(chain[i+1]); at > 0 {
			return u.regions.get(n.rt, p.chain[at-1]), p, i
		}
	}
	return nil, nil, -1
}

// maxForks bounds the regions of one thread whose forks are looked for; deeper
// nesting of active regions has no use.
const maxForks = 32

// forks has, by the number of the frame of p's stack that forked it, the
// innermost region that was forked there.
func (u *userModel) forks(p *native) map[int]*regionView {
	out := map[int]*regionView{}
	for i, h := range p.chain[:min(len(p.chain), maxForks)] {
		if own := u.regions.ownRegion(p, p.chain[i:]); own == 0 {
			break
		}
		v := u.regions.get(p.rt, h)
		if user, ok := u.forkPoint(p, v); ok && out[user] == nil {
			out[user] = v
		}
	}
	return out
}

// modelFrames are the user frames of p's stack from frame number from on, and
// those that are missing there where a region was forked by a tail call, or what forked it
// was called by one.
func (u *userModel) modelFrames(p *native, from int, forks map[int]*regionView) []picture.Frame {
	st := p.Stack()
	last := st.OutermostUser()
	var out, callers []picture.Frame
	for i := from; i < len(st.Kinds); i++ {
		if st.Kinds[i] == stacks.KindRuntime {
			out, callers = append(out, callers...), nil
		}
		v := forks[i]
		made := u.forkedBy(p, st, i)
		switch {
		case v == nil:
		case made != nil && made.info.Function == v.info.Function:
			callers = u.tailCallers(p, v, i)
		default:
			out = append(out, u.tailCallers(p, v, i)...)
		}
		if i <= last && st.Kinds[i] != stacks.KindRuntime && st.Kinds[i] != stacks.KindGlue {
			fs := u.code.Frames(st.Frames[i], st.Kinds[i])
			u.forkLine(&fs[0], made)
			out = append(out, fs...)
		}
	}
	return append(out, callers...)
}

// forkedFunction is the argument of the call by which compilers of LLVM's kind fork that is
// the function of the region.
const forkedFunction = 2

// forkedBy is the region that the call which frame i makes forked, by the function that it
// passes to the runtime; nil if that is not known.
func (u *userModel) forkedBy(p *native, st *stacks.Stack, i int) *regionView {
	if st.Kinds[i] != stacks.KindUser || i == 0 || st.Kinds[i-1] != stacks.KindRuntime {
		return nil
	}
	f := st.Frames[i]
	if kind, _ := rtl.ForkCallOf(u.code.CallTarget(f.PC)); kind != rtl.ForkMakes {
		return nil
	}
	fn, ok := u.code.Argument(f.PC, forkedFunction, f.Registers)
	for _, h := range p.chain {
		if v := u.regions.get(p.rt, h); ok && fn != 0 && v.info.Function.Offset == fn {
			return v
		}
	}
	return nil
}

// forkLine gives the frame that forked v the line of the construct, where the compiler told
// the runtime: flang gives the call that of the function.
func (u *userModel) forkLine(f *picture.Frame, v *regionView) {
	if v == nil {
		return
	}
	if c := u.regionCode(v); c != nil && c.LineFrom == "runtime" && c.File == f.File && f.Line != 0 {
		f.Line = c.Line
	}
}

// What marks a function that has no frame, since its last call was a tail call.
const (
	howTailFork = "no frame: it tail-called the fork"
	howTailCall = "no frame: it ended in a tail call"
)

// tailCaller is the function of the region or the task that tail-called the function of
// the C library in which a thread is, if it is known.
func (u *userModel) tailCaller(n *native) []picture.Frame {
	st := n.Stack()
	if st.TailCalled == 0 || len(n.chain) == 0 {
		return nil
	}
	v := u.regions.get(n.rt, n.chain[0])
	task := handles.TaskInfo{Kind: picture.TaskImplicit, Function: v.info.Function}
	if h, err := n.rt.CurrentTask(n.h); err == nil {
		if info, err := n.rt.Task(h); err == nil && info.Kind == picture.TaskExplicit {
			task = info
		}
	}
	fn := task.Function
	if fn.IsNull() || u.code.InRuntime(fn.Offset) || u.hasFunction(st, st.TailCalled, fn.Offset) {
		return nil
	}
	return []picture.Frame{u.endedFrame(fn, u.taskCode(v, task), howTailCall)}
}

// endedFrame is the frame that an outlined function had before its tail call.
func (u *userModel) endedFrame(fn callbacks.Address, c *picture.Code, how string) picture.Frame {
	f := picture.Frame{
		Kind: picture.FrameUser, Function: c.Name, PC: picture.Address(fn.Offset), Entry: picture.Address(fn.Offset),
		File: c.File, Line: c.Line, How: how,
	}
	f.Construct, f.In = symbolize.Construct(c.Name)
	return f
}

// tailCallers are the outlined functions of the regions that enclose v on p's
// stack and have no frame there, since their last call, the fork, was a tail call.
func (u *userModel) tailCallers(p *native, v *regionView, user int) []picture.Frame {
	var out []picture.Frame
	st := p.Stack()
	last := len(p.chain)
	if own := u.regions.ownRegion(p, p.chain); own >= 0 {
		last = own + 1
	}
	for i := p.indexOf(v.h) + 1; i < last; i++ {
		outer := u.regions.get(p.rt, p.chain[i])
		fn := outer.info.Function
		if fn.IsNull() || outer.info.Serialized || u.hasFunction(st, user, fn.Offset) {
			return out
		}
		out = append(out, u.endedFrame(fn, u.regionCode(outer), howTailFork))
	}
	return out
}

// hasFunction reports whether a frame of st from number from on is of the function
// at entry.
func (u *userModel) hasFunction(st *stacks.Stack, from int, entry uint64) bool {
	for i := from; i < len(st.Frames); i++ {
		if st.Kinds[i] == stacks.KindUser && u.code.FunctionEntry(st.Frames[i]) == entry {
			return true
		}
	}
	return false
}
