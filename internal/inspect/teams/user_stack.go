package teams

import (
	"cmp"
	"errors"
	"path/filepath"
	"slices"

	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/image/libc"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect/stacks"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
	"github.com/ompd-inspect/ompd-inspect/internal/stack/symbolize"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// pseudoFrames names the runtime's activity, in the words of the collector interface's user model if it has them.
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

// UserModel shows stacks in the user's model of the program.
type UserModel struct {
	threads     *ThreadTable
	regions     *RegionTable
	code        *stacks.Code
	flows       *stacks.Flow
	constructOf map[uint64]stacks.Construct // nil before the first use
}

// StackOf returns the stack of n in the user's model: a pseudo-frame replaces the runtime's frames, and the
// stack of the thread that forked its region continues a worker's stack.
func (u *UserModel) StackOf(n *Thread, state handles.State) []picture.Frame {
	if state == handles.StateIdle && !u.executesProgram(n) {
		return []picture.Frame{{Kind: picture.FramePseudo, Function: pseudoFrames[state]}}
	}
	st := n.Stack()
	var out []picture.Frame
	waits := st.RuntimeFrames() > 0 || state == handles.StateWaitTarget && len(st.Kinds) > 0 &&
		st.Kinds[0] == stacks.KindGlue
	if name := pseudoFrames[state]; name != "" && waits {
		out = append(out, picture.Frame{Kind: picture.FramePseudo, Function: name})
	}
	for i := range st.TailCalled {
		out = append(out, u.code.Frames(st.Frames[i], st.Kinds[i])...)
	}
	out = append(trimLibcInternals(out), trimLibcInternals(u.modelFrames(n, st.TailCalled))...)
	out = u.mergeOutlined(u.continueInForker(n, n.Chain, out))
	setBarrierLine(n, out)
	return out
}

// setBarrierLine sets the line of the innermost function of the program to that of the barrier that n waits at, where
// the function called the barrier by a tail call, so that it has no frame: the compiler passed the line to the runtime.
func setBarrierLine(n *Thread, fs []picture.Frame) {
	i := slices.IndexFunc(fs, func(f picture.Frame) bool { return f.Kind == picture.FrameUser })
	if i < 0 || n.state == nil || n.state.Source.Line == 0 {
		return
	}
	f, at := &fs[i], n.state.Source
	if f.How == howTailCall && f.LWP == 0 && filepath.Base(f.File) == filepath.Base(at.File) {
		f.Line = at.Line
	}
}

// executesProgram reports whether a thread that its runtime calls idle crashed in code of the program: the
// runtime's data about it is wrong then.
func (u *UserModel) executesProgram(n *Thread) bool {
	return n.LWP != 0 && n.LWP == u.threads.about.CrashedLWP && n.Stack().OutermostUser() >= 0
}

// trimLibcInternals removes the C library's internal functions without a name that a named one called.
func trimLibcInternals(fs []picture.Frame) []picture.Frame {
	internal := func(f picture.Frame) bool { return f.Kind == picture.FrameSystem && f.Function == "" }
	for len(fs) > 1 && internal(fs[0]) && fs[1].Kind == picture.FrameSystem {
		fs = fs[1:]
	}
	return fs
}

// shows reports whether the user's model has frame i of a stack: it is no runtime's, and not between the frames of two
// languages.
func (u *UserModel) shows(st *stacks.Stack, i int) bool {
	return st.Kinds[i] != stacks.KindRuntime && st.Kinds[i] != stacks.KindGlue && !u.code.HiddenPython(st.Frames[i])
}

// userFrames returns the frames of st from frame from on, without those of runtimes and of thread starts.
func (u *UserModel) userFrames(st *stacks.Stack, from int) []picture.Frame {
	var out []picture.Frame
	for i := from; i <= st.OutermostUser(); i++ {
		if u.shows(st, i) {
			u.nameCalled(out, st, i)
			out = append(out, u.code.Frames(st.Frames[i], st.Kinds[i])...)
			u.nameRecorded(out, st, i)
			u.nameTarget(out, st, i)
		}
	}
	return out
}

// recorderCalls maps the functions of the recorder that execute an outlined function in the runtime's place to its
// construct. The runtime has them as the functions of its regions and tasks.
var recorderCalls = map[string]string{
	"run_member": symbolize.ConstructParallel, "execute": symbolize.ConstructTask,
}

// nameRecorded sets the construct of the last of the frames, the outlined function of frame i of a stack, if the
// recorder called it.
func (u *UserModel) nameRecorded(frames []picture.Frame, st *stacks.Stack, i int) {
	f := &frames[len(frames)-1]
	if f.Construct != symbolize.ConstructOutlined || i+1 >= len(st.Frames) || !u.code.IsRecorder(&st.Frames[i+1]) {
		return
	}
	for _, s := range u.code.NativeNames(st.Frames[i+1].LookupPC(), stacks.KindRuntime) {
		f.Construct = cmp.Or(recorderCalls[s.Function], f.Construct)
	}
}

// nameTarget sets the construct of the last of the frames, the outlined function of frame i of a stack, if the next
// frame of the program passed that function to GNU's runtime for a target region.
func (u *UserModel) nameTarget(frames []picture.Frame, st *stacks.Stack, i int) {
	f := &frames[len(frames)-1]
	if f.Construct != symbolize.ConstructOutlined || f.Entry == nil {
		return
	}
	caller := i + 1
	for caller < len(st.Frames) && st.Kinds[caller] == stacks.KindRuntime {
		caller++
	}
	if caller == i+1 || caller == len(st.Frames) {
		return
	}
	ret, regs := st.Frames[caller].PC, st.Frames[caller].Registers
	c, ok := rtl.TargetCallOf(u.code.CallTarget(ret))
	if !ok || c.Region < 0 {
		return
	}
	region, ok := u.code.Argument(ret, c.Region, regs)
	if !ok {
		region, ok = u.flows.Argument(st, caller, c.Region)
	}
	if ok && region == uint64(*f.Entry) {
		f.Construct = symbolize.ConstructTarget
	}
}

// nameCalled names the last of the frames, if it has no name, after the function of another module that frame i of a
// stack calls. A library without symbols does not name it: the linker's table for the call does.
func (u *UserModel) nameCalled(frames []picture.Frame, st *stacks.Stack, i int) {
	if len(frames) == 0 || i == 0 || st.Frames[i].Module == nil || st.Frames[i-1].Module == st.Frames[i].Module {
		return
	}
	f, inner := &frames[len(frames)-1], st.Frames[i-1]
	if f.Function != "" || f.PC == nil || uint64(*f.PC) != inner.PC || inner.Signal || st.Kinds[i] != stacks.KindUser {
		return
	}
	if name := u.code.CalledIn(st.Frames[i]); name != "" && !u.code.CallsProgram(st.Frames[i].PC) {
		f.Function, f.Offset = symbolize.Demangle(name), 0
	}
}

// continueInForker appends to a worker's frames those of the thread that forked the region in which the worker's
// own stack starts, and so on outwards. chain has the relevant regions of n, innermost first.
func (u *UserModel) continueInForker(n *Thread, chain []handles.Parallel, out []picture.Frame) []picture.Frame {
	for range MaxLevels {
		v, p, own := u.forker(n, chain)
		if p == nil || p == n {
			return out
		}
		f, ok := u.findFork(p, v)
		if !ok {
			known := len(p.Stack().Frames) > 0
			// A team of the runtime's own was forked by no user code.
			if known && !n.Runtime.APIOnly() && !n.Runtime.Owns(v.Info.Function.Offset) {
				n.AddError(errNoForkFrame)
			}
			return out
		}
		out = append(out, u.outerFrames(p, v, f)...)
		n, chain = p, chain[own+1:]
	}
	return out
}

// forker returns the region in which the stack of n starts, the thread p that forked it, and the region's index in
// chain. p is nil for a thread with a stack that starts in serial code.
func (u *UserModel) forker(n *Thread, chain []handles.Parallel) (v *Region, p *Thread, own int) {
	if own := u.regions.ownRegion(n, chain); own >= 0 {
		v := u.regions.Get(n.Runtime, chain[own])
		return v, u.regions.Primary(v), own
	}
	// Thread 0 of a team of a league was forked by the thread that encountered
	// the teams construct, which is thread 0 of another team of the league.
	for i := range max(0, len(chain)-1) {
		if u.regions.Get(n.Runtime, chain[i]).Info.League == 0 || chain[i].Level != 0 {
			continue
		}
		p := u.regions.Primary(u.regions.Get(n.Runtime, chain[i+1]))
		if p == nil || p == n {
			continue
		}
		if at := p.RegionIndex(chain[i+1]); at > 0 {
			return u.regions.Get(n.Runtime, p.Chain[at-1]), p, i
		}
	}
	return nil, nil, -1
}

// modelFrames returns the user frames of p's stack from frame from on, and the functions that tail calls removed from
// it.
func (u *UserModel) modelFrames(p *Thread, from int) []picture.Frame {
	st := p.Stack()
	last := u.outermostShown(st)
	called := u.calledFunctions(p)
	var out []picture.Frame
	for i := from; i < len(st.Kinds); i++ {
		for len(called) > 0 && called[0].frame < i {
			called = called[1:]
		}
		if len(called) > 0 && called[0].frame == i {
			out = append(out, u.removedFrames(p, called[0].removed)...)
		}
		if i > last || !u.shows(st, i) {
			continue
		}
		u.nameCalled(out, st, i)
		out = append(out, u.removedFrames(p, u.flows.RemovedBelow(st, i))...)
		fs := u.code.Frames(st.Frames[i], st.Kinds[i])
		fs = u.outsideHeaders(st, i, fs)
		fs = u.framesOfFork(fs, p, i)
		out = append(out, fs...)
		u.nameRecorded(out, st, i)
		u.nameTarget(out, st, i)
	}
	return append(out, st.Python...)
}

// outsideHeaders returns fs, the frames of frame i of st, without the innermost functions that are inlined from headers
// of the system, if the frame calls a runtime. Compilers call it for constructs and routines of the program, which
// these headers do not contain; optimizers give such a call the line of inlined code beside it.
func (u *UserModel) outsideHeaders(st *stacks.Stack, i int, fs []picture.Frame) []picture.Frame {
	if st.Kinds[i] != stacks.KindUser || i == 0 || st.Kinds[i-1] != stacks.KindRuntime {
		return fs
	}
	own := slices.IndexFunc(fs, func(f picture.Frame) bool { return !f.InSystemHeader() })
	return fs[max(own, 0):]
}

// outermostShown returns the index of the outermost frame of st that is shown: the program's, or one of the C library's
// at the end of a program or thread, which has called a runtime. It returns -1 without one.
func (u *UserModel) outermostShown(st *stacks.Stack) int {
	last := st.OutermostUser()
	if u.code.Symbols == nil || !slices.Contains(st.Kinds[last+1:], stacks.KindRuntime) {
		return last
	}
	for i := len(st.Frames) - 1; i > last && st.Kinds[i] == stacks.KindSystem; i-- {
		if name, system := u.code.SystemFunction(st.Frames[i]); system && libc.IsEnd(name) {
			return i
		}
	}
	return last
}

// forkedFunction is the argument with the region's function in the forking call of LLVM's compilers.
const forkedFunction = 2

// forkedRegion returns the region that the call of frame i forked: by the function that it passes to the runtime, or by
// the regions of the thread; nil if it is unknown, or if the call may be of another construct.
func (u *UserModel) forkedRegion(p *Thread, st *stacks.Stack, i int) *Region {
	if st.Kinds[i] != stacks.KindUser || i == 0 || st.Kinds[i-1] != stacks.KindRuntime {
		return nil
	}
	f := st.Frames[i]
	target := u.code.CalledIn(f)
	if kind, _ := rtl.ForkCallOf(target); kind != rtl.ForkMakes {
		return nil
	}
	fn, ok := u.code.Argument(f.PC, forkedFunction, f.Registers)
	for _, h := range p.Chain {
		v := u.regions.Get(p.Runtime, h)
		if ok && fn != 0 && v.Info.Function.Offset == fn {
			return v
		}
	}
	if _, league := rtl.LeagueFunction(target); league {
		return nil
	}
	for _, h := range p.Chain {
		v := u.regions.Get(p.Runtime, h)
		if at, ok := u.forkPoint(p, v); ok && at == i {
			return v
		}
	}
	return nil
}

// framesOfFork returns fs, the frames of frame i on the stack of p, from the function of the construct on that it
// forked, with the construct's line, as the compiler passed it to the runtime or noted it for the construct's function.
// Compilers give the call the line of the function (flang), of a statement before or after the construct (GCC), of an
// inlined function before it, or of another construct (optimizing clang).
func (u *UserModel) framesOfFork(fs []picture.Frame, p *Thread, i int) []picture.Frame {
	v := u.forkedRegion(p, p.Stack(), i)
	if v == nil {
		return fs
	}
	c := u.regionCode(v)
	if c == nil || c.Line == 0 || c.LineFrom == "call site" {
		return fs
	}
	if name := u.functionAround(v); name != "" {
		at := slices.IndexFunc(fs, func(f picture.Frame) bool { return f.Function == name })
		fs = fs[max(at, 0):]
	}
	if f := &fs[0]; c.File == f.File && f.Line != 0 {
		f.Line, f.Near = c.Line, false
	}
	return fs
}

// functionAround returns the program's function with the construct of a region, by the name of the construct's
// function; "" if the name has no other one.
func (u *UserModel) functionAround(v *Region) string {
	fn, _ := u.functionOf(v)
	if fn.IsNull() || u.code.Symbols == nil {
		return ""
	}
	f, err := u.code.Symbols.Function(fn.Offset)
	if err != nil {
		return ""
	}
	return f.Around
}

var errNoForkFrame = errors.New(
	"the call that began the thread's parallel region was not found on the stack of the thread that made it: the " +
		"stack shown has only the thread's own frames")

// NewUserModel returns the user's model of a target's stacks.
func NewUserModel(r *ThreadTable, regions *RegionTable, code *stacks.Code, flows *stacks.Flow) *UserModel {
	return &UserModel{threads: r, regions: regions, code: code, flows: flows}
}
